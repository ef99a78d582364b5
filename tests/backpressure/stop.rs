//! A stop under load: what was acknowledged is there, and nothing is waited for that is no request.

use std::io::Write as _;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde_json::Value;

use super::sockets::{connect, head, rest};
use super::{event, session_sizes};
use crate::support::{Server, succeed};

const CLIENTS: usize = 8;

/// Posts events one by one over connections of its own until the server is gone; returns how many were acknowledged.
fn post_until_gone(server: &Server, key: &str, client: usize, is_stopping: &AtomicBool) -> usize {
    let session = format!("client-{client}");
    for number in 0.. {
        let body = event(&session, number, 200).to_string();
        let address = server.url.strip_prefix("http://").unwrap();
        let Ok(mut stream) = std::net::TcpStream::connect(address) else {
            assert!(
                is_stopping.load(Ordering::SeqCst),
                "the server is gone by itself"
            );
            return number;
        };
        let sent = stream.write_all(format!("{}{body}", head(key, body.len(), "")).as_bytes());
        let answer = if sent.is_ok() {
            rest(&mut stream)
        } else {
            String::new()
        };
        if !answer.starts_with("HTTP/1.1 201 ") {
            assert!(is_stopping.load(Ordering::SeqCst), "{answer}");
            return number;
        }
    }
    unreachable!("numbers do not end")
}

#[test]
fn a_stop_under_load_keeps_every_acknowledged_event_and_does_not_wait_for_half_a_head() {
    let mut server = Server::with(&["--limit", "drain_seconds_max=20", "--log", "info"]);
    let key = server.key("write");
    let mut half = connect(&server);
    half.write_all(b"POST /v1/events HTTP/1.1\r\nhost: ")
        .unwrap();
    let silent = connect(&server);
    // A request that is under way when the server is asked to stop: it gets its body and its answer.
    let late = event("late", 0, 0).to_string();
    let mut under_way = connect(&server);
    under_way
        .write_all(head(&key, late.len(), "").as_bytes())
        .unwrap();
    under_way.write_all(&late.as_bytes()[..10]).unwrap();
    let is_stopping = AtomicBool::new(false);
    let (acknowledged, took) = std::thread::scope(|scope| {
        let clients: Vec<_> = (0..CLIENTS)
            .map(|client| {
                let (server, key, is_stopping) = (&server, &key, &is_stopping);
                scope.spawn(move || post_until_gone(server, key, client, is_stopping))
            })
            .collect();
        std::thread::sleep(Duration::from_millis(700));
        is_stopping.store(true, Ordering::SeqCst);
        server.ask_to_stop();
        let begun = Instant::now();
        std::thread::sleep(Duration::from_millis(300));
        under_way.write_all(&late.as_bytes()[10..]).unwrap();
        let answer = rest(&mut under_way);
        assert!(answer.starts_with("HTTP/1.1 201 "), "{answer}");
        let acknowledged: Vec<usize> = clients
            .into_iter()
            .map(|client| client.join().expect("no client panics"))
            .collect();
        (acknowledged, begun.elapsed())
    });
    let begun = Instant::now();
    assert_eq!(server.exit_code(), Some(0), "{}", server.log());
    assert!(
        took + begun.elapsed() < Duration::from_secs(10),
        "{took:?} {:?}",
        begun.elapsed()
    );
    drop((half, silent));
    assert!(
        acknowledged.iter().all(|count| *count > 0),
        "{acknowledged:?}"
    );
    // An event whose answer did not arrive may be there as well: at most one a client.
    let data = server.data.to_str().unwrap();
    let sessions: Value = crate::support::json(&["sessions", "--data", data]);
    for (client, acknowledged) in acknowledged.iter().enumerate() {
        let label = format!("client-{client}");
        let session = sessions
            .as_array()
            .unwrap()
            .iter()
            .find(|session| session["id"] == label.as_str());
        let entries = session.unwrap_or_else(|| panic!("{label} is missing"))["entries"]
            .as_u64()
            .unwrap();
        let entries = usize::try_from(entries).unwrap();
        assert!(
            entries == *acknowledged || entries == acknowledged + 1,
            "{label}: {entries} of {acknowledged}"
        );
    }
    assert_eq!(session_sizes(&server).len(), CLIENTS + 1);
    succeed(&["verify", "--data", data]);
}
