//! Inspect AI logs (`.eval`): every model call with its whole input.
//!
//! A stored model event names its input by ranges of a pool of messages, and long texts by their hashes; both are resolved, so
//! that each context is exactly what was sent. A compaction event does not say what left: the contexts before and after do.
//! Each sample is a session; an agent within an agent is a child session.

mod event;
mod log;
mod sample;
mod session;

use std::path::Path;

use super::{Format, ImportError, Opening, Output};
use log::{Log, Sample};
use sample::Session;

/// How a ZIP file begins.
const ZIP: &[u8] = b"PK\x03\x04";

/// The format.
#[derive(Debug)]
pub(super) struct Inspect;

impl Format for Inspect {
    fn name(&self) -> &'static str {
        "inspect"
    }

    fn recognises(&self, opening: &Opening) -> bool {
        let is_log = Path::new(&opening.name)
            .extension()
            .is_some_and(|extension| extension == "eval");
        is_log && opening.bytes.starts_with(ZIP)
    }

    fn read(&self, path: &Path, output: &mut Output<'_>) -> Result<(), ImportError> {
        let mut log = Log::open(path)?;
        let header = log.header(path)?;
        let samples = log.samples.clone();
        if samples.is_empty() {
            output.notice(None, "the log holds no samples, so no session is imported");
        }
        let size = std::fs::metadata(path).map_or(0, |metadata| metadata.len());
        for (at, name) in samples.iter().enumerate() {
            let bytes = log.member(name, path)?;
            match serde_json::from_slice::<Sample<'_>>(&bytes) {
                Ok(sample) => Session::import(&sample, &header, output)?,
                Err(error) => {
                    output.report.malformed += 1;
                    output.notice(
                        None,
                        format!("{name} is no sample that can be read: {error}"),
                    );
                }
            }
            // Samples are members of one file; their share of it is not known before all are read.
            output.progress(size * (at as u64 + 1) / samples.len() as u64);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
