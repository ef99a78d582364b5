//! What stands directly beside a run of words and makes another thing of it.

use std::ops::Range;

use crate::language;
use crate::passage::Passage;

/// Whether the word before a run makes it speak of less: "large claims need a receipt".
pub(super) fn narrowed(passage: &Passage<'_>, run: &Range<usize>) -> bool {
    let words = passage.words();
    let before = run.start.checked_sub(1).and_then(|at| words.get(at));
    before.is_some_and(|word| language::is_narrow(word.text))
        && !passage.begins_clause(run.start)
        && words.get(run.start).is_some_and(|word| !word.is_polarity())
}

/// Whether a run begins or ends inside a number: "100" is not in "100 000", "100 million" or "100 percent".
pub(super) fn cuts_number(passage: &Passage<'_>, run: &Range<usize>) -> bool {
    let clause = passage.clause(run.start);
    let token = |at: usize| passage.folded().token(at);
    let goes_on = |own: usize, beside: usize| {
        clause.contains(&beside)
            && language::is_number(token(own))
            && (language::is_number(token(beside)) || language::is_scale(token(beside)))
            && passage.is_spaced(own.max(beside))
    };
    run.end
        .checked_sub(1)
        .is_some_and(|last| goes_on(last, run.end))
        || run
            .start
            .checked_sub(1)
            .is_some_and(|before| goes_on(run.start, before))
}
