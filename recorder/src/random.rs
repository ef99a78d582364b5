//! The only place where this crate draws randomness.

use crate::error::LedgerError;

/// Random bytes from the operating system.
pub(crate) fn bytes<const N: usize>() -> Result<[u8; N], LedgerError> {
    let mut bytes = [0; N];
    fill(&mut bytes)?;
    Ok(bytes)
}

/// Fills a buffer with random bytes from the operating system.
pub(crate) fn fill(buffer: &mut [u8]) -> Result<(), LedgerError> {
    getrandom::fill(buffer).map_err(|error| LedgerError::Random(error.to_string()))
}
