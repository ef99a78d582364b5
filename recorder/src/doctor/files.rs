//! The data directory: its rights, and who writes to it.

use std::fs::{File, TryLockError};
use std::path::Path;

use super::Finding;
use crate::data_dir::DataDir;
use crate::store::LedgerLocation;

const DIRECTORY: &str = "data directory";
const LOCK: &str = "lock";

/// The folder and the rights of what is in it.
pub(super) fn data_directory(location: &LedgerLocation) -> Vec<Finding> {
    let path = location.directory();
    let shown = path.display();
    if let Err(error) = std::fs::read_dir(&path) {
        if error.kind() == std::io::ErrorKind::NotFound {
            return vec![Finding::warn(
                DIRECTORY,
                format!("{shown} does not exist"),
                "`remembrancer serve` makes it; if there should be one, look whether its disk is mounted",
            )];
        }
        return vec![Finding::fail(
            DIRECTORY,
            format!("{shown}: {error}"),
            "let the user that runs the server own the folder",
        )];
    }
    let folder = location.folder();
    let mut findings = vec![rights(&path, 0o077).map_or_else(
        || Finding::ok(DIRECTORY, format!("{shown}, for its owner alone")),
        |mode| {
            Finding::warn(
                DIRECTORY,
                format!("{shown} has the mode {mode:o}: others can look into it"),
                format!("chmod 700 {shown}"),
            )
        },
    )];
    for (path, others) in [(folder.database(), 0o077), (folder.private_key(), 0o066)] {
        let Some(mode) = rights(&path, others) else {
            continue;
        };
        let found = format!("{} has the mode {mode:o}", path.display());
        let next = format!("chmod 600 {}", path.display());
        findings.push(if path == folder.private_key() {
            Finding::fail(
                "private key",
                format!("{found}: others can sign in the ledger's name"),
                next,
            )
        } else {
            Finding::warn(
                "database file",
                format!("{found}: others can read what is recorded"),
                next,
            )
        });
    }
    if folder.refuse_backup().is_err() {
        findings.push(Finding::fail(
            DIRECTORY,
            format!("{shown} is a backup"),
            "restore it into a folder of its own: `remembrancer restore --from … --data …`",
        ));
    }
    findings
}

/// The mode of what is there, if it lets others do any of these things.
fn rights(path: &Path, others: u32) -> Option<u32> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let mode = std::fs::metadata(path).ok()?.permissions().mode() & 0o7777;
        (mode & others != 0).then_some(mode)
    }
    #[cfg(not(unix))]
    {
        let _ = (path, others);
        None
    }
}

/// Who writes. The lock is taken for a moment, which a server that starts just then would be refused for.
pub(super) fn lock(folder: &DataDir) -> Finding {
    let path = folder.lock_file();
    let file = match File::open(&path) {
        Ok(file) => file,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            return Finding::ok(LOCK, "free: no server ever ran here");
        }
        Err(error) => {
            return Finding::fail(
                LOCK,
                format!("{}: {error}", path.display()),
                "let the user that runs the server own the file",
            );
        }
    };
    match file.try_lock() {
        Ok(()) => Finding::ok(LOCK, "free: no server runs on this folder"),
        Err(TryLockError::WouldBlock) => Finding::ok(
            LOCK,
            holder(&file).map_or_else(
                || "held by another process".to_owned(),
                |holder| format!("held by {holder}"),
            ),
        ),
        Err(TryLockError::Error(error)) => Finding::fail(
            LOCK,
            format!("{} cannot be locked: {error}", path.display()),
            "use a file system that has locks: without them two servers could write at once",
        ),
    }
}

/// The process that holds a lock on a file, where the system tells.
fn holder(file: &File) -> Option<String> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt as _;
        let inode = file.metadata().ok()?.ino();
        let locks = std::fs::read_to_string("/proc/locks").ok()?;
        let id = locks.lines().find_map(|line| holder_in(line, inode))?;
        let name = std::fs::read_to_string(format!("/proc/{id}/comm")).unwrap_or_default();
        // A process may call itself what it likes.
        let name: String = name
            .chars()
            .filter(char::is_ascii_graphic)
            .take(32)
            .collect();
        Some(format!("process {id} ({name})"))
    }
    #[cfg(not(unix))]
    {
        let _ = file;
        None
    }
}

/// The process in a line of `/proc/locks`, such as `1: FLOCK  ADVISORY  WRITE 1234 08:01:4711 0 EOF`.
fn holder_in(line: &str, inode: u64) -> Option<u32> {
    let fields: Vec<&str> = line.split_whitespace().collect();
    let [_, "FLOCK", _, "WRITE", id, place, ..] = fields.as_slice() else {
        return None;
    };
    let found: u64 = place.rsplit(':').next()?.parse().ok()?;
    (found == inode).then(|| id.parse().ok())?
}

#[cfg(test)]
mod tests {
    use super::holder_in;

    #[test]
    fn the_holder_of_a_lock_is_read() {
        let line = "1: FLOCK  ADVISORY  WRITE 1234 08:01:4711 0 EOF";
        assert_eq!(holder_in(line, 4711), Some(1234));
        assert_eq!(holder_in(line, 47), None);
        assert_eq!(
            holder_in("1: POSIX  ADVISORY  WRITE 1234 08:01:4711 0 EOF", 4711),
            None
        );
        assert_eq!(
            holder_in("2: -> FLOCK ADVISORY WRITE 7 08:01:4711 0 EOF", 4711),
            None,
            "it waits"
        );
        assert_eq!(holder_in("nonsense", 4711), None);
    }
}
