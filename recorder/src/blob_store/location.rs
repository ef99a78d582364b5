//! Where the large blobs of a ledger are kept, as an operator writes it.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use super::error::BlobStoreError;

/// A folder, or a bucket of S3 or of a compatible service.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BlobLocation {
    /// A folder of this machine.
    Folder(PathBuf),
    /// A bucket, and the names in it that begin with a prefix.
    S3 {
        /// Name of the bucket.
        bucket: String,
        /// Segments before every name, without slashes at the ends; may be empty.
        prefix: String,
    },
}

const SCHEME: &str = "s3://";
const BUCKET_CHARS: std::ops::RangeInclusive<usize> = 3..=63;
/// Long enough for any layout; names in a bucket have at most 1,024 bytes.
const PREFIX_BYTES_MAX: usize = 512;

impl FromStr for BlobLocation {
    type Err = BlobStoreError;

    fn from_str(text: &str) -> Result<Self, BlobStoreError> {
        // The message repeats nothing of an address, which may hold a password by mistake.
        let bad = |reason: &str| BlobStoreError::BadLocation {
            reason: reason.to_owned(),
        };
        if let Some(path) = text.strip_prefix("file://") {
            if !path.starts_with('/') {
                return Err(bad("a file:// address has an absolute path"));
            }
            return Ok(Self::Folder(PathBuf::from(path)));
        }
        let Some(rest) = text.strip_prefix(SCHEME) else {
            // An address of something else would otherwise become a folder of that name.
            if text.contains("://") {
                return Err(bad("only file:// and s3:// addresses are known"));
            }
            if text.is_empty() {
                return Err(bad("it is empty"));
            }
            return Ok(Self::Folder(PathBuf::from(text)));
        };
        let (bucket, prefix) = rest.split_once('/').unwrap_or((rest, ""));
        let is_bucket_char =
            |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b".-_".contains(&byte);
        if !BUCKET_CHARS.contains(&bucket.len()) || !bucket.bytes().all(is_bucket_char) {
            return Err(bad(
                "a bucket's name has 3 to 63 lower-case letters, digits, dots and hyphens",
            ));
        }
        let prefix = prefix.strip_suffix('/').unwrap_or(prefix);
        let is_prefix_char = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
        let is_segment = |segment: &str| {
            !["", ".", ".."].contains(&segment) && segment.bytes().all(is_prefix_char)
        };
        if prefix.len() > PREFIX_BYTES_MAX
            || !(prefix.is_empty() || prefix.split('/').all(is_segment))
        {
            return Err(bad(
                "a prefix has segments of letters, digits, dots, hyphens and underscores, and at most 512 bytes",
            ));
        }
        Ok(Self::S3 {
            bucket: bucket.to_owned(),
            prefix: prefix.to_owned(),
        })
    }
}

impl fmt::Display for BlobLocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Folder(path) => write!(f, "{}", path.display()),
            Self::S3 { bucket, prefix } if prefix.is_empty() => write!(f, "{SCHEME}{bucket}"),
            Self::S3 { bucket, prefix } => write!(f, "{SCHEME}{bucket}/{prefix}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_location_is_read_as_it_is_written() {
        for text in [
            "s3://bucket",
            "s3://my.bucket-1/a/b_c",
            "data/blobs",
            "/var/lib/x",
        ] {
            let location: BlobLocation = text.parse().unwrap();
            assert_eq!(location.to_string(), text);
        }
        let folder: BlobLocation = "file:///var/x".parse().unwrap();
        assert_eq!(folder, BlobLocation::Folder("/var/x".into()));
        let with_slash: BlobLocation = "s3://bucket/a/".parse().unwrap();
        assert_eq!(with_slash.to_string(), "s3://bucket/a");
    }

    #[test]
    fn what_is_no_location_is_refused_with_a_reason() {
        for text in [
            "",
            "https://bucket.s3.amazonaws.com",
            "s3://",
            "s3://ab",
            "s3://Bucket",
            "s3://user:secret@bucket",
            "s3://bucket//a",
            "s3://bucket/../other",
            "s3://bucket/a b",
            "s3://bucket/a?x=1",
            "file://relative",
        ] {
            let error = text.parse::<BlobLocation>().unwrap_err().to_string();
            assert!(!error.contains("secret"), "{error}");
            assert!(error.contains("give a folder"), "{text:?}: {error}");
        }
        let long = format!("s3://bucket/{}", "a".repeat(513));
        assert!(long.parse::<BlobLocation>().is_err());
    }
}
