//! The witness: signs a ledger's checkpoint only if it extends all that it signed before (C2SP `tlog-witness`). It runs where the
//! ledger's operator cannot change what it remembers, so that no second history of a ledger finds its signature.

mod evidence;
mod following;
mod http;
mod memory;
mod request;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use remembrancer_schema::checkpoint::Checkpoint;
use remembrancer_schema::cosignature;
use remembrancer_schema::merkle::{empty_root, verify_consistency};
use remembrancer_schema::note;
use remembrancer_schema::signing::LedgerKey;
use remembrancer_schema::verifier_key::VerifierKey;
use remembrancer_schema::{Origin, TreeHash};

use crate::failure::Failure;

pub(crate) use evidence::{Evidence, Suspicion};
pub(crate) use following::{Following, LedgerAddress};
pub(crate) use http::router;
use memory::Memory;
pub(crate) use memory::lock;
use request::AddCheckpoint;
pub(crate) use request::BODY_BYTES_MAX;

/// What a witness answers, beside its signature.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// Not a request as the specification writes it, or an old size above the new one.
    Malformed(String),
    /// The ledger is none that this witness signs for.
    UnknownLedger(String),
    /// No signature by the ledger's key.
    NotSigned,
    /// The last checkpoint that was signed has another size than the request says.
    OtherSize(u64),
    /// Two checkpoints of one size with different roots.
    Fork(u64),
    /// The proof does not show that the checkpoint extends the last one.
    NotProven(String),
    /// What it would have to remember cannot be written.
    NotKept(String),
}

/// A ledger that is witnessed.
struct Witnessed {
    key: VerifierKey,
    /// Held from looking at what was signed last until the next is on the disk.
    memory: Mutex<Memory>,
}

/// A witness: its key, and what it remembers of each ledger.
pub(crate) struct Witness {
    name: Origin,
    key: LedgerKey,
    ledgers: BTreeMap<Origin, Witnessed>,
    evidence: Evidence,
}

impl Witness {
    /// Opens what a witness remembers in its folder, or begins there. Its key is made at first.
    pub(crate) fn open(
        folder: &Path,
        name: Option<Origin>,
        ledgers: Vec<VerifierKey>,
    ) -> Result<Self, Failure> {
        memory::make_folder(folder)?;
        let key = memory::key(folder)?;
        let name = name.map_or_else(|| memory::kept_name(folder), |name| Ok(Some(name)))?;
        let name = match name {
            Some(name) => name,
            None => {
                let digits = &key.public().fingerprint()[..8];
                format!("remembrancer.local/witness-{digits}").parse()?
            }
        };
        memory::keep_name(folder, &name)?;
        let mut witnessed = BTreeMap::new();
        for key in ledgers {
            let memory = Mutex::new(Memory::open(folder, &key)?);
            let origin = key.name.clone();
            if witnessed
                .insert(key.name.clone(), Witnessed { key, memory })
                .is_some()
            {
                return Err(Failure::new(format!("--ledger names {origin} twice")));
            }
        }
        Ok(Self {
            name,
            key,
            ledgers: witnessed,
            evidence: Evidence::open(folder)?,
        })
    }

    /// The key by which others know its signatures.
    pub(crate) fn verifier_key(&self) -> VerifierKey {
        VerifierKey::of_witness(self.name.clone(), self.key.public())
    }

    /// Number of ledgers.
    pub(crate) fn ledgers(&self) -> usize {
        self.ledgers.len()
    }

    /// The last checkpoint that was signed or seen of a ledger.
    fn last(&self, origin: &Origin) -> Option<Checkpoint> {
        let ledger = self.ledgers.get(origin)?;
        let memory = ledger.memory.lock().unwrap_or_else(PoisonError::into_inner);
        let (size, root) = memory.last()?;
        let origin = origin.clone();
        Some(Checkpoint { origin, size, root })
    }

    /// Keeps a checkpoint that its ledger signed and that cannot stand beside the last one.
    fn suspect(&self, suspicion: Suspicion, origin: &Origin, shown: &str) {
        let Some(ledger) = self.ledgers.get(origin) else {
            return;
        };
        let memory = ledger.memory.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(seen) = memory.note() {
            self.evidence.keep(suspicion, origin, seen, shown);
        }
    }

    /// Looks at a submitted checkpoint, remembers it, and returns the signature line. Waits for the disk.
    pub(crate) fn add_checkpoint(&self, body: &str) -> Result<String, Refusal> {
        let request = AddCheckpoint::parse(body)?;
        let checkpoint = Checkpoint::parse_unverified(request.note)
            .map_err(|error| Refusal::Malformed(error.to_string()))?;
        let ledger = self
            .ledgers
            .get(&checkpoint.origin)
            .ok_or_else(|| Refusal::UnknownLedger(checkpoint.origin.to_string()))?;
        Checkpoint::verify(request.note, &ledger.key.key).map_err(|_| Refusal::NotSigned)?;
        if request.old > checkpoint.size {
            return Err(Refusal::Malformed(format!(
                "the old size {} is above the checkpoint's, {}",
                request.old, checkpoint.size
            )));
        }
        let mut memory = ledger.memory.lock().unwrap_or_else(PoisonError::into_inner);
        if let Err((refusal, suspicion)) = judge(&request, &checkpoint, memory.last()) {
            if let (Some(suspicion), Some(seen)) = (suspicion, memory.note()) {
                self.evidence
                    .keep(suspicion, &checkpoint.origin, seen, request.note);
            }
            return Err(refusal);
        }
        let is_new = memory.last().is_none_or(|(size, _)| size < checkpoint.size);
        if is_new {
            memory.replace(request.note, &checkpoint).map_err(|error| {
                tracing::error!(%error, origin = %checkpoint.origin, "a checkpoint cannot be remembered, so it is not signed");
                Refusal::NotKept(error.to_string())
            })?;
        }
        drop(memory);
        let (text, _) =
            note::split(request.note).map_err(|error| Refusal::Malformed(error.to_string()))?;
        Ok(cosignature::sign(text, now(), &self.name, &self.key).line)
    }
}

/// Whether a checkpoint that its ledger signed may be signed after the last one, and what to suspect of it if not.
fn judge(
    request: &AddCheckpoint<'_>,
    checkpoint: &Checkpoint,
    last: Option<(u64, TreeHash)>,
) -> Result<(), (Refusal, Option<Suspicion>)> {
    let (size, root) = last.unwrap_or((0, empty_root()));
    if checkpoint.size == size && checkpoint.root != root {
        return Err((Refusal::Fork(size), Some(Suspicion::Fork)));
    }
    if request.old != size {
        let is_older = checkpoint.size < size;
        return Err((
            Refusal::OtherSize(size),
            is_older.then_some(Suspicion::Older),
        ));
    }
    verify_consistency(
        size,
        checkpoint.size,
        &root,
        &checkpoint.root,
        &request.proof,
    )
    .map_err(|error| {
        (
            Refusal::NotProven(error.to_string()),
            Some(Suspicion::NotExtended),
        )
    })
}

/// Seconds since 1970. A clock before that says zero.
fn now() -> u64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |since| since.as_secs())
}
