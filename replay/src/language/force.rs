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
        "without, instead of, rather than, as opposed to, excluding, free of, over, exceed, exceeds, more than, at \
         most, up to, no more than, less than, below, under, within, at least, stay inside, stays inside, inside, \
         limited, capped, cap, limit, exclude, excluded, excludes, untouched, left alone, left out, kept out, stay \
         out, outside, leave alone",
    ),
    (
        Mark::Exclusive,
        "only, solely, exclusively, nothing but, nowhere else, no other, alone, restricted to, limited to, \
         confined to, restrict, confine",
    ),
    (
        Mark::Demand,
        "must, shall, always, required, requires, require, requirement, have to, has to, need to, needs to, \
         needs, mandatory, obligatory, compulsory, ensure, make sure, be sure to, is to be, are to be, at all \
         times, without exception, without fail, strictly, every time",
    ),
    (
        Mark::Should,
        "should, ought to",
    ),
    (
        Mark::Want,
        "user wants, user wanted, user asked, user asks, user requested, user requests, user requires, user \
         required, user prefers, user preferred, user explicitly, user specified, user instructed, user stated, \
         user expects, user does, user doesn't, user preference, user preferences, user's preference, user's \
         preferences, user's request, user's instruction, they prefer, they want, instruction, instructions, \
         instructed, requested, constraint, constraints, preferences, rule, rules, policy, as requested, told to, \
         asked to, asked that, respecting, respect, adhere, comply, user preferring, user has, they asked",
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
         have been enabled",
    ),
    (
        Mark::Release,
        "no longer, not prohibited, not forbidden, no longer prohibited, no longer forbidden, anymore, any more, \
         lifted, withdrawn, revoked, rescinded, waived, superseded, obsolete, overridden, suspended, dropped, was \
         removed, been removed, were removed, relaxed, does not apply, doesn't apply, not apply, be waived, be \
         dropped, not only, not just, not limited to, not restricted to, as is",
    ),
    (
        Mark::Spare,
        "no need, need not, needn't, not need, don't need, doesn't need, not needed, isn't needed, aren't needed, \
         not have to, don't have to, doesn't have to, not required, isn't required, aren't required, not \
         mandatory, not necessary, isn't necessary, unnecessary, optional, be skipped, may skip, can skip, skip, \
         be ignored, ignore, disregard, bypass, be bypassed, be omitted, stop, cease, not matter, doesn't matter, \
         regardless of, even without, exempt, no longer have to, no longer need, no longer needs, no longer \
         required, no longer necessary, not be needed, not be required, without having to, without needing to",
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
         guideline, time permitting, time allows, might, if possible, where possible, when possible, whenever \
         possible, wherever possible, as possible, as far as possible, as much as possible, if practical, where \
         practical, when practical, whenever practical, wherever practical, as practical, as far as practical, as \
         much as practical, if practicable, where practicable, when practicable, whenever practicable, wherever \
         practicable, as practicable, as far as practicable, as much as practicable, if feasible, where feasible, \
         when feasible, whenever feasible, wherever feasible, as feasible, as far as feasible, as much as \
         feasible, if convenient, where convenient, when convenient, whenever convenient, wherever convenient, as \
         convenient, as far as convenient, as much as convenient, if appropriate, where appropriate, when \
         appropriate, whenever appropriate, wherever appropriate, as appropriate, as far as appropriate, as much \
         as appropriate, if reasonable, where reasonable, when reasonable, whenever reasonable, wherever \
         reasonable, as reasonable, as far as reasonable, as much as reasonable, if needed, where needed, when \
         needed, whenever needed, wherever needed, as needed, as far as needed, as much as needed, to the extent \
         possible, as best, best efforts, if time",
    ),
    (
        Mark::Except,
        "unless, except, excepting, exception, exceptions, other than, apart from, aside from, save for, \
         barring",
    ),
    (
        Mark::Condition,
        "until, before, after, once, provided, if, when, prior to",
    ),
    (
        Mark::Narrow,
        "important, major, significant, critical, key, large, big, larger, bigger, some, most, many, certain, \
         selected, notable, serious, sensitive, risky, complex, unusual, main, initial, relevant, obvious, high \
         risk, high value, several, few",
    ),
];

/// What makes a demand of the strongest kind, below which "should" is weaker. A bare order, or "do not", is no stronger than its
/// report in "should".
pub(super) const ABSOLUTE: &[&str] = &[
    "always", "cannot", "ever", "every", "forbidden", "mandatory", "must", "mustn't", "never", "prohibited", "require",
    "required", "requires", "shall", "shan't", "strictly",
];

/// Verbs and nouns that carry next to nothing by themselves: they are content only where a text has little else.
pub(super) const LIGHT: &[&str] = &[
    "actually", "agent", "assistant", "come", "do", "does", "doing", "did", "even", "every", "find", "get", "give", "go",
    "have", "has", "just", "keep", "kind", "know", "let", "like", "make", "note", "now", "one", "ones", "own", "pick",
    "put", "remember", "see", "sure", "take", "thing", "things", "think", "time", "use", "used", "using", "way", "when",
    "whenever", "something", "anything", "everything", "else", "explicit", "back", "what", "who", "how", "whether",
];
