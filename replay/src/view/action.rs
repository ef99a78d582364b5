//! Actions with the state of every constraint when they were sent, and its evidence.

use std::borrow::Cow;
use std::collections::BTreeMap;

use remembrancer_schema::payload::{MutationKind, PartKind, PartOrigin, Witness};
use serde::Serialize;

use crate::analysis::{
    Action, Alteration, Analysis, Evidence, MutationIndex, Presence, PresenceState, Risk,
    ScopeVerdict,
};

use crate::effect::Effects;

/// Most characters of an excerpt.
const EXCERPT_CHARS_MAX: usize = 200;
/// Most characters of an excerpt before the match.
const LEAD_CHARS_MAX: usize = 60;

/// An action with the state of each constraint in the context that it was sent from.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ActionView<'a> {
    /// The turn whose response carried it.
    pub turn: u32,
    /// The call's id.
    pub call_id: &'a str,
    /// The tool.
    pub tool: &'a str,
    /// Whether the declared scope permits it.
    pub scope: &'a ScopeVerdict,
    /// Which declaration of the scope was in force when it was recorded, counted from 1.
    pub scope_version: Option<u32>,
    /// What it touches.
    pub effects: &'a Effects,
    /// The prohibitions that it breaks, by id.
    pub breaks: Vec<&'a str>,
    /// How the turn's context became known; absent if the turn is not in the record.
    pub witness: Option<Witness>,
    /// How the action itself became known.
    pub action_witness: Witness,
    /// The state of each constraint, by id.
    pub states: BTreeMap<&'a str, PresenceView<'a>>,
}

/// The state of one constraint with its evidence.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PresenceView<'a> {
    /// The state; null where the constraint was not declared yet.
    pub state: Option<PresenceState>,
    /// Where its words stand, the strongest first.
    pub evidence: Vec<EvidenceView<'a>>,
    /// Present, but only where the next compaction may take it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at_risk: Option<Risk>,
    /// Why, in words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<Cow<'a, str>>,
    /// The last turn before at which it was present.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_present: Option<u32>,
    /// The mutation that it left with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub left_with: Option<LeftWith>,
    /// How the context became known.
    pub witness: Option<Witness>,
}

/// A mutation, in short.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct LeftWith {
    /// Its position in the analysis.
    pub mutation: MutationIndex,
    /// The first turn that was sent with it.
    pub turn: u32,
    /// What kind of change.
    pub kind: MutationKind,
}

/// A place where a constraint's words stand.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct EvidenceView<'a> {
    /// The state that this place alone gives.
    pub state: PresenceState,
    /// Index in the ledger of the entry that brought the part.
    pub entry: u64,
    /// The turn whose context it is.
    pub turn: u32,
    /// Position of the part in that context.
    pub position: u32,
    /// What the part is.
    pub kind: PartKind,
    /// Whose words it holds.
    pub origin: PartOrigin,
    /// The call that the part belongs to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub call_id: Option<&'a str>,
    /// Bytes of the part's text: start and end.
    pub range: Option<(usize, usize)>,
    /// The text there, with a little of what stands around it.
    pub excerpt: Option<String>,
    /// Estimated tokens between it and the end of the context.
    pub tokens_from_end: u64,
    /// What was found, in words.
    pub note: Option<&'a str>,
    /// How it differs from what was declared, with both texts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub alteration: Option<&'a Alteration>,
}

pub(super) fn view<'a>(analysis: &'a Analysis, action: &'a Action) -> ActionView<'a> {
    let position = analysis.turn_position(action.turn);
    let witness = position
        .and_then(|at| analysis.turns.get(at))
        .map(|turn| turn.witness);
    let row = position
        .and_then(|at| analysis.presence.get(at))
        .map_or(&[][..], Vec::as_slice);
    let id = |index: &usize| {
        analysis
            .constraints
            .get(*index)
            .map(|constraint| constraint.id.as_str())
    };
    let states = analysis
        .constraints
        .iter()
        .enumerate()
        .map(|(index, constraint)| {
            let state = row.get(index).map_or_else(not_recorded, |presence| {
                presence_view(analysis, presence, action.turn, witness)
            });
            (constraint.id.as_str(), state)
        });
    ActionView {
        turn: action.turn,
        call_id: &action.call_id,
        tool: &action.tool,
        scope: &action.scope,
        scope_version: action.scope_version,
        effects: &action.effects,
        breaks: action.breaks.iter().filter_map(id).collect(),
        witness,
        action_witness: action.witness,
        states: states.collect(),
    }
}

fn not_recorded<'a>() -> PresenceView<'a> {
    PresenceView {
        state: Some(PresenceState::Unknown),
        evidence: Vec::new(),
        at_risk: None,
        reason: Some("the turn that sent this action is not in the record".into()),
        last_present: None,
        left_with: None,
        witness: None,
    }
}

fn presence_view<'a>(
    analysis: &'a Analysis,
    presence: &'a Presence,
    turn: u32,
    witness: Option<Witness>,
) -> PresenceView<'a> {
    let left_with = presence.left_with.and_then(|index| {
        let mutation = analysis.mutations.get(index)?;
        Some(LeftWith {
            mutation: index,
            turn: mutation.turn,
            kind: mutation.kind,
        })
    });
    PresenceView {
        state: presence.state,
        evidence: presence
            .evidence
            .iter()
            .filter_map(|place| {
                let from_end = presence.evidence.tokens_from_end(place);
                evidence_view(analysis, place, turn, from_end)
            })
            .collect(),
        at_risk: presence.at_risk,
        reason: presence.reason_in_words(),
        last_present: presence.last_present,
        left_with,
        witness,
    }
}

fn evidence_view<'a>(
    analysis: &'a Analysis,
    place: &'a Evidence,
    turn: u32,
    tokens_from_end: u64,
) -> Option<EvidenceView<'a>> {
    let part = analysis.parts.get(place.part as usize)?;
    let text = analysis
        .content_of(place.part)
        .and_then(|content| content.text.as_deref());
    Some(EvidenceView {
        state: place.state,
        entry: part.entry,
        turn,
        position: place.position,
        kind: part.kind,
        origin: part.origin,
        call_id: part.call_id.as_deref(),
        range: place.range,
        excerpt: text
            .zip(place.range)
            .and_then(|(text, range)| excerpt(text, range)),
        tokens_from_end,
        note: place.note.as_deref(),
        alteration: place.alteration.as_deref(),
    })
}

/// A piece of text around a range: from a little before it, cut to whole characters.
pub(super) fn excerpt(text: &str, (start, end): (usize, usize)) -> Option<String> {
    let (before, found) = (text.get(..start)?, text.get(start..end)?);
    let after = text.get(end..)?;
    let lead = before
        .char_indices()
        .rev()
        .take(LEAD_CHARS_MAX)
        .last()
        .map_or(start, |(at, _)| at);
    let room = EXCERPT_CHARS_MAX
        .saturating_sub(text[lead..start].chars().count())
        .saturating_sub(found.chars().count());
    let tail: String = after.chars().take(room).collect();
    let whole = format!("{}{found}{tail}", &text[lead..start]);
    Some(whole.chars().take(EXCERPT_CHARS_MAX).collect())
}
