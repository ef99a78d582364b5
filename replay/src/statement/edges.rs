//! What stands directly beside a run of words and makes another thing of it.

use std::ops::Range;

use crate::anchor::{self, Value};
use crate::language;
use crate::passage::Passage;

use super::joins;

/// How far before the end of a run what speaks of all reaches it, in tokens.
const OF_ALL_TOKENS: usize = 3;

/// Whether the word before a run makes it speak of less: "large claims need a receipt".
pub(super) fn narrowed(passage: &Passage<'_>, run: &Range<usize>) -> bool {
    let words = passage.words();
    let before = run.start.checked_sub(1).and_then(|at| words.get(at));
    before.is_some_and(|word| language::is_narrow(word.text))
        && !passage.begins_clause(run.start)
        && words.get(run.start).is_some_and(|word| !word.is_polarity())
}

/// Whether what stands directly beside a run makes it speak of less: "detailed salary data", "any package with an extension".
pub(super) fn singled_out(passage: &Passage<'_>, run: &Range<usize>) -> bool {
    let words = passage.words();
    let clause = passage.clause(run.start);
    let before = run.start.checked_sub(1).and_then(|at| words.get(at));
    let noun = words
        .get(run.start)
        .is_some_and(|word| !word.is_stop_word() && !word.turns());
    // "Close-up photos".
    let joined = run.start > clause.start + 1 && passage.gap(run.start - 1) == "-";
    let attribute = before.is_some_and(|word| {
        language::is_narrow(word.text)
            || language::is_adjectival(word.text)
            || word.text.ends_with("ed")
            || joined
    });
    let after = words.get(run.end).is_some_and(|word| {
        clause.contains(&run.end) && passage.is_spaced(run.end) && language::is_relative(word.text)
    });
    let of_all = words[run.end.saturating_sub(OF_ALL_TOKENS).max(run.start)..run.end]
        .iter()
        .any(|word| language::is_universal(word.text));
    noun && attribute && run.start > clause.start && passage.is_spaced(run.start) || after && of_all
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

/// Whether a declared text begins and ends with an identifier or a path.
pub(super) fn code_edges(passage: &Passage<'_>) -> (bool, bool) {
    let anchors = anchor::anchors(passage);
    let mut codes = anchors
        .iter()
        .filter(|anchor| matches!(anchor.value, Value::Code { .. }));
    let begins = codes.clone().any(|code| code.tokens.start == 0);
    (
        begins,
        codes.any(|code| code.tokens.end == passage.words().len()),
    )
}

/// Whether a run that begins or ends with an identifier stands inside a longer one: "src/billing" is not in "src/billing/old".
pub(super) fn cuts_code(
    passage: &Passage<'_>,
    run: &Range<usize>,
    (begins, ends): (bool, bool),
) -> bool {
    let goes_on = |at: usize| at > 0 && at < passage.words().len() && joins(passage.gap(at));
    begins && goes_on(run.start) || ends && goes_on(run.end)
}
