//! `POST /v1/events`.

use super::*;

/// Events that must be refused, each with its own problem type.
fn bad_events() -> Vec<(&'static str, String)> {
    let event =
        |id: &str, rest: &str| format!(r#"{{"id":"{id}","session":"s","type":"custom.x",{rest}}}"#);
    let hash = ContentHash::of(b"never stored");
    vec![
        (
            "not-i-json#duplicate-name",
            event("bad1", r#""data":{"a":1,"a":2}"#),
        ),
        (
            "not-i-json#number-out-of-range",
            event("bad2", r#""data":{"n":9007199254740993}"#),
        ),
        (
            "not-i-json#lone-surrogate",
            event("bad3", r#""data":{"t":"\ud800"}"#),
        ),
        (
            "not-i-json#too-deep",
            event(
                "bad4",
                &format!(r#""data":{{"d":{}{}}}"#, "[".repeat(80), "]".repeat(80)),
            ),
        ),
        ("invalid-event", event("bad5", r#""data":{},"extra":1"#)),
        (
            "invalid-event",
            r#"{"id":"bad6","session":"s","type":"tool.called","data":{"turn":"one"}}"#.to_owned(),
        ),
        (
            "unknown-type",
            r#"{"id":"bad7","session":"s","type":"tool.invented","data":{}}"#.to_owned(),
        ),
        (
            "unknown-session",
            r#"{"id":"bad8","session":"never","type":"custom.x","data":{}}"#.to_owned(),
        ),
        (
            "session-already-started",
            r#"{"id":"bad9","session":"s","type":"session.started","data":{}}"#.to_owned(),
        ),
        (
            "event-too-large",
            event(
                "bad10",
                &format!(r#""data":{{"t":"{}"}}"#, "x".repeat(300 * 1024)),
            ),
        ),
        (
            "blob-missing",
            event("bad11", &format!(r#""blobs":["{hash}"],"data":{{}}"#)),
        ),
        (
            "id-conflict",
            r#"{"id":"start","session":"s","type":"custom.x","data":{}}"#.to_owned(),
        ),
        (
            "session-ended",
            r#"{"id":"bad12","session":"over","type":"custom.x","data":{}}"#.to_owned(),
        ),
    ]
}

#[tokio::test]
async fn each_bad_event_has_its_problem_and_leaves_nothing() {
    let api = api_with_sessions().await;
    let mut bad = bad_events();
    bad.push(("not-json", "nonsense".to_owned()));
    for (expected, event) in bad {
        let answer = api.post(event).await;
        assert_eq!(
            answer.problem(),
            expected,
            "{}",
            String::from_utf8_lossy(&answer.bytes)
        );
        assert!((400..500).contains(&answer.status));
        assert_eq!(api.size().await, 3, "{expected} left something");
    }
}

#[tokio::test]
async fn a_bad_event_does_not_keep_the_rest_of_a_batch_out() {
    for media in ["application/json", "application/x-ndjson"] {
        let api = api_with_sessions().await;
        let bad = bad_events();
        let mut events = Vec::new();
        for (number, (_, event)) in bad.iter().enumerate() {
            events.push(note_text("s", &format!("good{number}"), "x"));
            events.push(event.clone());
        }
        let body = match media {
            "application/json" => format!("[{}]", events.join(" ,\n")),
            _ => events.join("\n\n") + "\n",
        };
        let answer = api.post_as(media, body).await;
        assert_eq!(answer.status, 200);
        let results = answer.json();
        let results = results["results"].as_array().expect("results");
        assert_eq!(results.len(), events.len());
        for (pair, (expected, _)) in results.chunks(2).zip(&bad) {
            assert_eq!(pair[0]["status"], "recorded");
            assert_eq!(pair[1]["status"], "rejected");
            assert_eq!(slug(&pair[1]["problem"]), *expected);
        }
        assert_eq!(api.size().await, 3 + bad.len() as u64);
    }
}

#[tokio::test]
async fn a_line_that_is_not_json_is_answered_by_itself_and_a_broken_array_as_a_whole() {
    let api = api_with_sessions().await;
    let lines = format!(
        "{}\nnonsense\n{}",
        note_text("s", "1", "x"),
        note_text("s", "2", "x")
    );
    let results = api
        .post_as("application/x-ndjson; charset=utf-8", lines)
        .await
        .json();
    assert_eq!(results["results"][0]["status"], "recorded");
    assert_eq!(slug(&results["results"][1]["problem"]), "not-json");
    assert_eq!(results["results"][1]["id"], Value::Null);
    assert_eq!(results["results"][2]["index"], 4);
    let answer = api.post(format!("[{},", note_text("s", "3", "x"))).await;
    assert_eq!(
        (answer.status, answer.problem().as_str()),
        (400, "not-json")
    );
    assert_eq!(api.size().await, 5);
    let empty = api.post("[]").await;
    assert_eq!(
        (empty.status, empty.json()),
        (200, json!({ "results": [] }))
    );
}

#[tokio::test]
async fn a_repeated_event_is_a_duplicate_at_its_first_place() {
    let api = api_with_sessions().await;
    let first = api.post(note_text("s", "n", "x")).await;
    assert_eq!(
        (first.status, first.json()["status"].as_str()),
        (201, Some("recorded"))
    );
    let again = api.post(note_text("s", "n", "x")).await;
    assert_eq!(
        (again.status, again.json()["status"].as_str()),
        (200, Some("duplicate"))
    );
    for member in ["id", "index", "sequence", "hash"] {
        assert_eq!(again.json()[member], first.json()[member], "{member}");
    }
    let other = api.post(note_text("s", "n", "y")).await;
    assert_eq!(
        (other.status, other.problem().as_str()),
        (409, "id-conflict")
    );
}

#[tokio::test]
async fn receipts_are_signed_over_what_was_answered() {
    let api = api_with_sessions().await;
    let ledger = &api.test.ledger;
    let body = format!(
        "[{},{},{}]",
        note_text("s", "1", "x"),
        note_text("none", "1", "x"),
        started_text("s")
    );
    let answer = api.post(body).await.json();
    let note = answer["receipt"].as_str().expect("a receipt");
    let lines = receipt::verify(note, ledger.origin(), ledger.public_key()).expect("signed");
    assert_eq!(lines.len(), 2);
    for (line, result) in lines
        .iter()
        .zip([&answer["results"][0], &answer["results"][2]])
    {
        assert_eq!(result["index"], line.index);
        assert_eq!(result["sequence"], line.sequence);
        assert_eq!(result["hash"], line.hash.to_string());
        assert_eq!(line.session.as_str(), "s");
    }
}
