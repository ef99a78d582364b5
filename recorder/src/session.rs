//! A session as a list shows it: a row derived from its entries.

use remembrancer_schema::{EntryHash, EventType, SessionId};
use serde::Serialize;

use crate::error::LedgerError;

/// One session, as a list shows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, utoipa::ToSchema)]
pub struct SessionSummary {
    /// Number of the session within the ledger, from 1, in order of start. Safe in URLs.
    pub number: i64,
    /// Its id.
    #[schema(value_type = String)]
    pub id: SessionId,
    /// Its name for people.
    pub label: Option<String>,
    /// The agent of its first event.
    pub agent: Option<String>,
    /// The model: as `session.started` says, else that of the first response that names one.
    pub model: Option<String>,
    /// The session that started it.
    #[schema(value_type = Option<String>)]
    pub parent: Option<SessionId>,
    /// Time of the first event (client's or receipt's), RFC 3339.
    pub started: String,
    /// Receipt time of the last entry.
    pub last_received: String,
    /// Whether `session.ended` is recorded. Without it, the tail is open.
    pub sealed: bool,
    /// Number of entries.
    pub entries: u64,
    /// Number of `tool.called` events.
    pub actions: u64,
    /// Number of `context.captured` events.
    pub turns: u64,
    /// Hash of its last entry.
    #[schema(value_type = String)]
    pub head: EntryHash,
}

impl SessionSummary {
    /// Follows one more entry.
    pub(crate) fn advance(
        &mut self,
        kind: &EventType,
        model: Option<&str>,
        received: &str,
        head: EntryHash,
    ) {
        self.entries += 1;
        self.head = head;
        received.clone_into(&mut self.last_received);
        match kind {
            EventType::ToolCalled => self.actions += 1,
            EventType::ContextCaptured => self.turns += 1,
            EventType::SessionEnded => self.sealed = true,
            EventType::ModelResponded if self.model.is_none() => {
                self.model = model.map(ToOwned::to_owned);
            }
            _ => {}
        }
    }
}

/// One page of a list.
#[derive(Debug, Clone, Serialize, utoipa::ToSchema)]
pub struct Page<T> {
    /// The items.
    pub items: Vec<T>,
    /// Opaque; give it back to get what follows. `None` on the last page.
    pub next: Option<String>,
}

/// A session's row as stored, by column.
pub(crate) struct SessionColumns {
    pub(crate) number: i64,
    pub(crate) id: String,
    pub(crate) label: Option<String>,
    pub(crate) agent: Option<String>,
    pub(crate) model: Option<String>,
    pub(crate) parent: Option<String>,
    pub(crate) started: String,
    pub(crate) last_received: String,
    pub(crate) sealed: bool,
    pub(crate) entries: i64,
    pub(crate) actions: i64,
    pub(crate) turns: i64,
    pub(crate) head: Vec<u8>,
}

impl SessionColumns {
    /// Refuses what cannot be a session.
    pub(crate) fn check(self) -> Result<SessionSummary, LedgerError> {
        let id = self.id;
        let damaged =
            |what: &str| LedgerError::Damaged(format!("session {id:?} has a damaged {what}"));
        let count = |value: i64| u64::try_from(value).map_err(|_| damaged("count"));
        Ok(SessionSummary {
            number: self.number,
            label: self.label,
            agent: self.agent,
            model: self.model,
            parent: self
                .parent
                .map(|parent| parent.parse().map_err(|_| damaged("parent")))
                .transpose()?,
            started: self.started,
            last_received: self.last_received,
            sealed: self.sealed,
            entries: count(self.entries)?,
            actions: count(self.actions)?,
            turns: count(self.turns)?,
            head: EntryHash::try_from(self.head.as_slice()).map_err(|_| damaged("head"))?,
            id: id.parse().map_err(|_| damaged("id"))?,
        })
    }
}
