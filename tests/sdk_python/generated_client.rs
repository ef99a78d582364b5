//! A client that a generator makes of `/openapi.json` posts events and reads a session.

use std::process::Command;

use serde_json::json;

use super::{python_with, sdk};
use crate::support::Server;

#[test]
fn a_generated_client_posts_events_and_reads_the_session() {
    let Some(mut python) =
        python_with("httpx, blake3, openapi_python_client, openapi_spec_validator")
    else {
        return;
    };
    let server = Server::start();
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let document = folder.path().join("openapi.json");
    let described = server.send("GET", "/openapi.json", None, "application/json", b"");
    std::fs::write(&document, &described.body).expect("it can be written");

    let generated = folder.path().join("generated");
    let made = Command::new(python.get_program())
        .args(["-m", "openapi_python_client", "generate", "--meta", "none"])
        .arg("--path")
        .arg(&document)
        .arg("--output-path")
        .arg(generated.join("recorder"))
        .output()
        .expect("the generator can be started");
    let said = [made.stdout, made.stderr].concat();
    let said = String::from_utf8_lossy(&said);
    assert!(made.status.success(), "{said}");
    // The generator leaves out media types that it does not know, such as events one a line, and says so. It takes all else.
    let left_out = said.matches("Unsupported content").count();
    assert!(said.contains("application/x-ndjson"), "{said}");
    assert_eq!(said.matches("WARNING").count(), left_out, "{said}");
    assert!(!said.contains("ERROR"), "{said}");

    let ran = python
        .arg(sdk().join("tests/end_to_end/generated_client.py"))
        .args([&server.url, &server.key("admin")])
        .arg(&document)
        .env("PYTHONPATH", &generated)
        .output()
        .expect("Python can be started");
    let said = String::from_utf8_lossy(&ran.stdout);
    assert!(
        ran.status.success(),
        "{said}\n{}",
        String::from_utf8_lossy(&ran.stderr)
    );
    // What the client posted is there, as another client sees it.
    let key = server.key("read");
    let session = server.get(&key, "/v1/sessions/generated");
    assert_eq!(
        (&session["entries"], &session["actions"], &session["label"]),
        (&json!(6), &json!(1), &json!("by a generated client")),
        "{session}"
    );
}
