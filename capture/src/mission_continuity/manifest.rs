//! The check that comes before everything else: are these the files that the manifest lists?

use std::collections::BTreeMap;
use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use remembrancer_schema::hash::sha256;
use serde::Deserialize;

use super::ImportError;

/// Largest file of a bundle, in bytes.
pub const FILE_BYTES_MAX: u64 = 64 * 1024 * 1024;
/// Largest bundle, all files together, in bytes.
pub const BUNDLE_BYTES_MAX: u64 = 512 * 1024 * 1024;
/// Most files that a bundle may hold.
pub const FILES_MAX: usize = 10_000;
/// Deepest folder below the bundle's own.
const DEPTH_MAX: usize = 8;
const MANIFEST: &str = "manifest.json";

/// One way in which a folder is not what its manifest says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Difference {
    /// Listed, but not there.
    Missing {
        /// Its path in the bundle.
        path: String,
    },
    /// There, with another content.
    Different {
        /// Its path in the bundle.
        path: String,
        /// SHA-256 that the manifest gives.
        listed: String,
        /// SHA-256 of the file.
        found: String,
    },
    /// There, but not listed.
    Unlisted {
        /// Its path in the bundle.
        path: String,
    },
}

impl std::fmt::Display for Difference {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Missing { path } => write!(f, "missing: {path:?}"),
            Self::Different {
                path,
                listed,
                found,
            } => write!(
                f,
                "different: {path:?} has SHA-256 {found}, the manifest lists {listed}"
            ),
            Self::Unlisted { path } => write!(f, "not listed: {path:?}"),
        }
    }
}

/// The manifest and the files that it lists, read once: what was checked is what is parsed.
#[derive(Debug)]
pub(super) struct CheckedFiles {
    pub(super) manifest: Manifest,
    /// SHA-256 of the manifest itself.
    pub(super) manifest_sha256: String,
    files: BTreeMap<String, Vec<u8>>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Manifest {
    pub(super) label: String,
    #[serde(default)]
    pub(super) app_commit: Option<String>,
    pub(super) files: BTreeMap<String, String>,
}

impl CheckedFiles {
    /// Reads a bundle's folder and refuses it unless it is exactly what its manifest lists.
    pub(super) fn read(dir: &Path) -> Result<Self, ImportError> {
        let manifest_bytes = read_file(&dir.join(MANIFEST), MANIFEST)?;
        let manifest: Manifest =
            serde_json::from_slice(&manifest_bytes).map_err(|error| ImportError::Malformed {
                file: MANIFEST.to_owned(),
                line: error.line(),
                reason: error.to_string(),
            })?;
        for path in manifest.files.keys() {
            if !is_inside(path) {
                return Err(ImportError::Path { path: path.clone() });
            }
        }
        let found = list(dir)?;
        let mut differences = Vec::new();
        let mut files = BTreeMap::new();
        let mut total = 0u64;
        for (path, listed) in &manifest.files {
            let Some(place) = found.get(path) else {
                differences.push(Difference::Missing { path: path.clone() });
                continue;
            };
            let bytes = read_file(place, path)?;
            total += bytes.len() as u64;
            if total > BUNDLE_BYTES_MAX {
                return Err(ImportError::BundleTooLarge);
            }
            let hash = hex::encode(sha256(&bytes));
            if *listed == hash {
                files.insert(path.clone(), bytes);
            } else {
                differences.push(Difference::Different {
                    path: path.clone(),
                    listed: listed.clone(),
                    found: hash,
                });
            }
        }
        differences.extend(
            found
                .keys()
                .filter(|path| *path != MANIFEST && !manifest.files.contains_key(*path))
                .map(|path| Difference::Unlisted { path: path.clone() }),
        );
        if differences.is_empty() {
            Ok(Self {
                manifest,
                manifest_sha256: hex::encode(sha256(&manifest_bytes)),
                files,
            })
        } else {
            Err(ImportError::Manifest {
                dir: dir.to_owned(),
                differences,
            })
        }
    }

    pub(super) fn get(&self, path: &str) -> Option<&[u8]> {
        self.files.get(path).map(Vec::as_slice)
    }

    pub(super) fn require(&self, path: &str) -> Result<&[u8], ImportError> {
        self.get(path)
            .ok_or_else(|| ImportError::NoFile { file: path.into() })
    }

    /// The files below a folder, by path.
    pub(super) fn below<'a>(
        &'a self,
        folder: &'a str,
    ) -> impl Iterator<Item = (&'a str, &'a [u8])> + 'a {
        self.files
            .iter()
            .filter(move |(path, _)| path.starts_with(folder))
            .map(|(path, bytes)| (path.as_str(), bytes.as_slice()))
    }
}

/// Whether a listed path stays inside the folder whatever the operating system makes of it.
fn is_inside(path: &str) -> bool {
    !path.is_empty()
        && path.len() <= 1024
        && !path.contains(['\\', ':', '\0'])
        && path
            .split('/')
            .all(|name| !name.is_empty() && name != "." && name != "..")
}

/// Every file of the folder by its path in it. Anything but files and folders is refused: a link could lead outside.
fn list(dir: &Path) -> Result<BTreeMap<String, PathBuf>, ImportError> {
    let mut found = BTreeMap::new();
    let mut folders = vec![(dir.to_owned(), String::new(), 0)];
    while let Some((folder, prefix, depth)) = folders.pop() {
        let failed = |error| ImportError::Read {
            path: folder.clone(),
            error,
        };
        for entry in fs::read_dir(&folder).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            let place = entry.path();
            let name = entry.file_name();
            let path = match name.to_str() {
                Some(name) => format!("{prefix}{name}"),
                None => return Err(ImportError::NotAFile { path: place }),
            };
            let kind = entry.file_type().map_err(failed)?;
            if kind.is_dir() && depth < DEPTH_MAX {
                folders.push((place, format!("{path}/"), depth + 1));
            } else if kind.is_file() {
                found.insert(path, place);
            } else {
                return Err(ImportError::NotAFile { path: place });
            }
            if found.len() + folders.len() > FILES_MAX {
                return Err(ImportError::TooManyFiles);
            }
        }
    }
    Ok(found)
}

fn read_file(place: &Path, path: &str) -> Result<Vec<u8>, ImportError> {
    let failed = |error| ImportError::Read {
        path: place.to_owned(),
        error,
    };
    if !fs::symlink_metadata(place).map_err(failed)?.is_file() {
        return Err(ImportError::NotAFile {
            path: place.to_owned(),
        });
    }
    let mut bytes = Vec::new();
    let file = fs::File::open(place).map_err(failed)?;
    file.take(FILE_BYTES_MAX + 1)
        .read_to_end(&mut bytes)
        .map_err(failed)?;
    if bytes.len() as u64 > FILE_BYTES_MAX {
        return Err(ImportError::FileTooLarge { file: path.into() });
    }
    Ok(bytes)
}
