//! Many events through HTTP: none is lost, and the ledger verifies.

use serde_json::{Value, json};

use crate::support::{ADMIN_SESSION, Server, json as run_json, succeed};

const BATCH_EVENTS: usize = 100;

/// The acceptance run takes 100,000 events; set `REMEMBRANCER_TEST_EVENTS` to change it.
fn events_wanted() -> usize {
    std::env::var("REMEMBRANCER_TEST_EVENTS")
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(100_000)
}

#[test]
fn a_hundred_thousand_events_arrive_once_each_and_the_ledger_verifies() {
    let server = Server::start();
    let write = server.key("write");
    let total = events_wanted();
    let clients = 4;
    let each = total / clients;
    std::thread::scope(|scope| {
        for client in 0..clients {
            let (server, write) = (&server, &write);
            scope.spawn(move || post_session(server, write, client, each));
        }
    });
    let data = server.data.to_str().unwrap().to_owned();
    let sessions = run_json(&["sessions", "--data", &data]);
    let entries: Vec<u64> = sessions
        .as_array()
        .unwrap()
        .iter()
        .filter(|session| session["id"] != ADMIN_SESSION)
        .map(|session| session["entries"].as_u64().unwrap())
        .collect();
    assert_eq!(entries, vec![each as u64; clients]);
    server.stop_and_keep(|data| {
        let verification = run_json(&["verify", "--data", data.to_str().unwrap()]);
        // The making of the key is in the ledger too, behind the start of the session of such acts.
        assert_eq!(verification["entries"], (each * clients) as u64 + 2);
        succeed(&["verify", "--data", data.to_str().unwrap()]);
    });
}

fn post_session(server: &Server, key: &str, client: usize, count: usize) {
    let session = format!("load-{client}");
    let event = |number: usize| -> Value {
        let (kind, data) = match number {
            0 => ("session.started", json!({ "label": session })),
            _ => (
                "custom.load",
                json!({ "number": number, "text": "x".repeat(300) }),
            ),
        };
        json!({ "id": format!("{number:08}"), "session": session, "type": kind, "data": data })
    };
    let numbers: Vec<usize> = (0..count).collect();
    for batch in numbers.chunks(BATCH_EVENTS) {
        let events: Vec<Value> = batch.iter().map(|&number| event(number)).collect();
        let answer = server.post_until_taken(key, &Value::Array(events));
        let results = answer["results"].as_array().unwrap();
        assert_eq!(results.len(), batch.len());
        for (result, number) in results.iter().zip(batch) {
            assert_eq!(result["status"], "recorded", "{result}");
            assert_eq!(result["sequence"], *number as u64);
        }
    }
}
