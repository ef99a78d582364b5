//! Whether large blobs can be written, read and removed where they are kept.

use bytes::Bytes;

use super::{Finding, Level};
use crate::blob_store::{Blob, Fetched};
use crate::error::LedgerError;
use crate::reader::Reader;
use crate::{clock, random};

const CHECK: &str = "blob store";

/// Writes an object that nobody else has, reads it and removes it. A place that was never used is left as it is.
pub(super) async fn blobs(reader: &Reader) -> Finding {
    let place = reader.blob_location().to_string();
    match probe(reader).await {
        Ok(None) => Finding::ok(CHECK, format!("{place}, not used yet")),
        Ok(Some(fetched)) => match fetched {
            Fetched::Whole(_) => Finding::ok(
                CHECK,
                format!("{place}: a probe was written, read and removed"),
            ),
            Fetched::Missing => Finding::fail(
                CHECK,
                format!("{place}: what was just written is not there"),
                "use a store that shows what it acknowledged",
            ),
            Fetched::Damaged(reason) => Finding::fail(
                CHECK,
                format!("{place}: what was just written has changed: {reason}"),
                "look at the disk or the service behind it",
            ),
        },
        Err(error) => Finding {
            level: Level::Fail,
            ..Finding::ok(CHECK, error.to_string())
        },
    }
}

async fn probe(reader: &Reader) -> Result<Option<Fetched>, LedgerError> {
    if !reader.uses_blob_store().await? {
        return Ok(None);
    }
    let store = reader.blob_store();
    // Nothing is written to a place that another ledger has, or that is not mounted.
    store.claim(reader.origin(), false).await?;
    let text = format!(
        "probe {} {}",
        clock::now(),
        hex::encode(random::bytes::<16>()?)
    );
    let blob = Blob::new(Bytes::from(text))?;
    store.put(&blob).await?;
    let fetched = store.fetch(blob.hash()).await;
    store.remove(&[*blob.hash()]).await?;
    Ok(Some(fetched?))
}
