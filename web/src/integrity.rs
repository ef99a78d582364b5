//! The check of a session's record, made anew each time that it is asked for.
//!
//! It starts from the stored bytes and believes nothing that stands beside them: entries are parsed and hashed again, links,
//! numbers and commitments recomputed, and the last entries proved to be in the newest checkpoint, whose signature is verified.

use std::sync::Arc;

use remembrancer_recorder::{AnalysisFailed, SessionSummary};
use remembrancer_replay::SessionRecord;
use remembrancer_replay::verify::{ChainVerifier, Fault, verify_session};
use remembrancer_schema::checkpoint::Checkpoint;
use remembrancer_schema::entry::entry_hash;
use remembrancer_schema::merkle::{leaf_hash, verify_inclusion};
use remembrancer_schema::payload::EventType;
use remembrancer_schema::{Entry, Origin, TreeHash};

use crate::error::UNREADABLE;
use crate::page::counted;
use crate::source::{Source, SourceError};
use crate::text::plain;

/// Up to this many entries each one is proved to be in the checkpoint; of more, only the last. The chain binds the others to it.
const PROVED_ENTRIES_MAX: usize = 256;
/// Faults that are listed; of more, their number is enough.
const FAULTS_MAX: usize = 10;
const FAULT_CHARS_MAX: usize = 400;

/// What a check found.
pub(crate) struct Report {
    pub(crate) verdict: Verdict,
    pub(crate) steps: Vec<Step>,
    pub(crate) checkpoint: Option<String>,
    pub(crate) not_proven: Vec<String>,
}

/// The outcome of all steps together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// Every step holds, and the session is closed and anchored.
    Sound,
    /// Every step holds, but something is open: no close, an unanchored tail or erased payloads.
    Incomplete,
    /// A step does not hold.
    Failed,
}

impl Verdict {
    pub(crate) fn class(self) -> &'static str {
        match self {
            Self::Sound => "sound",
            Self::Incomplete => "warning",
            Self::Failed => "alarm",
        }
    }

    pub(crate) fn sentence(self) -> &'static str {
        match self {
            Self::Sound => "The record is consistent: every check below held just now.",
            Self::Incomplete => {
                "The record is consistent but incomplete: every check that could be made held just now."
            }
            Self::Failed => "The record is not consistent. Do not rely on it.",
        }
    }
}

/// One step of a check.
pub(crate) struct Step {
    pub(crate) outcome: Outcome,
    pub(crate) name: &'static str,
    pub(crate) detail: String,
}

/// The outcome of one step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    Holds,
    Open,
    Fails,
}

impl Outcome {
    pub(crate) fn class(self) -> &'static str {
        match self {
            Self::Holds => "sound",
            Self::Open => "warning",
            Self::Fails => "alarm",
        }
    }

    pub(crate) fn label(self) -> &'static str {
        match self {
            Self::Holds => "✓ holds",
            Self::Open => "○ open",
            Self::Fails => "✕ fails",
        }
    }
}

/// Reads a session's record again and checks it against the newest checkpoint.
pub(crate) async fn check(
    source: &Arc<dyn Source>,
    summary: &SessionSummary,
) -> Result<Report, SourceError> {
    let note = source.checkpoint().await?;
    let record = match source.record(&summary.id).await {
        Ok(record) => Arc::new(record),
        Err(error) => {
            tracing::error!(session = %summary.id, %error, "a session could not be read");
            return Ok(of_unreadable(source, &error, note));
        }
    };
    let origin = source.origin().clone();
    let for_chain = (record.clone(), summary.clone());
    let (mut steps, close) =
        tokio::task::spawn_blocking(move || recompute(&for_chain.0, &for_chain.1, &origin))
            .await
            .map_err(|error| AnalysisFailed {
                session: summary.id.clone(),
                reason: error.to_string(),
            })
            .map_err(SourceError::from)?;
    let (signed, checkpoint) = signature(source, note.as_deref());
    steps.push(signed);
    if let Some(checkpoint) = checkpoint {
        steps.push(anchoring(source, &record, &checkpoint).await);
    }
    steps.push(close);
    let verdict = if steps.iter().any(|step| step.outcome == Outcome::Fails) {
        Verdict::Failed
    } else if steps.iter().any(|step| step.outcome == Outcome::Open) {
        Verdict::Incomplete
    } else {
        Verdict::Sound
    };
    Ok(Report {
        verdict,
        steps,
        checkpoint: note,
        not_proven: not_proven(),
    })
}

/// What can be said of a session whose record cannot be read.
fn of_unreadable(source: &Arc<dyn Source>, error: &SourceError, note: Option<String>) -> Report {
    let why = match error.damage() {
        Some(damage) => format!("{UNREADABLE} What was found: {damage}"),
        None => UNREADABLE.to_owned(),
    };
    let unchecked = "Not checked: it needs the entries.";
    Report {
        verdict: Verdict::Failed,
        steps: vec![
            step(Outcome::Fails, "Entries", why),
            step(Outcome::Open, "Head", unchecked),
            signature(source, note.as_deref()).0,
            step(Outcome::Open, "Inclusion", unchecked),
            step(Outcome::Open, "Close", unchecked),
        ],
        checkpoint: note,
        not_proven: not_proven(),
    }
}

/// Verifies the newest checkpoint; returns it if entries can be proved to be in it.
fn signature(source: &Arc<dyn Source>, note: Option<&str>) -> (Step, Option<Checkpoint>) {
    let say = |outcome, why: String| step(outcome, "Checkpoint", why);
    let Some(note) = note else {
        let why = "The ledger has no checkpoint yet.".to_owned();
        return (say(Outcome::Open, why), None);
    };
    match Checkpoint::verify(note, source.public_key()) {
        Err(error) => {
            let why = format!("The newest checkpoint is not valid: {error}.");
            (say(Outcome::Fails, why), None)
        }
        Ok(checkpoint) if checkpoint.origin != *source.origin() => {
            let why = "The newest checkpoint names another ledger.".to_owned();
            (say(Outcome::Fails, why), None)
        }
        Ok(checkpoint) => {
            let entries = counted(checkpoint.size, "entry", "entries");
            let why = format!("Signed by the ledger's key over {entries}.");
            (say(Outcome::Holds, why), Some(checkpoint))
        }
    }
}

/// The checks that need the record alone, by the code that judges bundles and whole ledgers too; and whether the session is closed, which comes last.
fn recompute(
    record: &SessionRecord,
    summary: &SessionSummary,
    origin: &Origin,
) -> (Vec<Step>, Step) {
    let (chain, faults) = verify_session(origin, record);
    let mut steps = vec![entries(&chain, &faults)];
    let absent = chain.absent_payloads();
    if absent > 0 {
        let why = format!(
            "{} erased; what the chain commits to stays. The others were checked.",
            counted(absent, "payload is", "payloads are")
        );
        steps.push(step(Outcome::Open, "Payloads", why));
    }
    steps.push(head(record, summary));
    (steps, close(record, summary))
}

/// Whether the entries read are those that the session's row counts, and its head the last of these.
fn head(record: &SessionRecord, summary: &SessionSummary) -> Step {
    let fails = |why: String| step(Outcome::Fails, "Head", why);
    let read = record.events.len() as u64;
    if record.session != summary.id {
        return fails("What was read is the record of another session.".to_owned());
    }
    if read < summary.entries {
        return fails(format!(
            "The list of sessions counts {}, but only {} found: the others are missing.",
            counted(summary.entries, "entry", "entries"),
            counted(read, "was", "were"),
        ));
    }
    let counted_last = summary
        .entries
        .checked_sub(1)
        .and_then(|at| record.events.get(usize::try_from(at).ok()?));
    if counted_last.is_none_or(|event| entry_hash(&event.entry_bytes) != summary.head) {
        return fails(format!(
            "The list of sessions names {} as the hash of the last of {}, but that is not its hash.",
            summary.head,
            counted(summary.entries, "entry", "entries"),
        ));
    }
    if read > summary.entries {
        let why = "The session grew while this page was made: reload it.";
        return step(Outcome::Open, "Head", why);
    }
    let why = format!("The last entry has the hash {}.", summary.head);
    step(Outcome::Holds, "Head", why)
}

/// Whether the session is closed: what the last entry read says, which the session's row must not contradict.
fn close(record: &SessionRecord, summary: &SessionSummary) -> Step {
    let say = |outcome, why: &str| step(outcome, "Close", why);
    let Some(last) = record.events.last() else {
        return say(Outcome::Fails, "There is no entry that could be the last.");
    };
    let Ok(last) = Entry::from_bytes(&last.entry_bytes) else {
        return say(
            Outcome::Fails,
            "The last entry cannot be read, so whether it closes the session cannot be told.",
        );
    };
    let grew = record.events.len() as u64 > summary.entries;
    match (last.kind == EventType::SessionEnded, summary.sealed) {
        (true, true) if !grew => say(
            Outcome::Holds,
            "session.ended is the last entry: nothing may follow it.",
        ),
        (true, true) => say(
            Outcome::Fails,
            "The list of sessions says that the session was closed, but more entries were read than it had then.",
        ),
        (true, false) if grew => say(
            Outcome::Open,
            "The session was closed while this page was made: reload it.",
        ),
        (true, false) => say(
            Outcome::Fails,
            "session.ended is the last entry, but the list of sessions says that the session is open.",
        ),
        (false, true) => say(
            Outcome::Fails,
            "The list of sessions says that the session is closed, but session.ended is not the last entry.",
        ),
        (false, false) => say(
            Outcome::Open,
            "The session is open: more entries may follow, and their absence proves nothing.",
        ),
    }
}

fn entries(chain: &ChainVerifier, faults: &[Fault]) -> Step {
    if faults.is_empty() {
        let detail = format!(
            "{}: canonical bytes, links, sequence numbers, ledger and session, payloads against their commitments, blobs against their addresses.",
            counted(chain.entries(), "entry", "entries")
        );
        return step(Outcome::Holds, "Entries", detail);
    }
    let mut detail = faults
        .iter()
        .take(FAULTS_MAX)
        .map(|fault| plain(&fault.to_string(), FAULT_CHARS_MAX))
        .collect::<Vec<_>>()
        .join("; ");
    let more = faults.len().saturating_sub(FAULTS_MAX) as u64;
    if more > 0 {
        detail.push_str(&format!("; and {}", counted(more, "more", "more")));
    }
    step(Outcome::Fails, "Entries", detail + ".")
}

/// Proves that the session's entries are in the tree that the checkpoint signs.
async fn anchoring(
    source: &Arc<dyn Source>,
    record: &SessionRecord,
    checkpoint: &Checkpoint,
) -> Step {
    let anchored: Vec<(u64, TreeHash)> = record
        .events
        .iter()
        .map(|event| (event.entry.index, leaf_hash(&event.entry_bytes)))
        .filter(|(index, _)| *index < checkpoint.size)
        .collect();
    let tail = record.events.len() - anchored.len();
    let skipped = if anchored.len() > PROVED_ENTRIES_MAX {
        anchored.len() - 1
    } else {
        0
    };
    for (index, leaf) in &anchored[skipped..] {
        let proof = match source.inclusion_proof(*index, checkpoint.size).await {
            Ok(proof) => proof,
            Err(error) => {
                tracing::error!(index, %error, "a proof could not be made");
                let damage = error.damage().unwrap_or_default();
                let why = format!(
                    "Ledger entry {index} could not be proved to be in the checkpoint. {damage}"
                );
                return step(Outcome::Fails, "Inclusion", why);
            }
        };
        if let Err(error) =
            verify_inclusion(leaf, *index, checkpoint.size, &proof, &checkpoint.root)
        {
            let why =
                format!("Ledger entry {index} is not proved to be in the checkpoint: {error}.");
            return step(Outcome::Fails, "Inclusion", why);
        }
    }
    let proved = if skipped > 0 {
        "The last entry is proved to be in the checkpoint; the chain binds the others to it."
            .to_owned()
    } else {
        format!(
            "{} proved to be in the checkpoint, each by its own path.",
            counted(anchored.len() as u64, "entry is", "entries are")
        )
    };
    if tail > 0 {
        let why = format!(
            "{proved} {} after it and not anchored yet.",
            counted(tail as u64, "entry came", "entries came")
        );
        step(Outcome::Open, "Inclusion", why)
    } else {
        step(Outcome::Holds, "Inclusion", proved)
    }
}

fn step(outcome: Outcome, name: &'static str, detail: impl Into<String>) -> Step {
    Step {
        outcome,
        name,
        detail: detail.into(),
    }
}

fn not_proven() -> Vec<String> {
    [
        "That everything the agent did was sent here. A record holds what was posted, no more.",
        "That what was posted is true. Times and texts marked as the client's are the client's word; the witness class says how each context became known.",
        "That this key is the operator's. Compare its fingerprint with one that you got another way.",
        "That every reader is shown the same ledger. Keep this checkpoint, and ask later for the proof that a newer one extends it.",
        "That nothing was rewritten before the oldest checkpoint or receipt that somebody else kept.",
    ]
    .map(str::to_owned)
    .into()
}

#[cfg(test)]
mod tests;
