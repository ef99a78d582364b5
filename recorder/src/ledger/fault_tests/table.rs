//! The faults that a storage step can have, what the caller is then told, and what is stored: one table for all databases.
//!
//! A step is a call of [`crate::store::Writer`], which every driver has. What a driver alone does inside a step: SQLite hands
//! the entries of large groups to another thread ([`Asked::Many`] has them), and PostgreSQL has a server, which can end a
//! connection before any step ([`ON_A_SERVER`]). A ledger that follows another process's turn reads through the connection
//! of its group; a server that ends it there fails that read.

use crate::store::faulty::{Fault, Step};

/// What a caller is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Told {
    NotStored,
    InDoubt,
}

/// What the group that meets the fault was asked to store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Asked {
    /// One event of a session that is there.
    Note,
    /// The same, with a key that the group has to look up.
    NoteWithKey,
    /// The start of another session.
    Start,
    /// More events than any driver writes at once.
    Many,
    /// A small blob.
    Blob,
}

/// Faults, what the caller is told, and whether what was asked for is stored all the same.
#[derive(Debug, Clone, Copy)]
pub(super) struct Case {
    pub(super) asked: Asked,
    pub(super) faults: &'static [(Step, Fault)],
    pub(super) told: Told,
    pub(super) is_stored: bool,
}

const fn not_stored(asked: Asked, faults: &'static [(Step, Fault)]) -> Case {
    Case {
        asked,
        faults,
        told: Told::NotStored,
        is_stored: false,
    }
}

const fn in_doubt(asked: Asked, faults: &'static [(Step, Fault)], is_stored: bool) -> Case {
    Case {
        asked,
        faults,
        told: Told::InDoubt,
        is_stored,
    }
}

use Asked::{Blob, Many, Note, NoteWithKey, Start};
use Fault::{DoneButFailed, Ended, NotDone, Passed};
use Step::{
    Begin, Commit, LookUpBlobs, LookUpEvents, LookUpKeys, LookUpSessionNumber, LookUpSessions,
    Open, Rollback, Write, WriteEntries,
};

/// On every database.
pub(super) const ON_EACH_DATABASE: [Case; 30] = [
    not_stored(Note, &[(Begin, NotDone)]),
    not_stored(Note, &[(Begin, DoneButFailed)]),
    not_stored(NoteWithKey, &[(LookUpKeys, NotDone)]),
    not_stored(NoteWithKey, &[(LookUpKeys, DoneButFailed)]),
    not_stored(Note, &[(LookUpSessions, NotDone)]),
    not_stored(Note, &[(LookUpSessions, DoneButFailed)]),
    not_stored(Start, &[(LookUpSessionNumber, NotDone)]),
    not_stored(Start, &[(LookUpSessionNumber, DoneButFailed)]),
    not_stored(Note, &[(LookUpEvents, NotDone)]),
    not_stored(Note, &[(LookUpEvents, DoneButFailed)]),
    not_stored(Blob, &[(LookUpBlobs, NotDone)]),
    not_stored(Blob, &[(LookUpBlobs, DoneButFailed)]),
    not_stored(Note, &[(WriteEntries, NotDone)]),
    not_stored(Note, &[(WriteEntries, DoneButFailed)]),
    // Some of the group's entries are written, and are taken back.
    not_stored(Many, &[(WriteEntries, Passed), (WriteEntries, NotDone)]),
    not_stored(
        Many,
        &[(WriteEntries, Passed), (WriteEntries, DoneButFailed)],
    ),
    not_stored(Note, &[(Write, NotDone)]),
    not_stored(Note, &[(Write, DoneButFailed)]),
    not_stored(Start, &[(Write, DoneButFailed)]),
    not_stored(Blob, &[(Write, DoneButFailed)]),
    in_doubt(Note, &[(Commit, NotDone)], false),
    in_doubt(Note, &[(Commit, DoneButFailed)], true),
    in_doubt(Many, &[(Commit, NotDone)], false),
    in_doubt(Many, &[(Commit, DoneButFailed)], true),
    in_doubt(Blob, &[(Commit, NotDone)], false),
    in_doubt(Blob, &[(Commit, DoneButFailed)], true),
    // The rollback fails too: the connection is given up.
    not_stored(Note, &[(Write, DoneButFailed), (Rollback, NotDone)]),
    not_stored(Note, &[(Write, NotDone), (Rollback, DoneButFailed)]),
    // The ledger cannot be opened again at once.
    in_doubt(Note, &[(Commit, NotDone), (Open, NotDone)], false),
    in_doubt(
        Note,
        &[(Commit, DoneButFailed), (Open, NotDone), (Begin, NotDone)],
        true,
    ),
];

/// Where there is a server, which ends the connection before each step.
pub(super) const ON_A_SERVER: [Case; 11] = [
    not_stored(Note, &[(Begin, Ended)]),
    not_stored(NoteWithKey, &[(LookUpKeys, Ended)]),
    not_stored(Note, &[(LookUpSessions, Ended)]),
    not_stored(Start, &[(LookUpSessionNumber, Ended)]),
    not_stored(Note, &[(LookUpEvents, Ended)]),
    not_stored(Blob, &[(LookUpBlobs, Ended)]),
    not_stored(Note, &[(WriteEntries, Ended)]),
    not_stored(Many, &[(WriteEntries, Passed), (WriteEntries, Ended)]),
    not_stored(Note, &[(Write, Ended)]),
    in_doubt(Note, &[(Commit, Ended)], false),
    not_stored(Note, &[(Write, NotDone), (Rollback, Ended)]),
];
