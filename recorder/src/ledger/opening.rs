//! What opening a ledger for writing checks first: whose it is, and that its entries have the root that was signed.

use remembrancer_schema::Origin;
use remembrancer_schema::checkpoint::Checkpoint;
use remembrancer_schema::signing::{LedgerKey, PublicKey};
use sqlx::{Row as _, SqliteConnection};

use crate::data_dir::DataDir;
use crate::error::LedgerError;
use crate::tree::{Edge, number};
use crate::{clock, session};

/// Name and key of a ledger, as its database says.
pub(crate) struct Identity {
    pub(crate) origin: Origin,
    pub(crate) public_key: PublicKey,
}

impl Identity {
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

pub(crate) async fn read_identity(
    connection: &mut SqliteConnection,
) -> Result<Option<Identity>, LedgerError> {
    let Some(row) = sqlx::query("SELECT origin, public_key FROM ledger")
        .fetch_optional(connection)
        .await?
    else {
        return Ok(None);
    };
    let (origin, pem): (String, String) = (row.try_get("origin")?, row.try_get("public_key")?);
    Ok(Some(Identity {
        origin: origin
            .parse()
            .map_err(|_| LedgerError::Damaged(format!("{origin:?} is not a ledger origin")))?,
        public_key: PublicKey::from_pem(&pem)
            .map_err(|error| LedgerError::Damaged(error.to_string()))?,
    }))
}

pub(super) async fn write_identity(
    connection: &mut SqliteConnection,
    key: &LedgerKey,
    origin: Option<Origin>,
) -> Result<Origin, LedgerError> {
    let public = key.public();
    let origin = match origin {
        Some(origin) => origin,
        None => format!("remembrancer.local/{}", &public.fingerprint()[..8])
            .parse()
            .map_err(|_| LedgerError::Damaged("the default origin is not valid".to_owned()))?,
    };
    let pem = public
        .to_pem()
        .map_err(|error| LedgerError::Damaged(error.to_string()))?;
    sqlx::query("INSERT INTO ledger (one, origin, public_key, created) VALUES (1, ?, ?, ?)")
        .bind(origin.as_str())
        .bind(pem)
        .bind(clock::now())
        .execute(connection)
        .await?;
    Ok(origin)
}

/// Recomputes the tree's edge and compares its root with the newest checkpoint. A ledger that does not fit is not written
/// to: every further checkpoint would sign what somebody else put there.
pub(super) async fn recover(
    connection: &mut SqliteConnection,
    origin: &Origin,
    key: &PublicKey,
) -> Result<Edge, LedgerError> {
    let row = sqlx::query("SELECT coalesce(max(idx) + 1, 0) AS size FROM entries")
        .fetch_one(&mut *connection)
        .await?;
    let size = session::count(&row, "size")?;
    let edge = Edge::load(connection, size).await?;
    let newest = sqlx::query("SELECT size, note FROM checkpoints ORDER BY size DESC LIMIT 1")
        .fetch_optional(&mut *connection)
        .await?;
    let stated = match newest {
        None if size == 0 => return Ok(edge),
        None => "nothing: no checkpoint is stored".to_owned(),
        Some(row) => {
            let size = session::count(&row, "size")?;
            let note: String = row.try_get("note")?;
            let bad = |reason: String| LedgerError::BadCheckpoint { size, reason };
            let checkpoint =
                Checkpoint::verify(&note, key).map_err(|error| bad(error.to_string()))?;
            if checkpoint.origin != *origin || number(checkpoint.size)? != number(size)? {
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
