//! One row per context mutation.

mod row;

use std::borrow::Cow;

use remembrancer_replay::{Analysis, SessionRecord};
use remembrancer_schema::payload::Fate;

use super::SessionTable;
use crate::columns::Read::{
    Count, Flag, MaybeCount, MaybeFlag, MaybeInteger, MaybeNumber, MaybeText, Text, Texts,
};
use crate::columns::{Column, Table, column, measured};
use crate::exporter::ExportError;
use crate::parquet_file::ParquetFile;
use row::MutationRow;

pub(crate) struct Mutations;

impl Table for Mutations {
    type Row<'a> = MutationRow<'a>;
    const NAME: &'static str = "mutations";
    const DESCRIPTION: &'static str =
        "One row per change of the context that is more than appending.";
    const COLUMNS: &'static [Column<Self>] = &[
        column(
            "session",
            Text(|row| row.session.into()),
            "Id of the session.",
        ),
        measured(
            "mutation",
            "number from 0",
            Count(|row| row.index as u64),
            "The mutation, within the session.",
        ),
        measured(
            "turn",
            "number from 1",
            Count(|row| row.mutation.turn.into()),
            "The first turn that was sent with the changed context.",
        ),
        measured(
            "previous_turn",
            "number from 1",
            MaybeCount(|row| row.mutation.previous_turn.map(u64::from)),
            "The last turn before it whose context is known.",
        ),
        column(
            "kind",
            Text(|row| row.mutation.kind.as_str().into()),
            "What kind of change, as declared or else as derived.",
        ),
        column(
            "declared",
            Flag(|row| row.declared().is_some()),
            "Whether the application gave an account of it.",
        ),
        column(
            "declared_kind",
            MaybeText(|row| row.declared().map(|declared| declared.kind.as_str().into())),
            "The kind that the application stated.",
        ),
        column(
            "declared_witness",
            MaybeText(|row| Some(row.declared()?.witness.as_str().into())),
            "How that account became known.",
        ),
        column(
            "witness",
            MaybeText(|row| Some(row.witness?.as_str().into())),
            "How the contexts before and after became known, the weaker of both: what became of the parts rests on them. Null where one is not known.",
        ),
        measured(
            "declared_entry",
            "index in the ledger",
            MaybeCount(|row| row.declared().map(|declared| declared.entry)),
            "The entry of its account.",
        ),
        column(
            "name",
            MaybeText(|row| row.declared()?.name.as_deref().map(Cow::from)),
            "The application's name for it.",
        ),
        column(
            "trigger_cause",
            MaybeText(|row| {
                row.declared()?
                    .trigger
                    .as_ref()?
                    .cause
                    .as_deref()
                    .map(Cow::from)
            }),
            "Why, in the application's word.",
        ),
        measured(
            "trigger_threshold",
            "tokens",
            MaybeCount(|row| row.declared()?.trigger.as_ref()?.threshold_tokens),
            "Input size above which the application compacts.",
        ),
        measured(
            "trigger_observed",
            "tokens",
            MaybeCount(|row| row.declared()?.trigger.as_ref()?.observed_tokens),
            "The input size that set it off.",
        ),
        column(
            "injected_fault",
            MaybeText(|row| row.declared()?.injected_fault.as_deref().map(Cow::from)),
            "What was damaged on purpose, if anything.",
        ),
        column(
            "summary_model",
            MaybeText(|row| {
                row.declared()?
                    .summary
                    .as_ref()?
                    .model
                    .as_deref()
                    .map(Cow::from)
            }),
            "The model that wrote the summary.",
        ),
        measured(
            "summary_input_tokens",
            "tokens",
            MaybeCount(|row| row.declared()?.summary.as_ref()?.input_tokens),
            "What the summarizer read.",
        ),
        measured(
            "summary_output_tokens",
            "tokens",
            MaybeCount(|row| row.declared()?.summary.as_ref()?.output_tokens),
            "What it wrote.",
        ),
        column(
            "withheld_fields",
            Texts(|row| {
                row.declared().map_or_else(Vec::new, |declared| {
                    declared
                        .withheld
                        .iter()
                        .map(|field| field.as_str().into())
                        .collect()
                })
            }),
            "Names of fields whose values were withheld.",
        ),
        column(
            "derived",
            Flag(|row| !row.mutation.fates.is_empty()),
            "Whether both contexts are known, so that the part counts below were derived from them; without it they are 0.",
        ),
        measured(
            "parts_kept",
            "parts",
            Count(|row| row.count(Fate::Kept)),
            "Parts that are still there.",
        ),
        measured(
            "parts_dropped",
            "parts",
            Count(|row| row.count(Fate::Dropped)),
            "Parts that are gone.",
        ),
        measured(
            "parts_summarised",
            "parts",
            Count(|row| row.count(Fate::Summarised)),
            "Parts that a summary stands in for.",
        ),
        measured(
            "parts_stubbed",
            "parts",
            Count(|row| row.count(Fate::Stubbed)),
            "Parts that a short pointer stands in for.",
        ),
        measured(
            "parts_pinned",
            "parts",
            Count(|row| row.count(Fate::Pinned)),
            "Parts that are repeated as re-supplied material.",
        ),
        measured(
            "parts_injected",
            "parts",
            Count(|row| row.count(Fate::Injected)),
            "New parts that are not at the end.",
        ),
        measured(
            "parts_withheld",
            "parts",
            Count(|row| row.count(Fate::Withheld)),
            "Parts that were removed because they may not be kept.",
        ),
        measured(
            "parts_appended",
            "parts",
            Count(|row| {
                row.mutation
                    .fates
                    .iter()
                    .filter(|part| part.appended)
                    .count() as u64
            }),
            "New parts at the end, as in any turn.",
        ),
        measured(
            "disagreements",
            "places",
            Count(|row| row.mutation.disagreements.len() as u64),
            "Where the application's account and the contexts disagree.",
        ),
        measured(
            "tokens_before",
            "tokens",
            MaybeCount(|row| row.mutation.budget.tokens_before.map(|tokens| tokens.count)),
            "Size of the last request before.",
        ),
        column(
            "tokens_before_source",
            MaybeText(|row| {
                row.mutation
                    .budget
                    .tokens_before
                    .map(|tokens| tokens.source.as_str().into())
            }),
            "How `tokens_before` is known: measured, counted or estimated.",
        ),
        measured(
            "tokens_after",
            "tokens",
            MaybeCount(|row| row.mutation.budget.tokens_after.map(|tokens| tokens.count)),
            "Size of the first request after.",
        ),
        column(
            "tokens_after_source",
            MaybeText(|row| {
                row.mutation
                    .budget
                    .tokens_after
                    .map(|tokens| tokens.source.as_str().into())
            }),
            "How `tokens_after` is known: measured, counted or estimated.",
        ),
        measured(
            "uncompacted",
            "tokens",
            MaybeCount(|row| {
                row.mutation
                    .budget
                    .counted
                    .map(|counted| counted.uncompacted)
            }),
            "The same request without the change.",
        ),
        measured(
            "compacted",
            "tokens",
            MaybeCount(|row| row.mutation.budget.counted.map(|counted| counted.compacted)),
            "The same request with the change.",
        ),
        measured(
            "fixed_overhead",
            "tokens",
            MaybeCount(|row| {
                row.mutation
                    .budget
                    .counted
                    .and_then(|counted| counted.fixed_overhead)
            }),
            "A request with nothing but instructions and schemas.",
        ),
        measured(
            "saved",
            "tokens",
            MaybeInteger(|row| row.mutation.budget.saved_tokens),
            "Uncompacted minus compacted; negative when the request grew.",
        ),
        measured(
            "reduction",
            "percent",
            MaybeNumber(|row| row.mutation.budget.reduction_percent),
            "Saved as a share of uncompacted, rounded to one decimal.",
        ),
        measured(
            "ratio",
            "1",
            MaybeNumber(|row| row.mutation.budget.ratio),
            "Compacted over uncompacted, rounded to three decimals.",
        ),
        measured(
            "compressible_after",
            "tokens",
            MaybeCount(|row| row.mutation.budget.compressible_after),
            "What remains above the fixed overhead.",
        ),
        measured(
            "floor_trigger",
            "tokens",
            MaybeCount(|row| row.mutation.budget.floor.map(|floor| floor.trigger)),
            "The trigger that the floor was checked with.",
        ),
        measured(
            "floor_required",
            "tokens",
            MaybeCount(|row| row.mutation.budget.floor.map(|floor| floor.required)),
            "Fixed overhead + 2 × compressible after: the smallest trigger that leaves room to grow.",
        ),
        column(
            "floor_holds",
            MaybeFlag(|row| row.mutation.budget.floor.map(|floor| floor.holds)),
            "Whether the trigger is at least that.",
        ),
        measured(
            "generation",
            "number from 1",
            MaybeCount(|row| row.mutation.aftermath.generation.map(u64::from)),
            "Depth of the summary that it brought: 1 for a summary of recorded parts.",
        ),
        measured(
            "orphans",
            "parts",
            Count(|row| row.mutation.aftermath.orphan_count),
            "Results whose call left and calls whose result left.",
        ),
        measured(
            "repeated_calls",
            "calls",
            Count(|row| row.mutation.aftermath.repeated_call_count),
            "Calls that were sent again after it had taken their results.",
        ),
        column(
            "compacted_again",
            Flag(|row| row.mutation.aftermath.compacted_again),
            "Whether the very next request was compacted again.",
        ),
        measured(
            "estimated_fixed_overhead",
            "tokens",
            MaybeCount(|row| row.anatomy(|anatomy| anatomy.fixed_overhead)),
            "Estimate of instructions and schemas in the request after.",
        ),
        measured(
            "estimated_kernel",
            "tokens",
            MaybeCount(|row| row.anatomy(|anatomy| anatomy.kernel)),
            "Estimate of the task and its limits there.",
        ),
        measured(
            "estimated_pinned",
            "tokens",
            MaybeCount(|row| row.anatomy(|anatomy| anatomy.pinned)),
            "Estimate of other re-supplied material there.",
        ),
        measured(
            "estimated_summary",
            "tokens",
            MaybeCount(|row| row.anatomy(|anatomy| anatomy.summary)),
            "Estimate of summaries there.",
        ),
        measured(
            "estimated_recent",
            "tokens",
            MaybeCount(|row| row.anatomy(|anatomy| anatomy.recent)),
            "Estimate of the conversation there.",
        ),
        measured(
            "estimated_stubs",
            "tokens",
            MaybeCount(|row| row.anatomy(|anatomy| anatomy.stubs)),
            "Estimate of pointers in the place of results there.",
        ),
    ];
}

impl SessionTable for Mutations {
    fn write(
        file: &mut ParquetFile<Self>,
        record: &SessionRecord,
        analysis: &Analysis,
    ) -> Result<(), ExportError> {
        let session = record.session.as_str();
        for (index, mutation) in analysis.mutations.iter().enumerate() {
            file.push(&MutationRow {
                session,
                index,
                mutation,
                witness: analysis.witness_across(mutation),
            })?;
        }
        Ok(())
    }
}
