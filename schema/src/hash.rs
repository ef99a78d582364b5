//! 32-byte hashes, one type per meaning.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Text that is not 64 lower-case hexadecimal digits.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a hash: 64 lower-case hexadecimal digits are expected")]
pub struct HashError(pub String);

fn parse_hex(text: &str) -> Result<[u8; 32], HashError> {
    let refused = || HashError(text.chars().take(80).collect());
    if text.bytes().any(|byte| byte.is_ascii_uppercase()) {
        return Err(refused());
    }
    let mut bytes = [0; 32];
    hex::decode_to_slice(text, &mut bytes).map_err(|_| refused())?;
    Ok(bytes)
}

/// A hash as text, without the heap: every entry, receipt and answer writes several.
#[derive(Clone, Copy)]
pub(crate) struct HexDigits([u8; 64]);

impl HexDigits {
    fn of(bytes: &[u8; 32]) -> Self {
        const DIGITS: &[u8; 16] = b"0123456789abcdef";
        let mut text = [0; 64];
        for (pair, byte) in text.as_chunks_mut::<2>().0.iter_mut().zip(bytes) {
            *pair = [
                DIGITS[usize::from(byte >> 4)],
                DIGITS[usize::from(byte & 15)],
            ];
        }
        Self(text)
    }

    pub(crate) fn as_str(&self) -> &str {
        std::str::from_utf8(&self.0).expect("hexadecimal digits are ASCII")
    }
}

macro_rules! hash_type {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name([u8; 32]);

        impl $name {
            /// Takes 32 bytes that already are such a hash.
            pub const fn from_bytes(bytes: [u8; 32]) -> Self {
                Self(bytes)
            }

            /// The 32 bytes.
            pub const fn as_bytes(&self) -> &[u8; 32] {
                &self.0
            }

            /// All 64 hexadecimal digits.
            pub(crate) fn digits(&self) -> HexDigits {
                HexDigits::of(&self.0)
            }

            /// The first 12 hexadecimal digits, for people.
            pub fn short(&self) -> String {
                hex::encode(&self.0[..6])
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.digits().as_str())
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!(stringify!($name), "({})"), hex::encode(self.0))
            }
        }

        impl FromStr for $name {
            type Err = HashError;

            fn from_str(text: &str) -> Result<Self, HashError> {
                parse_hex(text).map(Self)
            }
        }

        impl TryFrom<&[u8]> for $name {
            type Error = HashError;

            fn try_from(bytes: &[u8]) -> Result<Self, HashError> {
                bytes.try_into().map(Self).map_err(|_| HashError(hex::encode(bytes)))
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.digits().as_str())
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                crate::text::parse(deserializer)
            }
        }

        impl JsonSchema for $name {
            fn schema_name() -> Cow<'static, str> {
                stringify!($name).into()
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!({ "type": "string", "pattern": "^[0-9a-f]{64}$" })
            }
        }
    };
}

hash_type!(
    /// BLAKE3 of a content's bytes: the address of a blob or of a context part.
    ContentHash
);
hash_type!(
    /// BLAKE3 in key-derivation mode over an entry's canonical bytes: the link of a session's chain.
    EntryHash
);
hash_type!(
    /// Salted BLAKE3 commitment to a payload.
    Commitment
);
hash_type!(
    /// SHA-256 of a leaf or a node of the ledger's RFC 6962 tree.
    TreeHash
);

impl ContentHash {
    /// Hashes the bytes of a content.
    pub fn of(bytes: &[u8]) -> Self {
        Self(*blake3::hash(bytes).as_bytes())
    }
}

/// SHA-256 of bytes, for the files that outsiders check with `sha256sum`.
pub fn sha256(bytes: &[u8]) -> [u8; 32] {
    use sha2::Digest as _;
    sha2::Sha256::digest(bytes).into()
}

/// SHA-256 of bytes that arrive piece by piece, for files that are too large to hold.
#[derive(Clone, Default)]
pub struct Sha256Stream(sha2::Sha256);

impl Sha256Stream {
    /// Nothing hashed yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes the next bytes.
    pub fn update(&mut self, bytes: &[u8]) {
        use sha2::Digest as _;
        self.0.update(bytes);
    }

    /// The hash of everything taken so far.
    pub fn finish(self) -> [u8; 32] {
        use sha2::Digest as _;
        self.0.finalize().into()
    }
}

impl fmt::Debug for Sha256Stream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Sha256Stream(..)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_parse_only_in_their_one_form() {
        let hash = ContentHash::of(b"");
        assert_eq!(
            hash.to_string(),
            "af1349b9f5f9a1a6a0404dea36dcc9499bcb25c9adc112b7cc9a93cae41f3262"
        );
        assert_eq!(hash.to_string().parse(), Ok(hash));
        assert!(
            hash.to_string()
                .to_uppercase()
                .parse::<ContentHash>()
                .is_err()
        );
        assert!("af13".parse::<ContentHash>().is_err());
        assert_eq!(hash.short(), "af1349b9f5f9");
    }

    #[test]
    fn pieces_hash_as_the_whole() {
        let mut stream = Sha256Stream::new();
        stream.update(b"abc");
        stream.update(b"");
        stream.update(b"def");
        assert_eq!(stream.finish(), sha256(b"abcdef"));
    }
}
