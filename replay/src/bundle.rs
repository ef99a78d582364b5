//! One file that holds a session, every byte that it refers to, its proofs and its signatures.
//!
//! A bundle is a ZIP without compression, extension `.rmb`. The same record, checkpoint and key give the same bytes. Its
//! layout, and how to check it by hand, stand in the `README.txt` inside, and in `docs/bundle-format.md`.

mod archive;
mod derived;
mod layout;
mod read;
mod sums;
mod verify;
mod write;

use remembrancer_schema::TreeHash;
use serde::{Deserialize, Serialize};

pub use archive::ArchiveError;
pub use layout::BUNDLE_BYTES_MAX;
pub use verify::{KeyStanding, ReportFacts, ReportRenderer, Verdict, Verification, verify};
pub use write::{BundleError, BundleInput, write};

/// Version of the analysis inside a bundle. A verifier of another version does not compare its own analysis with it.
pub const ANALYSIS_VERSION: u32 = 1;
/// Version of the program: files for people may change with it.
const PROGRAM: &str = env!("CARGO_PKG_VERSION");

/// `proofs.json`: that every entry is in the checkpoint, and that the checkpoint extends an earlier one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Proofs {
    /// Number of entries in the checkpoint's tree.
    pub size: u64,
    /// For each entry of the session, in order.
    pub inclusion: Vec<InclusionProof>,
    /// From the first checkpoint that held all of the session's entries, if it is an earlier one.
    pub consistency: Option<ConsistencyProof>,
}

/// That one entry is in the checkpoint (RFC 6962 §2.1.1).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct InclusionProof {
    /// The entry's index in the ledger.
    pub index: u64,
    /// Hashes from the leaf's sibling to the root's child.
    pub path: Vec<TreeHash>,
}

/// That the checkpoint extends an earlier one (RFC 6962 §2.1.2).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ConsistencyProof {
    /// The earlier checkpoint: a signed note.
    pub checkpoint: String,
    /// The proof.
    pub path: Vec<TreeHash>,
}

/// `analysis.json`, on one line: it is for programs, and grows with the session.
#[derive(Serialize)]
struct AnalysisFile<'a> {
    analysis_version: u32,
    program: &'static str,
    analysis: &'a crate::Analysis,
}

/// The bytes of `analysis.json` for an analysis.
fn analysis_bytes(analysis: &crate::Analysis) -> Vec<u8> {
    let file = AnalysisFile {
        analysis_version: ANALYSIS_VERSION,
        program: PROGRAM,
        analysis,
    };
    let mut bytes = serde_json::to_vec(&file).expect("an analysis holds nothing that JSON cannot");
    bytes.push(b'\n');
    bytes
}

/// The line of a `SHA256SUMS` file, as `sha256sum` writes it.
fn sums_line(name: &str, bytes: &[u8]) -> String {
    format!(
        "{}  {name}\n",
        layout::hex(&remembrancer_schema::hash::sha256(bytes))
    )
}

#[cfg(test)]
mod tests;
