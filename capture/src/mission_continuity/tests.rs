//! The recorded E1 pair against every value that is known about it.

mod events;
mod expected;
mod refusal;
mod restoring;

use std::fs;
use std::path::{Path, PathBuf};

use super::*;
use crate::recorded_data;

/// A recorded bundle or file, as [`recorded_data::shared`] gives it.
fn shared(name: &str) -> Option<PathBuf> {
    recorded_data::shared(&format!("mission-continuity/{name}"))
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

#[test]
fn every_event_of_the_recorded_runs_names_its_witness() {
    for name in ["E1-baseline", "E1-governed"] {
        let Some(import) = import(name) else {
            return;
        };
        assert!(import.events.len() > 100, "{name}");
        for event in &import.events {
            let event = remembrancer_schema::Event::parse(&event.bytes).expect("a valid event");
            assert_eq!(
                recorded_data::witness_of(&event),
                remembrancer_schema::payload::Witness::Transcript,
                "{name}: {}",
                event.id
            );
        }
    }
}
