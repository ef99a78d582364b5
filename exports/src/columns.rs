//! Columns, declared once: name, type, unit, meaning and where the value comes from stand side by side, so that the files,
//! the manifest and the README cannot drift apart.

use std::borrow::Cow;
use std::sync::Arc;

use parquet::basic::{LogicalType, Repetition, TimeUnit, Type as PhysicalType};
use parquet::errors::ParquetError;
use parquet::schema::types::{Type, TypePtr};
use serde::Serialize;

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

    /// How Parquet stores a value, and what the stored value stands for.
    fn stored(self) -> (PhysicalType, Option<LogicalType>) {
        match self {
            Self::UInt64 => (PhysicalType::INT64, Some(LogicalType::integer(64, false))),
            Self::Int64 => (PhysicalType::INT64, None),
            Self::Float64 => (PhysicalType::DOUBLE, None),
            Self::Boolean => (PhysicalType::BOOLEAN, None),
            Self::Utf8 | Self::TextList => (PhysicalType::BYTE_ARRAY, Some(LogicalType::String)),
            Self::Timestamp => {
                let utc = LogicalType::timestamp(true, TimeUnit::MILLIS);
                (PhysicalType::INT64, Some(utc))
            }
        }
    }

    fn parquet_type(self, name: &str, nullable: bool) -> Result<Type, ParquetError> {
        let repetition = if nullable {
            Repetition::OPTIONAL
        } else {
            Repetition::REQUIRED
        };
        match self {
            Self::TextList => list_of(self.leaf("item", Repetition::OPTIONAL)?, name, repetition),
            _ => self.leaf(name, repetition),
        }
    }

    fn leaf(self, name: &str, repetition: Repetition) -> Result<Type, ParquetError> {
        let (physical, logical) = self.stored();
        Type::primitive_type_builder(name, physical)
            .with_logical_type(logical)
            .with_repetition(repetition)
            .build()
    }
}

/// The three levels that Parquet asks of a list.
fn list_of(item: Type, name: &str, repetition: Repetition) -> Result<Type, ParquetError> {
    let entries = Type::group_type_builder("list")
        .with_repetition(Repetition::REPEATED)
        .with_fields(vec![Arc::new(item)])
        .build()?;
    Type::group_type_builder(name)
        .with_logical_type(Some(LogicalType::List))
        .with_repetition(repetition)
        .with_fields(vec![Arc::new(entries)])
        .build()
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

    /// The Parquet schema.
    fn schema() -> Result<TypePtr, ParquetError> {
        let fields = Self::COLUMNS.iter().map(|column| {
            let kind = column.read.kind();
            kind.parquet_type(column.name, column.read.is_nullable())
                .map(Arc::new)
        });
        Type::group_type_builder("schema")
            .with_fields(fields.collect::<Result<_, _>>()?)
            .build()
            .map(Arc::new)
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
    /// The type of the column that it makes.
    pub(crate) fn kind(&self) -> ColumnType {
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
