//! What each event type carries.
//!
//! Fields that a type does not name are kept: the bytes that a client sent are the record, and these types are only how this
//! version reads them.

mod action;
mod admin;
mod context;
mod mandate;
mod mutation;
mod outcome;
mod session;

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

pub use action::{
    DecisionRecorded, ModelResponded, RequestedCall, ReturnStatus, ToolCalled, ToolReturned, Usage,
    Verdict,
};
pub use admin::{ADMIN_SESSION, AdminAct, AdminActed};
pub use context::{
    ContextCaptured, ContextProof, Part, PartKind, PartOrigin, ProofOutcome, TokenCount,
    TokenSource, Witness,
};
pub use mandate::{
    ActionPattern, ArgumentCondition, ConstraintDeclared, ConstraintKind, Effect, IntentDeclared,
    MatchTerm, Matcher, Places, ScopeDeclared, StatedBy, ToolDeclaration,
};
pub use mutation::{
    ContextMutated, CountedTokens, DeclaredFate, Fate, MutationKind, SummaryRecord, Trigger,
};
pub use outcome::{ArtifactChanged, ClaimedAction, ReportFiled, ScoreAssigned};
pub use session::{ParentSession, SessionEnded, SessionStarted};

pub use crate::id::ConstraintId;

/// Longest name of a `custom.*` type, in bytes.
const CUSTOM_TYPE_BYTES_MAX: usize = 100;

/// The type of an event: `noun.verb`.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum EventType {
    /// `session.started`
    SessionStarted,
    /// `intent.declared`
    IntentDeclared,
    /// `scope.declared`
    ScopeDeclared,
    /// `constraint.declared`
    ConstraintDeclared,
    /// `context.captured`
    ContextCaptured,
    /// `context.mutated`
    ContextMutated,
    /// `model.responded`
    ModelResponded,
    /// `tool.called`
    ToolCalled,
    /// `tool.returned`
    ToolReturned,
    /// `decision.recorded`
    DecisionRecorded,
    /// `artifact.changed`
    ArtifactChanged,
    /// `report.filed`
    ReportFiled,
    /// `score.assigned`
    ScoreAssigned,
    /// `session.ended`
    SessionEnded,
    /// `admin.*`: written by the recorder itself.
    Admin(AdminAct),
    /// `custom.*`: kept and shown, but not analysed. Holds the whole type, `custom.` included.
    Custom(String),
}

/// A type that this version does not know.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "unknown event type {0:?}; known are {known}, and custom.* with letters, digits, dots, dashes and underscores",
    known = EventType::KNOWN.map(|kind| kind.0).join(", ")
)]
pub struct UnknownType(pub String);

impl EventType {
    const KNOWN: [(&'static str, Self); 21] = [
        ("session.started", Self::SessionStarted),
        ("intent.declared", Self::IntentDeclared),
        ("scope.declared", Self::ScopeDeclared),
        ("constraint.declared", Self::ConstraintDeclared),
        ("context.captured", Self::ContextCaptured),
        ("context.mutated", Self::ContextMutated),
        ("model.responded", Self::ModelResponded),
        ("tool.called", Self::ToolCalled),
        ("tool.returned", Self::ToolReturned),
        ("decision.recorded", Self::DecisionRecorded),
        ("artifact.changed", Self::ArtifactChanged),
        ("report.filed", Self::ReportFiled),
        ("score.assigned", Self::ScoreAssigned),
        ("session.ended", Self::SessionEnded),
        ("admin.key_created", Self::Admin(AdminAct::KeyCreated)),
        ("admin.key_revoked", Self::Admin(AdminAct::KeyRevoked)),
        (
            "admin.workspace_created",
            Self::Admin(AdminAct::WorkspaceCreated),
        ),
        (
            "admin.garbage_collected",
            Self::Admin(AdminAct::GarbageCollected),
        ),
        ("admin.backup_made", Self::Admin(AdminAct::BackupMade)),
        (
            "admin.backup_restored",
            Self::Admin(AdminAct::BackupRestored),
        ),
        (
            "admin.ledger_migrated",
            Self::Admin(AdminAct::LedgerMigrated),
        ),
    ];

    /// The type as it is written.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Custom(name) => name,
            known => Self::KNOWN
                .iter()
                .find(|(_, kind)| kind == known)
                .map_or("", |(name, _)| name),
        }
    }

    /// Every type but `custom.*`, as written.
    pub fn known() -> impl Iterator<Item = &'static str> {
        Self::KNOWN.into_iter().map(|(name, _)| name)
    }
}

impl FromStr for EventType {
    type Err = UnknownType;

    fn from_str(text: &str) -> Result<Self, UnknownType> {
        if let Some((_, kind)) = Self::KNOWN.into_iter().find(|(name, _)| *name == text) {
            return Ok(kind);
        }
        let is_name = |rest: &str| {
            !rest.is_empty()
                && text.len() <= CUSTOM_TYPE_BYTES_MAX
                && rest
                    .bytes()
                    .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_'))
        };
        match text.strip_prefix("custom.") {
            Some(rest) if is_name(rest) => Ok(Self::Custom(text.to_owned())),
            _ => Err(UnknownType(
                text.chars().take(CUSTOM_TYPE_BYTES_MAX).collect(),
            )),
        }
    }
}

impl fmt::Display for EventType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Debug for EventType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Serialize for EventType {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for EventType {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        crate::text::parse(deserializer)
    }
}

impl JsonSchema for EventType {
    fn schema_name() -> Cow<'static, str> {
        "EventType".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "pattern": "^(custom\\.[A-Za-z0-9._-]{1,93}|[a-z]+\\.[a-z_]+)$" })
    }
}

/// A payload, read as its type says.
#[derive(Debug, Clone, PartialEq)]
pub enum Payload {
    /// `session.started`
    SessionStarted(SessionStarted),
    /// `intent.declared`
    IntentDeclared(IntentDeclared),
    /// `scope.declared`
    ScopeDeclared(ScopeDeclared),
    /// `constraint.declared`
    ConstraintDeclared(ConstraintDeclared),
    /// `context.captured`
    ContextCaptured(ContextCaptured),
    /// `context.mutated`
    ContextMutated(ContextMutated),
    /// `model.responded`
    ModelResponded(ModelResponded),
    /// `tool.called`
    ToolCalled(ToolCalled),
    /// `tool.returned`
    ToolReturned(ToolReturned),
    /// `decision.recorded`
    DecisionRecorded(DecisionRecorded),
    /// `artifact.changed`
    ArtifactChanged(ArtifactChanged),
    /// `report.filed`
    ReportFiled(ReportFiled),
    /// `score.assigned`
    ScoreAssigned(ScoreAssigned),
    /// `session.ended`
    SessionEnded(SessionEnded),
    /// `admin.*`
    AdminActed(AdminActed),
    /// `custom.*`: any JSON object, not read further.
    Custom,
}

/// A payload that does not fit its type.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("data of {kind}: {reason}")]
pub struct PayloadError {
    /// The event's type.
    pub kind: EventType,
    /// What does not fit, and where.
    pub reason: String,
}

impl Payload {
    /// Reads the payload of an event of type `kind` from its bytes and checks what the types alone cannot say.
    pub fn parse(kind: &EventType, data: &str) -> Result<Self, PayloadError> {
        fn read<'de, T: Deserialize<'de>>(data: &'de str) -> Result<T, String> {
            serde_json::from_str(data).map_err(|error| error.to_string())
        }
        let payload = match kind {
            EventType::SessionStarted => read(data).map(Self::SessionStarted),
            EventType::IntentDeclared => read(data).map(Self::IntentDeclared),
            EventType::ScopeDeclared => read(data).map(Self::ScopeDeclared),
            EventType::ConstraintDeclared => read(data).map(Self::ConstraintDeclared),
            EventType::ContextCaptured => read(data).map(Self::ContextCaptured),
            EventType::ContextMutated => read(data).map(Self::ContextMutated),
            EventType::ModelResponded => read(data).map(Self::ModelResponded),
            EventType::ToolCalled => read(data).map(Self::ToolCalled),
            EventType::ToolReturned => read(data).map(Self::ToolReturned),
            EventType::DecisionRecorded => read(data).map(Self::DecisionRecorded),
            EventType::ArtifactChanged => read(data).map(Self::ArtifactChanged),
            EventType::ReportFiled => read(data).map(Self::ReportFiled),
            EventType::ScoreAssigned => read(data).map(Self::ScoreAssigned),
            EventType::SessionEnded => read(data).map(Self::SessionEnded),
            EventType::Admin(_) => read(data).map(Self::AdminActed),
            EventType::Custom(_) => read::<serde_json::Map<_, _>>(data).map(|_| Self::Custom),
        };
        payload
            .and_then(|payload| payload.check().map(|()| payload))
            .map_err(|reason| PayloadError {
                kind: kind.clone(),
                reason,
            })
    }

    /// The payload of an event whose bytes are known to be I-JSON. The same as [`Payload::parse`]; what is an object already
    /// is not read again where nothing of it is.
    pub(crate) fn parse_sound(kind: &EventType, data: &str) -> Result<Self, PayloadError> {
        match kind {
            EventType::Custom(_) if data.starts_with('{') => Ok(Self::Custom),
            _ => Self::parse(kind, data),
        }
    }

    /// How the record became known, where it says so itself. Events of the recorder itself (`admin.*`) never do, and the payloads
    /// of `custom.*` are not read.
    pub fn witness(&self) -> Option<Witness> {
        match self {
            Self::SessionStarted(payload) => payload.witness,
            Self::IntentDeclared(payload) => payload.witness,
            Self::ScopeDeclared(payload) => payload.witness,
            Self::ConstraintDeclared(payload) => payload.witness,
            Self::ContextCaptured(payload) => payload.witness,
            Self::ContextMutated(payload) => payload.witness,
            Self::ModelResponded(payload) => payload.witness,
            Self::ToolCalled(payload) => payload.witness,
            Self::ToolReturned(payload) => payload.witness,
            Self::DecisionRecorded(payload) => payload.witness,
            Self::ArtifactChanged(payload) => payload.witness,
            Self::ReportFiled(payload) => payload.witness,
            Self::ScoreAssigned(payload) => payload.witness,
            Self::SessionEnded(payload) => payload.witness,
            Self::AdminActed(_) | Self::Custom => None,
        }
    }

    fn check(&self) -> Result<(), String> {
        match self {
            Self::ContextCaptured(captured) => captured.check(),
            Self::ScopeDeclared(scope) => scope.check(),
            Self::ConstraintDeclared(constraint) => constraint.check(),
            Self::AdminActed(acted) => acted.check(),
            _ => Ok(()),
        }
    }
}

/// The JSON Schema of the payload of every known type, by the type's name, in the order of [`EventType::known`].
pub fn json_schemas() -> Vec<(&'static str, Schema)> {
    vec![
        ("session.started", schemars::schema_for!(SessionStarted)),
        ("intent.declared", schemars::schema_for!(IntentDeclared)),
        ("scope.declared", schemars::schema_for!(ScopeDeclared)),
        (
            "constraint.declared",
            schemars::schema_for!(ConstraintDeclared),
        ),
        ("context.captured", schemars::schema_for!(ContextCaptured)),
        ("context.mutated", schemars::schema_for!(ContextMutated)),
        ("model.responded", schemars::schema_for!(ModelResponded)),
        ("tool.called", schemars::schema_for!(ToolCalled)),
        ("tool.returned", schemars::schema_for!(ToolReturned)),
        ("decision.recorded", schemars::schema_for!(DecisionRecorded)),
        ("artifact.changed", schemars::schema_for!(ArtifactChanged)),
        ("report.filed", schemars::schema_for!(ReportFiled)),
        ("score.assigned", schemars::schema_for!(ScoreAssigned)),
        ("session.ended", schemars::schema_for!(SessionEnded)),
        ("admin.key_created", schemars::schema_for!(AdminActed)),
        ("admin.key_revoked", schemars::schema_for!(AdminActed)),
        ("admin.workspace_created", schemars::schema_for!(AdminActed)),
        ("admin.garbage_collected", schemars::schema_for!(AdminActed)),
        ("admin.backup_made", schemars::schema_for!(AdminActed)),
        ("admin.backup_restored", schemars::schema_for!(AdminActed)),
        ("admin.ledger_migrated", schemars::schema_for!(AdminActed)),
    ]
}

#[cfg(test)]
mod tests;
