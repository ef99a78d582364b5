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
