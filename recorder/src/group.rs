//! One group on its way into the ledger: decides each event against what is stored and what stands before it, and holds
//! what is to be written.

use std::collections::{HashMap, HashSet};

use remembrancer_schema::entry::{ENTRY_VERSION, entry_hash, genesis};
use remembrancer_schema::limits::ENTRY_BYTES_MAX;
use remembrancer_schema::merkle::leaf_hash;
use remembrancer_schema::{ContentHash, Entry, EntryHash, EventId, EventType, Origin, SessionId};

use crate::error::LedgerError;
use crate::garbage;
use crate::incoming::{BlobTaken, Outcome, OwnedEvent, Rejection, SaltedEvent, UploadedBlob};
use crate::session::SessionSummary;
use crate::store::{CondemnedBlob, EntryRow, GroupRows, NewBlob, NewEntry, Writer};
use crate::tree::Edge;

/// A group in the making. Reads before it decides, once for all its requests; deciding then waits for nothing.
pub(crate) struct Group<'a> {
    origin: &'a Origin,
    received: String,
    /// The tree's edge after this group.
    edge: Edge,
    /// The sessions that its events name, as they stand after what was decided so far.
    sessions: HashMap<&'a SessionId, Touched>,
    /// Events stored earlier that have an id which this group brings.
    stored: HashMap<i64, HashMap<String, Known>>,
    /// Events that this group records.
    recorded: HashMap<(i64, &'a EventId), Recorded<'a>>,
    /// Blobs that are stored or are going to be.
    blobs: HashSet<ContentHash>,
    /// Uploaded blobs that the garbage collection is removing.
    condemned: HashMap<ContentHash, CondemnedBlob>,
    next_session: i64,
    rows: GroupRows,
    /// Entries that were not taken yet for writing.
    entries: Vec<NewEntry>,
}

/// An event that the group records, for those that come again within it.
struct Recorded<'a> {
    index: u64,
    sequence: u64,
    hash: EntryHash,
    event: &'a OwnedEvent,
}

struct Touched {
    session: SessionSummary,
    is_changed: bool,
}

impl<'a> Group<'a> {
    pub(crate) fn new(origin: &'a Origin, edge: Edge, received: String) -> Self {
        Self {
            origin,
            received,
            edge,
            sessions: HashMap::new(),
            stored: HashMap::new(),
            recorded: HashMap::new(),
            blobs: HashSet::new(),
            condemned: HashMap::new(),
            next_session: 0,
            rows: GroupRows::default(),
            entries: Vec::new(),
        }
    }

    /// Reads what the decisions need: the sessions (from `known`, where they stand there), the events that already have one
    /// of the ids, and which of the blobs are there.
    pub(crate) async fn look_up(
        &mut self,
        writer: &mut dyn Writer,
        known: &HashMap<SessionId, SessionSummary>,
        events: impl Iterator<Item = &'a SaltedEvent> + Clone,
        uploads: impl Iterator<Item = &'a ContentHash> + Clone,
    ) -> Result<(), LedgerError> {
        let ids: HashSet<&'a SessionId> =
            events.clone().map(|salted| &salted.event.session).collect();
        let mut unknown = Vec::new();
        for id in &ids {
            match known.get(*id) {
                Some(session) => self.touch(id, session.clone()),
                None => unknown.push(*id),
            }
        }
        if !unknown.is_empty() {
            for session in writer.look_up_sessions(&unknown).await? {
                if let Some(id) = ids.get(&session.id) {
                    self.touch(id, session);
                }
            }
            self.next_session = writer.last_session_number().await? + 1;
        }
        let wanted: Vec<(i64, &str)> = events
            .clone()
            .filter_map(|SaltedEvent { event, .. }| {
                let touched = self.sessions.get(&event.session)?;
                Some((touched.session.number, event.id.as_str()))
            })
            .collect();
        for row in writer.look_up_events(&wanted).await? {
            let events = self.stored.entry(row.session_no).or_default();
            events.insert(row.event.clone(), Known::from_row(row)?);
        }
        let named: HashSet<ContentHash> = events
            .flat_map(|salted| &salted.event.blobs)
            .chain(uploads.clone())
            .copied()
            .collect();
        if !named.is_empty() {
            let named: Vec<ContentHash> = named.into_iter().collect();
            self.blobs.extend(writer.look_up_blobs(&named).await?);
        }
        let uploads: Vec<ContentHash> = uploads.copied().collect();
        if !uploads.is_empty() {
            let condemned = writer.reads().condemned_blobs(Some(&uploads)).await?;
            self.condemned
                .extend(condemned.into_iter().map(|blob| (blob.hash, blob)));
        }
        Ok(())
    }

    fn touch(&mut self, id: &'a SessionId, session: SessionSummary) {
        let touched = Touched {
            session,
            is_changed: false,
        };
        self.sessions.insert(id, touched);
    }

    /// Decides one event and, if it is recorded, links it.
    pub(crate) fn decide(&mut self, salted: &'a SaltedEvent) -> Outcome {
        if salted.event.is_reserved() {
            return Outcome::Rejected(Rejection::Reserved);
        }
        self.place(salted)
    }

    /// Records an admin act, which stops waiting then; or the start of its session.
    pub(crate) fn take_act(&mut self, act: &'a SaltedEvent) {
        match self.place(act) {
            Outcome::Recorded { .. } | Outcome::Duplicate { .. } => {
                if act.event.kind != EventType::SessionStarted {
                    self.rows.acts.push(act.event.id.to_string());
                }
            }
            Outcome::Rejected(rejection) => {
                tracing::error!(%rejection, "an admin act cannot become an entry");
            }
        }
    }

    fn place(&mut self, salted: &'a SaltedEvent) -> Outcome {
        let event = &salted.event;
        let starts = event.kind == EventType::SessionStarted;
        let refused = match self.sessions.get(&event.session) {
            Some(touched) => {
                let session = &touched.session;
                if let Some(outcome) = self.known(session.number, event) {
                    return outcome;
                }
                if starts {
                    Some(Rejection::SessionAlreadyStarted(event.session.clone()))
                } else if session.sealed {
                    Some(Rejection::SessionEnded(event.session.clone()))
                } else {
                    None
                }
            }
            None if !starts => Some(Rejection::UnknownSession(event.session.clone())),
            None => None,
        };
        let missing = || event.blobs.iter().find(|blob| !self.blobs.contains(*blob));
        if let Some(rejection) = refused.or_else(|| missing().copied().map(Rejection::BlobMissing))
        {
            return Outcome::Rejected(rejection);
        }
        self.record(salted)
    }

    /// Takes a blob that was uploaded. If its bytes are not among its own, they lie in the blob store.
    pub(crate) fn take_blob(&mut self, blob: &UploadedBlob) -> BlobTaken {
        // An object that is about to be removed cannot be counted on: it has to be written again once it is gone. A mark
        // that is older than any collection can be is taken away for that.
        if blob.inline.is_none()
            && let Some(condemned) = self.condemned.get(&blob.hash)
        {
            if garbage::is_given_up(&condemned.since, &self.received) {
                self.rows.pardoned_blobs.push(condemned.clone());
            }
            return BlobTaken::Condemned;
        }
        let is_new = self.blobs.insert(blob.hash);
        if !self.rows.blobs.iter().any(|taken| taken.hash == blob.hash) {
            self.rows.blobs.push(NewBlob {
                hash: blob.hash,
                size: blob.size,
                inline: blob.inline.clone(),
                stored: self.received.clone(),
            });
        }
        if is_new {
            BlobTaken::New
        } else {
            BlobTaken::Known
        }
    }

    /// What is to be written, and the edge after it.
    pub(crate) fn finish(mut self) -> (GroupRows, Edge) {
        let changed = self
            .sessions
            .into_values()
            .filter(|touched| touched.is_changed);
        self.rows.sessions = changed.map(|touched| touched.session).collect();
        self.rows
            .sessions
            .sort_unstable_by_key(|session| session.number);
        (self.rows, self.edge)
    }

    /// How many entries wait to be written.
    pub(crate) fn waiting(&self) -> usize {
        self.entries.len()
    }

    /// Takes the entries that wait to be written.
    pub(crate) fn take_entries(&mut self) -> Vec<NewEntry> {
        std::mem::take(&mut self.entries)
    }

    /// The answer to an event whose id the session has already.
    fn known(&self, session_no: i64, event: &OwnedEvent) -> Option<Outcome> {
        let stored = self
            .stored
            .get(&session_no)
            .and_then(|events| events.get(event.id.as_str()));
        let (index, sequence, hash, same) = if let Some(known) = stored {
            let same = known.is(event);
            (known.index, known.entry.sequence, known.hash, same)
        } else {
            let known = self.recorded.get(&(session_no, &event.id))?;
            let same = known.event.is_same(event);
            (known.index, known.sequence, known.hash, same)
        };
        Some(if same {
            Outcome::Duplicate {
                index,
                sequence,
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

    fn new_session(&self, event: &OwnedEvent) -> SessionSummary {
        SessionSummary {
            number: self.next_session,
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
        }
    }

    /// Gives the event its place: index, sequence number, link; the entry's bytes, hash and leaf follow from them.
    fn record(&mut self, salted: &'a SaltedEvent) -> Outcome {
        let event = &salted.event;
        let is_new = !self.sessions.contains_key(&event.session);
        if is_new {
            let session = self.new_session(event);
            self.touch(&event.session, session);
        }
        let Some(touched) = self.sessions.get_mut(&event.session) else {
            unreachable!("the session was put there above");
        };
        let session = &mut touched.session;
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
            if is_new {
                self.sessions.remove(&event.session);
            }
            return Outcome::Rejected(Rejection::EntryTooLarge(bytes.len()));
        }
        let hash = entry_hash(&bytes);
        let leaf = leaf_hash(&bytes);
        let (index, sequence) = (entry.index, entry.sequence);
        session.advance(
            &event.kind,
            event.facts.model.as_deref(),
            &self.received,
            hash,
        );
        touched.is_changed = true;
        let session_no = session.number;
        self.next_session += i64::from(is_new);
        self.edge.push(leaf, &mut self.rows.tiles);
        let recorded = Recorded {
            index,
            sequence,
            hash,
            event,
        };
        self.recorded.insert((session_no, &event.id), recorded);
        self.entries.push(NewEntry {
            index,
            session_no,
            sequence,
            event: event.id.to_string(),
            bytes,
            hash,
            leaf,
            salt: *salted.salt.as_bytes(),
            data: event.data.clone(),
        });
        Outcome::Recorded {
            index,
            sequence,
            hash,
        }
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

impl Known {
    fn is(&self, event: &OwnedEvent) -> bool {
        let entry = &self.entry;
        // An erased payload cannot be compared any more; then the envelope alone decides.
        entry.kind == event.kind
            && entry.agent == event.agent
            && entry.time == event.time
            && entry.blobs == event.blobs
            && self
                .data
                .as_ref()
                .is_none_or(|data| data == &event.data[..])
    }

    fn from_row(row: EntryRow) -> Result<Self, LedgerError> {
        let index = u64::try_from(row.index)
            .map_err(|_| LedgerError::Damaged(format!("an entry has the index {}", row.index)))?;
        let corrupt = |reason: String| LedgerError::Corrupt { index, reason };
        Ok(Self {
            index,
            hash: EntryHash::try_from(row.hash.as_slice())
                .map_err(|error| corrupt(error.to_string()))?,
            entry: Entry::from_bytes(&row.bytes).map_err(|error| corrupt(error.to_string()))?,
            data: row.data,
        })
    }
}
