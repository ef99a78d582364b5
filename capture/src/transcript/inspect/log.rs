//! An Inspect log file: a ZIP of JSON files, mostly compressed with Zstandard.

use std::borrow::Cow;
use std::fs::File;
use std::io::{BufReader, Read as _};
use std::path::Path;

use serde::Deserialize;
use serde_json::value::RawValue;
use zip::ZipArchive;
use zip::result::ZipError;

use crate::transcript::ImportError;

/// Largest member of a log, in bytes, once it is decompressed.
pub(super) const MEMBER_BYTES_MAX: u64 = 256 * 1024 * 1024;
/// Most members of a log.
const MEMBERS_MAX: usize = 50_000;
const HEADER: &str = "header.json";
const START: &str = "_journal/start.json";
const SAMPLES: &str = "samples/";

/// A log that was opened.
pub(super) struct Log {
    archive: ZipArchive<BufReader<File>>,
    /// Names of the samples, in order.
    pub(super) samples: Vec<String>,
}

/// What the log says of the evaluation.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Header {
    #[serde(default)]
    pub(super) eval: Eval,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Eval {
    pub(super) eval_id: Option<String>,
    pub(super) run_id: Option<String>,
    pub(super) task: Option<String>,
    pub(super) model: Option<String>,
    pub(super) created: Option<String>,
}

/// A sample, with its events unread.
#[derive(Deserialize)]
pub(super) struct Sample<'a> {
    #[serde(borrow)]
    pub(super) id: &'a RawValue,
    #[serde(default)]
    pub(super) epoch: u64,
    pub(super) uuid: Option<String>,
    #[serde(borrow, default)]
    pub(super) events: Vec<&'a RawValue>,
    #[serde(default)]
    pub(super) attachments: std::collections::HashMap<String, String>,
    #[serde(borrow)]
    pub(super) events_data: Option<Pools<'a>>,
    #[serde(borrow, default)]
    pub(super) scores: Option<std::collections::BTreeMap<String, &'a RawValue>>,
}

/// What the events refer to by position.
#[derive(Deserialize)]
pub(super) struct Pools<'a> {
    #[serde(borrow, default)]
    pub(super) messages: Vec<&'a RawValue>,
}

impl Log {
    pub(super) fn open(path: &Path) -> Result<Self, ImportError> {
        let file = File::open(path).map_err(|error| ImportError::read(path, error))?;
        let archive =
            ZipArchive::new(BufReader::new(file)).map_err(|error| malformed(path, &error))?;
        if archive.len() > MEMBERS_MAX {
            let reason = format!(
                "a ZIP file of {} members; at most {MEMBERS_MAX} are read",
                archive.len()
            );
            return Err(ImportError::Malformed {
                path: path.to_owned(),
                reason,
            });
        }
        let is_sample = |name: &String| {
            name.strip_prefix(SAMPLES).is_some_and(|name| {
                std::path::Path::new(name)
                    .extension()
                    .is_some_and(|extension| extension == "json")
            })
        };
        let mut samples: Vec<String> = archive
            .file_names()
            .filter_map(Result::ok)
            .map(Cow::into_owned)
            .filter(is_sample)
            .collect();
        samples.sort();
        samples.dedup();
        Ok(Self { archive, samples })
    }

    /// The header. A log that was not finished has only what was written at its start.
    pub(super) fn header(&mut self, path: &Path) -> Result<Header, ImportError> {
        for name in [HEADER, START] {
            match self.archive.index_for_name(name) {
                Some(_) => {
                    let bytes = self.member(name, path)?;
                    return serde_json::from_slice(&bytes).map_err(|error| {
                        ImportError::Malformed {
                            path: path.to_owned(),
                            reason: format!("{name}: {error}"),
                        }
                    });
                }
                None => continue,
            }
        }
        Err(ImportError::Malformed {
            path: path.to_owned(),
            reason: format!("neither {HEADER} nor {START} is in it; is it an Inspect log?"),
        })
    }

    /// A member's bytes. The size that the ZIP states is not trusted: what comes out is counted.
    pub(super) fn member(&mut self, name: &str, path: &Path) -> Result<Vec<u8>, ImportError> {
        let member = self
            .archive
            .by_name(name)
            .map_err(|error| malformed(path, &error))?;
        let mut bytes = Vec::new();
        let read = member.take(MEMBER_BYTES_MAX + 1).read_to_end(&mut bytes);
        read.map_err(|error| ImportError::Malformed {
            path: path.to_owned(),
            reason: format!("{name}: {error}"),
        })?;
        if bytes.len() as u64 > MEMBER_BYTES_MAX {
            return Err(ImportError::Malformed {
                path: path.to_owned(),
                reason: format!("{name} has more than {MEMBER_BYTES_MAX} bytes"),
            });
        }
        Ok(bytes)
    }
}

fn malformed(path: &Path, error: &ZipError) -> ImportError {
    ImportError::Malformed {
        path: path.to_owned(),
        reason: format!("not a ZIP file that can be read: {error}"),
    }
}
