//! The task that asks witnesses for their signatures, about once a second while the ledger grows.

use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use remembrancer_schema::checkpoint::Checkpoint;
use reqwest::Client;
use tokio::time::Instant;

use super::address::WitnessAddress;
use super::asking::{AskError, ask, client};
use super::publication::Publication;
use crate::error::LedgerError;
use crate::reader::Reader;

/// Least time between two rounds.
const ROUND_EVERY: Duration = Duration::from_secs(1);
/// Time for which a witness that did not sign is left alone, at first and at most.
const PAUSE_FIRST: Duration = Duration::from_secs(1);
const PAUSE_LAST: Duration = Duration::from_secs(60);

/// One witness, as this ledger knows it.
struct Asked {
    address: WitnessAddress,
    client: Client,
    /// Size that it is known to have signed last.
    signed: u64,
    /// Its line over the checkpoint of that size.
    line: Option<(u64, String)>,
    not_before: Instant,
    pause: Duration,
    complaint: Option<AskError>,
}

/// What asks the witnesses of one ledger.
pub(crate) struct Collector {
    reader: Reader,
    publication: Arc<Publication>,
    witnesses: Vec<Asked>,
}

impl Collector {
    pub(crate) fn new(
        reader: Reader,
        publication: Arc<Publication>,
        witnesses: &[WitnessAddress],
    ) -> Self {
        let asked = |address: &WitnessAddress| match client(address) {
            Ok(client) => Some(Asked {
                address: address.clone(),
                client,
                signed: 0,
                line: None,
                not_before: Instant::now(),
                pause: PAUSE_FIRST,
                complaint: None,
            }),
            Err(error) => {
                tracing::error!(%error, witness = %address.key.name, "a witness cannot be asked");
                None
            }
        };
        Self {
            reader,
            publication,
            witnesses: witnesses.iter().filter_map(asked).collect(),
        }
    }

    /// Runs until it is given up.
    pub(crate) async fn run(mut self) {
        loop {
            if let Err(error) = self.round().await {
                tracing::warn!(%error, "no witness can be asked");
            }
            tokio::time::sleep(ROUND_EVERY).await;
        }
    }

    /// Asks every witness that has not signed the newest checkpoint, all for the same one, so that their signatures come
    /// together. It is published as soon as enough have signed.
    pub(crate) async fn round(&mut self) -> Result<(), LedgerError> {
        let Some(note) = self.reader.checkpoint().await? else {
            return Ok(());
        };
        let checkpoint = Checkpoint::verify(&note, self.reader.public_key())
            .map_err(|error| LedgerError::Damaged(error.to_string()))?;
        let now = Instant::now();
        let mut lines = Vec::new();
        let mut asking = FuturesUnordered::new();
        for witness in &mut self.witnesses {
            match &witness.line {
                Some((size, line)) if *size == checkpoint.size => lines.push(line.clone()),
                _ if witness.not_before > now => {}
                _ => asking.push(witness.sign(&self.reader, &note, &checkpoint)),
            }
        }
        let mut is_new = false;
        while let Some(line) = asking.next().await {
            let Some(line) = line else { continue };
            lines.push(line);
            is_new = true;
            if lines.len() == self.publication.required() {
                publish(&self.publication, &note, checkpoint.size, &lines).await?;
            }
        }
        if is_new {
            publish(&self.publication, &note, checkpoint.size, &lines).await?;
        }
        Ok(())
    }
}

impl Asked {
    /// Its line over a checkpoint; `None` if it did not sign, which the log tells once for each reason.
    async fn sign(
        &mut self,
        reader: &Reader,
        note: &str,
        checkpoint: &Checkpoint,
    ) -> Option<String> {
        let (client, address) = (&self.client, &self.address);
        match ask(reader, client, address, note, checkpoint, &mut self.signed).await {
            Ok(line) => {
                if self.complaint.take().is_some() {
                    tracing::info!(witness = %self.address.key.name, "the witness signs again");
                }
                self.pause = PAUSE_FIRST;
                self.line = Some((checkpoint.size, line.clone()));
                Some(line)
            }
            Err(error) => {
                self.not_before = Instant::now() + self.pause;
                self.pause = (self.pause * 2).min(PAUSE_LAST);
                if self.complaint.as_ref() != Some(&error) {
                    let (witness, ledger) = (&self.address.key.name, reader.origin());
                    if error.is_alarming() {
                        tracing::error!(%witness, %ledger, %error, "a witness refuses this ledger");
                    } else {
                        tracing::warn!(%witness, %ledger, %error, "a witness did not sign; it is asked again");
                    }
                    self.complaint = Some(error);
                }
                None
            }
        }
    }
}

/// Publishes, which waits for the disk.
async fn publish(
    publication: &Arc<Publication>,
    note: &str,
    size: u64,
    lines: &[String],
) -> Result<(), LedgerError> {
    let (publication, note, lines) = (Arc::clone(publication), note.to_owned(), lines.to_vec());
    tokio::task::spawn_blocking(move || publication.publish(&note, size, &lines))
        .await
        .unwrap_or_else(|error| Err(LedgerError::Damaged(error.to_string())))
}
