//! Files that tests read and that are not part of the project.

use std::path::{Path, PathBuf};

use remembrancer_schema::Event;
use remembrancer_schema::payload::Witness;

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

/// The witness that an event names. Every event of every adapter names one.
pub(crate) fn witness_of(event: &Event<'_>) -> Witness {
    let data: serde_json::Value = serde_json::from_str(event.data).expect("JSON");
    let named = serde_json::from_value(data["witness"].clone());
    named.unwrap_or_else(|error| panic!("{} {}: its witness: {error}", event.kind, event.id))
}
