//! One row per turn and constraint.

use std::sync::Arc;

use remembrancer_replay::analysis::{Constraint, Evidence, Mutation, Presence, Risk};
use remembrancer_replay::{Analysis, SessionRecord};

use super::SessionTable;
use crate::columns::Read::{Count, Flag, MaybeCount, MaybeText, Text};
use crate::columns::{Column, Table, column, measured};
use crate::exporter::ExportError;
use crate::parquet_file::ParquetFile;

pub(crate) struct PresenceTable;

pub(crate) struct PresenceRow<'a> {
    session: &'a str,
    turn: u32,
    constraint: &'a Constraint,
    presence: &'a Presence,
    analysis: &'a Analysis,
}

impl PresenceRow<'_> {
    fn first(&self) -> Option<&Evidence> {
        self.presence.evidence.first().map(Arc::as_ref)
    }

    fn is_declared(&self) -> bool {
        let from = self.constraint.from_turn;
        from.is_some_and(|from| self.turn >= from)
    }

    fn left_with(&self) -> Option<&Mutation> {
        self.analysis.mutations.get(self.presence.left_with?)
    }
}

impl Table for PresenceTable {
    type Row<'a> = PresenceRow<'a>;
    const NAME: &'static str = "presence";
    const DESCRIPTION: &'static str = "One row per turn and declared constraint: how the constraint stood in the context of that turn.";
    const COLUMNS: &'static [Column<Self>] = &[
        column(
            "session",
            Text(|row| row.session.into()),
            "Id of the session.",
        ),
        measured(
            "turn",
            "number from 1",
            Count(|row| row.turn.into()),
            "The turn.",
        ),
        column(
            "constraint",
            Text(|row| row.constraint.id.as_str().into()),
            "Id of the constraint, within the session.",
        ),
        column(
            "kind",
            Text(|row| row.constraint.kind.as_str().into()),
            "What it is: prohibition, permission, obligation or fact.",
        ),
        column(
            "limit",
            Flag(|row| row.constraint.is_limit()),
            "Whether it limits what the agent does, so that its absence counts.",
        ),
        column(
            "state",
            MaybeText(|row| row.presence.state.map(|state| state.as_str().into())),
            "How it stood: verbatim, matched, altered, partial, mention, `no_trace`, opaque or unknown; null where it was not declared yet and was not present. No trace in the text is not proof that the model did not know.",
        ),
        column(
            "declared",
            Flag(|row| row.is_declared()),
            "Whether the constraint was declared when the turn was recorded.",
        ),
        column(
            "present",
            Flag(|row| row.presence.is_present()),
            "Whether it counts as present: verbatim and matched do.",
        ),
        column(
            "at_risk",
            MaybeText(|row| row.presence.at_risk.map(|risk| risk_name(risk).into())),
            "Present, but only where the next compaction may take it: `only_in_summary` or `only_in_messages`.",
        ),
        column(
            "witness",
            MaybeText(|row| {
                row.analysis
                    .witness_of(row.turn)
                    .map(|one| one.as_str().into())
            }),
            "How the context that the state rests on became known: exact, telemetry, transcript, hook or claimed.",
        ),
        column(
            "declared_witness",
            Text(|row| row.constraint.witness.as_str().into()),
            "How the constraint's declaration became known.",
        ),
        column(
            "reason",
            MaybeText(|row| row.presence.reason_in_words()),
            "For states without evidence, why.",
        ),
        measured(
            "last_present_turn",
            "number from 1",
            MaybeCount(|row| row.presence.last_present.map(u64::from)),
            "The last turn before this one at which it was present.",
        ),
        measured(
            "left_with_mutation",
            "number from 0",
            MaybeCount(|row| row.presence.left_with.map(|mutation| mutation as u64)),
            "The mutation after which it was no longer present. Sequence, not cause.",
        ),
        measured(
            "left_with_turn",
            "number from 1",
            MaybeCount(|row| row.left_with().map(|mutation| mutation.turn.into())),
            "The first turn that was sent with that mutation.",
        ),
        measured(
            "evidence",
            "places",
            Count(|row| row.presence.evidence.len() as u64),
            "Number of places that the state rests on, at most eight.",
        ),
        measured(
            "evidence_part",
            "number from 0",
            MaybeCount(|row| row.first().map(|evidence| evidence.part.into())),
            "Part of the strongest place, as in `context_parts`.",
        ),
        measured(
            "evidence_position",
            "number from 0",
            MaybeCount(|row| row.first().map(|evidence| evidence.position.into())),
            "Position of that part in the turn's context.",
        ),
        measured(
            "evidence_start",
            "bytes",
            MaybeCount(|row| row.first()?.range.map(|(start, _)| start as u64)),
            "Where in the part's text the match starts.",
        ),
        measured(
            "evidence_end",
            "bytes",
            MaybeCount(|row| row.first()?.range.map(|(_, end)| end as u64)),
            "Where it ends, exclusive.",
        ),
        measured(
            "evidence_from_end",
            "tokens",
            MaybeCount(|row| {
                let places = &row.presence.evidence;
                Some(places.tokens_from_end(places.first()?))
            }),
            "Estimated distance between the match and the end of the context.",
        ),
    ];
}

impl SessionTable for PresenceTable {
    fn write(
        file: &mut ParquetFile<Self>,
        record: &SessionRecord,
        analysis: &Analysis,
    ) -> Result<(), ExportError> {
        let inconsistent = |reason: String| ExportError::Inconsistent {
            session: record.session.to_string(),
            reason,
        };
        if analysis.presence.len() != analysis.turns.len() {
            return Err(inconsistent(format!(
                "{} turns have presence, {} were recorded",
                analysis.presence.len(),
                analysis.turns.len()
            )));
        }
        for (turn, states) in analysis.turns.iter().zip(&analysis.presence) {
            if states.len() != analysis.constraints.len() {
                return Err(inconsistent(format!(
                    "turn {} has the presence of {} constraints, {} were declared",
                    turn.number,
                    states.len(),
                    analysis.constraints.len()
                )));
            }
            for (constraint, presence) in analysis.constraints.iter().zip(states) {
                file.push(&PresenceRow {
                    session: record.session.as_str(),
                    turn: turn.number,
                    constraint,
                    presence,
                    analysis,
                })?;
            }
        }
        Ok(())
    }
}

fn risk_name(risk: Risk) -> &'static str {
    match risk {
        Risk::OnlyInSummary => "only_in_summary",
        Risk::OnlyInMessages => "only_in_messages",
    }
}
