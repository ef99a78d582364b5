//! A session as a list shows it: a row derived from its entries.

use remembrancer_schema::{EntryHash, EventType, SessionId};
use serde::Serialize;
use sqlx::sqlite::SqliteRow;
use sqlx::{Row as _, SqliteConnection};

use crate::error::LedgerError;
use crate::tree::number;

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

/// Selects what [`from_row`] reads; a condition follows.
macro_rules! select_sessions {
    ($rest:literal) => {
        concat!(
            "SELECT no, id, label, agent, model, parent, started, last_received, sealed, entries, actions, turns, head \
             FROM sessions ",
            $rest
        )
    };
}
pub(crate) use select_sessions;

/// Reads a row of [`select_sessions`].
pub(crate) fn from_row(row: &SqliteRow) -> Result<SessionSummary, LedgerError> {
    let id: String = row.try_get("id")?;
    let head: Vec<u8> = row.try_get("head")?;
    let parent: Option<String> = row.try_get("parent")?;
    let damaged = |what: &str| LedgerError::Damaged(format!("session {id:?} has a damaged {what}"));
    Ok(SessionSummary {
        number: row.try_get("no")?,
        label: row.try_get("label")?,
        agent: row.try_get("agent")?,
        model: row.try_get("model")?,
        parent: parent
            .map(|parent| parent.parse().map_err(|_| damaged("parent")))
            .transpose()?,
        started: row.try_get("started")?,
        last_received: row.try_get("last_received")?,
        sealed: row.try_get("sealed")?,
        entries: count(row, "entries")?,
        actions: count(row, "actions")?,
        turns: count(row, "turns")?,
        head: EntryHash::try_from(head.as_slice()).map_err(|_| damaged("head"))?,
        id: id.parse().map_err(|_| damaged("id"))?,
    })
}

/// Reads a column that counts.
pub(crate) fn count(row: &SqliteRow, column: &str) -> Result<u64, LedgerError> {
    let value: i64 = row.try_get(column)?;
    u64::try_from(value).map_err(|_| LedgerError::Damaged(format!("column {column} holds {value}")))
}

/// The session by its id.
pub(crate) async fn by_id(
    connection: &mut SqliteConnection,
    id: &SessionId,
) -> Result<Option<SessionSummary>, LedgerError> {
    sqlx::query(select_sessions!("WHERE id = ?"))
        .bind(id.as_str())
        .fetch_optional(connection)
        .await?
        .as_ref()
        .map(from_row)
        .transpose()
}

/// Writes a session's row, new or changed.
pub(crate) async fn store(
    connection: &mut SqliteConnection,
    session: &SessionSummary,
) -> Result<(), LedgerError> {
    sqlx::query(
        "INSERT INTO sessions \
         (no, id, label, agent, model, parent, started, last_received, sealed, entries, actions, turns, head) \
         VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) \
         ON CONFLICT (no) DO UPDATE SET model = excluded.model, last_received = excluded.last_received, \
         sealed = excluded.sealed, entries = excluded.entries, actions = excluded.actions, turns = excluded.turns, \
         head = excluded.head",
    )
    .bind(session.number)
    .bind(session.id.as_str())
    .bind(&session.label)
    .bind(&session.agent)
    .bind(&session.model)
    .bind(session.parent.as_ref().map(SessionId::as_str))
    .bind(&session.started)
    .bind(&session.last_received)
    .bind(session.sealed)
    .bind(number(session.entries)?)
    .bind(number(session.actions)?)
    .bind(number(session.turns)?)
    .bind(session.head.as_bytes().as_slice())
    .execute(connection)
    .await?;
    Ok(())
}
