//! The checkpoint that readers get: the newest one, with the signatures of witnesses, or none before enough of them signed.

use std::sync::{PoisonError, RwLock};
use std::time::Duration;

use remembrancer_schema::Origin;
use remembrancer_schema::cosignature;
use remembrancer_schema::signing::PublicKey;
use remembrancer_schema::verifier_key::VerifierKey;

use crate::checkpoint_copy::CheckpointCopy;
use crate::error::LedgerError;

/// Age of half a file that another process left.
const DRAFT_AGE_MIN: Duration = Duration::from_secs(600);

/// A checkpoint that may be shown, or why there is none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Published {
    /// The signed note.
    Note(String),
    /// The ledger has no entry yet.
    Empty,
    /// Not enough witnesses have signed one yet: as many as are required.
    HeldBack(usize),
}

/// A checkpoint with the signatures of witnesses.
#[derive(Debug, Clone)]
struct Cosigned {
    /// The ledger's own note, and the witnesses' lines behind it.
    note: String,
    size: u64,
    witnesses: usize,
}

/// What is published of a ledger. It is kept in a file, so that a reader's checkpoint does not go away with a restart.
pub(crate) struct Publication {
    file: CheckpointCopy,
    required: usize,
    newest: RwLock<Option<Cosigned>>,
}

impl Publication {
    /// Takes up what was published before, by the signatures of the witnesses that are trusted now.
    pub(crate) fn open(
        file: CheckpointCopy,
        origin: &Origin,
        key: &PublicKey,
        witnesses: &[VerifierKey],
        required: usize,
    ) -> Self {
        file.remove_drafts(DRAFT_AGE_MIN);
        let newest = match file.read_note(origin, key) {
            Ok(kept) => kept.and_then(|(note, checkpoint)| {
                let signed = cosignature::of_witnesses(&note, witnesses).ok()?;
                Some(Cosigned {
                    note,
                    size: checkpoint.size,
                    witnesses: signed.len(),
                })
            }),
            Err(error) => {
                // Witnesses sign again, and it is written anew.
                tracing::warn!(%error, "the cosigned checkpoint is not used");
                None
            }
        };
        Self {
            file,
            required,
            newest: RwLock::new(newest.filter(|cosigned| cosigned.witnesses >= required)),
        }
    }

    /// How many witnesses have to sign.
    pub(crate) fn required(&self) -> usize {
        self.required
    }

    /// What a reader gets while `newest` is the newest checkpoint.
    pub(crate) fn published(&self, newest: Option<String>) -> Published {
        let cosigned = self.newest.read().unwrap_or_else(PoisonError::into_inner);
        match (cosigned.as_ref(), newest) {
            (_, None) => Published::Empty,
            (Some(cosigned), _) if self.required > 0 => Published::Note(cosigned.note.clone()),
            (None, _) if self.required > 0 => Published::HeldBack(self.required),
            (Some(cosigned), Some(newest)) if cosigned.note.starts_with(&newest) => {
                Published::Note(cosigned.note.clone())
            }
            (_, Some(newest)) => Published::Note(newest),
        }
    }

    /// Publishes a checkpoint with the lines of witnesses, if they are enough and it is not older than what is published. It is
    /// on the disk before anybody gets it.
    pub(crate) fn publish(
        &self,
        note: &str,
        size: u64,
        lines: &[String],
    ) -> Result<(), LedgerError> {
        if lines.is_empty() || lines.len() < self.required {
            return Ok(());
        }
        let mut newest = self.newest.write().unwrap_or_else(PoisonError::into_inner);
        let is_older = newest.as_ref().is_some_and(|newest| {
            newest.size > size || (newest.size == size && newest.witnesses >= lines.len())
        });
        if is_older {
            return Ok(());
        }
        let note = format!("{note}{}", lines.concat());
        self.file.write(&note, true)?;
        *newest = Some(Cosigned {
            note,
            size,
            witnesses: lines.len(),
        });
        Ok(())
    }
}
