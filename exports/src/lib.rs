#![doc = include_str!("../README.md")]

mod columns;
mod exporter;
mod manifest;
mod parquet_file;
mod row_group;
mod rows;
mod table;

#[cfg(test)]
mod sample;

pub use columns::{ColumnDescription, ColumnType, TableDescription};
pub use exporter::{ExportError, Exporter};
pub use manifest::{FORMAT_VERSION, MANIFEST_FILE, Manifest, TableFile};
pub use table::describe_tables;
