//! The words that say how strongly something is meant: what demands, permits, takes back, softens, excepts or narrows. A second
//! table beside [`super::vocabulary`], read where a sentence is compared with what was declared.

use super::marks::Mark;

/// Runs of words, divided by commas, each with what it does. Of several that begin at one word, the longest counts.
pub(super) const MARKS: &[(Mark, &str)] = &[
    (
        Mark::Forbid,
        "can never, may never, must never, shall never, never allowed, never permitted, never be, not be, \
         no longer allowed, no longer permitted, no longer may, no longer can, not want, don't want, \
         doesn't want, not like, not acceptable, unacceptable, banned, ban on, barred, blocked, disallow, forbid, \
         prohibit, out of bounds, not ok, not okay, not fine, won't, will not, refuse to, without ever, \
         under no circumstances, no one may, frozen, read only, hands off, never ever, stay away from, may only, \
         can only, nobody may, nobody can, nothing may, nothing can",
    ),
    (
        Mark::Negate,
        "not, no, none, nothing, nobody, neither, nor, isn't, aren't, doesn't, shouldn't, non",
    ),
    (
        Mark::Bound,
        "without, instead of, rather than, as opposed to, excluding, free of, over, exceed, exceeds, more than, \
         limited, capped, cap, limit, exclude, excluded, excludes, untouched, left alone, left out, kept out, \
         stay out, outside, leave alone, at least, nothing above, nothing below, or above, or below, or more, \
         or less, or fewer, or higher, or lower, or under, unchanged, unmodified, unaltered, intact, untouchable",
    ),
    (
        Mark::Cap,
        "at most, up to, no more than, not more than, less than, fewer than, a maximum of, no later than, \
         no larger than, no bigger than, no greater than, no higher than, no longer than, no fewer than, \
         no less than, no lower than, not exceeding, not later than",
    ),
    (
        Mark::Exclusive,
        "only, solely, exclusively, nothing but, nowhere else, no other, alone, restricted to, limited to, \
         confined to, restrict, confine",
    ),
    (
        Mark::Demand,
        "must, shall, always, required, requires, require, requirement, have to, has to, need to, needs to, \
         needs, need a, need an, mandatory, obligatory, compulsory, ensure, make sure, be sure to, is to be, are to be, at all \
         times, without exception, without fail, strictly, every time",
    ),
    (Mark::Should, "should, ought to"),
    (
        Mark::Want,
        "instruction, instructions, instructed, requested, constraint, constraints, preferences, rule, rules, policy, \
         as requested, told to, asked to, asked that",
    ),
    (
        Mark::Permit,
        "may, can, allowed, is permitted, are permitted, permitted to, be permitted, permissible, is fine, \
         are fine, be fine, perfectly fine, also fine, now fine, fine to, fine for, fine if, fine when, fine as, \
         is ok, is okay, are ok, are okay, ok to, okay to, ok for, okay for, ok if, okay if, ok when, okay when, \
         acceptable, cleared to, welcome to, is welcome, are welcome, free to, at will, green light, greenlit, \
         fair game, no objection, no objections, no problem, no issue, no harm, no restriction, no restrictions, \
         no limit, unrestricted, unlimited, go ahead and, by all means, acceptable to, is safe to, are safe to, \
         at liberty, no longer off limits, no limit on, no cap on, no restriction on, feel free, are free to, \
         is free to, as much as, as many as, any time, anytime, at any time, as usual, freely, the go ahead, \
         nothing against, nothing wrong with, not a problem, not an issue, no obstacle, unproblematic, \
         is open to, are open to, be open to, given permission, has permission, have permission, given clearance, \
         has clearance, safely be",
    ),
    (
        Mark::Release,
        "no longer, not prohibited, not forbidden, no longer prohibited, no longer forbidden, rescinded, waived, \
         superseded, obsolete, does not apply, doesn't apply, not apply, be waived, be dropped, not only, \
         not just, not limited to, not restricted to, has no limit, uncapped, not limited, not capped, not bound, \
         not restricted, not subject to, not enforced, off the table, does not hold, not frozen, now dropped, \
         is dropped, no longer applies, no longer in force, not in force, not in effect, null and void, \
         ceased to apply, has expired, has ended, has lapsed, is gone, are gone, is history",
    ),
    (
        Mark::Spare,
        "no need, need not, needn't, not need, don't need, doesn't need, not needed, isn't needed, aren't needed, \
         not have to, don't have to, doesn't have to, not required, isn't required, aren't required, \
         not mandatory, not necessary, isn't necessary, unnecessary, optional, be skipped, may skip, can skip, \
         skip, be ignored, ignore, disregard, bypass, be bypassed, be omitted, stop, cease, not matter, \
         doesn't matter, regardless of, even without, exempt, no longer have to, no longer need, no longer needs, \
         no longer required, no longer necessary, not be needed, not be required, without having to, \
         without needing to, do not have to, do not need, do not require, do not matter, does not have to, \
         does not need, does not require, does not matter, did not have to, did not need, did not require, \
         did not matter, do not need to, no need for, without needing, without waiting for, at your discretion, \
         up to the agent, up to you, voluntary, not compulsory, not obligatory, dispense with, dispensed with, \
         do without, done without, be left out, excused from, exempted, be disregarded, be neglected, \
         be overlooked",
    ),
    (
        Mark::Past,
        "was, were, did, had, has been, have been, did not, didn't, wasn't, weren't, was not, were not, has not, \
         have not, had not, hasn't, haven't, hadn't, may not have, cannot have",
    ),
    (
        Mark::Except,
        "unless, except, excepting, exception, exceptions, aside, other than, apart from, aside from, save for, \
         barring",
    ),
    (
        Mark::Condition,
        "until, before, after, once, provided, if, when, prior to, as long as, so long as, in case, where, whenever, wherever, assuming, depending on, subject to",
    ),
    (
        Mark::Narrow,
        "important, major, significant, critical, key, large, big, larger, bigger, some, most, many, certain, \
         selected, notable, serious, sensitive, risky, complex, unusual, main, initial, relevant, obvious, \
         high risk, high value, several, few, longer, longest, shorter, largest, smaller, biggest, higher, \
         highest, older, newer, riskier, trickier, costlier, substantial, sizable, sizeable, urgent, non trivial, \
         nontrivial, borderline, severe, extreme, excessive, full scale, wholesale, crucial, essential, \
         dangerous, suspicious, noteworthy, heavier, pressing",
    ),
];

/// Who wants something, where one of [`WANTING`] or [`WANTED`] follows. Not "customers": what they ask for is no rule.
pub(super) const WANTERS: &[&str] = &["user", "users", "client", "clients", "they"];

/// What before somebody leaves open whether they want it: "if the client asks".
pub(super) const WANTED_LATER: &[&str] = &[
    "after", "before", "if", "once", "unless", "until", "what", "whatever", "when", "whenever",
    "where", "whether",
];

/// What may stand between the two: "has explicitly asked".
pub(super) const BEFORE_WANTING: &[&str] = &[
    "also",
    "always",
    "clearly",
    "did",
    "do",
    "does",
    "explicitly",
    "had",
    "has",
    "have",
    "really",
    "specifically",
    "strongly",
];

/// Verbs of wanting, in any inflection.
pub(super) const WANTING: &[&str] = &[
    "ask", "demand", "expect", "insist", "instruct", "need", "prefer", "request", "require",
    "specify", "want", "wish",
];

/// Nouns for what somebody wants, in any inflection.
pub(super) const WANTED: &[&str] = &[
    "demand",
    "expectation",
    "instruction",
    "preference",
    "request",
    "requirement",
    "wish",
];

/// Verbs of keeping to a rule, in any inflection.
pub(super) const KEEPING: &[&str] = &[
    "abide", "adhere", "comply", "honor", "honour", "obey", "respect",
];

/// What softens where one of [`CONDITIONAL`] stands before it: "if possible", "where it is feasible".
pub(super) const WORTH: &[&str] = &[
    "possible",
    "practical",
    "practicable",
    "feasible",
    "convenient",
    "appropriate",
    "reasonable",
    "needed",
    "relevant",
    "useful",
    "helpful",
    "necessary",
    "applicable",
    "sensible",
    "advisable",
    "prudent",
    "important",
    "worthwhile",
    "warranted",
    "justified",
    "easy",
    "cheap",
    "simple",
    "quick",
    "handy",
    "workable",
    "doable",
    "viable",
    "realistic",
    "manageable",
    "desirable",
    "beneficial",
    "suitable",
    "fitting",
    "affordable",
    "unsure",
    "uncertain",
    "doubtful",
];

/// What stands before one of [`WORTH`].
pub(super) const CONDITIONAL: &[&str] = &[
    "if",
    "where",
    "when",
    "whenever",
    "wherever",
    "as",
    "as far as",
    "as much as",
    "if it is",
    "when it is",
    "where it is",
    "if it seems",
    "if at all",
    "when it seems",
    "where it seems",
    "if it feels",
    "when it feels",
];

/// What makes a rough figure of the value after it.
pub(super) const ROUGH: &[&str] = &[
    "about",
    "approximately",
    "around",
    "circa",
    "near",
    "roughly",
];

/// What is said of something that is demanded.
pub(super) const NEEDED: &[&str] = &[
    "compulsory",
    "demanded",
    "mandatory",
    "necessary",
    "needed",
    "obligatory",
    "required",
];

/// What reaches past the one thing that is allowed.
pub(super) const BEYOND: &[&str] = &[
    "anywhere",
    "beyond",
    "elsewhere",
    "everywhere",
    "outside",
    "wherever",
    "whichever",
];

/// What opens a relative clause that says which ones are meant.
pub(super) const RELATIVE: &[&str] = &[
    "containing",
    "having",
    "that",
    "which",
    "who",
    "whose",
    "with",
];

/// Endings of adjectives.
pub(super) const ADJECTIVAL: &[&str] = &[
    "able", "al", "ary", "est", "ful", "ible", "ic", "ish", "ive", "less", "ous",
];

/// What speaks of all there is.
pub(super) const UNIVERSAL: &[&str] = &["all", "always", "any", "each", "every", "no", "whole"];

/// What makes a demand of the strongest kind, below which "should" is weaker. A bare order, or "do not", is no stronger than its
/// report in "should".
pub(super) const ABSOLUTE: &[&str] = &[
    "cannot",
    "forbidden",
    "mandatory",
    "must",
    "mustn't",
    "never",
    "prohibited",
    "require",
    "required",
    "requires",
    "shall",
    "shan't",
    "strictly",
];

/// Verbs and nouns that carry next to nothing by themselves: they are content only where a text has little else.
pub(super) const LIGHT: &[&str] = &[
    "through",
    "via",
    "against",
    "during",
    "across",
    "between",
    "toward",
    "towards",
    "per",
    "actually",
    "agent",
    "assistant",
    "come",
    "do",
    "does",
    "doing",
    "did",
    "even",
    "every",
    "find",
    "get",
    "give",
    "go",
    "have",
    "has",
    "just",
    "keep",
    "kind",
    "know",
    "let",
    "like",
    "make",
    "note",
    "now",
    "one",
    "ones",
    "own",
    "pick",
    "put",
    "remember",
    "see",
    "sure",
    "take",
    "thing",
    "things",
    "think",
    "time",
    "use",
    "used",
    "using",
    "way",
    "when",
    "whenever",
    "something",
    "anything",
    "everything",
    "else",
    "explicit",
    "back",
    "what",
    "who",
    "how",
    "whether",
];

/// Time zones of Europe and of North America, which carry no more. "Wet" is left out: it is a word.
pub(super) const TIME_ZONES: &[&str] = &[
    "bst", "cdt", "cest", "cet", "cst", "edt", "eest", "eet", "est", "gmt", "mdt", "mst", "pdt",
    "pst", "utc",
];
