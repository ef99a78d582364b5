//! Where agent programs keep the histories of whoever runs this.

use std::path::{Path, PathBuf};

use remembrancer_capture::transcript::{self, Found, ImportError};

use crate::failure::Failure;

/// Formats of the histories that are looked for.
const FORMATS: [&str; 3] = ["claude-code", "codex", "pi"];

/// The folders that are looked at.
#[derive(Debug, Clone)]
pub(super) struct Histories {
    folders: Vec<PathBuf>,
    are_named: bool,
}

impl Histories {
    /// The folders named, which must be there; without any, those of the person's own programs, as far as they are there.
    pub(super) fn of(named: Vec<PathBuf>) -> Result<Self, Failure> {
        if let Some(missing) = named.iter().find(|path| !path.exists()) {
            return Err(Failure::new(format!(
                "there is no folder {}",
                missing.display()
            )));
        }
        let are_named = !named.is_empty();
        let folders = if are_named { named } else { own()? };
        Ok(Self { folders, are_named })
    }

    /// The folders, for people.
    pub(super) fn in_words(&self) -> String {
        let folders: Vec<String> = self
            .folders
            .iter()
            .map(|folder| folder.display().to_string())
            .collect();
        folders.join(", ")
    }

    /// The transcripts in them, each once.
    pub(super) fn find(&self) -> Result<Vec<Found>, ImportError> {
        let mut found: Vec<Found> = Vec::new();
        for folder in &self.folders {
            if !self.are_named && !folder.is_dir() {
                continue;
            }
            for transcript in transcript::find(folder, None)? {
                let is_known = found.iter().any(|known| known.path == transcript.path);
                let is_wanted = self.are_named || FORMATS.contains(&transcript.format.name());
                if is_wanted && !is_known {
                    found.push(transcript);
                }
            }
        }
        Ok(found)
    }
}

/// The folders where the programs keep their sessions, by their own variables or in the home folder.
fn own() -> Result<Vec<PathBuf>, Failure> {
    let home = home()?;
    let of =
        |variable: &str, default: &str| folder_in(variable).unwrap_or_else(|| home.join(default));
    let codex = of("CODEX_HOME", ".codex");
    Ok(vec![
        of("CLAUDE_CONFIG_DIR", ".claude").join("projects"),
        codex.join("sessions"),
        codex.join("archived_sessions"),
        of("PI_CODING_AGENT_DIR", ".pi/agent").join("sessions"),
    ])
}

/// The folder in which a scan keeps its ledger where none is named.
pub(super) fn data_folder() -> Result<PathBuf, Failure> {
    let own = folder_in("XDG_DATA_HOME").filter(|folder| folder.is_absolute());
    let folder = match own {
        Some(folder) => folder,
        None => home()?.join(".local/share"),
    };
    Ok(folder.join("remembrancer"))
}

fn home() -> Result<PathBuf, Failure> {
    folder_in("HOME")
        .or_else(|| folder_in("USERPROFILE"))
        .filter(|home| Path::is_absolute(home))
        .ok_or_else(|| {
            Failure::new("the home folder is not known: HOME is not set").hint(
                "name the folders and where to keep the ledger: remembrancer scan DIR… --data DIR",
            )
        })
}

fn folder_in(variable: &str) -> Option<PathBuf> {
    std::env::var_os(variable)
        .filter(|value| !value.is_empty())
        .map(PathBuf::from)
}
