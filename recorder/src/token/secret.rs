//! What is stored of a key's secret: an argon2id PHC string. Keys that were made before that have the 32 bytes of BLAKE3 of
//! their secret until they are first used.

use argon2::password_hash::phc::PasswordHash;
use argon2::password_hash::{self, PasswordHasher as _, PasswordVerifier as _};
use argon2::{Algorithm, Argon2, Params, Version};
use remembrancer_schema::hash::ContentHash;
use subtle::ConstantTimeEq as _;

use crate::error::LedgerError;
use crate::random;

/// Memory of one hash: the least that OWASP's Password Storage Cheat Sheet asks for argon2id, with the passes and lanes below.
/// More would only make more work for whoever sends keys: a secret is 256 random bits, which nobody guesses at any speed.
const MEMORY_KIB: u32 = 19 * 1024;
const PASSES: u32 = 2;
const LANES: u32 = 1;
/// A stored hash that asks for more than this is not computed: whoever can write to the database could otherwise stop the
/// server with it.
const MEMORY_KIB_MAX: u32 = 256 * 1024;
const PASSES_MAX: u32 = 16;

/// What is stored of a new key's secret. Takes tens of milliseconds and [`MEMORY_KIB`].
pub(super) fn hash(secret: &[u8; 32]) -> Result<Vec<u8>, LedgerError> {
    let failed = |error: &dyn std::fmt::Display| LedgerError::Hashing(error.to_string());
    let params = Params::new(MEMORY_KIB, PASSES, LANES, None).map_err(|error| failed(&error))?;
    let salt: [u8; 16] = random::bytes()?;
    let hashed: PasswordHash = Argon2::new(Algorithm::Argon2id, Version::V0x13, params)
        .hash_password_with_salt(secret, &salt)
        .map_err(|error| failed(&error))?;
    Ok(hashed.to_string().into_bytes())
}

/// Whether what is stored was made before secrets were hashed with argon2id.
pub(super) fn is_old(stored: &[u8]) -> bool {
    stored.len() == 32
}

/// Whether a secret is the one of which this is stored. Compares in constant time.
pub(super) fn verify(secret: &[u8; 32], stored: &[u8]) -> Result<bool, LedgerError> {
    if is_old(stored) {
        return Ok(bool::from(ContentHash::of(secret).as_bytes().ct_eq(stored)));
    }
    let damaged =
        |reason: String| LedgerError::Damaged(format!("what is stored of a key: {reason}"));
    let text = std::str::from_utf8(stored).map_err(|error| damaged(error.to_string()))?;
    let hash = PasswordHash::new(text).map_err(|error| damaged(error.to_string()))?;
    let params = Params::try_from(&hash).map_err(|error| damaged(error.to_string()))?;
    if params.m_cost() > MEMORY_KIB_MAX || params.t_cost() > PASSES_MAX {
        return Err(damaged(format!(
            "its hash takes {} KiB and {} passes; at most {MEMORY_KIB_MAX} and {PASSES_MAX} are computed",
            params.m_cost(),
            params.t_cost()
        )));
    }
    match Argon2::default().verify_password(secret, &hash) {
        Ok(()) => Ok(true),
        Err(password_hash::Error::PasswordInvalid) => Ok(false),
        Err(error) => Err(LedgerError::Hashing(error.to_string())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_stored_is_an_argon2id_string_that_only_its_secret_fits() {
        let stored = hash(&[7; 32]).expect("hashes");
        let text = std::str::from_utf8(&stored).expect("text");
        assert!(
            text.starts_with("$argon2id$v=19$m=19456,t=2,p=1$"),
            "{text}"
        );
        assert!(!is_old(&stored));
        assert!(verify(&[7; 32], &stored).expect("verifies"));
        assert!(!verify(&[8; 32], &stored).expect("verifies"));
        assert_ne!(stored, hash(&[7; 32]).expect("hashes"), "salted");
    }

    #[test]
    fn what_was_stored_before_is_still_verified() {
        let old = ContentHash::of(&[7; 32]).as_bytes().to_vec();
        assert!(is_old(&old));
        assert!(verify(&[7; 32], &old).expect("verifies"));
        assert!(!verify(&[8; 32], &old).expect("verifies"));
    }

    #[test]
    fn a_hash_that_would_take_the_machine_is_refused() {
        let stored = String::from_utf8(hash(&[7; 32]).expect("hashes")).expect("text");
        for (what, with) in [("m=19456", "m=4000000"), ("t=2", "t=1000")] {
            let greedy = stored.replace(what, with);
            let refused = verify(&[7; 32], greedy.as_bytes()).expect_err(with);
            assert!(matches!(refused, LedgerError::Damaged(_)), "{refused}");
        }
        assert!(verify(&[7; 32], b"$argon2id$nonsense").is_err());
    }
}
