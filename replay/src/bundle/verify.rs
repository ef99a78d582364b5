//! Verifying a bundle: with the file alone, and as far as a key from elsewhere allows.

use std::collections::{BTreeMap, HashMap};

use remembrancer_schema::checkpoint::Checkpoint;
use remembrancer_schema::merkle::{leaf_hash, verify_consistency, verify_inclusion};
use remembrancer_schema::signing::PublicKey;
use serde::Serialize;

use super::derived::{self, Derived};
use super::read::{ReadSession, session};
use super::{ArchiveError, Proofs, archive, layout, sums};
use crate::Analysis;
use crate::verify::Fault;

/// What a verification came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Everything holds, the session is sealed, and the key is the one that the auditor gave.
    Verified,
    /// Everything holds, but the key comes from the bundle itself.
    KeyNotConfirmed,
    /// Everything that is there holds; the session's end or some payloads are not there, or files that follow from the entries
    /// were not compared.
    Incomplete,
    /// Something does not hold.
    Failed,
}

/// Whether the bundle's key is one that the auditor knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum KeyStanding {
    /// It is the key that the auditor gave.
    Confirmed,
    /// No key was given to compare with.
    NotConfirmed,
    /// It is another key than the auditor gave.
    Differs,
}

/// What was checked and what came of it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Verification {
    /// The verdict.
    pub verdict: Verdict,
    /// Standing of the key.
    pub key: KeyStanding,
    /// SHA-256 of the bundle's key.
    pub key_fingerprint: Option<String>,
    /// The session.
    pub session: Option<String>,
    /// The ledger.
    pub origin: Option<String>,
    /// Entries that were read.
    pub entries: u64,
    /// Number of entries of the ledger at the checkpoint.
    pub checkpoint_size: Option<u64>,
    /// Whether the session is sealed.
    pub sealed: bool,
    /// The first entry of the session that does not hold.
    pub first_bad: Option<Fault>,
    /// Everything that does not hold: entries first, in order.
    pub faults: Vec<Fault>,
    /// What was checked and holds.
    pub checked: Vec<String>,
    /// What this verification does not prove.
    pub not_proven: Vec<String>,
    /// The signed note of the checkpoint, whose signature by the bundle's key holds. Witnesses may have signed it too.
    #[serde(skip)]
    pub checkpoint: Option<String>,
    /// The analysis, computed anew from the entries; only when nothing failed.
    #[serde(skip)]
    pub analysis: Option<Analysis>,
}

/// What a report states of the record that it belongs to.
#[derive(Debug, Clone, Copy)]
pub struct ReportFacts<'a> {
    /// The ledger's name.
    pub origin: &'a str,
    /// SHA-256 of the ledger's public key, in hexadecimal.
    pub fingerprint: &'a str,
    /// The signed checkpoint that the bundle holds.
    pub checkpoint: &'a str,
    /// Hash of the session's last entry, in hexadecimal.
    pub head: &'a str,
}

/// Renders `report.html` anew. Pages are another crate's; a verifier without one says that the report was not compared.
pub type ReportRenderer<'a> = &'a dyn Fn(&Analysis, &ReportFacts<'_>) -> Option<String>;

/// Verifies a bundle from its bytes. `trusted` is the ledger's key as the auditor knows it from elsewhere.
pub fn verify(
    bytes: &[u8],
    trusted: Option<&PublicKey>,
    render: Option<ReportRenderer<'_>>,
) -> Result<Verification, ArchiveError> {
    let archive::Files {
        contents: files,
        wrong_checksums,
    } = match archive::read(bytes) {
        // It can be read, and is not what it claims to be: that is a finding, not a failure to look.
        Err(ArchiveError::Refused(message)) => {
            let faults = vec![Fault::general(format!(
                "not the container of a bundle: {message}"
            ))];
            return Ok(conclude(
                faults,
                KeyStanding::NotConfirmed,
                None,
                None,
                None,
                Derived::default(),
            ));
        }
        outcome => outcome?,
    };
    let mut faults: Vec<Fault> = wrong_checksums
        .into_iter()
        .map(|name| {
            Fault::of_file(
                name,
                "the file does not have the checksum that the container states",
            )
        })
        .collect();
    let key = bundle_key(&files, &mut faults);
    faults.extend(sums::faults(&files, key.as_ref()));
    let read = session(&files);
    let checkpoint = key
        .as_ref()
        .and_then(|key| checkpoint(&files, key, &mut faults));
    match &read {
        None => faults.push(Fault::of_file(layout::ENTRIES, "no entry can be read")),
        Some(read) => {
            faults.extend(read.faults.iter().cloned());
            if let (Some(checkpoint), Some(key)) = (&checkpoint, &key) {
                faults.extend(proof_faults(&files, read, checkpoint, key));
            }
        }
    }
    let standing = match (trusted, &key) {
        (None, _) => KeyStanding::NotConfirmed,
        (Some(trusted), Some(key)) if trusted == key => KeyStanding::Confirmed,
        (Some(_), _) => {
            faults.push(Fault::of_file(
                layout::KEY,
                "the bundle is signed by another key than the one given",
            ));
            KeyStanding::Differs
        }
    };
    let mut derived = Derived::default();
    if let (Some(read), Some(key), true) = (&read, &key, faults.is_empty()) {
        derived = derived::compare(&files, &read.record, key, render);
        faults.append(&mut derived.faults);
    }
    let note = files
        .get(layout::CHECKPOINT)
        .filter(|_| checkpoint.is_some());
    let note = note.and_then(|note| String::from_utf8(note.clone()).ok());
    Ok(Verification {
        checkpoint: note,
        ..conclude(faults, standing, key, read, checkpoint, derived)
    })
}

fn bundle_key(files: &BTreeMap<String, Vec<u8>>, faults: &mut Vec<Fault>) -> Option<PublicKey> {
    let pem = files
        .get(layout::KEY)
        .map(|bytes| String::from_utf8_lossy(bytes));
    let key = pem
        .ok_or_else(|| "the file is missing".to_owned())
        .and_then(|pem| {
            let key = PublicKey::from_pem(&pem).map_err(|error| error.to_string())?;
            // PEM has many spellings of one key; a bundle has one.
            if key.to_pem().is_ok_and(|canonical| canonical == pem) {
                Ok(key)
            } else {
                Err("not in its one form".to_owned())
            }
        });
    key.map_err(|message| faults.push(Fault::of_file(layout::KEY, message)))
        .ok()
}

fn checkpoint(
    files: &BTreeMap<String, Vec<u8>>,
    key: &PublicKey,
    faults: &mut Vec<Fault>,
) -> Option<Checkpoint> {
    let note = files
        .get(layout::CHECKPOINT)
        .and_then(|bytes| std::str::from_utf8(bytes).ok());
    let checked = match note {
        None => Err("the file is missing or not UTF-8".to_owned()),
        Some(note) => Checkpoint::verify(note, key).map_err(|error| error.to_string()),
    };
    checked
        .map_err(|message| faults.push(Fault::of_file(layout::CHECKPOINT, message)))
        .ok()
}

/// Every entry is in the checkpoint's tree, and the checkpoint extends the earlier one.
fn proof_faults(
    files: &BTreeMap<String, Vec<u8>>,
    read: &ReadSession,
    checkpoint: &Checkpoint,
    key: &PublicKey,
) -> Vec<Fault> {
    let whole = |message: &str| vec![Fault::of_file(layout::PROOFS, message)];
    let Some(bytes) = files.get(layout::PROOFS) else {
        return whole("the file is missing");
    };
    let Ok(proofs) = serde_json::from_slice::<Proofs>(bytes) else {
        return whole("not the proofs of a bundle");
    };
    if proofs.size != checkpoint.size {
        return whole("the proofs lead to another size than the checkpoint's");
    }
    let mut faults = Vec::new();
    if proofs.inclusion.len() as u64 != read.chain.entries() {
        faults.extend(whole("there is not one proof for each entry"));
    }
    let by_index: HashMap<u64, &Vec<_>> = proofs
        .inclusion
        .iter()
        .map(|proof| (proof.index, &proof.path))
        .collect();
    for event in &read.record.events {
        let entry = &event.entry;
        let fault = |message: String| {
            Fault::of_entry(Some(entry.index), entry.sequence, message).in_file(layout::PROOFS)
        };
        if entry.origin != checkpoint.origin {
            faults.push(fault(format!(
                "the checkpoint is of another ledger, {}",
                checkpoint.origin
            )));
        }
        let Some(path) = by_index.get(&entry.index) else {
            faults.push(fault("no proof that it is in the checkpoint".to_owned()));
            continue;
        };
        let leaf = leaf_hash(&event.entry_bytes);
        if let Err(error) =
            verify_inclusion(&leaf, entry.index, checkpoint.size, path, &checkpoint.root)
        {
            faults.push(fault(format!(
                "not proven to be in the checkpoint: {error}"
            )));
        }
    }
    if let Some(consistency) = &proofs.consistency {
        let holds = Checkpoint::verify(&consistency.checkpoint, key)
            .map_err(|error| error.to_string())
            .and_then(|old| {
                if old.origin != checkpoint.origin {
                    return Err("the earlier checkpoint is of another ledger".to_owned());
                }
                verify_consistency(
                    old.size,
                    checkpoint.size,
                    &old.root,
                    &checkpoint.root,
                    &consistency.path,
                )
                .map_err(|error| {
                    format!("the checkpoint is not proven to extend the earlier one: {error}")
                })
            });
        faults.extend(
            holds
                .err()
                .map(|message| Fault::of_file(layout::PROOFS, message)),
        );
    }
    faults
}

fn conclude(
    mut faults: Vec<Fault>,
    key_standing: KeyStanding,
    key: Option<PublicKey>,
    read: Option<ReadSession>,
    checkpoint: Option<Checkpoint>,
    derived: Derived,
) -> Verification {
    // By place in the session: a damaged entry may claim any index.
    faults.sort_by_key(|fault| (fault.sequence.is_none(), fault.sequence));
    let chain = read.as_ref().map(|read| &read.chain);
    let sealed = chain.is_some_and(crate::verify::ChainVerifier::is_sealed);
    let absent = chain.map_or(0, crate::verify::ChainVerifier::absent_payloads);
    let verdict = if !faults.is_empty() {
        Verdict::Failed
    } else if !sealed || absent > 0 || !derived.not_compared.is_empty() {
        Verdict::Incomplete
    } else if key_standing == KeyStanding::Confirmed {
        Verdict::Verified
    } else {
        Verdict::KeyNotConfirmed
    };
    let entries = chain.map_or(0, crate::verify::ChainVerifier::entries);
    let mut not_proven = not_proven(key_standing, sealed, absent);
    not_proven.extend(derived.not_compared.iter().cloned());
    Verification {
        verdict,
        key: key_standing,
        key_fingerprint: key.map(|key| key.fingerprint()),
        session: read.as_ref().map(|read| read.record.session.to_string()),
        origin: checkpoint
            .as_ref()
            .map(|checkpoint| checkpoint.origin.to_string()),
        entries,
        checkpoint_size: checkpoint.map(|checkpoint| checkpoint.size),
        sealed,
        first_bad: faults
            .iter()
            .find(|fault| fault.sequence.is_some())
            .cloned(),
        checked: if faults.is_empty() {
            checked(entries, derived.compared)
        } else {
            Vec::new()
        },
        not_proven,
        checkpoint: None,
        analysis: derived.analysis.filter(|_| faults.is_empty()),
        faults,
    }
}

fn checked(entries: u64, derived: Vec<String>) -> Vec<String> {
    let mut checked = vec![
        "every file has the SHA-256 that the ledger's key signed, and there are no others"
            .to_owned(),
        format!("{entries} entries are in canonical form, numbered without gaps and linked"),
        "every payload matches its entry's commitment, every blob its address".to_owned(),
        "every entry is in the tree of the signed checkpoint".to_owned(),
    ];
    checked.extend(derived);
    checked
}

fn not_proven(key: KeyStanding, sealed: bool, absent: u64) -> Vec<String> {
    let mut open = vec![
        "that what the agent's side reported is what happened: the record shows what was sent to it, in which order".to_owned(),
        "that no other history was shown to somebody else: compare checkpoints with other holders".to_owned(),
    ];
    if key == KeyStanding::NotConfirmed {
        open.insert(
            0,
            "that the key is the ledger's: give the operator's published key with --key".to_owned(),
        );
    }
    if !sealed {
        open.push(
            "that the session ended here: it is not sealed, more entries may exist".to_owned(),
        );
    }
    if absent > 0 {
        open.push(format!(
            "what {absent} entries said: their payloads are not in the bundle"
        ));
    }
    open
}
