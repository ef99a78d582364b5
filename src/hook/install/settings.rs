//! The hooks that each program is to run, put into its settings beside those that are there.

use remembrancer_capture::Members;
use remembrancer_capture::hook::Program;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::document;

/// Seconds after which a program no longer waits for a hook that hangs.
const TIMEOUT_SECONDS: u32 = 5;

/// The events that a program is asked to tell.
pub(crate) fn events(program: Program) -> &'static [&'static str] {
    match program {
        Program::Claude => &[
            "SessionStart",
            "UserPromptSubmit",
            "PreToolUse",
            "PostToolUse",
            "PostToolUseFailure",
            "PostToolBatch",
            "PermissionRequest",
            "PermissionDenied",
            "InstructionsLoaded",
            "PreCompact",
            "PostCompact",
            "SubagentStart",
            "SubagentStop",
            "Stop",
            "StopFailure",
            "SessionEnd",
        ],
        Program::Codex => &[
            "SessionStart",
            "UserPromptSubmit",
            "PreToolUse",
            "PermissionRequest",
            "PostToolUse",
            "PreCompact",
            "PostCompact",
            "SubagentStart",
            "SubagentStop",
            "Stop",
            "SessionEnd",
        ],
        // Not AfterModel: it is told of every piece of a streamed answer.
        Program::Gemini => &[
            "SessionStart",
            "BeforeAgent",
            "BeforeModel",
            "BeforeTool",
            "AfterTool",
            "PreCompress",
            "AfterAgent",
            "SessionEnd",
        ],
    }
}

/// The settings with our hooks in them. Everything else stays as it is; ours are changed where they name another file than
/// `binary`, and added where there are none.
pub(super) fn with_hooks(
    before: &str,
    program: Program,
    events: &[&str],
    binary: &str,
) -> Result<String, String> {
    let text = if before.trim().is_empty() {
        "{}"
    } else {
        before
    };
    let read = |error: serde_json::Error| format!("it is not a JSON object: {error}");
    let mut settings: Members = serde_json::from_str(text).map_err(read)?;
    let mut hooks: Members = match settings.get("hooks")? {
        Some(hooks) => serde_json::from_str(hooks.get())
            .map_err(|error| format!("\"hooks\" in it is not an object: {error}"))?,
        None => Members::default(),
    };
    let mut is_changed = false;
    for event in events {
        let groups: Vec<Box<RawValue>> = match hooks.get(event)? {
            Some(groups) => serde_json::from_str(groups.get())
                .map_err(|error| format!("\"hooks\".{event:?} in it is not a list: {error}"))?,
            None => Vec::new(),
        };
        if let Some(groups) = with_group(groups, program, binary).map_err(read)? {
            hooks.set(event, groups);
            is_changed = true;
        }
    }
    if !is_changed {
        return Ok(before.to_owned());
    }
    let hooks = RawValue::from_string(hooks.text(1).map_err(read)?).map_err(read)?;
    settings.set("hooks", hooks);
    Ok(settings.text(0).map_err(read)? + "\n")
}

/// The groups of an event with ours; `None` where they are right as they are.
fn with_group(
    mut groups: Vec<Box<RawValue>>,
    program: Program,
    binary: &str,
) -> Result<Option<Box<RawValue>>, serde_json::Error> {
    let ours = handler(program, binary);
    let mut is_there = false;
    let mut is_changed = false;
    for group in &mut groups {
        let mut value: Value = serde_json::from_str(group.get())?;
        let handlers = value.get_mut("hooks").and_then(Value::as_array_mut);
        let own = handlers
            .into_iter()
            .flatten()
            .filter(|handler| is_ours(handler, program));
        let mut is_stale = false;
        for own in own {
            is_there = true;
            if own["command"] != ours["command"] {
                own["command"] = ours["command"].clone();
                is_stale = true;
            }
        }
        if is_stale {
            *group = document::pretty(&value, 3)?;
            is_changed = true;
        }
    }
    if !is_there {
        groups.push(document::pretty(&json!({ "hooks": [ours] }), 3)?);
        is_changed = true;
    }
    is_changed
        .then(|| RawValue::from_string(document::list(&groups, 2)))
        .transpose()
}

/// What a program is to run. As one line for the shell: a version that does not know arguments in a list would run the program
/// without any, and take its exit code for a refusal.
fn handler(program: Program, binary: &str) -> Value {
    let command = format!("{} hook {}", quoted(binary), program.word());
    let mut handler = json!({ "type": "command", "command": command });
    handler["timeout"] = match program {
        Program::Gemini => json!(TIMEOUT_SECONDS * 1000),
        Program::Claude | Program::Codex => json!(TIMEOUT_SECONDS),
    };
    if program == Program::Gemini {
        handler["name"] = json!("remembrancer");
    }
    handler
}

/// Whether a handler is one that we wrote, perhaps for another place of the program.
fn is_ours(handler: &Value, program: Program) -> bool {
    let command = handler["command"].as_str().unwrap_or_default();
    let ending = format!(" hook {}", program.word());
    command.strip_suffix(&ending).is_some_and(|binary| {
        let name = binary.trim_matches('\'').rsplit('/').next();
        name.is_some_and(|name| name.starts_with("remembrancer"))
    })
}

/// A path as the shell reads it.
fn quoted(path: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/._-+".contains(&byte);
    if path.bytes().all(is_plain) {
        path.to_owned()
    } else {
        format!("'{}'", path.replace('\'', r"'\''"))
    }
}

/// In which of the program's events ours is run.
pub(super) fn installed(settings: &str, program: Program) -> usize {
    let settings: Value = serde_json::from_str(settings).unwrap_or_default();
    let runs_ours = |groups: &Value| {
        let groups = groups.as_array().into_iter().flatten();
        let mut handlers = groups
            .filter_map(|group| group["hooks"].as_array())
            .flatten();
        handlers.any(|handler| is_ours(handler, program))
    };
    let hooks = settings["hooks"].as_object();
    hooks.map_or(0, |hooks| {
        hooks.values().filter(|groups| runs_ours(groups)).count()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const BINARY: &str = "/usr/local/bin/remembrancer";

    fn install(before: &str, program: Program) -> Result<String, String> {
        with_hooks(before, program, events(program), BINARY)
    }

    #[test]
    fn empty_settings_get_every_event_and_a_second_time_nothing() {
        for program in Program::ALL {
            let once = install("", program).expect("installed");
            assert_eq!(installed(&once, program), events(program).len());
            assert_eq!(install(&once, program).as_ref(), Ok(&once));
            let value: Value = serde_json::from_str(&once).expect("JSON");
            assert_eq!(
                once,
                serde_json::to_string_pretty(&value).expect("JSON") + "\n"
            );
        }
    }

    #[test]
    fn what_is_there_stays_with_its_bytes_and_its_order() {
        let before = "{\n  \"zeta\": {\"b\": 1.50},\n  \"hooks\": {\n    \"Stop\": [ {\"hooks\": [{\"command\": \"say  done\", \
                      \"type\": \"command\"}]} ],\n    \"Notification\": []\n  },\n  \"alpha\": \"x\"\n}\n";
        let after = install(before, Program::Claude).expect("installed");
        for kept in [
            "\"zeta\": {\"b\": 1.50}",
            "{\"hooks\": [{\"command\": \"say  done\", \"type\": \"command\"}]}",
            "\"Notification\": []",
            "\"alpha\": \"x\"",
        ] {
            assert!(after.contains(kept), "{kept}\n{after}");
        }
        let place = |text: &str| after.find(text).expect("there");
        assert!(place("zeta") < place("\"hooks\"") && place("say  done") < place("alpha"));
        let value: Value = serde_json::from_str(&after).expect("JSON");
        assert_eq!(value["hooks"]["Stop"].as_array().expect("a list").len(), 2);
    }

    #[test]
    fn another_place_of_the_program_replaces_the_one_that_is_named() {
        let old =
            with_hooks("", Program::Codex, &["Stop"], "/old dir/remembrancer").expect("installed");
        assert!(old.contains("'/old dir/remembrancer' hook codex"), "{old}");
        let new = with_hooks(&old, Program::Codex, &["Stop"], BINARY).expect("installed");
        assert!(!new.contains("old dir") && new.contains("/usr/local/bin/remembrancer hook codex"));
        assert_eq!(installed(&new, Program::Codex), 1);
        assert_eq!(installed(&new, Program::Claude), 0);
    }

    #[test]
    fn settings_that_cannot_be_understood_are_refused() {
        for (before, reason) in [
            ("{ // comment\n}", "not a JSON object"),
            ("[]", "not a JSON object"),
            (r#"{"hooks": []}"#, "\"hooks\" in it is not an object"),
            (r#"{"hooks": {"Stop": {}}}"#, "is not a list"),
            (r#"{"hooks": {}, "hooks": {}}"#, "there twice"),
        ] {
            let error = install(before, Program::Claude).expect_err(before);
            assert!(error.contains(reason), "{before}: {error}");
        }
    }
}
