//! One table's Parquet file while it is written: rows are encoded in batches into row groups, and every byte is hashed on its
//! way into the file.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parquet::basic::{Compression, ZstdLevel};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use remembrancer_schema::hash::Sha256Stream;

use crate::columns::Table;
use crate::exporter::ExportError;
use crate::manifest::TableFile;
use crate::row_group::RowGroup;
use crate::rows::Rows;

/// Rows that wait in memory before they are encoded.
const BATCH_ROWS_MAX: usize = 8 * 1024;
/// Bytes of text that wait in memory before they are encoded.
const BATCH_TEXT_BYTES_MAX: usize = 4 * 1024 * 1024;
/// Rows of a row group.
const GROUP_ROWS_MAX: usize = 128 * 1024;
/// Encoded bytes of a row group, which stay in memory until it is complete.
const GROUP_BYTES_MAX: usize = 16 * 1024 * 1024;
/// Fixed, so that the same record gives the same bytes.
const CREATED_BY: &str = concat!("remembrancer ", env!("CARGO_PKG_VERSION"));

/// A table's file under its temporary name.
pub(crate) struct ParquetFile<T: Table> {
    rows: Rows<T>,
    group: Option<RowGroup>,
    written: u64,
    writer: SerializedFileWriter<HashingWriter>,
    partial: PathBuf,
}

impl<T: Table> ParquetFile<T> {
    /// Opens the temporary file in `folder`.
    pub(crate) fn create(folder: &Path) -> Result<Self, ExportError> {
        let partial = folder.join(partial_name(T::NAME));
        let file = File::create(&partial).map_err(|error| ExportError::io(&partial, error))?;
        let properties = WriterProperties::builder()
            .set_compression(Compression::ZSTD(ZstdLevel::default()))
            .set_created_by(CREATED_BY.to_owned())
            .build();
        let writer = T::schema()
            .and_then(|schema| {
                SerializedFileWriter::new(HashingWriter::new(file), schema, Arc::new(properties))
            })
            .map_err(|error| ExportError::parquet(&partial, error))?;
        Ok(Self {
            rows: Rows::new(),
            group: None,
            written: 0,
            writer,
            partial,
        })
    }

    /// Adds one row.
    pub(crate) fn push(&mut self, row: &T::Row<'_>) -> Result<(), ExportError> {
        self.rows.push(row);
        let encoded = self.group.as_ref().map_or(0, RowGroup::rows);
        if self.rows.count() >= BATCH_ROWS_MAX
            || self.rows.text_bytes() >= BATCH_TEXT_BYTES_MAX
            || self.rows.count() + encoded >= GROUP_ROWS_MAX
        {
            self.encode()
                .map_err(|error| ExportError::parquet(&self.partial, error))?;
        }
        Ok(())
    }

    /// Encodes the waiting rows, and ends the row group once it is large enough.
    fn encode(&mut self) -> Result<(), ParquetError> {
        if self.rows.count() == 0 {
            return Ok(());
        }
        let mut group = match self.group.take() {
            Some(group) => group,
            None => RowGroup::new(&self.writer),
        };
        self.written += self.rows.count() as u64;
        group.encode(&mut self.rows)?;
        if group.rows() >= GROUP_ROWS_MAX || group.bytes() >= GROUP_BYTES_MAX {
            return group.append_to(&mut self.writer);
        }
        self.group = Some(group);
        Ok(())
    }

    fn complete(&mut self) -> Result<(), ParquetError> {
        self.encode()?;
        match self.group.take() {
            Some(group) => group.append_to(&mut self.writer),
            None => Ok(()),
        }
    }

    /// Completes the file and makes it durable, still under its temporary name.
    pub(crate) fn finish(mut self) -> Result<TableFile, ExportError> {
        let hashing = self
            .complete()
            .and_then(|()| self.writer.into_inner())
            .map_err(|error| ExportError::parquet(&self.partial, error))?;
        let (bytes, sha256) = hashing
            .finish()
            .map_err(|error| ExportError::io(&self.partial, error))?;
        let description = T::describe();
        Ok(TableFile {
            name: T::NAME,
            file: file_name(T::NAME),
            rows: self.written,
            bytes,
            sha256: hex::encode(sha256),
            description: description.description,
            columns: description.columns,
        })
    }
}

/// Name of a table's file.
pub(crate) fn file_name(table: &str) -> String {
    format!("{table}.parquet")
}

/// Name of a table's file while it is written.
pub(crate) fn partial_name(table: &str) -> String {
    format!(".{table}.parquet.partial")
}

/// Hashes and counts what it writes.
struct HashingWriter {
    file: BufWriter<File>,
    hash: Sha256Stream,
    bytes: u64,
}

impl HashingWriter {
    fn new(file: File) -> Self {
        Self {
            file: BufWriter::new(file),
            hash: Sha256Stream::new(),
            bytes: 0,
        }
    }

    fn finish(self) -> std::io::Result<(u64, [u8; 32])> {
        let file = self
            .file
            .into_inner()
            .map_err(std::io::IntoInnerError::into_error)?;
        file.sync_all()?;
        Ok((self.bytes, self.hash.finish()))
    }
}

impl Write for HashingWriter {
    fn write(&mut self, buffer: &[u8]) -> std::io::Result<usize> {
        let written = self.file.write(buffer)?;
        self.hash.update(&buffer[..written]);
        self.bytes += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.file.flush()
    }
}
