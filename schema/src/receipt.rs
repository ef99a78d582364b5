//! The signed answer to one append.
//!
//! A client that keeps its receipts can later show that an entry was promised at an index with a hash: the one thing that
//! catches a key holder who rewrites what came after the last checkpoint that others hold.

use crate::hash::EntryHash;
use crate::id::{Origin, SessionId};
use crate::note::{self, NoteError};
use crate::signing::{LedgerKey, PublicKey};

/// First line of a receipt's text. An origin cannot hold spaces, so no checkpoint can be read as a receipt or the reverse.
const HEADER: &str = "remembrancer receipt v1";

/// A line with a session id of the usual length fits.
const LINE_BYTES_USUAL: usize = 128;

/// Where one event landed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReceiptLine {
    /// Index in the ledger, from 0.
    pub index: u64,
    /// The event's session.
    pub session: SessionId,
    /// Position in the session, from 0.
    pub sequence: u64,
    /// Hash of the entry, which is the session's head right after it.
    pub hash: EntryHash,
}

/// Signs a receipt: the header, the ledger's origin, then per entry its index, session, sequence number and hash.
pub fn sign(origin: &Origin, lines: &[ReceiptLine], key: &LedgerKey) -> String {
    let mut text = String::with_capacity(LINE_BYTES_USUAL * (lines.len() + 2));
    for part in [HEADER, "\n", origin.as_str(), "\n"] {
        text.push_str(part);
    }
    for line in lines {
        let (index, sequence) = (line.index.to_string(), line.sequence.to_string());
        let hash = line.hash.digits();
        let session = line.session.as_str();
        for part in [
            &index,
            " ",
            session,
            " ",
            &sequence,
            " ",
            hash.as_str(),
            "\n",
        ] {
            text.push_str(part);
        }
    }
    note::sign(&text, origin, key)
}

/// Reads a receipt and checks that `key` signed it for the ledger `origin`.
pub fn verify(
    receipt: &str,
    origin: &Origin,
    key: &PublicKey,
) -> Result<Vec<ReceiptLine>, NoteError> {
    let text = note::verify(receipt, origin, key)?;
    let mut lines = text.lines();
    if lines.next() != Some(HEADER) || lines.next() != Some(origin.as_str()) {
        return Err(NoteError::Malformed("not a receipt of this ledger"));
    }
    lines
        .map(|line| {
            parse_line(line).ok_or(NoteError::Malformed(
                "a receipt line has not four valid fields",
            ))
        })
        .collect()
}

fn parse_line(line: &str) -> Option<ReceiptLine> {
    let fields: Vec<&str> = line.split(' ').collect();
    let [index, session, sequence, hash] = fields[..] else {
        return None;
    };
    Some(ReceiptLine {
        index: index.parse().ok()?,
        session: session.parse().ok()?,
        sequence: sequence.parse().ok()?,
        hash: hash.parse().ok()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_receipt_survives_and_names_its_ledger() {
        let key = LedgerKey::from_seed(&[5; 32]);
        let origin: Origin = "ledger.example/a".parse().expect("valid");
        let line = ReceiptLine {
            index: 7,
            session: "run-1".parse().expect("valid"),
            sequence: 2,
            hash: EntryHash::from_bytes([1; 32]),
        };
        let receipt = sign(&origin, std::slice::from_ref(&line), &key);
        assert_eq!(verify(&receipt, &origin, &key.public()), Ok(vec![line]));
        let other = "ledger.example/b".parse().expect("valid");
        assert!(verify(&receipt, &other, &key.public()).is_err());
        assert!(verify(&receipt.replacen("\n7 ", "\n8 ", 1), &origin, &key.public()).is_err());
    }
}
