//! What the hooks of coding agents tell, turned into events.
//!
//! A hook is told what happens around model requests, never the request itself: prompts, calls and what they returned, files of
//! rules that were loaded, and that a compaction began and ended. From that come actions, which are exact, and contexts, which
//! are not whole: each says that parts may be missing, so that a rule which is not found in one is `unknown` rather than lost.
//!
//! Translation is a function of a payload and of what is known of its session. It reads no file: whatever a payload names and
//! should be kept is read before, and given as [`Attached`].

mod compaction;
mod decision;
mod fitting;
mod payload;
mod request;
mod restoring;
mod standing;
mod subagent;
#[cfg(test)]
mod tests;
mod tool;
mod translation;

use crate::{WriteError, Written};
use remembrancer_schema::payload::EventType;
use remembrancer_schema::{ContentHash, SessionId};

pub use payload::{HookPayload, PayloadUnreadable, Program};
pub use standing::SessionStanding;
pub use subagent::session_id;
use translation::Translation;

/// Longest text that an event holds; of a longer one the beginning is kept, and the whole as a blob.
pub const TEXT_BYTES_MAX: usize = 96 * 1024;

/// A payload with what was known when it came.
#[derive(Debug)]
pub struct Arrival<'a> {
    /// The program whose hook it is.
    pub program: Program,
    /// The payload.
    pub payload: HookPayload<'a>,
    /// A name for this arrival, not used for another: ids of events are made from it where the payload has nothing to make them
    /// from. Characters as in ids, at most 64.
    pub name: &'a str,
    /// When it came, RFC 3339.
    pub time: &'a str,
    /// What was read of the files that it names.
    pub attached: Attached,
}

/// What was read of the files that a payload names.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Attached {
    /// The transcript as it was before a compaction.
    pub transcript: Option<Result<TranscriptCopy, String>>,
    /// The text of a file of rules that was loaded.
    pub instructions: Option<Result<String, String>>,
}

/// A copy of a transcript, kept as a blob.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TranscriptCopy {
    /// BLAKE3 of its bytes.
    pub hash: ContentHash,
    /// Its length in bytes.
    pub bytes: u64,
    /// Bytes at the beginning of the transcript that are left out, where it was too long.
    pub skipped: u64,
}

/// Turns a payload into events. What is known of the session is brought up to date.
pub fn translate(
    standing: &mut SessionStanding,
    arrival: &Arrival<'_>,
) -> Result<Written, WriteError> {
    let mut translation = Translation::begin(standing, arrival)?;
    let done = translation.run();
    let (thread, written) = translation.finish();
    *standing.thread(subagent::of(standing, arrival).as_deref()) = thread;
    done.map(|()| written)
}

/// The type of what this version keeps but does not analyse.
fn custom(name: &str) -> EventType {
    EventType::Custom(format!("custom.{name}"))
}

/// A name that ids allow, made of one that they may not.
fn safe(text: &str) -> String {
    let is_safe = text.len() <= 48
        && !text.is_empty()
        && text
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-'));
    if is_safe {
        return text.to_owned();
    }
    let hash = remembrancer_schema::hash::sha256(text.as_bytes());
    hex::encode(&hash[..12])
}

/// The id of a session's record.
fn parsed(name: &str) -> Result<SessionId, WriteError> {
    Ok(name.parse()?)
}
