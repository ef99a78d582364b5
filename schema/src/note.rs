//! C2SP signed notes: a text, a blank line, and one signature line per key.
//!
//! <https://c2sp.org/signed-note>

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::id::Origin;
use crate::signing::{LedgerKey, PublicKey};

pub(crate) const SIGNATURE_PREFIX: &str = "\u{2014} ";

/// Why a note was refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoteError {
    /// The text is not in the form of a signed note.
    #[error("not a signed note: {0}")]
    Malformed(&'static str),
    /// No signature line by the given key name and key id.
    #[error("the note has no signature by {0} with this key")]
    NoSignature(String),
    /// A signature line by the key does not verify.
    #[error("the signature by {0} does not verify")]
    BadSignature(String),
}

/// Signs `text`, which must end in a newline and hold no blank line at its end, under the key's name.
pub fn sign(text: &str, name: &Origin, key: &LedgerKey) -> String {
    debug_assert!(text.ends_with('\n'), "a note's text ends in a newline");
    let mut signature = key.public().note_key_id(name.as_str()).to_vec();
    signature.extend_from_slice(&key.sign(text.as_bytes()));
    format!(
        "{text}\n{SIGNATURE_PREFIX}{name} {}\n",
        STANDARD.encode(signature)
    )
}

/// Splits a note into its text, newline included, and its signature lines, without checking any signature.
pub fn split(note: &str) -> Result<(&str, &str), NoteError> {
    let at = note.rfind("\n\n").ok_or(NoteError::Malformed(
        "there is no blank line before the signatures",
    ))?;
    let (text, signatures) = (&note[..=at], &note[at + 2..]);
    if signatures.is_empty() || !signatures.ends_with('\n') {
        return Err(NoteError::Malformed(
            "the last signature line does not end in a newline",
        ));
    }
    if !signatures
        .lines()
        .all(|line| line.starts_with(SIGNATURE_PREFIX))
    {
        return Err(NoteError::Malformed(
            "a signature line does not start with an em dash and a space",
        ));
    }
    if text
        .chars()
        .any(|character| character != '\n' && character.is_control())
    {
        return Err(NoteError::Malformed("the text has a control character"));
    }
    Ok((text, signatures))
}

/// Returns the note's text if it bears a valid signature of `key` under `name`. Other signatures are ignored, as the
/// specification asks.
pub fn verify<'a>(note: &'a str, name: &Origin, key: &PublicKey) -> Result<&'a str, NoteError> {
    let (text, signatures) = split(note)?;
    let wanted = key.note_key_id(name.as_str());
    let mut found = false;
    for line in signatures.lines() {
        let fields = line
            .strip_prefix(SIGNATURE_PREFIX)
            .and_then(|rest| rest.split_once(' '));
        let Some((_, encoded)) = fields.filter(|(signer, _)| *signer == name.as_str()) else {
            continue;
        };
        let bytes = STANDARD
            .decode(encoded)
            .map_err(|_| NoteError::Malformed("a signature is not base64"))?;
        let Some((key_id, signature)) = bytes.split_first_chunk::<4>() else {
            return Err(NoteError::Malformed(
                "a signature is shorter than its key id",
            ));
        };
        if *key_id != wanted {
            continue;
        }
        let signature: &[u8; 64] = signature
            .try_into()
            .map_err(|_| NoteError::Malformed("an Ed25519 signature has not 64 bytes"))?;
        if !key.verifies(text.as_bytes(), signature) {
            return Err(NoteError::BadSignature(name.to_string()));
        }
        found = true;
    }
    if found {
        Ok(text)
    } else {
        Err(NoteError::NoSignature(name.to_string()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_note_verifies_whole_and_in_no_other_form() {
        let name: Origin = "ledger.example/a".parse().expect("valid");
        let key = LedgerKey::from_seed(&[1; 32]);
        let note = sign("one\ntwo\n", &name, &key);
        assert_eq!(verify(&note, &name, &key.public()), Ok("one\ntwo\n"));
        for at in 0..note.len() {
            let mut bytes = note.clone().into_bytes();
            bytes[at] ^= 1;
            if let Ok(changed) = String::from_utf8(bytes) {
                assert!(
                    verify(&changed, &name, &key.public()).is_err(),
                    "byte {at} changed: {changed:?}"
                );
            }
        }
        let other: Origin = "ledger.example/b".parse().expect("valid");
        assert_eq!(
            verify(&note, &other, &key.public()),
            Err(NoteError::NoSignature("ledger.example/b".into()))
        );
        let stranger = LedgerKey::from_seed(&[2; 32]).public();
        assert!(matches!(
            verify(&note, &name, &stranger),
            Err(NoteError::NoSignature(_))
        ));
    }
}
