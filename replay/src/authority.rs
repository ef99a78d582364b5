//! Authority: what summaries say was allowed, and whether the user or the operator ever said so.
//!
//! A summary is the model's text. Where it says that the user approved something, the next request treats that as the user's
//! word. Each such sentence is compared with what the user and the operator themselves said in the contexts up to that turn.

mod claim;
mod support;

use std::collections::HashMap;

use remembrancer_schema::ContentHash;
use remembrancer_schema::payload::PartKind;

use crate::analysis::{Attribution, AuthoritySupport, PartIndex};
use crate::context::ContextTimeline;
use claim::Claim;

/// Most sentences that are looked into in one summary.
const CLAIMS_MAX: usize = 20;
/// Most sentences that are looked into in one session.
const SESSION_CLAIMS_MAX: usize = 100;

/// What was found so far, so that a summary is read once.
#[derive(Debug, Default)]
pub(crate) struct Authority {
    known: HashMap<ContentHash, Read>,
}

/// A summary that was read.
#[derive(Debug)]
struct Read {
    turn: u32,
    claims: Vec<(Claim, Option<AuthoritySupport>)>,
}

impl Authority {
    /// Forgets the summaries that were first sent at a turn or later.
    pub(crate) fn rewind(&mut self, from: u32) {
        self.known.retain(|_, read| read.turn < from);
    }

    /// Bytes that it holds, roughly.
    pub(crate) fn bytes(&self) -> usize {
        let claims = self.known.values().flat_map(|read| &read.claims);
        self.known.len() * size_of::<(ContentHash, Read)>()
            + claims
                .map(|(claim, _)| size_of::<(Claim, Option<AuthoritySupport>)>() + claim.bytes())
                .sum::<usize>()
    }

    /// Every sentence of a summary that says somebody allowed something, in order of parts.
    pub(crate) fn attributions(&mut self, timeline: &ContextTimeline) -> Vec<Attribution> {
        let summaries = summaries(timeline);
        self.read(timeline, &summaries);
        let mut attributions = Vec::new();
        for (index, hash) in summaries {
            let Some(read) = self.known.get(&hash) else {
                continue;
            };
            let mutation = timeline
                .turn_position(read.turn)
                .and_then(|at| timeline.turns[at].mutation);
            attributions.extend(read.claims.iter().map(|(claim, support)| Attribution {
                part: index,
                turn: read.turn,
                mutation,
                range: claim.range,
                sentence: claim.sentence.clone(),
                grantor: claim.grantor.clone(),
                support: *support,
            }));
        }
        attributions
    }

    /// Reads the summaries that are not known, and looks for what bears them out, all in one pass over what was said.
    fn read(&mut self, timeline: &ContextTimeline, summaries: &[(PartIndex, ContentHash)]) {
        let mut found: Vec<(ContentHash, u32, Vec<Claim>)> = Vec::new();
        let read_before: usize = self.known.values().map(|read| read.claims.len()).sum();
        let mut room = SESSION_CLAIMS_MAX.saturating_sub(read_before);
        for &(index, hash) in summaries {
            if self.known.contains_key(&hash) {
                continue;
            }
            let most = room.min(CLAIMS_MAX);
            let claims = timeline
                .text(index)
                .map_or_else(Vec::new, |text| claim::claims(text, most));
            room -= claims.len();
            found.push((hash, timeline.part(index).first_turn, claims));
        }
        let sought: Vec<(u32, &Claim)> = found
            .iter()
            .flat_map(|(_, turn, claims)| claims.iter().map(|claim| (*turn, claim)))
            .collect();
        let mut support = support::find(timeline, &sought).into_iter();
        for (hash, turn, claims) in found {
            let claims = claims
                .into_iter()
                .map(|claim| (claim, support.next().flatten()))
                .collect();
            self.known.insert(hash, Read { turn, claims });
        }
    }
}

/// The distinct summaries, by their first part.
fn summaries(timeline: &ContextTimeline) -> Vec<(PartIndex, ContentHash)> {
    let mut first: HashMap<usize, ()> = HashMap::new();
    timeline
        .parts
        .iter()
        .zip(0..)
        .filter(|(part, _)| part.kind == PartKind::Summary)
        .filter(|(part, _)| first.insert(part.content, ()).is_none())
        .map(|(part, index)| (index, timeline.contents[part.content].hash))
        .collect()
}

#[cfg(test)]
mod tests;
