//! Groups by hand: what a store is given, without the ledger that decides it.

use bytes::Bytes;
use remembrancer_schema::entry::{ENTRY_VERSION, entry_hash};
use remembrancer_schema::merkle::leaf_hash;
use remembrancer_schema::{Commitment, ContentHash, Entry, EntryHash, EventType, TreeHash};

use crate::session::SessionSummary;
use crate::store::{GroupRows, NewBlob, NewCheckpoint, NewEntry, Store, Writer};
use crate::tree::FullTile;

/// A whole group.
pub(crate) struct TestGroup {
    pub(crate) entries: Vec<NewEntry>,
    pub(crate) rest: GroupRows,
}

impl TestGroup {
    /// Writes it as decided on a size.
    pub(crate) async fn write(
        &self,
        writer: &mut dyn Writer,
        old_size: u64,
    ) -> crate::store::Result<()> {
        writer.write_entries(copies(&self.entries)).await?;
        writer.write(old_size, &self.rest).await
    }

    pub(super) fn set_size(&mut self, size: u64) {
        self.rest.checkpoint.as_mut().expect("there").size = size;
    }
}

fn copies(entries: &[NewEntry]) -> Vec<NewEntry> {
    let copy = |entry: &NewEntry| NewEntry {
        index: entry.index,
        session_no: entry.session_no,
        sequence: entry.sequence,
        event: entry.event.clone(),
        bytes: entry.bytes.clone(),
        hash: entry.hash,
        leaf: entry.leaf,
        salt: entry.salt,
        data: entry.data.clone(),
    };
    entries.iter().map(copy).collect()
}

/// A hash that is told from others by one byte.
pub(super) fn root(byte: u8) -> TreeHash {
    TreeHash::from_bytes([byte; 32])
}

/// An entry with a payload of `data`; its session's id is its number.
pub(super) fn entry(index: u64, session_no: i64, sequence: u64, data: &str) -> NewEntry {
    let entry = Entry {
        agent: None,
        blobs: Vec::new(),
        commitment: Commitment::from_bytes([7; 32]),
        event: format!("e{sequence}").parse().expect("an id"),
        index,
        origin: "example.org/test".parse().expect("an origin"),
        prev: EntryHash::from_bytes([0; 32]),
        received: "2026-01-02T03:04:05.678Z".to_owned(),
        sequence,
        session: format!("s{session_no}").parse().expect("an id"),
        time: None,
        kind: EventType::SessionStarted,
        v: ENTRY_VERSION,
    };
    let bytes = entry.to_bytes();
    NewEntry {
        index,
        session_no,
        sequence,
        event: entry.event.to_string(),
        hash: entry_hash(&bytes),
        leaf: leaf_hash(&bytes),
        bytes,
        salt: [u8::try_from(index % 251).expect("fits"); 32],
        data: Bytes::copy_from_slice(data.as_bytes()),
    }
}

/// A session as it stands after so many entries.
pub(super) fn session(number: i64, entries: u64) -> SessionSummary {
    SessionSummary {
        number,
        id: format!("s{number}").parse().expect("an id"),
        label: Some(format!("label {}", number % 2)),
        agent: Some("tester".to_owned()),
        model: None,
        parent: (number > 1).then(|| "s1".parse().expect("an id")),
        started: "2026-01-02T03:04:05Z".to_owned(),
        last_received: format!("2026-01-02T03:04:{entries:02}Z"),
        sealed: entries > 2,
        entries,
        actions: 1,
        turns: 2,
        head: EntryHash::from_bytes([number.to_le_bytes()[0]; 32]),
    }
}

/// Entries `from..to` of session 1, its row, and the checkpoint of the new size with a root of `byte`.
pub(crate) fn group(from: u64, to: u64, byte: u8) -> TestGroup {
    TestGroup {
        entries: (from..to)
            .map(|index| entry(index, 1, index, &format!("data {index}")))
            .collect(),
        rest: GroupRows {
            tiles: Vec::new(),
            sessions: vec![session(1, to)],
            blobs: Vec::new(),
            pardoned_blobs: Vec::new(),
            acts: Vec::new(),
            checkpoint: Some(NewCheckpoint {
                size: to,
                root: root(byte),
                note: format!("note of {to}"),
            }),
        },
    }
}

/// An inline blob.
pub(super) fn blob(text: &'static str) -> NewBlob {
    NewBlob {
        hash: ContentHash::of(text.as_bytes()),
        size: text.len() as u64,
        inline: Some(Bytes::from_static(text.as_bytes())),
        stored: "2026-01-02T03:04:05.678Z".to_owned(),
    }
}

pub(super) fn tile(level: u32, tile: u64) -> FullTile {
    let byte = u8::try_from(u64::from(level) * 16 + tile).expect("fits");
    FullTile {
        level,
        tile,
        hashes: vec![byte; 256 * 32],
    }
}

/// Writes a group on the head as it is, and commits it.
pub(super) async fn commit(writer: &mut dyn Writer, group: &TestGroup) {
    let size = writer.begin().await.expect("begins");
    group.write(writer, size).await.expect("writes");
    writer.commit().await.expect("commits");
}

/// What a store holds, as far as a failed group could have changed it.
pub(super) async fn census(store: &dyn Store) -> (u64, u64, usize, usize, bool) {
    let mut reads = store.connection().await.expect("connects");
    (
        reads.size().await.expect("reads"),
        reads.count_session_entries(1).await.expect("reads"),
        reads.sessions_after(0, 100).await.expect("reads").len(),
        reads.checkpoints(0, 1_000).await.expect("reads").len(),
        reads
            .inline_blob(&ContentHash::of(b"blob"))
            .await
            .expect("reads")
            .is_some(),
    )
}
