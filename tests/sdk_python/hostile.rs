//! Whatever an agent hands to the SDK becomes events that the recorder takes.

use serde_json::{Value, json};

use super::{python_with, sdk};
use crate::support::Server;

/// Events of `hostile_agent.py`: four and seven a turn, of twelve turns, in six sessions.
const EVENTS: u64 = 6 * (4 + 12 * 7);

#[test]
fn any_value_of_python_makes_an_event_that_is_taken() {
    let Some(mut python) = python_with("httpx, blake3") else {
        return;
    };
    let server = Server::start();
    let spool = tempfile::tempdir().expect("a temporary folder can be made");
    let ran = python
        .arg(sdk().join("tests/end_to_end/hostile_agent.py"))
        .args([&server.url, &server.key("write")])
        .arg(spool.path())
        .arg("20261130")
        .output()
        .expect("Python can be started");
    let told = String::from_utf8_lossy(&ran.stdout);
    let errors = String::from_utf8_lossy(&ran.stderr);
    let told: Value = serde_json::from_str(&told).unwrap_or_else(|_| panic!("{told}\n{errors}"));
    assert_eq!(told["sent"], true, "{told}\n{errors}");
    assert_eq!(
        (&told["recorded"], &told["rejected"], &told["failed_calls"]),
        (&json!(EVENTS), &json!(0), &json!(0)),
        "{errors}"
    );
    // And the auditor reads all of it.
    let key = server.key("read");
    let listed = server.get(&key, "/v1/sessions");
    let mut sessions = 0;
    for session in listed["items"].as_array().unwrap() {
        if session["id"] != crate::support::ADMIN_SESSION {
            let presence = format!("/v1/sessions/{}/presence", session["id"].as_str().unwrap());
            assert_eq!(
                server.get(&key, &presence)["turns"]
                    .as_array()
                    .unwrap()
                    .len(),
                12
            );
            sessions += 1;
        }
    }
    assert_eq!(sessions, 6);
}
