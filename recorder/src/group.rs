//! One group on its way into the ledger: decides each event against what is stored and what stands before it, and holds
//! what is to be written.

use std::collections::{HashMap, HashSet};

use remembrancer_schema::entry::{ENTRY_VERSION, entry_hash, genesis};
use remembrancer_schema::limits::ENTRY_BYTES_MAX;
use remembrancer_schema::merkle::leaf_hash;
use remembrancer_schema::{ContentHash, Entry, EntryHash, EventId, EventType, Origin, SessionId};
use sqlx::sqlite::SqliteRow;
use sqlx::{Row as _, SqliteConnection};

use crate::error::LedgerError;
use crate::incoming::{Outcome, OwnedEvent, Rejection, SaltedEvent};
use crate::session::{self, SessionSummary};
use crate::tree::{Edge, FullTile};

use rows::Row;
pub(crate) use rows::store_checkpoint;

/// A group in the making.
pub(crate) struct Group<'a> {
    origin: &'a Origin,
    /// Sessions as of the last commit.
    committed: &'a HashMap<SessionId, SessionSummary>,
    /// Sessions that were read from the database or changed by this group.
    pub(crate) changed: HashMap<SessionId, SessionSummary>,
    /// The tree's edge after this group.
    pub(crate) edge: Edge,
    received: String,
    /// Events stored earlier that have an id which this group brings.
    stored: HashMap<(i64, String), Known>,
    rows: Vec<Row>,
    /// Position in `rows` of each event that this group records.
    recorded: HashMap<(i64, EventId), usize>,
    tiles: Vec<FullTile>,
    blobs: HashMap<ContentHash, bool>,
    next_session: Option<i64>,
}

impl<'a> Group<'a> {
    pub(crate) fn new(
        origin: &'a Origin,
        committed: &'a HashMap<SessionId, SessionSummary>,
        edge: Edge,
        received: String,
    ) -> Self {
        Self {
            origin,
            committed,
            changed: HashMap::new(),
            edge,
            received,
            stored: HashMap::new(),
            rows: Vec::new(),
            recorded: HashMap::new(),
            tiles: Vec::new(),
            blobs: HashMap::new(),
            next_session: None,
        }
    }

    /// Whether there are entries to be written.
    pub(crate) fn has_entries(&self) -> bool {
        !self.rows.is_empty()
    }

    /// Reads what the decisions need: the sessions, and the events that already have one of the ids.
    pub(crate) async fn look_up(
        &mut self,
        connection: &mut SqliteConnection,
        events: impl Iterator<Item = &'_ SaltedEvent>,
    ) -> Result<(), LedgerError> {
        let mut wanted: Vec<(i64, &str)> = Vec::new();
        let mut absent: HashSet<&SessionId> = HashSet::new();
        for SaltedEvent { event, .. } in events {
            if self.session(&event.session).is_none() && !absent.contains(&event.session) {
                match session::by_id(connection, &event.session).await? {
                    Some(session) => {
                        self.changed.insert(event.session.clone(), session);
                    }
                    None => {
                        absent.insert(&event.session);
                    }
                }
            }
            if let Some(session) = self.session(&event.session) {
                wanted.push((session.number, event.id.as_str()));
            }
        }
        if wanted.is_empty() {
            return Ok(());
        }
        // The pairs go in as one JSON parameter: one statement text for every number of them.
        let pairs = serde_json::to_string(&wanted)
            .map_err(|error| LedgerError::Damaged(error.to_string()))?;
        let rows = sqlx::query(
            "SELECT e.idx, e.session_no, e.event, e.bytes, e.hash, p.data \
             FROM json_each(?) AS wanted \
             CROSS JOIN entries AS e ON e.session_no = wanted.value ->> 0 AND e.event = wanted.value ->> 1 \
             LEFT JOIN payloads AS p ON p.idx = e.idx",
        )
        .bind(pairs)
        .fetch_all(connection)
        .await?;
        for row in &rows {
            let key = (row.try_get("session_no")?, row.try_get("event")?);
            self.stored.insert(key, Known::from_row(row)?);
        }
        Ok(())
    }

    fn session(&self, id: &SessionId) -> Option<&SessionSummary> {
        self.changed.get(id).or_else(|| self.committed.get(id))
    }

    /// Decides one event and, if it is recorded, links it.
    pub(crate) async fn decide(
        &mut self,
        connection: &mut SqliteConnection,
        salted: &SaltedEvent,
    ) -> Result<Outcome, LedgerError> {
        let event = &salted.event;
        let session = self.session(&event.session).cloned();
        if let Some(session) = &session
            && let Some(outcome) = self.known(session.number, event)
        {
            return Ok(outcome);
        }
        let starts = event.kind == EventType::SessionStarted;
        let name = || event.session.clone();
        match &session {
            None if !starts => return Ok(Outcome::Rejected(Rejection::UnknownSession(name()))),
            Some(_) if starts => {
                return Ok(Outcome::Rejected(Rejection::SessionAlreadyStarted(name())));
            }
            Some(session) if session.sealed => {
                return Ok(Outcome::Rejected(Rejection::SessionEnded(name())));
            }
            _ => {}
        }
        for blob in &event.blobs {
            if !self.has_blob(connection, blob).await? {
                return Ok(Outcome::Rejected(Rejection::BlobMissing(*blob)));
            }
        }
        let session = match session {
            Some(session) => session,
            None => self.new_session(connection, event).await?,
        };
        Ok(self.record(session, salted))
    }

    /// The answer to an event whose id the session has already.
    fn known(&self, session_no: i64, event: &OwnedEvent) -> Option<Outcome> {
        let (index, hash, entry, data) =
            if let Some(known) = self.stored.get(&(session_no, event.id.as_str().to_owned())) {
                (known.index, known.hash, &known.entry, known.data.as_deref())
            } else {
                let at = *self.recorded.get(&(session_no, event.id.clone()))?;
                let row = &self.rows[at];
                (row.entry.index, row.hash, &row.entry, Some(&row.data[..]))
            };
        // An erased payload cannot be compared any more; then the envelope alone decides.
        let same = entry.kind == event.kind
            && entry.agent == event.agent
            && entry.time == event.time
            && entry.blobs == event.blobs
            && data.is_none_or(|data| data == &event.data[..]);
        Some(if same {
            Outcome::Duplicate {
                index,
                sequence: entry.sequence,
                hash,
            }
        } else {
            Outcome::Rejected(Rejection::IdConflict {
                id: event.id.clone(),
                session: event.session.clone(),
                index,
            })
        })
    }

    async fn new_session(
        &mut self,
        connection: &mut SqliteConnection,
        event: &OwnedEvent,
    ) -> Result<SessionSummary, LedgerError> {
        let number = match self.next_session {
            Some(number) => number,
            None => {
                sqlx::query_scalar("SELECT coalesce(max(no), 0) + 1 FROM sessions")
                    .fetch_one(connection)
                    .await?
            }
        };
        self.next_session = Some(number);
        Ok(SessionSummary {
            number,
            id: event.session.clone(),
            label: event.facts.label.clone(),
            agent: event.agent.as_ref().map(ToString::to_string),
            model: event.facts.model.clone(),
            parent: event.facts.parent.clone(),
            started: event.time.clone().unwrap_or_else(|| self.received.clone()),
            last_received: self.received.clone(),
            sealed: false,
            entries: 0,
            actions: 0,
            turns: 0,
            head: genesis(self.origin, &event.session),
        })
    }

    /// Gives the event its place: index, sequence number, link; the entry's bytes, hash and leaf follow from them.
    fn record(&mut self, mut session: SessionSummary, salted: &SaltedEvent) -> Outcome {
        let event = &salted.event;
        let entry = Entry {
            agent: event.agent.clone(),
            blobs: event.blobs.clone(),
            commitment: salted.commitment,
            event: event.id.clone(),
            index: self.edge.size(),
            origin: self.origin.clone(),
            prev: session.head,
            received: self.received.clone(),
            sequence: session.entries,
            session: event.session.clone(),
            time: event.time.clone(),
            kind: event.kind.clone(),
            v: ENTRY_VERSION,
        };
        let bytes = entry.to_bytes();
        if bytes.len() > ENTRY_BYTES_MAX {
            return Outcome::Rejected(Rejection::EntryTooLarge(bytes.len()));
        }
        let hash = entry_hash(&bytes);
        let leaf = leaf_hash(&bytes);
        let (index, sequence) = (entry.index, entry.sequence);
        self.edge.push(leaf, &mut self.tiles);
        session.advance(
            &event.kind,
            event.facts.model.as_deref(),
            &self.received,
            hash,
        );
        self.next_session = match self.next_session {
            Some(next) if next == session.number => Some(next + 1),
            next => next,
        };
        self.recorded
            .insert((session.number, event.id.clone()), self.rows.len());
        self.rows.push(Row {
            session_no: session.number,
            entry,
            bytes,
            hash,
            leaf,
            salt: *salted.salt.as_bytes(),
            data: event.data.clone(),
        });
        self.changed.insert(event.session.clone(), session);
        Outcome::Recorded {
            index,
            sequence,
            hash,
        }
    }

    async fn has_blob(
        &mut self,
        connection: &mut SqliteConnection,
        hash: &ContentHash,
    ) -> Result<bool, LedgerError> {
        if let Some(known) = self.blobs.get(hash) {
            return Ok(*known);
        }
        let known = sqlx::query_scalar::<_, i64>("SELECT 1 FROM blobs WHERE hash = ?")
            .bind(hash.as_bytes().as_slice())
            .fetch_optional(connection)
            .await?
            .is_some();
        self.blobs.insert(*hash, known);
        Ok(known)
    }

    /// Stores a blob; false if it is stored already.
    pub(crate) async fn store_blob(
        &mut self,
        connection: &mut SqliteConnection,
        hash: &ContentHash,
        bytes: &[u8],
    ) -> Result<bool, LedgerError> {
        let done = sqlx::query(
            "INSERT INTO blobs (hash, bytes) VALUES (?, ?) ON CONFLICT (hash) DO NOTHING",
        )
        .bind(hash.as_bytes().as_slice())
        .bind(bytes)
        .execute(connection)
        .await?;
        self.blobs.insert(*hash, true);
        Ok(done.rows_affected() == 1)
    }
}

/// An event that is stored already.
struct Known {
    index: u64,
    hash: EntryHash,
    entry: Entry,
    /// Absent after redaction.
    data: Option<Vec<u8>>,
}

mod rows;

impl Known {
    fn from_row(row: &SqliteRow) -> Result<Self, LedgerError> {
        let index = session::count(row, "idx")?;
        let corrupt = |reason: String| LedgerError::Corrupt { index, reason };
        let bytes: Vec<u8> = row.try_get("bytes")?;
        let hash: Vec<u8> = row.try_get("hash")?;
        Ok(Self {
            index,
            hash: EntryHash::try_from(hash.as_slice())
                .map_err(|error| corrupt(error.to_string()))?,
            entry: Entry::from_bytes(&bytes).map_err(|error| corrupt(error.to_string()))?,
            data: row.try_get("data")?,
        })
    }
}
