//! Rows of a table that wait in memory, column by column, until they are encoded.

use std::borrow::Cow;

use parquet::column::writer::ColumnWriter;
use parquet::data_type::ByteArray;
use parquet::errors::ParquetError;

use crate::columns::{ColumnType, Read, Table};

/// Definition level of a list's item that is there: the list's entry and the item each add one.
const ITEM_IS_THERE: i16 = 2;

/// Rows of a table that wait to be encoded.
pub(crate) struct Rows<T: Table> {
    columns: Vec<Waiting>,
    count: usize,
    /// Bytes of text taken, to bound the waiting rows by size as well as by number.
    text_bytes: usize,
    table: std::marker::PhantomData<T>,
}

impl<T: Table> Rows<T> {
    /// No rows yet.
    pub(crate) fn new() -> Self {
        Self {
            columns: T::COLUMNS
                .iter()
                .map(|column| Waiting::new(column.read.kind()))
                .collect(),
            count: 0,
            text_bytes: 0,
            table: std::marker::PhantomData,
        }
    }

    /// Number of waiting rows.
    pub(crate) fn count(&self) -> usize {
        self.count
    }

    /// Bytes of text in the waiting rows.
    pub(crate) fn text_bytes(&self) -> usize {
        self.text_bytes
    }

    /// Adds one row.
    pub(crate) fn push(&mut self, row: &T::Row<'_>) {
        for (column, waiting) in T::COLUMNS.iter().zip(&mut self.columns) {
            self.text_bytes += waiting.push(&column.read, row);
        }
        self.count += 1;
    }

    /// Hands the waiting rows to the columns' writers, in the order of the columns, and waits for new ones.
    pub(crate) fn drain<'a, 'w: 'a>(
        &mut self,
        writers: impl Iterator<Item = &'a mut ColumnWriter<'w>>,
    ) -> Result<(), ParquetError> {
        self.count = 0;
        self.text_bytes = 0;
        self.columns
            .iter_mut()
            .zip(writers)
            .try_for_each(|(waiting, writer)| waiting.drain(writer))
    }
}

/// One column's waiting values, and the levels that say which rows they belong to.
struct Waiting {
    values: Values,
    /// For a column that may be null or holds lists: how much of a value is there.
    definition: Vec<i16>,
    /// For a column of lists: 0 where a row begins, 1 where its list goes on.
    repetition: Vec<i16>,
}

/// Values that are there, as Parquet stores them.
enum Values {
    Integers(Vec<i64>),
    Numbers(Vec<f64>),
    Flags(Vec<bool>),
    Texts(Vec<ByteArray>),
}

impl Waiting {
    fn new(kind: ColumnType) -> Self {
        let values = match kind {
            ColumnType::UInt64 | ColumnType::Int64 | ColumnType::Timestamp => {
                Values::Integers(Vec::new())
            }
            ColumnType::Float64 => Values::Numbers(Vec::new()),
            ColumnType::Boolean => Values::Flags(Vec::new()),
            ColumnType::Utf8 | ColumnType::TextList => Values::Texts(Vec::new()),
        };
        Self {
            values,
            definition: Vec::new(),
            repetition: Vec::new(),
        }
    }

    /// Adds a row's value and returns how many bytes of text it has.
    fn push<T: Table>(&mut self, read: &Read<T>, row: &T::Row<'_>) -> usize {
        let definition = &mut self.definition;
        match (&mut self.values, read) {
            (Values::Integers(values), Read::Count(read)) => values.push(stored(read(row))),
            (Values::Integers(values), Read::MaybeCount(read)) => {
                push_maybe(values, definition, read(row).map(stored));
            }
            (Values::Integers(values), Read::MaybeInteger(read)) => {
                push_maybe(values, definition, read(row));
            }
            (Values::Integers(values), Read::MaybeTime(read)) => {
                let time = read(row).as_deref().and_then(milliseconds);
                push_maybe(values, definition, time);
            }
            (Values::Numbers(values), Read::MaybeNumber(read)) => {
                push_maybe(values, definition, read(row));
            }
            (Values::Flags(values), Read::Flag(read)) => values.push(read(row)),
            (Values::Flags(values), Read::MaybeFlag(read)) => {
                push_maybe(values, definition, read(row));
            }
            (Values::Texts(values), Read::Text(read)) => {
                let text = bytes(read(row));
                let length = text.len();
                values.push(text);
                return length;
            }
            (Values::Texts(values), Read::MaybeText(read)) => {
                let text = read(row).map(bytes);
                let length = text.as_ref().map_or(0, ByteArray::len);
                push_maybe(values, definition, text);
                return length;
            }
            (Values::Texts(values), Read::Texts(read)) => {
                let texts = read(row);
                let items = texts.len();
                definition.extend(std::iter::repeat_n(ITEM_IS_THERE, items));
                self.repetition.push(0);
                if items == 0 {
                    definition.push(0);
                } else {
                    self.repetition.extend(std::iter::repeat_n(1, items - 1));
                }
                let length = texts.iter().map(|text| text.len()).sum();
                values.extend(texts.into_iter().map(bytes));
                return length;
            }
            _ => unreachable!("a column's values are kept by its own type"),
        }
        0
    }

    /// Hands everything to the column's writer.
    fn drain(&mut self, writer: &mut ColumnWriter<'_>) -> Result<(), ParquetError> {
        let definition = (!self.definition.is_empty()).then_some(&*self.definition);
        let repetition = (!self.repetition.is_empty()).then_some(&*self.repetition);
        match (&mut self.values, writer) {
            (Values::Integers(values), ColumnWriter::Int64ColumnWriter(writer)) => {
                writer.write_batch(values, definition, repetition)?;
                values.clear();
            }
            (Values::Numbers(values), ColumnWriter::DoubleColumnWriter(writer)) => {
                writer.write_batch(values, definition, repetition)?;
                values.clear();
            }
            (Values::Flags(values), ColumnWriter::BoolColumnWriter(writer)) => {
                writer.write_batch(values, definition, repetition)?;
                values.clear();
            }
            (Values::Texts(values), ColumnWriter::ByteArrayColumnWriter(writer)) => {
                writer.write_batch(values, definition, repetition)?;
                values.clear();
            }
            _ => unreachable!("the schema is made from the types that the values are kept by"),
        }
        self.definition.clear();
        self.repetition.clear();
        Ok(())
    }
}

fn push_maybe<V>(values: &mut Vec<V>, definition: &mut Vec<i16>, value: Option<V>) {
    definition.push(i16::from(value.is_some()));
    values.extend(value);
}

/// Parquet keeps an unsigned number in the bits of a signed one; the column's type says which it is.
fn stored(number: u64) -> i64 {
    number.cast_signed()
}

fn bytes(text: Cow<'_, str>) -> ByteArray {
    ByteArray::from(text.into_owned().into_bytes())
}

/// Milliseconds since 1970 of an RFC 3339 time; what is finer is cut off.
fn milliseconds(text: &str) -> Option<i64> {
    text.parse::<jiff::Timestamp>()
        .ok()
        .map(|time| time.as_millisecond())
}
