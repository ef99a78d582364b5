//! The tables, one module each.

mod actions;
mod context_parts;
mod entries;
mod findings;
mod mutations;
mod presence;
mod sessions;
mod turns;

use remembrancer_replay::{Analysis, SessionRecord};

pub(crate) use actions::Actions;
pub(crate) use context_parts::ContextParts;
pub(crate) use entries::Entries;
pub(crate) use findings::Findings;
pub(crate) use mutations::Mutations;
pub(crate) use presence::PresenceTable;
pub(crate) use sessions::Sessions;
pub(crate) use turns::Turns;

use crate::columns::{Table, TableDescription};
use crate::exporter::ExportError;
use crate::parquet_file::ParquetFile;

/// A table that reads its rows from one session at a time.
pub(crate) trait SessionTable: Table {
    /// Writes the rows of one session.
    fn write(
        file: &mut ParquetFile<Self>,
        record: &SessionRecord,
        analysis: &Analysis,
    ) -> Result<(), ExportError>;
}

/// Every table with its columns, in the order of the manifest.
pub fn describe_tables() -> Vec<TableDescription> {
    vec![
        Sessions::describe(),
        Turns::describe(),
        ContextParts::describe(),
        Mutations::describe(),
        Actions::describe(),
        PresenceTable::describe(),
        Findings::describe(),
        Entries::describe(),
    ]
}
