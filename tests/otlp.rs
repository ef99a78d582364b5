//! Traces of agents over OTLP/HTTP: what comes out of recorded ones and of a real agent, and what exporters are answered.

mod unreadable;

use std::process::Command;

use serde_json::{Value, json};

use crate::support::process::{Setup, data_in};
use crate::support::{Server, json, shared_data};

const PROTOBUF: &str = "application/x-protobuf";
const BUDGET: &str = "Budget limit is 100 EUR";

struct Answer {
    status: u16,
    media: String,
    retry_after: Option<String>,
    body: Vec<u8>,
}

impl Answer {
    fn json(&self) -> Value {
        assert_eq!(self.media, "application/json");
        serde_json::from_slice(&self.body).unwrap()
    }
}

fn send(url: &str, key: &str, headers: &[(&str, &str)], body: &[u8]) -> Answer {
    let agent: ureq::Agent = ureq::Agent::config_builder()
        .http_status_as_error(false)
        .max_redirects(0)
        .build()
        .into();
    let mut request = agent
        .post(format!("{url}/v1/traces"))
        .header("authorization", format!("Bearer {key}"));
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let mut response = request.send(body).expect("the server answers");
    let header = |name: &str| {
        let value = response.headers().get(name);
        value.map(|value| value.to_str().unwrap().to_owned())
    };
    Answer {
        status: response.status().as_u16(),
        media: header("content-type").unwrap_or_default(),
        retry_after: header("retry-after"),
        body: response.body_mut().read_to_vec().unwrap(),
    }
}

/// A request of one span in JSON, of a trace of its own.
fn one_span(trace: &str, name: &str) -> Value {
    json!({ "resourceSpans": [{ "scopeSpans": [{ "spans": [{
        "traceId": trace,
        "spanId": "eee19b7ec3c1b174",
        "name": name,
        "startTimeUnixNano": "1796000000000000000",
        "endTimeUnixNano": "1796000001000000000",
        "attributes": [
            { "key": "gen_ai.operation.name", "value": { "stringValue": "chat" } },
            { "key": "gen_ai.conversation.id", "value": { "stringValue": "talk" } },
            { "key": "gen_ai.input.messages", "value": { "stringValue": "[]" } },
        ],
    }] }] }] })
}

const TRACE: &str = "5b8efff798038103d269b633813fc60c";

fn states(presence: &Value, constraint: &str) -> Vec<String> {
    let turns = presence["turns"].as_array().unwrap();
    let states = turns.iter().map(|turn| turn["states"][constraint].as_str());
    states
        .map(|state| state.unwrap_or("none").to_owned())
        .collect()
}

fn entries(server: &Server, session: &str) -> u64 {
    let sessions = json(&["sessions", "--data", server.data.to_str().unwrap()]);
    let mut all = sessions.as_array().unwrap().iter();
    let found = all.find(|one| one["id"] == session);
    found.map_or(0, |session| session["entries"].as_u64().unwrap())
}

#[test]
fn conformance_a_silent_rewrite_takes_the_rule_out_of_calls_3_and_4() {
    let Some(packed) = shared_data("otlp/pydantic-ai-compaction-v5.pb.gz") else {
        return;
    };
    let server = Server::start();
    let write = server.key("write");
    let declared = json!([
        { "id": "start", "session": "sess-0003", "type": "session.started", "data": { "label": "refund" } },
        { "id": "rule", "session": "sess-0003", "type": "constraint.declared",
          "data": { "id": "budget", "kind": "prohibition", "text": BUDGET } },
    ]);
    assert_eq!(server.post(&write, &declared).status, 200);
    let packed = std::fs::read(packed).unwrap();
    let headers = [("content-type", PROTOBUF), ("content-encoding", "gzip")];
    let answer = send(&server.url, &write, &headers, &packed);
    assert_eq!((answer.status, answer.media.as_str()), (200, PROTOBUF));
    assert_eq!(answer.body, b"", "nothing was rejected");

    let data = server.data.to_str().unwrap();
    let presence = json(&["presence", "sess-0003", "--data", data]);
    assert_eq!(
        states(&presence, "budget"),
        ["verbatim", "verbatim", "no_trace", "no_trace"]
    );
    let actions = presence["actions"].as_array().unwrap();
    let at_actions: Vec<(u64, &str)> = actions
        .iter()
        .map(|action| {
            let state = action["states"]["budget"]["state"].as_str().unwrap();
            (action["turn"].as_u64().unwrap(), state)
        })
        .collect();
    assert_eq!(
        at_actions,
        [(1, "verbatim"), (2, "verbatim"), (3, "no_trace")]
    );
    assert_eq!(actions[2]["states"]["budget"]["left_with"]["turn"], 3);
    let mutations = json(&["mutations", "sess-0003", "--data", data]);
    let left: Vec<(&Value, &Value)> = mutations
        .as_array()
        .unwrap()
        .iter()
        .map(|mutation| (&mutation["turn"], &mutation["left"]))
        .collect();
    // At 4 the history is rewritten once more: the rule is not there to leave.
    let expected = [(json!(3), json!(["budget"])), (json!(4), json!([]))];
    assert_eq!(left, expected.each_ref().map(|(turn, left)| (turn, left)));
    let findings = json(&["findings", "sess-0003", "--data", data]);
    let undeclared = findings.as_array().unwrap().iter();
    let undeclared: Vec<&Value> = undeclared
        .filter(|finding| finding["kind"] == "mutation.undeclared")
        .map(|finding| &finding["turn"])
        .collect();
    assert_eq!(undeclared, [&json!(3), &json!(4)]);

    // The same again, packed or not, and as JSON: nothing is added.
    let before = entries(&server, "sess-0003");
    let plain = shared_data("otlp/pydantic-ai-compaction-v5.pb").unwrap();
    let text = shared_data("otlp/pydantic-ai-compaction-v5.json").unwrap();
    let text: Value = serde_json::from_slice(&std::fs::read(text).unwrap()).unwrap();
    let text = text["body"].to_string();
    for (media, body) in [
        (PROTOBUF, std::fs::read(plain).unwrap()),
        ("application/json", text.into_bytes()),
    ] {
        let again = send(&server.url, &write, &[("content-type", media)], &body);
        assert_eq!((again.status, again.media.as_str()), (200, media));
        assert_eq!(entries(&server, "sess-0003"), before, "{media}");
    }
}

#[test]
fn conformance_a_run_with_two_tools_has_its_calls_and_results() {
    let Some(body) = shared_data("otlp/pydantic-ai-testmodel-v5.pb") else {
        return;
    };
    let server = Server::start();
    let (write, read) = (server.key("write"), server.key("read"));
    let body = std::fs::read(body).unwrap();
    let headers = [("content-type", PROTOBUF)];
    assert_eq!(send(&server.url, &write, &headers, &body).status, 200);
    let sessions = server.get(&read, "/v1/sessions");
    let sessions = sessions["items"].as_array().unwrap();
    let found = sessions.iter().find(|session| session["turns"] == 2);
    let id = found.expect("a session of two requests")["id"]
        .as_str()
        .unwrap();
    let data = server.data.to_str().unwrap();
    let presence = json(&["presence", id, "--data", data]);
    let tools: Vec<&str> = presence["actions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|action| action["tool"].as_str().unwrap())
        .collect();
    assert_eq!(tools.len(), 2, "{tools:?}");
    let findings = json(&["findings", id, "--data", data]);
    for kind in ["call.unreturned", "result.orphan", "mutation.undeclared"] {
        assert!(
            findings
                .as_array()
                .unwrap()
                .iter()
                .all(|finding| finding["kind"] != kind),
            "{findings}"
        );
    }
}

#[test]
fn a_real_agent_with_its_own_instrumentation_is_recorded() {
    let python = std::env::var("REMEMBRANCER_PYTHON").unwrap_or_else(|_| "python3".to_owned());
    let needed = "import pydantic_ai, opentelemetry.sdk, opentelemetry.exporter.otlp.proto.http";
    let has_agent = Command::new(&python)
        .args(["-c", needed])
        .output()
        .is_ok_and(|done| done.status.success());
    if !has_agent {
        assert!(
            std::env::var_os("CI").is_none(),
            "{python} has no pydantic-ai: .ci/run installs it"
        );
        eprintln!("skipped: {python} has no pydantic-ai with an OTLP exporter");
        return;
    }
    let server = Server::start();
    let key = server.key("write");
    let script = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/tests/independent/otlp_agent.py"
    );
    let run = Command::new(&python)
        .args([script, "refund-17"])
        .env("OTEL_EXPORTER_OTLP_ENDPOINT", &server.url)
        .env("OTEL_EXPORTER_OTLP_COMPRESSION", "gzip")
        .env("OTEL_EXPORTER_OTLP_HEADERS", format!("authorization=Bearer%20{key}"))
        .env(
            "OTEL_RESOURCE_ATTRIBUTES",
            "service.name=refunds,remembrancer.prohibition.budget=The%20budget%20limit%20is%20100%20EUR.",
        )
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&run.stderr);
    assert!(run.status.success() && !said.contains("Failed"), "{said}");

    let data = server.data.to_str().unwrap();
    let presence = json(&["presence", "refund-17", "--data", data]);
    let gone = ["verbatim", "verbatim", "no_trace", "no_trace", "no_trace"];
    assert_eq!(states(&presence, "budget"), gone);
    let actions = presence["actions"].as_array().unwrap();
    let calls: Vec<(&str, u64, &str)> = actions
        .iter()
        .map(|action| {
            let state = action["states"]["budget"]["state"].as_str().unwrap();
            let turn = action["turn"].as_u64().unwrap();
            (action["tool"].as_str().unwrap(), turn, state)
        })
        .collect();
    assert_eq!(
        calls,
        [
            ("lookup_order", 1, "verbatim"),
            ("lookup_order", 2, "verbatim"),
            ("lookup_order", 3, "no_trace"),
            ("ask_auditor", 4, "no_trace"),
        ]
    );
    let read = server.key("read");
    let sessions = server.get(&read, "/v1/sessions");
    let sessions = sessions["items"].as_array().unwrap();
    let child = sessions
        .iter()
        .find(|session| session["agent"] == "auditor");
    let child = child.expect("the auditor has a session of its own");
    assert_eq!(child["parent"], "refund-17", "{child}");
    let main = sessions.iter().find(|session| session["id"] == "refund-17");
    assert_eq!(main.expect("the run's session")["agent"], "refunds");
}

#[test]
fn exporters_are_answered_so_that_nothing_is_lost_in_silence() {
    let server = Server::with(&["--limit", "batch_bytes_max=65536"]);
    let write = server.key("write");
    let as_json = [("content-type", "application/json")];
    let as_protobuf = [("content-type", PROTOBUF)];
    let refused = send(&server.url, "rmb_write_default_x_y", &as_json, b"{}");
    assert_eq!((refused.status, &refused.json()["code"]), (401, &json!(16)));
    let forbidden = send(&server.url, &server.key("read"), &as_protobuf, b"");
    assert_eq!(
        (forbidden.status, forbidden.media.as_str()),
        (403, PROTOBUF)
    );
    let large = send(&server.url, &write, &as_json, &vec![b' '; 65_537]);
    assert_eq!((large.status, &large.json()["code"]), (413, &json!(3)));
    let other = send(&server.url, &write, &[("content-type", "text/plain")], b"x");
    assert_eq!((other.status, &other.json()["code"]), (415, &json!(3)));
    let packed = [("content-type", PROTOBUF), ("content-encoding", "br")];
    assert_eq!(send(&server.url, &write, &packed, b"").status, 415);
    for (headers, body) in [
        (&as_json, &b"{\"resourceSpans\":7}"[..]),
        (&as_protobuf, b"\x0a\xff"),
    ] {
        let broken = send(&server.url, &write, headers, body);
        assert_eq!(broken.status, 400);
        assert!(!broken.body.is_empty(), "it says why");
    }
    let nothing = send(&server.url, &write, &as_json, b"{}");
    assert_eq!((nothing.status, nothing.json()), (200, json!({})));

    let mut mixed = one_span(TRACE, "good");
    let bad = one_span("5b8e", "<b>bad</b>");
    let more = bad["resourceSpans"][0].clone();
    mixed["resourceSpans"].as_array_mut().unwrap().push(more);
    let partial = send(&server.url, &write, &as_json, mixed.to_string().as_bytes());
    assert_eq!(partial.status, 200);
    let told = partial.json()["partialSuccess"].clone();
    assert_eq!(told["rejectedSpans"], "1");
    assert!(
        told["errorMessage"].as_str().unwrap().contains("/rejected"),
        "{told}"
    );
    assert_eq!(entries(&server, "talk"), 3, "start, context, answer");
    let page = rejected_page(&server);
    assert!(
        page.contains("&#60;b&#62;bad") || page.contains("&lt;b&gt;bad"),
        "{page}"
    );
    assert!(page.contains("its trace id has 2 bytes"), "{page}");
}

/// The page of rejected spans, as somebody who is signed in sees it.
fn rejected_page(server: &Server) -> String {
    server.page(&server.key("read"), "/rejected")
}

#[test]
fn a_key_that_sends_too_much_and_a_full_disk_are_told_to_come_back() {
    let server = Server::with(&[
        "--limit",
        "key_requests_per_second_max=1",
        "--limit",
        "key_requests_burst_max=1",
    ]);
    let write = server.key("write");
    let as_json = [("content-type", "application/json")];
    assert_eq!(send(&server.url, &write, &as_json, b"{}").status, 200);
    let rated = send(&server.url, &write, &as_json, b"{}");
    assert_eq!(
        (rated.status, rated.retry_after.as_deref()),
        (503, Some("1"))
    );
    assert_eq!(rated.json()["code"], 14);

    let folder = tempfile::tempdir().unwrap();
    // The signal that comes with the error is ignored, as a service manager's limit on file sizes would have it.
    let setup = Setup::in_folder(&data_in(&folder)).wrapped([
        "sh",
        "-c",
        r#"trap "" XFSZ; exec "$0" "$@""#,
    ]);
    let process = setup.start();
    let write = setup.key("write");
    let limit = |bytes: &str| {
        let id = process.id().to_string();
        let limit = format!("--fsize={bytes}:unlimited");
        let done = Command::new("prlimit")
            .args(["--pid", &id, &limit])
            .status();
        assert!(done.is_ok_and(|status| status.success()));
    };
    let spans = one_span(TRACE, "chat").to_string();
    limit("8192");
    let full = send(&process.url, &write, &as_json, spans.as_bytes());
    assert_eq!(full.status, 503, "{}", String::from_utf8_lossy(&full.body));
    assert!(full.retry_after.is_some());
    limit("unlimited");
    let begun = std::time::Instant::now();
    while send(&process.url, &write, &as_json, spans.as_bytes()).status != 200 {
        assert!(begun.elapsed().as_secs() < 60, "it goes on by itself");
        std::thread::sleep(std::time::Duration::from_millis(100));
    }
    drop(process);
    assert!(setup.verify() >= 3);
}
