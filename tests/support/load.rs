//! Writers that behave as a careful client does: they keep what they were told, send again under the same ids what was not
//! answered, wait when they are asked to, and go to another server when one does not answer.

use std::io::ErrorKind;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::journal::{Event, Figures, Journal, Name, read_answer};
use super::random::Random;

/// A client waits so long for an answer, then holds its request in doubt.
const CLIENT_PATIENCE: Duration = Duration::from_secs(5);
/// Longest wait before a refused request is sent again, whatever `Retry-After` says: tests are shorter than outages.
const BACK_OFF_MAX: Duration = Duration::from_millis(100);
/// Most events of a request.
const BATCH_EVENTS_MAX: u64 = 100;

/// Writers, and what they know.
pub(crate) struct Load {
    writers: Vec<Writer>,
    watch: Watch,
}

/// A view of a load from outside its writers.
#[derive(Clone)]
pub(crate) struct Watch {
    journal: Arc<Mutex<Journal>>,
    servers: Arc<Mutex<Vec<String>>>,
}

impl Load {
    /// Writers that post with a key. `pause` is between two requests of one writer.
    pub(crate) fn new(
        count: usize,
        seed: u64,
        key: &str,
        journal: Journal,
        pause: Duration,
    ) -> Self {
        let watch = Watch {
            journal: Arc::new(Mutex::new(journal)),
            servers: Arc::default(),
        };
        let mut random = Random::from_seed(seed);
        let writers = (0..count)
            .map(|number| Writer {
                number,
                key: key.to_owned(),
                pause,
                story: Story::new(number, Random::from_seed(random.between(0, u64::MAX))),
                outstanding: None,
                answered: None,
                agent: agent(CLIENT_PATIENCE),
                watch: watch.clone(),
            })
            .collect();
        Self { writers, watch }
    }

    /// Whom the writers talk to from now on.
    pub(crate) fn talk_to(&self, servers: &[&str]) {
        self.watch.talk_to(servers);
    }

    /// Lets the writers write while something happens; returns when they have stopped. What is then not answered stays with
    /// its writer, which sends it again in the next run.
    pub(crate) fn run<T>(&mut self, happens: impl FnOnce(&Watch) -> T) -> T {
        let stop = AtomicBool::new(false);
        let watch = self.watch.clone();
        thread::scope(|scope| {
            // Set also if what happens panics, so that the scope ends.
            let _stop = SetWhenDropped(&stop);
            for writer in &mut self.writers {
                let stop = &stop;
                scope.spawn(move || {
                    while !stop.load(Ordering::Relaxed) {
                        writer.step();
                        thread::sleep(writer.pause);
                    }
                });
            }
            happens(&watch)
        })
    }

    /// Sends what is not answered until it is.
    pub(crate) fn settle(&mut self, bound: Duration) {
        let started = Instant::now();
        for writer in &mut self.writers {
            while writer.outstanding.is_some() {
                assert!(
                    started.elapsed() < bound,
                    "a request is not taken after {bound:?}: {:?}",
                    writer.watch.figures()
                );
                writer.step();
            }
        }
    }

    /// What was sent and acknowledged.
    pub(crate) fn journal(&self) -> MutexGuard<'_, Journal> {
        self.watch.journal()
    }

    pub(crate) fn figures(&self) -> Figures {
        self.watch.figures()
    }
}

impl Watch {
    pub(crate) fn talk_to(&self, servers: &[&str]) {
        let servers = servers.iter().map(|&url| url.to_owned()).collect();
        *self.servers.lock().expect("no writer panics") = servers;
    }

    pub(crate) fn figures(&self) -> Figures {
        self.journal().figures.clone()
    }

    /// What was sent and acknowledged. After a panic too: what fails first should be what is told.
    pub(crate) fn journal(&self) -> MutexGuard<'_, Journal> {
        self.journal.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until the figures are as wanted; says what was awaited if they are not in time.
    pub(crate) fn wait_until(
        &self,
        what: &str,
        bound: Duration,
        wanted: impl Fn(&Figures) -> bool,
    ) {
        let started = Instant::now();
        while !wanted(&self.figures()) {
            assert!(
                started.elapsed() < bound,
                "after {bound:?} still not: {what}; {:?} {:?}",
                self.figures(),
                self.journal().faults.first()
            );
            thread::sleep(Duration::from_millis(10));
        }
    }
}

struct SetWhenDropped<'a>(&'a AtomicBool);

impl Drop for SetWhenDropped<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// A request until it is answered.
#[derive(Clone)]
struct Request {
    events: Vec<Event>,
    /// Whether it is one event by itself rather than an array.
    is_single: bool,
    /// Whether an earlier sending may have been stored.
    in_doubt: bool,
    sendings: usize,
}

impl Request {
    fn body(&self) -> String {
        let events: Vec<String> = self.events.iter().map(Event::to_json).collect();
        if self.is_single {
            events.concat()
        } else {
            format!("[{}]", events.join(","))
        }
    }
}

/// What came of one sending.
enum Sending {
    Taken(Value),
    Refused {
        status: u16,
        retry_after: Option<u64>,
        detail: String,
    },
    /// No connection: nothing was sent.
    Unreachable,
    /// No answer, or one that leaves open whether something is stored.
    Lost,
    Wrong(String),
}

struct Writer {
    number: usize,
    key: String,
    pause: Duration,
    story: Story,
    outstanding: Option<Request>,
    /// The last request that was answered; sent again now and then, as a client does that lost its own note of the answer.
    answered: Option<Request>,
    agent: ureq::Agent,
    watch: Watch,
}

impl Writer {
    /// Sends one request, a new one or the one that is not answered yet, and notes what came of it.
    fn step(&mut self) {
        let mut request = match self.outstanding.take() {
            Some(request) => request,
            None => self.next_request(),
        };
        let url = {
            let servers = self.watch.servers.lock().expect("no writer panics");
            servers[(self.number + request.sendings) % servers.len()].clone()
        };
        request.sendings += 1;
        self.watch.journal().will_send(&request.events);
        match self.send(&url, &request) {
            Sending::Taken(answer) => self.note(request, &answer),
            Sending::Refused {
                status,
                retry_after,
                detail,
            } => {
                let mut journal = self.watch.journal();
                if status == 429 {
                    journal.figures.busy += 1;
                } else {
                    journal.figures.unavailable += 1;
                    journal.figures.last_unavailable = detail;
                    request.in_doubt = true;
                }
                if retry_after.is_none() {
                    journal.faults.push(format!("{status} without Retry-After"));
                }
                drop(journal);
                self.outstanding = Some(request);
                let wait = Duration::from_secs(retry_after.unwrap_or(1));
                thread::sleep(wait.min(BACK_OFF_MAX));
            }
            Sending::Unreachable => {
                self.outstanding = Some(request);
                thread::sleep(Duration::from_millis(10));
            }
            Sending::Lost => {
                let mut journal = self.watch.journal();
                journal.figures.lost_answers += 1;
                journal.figures.in_doubt += request
                    .events
                    .iter()
                    .filter(|event| !journal.is_acknowledged(&event.name))
                    .count();
                drop(journal);
                request.in_doubt = true;
                self.outstanding = Some(request);
                thread::sleep(Duration::from_millis(10));
            }
            Sending::Wrong(answer) => {
                self.watch.journal().faults.push(answer);
                // Kept, so that a test which waits for everything to be answered does not end as if it were.
                self.outstanding = Some(request);
                thread::sleep(BACK_OFF_MAX);
            }
        }
    }

    fn note(&mut self, mut request: Request, answer: &Value) {
        let (origin, key) = {
            let journal = self.watch.journal();
            (journal.origin.clone(), journal.key.clone())
        };
        let read = read_answer(&origin, &key, &request.events, answer);
        let mut journal = self.watch.journal();
        match read {
            Ok(told) => journal.acknowledge(told, request.in_doubt),
            Err(fault) => journal.faults.push(fault),
        }
        drop(journal);
        request.sendings = 0;
        self.answered = Some(request);
    }

    fn next_request(&mut self) -> Request {
        if self.story.random.once_in(30)
            && let Some(answered) = self.answered.take()
        {
            return answered;
        }
        let is_single = self.story.random.once_in(3);
        let count = if is_single {
            1
        } else {
            self.story.random.between(1, BATCH_EVENTS_MAX + 1)
        };
        Request {
            events: (0..count).map(|_| self.story.next_event()).collect(),
            is_single,
            in_doubt: false,
            sendings: 0,
        }
    }

    fn send(&self, url: &str, request: &Request) -> Sending {
        let sent = self
            .agent
            .post(format!("{url}/v1/events"))
            .header("authorization", format!("Bearer {}", self.key))
            .header("content-type", "application/json")
            .send(request.body());
        let mut response = match sent {
            Ok(response) => response,
            Err(ureq::Error::Io(error)) if error.kind() == ErrorKind::ConnectionRefused => {
                return Sending::Unreachable;
            }
            Err(_) => return Sending::Lost,
        };
        let status = response.status().as_u16();
        let retry_after = response
            .headers()
            .get("retry-after")
            .and_then(|value| value.to_str().ok()?.parse().ok());
        let Ok(body) = response.body_mut().read_to_string() else {
            return Sending::Lost;
        };
        match status {
            200 | 201 => match serde_json::from_str(&body) {
                Ok(answer) => Sending::Taken(answer),
                Err(error) => Sending::Wrong(format!("the answer is not JSON: {error}: {body}")),
            },
            429 | 503 => Sending::Refused {
                status,
                retry_after,
                detail: body,
            },
            408 => Sending::Lost,
            _ => Sending::Wrong(format!("{status}: {body}")),
        }
    }
}

/// What one writer tells, in order: sessions of its own, one after the other, and now and then a word in one that all share.
struct Story {
    writer: usize,
    random: Random,
    sessions: usize,
    own: Option<String>,
    shares: bool,
    told: usize,
}

impl Story {
    fn new(writer: usize, random: Random) -> Self {
        Self {
            writer,
            random,
            sessions: 0,
            own: None,
            shares: false,
            told: 0,
        }
    }

    fn next_event(&mut self) -> Event {
        const SHARED: &str = "shared";
        if !self.shares {
            self.shares = true;
            // The same event from every writer: one of them starts the session.
            return event(
                SHARED,
                "start",
                "session.started",
                r#"{"label":"shared"}"#.to_owned(),
                true,
            );
        }
        let Some(own) = self.own.clone() else {
            self.sessions += 1;
            let session = format!("writer-{}-{}", self.writer, self.sessions);
            self.own = Some(session.clone());
            let data = format!(r#"{{"label":"{session}"}}"#);
            return event(&session, "start", "session.started", data, false);
        };
        self.told += 1;
        if self.random.once_in(500) {
            self.own = None;
            return event(
                &own,
                "end",
                "session.ended",
                r#"{"outcome":"completed"}"#.to_owned(),
                false,
            );
        }
        let session = if self.random.once_in(5) { SHARED } else { &own };
        let id = format!("w{}-{:08}", self.writer, self.told);
        let text = "x".repeat(self.random.between(10, 1_200) as usize);
        let data = format!(r#"{{"number":{},"text":"{text}"}}"#, self.told);
        event(session, &id, "custom.load", data, false)
    }
}

fn event(session: &str, id: &str, kind: &'static str, data: String, is_shared: bool) -> Event {
    let name = Name {
        session: session.to_owned(),
        id: id.to_owned(),
    };
    Event {
        name,
        kind,
        data,
        is_shared,
    }
}

/// A client with a bound on each request.
pub(crate) fn agent(patience: Duration) -> ureq::Agent {
    ureq::Agent::config_builder()
        .http_status_as_error(false)
        .max_redirects(0)
        .timeout_global(Some(patience))
        .build()
        .into()
}
