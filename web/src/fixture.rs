//! A ledger for tests: two sessions, a sub-agent, two mutations, every presence state, and a record whose proofs hold.
//!
//! Every text that an agent could have written goes through a function, so that the same pages can be shown over hostile text.

use std::collections::HashMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use remembrancer_recorder::{LedgerError, Page, SessionSummary};
use remembrancer_replay::{Analysis, SessionRecord};
use remembrancer_schema::checkpoint::Checkpoint;
use remembrancer_schema::merkle::{Frontier, inclusion_ranges};
use remembrancer_schema::signing::{LedgerKey, PublicKey};
use remembrancer_schema::{Origin, SessionId, TreeHash};

use crate::source::{Answer, Source};

mod analysis;
mod record;
mod turns;

use analysis::{analysis, small};
use record::{record, summary};

/// The key that may read the fixture.
pub(crate) const READ_KEY: &str = "read-key-of-the-fixture";
const READ_KEY_ID: &str = "id-of-the-key";
const TURNS: u32 = 14;
/// Actions that the response to each turn carries.
const ACTIONS: [usize; TURNS as usize] = [2, 3, 1, 2, 4, 1, 3, 2, 0, 3, 2, 1, 2, 1];
/// The turn whose action breaks the limit.
const BREAKING_TURN: u32 = 12;

/// A source over hand-made sessions.
pub(crate) struct Fixture {
    origin: Origin,
    key: PublicKey,
    checkpoint: String,
    leaves: Vec<TreeHash>,
    sessions: Vec<SessionSummary>,
    /// Open to change, so that tests can damage what is stored.
    pub(crate) records: Mutex<HashMap<SessionId, SessionRecord>>,
    analyses: HashMap<SessionId, Analysis>,
    /// Whether the key was revoked.
    pub(crate) key_is_revoked: AtomicBool,
}

impl Fixture {
    /// The fixture with every recorded text as `spoil` makes it.
    pub(crate) fn new(spoil: fn(&str) -> String) -> Self {
        let origin: Origin = "ledger.example/fixture".parse().expect("an origin");
        let key = LedgerKey::from_seed(&[7; 32]);
        let mut leaves = Vec::new();
        let mut sessions = Vec::new();
        let mut records = HashMap::new();
        let mut analyses = HashMap::new();
        let names = [
            ("run-a", "support run, plain summaries"),
            ("run-a-sub", "sub-agent: look up the ledger"),
            ("run-b", "support run, governed"),
        ];
        for (position, (id, label)) in names.into_iter().enumerate() {
            let id: SessionId = id.parse().expect("a session id");
            let record = record(&origin, &id, &mut leaves, position != 2, spoil);
            let analysis = match position {
                0 => analysis(&id, label, false, spoil),
                1 => small(&id, label, spoil),
                _ => analysis(&id, label, true, spoil),
            };
            sessions.push(summary(position, &id, label, &record, &analysis, spoil));
            records.insert(id.clone(), record);
            analyses.insert(id, analysis);
        }
        let root = root_of(&leaves);
        let checkpoint = Checkpoint {
            origin: origin.clone(),
            size: leaves.len() as u64,
            root,
        }
        .sign(&key);
        sessions.reverse();
        Self {
            origin,
            key: key.public(),
            checkpoint,
            leaves,
            sessions,
            records: Mutex::new(records),
            analyses,
            key_is_revoked: AtomicBool::new(false),
        }
    }

    /// The analysis of the first session.
    pub(crate) fn first(&self) -> &Analysis {
        &self.analyses[&"run-a".parse::<SessionId>().expect("a session id")]
    }
}

impl Source for Fixture {
    fn origin(&self) -> &Origin {
        &self.origin
    }

    fn public_key(&self) -> &PublicKey {
        &self.key
    }

    fn sessions<'a>(&'a self, after: Option<&'a str>, _: u32) -> Answer<'a, Page<SessionSummary>> {
        let (items, next) = match after {
            None => (self.sessions[..2].to_vec(), Some("page 2&\"".to_owned())),
            Some("page 2&\"") => (self.sessions[2..].to_vec(), None),
            Some(other) => {
                let other = other.to_owned();
                return Box::pin(async move { Err(LedgerError::BadCursor(other).into()) });
            }
        };
        Box::pin(async move { Ok(Page { items, next }) })
    }

    fn session(&self, number: i64) -> Answer<'_, Option<SessionSummary>> {
        let found = self
            .sessions
            .iter()
            .find(|session| session.number == number)
            .cloned();
        Box::pin(async move { Ok(found) })
    }

    fn session_named<'a>(&'a self, id: &'a SessionId) -> Answer<'a, Option<SessionSummary>> {
        let found = self
            .sessions
            .iter()
            .find(|session| session.id == *id)
            .cloned();
        Box::pin(async move { Ok(found) })
    }

    fn children<'a>(&'a self, id: &'a SessionId) -> Answer<'a, Vec<SessionSummary>> {
        let found = self
            .sessions
            .iter()
            .filter(|session| session.parent.as_ref() == Some(id))
            .cloned()
            .collect();
        Box::pin(async move { Ok(found) })
    }

    fn record<'a>(&'a self, id: &'a SessionId) -> Answer<'a, SessionRecord> {
        let record = self
            .records
            .lock()
            .expect("no test panics while it holds the lock")
            .get(id)
            .cloned();
        // A record that a test took away is one that cannot be read.
        Box::pin(async move {
            record.ok_or_else(|| {
                let reason = "its bytes are <b>no</b> entry".to_owned();
                LedgerError::Corrupt { index: 4, reason }.into()
            })
        })
    }

    fn checkpoint(&self) -> Answer<'_, Option<String>> {
        Box::pin(async move { Ok(Some(self.checkpoint.clone())) })
    }

    fn inclusion_proof(&self, index: u64, size: u64) -> Answer<'_, Vec<TreeHash>> {
        let proof = inclusion_ranges(index, size)
            .expect("within the tree")
            .into_iter()
            .map(|range| {
                let range = usize::try_from(range.start).expect("small")
                    ..usize::try_from(range.end).expect("small");
                root_of(&self.leaves[range])
            })
            .collect();
        Box::pin(async move { Ok(proof) })
    }

    fn reading_key<'a>(&'a self, key: &'a str) -> Answer<'a, Option<String>> {
        Box::pin(async move { Ok((key == READ_KEY).then(|| READ_KEY_ID.to_owned())) })
    }

    fn is_reading_key<'a>(&'a self, id: &'a str) -> Answer<'a, bool> {
        Box::pin(
            async move { Ok(id == READ_KEY_ID && !self.key_is_revoked.load(Ordering::SeqCst)) },
        )
    }

    fn analyse(&self, record: &SessionRecord) -> Analysis {
        self.analyses[&record.session].clone()
    }
}

fn root_of(leaves: &[TreeHash]) -> TreeHash {
    let mut frontier = Frontier::new();
    for leaf in leaves {
        frontier.push(*leaf, |_, _, _| {});
    }
    frontier.root()
}
