//! What the analysis of a session says. Serialised, it is `analysis.json` of a bundle: the same record gives the same bytes.

mod action;
mod aftermath;
mod alteration;
mod authority;
mod control;
mod finding;
mod mutation;
mod part_list;
mod presence;
mod price;
mod scope;

use std::collections::BTreeMap;
use std::sync::Arc;

use remembrancer_schema::payload::{
    ConstraintKind, ContextProof, PartKind, PartOrigin, RequestedCall, StatedBy, TokenCount, Usage,
    Witness,
};
use remembrancer_schema::{ContentHash, SessionId};
use serde::Serialize;

pub use action::{Action, Decision, Returned};
pub use aftermath::{Aftermath, Anatomy, Growth, Orphan, OrphanKind, RepeatedCall, SummaryPart};
pub use alteration::{Alteration, AlterationKind};
pub use authority::{Attribution, AuthoritySupport};
pub use control::{ChangedState, Controls, EmptiedSummary, FoundControl, NeverStated};
pub use finding::{Finding, FindingKind, Severity};
pub use mutation::{Budget, Clearing, DeclaredMutation, Disagreement, Floor, Mutation, PartFate};
pub use part_list::{PartList, Parts};
pub use presence::{Evidence, FoundPlaces, Presence, PresenceState, Reason, Risk};
pub use price::{
    AnatomyDifference, Difference, DifferingLabel, PriceOfRemembering, PricedCompaction,
};
pub use scope::{ScopeVerdict, ScopeVersion};

/// Position of a part in [`Analysis::parts`]. A part that stands in many contexts is held once.
pub type PartIndex = u32;
/// Position of a mutation in [`Analysis::mutations`].
pub type MutationIndex = usize;
/// Position of a constraint in [`Analysis::constraints`].
pub type ConstraintIndex = usize;

/// Everything that the auditor computes from a session's record.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Analysis {
    /// What the session is.
    pub overview: Overview,
    /// The constraints and facts that were declared, in order of declaration.
    pub constraints: Vec<Constraint>,
    /// The distinct contents of context parts, in order of first appearance.
    pub contents: Vec<Content>,
    /// The parts that contexts are made of, in order of first appearance.
    pub parts: Vec<ContextPart>,
    /// The model requests, by number.
    pub turns: Vec<Turn>,
    /// The changes of the context that are more than appending, in order.
    pub mutations: Vec<Mutation>,
    /// The tool calls that the model sent, in order of recording.
    pub actions: Vec<Action>,
    /// For each turn (same order as `turns`), for each constraint (same order as `constraints`).
    pub presence: Vec<Vec<Presence>>,
    /// What the presence checks say where they cannot say anything.
    pub controls: Controls,
    /// The sentences of summaries that say somebody allowed something.
    pub attributions: Vec<Attribution>,
    /// What the auditor noticed, in order of turn.
    pub findings: Vec<Finding>,
    /// The three numbers that people ask for.
    pub summary: Summary,
}

/// What the session is, as its own events say.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Overview {
    /// Its id.
    pub session: String,
    /// Its name for people.
    pub label: Option<String>,
    /// What it is grouped by.
    pub labels: BTreeMap<String, String>,
    /// The agent's name.
    pub agent: Option<String>,
    /// The model.
    pub model: Option<String>,
    /// The session that started it.
    pub parent: Option<SessionId>,
    /// The call in the parent that started it.
    pub parent_call: Option<String>,
    /// Where the record was taken from.
    pub source: Option<String>,
    /// Time of the first event: the client's where given, else of receipt.
    pub started: Option<String>,
    /// Time of the last event.
    pub last_event: Option<String>,
    /// Whether `session.ended` was recorded. Without it, the tail is open.
    pub sealed: bool,
    /// The outcome that `session.ended` states.
    pub outcome: Option<String>,
    /// Number of entries.
    pub entries: u64,
    /// Entries whose payload is erased or unreadable here.
    pub unreadable_entries: u64,
    /// Input size in tokens above which the application compacts.
    pub compaction_trigger_tokens: Option<u64>,
    /// The declared intents, in order.
    pub intents: Vec<Intent>,
    /// The declarations of the scope, in order: each is in force until the next.
    pub scopes: Vec<ScopeVersion>,
    /// The scores that were assigned, in order.
    pub scores: Vec<Score>,
}

/// A declared intent.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Intent {
    /// Index of its entry in the ledger.
    pub entry: u64,
    /// The objective.
    pub objective: String,
    /// Who stated it.
    pub stated_by: Option<StatedBy>,
    /// How it became known.
    pub witness: Witness,
}

/// A score as assigned.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Score {
    /// The criterion.
    pub criterion: String,
    /// The score.
    pub value: f64,
    /// The best possible score.
    pub out_of: Option<f64>,
    /// Who assigned it.
    pub assigned_by: Option<String>,
    /// How it became known.
    pub witness: Witness,
}

/// A declared constraint or fact.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Constraint {
    /// Its name within the session.
    pub id: String,
    /// What kind of statement it is.
    pub kind: ConstraintKind,
    /// The statement.
    pub text: String,
    /// Index in the ledger of the entry that declared it.
    pub entry: u64,
    /// The first turn that was recorded after the declaration; none if no turn was. What stands at earlier turns is not counted.
    pub from_turn: Option<u32>,
    /// Who stated it.
    pub stated_by: Option<StatedBy>,
    /// A program took it for a rule in what somebody wrote; nobody declared it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub inferred: bool,
    /// How it is looked for, in words.
    pub matcher: String,
    /// How it became known.
    pub witness: Witness,
}

impl Constraint {
    /// Whether its absence is counted: prohibitions and obligations limit what an agent does.
    pub fn is_limit(&self) -> bool {
        matches!(
            self.kind,
            ConstraintKind::Prohibition | ConstraintKind::Obligation
        )
    }
}

/// A distinct content of context parts.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Content {
    /// BLAKE3 of its bytes.
    pub hash: ContentHash,
    /// Its length in bytes, where known.
    pub bytes: Option<u64>,
    /// Its text. Not part of the serialised analysis: the record holds it.
    #[serde(skip)]
    pub text: Option<Arc<str>>,
    /// Why there is no text.
    pub absence: Option<Absence>,
}

/// Why the text of a content cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case", tag = "why", content = "reason")]
pub enum Absence {
    /// It may not be kept; the client's reason.
    Withheld(String),
    /// The provider encrypts it.
    Encrypted,
    /// It was named by hash, and its bytes never came.
    NotRecorded,
    /// It was recorded and is not UTF-8 text.
    NotText,
}

/// One part of one or more contexts.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ContextPart {
    /// Its content: position in [`Analysis::contents`].
    pub content: usize,
    /// What it is.
    pub kind: PartKind,
    /// Whose words it holds.
    pub origin: PartOrigin,
    /// Index in the ledger of the entry that brought it.
    pub entry: u64,
    /// The first turn whose context holds it.
    pub first_turn: u32,
    /// Index of its message at that turn.
    pub message: Option<u32>,
    /// A file's or a document's name.
    pub name: Option<String>,
    /// The call that it belongs to.
    pub call_id: Option<String>,
    /// The tool that it belongs to.
    pub tool: Option<String>,
    /// It stands in for a larger text that was removed.
    pub stub: bool,
    /// The calls whose results it repeats.
    pub sources: Vec<String>,
    /// Estimated size in tokens: a quarter of its characters, rounded up.
    pub estimated_tokens: u64,
}

/// One model request.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Turn {
    /// Its number, from 1.
    pub number: u32,
    /// Index in the ledger of the entry that captured its context.
    pub entry: Option<u64>,
    /// Its time.
    pub time: Option<String>,
    /// The context's parts, in order.
    pub parts: PartList,
    /// Why the context is not wholly known: not captured, or built on a turn that is not.
    pub unknown: Option<String>,
    /// Why parts that were sent may be missing from it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub incomplete: Option<String>,
    /// Size of the request.
    pub tokens: Option<TokenCount>,
    /// How the context became known.
    pub witness: Witness,
    /// For rebuilt contexts: how well the result was checked.
    pub proof: Option<ContextProof>,
    /// What the model answered.
    pub response: Option<Response>,
    /// The mutation that this turn was the first to be sent with.
    pub mutation: Option<MutationIndex>,
}

/// The answer to a request.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Response {
    /// Index of its entry in the ledger.
    pub entry: u64,
    /// The provider's id.
    pub response_id: Option<String>,
    /// Its text, part by part.
    pub text: Vec<String>,
    /// The calls that it holds.
    pub calls: Vec<RequestedCall>,
    /// What it cost.
    pub usage: Option<Usage>,
    /// The model.
    pub model: Option<String>,
    /// Why it stopped.
    pub stop_reason: Option<String>,
    /// How it became known.
    pub witness: Witness,
}

/// The three numbers that people ask for. Only limits (prohibitions and obligations) count.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Summary {
    /// Actions sent while at least one limit had no trace in the context.
    pub actions_without_trace: u64,
    /// Prohibited actions sent while the very limit that they break had no trace.
    pub prohibited_without_trace: u64,
    /// The longest run of consecutive turns during which one limit had no trace.
    pub longest_gap_turns: u64,
}

impl Analysis {
    /// Position of a turn in `turns` by its number.
    pub fn turn_position(&self, number: u32) -> Option<usize> {
        self.turns
            .binary_search_by_key(&number, |turn| turn.number)
            .ok()
    }

    /// How the context of a turn became known; `None` if the turn is not among the turns.
    pub fn witness_of(&self, turn: u32) -> Option<Witness> {
        self.turns
            .get(self.turn_position(turn)?)
            .map(|turn| turn.witness)
    }

    /// How the contexts on both sides of a mutation became known: the weaker of the two. `None` where one of them is not known.
    pub fn witness_across(&self, mutation: &Mutation) -> Option<Witness> {
        let before = self.witness_of(mutation.previous_turn?)?;
        Some(before.max(self.witness_of(mutation.turn)?))
    }

    /// How a constraint stood when an action was sent; `None` if its turn is not among the turns.
    pub fn presence_at(&self, action: &Action, constraint: ConstraintIndex) -> Option<&Presence> {
        self.presence
            .get(self.turn_position(action.turn)?)?
            .get(constraint)
    }

    /// The content of a part.
    pub fn content_of(&self, part: PartIndex) -> Option<&Content> {
        self.contents.get(self.parts.get(part as usize)?.content)
    }
}
