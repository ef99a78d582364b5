//! The names and limits of a bundle's files.

/// How to verify by hand.
pub(super) const README: &str = "README.txt";
/// SHA-256 of every other file but the signature.
pub(super) const SUMS: &str = "SHA256SUMS";
/// Ed25519 over `SHA256SUMS`, 64 raw bytes.
pub(super) const SUMS_SIGNATURE: &str = "SHA256SUMS.sig";
/// The ledger's public key.
pub(super) const KEY: &str = "keys/ledger.pem";
/// The signed note.
pub(super) const CHECKPOINT: &str = "checkpoint";
/// Entry bytes, one a line.
pub(super) const ENTRIES: &str = "entries.jsonl";
/// Inclusion and consistency proofs.
pub(super) const PROOFS: &str = "proofs.json";
/// The analysis, recomputed on verification.
pub(super) const ANALYSIS: &str = "analysis.json";
/// The page for people.
pub(super) const REPORT: &str = "report.html";

/// Largest bundle that is read, in bytes.
pub const BUNDLE_BYTES_MAX: u64 = 1 << 30;
/// Most files that a bundle may hold.
pub(super) const BUNDLE_FILES_MAX: usize = 1_000_000;

/// Exact payload bytes of the entry with this sequence number.
pub(super) fn payload(sequence: u64) -> String {
    format!("payloads/{sequence:08}.json")
}

/// Salt of that payload: 64 hexadecimal digits and a newline.
pub(super) fn salt(sequence: u64) -> String {
    format!("payloads/{sequence:08}.salt")
}

/// A blob by its hash.
pub(super) fn blob(hash: &remembrancer_schema::ContentHash) -> String {
    format!("blobs/{hash}")
}

pub(super) fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    bytes
        .iter()
        .fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
            write!(text, "{byte:02x}").expect("writing to a string does not fail");
            text
        })
}
