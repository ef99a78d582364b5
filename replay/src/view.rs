//! The analysis as it is shown to programs: the JSON of `presence`, `mutations` and `findings`.

mod action;
mod control;

use std::collections::BTreeMap;

use remembrancer_schema::payload::{ConstraintKind, ContextProof, Fate, MutationKind, Witness};
use serde::Serialize;

use crate::analysis::{
    Aftermath, Analysis, Attribution, Budget, Clearing, ConstraintIndex, DeclaredMutation,
    Disagreement, FindingKind, MutationIndex, PartFate, PartIndex, PresenceState, Risk, Severity,
    Summary, Turn,
};
use crate::witnesses::FindingPlaces;
pub use action::{ActionView, EvidenceView, LeftWith, PresenceView};
pub use control::{ChangedView, ControlsView, EmptiedView};

/// How each constraint stood at each turn and at each action.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PresenceReport<'a> {
    /// The session's id.
    pub session: &'a str,
    /// The constraints, in order of declaration.
    pub constraints: Vec<ConstraintView<'a>>,
    /// The turns, by number.
    pub turns: Vec<TurnView<'a>>,
    /// The actions, in order of recording.
    pub actions: Vec<ActionView<'a>>,
    /// What the checks say where they cannot say anything.
    pub controls: ControlsView<'a>,
    /// The three numbers that people ask for.
    pub summary: Summary,
}

/// A constraint, in short.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ConstraintView<'a> {
    /// Its id.
    pub id: &'a str,
    /// Its kind.
    pub kind: ConstraintKind,
    /// Its text.
    pub text: &'a str,
    /// How its declaration became known.
    pub witness: Witness,
}

/// The states at one turn.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TurnView<'a> {
    /// The turn's number.
    pub turn: u32,
    /// How its context became known: what the states rest on.
    pub witness: Witness,
    /// How well a rebuilt context was checked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub proof: Option<&'a ContextProof>,
    /// The state of each constraint, by id; null where it was not declared yet.
    pub states: BTreeMap<&'a str, Option<PresenceState>>,
    /// The constraints that are present only where the next compaction may take them, by id.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub at_risk: BTreeMap<&'a str, Risk>,
}

/// A mutation.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MutationView<'a> {
    /// Its position in the analysis.
    pub mutation: MutationIndex,
    /// The first turn that was sent with it.
    pub turn: u32,
    /// What kind of change.
    pub kind: MutationKind,
    /// The last turn before it whose context is known.
    pub previous_turn: Option<u32>,
    /// How the context before became known; absent where there is none.
    pub previous_witness: Option<Witness>,
    /// How the context after became known. What became of the parts rests on both.
    pub witness: Option<Witness>,
    /// What the application said.
    pub declared: Option<&'a DeclaredMutation>,
    /// How many parts met each fate. Parts that were merely appended are not counted.
    pub counts: BTreeMap<&'static str, u64>,
    /// What became of each part.
    pub fates: Vec<FateView<'a>>,
    /// Where the declaration and the contexts disagree.
    pub disagreements: &'a [Disagreement],
    /// What it did to the request's size.
    pub budget: &'a Budget,
    /// Whether the floor holds, where it can be computed.
    pub floor_holds: Option<bool>,
    /// The limits that were present before and not after, by id.
    pub left: Vec<&'a str>,
    /// What it left behind: depth of its summary, torn pairs, anatomy, growth, repeated calls.
    pub aftermath: &'a Aftermath,
    /// What the provider cleared from the turn's request before the model read it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clearing: Option<&'a Clearing>,
    /// What the presence checks say once its summary is emptied.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub emptied_summary: Option<EmptiedView<'a>>,
    /// What its summaries say was allowed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub attributions: Vec<&'a Attribution>,
}

/// What became of a part.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FateView<'a> {
    /// The part: its position in the analysis.
    pub part: PartIndex,
    /// Its kind, as written.
    pub kind: Option<&'static str>,
    /// The call that it belongs to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub call_id: Option<&'a str>,
    /// The tool that it belongs to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool: Option<&'a str>,
    /// Index of the entry that brought it.
    pub entry: Option<u64>,
    /// Its position before.
    pub before: Option<u32>,
    /// Its or its replacement's position after.
    pub after: Option<u32>,
    /// What became of it.
    pub fate: Fate,
    /// What stands in for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replaced_by: Option<PartIndex>,
    /// It was simply appended.
    pub appended: bool,
}

/// A finding.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FindingView<'a> {
    /// What was noticed.
    pub kind: FindingKind,
    /// How much it matters.
    pub severity: Severity,
    /// The turn that it is about.
    pub turn: Option<u32>,
    /// The call that it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub call_id: Option<&'a str>,
    /// The constraint that it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub constraint: Option<&'a str>,
    /// The mutation that it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mutation: Option<MutationIndex>,
    /// Index of the entry that it rests on.
    pub entry: Option<u64>,
    /// How the context that it is about became known; of a mutation, the weaker of those before and after. Null where it is
    /// about none, or one that is not recorded.
    pub context_witness: Option<Witness>,
    /// How the action that it is about became known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub action_witness: Option<Witness>,
    /// The finding in words.
    pub message: &'a str,
}

/// How each constraint stood at each turn and at each action.
pub fn presence(analysis: &Analysis) -> PresenceReport<'_> {
    PresenceReport {
        session: &analysis.overview.session,
        constraints: analysis
            .constraints
            .iter()
            .map(|declared| ConstraintView {
                id: &declared.id,
                kind: declared.kind,
                text: &declared.text,
                witness: declared.witness,
            })
            .collect(),
        turns: analysis
            .turns
            .iter()
            .enumerate()
            .map(|(at, turn)| turn_view(analysis, at, turn))
            .collect(),
        actions: analysis
            .actions
            .iter()
            .map(|sent| action::view(analysis, sent))
            .collect(),
        controls: control::controls(analysis),
        summary: analysis.summary,
    }
}

/// The mutations, in order.
pub fn mutations(analysis: &Analysis) -> Vec<MutationView<'_>> {
    let left = left_with(analysis);
    let mutations = analysis.mutations.iter().enumerate();
    mutations
        .map(|(index, mutation)| MutationView {
            mutation: index,
            turn: mutation.turn,
            kind: mutation.kind,
            previous_turn: mutation.previous_turn,
            previous_witness: mutation
                .previous_turn
                .and_then(|turn| analysis.witness_of(turn)),
            witness: analysis.witness_of(mutation.turn),
            declared: mutation.declared.as_ref(),
            counts: counts(&mutation.fates),
            fates: mutation
                .fates
                .iter()
                .map(|fate| fate_view(analysis, fate))
                .collect(),
            disagreements: &mutation.disagreements,
            budget: &mutation.budget,
            floor_holds: mutation.budget.floor.map(|floor| floor.holds),
            left: left.get(&index).cloned().unwrap_or_default(),
            aftermath: &mutation.aftermath,
            clearing: mutation.clearing.as_ref(),
            emptied_summary: analysis
                .controls
                .emptied
                .iter()
                .find(|control| control.mutation == index)
                .map(|control| control::emptied(analysis, control)),
            attributions: analysis
                .attributions
                .iter()
                .filter(|attribution| attribution.mutation == Some(index))
                .collect(),
        })
        .collect()
}

/// The findings, in order of turn.
pub fn findings(analysis: &Analysis) -> Vec<FindingView<'_>> {
    let places = FindingPlaces::of(analysis);
    let findings = analysis.findings.iter();
    findings
        .map(|finding| FindingView {
            kind: finding.kind,
            severity: finding.severity,
            turn: finding.turn,
            call_id: finding.call_id.as_deref(),
            constraint: finding.constraint.as_deref(),
            mutation: finding.mutation,
            entry: finding.entry,
            context_witness: places.context_witness(finding),
            action_witness: places.action_witness(finding),
            message: &finding.message,
        })
        .collect()
}

fn turn_view<'a>(analysis: &'a Analysis, at: usize, turn: &'a Turn) -> TurnView<'a> {
    let row = analysis.presence.get(at).map_or(&[][..], Vec::as_slice);
    let states = analysis.constraints.iter().zip(row);
    TurnView {
        turn: turn.number,
        witness: turn.witness,
        proof: turn.proof.as_ref(),
        at_risk: states
            .clone()
            .filter_map(|(constraint, presence)| Some((constraint.id.as_str(), presence.at_risk?)))
            .collect(),
        states: states
            .map(|(constraint, presence)| (constraint.id.as_str(), presence.state))
            .collect(),
    }
}

fn fate_view<'a>(analysis: &'a Analysis, fate: &PartFate) -> FateView<'a> {
    let part = analysis.parts.get(fate.part as usize);
    FateView {
        part: fate.part,
        kind: part.map(|part| part.kind.as_str()),
        call_id: part.and_then(|part| part.call_id.as_deref()),
        tool: part.and_then(|part| part.tool.as_deref()),
        entry: part.map(|part| part.entry),
        before: fate.before,
        after: fate.after,
        fate: fate.fate,
        replaced_by: fate.replaced_by,
        appended: fate.appended,
    }
}

fn counts(fates: &[PartFate]) -> BTreeMap<&'static str, u64> {
    let mut counts = BTreeMap::new();
    for fate in fates.iter().filter(|fate| !fate.appended) {
        *counts.entry(fate.fate.as_str()).or_default() += 1;
    }
    counts
}

/// The limits that left with each mutation, in order of declaration.
fn left_with(analysis: &Analysis) -> BTreeMap<MutationIndex, Vec<&str>> {
    let mut left: BTreeMap<MutationIndex, Vec<ConstraintIndex>> = BTreeMap::new();
    for row in &analysis.presence {
        for (index, presence) in row.iter().enumerate() {
            if let Some(mutation) = presence.left_with {
                left.entry(mutation).or_default().push(index);
            }
        }
    }
    let named = left.into_iter().map(|(mutation, mut indices)| {
        indices.sort_unstable();
        indices.dedup();
        let limits = indices
            .iter()
            .filter_map(|index| analysis.constraints.get(*index));
        let ids = limits
            .filter(|constraint| constraint.is_limit())
            .map(|constraint| constraint.id.as_str());
        (mutation, ids.collect())
    });
    named.collect()
}

#[cfg(test)]
pub(crate) mod tests;
