//! One row per entry of the ledger.

use std::borrow::Cow;

use remembrancer_replay::{Analysis, RecordedEvent, SessionRecord};

use super::SessionTable;
use crate::columns::Read::{Count, Flag, MaybeCount, MaybeText, MaybeTime, Text, Texts};
use crate::columns::{Column, Table, column, measured};
use crate::exporter::ExportError;
use crate::parquet_file::ParquetFile;

pub(crate) struct Entries;

pub(crate) struct EntryRow<'a>(&'a RecordedEvent);

impl Table for Entries {
    type Row<'a> = EntryRow<'a>;
    const NAME: &'static str = "entries";
    const DESCRIPTION: &'static str =
        "One row per entry. Payloads are not exported; `commitment` binds them.";
    const COLUMNS: &'static [Column<Self>] = &[
        measured(
            "entry",
            "index in the ledger",
            Count(|row| row.0.entry.index),
            "The entry's index, from 0.",
        ),
        column(
            "session",
            Text(|row| row.0.entry.session.as_str().into()),
            "Id of the session.",
        ),
        measured(
            "sequence",
            "number from 0",
            Count(|row| row.0.entry.sequence),
            "Its position in the session.",
        ),
        column(
            "type",
            Text(|row| row.0.entry.kind.as_str().into()),
            "The event's type.",
        ),
        column(
            "event",
            Text(|row| row.0.entry.event.as_str().into()),
            "The event's id.",
        ),
        column(
            "agent",
            MaybeText(|row| {
                row.0
                    .entry
                    .agent
                    .as_ref()
                    .map(|agent| agent.as_str().into())
            }),
            "The agent that the event speaks for.",
        ),
        column(
            "time",
            MaybeTime(|row| row.0.entry.time.as_deref().map(Cow::from)),
            "When it happened, as the client says.",
        ),
        column(
            "time_as_sent",
            MaybeText(|row| row.0.entry.time.as_deref().map(Cow::from)),
            "The same, exactly as the client sent it.",
        ),
        column(
            "received",
            MaybeTime(|row| Some(row.0.entry.received.as_str().into())),
            "When the recorder received it.",
        ),
        measured(
            "commitment",
            "BLAKE3 in hexadecimal",
            Text(|row| row.0.entry.commitment.to_string().into()),
            "Salted commitment to the payload.",
        ),
        column(
            "payload_kept",
            Flag(|row| row.0.payload.is_some()),
            "Whether the payload is there; false once it is erased.",
        ),
        measured(
            "payload_bytes",
            "bytes",
            MaybeCount(|row| {
                row.0
                    .payload
                    .as_ref()
                    .map(|payload| payload.data.len() as u64)
            }),
            "Length of the payload.",
        ),
        measured(
            "blobs",
            "BLAKE3 in hexadecimal",
            Texts(|row| {
                row.0
                    .entry
                    .blobs
                    .iter()
                    .map(|blob| blob.to_string().into())
                    .collect()
            }),
            "Blobs that the event introduces.",
        ),
        measured(
            "prev",
            "BLAKE3 in hexadecimal",
            Text(|row| row.0.entry.prev.to_string().into()),
            "Hash of the session's previous entry, or its genesis.",
        ),
        measured(
            "hash",
            "BLAKE3 in hexadecimal",
            Text(|row| row.0.hash.to_string().into()),
            "Hash of the entry's canonical bytes.",
        ),
    ];
}

impl SessionTable for Entries {
    fn write(
        file: &mut ParquetFile<Self>,
        record: &SessionRecord,
        _: &Analysis,
    ) -> Result<(), ExportError> {
        record
            .events
            .iter()
            .try_for_each(|event| file.push(&EntryRow(event)))
    }
}
