//! Transcripts: the files in which agent programs keep their sessions.
//!
//! Each format is a [`Format`]: it tells its files by how they begin and turns them into events, line by line, in memory that
//! does not grow with the length of texts. What an event says depends only on the lines before it, so a file that has grown gives
//! the same events again and then the new ones: importing it anew appends the rest, and importing the same file twice nothing.
//!
//! A context that is rebuilt says so (witness `transcript`). Where parts that were sent may be missing from it, it says why in
//! `incomplete`. `docs/import-transcripts.md` has the mappings.

mod assembly;
mod claude_code;
mod codex;
#[cfg(test)]
mod collected;
mod declared;
mod fitting;
mod gemini;
mod governor;
mod history;
mod inspect;
mod lines;
mod openai_agents;
mod openhands;
mod output;
mod pi;
mod proposed_rule;
mod recording;
mod sandbox;
mod unreadable;
#[cfg(test)]
mod work;

use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use remembrancer_schema::IdError;
use serde_json::Value;

use crate::{WriteError, Written};
pub use assembly::{Assembly, Piece};
pub(crate) use declared::reduced;
pub use declared::{Declared, DeclaredFrom, DeclaredRule, ImportOptions};
pub use fitting::{VALUE_BYTES_MAX, fitting, fitting_text};
pub use lines::{LINE_BYTES_MAX, Line, Lines, whole_characters};
pub use output::{FileReport, NOTICES_MAX, NewSession, Notice, Output, Sink};
pub use proposed_rule::{ProposedRule, RuleReader};
pub use recording::{Answer, Call, Recording, Returned};

/// Bytes of a file by which its format is told.
const OPENING_BYTES: u64 = 256 * 1024;
/// Lines of a file by which its format is told.
const OPENING_RECORDS: usize = 20;
/// Most files and folders that are looked at in a folder.
const ENTRIES_MAX: usize = 200_000;
/// How deep folders are searched.
const DEPTH_MAX: usize = 12;

/// One format of transcripts.
pub trait Format: Send + Sync {
    /// Its name on the command line.
    fn name(&self) -> &'static str;

    /// Whether a file is of this format, by its name and how it begins.
    fn recognises(&self, opening: &Opening) -> bool;

    /// Whether a folder as a whole is one transcript of this format; then it is read instead of the files in it.
    fn recognises_folder(&self, _folder: &Path) -> bool {
        false
    }

    /// Whether a file is read together with another one, and so not by itself when a folder is searched.
    fn belongs_to_another(&self, _file: &Path) -> bool {
        false
    }

    /// Reads a file, or a folder that is one transcript.
    fn read(&self, path: &Path, output: &mut Output<'_>) -> Result<(), ImportError>;
}

/// Every format that is known, in the order in which they are tried.
pub fn formats() -> &'static [&'static dyn Format] {
    &[
        &claude_code::ClaudeCode,
        &codex::Codex,
        &pi::Pi,
        &inspect::Inspect,
        &openhands::OpenHands,
        &governor::Governor,
        &gemini::Gemini,
        &openai_agents::OpenAiAgents,
    ]
}

/// A format by its name.
pub fn format_named(name: &str) -> Option<&'static dyn Format> {
    formats()
        .iter()
        .find(|format| format.name() == name)
        .copied()
}

/// How a file begins.
#[derive(Debug, Clone, Default)]
pub struct Opening {
    /// The file's name.
    pub name: String,
    /// Its first bytes.
    pub bytes: Vec<u8>,
    /// Its first lines that are JSON.
    pub records: Vec<Value>,
}

impl Opening {
    /// Reads the beginning of a file.
    pub fn of(path: &Path) -> Result<Self, ImportError> {
        let file = File::open(path).map_err(|error| ImportError::read(path, error))?;
        let mut bytes = Vec::new();
        file.take(OPENING_BYTES)
            .read_to_end(&mut bytes)
            .map_err(|error| ImportError::read(path, error))?;
        let name = path
            .file_name()
            .map(|name| name.to_string_lossy().into_owned())
            .unwrap_or_default();
        let lines = bytes.split(|&byte| byte == b'\n').take(OPENING_RECORDS);
        let records = lines
            .filter_map(|line| serde_json::from_slice(line).ok())
            .collect();
        Ok(Self {
            name,
            bytes,
            records,
        })
    }

    /// Whether one of the first records fits.
    pub fn any_record(&self, fits: impl Fn(&Value) -> bool) -> bool {
        self.records.iter().any(fits)
    }
}

/// Why a transcript could not be imported.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// A file or folder cannot be read.
    #[error("cannot read {path:?}: {error}")]
    Read {
        /// What was read.
        path: PathBuf,
        /// Why it failed.
        error: std::io::Error,
    },
    /// No format recognises the file.
    #[error(
        "{path:?} begins like none of the formats that are known ({known}); name its format before the file",
        known = formats().iter().map(|format| format.name()).collect::<Vec<_>>().join(", ")
    )]
    Unknown {
        /// The file.
        path: PathBuf,
    },
    /// The file as a whole is not what its format says.
    #[error("{path:?}: {reason}")]
    Malformed {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        reason: String,
    },
    /// A folder with more in it than is looked at.
    #[error("{path:?} holds more than {ENTRIES_MAX} files and folders; name a folder in it")]
    TooMany {
        /// The folder.
        path: PathBuf,
    },
    /// A session cannot be started.
    #[error("no session can be started: {0}")]
    Start(#[from] WriteError),
    /// A name that no id can be made of.
    #[error("no id can be made: {0}")]
    Name(#[from] IdError),
    /// Whoever takes the events wants no more.
    #[error("the import was stopped")]
    NotWanted,
}

impl ImportError {
    /// A file or folder cannot be read.
    pub fn read(path: &Path, error: std::io::Error) -> Self {
        Self::Read {
            path: path.to_owned(),
            error,
        }
    }
}

/// The format of a file or of a folder that is one transcript, if one recognises it.
pub fn guess(path: &Path) -> Result<Option<&'static dyn Format>, ImportError> {
    if path.is_dir() {
        let of_folder = formats()
            .iter()
            .find(|format| format.recognises_folder(path));
        return Ok(of_folder.copied());
    }
    let opening = Opening::of(path)?;
    Ok(formats()
        .iter()
        .find(|format| format.recognises(&opening))
        .copied())
}

/// Reads a transcript of a format into a sink.
pub fn import(
    format: &dyn Format,
    path: &Path,
    options: &ImportOptions,
    sink: &mut dyn Sink,
) -> Result<FileReport, ImportError> {
    let mut output = Output::new(path, options, sink);
    format.read(path, &mut output)?;
    Ok(output.report)
}

/// A transcript that was found.
#[derive(Clone)]
pub struct Found {
    /// The file, or the folder that is one transcript.
    pub path: PathBuf,
    /// Its format.
    pub format: &'static dyn Format,
}

/// Finds the transcripts at a path: the path itself where it is one, else what lies in the folder, in order of their names.
/// `format` limits them to one. Files that no format recognises are passed over; links are not followed.
pub fn find(path: &Path, format: Option<&'static dyn Format>) -> Result<Vec<Found>, ImportError> {
    let mut found = Vec::new();
    if path.is_dir() {
        let mut room = ENTRIES_MAX;
        search(path, format, 0, &mut room, &mut found)?;
    } else {
        let format = match format {
            Some(format) => Some(format),
            None => guess(path)?,
        };
        let format = format.ok_or_else(|| ImportError::Unknown {
            path: path.to_owned(),
        })?;
        found.push(Found {
            path: path.to_owned(),
            format,
        });
    }
    Ok(found)
}

fn search(
    folder: &Path,
    wanted: Option<&'static dyn Format>,
    depth: usize,
    room: &mut usize,
    found: &mut Vec<Found>,
) -> Result<(), ImportError> {
    let is_wanted =
        |format: &dyn Format| wanted.is_none_or(|wanted| wanted.name() == format.name());
    if let Some(format) = guess(folder)?.filter(|format| is_wanted(*format)) {
        found.push(Found {
            path: folder.to_owned(),
            format,
        });
        return Ok(());
    }
    let cannot = |error| ImportError::read(folder, error);
    let mut entries = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(cannot)? {
        *room = room.checked_sub(1).ok_or_else(|| ImportError::TooMany {
            path: folder.to_owned(),
        })?;
        let entry = entry.map_err(cannot)?;
        entries.push((entry.path(), entry.file_type().map_err(cannot)?));
    }
    entries.sort_by(|one, other| one.0.cmp(&other.0));
    for (path, kind) in entries {
        if kind.is_dir() && depth < DEPTH_MAX {
            search(&path, wanted, depth + 1, room, found)?;
        } else if kind.is_file() && may_be_transcript(&path) {
            // A file that cannot be read is told when it is imported by its name; a search goes on.
            let Ok(Some(format)) = guess(&path) else {
                continue;
            };
            if is_wanted(format) && !format.belongs_to_another(&path) {
                found.push(Found { path, format });
            }
        }
    }
    Ok(())
}

fn may_be_transcript(path: &Path) -> bool {
    path.extension()
        .and_then(|extension| extension.to_str())
        .is_some_and(|extension| matches!(extension, "jsonl" | "json" | "eval"))
}

#[cfg(test)]
mod long_histories;
#[cfg(test)]
mod tests;
