//! Files and folders that only their owner can read: they hold what agents said.
//!
//! What this program makes is private from its first moment. What is there already with wider rights, as an older version or a
//! copy leaves it, is narrowed when it is opened; where the system refuses that, it is used as it is, and the log says so.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io;
use std::path::Path;

/// Rights of a folder.
#[cfg(unix)]
const FOLDER_MODE: u32 = 0o700;
/// Rights of a file.
#[cfg(unix)]
const FILE_MODE: u32 = 0o600;
/// Set on folders that many users share, such as `/tmp`: those are never narrowed.
#[cfg(unix)]
const STICKY: u32 = 0o1000;

/// Makes a folder, and those above it that are missing; narrows its rights if it is there already.
pub fn make_folder(folder: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, FOLDER_MODE);
    builder.create(folder)?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let mode = fs::metadata(folder)?.permissions().mode();
        if is_wide(mode) && mode & STICKY == 0 {
            let narrow = fs::Permissions::from_mode(FOLDER_MODE);
            told(folder, fs::set_permissions(folder, narrow));
        }
    }
    Ok(())
}

/// Options for opening files that are private, where opening makes them; to be opened with [`open`].
pub fn options() -> OpenOptions {
    #[cfg_attr(not(unix), allow(unused_mut))]
    let mut options = OpenOptions::new();
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, FILE_MODE);
    options
}

/// Opens a file, and narrows its rights if it was there with wider ones.
pub fn open(options: &OpenOptions, path: &Path) -> io::Result<File> {
    let file = options.open(path)?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let metadata = file.metadata()?;
        if metadata.is_file() && is_wide(metadata.permissions().mode()) {
            told(
                path,
                file.set_permissions(fs::Permissions::from_mode(FILE_MODE)),
            );
        }
    }
    Ok(file)
}

/// Whether others than the owner may do anything.
#[cfg(unix)]
fn is_wide(mode: u32) -> bool {
    mode & 0o077 != 0
}

#[cfg(unix)]
fn told(path: &Path, narrowed: io::Result<()>) {
    let path = path.display();
    match narrowed {
        Ok(()) => tracing::warn!(%path, "others could read this; now its owner alone can"),
        Err(error) => {
            tracing::warn!(%path, %error, "others can read this, and its rights cannot be changed")
        }
    }
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).expect("there").permissions().mode() & 0o7777
    }

    fn set(path: &Path, mode: u32) {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("ours");
    }

    #[test]
    fn what_is_there_with_wider_rights_is_narrowed() {
        let parent = tempfile::tempdir().expect("a folder");
        let folder = parent.path().join("a/b");
        make_folder(&folder).expect("made");
        assert_eq!(
            (mode(&folder), mode(&parent.path().join("a"))),
            (0o700, 0o700)
        );
        set(&folder, 0o755);
        make_folder(&folder).expect("there");
        assert_eq!(mode(&folder), 0o700);
        let file = folder.join("file");
        drop(open(options().write(true).create(true), &file).expect("made"));
        assert_eq!(mode(&file), 0o600);
        set(&file, 0o644);
        drop(open(options().append(true), &file).expect("opened"));
        assert_eq!(mode(&file), 0o600);
        // Narrower ones are somebody's choice.
        set(&file, 0o400);
        drop(open(options().read(true), &file).expect("opened"));
        assert_eq!(mode(&file), 0o400);
    }

    #[test]
    fn a_folder_that_many_share_stays_as_it_is() {
        let folder = tempfile::tempdir().expect("a folder");
        set(folder.path(), 0o1777);
        make_folder(folder.path()).expect("there");
        assert_eq!(mode(folder.path()), 0o1777);
    }
}
