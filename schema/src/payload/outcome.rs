//! What came of a session: artefacts, reports and scores.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::context::Witness;
use crate::hash::ContentHash;

/// `artifact.changed`: a file or document that the session keeps outside its context has a new content.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ArtifactChanged {
    /// The artefact's name or path.
    pub name: String,
    /// What kind it is: `checkpoint`, `memory`, `state_file` …
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// BLAKE3 of its new content; absent when it was removed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hash: Option<ContentHash>,
    /// Its new content, where it is small enough to be sent inline.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// The turn after which it changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn: Option<u32>,
    /// How this became known; without it, as the session says, or else `claimed`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub witness: Option<Witness>,
}

/// An action that a report says was taken.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ClaimedAction {
    /// The claim, in the report's words.
    pub text: String,
    /// The tool that it names, where that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// A text that the call's arguments must hold for the claim to be true, where the claim names one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub argument: Option<String>,
}

/// `report.filed`: the agent's own account of what it found and did.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct ReportFiled {
    /// The actions that it claims to have taken. Absent where the report makes no such list.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claimed_actions: Option<Vec<ClaimedAction>>,
    /// The report itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<serde_json::Value>")]
    pub body: Option<Box<RawValue>>,
    /// How this became known; without it, as the session says, or else `claimed`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub witness: Option<Witness>,
}

impl PartialEq for ReportFiled {
    fn eq(&self, other: &Self) -> bool {
        let text = |report: &Self| report.body.as_ref().map(|raw| raw.get().to_owned());
        (&self.claimed_actions, self.witness) == (&other.claimed_actions, other.witness)
            && text(self) == text(other)
    }
}

/// `score.assigned`: how well the session did, by somebody's criterion.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ScoreAssigned {
    /// The criterion's name.
    pub criterion: String,
    /// The score.
    pub value: f64,
    /// The best possible score.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub out_of: Option<f64>,
    /// Who assigned it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub assigned_by: Option<String>,
    /// How this became known; without it, as the session says, or else `claimed`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub witness: Option<Witness>,
}
