//! The API in writing.

use super::*;

#[tokio::test]
async fn the_description_lists_every_route_and_limits_are_printed() {
    let api = TestApi::new().await;
    let description = api.description().await;
    assert!(
        description["openapi"]
            .as_str()
            .expect("a version")
            .starts_with("3.1")
    );
    for path in [
        "/v1/events",
        "/v1/blobs/{hash}",
        "/v1/blobs/missing",
        "/v1/sessions/{session}/presence",
        "/v1/proofs/inclusion",
        "/readyz",
        intake::ECHO,
    ] {
        assert!(description["paths"][path].is_object(), "{path}");
    }
    let echo = &description["paths"][intake::ECHO]["post"];
    assert!(echo["requestBody"]["content"]["application/x-echo"].is_object());
    assert_eq!(echo["responses"]["200"]["description"], "What was given");
    assert!(echo["security"][0]["key"].is_array(), "{echo}");
    let limits = api.get("/v1/limits").await.json();
    assert_eq!(limits["event_bytes_max"], 256 * 1024);
}

#[test]
fn every_problem_is_documented_with_its_status() {
    let document = include_str!("../../../../docs/http-api.md");
    for slug in Slug::ALL {
        let row = format!("| `{}` | {} |", slug.as_str(), slug.status().as_u16());
        assert!(
            document.contains(&row),
            "docs/http-api.md lacks the row {row}"
        );
    }
}

#[tokio::test]
async fn answers_have_the_members_that_the_description_names() {
    let api = TestApi::new().await;
    let description = api.description().await;
    let schemas = &description["components"]["schemas"];
    let described = |name: &str| -> Vec<String> {
        let members = schemas[name]["properties"].as_object().expect(name);
        members.keys().cloned().collect()
    };
    let names = |value: &Value| -> Vec<String> {
        let mut names: Vec<String> = value
            .as_object()
            .expect("an object")
            .keys()
            .cloned()
            .collect();
        names.sort();
        names
    };
    let started = json!({"id": "1", "session": "s", "type": "session.started", "agent": "a",
        "time": "2026-11-30T08:00:00Z", "data": {}});
    let one = api.post(started.to_string()).await.json();
    assert_eq!(names(&one), described("EventAnswer"));
    let batch = json!([started, {"id": "2"}]).to_string();
    let batch = api.post(batch).await.json();
    assert_eq!(names(&batch), described("BatchAnswer"));
    assert_eq!(names(&batch["results"][0]), described("TakenEvent"));
    assert_eq!(names(&batch["results"][1]), described("RejectedEvent"));
    let entries = api.get("/v1/sessions/s/entries").await.json();
    assert_eq!(names(&entries), described("Page_EntryView"));
    assert_eq!(names(&entries["items"][0]), described("EntryView"));
    assert_eq!(names(&entries["items"][0]["entry"]), described("Entry"));
}

#[tokio::test]
async fn the_description_refers_to_nothing_that_it_lacks() {
    let description = TestApi::new().await.description().await;
    let text = description.to_string();
    let mut references = 0;
    for reference in text.split("\"$ref\":\"").skip(1) {
        let reference = reference.split('"').next().expect("it ends");
        let pointer = reference.strip_prefix('#').expect("within the description");
        assert!(description.pointer(pointer).is_some(), "{reference}");
        references += 1;
    }
    assert!(references > 50, "{references}");
    for kind in ["SessionStarted", "ContextCaptured", "Part", "ToolReturned"] {
        assert!(
            description["components"]["schemas"][kind].is_object(),
            "{kind}"
        );
    }
    let mut names = std::collections::BTreeSet::new();
    for (path, operations) in description["paths"].as_object().expect("paths") {
        for (method, operation) in operations.as_object().expect("operations") {
            let name = operation["operationId"].as_str().expect("a name");
            assert!(names.insert(name), "{name} is the name of two operations");
            // An intake answers in the form that its clients expect.
            let is_guarded = operation["security"].is_array() && path != intake::ECHO;
            let has_problem = operation["responses"]["4XX"].is_object();
            assert_eq!(is_guarded, has_problem, "{method} {path}");
            for parameter in operation["parameters"].as_array().into_iter().flatten() {
                let name = parameter["name"].as_str().expect("a name");
                let is_in_path = path.contains(&format!("{{{name}}}"));
                let place = if is_in_path { "path" } else { "query" };
                assert_eq!(parameter["in"], place, "{name} of {method} {path}");
            }
        }
    }
}
