//! The body of `add-checkpoint`: the size that the sender believes to be signed last, a proof of consistency, and a checkpoint.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use remembrancer_schema::TreeHash;
use remembrancer_schema::limits::NOTE_BYTES_MAX;

use super::Refusal;

/// Most hashes of a proof: more than a tree of 2^62 entries needs.
const PROOF_HASHES_MAX: usize = 63;
/// Largest body: size, proof and note.
pub(crate) const BODY_BYTES_MAX: usize = 32 + PROOF_HASHES_MAX * 64 + NOTE_BYTES_MAX;

/// A submitted checkpoint, in form and no more.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct AddCheckpoint<'a> {
    /// Size of the checkpoint that the proof starts from.
    pub(super) old: u64,
    pub(super) proof: Vec<TreeHash>,
    /// The signed note.
    pub(super) note: &'a str,
}

/// The body that asks for a checkpoint to be taken.
pub(super) fn body(old: u64, proof: &[TreeHash], note: &str) -> String {
    let proof: String = proof
        .iter()
        .map(|hash| format!("{}\n", STANDARD.encode(hash.as_bytes())))
        .collect();
    format!("old {old}\n{proof}\n{note}")
}

impl<'a> AddCheckpoint<'a> {
    pub(super) fn parse(body: &'a str) -> Result<Self, Refusal> {
        let wrong = |what: &str| Refusal::Malformed(what.to_owned());
        let (head, note) = body
            .split_once("\n\n")
            .ok_or_else(|| wrong("there is no empty line before the checkpoint"))?;
        let mut lines = head.split('\n');
        let old = lines
            .next()
            .and_then(|line| line.strip_prefix("old "))
            .filter(|old| old.bytes().all(|byte| byte.is_ascii_digit()))
            .filter(|old| *old == "0" || !old.starts_with('0'))
            .and_then(|old| old.parse().ok())
            .ok_or_else(|| wrong("the first line is not `old` and a size in decimal"))?;
        let mut proof = Vec::new();
        for line in lines {
            if proof.len() == PROOF_HASHES_MAX {
                return Err(wrong("the proof has more than 63 hashes"));
            }
            let hash = STANDARD
                .decode(line)
                .ok()
                .and_then(|bytes| TreeHash::try_from(bytes.as_slice()).ok())
                .ok_or_else(|| wrong("a line of the proof is not 32 bytes in base64"))?;
            proof.push(hash);
        }
        if note.len() > NOTE_BYTES_MAX {
            return Err(wrong("the checkpoint is too long"));
        }
        Ok(Self { old, proof, note })
    }
}
