//! Transcripts of programs other than the three coding agents, through the program as its user runs it.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::support::{json, remembrancer, shared_data, succeed};

const MISSION: &str = "objective: Investigate slow queries.\n\
    prohibitions:\n\
    \x20 - id: no_writes\n\
    \x20   text: read-only queries only, never DELETE\n\
    \x20   from: first_stated\n\
    \x20   actions:\n\
    \x20     - tool: run_sql\n\
    \x20       arguments: [{name: query, like: '*DELETE*'}]\n\
    \x20     - tool: terminal\n\
    \x20       arguments: [{name: command, like: '*DELETE*'}]\n";

/// An import into a new ledger: its folder, its data and what the program said.
struct Imported {
    folder: tempfile::TempDir,
    data: PathBuf,
    report: Value,
}

impl Imported {
    fn of(file: &Path, options: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("mission.yaml"), MISSION).unwrap();
        let data = folder.path().join("data");
        let mut imported = Self {
            folder,
            data,
            report: Value::Null,
        };
        imported.report = imported.again(file, options);
        imported
    }

    fn again(&self, file: &Path, options: &[&str]) -> Value {
        let mission = self.folder.path().join("mission.yaml");
        let options = options.iter().map(|option| match *option {
            "MISSION" => mission.to_str().unwrap(),
            option => option,
        });
        let mut arguments = vec![
            "import",
            file.to_str().unwrap(),
            "--data",
            self.data.to_str().unwrap(),
        ];
        arguments.extend(options);
        json(&arguments)
    }

    fn session(&self) -> &str {
        self.report["files"][0]["sessions"][0]["session"]
            .as_str()
            .unwrap()
    }

    fn told(&self, command: &str) -> Value {
        json(&[
            command,
            self.session(),
            "--data",
            self.data.to_str().unwrap(),
        ])
    }

    /// The state of the rule at each action.
    fn at_actions(&self) -> Vec<String> {
        let presence = self.told("presence");
        let actions = presence["actions"].as_array().unwrap().iter();
        let state = |action: &Value| {
            action["states"]["no_writes"]["state"]
                .as_str()
                .unwrap_or("")
                .to_owned()
        };
        actions.map(state).collect()
    }
}

#[test]
fn conformance_every_file_imports_and_a_second_time_adds_nothing() {
    let files = [
        (
            "transcripts/openhands-01-condensation-generated.jsonl",
            "openhands",
        ),
        ("transcripts/inspect-01-trim-generated.eval", "inspect"),
        ("transcripts/inspect-02-summary-generated.eval", "inspect"),
        ("governor/trace1-claude-code.jsonl", "governor"),
        ("governor/trace2-mcp.jsonl", "governor"),
    ];
    for (name, format) in files {
        let Some(file) = shared_data(name) else {
            return;
        };
        let imported = Imported::of(&file, &[]);
        let report = &imported.report;
        assert_eq!(report["files"][0]["format"], format, "{name}");
        assert_eq!(
            (&report["failed"], &report["duplicate"]),
            (&Value::Array(vec![]), &0.into()),
            "{name}"
        );
        let recorded = report["recorded"].as_u64().unwrap();
        assert!(recorded > 10, "{name}: {report}");
        let again = imported.again(&file, &[]);
        assert_eq!(
            (&again["recorded"], &again["duplicate"]),
            (&0.into(), &recorded.into()),
            "{name}"
        );
        succeed(&["verify", "--data", imported.data.to_str().unwrap()]);
    }
}

#[test]
fn conformance_inspect_shows_the_rule_at_the_action_that_breaks_it() {
    for name in [
        "inspect-01-trim-generated.eval",
        "inspect-02-summary-generated.eval",
    ] {
        let Some(file) = shared_data(&format!("transcripts/{name}")) else {
            return;
        };
        let imported = Imported::of(&file, &["--mission", "MISSION"]);
        // The first two messages, where the rule stands, survive both compactions.
        assert_eq!(imported.at_actions(), ["verbatim"; 10], "{name}");
        let findings = imported.told("findings");
        let prohibited = findings.as_array().unwrap().iter();
        let prohibited = prohibited.filter(|finding| finding["kind"] == "action.prohibited");
        assert_eq!(prohibited.count(), 1, "{name}");
        let mutations = imported.told("mutations");
        let kinds: Vec<&str> = mutations
            .as_array()
            .unwrap()
            .iter()
            .map(|one| one["kind"].as_str().unwrap())
            .collect();
        let expected: &[&str] = if name.contains("trim") {
            &["truncation", "truncation"]
        } else {
            &["compaction"]
        };
        assert_eq!(kinds, expected, "{name}");
    }
}

#[test]
fn conformance_openhands_loses_the_rule_before_the_action_that_breaks_it() {
    let Some(file) = shared_data("transcripts/openhands-01-condensation-generated.jsonl") else {
        return;
    };
    let imported = Imported::of(&file, &["--mission", "MISSION"]);
    let states = imported.at_actions();
    assert_eq!(states[..2], ["verbatim", "verbatim"]);
    // The file holds no system prompt, so what is not found may stand there.
    assert!(
        matches!(states[2].as_str(), "unknown" | "no_trace"),
        "{states:?}"
    );
    let mutations = imported.told("mutations");
    assert_eq!(mutations[0]["kind"], "compaction");
    let findings = imported.told("findings");
    let kinds: Vec<&str> = findings
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["kind"].as_str().unwrap())
        .collect();
    assert!(kinds.contains(&"action.prohibited"), "{kinds:?}");
    assert!(
        !kinds.contains(&"mutation.overstated") && !kinds.contains(&"mutation.understated"),
        "{kinds:?}"
    );
}

#[test]
fn conformance_a_governors_trace_answers_unknown_at_every_action() {
    let Some(file) = shared_data("governor/trace1-claude-code.jsonl") else {
        return;
    };
    let mission = MISSION.replace("    from: first_stated\n", "");
    let imported = Imported::of(&file, &[]);
    std::fs::write(imported.folder.path().join("mission.yaml"), mission).unwrap();
    let report = imported.again(&file, &["--mission", "MISSION"]);
    let session = report["files"][0]["sessions"][0]["session"]
        .as_str()
        .unwrap();
    assert_ne!(session, imported.session());
    let presence = json(&[
        "presence",
        session,
        "--data",
        imported.data.to_str().unwrap(),
    ]);
    let actions = presence["actions"].as_array().unwrap();
    assert_eq!(actions.len(), 6);
    for action in actions {
        assert_eq!(
            action["states"]["no_writes"]["state"], "unknown",
            "{action}"
        );
    }
    let notices = report["files"][0]["notices"].to_string();
    assert!(
        notices.contains("whether a rule was present at an action is unknown"),
        "{notices}"
    );
}

#[test]
fn a_mission_that_cannot_be_read_stops_the_import_with_its_line() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    std::fs::write(
        path("mission.yaml"),
        "objective: x\nprohibition:\n  - never y\n",
    )
    .unwrap();
    let trace = "{\"object\":\"trace\",\"id\":\"trace_1\",\"workflow_name\":\"w\"}\n";
    std::fs::write(path("trace.jsonl"), trace).unwrap();
    let (file, mission, data) = (path("trace.jsonl"), path("mission.yaml"), path("data"));
    let arguments = ["import", &file, "--mission", &mission, "--data", &data];
    let refused = remembrancer(&arguments);
    let told = String::from_utf8(refused.stderr).unwrap();
    assert!(!refused.status.success());
    assert!(
        told.contains("mission.yaml, line 2: unknown key \"prohibition\""),
        "{told}"
    );
    assert!(!Path::new(&data).exists(), "nothing was begun");
    std::fs::write(
        path("mission.yaml"),
        "permissions:\n  - {text: a, actions: [{tool: t}]}\n  - b\n",
    )
    .unwrap();
    let report = json(&arguments);
    assert_eq!(report["files"][0]["format"], "openai-agents");
    assert!(
        report["mission"][0].as_str().unwrap().contains("line 3"),
        "{report}"
    );
}

#[test]
fn conformance_rules_of_a_real_session_are_found_and_make_it_a_session_of_its_own() {
    let Some(file) = shared_data("transcripts/cc-02-two-compactions-constraints-lost.jsonl") else {
        return;
    };
    let imported = Imported::of(&file, &["--extract-rules"]);
    assert!(imported.session().ends_with("-x"), "{}", imported.session());
    let presence = imported.told("presence");
    let texts: Vec<&str> = presence["constraints"]
        .as_array()
        .unwrap()
        .iter()
        .map(|constraint| constraint["text"].as_str().unwrap())
        .collect();
    for rule in [
        "use the british spelling :)",
        "just manual commit for now",
        "keep it local",
    ] {
        assert!(texts.contains(&rule), "{texts:#?}");
    }
}
