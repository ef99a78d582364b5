//! What is handed out.

use super::*;

#[tokio::test]
async fn lists_page_and_names_are_resolved() {
    let api = TestApi::new().await;
    for number in 0..5 {
        api.post(started_text(&format!("s{number}"))).await;
    }
    let first = api.get("/v1/sessions?limit=3").await.json();
    assert_eq!(first["items"].as_array().map(Vec::len), Some(3));
    assert_eq!(first["items"][0]["id"], "s4");
    let next = first["next"].as_str().expect("more");
    let second = api
        .get(&format!("/v1/sessions?limit=3&after={next}"))
        .await
        .json();
    assert_eq!(
        (second["items"][1]["id"].as_str(), &second["next"]),
        (Some("s0"), &Value::Null)
    );
    for uri in [
        "/v1/sessions?limit=0",
        "/v1/sessions?limit=1001",
        "/v1/sessions?after=zzz",
        "/v1/sessions?limit=x",
        "/v1/sessions?sort=up",
    ] {
        assert_eq!(api.get(uri).await.problem(), "invalid-parameter", "{uri}");
    }
    assert_eq!(
        api.get("/v1/sessions/label%20of%20s2").await.json()["id"],
        "s2"
    );
    assert_eq!(api.get("/v1/sessions/nobody").await.problem(), "not-found");
    assert_eq!(api.get("/v1/nothing").await.problem(), "not-found");
    let again =
        r#"{"id":"start","session":"s9","type":"session.started","data":{"label":"label of s2"}}"#;
    api.post(again).await;
    assert_eq!(
        api.get("/v1/sessions/label%20of%20s2").await.problem(),
        "ambiguous-session"
    );
    let request = HttpRequest::delete("/v1/sessions")
        .header("authorization", format!("Bearer {}", api.write))
        .body(Body::empty())
        .expect("valid");
    assert_eq!(api.send(request).await.problem(), "method-not-allowed");
}

#[tokio::test]
async fn entries_are_handed_out_byte_for_byte_and_prove_themselves() {
    let api = api_with_sessions().await;
    api.post(r#"{"id":"n","session":"s","type":"custom.x","data":{"b" : 1.0,  "a":[]}}"#)
        .await;
    let answer = api.get("/v1/sessions/s/entries").await;
    let text = String::from_utf8(answer.bytes.clone()).expect("UTF-8");
    assert!(text.contains(r#""data":{"b" : 1.0,  "a":[]}"#), "{text}");
    let stored = api
        .test
        .ledger
        .reader()
        .entries_from(3, 1)
        .await
        .expect("reads")
        .remove(0);
    let bytes = std::str::from_utf8(&stored.bytes).expect("UTF-8");
    assert!(text.contains(&format!(r#""entry":{bytes}"#)), "{text}");
    assert_eq!(
        api.get("/v1/entries/3").await.json()["hash"],
        stored.hash.to_string()
    );
    assert_eq!(api.get("/v1/entries/4").await.status, 404);
    assert_eq!(api.get("/v1/entries/4").await.problem(), "not-found");

    let note = String::from_utf8(api.get("/v1/checkpoint").await.bytes).expect("UTF-8");
    let key = api.test.ledger.public_key();
    let checkpoint =
        remembrancer_schema::checkpoint::Checkpoint::verify(&note, key).expect("signed");
    let hashes = |answer: &Value| -> Vec<TreeHash> {
        serde_json::from_value(answer["proof"].clone()).expect("hashes")
    };
    let proof = api.get("/v1/proofs/inclusion?index=3&size=4").await.json();
    let leaf = remembrancer_schema::merkle::leaf_hash(&stored.bytes);
    let verified = remembrancer_schema::merkle::verify_inclusion(
        &leaf,
        3,
        checkpoint.size,
        &hashes(&proof),
        &checkpoint.root,
    );
    assert_eq!(verified, Ok(()));
    let proof = api.get("/v1/proofs/consistency?old=3&new=4").await.json();
    let old = api.test.ledger.reader().root(3).await.expect("known");
    let verified = remembrancer_schema::merkle::verify_consistency(
        3,
        4,
        &old,
        &checkpoint.root,
        &hashes(&proof),
    );
    assert_eq!(verified, Ok(()));
    assert_eq!(
        api.get("/v1/proofs/inclusion?index=4&size=4")
            .await
            .problem(),
        "invalid-parameter"
    );
    assert_eq!(
        api.get("/v1/proofs/consistency?old=1&new=99")
            .await
            .problem(),
        "invalid-parameter"
    );
    assert_eq!(
        api.get("/v1/proofs/inclusion?index=x").await.problem(),
        "invalid-parameter"
    );
}

#[tokio::test]
async fn the_analysis_of_a_session_is_served_and_tagged_by_its_head() {
    let api = api_with_sessions().await;
    for view in ["presence", "mutations", "findings"] {
        let answer = api.get(&format!("/v1/sessions/s/{view}")).await;
        assert_eq!(answer.status, 200);
        assert!(answer.headers.contains_key(header::ETAG));
    }
    let presence = api.get("/v1/sessions/s/presence").await.json();
    assert_eq!(presence["session"], "s");
    assert!(
        presence["summary"]["longest_gap_turns"].is_u64(),
        "{presence}"
    );
    let before = api.get("/v1/sessions/s/findings").await.headers[header::ETAG].clone();
    api.post(note_text("s", "more", "x")).await;
    let after = api.get("/v1/sessions/s/findings").await.headers[header::ETAG].clone();
    assert_ne!(before, after);
    assert_eq!(
        api.get("/v1/sessions/s/bundle").await.problem(),
        "not-found"
    );
}

#[tokio::test]
async fn the_price_of_a_pair_is_served_and_tagged_by_both_heads() {
    let api = api_with_sessions().await;
    for (session, compacted) in [("governed", 7_457), ("baseline", 4_541)] {
        let mutated = format!(
            r#"{{"id":"m","session":"{session}","type":"context.mutated","data":{{"turn":2,"kind":"compaction","summary":{{"text":"t"}},
                "counted":{{"uncompacted":12000,"compacted":{compacted},"fixed_overhead":3000,"source":"counted"}}}}}}"#
        );
        let body = format!("[{},{mutated}]", started_text(session));
        let answer = api.post(body).await.json();
        assert_eq!(answer["results"][1]["status"], "recorded", "{answer}");
    }
    let address = "/v1/sessions/governed/price?against=label%20of%20baseline";
    let answer = api.get(address).await;
    let price = answer.json();
    assert_eq!(
        (&price["first"], &price["second"]),
        (&json!("baseline"), &json!("governed"))
    );
    let compacted = &price["compactions"][0]["compacted"];
    assert_eq!(
        *compacted,
        json!({"first": 4_541, "second": 7_457, "difference": 2_916})
    );
    let tag = answer.headers[header::ETAG].clone();
    let known = HttpRequest::get(address)
        .header("authorization", format!("Bearer {}", api.read))
        .header(header::IF_NONE_MATCH, &tag)
        .body(Body::empty())
        .expect("valid");
    assert_eq!(api.send(known).await.status, 304);
    // Either session may grow.
    for session in ["governed", "baseline"] {
        let before = api.get(address).await.headers[header::ETAG].clone();
        assert_eq!(api.post(note_text(session, "more", "x")).await.status, 201);
        assert_ne!(
            api.get(address).await.headers[header::ETAG],
            before,
            "{session}"
        );
    }
    for (query, problem) in [
        ("", "invalid-parameter"),
        ("?against=", "not-found"),
        ("?against=nobody", "not-found"),
        ("?against=s&more=1", "invalid-parameter"),
    ] {
        let answer = api
            .get(&format!("/v1/sessions/governed/price{query}"))
            .await;
        assert_eq!(answer.problem(), problem, "{query}");
    }
}

#[tokio::test]
async fn cursors_of_somebody_else_are_refused() {
    use base64::Engine as _;
    let api = api_with_sessions().await;
    let made = |text: &str| base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(text);
    for (list, cursor) in [
        ("/v1/sessions", made("entries:1")),
        ("/v1/sessions", made("sessions:-1")),
        ("/v1/sessions", "no base64!".replace(' ', "%20")),
        ("/v1/sessions/s/entries", made("entries:-1")),
        (
            "/v1/sessions/s/entries",
            made("entries:99999999999999999999"),
        ),
    ] {
        let answer = api.get(&format!("{list}?after={cursor}")).await;
        assert_eq!(answer.status, 400, "{list} {cursor}");
        assert_eq!(answer.problem(), "invalid-parameter");
    }
    let last = made(&format!("entries:{}", i64::MAX));
    let answer = api
        .get(&format!("/v1/sessions/s/entries?after={last}"))
        .await;
    assert_eq!(answer.json(), json!({ "items": [], "next": null }));
}

#[tokio::test]
async fn a_name_in_an_address_that_is_not_text_is_a_problem_as_every_other() {
    let api = api_with_sessions().await;
    for uri in [
        "/v1/sessions/%ff",
        "/v1/sessions/%ff/entries",
        "/v1/sessions/%ff/findings",
        "/v1/entries/%ff",
        "/v1/blobs/%ff",
    ] {
        let answer = api.get(uri).await;
        assert_eq!(answer.status, 400, "{uri}");
        assert_eq!(answer.problem(), "invalid-parameter");
    }
}

#[tokio::test]
async fn a_ledger_whose_sequencer_ended_is_not_ready() {
    use crate::store::faulty::{Fault, Step};
    let api = api_with_sessions().await;
    assert_eq!(api.get("/readyz").await.status, 200);
    api.test.plan.add(Step::Begin, Fault::Panic);
    for id in ["1", "2"] {
        assert_eq!(
            api.post(note_text("s", id, "x")).await.problem(),
            "unavailable"
        );
        // The answer is sent while the task still unwinds.
        for _ in 0..200 {
            if api.get("/readyz").await.status != 200 {
                break;
            }
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
        let answer = api.get("/readyz").await;
        assert_eq!(
            (answer.status, answer.problem().as_str()),
            (503, "unavailable")
        );
    }
    let api = api_with_sessions().await;
    api.test.ledger.close().await;
    assert_eq!(api.get("/readyz").await.problem(), "unavailable");
}
