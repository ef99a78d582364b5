//! The words that say how strongly something is meant: what demands, permits, takes back, softens, excepts or narrows. A second
//! table beside [`super::vocabulary`], read where a sentence is compared with what was declared.

use super::marks::Mark;

/// Runs of words, divided by commas, each with what it does. Of several that begin at one word, the longest counts.
pub(super) const MARKS: &[(Mark, &str)] = &[
    (
        Mark::Forbid,
        "can never, may never, must never, shall never, never allowed, never permitted, never be, not be, no \
         longer allowed, no longer permitted, no longer may, no longer can, not want, don't want, doesn't \
         want, not like, not acceptable, unacceptable, banned, ban on, barred, blocked, disallow, forbid, \
         prohibit, out of bounds, not ok, not okay, not fine, won't, will not, refuse to, without ever, under \
         no circumstances, no one may, frozen, read only, hands off, never ever, stay away from, may only, \
         can only",
    ),
    (
        Mark::Negate,
        "not, no, none, nothing, nobody, neither, nor, isn't, aren't, doesn't, shouldn't, non",
    ),
    (
        Mark::Bound,
        "without, instead of, rather than, as opposed to, excluding, free of, over, exceed, exceeds, more than, \
         limited, capped, cap, limit, exclude, excluded, excludes, untouched, left alone, left out, kept out, stay \
         out, outside, leave alone, at least, nothing above, nothing below",
    ),
    (
        Mark::Cap,
        "at most, up to, no more than, not more than, less than, fewer than, a maximum of, no later than",
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
        "may, can, allowed, is permitted, are permitted, permitted to, be permitted, permissible, is fine, are \
         fine, be fine, perfectly fine, also fine, now fine, fine to, fine for, fine if, fine when, fine as, is \
         ok, is okay, are ok, are okay, ok to, okay to, ok for, okay for, ok if, okay if, ok when, okay when, \
         acceptable, is approved, are approved, been approved, was approved, were approved, is authorized, are \
         authorized, been authorized, is authorised, are authorised, been authorised, been cleared, is cleared, \
         are cleared, cleared to, been granted, is granted, are granted, been enabled, is enabled, welcome to, is \
         welcome, are welcome, free to, at will, green light, greenlit, fair game, no objection, no objections, no \
         problem, no issue, no harm, no restriction, no restrictions, no limit, unrestricted, unlimited, go ahead \
         and, by all means, acceptable to, is safe to, are safe to, at liberty, no longer off limits, has been \
         approved, has been authorized, has been authorised, has been cleared, has been granted, has been enabled, \
         have been approved, have been authorized, have been authorised, have been cleared, have been granted, \
         have been enabled, no limit on, no cap on, no restriction on, feel free, are free to, is free to, as much \
         as, as many as, any time, anytime, at any time, as usual, freely",
    ),
    (
        Mark::Release,
        "no longer, not prohibited, not forbidden, no longer prohibited, no longer forbidden, rescinded, waived, \
         superseded, obsolete, was removed, been removed, were removed, does not apply, doesn't apply, not apply, \
         be waived, be dropped, not only, not just, not limited to, not restricted to, has been lifted, has been \
         removed, has been dropped, has been withdrawn, has been revoked, has been waived, has been suspended, has \
         been relaxed, has been cancelled, has been canceled, has been retired, has been overridden, has been \
         superseded, have been lifted, have been removed, have been dropped, have been withdrawn, have been \
         revoked, have been waived, have been suspended, have been relaxed, have been cancelled, have been \
         canceled, have been retired, have been overridden, have been superseded, has no limit, uncapped, not \
         limited, not capped, not bound, not restricted, not subject to, not enforced, off the table, does not \
         hold, not frozen, was lifted, is lifted, were lifted, been lifted, now lifted, was withdrawn, were \
         withdrawn, been withdrawn, now withdrawn, is withdrawn, was revoked, were revoked, been revoked, now \
         revoked, is revoked, was dropped, were dropped, been dropped, now dropped, is dropped, was suspended, \
         were suspended, been suspended, now suspended, is suspended, was relaxed, were relaxed, been relaxed, now \
         relaxed, is relaxed, was overridden, were overridden, been overridden, now overridden, is overridden",
    ),
    (
        Mark::Spare,
        "no need, need not, needn't, not need, don't need, doesn't need, not needed, isn't needed, aren't needed, \
         not have to, don't have to, doesn't have to, not required, isn't required, aren't required, not \
         mandatory, not necessary, isn't necessary, unnecessary, optional, be skipped, may skip, can skip, skip, \
         be ignored, ignore, disregard, bypass, be bypassed, be omitted, stop, cease, not matter, doesn't matter, \
         regardless of, even without, exempt, no longer have to, no longer need, no longer needs, no longer \
         required, no longer necessary, not be needed, not be required, without having to, without needing to, do \
         not have to, do not need, do not require, do not matter, does not have to, does not need, does not \
         require, does not matter, did not have to, did not need, did not require, did not matter, do not need to, \
         no need for, without needing, without waiting for",
    ),
    (
        Mark::Past,
        "was, were, did, had, has been, have been, did not, didn't, wasn't, weren't, was not, were not, has not, \
         have not, had not, hasn't, haven't, hadn't, may not have, cannot have",
    ),
    (
        Mark::Soften,
        "try, tries, trying, attempt to, aim to, aims to, strive, endeavour, endeavor, seek to, avoid, avoids, \
         avoided, avoiding, usually, generally, typically, normally, ordinarily, mostly, largely, mainly, \
         primarily, often, sometimes, occasionally, rarely, seldom, ideally, preferably, preferred, preferable, \
         prefer, prefers, preference for, perhaps, maybe, consider, recommended, recommend, recommends, advisable, \
         advised, suggested, suggest, encouraged, discouraged, discourage, frowned, desirable, reasonably, by \
         default, in general, in most cases, most of, as a rule, rule of thumb, best effort, best practice, good \
         practice, good idea, best to, better to, better not, nice to, helpful to, tend to, tends to, supposed to, \
         roughly, approximately, approx, careful, carefully, caution, cautious, mindful, sparingly, minimize, \
         minimise, reduce, limit how, how often, keep an eye, unnecessarily, needlessly, carelessly, casually, \
         lightly, excessively, gratuitously, too much, too many, too often, without good reason, without a good \
         reason, without reason, at discretion, discretion, reluctant, hesitate, think twice, not ideal, \
         guideline, time permitting, time allows, might, to the extent possible, as best, best efforts, if time, \
         soft, soft target, soft limit, soft cap, soft budget, is soft, with care, with caution, take care, great \
         care, extra care, when you can, if you can, where you can, when it can, is best, are best, it's best, \
         best left, is helpful, are helpful, is useful, is nice, is wise, wise to, makes sense, is ideal, is good, \
         sensible to, in principle, on the whole, for the most part, more often than not, now and then, from time \
         to time, if time permits, time permits, sparing, cut down, keep to a minimum, to a minimum, where it \
         makes sense, think carefully, carefully consider, judgment, judgement, common sense, easy on, \
         tries to, attempts to, would be, it would be, would rather, would prefer, a good idea, worth, in \
         moderation, loose, informally, recommendation, suggestion, preference is, commonly, frequently, \
         customarily, habitually, chiefly, principally, predominantly, at times, hardly ever, almost never, almost \
         always, nearly always, hopefully, arguably, possibly, presumably, broadly, fairly, somewhat, relatively, \
         more or less, kind of, sort of, it helps, helps to, helps if, a plus, a bonus, not a good idea, not a \
         great idea, not great, not wise, not advisable, unwise, inadvisable, undesirable, think before, there is \
         time, there's time, if you have time, may want to, might want to, hope to, hoping to, favor, favors, \
         favour, favours, lean toward, lean towards, leans toward, leans towards, soft rule, soft preference, \
         guidance, steer clear, go light, wary, minimal, minimally, think hard, mild preference, slight \
         preference, polite to, kind to, smart to, safer to, worthwhile to, courteous to, desirable to, prudent \
         to, advisable to, aim for, aims for, aiming for, aiming to, shoot for, strive for, striving, appreciated, \
         be nice, would help, aspire, in doubt, in case of doubt, if it matters, when it matters, if it helps, when it helps, where it helps, \
         as best you can, as best it can",
    ),
    (
        Mark::Except,
        "unless, except, excepting, exception, exceptions, other than, apart from, aside from, save for, \
         barring",
    ),
    (
        Mark::Condition,
        "until, before, after, once, provided, if, when, prior to, as long as, so long as, in case",
    ),
    (
        Mark::Narrow,
        "important, major, significant, critical, key, large, big, larger, bigger, some, most, many, certain, \
         selected, notable, serious, sensitive, risky, complex, unusual, main, initial, relevant, obvious, high \
         risk, high value, several, few, longer, longest, shorter, largest, smaller, biggest, higher, highest, \
         older, newer, riskier, trickier, costlier, substantial, sizable, sizeable, urgent, non trivial, \
         nontrivial, borderline, severe, extreme, excessive, full scale, wholesale",
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
pub(super) const RELATIVE: &[&str] = &["that", "who", "whose"];

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
