use std::path::Path;

use remembrancer_capture::hook::{HookPayload, Program};

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
        "session_id": "s", "hook_event_name": "InstructionsLoaded", "file_path": path, "cwd": cwd,
    })
    .to_string();
    let payload = HookPayload::parse(text.as_bytes()).expect("a payload");
    files::instructions(&payload, &place(home))
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
