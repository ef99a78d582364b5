use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpListener;
use std::path::Path;

use remembrancer_capture::hook::{HookPayload, Program};
use remembrancer_capture::spool::{Record, Spool, SpoolOptions};

use super::receive::{self, Came};
use super::standing_file::Held;
use super::{Place, files};

fn place(home: &Path) -> Place {
    let home = home.as_os_str().to_owned();
    Place::find(|name| (name == "HOME").then(|| home.clone())).expect("a place")
}

fn transcript(home: &Path, path: &Path) -> Result<Vec<u8>, String> {
    let text = serde_json::json!({
        "session_id": "s", "hook_event_name": "PreCompact", "transcript_path": path,
    })
    .to_string();
    let payload = HookPayload::parse(text.as_bytes()).expect("a payload");
    files::transcript(Program::Claude, &payload, &place(home)).map(|found| found.bytes)
}

fn instructions(home: &Path, cwd: &Path, path: &Path) -> Result<String, String> {
    let text = serde_json::json!({
        // A payload's word for where it works opens nothing.
        "session_id": "s", "hook_event_name": "InstructionsLoaded", "file_path": path, "cwd": home.join("other"),
    })
    .to_string();
    let payload = HookPayload::parse(text.as_bytes()).expect("a payload");
    files::instructions(&payload, &place(home), &[cwd.to_owned()])
}

#[test]
fn a_transcript_is_read_where_the_program_keeps_it_and_nowhere_else() {
    let home = tempfile::tempdir().expect("a folder");
    let projects = home.path().join(".claude/projects/-home-ada");
    std::fs::create_dir_all(&projects).expect("made");
    let write = |path: &Path| std::fs::write(path, "{}\n").expect("written");
    let good = projects.join("a.jsonl");
    write(&good);
    assert_eq!(transcript(home.path(), &good), Ok(b"{}\n".to_vec()));

    let secret = home.path().join("secret.jsonl");
    write(&secret);
    let link = projects.join("link.jsonl");
    let pipe = projects.join("pipe.jsonl");
    let folder = projects.join("folder.jsonl");
    std::fs::create_dir(&folder).expect("made");
    std::os::unix::fs::symlink(&secret, &link).expect("linked");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status();
    assert!(made.is_ok_and(|status| status.success()));
    for (path, reason) in [
        (secret.clone(), "outside"),
        (link, "outside"),
        (projects.join("../../../secret.jsonl"), "outside"),
        (pipe, "no plain file"),
        (folder, "no plain file"),
        (projects.join("gone.jsonl"), "nowhere"),
        (projects.join("a.txt"), ".jsonl"),
        ("a.jsonl".into(), "not absolute"),
        ("/etc/passwd".into(), ".jsonl"),
    ] {
        let refused = transcript(home.path(), &path).expect_err("refused");
        assert!(refused.contains(reason), "{path:?}: {refused}");
    }
}

#[test]
fn rules_are_read_in_the_project_above_it_and_with_the_programs_files() {
    let home = tempfile::tempdir().expect("a folder");
    let project = home.path().join("work/shop");
    let rules = project.join(".claude/rules");
    std::fs::create_dir_all(&rules).expect("made");
    std::fs::create_dir_all(home.path().join(".claude")).expect("made");
    std::fs::create_dir_all(home.path().join("other")).expect("made");
    let write = |path: &str| {
        let path = home.path().join(path);
        std::fs::write(&path, path.display().to_string()).expect("written");
        path
    };
    let read = |path: &Path| instructions(home.path(), &project, path);
    for good in [
        "work/shop/CLAUDE.md",
        "work/shop/.claude/rules/a.md",
        "work/CLAUDE.md",
        ".claude/CLAUDE.md",
    ] {
        let path = write(good);
        assert_eq!(read(&path), Ok(path.display().to_string()));
    }
    for (bad, reason) in [
        ("other/notes.md", "neither in the project"),
        ("work/shop/.env", "does not end in .md"),
    ] {
        let refused = read(&write(bad)).expect_err("refused");
        assert!(refused.contains(reason), "{bad}: {refused}");
    }
    let disguised = project.join("innocent.md");
    std::os::unix::fs::symlink(write("other/key.pem"), &disguised).expect("linked");
    assert!(read(&disguised).is_err());
    let large = project.join("large.md");
    std::fs::write(&large, vec![b'x'; 1024 * 1024 + 1]).expect("written");
    assert!(read(&large).expect_err("refused").contains("more than"));
}

/// A recorder that gives one answer to everything.
fn answering(status: &'static str, body: &'static str) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}", listener.local_addr().expect("an address"));
    std::thread::spawn(move || {
        for stream in listener.incoming().take(20) {
            let mut stream = BufReader::new(stream.expect("a connection"));
            let (mut line, mut length) = (String::new(), 0);
            // A connection that only looks whether anybody is there ends at once.
            while stream.read_line(&mut line).is_ok_and(|read| read > 2) {
                let lower = line.to_ascii_lowercase();
                if let Some(value) = lower.strip_prefix("content-length:") {
                    length = value.trim().parse().expect("a length");
                }
                line.clear();
            }
            drop(stream.read_exact(&mut vec![0; length]));
            let answer = format!(
                "HTTP/1.1 {status}\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{body}",
                body.len()
            );
            drop(stream.get_mut().write_all(answer.as_bytes()));
        }
    });
    url
}

/// Sends one event to a recorder that answers so; the problems of the events that are kept as refused then.
fn refused_by(kind: &str, status: &'static str, body: &'static str) -> Vec<(String, String)> {
    let home = tempfile::tempdir().expect("a folder");
    let mut place = place(home.path());
    place.url = answering(status, body);
    place.key = Some("key".to_owned());
    let spool = Spool::open(&place.spool, SpoolOptions::default()).expect("a spool");
    let event =
        serde_json::json!({"id": "e1", "session": "s1", "type": kind, "data": {}}).to_string();
    let session = "s1".parse().expect("an id");
    let record = Record::Event(event.into_bytes());
    spool.append(&session, &[record]).expect("spooled");
    let sent = super::send(&place).expect("it is there");
    let backlog = super::Backlog::look(&place).expect("a look");
    assert_eq!(backlog.records, Some(0));
    let kept = std::fs::read_to_string(place.spool.join("rejected.ndjson")).unwrap_or_default();
    let kept: Vec<(String, String)> = kept
        .lines()
        .map(|line| {
            let line: serde_json::Value = serde_json::from_str(line).expect("JSON");
            let event = line["event"].as_str().expect("an event");
            let event: serde_json::Value = serde_json::from_str(event).expect("JSON");
            let text = |value: &serde_json::Value| value.as_str().expect("text").to_owned();
            (text(&line["problem"]), text(&event["type"]))
        })
        .collect();
    assert_eq!(sent.refused, kept.len() as u64, "{kept:?}");
    kept
}

#[test]
fn an_event_that_is_refused_is_kept_and_its_loss_is_told() {
    let conflict = r#"{"results":[{"status":"rejected","problem":{"type":"urn:remembrancer:problem:id-conflict","detail":"taken"}}]}"#;
    // Telling the loss is refused here as well: in its session, and beside the sessions.
    for (status, body, problem) in [
        ("200 OK", conflict, "id-conflict"),
        (
            "413 Content Too Large",
            "{}",
            "an answer that is no problem report",
        ),
    ] {
        let kept = refused_by("tool.called", status, body);
        let expected = ["tool.called", "custom.gap", "custom.gap"];
        let expected = expected.map(|kind| (problem.to_owned(), kind.to_owned()));
        assert_eq!(kept, expected, "{status}");
    }
    // The session is begun, by another event.
    assert_eq!(refused_by("session.started", "200 OK", conflict), []);
}

#[test]
fn what_is_known_of_a_session_stays_where_its_events_cannot_be_spooled() {
    let home = tempfile::tempdir().expect("a folder");
    let place = place(home.path());
    let full = SpoolOptions {
        bytes_max: 1,
        ..SpoolOptions::default()
    };
    let payload = serde_json::json!({"session_id": "s", "hook_event_name": "UserPromptSubmit", "prompt": "Tidy."});
    let payload = payload.to_string();
    let came = Came {
        program: Program::Claude,
        bytes: payload.as_bytes(),
        time: "2026-01-01T00:00:00Z",
        name: "one",
    };
    let mut held = Held::take(&place, "claude-s").expect("nobody else");
    let known = |held: &Held| serde_json::to_value(&held.standing).expect("JSON");
    let before = known(&held);
    let spool = Spool::open(&place.spool, full).expect("a spool");
    assert!(receive::record(&mut held, &came, &place, &spool).is_err());
    assert_eq!(known(&held), before);
    let spool = Spool::open(&place.spool, SpoolOptions::default()).expect("a spool");
    let recorded = receive::record(&mut held, &came, &place, &spool);
    assert!(recorded.is_ok_and(|records| records == 2));
    assert_ne!(known(&held), before);
}

#[test]
fn losses_are_counted_where_nobody_else_writes() {
    let home = tempfile::tempdir().expect("a folder");
    assert!(place(home.path()).losses.starts_with(home.path()));
}
