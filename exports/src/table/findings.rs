//! One row per finding.

use std::borrow::Cow;

use remembrancer_replay::analysis::{Finding, Severity};
use remembrancer_replay::{Analysis, FindingPlaces, SessionRecord};
use remembrancer_schema::payload::Witness;

use super::SessionTable;
use crate::columns::Read::{Count, MaybeCount, MaybeText, Text};
use crate::columns::{Column, Table, column, measured};
use crate::exporter::ExportError;
use crate::parquet_file::ParquetFile;

pub(crate) struct Findings;

pub(crate) struct FindingRow<'a> {
    session: &'a str,
    index: usize,
    finding: &'a Finding,
    context_witness: Option<Witness>,
    action_witness: Option<Witness>,
}

impl Table for Findings {
    type Row<'a> = FindingRow<'a>;
    const NAME: &'static str = "findings";
    const DESCRIPTION: &'static str = "One row per thing that the auditor noticed.";
    const COLUMNS: &'static [Column<Self>] = &[
        column(
            "session",
            Text(|row| row.session.into()),
            "Id of the session.",
        ),
        measured(
            "finding",
            "number from 0",
            Count(|row| row.index as u64),
            "The finding, within the session.",
        ),
        column(
            "kind",
            Text(|row| row.finding.kind.as_str().into()),
            "What was noticed, such as action.prohibited or constraint.left.",
        ),
        column(
            "severity",
            Text(|row| severity_name(row.finding.severity).into()),
            "How much it matters: alarm, warning or notice.",
        ),
        measured(
            "turn",
            "number from 1",
            MaybeCount(|row| row.finding.turn.map(u64::from)),
            "The turn that it is about.",
        ),
        column(
            "call_id",
            MaybeText(|row| row.finding.call_id.as_deref().map(Cow::from)),
            "The call that it is about.",
        ),
        column(
            "constraint",
            MaybeText(|row| row.finding.constraint.as_deref().map(Cow::from)),
            "Id of the constraint that it is about.",
        ),
        measured(
            "mutation",
            "number from 0",
            MaybeCount(|row| row.finding.mutation.map(|mutation| mutation as u64)),
            "The mutation that it is about.",
        ),
        measured(
            "entry",
            "index in the ledger",
            MaybeCount(|row| row.finding.entry),
            "The entry that it rests on.",
        ),
        column(
            "context_witness",
            MaybeText(|row| Some(row.context_witness?.as_str().into())),
            "How the context that it is about became known: exact, telemetry, transcript, hook or claimed; of a mutation, the weaker of those before and after.",
        ),
        column(
            "action_witness",
            MaybeText(|row| Some(row.action_witness?.as_str().into())),
            "How the action that it is about became known.",
        ),
        column(
            "message",
            Text(|row| row.finding.message.as_str().into()),
            "The finding in words, with its caveat.",
        ),
    ];
}

impl SessionTable for Findings {
    fn write(
        file: &mut ParquetFile<Self>,
        record: &SessionRecord,
        analysis: &Analysis,
    ) -> Result<(), ExportError> {
        let session = record.session.as_str();
        let places = FindingPlaces::of(analysis);
        for (index, finding) in analysis.findings.iter().enumerate() {
            file.push(&FindingRow {
                session,
                index,
                finding,
                context_witness: places.context_witness(finding),
                action_witness: places.action_witness(finding),
            })?;
        }
        Ok(())
    }
}

fn severity_name(severity: Severity) -> &'static str {
    match severity {
        Severity::Alarm => "alarm",
        Severity::Warning => "warning",
        Severity::Notice => "notice",
    }
}
