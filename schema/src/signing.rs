//! Ed25519 keys, their PEM forms and the key ids of C2SP signed notes.

use ed25519_dalek::pkcs8::{
    DecodePublicKey, EncodePrivateKey, EncodePublicKey, spki::der::pem::LineEnding,
};
use ed25519_dalek::{Signer, pkcs8::DecodePrivateKey};
use sha2::{Digest, Sha256};

/// Algorithm byte of a plain Ed25519 signature in a signed note (C2SP `signed-note`).
const NOTE_ALGORITHM_ED25519: u8 = 1;

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

    /// The first four bytes of SHA-256 over name, newline, algorithm byte and key (C2SP `signed-note`).
    pub fn note_key_id(&self, name: &str) -> [u8; 4] {
        let mut hasher = Sha256::new();
        hasher.update(name.as_bytes());
        hasher.update([b'\n', NOTE_ALGORITHM_ED25519]);
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
