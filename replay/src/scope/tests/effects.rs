//! Scopes that ask what an action touches.

use super::*;
use crate::record::fixture::SessionFixture;

const PLACES: &str = r#""places":{"root":"/w","home":"/home/u"}"#;

/// The verdict on a command in a shell under a scope with a root and a home.
fn shell(lists: &str, command: &str) -> ScopeVerdict {
    let scope = scope(&format!("{{{PLACES},{lists}}}"));
    bash(&scope, command)
}

fn bash(scope: &ScopeDeclared, command: &str) -> ScopeVerdict {
    let arguments = serde_json::json!({ "command": command }).to_string();
    let action = ProposedAction {
        arguments: Some(&arguments),
        ..call("Bash")
    };
    decide(Some(scope), [], &action).verdict
}

fn reason(verdict: &ScopeVerdict) -> &str {
    match verdict {
        ScopeVerdict::Unevaluated { reason } => reason,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_permission_of_the_root_clears_nothing_beyond_it() {
    let inside = r#""permitted":[{"paths":["."]}]"#;
    for command in [
        "rm -rf build",
        "cat src/a > b",
        "cd sub && rm x",
        "find . -delete",
        "rm /w/x",
        "rm *",
    ] {
        assert_eq!(
            shell(inside, command),
            permitted(&["permitted[0]"]),
            "{command}"
        );
    }
    for command in [
        "rm -rf /",
        "rm -rf ..",
        "cat /etc/passwd",
        "cd .. && rm x",
        "rm -rf ~",
        "cp a /tmp",
        "rm /w-old/x",
        "curl x.test",
        "python x.py",
        "find . -exec ./x {} +",
    ] {
        assert_eq!(
            shell(inside, command),
            ScopeVerdict::OutOfScope,
            "{command}"
        );
    }
    for command in ["rm -rf $DIR", "xargs rm", "rm 'unclosed", "git commit -m x"] {
        assert!(
            reason(&shell(inside, command)).contains("is open"),
            "{command}"
        );
    }
}

#[test]
fn paths_match_whole_components() {
    let src = r#""permitted":[{"effects":["write"],"paths":["src"]},{"effects":["read"]}]"#;
    assert_eq!(shell(src, "touch src/a"), permitted(&["permitted[0]"]));
    assert_eq!(shell(src, "touch src"), permitted(&["permitted[0]"]));
    for beyond in [
        "touch src-old/a",
        "touch srcs",
        "touch src/../b",
        "touch a/src",
    ] {
        assert_eq!(shell(src, beyond), ScopeVerdict::OutOfScope, "{beyond}");
    }
    assert_eq!(
        shell(src, "cat /etc/passwd > src/a"),
        permitted(&["permitted[0]", "permitted[1]"])
    );
}

#[test]
fn a_prohibition_of_deleting_everything_is_broken_by_every_deletion() {
    let never = r#""prohibited":[{"effects":["delete"],"paths":["/"]}]"#;
    for command in [
        "rm -rf /",
        "rm x",
        "rm $X",
        "find . -delete",
        "ls | xargs rm",
        "mv a b",
        "sh -c 'rm x'",
        "sudo rm /etc/x",
    ] {
        assert_eq!(
            shell(never, command),
            prohibited(&["prohibited[0]"]),
            "{command}"
        );
    }
    for command in ["ls", "cat x > y", "git push --force"] {
        assert_eq!(shell(never, command), permitted(&[]), "{command}");
    }
    assert!(reason(&shell(never, "make")).contains("\"delete\""));
}

#[test]
fn a_prohibited_file_is_met_from_above_from_below_and_perhaps_by_a_glob() {
    let secret =
        r#""prohibited":[{"effects":["read","delete"],"paths":["conf/secret","**/.env"]}]"#;
    for command in [
        "cat conf/secret",
        "cat conf/secret/key",
        "rm -rf conf",
        "rm -rf .",
        "grep -r x .",
        "cat a/b/.env",
        "find / -delete",
    ] {
        assert_eq!(
            shell(secret, command),
            prohibited(&["prohibited[0]"]),
            "{command}"
        );
    }
    for command in [
        "cat conf/secrets",
        "ls conf",
        "rm conf/*.txt",
        "cat env",
        "cat x/*.txt",
    ] {
        assert_eq!(shell(secret, command), permitted(&[]), "{command}");
    }
    for command in ["rm conf/s*", "cat conf/*", "cat */.e*", "cat \"$F\""] {
        assert!(
            reason(&shell(secret, command)).contains("is open"),
            "{command}"
        );
    }
    let etc = r#""prohibited":[{"effects":["delete"],"paths":["/etc/passwd"]}]"#;
    assert_eq!(shell(etc, "rm -rf /*"), prohibited(&["prohibited[0]"]));
    assert!(reason(&shell(etc, "rm -rf /e*")).contains("is open"));
    // What is known of one command hides nothing that another may do.
    let inside = r#""permitted":[{"effects":["read","write","network","execute","privilege"]},{"effects":["delete"],"paths":["."]}]"#;
    assert!(reason(&shell(inside, "rm a; ./tool")).contains("\"delete\""));
    // Copying into a directory writes some of it, nobody knows which.
    let write = r#""prohibited":[{"effects":["write"],"paths":["dst/kept"]}]"#;
    assert!(reason(&shell(write, "cp -r src/. dst")).contains("is open"));
    assert_eq!(
        shell(write, "cp a dst/kept"),
        prohibited(&["prohibited[0]"])
    );
    assert_eq!(shell(write, "cp a dst"), permitted(&[]));
}

#[test]
fn what_is_not_declared_is_not_guessed() {
    let scope = scope(r#"{"permitted":[{"paths":["src"]}]}"#);
    let verdict = bash(&scope, "cat src/a");
    assert!(reason(&verdict).contains("places.root"), "{verdict:?}");
    assert_eq!(bash(&scope, "curl x.test"), ScopeVerdict::OutOfScope);
    let prohibits = super::scope(r#"{"prohibited":[{"paths":["src"]}]}"#);
    assert!(reason(&bash(&prohibits, "cat /etc/x")).contains("\"src\""));
    assert_eq!(bash(&prohibits, "echo x"), permitted(&[]));
}

#[test]
fn where_changes_are_permitted_in_one_folder_everything_else_may_be_done_anywhere() {
    let plan = r#""permitted":[{"effects":["read","network","execute","privilege"]},{"effects":["write","delete"],"paths":["/home/u/.claude/plans"]}]"#;
    let scope = scope(&format!("{{{PLACES},{plan}}}"));
    let tool = |tool: &str, arguments: &str| {
        let action = ProposedAction {
            arguments: Some(arguments),
            ..call(tool)
        };
        decide(Some(&scope), [], &action).verdict
    };
    let is_permitted = |verdict: ScopeVerdict| matches!(verdict, ScopeVerdict::Permitted { .. });
    for (name, arguments) in [
        (
            "Write",
            r#"{"file_path":"/home/u/.claude/plans/a-b.md","content":"the plan"}"#,
        ),
        (
            "Edit",
            r#"{"file_path":"/home/u/.claude/plans/a-b.md","old_string":"a","new_string":"b"}"#,
        ),
        ("Read", r#"{"file_path":"/w/src/a.rs"}"#),
        ("Bash", r#"{"command":"grep -r x src && git log"}"#),
    ] {
        let verdict = tool(name, arguments);
        assert!(is_permitted(verdict.clone()), "{name}: {verdict:?}");
    }
    for (name, arguments) in [
        ("Write", r#"{"file_path":"/w/src/a.rs","content":"x"}"#),
        (
            "Write",
            r#"{"file_path":"/home/u/.claude/plans-old/a.md","content":"x"}"#,
        ),
        ("Bash", r#"{"command":"rm -rf build"}"#),
    ] {
        assert_eq!(
            tool(name, arguments),
            ScopeVerdict::OutOfScope,
            "{name} {arguments}"
        );
    }
}

#[test]
fn a_permission_of_effects_covers_these_and_no_others() {
    let reads = r#""permitted":[{"effects":["read"]}]"#;
    assert_eq!(
        shell(reads, "cat $X | sort"),
        ScopeVerdict::Permitted {
            policies: vec!["permitted[0]".to_owned()]
        }
    );
    assert_eq!(shell(reads, "cat x > y"), ScopeVerdict::OutOfScope);
    assert_eq!(shell(reads, "echo x"), permitted(&["permitted[0]"]));
    // That it runs a program is certain, and nothing permits that.
    assert_eq!(shell(reads, "./filter < x"), ScopeVerdict::OutOfScope);
    let all = r#""permitted":[{"tool":"Bash"}]"#;
    assert_eq!(shell(all, "make; rm -rf $X"), permitted(&["permitted[0]"]));
}

#[test]
fn declared_prohibitions_ask_too_and_start_at_the_root_in_force() {
    let constraint = prohibition("keep", r#"[{"effects":["delete"],"paths":["data"]}]"#);
    let mut mandate = Mandate::default();
    mandate.declare_constraint(&constraint);
    let delete = |mandate: &mut Mandate| {
        let action = ProposedAction {
            arguments: Some(r#"{"command":"rm -rf /srv/data/x"}"#),
            ..call("Bash")
        };
        mandate.judge(&action)
    };
    assert!(reason(&delete(&mut mandate).verdict).contains("places.root"));
    mandate.declare_scope(&scope(r#"{"places":{"root":"/w"}}"#));
    let judged = delete(&mut mandate);
    assert_eq!(
        (judged.verdict, judged.scope_version),
        (permitted(&[]), Some(1))
    );
    mandate.declare_scope(&scope(r#"{"places":{"root":"/srv"}}"#));
    let judged = delete(&mut mandate);
    assert_eq!(judged.verdict, prohibited(&["keep"]));
    assert_eq!(
        (judged.breaks, judged.scope_version),
        (vec!["keep".to_owned()], Some(2))
    );
}

#[test]
fn a_policy_text_is_asked_of_each_thing_that_is_touched() {
    let scope = scope(
        r#"{"places":{"root":"/w"},"policy":"permit (principal, action, resource) when { context has effect && context.effect == \"read\" };\n@id(\"no-etc\") forbid (principal, action, resource) when { context has effect && context.within.contains(\"/etc\") };"}"#,
    );
    assert_eq!(bash(&scope, "cat a"), permitted(&["policy[0]"]));
    assert_eq!(bash(&scope, "cat a /etc/x"), prohibited(&["no-etc"]));
    assert_eq!(bash(&scope, "cat a > b"), ScopeVerdict::OutOfScope);
}

#[test]
fn a_policy_text_that_forbids_leaves_open_what_is_not_known() {
    let scope = scope(
        r#"{"places":{"root":"/w"},"policy":"permit (principal, action, resource);\nforbid (principal, action, resource) when { context has effect && context.effect == \"delete\" && context.within.contains(\"/etc\") };"}"#,
    );
    assert_eq!(bash(&scope, "rm a"), permitted(&["policy[0]"]));
    assert_eq!(bash(&scope, "rm /etc/x"), prohibited(&["policy[1]"]));
    for code in [
        "rm -rf $X",
        "./tool",
        "rm a; ./tool",
        "rm -rf /",
        "rm /e*/x",
    ] {
        let verdict = bash(&scope, code);
        assert!(
            reason(&verdict).contains("the policy text"),
            "{code}: {verdict:?}"
        );
    }
}

#[test]
fn a_glob_may_lie_inside_what_a_glob_permits() {
    let scope = scope(
        r#"{"places":{"root":"/w"},"permitted":[{"effects":["delete"],"paths":["src/*.rs"]}]}"#,
    );
    assert_eq!(bash(&scope, "rm src/a.rs"), permitted(&["permitted[0]"]));
    assert!(reason(&bash(&scope, "rm src/*.rs")).contains("src/*.rs"));
    assert_eq!(bash(&scope, "rm lib/*.rs"), ScopeVerdict::OutOfScope);
}

#[test]
fn a_known_target_hides_nothing_that_is_not_known() {
    let prohibits = scope(
        r#"{"places":{"root":"/w"},"prohibited":[{"effects":["delete"],"paths":["/etc"]},{"effects":["write"],"paths":["/etc"]}]}"#,
    );
    for code in ["rm a; python3 evil.py", "touch ok; useradd x"] {
        let verdict = bash(&prohibits, code);
        assert!(!reason(&verdict).is_empty(), "{code}: {verdict:?}");
    }
    let permits = scope(
        r#"{"places":{"root":"/w"},"permitted":[{"effects":["read","write","delete"],"paths":["."]},{"effects":["execute"]}]}"#,
    );
    let verdict = bash(&permits, "cat a; touch a; rm a; ./evil.sh");
    assert!(!reason(&verdict).is_empty(), "{verdict:?}");
}

#[test]
fn a_scope_may_say_what_a_tool_does() {
    let scope = scope(
        r#"{"places":{"root":"/w"},"tools":[{"tool":"fetch_rows","effects":["read"]},{"tool":"note","effects":[]},{"tool":"raw"}],
            "permitted":[{"effects":["read"],"paths":["db"]}],"prohibited":[{"effects":["write"]}]}"#,
    );
    let verdict = |tool: &str, arguments: &str| {
        let action = ProposedAction {
            arguments: Some(arguments),
            ..call(tool)
        };
        decide(Some(&scope), [], &action)
    };
    assert_eq!(
        verdict("fetch_rows", r#"{"path":"db/x"}"#).verdict,
        permitted(&["permitted[0]"])
    );
    assert_eq!(
        verdict("fetch_rows", r#"{"path":"/etc"}"#).verdict,
        ScopeVerdict::OutOfScope
    );
    assert!(verdict("note", "{}").effects.is_none());
    assert!(reason(&verdict("raw", r#"{"path":"db"}"#).verdict).contains("\"write\""));
}

fn session(name: &str, events: &[(&str, &str)]) -> crate::Analysis {
    let fixture = events
        .iter()
        .fold(SessionFixture::new(), |fixture, (kind, data)| {
            fixture.event(kind, *data)
        });
    let mut record = fixture.record();
    record.session = name.parse().expect("an id");
    crate::analyse(&record)
}

#[test]
fn a_later_declaration_is_a_new_version_for_the_actions_behind_it_in_its_own_session() {
    let strict = r#"{"places":{"root":"/w"},"permitted":[{"effects":["read"]}]}"#;
    let wide =
        r#"{"places":{"root":"/w"},"permitted":[{"paths":["."]}],"stated_by":{"role":"user"}}"#;
    let delete = r#"{"turn":1,"call_id":"c","tool":"Bash","arguments":{"command":"rm x"}}"#;
    let analysis = session(
        "one",
        &[
            ("tool.called", delete),
            ("scope.declared", strict),
            ("tool.called", delete),
            ("scope.declared", wide),
            ("tool.called", delete),
        ],
    );
    let told: Vec<(Option<u32>, ScopeVerdict)> = analysis
        .actions
        .iter()
        .map(|action| (action.scope_version, action.scope.clone()))
        .collect();
    assert_eq!(
        told,
        [
            (None, ScopeVerdict::Undeclared),
            (Some(1), ScopeVerdict::OutOfScope),
            (Some(2), permitted(&["permitted[0]"])),
        ]
    );
    let scopes = &analysis.overview.scopes;
    assert_eq!(
        scopes.iter().map(|scope| scope.version).collect::<Vec<_>>(),
        [1, 2]
    );
    assert!(scopes[0].entry < scopes[1].entry);
    assert_eq!(
        scopes[1].stated_by.as_ref().map(|by| &*by.role),
        Some("user")
    );
    // What was declared in one session says nothing in another.
    let other = session("two", &[("tool.called", delete)]);
    assert_eq!(other.actions[0].scope, ScopeVerdict::Undeclared);
    assert_eq!(other.actions[0].scope_version, None);
    assert!(other.overview.scopes.is_empty());
}

#[test]
fn what_an_action_leaves_behind_is_known_at_the_next_one() {
    let analysis = session(
        "left",
        &[
            (
                "scope.declared",
                r#"{"places":{"root":"/w"},"permitted":[{"paths":["."]}]}"#,
            ),
            (
                "tool.called",
                r#"{"turn":1,"call_id":"a","tool":"Bash","arguments":{"command":"cd /etc"}}"#,
            ),
            (
                "tool.called",
                r#"{"turn":2,"call_id":"b","tool":"Bash","arguments":{"command":"rm passwd"}}"#,
            ),
        ],
    );
    // Whether the program kept the shell is not recorded, so both files count.
    assert_eq!(analysis.actions[1].scope, ScopeVerdict::OutOfScope);
}

#[test]
fn effects_are_told_in_the_json_of_an_action() {
    let analysis = session(
        "json",
        &[
            ("scope.declared", r#"{"places":{"root":"/w"}}"#),
            (
                "tool.called",
                r#"{"turn":1,"call_id":"a","tool":"Bash","arguments":{"command":"cat a | tee b/$X; sudo rm -rf /etc/*"}}"#,
            ),
        ],
    );
    let report = serde_json::to_value(crate::view::presence(&analysis)).expect("JSON");
    assert_eq!(
        report["actions"][0]["effects"],
        serde_json::json!({
            "known": {"read":"true","write":"true","delete":"true","network":"false","execute":"false","privilege":"true"},
            "targets": {
                "read": [{"path":"/w/a"}],
                "write": [{"unknown":"b/$X"}],
                "delete": [{"path":"/etc/*","tree":true}],
            },
            "unknown_because": ["a path is put together when the command runs"],
        })
    );
    assert_eq!(report["actions"][0]["scope_version"], 1);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Any path in a pattern and any command are answered, and what nobody can tell is never permitted by a path.
    #[test]
    fn any_path_and_any_command_are_answered(path in "\\PC{0,20}", command in "\\PC{0,30}") {
        let scope = ScopeDeclared {
            places: serde_json::from_str(r#"{"root":"/w"}"#).expect("places"),
            permitted: vec![ActionPattern { paths: vec![path.clone()], ..ActionPattern::default() }],
            prohibited: vec![ActionPattern { paths: vec![path], ..ActionPattern::default() }],
            ..ScopeDeclared::default()
        };
        bash(&scope, &command);
        let verdict = bash(&scope, "rm \"$X\"");
        prop_assert!(!matches!(verdict, ScopeVerdict::Permitted { .. }), "{verdict:?}");
    }
}
