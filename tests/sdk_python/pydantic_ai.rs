//! An agent of pydantic-ai: its history is rewritten silently, and the record shows what each request held.

use serde_json::{Value, json};

use super::contexts::Reader;
use super::{python_with, sdk};
use crate::support::Server;

#[test]
fn a_rewritten_history_is_seen_at_the_model_call() {
    let Some(mut python) = python_with("httpx, blake3, pydantic_ai") else {
        return;
    };
    let server = Server::start();
    let spool = tempfile::tempdir().expect("a temporary folder can be made");
    let ran = python
        .arg(sdk().join("tests/end_to_end/pydantic_agent.py"))
        .args([&server.url, &server.key("write")])
        .arg(spool.path())
        .output()
        .expect("Python can be started");
    assert_eq!(
        String::from_utf8_lossy(&ran.stdout),
        "Bought.\nTrue\n",
        "{}",
        String::from_utf8_lossy(&ran.stderr)
    );
    let key = server.key("read");
    let listed = server.get(&key, "/v1/sessions");
    let of_agent = |name: &str| {
        let items = listed["items"].as_array().unwrap().iter();
        let mut found = items.filter(|item| item["agent"] == name);
        let session = found
            .next()
            .unwrap_or_else(|| panic!("no session of {name}"));
        session["id"].as_str().unwrap().to_owned()
    };
    let (buyer, helper) = (of_agent("buyer"), of_agent("helper"));

    let presence = server.get(&key, &format!("/v1/sessions/{buyer}/presence"));
    let states: Vec<(&Value, &Value)> = presence["turns"]
        .as_array()
        .unwrap()
        .iter()
        .map(|turn| (&turn["states"]["budget"], &turn["witness"]))
        .collect();
    let exact = json!("exact");
    assert_eq!(
        states,
        [
            (&json!("verbatim"), &exact),
            (&json!("verbatim"), &exact),
            (&json!("no_trace"), &exact),
            (&json!("no_trace"), &exact),
        ]
    );
    let actions: Vec<(u64, &str)> = presence["actions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|action| {
            (
                action["turn"].as_u64().unwrap(),
                action["tool"].as_str().unwrap(),
            )
        })
        .collect();
    assert_eq!(actions, [(1, "offer"), (2, "ask_helper"), (3, "offer")]);

    let reader = Reader {
        url: &server.url,
        key: &key,
    };
    let started = &reader.entries(&helper)[0]["data"];
    assert_eq!(
        started["parent"],
        json!({"session": buyer, "call_id": "c2"})
    );
    let contexts = reader.contexts(&reader.entries(&buyer));
    let texts: Vec<&str> = contexts[&4]
        .iter()
        .filter(|(kind, _)| kind != "tool_schema")
        .map(|(_, text)| text.as_str())
        .collect();
    assert_eq!(
        texts,
        [
            "Summary: paper is to be bought.",
            "offer {\"number\":1}",
            "offer 1: 40 EUR",
            "ask_helper {\"number\":2}",
            "Paper is cheap.",
            "offer {\"number\":3}",
            "offer 3: 40 EUR",
        ]
    );
    let mutations = server.get(&key, &format!("/v1/sessions/{buyer}/mutations"));
    assert_eq!(mutations.as_array().unwrap().len(), 1, "{mutations}");
}
