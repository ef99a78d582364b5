//! Sending what is spooled: within a hook for a few milliseconds, or until nothing is left.
//!
//! A hook that gets no answer in time leaves its records to the next one, which sends them again; the recorder knows them by
//! their ids. The older records go first and by themselves: those that it stored meanwhile are acknowledged without waiting for
//! the disk, so that even a slow recorder is caught up with.

use std::time::{Duration, Instant};

use remembrancer_capture::spool::{Batch, Drainer, Gap, Record, Spool, SpoolError, SpoolOptions};
use remembrancer_schema::ContentHash;
use serde::Deserialize;
use serde_json::json;

use super::place::Place;
use super::standing_file::{LastSend, last_send, note_send};

/// Most records of one request.
const BATCH_RECORDS_MAX: usize = 100;
/// Most bytes of one request, unless a single record has more.
const BATCH_BYTES_MAX: usize = 1024 * 1024;
/// Less time than this is not worth a connection.
const TIME_MIN: Duration = Duration::from_millis(2);
/// Longest time for one request where nobody waits.
const REQUEST_TIME: Duration = Duration::from_secs(30);
/// Longest time that hooks leave a recorder alone that was not there.
const PAUSE_MAX: Duration = Duration::from_secs(60);
/// The session in which losses are told that belong to none that is still open.
const GAPS_SESSION: &str = "remembrancer-hooks:gaps";

/// What a sending did.
#[derive(Debug, Default, Clone, PartialEq, Eq, serde::Serialize)]
pub(crate) struct Report {
    /// Events and blobs that the recorder has now.
    pub(crate) delivered: u64,
    /// Events that it refused for good.
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
    /// Nobody answers there.
    #[error("no recorder at {url}: {reason}")]
    Unreachable {
        /// The address.
        url: String,
        /// Why.
        reason: String,
    },
    /// It is there and did not answer in time.
    #[error("the recorder at {0} did not answer in time")]
    Slow(String),
    /// It answered that it does not take it.
    #[error("the recorder answered {status}: {detail}")]
    Refused {
        /// The status code.
        status: u16,
        /// What it said.
        detail: String,
    },
    /// There is no key.
    #[error("there is no key: set REMEMBRANCER_KEY, or keep one with `remembrancer hook install --key-file FILE`")]
    NoKey,
}

/// Sends until a moment, for a hook that appended `own` records.
pub(super) fn send_until(place: &Place, spool: &Spool, own: usize, until: Instant) {
    let mut last = last_send(place);
    let now = jiff::Timestamp::now().as_millisecond();
    if place.key.is_none() || rests(&last, now) {
        return;
    }
    let time = until.saturating_duration_since(Instant::now());
    if time < TIME_MIN {
        return;
    }
    // Another hook drains, and this one's records with its own.
    let Ok(Some(drainer)) = spool.drainer() else {
        return;
    };
    let mut report = Report::default();
    let outcome = Sender::new(place, Some(until)).drain(drainer, own, &mut report);
    note(&mut last, &report, outcome.as_ref().err(), now);
    drop(note_send(place, &last));
}

/// Sends until nothing is left.
pub(crate) fn send(place: &Place) -> Result<Report, SendError> {
    if place.key.is_none() {
        return Err(SendError::NoKey);
    }
    let spool = Spool::open(&place.spool, SpoolOptions::default())?;
    let until = Instant::now() + REQUEST_TIME;
    let drainer = loop {
        match spool.drainer()? {
            Some(drainer) => break drainer,
            None if Instant::now() < until => std::thread::sleep(TIME_MIN),
            None => return Err(SendError::Slow("another sender".to_owned())),
        }
    };
    let mut last = last_send(place);
    let mut report = Report::default();
    let outcome = Sender::new(place, None).drain(drainer, 0, &mut report);
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
        Some(SendError::Slow(_)) => 0,
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

/// One that sends to a recorder.
struct Sender<'a> {
    place: &'a Place,
    until: Option<Instant>,
    agent: ureq::Agent,
}

/// What became of the events of a request.
#[derive(Deserialize)]
struct Answer {
    #[serde(default)]
    results: Vec<EventAnswer>,
}

#[derive(Deserialize)]
struct EventAnswer {
    status: String,
    #[serde(default)]
    problem: Option<Problem>,
}

#[derive(Deserialize, Default)]
struct Problem {
    #[serde(default)]
    r#type: String,
    #[serde(default)]
    detail: String,
}

impl<'a> Sender<'a> {
    fn new(place: &'a Place, until: Option<Instant>) -> Self {
        let config = ureq::Agent::config_builder()
            .http_status_as_error(false)
            .max_redirects(0)
            // The recorder is on this machine; a proxy that is meant for other addresses has no part in it.
            .proxy(None)
            .user_agent("remembrancer-hook")
            .build();
        Self {
            place,
            until,
            agent: config.into(),
        }
    }

    fn drain(
        &self,
        mut drainer: Drainer,
        own: usize,
        report: &mut Report,
    ) -> Result<(), SendError> {
        let mut records_max = BATCH_RECORDS_MAX;
        let mut is_first = true;
        loop {
            let mut batch = drainer.next(records_max, BATCH_BYTES_MAX)?;
            if batch.is_empty() {
                break;
            }
            let older = batch.records.len().saturating_sub(own);
            if is_first && own > 0 && older > 0 {
                batch = drainer.next(older, BATCH_BYTES_MAX)?;
            }
            is_first = false;
            match self.deliver(&batch, report) {
                // The request as a whole is too large for this recorder.
                Err(SendError::Refused { status: 413, .. }) if batch.records.len() > 1 => {
                    records_max = batch.records.len() / 2;
                    continue;
                }
                Err(SendError::Refused { status: 413, detail }) => {
                    report.refused += 1;
                    report.refusal = Some(detail);
                }
                outcome => outcome?,
            }
            drainer.delivered(&batch)?;
        }
        self.tell_gaps(&drainer)
    }

    fn deliver(&self, batch: &Batch, report: &mut Report) -> Result<(), SendError> {
        let mut events: Vec<&[u8]> = Vec::new();
        for record in &batch.records {
            match record {
                Record::Event(bytes) => events.push(bytes),
                Record::Blob(bytes) => {
                    let path = format!("/v1/blobs/{}", ContentHash::of(bytes));
                    self.request("PUT", &path, "application/octet-stream", bytes)?;
                    report.delivered += 1;
                }
            }
        }
        if events.is_empty() {
            return Ok(());
        }
        for answer in self.post(&events)? {
            match answer.problem {
                Some(problem) if answer.status == "rejected" => {
                    report.refused += 1;
                    report.refusal = Some(format!("{}: {}", problem.r#type, problem.detail));
                }
                _ => report.delivered += 1,
            }
        }
        Ok(())
    }

    fn post(&self, events: &[&[u8]]) -> Result<Vec<EventAnswer>, SendError> {
        let mut body = vec![b'['];
        body.extend_from_slice(&events.join(&b','));
        body.push(b']');
        let answer = self.request("POST", "/v1/events", "application/json", &body)?;
        let answer: Answer = serde_json::from_slice(&answer).map_err(|error| SendError::Refused {
            status: 200,
            detail: format!("not the answer of a recorder: {error}"),
        })?;
        if answer.results.len() != events.len() {
            return Err(SendError::Refused {
                status: 200,
                detail: "not the answer of a recorder: it has not one result for each event".to_owned(),
            });
        }
        Ok(answer.results)
    }

    fn request(
        &self,
        method: &str,
        path: &str,
        media: &str,
        body: &[u8],
    ) -> Result<Vec<u8>, SendError> {
        let url = &self.place.url;
        let key = self.place.key.as_deref().unwrap_or_default();
        let unreachable = |reason: String| SendError::Unreachable {
            url: url.clone(),
            reason,
        };
        let time = self.time_left()?;
        let request = ureq::http::Request::builder()
            .method(method)
            .uri(format!("{url}{path}"))
            .header("content-type", media)
            .header("authorization", format!("Bearer {key}"))
            .body(body)
            // The key is in the request and must not be in the message.
            .map_err(|_| unreachable("the address or the key has characters that neither can have".to_owned()))?;
        let request = self
            .agent
            .configure_request(request)
            .timeout_global(Some(time))
            .timeout_connect(Some(time / 2))
            .build();
        let mut response = self.agent.run(request).map_err(|error| self.failed(error))?;
        let answer = response.body_mut().with_config().limit(16 * 1024 * 1024);
        let answer = answer.read_to_vec().map_err(|error| self.failed(error))?;
        let status = response.status();
        if status.is_success() {
            return Ok(answer);
        }
        let problem: Problem = serde_json::from_slice(&answer).unwrap_or_default();
        Err(SendError::Refused {
            status: status.as_u16(),
            detail: problem.detail,
        })
    }

    fn failed(&self, error: ureq::Error) -> SendError {
        let url = self.place.url.clone();
        match error {
            ureq::Error::Timeout(ureq::Timeout::Connect | ureq::Timeout::Resolve) => {
                SendError::Unreachable {
                    url,
                    reason: "no connection in time".to_owned(),
                }
            }
            ureq::Error::Timeout(_) => SendError::Slow(url),
            error => SendError::Unreachable {
                url,
                reason: error.to_string(),
            },
        }
    }

    fn time_left(&self) -> Result<Duration, SendError> {
        let Some(until) = self.until else {
            return Ok(REQUEST_TIME);
        };
        let left = until.saturating_duration_since(Instant::now());
        if left < Duration::from_millis(1) {
            return Err(SendError::Slow(self.place.url.clone()));
        }
        Ok(left)
    }

    /// Tells the recorder what was lost before it could be spooled.
    fn tell_gaps(&self, drainer: &Drainer) -> Result<(), SendError> {
        for gap in drainer.gaps()? {
            if self.tell_gap(&gap)? {
                drainer.gaps_told(std::slice::from_ref(&gap))?;
            }
        }
        Ok(())
    }

    /// In the session itself, or in one for those whose session is over or never began.
    fn tell_gap(&self, gap: &Gap) -> Result<bool, SendError> {
        let own = gap.session.as_ref().map(|session| session.as_str());
        for session in own.into_iter().chain([GAPS_SESSION]) {
            let lost = json!({
                "id": format!("gap-{}-{}-{}", gap.first_ms, gap.last_ms, gap.count),
                "session": session,
                "type": "custom.capture_gap",
                "data": {
                    "of": own,
                    "lost": gap.count,
                    "first": time(gap.first_ms),
                    "last": time(gap.last_ms),
                    "reason": gap.reason,
                },
            })
            .to_string();
            let started = json!({
                "id": "started",
                "session": session,
                "type": "session.started",
                "data": { "source": "hooks", "witness": "hook" },
            })
            .to_string();
            for events in [vec![lost.as_bytes()], vec![started.as_bytes(), lost.as_bytes()]] {
                let answers = self.post(&events)?;
                if answers.last().is_some_and(|answer| answer.status != "rejected") {
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }
}

fn time(ms: i64) -> Option<String> {
    Some(jiff::Timestamp::from_millisecond(ms).ok()?.to_string())
}
