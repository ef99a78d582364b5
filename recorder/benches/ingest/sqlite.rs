//! SQLite alone: the very rows that the recorder stored, written again to a new file with the same tables, indices, page size
//! and flush, in the same groups. Nothing is parsed, hashed, signed or looked up for it, and its rows are in memory
//! beforehand.

use std::path::Path;
use std::time::Instant;

use sqlx::query::Query;
use sqlx::sqlite::{
    SqliteArguments, SqliteConnectOptions, SqliteJournalMode, SqliteRow, SqliteSynchronous,
};
use sqlx::{
    AssertSqlSafe, ConnectOptions as _, Connection as _, Row as _, Sqlite, SqliteConnection,
};
use sqlx::{TypeInfo as _, ValueRef as _};

/// Rows in one INSERT: more make no difference.
const ROWS_PER_STATEMENT: usize = 50;
/// The tables that grow with every event, by the column that orders them.
const TABLES: [(&str, &str); 2] = [("entries", "idx"), ("payloads", "idx")];

/// What a ledger's file holds, group by group.
pub(crate) struct Rows {
    schema: Vec<String>,
    groups: Vec<Group>,
    entries: usize,
}

/// The rows of one transaction: one list per table of [`TABLES`], and the checkpoint.
struct Group {
    tables: Vec<Vec<Vec<Cell>>>,
    checkpoint: Vec<Cell>,
}

#[derive(Clone)]
enum Cell {
    Number(i64),
    Text(String),
    Bytes(Vec<u8>),
}

impl Rows {
    /// Reads what a ledger that is closed has stored.
    pub(crate) async fn read(file: &Path) -> Self {
        let mut connection = SqliteConnectOptions::new()
            .filename(file)
            .connect()
            .await
            .unwrap();
        let schema = sqlx::query_scalar(
            "SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL AND name NOT LIKE '\\_sqlx%' ESCAPE '\\' \
             AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY rowid",
        )
        .fetch_all(&mut connection)
        .await
        .unwrap();
        let checkpoints = table(&mut connection, "checkpoints", "size").await;
        let mut tables = Vec::new();
        for (name, order) in TABLES {
            tables.push(table(&mut connection, name, order).await.into_iter());
        }
        connection.close().await.unwrap();
        let mut entries = 0;
        let mut groups = Vec::new();
        for checkpoint in checkpoints {
            let size = match checkpoint[0] {
                Cell::Number(size) => usize::try_from(size).unwrap(),
                _ => panic!("a checkpoint's size is a number"),
            };
            let take = size - entries;
            groups.push(Group {
                tables: tables
                    .iter_mut()
                    .map(|rows| rows.by_ref().take(take).collect())
                    .collect(),
                checkpoint,
            });
            entries = size;
        }
        Self {
            schema,
            groups,
            entries,
        }
    }

    /// Entries a transaction, on average.
    pub(crate) fn group_size(&self) -> f64 {
        self.entries as f64 / self.groups.len() as f64
    }

    /// Bytes an entry takes in its rows, on average.
    pub(crate) fn row_bytes(&self) -> f64 {
        let cells = self
            .groups
            .iter()
            .flat_map(|group| &group.tables)
            .flatten()
            .flatten();
        let bytes: usize = cells
            .map(|cell| match cell {
                Cell::Number(_) => 8,
                Cell::Text(text) => text.len(),
                Cell::Bytes(bytes) => bytes.len(),
            })
            .sum();
        bytes as f64 / self.entries as f64
    }
}

async fn table(connection: &mut SqliteConnection, name: &str, order: &str) -> Vec<Vec<Cell>> {
    let select = AssertSqlSafe(format!("SELECT * FROM {name} ORDER BY {order}"));
    let rows = sqlx::query(select).fetch_all(connection).await.unwrap();
    rows.iter().map(cells).collect()
}

fn cells(row: &SqliteRow) -> Vec<Cell> {
    (0..row.len())
        .map(|column| {
            let value = row.try_get_raw(column).unwrap();
            let kind = value.type_info();
            match kind.name() {
                "INTEGER" => Cell::Number(row.get(column)),
                "TEXT" => Cell::Text(row.get(column)),
                "BLOB" => Cell::Bytes(row.get(column)),
                other => panic!("column {column} holds {other}"),
            }
        })
        .collect()
}

/// Writes the rows to a new file; entries a second.
pub(crate) async fn write(rows: Rows) -> f64 {
    let folder = tempfile::tempdir().unwrap();
    let mut connection = SqliteConnectOptions::new()
        .filename(folder.path().join("peer.sqlite"))
        .create_if_missing(true)
        .page_size(4096)
        .journal_mode(SqliteJournalMode::Wal)
        .synchronous(SqliteSynchronous::Full)
        .pragma("wal_autocheckpoint", "2000")
        .connect()
        .await
        .unwrap();
    for statement in rows.schema {
        sqlx::raw_sql(AssertSqlSafe(statement))
            .execute(&mut connection)
            .await
            .unwrap();
    }
    let started = Instant::now();
    for group in rows.groups {
        let mut transaction = connection.begin_with("BEGIN IMMEDIATE").await.unwrap();
        for ((name, _), table) in TABLES.into_iter().zip(group.tables) {
            insert(&mut transaction, name, table).await;
        }
        insert(&mut transaction, "checkpoints", vec![group.checkpoint]).await;
        transaction.commit().await.unwrap();
    }
    let seconds = started.elapsed().as_secs_f64();
    let stored: i64 = sqlx::query_scalar("SELECT count(*) FROM entries")
        .fetch_one(&mut connection)
        .await
        .unwrap();
    assert_eq!(stored, rows.entries as i64);
    connection.close().await.unwrap();
    rows.entries as f64 / seconds
}

/// Multi-row statements, whose values are handed over and not copied: the fastest way known here.
async fn insert(connection: &mut SqliteConnection, name: &str, mut rows: Vec<Vec<Cell>>) {
    while !rows.is_empty() {
        let size = if rows.len() >= ROWS_PER_STATEMENT {
            ROWS_PER_STATEMENT
        } else {
            1
        };
        let rest = rows.split_off(size);
        let marks = format!("({})", vec!["?"; rows[0].len()].join(","));
        let text = format!("INSERT INTO {name} VALUES {}", vec![marks; size].join(","));
        let mut statement = sqlx::query(AssertSqlSafe(text));
        for cell in rows.into_iter().flatten() {
            statement = bind(statement, cell);
        }
        statement.execute(&mut *connection).await.unwrap();
        rows = rest;
    }
}

fn bind(
    statement: Query<'_, Sqlite, SqliteArguments>,
    cell: Cell,
) -> Query<'_, Sqlite, SqliteArguments> {
    match cell {
        Cell::Number(number) => statement.bind(number),
        Cell::Text(text) => statement.bind(text),
        Cell::Bytes(bytes) => statement.bind(bytes),
    }
}
