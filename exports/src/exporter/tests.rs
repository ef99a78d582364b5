use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::{Field, Row};
use parquet::schema::printer::print_schema;
use remembrancer_schema::hash::{ContentHash, sha256};

use super::*;
use crate::columns::ColumnType;
use crate::sample;

const NOTE: &str = "ledger.example/sample\n9\nroot\n\n\u{2014} ledger.example/sample c2ln\n";

fn export(folder: &Path) -> Manifest {
    let mut exporter = Exporter::create(folder, &sample::origin()).expect("an empty folder");
    for (session, first) in [("run-1", 0), ("run-2", 5)] {
        let (record, analysis) = (
            sample::record(session, first, 5),
            sample::analysis(session, first, 5),
        );
        exporter.add(&record, &analysis).expect("they fit");
    }
    exporter.finish(Some(NOTE)).expect("the folder is writable")
}

fn reader(folder: &Path, table: &str) -> SerializedFileReader<File> {
    let file = File::open(folder.join(file_name(table))).expect("written");
    SerializedFileReader::new(file).expect("Parquet")
}

fn read(folder: &Path, table: &str) -> Vec<Row> {
    let reader = reader(folder, table);
    let rows = reader.get_row_iter(None).expect("readable");
    rows.collect::<Result<_, _>>().expect("every row decodes")
}

/// A column's values, read by `value`; null is `None`.
fn column<V>(rows: &[Row], column: &str, value: fn(&Field) -> Option<V>) -> Vec<Option<V>> {
    let read = |row: &Row| {
        let (_, field) = row
            .get_column_iter()
            .find(|(name, _)| *name == column)
            .expect(column);
        match field {
            Field::Null => None,
            field => Some(value(field).unwrap_or_else(|| panic!("{column} holds {field:?}"))),
        }
    };
    rows.iter().map(read).collect()
}

fn count(field: &Field) -> Option<u64> {
    match *field {
        Field::ULong(count) => Some(count),
        _ => None,
    }
}

fn counts(rows: &[Row], name: &str) -> Vec<Option<u64>> {
    column(rows, name, count)
}

fn text(field: &Field) -> Option<String> {
    match field {
        Field::Str(text) => Some(text.clone()),
        _ => None,
    }
}

fn texts(rows: &[Row], name: &str) -> Vec<Option<String>> {
    column(rows, name, text)
}

fn text_lists(rows: &[Row], name: &str) -> Vec<Vec<String>> {
    let list = |field: &Field| match field {
        Field::ListInternal(list) => list.elements().iter().map(text).collect(),
        _ => None,
    };
    let lists: Option<_> = column(rows, name, list).into_iter().collect();
    lists.expect("a list is empty rather than absent")
}

fn flags(rows: &[Row], name: &str) -> Vec<Option<bool>> {
    column(rows, name, |field| match *field {
        Field::Bool(flag) => Some(flag),
        _ => None,
    })
}

fn times(rows: &[Row], name: &str) -> Vec<Option<i64>> {
    column(rows, name, |field| match *field {
        Field::TimestampMillis(time) => Some(time),
        _ => None,
    })
}

fn names(folder: &Path) -> BTreeSet<String> {
    fs::read_dir(folder)
        .expect("a folder")
        .map(|entry| {
            entry
                .expect("readable")
                .file_name()
                .to_string_lossy()
                .into_owned()
        })
        .collect()
}

fn folder_bytes(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let read = |name: String| (name.clone(), fs::read(folder.join(name)).expect("readable"));
    names(folder).into_iter().map(read).collect()
}

#[test]
fn the_same_record_gives_the_same_bytes() {
    let (one, two) = (
        tempfile::tempdir().expect("temp"),
        tempfile::tempdir().expect("temp"),
    );
    assert_eq!(export(one.path()), export(two.path()));
    let bytes = folder_bytes(one.path());
    assert_eq!(
        bytes.len(),
        9,
        "eight tables and the manifest: {:?}",
        bytes.keys()
    );
    assert!(
        bytes == folder_bytes(two.path()),
        "two exports of one record differ"
    );
}

#[test]
fn the_manifest_holds_what_was_written() {
    let folder = tempfile::tempdir().expect("temp");
    let manifest = export(folder.path());
    let kept = fs::read_to_string(folder.path().join(MANIFEST_FILE)).expect("written");
    assert_eq!(kept, manifest.to_json());
    let json: serde_json::Value = serde_json::from_str(&kept).expect("JSON");
    assert_eq!(json["checkpoint"], NOTE);
    assert_eq!(json["origin"], "ledger.example/sample");
    for table in &manifest.tables {
        let bytes = fs::read(folder.path().join(&table.file)).expect("written");
        assert_eq!(bytes.len() as u64, table.bytes, "{}", table.name);
        assert_eq!(hex::encode(sha256(&bytes)), table.sha256, "{}", table.name);
        let rows = read(folder.path(), table.name);
        assert_eq!(rows.len() as u64, table.rows, "{}", table.name);
        let found: Vec<_> = rows[0].get_column_iter().map(|(name, _)| name).collect();
        let described: Vec<_> = table.columns.iter().map(|column| column.name).collect();
        assert_eq!(found, described, "{}", table.name);
    }
    let rows: Vec<_> = manifest
        .tables
        .iter()
        .map(|table| (table.name, table.rows))
        .collect();
    assert_eq!(
        rows,
        [
            ("sessions", 2),
            ("turns", 8),
            ("context_parts", 10),
            ("mutations", 2),
            ("actions", 4),
            ("presence", 16),
            ("findings", 2),
            ("entries", 10)
        ]
    );
}

/// What readers go by: a column's stored type, its meaning, and whether it and its items may be absent.
#[test]
fn columns_are_stored_with_their_types() {
    let folder = tempfile::tempdir().expect("temp");
    export(folder.path());
    for table in describe_tables() {
        let mut printed = Vec::new();
        let reader = reader(folder.path(), table.name);
        print_schema(&mut printed, reader.metadata().file_metadata().schema());
        let mut expected = "message schema {\n".to_owned();
        for column in &table.columns {
            let presence = if column.nullable {
                "OPTIONAL"
            } else {
                "REQUIRED"
            };
            let name = column.name;
            let line = match column.kind {
                ColumnType::UInt64 => format!("{presence} INT64 {name} (INTEGER(64,false));"),
                ColumnType::Int64 => format!("{presence} INT64 {name};"),
                ColumnType::Float64 => format!("{presence} DOUBLE {name};"),
                ColumnType::Boolean => format!("{presence} BOOLEAN {name};"),
                ColumnType::Utf8 => format!("{presence} BYTE_ARRAY {name} (STRING);"),
                ColumnType::Timestamp => {
                    format!("{presence} INT64 {name} (TIMESTAMP(MILLIS,true));")
                }
                ColumnType::TextList => format!(
                    "{presence} group {name} (LIST) {{\n    REPEATED group list {{\n      \
                     OPTIONAL BYTE_ARRAY item (STRING);\n    }}\n  }}"
                ),
            };
            expected.push_str(&format!("  {line}\n"));
        }
        expected.push_str("}\n");
        assert_eq!(
            String::from_utf8_lossy(&printed),
            expected,
            "{}",
            table.name
        );
    }
}

#[test]
fn values_keep_their_types_and_their_absence() {
    let folder = tempfile::tempdir().expect("temp");
    export(folder.path());
    let entries = &read(folder.path(), "entries");
    assert_eq!(
        times(entries, "time")[..2],
        [Some(1_796_025_600_123), None],
        "in UTC, cut to milliseconds"
    );
    assert_eq!(
        texts(entries, "time_as_sent")[0].as_deref(),
        Some("2026-11-30T09:00:00.1239+01:00")
    );
    assert_eq!(
        counts(entries, "payload_bytes")[..3],
        [Some(7), None, Some(7)]
    );
    assert_eq!(
        flags(entries, "payload_kept")[..3],
        [Some(true), Some(false), Some(true)]
    );
    let blobs = text_lists(entries, "blobs");
    assert_eq!(
        blobs[..3].iter().map(Vec::len).collect::<Vec<_>>(),
        [0, 1, 2]
    );
    let blob = &sample::record("run-1", 0, 5).events[2].entry.blobs[1];
    assert_eq!(blobs[2][1], blob.to_string());

    let presence = &read(folder.path(), "presence");
    assert_eq!(texts(presence, "state")[0].as_deref(), Some("verbatim"));
    assert_eq!(
        texts(presence, "at_risk")[0].as_deref(),
        Some("only_in_messages")
    );
    assert_eq!(counts(presence, "evidence_start")[0], Some(12));
    assert_eq!(counts(presence, "left_with_turn")[6], Some(4));
    assert_eq!(counts(presence, "last_present_turn")[6], Some(2));
    assert_eq!(counts(presence, "evidence_part")[6], None);

    let actions = &read(folder.path(), "actions");
    assert_eq!(
        flags(actions, "without_trace")[..2],
        [Some(false), Some(true)]
    );
    assert_eq!(
        flags(actions, "prohibited_without_trace")[..2],
        [Some(false), Some(true)]
    );
    assert_eq!(text_lists(actions, "breaks")[1], ["contact"]);

    let mutations = &read(folder.path(), "mutations");
    assert_eq!(
        counts(mutations, "parts_injected")[0],
        Some(0),
        "an appended part is no injection"
    );
    assert_eq!(counts(mutations, "parts_appended")[0], Some(1));
    assert_eq!(counts(mutations, "generation")[0], Some(2));
    assert_eq!(counts(mutations, "orphans")[0], Some(3));
    assert_eq!(counts(mutations, "repeated_calls")[0], Some(7));
    assert_eq!(flags(mutations, "compacted_again")[0], Some(true));
    let anatomy = [
        "fixed_overhead",
        "kernel",
        "pinned",
        "summary",
        "recent",
        "stubs",
    ];
    for (part, tokens) in anatomy.iter().zip(1..) {
        let column = format!("estimated_{part}");
        assert_eq!(counts(mutations, &column)[0], Some(tokens), "{column}");
    }

    let findings = &read(folder.path(), "findings");
    let both = ["context_witness", "action_witness"].map(|name| texts(findings, name)[0].clone());
    assert_eq!(
        both.each_ref().map(Option::as_deref),
        [Some("transcript"), Some("exact")]
    );
}

/// The rows of `context_parts` whose turns enclose a turn, ordered by position, are the context at that turn.
#[test]
fn stays_unfold_to_the_contexts() {
    let folder = tempfile::tempdir().expect("temp");
    export(folder.path());
    let rows = &read(folder.path(), "context_parts");
    let sessions = texts(rows, "session");
    let [parts, positions, first, last, turns] =
        ["part", "position", "first_turn", "last_turn", "turns"].map(|name| counts(rows, name));
    for turn in &sample::analysis("run-1", 0, 5).turns {
        let number = Some(u64::from(turn.number));
        let mut context: Vec<_> = (0..rows.len())
            .filter(|&row| sessions[row].as_deref() == Some("run-1"))
            .filter(|&row| first[row] <= number && number <= last[row])
            .map(|row| (positions[row], parts[row]))
            .collect();
        context.sort_unstable();
        let expected: Vec<_> = (0u64..)
            .zip(&turn.parts)
            .map(|(position, part)| (Some(position), Some(u64::from(part))))
            .collect();
        assert_eq!(context, expected, "turn {}", turn.number);
    }
    let memberships: u64 = turns.iter().flatten().sum();
    assert_eq!(memberships, 2 * (2 + 3 + 2));
}

#[test]
fn a_long_session_is_written_in_row_groups() {
    let folder = tempfile::tempdir().expect("temp");
    let (record, mut analysis) = (sample::record("long", 0, 3), sample::analysis("long", 0, 3));
    analysis.findings = vec![analysis.findings[0].clone(); 140_000];
    let mut exporter = Exporter::create(folder.path(), &sample::origin()).expect("empty");
    exporter.add(&record, &analysis).expect("they fit");
    let manifest = exporter.finish(None).expect("writable");
    assert_eq!(manifest.tables[6].rows, 140_000);
    let groups: Vec<i64> = reader(folder.path(), "findings")
        .metadata()
        .row_groups()
        .iter()
        .map(|group| group.num_rows())
        .collect();
    assert_eq!(groups, [131_072, 8_928]);
}

/// Text that hardly compresses fills a group long before its rows do.
#[test]
fn large_texts_end_a_row_group_early() {
    const TEXTS: u32 = 120;
    let folder = tempfile::tempdir().expect("temp");
    let (record, mut analysis) = (sample::record("long", 0, 3), sample::analysis("long", 0, 3));
    let example = analysis.findings[0].clone();
    analysis.findings = (0..TEXTS)
        .map(|number| {
            let digits = (0..8 * 1024u32).map(|part| {
                let seed = [number.to_le_bytes(), part.to_le_bytes()].concat();
                ContentHash::of(&seed).to_string()
            });
            let mut finding = example.clone();
            finding.message = digits.collect();
            finding
        })
        .collect();
    let mut exporter = Exporter::create(folder.path(), &sample::origin()).expect("empty");
    exporter.add(&record, &analysis).expect("they fit");
    exporter.finish(None).expect("writable");

    let messages = texts(&read(folder.path(), "findings"), "message");
    let written = analysis.findings.iter();
    assert!(
        written
            .map(|finding| Some(&finding.message))
            .eq(messages.iter().map(Option::as_ref)),
        "a message changed"
    );
    let reader = reader(folder.path(), "findings");
    let sizes: Vec<i64> = reader
        .metadata()
        .row_groups()
        .iter()
        .map(|group| group.compressed_size())
        .collect();
    let full = 16 * 1024 * 1024;
    assert_eq!(sizes.len(), 2, "{sizes:?}");
    assert!(
        (full..full + 4 * 1024 * 1024).contains(&sizes[0]),
        "the limit, and at most one batch more: {sizes:?}"
    );
}

#[test]
fn only_an_earlier_export_is_overwritten() {
    let folder = tempfile::tempdir().expect("temp");
    let refused = |path: &Path| match Exporter::create(path, &sample::origin()) {
        Err(ExportError::ForeignFolder { found, .. }) => found,
        Err(other) => panic!("{other}"),
        Ok(_) => panic!("a foreign folder was accepted"),
    };
    for (name, text) in [
        ("notes.txt", ""),
        (MANIFEST_FILE, "{\"format\":\"other\"}"),
        ("sessions.parquet", "x"),
    ] {
        let path = folder.path().join(name);
        fs::write(&path, text).expect("writable");
        assert_eq!(refused(folder.path()), name);
        assert_eq!(fs::read_to_string(&path).expect("still there"), text);
        fs::remove_file(path).expect("removable");
    }
    export(folder.path());
    let before = folder_bytes(folder.path());
    let dropped = Exporter::create(folder.path(), &sample::origin()).expect("an earlier export");
    assert!(names(folder.path()).contains(".sessions.parquet.partial"));
    drop(dropped);
    assert!(
        folder_bytes(folder.path()) == before,
        "a dropped export changed the folder"
    );
    let empty = Exporter::create(folder.path(), &sample::origin()).expect("an earlier export");
    assert_eq!(empty.finish(None).expect("writable").tables[0].rows, 0);
    assert_eq!(names(folder.path()).len(), 9);
    // Interrupted after the old manifest went: the new one's temporary file says whose the tables are.
    let manifest = folder.path().join(MANIFEST_FILE);
    fs::rename(manifest, folder.path().join(MANIFEST_PARTIAL)).expect("renames");
    assert_eq!(export(folder.path()).tables[0].rows, 2);
}

#[test]
fn what_does_not_belong_together_is_refused() {
    let folder = tempfile::tempdir().expect("temp");
    let attempt = |record: &SessionRecord, analysis: &Analysis| {
        let mut exporter = Exporter::create(folder.path(), &sample::origin()).expect("empty");
        exporter.add(record, analysis)
    };
    let (record, analysis) = (
        sample::record("run-1", 0, 5),
        sample::analysis("run-1", 0, 5),
    );
    assert!(attempt(&record, &analysis).is_ok());
    let mut exporter = Exporter::create(folder.path(), &sample::origin()).expect("empty");
    exporter.add(&record, &analysis).expect("the first time");
    assert!(matches!(
        exporter.add(&record, &analysis),
        Err(ExportError::Repeated(_))
    ));

    let other = sample::analysis("run-2", 5, 5);
    assert!(matches!(
        attempt(&record, &other),
        Err(ExportError::Inconsistent { .. })
    ));
    let older = sample::analysis("run-1", 0, 4);
    assert!(matches!(
        attempt(&record, &older),
        Err(ExportError::Inconsistent { .. })
    ));
    let mut lost = analysis.clone();
    lost.turns[0].parts.push(99);
    assert!(matches!(
        attempt(&record, &lost),
        Err(ExportError::Inconsistent { .. })
    ));
    let mut short = analysis.clone();
    short.presence.pop();
    assert!(matches!(
        attempt(&record, &short),
        Err(ExportError::Inconsistent { .. })
    ));
    let mut foreign = record.clone();
    foreign.events[3].entry.origin = "ledger.example/other".parse().expect("valid");
    assert!(matches!(
        attempt(&foreign, &analysis),
        Err(ExportError::OtherLedger { .. })
    ));
    assert!(
        names(folder.path())
            .iter()
            .all(|name| name.contains("partial"))
    );

    let mut exporter = Exporter::create(folder.path(), &sample::origin()).expect("empty");
    assert!(exporter.add(&record, &short).is_err());
    assert!(
        exporter
            .add(&sample::record("run-2", 5, 5), &other)
            .is_err()
    );
    assert!(
        exporter.finish(None).is_err(),
        "a half-written session must not be published"
    );
}

#[test]
fn the_readme_describes_every_column() {
    let readme = include_str!("../../README.md");
    let mut reference = String::new();
    for table in describe_tables() {
        reference.push_str(&format!(
            "\n### `{}`\n\n{}\n\n",
            table.name, table.description
        ));
        reference.push_str("| column | type | unit | meaning |\n|---|---|---|---|\n");
        for column in &table.columns {
            reference.push_str(&format!(
                "| `{}` | `{}{}` | {} | {} |\n",
                column.name,
                column.kind.as_str(),
                if column.nullable { "?" } else { "" },
                column.unit.unwrap_or(""),
                column.description
            ));
        }
    }
    let (head, _) = readme.split_once("\n### ").unwrap_or((readme, ""));
    let expected = format!("{head}{reference}");
    if readme != expected && std::env::var_os("UPDATE_README").is_some() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("README.md");
        fs::write(path, &expected).expect("the source tree is writable");
    }
    assert!(
        readme == expected,
        "README.md does not describe the columns as they are: run this test with UPDATE_README=1"
    );
}

/// DuckDB, which shares no code with this crate, reads the files and counts for itself.
#[test]
fn duckdb_reads_the_same_counts() {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/independent/read_export.py");
    let python = std::env::var("REMEMBRANCER_PYTHON").unwrap_or_else(|_| "python3".to_owned());
    let available = Command::new(&python)
        .args(["-c", "import duckdb"])
        .output()
        .is_ok_and(|o| o.status.success());
    if !available {
        let reason = format!("{python} cannot import duckdb: pip install duckdb");
        assert!(std::env::var_os("CI").is_none(), "{reason}");
        #[expect(clippy::print_stderr, reason = "a skipped test must be seen")]
        {
            eprintln!("skipped: {reason}");
        }
        return;
    }
    let folder = tempfile::tempdir().expect("temp");
    export(folder.path());
    let run = || {
        let output = Command::new(&python)
            .arg(&script)
            .arg(folder.path())
            .output();
        output.expect("python runs")
    };
    let output = run();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let found: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let analysis = sample::analysis("run-1", 0, 5);
    let turns = analysis.turns.len();
    let memberships: usize = analysis.turns.iter().map(|turn| turn.parts.len()).sum();
    assert_eq!(found["rows"]["sessions"], 2);
    assert_eq!(found["rows"]["turns"], 2 * turns);
    assert_eq!(found["rows"]["entries"], 10);
    assert_eq!(found["rows"]["actions"], 2 * analysis.actions.len());
    assert_eq!(
        found["rows"]["presence"],
        2 * turns * analysis.constraints.len()
    );
    assert_eq!(found["memberships"], 2 * memberships);
    assert_eq!(
        found["actions_without_trace"],
        2 * analysis.summary.actions_without_trace
    );
    assert_eq!(found["prohibited_without_trace"], 2);
    assert_eq!(
        found["states"],
        serde_json::json!({"no_trace": 6, "not declared": 2, "unknown": 4, "verbatim": 4})
    );

    // The script's own checks can fail: one changed byte is noticed.
    let path = folder.path().join("actions.parquet");
    let mut bytes = fs::read(&path).expect("written");
    bytes[20] ^= 1;
    fs::write(&path, bytes).expect("writable");
    let output = run();
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).contains("actions.parquet"));
}
