//! Which session a request belongs to, from what the request itself says.
//!
//! A request that names its session is believed. Otherwise it belongs to the conversation whose last request it extends, or one
//! of whose calls it answers. A conversation whose beginning was rewritten, as a compaction does, is recognised by what stayed:
//! that is *derived*, and recorded as such. What fits nothing begins a conversation of its own.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use remembrancer_schema::SessionId;
use remembrancer_schema::payload::Part;
use serde::{Deserialize, Serialize};

mod appearance;
mod calls;
mod matching;
mod names;
#[cfg(test)]
mod tests;

pub use appearance::Appearance;
pub use calls::Unfinished;
pub(crate) use calls::UnsentCall;
pub use names::session_name;

use appearance::{Key, part_key};

/// Most conversations that are remembered; the one unused for the longest is forgotten first.
const CONVERSATIONS_MAX: usize = 4096;
/// Most parts that are remembered of all conversations together.
const KEYS_MAX: usize = 4_000_000;
/// Most calls and responses that are remembered of a conversation, newest first.
const CALLS_MAX: usize = 1024;
const RESPONSES_MAX: usize = 64;
/// Most parts that are remembered of an answer.
const ANSWER_PARTS_MAX: usize = 1024;

/// What tells conversations apart before their messages do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Scope {
    /// The API's name.
    api: String,
    /// The name that the client or its library gives, and where it stands.
    named: Option<(String, String)>,
    /// Whether everything under that name is one session.
    is_one: bool,
}

/// A conversation as it is remembered, also from one run of the program to the next.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Conversation {
    /// Its session.
    pub session: SessionId,
    scope: Scope,
    /// The last request's number.
    pub turn: u32,
    /// The last request's messages, part by part.
    keys: Vec<Key>,
    /// The last request's instructions.
    instructions: Key,
    /// Whether the last request got an answer.
    is_answered: bool,
    /// The last request while its exchange goes on; the end of the program ends it too.
    #[serde(skip)]
    in_flight: Option<u32>,
    /// The last answer, part by part.
    answer: Vec<Key>,
    /// Ids of the calls that its responses carried.
    calls: VecDeque<Key>,
    /// Ids of its responses.
    responses: VecDeque<String>,
    /// What is to come yet.
    #[serde(flatten)]
    unfinished: Unfinished,
    /// Whether the session's first event was written.
    pub(crate) is_started: bool,
    /// The session that its first request shares its past with, and that was waiting for an answer then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    beside: Option<SessionId>,
    /// The rules that were declared in it, by their ids.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub(crate) declared: BTreeSet<String>,
    /// When it was used last: larger is later.
    used: u64,
}

/// How a request's session was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MatchedBy {
    /// The request names it.
    Name,
    /// It continues a response of the session.
    Response,
    /// It holds the messages of the session's last request, and more.
    Messages,
    /// It holds calls that responses of the session carried.
    Calls,
    /// The end of the session's last exchange stands in it, or a part with an id of it, under the same instructions.
    Overlap,
    /// The client's library names a session, the instructions are those of this conversation in it, and it reads like a compaction.
    Instructions,
}

impl MatchedBy {
    /// The way as it is written.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Name => "name",
            Self::Response => "response",
            Self::Messages => "messages",
            Self::Calls => "calls",
            Self::Overlap => "overlap",
            Self::Instructions => "instructions",
        }
    }

    /// Whether it is a conclusion from likeness rather than what the request says.
    pub fn is_derived(self) -> bool {
        matches!(self, Self::Calls | Self::Overlap | Self::Instructions)
    }
}

/// The conversations that are known.
#[derive(Debug, Default)]
pub struct Conversations {
    known: BTreeMap<SessionId, Conversation>,
    uses: u64,
    /// Those that were forgotten since somebody asked.
    forgotten: Vec<SessionId>,
}

impl Conversations {
    /// Takes one that an earlier run remembered.
    pub fn remember(&mut self, conversation: Conversation) {
        self.uses = self.uses.max(conversation.used);
        self.known
            .insert(conversation.session.clone(), conversation);
        self.forget_old();
    }

    /// A conversation by its session.
    pub fn get(&self, session: &SessionId) -> Option<&Conversation> {
        self.known.get(session)
    }

    /// The same, to be changed.
    pub fn get_mut(&mut self, session: &SessionId) -> Option<&mut Conversation> {
        self.known.get_mut(session)
    }

    /// The conversation that a request belongs to, and how that is known; none if it begins one.
    pub fn find(&self, request: &Appearance) -> Option<(SessionId, MatchedBy)> {
        if let Some(id) = &request.response
            && let Some(found) = self.of_response(id)
        {
            // Two requests may go on from one response: while the one is in flight, the other is none of its session.
            let is_free = found.in_flight.is_none() || request.scope.is_one;
            return is_free.then(|| (found.session.clone(), MatchedBy::Response));
        }
        let scope = || {
            self.known
                .values()
                .filter(|known| known.scope == request.scope)
        };
        let (found, by) = if request.scope.is_one {
            (scope().next(), MatchedBy::Name)
        } else {
            matching::best(scope, request)?
        };
        found.map(|found| (found.session.clone(), by))
    }

    fn of_response(&self, id: &str) -> Option<&Conversation> {
        let mut known = self.known.values();
        known.find(|known| known.responses.iter().any(|response| response == id))
    }

    /// The conversation that a request goes on from which begins one of its own, because that one waits for an answer.
    fn beside(&self, request: &Appearance) -> Option<&Conversation> {
        let of_response = request.response.as_ref();
        if let Some(found) = of_response.and_then(|id| self.of_response(id)) {
            return Some(found);
        }
        let known = self.known.values();
        known
            .filter(|known| known.scope == request.scope && known.is_beside(request))
            .max_by_key(|known| known.used)
    }

    /// Begins a conversation. Its session is the name that the request gives, with a number where that is taken, or else `fresh`.
    pub fn begin(&mut self, request: &Appearance, fresh: &SessionId) -> SessionId {
        let named = request.scope.named.as_ref().map(|(_, name)| name.as_str());
        let session = match named {
            None => fresh.clone(),
            Some(name) => (1..=u32::MAX)
                .map(|number| session_name(name, number))
                .find(|session| !self.known.contains_key(session))
                .unwrap_or_else(|| fresh.clone()),
        };
        let beside = self.beside(request).map(|known| known.session.clone());
        let conversation = Conversation {
            beside,
            session: session.clone(),
            scope: request.scope.clone(),
            turn: 0,
            keys: Vec::new(),
            instructions: 0,
            is_answered: false,
            in_flight: None,
            answer: Vec::new(),
            calls: VecDeque::new(),
            responses: VecDeque::new(),
            unfinished: Unfinished::default(),
            is_started: false,
            declared: BTreeSet::new(),
            used: 0,
        };
        self.known.insert(session.clone(), conversation);
        session
    }

    /// Notes that a conversation was continued by a request; returns the request's number.
    pub fn continued(&mut self, session: &SessionId, request: Appearance) -> u32 {
        self.uses += 1;
        let uses = self.uses;
        let Some(known) = self.known.get_mut(session) else {
            return 1;
        };
        known.turn = known.turn.saturating_add(1);
        known.keys = request.keys;
        known.instructions = request.instructions;
        known.is_answered = false;
        known.in_flight = Some(known.turn);
        known.answer.clear();
        known.used = uses;
        let turn = known.turn;
        self.forget_old();
        turn
    }

    /// The sessions that were forgotten since this was called last.
    pub fn take_forgotten(&mut self) -> Vec<SessionId> {
        std::mem::take(&mut self.forgotten)
    }

    fn forget_old(&mut self) {
        loop {
            let keys: usize = self.known.values().map(|known| known.keys.len()).sum();
            if self.known.len() <= 1 || (self.known.len() <= CONVERSATIONS_MAX && keys <= KEYS_MAX)
            {
                return;
            }
            let oldest = self.known.values().min_by_key(|known| known.used);
            let Some(oldest) = oldest.map(|known| known.session.clone()) else {
                return;
            };
            self.known.remove(&oldest);
            self.forgotten.push(oldest);
        }
    }
}

impl Conversation {
    /// Notes that a request's exchange ended, with an answer or without.
    pub fn ended(&mut self, turn: u32) {
        if self.in_flight == Some(turn) {
            self.in_flight = None;
        }
    }

    /// Notes that an answer came, and what it said.
    pub fn answered(&mut self, response: Option<&str>, parts: &[Part]) {
        self.is_answered = true;
        self.answer = parts.iter().take(ANSWER_PARTS_MAX).map(part_key).collect();
        if let Some(id) = response {
            push_bounded(&mut self.responses, id.to_owned(), RESPONSES_MAX);
        }
    }

    /// How the session came by its name: `header`, a field of the body, or `messages`.
    pub fn named_by(&self) -> &str {
        self.scope
            .named
            .as_ref()
            .map_or("messages", |(field, _)| field)
    }

    /// The session that its first request shares its past with, and that was waiting for an answer then.
    pub fn beside(&self) -> Option<&SessionId> {
        self.beside.as_ref()
    }

    /// The first session under the name that the client's library gives, where this is a further one.
    pub fn first_of_group(&self) -> Option<SessionId> {
        let first = session_name(self.name()?, 1);
        (!self.scope.is_one && first != self.session).then_some(first)
    }

    /// The name that the client gives to what belongs together.
    pub fn name(&self) -> Option<&str> {
        self.scope.named.as_ref().map(|(_, name)| name.as_str())
    }
}

fn push_bounded<T>(list: &mut VecDeque<T>, item: T, max: usize) {
    if list.len() >= max {
        list.pop_front();
    }
    list.push_back(item);
}
