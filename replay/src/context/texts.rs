//! The texts that contexts may name by hash: everything that the session's events say, and the blobs that they introduce.

use std::borrow::Cow;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;

use remembrancer_schema::ContentHash;
use remembrancer_schema::payload::{ContextCaptured, Part, Payload};

use crate::analysis::{Absence, Content};

/// Every text of a session by its hash, however early or late it was recorded.
#[derive(Debug, Default)]
pub(super) struct Texts {
    inline: HashMap<ContentHash, Arc<str>>,
    blobs: HashMap<ContentHash, Blob>,
    bytes: usize,
}

#[derive(Debug)]
enum Blob {
    /// Nobody has asked for it as a text so far.
    Bytes(Arc<[u8]>),
    Text(Arc<str>),
    NotText(u64),
}

impl Texts {
    /// Keeps the texts of an event, and returns the hashes of those that are new. The texts of a capture are moved here: its
    /// parts name them by hash from then on.
    pub(super) fn keep(&mut self, payload: &mut Payload) -> Vec<ContentHash> {
        let mut new = Vec::new();
        match payload {
            Payload::ContextCaptured(captured) => {
                self.keep_parts(&mut captured.parts, &mut new);
            }
            Payload::ModelResponded(responded) => {
                for text in &responded.text {
                    self.note(Cow::Borrowed(text), &mut new);
                }
            }
            Payload::ContextMutated(mutated) => {
                if let Some(summary) = &mutated.summary {
                    self.note(Cow::Borrowed(&summary.text), &mut new);
                }
            }
            Payload::ArtifactChanged(changed) => {
                if let Some(text) = &changed.text {
                    self.note(Cow::Borrowed(text), &mut new);
                }
            }
            Payload::ToolCalled(called) => {
                if let Some(arguments) = &called.arguments {
                    self.note(Cow::Borrowed(arguments.get()), &mut new);
                }
            }
            Payload::ToolReturned(returned) => {
                if let Some(result) = &returned.result {
                    self.note(said(result.get()), &mut new);
                }
            }
            _ => {}
        }
        new
    }

    /// Keeps a blob; whether it is new.
    pub(super) fn keep_blob(&mut self, hash: ContentHash, bytes: &Arc<[u8]>) -> bool {
        match self.blobs.entry(hash) {
            Entry::Occupied(_) => false,
            Entry::Vacant(place) => {
                self.bytes += bytes.len();
                place.insert(Blob::Bytes(Arc::clone(bytes)));
                true
            }
        }
    }

    /// The content that a part names by its hash.
    pub(super) fn content(&mut self, hash: ContentHash, part: &Part) -> Content {
        let read = |text: &Arc<str>| Content {
            hash,
            bytes: Some(text.len() as u64),
            text: Some(Arc::clone(text)),
            absence: None,
        };
        let unread = |bytes, absence| Content {
            hash,
            bytes,
            text: None,
            absence: Some(absence),
        };
        if let Some(text) = self.inline.get(&hash) {
            return read(text);
        }
        let blob = self.blobs.get_mut(&hash).map(|blob| {
            blob.read();
            &*blob
        });
        let bytes = blob.map(Blob::len);
        if part.encrypted {
            return unread(bytes, Absence::Encrypted);
        }
        match (blob, &part.withheld) {
            (Some(Blob::Text(text)), _) => read(text),
            (_, Some(reason)) => unread(bytes, Absence::Withheld(reason.clone())),
            (Some(_), None) => unread(bytes, Absence::NotText),
            (None, None) => unread(None, Absence::NotRecorded),
        }
    }

    /// The parts that a blob lists; their texts are kept like those of an event.
    pub(super) fn listed(&mut self, hash: ContentHash) -> Result<Vec<Part>, String> {
        let bytes = match self.blobs.get(&hash) {
            Some(Blob::Bytes(bytes)) => &bytes[..],
            Some(Blob::Text(text)) => text.as_bytes(),
            Some(Blob::NotText(_)) => &[],
            None => return Err(format!("the list of its parts, {hash}, was never recorded")),
        };
        let mut parts: Vec<Part> = serde_json::from_slice(bytes)
            .map_err(|error| format!("the blob {hash} is no list of parts: {error}"))?;
        ContextCaptured::check_parts(&parts)
            .map_err(|error| format!("the list of its parts, {hash}: {error}"))?;
        self.keep_parts(&mut parts, &mut Vec::new());
        Ok(parts)
    }

    /// Moves the texts of parts here: the parts name them by hash from then on.
    fn keep_parts(&mut self, parts: &mut [Part], new: &mut Vec<ContentHash>) {
        for part in parts {
            if let Some(text) = part.text.take() {
                let hash = *part
                    .hash
                    .get_or_insert_with(|| ContentHash::of(text.as_bytes()));
                self.insert(hash, Cow::Owned(text), new);
            }
        }
    }

    /// Bytes of the texts and blobs.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    fn note(&mut self, text: Cow<'_, str>, new: &mut Vec<ContentHash>) {
        self.insert(ContentHash::of(text.as_bytes()), text, new);
    }

    fn insert(&mut self, hash: ContentHash, text: Cow<'_, str>, new: &mut Vec<ContentHash>) {
        if let Entry::Vacant(place) = self.inline.entry(hash) {
            self.bytes += text.len();
            place.insert(Arc::from(text));
            new.push(hash);
        }
    }
}

impl Blob {
    fn len(&self) -> u64 {
        match self {
            Self::Bytes(bytes) => bytes.len() as u64,
            Self::Text(text) => text.len() as u64,
            Self::NotText(bytes) => *bytes,
        }
    }

    fn read(&mut self) {
        if let Self::Bytes(bytes) = self {
            *self = match std::str::from_utf8(bytes) {
                Ok(text) => Self::Text(Arc::from(text)),
                Err(_) => Self::NotText(bytes.len() as u64),
            };
        }
    }
}

/// What a result says: a JSON string is the text in it, everything else the JSON as it was sent.
fn said(result: &str) -> Cow<'_, str> {
    if result.starts_with('"')
        && let Ok(text) = serde_json::from_str::<String>(result)
    {
        return Cow::Owned(text);
    }
    Cow::Borrowed(result)
}
