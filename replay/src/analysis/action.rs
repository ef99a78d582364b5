//! What an agent did: its calls, what came back, and what guards said of them.

use remembrancer_schema::payload::{ReturnStatus, Verdict, Witness};
use serde::Serialize;

use super::{ConstraintIndex, ScopeVerdict};
use crate::effect::Effects;

/// A tool call that the model sent.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Action {
    /// The turn whose response carried it.
    pub turn: u32,
    /// Its id.
    pub call_id: String,
    /// The tool.
    pub tool: String,
    /// What it acts on.
    pub target: Option<String>,
    /// What it does there.
    pub operation: Option<String>,
    /// The arguments as sent: JSON.
    pub arguments: Option<String>,
    /// Index of its entry in the ledger.
    pub entry: u64,
    /// How it became known.
    pub witness: Witness,
    /// Its time.
    pub time: Option<String>,
    /// What came back.
    pub returned: Option<Returned>,
    /// What guards and governors said of it.
    pub decisions: Vec<Decision>,
    /// Whether the declared scope permits it.
    pub scope: ScopeVerdict,
    /// Which declaration of the scope was in force when it was recorded: [`super::ScopeVersion::version`].
    pub scope_version: Option<u32>,
    /// The declared prohibitions that it breaks: positions in [`super::Analysis::constraints`].
    pub breaks: Vec<ConstraintIndex>,
    /// What it touches.
    pub effects: Effects,
}

/// What a call gave back.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Returned {
    /// Index of its entry in the ledger.
    pub entry: u64,
    /// How it became known.
    pub witness: Witness,
    /// How it ended.
    pub status: ReturnStatus,
    /// What it changed in the world, in the application's words.
    pub effect: Option<String>,
    /// The result as returned: JSON. Not part of the serialised analysis: the record holds it.
    #[serde(skip)]
    pub result: Option<String>,
}

/// What a guard or governor said of an action.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Decision {
    /// Index of its entry in the ledger.
    pub entry: u64,
    /// Who.
    pub decider: String,
    /// Allow or deny, where it decided.
    pub verdict: Option<Verdict>,
    /// Whether it was enforced.
    pub enforced: bool,
    /// Flags that it raised.
    pub flags: Vec<String>,
    /// Policies that it says were violated.
    pub violations: Vec<String>,
    /// Its reason, in its own words.
    pub reason: Option<String>,
    /// How it became known.
    pub witness: Witness,
}
