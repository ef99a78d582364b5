//! A witness that looks for itself: it fetches a ledger's checkpoint where its readers do, and computes from tiles whether it
//! extends the last one.

use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use remembrancer_recorder::install_crypto_provider;
use remembrancer_schema::checkpoint::Checkpoint;
use remembrancer_schema::limits::NOTE_BYTES_MAX;
use remembrancer_schema::merkle::verify_consistency;
use remembrancer_schema::signing::NoteAlgorithm;
use remembrancer_schema::tile::{FetchedTiles, tiles_for_consistency};
use remembrancer_schema::verifier_key::VerifierKey;
use reqwest::header::{AUTHORIZATION, HeaderValue};
use reqwest::{Client, StatusCode, Url, redirect};

use super::{Refusal, Suspicion, Witness, request};
use crate::failure::Failure;

/// Longest time for one answer.
const ANSWER_TIME_MAX: Duration = Duration::from_secs(30);

/// A ledger's key, and where its server is if it is to be looked at.
#[derive(Debug, Clone)]
pub(crate) struct LedgerAddress {
    pub(crate) key: VerifierKey,
    url: Option<Url>,
}

impl FromStr for LedgerAddress {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (key, url) = match text.split_once('@') {
            None => (text, None),
            Some((key, url)) => (key, Some(url)),
        };
        let key: VerifierKey = key.parse().map_err(
            |error: remembrancer_schema::verifier_key::VerifierKeyError| error.to_string(),
        )?;
        if key.algorithm != NoteAlgorithm::Ed25519 {
            return Err(format!(
                "the key of {} is that of a witness, not of a ledger",
                key.name
            ));
        }
        let url = url.map(|url| {
            let url = Url::parse(url).ok();
            url.filter(|url| {
                matches!(url.scheme(), "http" | "https")
                    && url.host_str().is_some()
                    && url.username().is_empty()
                    && url.password().is_none()
            })
            .ok_or("the address of a ledger is http:// or https:// and a host, without a user or a password")
        });
        Ok(Self {
            key,
            url: url.transpose()?,
        })
    }
}

fn client(url: &Url) -> reqwest::Result<Client> {
    let client = Client::builder()
        .timeout(ANSWER_TIME_MAX)
        .redirect(redirect::Policy::none());
    let host = url.host_str().unwrap_or_default();
    let host = host.trim_start_matches('[').trim_end_matches(']');
    let address = host.parse::<std::net::IpAddr>();
    // No proxy of the environment stands between programs on one machine.
    if host == "localhost" || address.is_ok_and(|address| address.is_loopback()) {
        client.no_proxy().build()
    } else {
        client.build()
    }
}

/// What looks at one ledger.
pub(crate) struct Following {
    witness: Arc<Witness>,
    key: VerifierKey,
    prefix: String,
    client: Client,
    /// Marked as sensitive: it is never shown.
    authorization: Option<HeaderValue>,
    every: Duration,
}

/// What a look came to, if not to a checkpoint that is remembered.
enum Look {
    /// It could not be looked at.
    Failed(String),
    /// Nothing is there.
    Missing,
}

impl Following {
    /// `None` for a ledger without an address.
    pub(crate) fn new(
        witness: Arc<Witness>,
        ledger: &LedgerAddress,
        key: Option<&str>,
        every: Duration,
    ) -> Result<Option<Self>, Failure> {
        let Some(url) = &ledger.url else {
            return Ok(None);
        };
        install_crypto_provider();
        let authorization = key.map(|key| {
            let mut value = HeaderValue::from_str(&format!("Bearer {key}"))
                .map_err(|_| Failure::new("the key has characters that no key has"))?;
            value.set_sensitive(true);
            Ok::<_, Failure>(value)
        });
        Ok(Some(Self {
            witness,
            key: ledger.key.clone(),
            prefix: format!("{}/tlog", url.as_str().trim_end_matches('/')),
            client: client(url)?,
            authorization: authorization.transpose()?,
            every,
        }))
    }

    /// Looks again and again, until it is given up.
    pub(crate) async fn run(self) {
        let mut told = None;
        loop {
            let failed = match self.look().await {
                Err(Look::Failed(reason)) => Some(reason),
                // A ledger without entries, or one that holds its checkpoints back.
                Err(Look::Missing) | Ok(()) => None,
            };
            if let Some(reason) = failed.as_ref().filter(|_| failed != told) {
                tracing::warn!(ledger = %self.key.name, reason, "the ledger cannot be looked at");
            }
            told = failed;
            tokio::time::sleep(self.every).await;
        }
    }

    async fn look(&self) -> Result<(), Look> {
        let note = String::from_utf8(self.fetch("checkpoint").await?)
            .map_err(|_| Look::Failed("its checkpoint is not text".to_owned()))?;
        let shown = Checkpoint::verify(&note, &self.key.key)
            .map_err(|error| Look::Failed(error.to_string()))?;
        if shown.origin != self.key.name {
            return Err(Look::Failed(format!("it is the ledger {}", shown.origin)));
        }
        let last = self.witness.last(&self.key.name);
        if let Some(last) = last.as_ref().filter(|last| last.size > shown.size) {
            return self.look_at_older(&note, &shown, last).await;
        }
        let old = last.map_or(0, |last| last.size);
        let proof = match self.proof(old, shown.size).await {
            Ok(tiles) => tiles,
            Err(Look::Missing) => {
                return Err(Look::Failed(
                    "it does not serve the tiles of its checkpoint".to_owned(),
                ));
            }
            Err(failed) => return Err(failed),
        };
        let witness = Arc::clone(&self.witness);
        // As if it had asked, but for the signature, which nobody gets. It waits for the disk.
        let body = request::body(old, &proof, &note);
        let taken = tokio::task::spawn_blocking(move || witness.add_checkpoint(&body)).await;
        match taken {
            // Another size: it asked for itself meanwhile. What is refused for more than that is in the log with its evidence.
            Ok(Ok(_) | Err(Refusal::OtherSize(_) | Refusal::Fork(_) | Refusal::NotProven(_))) => {
                Ok(())
            }
            Ok(Err(refusal)) => Err(Look::Failed(format!("{refusal:?}"))),
            Err(error) => Err(Look::Failed(error.to_string())),
        }
    }

    /// One that waits for other witnesses may be behind what it asked this one to sign. Then its tiles lead from there to the
    /// last one; those of a ledger that went back do not.
    async fn look_at_older(
        &self,
        note: &str,
        shown: &Checkpoint,
        last: &Checkpoint,
    ) -> Result<(), Look> {
        let leads = match self.proof(shown.size, last.size).await {
            Ok(proof) => {
                verify_consistency(shown.size, last.size, &shown.root, &last.root, &proof).is_ok()
            }
            Err(Look::Missing) => false,
            Err(failed) => return Err(failed),
        };
        if !leads {
            let (witness, origin) = (Arc::clone(&self.witness), self.key.name.clone());
            let note = note.to_owned();
            let keep = move || witness.suspect(Suspicion::Older, &origin, &note);
            drop(tokio::task::spawn_blocking(keep).await);
        }
        Ok(())
    }

    /// The proof that one tree extends another, from tiles.
    async fn proof(&self, old: u64, new: u64) -> Result<Vec<remembrancer_schema::TreeHash>, Look> {
        let failed = |error: &dyn std::fmt::Display| Look::Failed(error.to_string());
        let tiles =
            tiles_for_consistency(old, new).ok_or_else(|| failed(&"the sizes are out of range"))?;
        let mut fetched = FetchedTiles::new(new);
        for tile in tiles {
            let bytes = self.fetch(&format!("tile/{tile}")).await?;
            fetched.add(tile, &bytes).map_err(|error| failed(&error))?;
        }
        fetched
            .consistency_proof(old)
            .map_err(|error| failed(&error))
    }

    async fn fetch(&self, name: &str) -> Result<Vec<u8>, Look> {
        let failed = |error: reqwest::Error| Look::Failed(error.without_url().to_string());
        let mut question = self.client.get(format!("{}/{name}", self.prefix));
        if let Some(authorization) = &self.authorization {
            question = question.header(AUTHORIZATION, authorization);
        }
        let mut answer = question.send().await.map_err(failed)?;
        match answer.status() {
            StatusCode::OK => {}
            StatusCode::NOT_FOUND => return Err(Look::Missing),
            status => return Err(Look::Failed(format!("{name}: it answers {status}"))),
        }
        let mut bytes = Vec::new();
        // A tile is smaller than a note may be.
        while let Some(piece) = answer.chunk().await.map_err(failed)? {
            if bytes.len() + piece.len() > NOTE_BYTES_MAX {
                return Err(Look::Failed(format!("{name}: the answer is too long")));
            }
            bytes.extend_from_slice(&piece);
        }
        Ok(bytes)
    }
}
