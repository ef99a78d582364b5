//! `OpenHands` (`software-agent-sdk`): one JSON object for each event, in a JSON Lines file or in the `events/` folder of a
//! conversation.
//!
//! The best format of all: a `Condensation` names the events that it forgets, and the summary with its place. What the model is
//! sent is the list of events without the forgotten ones, without calls that have no result, and with the summary as a message
//! of the user.

mod pairs;
mod reader;
mod record;

use std::path::{Path, PathBuf};

use super::{Format, ImportError, Line, Lines, Opening, Output};
use reader::Reader;

/// The kinds of events that tell this format.
const KINDS: [&str; 8] = [
    "MessageEvent",
    "ActionEvent",
    "ObservationEvent",
    "SystemPromptEvent",
    "AgentErrorEvent",
    "UserRejectObservation",
    "Condensation",
    "CondensationRequest",
];
/// The folder of a conversation that holds its events, and the file beside it.
const EVENTS_FOLDER: &str = "events";
const STATE_FILE: &str = "base_state.json";
/// Most events of a conversation.
const EVENTS_MAX: usize = 200_000;
/// Largest event file, in bytes.
const EVENT_FILE_BYTES_MAX: u64 = 32 * 1024 * 1024;

/// The format.
#[derive(Debug)]
pub(super) struct OpenHands;

impl Format for OpenHands {
    fn name(&self) -> &'static str {
        "openhands"
    }

    fn recognises(&self, opening: &Opening) -> bool {
        opening.any_record(|record| {
            let kind = record.get("kind").and_then(|kind| kind.as_str());
            kind.is_some_and(|kind| KINDS.contains(&kind)) && record.get("source").is_some()
        })
    }

    fn recognises_folder(&self, folder: &Path) -> bool {
        folder.join(STATE_FILE).is_file() && folder.join(EVENTS_FOLDER).is_dir()
    }

    fn read(&self, path: &Path, output: &mut Output<'_>) -> Result<(), ImportError> {
        let mut reader = Reader::default();
        if path.is_dir() {
            for (at, file) in event_files(path)?.into_iter().enumerate() {
                let bytes = read_small(&file)?;
                let line = Line {
                    number: at as u64 + 1,
                    bytes,
                    is_too_long: false,
                    is_ended: true,
                };
                reader.line(&line, path, output)?;
            }
        } else {
            let mut lines = Lines::open(path)?;
            while let Some(line) = lines.next_line()? {
                reader.line(&line, path, output)?;
                output.progress(lines.bytes_read());
            }
        }
        reader.finish(output)
    }
}

/// The event files of a conversation, in order: their names begin with their numbers.
fn event_files(folder: &Path) -> Result<Vec<PathBuf>, ImportError> {
    let events = folder.join(EVENTS_FOLDER);
    let cannot = |error| ImportError::read(&events, error);
    let mut files = Vec::new();
    for entry in std::fs::read_dir(&events).map_err(cannot)? {
        let entry = entry.map_err(cannot)?;
        let path = entry.path();
        let is_event = path
            .extension()
            .is_some_and(|extension| extension == "json");
        if is_event && entry.file_type().map_err(cannot)?.is_file() {
            files.push(path);
        }
        if files.len() > EVENTS_MAX {
            return Err(ImportError::TooMany { path: events });
        }
    }
    files.sort();
    Ok(files)
}

fn read_small(file: &Path) -> Result<Vec<u8>, ImportError> {
    let cannot = |error| ImportError::read(file, error);
    let size = std::fs::metadata(file).map_err(cannot)?.len();
    if size > EVENT_FILE_BYTES_MAX {
        return Err(ImportError::Malformed {
            path: file.to_owned(),
            reason: format!("an event of {size} bytes; at most {EVENT_FILE_BYTES_MAX} are read"),
        });
    }
    std::fs::read(file).map_err(cannot)
}

#[cfg(test)]
mod tests;
