//! One connection's worth of a recorder: what is spooled goes there batch by batch, and what was lost is told.

use std::collections::BTreeSet;
use std::fmt;
use std::time::{Duration, Instant};

use remembrancer_capture::spool::{Batch, Drainer, Gap, Record, Spool};
use remembrancer_schema::{ContentHash, SessionId};
use serde::Deserialize;
use serde_json::json;

use super::place::Place;
use super::sending::{REQUEST_TIME, Report, SendError};

/// Most records of one request.
const BATCH_RECORDS_MAX: usize = 100;
/// Most bytes of one request, unless a single record has more.
const BATCH_BYTES_MAX: usize = 1024 * 1024;
/// The session in which losses are told that belong to none that is still open.
const GAPS_SESSION: &str = "spool.gaps";
/// Id of the first event of a session whose own first event is lost.
const STARTED_ID: &str = "spool.started";

/// One that sends to a recorder.
pub(super) struct Sender<'a> {
    place: &'a Place,
    spool: &'a Spool,
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

impl Problem {
    fn is(&self, name: &str) -> bool {
        self.r#type.ends_with(name)
    }
}

impl EventAnswer {
    /// Why it was rejected, if it was.
    fn rejection(self) -> Option<Problem> {
        self.problem.filter(|_| self.status == "rejected")
    }
}

/// What is read of an event that is sent.
#[derive(Deserialize)]
struct Envelope {
    session: SessionId,
    r#type: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.r#type, self.detail)
    }
}

impl<'a> Sender<'a> {
    pub(super) fn new(place: &'a Place, spool: &'a Spool, until: Option<Instant>) -> Self {
        let config = ureq::Agent::config_builder()
            .http_status_as_error(false)
            .max_redirects(0)
            // The recorder is on this machine; a proxy that is meant for other addresses has no part in it.
            .proxy(None)
            .user_agent("remembrancer-hook")
            .build();
        Self {
            place,
            spool,
            until,
            agent: config.into(),
        }
    }

    /// Delivers what waits, for a hook that appended the last `own` records; then what was lost is told.
    pub(super) fn drain(
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
                Err(SendError::Refused {
                    status: 413,
                    detail,
                }) => {
                    // The event of a blob that is refused is refused in its turn.
                    if let Some(Record::Event(event)) = batch.records.first() {
                        self.count_lost(event, "it is too large for the recorder")?;
                    }
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
        let mut orphans: Vec<&[u8]> = Vec::new();
        for (answer, event) in self.post(&events)?.into_iter().zip(&events) {
            match answer.rejection() {
                Some(problem) if problem.is("unknown-session") => orphans.push(event),
                Some(problem) => self.refused(event, &problem, report)?,
                None => report.delivered += 1,
            }
        }
        self.deliver_orphans(&orphans, report)
    }

    /// Sends events of sessions whose first event is lost once more, behind one that is made up.
    fn deliver_orphans(&self, orphans: &[&[u8]], report: &mut Report) -> Result<(), SendError> {
        let sessions: BTreeSet<SessionId> = orphans.iter().filter_map(|e| session_of(e)).collect();
        let starts = sessions.iter().map(|session| start(session.as_str()));
        let starts: Vec<Vec<u8>> = starts.collect();
        let starts = starts.iter().map(Vec::as_slice);
        let again: Vec<&[u8]> = starts.chain(orphans.iter().copied()).collect();
        if again.is_empty() {
            return Ok(());
        }
        for (answer, event) in self.post(&again)?.into_iter().zip(&again) {
            match answer.rejection() {
                Some(problem) => self.refused(event, &problem, report)?,
                None => report.delivered += 1,
            }
        }
        Ok(())
    }

    /// Counts an event that is refused for good as lost, unless it begins a session that is begun already.
    fn refused(
        &self,
        event: &[u8],
        problem: &Problem,
        report: &mut Report,
    ) -> Result<(), SendError> {
        let is_start = serde_json::from_slice::<Envelope>(event)
            .is_ok_and(|envelope| envelope.r#type == "session.started");
        let is_there = problem.is("id-conflict") || problem.is("session-already-started");
        // The session was begun, by whichever event.
        if !(is_start && is_there) {
            self.count_lost(event, &format!("the recorder refused it: {problem}"))?;
        }
        report.refused += 1;
        report.refusal = Some(problem.to_string());
        Ok(())
    }

    fn count_lost(&self, event: &[u8], reason: &str) -> Result<(), SendError> {
        match session_of(event) {
            Some(session) => Ok(self.spool.note_gap(&session, 1, reason)?),
            None => Ok(()),
        }
    }

    fn post(&self, events: &[&[u8]]) -> Result<Vec<EventAnswer>, SendError> {
        let mut body = vec![b'['];
        body.extend_from_slice(&events.join(&b','));
        body.push(b']');
        let answer = self.request("POST", "/v1/events", "application/json", &body)?;
        let answer: Answer =
            serde_json::from_slice(&answer).map_err(|error| SendError::Refused {
                status: 200,
                detail: format!("not the answer of a recorder: {error}"),
            })?;
        if answer.results.len() != events.len() {
            return Err(SendError::Refused {
                status: 200,
                detail: "not the answer of a recorder: it has not one result for each event"
                    .to_owned(),
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
            .map_err(|_| {
                unreachable(
                    "the address or the key has characters that neither can have".to_owned(),
                )
            })?;
        let request = self
            .agent
            .configure_request(request)
            .timeout_global(Some(time))
            .timeout_connect(Some(time / 2))
            .build();
        let mut response = self
            .agent
            .run(request)
            .map_err(|error| self.failed(error))?;
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

    /// In the session itself, or in one for those whose session takes nothing more.
    fn tell_gap(&self, gap: &Gap) -> Result<bool, SendError> {
        let own = gap.session.as_ref().map(|session| session.as_str());
        for session in own.into_iter().chain([GAPS_SESSION]) {
            let lost = json!({
                "id": format!("gap.{}.{}.{}", gap.first_ms, gap.last_ms, gap.count),
                "session": session,
                "type": "custom.gap",
                "data": {
                    "session": own,
                    "count": gap.count,
                    "first": time(gap.first_ms),
                    "last": time(gap.last_ms),
                    "reason": gap.reason,
                },
            })
            .to_string();
            let started = start(session);
            for events in [vec![lost.as_bytes()], vec![&started, lost.as_bytes()]] {
                let answers = self.post(&events)?;
                if answers
                    .last()
                    .is_some_and(|answer| answer.status != "rejected")
                {
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }
}

/// The first event of a session whose own is lost; the same each time.
fn start(session: &str) -> Vec<u8> {
    let data = json!({ "source": "spool: the session's own first event is lost" });
    json!({ "id": STARTED_ID, "session": session, "type": "session.started", "data": data })
        .to_string()
        .into_bytes()
}

fn session_of(event: &[u8]) -> Option<SessionId> {
    let envelope: Envelope = serde_json::from_slice(event).ok()?;
    Some(envelope.session)
}

fn time(ms: i64) -> Option<String> {
    Some(jiff::Timestamp::from_millisecond(ms).ok()?.to_string())
}
