//! What softens: the words that leave a way out of what was demanded or forbidden, by how they do it.

/// Runs of words, divided by commas. A condition ("where possible") softens too: see `CONDITIONAL` and `WORTH`.
pub(super) const SOFTENING: &[&str] = &[
    // How often, and for how much of it.
    "usually, generally, typically, normally, ordinarily, mostly, largely, mainly, primarily, often, \
     sometimes, occasionally, rarely, seldom, in general, in most cases, most of, commonly, frequently, \
     customarily, habitually, chiefly, principally, predominantly, at times, hardly ever, almost never, \
     almost always, nearly always, broadly, fairly, somewhat, relatively, more or less, kind of, sort of, \
     on the whole, for the most part, more often than not, now and then, from time to time, by default, \
     as a rule, in principle, rule of thumb, most of the time, usual, customary, the norm, routine, convention, common practice, standard practice, with few exceptions, as a general rule, by and large, \
     in many cases, in theory, for the greater part, every so often, once in a while, periodically, \
     all in all",
    // Effort, in the place of a result.
    "try, tries, trying, attempt to, attempts to, aim to, aims to, aim for, aims for, aiming for, aiming to, \
     tries to, strive, strive for, striving, endeavour, endeavor, seek to, best effort, best efforts, \
     hope to, hoping to, shoot for, aspire, as best, as best you can, as best it can, to the extent possible, \
     tend to, tends to, supposed to, make an effort, makes an effort, make efforts, work toward, \
     work towards, working toward, working towards, as far as it can, do its best, \
     do your best, inclined to, leaning toward, leaning towards",
    // A wish, an opinion or advice.
    "avoid, avoids, avoided, avoiding, ideally, preferably, preferred, preferable, prefer, prefers, \
     preference for, perhaps, maybe, consider, recommended, recommend, recommends, advisable, advised, \
     suggested, suggest, encouraged, discouraged, discourage, frowned, desirable, reasonably, best practice, \
     good practice, good idea, best to, better to, better not, nice to, helpful to, careful, carefully, \
     caution, cautious, mindful, sparingly, minimize, minimise, reduce, limit how, how often, keep an eye, \
     at discretion, discretion, reluctant, hesitate, think twice, not ideal, guideline, time permitting, \
     time allows, might, if time, soft, soft target, soft limit, soft cap, soft budget, is soft, with care, \
     with caution, take care, great care, extra care, when you can, if you can, where you can, when it can, \
     is best, are best, it's best, best left, is helpful, are helpful, is useful, is nice, is wise, wise to, \
     makes sense, is ideal, is good, sensible to, if time permits, time permits, sparing, cut down, \
     keep to a minimum, to a minimum, where it makes sense, think carefully, carefully consider, judgment, \
     judgement, common sense, easy on, would be, it would be, would rather, would prefer, a good idea, worth, \
     in moderation, loose, informally, recommendation, suggestion, preference is, hopefully, arguably, \
     possibly, presumably, it helps, helps to, helps if, a plus, a bonus, not a good idea, not a great idea, \
     not great, not wise, not advisable, unwise, inadvisable, undesirable, think before, there is time, \
     there's time, if you have time, may want to, might want to, favor, favors, favour, favours, lean toward, \
     lean towards, leans toward, leans towards, soft rule, soft preference, guidance, steer clear, go light, \
     wary, minimal, minimally, think hard, mild preference, slight preference, polite to, kind to, smart to, \
     safer to, worthwhile to, courteous to, desirable to, prudent to, advisable to, appreciated, be nice, \
     would help, in doubt, in case of doubt, if it matters, when it matters, if it helps, when it helps, \
     where it helps, would like, likes to, like to, preference against, by preference, nice to have, good to, preferring, at least consider, worth considering, \
     some thought, bear in mind, keep in mind, be aware of, be conscious of, pay attention to, ought ideally, \
     low priority, lower priority, default choice, first choice, usual choice, not a must, \
     at most a guideline",
    // What comes last, or seldom: the rest of what is forbidden.
    "last resort, a last resort, kept low, kept small, kept rare, be kept to, in small doses, \
     calls for care, discreet, discreetly, tactful, restraint, needs care, some care",
    // Without a reason: with one, it may be done.
    "without good reason, without a good reason, without reason, unnecessarily, needlessly, carelessly, \
     casually, lightly, excessively, gratuitously, too much, too many, too often, without need, permitting, for long, for too long, reluctance, reluctantly, hesitation, hesitantly, far above, far over, far beyond, well above, well over, well beyond, much more than, far more than, significantly, substantially, considerably, drastically, grossly, vastly, greatly, more than once, more than twice, more than necessary, more than needed, by much, a lot, en masse, overly, \
     without necessity, without cause, without good cause, without justification, without a good cause, \
     without thinking, without thought, without a second thought, unduly, inordinately, indiscriminately, \
     recklessly, hastily",
    // For a while, later, or at no time that is named.
    "for now, for the moment, for the time being, at the moment, temporarily, tentatively, provisionally, \
     in due course, at the next opportunity, at the earliest opportunity, at some stage, eventually, at some point, sooner or later, in the long run, after the fact, \
     retroactively, retrospectively, in retrospect, in the near future, before long",
    // Figures that are rough.
    "roughly, approximately, approx, or so, or soon after, or shortly after, or a bit later, or later, or thereabouts, give or take, in the region of, \
     in the vicinity of, ballpark, in the ballpark, plus or minus",
];

/// What only reports that somebody thought or spoke of something. It softens where nothing beside it forbids or demands: "the
/// user was worried about refunds", not "the user mentioned that refunds are forbidden".
pub(super) const CONCERN: &[&str] = &[
    "anxious about",
    "apprehensive about",
    "asked about",
    "bothered by",
    "brought up",
    "came up",
    "concern about",
    "concerned about",
    "concerns about",
    "curious about",
    "discussed",
    "flagged",
    "hesitant about",
    "mentioned",
    "misgivings about",
    "nervous about",
    "not fond of",
    "not keen on",
    "reservations about",
    "skeptical about",
    "skeptical of",
    "something to watch",
    "talked about",
    "touched on",
    "uncomfortable with",
    "unease about",
    "unease with",
    "uneasy about",
    "uneasy with",
    "unhappy about",
    "unhappy with",
    "wondered about",
    "worried about",
    "worries about",
];
