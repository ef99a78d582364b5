//! What opening a ledger for writing checks first: whose it is, and that its entries have the root that was signed.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use remembrancer_schema::checkpoint::Checkpoint;
use remembrancer_schema::signing::{LedgerKey, PublicKey};
use remembrancer_schema::{Entry, Origin};

use crate::checkpoint_copy::CheckpointCopy;
use crate::clock;
use crate::data_dir::DataDir;
use crate::error::LedgerError;
use crate::reader::Reader;
use crate::store::{Connection, IdentityRow, Store, Writer};
use crate::tree::{self, Edge};

/// Entries of others that are followed leaf by leaf; the edge of more is read anew, from tiles.
const FOLLOWED_ENTRIES_MAX: u64 = 16_384;

/// Name and key of a ledger, as its database says.
pub(crate) struct Identity {
    pub(crate) origin: Origin,
    pub(crate) public_key: PublicKey,
}

impl Identity {
    pub(crate) fn from_row(row: &IdentityRow) -> Result<Self, LedgerError> {
        Ok(Self {
            origin: row.origin.parse().map_err(|_| {
                LedgerError::Damaged(format!("{:?} is not a ledger origin", row.origin))
            })?,
            public_key: PublicKey::from_pem(&row.public_key)
                .map_err(|error| LedgerError::Damaged(error.to_string()))?,
        })
    }

    pub(super) fn check(
        self,
        key: &LedgerKey,
        asked: Option<&Origin>,
        folder: &DataDir,
    ) -> Result<Origin, LedgerError> {
        if self.public_key != key.public() {
            return Err(LedgerError::WrongKey {
                path: folder.private_key(),
            });
        }
        match asked {
            Some(asked) if *asked != self.origin => Err(LedgerError::WrongOrigin {
                found: self.origin.to_string(),
                asked: asked.to_string(),
            }),
            _ => Ok(self.origin),
        }
    }
}

/// The row of a new ledger. Its origin is `remembrancer.local/` and eight digits of the key's fingerprint unless given.
pub(super) fn new_identity(
    key: &LedgerKey,
    origin: Option<Origin>,
) -> Result<IdentityRow, LedgerError> {
    let public = key.public();
    let origin = match origin {
        Some(origin) => origin,
        None => format!("remembrancer.local/{}", &public.fingerprint()[..8])
            .parse()
            .map_err(|_| LedgerError::Damaged("the default origin is not valid".to_owned()))?,
    };
    Ok(IdentityRow {
        origin: origin.to_string(),
        public_key: public
            .to_pem()
            .map_err(|error| LedgerError::Damaged(error.to_string()))?,
        created: clock::now(),
    })
}

/// Longest time that opening again may take. A database that does not answer must not hold up the answers to clients for ever.
const OPENING_TIME_MAX: Duration = Duration::from_secs(60);

fn went_back(known: &Edge, size: u64) -> LedgerError {
    LedgerError::Damaged(format!(
        "it had {} entries and now has {size}, or others: an older copy of it; put the newest database back",
        known.size()
    ))
}

/// The one way to a connection that writes: at the start, and again whenever nobody knows what the last one left.
#[derive(Clone)]
pub(crate) struct Opening {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) origin: Origin,
    pub(crate) key: PublicKey,
    /// Copies of the newest checkpoint outside the database.
    pub(crate) copies: Vec<CheckpointCopy>,
}

impl Opening {
    /// Opens a connection and reads where the ledger stands. Refuses if what is stored does not have the root that its
    /// newest checkpoint signed, or is less than a copy of a checkpoint states.
    pub(crate) async fn writer(&self) -> Result<(Box<dyn Writer>, Edge), LedgerError> {
        let mut writer = self.store.writer().await?;
        // Inside a group nobody else writes, so that what is read fits together.
        let size = writer.begin().await?;
        let read = self.read(writer.reads(), size).await;
        writer.rollback().await?;
        Ok((writer, read?))
    }

    /// The same for a process that knew the ledger already, up to an edge. One that is shorter now, or begins otherwise, is an
    /// older copy or another history: to go on from there would sign a second one.
    pub(crate) async fn again(&self, known: &Edge) -> Result<(Box<dyn Writer>, Edge), LedgerError> {
        let opening = async {
            let (mut writer, edge) = self.writer().await?;
            if edge.size() < known.size()
                || tree::range_root(writer.reads(), 0..known.size()).await? != known.root()
            {
                return Err(went_back(known, edge.size()));
            }
            Ok((writer, edge))
        };
        tokio::time::timeout(OPENING_TIME_MAX, opening)
            .await
            .unwrap_or(Err(LedgerError::NoAnswer(OPENING_TIME_MAX.as_secs())))
    }

    async fn read(&self, connection: &mut dyn Connection, size: u64) -> Result<Edge, LedgerError> {
        let edge = self.edge(connection, size).await?;
        for copy in &self.copies {
            if let Some(stated) = copy.read(&self.origin, &self.key)? {
                copy.compare(connection, size, &stated).await?;
            }
        }
        Ok(edge)
    }

    /// Recomputes the tree's edge and compares its root with the newest checkpoint.
    pub(crate) async fn edge(
        &self,
        connection: &mut dyn Connection,
        size: u64,
    ) -> Result<Edge, LedgerError> {
        let edge = Edge::load(connection, size).await?;
        self.check(connection, edge).await
    }

    /// The edge after other processes had their turns. Theirs is checked like one's own at the start. A ledger that went back
    /// while this process lives is refused: to go on from there would sign a second history.
    pub(crate) async fn follow(
        &self,
        connection: &mut dyn Connection,
        known: &Edge,
        size: u64,
    ) -> Result<Edge, LedgerError> {
        let Some(added) = size.checked_sub(known.size()) else {
            return Err(went_back(known, size));
        };
        if added > FOLLOWED_ENTRIES_MAX {
            return self.edge(connection, size).await;
        }
        let edge = known.follow(connection, size).await?;
        self.check(connection, edge).await
    }

    /// Compares an edge's root with the newest checkpoint. A ledger that does not fit is not written to: every further
    /// checkpoint would sign what somebody else put there.
    async fn check(
        &self,
        connection: &mut dyn Connection,
        edge: Edge,
    ) -> Result<Edge, LedgerError> {
        let size = edge.size();
        let stated = match connection.newest_checkpoint().await? {
            None if size == 0 => return Ok(edge),
            None => "nothing: no checkpoint is stored".to_owned(),
            Some(row) => {
                let bad = |reason: String| LedgerError::BadCheckpoint {
                    size: row.size,
                    reason,
                };
                let checkpoint = Checkpoint::verify(&row.note, &self.key)
                    .map_err(|error| bad(error.to_string()))?;
                if checkpoint.origin != self.origin || checkpoint.size != row.size {
                    return Err(bad(format!(
                        "it is of ledger {} at size {}",
                        checkpoint.origin, checkpoint.size
                    )));
                }
                if checkpoint.size == edge.size() && checkpoint.root == edge.root() {
                    return Ok(edge);
                }
                format!("{} at size {}", checkpoint.root, checkpoint.size)
            }
        };
        Err(LedgerError::RootMismatch {
            size,
            computed: edge.root(),
            stated,
        })
    }
}

/// When the newest entry was received, and with it the newest checkpoint signed. What cannot be read is for `verify` to tell:
/// a ledger is opened without a counter.
pub(super) async fn last_received(reader: &Reader, size: u64) -> Option<Timestamp> {
    let stored = reader.entries_from(size.checked_sub(1)?, 1).await.ok()?;
    let entry = Entry::from_bytes(&stored.first()?.bytes).ok()?;
    entry.received.parse().ok()
}
