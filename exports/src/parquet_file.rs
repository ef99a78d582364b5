//! One table's Parquet file while it is written: rows become batches, batches row groups, and every byte is hashed on its way.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_writer::ArrowWriterOptions;
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::properties::WriterProperties;
use remembrancer_schema::hash::Sha256Stream;

use crate::columns::{Rows, Table};
use crate::exporter::ExportError;
use crate::manifest::TableFile;

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
    written: u64,
    writer: ArrowWriter<HashingWriter>,
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
            .set_max_row_group_row_count(Some(GROUP_ROWS_MAX))
            .set_max_row_group_bytes(Some(GROUP_BYTES_MAX))
            .build();
        // Readers get every type from Parquet itself; the Arrow schema beside it would only say it twice.
        let options = ArrowWriterOptions::new()
            .with_properties(properties)
            .with_skip_arrow_metadata(true);
        let writer =
            ArrowWriter::try_new_with_options(HashingWriter::new(file), T::schema(), options)
                .map_err(|error| ExportError::parquet(&partial, error))?;
        Ok(Self {
            rows: Rows::new(),
            written: 0,
            writer,
            partial,
        })
    }

    /// Adds one row.
    pub(crate) fn push(&mut self, row: &T::Row<'_>) -> Result<(), ExportError> {
        self.rows.push(row);
        if self.rows.count() >= BATCH_ROWS_MAX || self.rows.text_bytes() >= BATCH_TEXT_BYTES_MAX {
            self.encode()?;
        }
        Ok(())
    }

    fn encode(&mut self) -> Result<(), ExportError> {
        if self.rows.count() == 0 {
            return Ok(());
        }
        let batch = self
            .rows
            .take()
            .map_err(|error| ExportError::parquet(&self.partial, error.into()))?;
        self.written += batch.num_rows() as u64;
        self.writer
            .write(&batch)
            .map_err(|error| ExportError::parquet(&self.partial, error))
    }

    /// Completes the file and makes it durable, still under its temporary name.
    pub(crate) fn finish(mut self) -> Result<TableFile, ExportError> {
        self.encode()?;
        let written = self.written;
        let hashing = self
            .writer
            .into_inner()
            .map_err(|error| ExportError::parquet(&self.partial, error))?;
        let (bytes, sha256) = hashing
            .finish()
            .map_err(|error| ExportError::io(&self.partial, error))?;
        let description = T::describe();
        Ok(TableFile {
            name: T::NAME,
            file: file_name(T::NAME),
            rows: written,
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
