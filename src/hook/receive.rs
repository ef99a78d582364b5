//! One hook, from its payload to the spool.

use std::io::{self, Read, Write as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use remembrancer_capture::Written;
use remembrancer_capture::hook::{self, Arrival, Attached, HookPayload, Program, TranscriptCopy};
use remembrancer_capture::private;
use remembrancer_capture::spool::{Record, Spool, SpoolOptions};
use remembrancer_schema::{ContentHash, SessionId};

use super::place::Place;
use super::standing_file::{Held, name_of};
use super::{files, late, sending};

/// Largest payload that is taken, in bytes.
pub(super) const PAYLOAD_BYTES_MAX: u64 = 16 * 1024 * 1024;
/// Time after the start until which a hook still sends. What is not sent by then, the next one sends.
const SEND_UNTIL: Duration = Duration::from_millis(10);
/// Time for sending that a hook takes in any case: where even the start of a process is slow, something must get through.
const SEND_TIME_MIN: Duration = Duration::from_millis(3);
/// Most bytes of the count of losses beside the spool.
const LOSSES_BYTES_MAX: u64 = 64 * 1024;

/// Reads a payload from standard input, spools what it says, and sends what there is time for.
pub(super) fn receive(program: Program, place: &Place, started: Instant, is_kept: &AtomicBool) {
    let payload = read(io::stdin().lock());
    let spool = Spool::open(&place.spool, SpoolOptions::default());
    let spool = match spool {
        Ok(spool) => spool,
        Err(error) => {
            note_loss(&place.losses, &error.to_string());
            is_kept.store(true, Ordering::Release);
            return;
        }
    };
    tell_losses(&spool, program, &place.losses);
    let may_take_longer = payload.as_ref().is_ok_and(|bytes| may_take_longer(bytes));
    let taken = payload.and_then(|bytes| take(program, &bytes, place, &spool));
    let appended = match taken {
        Ok(appended) => appended,
        Err(loss) => {
            count_loss(&loss, program, place, &spool);
            0
        }
    };
    is_kept.store(true, Ordering::Release);
    let until = match place.send_time {
        Some(time) => started + time,
        None => (started + SEND_UNTIL).max(Instant::now() + SEND_TIME_MIN),
    };
    sending::send_until(place, spool, appended, until, may_take_longer);
}

/// Whether the agent is at a moment where half a second is not felt: not between a call and its result.
fn may_take_longer(bytes: &[u8]) -> bool {
    const MOMENTS: [&str; 7] = [
        "SessionStart",
        "UserPromptSubmit",
        "PreCompact",
        "PreCompress",
        "PostCompact",
        "Stop",
        "AfterAgent",
    ];
    HookPayload::parse(bytes).is_ok_and(|payload| MOMENTS.contains(&payload.event.as_str()))
}

/// Counts a payload that could not be kept.
pub(super) fn count_loss(loss: &Loss, program: Program, place: &Place, spool: &Spool) {
    let session = loss.session.clone().or_else(|| unread(program));
    if let Some(session) = session
        && !loss.is_counted
        && spool.note_gap(&session, 1, &loss.reason).is_err()
    {
        note_loss(&place.losses, &loss.reason);
    }
}

/// A payload that could not be kept.
pub(super) struct Loss {
    session: Option<SessionId>,
    reason: String,
    /// The spool has counted it already.
    is_counted: bool,
}

impl Loss {
    pub(super) fn new(reason: impl ToString) -> Self {
        Self {
            session: None,
            reason: reason.to_string(),
            is_counted: false,
        }
    }
}

fn read(input: impl Read) -> Result<Vec<u8>, Loss> {
    let mut bytes = Vec::new();
    input
        .take(PAYLOAD_BYTES_MAX + 1)
        .read_to_end(&mut bytes)
        .map_err(Loss::new)?;
    if bytes.len() as u64 > PAYLOAD_BYTES_MAX {
        return Err(Loss::new(format!(
            "the payload has more than {PAYLOAD_BYTES_MAX} bytes"
        )));
    }
    Ok(bytes)
}

/// A payload with when it came.
pub(super) struct Came<'a> {
    pub(super) program: Program,
    pub(super) bytes: &'a [u8],
    pub(super) time: &'a str,
    /// See [`Arrival::name`].
    pub(super) name: &'a str,
}

/// Translates a payload and appends its events to the spool, after those that had to wait. Returns how many records that were.
fn take(program: Program, bytes: &[u8], place: &Place, spool: &Spool) -> Result<usize, Loss> {
    let now = jiff::Timestamp::now();
    let came = Came {
        program,
        bytes,
        time: &now.to_string(),
        name: &arrival_name(now),
    };
    let payload = HookPayload::parse(bytes).map_err(Loss::new)?;
    let in_session = |error: io::Error| Loss {
        session: hook::session_id(program, &payload.session_id, None, 1).ok(),
        reason: format!("what is known of the session: {error}"),
        is_counted: false,
    };
    let name = name_of(program, &payload.session_id);
    match Held::take(place, &name) {
        Ok(mut held) => {
            let waited = late::record_all(&mut held, program, &name, place, spool);
            Ok(waited + record(&mut held, &came, place, spool)?)
        }
        Err(error) if error.kind() == io::ErrorKind::TimedOut => {
            late::leave(place, &name, &came).map_err(in_session)?;
            Ok(0)
        }
        Err(error) => Err(in_session(error)),
    }
}

/// Translates a payload and appends its events to the spool.
pub(super) fn record(
    held: &mut Held,
    came: &Came<'_>,
    place: &Place,
    spool: &Spool,
) -> Result<usize, Loss> {
    let payload = HookPayload::parse(came.bytes).map_err(Loss::new)?;
    let session = hook::session_id(came.program, &payload.session_id, None, 1).ok();
    let mut records = Vec::new();
    let attached = attach(came.program, &payload, place, &mut records);
    let arrival = Arrival {
        program: came.program,
        payload,
        name: came.name,
        time: came.time,
        attached,
    };
    let mut standing = held.standing.clone();
    let written = hook::translate(&mut standing, &arrival).map_err(|error| Loss {
        session: session.clone(),
        reason: error.to_string(),
        is_counted: false,
    })?;
    add_records(written, &mut records);
    let count = records.len();
    let for_gaps = session.clone().or_else(|| unread(came.program));
    let for_gaps = for_gaps.ok_or_else(|| Loss::new("no id can be made of the session's"))?;
    spool.append(&for_gaps, &records).map_err(|error| Loss {
        session,
        reason: error.to_string(),
        is_counted: true,
    })?;
    // Only now: what is not spooled must not count as told.
    held.standing = standing;
    // What is spooled is not lost if this fails: then less is known when the next hook comes.
    drop(held.keep());
    Ok(count)
}

/// Blobs first: an event names only blobs that are stored.
fn add_records(written: Written, records: &mut Vec<Record>) {
    let blobs = written.blobs.into_values().map(Record::Blob);
    let events = written.events.into_iter();
    records.extend(blobs.chain(events.map(|event| Record::Event(event.bytes))));
}

/// Reads what a payload names and should be kept.
fn attach(
    program: Program,
    payload: &HookPayload<'_>,
    place: &Place,
    records: &mut Vec<Record>,
) -> Attached {
    match payload.event.as_str() {
        "PreCompact" | "PreCompress" => {
            let copied = files::transcript(program, payload, place).map(|transcript| {
                let copy = TranscriptCopy {
                    hash: ContentHash::of(&transcript.bytes),
                    bytes: transcript.bytes.len() as u64,
                    skipped: transcript.skipped,
                };
                records.push(Record::Blob(transcript.bytes));
                copy
            });
            Attached {
                transcript: Some(copied),
                ..Attached::default()
            }
        }
        "InstructionsLoaded" => Attached {
            instructions: Some(files::instructions(payload, place, &own_folders())),
            ..Attached::default()
        },
        _ => Attached::default(),
    }
}

/// The folders that the agent runs this hook for: from the process itself, as a payload could name any.
fn own_folders() -> Vec<PathBuf> {
    let project = std::env::var_os("CLAUDE_PROJECT_DIR").map(PathBuf::from);
    std::env::current_dir().into_iter().chain(project).collect()
}

/// A name that no other arrival has: the time in nanoseconds, and the process.
fn arrival_name(now: jiff::Timestamp) -> String {
    format!("{:x}-{:x}", now.as_nanosecond(), std::process::id())
}

/// The session under which payloads are counted that cannot be read.
fn unread(program: Program) -> Option<SessionId> {
    format!("{}-hooks:unread", program.name()).parse().ok()
}

/// Counts a payload that is lost while the spool cannot be opened.
pub(super) fn note_loss(path: &Path, reason: &str) {
    let open = || -> io::Result<()> {
        if let Some(folder) = path.parent() {
            private::make_folder(folder)?;
        }
        let mut options = private::options();
        options.append(true).create(true);
        #[cfg(unix)]
        {
            use rustix::fs::OFlags;
            use std::os::unix::fs::OpenOptionsExt as _;
            // Whoever else may write there must not lead this elsewhere.
            let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
            options.custom_flags(i32::try_from(flags.bits()).unwrap_or(0));
        }
        let mut file = private::open(&options, path)?;
        if file.metadata()?.len() < LOSSES_BYTES_MAX {
            let line: String = reason
                .chars()
                .filter(|c| !c.is_control())
                .take(160)
                .collect();
            file.write_all(format!("{line}\n").as_bytes())?;
        }
        Ok(())
    };
    // Nobody is left to be told.
    drop(open());
}

/// Takes over what was counted while the spool could not be opened.
fn tell_losses(spool: &Spool, program: Program, path: &Path) {
    let Ok(file) = files::open_plain(path) else {
        return;
    };
    let mut text = String::new();
    if file
        .take(LOSSES_BYTES_MAX * 2)
        .read_to_string(&mut text)
        .is_err()
    {
        return;
    }
    let lost = text.lines().count() as u64;
    // Removed first: a loss that is told twice would be one that never was.
    if lost > 0
        && std::fs::remove_file(path).is_ok()
        && let Some(session) = unread(program)
    {
        let reason = text.lines().next_back().unwrap_or_default();
        drop(spool.note_gap(&session, lost, reason));
    }
}
