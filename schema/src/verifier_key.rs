//! Public keys in the one line by which programs of transparency logs are told whom to trust: the `vkey` of C2SP
//! `signed-note`, `<name>+<key id>+<base64(algorithm ‖ key)>`.
//!
//! <https://c2sp.org/signed-note#verifier-keys>

use std::fmt;
use std::str::FromStr;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::id::Origin;
use crate::signing::{NoteAlgorithm, PublicKey};

/// Why a line is not a key that can be used here.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum VerifierKeyError {
    /// Not three fields.
    #[error("a verifier key is NAME+KEYID+BASE64, in one line")]
    Form,
    /// A name that is no origin.
    #[error("the name of the verifier key is not valid: {0}")]
    Name(String),
    /// Not base64, or another number of bytes, or not a point of the curve.
    #[error(
        "the last field of the verifier key is not base64 of an algorithm byte and an Ed25519 key"
    )]
    Key,
    /// An algorithm that is not known here.
    #[error(
        "the verifier key is for signatures of the kind {0:#04x}; known are 0x01 (Ed25519) and 0x04 (Ed25519 cosignatures)"
    )]
    Algorithm(u8),
    /// The key id is of another name or key.
    #[error("the key id of the verifier key is {given}; name and key give {computed}")]
    KeyId {
        /// As written.
        given: String,
        /// As it should be.
        computed: String,
    },
}

/// Who signs, in what way, with which key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VerifierKey {
    /// The signer's name: a ledger's origin, or a witness's name.
    pub name: Origin,
    /// What kind of signature it makes.
    pub algorithm: NoteAlgorithm,
    /// The key.
    pub key: PublicKey,
}

impl VerifierKey {
    /// The key with which a ledger signs its checkpoints.
    pub fn of_ledger(name: Origin, key: PublicKey) -> Self {
        Self {
            name,
            algorithm: NoteAlgorithm::Ed25519,
            key,
        }
    }

    /// The key with which a witness signs what it saw.
    pub fn of_witness(name: Origin, key: PublicKey) -> Self {
        Self {
            name,
            algorithm: NoteAlgorithm::Cosignature,
            key,
        }
    }

    /// The four bytes by which signature lines name the key.
    pub fn key_id(&self) -> [u8; 4] {
        self.key.note_key_id_of(self.name.as_str(), self.algorithm)
    }
}

impl fmt::Display for VerifierKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut material = vec![self.algorithm.byte()];
        material.extend_from_slice(&self.key.to_bytes());
        write!(
            f,
            "{}+{}+{}",
            self.name,
            hex::encode(self.key_id()),
            STANDARD.encode(material)
        )
    }
}

impl FromStr for VerifierKey {
    type Err = VerifierKeyError;

    fn from_str(text: &str) -> Result<Self, VerifierKeyError> {
        // Base64 may hold a plus, names and key ids may not.
        let mut fields = text.trim().splitn(3, '+');
        let (Some(name), Some(key_id), Some(material)) =
            (fields.next(), fields.next(), fields.next())
        else {
            return Err(VerifierKeyError::Form);
        };
        let name: Origin = name
            .parse()
            .map_err(|error: crate::id::IdError| VerifierKeyError::Name(error.to_string()))?;
        let material = STANDARD
            .decode(material)
            .map_err(|_| VerifierKeyError::Key)?;
        let (algorithm, key) = material.split_first().ok_or(VerifierKeyError::Key)?;
        let algorithm =
            NoteAlgorithm::of(*algorithm).ok_or(VerifierKeyError::Algorithm(*algorithm))?;
        let key = <&[u8; 32]>::try_from(key)
            .ok()
            .and_then(PublicKey::from_bytes)
            .ok_or(VerifierKeyError::Key)?;
        let verifier = Self {
            name,
            algorithm,
            key,
        };
        let computed = hex::encode(verifier.key_id());
        if key_id != computed {
            return Err(VerifierKeyError::KeyId {
                given: key_id.chars().take(64).collect(),
                computed,
            });
        }
        Ok(verifier)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::signing::LedgerKey;

    #[test]
    fn keys_survive_their_line_and_wrong_lines_are_told_apart() {
        let name: Origin = "ledger.example/a".parse().expect("valid");
        let key = LedgerKey::from_seed(&[5; 32]).public();
        for verifier in [
            VerifierKey::of_ledger(name.clone(), key.clone()),
            VerifierKey::of_witness(name, key),
        ] {
            let line = verifier.to_string();
            assert_eq!(line.parse(), Ok(verifier.clone()));
            assert_eq!(format!("{line}\n").parse(), Ok(verifier.clone()));
            let renamed = line.replacen("/a+", "/b+", 1);
            assert!(matches!(
                renamed.parse::<VerifierKey>(),
                Err(VerifierKeyError::KeyId { .. })
            ));
        }
        for (text, error) in [
            ("", VerifierKeyError::Form),
            ("a+b", VerifierKeyError::Form),
            ("a+00000000+!", VerifierKeyError::Key),
            ("a+00000000+", VerifierKeyError::Key),
            ("a+00000000+AQ==", VerifierKeyError::Key),
            ("a+00000000+BgAA", VerifierKeyError::Algorithm(6)),
        ] {
            assert_eq!(text.parse::<VerifierKey>(), Err(error), "{text}");
        }
        assert!(matches!(
            "a b+00000000+AQ==".parse::<VerifierKey>(),
            Err(VerifierKeyError::Name(_))
        ));
    }

    /// A key of the world's checksum database of Go modules, as its documentation prints it.
    #[test]
    fn a_key_that_others_published_is_read() {
        let line = "sum.golang.org+033de0ae+Ac4zctda0e5eza+HJyk9SxEdh+s3Ux18htTTAD8OuAn8";
        let key: VerifierKey = line.parse().expect("valid");
        assert_eq!(key.algorithm, NoteAlgorithm::Ed25519);
        assert_eq!(key.to_string(), line);
    }
}
