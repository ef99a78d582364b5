//! One row per model request.

use std::borrow::Cow;

use remembrancer_replay::analysis::{Response, Turn};
use remembrancer_replay::{Analysis, SessionRecord};
use remembrancer_schema::payload::Usage;

use super::SessionTable;
use crate::columns::Read::{Count, MaybeCount, MaybeText, MaybeTime, Text};
use crate::columns::{Column, Table, column, measured};
use crate::exporter::ExportError;
use crate::parquet_file::ParquetFile;

pub(crate) struct Turns;

pub(crate) struct TurnRow<'a> {
    session: &'a str,
    turn: &'a Turn,
    estimated_tokens: u64,
}

impl TurnRow<'_> {
    fn usage(&self) -> Option<Usage> {
        self.turn.response.as_ref()?.usage
    }

    fn of_response<'b>(
        &'b self,
        read: fn(&'b Response) -> Option<&'b str>,
    ) -> Option<Cow<'b, str>> {
        self.turn.response.as_ref().and_then(read).map(Cow::from)
    }
}

impl Table for Turns {
    type Row<'a> = TurnRow<'a>;
    const NAME: &'static str = "turns";
    const DESCRIPTION: &'static str = "One row per model request.";
    const COLUMNS: &'static [Column<Self>] = &[
        column(
            "session",
            Text(|row| row.session.into()),
            "Id of the session.",
        ),
        measured(
            "turn",
            "number from 1",
            Count(|row| row.turn.number.into()),
            "Number of the request.",
        ),
        measured(
            "entry",
            "index in the ledger",
            MaybeCount(|row| row.turn.entry),
            "The entry that captured its context.",
        ),
        column(
            "time",
            MaybeTime(|row| row.turn.time.as_deref().map(Cow::from)),
            "Its time.",
        ),
        measured(
            "parts",
            "parts",
            Count(|row| row.turn.parts.len() as u64),
            "Number of parts in its context, as far as known.",
        ),
        column(
            "unknown",
            MaybeText(|row| row.turn.unknown.as_deref().map(Cow::from)),
            "Why the context is not wholly known; null if it is.",
        ),
        measured(
            "tokens",
            "tokens",
            MaybeCount(|row| row.turn.tokens.map(|tokens| tokens.count)),
            "Size of the request.",
        ),
        column(
            "token_source",
            MaybeText(|row| row.turn.tokens.map(|tokens| tokens.source.as_str().into())),
            "How `tokens` is known: measured, counted or estimated.",
        ),
        measured(
            "estimated_tokens",
            "tokens",
            Count(|row| row.estimated_tokens),
            "Sum of its parts' estimates: a quarter of their characters.",
        ),
        column(
            "witness",
            Text(|row| row.turn.witness.as_str().into()),
            "How the context became known: exact, telemetry, transcript, hook or claimed.",
        ),
        column(
            "proof",
            MaybeText(|row| {
                row.turn
                    .proof
                    .as_ref()
                    .map(|proof| proof.outcome.as_str().into())
            }),
            "For rebuilt contexts, what the check against a hash recorded elsewhere gave: verified, `verified_after_restoring`, `unverifiable_withheld` or mismatch.",
        ),
        measured(
            "mutation",
            "number from 0",
            MaybeCount(|row| row.turn.mutation.map(|mutation| mutation as u64)),
            "The mutation that this turn was the first to be sent with.",
        ),
        measured(
            "response_entry",
            "index in the ledger",
            MaybeCount(|row| row.turn.response.as_ref().map(|response| response.entry)),
            "The entry of the answer; null without one.",
        ),
        column(
            "response_id",
            MaybeText(|row| row.of_response(|response| response.response_id.as_deref())),
            "The provider's id of the answer.",
        ),
        column(
            "model",
            MaybeText(|row| row.of_response(|response| response.model.as_deref())),
            "The model that answered.",
        ),
        column(
            "stop_reason",
            MaybeText(|row| row.of_response(|response| response.stop_reason.as_deref())),
            "Why it stopped.",
        ),
        measured(
            "calls",
            "calls",
            MaybeCount(|row| {
                row.turn
                    .response
                    .as_ref()
                    .map(|response| response.calls.len() as u64)
            }),
            "Number of tool calls in the answer.",
        ),
        measured(
            "input_tokens",
            "tokens",
            MaybeCount(|row| row.usage().map(|usage| usage.input_tokens)),
            "Input, cached input included, as the provider reports it.",
        ),
        measured(
            "output_tokens",
            "tokens",
            MaybeCount(|row| row.usage().map(|usage| usage.output_tokens)),
            "Output, as the provider reports it.",
        ),
        measured(
            "cache_read_tokens",
            "tokens",
            MaybeCount(|row| row.usage().and_then(|usage| usage.cache_read_tokens)),
            "Input that was read from a cache.",
        ),
        measured(
            "cache_write_tokens",
            "tokens",
            MaybeCount(|row| row.usage().and_then(|usage| usage.cache_write_tokens)),
            "Input that was written to a cache.",
        ),
    ];
}

impl SessionTable for Turns {
    fn write(
        file: &mut ParquetFile<Self>,
        record: &SessionRecord,
        analysis: &Analysis,
    ) -> Result<(), ExportError> {
        for turn in &analysis.turns {
            let estimated_tokens = turn
                .parts
                .iter()
                .filter_map(|part| analysis.parts.get(part as usize))
                .map(|part| part.estimated_tokens)
                .sum();
            file.push(&TurnRow {
                session: record.session.as_str(),
                turn,
                estimated_tokens,
            })?;
        }
        Ok(())
    }
}
