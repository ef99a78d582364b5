//! What earlier scans found, so that a file that has not changed is not read again.
//!
//! It is a convenience and no evidence: without it, everything is read again and the ledger tells what it holds already.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use serde::{Deserialize, Serialize};

use super::session::ScannedSession;
use crate::failure::Failure;

/// The file in the data folder.
const FILE: &str = "scan.json";
/// Goes up when a scan computes something else than before, so that what was kept is not told any more.
const VERSION: u32 = 3;

/// What was found, by file.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Seen {
    version: u32,
    files: BTreeMap<PathBuf, SeenFile>,
}

#[derive(Debug, Serialize, Deserialize)]
struct SeenFile {
    state: FileState,
    sessions: Vec<ScannedSession>,
}

/// Size and time of change of a transcript, with the files that are read together with it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct FileState {
    pub(super) bytes: u64,
    modified: Option<u128>,
}

impl FileState {
    /// The state of a transcript now. A file that cannot be looked at has none, and so is never taken as unchanged.
    pub(super) fn of(path: &Path) -> Self {
        let mut state = Self {
            bytes: 0,
            modified: None,
        };
        state.add(path);
        let beside = path.with_extension("").join("subagents");
        for entry in std::fs::read_dir(beside).into_iter().flatten().flatten() {
            state.add(&entry.path());
        }
        state
    }

    fn add(&mut self, path: &Path) {
        let Ok(data) = std::fs::metadata(path) else {
            return;
        };
        self.bytes += data.len();
        let modified = data
            .modified()
            .ok()
            .and_then(|time| time.duration_since(UNIX_EPOCH).ok())
            .map(|since| since.as_nanos());
        self.modified = self.modified.max(modified);
    }
}

impl Seen {
    /// Reads what earlier scans kept in a data folder; nothing where that is of another version or cannot be read.
    pub(super) fn read(data: &Path) -> Result<Self, Failure> {
        let path = data.join(FILE);
        let nothing = Self {
            version: VERSION,
            ..Self::default()
        };
        let bytes = match std::fs::read(&path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(nothing),
            Err(error) => {
                return Err(Failure::new(format!(
                    "cannot read {}: {error}",
                    path.display()
                )));
            }
        };
        let kept: Option<Self> = serde_json::from_slice(&bytes).ok();
        Ok(kept
            .filter(|kept| kept.version == VERSION)
            .unwrap_or(nothing))
    }

    /// Keeps it for the next scan: written whole beside the old one, then put in its place.
    pub(super) fn write(&self, data: &Path) -> Result<(), Failure> {
        let path = data.join(FILE);
        let cannot = |error: std::io::Error| {
            Failure::new(format!("cannot write {}: {error}", path.display()))
        };
        let mut file = tempfile::NamedTempFile::new_in(data).map_err(cannot)?;
        file.write_all(&serde_json::to_vec(self)?).map_err(cannot)?;
        file.persist(&path).map_err(|error| cannot(error.error))?;
        Ok(())
    }

    /// Whether a file is as it was.
    pub(super) fn knows(&self, path: &Path, state: &FileState) -> bool {
        state.modified.is_some()
            && self
                .files
                .get(path)
                .is_some_and(|seen| seen.state == *state)
    }

    /// What was found in a file.
    pub(super) fn sessions_of(&self, path: &Path) -> Vec<ScannedSession> {
        self.files
            .get(path)
            .map_or_else(Vec::new, |seen| seen.sessions.clone())
    }

    /// Keeps what was found in a file.
    pub(super) fn keep(&mut self, path: &Path, state: FileState, sessions: Vec<ScannedSession>) {
        self.files
            .insert(path.to_owned(), SeenFile { state, sessions });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_known_until_it_or_one_of_its_sub_agents_changes() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("a.jsonl");
        std::fs::write(&path, "1").expect("a file");
        let mut seen = Seen::read(folder.path()).expect("nothing");
        let state = FileState::of(&path);
        assert!(!seen.knows(&path, &state));
        seen.keep(&path, state.clone(), Vec::new());
        seen.write(folder.path()).expect("writes");
        let seen = Seen::read(folder.path()).expect("reads");
        assert!(seen.knows(&path, &state));
        let agents = folder.path().join("a/subagents");
        std::fs::create_dir_all(&agents).expect("a folder");
        std::fs::write(agents.join("agent-1.jsonl"), "2").expect("a file");
        assert!(!seen.knows(&path, &FileState::of(&path)));
        std::fs::write(folder.path().join(FILE), "no JSON").expect("writes");
        let seen = Seen::read(folder.path()).expect("nothing");
        assert!(!seen.knows(&path, &state));
        let missing = folder.path().join("missing");
        assert!(!seen.knows(&missing, &FileState::of(&missing)));
    }
}
