//! What of a request tells which conversation it belongs to.

use std::collections::BTreeSet;

use remembrancer_schema::ContentHash;
use remembrancer_schema::payload::{Part, PartKind};

use super::Scope;
use crate::cut::prefix;
use crate::model_api::{Api, Group, KeptContext, ModelRequest};

/// The first bytes of a hash: enough to tell the parts of conversations apart.
pub(super) type Key = u64;

/// What a request looks like to the matching.
#[derive(Debug)]
pub struct Appearance {
    pub(super) scope: Scope,
    pub(super) keys: Vec<Key>,
    /// Which of these are the model's own.
    pub(super) spoken: Vec<bool>,
    pub(super) instructions: Key,
    pub(super) calls: BTreeSet<Key>,
    /// Messages' parts that no other conversation has by chance: those with ids, encrypted ones, and summaries.
    pub(super) unique: BTreeSet<Key>,
    /// Whether its beginning reads like what a compaction leaves.
    pub(super) reads_like_a_summary: bool,
    pub(super) response: Option<String>,
}

impl Appearance {
    /// That of a request; `named` is the session that the client names outside the body.
    pub fn of(api: Api, request: &ModelRequest, named: Option<&str>) -> Self {
        let conversation = match &request.kept {
            Some(KeptContext::Conversation(id)) => Some(("conversation".to_owned(), id.clone())),
            _ => None,
        };
        let is_one = named.is_some() || conversation.is_some();
        let group = request.group.as_ref();
        let in_body = || group.map(|Group { key, field }| ((*field).to_owned(), key.clone()));
        let header = named.map(|name| ("header".to_owned(), name.to_owned()));
        let messages = || request.left_out.iter().chain(&request.parts);
        let sent = || messages().filter(|part| part.message.is_some());
        // Some APIs take them as messages, before all others.
        let instructions = request
            .parts
            .iter()
            .filter(|part| part.message.is_none() && part.kind == PartKind::System)
            .chain(sent().take_while(|part| part.kind == PartKind::System));
        Self {
            scope: Scope {
                // A session that is named as one may speak several APIs.
                api: if is_one { "" } else { api.as_str() }.to_owned(),
                named: header.or(conversation).or_else(in_body),
                is_one,
            },
            keys: sent().map(part_key).collect(),
            spoken: sent().map(is_spoken).collect(),
            instructions: list_key(instructions),
            unique: sent()
                .filter(|part| {
                    part.encrypted || part.call_id.is_some() || part.kind == PartKind::Summary
                })
                .map(part_key)
                .collect(),
            reads_like_a_summary: sent()
                .filter(|part| part.kind != PartKind::System)
                .take(SUMMARY_PARTS_MAX)
                .any(is_summary),
            calls: messages()
                .filter(|part| matches!(part.kind, PartKind::ToolCall | PartKind::ToolResult))
                .filter_map(|part| part.call_id.as_deref().map(text_key))
                .collect(),
            response: match &request.kept {
                Some(KeptContext::Response(id)) => Some(id.clone()),
                _ => None,
            },
        }
    }

    /// The field that names the session or conversation, and the name.
    pub fn named(&self) -> Option<(&str, &str)> {
        let (field, key) = self.scope.named.as_ref()?;
        Some((field, key))
    }
}

/// Parts at the beginning of a request among which a summary is looked for, and bytes of each.
const SUMMARY_PARTS_MAX: usize = 4;
const SUMMARY_BYTES_MAX: usize = 2048;
/// Words that clients put before a summary, in small letters.
const SUMMARY_WORDS: [&str; 6] = [
    "continued from a previous conversation",
    "summary of the conversation",
    "conversation summary",
    "summary of our conversation",
    "conversation history has been",
    "<summary>",
];

/// Whether a part is a summary, or reads like one.
fn is_summary(part: &Part) -> bool {
    let text = part.text.as_deref().unwrap_or_default();
    let start = prefix(text, SUMMARY_BYTES_MAX).to_ascii_lowercase();
    part.kind == PartKind::Summary || SUMMARY_WORDS.iter().any(|words| start.contains(words))
}

fn is_spoken(part: &Part) -> bool {
    matches!(
        part.kind,
        PartKind::Assistant | PartKind::Reasoning | PartKind::ToolCall
    )
}

pub(super) fn text_key(text: &str) -> Key {
    let mut first = [0; 8];
    first.copy_from_slice(&ContentHash::of(text.as_bytes()).as_bytes()[..8]);
    Key::from_le_bytes(first)
}

pub(super) fn part_key(part: &Part) -> Key {
    let content = match (&part.text, part.hash) {
        (Some(text), _) => text_key(text),
        (None, hash) => text_key(&hash.map(|hash| hash.to_string()).unwrap_or_default()),
    };
    // Runs of the same task may read the same; their calls have ids of their own.
    let call = part.call_id.as_deref().unwrap_or_default();
    text_key(&format!("{} {content} {call}", part.kind.as_str()))
}

fn list_key<'a>(parts: impl Iterator<Item = &'a Part>) -> Key {
    text_key(
        &parts
            .map(|part| format!("{} ", part_key(part)))
            .collect::<String>(),
    )
}
