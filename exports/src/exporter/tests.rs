use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use arrow_array::cast::AsArray;
use arrow_array::types::{TimestampMillisecondType, UInt64Type};
use arrow_array::{Array, RecordBatch};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use remembrancer_schema::hash::sha256;

use super::*;
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

fn read(folder: &Path, table: &str) -> Vec<RecordBatch> {
    let file = File::open(folder.join(file_name(table))).expect("written");
    let reader = ParquetRecordBatchReaderBuilder::try_new(file)
        .expect("Parquet")
        .build();
    reader
        .expect("readable")
        .collect::<Result<_, _>>()
        .expect("every batch decodes")
}

fn counts(batch: &RecordBatch, column: &str) -> Vec<Option<u64>> {
    let array = batch
        .column_by_name(column)
        .expect(column)
        .as_primitive::<UInt64Type>();
    array.iter().collect()
}

fn texts(batch: &RecordBatch, column: &str) -> Vec<Option<String>> {
    let array = batch
        .column_by_name(column)
        .expect(column)
        .as_string::<i32>();
    array.iter().map(|text| text.map(str::to_owned)).collect()
}

fn flags(batch: &RecordBatch, column: &str) -> Vec<Option<bool>> {
    batch
        .column_by_name(column)
        .expect(column)
        .as_boolean()
        .iter()
        .collect()
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
        let batches = read(folder.path(), table.name);
        assert_eq!(
            batches.iter().map(RecordBatch::num_rows).sum::<usize>() as u64,
            table.rows
        );
        let schema = batches[0].schema();
        let found: Vec<_> = schema
            .fields()
            .iter()
            .map(|field| field.name().as_str())
            .collect();
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

#[test]
fn values_keep_their_types_and_their_absence() {
    let folder = tempfile::tempdir().expect("temp");
    export(folder.path());
    let entries = &read(folder.path(), "entries")[0];
    let time = entries.column_by_name("time").expect("time");
    assert_eq!(time.data_type().to_string(), "Timestamp(ms, \"UTC\")");
    let time = time.as_primitive::<TimestampMillisecondType>();
    assert_eq!(
        time.value(0),
        1_796_025_600_123,
        "in UTC, cut to milliseconds"
    );
    assert!(time.is_null(1));
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
    let blobs = entries
        .column_by_name("blobs")
        .expect("blobs")
        .as_list::<i32>();
    assert_eq!(
        (0..3)
            .map(|row| blobs.value_length(row))
            .collect::<Vec<_>>(),
        [0, 1, 2]
    );

    let presence = &read(folder.path(), "presence")[0];
    assert_eq!(texts(presence, "state")[0].as_deref(), Some("verbatim"));
    assert_eq!(
        texts(presence, "at_risk")[0].as_deref(),
        Some("only_in_messages")
    );
    assert_eq!(counts(presence, "evidence_start")[0], Some(12));
    assert_eq!(counts(presence, "left_with_turn")[6], Some(4));
    assert_eq!(counts(presence, "last_present_turn")[6], Some(2));
    assert_eq!(counts(presence, "evidence_part")[6], None);

    let actions = &read(folder.path(), "actions")[0];
    assert_eq!(
        flags(actions, "without_trace")[..2],
        [Some(false), Some(true)]
    );
    assert_eq!(
        flags(actions, "prohibited_without_trace")[..2],
        [Some(false), Some(true)]
    );
    let breaks = actions
        .column_by_name("breaks")
        .expect("breaks")
        .as_list::<i32>()
        .value(1);
    assert_eq!(breaks.as_string::<i32>().value(0), "contact");

    let mutations = &read(folder.path(), "mutations")[0];
    assert_eq!(
        counts(mutations, "parts_injected")[0],
        Some(0),
        "an appended part is no injection"
    );
    assert_eq!(counts(mutations, "parts_appended")[0], Some(1));
}

/// The rows of `context_parts` whose turns enclose a turn, ordered by position, are the context at that turn.
#[test]
fn stays_unfold_to_the_contexts() {
    let folder = tempfile::tempdir().expect("temp");
    export(folder.path());
    let batch = &read(folder.path(), "context_parts")[0];
    let sessions = texts(batch, "session");
    let [parts, positions, first, last, turns] =
        ["part", "position", "first_turn", "last_turn", "turns"].map(|name| counts(batch, name));
    for turn in &sample::analysis("run-1", 0, 5).turns {
        let number = Some(u64::from(turn.number));
        let mut context: Vec<_> = (0..batch.num_rows())
            .filter(|&row| sessions[row].as_deref() == Some("run-1"))
            .filter(|&row| first[row] <= number && number <= last[row])
            .map(|row| (positions[row], parts[row]))
            .collect();
        context.sort_unstable();
        let expected: Vec<_> = (0u64..)
            .zip(&turn.parts)
            .map(|(position, &part)| (Some(position), Some(u64::from(part))))
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
    let file = File::open(folder.path().join("findings.parquet")).expect("written");
    let reader = ParquetRecordBatchReaderBuilder::try_new(file).expect("Parquet");
    let groups: Vec<i64> = reader
        .metadata()
        .row_groups()
        .iter()
        .map(|group| group.num_rows())
        .collect();
    assert_eq!(groups, [131_072, 8_928]);
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
        serde_json::json!({"no_trace": 8, "unknown": 4, "verbatim": 4})
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
