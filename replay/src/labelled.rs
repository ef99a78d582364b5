//! Labelled pairs of a constraint and a context, judged by the engine that judges sessions, and counted against their labels.
//!
//! Two published forms of a line are read: pairs with a human judgement ("does the constraint survive in this compacted text?")
//! and cases with the messages before and after a compaction and the change that was made. Of a case nothing but its messages
//! and its constraint reaches the engine.

mod tally;

use std::sync::Arc;

use remembrancer_schema::ContentHash;
use remembrancer_schema::payload::{
    ConstraintDeclared, ConstraintKind, PartKind, PartOrigin, Witness,
};
use serde_json::Value;

use crate::analysis::{Content, ContextPart, PartIndex, Presence, Turn};
use crate::context::{ContextTimeline, DeclaredConstraint, estimated_tokens};
use crate::folding::{Escapes, Folded};
use crate::language::{self, Mark, Stance};
use crate::modality::Tone;
use crate::passage::Passage;
use crate::presence;
pub use tally::{Class, Tally};

/// One labelled context.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Case {
    /// Its id in the set.
    pub id: String,
    /// What a person, or the maker of the set, says became of the constraint.
    pub label: Label,
    /// The constraint.
    pub constraint: String,
    /// The context: what kind of part each text is.
    pub parts: Vec<(PartKind, String)>,
}

/// What became of a constraint.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Label {
    /// A person judged that it survives.
    Present,
    /// A person judged that it does not.
    Absent,
    /// It was left as it was.
    Preserved,
    /// It was said in other words.
    Paraphrased,
    /// It was said less strongly.
    Weakened,
    /// A value was changed or left out.
    Mutated,
    /// The opposite was said.
    Contradicted,
    /// It was left out.
    Dropped,
}

/// Why a line is no labelled case.
#[derive(Debug, thiserror::Error)]
pub enum CaseError {
    /// Not JSON.
    #[error("it is not JSON: {0}")]
    NotJson(#[from] serde_json::Error),
    /// Neither of the two forms.
    #[error(
        "it has neither \u{201c}compacted\u{201d} (a judged pair) nor \u{201c}after\u{201d} (messages after a compaction)"
    )]
    UnknownForm,
    /// A field is missing or of another type.
    #[error("\u{201c}{field}\u{201d} is missing or is not {expected}")]
    Field {
        /// The field.
        field: &'static str,
        /// What it must be.
        expected: &'static str,
    },
    /// A label that is not known.
    #[error(
        "its label {0:?} is not one of preserved, paraphrased, weakened, mutated, contradicted, dropped"
    )]
    UnknownLabel(String),
}

impl Label {
    /// Every label, in the order in which they are shown.
    pub const ALL: [Self; 8] = [
        Self::Present,
        Self::Absent,
        Self::Preserved,
        Self::Paraphrased,
        Self::Weakened,
        Self::Mutated,
        Self::Contradicted,
        Self::Dropped,
    ];

    /// The label as it is written.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Present => "present",
            Self::Absent => "absent",
            Self::Preserved => "preserved",
            Self::Paraphrased => "paraphrased",
            Self::Weakened => "weakened",
            Self::Mutated => "mutated",
            Self::Contradicted => "contradicted",
            Self::Dropped => "dropped",
        }
    }

    fn of_case(label: &str) -> Result<Self, CaseError> {
        Self::ALL[2..]
            .iter()
            .copied()
            .find(|one| one.as_str() == label)
            .ok_or_else(|| CaseError::UnknownLabel(label.chars().take(40).collect()))
    }
}

impl Case {
    /// Reads one line of a labelled set.
    pub fn parse(line: &str) -> Result<Self, CaseError> {
        let value: Value = serde_json::from_str(line)?;
        if value.get("compacted").is_some() {
            Self::judged_pair(&value)
        } else if value.get("after").is_some() {
            Self::compaction_case(&value)
        } else {
            Err(CaseError::UnknownForm)
        }
    }

    fn judged_pair(value: &Value) -> Result<Self, CaseError> {
        let survives = value["human_present"].as_bool().ok_or(CaseError::Field {
            field: "human_present",
            expected: "true or false",
        })?;
        Ok(Self {
            id: text(value, "id")?,
            label: if survives {
                Label::Present
            } else {
                Label::Absent
            },
            constraint: text(value, "constraint")?,
            parts: vec![(PartKind::Summary, text(value, "compacted")?)],
        })
    }

    fn compaction_case(value: &Value) -> Result<Self, CaseError> {
        let messages = value["after"].as_array().ok_or(CaseError::Field {
            field: "after",
            expected: "a list of messages",
        })?;
        let summary = value["summary"].as_str();
        let part = |message: &Value| {
            let content = text(message, "content")?;
            let kind = match message["role"].as_str() {
                _ if summary == Some(content.as_str()) => PartKind::Summary,
                Some("system" | "developer") => PartKind::System,
                Some("user") => PartKind::User,
                Some("assistant") => PartKind::Assistant,
                Some("tool" | "function") => PartKind::ToolResult,
                _ => PartKind::Other,
            };
            Ok((kind, content))
        };
        Ok(Self {
            id: text(value, "case_id")?,
            label: Label::of_case(&text(value, "label")?)?,
            constraint: text(value, "invariant")?,
            parts: messages
                .iter()
                .map(part)
                .collect::<Result<_, CaseError>>()?,
        })
    }

    /// How the constraint stands in the context, as the audit of a session would say it.
    pub fn judge(&self) -> Presence {
        let parts = self.parts.iter().map(|(kind, text)| (*kind, text.as_str()));
        judge(kind_of(&self.constraint), &self.constraint, parts)
    }
}

fn text(value: &Value, field: &'static str) -> Result<String, CaseError> {
    let found = value[field].as_str().ok_or(CaseError::Field {
        field,
        expected: "a text",
    })?;
    Ok(found.to_owned())
}

/// How a constraint stands in one context of the given parts.
pub fn judge<'t>(
    kind: ConstraintKind,
    constraint: &str,
    parts: impl Iterator<Item = (PartKind, &'t str)>,
) -> Presence {
    let mut timeline = ContextTimeline::default();
    for (kind, text) in parts {
        let content = timeline.contents.len();
        timeline.contents.push(Content {
            hash: ContentHash::of(text.as_bytes()),
            bytes: Some(text.len() as u64),
            text: Some(Arc::from(text)),
            absence: None,
        });
        timeline.parts.push(ContextPart {
            content,
            kind,
            origin: PartOrigin::Application,
            entry: 0,
            first_turn: 1,
            message: None,
            name: None,
            call_id: None,
            tool: None,
            stub: false,
            sources: Vec::new(),
            estimated_tokens: estimated_tokens(text),
        });
    }
    let count = PartIndex::try_from(timeline.parts.len()).unwrap_or(PartIndex::MAX);
    timeline.turns.push(Turn {
        number: 1,
        entry: None,
        time: None,
        parts: (0..count).collect(),
        unknown: None,
        incomplete: None,
        tokens: None,
        witness: Witness::Exact,
        proof: None,
        response: None,
        mutation: None,
    });
    let declared = DeclaredConstraint {
        declared: ConstraintDeclared {
            id: "labelled".parse().expect("the id is a valid one"),
            kind,
            text: constraint.to_owned(),
            matcher: None,
            actions: Vec::new(),
            stated_by: None,
            inferred: false,
            witness: None,
        },
        entry: 0,
        from_turn: Some(1),
    };
    presence::matrix(&timeline, &[], &[declared])
        .remove(0)
        .remove(0)
}

/// The kind of a constraint whose author declared none: what it does by its own words.
pub fn kind_of(constraint: &str) -> ConstraintKind {
    let folded = Folded::new(constraint, Escapes::Plain);
    let passage = Passage::new(constraint, &folded);
    let marks = language::marks(&passage);
    let tone = Tone::of(&marks, &(0..passage.words().len()), Stance::Neutral);
    if tone.has(Mark::Forbid) {
        ConstraintKind::Prohibition
    } else if tone.permission(&passage, |_| false).is_some() && !tone.is_normative() {
        ConstraintKind::Permission
    } else {
        ConstraintKind::Obligation
    }
}

#[cfg(test)]
mod tests;
