use proptest::prelude::*;
use remembrancer_schema::payload::Places;

use super::*;
use crate::effect::Known;

fn effects(tool: &str, arguments: &str) -> Effects {
    let mut ground = Ground::new(&Places {
        root: Some("/w".to_owned()),
        home: Some("/home/u".to_owned()),
        ..Places::default()
    });
    let call = Call {
        tool,
        arguments: Some(arguments),
        declared: None,
    };
    effects_of(call, &mut ground, &mut ShellState::default())
}

/// The effects that a call has, with their targets; `?` where any is not known.
fn told(tool: &str, arguments: &str) -> String {
    let effects = effects(tool, arguments);
    let mut words = Vec::new();
    for effect in Effect::ALL {
        match effects.of(effect) {
            Known::False => {}
            Known::Unknown => words.push(format!("{}?", effect.as_str())),
            Known::True => {
                let targets: Vec<String> = effects.targets(effect).map(Target::words).collect();
                words.push(format!("{}({})", effect.as_str(), targets.join(" ")));
            }
        }
    }
    words.join(" ")
}

const UNKNOWN: &str = "read? write? delete? network? execute? privilege?";

#[test]
fn arguments_beside_the_command_count_too() {
    for (tool, arguments, expected) in [
        ("Glob", r#"{"pattern":"**/*.rs"}"#, "read(/w)"),
        ("Glob", r#"{"pattern":"/etc/*"}"#, "read(/etc /w)"),
        ("Glob", r#"{"pattern":"../*"}"#, "read(/w ../*)"),
        (
            "Glob",
            r#"{"pattern":"{/etc,/usr}/*"}"#,
            "read(/w {/etc,/usr}/*)",
        ),
        (
            "exec_command",
            r#"{"cmd":"rm x","shell":"/bin/zsh"}"#,
            "delete(/w/x)",
        ),
        (
            "shell",
            r#"{"command":["rm","x"],"with_escalated_permissions":true}"#,
            "delete(/w/x) privilege()",
        ),
        (
            "shell",
            r#"{"command":["rm","x"],"with_escalated_permissions":false,"sandbox_permissions":"use_default"}"#,
            "delete(/w/x)",
        ),
        (
            "exec_command",
            r#"{"cmd":"rm x","sandbox_permissions":"require_escalated"}"#,
            "delete(/w/x) privilege()",
        ),
        (
            "apply_patch",
            r#"{"input":"*** Begin Patch\n  *** Delete File: /etc/x\n*** Update File: a\n *** no header\n*** End Patch"}"#,
            "read(/w/a) write(/w/a) delete(/etc/x)",
        ),
    ] {
        assert_eq!(told(tool, arguments), expected, "{tool} {arguments}");
    }
    let other = told("exec_command", r#"{"cmd":"ls","shell":"/tmp/evil"}"#);
    assert!(
        other.contains("execute()") && other.contains("delete?"),
        "{other}"
    );
}

#[test]
fn tools_of_coding_agents_have_the_effects_of_the_table() {
    for (tool, arguments, expected) in [
        (
            "Read",
            r#"{"file_path":"/etc/passwd"}"#,
            "read(/etc/passwd)",
        ),
        ("Read", r#"{"file_path":"src/../../x"}"#, "read(/x)"),
        (
            "Write",
            r#"{"file_path":"/w/a","content":"rm -rf /"}"#,
            "write(/w/a)",
        ),
        (
            "Edit",
            r#"{"file_path":"a","old_string":"x","new_string":"y"}"#,
            "read(/w/a) write(/w/a)",
        ),
        (
            "MultiEdit",
            r#"{"file_path":"~/a","edits":[]}"#,
            "read(/home/u/a) write(/home/u/a)",
        ),
        (
            "NotebookEdit",
            r#"{"notebook_path":"n.ipynb"}"#,
            "read(/w/n.ipynb) write(/w/n.ipynb)",
        ),
        ("Glob", r#"{"pattern":"**/*.rs"}"#, "read(/w)"),
        ("Grep", r#"{"pattern":"x","path":"/srv"}"#, "read(/srv)"),
        (
            "Bash",
            r#"{"command":"rm x","description":"d"}"#,
            "delete(/w/x)",
        ),
        (
            "WebFetch",
            r#"{"url":"https://x.test"}"#,
            "network(https://x.test)",
        ),
        ("TodoWrite", r#"{"todos":[]}"#, ""),
        ("Task", r#"{"prompt":"x"}"#, UNKNOWN),
        (
            "shell",
            r#"{"command":["bash","-lc","rm x"],"workdir":"/srv"}"#,
            "delete(/srv/x)",
        ),
        ("shell", r#"{"command":["rm","a b"]}"#, "delete(/w/a b)"),
        (
            "exec_command",
            r#"{"cmd":"cat a","workdir":"sub"}"#,
            "read(/w/sub/a)",
        ),
        (
            "exec_command",
            r#"{"cmd":"aws s3 rm --recursive s3://b"}"#,
            "read? write? delete? network() execute() privilege?",
        ),
        (
            "apply_patch",
            "\"*** Begin Patch\\n*** Add File: a\\n+x\\n*** Update File: b\\n*** Move to: c\\n*** End Patch\"",
            "read(/w/b) write(/w/a /w/b /w/c) delete()",
        ),
        ("apply_patch", r#"{"input":"--- a\n+++ b"}"#, UNKNOWN),
        ("read", r#"{"path":"a"}"#, "read(/w/a)"),
        ("bash", r#"{"command":"ls"}"#, "read(/w)"),
        ("ls", "{}", "read(/w)"),
        (
            "execute_bash",
            r#"{"command":"rm x","is_input":"false"}"#,
            "delete(/w/x)",
        ),
        (
            "execute_bash",
            r#"{"command":"y","is_input":"true"}"#,
            UNKNOWN,
        ),
        (
            "file_editor",
            r#"{"command":"view","path":"/w/a"}"#,
            "read(/w/a)",
        ),
        (
            "file_editor",
            r#"{"command":"create","path":"/w/a"}"#,
            "write(/w/a)",
        ),
        (
            "file_editor",
            r#"{"command":"str_replace","path":"/w/a"}"#,
            "read(/w/a) write(/w/a)",
        ),
        (
            "file_editor",
            r#"{"command":"explode","path":"/w/a"}"#,
            UNKNOWN,
        ),
        (
            "run_shell_command",
            r#"{"command":"rm x","directory":"d"}"#,
            "delete(/w/d/x)",
        ),
        (
            "read_many_files",
            r#"{"paths":["a","src/*.rs"]}"#,
            "read(/w/a /w/src)",
        ),
        (
            "mcp__filesystem__move_file",
            r#"{"source":"a","destination":"b"}"#,
            "read(/w/a) write(/w/b) delete(/w/a)",
        ),
        ("get_invoice", r#"{"path":"/etc"}"#, UNKNOWN),
    ] {
        assert_eq!(told(tool, arguments), expected, "{tool} {arguments}");
    }
}

#[test]
fn a_call_without_its_arguments_is_not_known() {
    for arguments in [
        "{}",
        "null",
        "[1]",
        "7",
        "not JSON",
        r#"{"file_path":7}"#,
        r#"{"file_path":null}"#,
        r#"{"file_path":[]}"#,
    ] {
        assert_eq!(told("Read", arguments), UNKNOWN, "{arguments}");
    }
    assert_eq!(told("Read", r#"{"file_path":""}"#), "read()");
    assert_eq!(told("Read", r#"{"file_path":"C:\\x"}"#), "read(C:\\x)");
    assert_eq!(told("shell", r#"{"command":[1]}"#), UNKNOWN);
}

#[test]
fn a_relative_path_without_a_root_is_told_as_it_stands() {
    let call = Call {
        tool: "Read",
        arguments: Some(r#"{"file_path":"a"}"#),
        declared: None,
    };
    let effects = effects_of(call, &mut Ground::default(), &mut ShellState::default());
    let targets: Vec<&Target> = effects.targets(Effect::Read).collect();
    assert_eq!(targets, [&Target::Unknown("a".to_owned())]);
    assert!(effects.reasons()[0].contains("places.root"));
}

#[test]
fn every_line_of_the_table_is_read() {
    assert!(TOOLS.rows.len() > 60, "{}", TOOLS.rows.len());
}

proptest! {
    /// Whatever is sent, a tool that is known by its arguments has an effect or one that is not known; empty code has none.
    #[test]
    fn no_arguments_panic_or_are_harmless(arguments in "\\PC{0,60}", path in "\\PC{0,20}") {
        for tool in ["Bash", "Read", "shell", "apply_patch", "file_editor", "read_many_files", "nobody"] {
            prop_assert!(matches!(tool, "Bash" | "shell") || !effects(tool, &arguments).is_none());
        }
        let json = serde_json::json!({ "file_path": path }).to_string();
        prop_assert_eq!(effects("Read", &json).of(Effect::Read), Known::True);
    }
}
