//! The salted commitment to a payload.
//!
//! An entry holds only this value, so erasing a payload and its salt leaves the chain whole, and nobody can guess an erased
//! value back by hashing candidates: the salt is 32 random bytes.

use std::sync::LazyLock;

use crate::hash::Commitment;

/// Domain of the commitment (BLAKE3 `derive_key` context).
pub const COMMITMENT_CONTEXT: &str = "remembrancer 2026-11 payload commitment v1";

/// The state of a hash that took nothing but its domain: made once, since making it hashes the domain's name.
static DOMAIN: LazyLock<blake3::Hasher> =
    LazyLock::new(|| blake3::Hasher::new_derive_key(COMMITMENT_CONTEXT));

/// 32 random bytes that blind one commitment. Drawn by the recorder; this crate has no source of randomness.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Salt([u8; 32]);

impl Salt {
    /// Takes 32 bytes drawn from a cryptographic source.
    pub const fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// The 32 bytes.
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl std::fmt::Debug for Salt {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Salt(..)")
    }
}

/// Commits to a payload: `derive_key(COMMITMENT_CONTEXT, salt ‖ length as 8 bytes little-endian ‖ payload)`.
pub fn commit(salt: &Salt, payload: &[u8]) -> Commitment {
    let mut hasher = DOMAIN.clone();
    hasher.update(&salt.0);
    hasher.update(&(payload.len() as u64).to_le_bytes());
    hasher.update(payload);
    Commitment::from_bytes(*hasher.finalize().as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn salt_and_every_byte_decide_the_commitment() {
        let salt = Salt::from_bytes([7; 32]);
        let commitment = commit(&salt, b"{}");
        assert_eq!(commitment, commit(&salt, b"{}"));
        assert_ne!(commitment, commit(&Salt::from_bytes([8; 32]), b"{}"));
        assert_ne!(commitment, commit(&salt, b"{ }"));
    }
}
