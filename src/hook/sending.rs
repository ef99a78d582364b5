//! Sending what is spooled: within a hook for a few milliseconds, or until nothing is left.
//!
//! A hook that gets no answer in time leaves its records to the next one, which sends them again; the recorder knows them by
//! their ids. The older records go first and by themselves: those that it stored meanwhile are acknowledged without waiting for
//! the disk, so that even a slow recorder is caught up with.

use std::net::{TcpStream, ToSocketAddrs as _};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use axum::http::Uri;
use remembrancer_capture::delivery::DeliveryError;
use remembrancer_capture::spool::{Spool, SpoolError, SpoolOptions};

use super::late;
use super::place::Place;
use super::sender::{Sender, slow};
use super::standing_file::{LastSend, last_send, note_send};

/// Less time than this is not worth a connection.
const TIME_MIN: Duration = Duration::from_millis(2);
/// Time for sending a copy of a transcript within a hook, where no other process can be started for it.
const LARGE_TIME: Duration = Duration::from_millis(500);
/// A segment of more bytes than this holds a large record: otherwise it would have ended before.
const LARGE_BYTES: u64 = 1536 * 1024;
/// Time after which another process is started for a large record that still waits, in milliseconds.
const LARGE_AGAIN_MS: i64 = 2_000;
/// Longest time for one request where nobody waits.
pub(super) const REQUEST_TIME: Duration = Duration::from_secs(30);
/// Longest time that hooks leave a recorder alone that was not there.
const PAUSE_MAX: Duration = Duration::from_secs(60);

/// What a sending did.
#[derive(Debug, Default, Clone, PartialEq, Eq, serde::Serialize)]
pub(crate) struct Report {
    /// Events and blobs that the recorder has now.
    pub(crate) delivered: u64,
    /// Events that it refused for good: they are in `rejected.ndjson` beside the spool, and counted as lost.
    pub(crate) refused: u64,
    /// Why it refused the last of them.
    pub(crate) refusal: Option<String>,
}

/// Why a sending ended before its time.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SendError {
    /// The spool.
    #[error(transparent)]
    Spool(#[from] SpoolError),
    /// The recorder, or nobody at its address.
    #[error(transparent)]
    Delivery(#[from] DeliveryError),
    /// Another process sends.
    #[error("another process has been sending for {} s", REQUEST_TIME.as_secs())]
    Busy,
    /// There is no key.
    #[error(
        "there is no key: set REMEMBRANCER_KEY, or keep one with `remembrancer hook install --key-file FILE`"
    )]
    NoKey,
}

/// Sends until a moment, for a hook that appended `own` records. On a thread that is left behind when the time is over: neither
/// looking up a name nor connecting can be relied on to end in time.
pub(super) fn send_until(
    place: &Place,
    spool: Spool,
    own: usize,
    until: Instant,
    may_take_longer: bool,
) {
    let mut last = last_send(place);
    let now = jiff::Timestamp::now().as_millisecond();
    if place.key.is_none() || rests(&last, now) {
        return;
    }
    let time = until.saturating_duration_since(Instant::now());
    if time < TIME_MIN {
        return;
    }
    let has_large = has_large(spool.folder());
    if has_large && (send_apart(place, &spool, &mut last, now) || !may_take_longer) {
        return;
    }
    let until = if has_large {
        until.max(Instant::now() + LARGE_TIME)
    } else {
        until
    };
    // Another hook drains, and this one's records with its own.
    let Ok(Some(drainer)) = spool.drainer() else {
        return;
    };
    let (tell, told) = mpsc::channel();
    let is_connected = Arc::new(AtomicBool::new(false));
    let (for_thread, connected) = (place.clone(), Arc::clone(&is_connected));
    let thread = std::thread::Builder::new().spawn(move || {
        let mut report = Report::default();
        let outcome = connect(&for_thread.url, until).map_err(SendError::from);
        let outcome = outcome.and_then(|()| {
            connected.store(true, Ordering::Release);
            Sender::new(&for_thread, &spool, Some(until)).drain(drainer, own, &mut report)
        });
        // Nobody listens any more when the time is over.
        drop(tell.send((report, outcome)));
    });
    if thread.is_err() {
        return;
    }
    let left = until.saturating_duration_since(Instant::now());
    let (report, outcome) = told.recv_timeout(left).unwrap_or_else(|_| {
        let error = if is_connected.load(Ordering::Acquire) {
            slow(&place.url)
        } else {
            unconnected(&place.url, "no connection in time")
        };
        (Report::default(), Err(error.into()))
    });
    note(&mut last, &report, outcome.as_ref().err(), now);
    if has_large && outcome.is_err() {
        // Not so long again at the very next one.
        last.failures = last.failures.max(1);
    }
    drop(note_send(place, &last));
}

/// Has another process send what waits: no hook has the time for a large record, and what is behind it would wait for ever. True
/// if that is done, or was a moment ago.
fn send_apart(place: &Place, spool: &Spool, last: &mut LastSend, now_ms: i64) -> bool {
    let is_recent = (last.large_ms..last.large_ms.saturating_add(LARGE_AGAIN_MS)).contains(&now_ms);
    let is_sending = !matches!(spool.drainer(), Ok(Some(_)));
    if is_recent || is_sending {
        return true;
    }
    let Ok(program) = std::env::current_exe() else {
        return false;
    };
    let mut command = Command::new(program);
    command.args(["hook", "send"]);
    // The agent waits for whoever has its pipes, and may end the group of the hook.
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    if command.spawn().is_err() {
        return false;
    }
    last.large_ms = now_ms;
    drop(note_send(place, last));
    true
}

/// Whether a copy of a transcript waits: then sending takes longer than hooks between a call and its result have.
fn has_large(folder: &Path) -> bool {
    let segments = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut sizes = segments
        .filter(|entry| Path::new(&entry.file_name()).extension() == Some("segment".as_ref()))
        .filter_map(|entry| entry.metadata().ok());
    sizes.any(|metadata| metadata.len() > LARGE_BYTES)
}

/// Looks whether anybody is there.
fn connect(url: &str, until: Instant) -> Result<(), DeliveryError> {
    let uri: Option<Uri> = url.parse().ok();
    let host = uri.as_ref().and_then(Uri::host);
    let host = host.ok_or_else(|| unconnected(url, "not an address"))?;
    let port = uri.as_ref().and_then(Uri::port_u16).unwrap_or(80);
    let addresses = format!("{host}:{port}")
        .to_socket_addrs()
        .map_err(|error| unconnected(url, &error.to_string()))?;
    let mut reason = "the name has no address".to_owned();
    for address in addresses {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(unconnected(url, "no connection in time"));
        }
        match TcpStream::connect_timeout(&address, left) {
            Ok(_) => return Ok(()),
            Err(error) => reason = error.to_string(),
        }
    }
    Err(unconnected(url, &reason))
}

/// Nobody answers there.
pub(super) fn unconnected(url: &str, reason: &str) -> DeliveryError {
    DeliveryError::Later {
        after: None,
        reason: format!("no recorder at {url}: {reason}"),
    }
}

/// Sends until nothing is left.
pub(crate) fn send(place: &Place) -> Result<Report, SendError> {
    if place.key.is_none() {
        return Err(SendError::NoKey);
    }
    let spool = Spool::open(&place.spool, SpoolOptions::default())?;
    late::record_everywhere(place, &spool);
    let until = Instant::now() + REQUEST_TIME;
    let drainer = loop {
        match spool.drainer()? {
            Some(drainer) => break drainer,
            None if Instant::now() < until => std::thread::sleep(TIME_MIN),
            None => return Err(SendError::Busy),
        }
    };
    let mut last = last_send(place);
    let mut report = Report::default();
    let outcome = Sender::new(place, &spool, None).drain(drainer, 0, &mut report);
    let now = jiff::Timestamp::now().as_millisecond();
    note(&mut last, &report, outcome.as_ref().err(), now);
    // People see the outcome itself.
    drop(note_send(place, &last));
    outcome.map(|()| report)
}

/// Whether the recorder is left alone for now: it was not there, or did not take what was sent, a moment ago.
fn rests(last: &LastSend, now_ms: i64) -> bool {
    if last.failures == 0 {
        return false;
    }
    let pause = Duration::from_secs(1 << last.failures.min(6)).min(PAUSE_MAX);
    let pause = i64::try_from(pause.as_millis()).unwrap_or(i64::MAX);
    // A clock that was set back must not make it rest for ever.
    (last.at_ms..last.at_ms.saturating_add(pause)).contains(&now_ms)
}

fn note(last: &mut LastSend, report: &Report, error: Option<&SendError>, now_ms: i64) {
    last.at_ms = now_ms;
    last.error = error.map(ToString::to_string);
    last.failures = match error {
        None => 0,
        // It works on it; the next hook asks again.
        Some(SendError::Busy | SendError::Delivery(DeliveryError::Slow(_))) => 0,
        Some(_) => last.failures.saturating_add(1),
    };
    if report.delivered > 0 || error.is_none() {
        last.delivered_ms = Some(now_ms);
    }
    last.refused = last.refused.saturating_add(report.refused);
    if report.refusal.is_some() {
        last.refusal.clone_from(&report.refusal);
    }
}
