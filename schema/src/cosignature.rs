//! What a witness signs: that it saw a checkpoint at a time, and that it extends all that it saw before. C2SP
//! `tlog-cosignature`, version 1, Ed25519.
//!
//! <https://c2sp.org/tlog-cosignature>

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::id::Origin;
use crate::note::{self, NoteError, SIGNATURE_PREFIX};
use crate::signing::{LedgerKey, NoteAlgorithm};
use crate::verifier_key::VerifierKey;

/// Key id, time and signature.
const BYTES: usize = 4 + 8 + 64;

/// A signature line that a witness made, with the time that it states.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cosignature {
    /// The whole line, its newline included.
    pub line: String,
    /// Seconds since 1970, by the witness's clock.
    pub time: u64,
}

/// The bytes that are signed: a text that no note can be, so that no cosignature is a signature of something else.
fn message(time: u64, text: &str) -> Vec<u8> {
    format!("cosignature/v1\ntime {time}\n{text}").into_bytes()
}

/// Cosigns a note's text, its last newline included, as it stands at a time in seconds since 1970.
pub fn sign(text: &str, time: u64, name: &Origin, key: &LedgerKey) -> Cosignature {
    let key_id = key
        .public()
        .note_key_id_of(name.as_str(), NoteAlgorithm::Cosignature);
    let mut bytes = Vec::with_capacity(BYTES);
    bytes.extend_from_slice(&key_id);
    bytes.extend_from_slice(&time.to_be_bytes());
    bytes.extend_from_slice(&key.sign(&message(time, text)));
    Cosignature {
        line: format!("{SIGNATURE_PREFIX}{name} {}\n", STANDARD.encode(bytes)),
        time,
    }
}

/// The cosignature of a witness among signature lines over a note's text. Lines of others are ignored; one of this witness
/// that does not verify is an error.
pub fn find(
    text: &str,
    lines: &str,
    witness: &VerifierKey,
) -> Result<Option<Cosignature>, NoteError> {
    let key_id = witness.key_id();
    let mut newest: Option<Cosignature> = None;
    for line in lines.lines() {
        let fields = line
            .strip_prefix(SIGNATURE_PREFIX)
            .and_then(|rest| rest.split_once(' '));
        let Some((_, encoded)) = fields.filter(|(name, _)| *name == witness.name.as_str()) else {
            continue;
        };
        let bytes = STANDARD
            .decode(encoded)
            .map_err(|_| NoteError::Malformed("a signature is not base64"))?;
        let Some((_, stated)) = bytes
            .split_first_chunk::<4>()
            .filter(|(id, _)| **id == key_id)
        else {
            continue;
        };
        let split = stated
            .split_first_chunk::<8>()
            .and_then(|(time, signature)| {
                let signature: &[u8; 64] = signature.try_into().ok()?;
                Some((u64::from_be_bytes(*time), signature))
            });
        let (time, signature) = split.ok_or(NoteError::Malformed(
            "a cosignature has not 8 bytes of time and 64 of signature",
        ))?;
        let is_valid =
            i64::try_from(time).is_ok() && witness.key.verifies(&message(time, text), signature);
        if !is_valid {
            return Err(NoteError::BadSignature(witness.name.to_string()));
        }
        if newest.as_ref().is_none_or(|newest| newest.time < time) {
            newest = Some(Cosignature {
                line: format!("{line}\n"),
                time,
            });
        }
    }
    Ok(newest)
}

/// The cosignatures of these witnesses that a note bears, each witness's newest one.
pub fn of_witnesses(
    note: &str,
    witnesses: &[VerifierKey],
) -> Result<Vec<(Origin, Cosignature)>, NoteError> {
    let (text, lines) = note::split(note)?;
    let mut found = Vec::new();
    for witness in witnesses {
        if let Some(cosignature) = find(text, lines, witness)? {
            found.push((witness.name.clone(), cosignature));
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checkpoint::Checkpoint;
    use crate::merkle::leaf_hash;

    fn name(text: &str) -> Origin {
        text.parse().expect("valid")
    }

    fn note() -> (String, LedgerKey) {
        let key = LedgerKey::from_seed(&[1; 32]);
        let checkpoint = Checkpoint {
            origin: name("ledger.example/a"),
            size: 7,
            root: leaf_hash(b"x"),
        };
        (checkpoint.sign(&key), key)
    }

    #[test]
    fn a_cosigned_note_is_the_ledgers_and_its_witnesses() {
        let (mut note, ledger) = note();
        let (text, _) = note::split(&note).expect("a note");
        let text = text.to_owned();
        let keys = [2, 3].map(|seed| LedgerKey::from_seed(&[seed; 32]));
        let witnesses = [
            VerifierKey::of_witness(name("w.example/1"), keys[0].public()),
            VerifierKey::of_witness(name("w.example/2"), keys[1].public()),
        ];
        for (at, (key, witness)) in keys.iter().zip(&witnesses).enumerate() {
            let time = 1_700_000_000 + at as u64;
            note.push_str(&sign(&text, time, &witness.name, key).line);
        }
        Checkpoint::verify(&note, &ledger.public()).expect("further signatures are ignored");
        let found = of_witnesses(&note, &witnesses).expect("all verify");
        let times: Vec<u64> = found
            .iter()
            .map(|(_, cosignature)| cosignature.time)
            .collect();
        assert_eq!(times, [1_700_000_000, 1_700_000_001]);
        // Neither another witness's key under this name, nor this key as a ledger's.
        let stranger = VerifierKey::of_witness(name("w.example/1"), keys[1].public());
        assert_eq!(of_witnesses(&note, &[stranger]), Ok(vec![]));
        let plain = VerifierKey::of_ledger(name("w.example/1"), keys[0].public());
        assert_eq!(of_witnesses(&note, &[plain]), Ok(vec![]));
        assert!(note::verify(&note, &witnesses[0].name, &keys[0].public()).is_err());
        // Of two by the same witness the newer one counts.
        note.push_str(&sign(&text, 1_800_000_000, &witnesses[0].name, &keys[0]).line);
        let found = of_witnesses(&note, &witnesses[..1]).expect("both verify");
        assert_eq!((found.len(), found[0].1.time), (1, 1_800_000_000));
    }

    #[test]
    fn a_cosignature_of_another_text_or_time_does_not_verify() {
        let (note, _) = note();
        let (text, _) = note::split(&note).expect("a note");
        let key = LedgerKey::from_seed(&[2; 32]);
        let witness = VerifierKey::of_witness(name("w.example/1"), key.public());
        let line = sign(text, 1_700_000_000, &witness.name, &key).line;
        assert!(find(text, &line, &witness).expect("verifies").is_some());
        let other = text.replacen("\n7\n", "\n8\n", 1);
        assert!(find(&other, &line, &witness).is_err());
        let encoded = line.trim_end().rsplit(' ').next().expect("a field");
        let bytes = STANDARD.decode(encoded).expect("base64");
        assert_eq!(bytes.len(), BYTES);
        for at in 4..BYTES {
            let mut changed = bytes.clone();
            changed[at] ^= 1;
            let line = line.replacen(encoded, &STANDARD.encode(&changed), 1);
            assert!(find(text, &line, &witness).is_err(), "byte {at}");
        }
        for wrong in [&bytes[..BYTES - 1], &[&bytes[..], &[0]].concat()[..]] {
            let line = line.replacen(encoded, &STANDARD.encode(wrong), 1);
            assert!(matches!(
                find(text, &line, &witness),
                Err(NoteError::Malformed(_))
            ));
        }
    }

    /// The message that the specification prints.
    #[test]
    fn the_signed_message_is_that_of_the_specification() {
        let text =
            "example.com/behind-the-sofa\n20852163\nCsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=\n";
        let expected = "cosignature/v1\ntime 1679315147\nexample.com/behind-the-sofa\n20852163\n\
                        CsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=\n";
        assert_eq!(message(1_679_315_147, text), expected.as_bytes());
    }
}
