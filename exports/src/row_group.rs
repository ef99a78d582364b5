//! A row group while it grows. Parquet wants its columns one after another, rows come across all of them: so every column's
//! pages are encoded into memory and put into the file when the group is complete.

use std::io::Write;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use parquet::column::page::{CompressedPage, PageWriteSpec, PageWriter};
use parquet::column::writer::{ColumnWriter, get_column_writer};
use parquet::errors::ParquetError;
use parquet::file::writer::{SerializedFileWriter, SerializedPageWriter, TrackedWrite};

use crate::columns::Table;
use crate::rows::Rows;

/// A row group that is not in the file yet.
pub(crate) struct RowGroup {
    columns: Vec<ColumnInMemory>,
    rows: usize,
}

struct ColumnInMemory {
    writer: ColumnWriter<'static>,
    pages: Pages,
}

impl RowGroup {
    /// An empty group for `file`.
    pub(crate) fn new<W: Write + Send>(file: &SerializedFileWriter<W>) -> Self {
        let columns = file.schema_descr().columns().iter().map(|column| {
            let pages = Pages::default();
            let sink = PageSink(TrackedWrite::new(pages.clone()));
            let properties = Arc::clone(file.properties());
            ColumnInMemory {
                writer: get_column_writer(Arc::clone(column), properties, Box::new(sink)),
                pages,
            }
        });
        Self {
            columns: columns.collect(),
            rows: 0,
        }
    }

    /// Number of rows encoded.
    pub(crate) fn rows(&self) -> usize {
        self.rows
    }

    /// Bytes of the complete pages. What a column still gathers comes on top: its last page, and while it has one its
    /// dictionary (which Parquet gives up at 1 MiB) with the pages that refer to it.
    pub(crate) fn bytes(&self) -> usize {
        let pages = self.columns.iter().map(|column| &column.pages);
        pages.map(|pages| pages.lock().len()).sum()
    }

    /// Encodes the waiting rows.
    pub(crate) fn encode<T: Table>(&mut self, rows: &mut Rows<T>) -> Result<(), ParquetError> {
        self.rows += rows.count();
        rows.drain(self.columns.iter_mut().map(|column| &mut column.writer))
    }

    /// Completes the group and puts it into the file.
    pub(crate) fn append_to<W: Write + Send>(
        self,
        file: &mut SerializedFileWriter<W>,
    ) -> Result<(), ParquetError> {
        let mut group = file.next_row_group()?;
        for column in self.columns {
            let closed = column.writer.close()?;
            let pages = std::mem::take(&mut *column.pages.lock());
            group.append_column(&bytes::Bytes::from(pages), closed)?;
        }
        group.close()?;
        Ok(())
    }
}

/// One column's encoded pages, shared with the writer that makes them: it gives nothing back when it closes.
#[derive(Clone, Default)]
struct Pages(Arc<Mutex<Vec<u8>>>);

impl Pages {
    /// Bytes are only ever appended whole, so a panic elsewhere leaves nothing half-done.
    fn lock(&self) -> MutexGuard<'_, Vec<u8>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Write for Pages {
    fn write(&mut self, buffer: &[u8]) -> std::io::Result<usize> {
        self.lock().write(buffer)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// Writes pages as into a file; Parquet's own page writer only borrows where it writes to.
struct PageSink(TrackedWrite<Pages>);

impl PageWriter for PageSink {
    fn write_page(&mut self, page: CompressedPage) -> Result<PageWriteSpec, ParquetError> {
        SerializedPageWriter::new(&mut self.0).write_page(page)
    }

    fn close(&mut self) -> Result<(), ParquetError> {
        SerializedPageWriter::new(&mut self.0).close()
    }
}
