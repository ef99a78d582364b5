//! Which place a ledger's blobs have: the one that is given, else the one that was used last, else the data directory.
//!
//! A command that reads the ledger must look where the recorder wrote, and a recorder that is started without its option must
//! not begin a second place. So the place is remembered in the data directory, in a file that holds no secret.

use std::io::ErrorKind;

use crate::error::LedgerError;
use crate::store::LedgerLocation;

use super::BlobLocation;

/// Longest text in the file.
const TEXT_BYTES_MAX: usize = 8192;

impl BlobLocation {
    /// The place of the blobs of a ledger.
    pub(crate) fn of(ledger: &LedgerLocation) -> Result<Self, LedgerError> {
        match &ledger.blobs {
            Some(given) => given.clone().for_workspace(ledger).absolute(),
            None => match remembered(ledger)? {
                Some(place) => Ok(place),
                None => Self::Folder(ledger.directory()).absolute(),
            },
        }
    }

    /// Each workspace has a place of its own, below the one that is given for all.
    fn for_workspace(self, ledger: &LedgerLocation) -> Self {
        if ledger.workspace.is_default() {
            return self;
        }
        let name = ledger.workspace.as_str();
        match self {
            Self::Folder(folder) => Self::Folder(folder.join("workspaces").join(name)),
            Self::S3 { bucket, prefix } => Self::S3 {
                bucket,
                prefix: format!("{prefix}/workspaces/{name}")
                    .trim_start_matches('/')
                    .to_owned(),
            },
        }
    }

    /// The same place from whichever folder a command is run.
    fn absolute(self) -> Result<Self, LedgerError> {
        match self {
            Self::Folder(folder) => {
                let absolute =
                    std::path::absolute(&folder).map_err(|source| LedgerError::File {
                        what: "cannot find",
                        path: folder,
                        source,
                    })?;
                Ok(Self::Folder(absolute))
            }
            place => Ok(place),
        }
    }

    /// Remembers this place for the commands and starts that are not given one.
    pub(crate) fn remember(&self, ledger: &LedgerLocation) -> Result<(), LedgerError> {
        if remembered(ledger)?.as_ref() == Some(self) {
            return Ok(());
        }
        ledger.folder().write_blob_place(&format!("{self}\n"))
    }
}

fn remembered(ledger: &LedgerLocation) -> Result<Option<BlobLocation>, LedgerError> {
    let path = ledger.folder().blob_place();
    let failed = |source| LedgerError::File {
        what: "cannot read",
        path: path.clone(),
        source,
    };
    match std::fs::read_to_string(&path) {
        Ok(text) if text.len() > TEXT_BYTES_MAX => Err(failed(std::io::Error::other(
            "it is longer than any place of blobs",
        ))),
        Ok(text) => Ok(Some(text.trim_end().parse()?)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(failed(error)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_given_or_remembered_or_the_data_directory() {
        let folder = tempfile::tempdir().unwrap();
        let ledger = LedgerLocation::new(folder.path());
        let place = |ledger: &LedgerLocation| BlobLocation::of(ledger).unwrap().to_string();
        assert_eq!(place(&ledger), folder.path().display().to_string());

        let given = LedgerLocation {
            blobs: Some("s3://bucket/a".parse().unwrap()),
            ..ledger.clone()
        };
        assert_eq!(place(&given), "s3://bucket/a");
        BlobLocation::of(&given).unwrap().remember(&given).unwrap();
        assert_eq!(place(&ledger), "s3://bucket/a");
        let other = LedgerLocation {
            blobs: Some("elsewhere".parse().unwrap()),
            ..ledger.clone()
        };
        assert!(place(&other).starts_with('/') && place(&other).ends_with("/elsewhere"));

        std::fs::write(folder.path().join("blob-store.txt"), "ftp://x\n").unwrap();
        assert!(
            BlobLocation::of(&ledger).is_err(),
            "a place that cannot be read is not guessed"
        );
    }

    #[test]
    fn each_workspace_has_a_place_of_its_own() {
        let folder = tempfile::tempdir().unwrap();
        let acme = LedgerLocation::new(folder.path()).workspace("acme".parse().unwrap());
        for (given, expected) in [
            ("s3://bucket", "s3://bucket/workspaces/acme"),
            ("s3://bucket/a", "s3://bucket/a/workspaces/acme"),
            ("/var/blobs", "/var/blobs/workspaces/acme"),
        ] {
            let ledger = LedgerLocation {
                blobs: Some(given.parse().unwrap()),
                ..acme.clone()
            };
            assert_eq!(BlobLocation::of(&ledger).unwrap().to_string(), expected);
        }
    }
}
