//! How much memory an import takes, however long the file is, and how that of a scan grows with it.

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

/// Bytes of each result in the made-up history.
const RESULT_BYTES: usize = 256 * 1024;
/// What an import may take beyond what one of a short file takes, in bytes: texts that wait for a context or for the ledger.
const BEYOND_BYTES_MAX: usize = 40 * 1024 * 1024;

/// Requests of the made-up history that is scanned: lists of the parts of each would take 64 MB at least.
const SCANNED_CALLS: usize = 4_000;
/// What a scan may take beyond what one of a short file takes, in bytes: it holds the session, and each request once.
const SCAN_BEYOND_BYTES_MAX: usize = 80 * 1024 * 1024;

/// Writes a history of Claude Code with a result of its own, of so many bytes, behind each of some calls; its size.
fn write_history(path: &Path, calls: usize, result_bytes: usize) -> u64 {
    let mut file = std::io::BufWriter::new(std::fs::File::create(path).unwrap());
    let mut parent = "null".to_owned();
    for call in 0..calls {
        let asked = format!(
            r#"{{"type":"assistant","sessionId":"s","uuid":"a{call}","parentUuid":{parent},"message":{{"id":"m{call}","role":"assistant","content":[{{"type":"tool_use","id":"c{call}","name":"Read","input":{{}}}}]}}}}"#
        );
        let words = format!("result {call} ").repeat(result_bytes / 10);
        let returned = format!(
            r#"{{"type":"user","sessionId":"s","uuid":"r{call}","parentUuid":"a{call}","message":{{"role":"user","content":[{{"type":"tool_result","tool_use_id":"c{call}","content":"{words}"}}]}}}}"#
        );
        writeln!(file, "{asked}\n{returned}").unwrap();
        parent = format!("\"r{call}\"");
    }
    file.flush().unwrap();
    std::fs::metadata(path).unwrap().len()
}

/// Imports or scans a file, and says how much memory the process had at most, in bytes. It is asked until it ends: what it had at
/// most before that does not shrink.
fn memory_of(command: &str, path: &Path, data: &Path) -> usize {
    let mut process = Command::new(env!("CARGO_BIN_EXE_remembrancer"))
        .arg(command)
        .arg(path)
        .arg("--data")
        .arg(data)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("the program starts");
    let status_file = format!("/proc/{}/status", process.id());
    let mut most = 0;
    loop {
        if let Some(status) = process.try_wait().expect("a process that was started") {
            assert!(status.success());
            return most;
        }
        let status = std::fs::read_to_string(&status_file).unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kilobytes = line.and_then(|line| line.trim().strip_suffix(" kB"));
        most = most.max(kilobytes.map_or(0, |count| count.trim().parse().unwrap()) * 1024);
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
#[cfg(target_os = "linux")]
fn a_long_history_is_never_in_memory_as_a_whole() {
    let folder = tempfile::tempdir().expect("a folder");
    let (short, long) = (folder.path().join("a.jsonl"), folder.path().join("b.jsonl"));
    write_history(&short, 2, RESULT_BYTES);
    let size = write_history(&long, 280, RESULT_BYTES);
    assert!(size > 70 * 1024 * 1024, "{size} bytes");
    let little = memory_of("import", &short, &folder.path().join("little"));
    let much = memory_of("import", &long, &folder.path().join("much"));
    assert!(little > 0);
    assert!(
        much < little + BEYOND_BYTES_MAX,
        "{much} bytes for {size} in the file; {little} for a short one"
    );
}

#[test]
#[cfg(target_os = "linux")]
fn a_scan_does_not_hold_every_context_as_a_whole() {
    let folder = tempfile::tempdir().expect("a folder");
    let (short, long) = (folder.path().join("a.jsonl"), folder.path().join("b.jsonl"));
    write_history(&short, 2, 100);
    let size = write_history(&long, SCANNED_CALLS, 100);
    let little = memory_of("scan", &short, &folder.path().join("little"));
    let much = memory_of("scan", &long, &folder.path().join("much"));
    assert!(little > 0);
    assert!(
        much < little + SCAN_BEYOND_BYTES_MAX,
        "{much} bytes for {size} in the file; {little} for a short one"
    );
}
