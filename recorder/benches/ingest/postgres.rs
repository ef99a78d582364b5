//! PostgreSQL: batches through HTTP beside the server alone, which is given the very rows that the recorder stored, again,
//! in the same tables, indices and groups, by COPY in its binary form and by arrays (UNNEST), as the recorder itself writes;
//! the faster of the two counts. Nothing is parsed, hashed, signed or looked up for it, and its rows are in memory
//! beforehand.

use std::time::Instant;

use remembrancer_recorder::{DatabaseUrl, LedgerLocation};
use sqlx::{AssertSqlSafe, Connection as _, PgConnection, Row as _};

use crate::events::{self, BATCH_EVENTS, Ids};
use crate::server::Server;
use crate::{client, median, runtime, setting};

const CLIENTS: usize = 16;
/// Address of a database with its server; databases are made there, and dropped at the end.
const VARIABLE: &str = "REMEMBRANCER_BENCH_POSTGRES";
/// The signature, flags and extension of a binary COPY.
const COPY_HEAD: &[u8] = b"PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0";

pub(crate) fn run() {
    let events = setting("BENCH_EVENTS", 48_000);
    let rounds = setting("BENCH_ROUNDS", 3);
    let runtime = runtime();
    runtime.block_on(describe());
    let (mut https, mut copies, mut arrays) = (Vec::new(), Vec::new(), Vec::new());
    for round in 1..=rounds {
        let place = runtime.block_on(Place::make());
        let server = runtime.block_on(Server::start_at(
            tempfile::tempdir().unwrap(),
            place.location(),
        ));
        let each = events / CLIENTS / BATCH_EVENTS;
        let clients = (0..CLIENTS)
            .map(|session| {
                let batch = |at: usize| {
                    let numbers = at * BATCH_EVENTS..(at + 1) * BATCH_EVENTS;
                    let body = events::batch_text(Ids::Ordered, session, numbers);
                    client::request(&server.token, &body)
                };
                (0..each).map(batch).collect()
            })
            .collect();
        let http = client::send_all(server.address, clients).per_second * BATCH_EVENTS as f64;
        runtime.block_on(server.stop(each * CLIENTS * BATCH_EVENTS));
        let groups = runtime.block_on(read(&place));
        let size = groups
            .iter()
            .map(|group| group.entries.len())
            .sum::<usize>();
        // In turn, so that neither is always the one that comes after the other.
        let (copy, array);
        if round % 2 == 1 {
            copy = runtime.block_on(write(&groups, Way::Copy));
            array = runtime.block_on(write(&groups, Way::Arrays));
        } else {
            array = runtime.block_on(write(&groups, Way::Arrays));
            copy = runtime.block_on(write(&groups, Way::Copy));
        }
        println!(
            "round {round}: through HTTP {http:>7.0} events/s, PostgreSQL alone by COPY {copy:>7.0}, by arrays {array:>7.0} \
             entries/s; {:.0} entries a group; ratio {:.2}",
            size as f64 / groups.len() as f64,
            http / copy.max(array)
        );
        https.push(http);
        copies.push(copy);
        arrays.push(array);
        runtime.block_on(place.remove());
    }
    let (http, copy, array) = (median(&https), median(&copies), median(&arrays));
    println!(
        "medians: through HTTP {http:.0} events/s, PostgreSQL alone by COPY {copy:.0}, by arrays {array:.0} entries/s\n\
         RATIO through HTTP : PostgreSQL alone {:.2} (at least 0.50 is wanted)",
        http / copy.max(array)
    );
}

/// A database of a benchmark's own on the server.
pub(crate) struct Place {
    folder: tempfile::TempDir,
    name: String,
    url: String,
}

impl Place {
    pub(crate) async fn make() -> Self {
        let name = format!("remembrancer_bench_{}", uuid::Uuid::now_v7().simple());
        maintain(format!("CREATE DATABASE {name}")).await;
        let server = server();
        let (address, query) = server.split_once('?').unwrap_or((&server, ""));
        let (address, _) = address.rsplit_once('/').unwrap();
        Self {
            folder: tempfile::tempdir().unwrap(),
            url: format!("{address}/{name}?{query}"),
            name,
        }
    }

    pub(crate) fn location(&self) -> LedgerLocation {
        let database: DatabaseUrl = self.url.parse().unwrap();
        LedgerLocation {
            database: Some(database),
            ..LedgerLocation::new(self.folder.path())
        }
    }

    /// Connects to the ledger's schema, as a writer does.
    async fn connect(&self) -> PgConnection {
        let mut connection = PgConnection::connect(&self.url).await.unwrap();
        sqlx::raw_sql(
            "SET client_min_messages = warning; CREATE SCHEMA IF NOT EXISTS remembrancer; \
             SET search_path TO remembrancer; SET synchronous_commit = on",
        )
        .execute(&mut connection)
        .await
        .unwrap();
        connection
    }

    pub(crate) async fn remove(self) {
        maintain(format!("DROP DATABASE {} WITH (FORCE)", self.name)).await;
    }
}

fn server() -> String {
    std::env::var(VARIABLE).unwrap_or_else(|_| panic!("{VARIABLE} is to name a PostgreSQL server"))
}

async fn maintain(statement: String) {
    let mut connection = PgConnection::connect(&server()).await.unwrap();
    sqlx::raw_sql(AssertSqlSafe(statement))
        .execute(&mut connection)
        .await
        .unwrap();
    connection.close().await.unwrap();
}

/// Prints what the server is, since its settings decide.
async fn describe() {
    let mut connection = PgConnection::connect(&server()).await.unwrap();
    for name in [
        "server_version",
        "fsync",
        "full_page_writes",
        "shared_buffers",
        "max_wal_size",
        "wal_compression",
    ] {
        let value: String = sqlx::query_scalar(AssertSqlSafe(format!("SHOW {name}")))
            .fetch_one(&mut connection)
            .await
            .unwrap();
        println!("{name}={value}");
    }
}

struct Entry {
    index: i64,
    session: i64,
    sequence: i64,
    event: String,
    bytes: Vec<u8>,
    hash: Vec<u8>,
    leaf: Vec<u8>,
    salt: Vec<u8>,
    data: Vec<u8>,
}

/// What one transaction wrote.
struct Group {
    entries: Vec<Entry>,
    size: i64,
    root: Vec<u8>,
    note: String,
}

/// Reads what a ledger that is closed has stored.
async fn read(place: &Place) -> Vec<Group> {
    let mut connection = place.connect().await;
    let checkpoints = sqlx::query("SELECT size, root, note FROM checkpoints ORDER BY size")
        .fetch_all(&mut connection)
        .await
        .unwrap();
    let mut groups = Vec::new();
    let mut start = 0;
    for checkpoint in checkpoints {
        let size: i64 = checkpoint.get("size");
        let entries = sqlx::query(
            "SELECT e.idx, session_no, sequence, event, bytes, hash, leaf, salt, data FROM entries AS e \
             JOIN payloads AS p ON p.idx = e.idx WHERE e.idx >= $1 AND e.idx < $2 ORDER BY e.idx",
        )
        .bind(start)
        .bind(size)
        .fetch_all(&mut connection)
        .await
        .unwrap();
        groups.push(Group {
            entries: entries
                .iter()
                .map(|row| Entry {
                    index: row.get("idx"),
                    session: row.get("session_no"),
                    sequence: row.get("sequence"),
                    event: row.get("event"),
                    bytes: row.get("bytes"),
                    hash: row.get("hash"),
                    leaf: row.get("leaf"),
                    salt: row.get("salt"),
                    data: row.get("data"),
                })
                .collect(),
            size,
            root: checkpoint.get("root"),
            note: checkpoint.get("note"),
        });
        start = size;
    }
    connection.close().await.unwrap();
    groups
}

#[derive(Clone, Copy)]
enum Way {
    Copy,
    Arrays,
}

/// Writes the groups to a new schema; entries a second.
async fn write(groups: &[Group], way: Way) -> f64 {
    let place = Place::make().await;
    let mut connection = place.connect().await;
    sqlx::raw_sql(include_str!("../../migrations/postgres/0001_ledger.sql"))
        .execute(&mut connection)
        .await
        .unwrap();
    let started = Instant::now();
    for group in groups {
        let mut transaction = connection.begin().await.unwrap();
        match way {
            Way::Copy => copy(&mut transaction, &group.entries).await,
            Way::Arrays => arrays(&mut transaction, &group.entries).await,
        }
        sqlx::query("INSERT INTO checkpoints VALUES ($1, $2, $3)")
            .bind(group.size)
            .bind(&group.root)
            .bind(&group.note)
            .execute(&mut *transaction)
            .await
            .unwrap();
        transaction.commit().await.unwrap();
    }
    let seconds = started.elapsed().as_secs_f64();
    let stored: i64 = sqlx::query_scalar("SELECT count(*) FROM payloads JOIN entries USING (idx)")
        .fetch_one(&mut connection)
        .await
        .unwrap();
    assert_eq!(stored, groups.last().unwrap().size);
    connection.close().await.unwrap();
    place.remove().await;
    stored as f64 / seconds
}

async fn copy(connection: &mut PgConnection, entries: &[Entry]) {
    let mut rows = COPY_HEAD.to_vec();
    for entry in entries {
        let numbers = [entry.index, entry.session, entry.sequence].map(i64::to_be_bytes);
        let [index, session, sequence] = &numbers;
        let event = entry.event.as_bytes();
        let fields: [&[u8]; 7] = [
            index,
            session,
            sequence,
            event,
            &entry.bytes,
            &entry.hash,
            &entry.leaf,
        ];
        put(&mut rows, &fields);
    }
    send(connection, "COPY entries FROM STDIN (FORMAT binary)", rows).await;
    let mut rows = COPY_HEAD.to_vec();
    for entry in entries {
        let index = entry.index.to_be_bytes();
        put(&mut rows, &[&index, &entry.salt, &entry.data]);
    }
    send(connection, "COPY payloads FROM STDIN (FORMAT binary)", rows).await;
}

/// A row of a binary COPY: the number of its fields, then each with its length.
fn put(rows: &mut Vec<u8>, fields: &[&[u8]]) {
    rows.extend(i16::try_from(fields.len()).unwrap().to_be_bytes());
    for field in fields {
        rows.extend(i32::try_from(field.len()).unwrap().to_be_bytes());
        rows.extend(*field);
    }
}

async fn send(connection: &mut PgConnection, statement: &str, mut rows: Vec<u8>) {
    rows.extend((-1_i16).to_be_bytes());
    let mut copy = connection.copy_in_raw(statement).await.unwrap();
    copy.send(rows).await.unwrap();
    copy.finish().await.unwrap();
}

async fn arrays(connection: &mut PgConnection, entries: &[Entry]) {
    fn column<T>(entries: &[Entry], value: impl Fn(&Entry) -> T) -> Vec<T> {
        entries.iter().map(value).collect()
    }
    fn bytes(entries: &[Entry], value: fn(&Entry) -> &[u8]) -> Vec<&[u8]> {
        entries.iter().map(value).collect()
    }
    sqlx::query(
        "INSERT INTO entries SELECT * FROM unnest($1::BIGINT[], $2::BIGINT[], $3::BIGINT[], $4::TEXT[], $5::BYTEA[], \
         $6::BYTEA[], $7::BYTEA[])",
    )
    .bind(column(entries, |entry| entry.index))
    .bind(column(entries, |entry| entry.session))
    .bind(column(entries, |entry| entry.sequence))
    .bind(column(entries, |entry| entry.event.clone()))
    .bind(bytes(entries, |entry| &entry.bytes))
    .bind(bytes(entries, |entry| &entry.hash))
    .bind(bytes(entries, |entry| &entry.leaf))
    .execute(&mut *connection)
    .await
    .unwrap();
    sqlx::query(
        "INSERT INTO payloads SELECT * FROM unnest($1::BIGINT[], $2::BYTEA[], $3::BYTEA[])",
    )
    .bind(column(entries, |entry| entry.index))
    .bind(bytes(entries, |entry| &entry.salt))
    .bind(bytes(entries, |entry| &entry.data))
    .execute(connection)
    .await
    .unwrap();
}
