//! The files of a data directory: the database, the key pair, the copy of the newest checkpoint and the lock.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{ErrorKind, Write as _};
use std::path::{Path, PathBuf};

use remembrancer_schema::signing::LedgerKey;

use crate::backup::MANIFEST_FILE;
use crate::error::LedgerError;

/// A data directory by its path. Nothing is touched until asked for.
#[derive(Debug, Clone)]
pub(crate) struct DataDir(PathBuf);

impl DataDir {
    pub(crate) fn new(path: &Path) -> Self {
        Self(path.to_owned())
    }

    pub(crate) fn database(&self) -> PathBuf {
        self.0.join("ledger.sqlite")
    }

    /// Whether a write-ahead log stands beside the database.
    pub(crate) fn has_wal(&self) -> bool {
        std::fs::metadata(self.0.join("ledger.sqlite-wal")).is_ok_and(|log| log.len() > 0)
    }

    pub(crate) fn private_key(&self) -> PathBuf {
        self.0.join("ledger-key.pem")
    }

    pub(crate) fn public_key(&self) -> PathBuf {
        self.0.join("ledger.pub.pem")
    }

    /// The copy of the newest checkpoint.
    pub(crate) fn checkpoint_copy(&self) -> PathBuf {
        self.0.join("ledger.checkpoint")
    }

    /// The newest checkpoint that witnesses signed.
    pub(crate) fn cosigned_checkpoint(&self) -> PathBuf {
        self.0.join("ledger.cosigned")
    }

    /// The file that remembers where large blobs are kept.
    pub(crate) fn blob_place(&self) -> PathBuf {
        self.0.join("blob-store.txt")
    }

    /// Replaces that file, durably.
    pub(crate) fn write_blob_place(&self, text: &str) -> Result<(), LedgerError> {
        let path = self.blob_place();
        let draft = self.0.join("blob-store.txt.new");
        private_file()
            .create(true)
            .truncate(true)
            .open(&draft)
            .and_then(|mut file| {
                file.write_all(text.as_bytes())?;
                file.sync_all()
            })
            .map_err(failed("cannot write", &draft))?;
        fs::rename(&draft, &path).map_err(failed("cannot replace", &path))?;
        self.sync()
    }

    /// Refuses to go on if something is left of a ledger whose database is gone.
    pub(crate) fn refuse_remains(
        &self,
        database: &str,
        remains: &[PathBuf],
    ) -> Result<(), LedgerError> {
        match remains.iter().find(|path| path.exists()) {
            None => Ok(()),
            Some(found) => Err(LedgerError::MissingDatabase {
                database: database.to_owned(),
                found: found.clone(),
            }),
        }
    }

    /// Refuses to write to a backup.
    pub(crate) fn refuse_backup(&self) -> Result<(), LedgerError> {
        if self.0.join(MANIFEST_FILE).exists() {
            return Err(LedgerError::IsABackup(self.0.clone()));
        }
        Ok(())
    }

    pub(crate) fn lock_file(&self) -> PathBuf {
        self.0.join("ledger.lock")
    }

    /// Makes the folder, readable by its owner alone, unless it exists.
    pub(crate) fn create(&self) -> Result<(), LedgerError> {
        let mut builder = fs::DirBuilder::new();
        builder.recursive(true);
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder
            .create(&self.0)
            .map_err(failed("cannot make the folder", &self.0))
    }

    /// Takes the writer's lock. It is held until the file is dropped, also by a crash.
    pub(crate) fn lock(&self) -> Result<File, LedgerError> {
        let path = self.lock_file();
        let file = private_file()
            .create(true)
            .truncate(false)
            .open(&path)
            .map_err(failed("cannot open", &path))?;
        match file.try_lock() {
            Ok(()) => Ok(file),
            Err(TryLockError::WouldBlock) => Err(LedgerError::AlreadyOpen(self.0.clone())),
            Err(TryLockError::Error(source)) => Err(failed("cannot lock", &path)(source)),
        }
    }

    /// Waits for its turn to make a workspace, and keeps it until the file is dropped.
    pub(crate) fn lock_workspaces(&self) -> Result<File, LedgerError> {
        let path = self.0.join("workspaces.lock");
        let file = private_file()
            .create(true)
            .truncate(false)
            .open(&path)
            .map_err(failed("cannot open", &path))?;
        file.lock().map_err(failed("cannot lock", &path))?;
        Ok(file)
    }

    /// Makes the database file with owner-only rights before the database library would make it with the process's default.
    pub(crate) fn create_database_file(&self) -> Result<(), LedgerError> {
        let path = self.database();
        match private_file().create_new(true).open(&path) {
            Ok(_) => Ok(()),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(()),
            Err(error) => Err(failed("cannot make", &path)(error)),
        }
    }

    /// Reads the private key, or makes one if `may_create`.
    pub(crate) fn key(&self, may_create: bool) -> Result<LedgerKey, LedgerError> {
        let path = self.private_key();
        if is_open_to_others(&path) {
            tracing::warn!(
                path = %path.display(),
                "other users can read or change the ledger's private key; whoever has it can sign another history: chmod 600"
            );
        }
        match fs::read_to_string(&path) {
            Ok(pem) => LedgerKey::from_pem(&pem).map_err(|error| LedgerError::BadKey {
                path,
                reason: error.to_string(),
            }),
            Err(error) if error.kind() == ErrorKind::NotFound && may_create => self.create_key(),
            Err(error) if error.kind() == ErrorKind::NotFound => Err(LedgerError::MissingKey {
                data: self.0.clone(),
                path,
            }),
            Err(error) => Err(failed("cannot read", &path)(error)),
        }
    }

    fn create_key(&self) -> Result<LedgerKey, LedgerError> {
        let path = self.private_key();
        let key = LedgerKey::from_seed(&crate::random::bytes()?);
        let pem = key.to_pem().map_err(|error| LedgerError::BadKey {
            path: path.clone(),
            reason: error.to_string(),
        })?;
        // The mode is given when the file is made, so that there is no moment at which others can read it. The key reaches
        // its name complete or not at all: a torn key file would lock a ledger out for ever.
        // Several processes on one database server may share a folder: each has its own draft, and the first key stays.
        let number: [u8; 8] = crate::random::bytes()?;
        let draft = self
            .0
            .join(format!("ledger-key.pem.{}.new", hex::encode(number)));
        let mut file = private_file()
            .create_new(true)
            .open(&draft)
            .map_err(failed("cannot make", &draft))?;
        file.write_all(pem.as_bytes())
            .and_then(|()| file.sync_all())
            .map_err(failed("cannot write", &draft))?;
        let linked = fs::hard_link(&draft, &path);
        remove_leftover(&draft)?;
        match linked {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => self.key(false),
            linked => {
                linked.map_err(failed("cannot make", &path))?;
                self.sync()?;
                Ok(key)
            }
        }
    }

    /// Writes the public key beside the private one, for people to hand out. Derived, so it may be written anew.
    pub(crate) fn write_public_key(&self, key: &LedgerKey) -> Result<(), LedgerError> {
        let path = self.public_key();
        let pem = key.public().to_pem().map_err(|error| LedgerError::BadKey {
            path: path.clone(),
            reason: error.to_string(),
        })?;
        if fs::read_to_string(&path).is_ok_and(|present| present == pem) {
            return Ok(());
        }
        fs::write(&path, pem).map_err(failed("cannot write", &path))
    }

    /// Makes names in the folder durable.
    pub(crate) fn sync(&self) -> Result<(), LedgerError> {
        File::open(&self.0)
            .and_then(|folder| folder.sync_all())
            .map_err(failed("cannot sync", &self.0))
    }
}

/// Opens a file that its owner alone may read.
pub(crate) fn private_file() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.read(true).write(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

/// Whether somebody else than its owner may read or write a file. Only where files have modes.
fn is_open_to_others(path: &Path) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        fs::metadata(path).is_ok_and(|file| file.permissions().mode() & 0o066 != 0)
    }
    #[cfg(not(unix))]
    {
        let _ = path;
        false
    }
}

fn remove_leftover(path: &Path) -> Result<(), LedgerError> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => {
            Err(failed("cannot remove", path)(error))
        }
        _ => Ok(()),
    }
}

pub(crate) fn failed(
    what: &'static str,
    path: &Path,
) -> impl FnOnce(std::io::Error) -> LedgerError {
    let path = path.to_owned();
    move |source| LedgerError::File { what, path, source }
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn a_key_that_others_can_read_is_noticed() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let data = DataDir::new(folder.path());
        data.key(true).expect("makes a key");
        let path = data.private_key();
        for (mode, is_open) in [
            (0o600, false),
            (0o400, false),
            (0o640, true),
            (0o604, true),
            (0o620, true),
        ] {
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).expect("sets");
            assert_eq!(is_open_to_others(&path), is_open, "{mode:o}");
        }
        assert!(!is_open_to_others(&data.database()), "there is none");
    }
}
