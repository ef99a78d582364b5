//! How well a rebuilt context agrees with what the provider counted, and what follows from that.
//!
//! The size of a request is that of its messages and of what the file does not hold: system prompt, tools, rules files. What
//! the file does not hold stays about the same from request to request, so it is measured at the first request that begins with
//! the beginning of a conversation. It is compared where parts left: a part that was thought gone and was sent would show there.
//! In between a context grows by linked records, none of which can be missing; where it grows by more than they hold, their
//! texts were cut, which concerns what tools returned and not what was said.

/// Tokens that a compaction may add from disk and the file does not show: files read last, skills, plans.
const ADDED_FROM_DISK_MIN: u64 = 10_000;
/// Tokens that system prompt, tools and rules files take at most, where the first request does not tell.
const HEAD_TOKENS_MAX: u64 = 60_000;
/// Bytes of a text that make a token.
const TOKEN_BYTES: u64 = 4;

/// Estimated size of texts in tokens.
pub(super) fn estimated(bytes: u64) -> u64 {
    bytes.div_ceil(TOKEN_BYTES)
}

/// What is known of the sizes of a conversation's requests.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Sizes {
    /// Tokens of what the file does not hold.
    head: Option<u64>,
    /// Measured size of the last request.
    pub(super) last: Option<u64>,
}

/// What the size of a request says of a record that continues from one that is not in the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Continuity {
    /// What came before was still sent.
    Kept,
    /// It was not.
    Dropped,
    /// The sizes do not tell.
    Unclear,
}

impl Sizes {
    /// Takes the first request of a conversation that is known from its beginning.
    pub(super) fn begin(&mut self, measured: Option<u64>, estimated: u64) {
        if let Some(measured) = measured {
            self.head = Some(measured.saturating_sub(estimated));
        }
    }

    /// Tokens of what the file does not hold, where they are known.
    pub(super) fn head(&self) -> Option<u64> {
        self.head
    }

    /// Whether what stood before a dangling record was still sent with the request after it. `alone` is the estimated size of
    /// what follows the record.
    pub(super) fn continuity(&self, measured: Option<u64>, alone: u64) -> Continuity {
        let (Some(before), Some(after)) = (self.last, measured) else {
            return Continuity::Unclear;
        };
        let head = self.head.unwrap_or(0).min(before);
        let conversation = before - head;
        let after = after.saturating_sub(head).saturating_sub(alone);
        if after.saturating_mul(5) >= conversation.saturating_mul(4) {
            Continuity::Kept
        } else if self.head.is_some() && after.saturating_mul(4) <= conversation {
            Continuity::Dropped
        } else {
            Continuity::Unclear
        }
    }

    /// Why parts that are thought gone may have been sent, at the first request after parts left.
    pub(super) fn after_loss(&self, measured: Option<u64>, estimated: u64) -> Option<String> {
        let measured = measured?;
        let head = self.head.unwrap_or(HEAD_TOKENS_MAX);
        let excess = measured.saturating_sub(estimated).saturating_sub(head);
        let before = self.last.unwrap_or(0).saturating_sub(head);
        let allowed = (before / 4).max(ADDED_FROM_DISK_MIN);
        (excess > allowed).then(|| {
            format!(
                "the request had {measured} tokens; the transcript accounts for about {estimated}, and {head} are taken for \
                 what it never holds (system prompt, tools, rules files): parts that seem gone may have been sent"
            )
        })
    }

    /// Why parts that are thought sent may not have been.
    pub(super) fn too_large(measured: Option<u64>, estimated: u64) -> Option<String> {
        let measured = measured?;
        let allowed = measured.saturating_add(measured / 2).saturating_add(10_000);
        (estimated > allowed).then(|| {
            format!(
                "the request had {measured} tokens and the rebuilt texts about {estimated}: some of them were not sent"
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sizes(head: Option<u64>, last: u64) -> Sizes {
        Sizes {
            head,
            last: Some(last),
        }
    }

    #[test]
    fn a_request_that_stays_large_kept_what_came_before() {
        let known = sizes(Some(40_000), 100_000);
        assert_eq!(known.continuity(Some(101_000), 500), Continuity::Kept);
        assert_eq!(known.continuity(Some(41_000), 500), Continuity::Dropped);
        assert_eq!(known.continuity(Some(70_000), 500), Continuity::Unclear);
        assert_eq!(known.continuity(None, 500), Continuity::Unclear);
        let unknown = sizes(None, 100_000);
        assert_eq!(unknown.continuity(Some(99_000), 500), Continuity::Kept);
        assert_eq!(unknown.continuity(Some(20_000), 500), Continuity::Unclear);
    }

    #[test]
    fn what_a_compaction_adds_from_disk_is_allowed_and_more_is_not() {
        let known = sizes(Some(40_000), 168_000);
        assert_eq!(known.after_loss(Some(52_000), 2_000), None);
        let reason = known.after_loss(Some(120_000), 2_000);
        assert!(reason.is_some_and(|reason| reason.contains("120000")));
        assert_eq!(known.after_loss(None, 2_000), None);
    }

    #[test]
    fn texts_that_are_larger_than_the_request_are_told() {
        assert_eq!(Sizes::too_large(Some(50_000), 60_000), None);
        assert!(Sizes::too_large(Some(50_000), 90_000).is_some());
    }
}
