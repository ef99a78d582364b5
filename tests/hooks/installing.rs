//! `remembrancer hook install`: what it changes in the settings of agents, and what it keeps.

use std::io::Write as _;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use super::{SESSION, User, of, recorded, silent};
use crate::support::Server;

#[test]
fn installing_keeps_what_is_there_and_twice_is_once() {
    let user = User::alone();
    let settings = user.path(".claude/settings.json");
    let before = "{\n  \"model\": \"opus\",\n  \"hooks\": {\n    \"Stop\": [{\"hooks\": [{\"type\": \"command\", \"command\": \"say done\"}]}]\n  \
                  },\n  \"env\": {\"A\": \"1\"}\n}\n";
    std::fs::write(&settings, before).unwrap();
    let dry = user.run(&["hook", "install", "--dry-run"]);
    assert!(dry.contains("+ ") && dry.contains("hook claude"), "{dry}");
    assert_eq!(std::fs::read_to_string(&settings).unwrap(), before);

    let said = user.run(&["hook", "install"]);
    assert!(
        said.contains("runs 16 hooks now") && said.contains("settings.json.before-remembrancer-1"),
        "{said}"
    );
    let after: Value = serde_json::from_slice(&std::fs::read(&settings).unwrap()).unwrap();
    assert_eq!(
        (&after["model"], &after["env"]["A"]),
        (&json!("opus"), &json!("1"))
    );
    assert_eq!(after["hooks"]["Stop"][0]["hooks"][0]["command"], "say done");
    let command = after["hooks"]["Stop"][1]["hooks"][0]["command"]
        .as_str()
        .unwrap();
    // As the agent runs it.
    let as_user = user.command(&[]);
    let mut child = Command::new("sh")
        .args(["-c", command])
        .envs(
            as_user
                .get_envs()
                .filter_map(|(name, value)| Some((name, value?))),
        )
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child
        .stdin
        .take()
        .unwrap()
        .write_all(b"{\"session_id\":\"s\",\"hook_event_name\":\"Stop\"}")
        .unwrap();
    silent(&child.wait_with_output().unwrap());
    assert!(user.status()["backlog"]["records"].as_u64().unwrap() > 0);
    let copy = user.path(".claude/settings.json.before-remembrancer-1");
    assert_eq!(std::fs::read_to_string(copy).unwrap(), before);

    let written = std::fs::read(&settings).unwrap();
    assert!(
        user.run(&["hook", "install"])
            .contains("has the hooks already")
    );
    assert_eq!(std::fs::read(&settings).unwrap(), written);
    let status = user.status();
    assert_eq!(status["installed"][0]["events"], 16, "{status}");
}

#[test]
fn installing_for_others_says_what_is_left_to_do() {
    let user = User::alone();
    let said = user.run(&["hook", "install", "--agent", "codex"]);
    assert!(said.contains("review the hooks and trust them"), "{said}");
    assert!(user.path(".codex/hooks.json").exists());
    user.run(&[
        "hook",
        "install",
        "--agent",
        "gemini",
        "--scope",
        "project",
        "--events",
        "BeforeModel,AfterTool",
    ]);
    let gemini: Value =
        serde_json::from_slice(&std::fs::read(user.path(".gemini/settings.json")).unwrap())
            .unwrap();
    assert_eq!(gemini["hooks"].as_object().unwrap().len(), 2);
    assert_eq!(
        gemini["hooks"]["BeforeModel"][0]["hooks"][0]["command"],
        "remembrancer hook gemini"
    );

    let refused = |arguments: &[&str]| {
        let output = user.command(arguments).output().unwrap();
        assert_eq!(output.status.code(), Some(2));
        String::from_utf8(output.stderr).unwrap()
    };
    assert!(
        refused(&["hook", "install", "--agent", "codex", "--scope", "local"])
            .contains("--scope user")
    );
    assert!(refused(&["hook", "install", "--events", "Nothing"]).contains("known events"));
    assert!(
        refused(&["hook", "install", "--url", "https://elsewhere"]).contains("on this machine")
    );
    std::fs::write(user.path("settings"), "{ // mine\n}").unwrap();
    std::fs::rename(user.path("settings"), user.path(".claude/settings.json")).unwrap();
    assert!(refused(&["hook", "install"]).contains("not a JSON object"));
}

#[test]
fn a_key_is_kept_for_the_user_alone_and_never_in_a_project() {
    use std::os::unix::fs::PermissionsExt as _;
    let server = Server::start();
    let mut user = User::of(&server);
    let (key, url) = (std::mem::take(&mut user.key), std::mem::take(&mut user.url));
    std::fs::write(user.path("key"), format!("{key}\n")).unwrap();
    let said = user.run(&[
        "hook",
        "install",
        "--scope",
        "project",
        "--key-file",
        "key",
        "--url",
        &url,
    ]);
    assert!(!said.contains(&key));
    let kept = user.path(".config/remembrancer/hooks.json");
    assert_eq!(
        std::fs::metadata(&kept).unwrap().permissions().mode() & 0o777,
        0o600
    );
    let settings = std::fs::read_to_string(user.path(".claude/settings.json")).unwrap();
    assert!(!settings.contains("rmb_"));
    user.hook("UserPromptSubmit", json!({"prompt": "Tidy."}));
    assert_eq!(user.send()["refused"], 0);
    assert_eq!(of(&recorded(&server, SESSION), "intent.declared").len(), 1);
    // A key that is no longer good keeps what is spooled.
    user.key = "rmb_write_default_nobody_nothing".to_owned();
    user.hook("Stop", json!({}));
    let failed = user.command(&["hook", "send"]).output().unwrap();
    assert_eq!(failed.status.code(), Some(2));
    assert!(user.status()["backlog"]["records"].as_u64().unwrap() > 0);
}
