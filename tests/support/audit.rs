//! An auditor that knows what was sent and acknowledged, and holds it against what the ledger now says.
//!
//! It believes nothing that it can compute: hashes, links and roots are made anew from the entries' bytes.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use remembrancer_schema::checkpoint::Checkpoint;
use remembrancer_schema::entry::{entry_hash, genesis};
use remembrancer_schema::merkle::{Frontier, leaf_hash};
use remembrancer_schema::receipt::ReceiptLine;
use remembrancer_schema::signing::PublicKey;
use remembrancer_schema::{Entry, EntryHash, Origin};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;

use super::journal::{Journal, Name};
use super::load::agent;

/// Most faults that are told; one is enough to fail.
const FAULTS_MAX: usize = 20;
/// Entries that are asked for at a time.
const PAGE_ITEMS: usize = 200;
/// Sessions of the recorder's own begin with this: nobody sent their events.
const RECORDERS_OWN: &str = "remembrancer.";

/// An entry as a reader gets it.
#[derive(Debug, Clone)]
pub(crate) struct Stored {
    pub(crate) index: u64,
    pub(crate) hash: EntryHash,
    /// The entry, byte for byte.
    pub(crate) bytes: String,
    /// The payload, byte for byte.
    pub(crate) data: Option<String>,
}

/// Follows a ledger from its first entry on. Asked again, it takes up where it stood; a new one reads everything anew.
pub(crate) struct Auditor {
    origin: Origin,
    key: PublicKey,
    tree: Frontier,
    /// Next sequence number and head of each session.
    sessions: HashMap<String, (u64, EntryHash)>,
    /// Where each event was found.
    found: HashMap<Name, ReceiptLine>,
    /// Entries that the recorder made itself: what it calls them.
    own: HashSet<Name>,
    /// Acknowledgements and checkpoints that were compared before.
    acknowledgements_compared: usize,
    cursors: HashMap<String, Cursor>,
    faults: Vec<String>,
}

/// How far a session was read.
#[derive(Default, Clone)]
struct Cursor {
    after: Option<String>,
    /// Entries behind `after` that were read already.
    behind: usize,
    /// Entries of the session that were read in all.
    read: u64,
}

impl Auditor {
    pub(crate) fn new(origin: Origin, key: PublicKey) -> Self {
        Self {
            origin,
            key,
            tree: Frontier::new(),
            sessions: HashMap::new(),
            found: HashMap::new(),
            own: HashSet::new(),
            acknowledgements_compared: 0,
            cursors: HashMap::new(),
            faults: Vec::new(),
        }
    }

    /// Entries that were read so far.
    pub(crate) fn entries(&self) -> u64 {
        self.tree.size()
    }

    /// Entries that the recorder made itself.
    pub(crate) fn own(&self) -> u64 {
        self.own.len() as u64
    }

    /// Different events of the writers that were found.
    pub(crate) fn events(&self) -> usize {
        self.found.len()
    }

    /// Reads what is new on a server that nobody writes to, and demands that the ledger is what the journal says.
    pub(crate) fn check(&mut self, url: &str, read_key: &str, journal: &mut Journal) {
        let reader = LedgerOverHttp {
            url,
            key: read_key,
            agent: agent(Duration::from_secs(60)),
        };
        let (stored, note) = reader.new_entries(&mut self.cursors);
        let faults = self.audit(stored, note.as_deref(), journal);
        assert!(
            faults.is_empty(),
            "the ledger is not what was acknowledged:\n{}",
            faults.join("\n")
        );
    }

    /// Takes the next entries and the newest checkpoint, and returns everything that does not hold.
    pub(crate) fn audit(
        &mut self,
        mut stored: Vec<Stored>,
        note: Option<&str>,
        journal: &mut Journal,
    ) -> Vec<String> {
        self.faults.append(&mut journal.faults);
        stored.sort_by_key(|stored| stored.index);
        for entry in &stored {
            self.take(entry, journal);
        }
        self.compare_checkpoint(note, journal);
        self.compare_acknowledgements(journal);
        self.faults.truncate(FAULTS_MAX);
        self.faults.clone()
    }

    fn take(&mut self, stored: &Stored, journal: &Journal) {
        let expected = self.tree.size();
        if stored.index < expected {
            return self.fault(format!("index {} stands twice", stored.index));
        }
        if stored.index > expected {
            self.fault(format!(
                "after index {expected} comes {}: entries are missing",
                stored.index
            ));
        }
        self.tree
            .push(leaf_hash(stored.bytes.as_bytes()), |_, _, _| {});
        for checkpoint in &journal.checkpoints {
            if checkpoint.size == self.tree.size() && checkpoint.root != self.tree.root() {
                self.fault(format!(
                    "a fork: the checkpoint of size {} was of another history",
                    checkpoint.size
                ));
            }
        }
        match Entry::from_bytes(stored.bytes.as_bytes()) {
            Ok(entry) => self.take_entry(&entry, stored, journal),
            Err(error) => self.fault(format!("index {}: {error}", stored.index)),
        }
    }

    fn take_entry(&mut self, entry: &Entry, stored: &Stored, journal: &Journal) {
        let index = stored.index;
        let hash = entry_hash(stored.bytes.as_bytes());
        if hash != stored.hash || entry.index != index || entry.origin != self.origin {
            self.fault(format!(
                "index {index} is not the entry that it is given as"
            ));
        }
        let session = entry.session.as_str();
        let (sequence, head) = self
            .sessions
            .get(session)
            .copied()
            .unwrap_or_else(|| (0, genesis(&self.origin, &entry.session)));
        if entry.sequence != sequence || entry.prev != head {
            self.fault(format!(
                "a fork or a gap: index {index} is entry {} of {session} after {}, not {sequence} after {head}",
                entry.sequence, entry.prev
            ));
        }
        self.sessions
            .insert(session.to_owned(), (entry.sequence + 1, hash));
        let name = Name {
            session: session.to_owned(),
            id: entry.event.as_str().to_owned(),
        };
        if session.starts_with(RECORDERS_OWN) {
            if !self.own.insert(name.clone()) {
                self.fault(format!("{name:?} stands once more at {index}"));
            }
            return;
        }
        match journal.sent.get(&name) {
            None => self.fault(format!("index {index}: nobody sent {name:?}")),
            Some(sent)
                if sent.kind != entry.kind.as_str() || Some(&sent.data) != stored.data.as_ref() =>
            {
                self.fault(format!("index {index}: {name:?} is not what was sent"));
            }
            Some(_) => {}
        }
        let place = ReceiptLine {
            index,
            session: entry.session.clone(),
            sequence: entry.sequence,
            hash,
        };
        if let Some(before) = self.found.insert(name.clone(), place) {
            self.fault(format!(
                "{name:?} stands at index {} and again at {index}",
                before.index
            ));
        }
    }

    fn compare_checkpoint(&mut self, note: Option<&str>, journal: &mut Journal) {
        let Some(note) = note else {
            if self.tree.size() > 0 {
                self.fault("there is no checkpoint".to_owned());
            }
            return;
        };
        match Checkpoint::verify(note, &self.key) {
            Ok(newest) => {
                if newest.origin != self.origin
                    || newest.size != self.tree.size()
                    || newest.root != self.tree.root()
                {
                    self.fault(format!(
                        "the newest checkpoint ({newest:?}) is not of the {} entries that are there",
                        self.tree.size()
                    ));
                }
                journal.checkpoints.push(newest);
            }
            Err(error) => self.fault(format!("the newest checkpoint: {error}")),
        }
        let longest = journal
            .checkpoints
            .iter()
            .map(|checkpoint| checkpoint.size)
            .max();
        if longest > Some(self.tree.size()) {
            self.fault(format!(
                "rolled back: {longest:?} entries were signed, {} are there",
                self.tree.size()
            ));
        }
    }

    fn compare_acknowledgements(&mut self, journal: &Journal) {
        for told in &journal.acknowledged[self.acknowledgements_compared..] {
            match self.found.get(&told.name) {
                Some(place) if *place == told.place => {}
                Some(place) => self.faults.push(format!(
                    "{:?} was acknowledged as {:?}, but is {place:?}",
                    told.name, told.place
                )),
                None => self.faults.push(format!(
                    "lost: {:?} was acknowledged as {:?}",
                    told.name, told.place
                )),
            }
        }
        self.acknowledgements_compared = journal.acknowledged.len();
    }

    fn fault(&mut self, fault: String) {
        if self.faults.len() < FAULTS_MAX {
            self.faults.push(fault);
        }
    }
}

/// A ledger as the HTTP API shows it.
struct LedgerOverHttp<'a> {
    url: &'a str,
    key: &'a str,
    agent: ureq::Agent,
}

#[derive(Deserialize)]
struct Page<T> {
    items: Vec<T>,
    next: Option<String>,
}

#[derive(Deserialize)]
struct Summary {
    id: String,
    entries: u64,
}

#[derive(Deserialize)]
struct EntryItem {
    index: u64,
    hash: EntryHash,
    entry: Box<RawValue>,
    data: Option<Box<RawValue>>,
}

impl LedgerOverHttp<'_> {
    /// Every entry that was not read before, and the newest checkpoint.
    fn new_entries(&self, cursors: &mut HashMap<String, Cursor>) -> (Vec<Stored>, Option<String>) {
        let mut stored = Vec::new();
        let mut after = None;
        loop {
            let page: Page<Summary> = self.page("sessions", after.as_deref());
            for session in page.items {
                let cursor = cursors.entry(session.id.clone()).or_default();
                if session.entries == cursor.read {
                    continue;
                }
                self.new_entries_of(&session.id, cursor, &mut stored);
                assert_eq!(session.entries, cursor.read, "entries of {}", session.id);
            }
            after = page.next;
            if after.is_none() {
                break;
            }
        }
        let (status, note) = self.get("checkpoint");
        (stored, (status == 200).then_some(note))
    }

    fn new_entries_of(&self, session: &str, cursor: &mut Cursor, stored: &mut Vec<Stored>) {
        loop {
            let page: Page<EntryItem> = self.page(
                &format!("sessions/{session}/entries"),
                cursor.after.as_deref(),
            );
            let count = page.items.len();
            cursor.read += (count - cursor.behind) as u64;
            stored.extend(
                page.items
                    .into_iter()
                    .skip(cursor.behind)
                    .map(|item| Stored {
                        index: item.index,
                        hash: item.hash,
                        bytes: item.entry.get().to_owned(),
                        data: item.data.map(|data| data.get().to_owned()),
                    }),
            );
            let Some(next) = page.next else {
                cursor.behind = count;
                return;
            };
            cursor.after = Some(next);
            cursor.behind = 0;
        }
    }

    fn page<T: DeserializeOwned>(&self, path: &str, after: Option<&str>) -> Page<T> {
        let after = after.map_or_else(String::new, |after| format!("&after={after}"));
        let (status, body) = self.get(&format!("{path}?limit={PAGE_ITEMS}{after}"));
        assert_eq!(status, 200, "{path}: {body}");
        serde_json::from_str(&body).unwrap_or_else(|error| panic!("{path}: {error}"))
    }

    fn get(&self, path: &str) -> (u16, String) {
        get(
            &self.agent,
            &format!("{}/v1/{path}", self.url),
            Some(self.key),
        )
    }
}

/// Gets an address, whatever its status.
pub(crate) fn get(agent: &ureq::Agent, url: &str, key: Option<&str>) -> (u16, String) {
    let mut request = agent.get(url);
    if let Some(key) = key {
        request = request.header("authorization", format!("Bearer {key}"));
    }
    let mut response = request
        .call()
        .unwrap_or_else(|error| panic!("{url}: {error}"));
    let status = response.status().as_u16();
    let mut body = String::new();
    std::io::Read::read_to_string(&mut response.body_mut().as_reader(), &mut body)
        .expect("the answer is text");
    (status, body)
}
