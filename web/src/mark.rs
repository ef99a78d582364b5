//! How each presence state is shown: by letter, glyph and pattern, with colour only in support.

use remembrancer_replay::analysis::{Presence, PresenceState};

/// The signs of one state. Glyph and letter alone tell them apart, in any colour scheme and in print.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Mark {
    /// Class in the stylesheet, `s-` before it.
    pub(crate) class: &'static str,
    /// A character of the common geometric and mathematical blocks; no emoji, whose looks differ by system.
    pub(crate) glyph: &'static str,
    /// One letter.
    pub(crate) letter: &'static str,
    /// The state in words.
    pub(crate) label: &'static str,
    /// What it means.
    pub(crate) meaning: &'static str,
    /// Whether the constraint counts as present.
    pub(crate) present: bool,
    /// Whether the constraint was declared, or present all the same, so that its absence would count.
    pub(crate) counted: bool,
}

impl Mark {
    /// Whether the constraint was declared and is not present.
    pub(crate) fn is_amiss(&self) -> bool {
        self.counted && !self.present
    }
}

/// The marks of the eight states, from the strongest to the weakest, and of none.
pub(crate) fn legend() -> Vec<Mark> {
    let states = PresenceState::ALL.into_iter().map(Some);
    states.chain([None]).map(mark).collect()
}

/// The mark of a state; of none where the constraint was not declared yet.
pub(crate) fn mark(state: impl Into<Option<PresenceState>>) -> Mark {
    match state.into() {
        Some(state) => of_state(state),
        None => Mark {
            class: "undeclared",
            glyph: "–",
            letter: "D",
            label: Presence::NOT_YET_DECLARED,
            meaning: "It was declared only after this request was sent, and did not stand in it. Nothing was missing, so this is no state of presence and is not counted.",
            present: false,
            counted: false,
        },
    }
}

fn of_state(state: PresenceState) -> Mark {
    let (class, glyph, letter, label, meaning) = match state {
        PresenceState::Verbatim => (
            "verbatim",
            "●",
            "V",
            "verbatim",
            "The declared text stands in one carrying part, word for word up to case, white space and punctuation.",
        ),
        PresenceState::Matched => (
            "matched",
            "◉",
            "M",
            "matched",
            "Not verbatim, but the declared matcher holds over the carrying parts.",
        ),
        PresenceState::Altered => (
            "altered",
            "≠",
            "A",
            "altered",
            "A carrying part restates it with a difference that matters: another number, name, negation or modality.",
        ),
        PresenceState::Partial => (
            "partial",
            "◐",
            "P",
            "partial",
            "At least half of its content words stand close together in a carrying part: likely a paraphrase, to be read.",
        ),
        PresenceState::Mention => (
            "mention",
            "○",
            "T",
            "mention only",
            "Its words stand only as a topic, or only in parts without authority: the agent's own words and calls, or tool results.",
        ),
        PresenceState::NoTrace => (
            "no-trace",
            "✕",
            "N",
            "no textual trace",
            "The whole context is known, and none of the above was found in it.",
        ),
        PresenceState::Opaque => (
            "opaque",
            "▨",
            "O",
            "opaque",
            "A part is there but cannot be read, and nothing readable settles it.",
        ),
        PresenceState::Unknown => (
            "unknown",
            "?",
            "U",
            "unknown",
            "The context at this turn was not recorded, or could not be rebuilt.",
        ),
    };
    Mark {
        class,
        glyph,
        letter,
        label,
        meaning,
        present: state.is_present(),
        counted: true,
    }
}

/// How alarming a state is, for finding the worst of several: no trace before altered before the weaker ones; what cannot be told comes
/// after every absence and before presence.
pub(crate) fn alarm(state: PresenceState) -> u8 {
    match state {
        PresenceState::Verbatim => 0,
        PresenceState::Matched => 1,
        PresenceState::Partial => 2,
        PresenceState::Opaque => 3,
        PresenceState::Unknown => 4,
        PresenceState::Mention => 5,
        PresenceState::Altered => 6,
        PresenceState::NoTrace => 7,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn no_two_states_share_a_sign() {
        let marks = legend();
        assert_eq!(marks.len(), PresenceState::ALL.len() + 1);
        let signs: [fn(&Mark) -> &'static str; 4] = [
            |mark| mark.glyph,
            |mark| mark.letter,
            |mark| mark.class,
            |mark| mark.label,
        ];
        for sign in signs {
            let distinct: BTreeSet<_> = marks.iter().map(sign).collect();
            assert_eq!(distinct.len(), marks.len(), "{distinct:?}");
        }
        let amiss = marks.iter().filter(|mark| mark.is_amiss()).count();
        assert_eq!(amiss, PresenceState::ALL.len() - 2);
        let alarms: BTreeSet<u8> = PresenceState::ALL.map(alarm).into_iter().collect();
        assert_eq!(alarms.len(), PresenceState::ALL.len());
    }
}
