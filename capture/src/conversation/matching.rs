//! Which of the conversations that are known a request fits best.

use std::collections::BTreeMap;

use super::appearance::{Appearance, Key};
use super::{Conversation, MatchedBy};

/// Fewest parts of the end of an exchange that lead back to it: one text alone may stand anywhere.
const RUN_MIN: usize = 2;

type Best<'a> = (Option<&'a Conversation>, MatchedBy);

pub(super) fn best<'a, I: Iterator<Item = &'a Conversation>>(
    scope: impl Fn() -> I,
    request: &Appearance,
) -> Option<Best<'a>> {
    let extended = scope()
        .filter(|known| known.is_extended_by(request))
        .max_by_key(|known| (known.keys.len(), known.shared_calls(request), known.used));
    if extended.is_some() {
        return Some((extended, MatchedBy::Messages));
    }
    let by_calls = scope()
        .filter(|known| known.in_flight.is_none())
        .map(|known| (known.shared_calls(request), known.used, known))
        .filter(|(shared, ..)| *shared > 0)
        .max_by_key(|(shared, used, _)| (*shared, *used));
    if let Some((.., known)) = by_calls {
        return Some((Some(known), MatchedBy::Calls));
    }
    let same = || scope().filter(|known| known.instructions == request.instructions);
    let places: BTreeMap<Key, usize> = request
        .keys
        .iter()
        .enumerate()
        .map(|(at, key)| (*key, at))
        .collect();
    let overlapping: Vec<(usize, &Conversation)> = same()
        .map(|known| (known.overlap(request, &places), known))
        .filter(|(shared, _)| *shared > 0)
        .collect();
    let most = overlapping.iter().map(|(shared, _)| *shared).max();
    let mut alike = overlapping
        .into_iter()
        .filter(|(shared, _)| Some(*shared) == most);
    match (alike.next(), alike.next()) {
        (Some((_, known)), None) => return Some((Some(known), MatchedBy::Overlap)),
        // What stands in several conversations alike tells nothing about which one goes on.
        (Some(_), Some(_)) => return None,
        (None, _) => {}
    }
    // Within a session that the client's library names, agents of one kind share their instructions too: only a request that
    // reads like a compaction, while nothing else of the conversation goes on, is taken for its continuation.
    let is_compaction = request.scope.named.is_some() && request.reads_like_a_summary;
    let shortened = is_compaction.then(|| {
        same()
            .filter(|known| known.in_flight.is_none() && known.keys.len() > request.keys.len())
            .max_by_key(|known| known.used)
    });
    shortened
        .flatten()
        .map(|known| (Some(known), MatchedBy::Instructions))
}

impl Conversation {
    /// Whether the request begins with the messages of the last one. The same messages again are another run of the same task,
    /// unless the last exchange ended without an answer, or the client's library says that it is the same session. While the last
    /// exchange goes on, the same messages are another one beside it, and so are the same ones and more that lack its answer.
    fn is_extended_by(&self, request: &Appearance) -> bool {
        let holds_answer = request.spoken.get(self.keys.len()) == Some(&true);
        let is_longer =
            request.keys.len() > self.keys.len() && (self.in_flight.is_none() || holds_answer);
        let may_repeat =
            self.in_flight.is_none() && (!self.is_answered || self.scope.named.is_some());
        !self.keys.is_empty() && request.keys.starts_with(&self.keys) && (is_longer || may_repeat)
    }

    /// Whether a request that is none of its own shares its past, while its last exchange goes on.
    pub(super) fn is_beside(&self, request: &Appearance) -> bool {
        let is_longer =
            request.keys.len() > self.keys.len() && request.keys.starts_with(&self.keys);
        self.in_flight.is_some()
            && !self.keys.is_empty()
            && (is_longer || self.shared_calls(request) > 0)
    }

    fn shared_calls(&self, request: &Appearance) -> usize {
        self.calls
            .iter()
            .filter(|call| request.calls.contains(call))
            .count()
    }

    /// How many parts lead from the request back to the last exchange, apart from a beginning that any run of the same task
    /// shares: parts with ids of their own wherever they stand, or else the exchange's last parts in their order.
    /// `places` holds where each of the request's parts stands last.
    fn overlap(&self, request: &Appearance, places: &BTreeMap<Key, usize>) -> usize {
        let pairs = self.keys.iter().zip(&request.keys);
        let common = pairs.take_while(|(ours, theirs)| ours == theirs).count();
        let stands = |key: &Key| places.get(key).copied().filter(|place| *place >= common);
        let ours = || self.keys[common..].iter().chain(&self.answer);
        let unique = ours()
            .filter(|key| request.unique.contains(key) && stands(key).is_some())
            .count();
        // An exchange that goes on has no last parts yet.
        if unique > 0 || self.in_flight.is_some() {
            return unique;
        }
        let Some(last) = ours().next_back().and_then(stands) else {
            return 0;
        };
        let before = request.keys[common..=last].iter().rev();
        let run = ours()
            .rev()
            .zip(before)
            .take_while(|(ours, theirs)| ours == theirs)
            .count();
        if run >= RUN_MIN { run } else { 0 }
    }
}
