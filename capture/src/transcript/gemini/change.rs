//! What another list in the place of the messages did to them.
//!
//! Nothing in the file says why a list was replaced. What left and what came is told from the two lists, by the ids of their
//! messages, and never from their words.

use std::collections::HashSet;

use remembrancer_schema::payload::MutationKind;

use super::message::Message;
use crate::transcript::history::Entry;

/// What another list did to the messages.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Change {
    /// None where it only added to them.
    pub(super) kind: Option<MutationKind>,
    /// Positions in the new list of what stands in for what left: new messages before the first that stayed.
    pub(super) summary: Vec<usize>,
}

impl Change {
    pub(super) fn of(before: &[Entry], after: &[Message]) -> Self {
        let plain = |kind| Self {
            kind,
            summary: Vec::new(),
        };
        let known: HashSet<&str> = before.iter().map(|entry| entry.id.as_str()).collect();
        let kept: Vec<&str> = after
            .iter()
            .map(|message| message.id.as_str())
            .filter(|id| known.contains(id))
            .collect();
        let grew = before.len() <= after.len()
            && before
                .iter()
                .zip(after)
                .all(|(entry, message)| entry.id == message.id);
        if before.is_empty() || grew {
            return plain(None);
        }
        if after.is_empty() {
            return plain(Some(MutationKind::Clear));
        }
        let is_start = before.len() > after.len()
            && before
                .iter()
                .zip(after)
                .all(|(entry, message)| entry.id == message.id);
        if is_start {
            return plain(Some(MutationKind::Rewind));
        }
        if kept.len() == after.len() {
            let kind = if kept.len() == before.len() {
                MutationKind::Rewrite
            } else {
                MutationKind::Truncation
            };
            return plain(Some(kind));
        }
        let news = after
            .iter()
            .take_while(|message| !known.contains(message.id.as_str()));
        let summary: Vec<usize> = news
            .zip(0usize..)
            .filter(|(message, _)| !message.is_models())
            .map(|(_, at)| at)
            .collect();
        let left = before.len() > kept.len();
        if left && !summary.is_empty() {
            Self {
                kind: Some(MutationKind::Compaction),
                summary,
            }
        } else {
            plain(Some(MutationKind::Rewrite))
        }
    }
}
