//! The recording proxy between the real client libraries `anthropic` and `openai` and an API that a script plays on loopback.

mod rig;

use std::time::Duration;

use serde_json::{Value, json};

use rig::{Rig, Upstream};

use crate::support::{Server, json as run_json};

const APIS: [&str; 3] = ["anthropic", "chat", "responses"];
/// The keys that the agents present: nothing of them may be kept anywhere.
const SECRET: &str = "sk-secret-of-the-agent";

/// Types of a session's events, in their order.
fn kinds(entries: &[Value]) -> Vec<&str> {
    entries
        .iter()
        .map(|entry| entry["type"].as_str().unwrap())
        .collect()
}

fn of<'a>(entries: &'a [Value], kind: &'a str) -> impl Iterator<Item = &'a Value> {
    entries
        .iter()
        .filter(move |entry| entry["type"] == kind)
        .map(|entry| &entry["data"])
}

#[test]
fn parallel_calls_and_their_results_are_recorded_as_actions_with_their_contexts() {
    let Some(rig) = Rig::start(&[]) else { return };
    for api in APIS {
        for stream in [false, true] {
            let direct = rig.upstream.agent("tools", api, stream, None);
            let seen = rig.agent("tools", api, stream);
            assert_eq!(
                seen, direct,
                "the agent sees what it sees without the proxy"
            );
            let entries = rig.new_session();
            let expected = [
                "session.started",
                "context.captured",
                "model.responded",
                "tool.called",
                "tool.called",
                "tool.returned",
                "tool.returned",
                "context.captured",
                "model.responded",
            ];
            assert_eq!(kinds(&entries)[..9], expected, "{api} {stream}");
            let session = entries[0]["session"].as_str().unwrap().to_owned();
            let responded: Vec<&Value> = of(&entries, "model.responded").collect();
            assert_eq!(responded[0]["text"], json!(["Both shelves are damp."]));
            assert_eq!(responded[0]["calls"].as_array().map(Vec::len), Some(2));
            let usage = &responded[0]["usage"];
            assert_eq!(
                (
                    &usage["input_tokens"],
                    &usage["output_tokens"],
                    &usage["cache_read_tokens"]
                ),
                (&json!(123), &json!(9), &json!(100))
            );
            let calls: Vec<(&Value, &Value, &Value)> = of(&entries, "tool.called")
                .map(|call| (&call["call_id"], &call["arguments"], &call["turn"]))
                .collect();
            assert_eq!(
                calls,
                [
                    (&json!("call_a"), &json!({ "shelf": 7 }), &json!(1)),
                    (&json!("call_b"), &json!({ "shelf": 8 }), &json!(1)),
                ]
            );
            let results: Vec<&Value> = of(&entries, "tool.returned")
                .map(|returned| &returned["result"])
                .collect();
            assert_eq!(
                results,
                [
                    &json!("shelf 7: damp at the spine"),
                    &json!("shelf 8: damp at the spine")
                ]
            );
            for context in of(&entries, "context.captured") {
                assert_eq!(
                    (&context["witness"], &context["incomplete"]),
                    (&json!("exact"), &Value::Null),
                    "{api}"
                );
            }
            // The auditor rebuilds both contexts: the second holds the first, the answer and the results.
            let timeline = rig
                .server
                .get(&rig.read, &format!("/v1/sessions/{session}/presence"));
            let witnesses: Vec<&Value> = timeline["turns"]
                .as_array()
                .unwrap()
                .iter()
                .map(|turn| &turn["witness"])
                .collect();
            assert_eq!(witnesses, ["exact", "exact"], "{timeline}");
        }
    }
    let mutated = rig.all_entries();
    let edits: Vec<&Value> = of(&mutated, "context.mutated").collect();
    assert_eq!(
        edits.len(),
        2,
        "what the provider cleared, once for each run of its own API"
    );
    assert_eq!(
        (&edits[0]["kind"], &edits[0]["counted"]["uncompacted"]),
        (&json!("server_edit"), &json!(173))
    );
    for told in of(&mutated, "custom.server_edit") {
        let edit = json!({ "type": "clear_tool_uses_20250919", "cleared_tool_uses": 1, "cleared_input_tokens": 50 });
        assert_eq!(told["edit"], edit, "in the provider's words");
    }
}

#[test]
fn a_constraint_is_found_in_the_context_that_the_proxy_took() {
    let Some(rig) = Rig::start(&[]) else { return };
    rig.server.post(&rig.write, &json!([
        { "id": "1", "session": "archive-run-7", "type": "session.started", "data": {} },
        { "id": "2", "session": "archive-run-7", "type": "constraint.declared",
          "data": { "id": "no-contact", "kind": "prohibition", "text": "Never contact customers" } },
    ]));
    for api in APIS {
        assert_eq!(
            rig.agent("named", api, false)["text"],
            "Both shelves are damp."
        );
    }
    let entries = rig.entries_when("archive-run-7", |entries| {
        of(entries, "model.responded").count() == 3
    });
    assert!(
        of(&entries, "custom.gap").next().is_none(),
        "that another program began the session is no loss"
    );
    let timeline = rig
        .server
        .get(&rig.read, "/v1/sessions/archive-run-7/presence");
    let states: Vec<&Value> = timeline["turns"]
        .as_array()
        .unwrap()
        .iter()
        .map(|turn| &turn["states"]["no-contact"])
        .collect();
    assert_eq!(states, ["verbatim"; 3], "{timeline}");
    assert_eq!(entries.last().unwrap()["agent"], "archivist");
}

#[test]
fn conversations_under_a_name_of_the_library_are_one_group() {
    let Some(rig) = Rig::start(&[]) else { return };
    for api in APIS {
        for stream in [false, true] {
            let name = format!("run-{api}-{stream}");
            assert_eq!(rig.agent("grouped", api, stream)["name"], name.as_str());
            let of_main =
                rig.entries_when(&name, |entries| of(entries, "model.responded").count() == 2);
            let turns: Vec<&Value> = of(&of_main, "context.captured")
                .map(|context| &context["turn"])
                .collect();
            assert_eq!(turns, [1, 2], "{api}");
            let labels = &of(&of_main, "session.started").next().unwrap()["labels"];
            let field = labels["session_named_by"].as_str().unwrap();
            assert!(field.starts_with("metadata"), "{labels}");
            // Another conversation beside it.
            let beside = rig.entries_when(&format!("{name}.2"), |entries| {
                of(entries, "model.responded").count() == 1
            });
            let started = of(&beside, "session.started").next().unwrap();
            assert_eq!(started["parent"]["session"], name.as_str());
        }
    }
    rig.holds_no_secret();
}

#[test]
fn a_mission_is_declared_in_every_session_and_rules_are_found_in_what_the_user_wrote() {
    let folder = tempfile::tempdir().unwrap();
    let mission = folder.path().join("mission.yaml");
    let text = "version: 1\nobjective: Look after the archive.\nprohibitions:\n  - id: no-contact\n    text: Never contact customers\n";
    std::fs::write(&mission, text).unwrap();
    let more = ["--mission", mission.to_str().unwrap(), "--extract-rules"];
    let Some(rig) = Rig::start(&more) else { return };
    rig.agent("named", "anthropic", false);
    let entries = rig.entries_when("archive-run-7", |entries| {
        of(entries, "model.responded").next().is_some()
    });
    let begun = ["session.started", "intent.declared", "constraint.declared"];
    assert!(kinds(&entries).starts_with(&begun), "{:?}", kinds(&entries));
    let declared = of(&entries, "constraint.declared").next().unwrap();
    let at = declared["stated_by"]["source"].as_str().unwrap();
    assert!(at.ends_with("mission.yaml, line 4"), "{at}");
    let timeline = rig
        .server
        .get(&rig.read, "/v1/sessions/archive-run-7/presence");
    assert_eq!(
        timeline["turns"][0]["states"]["no-contact"], "verbatim",
        "{timeline}"
    );

    std::fs::write(&mission, "version: 1\nprohibition: []\n").unwrap();
    let refused = crate::support::remembrancer(&[
        "proxy",
        "--upstream",
        "https://api.example",
        "--data",
        folder.path().to_str().unwrap(),
        "--mission",
        mission.to_str().unwrap(),
    ]);
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert_eq!(refused.status.code(), Some(2));
    assert!(said.contains("mission.yaml, line 2"), "{said}");
}

#[test]
fn errors_pass_with_status_body_and_headers() {
    let Some(rig) = Rig::start(&[]) else { return };
    for api in APIS {
        let direct = rig.upstream.agent("errors", api, false, None);
        assert_eq!(direct["told"].as_array().map(Vec::len), Some(5));
        assert_eq!(rig.agent("errors", api, false), direct);
    }
    let entries = rig.entries_until(|entries| of(entries, "custom.model_failed").count() == 15);
    let statuses: Vec<&Value> = of(&entries, "custom.model_failed")
        .map(|failed| &failed["status"])
        .collect();
    for status in [400, 401, 429, 500, 529] {
        assert_eq!(
            statuses
                .iter()
                .filter(|found| ***found == json!(status))
                .count(),
            3
        );
    }
    rig.holds_no_secret();
}

#[test]
fn a_context_of_twenty_megabytes_passes_unchanged_and_is_recorded_whole() {
    let Some(rig) = Rig::start(&[]) else { return };
    for api in ["anthropic", "responses"] {
        rig.upstream.agent("large", api, false, None);
        rig.agent("large", api, true);
        let observed = rig.upstream.observed();
        let requests = observed["requests"].as_array().unwrap();
        let bytes: Vec<u64> = requests
            .iter()
            .rev()
            .take(2)
            .map(|request| request["bytes"].as_u64().unwrap())
            .collect();
        assert!(bytes.iter().all(|bytes| *bytes > 20_000_000), "{bytes:?}");
        let entries = rig.new_session();
        let text = "x".repeat(1000) + &"é".repeat(10_000_000);
        let hash = blake3::hash(text.as_bytes()).to_hex().to_string();
        let parts = of(&entries, "context.captured").next().unwrap()["parts"]
            .as_array()
            .unwrap();
        assert!(
            parts.iter().any(|part| part["hash"] == hash.as_str()),
            "{api}"
        );
        let answer = rig.server.send(
            "GET",
            &format!("/v1/blobs/{hash}"),
            Some(&rig.read),
            "application/json",
            b"",
        );
        assert_eq!((answer.status, answer.body.len()), (200, text.len()));
    }
}

#[test]
fn a_provider_that_breaks_off_and_an_agent_that_leaves_are_recorded_as_that() {
    let Some(rig) = Rig::start(&[]) else { return };
    for api in APIS {
        let direct = rig.upstream.agent("dies", api, true, None);
        assert!(
            direct["error"].is_string() && direct["pieces"].as_u64() > Some(0),
            "{direct}"
        );
        let seen = rig.agent("dies", api, true);
        assert_eq!(
            (&seen["pieces"], seen["error"].is_string()),
            (&direct["pieces"], true),
            "every piece that came is passed"
        );
        let before = rig.upstream.observed()["cancelled"].as_u64().unwrap();
        assert_eq!(rig.agent("leaves", api, true)["pieces"], 5);
        rig.upstream
            .observed_when(|observed| observed["cancelled"].as_u64().unwrap() > before);
    }
    let entries = rig.entries_until(|entries| of(entries, "custom.model_failed").count() == 6);
    let endings: Vec<&Value> = of(&entries, "custom.model_failed")
        .map(|failed| &failed["ending"])
        .collect();
    assert_eq!(
        endings
            .iter()
            .filter(|ending| ***ending == json!("upstream_broke"))
            .count(),
        3,
        "{endings:?}"
    );
    assert_eq!(
        endings
            .iter()
            .filter(|ending| ***ending == json!("client_left"))
            .count(),
        3,
        "{endings:?}"
    );
    assert!(of(&entries, "model.responded").all(|responded| responded["stop_reason"].is_string()));
}

#[test]
fn a_compaction_item_is_recorded_as_what_nobody_here_can_read() {
    let Some(rig) = Rig::start(&[]) else { return };
    let seen = rig.agent("compacts", "responses", false);
    assert_eq!(seen["first"], json!(["compaction", "message"]));
    let entries = rig.entries_until(|entries| of(entries, "model.responded").count() == 2);
    let mutated: Vec<&Value> = of(&entries, "context.mutated").collect();
    assert_eq!(mutated.len(), 1);
    assert_eq!(
        (
            &mutated[0]["turn"],
            &mutated[0]["kind"],
            &mutated[0]["trigger"]["cause"]
        ),
        (&json!(2), &json!("compaction"), &json!("provider"))
    );
    let contexts: Vec<&Value> = of(&entries, "context.captured").collect();
    let hash = blake3::hash(b"opaque bytes").to_hex().to_string();
    let opaque = contexts[1]["parts"]
        .as_array()
        .unwrap()
        .iter()
        .find(|part| part["encrypted"] == true);
    assert_eq!(opaque.map(|part| &part["hash"]), Some(&json!(hash)));
}

#[test]
fn nothing_is_lost_while_the_recorder_is_down_and_the_agent_does_not_notice() {
    let Some(upstream) = Upstream::start() else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let server = Server::start_on(&data);
    let (key, address) = (
        server.key("write"),
        server.url.trim_start_matches("http://").to_owned(),
    );
    drop(server);
    let spool = folder.path().join("spool");
    let mut proxy = rig::proxy(&upstream.url, &format!("http://{address}"), &key, &spool);
    for api in APIS {
        let seen = upstream.agent("tools", api, true, Some(&proxy.url));
        assert_eq!(seen, upstream.agent("tools", api, true, None));
    }
    // Even a proxy that is killed has kept what passed; another one sends it.
    proxy.kill();
    drop(proxy);
    let proxy = rig::proxy(&upstream.url, &format!("http://{address}"), &key, &spool);
    let seen = upstream.agent("tools", "chat", false, Some(&proxy.url));
    assert_eq!(seen["final"], "Both shelves are damp.");
    let serving = rig::serve_at(&address, &data);
    let sessions = || run_json(&["sessions", "--data", data.to_str().unwrap()]);
    rig::eventually("four sessions arrive", || {
        let found = sessions();
        let found: Vec<&Value> = found
            .as_array()
            .unwrap()
            .iter()
            .filter(|session| session["id"] != crate::support::ADMIN_SESSION)
            .collect();
        found.len() == 4
            && found
                .iter()
                .all(|session| session["entries"].as_u64() >= Some(9))
    });
    let status = proxy.stop(Duration::from_secs(30));
    assert!(status.success(), "{status:?}");
    serving.stop_and_verify(&data);
    rig::holds_no_secret(&[folder.path()]);
}

#[test]
fn a_proxy_writes_into_a_data_folder_without_a_recorder() {
    let Some(upstream) = Upstream::start() else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let spool = folder.path().join("spool");
    let proxy = rig::proxy_into(&upstream.url, &data, &spool);
    upstream.agent("tools", "anthropic", true, Some(&proxy.url));
    let status = proxy.stop(Duration::from_secs(30));
    assert!(status.success(), "{status:?}");
    let sessions = run_json(&["sessions", "--data", data.to_str().unwrap()]);
    assert_eq!(sessions.as_array().unwrap().len(), 1);
    assert!(sessions[0]["entries"].as_u64() >= Some(9), "{sessions}");
    rig::holds_no_secret(&[folder.path()]);
}

#[test]
fn what_is_missing_is_said_with_the_next_step() {
    let said = |arguments: &[&str]| {
        let output = crate::support::remembrancer(&[&["proxy"], arguments].concat());
        assert_eq!(output.status.code(), Some(2));
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    assert!(said(&["--upstream", "https://api.example"]).contains("--recorder"));
    assert!(
        said(&[
            "--upstream",
            "https://api.example",
            "--recorder",
            "http://127.0.0.1:1"
        ])
        .contains("--key")
    );
    let folder = tempfile::tempdir().unwrap();
    let spool = folder.path().to_str().unwrap();
    let bad = said(&[
        "--upstream",
        "api.example",
        "--recorder",
        "http://127.0.0.1:1",
        "--key",
        "k",
        "--spool",
        spool,
    ]);
    assert!(bad.contains("such as https://api.anthropic.com"), "{bad}");
}
