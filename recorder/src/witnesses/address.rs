//! Where a witness is, and by which key its signatures are known.

use std::fmt;
use std::str::FromStr;

use remembrancer_schema::signing::NoteAlgorithm;
use remembrancer_schema::verifier_key::VerifierKey;
use reqwest::Url;

/// Why a text names no witness.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadWitness {
    /// There is no address, or no key.
    #[error(
        "a witness is its verifier key, @ and its address: NAME+ID+KEY@https://witness.example.org"
    )]
    Form,
    /// The key is none.
    #[error("{0}")]
    Key(String),
    /// The key is one of a ledger.
    #[error(
        "the key of {0} is not that of a witness: `remembrancer witness` prints its own when it starts"
    )]
    NotAWitness(String),
    /// The address cannot be used.
    #[error(
        "the address of a witness is http:// or https:// and a host, without a user or a password"
    )]
    Address,
}

/// A witness that is asked for its signature.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WitnessAddress {
    /// Its name and key.
    pub key: VerifierKey,
    base: Url,
}

impl WitnessAddress {
    /// Where checkpoints are posted to.
    pub(crate) fn add_checkpoint(&self) -> String {
        format!(
            "{}/add-checkpoint",
            self.base.as_str().trim_end_matches('/')
        )
    }

    /// Whether it is on this machine: then no proxy of the environment stands between.
    pub(crate) fn is_local(&self) -> bool {
        let host = self.base.host_str().unwrap_or_default();
        let host = host.trim_start_matches('[').trim_end_matches(']');
        host == "localhost"
            || host
                .parse::<std::net::IpAddr>()
                .is_ok_and(|address| address.is_loopback())
    }
}

impl FromStr for WitnessAddress {
    type Err = BadWitness;

    fn from_str(text: &str) -> Result<Self, BadWitness> {
        let (key, base) = text.split_once('@').ok_or(BadWitness::Form)?;
        let key: VerifierKey = key.parse().map_err(
            |error: remembrancer_schema::verifier_key::VerifierKeyError| {
                BadWitness::Key(error.to_string())
            },
        )?;
        if key.algorithm != NoteAlgorithm::Cosignature {
            return Err(BadWitness::NotAWitness(key.name.to_string()));
        }
        let base = Url::parse(base).map_err(|_| BadWitness::Address)?;
        let is_fit = matches!(base.scheme(), "http" | "https")
            && base.host_str().is_some()
            && base.username().is_empty()
            && base.password().is_none()
            && base.query().is_none()
            && base.fragment().is_none();
        if is_fit {
            Ok(Self { key, base })
        } else {
            Err(BadWitness::Address)
        }
    }
}

impl fmt::Display for WitnessAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}@{}", self.key, self.base)
    }
}
