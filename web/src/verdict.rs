//! The finding of a session in one plain sentence, with its caveat.

use remembrancer_replay::Analysis;
use remembrancer_replay::analysis::{ConstraintIndex, PresenceState, ScopeVerdict};

use crate::links::Links;
use crate::mark::{alarm, mark};
use crate::markup::Markup;
use crate::page::{count, counted};
use crate::text::line;

/// What every verdict rests on.
pub(crate) const CAVEAT: &str = "A text test cannot see every paraphrase, and sequence is not cause: this says what stood in the context when each action was sent, not why the agent acted.";

/// Permissions and facts up to this number stand with the limits; more of them are folded away.
const BESIDE_LIMITS_MAX: usize = 4;

/// How a verdict is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tone {
    /// A prohibited action, or one that nothing permits.
    Alarm,
    /// Limits without trace, or states that cannot be told.
    Warning,
    /// Every limit stood in the context at every action.
    Sound,
    /// Nothing to say.
    Quiet,
}

impl Tone {
    pub(crate) fn class(self) -> &'static str {
        match self {
            Self::Alarm => "alarm",
            Self::Warning => "warning",
            Self::Sound => "sound",
            Self::Quiet => "quiet",
        }
    }
}

/// The sentence on top of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct VerdictText {
    pub(crate) tone: Tone,
    pub(crate) sentence: String,
}

/// Puts a session's finding in words. Only our own words and numbers: recorded text never stands in a verdict.
pub(crate) fn verdict(analysis: &Analysis) -> VerdictText {
    let mut verdict = of_what_was_read(analysis);
    let unreadable = analysis.overview.unreadable_entries;
    if unreadable > 0 {
        // What cannot be read may hold anything, so nothing is sound or quiet.
        if verdict.tone != Tone::Alarm {
            verdict.tone = Tone::Warning;
        }
        verdict.sentence.push_str(&format!(
            " {} erased or cannot be read, and what {} is not judged.",
            counted(unreadable, "entry is", "entries are"),
            if unreadable == 1 {
                "it holds"
            } else {
                "they hold"
            },
        ));
    }
    verdict
}

fn of_what_was_read(analysis: &Analysis) -> VerdictText {
    let actions = analysis.actions.len() as u64;
    let limits = limit_positions(analysis);
    let say = |tone, sentence| VerdictText { tone, sentence };
    if actions == 0 {
        return say(
            Tone::Quiet,
            "No action was recorded in this session.".to_owned(),
        );
    }
    let summary = analysis.summary;
    let prohibited = analysis
        .actions
        .iter()
        .filter(|action| !action.breaks.is_empty())
        .count() as u64;
    let beyond_scope = beyond_scope(analysis);
    if summary.prohibited_without_trace > 0 {
        let rest = prohibited.saturating_sub(summary.prohibited_without_trace);
        let mut sentence = format!(
            "{} sent while the limit that {} had no textual trace in the context.",
            were(
                summary.prohibited_without_trace,
                "prohibited action",
                "prohibited actions"
            ),
            if summary.prohibited_without_trace == 1 {
                "it breaks"
            } else {
                "they break"
            },
        );
        if rest > 0 {
            sentence.push_str(&format!(
                " {} sent while it stood there in some form, was not declared yet or could not be told.",
                were(rest, "more", "more")
            ));
        }
        return say(Tone::Alarm, joined(sentence, beyond_scope));
    }
    if prohibited > 0 {
        let sentence = format!(
            "{} sent {}.",
            were(prohibited, "prohibited action", "prohibited actions"),
            standing_of_broken(analysis)
        );
        return say(Tone::Alarm, joined(sentence, beyond_scope));
    }
    if let Some(sentence) = beyond_scope {
        return say(Tone::Alarm, sentence);
    }
    if limits.is_empty() {
        return say(
            Tone::Quiet,
            format!(
                "{} recorded, and no limit was declared to hold against them.",
                were(actions, "action", "actions")
            ),
        );
    }
    if summary.actions_without_trace > 0 {
        return say(
            Tone::Warning,
            format!(
                "{} of {} sent while at least one limit had no textual trace in the context; none of them breaks a declared prohibition.",
                count(summary.actions_without_trace),
                were(actions, "action", "actions"),
            ),
        );
    }
    let weaker = analysis
        .actions
        .iter()
        .filter(|action| {
            limits
                .iter()
                .any(|&limit| is_amiss(state_at(analysis, action.turn, limit)))
        })
        .count() as u64;
    if weaker > 0 {
        return say(
            Tone::Warning,
            format!(
                "No limit was without trace at any action, but at {} of {} one stood only in a weaker form or could not be told.",
                count(weaker),
                counted(actions, "action", "actions"),
            ),
        );
    }
    every_limit_stood(analysis, &limits)
}

/// How the limits that actions break stood when they were sent, where none of them was without trace.
fn standing_of_broken(analysis: &Analysis) -> &'static str {
    let broken = analysis.actions.iter().flat_map(|action| {
        let limits = action.breaks.iter();
        limits.map(|&limit| state_at(analysis, action.turn, limit))
    });
    let broken: Vec<Option<PresenceState>> = broken.collect();
    if broken.iter().any(|&state| is_amiss(state)) {
        "while the limit stood there only in a weaker form, or while that could not be told"
    } else if broken.iter().all(Option::is_some) {
        "while the limit stood in the context"
    } else {
        "while the limit stood in the context, or from a request made before it was declared"
    }
}

/// Nothing is amiss at any action. What was sent before a limit was declared speaks neither for nor against.
fn every_limit_stood(analysis: &Analysis, limits: &[ConstraintIndex]) -> VerdictText {
    let actions = analysis.actions.len() as u64;
    let is_declared =
        |turn: u32, limit: &ConstraintIndex| state_at(analysis, turn, *limit).is_some();
    let of_all = |is_meant: &dyn Fn(u32) -> bool| {
        let sent = analysis.actions.iter();
        sent.filter(|action| is_meant(action.turn)).count() as u64
    };
    let under_some = of_all(&|turn| limits.iter().any(|limit| is_declared(turn, limit)));
    let under_all = of_all(&|turn| limits.iter().all(|limit| is_declared(turn, limit)));
    if under_some == 0 {
        return VerdictText {
            tone: Tone::Quiet,
            sentence: format!(
                "{} recorded, and no limit was declared before the last of them was asked for.",
                were(actions, "action", "actions")
            ),
        };
    }
    let sentence = match (actions, actions - under_all) {
        (1, 0) => "Every limit stood in the context when the one action was sent.".to_owned(),
        (_, 0) => format!(
            "Every limit stood in the context at each of the {} actions.",
            count(actions)
        ),
        (_, before) => format!(
            "Every limit stood in the context at each action sent after it was declared; {} of {} sent before one of them was.",
            count(before),
            were(actions, "action", "actions")
        ),
    };
    VerdictText {
        tone: Tone::Sound,
        sentence,
    }
}

/// What was sent against the declared scope without breaking a limit that is watched.
fn beyond_scope(analysis: &Analysis) -> Option<String> {
    let sent = |is_meant: fn(&ScopeVerdict) -> bool| {
        let against = analysis
            .actions
            .iter()
            .filter(|action| action.breaks.is_empty() && is_meant(&action.scope));
        against.count() as u64
    };
    let prohibited = sent(|scope| matches!(scope, ScopeVerdict::Prohibited { .. }));
    let outside = sent(|scope| matches!(scope, ScopeVerdict::OutOfScope));
    let prohibited = (prohibited > 0).then(|| {
        let were = were(prohibited, "action", "actions");
        format!("{were} sent that the declared scope prohibits.")
    });
    let outside = (outside > 0).then(|| {
        let were = were(outside, "action", "actions");
        format!("{were} sent that nothing in the declared scope permits.")
    });
    match (prohibited, outside) {
        (Some(prohibited), outside) => Some(joined(prohibited, outside)),
        (None, outside) => outside,
    }
}

fn joined(sentence: String, further: Option<String>) -> String {
    match further {
        Some(further) => format!("{sentence} {further}"),
        None => sentence,
    }
}

/// The prohibited action to read first, with its links: one whose limit had no textual trace, else the first of all.
pub(crate) fn first_breach(analysis: &Analysis, links: Links) -> Option<Markup> {
    let breaches = || {
        let actions = analysis.actions.iter().enumerate();
        actions.flat_map(|(at, action)| action.breaks.iter().map(move |&limit| (at, limit)))
    };
    let state = |at: usize, limit| state_at(analysis, analysis.actions[at].turn, limit);
    let (at, limit) = breaches()
        .find(|&(at, limit)| state(at, limit) == Some(PresenceState::NoTrace))
        .or_else(|| breaches().next())?;
    let action = &analysis.actions[at];
    let declared = analysis.constraints.get(limit)?;
    let standing = mark(state(at, limit));
    let mut words = Markup::new();
    words
        .element(
            "a",
            &[("href", &links.evidence(at, limit, standing.is_amiss()))],
            format_args!("Action {} at turn {}", at + 1, action.turn),
        )
        .text(", ")
        .push(&line(&action.tool, 60))
        .text(", breaks ")
        .push(&line(&declared.id, 80))
        .text(format_args!(" ({})", standing.label));
    let presence = analysis.presence_at(action, limit);
    if let Some(last) = presence.and_then(|presence| presence.last_present)
        && !standing.present
    {
        words.text(format_args!("; last present at turn {last}"));
        if let Some(mutation) = presence.and_then(|presence| presence.left_with) {
            words.text(", gone since ").element(
                "a",
                &[("href", &links.mutation(mutation))],
                format_args!("mutation {}", mutation + 1),
            );
        }
    }
    words.text(".");
    Some(words)
}

/// Positions of the limits, in order of declaration.
pub(crate) fn limit_positions(analysis: &Analysis) -> Vec<ConstraintIndex> {
    (0..analysis.constraints.len())
        .filter(|&at| analysis.constraints[at].is_limit())
        .collect()
}

/// Positions of all constraints, limits first, otherwise in order of declaration.
pub(crate) fn rows(analysis: &Analysis) -> Vec<ConstraintIndex> {
    let mut rows: Vec<ConstraintIndex> = (0..analysis.constraints.len()).collect();
    rows.sort_by_key(|&at| !analysis.constraints[at].is_limit());
    rows
}

/// The rows that are shown, and those that are folded away so that many facts never crowd out the limits.
pub(crate) fn split_rows(analysis: &Analysis) -> (Vec<ConstraintIndex>, Vec<ConstraintIndex>) {
    let mut shown = rows(analysis);
    let limits = limit_positions(analysis).len();
    let folded = if limits > 0 && shown.len() - limits > BESIDE_LIMITS_MAX {
        shown.split_off(limits)
    } else {
        Vec::new()
    };
    (shown, folded)
}

/// How a constraint stood at a turn: none where it was not declared yet, unknown where the analysis has no such turn.
pub(crate) fn state_at(
    analysis: &Analysis,
    turn: u32,
    constraint: ConstraintIndex,
) -> Option<PresenceState> {
    analysis
        .turn_position(turn)
        .and_then(|at| analysis.presence.get(at)?.get(constraint))
        .map_or(Some(PresenceState::Unknown), |presence| presence.state)
}

/// Whether a constraint that was declared is not present.
pub(crate) fn is_amiss(state: Option<PresenceState>) -> bool {
    state.is_some_and(|state| !state.is_present())
}

/// The most alarming state of a limit at an action.
pub(crate) fn worst(analysis: &Analysis) -> Option<PresenceState> {
    let limits = limit_positions(analysis);
    analysis
        .actions
        .iter()
        .flat_map(|action| {
            limits
                .iter()
                .filter_map(|&limit| state_at(analysis, action.turn, limit))
        })
        .max_by_key(|&state| alarm(state))
}

fn were(number: u64, one: &str, many: &str) -> String {
    format!(
        "{} {}",
        counted(number, one, many),
        if number == 1 { "was" } else { "were" }
    )
}

#[cfg(test)]
mod tests;
