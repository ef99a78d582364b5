//! Which session a request belongs to, from what the request itself says.
//!
//! A request that names its session is believed. Otherwise it belongs to the conversation whose last request it extends, or one
//! of whose calls it answers. A conversation whose beginning was rewritten, as a compaction does, is recognised by what stayed:
//! that is *derived*, and recorded as such. What fits nothing begins a conversation of its own.

use std::collections::{BTreeMap, VecDeque};

use remembrancer_schema::payload::Part;
use remembrancer_schema::{ContentHash, SessionId};
use serde::{Deserialize, Serialize};

use crate::cut::prefix;

mod appearance;
mod names;
#[cfg(test)]
mod tests;

pub use appearance::Appearance;
pub use names::session_name;

use appearance::{Key, part_key, text_key};

/// Most conversations that are remembered; the one unused for the longest is forgotten first.
const CONVERSATIONS_MAX: usize = 4096;
/// Most parts that are remembered of all conversations together.
const KEYS_MAX: usize = 4_000_000;
/// Most calls and responses that are remembered of a conversation, newest first.
const CALLS_MAX: usize = 1024;
const RESPONSES_MAX: usize = 64;
/// Most parts that are remembered of an answer.
const ANSWER_PARTS_MAX: usize = 1024;
/// Longest id of a call, and name of a tool, that is kept as it is, in bytes.
const CALL_ID_BYTES_MAX: usize = 256;

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
    /// The last answer, part by part.
    answer: Vec<Key>,
    /// Ids of the calls that its responses carried.
    calls: VecDeque<Key>,
    /// Ids of its responses.
    responses: VecDeque<String>,
    /// Calls whose results did not come back yet, with their tools.
    pending: BTreeMap<String, String>,
    /// Whether the session's first event was written.
    pub(crate) is_started: bool,
    /// The last compaction item that was seen.
    pub(crate) compaction: Option<ContentHash>,
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
    /// Parts of it stood in the session's last request, under the same instructions.
    Overlap,
    /// The client's library names a session, and the instructions are those of this conversation in it.
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
        if let Some(id) = &request.response {
            let found = self
                .known
                .values()
                .find(|known| known.responses.contains(id));
            if let Some(found) = found {
                return Some((found.session.clone(), MatchedBy::Response));
            }
        }
        let scope = || {
            self.known
                .values()
                .filter(|known| known.scope == request.scope)
        };
        let (found, by) = if request.scope.is_one {
            (scope().next(), MatchedBy::Name)
        } else {
            best(scope, request)?
        };
        found.map(|found| (found.session.clone(), by))
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
        let conversation = Conversation {
            session: session.clone(),
            scope: request.scope.clone(),
            turn: 0,
            keys: Vec::new(),
            instructions: 0,
            is_answered: false,
            answer: Vec::new(),
            calls: VecDeque::new(),
            responses: VecDeque::new(),
            pending: BTreeMap::new(),
            is_started: false,
            compaction: None,
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
        known.answer.clear();
        known.used = uses;
        let turn = known.turn;
        self.forget_old();
        turn
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
        }
    }
}

type Best<'a> = (Option<&'a Conversation>, MatchedBy);

fn best<'a, I: Iterator<Item = &'a Conversation>>(
    scope: impl Fn() -> I,
    request: &Appearance,
) -> Option<Best<'a>> {
    let extended = scope()
        .filter(|known| known.is_extended_by(request))
        .max_by_key(|known| (known.keys.len(), known.shared_calls(request), known.used));
    if extended.is_some() {
        return Some((extended, MatchedBy::Messages));
    }
    let by_calls = scope()
        .map(|known| (known.shared_calls(request), known.used, known))
        .filter(|(shared, ..)| *shared > 0)
        .max_by_key(|(shared, used, _)| (*shared, *used));
    if let Some((.., known)) = by_calls {
        return Some((Some(known), MatchedBy::Calls));
    }
    let same = || scope().filter(|known| known.instructions == request.instructions);
    let places: BTreeMap<Key, usize> = request
        .keys
        .iter()
        .enumerate()
        .map(|(at, key)| (*key, at))
        .collect();
    let overlapping = same()
        .map(|known| (known.overlap(request, &places), known.used, known))
        .filter(|(shared, ..)| *shared > 0)
        .max_by_key(|(shared, used, _)| (*shared, *used));
    if let Some((.., known)) = overlapping {
        return Some((Some(known), MatchedBy::Overlap));
    }
    // Within a session that the client's library names, the same instructions are enough; elsewhere many agents share them.
    let named = request
        .scope
        .named
        .is_some()
        .then(|| same().max_by_key(|known| known.used));
    named
        .flatten()
        .map(|known| (Some(known), MatchedBy::Instructions))
}

impl Conversation {
    /// Whether the request begins with the messages of the last one. The same messages again are another run of the same task,
    /// unless the last request got no answer, or the client's library says that it is the same session.
    fn is_extended_by(&self, request: &Appearance) -> bool {
        let is_longer = request.keys.len() > self.keys.len();
        let may_repeat = !self.is_answered || self.scope.named.is_some();
        !self.keys.is_empty() && request.keys.starts_with(&self.keys) && (is_longer || may_repeat)
    }

    fn shared_calls(&self, request: &Appearance) -> usize {
        self.calls
            .iter()
            .filter(|call| request.calls.contains(call))
            .count()
    }

    /// Parts of the last request and its answer that stand in this one, apart from a beginning that any run of the same task
    /// shares. `places` holds where each of the request's parts stands last.
    fn overlap(&self, request: &Appearance, places: &BTreeMap<Key, usize>) -> usize {
        let pairs = self.keys.iter().zip(&request.keys);
        let common = pairs.take_while(|(ours, theirs)| ours == theirs).count();
        let stands = |key: &&Key| places.get(key).is_some_and(|place| *place >= common);
        let ours = self.keys[common..].iter().chain(&self.answer);
        ours.filter(stands).count()
    }

    /// Notes that an answer came, and what it said.
    pub fn answered(&mut self, response: Option<&str>, parts: &[Part]) {
        self.is_answered = true;
        self.answer = parts.iter().take(ANSWER_PARTS_MAX).map(part_key).collect();
        if let Some(id) = response {
            push_bounded(&mut self.responses, id.to_owned(), RESPONSES_MAX);
        }
    }

    /// Notes a call, and returns the id under which it is recorded: its own, or one with `suffix` where a server gives none or
    /// one that the session has already.
    pub fn called(&mut self, call_id: &str, tool: &str, suffix: &str) -> String {
        let key = text_key(call_id);
        let is_own =
            !call_id.is_empty() && call_id.len() <= CALL_ID_BYTES_MAX && !self.calls.contains(&key);
        let unique = match is_own {
            true => call_id.to_owned(),
            false => format!("{}@{suffix}", prefix(call_id, CALL_ID_BYTES_MAX)),
        };
        push_bounded(&mut self.calls, key, CALLS_MAX);
        if self.pending.len() < CALLS_MAX {
            self.pending
                .insert(unique.clone(), prefix(tool, CALL_ID_BYTES_MAX).to_owned());
        }
        unique
    }

    /// Notes that a call's result came back; returns the id under which the call is recorded, and its tool. None if the session
    /// has no such call, or has its result already.
    pub fn returned(&mut self, call_id: &str) -> Option<(String, String)> {
        let renamed = || format!("{}@", prefix(call_id, CALL_ID_BYTES_MAX));
        let unique = match self.pending.contains_key(call_id) {
            true => call_id.to_owned(),
            false => self
                .pending
                .keys()
                .find(|key| key.starts_with(&renamed()))?
                .clone(),
        };
        let tool = self.pending.remove(&unique)?;
        Some((unique, tool))
    }

    /// How the session came by its name: `header`, a field of the body, or `messages`.
    pub fn named_by(&self) -> &str {
        self.scope
            .named
            .as_ref()
            .map_or("messages", |(field, _)| field)
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
