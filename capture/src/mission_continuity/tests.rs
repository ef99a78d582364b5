//! The recorded E1 pair against every value that is known about it.

mod events;
mod expected;
mod refusal;
mod restoring;

use std::fs;
use std::path::{Path, PathBuf};

use super::*;

/// A recorded bundle or file; nothing where the recorded runs are not at hand, which continuous integration does not accept.
fn shared(name: &str) -> Option<PathBuf> {
    let root = std::env::var_os("REMEMBRANCER_SHARED_DATA").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/data"),
        PathBuf::from,
    );
    let place = root.join("mission-continuity").join(name);
    if place.exists() {
        return Some(place);
    }
    assert!(
        std::env::var_os("CI").is_none(),
        "{} is missing; set REMEMBRANCER_SHARED_DATA to the folder of recorded runs",
        place.display()
    );
    #[allow(clippy::print_stderr, reason = "a skipped test says so")]
    {
        eprintln!("skipped: {} is missing", place.display());
    }
    None
}

/// A copy that may be changed.
fn copy(label: &str) -> Option<tempfile::TempDir> {
    fn copy_folder(from: &Path, to: &Path) {
        fs::create_dir_all(to).expect("a new folder");
        for entry in fs::read_dir(from).expect("readable") {
            let entry = entry.expect("readable");
            let target = to.join(entry.file_name());
            if entry.file_type().expect("a type").is_dir() {
                copy_folder(&entry.path(), &target);
            } else {
                fs::write(target, fs::read(entry.path()).expect("readable")).expect("writable");
            }
        }
    }
    let folder = tempfile::tempdir().expect("a temporary folder");
    copy_folder(&shared(label)?, folder.path());
    Some(folder)
}

fn import(name: &str) -> Option<Import> {
    let folder = shared(name)?;
    Some(read(&folder, &ImportOptions::default()).expect("a sound bundle"))
}
