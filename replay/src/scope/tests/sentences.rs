//! What people ask first of a scope, each as one line: the declaration, the command, the verdict.

use super::*;
use crate::record::fixture::SessionFixture;

/// The verdict on commands that are run one after the other in one session, whose scope has a root and a home.
fn verdicts(places: &str, lists: &str, commands: &[&str]) -> Vec<&'static str> {
    let scope = format!(r#"{{"places":{{"root":"/w","home":"/home/u"{places}}},{lists}}}"#);
    let declared = SessionFixture::new().event("scope.declared", scope);
    let fixture = commands.iter().enumerate().fold(declared, |fixture, (at, command)| {
        let call = serde_json::json!({
            "turn": 1, "call_id": format!("c{at}"), "tool": "Bash", "arguments": { "command": command },
        });
        fixture.event("tool.called", call.to_string())
    });
    let analysis = crate::analyse(&fixture.record());
    let name = |scope: &ScopeVerdict| match scope {
        ScopeVerdict::Undeclared => "undeclared",
        ScopeVerdict::Permitted { .. } => "permitted",
        ScopeVerdict::OutOfScope => "out of scope",
        ScopeVerdict::Prohibited { .. } => "prohibited",
        ScopeVerdict::Unevaluated { .. } => "open",
    };
    analysis
        .actions
        .iter()
        .map(|action| name(&action.scope))
        .collect()
}

const NO_DELETE: &str = r#""prohibited":[{"effects":["delete"]}]"#;
const ONLY_HERE: &str = r#""permitted":[{"paths":["."]}]"#;
const ONLY_SRC: &str =
    r#""permitted":[{"effects":["read"]},{"effects":["write","delete"],"paths":["src"]}]"#;
const NO_KEYS: &str = r#""prohibited":[{"paths":["~/.ssh","/w/conf/secret"]}]"#;

#[test]
fn sentences_about_scopes_hold() {
    let cases = [
        ("", NO_DELETE, "find . -delete", "prohibited"),
        ("", NO_DELETE, "git ls-files | xargs rm", "prohibited"),
        ("", NO_DELETE, "sh -c \"sh -c 'rm a'\"", "prohibited"),
        ("", NO_DELETE, "bash <<'E'\nrm a\nE", "prohibited"),
        ("", NO_DELETE, "bash <<E\nrm $A\n$B\nE", "open"),
        ("", NO_DELETE, "git push --force", "prohibited"),
        ("", NO_DELETE, "git push origin +main", "prohibited"),
        (
            "",
            NO_DELETE,
            "python -c 'import os; os.remove(\"a\")'",
            "open",
        ),
        ("", NO_DELETE, "node -e 'x'", "open"),
        ("", NO_DELETE, "cat <<E\nrm a\nE", "permitted"),
        ("", NO_DELETE, "echo 'rm a'", "permitted"),
        ("", ONLY_HERE, "rm -rf /", "out of scope"),
        ("", ONLY_HERE, "rm -rf .", "permitted"),
        ("", ONLY_HERE, "rm -rf ..", "out of scope"),
        ("", ONLY_HERE, "echo x > /etc/motd", "out of scope"),
        ("", ONLY_HERE, "echo x > a", "permitted"),
        ("", ONLY_HERE, "cat > ../a <<'E'\nx\nE", "out of scope"),
        ("", ONLY_HERE, "rm -rf ~", "out of scope"),
        ("", ONLY_SRC, "rm -rf src/a", "permitted"),
        ("", ONLY_SRC, "rm -rf src-old", "out of scope"),
        ("", ONLY_SRC, "rm -rf src/../src-old", "out of scope"),
        ("", ONLY_SRC, "echo x >> src-old/a", "out of scope"),
        ("", NO_KEYS, "cat ~/.ssh/id", "prohibited"),
        ("", NO_KEYS, "cat \"$HOME/.ssh/id\"", "prohibited"),
        ("", NO_KEYS, "rm -rf conf", "prohibited"),
        ("", NO_KEYS, "cat CONF/secret", "permitted"),
        (
            r#","ignores_case":true"#,
            NO_KEYS,
            "cat CONF/Secret/a",
            "prohibited",
        ),
        (
            r#","links":{"/w/k":"/w/conf/secret"}"#,
            NO_KEYS,
            "cat k/a",
            "prohibited",
        ),
        (
            r#","links":{"/w/src/out":"/etc"}"#,
            ONLY_SRC,
            "rm src/out/passwd",
            "out of scope",
        ),
    ];
    for (places, lists, command, verdict) in cases {
        assert_eq!(
            verdicts(places, lists, &[command]),
            [verdict],
            "{lists} {command}"
        );
    }
}

/// A link that an action made hides what the next one touches, so that nothing is certain of it.
#[test]
fn a_link_that_was_made_leaves_what_goes_through_it_open() {
    let told = verdicts("", NO_KEYS, &["ln -s /w/conf k", "cat k/a"]);
    assert_eq!(told[1], "open");
}
