//! One question to one witness, and what its answer means.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use remembrancer_schema::TreeHash;
use remembrancer_schema::checkpoint::Checkpoint;
use remembrancer_schema::limits::NOTE_BYTES_MAX;
use remembrancer_schema::{cosignature, note};
use reqwest::{Client, StatusCode, redirect};

use super::address::WitnessAddress;
use crate::error::LedgerError;
use crate::reader::Reader;

/// Longest time until a connection stands.
const CONNECT_TIME_MAX: Duration = Duration::from_secs(3);
/// Longest time for one answer.
const ANSWER_TIME_MAX: Duration = Duration::from_secs(10);
/// Questions until a witness and this ledger agree on the size that it signed last.
const QUESTIONS_MAX: usize = 3;

/// Why a witness did not sign.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum AskError {
    /// It did not answer, or not as the specification says; it is asked again.
    #[error("{0}")]
    Later(String),
    /// It signed a larger checkpoint of this ledger than there is.
    #[error(
        "it signed a checkpoint of {signed} entries, and this ledger has {stored}: the ledger was rolled back, or another one runs under its name and key"
    )]
    RolledBack {
        /// Size that the witness signed.
        signed: u64,
        /// Entries of this ledger.
        stored: u64,
    },
    /// It holds this history for another one than it signed before.
    #[error(
        "it refuses this history as another one than it signed before ({0}): the ledger was forked; it keeps both checkpoints"
    )]
    Forked(String),
}

impl AskError {
    /// Whether somebody has to look at it, and not only wait.
    pub(crate) fn is_alarming(&self) -> bool {
        !matches!(self, Self::Later(_))
    }
}

impl From<LedgerError> for AskError {
    fn from(error: LedgerError) -> Self {
        Self::Later(error.to_string())
    }
}

impl From<reqwest::Error> for AskError {
    fn from(error: reqwest::Error) -> Self {
        let mut words = error.without_url().to_string();
        words.truncate(
            words
                .char_indices()
                .nth(300)
                .map_or(words.len(), |(at, _)| at),
        );
        Self::Later(words)
    }
}

/// Makes a client for a witness.
pub(crate) fn client(address: &WitnessAddress) -> Result<Client, reqwest::Error> {
    crate::blob_store::install_crypto_provider();
    let client = Client::builder()
        .connect_timeout(CONNECT_TIME_MAX)
        .timeout(ANSWER_TIME_MAX)
        .redirect(redirect::Policy::none());
    if address.is_local() {
        client.no_proxy().build()
    } else {
        client.build()
    }
}

/// Asks a witness to sign a checkpoint. `signed` is the size that it is known to have signed last, and is brought up to date.
pub(crate) async fn ask(
    reader: &Reader,
    client: &Client,
    address: &WitnessAddress,
    note: &str,
    checkpoint: &Checkpoint,
    signed: &mut u64,
) -> Result<String, AskError> {
    for _ in 0..QUESTIONS_MAX {
        if *signed > checkpoint.size {
            let stored = reader.size().await?;
            if *signed > stored {
                return Err(AskError::RolledBack {
                    signed: *signed,
                    stored,
                });
            }
            return Err(AskError::Later(
                "it has signed a newer checkpoint".to_owned(),
            ));
        }
        let proof = reader.consistency_proof(*signed, checkpoint.size).await?;
        let answer = client
            .post(address.add_checkpoint())
            .body(question(*signed, &proof, note))
            .send()
            .await?;
        let status = answer.status();
        let told = bounded(answer).await?;
        match status {
            StatusCode::OK => {
                *signed = checkpoint.size;
                return line_of(address, note, &told);
            }
            StatusCode::CONFLICT => {
                let size: u64 = told
                    .trim_end_matches('\n')
                    .parse()
                    .map_err(|_| AskError::Later("409 without a size".to_owned()))?;
                if size == *signed {
                    return Err(AskError::Forked(format!("another root of {size} entries")));
                }
                *signed = size;
            }
            StatusCode::UNPROCESSABLE_ENTITY => {
                return Err(AskError::Forked(excerpt(&told)));
            }
            status => {
                return Err(AskError::Later(format!(
                    "it answers {status}: {}",
                    excerpt(&told)
                )));
            }
        }
    }
    Err(AskError::Later(
        "it signs other checkpoints meanwhile".to_owned(),
    ))
}

/// The body of a question (C2SP `tlog-witness`).
fn question(old: u64, proof: &[TreeHash], note: &str) -> String {
    let mut body = format!("old {old}\n");
    for hash in proof {
        body.push_str(&STANDARD.encode(hash.as_bytes()));
        body.push('\n');
    }
    body.push('\n');
    body.push_str(note);
    body
}

fn line_of(address: &WitnessAddress, note: &str, lines: &str) -> Result<String, AskError> {
    let bad = |error: note::NoteError| AskError::Later(error.to_string());
    let (text, _) = note::split(note).map_err(bad)?;
    cosignature::find(text, lines, &address.key)
        .map_err(bad)?
        .map(|cosignature| cosignature.line)
        .ok_or_else(|| AskError::Later("its answer has no signature by its key".to_owned()))
}

/// An answer's text, not more than a note may have.
async fn bounded(mut answer: reqwest::Response) -> Result<String, AskError> {
    let mut bytes = Vec::new();
    while let Some(piece) = answer.chunk().await? {
        if bytes.len() + piece.len() > NOTE_BYTES_MAX {
            return Err(AskError::Later("its answer is too long".to_owned()));
        }
        bytes.extend_from_slice(&piece);
    }
    String::from_utf8(bytes).map_err(|_| AskError::Later("its answer is not text".to_owned()))
}

/// What a witness said, for the log: it is another's text.
fn excerpt(text: &str) -> String {
    text.chars()
        .map(|character| {
            if character.is_control() {
                ' '
            } else {
                character
            }
        })
        .take(200)
        .collect::<String>()
        .trim()
        .to_owned()
}
