//! Ed25519 keys, their PEM forms and the key ids of C2SP signed notes.

use ed25519_dalek::pkcs8::{
    DecodePublicKey, EncodePrivateKey, EncodePublicKey, spki::der::pem::LineEnding,
};
use ed25519_dalek::{Signer, pkcs8::DecodePrivateKey};
use sha2::{Digest, Sha256};

/// Kinds of signatures in a signed note (C2SP `signed-note`), each with its own key id for the same name and key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoteAlgorithm {
    /// Ed25519 over the note's text.
    Ed25519,
    /// A witness's Ed25519 signature over a time and the note's text (C2SP `tlog-cosignature`).
    Cosignature,
}

impl NoteAlgorithm {
    /// The byte that stands for it.
    pub fn byte(self) -> u8 {
        match self {
            Self::Ed25519 => 1,
            Self::Cosignature => 4,
        }
    }

    /// What a byte stands for.
    pub fn of(byte: u8) -> Option<Self> {
        [Self::Ed25519, Self::Cosignature]
            .into_iter()
            .find(|algorithm| algorithm.byte() == byte)
    }
}

/// Why a key was refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum KeyError {
    /// Not a PEM file with an Ed25519 private key (PKCS#8).
    #[error("not an Ed25519 private key in PKCS#8 PEM form: {0}")]
    Private(String),
    /// Not a PEM file with an Ed25519 public key.
    #[error("not an Ed25519 public key in SPKI PEM form: {0}")]
    Public(String),
}

/// A ledger's private key. Wiped from memory when dropped; its `Debug` form shows nothing of it.
pub struct LedgerKey(ed25519_dalek::SigningKey);

impl LedgerKey {
    /// Builds the key from 32 random bytes.
    pub fn from_seed(seed: &[u8; 32]) -> Self {
        Self(ed25519_dalek::SigningKey::from_bytes(seed))
    }

    /// Reads a PKCS#8 PEM file.
    pub fn from_pem(pem: &str) -> Result<Self, KeyError> {
        ed25519_dalek::SigningKey::from_pkcs8_pem(pem)
            .map(Self)
            .map_err(|error| KeyError::Private(error.to_string()))
    }

    /// The key as PKCS#8 PEM, readable by `openssl pkey`.
    pub fn to_pem(&self) -> Result<String, KeyError> {
        self.0
            .to_pkcs8_pem(LineEnding::LF)
            .map(|pem| pem.to_string())
            .map_err(|error| KeyError::Private(error.to_string()))
    }

    /// Signs a message. The same message and key give the same 64 bytes (RFC 8032).
    pub fn sign(&self, message: &[u8]) -> [u8; 64] {
        self.0.sign(message).to_bytes()
    }

    /// The public half.
    pub fn public(&self) -> PublicKey {
        PublicKey(self.0.verifying_key())
    }
}

impl std::fmt::Debug for LedgerKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("LedgerKey(..)")
    }
}

/// A ledger's public key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PublicKey(ed25519_dalek::VerifyingKey);

impl PublicKey {
    /// Reads an SPKI PEM file, as written by `openssl pkey -pubout`.
    pub fn from_pem(pem: &str) -> Result<Self, KeyError> {
        ed25519_dalek::VerifyingKey::from_public_key_pem(pem)
            .map(Self)
            .map_err(|error| KeyError::Public(error.to_string()))
    }

    /// The key as SPKI PEM.
    pub fn to_pem(&self) -> Result<String, KeyError> {
        self.0
            .to_public_key_pem(LineEnding::LF)
            .map_err(|error| KeyError::Public(error.to_string()))
    }

    /// Whether `signature` is this key's over `message`: strict verification, which refuses the malleable and small-order
    /// forms that RFC 8032 leaves open.
    pub fn verifies(&self, message: &[u8], signature: &[u8; 64]) -> bool {
        self.0
            .verify_strict(message, &ed25519_dalek::Signature::from_bytes(signature))
            .is_ok()
    }

    /// Reads the 32 bytes of RFC 8032; `None` if they are no point of the curve.
    pub fn from_bytes(bytes: &[u8; 32]) -> Option<Self> {
        ed25519_dalek::VerifyingKey::from_bytes(bytes)
            .ok()
            .map(Self)
    }

    /// The 32 bytes of RFC 8032.
    pub fn to_bytes(&self) -> [u8; 32] {
        self.0.to_bytes()
    }

    /// The key id of plain signatures: [`Self::note_key_id_of`] Ed25519.
    pub fn note_key_id(&self, name: &str) -> [u8; 4] {
        self.note_key_id_of(name, NoteAlgorithm::Ed25519)
    }

    /// The first four bytes of SHA-256 over name, newline, algorithm byte and key (C2SP `signed-note`).
    pub fn note_key_id_of(&self, name: &str, algorithm: NoteAlgorithm) -> [u8; 4] {
        let mut hasher = Sha256::new();
        hasher.update(name.as_bytes());
        hasher.update([b'\n', algorithm.byte()]);
        hasher.update(self.0.as_bytes());
        let digest: [u8; 32] = hasher.finalize().into();
        [digest[0], digest[1], digest[2], digest[3]]
    }

    /// SHA-256 of the raw key in hexadecimal, to be compared by people out of band.
    pub fn fingerprint(&self) -> String {
        hex::encode(Sha256::digest(self.0.as_bytes()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_survive_their_pem_forms_and_debug_shows_no_secret() {
        let key = LedgerKey::from_seed(&[3; 32]);
        let again = LedgerKey::from_pem(&key.to_pem().expect("encodes")).expect("decodes");
        let public =
            PublicKey::from_pem(&key.public().to_pem().expect("encodes")).expect("decodes");
        assert_eq!(again.public(), public);
        assert!(public.verifies(b"message", &again.sign(b"message")));
        assert!(!public.verifies(b"massage", &again.sign(b"message")));
        assert!(
            !LedgerKey::from_seed(&[4; 32])
                .public()
                .verifies(b"message", &again.sign(b"message"))
        );
        assert_eq!(format!("{key:?}"), "LedgerKey(..)");
        assert!(PublicKey::from_pem("nonsense").is_err());
    }
}
