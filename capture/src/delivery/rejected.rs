//! Events that a recorder refused for good, where people can look at them.

use std::io::Write as _;
use std::path::Path;

use serde_json::json;

use crate::private;
use crate::spool::SpoolError;

/// Name of the file, beside the segments.
const FILE: &str = "rejected.ndjson";
/// The file does not grow beyond this, in bytes: what follows is counted as a gap, but not kept.
const FILE_BYTES_MAX: u64 = 16 * 1024 * 1024;

/// A line of the file: why, and the event as it was sent.
pub(super) fn line(problem: &str, event: &[u8]) -> Vec<u8> {
    let event = String::from_utf8_lossy(event);
    let mut line = json!({ "problem": problem, "event": event })
        .to_string()
        .into_bytes();
    line.push(b'\n');
    line
}

/// Appends a line.
pub(super) fn keep(folder: &Path, line: &[u8]) -> Result<(), SpoolError> {
    let kept = || {
        let mut options = private::options();
        let mut file = private::open(options.append(true).create(true), &folder.join(FILE))?;
        if file.metadata()?.len() + line.len() as u64 > FILE_BYTES_MAX {
            return Ok(());
        }
        file.write_all(line)
    };
    kept().map_err(|error| SpoolError::Disk {
        folder: folder.to_owned(),
        what: "keeping a refused event",
        error,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refused_events_are_kept_line_by_line_up_to_a_size() {
        let folder = tempfile::tempdir().expect("a folder");
        keep(folder.path(), &line("id-conflict", b"{\"a\":\n1}")).expect("kept");
        keep(folder.path(), &line("invalid-event", &[0xff])).expect("kept");
        let path = folder.path().join(FILE);
        let text = std::fs::read_to_string(&path).expect("it is text");
        let lines: Vec<serde_json::Value> = text
            .lines()
            .map(|line| serde_json::from_str(line).expect("JSON"))
            .collect();
        assert_eq!(lines[0]["event"], "{\"a\":\n1}");
        assert_eq!(lines[1]["problem"], "invalid-event");
        let large = vec![b'x'; usize::try_from(FILE_BYTES_MAX).expect("it fits")];
        keep(folder.path(), &large).expect("left out");
        assert_eq!(
            std::fs::metadata(&path).expect("it is there").len(),
            text.len() as u64
        );
    }
}
