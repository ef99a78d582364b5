//! Garbage of aborted uploads: blobs that no entry refers to, and what only a crash can leave in a folder. Found by default,
//! removed where that is asked for.
//!
//! A blob is garbage if it was not uploaded for longer than a grace time, neither by its object's time nor by its row's, and
//! no entry names it. The entries themselves decide that, read from the first to the last: a mark in the database could lie,
//! and would cost every ingest. Memory is bounded by the candidates of one round, and a ledger with more old blobs than that
//! takes more rounds, so that the time is entries × ⌈old blobs / [`CANDIDATES_MAX`]⌉.
//!
//! A recorder goes on meanwhile. It may be about to store a blob again, or to record an event that names one that nothing
//! named before. For each of a few hundred blobs at a time:
//!
//! 1. The head is taken, as a sequencer takes it for a group, so that no upload and no event is decided meanwhile. The entries
//!    since the first reading are read, and each blob's row. A blob that was named or uploaded meanwhile is left alone. The
//!    others lose their row and get a mark: [`Administration::condemn_blob`]. The removal is written down as an admin act, which
//!    becomes an entry. Commit.
//! 2. The objects are removed.
//! 3. The marks are taken away.
//!
//! An event that is decided before 1 is among the entries read there, and its blobs stay. One decided after 1 finds no row: it
//! is rejected with `blob-missing`, not acknowledged, and its client uploads the blob first, as the answer says. An upload whose
//! row is decided before 1 makes the row young, and the blob stays. One decided after 1 finds the mark, whenever its object
//! was written: it is not acknowledged, and the recorder writes the object again, and asks again, until the mark is gone. So an
//! acknowledged upload has an object that was written after the removal, or that was never to be removed.
//!
//! Crash after 1 or 2: marks without a collector. Uploads of just these blobs are refused for a while; a mark that is older than
//! [`GIVEN_UP_AFTER`] is taken away by the next upload, or by the next collection, which finds the object anew. No removal is late enough to meet
//! an object that is written after that: a collector stops [`REMOVAL_TIME_MAX`] after its marks, and one request has its own
//! limit of time. This asks of the clocks of the machines that write to one ledger that they differ by no more than minutes,
//! and of a collector that it is not stopped for a quarter of an hour between its last look at the clock and its request.

mod candidates;
mod report;

use std::time::Duration;

use futures_util::TryStreamExt as _;
use remembrancer_schema::ContentHash;
use remembrancer_schema::payload::AdminAct;
use tokio::time::Instant;

use crate::admin_act::{Actor, AdminActRow};
use crate::blob_store::{BlobStoreError, Listed, REMOVED_AT_ONCE_MAX, Remains};
use crate::checkpoint_copy::CheckpointCopy;
use crate::clock;
use crate::error::LedgerError;
use crate::reader::Reader;
use crate::store::{Administration, CondemnedBlob};

use candidates::Candidates;
pub use report::{GarbageItem, GarbageOptions, GarbagePlace, GarbageReport};

/// How long nobody may have uploaded what is garbage, unless another time is asked for: an upload and the event that names
/// it are seconds apart, a client that sends again after an outage hours.
pub const GRACE: Duration = Duration::from_secs(24 * 3600);
/// Blobs that are held against all entries at once.
const CANDIDATES_MAX: usize = 100_000;
/// Items that a report lists; its sums are of all.
const ITEMS_MAX: usize = 1000;
const ROWS_AT_ONCE: u32 = 1000;
/// A collector removes nothing when its marks are older than this.
const REMOVAL_TIME_MAX: Duration = Duration::from_secs(5 * 60);
/// A mark older than this has no collector any more.
const GIVEN_UP_AFTER: Duration = Duration::from_secs(15 * 60);

/// Whether the collector that made a mark has stopped removing, whatever became of it.
pub(crate) fn is_given_up(since: &str, now: &str) -> bool {
    clock::is_past(since, now, GIVEN_UP_AFTER)
}

/// Finds garbage, and removes it if that is asked for. `progress` is told how many objects were looked at.
pub async fn collect_garbage(
    reader: &Reader,
    options: &GarbageOptions,
    mut progress: impl FnMut(u64),
) -> Result<GarbageReport, LedgerError> {
    refuse_rolled_back(reader).await?;
    let mut run = Run::new(reader, options);
    if options.removes {
        run.pardon().await?;
    }
    if reader.uses_blob_store().await? {
        // Another ledger's blobs would all be garbage here. Without its mark a place is not collected either.
        match reader.blob_store().claim(reader.origin(), false).await {
            Ok(()) => run.objects(&mut progress).await?,
            Err(BlobStoreError::NotClaimed { .. })
                if !reader.connection().await?.has_blobs_outside().await? => {}
            Err(error) => return Err(error.into()),
        }
    }
    run.inline_rows().await?;
    run.half_written().await?;
    Ok(run.report)
}

/// Refuses a database that is older than the copy of its checkpoint: what the lost entries named would seem to be garbage.
async fn refuse_rolled_back(reader: &Reader) -> Result<(), LedgerError> {
    let copy = CheckpointCopy::new(reader.location().folder().checkpoint_copy());
    // The file before the database: a recorder that goes on makes both newer, the database first.
    let Some(stated) = copy.read(reader.origin(), reader.public_key())? else {
        return Ok(());
    };
    let mut connection = reader.connection().await?;
    let size = connection.size().await?;
    copy.compare(&mut *connection, size, &stated).await
}

struct Run<'a> {
    reader: &'a Reader,
    removes: bool,
    by: &'a Actor,
    /// What was uploaded since is no garbage.
    cutoff: String,
    report: GarbageReport,
}

impl<'a> Run<'a> {
    fn new(reader: &'a Reader, options: &'a GarbageOptions) -> Self {
        Self {
            reader,
            removes: options.removes,
            by: &options.by,
            cutoff: clock::ago(options.older_than),
            report: GarbageReport {
                ledger: reader.origin().to_string(),
                blob_store: reader.blob_location().to_string(),
                older_than_seconds: options.older_than.as_secs(),
                removed: options.removes,
                objects: 0,
                entries_read: 0,
                count: 0,
                bytes: 0,
                items: Vec::new(),
                strangers: Vec::new(),
            },
        }
    }

    fn is_old(&self, stored: &str) -> bool {
        *stored < *self.cutoff
    }

    /// The objects of the blob store, in rounds.
    async fn objects(&mut self, progress: &mut impl FnMut(u64)) -> Result<(), LedgerError> {
        let mut listed = self.reader.blob_store().list();
        let mut round = Candidates::default();
        while let Some(found) = listed.try_next().await? {
            self.report.objects += 1;
            progress(self.report.objects);
            match found {
                Listed::Blob {
                    hash,
                    bytes,
                    modified,
                } => {
                    let stored = clock::from_milliseconds(modified);
                    if self.is_old(&stored) {
                        round.add(hash, GarbagePlace::Store, bytes, stored);
                    }
                }
                Listed::Stranger(name) if self.report.strangers.len() < ITEMS_MAX => {
                    self.report.strangers.push(name);
                }
                Listed::Stranger(_) => {}
            }
            if round.len() == CANDIDATES_MAX {
                self.decide(std::mem::take(&mut round)).await?;
            }
        }
        self.decide(round).await
    }

    /// The small blobs in the database, in rounds.
    async fn inline_rows(&mut self) -> Result<(), LedgerError> {
        let (mut after, mut round) = (None, Candidates::default());
        loop {
            let mut connection = self.reader.connection().await?;
            let rows = connection
                .inline_blob_rows(after.as_ref(), ROWS_AT_ONCE)
                .await?;
            drop(connection);
            let Some(last) = rows.last() else { break };
            after = Some(last.hash);
            for row in rows {
                if self.is_old(&row.stored) {
                    round.add(row.hash, GarbagePlace::Inline, row.size, row.stored);
                }
            }
            if round.len() + ROWS_AT_ONCE as usize > CANDIDATES_MAX {
                self.decide(std::mem::take(&mut round)).await?;
            }
        }
        self.decide(round).await
    }

    /// Files that no address leads to, so that nothing can come to need them.
    async fn half_written(&mut self) -> Result<(), LedgerError> {
        for remains in self.reader.blob_store().remains().await? {
            let stored = clock::from_milliseconds(remains.modified);
            if !self.is_old(&stored) {
                continue;
            }
            if self.removes {
                self.reader.blob_store().remove_remains(&remains)?;
            }
            let Remains { file, bytes, .. } = remains;
            self.found(GarbageItem {
                place: GarbagePlace::HalfWritten,
                name: file.display().to_string(),
                bytes,
                stored,
            });
        }
        Ok(())
    }

    /// Keeps what is garbage of a round, and removes it if that is asked for.
    async fn decide(&mut self, mut round: Candidates) -> Result<(), LedgerError> {
        if round.is_empty() {
            return Ok(());
        }
        let mut connection = self.reader.connection().await?;
        round.keep_old(&mut *connection, &self.cutoff).await?;
        let size = round.keep_unnamed(&mut *connection, 0).await?;
        self.report.entries_read += size;
        drop(connection);
        if !self.removes {
            for item in round.into_items() {
                self.found(item);
            }
            return Ok(());
        }
        let mut administration = self.reader.administration().await?;
        while let Some(mut batch) = round.take(REMOVED_AT_ONCE_MAX) {
            // What was recorded meanwhile is read before the head is taken, so that nobody waits for more than the last of it.
            let size = batch.keep_unnamed(administration.reads(), size).await?;
            self.remove(&mut *administration, batch, size).await?;
        }
        Ok(())
    }

    /// Removes some, in the steps that the module describes.
    async fn remove(
        &mut self,
        administration: &mut dyn Administration,
        mut batch: Candidates,
        size: u64,
    ) -> Result<(), LedgerError> {
        // 1. Crash before its commit: nothing happened.
        administration.begin().await?;
        let (since, began) = (clock::now(), Instant::now());
        let condemned = self.condemn(administration, &mut batch, size, &since).await;
        match condemned {
            Ok(()) => administration.commit().await?,
            Err(error) => {
                administration.rollback().await?;
                return Err(error);
            }
        }
        // 2. and 3. Crash in between: see the module.
        let outside: Vec<ContentHash> = batch.hashes(|place| place == GarbagePlace::Store);
        if !outside.is_empty() {
            // The monotonic clock stands still while the machine sleeps, the other one can be set.
            if began.elapsed() > REMOVAL_TIME_MAX
                || clock::is_past(&since, &clock::now(), REMOVAL_TIME_MAX)
            {
                return Err(LedgerError::GarbageTooSlow);
            }
            self.reader.blob_store().remove(&outside).await?;
        }
        administration
            .release_blobs(&batch.condemned(&since))
            .await?;
        for item in batch.into_items() {
            self.found(item);
        }
        Ok(())
    }

    async fn condemn(
        &self,
        administration: &mut dyn Administration,
        batch: &mut Candidates,
        size: u64,
        since: &str,
    ) -> Result<(), LedgerError> {
        batch.keep_unnamed(administration.reads(), size).await?;
        batch.keep_old(administration.reads(), &self.cutoff).await?;
        for blob in batch.condemned(since) {
            // Marked already: another collection is at it.
            if !administration.condemn_blob(&blob).await? {
                batch.drop(&blob.hash);
            }
        }
        if batch.is_empty() {
            return Ok(());
        }
        let act = AdminActRow::now(
            AdminAct::GarbageCollected,
            &format!("{} blobs", batch.len()),
            self.by,
            &[
                ("bytes", &batch.bytes().to_string()),
                ("blob_store", &self.report.blob_store),
            ],
        )?;
        administration.record_act(&act).await?;
        Ok(())
    }

    /// Takes away the marks of collections that were given up; what they left is found anew.
    async fn pardon(&self) -> Result<(), LedgerError> {
        let mut administration = self.reader.administration().await?;
        // Within one turn, so that no mark is taken for an older one of the same blob.
        administration.begin().await?;
        let given_up = async {
            let marks = administration.reads().condemned_blobs(None).await?;
            let now = clock::now();
            let given_up: Vec<CondemnedBlob> = marks
                .into_iter()
                .filter(|mark| is_given_up(&mark.since, &now))
                .collect();
            administration.release_blobs(&given_up).await
        }
        .await;
        match given_up {
            Ok(()) => administration.commit().await,
            Err(error) => {
                administration.rollback().await?;
                Err(error)
            }
        }
    }

    fn found(&mut self, item: GarbageItem) {
        self.report.count += 1;
        self.report.bytes += item.bytes;
        if self.report.items.len() < ITEMS_MAX {
            self.report.items.push(item);
        }
    }
}

#[cfg(test)]
mod tests;
