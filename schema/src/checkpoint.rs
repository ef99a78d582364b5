//! The signed size and root of a ledger: C2SP `tlog-checkpoint`, three lines and no extension lines.
//!
//! <https://c2sp.org/tlog-checkpoint>

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::hash::TreeHash;
use crate::id::Origin;
use crate::note::{self, NoteError};
use crate::signing::{LedgerKey, PublicKey};

/// What a checkpoint says: a ledger's name, how many entries it holds, and the root of the tree over them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checkpoint {
    /// The ledger's name.
    pub origin: Origin,
    /// Number of entries.
    pub size: u64,
    /// RFC 6962 root over them.
    pub root: TreeHash,
}

impl Checkpoint {
    /// The checkpoint as a signed note.
    pub fn sign(&self, key: &LedgerKey) -> String {
        let text = format!(
            "{}\n{}\n{}\n",
            self.origin,
            self.size,
            STANDARD.encode(self.root.as_bytes())
        );
        note::sign(&text, &self.origin, key)
    }

    /// Reads a checkpoint and checks that `key` signed it under the origin that it names.
    pub fn verify(note: &str, key: &PublicKey) -> Result<Self, NoteError> {
        let checkpoint = Self::parse_unverified(note)?;
        note::verify(note, &checkpoint.origin, key)?;
        Ok(checkpoint)
    }

    /// Reads a checkpoint without checking its signatures. Nothing it says may be trusted.
    pub fn parse_unverified(note: &str) -> Result<Self, NoteError> {
        let (text, _) = note::split(note)?;
        let lines: Vec<&str> = text.lines().collect();
        let [origin, size, root] = lines[..] else {
            return Err(NoteError::Malformed("a checkpoint has exactly three lines"));
        };
        let origin = origin
            .parse()
            .map_err(|_| NoteError::Malformed("the first line is not a ledger origin"))?;
        if size.starts_with('+') || (size.starts_with('0') && size != "0") {
            return Err(NoteError::Malformed(
                "the size is not a decimal number without leading zeros",
            ));
        }
        let size = size
            .parse()
            .map_err(|_| NoteError::Malformed("the size is not a decimal number"))?;
        let root = STANDARD
            .decode(root)
            .map_err(|_| NoteError::Malformed("the root is not base64"))?;
        let root = TreeHash::try_from(root.as_slice())
            .map_err(|_| NoteError::Malformed("the root has not 32 bytes"))?;
        Ok(Self { origin, size, root })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::merkle::leaf_hash;

    #[test]
    fn a_checkpoint_survives_its_note() {
        let key = LedgerKey::from_seed(&[9; 32]);
        let origin = "ledger.example/a".parse().expect("valid");
        let checkpoint = Checkpoint {
            origin,
            size: 42,
            root: leaf_hash(b"x"),
        };
        let note = checkpoint.sign(&key);
        assert_eq!(Checkpoint::verify(&note, &key.public()), Ok(checkpoint));
        let longer = note.replacen("\n42\n", "\n42\nextension\n", 1);
        assert!(matches!(
            Checkpoint::parse_unverified(&longer),
            Err(NoteError::Malformed(_))
        ));
        let padded = note.replacen("\n42\n", "\n042\n", 1);
        assert!(matches!(
            Checkpoint::parse_unverified(&padded),
            Err(NoteError::Malformed(_))
        ));
    }
}
