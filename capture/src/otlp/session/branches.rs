//! Requests that do not go on from a session's own ones, though they name the same conversation: a call for a title, a sub-agent
//! without a name, parallel questions. Each such line of requests is a session of its own, a branch: in one sequence with the
//! others, each request would look like a change of the one before it.
//!
//! The session keeps a note of every request that it hands over, so that what was decided stays decided when the span comes again,
//! over restarts too.

use std::collections::{HashMap, VecDeque};

use remembrancer_replay::RecordedEvent;
use remembrancer_schema::payload::Part;
use remembrancer_schema::{ContentHash, SessionId};
use serde::{Deserialize, Serialize};

use super::{PREFIX, Session, custom, moment, time};
use crate::WriteError;
use crate::otlp::span::AgentSpan;

/// Most branches of a session. Of what would begin a further one, the session's own line is made.
const BRANCHES_MAX: usize = 1024;
/// Most requests of a line of which is kept when they were in flight.
const FLIGHTS_MAX: usize = 64;
/// Most calls that the note of a request names.
const NOTED_CALLS_MAX: usize = 256;

/// Why a request is no request of the session's own line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Why {
    /// It was in flight together with another one, so that neither can hold the other's answer.
    InFlight,
    /// It stands under the run of a tool that the line's last request does not stand under.
    ToolRun,
    /// It holds nothing of what the line's last request held, whose instructions or tools would have stayed.
    NothingInCommon,
    /// It goes on from a request of that branch.
    Continues,
}

/// A request that was handed over to a branch: what has to be known to hand over the ones that follow it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::otlp) struct Branched {
    /// The branch's session.
    pub(super) session: SessionId,
    /// The branch's name, of which the session's id is made.
    pub(super) name: String,
    pub(super) why: Why,
    began: Option<String>,
    ended: Option<String>,
    /// Number of the context's parts, and a hash over their hashes.
    parts: usize,
    context: Option<ContentHash>,
    /// The span of the tool run that it stands under.
    under: Option<String>,
    /// The ids of the calls in its answer.
    calls: Vec<String>,
}

/// A note, and the span that it is about.
#[derive(Debug)]
pub(in crate::otlp) struct Note {
    /// The event's id.
    id: String,
    time: Option<String>,
    pub(super) told: Branched,
}

/// When requests were in flight, as nanoseconds since 1970.
#[derive(Debug, Default)]
pub(super) struct Flights(VecDeque<(u64, u64)>);

/// One branch as it is known.
#[derive(Debug)]
pub(super) struct Branch {
    pub(super) session: SessionId,
    pub(super) name: String,
    parts: usize,
    context: Option<ContentHash>,
    pub(super) flights: Flights,
    pub(super) under: Option<String>,
}

/// The branches of a session.
#[derive(Debug, Default)]
pub(super) struct Branches {
    known: VecDeque<Branch>,
    /// Which session each span went to, by trace and span.
    of_span: HashMap<String, SessionId>,
    of_call: HashMap<String, SessionId>,
}

impl Flights {
    pub(super) fn add(&mut self, began: u64, ended: u64) {
        if began == 0 {
            return;
        }
        if self.0.len() >= FLIGHTS_MAX {
            self.0.pop_front();
        }
        self.0.push_back((began, ended));
    }

    /// Whether a request was in flight together with one of these.
    pub(super) fn overlap(&self, began: u64, ended: u64) -> bool {
        began > 0
            && self
                .0
                .iter()
                .any(|(from, until)| *from < ended && began < *until)
    }
}

/// The hash of a part's text, or the one that stands for it.
pub(super) type Key = Option<ContentHash>;

/// A hash over the first parts of a context, for each number of them from 0 on.
pub(super) fn chain(keys: &[Key]) -> Vec<Option<ContentHash>> {
    let mut last: Option<ContentHash> = None;
    std::iter::once(None)
        .chain(keys.iter().map(|key| {
            let mut bytes = Vec::with_capacity(66);
            for hash in [last, *key] {
                bytes.push(u8::from(hash.is_some()));
                bytes.extend(hash.iter().flat_map(|hash| *hash.as_bytes()));
            }
            last = Some(ContentHash::of(&bytes));
            last
        }))
        .collect()
}

pub(super) fn keys_of(parts: &[Part]) -> Vec<Key> {
    parts.iter().map(super::turns::hash_of).collect()
}

impl Branch {
    /// Number of parts that a context has to begin with to go on from the branch's last one; `None` if it does not.
    pub(super) fn extended_by(&self, chain: &[Option<ContentHash>]) -> Option<usize> {
        let is_extended = self.parts > 0 && chain.get(self.parts) == Some(&self.context);
        is_extended.then_some(self.parts)
    }
}

impl Branches {
    pub(super) fn all(&self) -> impl DoubleEndedIterator<Item = &Branch> {
        self.known.iter()
    }

    pub(super) fn are_full(&self) -> bool {
        self.known.len() >= BRANCHES_MAX
    }

    pub(super) fn get(&self, session: &SessionId) -> Option<&Branch> {
        self.known.iter().find(|branch| branch.session == *session)
    }

    /// The branch that has a span already.
    pub(super) fn of_span(&self, span: &AgentSpan) -> Option<&SessionId> {
        self.of_span.get(&span_key(&span.trace, &span.span))
    }

    /// The branch whose answer held a call.
    pub(super) fn of_call(&self, call_id: &str) -> Option<&SessionId> {
        self.of_call.get(call_id)
    }

    /// Bytes of memory that it holds, roughly.
    pub(super) fn bytes(&self) -> usize {
        let flights = FLIGHTS_MAX * size_of::<(u64, u64)>();
        self.known.len() * (size_of::<Branch>() + flights)
            + (self.of_span.len() + self.of_call.len()) * 200
    }

    /// Takes note of a request that was handed over. `span` is its trace and span.
    pub(super) fn note(&mut self, span: String, told: &Branched) {
        self.of_span.insert(span, told.session.clone());
        for call in &told.calls {
            self.of_call.insert(call.clone(), told.session.clone());
        }
        let known = self
            .known
            .iter()
            .position(|one| one.session == told.session);
        let mut branch = match known.and_then(|at| self.known.remove(at)) {
            Some(known) => known,
            None => Branch {
                session: told.session.clone(),
                name: told.name.clone(),
                parts: 0,
                context: None,
                flights: Flights::default(),
                under: None,
            },
        };
        branch.parts = told.parts;
        branch.context = told.context;
        branch.under = told.under.clone().or(branch.under);
        let (began, ended) = (moment(told.began.as_deref()), moment(told.ended.as_deref()));
        branch.flights.add(began, ended);
        self.known.push_back(branch);
    }
}

impl Note {
    /// That a request goes to a branch, which has the context of these keys from now on.
    pub(super) fn of(
        span: &AgentSpan,
        branch: (SessionId, String),
        why: Why,
        chain: &[Option<ContentHash>],
        under: Option<&str>,
        calls: Vec<String>,
    ) -> Self {
        let (session, name) = branch;
        Self {
            id: format!(
                "{PREFIX}{}.{}.{}.branched",
                span.trace, span.span, span.content
            ),
            time: time(span.start),
            told: Branched {
                session,
                name,
                why,
                began: time(span.start),
                ended: time(span.end),
                parts: chain.len().saturating_sub(1),
                context: chain.last().copied().flatten(),
                under: under.map(str::to_owned),
                calls: calls.into_iter().take(NOTED_CALLS_MAX).collect(),
            },
        }
    }
}

impl Session {
    /// Writes the notes of the requests that were handed over.
    pub(super) fn note_branched(&mut self, notes: &[Note]) -> Result<(), WriteError> {
        let (kind, agent) = (custom("branched"), self.agent.clone());
        self.speak_for(agent.as_deref());
        for Note { id, time, told } in notes {
            self.writer.push(id, &kind, time.as_deref(), told)?;
        }
        Ok(())
    }

    /// Takes note of such a note, read from the session's entries.
    pub(super) fn learn_branched(&mut self, event: &RecordedEvent) {
        let mut pieces = event.entry.event.as_str().split('.').skip(1);
        let (Some(trace), Some(span)) = (pieces.next(), pieces.next()) else {
            return;
        };
        let data = event.payload.as_ref().map(|payload| payload.data.as_ref());
        if let Some(told) = data.and_then(|data| serde_json::from_str::<Branched>(data).ok()) {
            self.branches.note(span_key(trace, span), &told);
        }
    }
}

pub(super) fn span_key(trace: &str, span: &str) -> String {
    format!("{trace}.{span}")
}
