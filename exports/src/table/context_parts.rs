//! One row per stay of a part at a position: linear in what changes, where one row per part and turn would be quadratic.

use std::borrow::Cow;

use remembrancer_replay::analysis::{Absence, Content, ContextPart, PartIndex};
use remembrancer_replay::{Analysis, SessionRecord};

use super::SessionTable;
use crate::columns::Read::{Count, Flag, MaybeCount, MaybeText, Text, Texts};
use crate::columns::{Column, Table, column, measured};
use crate::exporter::ExportError;
use crate::parquet_file::ParquetFile;

pub(crate) struct ContextParts;

pub(crate) struct StayRow<'a> {
    session: &'a str,
    stay: Stay,
    last_turn: u32,
    turns: usize,
    part: &'a ContextPart,
    content: &'a Content,
}

impl Table for ContextParts {
    type Row<'a> = StayRow<'a>;
    const NAME: &'static str = "context_parts";
    const DESCRIPTION: &'static str = "One row per unbroken stay of a part at one position of the context. The context at a turn is the rows whose \
        `first_turn` and `last_turn` enclose it, ordered by `position`. Texts are not exported; `hash` names them.";
    const COLUMNS: &'static [Column<Self>] = &[
        column(
            "session",
            Text(|row| row.session.into()),
            "Id of the session.",
        ),
        measured(
            "part",
            "number from 0",
            Count(|row| row.stay.part.into()),
            "The part, within the session. It keeps its number wherever it moves.",
        ),
        measured(
            "position",
            "number from 0",
            Count(|row| row.stay.position as u64),
            "Its position in the context.",
        ),
        measured(
            "first_turn",
            "number from 1",
            Count(|row| row.stay.first_turn.into()),
            "First turn of the stay.",
        ),
        measured(
            "last_turn",
            "number from 1",
            Count(|row| row.last_turn.into()),
            "Last turn of the stay.",
        ),
        measured(
            "turns",
            "turns",
            Count(|row| row.turns as u64),
            "Number of turns in between, both included.",
        ),
        column(
            "kind",
            Text(|row| row.part.kind.as_str().into()),
            "What it is: system, user, assistant, reasoning, `tool_call`, `tool_result`, summary, memory, `tool_schema` or other.",
        ),
        column(
            "origin",
            Text(|row| row.part.origin.as_str().into()),
            "Whose words it holds: operator, user, tool, model or application.",
        ),
        column(
            "carrying",
            Flag(|row| row.part.kind.is_carrying()),
            "Whether a statement in it speaks to the agent with authority.",
        ),
        measured(
            "hash",
            "BLAKE3 in hexadecimal",
            Text(|row| row.content.hash.to_string().into()),
            "Hash of its bytes.",
        ),
        measured(
            "bytes",
            "bytes",
            MaybeCount(|row| row.content.bytes),
            "Its length, where known.",
        ),
        measured(
            "estimated_tokens",
            "tokens",
            Count(|row| row.part.estimated_tokens),
            "Estimated size: a quarter of its characters, rounded up.",
        ),
        column(
            "absence",
            MaybeText(|row| {
                row.content
                    .absence
                    .as_ref()
                    .map(|absence| absence_name(absence).into())
            }),
            "Why its text cannot be read: withheld, encrypted, `not_recorded` or `not_text`; null if it can.",
        ),
        column(
            "withheld_reason",
            MaybeText(|row| withheld_reason(row.content)),
            "The client's reason for withholding it.",
        ),
        measured(
            "entry",
            "index in the ledger",
            Count(|row| row.part.entry),
            "The entry that brought it.",
        ),
        measured(
            "message",
            "number from 0",
            MaybeCount(|row| row.part.message.map(u64::from)),
            "Index of its message at the turn that brought it.",
        ),
        column(
            "name",
            MaybeText(|row| row.part.name.as_deref().map(Cow::from)),
            "A file's or a document's name.",
        ),
        column(
            "call_id",
            MaybeText(|row| row.part.call_id.as_deref().map(Cow::from)),
            "The call that it belongs to.",
        ),
        column(
            "tool",
            MaybeText(|row| row.part.tool.as_deref().map(Cow::from)),
            "The tool that it belongs to.",
        ),
        column(
            "stub",
            Flag(|row| row.part.stub),
            "Whether it stands in for a larger text that was removed.",
        ),
        column(
            "sources",
            Texts(|row| {
                row.part
                    .sources
                    .iter()
                    .map(|source| source.as_str().into())
                    .collect()
            }),
            "For pinned material, the calls whose results it repeats.",
        ),
    ];
}

impl SessionTable for ContextParts {
    fn write(
        file: &mut ParquetFile<Self>,
        record: &SessionRecord,
        analysis: &Analysis,
    ) -> Result<(), ExportError> {
        let mut write = |stay: Stay, end: usize| {
            let (Some(part), Some(content)) = (
                analysis.parts.get(stay.part as usize),
                analysis.content_of(stay.part),
            ) else {
                return Err(ExportError::Inconsistent {
                    session: record.session.to_string(),
                    reason: format!(
                        "turn {} names part {}, which does not exist",
                        stay.first_turn, stay.part
                    ),
                });
            };
            file.push(&StayRow {
                session: record.session.as_str(),
                stay,
                last_turn: analysis.turns[end - 1].number,
                turns: end - stay.since,
                part,
                content,
            })
        };
        // The stays that last until the turn before, by position.
        let mut open: Vec<Stay> = Vec::new();
        for (index, turn) in analysis.turns.iter().enumerate() {
            for stay in open.drain(turn.parts.len().min(open.len())..) {
                write(stay, index)?;
            }
            for (position, part) in turn.parts.iter().enumerate() {
                let stay = Stay {
                    part,
                    position,
                    since: index,
                    first_turn: turn.number,
                };
                match open.get_mut(position) {
                    Some(current) if current.part == part => {}
                    Some(current) => write(std::mem::replace(current, stay), index)?,
                    None => open.push(stay),
                }
            }
        }
        open.into_iter()
            .try_for_each(|stay| write(stay, analysis.turns.len()))
    }
}

/// A part at a position, from a turn on.
#[derive(Clone, Copy)]
struct Stay {
    part: PartIndex,
    position: usize,
    /// Position of its first turn among the turns.
    since: usize,
    first_turn: u32,
}

fn absence_name(absence: &Absence) -> &'static str {
    match absence {
        Absence::Withheld(_) => "withheld",
        Absence::Encrypted => "encrypted",
        Absence::NotRecorded => "not_recorded",
        Absence::NotText => "not_text",
    }
}

fn withheld_reason(content: &Content) -> Option<Cow<'_, str>> {
    match content.absence.as_ref()? {
        Absence::Withheld(reason) => Some(reason.as_str().into()),
        _ => None,
    }
}
