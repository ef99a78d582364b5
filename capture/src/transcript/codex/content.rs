//! The content of an item: a text, or a list of texts, images, and what only the provider reads.

use remembrancer_schema::ContentHash;
use remembrancer_schema::payload::{Part, PartKind};
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::transcript::unreadable::unreadable;

/// A piece of a content.
pub(super) enum Content {
    Text(String),
    /// The address of an image, which may hold its bytes.
    Image(String),
    /// For the provider alone.
    Encrypted(ContentHash),
    /// Something else: its JSON and its type.
    Unread(String, String),
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Fields {
    #[serde(rename = "type")]
    kind: String,
    text: Option<String>,
    image_url: Option<String>,
}

impl Content {
    fn of(json: &str) -> Self {
        if let Ok(text) = serde_json::from_str::<String>(json) {
            return Self::Text(text);
        }
        let fields = serde_json::from_str::<Fields>(json).unwrap_or_default();
        match fields {
            Fields { kind, .. } if kind == "encrypted_content" => {
                Self::Encrypted(ContentHash::of(json.as_bytes()))
            }
            Fields {
                image_url: Some(url),
                ..
            } => Self::Image(url),
            Fields {
                text: Some(text), ..
            } => Self::Text(text),
            Fields { kind, .. } => Self::Unread(json.to_owned(), kind),
        }
    }

    /// Its text, where it is one and not empty.
    pub(super) fn text(self) -> Option<String> {
        match self {
            Self::Text(text) => Some(text).filter(|text| !text.is_empty()),
            _ => None,
        }
    }

    /// What it adds to a context where it is no text; none for a text.
    pub(super) fn part(&self, kind: PartKind) -> Option<Part> {
        Some(match self {
            Self::Text(_) => return None,
            Self::Image(url) => Part {
                stub: true,
                ..Part::inline(PartKind::Other, image(url))
            },
            Self::Encrypted(hash) => Part {
                encrypted: true,
                ..Part::by_hash(kind, *hash)
            },
            Self::Unread(json, told_type) => unreadable(kind, json, told_type),
        })
    }
}

/// The pieces of a content, every one of them.
pub(super) fn contents(content: Option<&RawValue>) -> Vec<Content> {
    let Some(content) = content.map(RawValue::get).filter(|json| *json != "null") else {
        return Vec::new();
    };
    match serde_json::from_str::<Vec<Box<RawValue>>>(content) {
        Ok(list) => list.iter().map(|raw| Content::of(raw.get())).collect(),
        Err(_) => vec![Content::of(content)],
    }
}

/// What stands for an image.
pub(super) fn image(url: &str) -> String {
    format!(
        "[image, {} bytes as an address, BLAKE3 {}]",
        url.len(),
        ContentHash::of(url.as_bytes())
    )
}
