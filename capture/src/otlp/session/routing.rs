//! Which spans of a conversation belong to the session's own line of requests, and which to a branch.
//!
//! A request that goes on from the last one of a line belongs to that line. Of the others a branch is made only where something
//! shows that they cannot be the line's own: a context that was rewritten has to stay where its loss is seen.

use std::collections::{BTreeSet, HashSet};

use remembrancer_schema::SessionId;
use remembrancer_schema::payload::PartKind;

use super::Session;
use super::branches::{Branch, Key, Note, Why, chain, keys_of, span_key};
use crate::otlp::export::{Conversation, SourcedSpan, ToolAbove, session_id};
use crate::otlp::span::{AgentSpan, ModelCall, Told};

/// Requests of a batch, before and behind one, that it is compared with.
const NEIGHBOURS_MAX: usize = 64;

/// A request of the batch, as far as it matters to where it belongs.
struct Request {
    began: u64,
    ended: u64,
    keys: Vec<Key>,
    has_tools: bool,
    has_frame: bool,
    /// Whether it says that its context was compacted.
    is_compacted: bool,
    /// The ids of the calls whose results or arguments it holds.
    holds: BTreeSet<String>,
    /// The ids of the calls in its answer.
    calls: Vec<String>,
}

/// The session's own line while a batch is gone through.
struct Line {
    keys: Vec<Key>,
    /// Whether its last context has instructions or tools: what a compaction leaves.
    has_frame: bool,
    calls: HashSet<String>,
    /// The latest start of its requests.
    last_start: u64,
}

impl Session {
    /// Takes the spans out of a conversation that belong to branches of this session: each branch is a conversation of its own.
    /// What was decided is noted when the rest is written.
    pub fn branch(&mut self, conversation: &mut Conversation) -> Vec<Conversation> {
        let spans = std::mem::take(&mut conversation.spans);
        let requests: Vec<Option<Request>> = spans.iter().map(Request::of).collect();
        let mut line = self.line();
        let mut branches: Vec<Conversation> = Vec::new();
        for (at, sourced) in spans.into_iter().enumerate() {
            let request = requests[at].as_ref();
            let found = match request {
                Some(request) => self.place(&line, &requests, at, request, &sourced),
                None => self.branch_of_other(&line, &sourced),
            };
            let Some((session, name, why)) = found else {
                if let Some(request) = request.filter(|_| !self.is_known(&sourced.span)) {
                    self.take_up(&mut line, request, &sourced);
                }
                conversation.spans.push(sourced);
                continue;
            };
            if let Some(request) =
                request.filter(|_| self.branches.of_span(&sourced.span).is_none())
            {
                let under = sourced.under.as_ref().map(|tool| tool.span.as_str());
                let chain = chain(&request.keys);
                let calls = request.calls.clone();
                let place = (session.clone(), name.clone());
                let note = Note::of(&sourced.span, place, why, &chain, under, calls);
                let key = span_key(&sourced.span.trace, &sourced.span.span);
                self.branches.note(key, &note.told);
                conversation.branched.push(note);
            }
            match branches.iter_mut().find(|one| one.session == session) {
                Some(branch) => branch.spans.push(sourced),
                None => branches.push(self.begin_branch(conversation, session, name, sourced)),
            }
        }
        branches
    }

    fn begin_branch(
        &self,
        conversation: &Conversation,
        session: SessionId,
        name: String,
        first: SourcedSpan,
    ) -> Conversation {
        let call = first.under.as_ref().and_then(|tool| tool.call_id.clone());
        let call = call.filter(|call| self.branches.of_call(call).is_none());
        Conversation {
            parent: Some((conversation.session.clone(), call)),
            spans: vec![first],
            is_derived: conversation.is_derived,
            carried: self.constraints.clone(),
            branched: Vec::new(),
            session,
            name,
        }
    }

    fn line(&self) -> Line {
        let parts = self.writer.last_context().unwrap_or_default();
        Line {
            keys: keys_of(parts),
            has_frame: parts.iter().any(|part| is_frame(part.kind)),
            calls: self.calls.keys().cloned().collect(),
            last_start: self.last_start,
        }
    }

    /// Notes a request of the session's own.
    fn take_up(&mut self, line: &mut Line, request: &Request, sourced: &SourcedSpan) {
        line.calls.extend(request.calls.iter().cloned());
        self.flights.add(request.began, request.ended);
        // One that is late and does not go on from the last one is no context of a turn.
        let is_late = request.began < line.last_start;
        line.last_start = line.last_start.max(request.began);
        if is_late && !request.keys.starts_with(&line.keys) {
            return;
        }
        line.keys.clone_from(&request.keys);
        line.has_frame = request.has_frame;
        let under = sourced.under.as_ref();
        self.under = under.map(|tool| tool.span.clone()).or(self.under.take());
    }

    /// Whether the session itself has a span.
    fn is_known(&self, span: &AgentSpan) -> bool {
        let id = format!("{}{}.{}.", super::PREFIX, span.trace, span.span);
        self.branches.of_span(span).is_none() && self.writer.has_any(&id)
    }

    /// The branch that a request belongs to, and why; `None` for the session itself.
    fn place(
        &self,
        line: &Line,
        requests: &[Option<Request>],
        at: usize,
        request: &Request,
        sourced: &SourcedSpan,
    ) -> Option<(SessionId, String, Why)> {
        if let Some(session) = self.branches.of_span(&sourced.span) {
            return Some(self.named(session, Why::Continues));
        }
        if self.is_known(&sourced.span) || request.keys.is_empty() {
            return None;
        }
        let is_first = line.keys.is_empty();
        let extends = !is_first && request.keys.starts_with(&line.keys);
        let hashes = chain(&request.keys);
        let longest = self.branches.all().rev().filter_map(|branch| {
            let parts = branch.extended_by(&hashes)?;
            Some((parts, branch))
        });
        let longest = longest.max_by_key(|(parts, _)| *parts);
        if let Some((_, branch)) = longest.filter(|(parts, _)| !extends || *parts > line.keys.len())
        {
            return Some((branch.session.clone(), branch.name.clone(), Why::Continues));
        }
        let new = |why| {
            if self.branches.are_full() {
                return None;
            }
            let name = format!("{}:branch:{}", self.name(), sourced.span.span);
            Some((session_id(&name)?, name, why))
        };
        if is_first || extends {
            let is_beside = stands_back(requests, at, request, line);
            return is_beside.then(|| new(Why::InFlight)).flatten();
        }
        if let Some(branch) = self.branch_that_fits(line, request, sourced.under.as_ref()) {
            return Some((branch.session.clone(), branch.name.clone(), Why::Continues));
        }
        new(self.why_beside(line, request, sourced.under.as_ref())?)
    }

    /// Why a request that does not go on from the last one is none of this session's line; `None` where nothing shows that.
    fn why_beside(&self, line: &Line, request: &Request, under: Option<&ToolAbove>) -> Option<Why> {
        if self.flights.overlap(request.began, request.ended) {
            return Some(Why::InFlight);
        }
        let is_of_another_run = |tool: &ToolAbove| {
            let other = self.under.as_ref().is_some_and(|known| *known != tool.span);
            other || line.last_start < tool.began
        };
        if under.is_some_and(is_of_another_run) {
            return Some(Why::ToolRun);
        }
        let is_told = request.is_compacted || self.compaction.is_some();
        let holds_calls = request.holds.iter().any(|call| line.calls.contains(call));
        let known: HashSet<&Key> = line.keys.iter().collect();
        let has_nothing = !request.keys.iter().any(|key| known.contains(key));
        let is_alien = line.has_frame && has_nothing && !is_told && !holds_calls;
        is_alien.then_some(Why::NothingInCommon)
    }

    /// The branch that a request belongs to whose beginning was rewritten: the one under the same run of a tool, or the one whose
    /// calls it holds.
    fn branch_that_fits(
        &self,
        line: &Line,
        request: &Request,
        under: Option<&ToolAbove>,
    ) -> Option<&Branch> {
        let is_free = |branch: &&Branch| !branch.flights.overlap(request.began, request.ended);
        let same_run =
            |branch: &&Branch| under.is_some_and(|tool| branch.under.as_ref() == Some(&tool.span));
        let by_run = self.branches.all().rev().filter(is_free).find(same_run);
        if by_run.is_some() || request.holds.iter().any(|call| line.calls.contains(call)) {
            return by_run;
        }
        let mut held = request.holds.iter().rev();
        let session = held.find_map(|call| self.branches.of_call(call))?;
        self.branches.get(session).filter(is_free)
    }

    /// The branch of a span that is no request: the one whose call it ran, or that stands under the same run of a tool.
    fn branch_of_other(
        &self,
        line: &Line,
        sourced: &SourcedSpan,
    ) -> Option<(SessionId, String, Why)> {
        if self.is_known(&sourced.span) {
            return None;
        }
        let by_call = match &sourced.span.told {
            Told::Tool(run) => run.call_id.as_ref(),
            _ => None,
        };
        if let Some(call) = by_call {
            let of_branch = self
                .branches
                .of_call(call)
                .filter(|_| !line.calls.contains(call));
            if let Some(session) = of_branch {
                return Some(self.named(session, Why::Continues));
            }
        }
        let tool = sourced.under.as_ref()?;
        let branch = self.branches.all().rev();
        let mut branch = branch.filter(|one| one.under.as_ref() == Some(&tool.span));
        let branch = branch.next()?;
        Some((branch.session.clone(), branch.name.clone(), Why::Continues))
    }

    fn named(&self, session: &SessionId, why: Why) -> (SessionId, String, Why) {
        let branch = self.branches.get(session);
        let name = branch.map_or(session.as_str(), |branch| branch.name.as_str());
        (session.clone(), name.to_owned(), why)
    }
}

/// Whether a request that goes on from the line, or begins it, leaves its place to one that was in flight together with it: to
/// the one that requests go on from for the longest, else to the one with tools, else to the longer one, else to the earlier one.
/// It has no place either where requests go on from the line without it for longer.
fn stands_back(requests: &[Option<Request>], at: usize, request: &Request, line: &Line) -> bool {
    let later = || requests[at + 1..].iter().take(NEIGHBOURS_MAX).flatten();
    let earlier = requests[..at].iter().rev().take(NEIGHBOURS_MAX).flatten();
    let latest = |goes_on: &dyn Fn(&Request) -> bool| {
        let next = later().filter(|other| goes_on(other));
        next.map(|other| other.began).max()
    };
    let last_behind = |one: &Request| {
        latest(&|other| other.began >= one.ended && other.keys.starts_with(&one.keys))
    };
    let rank = |one: &Request| (last_behind(one), one.has_tools, one.keys.len());
    let goes_on = |other: &Request| other.keys.starts_with(&line.keys);
    let mut rivals = later().filter(|other| request.is_rival(other));
    if rivals.any(|other| goes_on(other) && rank(other) > rank(request)) {
        return true;
    }
    let has_rival = later().chain(earlier).any(|other| request.is_rival(other));
    let without_it = || {
        latest(&|other| {
            other.began >= request.ended && goes_on(other) && !other.keys.starts_with(&request.keys)
        })
    };
    has_rival && !line.keys.is_empty() && without_it() > last_behind(request)
}

impl Request {
    /// Whether another one was in flight together with it, and neither goes on from the other.
    fn is_rival(&self, other: &Self) -> bool {
        let overlap = other.began < self.ended && self.began < other.ended;
        let is_apart = !other.keys.starts_with(&self.keys) && !self.keys.starts_with(&other.keys);
        self.began > 0 && overlap && is_apart && !other.keys.is_empty()
    }

    fn of(sourced: &SourcedSpan) -> Option<Self> {
        let span = &sourced.span;
        let Told::Model(call) = &span.told else {
            return None;
        };
        let sent = call.sent.as_ref()?;
        let has = |kind| sent.parts.iter().any(|part| part.kind == kind);
        Some(Self {
            began: span.start,
            ended: span.end,
            keys: keys_of(&sent.parts),
            has_tools: has(PartKind::ToolSchema),
            has_frame: sent.parts.iter().any(|part| is_frame(part.kind)),
            is_compacted: call.is_compacted || has(PartKind::Summary),
            holds: sent
                .parts
                .iter()
                .filter_map(|part| part.call_id.clone())
                .collect(),
            calls: calls_of(span, call),
        })
    }
}

/// The ids under which the calls of an answer are recorded.
fn calls_of(span: &AgentSpan, call: &ModelCall) -> Vec<String> {
    let calls = call.answer.iter().flat_map(|answer| &answer.calls);
    let id = |(at, call): (u32, &crate::otlp::messages::Call)| {
        super::actions::call_id(call.id.as_deref(), span, at)
    };
    (0..).zip(calls).map(id).collect()
}

fn is_frame(kind: PartKind) -> bool {
    matches!(kind, PartKind::System | PartKind::ToolSchema)
}
