//! How each presence state is shown: by letter, glyph and pattern, with colour only in support.

use remembrancer_replay::analysis::PresenceState;

/// The signs of one state. Glyph and letter alone tell the eight apart, in any colour scheme and in print.
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
}

/// The mark of a state.
pub(crate) fn mark(state: PresenceState) -> Mark {
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
        let marks = PresenceState::ALL.map(mark);
        for signs in [
            marks.map(|mark| mark.glyph),
            marks.map(|mark| mark.letter),
            marks.map(|mark| mark.class),
            marks.map(|mark| mark.label),
        ] {
            assert_eq!(
                signs.into_iter().collect::<BTreeSet<_>>().len(),
                marks.len()
            );
        }
        let alarms: BTreeSet<u8> = PresenceState::ALL.map(alarm).into_iter().collect();
        assert_eq!(alarms.len(), PresenceState::ALL.len());
    }
}
