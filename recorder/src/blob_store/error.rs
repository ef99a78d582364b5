//! What can go wrong between the ledger and the place of its blobs.

use remembrancer_schema::ContentHash;

/// Why the store of blobs did not do what was asked. That a blob is not there is no error.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BlobStoreError {
    /// Not a place for blobs.
    #[error(
        "this is no place for blobs: {reason}; give a folder, file:///FOLDER, s3://BUCKET or s3://BUCKET/PREFIX"
    )]
    BadLocation {
        /// Why.
        reason: String,
    },
    /// An endpoint without TLS that is not this machine.
    #[error(
        "blobs would travel to {endpoint} unencrypted; use an https:// endpoint, or set AWS_ALLOW_HTTP=true if that network is trusted"
    )]
    PlainHttp {
        /// The endpoint.
        endpoint: String,
    },
    /// Settings that cannot be used.
    #[error("the store of blobs at {location} cannot be used: {reason}")]
    Settings {
        /// Where.
        location: String,
        /// Why.
        reason: String,
    },
    /// The place belongs to another ledger. Two ledgers in one place would collect each other's blobs as garbage.
    #[error(
        "{location} holds the blobs of the ledger {found}, not of {origin}; give each ledger a place of its own"
    )]
    AnotherLedger {
        /// Where.
        location: String,
        /// The ledger that it belongs to.
        found: String,
        /// The ledger that was opened.
        origin: String,
    },
    /// The place is empty, though the ledger has blobs there.
    #[error(
        "{location} is not the place where the ledger {origin} keeps its blobs: its file {marker} is not there; \
         mount the folder, or correct the address; if its blobs are lost for good, make that file with {origin} as its one line"
    )]
    NotClaimed {
        /// Where.
        location: String,
        /// The ledger that was opened.
        origin: String,
        /// Name of the file that should be there.
        marker: &'static str,
    },
    /// The store does not answer, or refuses; nothing is known of the blob.
    #[error("the store of blobs at {location} failed while {doing}: {reason}")]
    Unavailable {
        /// Where.
        location: String,
        /// What was tried.
        doing: &'static str,
        /// What happened.
        reason: String,
    },
    /// Other bytes stand where the blob should be written.
    #[error(
        "blob {hash} cannot be stored: {location} has other bytes under its address ({reason}); \
         somebody changed what is there: run `remembrancer verify --data DIR`, and put the right object back or move it away"
    )]
    Occupied {
        /// The blob.
        hash: ContentHash,
        /// Where.
        location: String,
        /// What is there.
        reason: String,
    },
    /// More bytes than a blob may have.
    #[error("the blob has {bytes} bytes; at most {max} are allowed")]
    TooLarge {
        /// Its size.
        bytes: usize,
        /// The limit.
        max: usize,
    },
}

const REASON_CHARS_MAX: usize = 400;
const CODE_CHARS_MAX: usize = 60;

/// What a store said, fit for a log line: a service's answer is text of others, and repeats the signed request with its
/// session token where a signature is wrong. Of an XML answer only its code is kept.
pub(super) fn reason(error: &dyn std::error::Error) -> String {
    let text = error.to_string();
    let (told, answer) = match text.find('<') {
        Some(start) => text.split_at(start),
        None => (text.as_str(), ""),
    };
    let code = answer
        .split_once("<Code>")
        .and_then(|(_, rest)| rest.split_once('<'))
        .map(|(code, _)| code)
        .map(|code| format!(" ({code})"))
        .unwrap_or_default();
    let told = told.trim_end_matches([' ', ':']).chars();
    told.take(REASON_CHARS_MAX)
        .chain(code.chars().take(CODE_CHARS_MAX))
        .map(|char| if char.is_control() { ' ' } else { char })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_repeats_no_signed_request() {
        let error = std::io::Error::other(
            "PUT http://h/b failed: 403 Forbidden: <?xml version=\"1.0\"?><Error><Code>SignatureDoesNotMatch</Code>\
             <CanonicalRequest>x-amz-security-token:SECRET</CanonicalRequest></Error>",
        );
        assert_eq!(
            reason(&error),
            "PUT http://h/b failed: 403 Forbidden (SignatureDoesNotMatch)"
        );
        let long = reason(&std::io::Error::other(format!(
            "a\n\u{1b}[2J{}",
            "x".repeat(900)
        )));
        assert!(long.starts_with("a  [2J"), "{long}");
        assert_eq!(long.chars().count(), REASON_CHARS_MAX);
    }
}
