use std::path::Path;

use super::*;

fn parsed(text: &str) -> Mission {
    Mission::parse("mission.yaml", text.as_bytes()).expect("a mission")
}

fn refused(text: &str) -> String {
    let error = Mission::parse("mission.yaml", text.as_bytes()).expect_err(text);
    error.to_string()
}

/// The example of the documentation, as it stands there.
fn documented() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/mission-file.md");
    let page = std::fs::read_to_string(path).expect("docs/mission-file.md");
    let start = page.find("```yaml\n").expect("an example") + "```yaml\n".len();
    let length = page[start..].find("```").expect("its end");
    page[start..start + length].to_owned()
}

#[test]
fn the_documented_example_declares_everything_that_it_states() {
    let mission = parsed(&documented());
    let intent = mission.intent.as_ref().expect("an objective");
    assert!(intent.objective.starts_with("Find out why"), "{intent:?}");
    assert_eq!(intent.targets, ["orders_prod"]);
    let scope = mission.scope.as_ref().expect("a scope");
    assert_eq!(scope.tools.len(), 2);
    assert_eq!(scope.permitted.len(), 4);
    assert_eq!(scope.permitted[3].paths, ["reports", "/tmp"]);
    let kinds = |kind| {
        let of_kind = mission.constraints.iter().filter(|one| one.kind == kind);
        of_kind.map(|one| one.id.as_str()).collect::<Vec<_>>()
    };
    assert_eq!(
        kinds(ConstraintKind::Prohibition),
        [
            "no_writes",
            "contact_customers",
            "keys_and_passwords_are_never_read_or_changed"
        ]
    );
    assert_eq!(kinds(ConstraintKind::Obligation).len(), 2);
    assert_eq!(kinds(ConstraintKind::Permission).len(), 3);
    assert_eq!(kinds(ConstraintKind::Fact), ["replica"]);
    assert!(mission.constraints.iter().all(|one| !one.inferred));
    assert_eq!(mission.notices, Vec::<String>::new());
    let no_writes = &mission.constraints[0];
    assert_eq!(no_writes.actions.len(), 2);
    let by = no_writes.stated_by.as_ref().expect("who");
    assert_eq!(by.name.as_deref(), Some("Dana Reyes"));
    let place = by.source.as_deref().expect("where");
    let line: usize = place
        .strip_prefix("mission.yaml, line ")
        .and_then(|line| line.parse().ok())
        .expect("a line");
    let written = documented();
    let at = written.lines().nth(line - 1).expect("that line");
    assert!(at.contains("no_writes"), "{place}: {at}");
}

#[test]
fn what_is_declared_keeps_from_when_on_it_holds() {
    let declared = parsed(&documented()).declared();
    assert!(declared.intent.is_some() && declared.scope.is_some());
    let later: Vec<&str> = declared
        .rules
        .iter()
        .filter(|rule| rule.from == DeclaredFrom::FirstStated)
        .map(|rule| rule.constraint.text.as_str())
        .collect();
    assert_eq!(later, ["Use British spelling in reports."]);
}

#[test]
fn a_sentence_is_a_statement_and_its_words_make_the_id() {
    let mission =
        parsed("prohibitions:\n  - Never DELETE from orders_prod!\nfacts:\n  - Größe ist 5\n");
    let ids: Vec<&str> = mission
        .constraints
        .iter()
        .map(|one| one.id.as_str())
        .collect();
    assert_eq!(ids[0], "never_delete_from_orders_prod");
    assert!(ids[1].starts_with("gr_e_ist_5-"), "{ids:?}");
    assert_eq!((mission.intent, mission.scope), (None, None));
    let long = "a b ".repeat(40);
    assert_ne!(
        statement::made_id(&format!("{long}x")),
        statement::made_id(&format!("{long}y"))
    );
    assert!(statement::made_id("!!!").starts_with("statement-"));
}

#[test]
fn every_mistake_is_refused_with_its_line_and_the_next_step() {
    let cases = [
        (
            "objective: look\nprohibition:\n  - never x\n",
            2,
            "unknown key \"prohibition\"; known here are version, objective,",
        ),
        (
            "objective: look\nretention:\n  must: []\n",
            2,
            "unknown key \"retention\"",
        ),
        (
            "prohibitions:\n  - text: never x\n    tools: [y]\n",
            3,
            "unknown key \"tools\"; known here are id, text, matcher, actions, from",
        ),
        (
            "prohibitions:\n  - text: never x\n    actions:\n      - tool: y\n        args: []\n",
            5,
            "unknown key \"args\"",
        ),
        ("facts:\n  - id: x\n", 2, "the key \"text\" is missing"),
        ("objective: a\nobjective: b\n", 2, "a second time"),
        (
            "facts:\n  - same\n  - same\n",
            3,
            "is used on line 2 already",
        ),
        ("facts:\n  - 42\n", 2, "expected a sentence, or a mapping"),
        ("facts:\n  - ''\n", 2, "has no words"),
        ("facts:\n  - id: a b\n    text: x\n", 2, "write another id"),
        (
            "facts:\n  - text: x\n    matcher: {}\n",
            2,
            "neither all_of nor any_of",
        ),
        ("facts:\n  - text: x\n    from: later\n", 3, "correct it"),
        (
            "version: 2\nobjective: x\n",
            1,
            "this program reads version 1",
        ),
        ("objective: ' '\n", 1, "the objective has no words"),
        ("targets: [a]\n", 1, "the mission states nothing"),
        ("facts: [a\n", 1, "correct it"),
        ("facts: {a: b}\n", 1, "correct it"),
        ("objective: x\n---\nobjective: y\n", 2, "a second document"),
    ];
    for (text, line, reason) in cases {
        let error = refused(text);
        assert!(error.contains(reason), "{text}: {error}");
        let placed = error.starts_with(&format!("mission.yaml, line {line}, column "))
            // Where a list does not end, the parser tells the place at which it noticed.
            || reason == "correct it" && error.starts_with("mission.yaml, line ");
        assert!(placed, "{text}: {error}");
    }
    assert!(refused("").starts_with("mission.yaml, line 1, column 1: "));
    let error = Mission::parse("m", b"objective: x\nfacts: [\xff]").expect_err("no UTF-8");
    assert!(
        error
            .to_string()
            .starts_with("m, line 2, column 9: the file is not UTF-8"),
        "{error}"
    );
}

#[test]
fn hostile_files_are_refused_before_they_cost_anything() {
    let anchors = "facts:\n  - &a x\n  - *a\n";
    assert!(
        refused(anchors).contains("write the text out"),
        "{}",
        refused(anchors)
    );
    let mut laughs = "a0: &a0 [x, x]\n".to_owned();
    for level in 1..30 {
        laughs.push_str(&format!("a{level}: &a{level} [*a{0}, *a{0}]\n", level - 1));
    }
    assert!(refused(&laughs).starts_with("mission.yaml, line "));
    let deep = format!("facts: {}", "[".repeat(5_000));
    assert!(refused(&deep).starts_with("mission.yaml, line "));
    let large = format!("objective: {}\n", "x".repeat(MISSION_BYTES_MAX));
    assert!(refused(&large).contains("at most 262144 are read"));
    let many: String = (0..=STATEMENTS_MAX)
        .map(|at| format!("  - fact {at}\n"))
        .collect();
    assert!(refused(&format!("facts:\n{many}")).contains("at most 400 are read"));
    let long = format!(
        "facts:\n  - {}\n",
        "y".repeat(CONSTRAINT_TEXT_BYTES_MAX + 1)
    );
    assert!(refused(&long).contains("divide it"));
}

#[test]
fn a_mission_that_means_more_than_it_seems_says_so() {
    let text = "permissions:\n  - text: read\n    actions: [{tool: read}]\n  - write notes\n\
                prohibitions:\n  - text: nothing at all\n    actions: [{}]\n";
    let notices = parsed(text).notices;
    assert_eq!(notices.len(), 2);
    assert!(
        notices[0].starts_with("mission.yaml, line 4: "),
        "{notices:?}"
    );
    assert!(
        notices[1].starts_with("mission.yaml, line 6: "),
        "{notices:?}"
    );
}

/// A mission that says by effects and paths what may be touched.
const SCOPED: &str = "\
places: {root: /srv/app, home: /home/agent, ignores_case: true, links: {/srv/app/out: /mnt/out}}
tools:
  - {tool: get_invoice, effects: [network]}
permissions:
  - text: read everything
    actions: [{effects: [read]}]
  - text: change the sources
    actions:
      - effects: [write, delete]
        paths: [src, tests, /tmp]
prohibitions:
  - text: never touch keys
    actions:
      - paths: [\"**/.env\", ~/.ssh]
  - text: never act as another user
    actions: [{effects: [privilege]}]
";

#[test]
fn effects_and_paths_become_those_of_the_declared_scope() {
    let mission = parsed(SCOPED);
    assert_eq!(mission.notices, Vec::<String>::new());
    let scope = mission.scope.as_ref().expect("a scope");
    let declared = serde_json::to_value(scope).expect("JSON");
    assert_eq!(
        declared["places"],
        serde_json::json!({"root": "/srv/app", "home": "/home/agent", "ignores_case": true,
            "links": {"/srv/app/out": "/mnt/out"}})
    );
    assert_eq!(
        declared["permitted"],
        serde_json::json!([{"effects": ["read"]},
            {"effects": ["write", "delete"], "paths": ["src", "tests", "/tmp"]}])
    );
    assert_eq!(
        declared["tools"],
        serde_json::json!([{"tool": "get_invoice", "effects": ["network"]}])
    );
    let broken_by: Vec<_> = mission
        .constraints
        .iter()
        .filter(|one| one.kind == ConstraintKind::Prohibition)
        .map(|one| serde_json::to_value(&one.actions).expect("JSON"))
        .collect();
    assert_eq!(
        broken_by,
        [
            serde_json::json!([{"paths": ["**/.env", "~/.ssh"]}]),
            serde_json::json!([{"effects": ["privilege"]}])
        ]
    );
}

#[test]
fn a_mistake_in_effects_paths_and_places_is_told_with_its_line_and_column() {
    let of_action =
        |fields: &str| format!("prohibitions:\n  - text: never x\n    actions: [{{{fields}}}]\n");
    let many = vec!["a"; 65].join(", ");
    let long = "x".repeat(513);
    let cases = [
        (of_action("effects: [delet]"), 3, 26, "delet"),
        (of_action("effects: []"), 3, 25, "effects names none"),
        (of_action("paths: []"), 3, 23, "paths names none"),
        (
            of_action("paths: [src, ' ']"),
            3,
            29,
            "a path has no characters",
        ),
        (
            of_action(&format!("paths: [{many}]")),
            3,
            23,
            "paths names 65; at most 64",
        ),
        (
            of_action(&format!("paths: [{long}]")),
            3,
            24,
            "a path has 513 bytes; at most 512",
        ),
        (
            of_action("path: [src]"),
            3,
            16,
            "unknown key \"path\"; known here are tool, target, operation, arguments, effects, paths",
        ),
        (
            "places: {root: src}\nobjective: x\n".to_owned(),
            1,
            9,
            "no absolute path",
        ),
        (
            "places: {dir: /x}\nobjective: x\n".to_owned(),
            1,
            10,
            "unknown key \"dir\"; known here are root, home, ignores_case, links",
        ),
        (
            "tools:\n  - {tool: a, effect: [read]}\n".to_owned(),
            2,
            15,
            "unknown key \"effect\"; known here are tool, target, operation, effects",
        ),
    ];
    for (text, line, column, reason) in cases {
        let error = refused(&text);
        assert!(error.contains(reason), "{text}: {error}");
        let place = format!("mission.yaml, line {line}, column {column}: ");
        assert!(error.starts_with(&place), "{text}: {error}");
    }
}

#[test]
fn paths_that_lead_nowhere_and_permissions_that_cover_nothing_are_told() {
    let text = "permissions:\n  - text: go out\n    actions: [{effects: [network], paths: [/tmp]}]\n\
                prohibitions:\n  - text: no keys\n    actions: [{paths: [~/.ssh]}]\n  - text: no sources\n    actions: [{paths: [src]}]\n";
    let notices = parsed(text).notices;
    let told = |line: u32, word: &str| {
        let place = format!("mission.yaml, line {line}: ");
        notices
            .iter()
            .any(|notice| notice.starts_with(&place) && notice.contains(word))
    };
    assert_eq!(notices.len(), 3, "{notices:?}");
    assert!(
        told(5, "places.home") && told(7, "places.root") && told(2, "covers files alone"),
        "{notices:?}"
    );
}
