//! One row per session.

use std::borrow::Cow;

use remembrancer_replay::analysis::Constraint;
use remembrancer_replay::{Analysis, SessionRecord};

use super::SessionTable;
use crate::columns::Read::{Count, Flag, MaybeCount, MaybeText, MaybeTime, Text};
use crate::columns::{Column, Table, column, measured};
use crate::exporter::ExportError;
use crate::parquet_file::ParquetFile;

pub(crate) struct Sessions;

pub(crate) struct SessionRow<'a> {
    record: &'a SessionRecord,
    analysis: &'a Analysis,
}

impl Table for Sessions {
    type Row<'a> = SessionRow<'a>;
    const NAME: &'static str = "sessions";
    const DESCRIPTION: &'static str = "One row per session.";
    const COLUMNS: &'static [Column<Self>] = &[
        column(
            "session",
            Text(|row| row.record.session.as_str().into()),
            "Id of the session.",
        ),
        column(
            "label",
            MaybeText(|row| row.analysis.overview.label.as_deref().map(Cow::from)),
            "Its name for people.",
        ),
        measured(
            "labels",
            "JSON object",
            Text(|row| labels(row)),
            "What it is grouped by: condition, arm, replicate and the like.",
        ),
        column(
            "agent",
            MaybeText(|row| row.analysis.overview.agent.as_deref().map(Cow::from)),
            "The agent's name.",
        ),
        column(
            "model",
            MaybeText(|row| row.analysis.overview.model.as_deref().map(Cow::from)),
            "The model.",
        ),
        column(
            "parent",
            MaybeText(|row| {
                row.analysis
                    .overview
                    .parent
                    .as_ref()
                    .map(|parent| parent.as_str().into())
            }),
            "Id of the session that started it.",
        ),
        column(
            "parent_call",
            MaybeText(|row| row.analysis.overview.parent_call.as_deref().map(Cow::from)),
            "The call in the parent that started it.",
        ),
        column(
            "source",
            MaybeText(|row| row.analysis.overview.source.as_deref().map(Cow::from)),
            "Where the record was taken from, if not sent by the application itself.",
        ),
        column(
            "started",
            MaybeTime(|row| row.analysis.overview.started.as_deref().map(Cow::from)),
            "Time of the first event: the client's where given, else of receipt.",
        ),
        column(
            "last_event",
            MaybeTime(|row| row.analysis.overview.last_event.as_deref().map(Cow::from)),
            "Time of the last event.",
        ),
        column(
            "sealed",
            Flag(|row| row.analysis.overview.sealed),
            "Whether its end was recorded. Without it, the tail is open.",
        ),
        column(
            "outcome",
            MaybeText(|row| row.analysis.overview.outcome.as_deref().map(Cow::from)),
            "The outcome that its end states.",
        ),
        measured(
            "head",
            "BLAKE3 in hexadecimal",
            MaybeText(|row| row.record.head().map(|hash| hash.to_string().into())),
            "Hash of its last entry: names the state of the record that all rows of this session come from.",
        ),
        measured(
            "compaction_trigger",
            "tokens",
            MaybeCount(|row| row.analysis.overview.compaction_trigger_tokens),
            "Input size above which the application compacts.",
        ),
        column(
            "objective",
            MaybeText(|row| {
                row.analysis
                    .overview
                    .intents
                    .first()
                    .map(|intent| intent.objective.as_str().into())
            }),
            "The first declared objective.",
        ),
        measured(
            "scores",
            "JSON array",
            Text(|row| scores(row)),
            "The scores that were assigned, in order: criterion, value, `out_of`, `assigned_by`.",
        ),
        measured(
            "entries",
            "entries",
            Count(|row| row.analysis.overview.entries),
            "Number of entries.",
        ),
        measured(
            "unreadable_entries",
            "entries",
            Count(|row| row.analysis.overview.unreadable_entries),
            "Entries whose payload is erased or cannot be read.",
        ),
        measured(
            "intents",
            "intents",
            Count(|row| row.analysis.overview.intents.len() as u64),
            "Number of declared intents.",
        ),
        measured(
            "constraints",
            "constraints",
            Count(|row| row.analysis.constraints.len() as u64),
            "Number of declared constraints and facts.",
        ),
        measured(
            "limits",
            "constraints",
            Count(|row| {
                row.analysis
                    .constraints
                    .iter()
                    .filter(|constraint| Constraint::is_limit(constraint))
                    .count() as u64
            }),
            "Those of them that limit what the agent does: prohibitions and obligations.",
        ),
        measured(
            "turns",
            "turns",
            Count(|row| row.analysis.turns.len() as u64),
            "Number of model requests.",
        ),
        measured(
            "mutations",
            "mutations",
            Count(|row| row.analysis.mutations.len() as u64),
            "Number of context mutations.",
        ),
        measured(
            "actions",
            "actions",
            Count(|row| row.analysis.actions.len() as u64),
            "Number of tool calls that the model sent.",
        ),
        measured(
            "findings",
            "findings",
            Count(|row| row.analysis.findings.len() as u64),
            "Number of findings.",
        ),
        measured(
            "actions_without_trace",
            "actions",
            Count(|row| row.analysis.summary.actions_without_trace),
            "Actions sent while at least one limit had no trace in the context.",
        ),
        measured(
            "prohibited_without_trace",
            "actions",
            Count(|row| row.analysis.summary.prohibited_without_trace),
            "Prohibited actions sent while the very limit that they break had no trace.",
        ),
        measured(
            "longest_gap",
            "turns",
            Count(|row| row.analysis.summary.longest_gap_turns),
            "The longest run of consecutive turns during which one limit had no trace.",
        ),
    ];
}

impl SessionTable for Sessions {
    fn write(
        file: &mut ParquetFile<Self>,
        record: &SessionRecord,
        analysis: &Analysis,
    ) -> Result<(), ExportError> {
        file.push(&SessionRow { record, analysis })
    }
}

fn labels<'a>(row: &SessionRow<'a>) -> Cow<'a, str> {
    serde_json::to_string(&row.analysis.overview.labels)
        .expect("a map of text to text is a JSON object")
        .into()
}

fn scores<'a>(row: &SessionRow<'a>) -> Cow<'a, str> {
    serde_json::to_string(&row.analysis.overview.scores)
        .expect("scores hold only text and numbers")
        .into()
}
