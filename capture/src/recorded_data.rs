//! Files that tests read and that are not part of the project.

use std::path::{Path, PathBuf};

/// A recorded file; nothing where the recordings are not at hand, which continuous integration does not accept.
pub(crate) fn shared(name: &str) -> Option<PathBuf> {
    let root = std::env::var_os("REMEMBRANCER_SHARED_DATA").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/data"),
        PathBuf::from,
    );
    let place = root.join(name);
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
