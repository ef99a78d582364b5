//! Columns, declared once: name, type, unit, meaning and where the value comes from stand side by side, so that the files,
//! the manifest and the README cannot drift apart.

use std::borrow::Cow;
use std::sync::Arc;

use arrow_array::builder::{
    BooleanBuilder, Float64Builder, Int64Builder, ListBuilder, StringBuilder,
    TimestampMillisecondBuilder, UInt64Builder,
};
use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef, TimeUnit};
use serde::Serialize;

/// Time zone of every time.
const UTC: &str = "UTC";

/// What a column holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum ColumnType {
    /// Whole numbers from 0.
    UInt64,
    /// Whole numbers.
    Int64,
    /// IEEE 754 doubles.
    Float64,
    /// True or false.
    Boolean,
    /// UTF-8 text.
    Utf8,
    /// Milliseconds since 1970 in UTC.
    #[serde(rename = "Timestamp(ms, UTC)")]
    Timestamp,
    /// Lists of UTF-8 text.
    #[serde(rename = "List<Utf8>")]
    TextList,
}

impl ColumnType {
    /// The type as the manifest and the README write it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::UInt64 => "UInt64",
            Self::Int64 => "Int64",
            Self::Float64 => "Float64",
            Self::Boolean => "Boolean",
            Self::Utf8 => "Utf8",
            Self::Timestamp => "Timestamp(ms, UTC)",
            Self::TextList => "List<Utf8>",
        }
    }

    fn data_type(self) -> DataType {
        match self {
            Self::UInt64 => DataType::UInt64,
            Self::Int64 => DataType::Int64,
            Self::Float64 => DataType::Float64,
            Self::Boolean => DataType::Boolean,
            Self::Utf8 => DataType::Utf8,
            Self::Timestamp => DataType::Timestamp(TimeUnit::Millisecond, Some(UTC.into())),
            Self::TextList => DataType::List(Arc::new(Field::new("item", DataType::Utf8, true))),
        }
    }
}

/// A column as it is described to readers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct ColumnDescription {
    /// Its name.
    pub name: &'static str,
    /// What it holds.
    #[serde(rename = "type")]
    pub kind: ColumnType,
    /// The unit of its numbers, or the notation of its text.
    pub unit: Option<&'static str>,
    /// Whether a row may have no value.
    pub nullable: bool,
    /// What it means.
    pub description: &'static str,
}

/// A table as it is described to readers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TableDescription {
    /// Its name; the file is named after it.
    pub name: &'static str,
    /// What one row stands for.
    pub description: &'static str,
    /// Its columns, in order.
    pub columns: Vec<ColumnDescription>,
}

/// A table: what a row is made from, and its columns.
pub(crate) trait Table: Sized + 'static {
    /// What one row is read from.
    type Row<'a>;
    /// The table's name.
    const NAME: &'static str;
    /// What one row stands for.
    const DESCRIPTION: &'static str;
    /// The columns, in order.
    const COLUMNS: &'static [Column<Self>];

    /// The table as it is described to readers.
    fn describe() -> TableDescription {
        TableDescription {
            name: Self::NAME,
            description: Self::DESCRIPTION,
            columns: Self::COLUMNS.iter().map(Column::describe).collect(),
        }
    }

    /// The Arrow schema.
    fn schema() -> SchemaRef {
        let fields: Vec<Field> = Self::COLUMNS
            .iter()
            .map(|column| {
                Field::new(
                    column.name,
                    column.read.kind().data_type(),
                    column.read.is_nullable(),
                )
            })
            .collect();
        Arc::new(Schema::new(fields))
    }
}

/// One column of a table.
pub(crate) struct Column<T: Table> {
    /// Its name.
    pub(crate) name: &'static str,
    /// The unit of its numbers, or the notation of its text.
    pub(crate) unit: Option<&'static str>,
    /// What it means.
    pub(crate) description: &'static str,
    /// Where its value comes from; decides its type too.
    pub(crate) read: Read<T>,
}

/// A column without a unit.
pub(crate) const fn column<T: Table>(
    name: &'static str,
    read: Read<T>,
    description: &'static str,
) -> Column<T> {
    Column {
        name,
        unit: None,
        description,
        read,
    }
}

/// A column whose numbers have a unit, or whose text has a notation.
pub(crate) const fn measured<T: Table>(
    name: &'static str,
    unit: &'static str,
    read: Read<T>,
    description: &'static str,
) -> Column<T> {
    Column {
        name,
        unit: Some(unit),
        description,
        read,
    }
}

impl<T: Table> Column<T> {
    fn describe(&self) -> ColumnDescription {
        ColumnDescription {
            name: self.name,
            kind: self.read.kind(),
            unit: self.unit,
            nullable: self.read.is_nullable(),
            description: self.description,
        }
    }
}

/// Reads a column's value from a row. The variants that return an option make a nullable column.
pub(crate) enum Read<T: Table> {
    Count(for<'a, 'b> fn(&'b T::Row<'a>) -> u64),
    MaybeCount(for<'a, 'b> fn(&'b T::Row<'a>) -> Option<u64>),
    MaybeInteger(for<'a, 'b> fn(&'b T::Row<'a>) -> Option<i64>),
    MaybeNumber(for<'a, 'b> fn(&'b T::Row<'a>) -> Option<f64>),
    Flag(for<'a, 'b> fn(&'b T::Row<'a>) -> bool),
    MaybeFlag(for<'a, 'b> fn(&'b T::Row<'a>) -> Option<bool>),
    Text(for<'a, 'b> fn(&'b T::Row<'a>) -> Cow<'b, str>),
    MaybeText(for<'a, 'b> fn(&'b T::Row<'a>) -> Option<Cow<'b, str>>),
    /// An RFC 3339 text; one that cannot be read becomes null.
    MaybeTime(for<'a, 'b> fn(&'b T::Row<'a>) -> Option<Cow<'b, str>>),
    Texts(for<'a, 'b> fn(&'b T::Row<'a>) -> Vec<Cow<'b, str>>),
}

impl<T: Table> Read<T> {
    fn kind(&self) -> ColumnType {
        match self {
            Self::Count(_) | Self::MaybeCount(_) => ColumnType::UInt64,
            Self::MaybeInteger(_) => ColumnType::Int64,
            Self::MaybeNumber(_) => ColumnType::Float64,
            Self::Flag(_) | Self::MaybeFlag(_) => ColumnType::Boolean,
            Self::Text(_) | Self::MaybeText(_) => ColumnType::Utf8,
            Self::MaybeTime(_) => ColumnType::Timestamp,
            Self::Texts(_) => ColumnType::TextList,
        }
    }

    fn is_nullable(&self) -> bool {
        !matches!(
            self,
            Self::Count(_) | Self::Flag(_) | Self::Text(_) | Self::Texts(_)
        )
    }
}

/// Rows of a table that wait to become a batch.
pub(crate) struct Rows<T: Table> {
    builders: Vec<Builder>,
    count: usize,
    /// Bytes of text taken, to bound a batch by size as well as by rows.
    text_bytes: usize,
    table: std::marker::PhantomData<T>,
}

impl<T: Table> Rows<T> {
    /// No rows yet.
    pub(crate) fn new() -> Self {
        Self {
            builders: T::COLUMNS
                .iter()
                .map(|column| Builder::new(column.read.kind()))
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
        for (column, builder) in T::COLUMNS.iter().zip(&mut self.builders) {
            self.text_bytes += builder.append(&column.read, row);
        }
        self.count += 1;
    }

    /// Takes the waiting rows as a batch.
    pub(crate) fn take(&mut self) -> Result<RecordBatch, ArrowError> {
        self.count = 0;
        self.text_bytes = 0;
        let arrays = self.builders.iter_mut().map(Builder::finish).collect();
        RecordBatch::try_new(T::schema(), arrays)
    }
}

enum Builder {
    UInt64(UInt64Builder),
    Int64(Int64Builder),
    Float64(Float64Builder),
    Boolean(BooleanBuilder),
    Utf8(StringBuilder),
    Timestamp(TimestampMillisecondBuilder),
    TextList(ListBuilder<StringBuilder>),
}

impl Builder {
    fn new(kind: ColumnType) -> Self {
        match kind {
            ColumnType::UInt64 => Self::UInt64(UInt64Builder::new()),
            ColumnType::Int64 => Self::Int64(Int64Builder::new()),
            ColumnType::Float64 => Self::Float64(Float64Builder::new()),
            ColumnType::Boolean => Self::Boolean(BooleanBuilder::new()),
            ColumnType::Utf8 => Self::Utf8(StringBuilder::new()),
            ColumnType::Timestamp => {
                Self::Timestamp(TimestampMillisecondBuilder::new().with_timezone(UTC))
            }
            ColumnType::TextList => Self::TextList(ListBuilder::new(StringBuilder::new())),
        }
    }

    /// Appends a row's value and returns how many bytes of text it has.
    fn append<T: Table>(&mut self, read: &Read<T>, row: &T::Row<'_>) -> usize {
        match (self, read) {
            (Self::UInt64(builder), Read::Count(read)) => builder.append_value(read(row)),
            (Self::UInt64(builder), Read::MaybeCount(read)) => builder.append_option(read(row)),
            (Self::Int64(builder), Read::MaybeInteger(read)) => builder.append_option(read(row)),
            (Self::Float64(builder), Read::MaybeNumber(read)) => builder.append_option(read(row)),
            (Self::Boolean(builder), Read::Flag(read)) => builder.append_value(read(row)),
            (Self::Boolean(builder), Read::MaybeFlag(read)) => builder.append_option(read(row)),
            (Self::Utf8(builder), Read::Text(read)) => {
                let text = read(row);
                builder.append_value(&text);
                return text.len();
            }
            (Self::Utf8(builder), Read::MaybeText(read)) => {
                let text = read(row);
                builder.append_option(text.as_deref());
                return text.map_or(0, |text| text.len());
            }
            (Self::Timestamp(builder), Read::MaybeTime(read)) => {
                builder.append_option(read(row).as_deref().and_then(milliseconds));
            }
            (Self::TextList(builder), Read::Texts(read)) => {
                let texts = read(row);
                for text in &texts {
                    builder.values().append_value(text);
                }
                builder.append(true);
                return texts.iter().map(|text| text.len()).sum();
            }
            _ => unreachable!("a column's builder is made from its own type"),
        }
        0
    }

    fn finish(&mut self) -> ArrayRef {
        match self {
            Self::UInt64(builder) => Arc::new(builder.finish()),
            Self::Int64(builder) => Arc::new(builder.finish()),
            Self::Float64(builder) => Arc::new(builder.finish()),
            Self::Boolean(builder) => Arc::new(builder.finish()),
            Self::Utf8(builder) => Arc::new(builder.finish()),
            Self::Timestamp(builder) => Arc::new(builder.finish()),
            Self::TextList(builder) => Arc::new(builder.finish()),
        }
    }
}

/// Milliseconds since 1970 of an RFC 3339 time; what is finer is cut off.
fn milliseconds(text: &str) -> Option<i64> {
    text.parse::<jiff::Timestamp>()
        .ok()
        .map(|time| time.as_millisecond())
}
