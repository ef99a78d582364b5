//! Blobs: their rows, the bytes of small ones, and the marks of the garbage collection.

use remembrancer_schema::ContentHash;
use sqlx::sqlite::SqliteRow;
use sqlx::{Row as _, SqliteConnection};

use crate::error::LedgerError;
use crate::store::columns::{self, BlobColumns};
use crate::store::{BlobRow, CondemnedBlob, Result};

/// Takes marks away; the parameter is what [`marks`] makes of them.
pub(super) const RELEASE: &str = "DELETE FROM condemned_blobs WHERE (hash, since) IN \
     (SELECT unhex(value ->> 0), value ->> 1 FROM json_each(?))";

/// Any number of marks as one parameter.
pub(super) fn marks(blobs: &[CondemnedBlob]) -> Result<String> {
    let pairs: Vec<_> = blobs.iter().map(|blob| (&blob.hash, &blob.since)).collect();
    serde_json::to_string(&pairs).map_err(|error| LedgerError::Damaged(error.to_string()))
}

/// Any number of hashes as one parameter: one statement text for every number of them.
fn parameter(hashes: &[ContentHash]) -> Result<String> {
    serde_json::to_string(hashes).map_err(|error| LedgerError::Damaged(error.to_string()))
}

pub(super) async fn rows(
    connection: &mut SqliteConnection,
    hashes: &[ContentHash],
) -> Result<Vec<BlobRow>> {
    if hashes.is_empty() {
        return Ok(Vec::new());
    }
    let rows = sqlx::query(
        "SELECT b.hash, b.size, b.place, b.stored FROM json_each(?) AS wanted \
         CROSS JOIN blobs AS b ON b.hash = unhex(wanted.value)",
    )
    .bind(parameter(hashes)?)
    .fetch_all(connection)
    .await?;
    rows.iter().map(from_row).collect()
}

pub(super) async fn inline_rows(
    connection: &mut SqliteConnection,
    after: Option<&ContentHash>,
    limit: u32,
) -> Result<Vec<BlobRow>> {
    let after = after.map_or(&[][..], |hash| hash.as_bytes());
    let rows = sqlx::query(
        "SELECT hash, size, place, stored FROM blobs WHERE place = 'inline' AND hash > ? ORDER BY hash LIMIT ?",
    )
    .bind(after)
    .bind(limit)
    .fetch_all(connection)
    .await?;
    rows.iter().map(from_row).collect()
}

pub(super) async fn inline(
    connection: &mut SqliteConnection,
    hash: &ContentHash,
) -> Result<Option<Vec<u8>>> {
    let bytes: Option<Option<Vec<u8>>> =
        sqlx::query_scalar("SELECT bytes FROM blobs WHERE hash = ?")
            .bind(hash.as_bytes().as_slice())
            .fetch_optional(connection)
            .await?;
    Ok(bytes.flatten())
}

pub(super) async fn any_outside(connection: &mut SqliteConnection) -> Result<bool> {
    let found = sqlx::query("SELECT 1 FROM blobs WHERE place = 'store' LIMIT 1")
        .fetch_optional(connection)
        .await?;
    Ok(found.is_some())
}

pub(super) async fn condemned(
    connection: &mut SqliteConnection,
    among: Option<&[ContentHash]>,
) -> Result<Vec<CondemnedBlob>> {
    let rows = match among {
        Some([]) => return Ok(Vec::new()),
        Some(hashes) => {
            sqlx::query(
                "SELECT c.hash, c.since FROM json_each(?) AS wanted \
                 CROSS JOIN condemned_blobs AS c ON c.hash = unhex(wanted.value)",
            )
            .bind(parameter(hashes)?)
            .fetch_all(connection)
            .await?
        }
        None => {
            sqlx::query("SELECT hash, since FROM condemned_blobs ORDER BY hash")
                .fetch_all(connection)
                .await?
        }
    };
    rows.iter()
        .map(|row| {
            Ok(CondemnedBlob {
                hash: hash(row)?,
                since: row.try_get("since")?,
            })
        })
        .collect()
}

pub(super) async fn condemn(
    connection: &mut SqliteConnection,
    blob: &CondemnedBlob,
) -> Result<bool> {
    let hash = blob.hash.as_bytes().as_slice();
    let marked = sqlx::query(
        "INSERT INTO condemned_blobs (hash, since) VALUES (?, ?) ON CONFLICT (hash) DO NOTHING",
    )
    .bind(hash)
    .bind(&blob.since)
    .execute(&mut *connection)
    .await?;
    if marked.rows_affected() == 0 {
        return Ok(false);
    }
    // Only what is marked can be deleted: a trigger sees to it.
    sqlx::query("DELETE FROM blobs WHERE hash = ?")
        .bind(hash)
        .execute(connection)
        .await?;
    Ok(true)
}

pub(super) async fn release(
    connection: &mut SqliteConnection,
    blobs: &[CondemnedBlob],
) -> Result<()> {
    if blobs.is_empty() {
        return Ok(());
    }
    sqlx::query(RELEASE)
        .bind(marks(blobs)?)
        .execute(connection)
        .await?;
    Ok(())
}

fn from_row(row: &SqliteRow) -> Result<BlobRow> {
    BlobColumns {
        hash: row.try_get("hash")?,
        size: row.try_get("size")?,
        place: row.try_get("place")?,
        stored: row.try_get("stored")?,
    }
    .check()
}

fn hash(row: &SqliteRow) -> Result<ContentHash> {
    columns::address(row.try_get("hash")?)
}
