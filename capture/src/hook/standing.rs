//! What is known of a session between two hooks: each is a process, or a request, of its own.

use std::collections::BTreeMap;

use remembrancer_schema::ContentHash;
use remembrancer_schema::payload::{Part, PartKind};
use serde::{Deserialize, Serialize};

/// Most sub-agents of a session that are told apart; those beyond share one session.
pub(super) const SUBAGENTS_MAX: usize = 1_000;
/// Most calls that are remembered until they return.
const OPEN_CALLS_MAX: usize = 1_000;
/// Most parts that wait for the request which carries them.
const WAITING_PARTS_MAX: usize = 2_000;

/// What is known of a session and its sub-agents. Without it, as after a loss, a session goes on with what the next hooks tell:
/// turns may then begin anew, and the recorder keeps the first of two events with one id.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct SessionStanding {
    /// The session itself.
    #[serde(default)]
    pub(super) main: Thread,
    /// Its sub-agents, by their ids.
    #[serde(default)]
    pub(super) subagents: BTreeMap<String, Thread>,
}

/// One conversation with a model: the session's own or a sub-agent's.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Thread {
    /// How many recorded sessions it had: a program's session that is resumed after its end goes on in a new one. 0: none yet.
    #[serde(default)]
    pub(super) run: u32,
    #[serde(default)]
    pub(super) ended: bool,
    /// The last turn whose context was recorded.
    #[serde(default)]
    pub(super) turn: u32,
    /// Whether the next context goes on from that turn's.
    #[serde(default)]
    pub(super) grows: bool,
    /// A request is about to be sent, or was sent and not seen to have been.
    #[serde(default)]
    pub(super) request_due: bool,
    /// The model gave its last answer: a further call belongs to a further request.
    #[serde(default)]
    pub(super) answered: bool,
    /// What the next request carries beyond the last.
    #[serde(default)]
    pub(super) waiting: Vec<Part>,
    /// A compaction has begun.
    #[serde(default)]
    pub(super) compaction: Option<Compaction>,
    /// Calls that have not returned.
    #[serde(default)]
    pub(super) open: BTreeMap<String, OpenCall>,
    /// Calls that returned since the last request and that no batch has named.
    #[serde(default)]
    pub(super) returned: Vec<ReturnedCall>,
    /// The program told of batches, and so says where one request's calls end.
    #[serde(default)]
    pub(super) batches: Batches,
    #[serde(default)]
    pub(super) permission_mode: Option<String>,
    /// Calls that were given ids, where the program has none.
    #[serde(default)]
    pub(super) numbered_calls: u32,
    /// The messages of the last request, where the program tells requests.
    #[serde(default)]
    pub(super) listed: Vec<Listed>,
}

/// Whether a program tells of batches.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Batches {
    /// Not known yet.
    #[default]
    Unknown,
    /// It does.
    Told,
    /// It does not: a prompt was worked on with calls and no batch.
    Untold,
}

/// A compaction that has begun.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Compaction {
    pub(super) trigger: Option<String>,
    /// The program said that it was done, by starting its session anew.
    #[serde(default)]
    pub(super) done: bool,
    /// What was loaded into the context since it began.
    #[serde(default)]
    pub(super) reloaded: Vec<Part>,
}

/// A call that has not returned.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct OpenCall {
    pub(super) tool: String,
    /// Of its arguments as recorded.
    pub(super) arguments: ContentHash,
    /// What it asks of a sub-agent, where it starts one.
    #[serde(default)]
    pub(super) task: Option<Task>,
    /// Its place among the calls, where the program gives no ids.
    #[serde(default)]
    pub(super) number: u32,
}

/// What a call asks of a sub-agent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Task {
    pub(super) agent_type: Option<String>,
    pub(super) prompt: Option<String>,
    /// A sub-agent was found that it started.
    #[serde(default)]
    pub(super) started: bool,
}

/// A call that returned.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct ReturnedCall {
    pub(super) call_id: String,
    pub(super) tool: String,
    pub(super) arguments: ContentHash,
    pub(super) result: Option<ContentHash>,
}

/// A message of a request that the program told.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Listed {
    pub(super) kind: PartKind,
    pub(super) hash: ContentHash,
}

impl SessionStanding {
    /// What is known of the thread that an event happened in; made anew where nothing is.
    pub(super) fn thread(&mut self, agent_id: Option<&str>) -> &mut Thread {
        match agent_id {
            None => &mut self.main,
            Some(id) => self.subagents.entry(id.to_owned()).or_default(),
        }
    }
}

impl Thread {
    /// Whether its next event begins a recorded session.
    pub(super) fn begins(&self) -> bool {
        self.run == 0 || self.ended
    }

    /// Forgets what belongs to a context and to calls, at the end of a session.
    pub(super) fn end(&mut self) {
        *self = Self {
            run: self.run,
            ended: true,
            batches: self.batches,
            ..Self::default()
        };
    }

    /// Lets the next request carry a part.
    pub(super) fn wait(&mut self, part: Part) {
        if self.waiting.len() < WAITING_PARTS_MAX {
            self.waiting.push(part);
        }
    }

    /// Bytes of the texts that wait.
    pub(super) fn waiting_bytes(&self) -> usize {
        let reloaded = self.compaction.iter().flat_map(|one| &one.reloaded);
        let parts = self.waiting.iter().chain(reloaded);
        parts
            .filter_map(|part| part.text.as_ref())
            .map(String::len)
            .sum()
    }

    /// Remembers a call until it returns.
    pub(super) fn open(&mut self, call_id: &str, call: OpenCall) {
        if self.open.len() < OPEN_CALLS_MAX {
            self.open.insert(call_id.to_owned(), call);
        }
    }

    /// Remembers that a call returned, until a request carries its result.
    pub(super) fn close(&mut self, call: ReturnedCall) {
        self.open.remove(&call.call_id);
        if self.returned.len() < OPEN_CALLS_MAX {
            self.returned.push(call);
        }
    }
}
