//! Writing a bundle.

use std::collections::BTreeMap;

use remembrancer_schema::SessionId;
use remembrancer_schema::signing::{KeyError, LedgerKey};

use super::layout::{BUNDLE_BYTES_MAX, BUNDLE_FILES_MAX};
use super::{Proofs, analysis_bytes, archive, layout, sums_line};
use crate::Analysis;
use crate::record::SessionRecord;

/// What goes into a bundle.
#[derive(Debug)]
pub struct BundleInput<'a> {
    /// The session.
    pub record: &'a SessionRecord,
    /// Its analysis.
    pub analysis: &'a Analysis,
    /// The checkpoint that the proofs lead to: a signed note.
    pub checkpoint: &'a str,
    /// The proofs.
    pub proofs: &'a Proofs,
    /// The page for people: self-contained HTML.
    pub report: &'a str,
    /// The ledger's key, which signs the sums.
    pub key: &'a LedgerKey,
}

/// Why a bundle could not be written.
#[derive(Debug, thiserror::Error)]
pub enum BundleError {
    /// The key has no PEM form.
    #[error(transparent)]
    Key(#[from] KeyError),
    /// The container could not be written.
    #[error("the bundle's container could not be written: {0}")]
    Container(#[from] zip::result::ZipError),
    /// A bundle that no verifier would read.
    #[error(
        "the bundle would have {bytes} bytes in {files} files; at most {BUNDLE_BYTES_MAX} bytes in {BUNDLE_FILES_MAX} files are read"
    )]
    TooLarge {
        /// Its size in bytes.
        bytes: usize,
        /// Its number of files.
        files: usize,
    },
    /// The session has no entries.
    #[error("session {0} has no entries")]
    Empty(String),
}

/// Writes a bundle. The same input gives the same bytes.
pub fn write(input: &BundleInput<'_>) -> Result<Vec<u8>, BundleError> {
    if input.record.events.is_empty() {
        return Err(BundleError::Empty(input.record.session.to_string()));
    }
    let mut files = content_files(input)?;
    let sums: String = files
        .iter()
        .map(|(name, bytes)| sums_line(name, bytes))
        .collect();
    files.insert(
        layout::SUMS_SIGNATURE.to_owned(),
        input.key.sign(sums.as_bytes()).to_vec(),
    );
    files.insert(layout::SUMS.to_owned(), sums.into_bytes());

    let bytes = archive::write(&files)?;
    if bytes.len() as u64 > BUNDLE_BYTES_MAX || files.len() > BUNDLE_FILES_MAX {
        return Err(BundleError::TooLarge {
            bytes: bytes.len(),
            files: files.len(),
        });
    }
    Ok(bytes)
}

/// Every file but the sums and their signature.
fn content_files(input: &BundleInput<'_>) -> Result<BTreeMap<String, Vec<u8>>, BundleError> {
    let mut files = BTreeMap::new();
    let mut entries = Vec::new();
    for event in &input.record.events {
        entries.extend_from_slice(&event.entry_bytes);
        entries.push(b'\n');
        if let Some(payload) = &event.payload {
            let sequence = event.entry.sequence;
            files.insert(layout::payload(sequence), payload.data.as_bytes().to_vec());
            let salt = format!("{}\n", layout::hex(payload.salt.as_bytes()));
            files.insert(layout::salt(sequence), salt.into_bytes());
        }
    }
    for (hash, bytes) in &input.record.blobs {
        files.insert(layout::blob(hash), bytes.to_vec());
    }
    let mut proofs =
        serde_json::to_vec(input.proofs).expect("proofs hold only numbers and hexadecimal");
    proofs.push(b'\n');
    files.insert(layout::ENTRIES.to_owned(), entries);
    files.insert(layout::PROOFS.to_owned(), proofs);
    files.insert(
        layout::CHECKPOINT.to_owned(),
        input.checkpoint.as_bytes().to_vec(),
    );
    files.insert(
        layout::KEY.to_owned(),
        input.key.public().to_pem()?.into_bytes(),
    );
    files.insert(layout::ANALYSIS.to_owned(), analysis_bytes(input.analysis));
    files.insert(layout::REPORT.to_owned(), input.report.as_bytes().to_vec());
    files.insert(
        layout::README.to_owned(),
        readme(
            &input.record.session,
            input.record.events.len(),
            &input.key.public().fingerprint(),
        )
        .into_bytes(),
    );
    Ok(files)
}

/// The bytes of `README.txt`: they follow from the session, the number of its entries, and the key.
pub(super) fn readme(session: &SessionId, count: usize, fingerprint: &str) -> String {
    format!(
        "Remembrancer bundle of session {session}: {count} entries of a ledger.\n\
         \n\
         Check it by hand, in a folder where it was unpacked (unzip FILE.rmb):\n\
         \n\
         1. Every file is as it was when the bundle was signed:\n\
         \n\
         \x20  sha256sum -c SHA256SUMS\n\
         \n\
         2. The ledger's key signed that list:\n\
         \n\
         \x20  openssl pkeyutl -verify -pubin -inkey keys/ledger.pem -rawin -in SHA256SUMS -sigfile SHA256SUMS.sig\n\
         \n\
         3. The key is the ledger's. This file cannot prove that; compare the key's SHA-256 with the one that the\n\
         \x20  operator published elsewhere:\n\
         \n\
         \x20  {fingerprint}\n\
         \n\
         \x20  openssl pkey -pubin -in keys/ledger.pem -outform DER | tail -c 32 | sha256sum\n\
         \n\
         Deeper, with the program (it needs no network and no server): remembrancer verify FILE.rmb --key LEDGER.pem\n\
         checks every entry's bytes and link, the payloads against their commitments, the blobs against their addresses,\n\
         the proofs that every entry is in the signed checkpoint, and computes the analysis anew.\n\
         \n\
         Files: checkpoint (C2SP signed note), entries.jsonl (one canonical entry a line), payloads/NUMBER.json and .salt\n\
         (what each entry commits to), blobs/HASH (BLAKE3), proofs.json (RFC 6962), analysis.json and report.html\n\
         (computed from the rest).\n"
    )
}
