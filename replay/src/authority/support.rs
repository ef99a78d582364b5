//! What bears a claim out: words of the user's or the operator's.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use remembrancer_schema::payload::{PartKind, PartOrigin};

use super::claim::{Claim, is_content};
use crate::analysis::{AuthoritySupport, ContextPart, PartIndex, PartList};
use crate::context::ContextTimeline;
use crate::effort;
use crate::folding::{Escapes, Folded};
use crate::language::{self, Stance, authority};
use crate::passage::Passage;

/// A part of so few words may assent in one sentence and say to what in another.
const SHORT_TOKENS_MAX: usize = 80;
/// A part of so few words may assent to what the agent said directly before.
const REPLY_TOKENS_MAX: usize = 12;

/// For each claim, with the turn that it was first sent at: the first place that bears it out.
pub(super) fn find(
    timeline: &ContextTimeline,
    claims: &[(u32, &Claim)],
) -> Vec<Option<AuthoritySupport>> {
    let mut search = Search::new(claims);
    if claims.is_empty() {
        return search.found;
    }
    let mut looked_at: HashSet<usize> = HashSet::new();
    let before = parts_before(timeline);
    for (part, index) in timeline.parts.iter().zip(0..) {
        if search.open == 0 {
            break;
        }
        let is_new = is_theirs(part) && looked_at.insert(part.content);
        let Some(text) = timeline.text(index).filter(|_| is_new) else {
            continue;
        };
        let folded = Folded::new(text, Escapes::Plain);
        let theirs = Theirs {
            index,
            turn: part.first_turn,
            is_user: part.kind == PartKind::User,
            text,
            folded: &folded,
        };
        search.look_at(&theirs);
        if let Some(&before) = before.get(&index).filter(|_| theirs.is_user) {
            search.look_at_reply(&theirs, timeline, before);
        }
    }
    search.found
}

/// Whether a part holds the words of those whom the agent acts for.
fn is_theirs(part: &ContextPart) -> bool {
    matches!(
        part.kind,
        PartKind::System | PartKind::User | PartKind::Memory
    ) && matches!(part.origin, PartOrigin::User | PartOrigin::Operator)
}

/// For each part of the user's the agent's words directly before it, in the first context that holds both.
fn parts_before(timeline: &ContextTimeline) -> HashMap<PartIndex, PartIndex> {
    let mut before = HashMap::new();
    let mut known = 0;
    let mut seen = &PartList::default();
    for turn in &timeline.turns {
        // Later contexts repeat the parts of earlier ones.
        let same = turn.parts.common_start(seen);
        let mut last = same
            .checked_sub(1)
            .and_then(|position| turn.parts.get(position));
        for part in turn.parts.iter_from(same) {
            if let Some(previous) = last.replace(part)
                && part >= known
                && timeline.part(part).kind == PartKind::User
                && timeline.part(previous).kind == PartKind::Assistant
            {
                before.entry(part).or_insert(previous);
            }
        }
        let new = turn.parts.iter_from(same).map(|part| part + 1);
        known = new.fold(known, u32::max);
        seen = &turn.parts;
    }
    before
}

/// A part of theirs.
struct Theirs<'a> {
    index: PartIndex,
    turn: u32,
    is_user: bool,
    text: &'a str,
    folded: &'a Folded,
}

struct Search<'a> {
    claims: &'a [(u32, &'a Claim)],
    found: Vec<Option<AuthoritySupport>>,
    /// How many of them nothing bears out yet.
    open: usize,
    /// The contents of the agent's that were replied to.
    replied: HashSet<usize>,
    /// By stem: claims that it tells of, and its number within each.
    by_stem: HashMap<&'a str, Vec<(usize, u32)>>,
    /// Which words of each claim were seen since the last look.
    seen: Vec<u32>,
    touched: Vec<usize>,
    /// Claims without such words that nothing bears out yet.
    wordless: Vec<usize>,
}

impl<'a> Search<'a> {
    fn new(claims: &'a [(u32, &'a Claim)]) -> Self {
        let mut by_stem: HashMap<&str, Vec<(usize, u32)>> = HashMap::new();
        for (at, (_, claim)) in claims.iter().enumerate() {
            for (stem, number) in claim.content.iter().zip(0u32..) {
                by_stem.entry(stem).or_default().push((at, number));
            }
        }
        Self {
            claims,
            found: vec![None; claims.len()],
            open: claims.len(),
            replied: HashSet::new(),
            by_stem,
            seen: vec![0; claims.len()],
            touched: Vec::new(),
            wordless: (0..claims.len())
                .filter(|&at| claims[at].1.content.is_empty())
                .collect(),
        }
    }

    /// Looks at each clause of a part, and at a short part as a whole.
    fn look_at(&mut self, theirs: &Theirs<'_>) {
        let passage = Passage::new(theirs.text, theirs.folded);
        let length = theirs.folded.len();
        let mut start = 0;
        while start < length {
            let clause = passage.clause(start);
            let end = clause.end.max(start + 1);
            let clause = start..end;
            let grants = grants(&passage, theirs, &clause);
            if grants != Grants::Nothing {
                self.note(theirs.folded, clause.clone());
                self.settle(theirs, clause, grants);
            }
            start = end;
        }
        let whole = 0..length;
        let words: Vec<&str> = theirs.folded.words().take(SHORT_TOKENS_MAX + 1).collect();
        if theirs.is_user && words.len() <= SHORT_TOKENS_MAX && authority::assents(&words) {
            self.note(theirs.folded, whole.clone());
            self.settle(theirs, whole, Grants::Assent);
        }
    }

    /// A short reply assents to what the agent said directly before. That is read once, however often it is replied to: parts
    /// come in order of their turns, so a later reply bears out no claim that the first one does not.
    fn look_at_reply(
        &mut self,
        theirs: &Theirs<'_>,
        timeline: &ContextTimeline,
        before: PartIndex,
    ) {
        if self.open == 0 {
            return;
        }
        let words: Vec<&str> = theirs.folded.words().take(REPLY_TOKENS_MAX + 1).collect();
        if words.len() > REPLY_TOKENS_MAX || !authority::assents(&words) {
            return;
        }
        let is_new = self.replied.insert(timeline.part(before).content);
        let Some(said) = timeline.text(before).filter(|_| is_new) else {
            return;
        };
        let said = Folded::new(said, Escapes::Plain);
        self.note(&said, 0..said.len());
        self.settle(theirs, 0..theirs.folded.len(), Grants::Assent);
    }

    /// Notes which words of which claims stand in a run.
    fn note(&mut self, folded: &Folded, run: Range<usize>) {
        effort::spend(run.len());
        for token in run.map(|at| folded.token(at)) {
            let places = self.by_stem.get(language::stem(token));
            for &(claim, number) in places.into_iter().flatten() {
                if self.seen[claim] == 0 {
                    self.touched.push(claim);
                }
                self.seen[claim] |= 1 << number;
            }
        }
    }

    /// Gives the claims of which enough was seen their support, and forgets what was seen.
    fn settle(&mut self, theirs: &Theirs<'_>, run: Range<usize>, grants: Grants) {
        let place = theirs.folded.original(run.clone());
        let first = run
            .clone()
            .map(|at| theirs.folded.token(at))
            .find(|word| is_content(word))
            .map(language::stem);
        for claim in std::mem::take(&mut self.touched) {
            let seen = std::mem::take(&mut self.seen[claim]).count_ones() as usize;
            let (turn, told) = self.claims[claim];
            let is_said = match grants {
                Grants::Assent => true,
                // "Refund order 7": an order, if it begins with what was allowed.
                Grants::Order => first.is_some_and(|first| told.content.contains(first)),
                Grants::Nothing => false,
            };
            if is_said && seen * 2 >= told.content.len() {
                self.support(claim, turn, theirs, place.as_ref());
            }
        }
        if grants == Grants::Assent && theirs.is_user {
            self.settle_wordless(theirs, run, place.as_ref());
        }
    }

    /// Where a claim does not say what was allowed, any assent of the user's may be meant.
    fn settle_wordless(
        &mut self,
        theirs: &Theirs<'_>,
        run: Range<usize>,
        place: Option<&Range<usize>>,
    ) {
        let words: Vec<&str> = run.map(|at| theirs.folded.token(at)).collect();
        if self.wordless.is_empty() || !authority::assents(&words) {
            return;
        }
        for claim in std::mem::take(&mut self.wordless) {
            self.support(claim, self.claims[claim].0, theirs, place);
            if self.found[claim].is_none() {
                self.wordless.push(claim);
            }
        }
    }

    fn support(
        &mut self,
        claim: usize,
        turn: u32,
        theirs: &Theirs<'_>,
        place: Option<&Range<usize>>,
    ) {
        if let Some(place) = place
            && theirs.turn <= turn
            && self.found[claim].is_none()
        {
            self.open -= 1;
            self.found[claim] = Some(AuthoritySupport {
                part: theirs.index,
                range: (place.start, place.end),
            });
        }
    }
}

/// Whether a clause allows or demands something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Grants {
    Nothing,
    /// It allows, demands or assents.
    Assent,
    /// It says neither; it may be an order.
    Order,
}

fn grants(passage: &Passage<'_>, theirs: &Theirs<'_>, clause: &Range<usize>) -> Grants {
    let words = &passage.words()[clause.clone()];
    let texts: Vec<&str> = words.iter().map(|word| word.text).collect();
    effort::spend(texts.len());
    let after = theirs.folded.gap(clause.end, theirs.text.len());
    let is_question = theirs
        .text
        .get(after)
        .is_some_and(|gap| gap.trim_start_matches(['"', '\'', ')']).starts_with('?'));
    let is_request = matches!(
        texts.first(),
        Some(&("can" | "could" | "please" | "will" | "would"))
    );
    if authority::dissents(&texts) || is_question && !is_request {
        return Grants::Nothing;
    }
    let opening = passage.opening_stance(clause.start);
    if matches!(opening, Stance::Prohibits | Stance::Unclear) {
        return Grants::Nothing;
    }
    let is_given = is_request || authority::assents(&texts);
    match language::stance(words) {
        Stance::Prohibits => Grants::Nothing,
        // A release ("… is OK with me") is one thing that makes a stance unclear.
        Stance::Unclear if !is_given => Grants::Nothing,
        Stance::Neutral if !is_given && opening == Stance::Neutral => Grants::Order,
        _ => Grants::Assent,
    }
}
