//! What opening a ledger for writing checks first: whose it is, and that its entries have the root that was signed.

use std::sync::Arc;

use remembrancer_schema::Origin;
use remembrancer_schema::checkpoint::Checkpoint;
use remembrancer_schema::signing::{LedgerKey, PublicKey};

use crate::checkpoint_copy::CheckpointCopy;
use crate::clock;
use crate::data_dir::DataDir;
use crate::error::LedgerError;
use crate::store::{Connection, IdentityRow, Store, Writer};
use crate::tree::Edge;

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

    async fn read(&self, connection: &mut dyn Connection, size: u64) -> Result<Edge, LedgerError> {
        let edge = self.edge(connection, size).await?;
        for copy in &self.copies {
            if let Some(stated) = copy.read(&self.origin, &self.key)? {
                copy.compare(connection, size, &stated).await?;
            }
        }
        Ok(edge)
    }

    /// Recomputes the tree's edge and compares its root with the newest checkpoint. A ledger that does not fit is not
    /// written to: every further checkpoint would sign what somebody else put there.
    pub(crate) async fn edge(
        &self,
        connection: &mut dyn Connection,
        size: u64,
    ) -> Result<Edge, LedgerError> {
        let edge = Edge::load(connection, size).await?;
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
