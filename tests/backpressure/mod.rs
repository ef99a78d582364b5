//! More than a server can take: it refuses in words, loses nothing, and goes on.

mod packing;
mod sockets;
mod stop;

use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};

use crate::support::{ADMIN_SESSION, Server, json as run_json, succeed};

/// One event of a session; the first starts it.
fn event(session: &str, number: usize, filler: usize) -> Value {
    let (kind, data) = match number {
        0 => ("session.started", json!({ "label": session })),
        _ => (
            "custom.load",
            json!({ "number": number, "text": "x".repeat(filler) }),
        ),
    };
    json!({ "id": format!("{number:08}"), "session": session, "type": kind, "data": data })
}

/// The numbers of entries of the sessions that clients began, sorted.
fn session_sizes(server: &Server) -> Vec<u64> {
    let sessions = run_json(&["sessions", "--data", server.data.to_str().unwrap()]);
    let mut sizes: Vec<u64> = sessions
        .as_array()
        .unwrap()
        .iter()
        .filter(|session| session["id"] != ADMIN_SESSION)
        .map(|session| session["entries"].as_u64().unwrap())
        .collect();
    sizes.sort_unstable();
    sizes
}

#[test]
fn a_full_queue_answers_429_and_what_is_sent_again_is_there_once() {
    const CLIENTS: usize = 12;
    const BATCHES: usize = 25;
    const BATCH: usize = 8;
    let server = Server::with(&[
        "--limit",
        "queue_requests_max=1",
        "--limit",
        "group_events_max=1",
        "--limit",
        "uploads_max=100",
    ]);
    let key = server.key("write");
    let refused = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for client in 0..CLIENTS {
            let (server, key, refused) = (&server, &key, &refused);
            scope.spawn(move || {
                let session = format!("client-{client}");
                for batch in 0..BATCHES {
                    let numbers = batch * BATCH..(batch + 1) * BATCH;
                    let events: Vec<Value> =
                        numbers.map(|number| event(&session, number, 500)).collect();
                    let answer = loop {
                        let answer = server.post(key, &json!(events));
                        match answer.status {
                            200 => break answer.json(),
                            429 => {
                                assert_eq!(answer.problem(), "busy");
                                assert_eq!(answer.retry_after.as_deref(), Some("1"));
                                refused.fetch_add(1, Ordering::Relaxed);
                                std::thread::sleep(std::time::Duration::from_millis(10));
                            }
                            _ => panic!("{answer:?}"),
                        }
                    };
                    for result in answer["results"].as_array().unwrap() {
                        // What was refused with 429 was not stored: no event is a duplicate.
                        assert_eq!(result["status"], "recorded", "{result}");
                    }
                }
            });
        }
    });
    let refused = refused.load(Ordering::Relaxed);
    assert!(
        refused > 0,
        "the queue was never full: the test shows nothing"
    );
    assert_eq!(
        session_sizes(&server),
        vec![(BATCHES * BATCH) as u64; CLIENTS]
    );
    let read = server.key("read");
    let metrics = server.send("GET", "/metrics", Some(&read), "", b"").body;
    let line = format!("remembrancer_refused_total{{problem=\"busy\"}} {refused}");
    assert!(
        metrics.lines().any(|found| found == line),
        "{line}\n{metrics}"
    );
    server.stop_and_keep(|data| {
        succeed(&["verify", "--data", data.to_str().unwrap()]);
    });
}
