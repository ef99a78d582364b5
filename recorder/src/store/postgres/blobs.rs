//! Blobs: their rows, the bytes of small ones, and the marks of the garbage collection.

use remembrancer_schema::ContentHash;
use sqlx::postgres::PgRow;
use sqlx::{PgConnection, Row as _};

use crate::store::columns::{self, BlobColumns};
use crate::store::{BlobRow, CondemnedBlob, NewBlob, Result};
use crate::tree::number;

fn parameter(hashes: &[ContentHash]) -> Vec<&[u8]> {
    hashes
        .iter()
        .map(|hash| hash.as_bytes().as_slice())
        .collect()
}

pub(super) async fn rows(
    connection: &mut PgConnection,
    hashes: &[ContentHash],
) -> Result<Vec<BlobRow>> {
    if hashes.is_empty() {
        return Ok(Vec::new());
    }
    let rows =
        sqlx::query("SELECT hash, size, place, stored FROM blobs WHERE hash = ANY($1::BYTEA[])")
            .bind(parameter(hashes))
            .fetch_all(connection)
            .await?;
    rows.iter().map(from_row).collect()
}

pub(super) async fn inline_rows(
    connection: &mut PgConnection,
    after: Option<&ContentHash>,
    limit: u32,
) -> Result<Vec<BlobRow>> {
    let after = after.map_or(&[][..], |hash| hash.as_bytes());
    let rows = sqlx::query(
        "SELECT hash, size, place, stored FROM blobs WHERE place = 'inline' AND hash > $1 ORDER BY hash LIMIT $2",
    )
    .bind(after)
    .bind(i64::from(limit))
    .fetch_all(connection)
    .await?;
    rows.iter().map(from_row).collect()
}

pub(super) async fn inline(
    connection: &mut PgConnection,
    hash: &ContentHash,
) -> Result<Option<Vec<u8>>> {
    let bytes: Option<Option<Vec<u8>>> =
        sqlx::query_scalar("SELECT bytes FROM blobs WHERE hash = $1")
            .bind(hash.as_bytes().as_slice())
            .fetch_optional(connection)
            .await?;
    Ok(bytes.flatten())
}

pub(super) async fn any_outside(connection: &mut PgConnection) -> Result<bool> {
    let found = sqlx::query("SELECT 1 FROM blobs WHERE place = 'store' LIMIT 1")
        .fetch_optional(connection)
        .await?;
    Ok(found.is_some())
}

pub(super) async fn store(connection: &mut PgConnection, blob: &NewBlob) -> sqlx::Result<()> {
    let size = number(blob.size).map_err(|error| sqlx::Error::Encode(Box::new(error)))?;
    sqlx::query(
        "INSERT INTO blobs (hash, size, place, stored, bytes) VALUES ($1, $2, $3, $4, $5) \
         ON CONFLICT (hash) DO UPDATE SET stored = excluded.stored",
    )
    .bind(blob.hash.as_bytes().as_slice())
    .bind(size)
    .bind(columns::place(blob.inline.is_some()))
    .bind(&blob.stored)
    .bind(blob.inline.as_deref())
    .execute(connection)
    .await?;
    Ok(())
}

pub(super) async fn condemned(
    connection: &mut PgConnection,
    among: Option<&[ContentHash]>,
) -> Result<Vec<CondemnedBlob>> {
    let rows = match among {
        Some([]) => return Ok(Vec::new()),
        Some(hashes) => {
            sqlx::query("SELECT hash, since FROM condemned_blobs WHERE hash = ANY($1::BYTEA[])")
                .bind(parameter(hashes))
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

pub(super) async fn condemn(connection: &mut PgConnection, blob: &CondemnedBlob) -> Result<bool> {
    let hash = blob.hash.as_bytes().as_slice();
    let marked = sqlx::query(
        "INSERT INTO condemned_blobs (hash, since) VALUES ($1, $2) ON CONFLICT (hash) DO NOTHING",
    )
    .bind(hash)
    .bind(&blob.since)
    .execute(&mut *connection)
    .await?;
    if marked.rows_affected() == 0 {
        return Ok(false);
    }
    // Only what is marked can be deleted: a trigger sees to it.
    sqlx::query("DELETE FROM blobs WHERE hash = $1")
        .bind(hash)
        .execute(connection)
        .await?;
    Ok(true)
}

pub(super) async fn release(
    connection: &mut PgConnection,
    blobs: &[CondemnedBlob],
) -> sqlx::Result<()> {
    let (hashes, moments): (Vec<&[u8]>, Vec<&str>) = blobs
        .iter()
        .map(|blob| (blob.hash.as_bytes().as_slice(), blob.since.as_str()))
        .unzip();
    sqlx::query(
        "DELETE FROM condemned_blobs WHERE (hash, since) IN (SELECT * FROM unnest($1::BYTEA[], $2::TEXT[]))",
    )
    .bind(hashes)
    .bind(moments)
    .execute(connection)
    .await?;
    Ok(())
}

fn from_row(row: &PgRow) -> Result<BlobRow> {
    BlobColumns {
        hash: row.try_get("hash")?,
        size: row.try_get("size")?,
        place: row.try_get("place")?,
        stored: row.try_get("stored")?,
    }
    .check()
}

fn hash(row: &PgRow) -> Result<ContentHash> {
    columns::address(row.try_get("hash")?)
}
