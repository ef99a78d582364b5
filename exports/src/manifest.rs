//! The manifest: what was exported, and how to prove that a file is the one that was written.

use serde::Serialize;

use crate::columns::ColumnDescription;

/// Version of the tables: grows when a column changes its name, type or meaning. A new column does not change it.
pub const FORMAT_VERSION: u32 = 1;
/// The manifest's file name.
pub const MANIFEST_FILE: &str = "manifest.json";
/// What the manifest says of itself, so that an export is told from any other folder.
pub(crate) const FORMAT_NAME: &str = "remembrancer export";

/// What `manifest.json` holds.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Manifest {
    /// Always `remembrancer export`.
    pub format: &'static str,
    /// [`FORMAT_VERSION`].
    pub version: u32,
    /// Name of the ledger that the sessions come from.
    pub origin: String,
    /// The ledger's signed checkpoint at the time of export, where one was given: the entries' indices are below its size.
    pub checkpoint: Option<String>,
    /// The tables, in the order in which they are described.
    pub tables: Vec<TableFile>,
}

/// One table's file.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TableFile {
    /// The table's name.
    pub name: &'static str,
    /// File name, relative to the manifest.
    pub file: String,
    /// Number of rows.
    pub rows: u64,
    /// Size of the file in bytes.
    pub bytes: u64,
    /// SHA-256 of the file in hexadecimal, as `sha256sum` prints it.
    pub sha256: String,
    /// What one row stands for.
    pub description: &'static str,
    /// The columns, in order.
    pub columns: Vec<ColumnDescription>,
}

impl Manifest {
    /// The manifest as it is written: JSON with line breaks, ending in one.
    pub fn to_json(&self) -> String {
        let mut text = serde_json::to_string_pretty(self)
            .expect("a manifest holds only strings, numbers and lists of them");
        text.push('\n');
        text
    }
}
