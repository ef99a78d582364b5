//! What a verification found wrong, within bounds.

use remembrancer_replay::verify::Fault;

/// Faults that are told one by one; the first is what matters.
const FAULTS_MAX: usize = 100;

/// Faults of entries, in their order, and faults that no entry has.
#[derive(Default)]
pub(super) struct Faults {
    of_entries: Vec<Fault>,
    general: Vec<Fault>,
}

impl Faults {
    /// A fault of an entry that could be read.
    pub(super) fn of_entry(&mut self, fault: Fault) {
        if self.of_entries.len() < FAULTS_MAX {
            self.of_entries.push(fault);
        }
    }

    /// A fault at an index whose entry could not be read, so that its number in its session is not known.
    pub(super) fn at(&mut self, index: u64, message: impl std::fmt::Display) {
        self.of_entry(Fault {
            index: Some(index),
            ..Fault::general(format!("entry {index}: {message}"))
        });
    }

    /// A fault that no single entry has.
    pub(super) fn general(&mut self, message: impl Into<String>) {
        if self.general.len() < FAULTS_MAX {
            self.general.push(Fault::general(message));
        }
    }

    /// Whether some entry has a fault.
    pub(super) fn has_bad_entry(&self) -> bool {
        !self.of_entries.is_empty()
    }

    /// Faults of entries first.
    pub(super) fn into_vec(self) -> Vec<Fault> {
        self.of_entries
            .into_iter()
            .chain(self.general)
            .take(FAULTS_MAX)
            .collect()
    }
}
