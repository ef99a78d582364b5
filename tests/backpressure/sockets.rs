//! What clients send over real sockets that are slow, too large, or too many.

use std::io::{ErrorKind, Read as _, Write as _};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use super::packing::{gzip_bomb, zstd_bomb};
use super::{event, session_sizes};
use crate::support::Server;

pub(super) fn connect(server: &Server) -> TcpStream {
    let address = server.url.strip_prefix("http://").unwrap();
    let stream = TcpStream::connect(address).expect("connects");
    let time = Some(Duration::from_secs(30));
    stream.set_read_timeout(time).unwrap();
    stream.set_write_timeout(time).unwrap();
    stream
}

/// The head of a `POST /v1/events`.
pub(super) fn head(key: &str, length: usize, more: &str) -> String {
    format!(
        "POST /v1/events HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {key}\r\n\
         content-type: application/json\r\ncontent-length: {length}\r\n{more}connection: close\r\n\r\n"
    )
}

/// Everything that comes until the server closes.
pub(super) fn rest(stream: &mut TcpStream) -> String {
    let mut bytes = Vec::new();
    // A server that answers before it has read a body may reset the connection once its answer is sent.
    if let Err(error) = stream.read_to_end(&mut bytes) {
        assert_eq!(error.kind(), ErrorKind::ConnectionReset, "{error}");
    }
    String::from_utf8(bytes).expect("text")
}

/// Memory that a process has in use, in bytes.
fn memory(server: &Server) -> usize {
    let status = std::fs::read_to_string(format!("/proc/{}/status", server.id())).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kilobytes = line.unwrap().trim().trim_end_matches(" kB");
    kilobytes.trim().parse::<usize>().unwrap() * 1024
}

#[test]
fn a_body_that_drips_is_given_up_and_a_head_that_drips_is_closed() {
    let server = Server::with(&[
        "--limit",
        "upload_seconds_max=1",
        "--limit",
        "header_seconds_max=1",
        "--limit",
        "uploads_max=1",
    ]);
    let key = server.key("write");
    let begun = Instant::now();
    let mut slow = connect(&server);
    slow.write_all(head(&key, 1000, "").as_bytes()).unwrap();
    let mut half = connect(&server);
    half.write_all(b"POST /v1/events HTTP/1.1\r\nhost: ")
        .unwrap();
    for _ in 0..30 {
        std::thread::sleep(Duration::from_millis(100));
        if slow.write_all(b" ").is_err() || begun.elapsed() > Duration::from_millis(1500) {
            break;
        }
    }
    let answer = rest(&mut slow);
    assert!(answer.starts_with("HTTP/1.1 408 "), "{answer}");
    assert_eq!(rest(&mut half), "");
    assert!(
        begun.elapsed() < Duration::from_secs(10),
        "{:?}",
        begun.elapsed()
    );
    // The one place for a body is free again.
    assert_eq!(server.post(&key, &event("s", 0, 0)).status, 201);
}

#[test]
fn bodies_that_are_or_unpack_to_too_much_are_refused_and_cost_no_more_than_the_limit() {
    const GIB: usize = 1024 * 1024 * 1024;
    let server = Server::with(&[]);
    let key = server.key("write");
    assert_eq!(server.post(&key, &event("s", 0, 0)).status, 201);
    let before = memory(&server);
    let zstd = zstd_bomb(2 * GIB);
    let gzip = gzip_bomb(GIB);
    assert!(zstd.len() < GIB / 10_000 && gzip.len() < 8 * 1024 * 1024);
    for (encoding, bomb) in [("zstd", zstd), ("gzip", gzip)] {
        let mut stream = connect(&server);
        let more = format!("content-encoding: {encoding}\r\n");
        stream
            .write_all(head(&key, bomb.len(), &more).as_bytes())
            .unwrap();
        // The server may answer and close before all of it is sent.
        if let Err(error) = stream.write_all(&bomb) {
            let kinds = [ErrorKind::ConnectionReset, ErrorKind::BrokenPipe];
            assert!(kinds.contains(&error.kind()), "{error}");
        }
        let answer = rest(&mut stream);
        assert!(answer.starts_with("HTTP/1.1 413 "), "{encoding}: {answer}");
        assert!(answer.contains("problem:batch-too-large"), "{answer}");
    }
    let mut stream = connect(&server);
    stream
        .write_all(head(&key, 9 * 1024 * 1024, "").as_bytes())
        .unwrap();
    assert!(rest(&mut stream).starts_with("HTTP/1.1 413 "));
    let grown = memory(&server).saturating_sub(before);
    assert!(grown < 64 * 1024 * 1024, "{grown} bytes more");
    assert_eq!(session_sizes(&server), [1]);
}

#[test]
fn a_flood_of_connections_is_told_so_and_the_service_is_there_again_after_it() {
    let server = Server::with(&[
        "--limit",
        "connections_max=4",
        "--limit",
        "header_seconds_max=2",
    ]);
    let key = server.key("write");
    let flood: Vec<TcpStream> = (0..300).map(|_| connect(&server)).collect();
    let mut refused = connect(&server);
    // Most of the flood is closed without a word; this one may be among those, and then cannot even be written to.
    let request = head(&key, 2, "") + "{}";
    let sent = refused.write_all(request.as_bytes());
    let answer = rest(&mut refused);
    if sent.is_ok() && !answer.is_empty() {
        assert!(answer.starts_with("HTTP/1.1 503 "), "{answer}");
        assert!(answer.contains("retry-after: 1\r\n"), "{answer}");
    }
    drop(flood);
    let begun = Instant::now();
    // The connections that were let in send nothing, and are given up.
    loop {
        let mut stream = connect(&server);
        let body = event("s", 0, 0).to_string();
        let sent = format!("{}{body}", head(&key, body.len(), ""));
        let answer = match stream.write_all(sent.as_bytes()) {
            Ok(()) => rest(&mut stream),
            Err(_) => String::new(),
        };
        if answer.starts_with("HTTP/1.1 20") {
            break;
        }
        assert!(begun.elapsed() < Duration::from_secs(20), "{answer}");
        std::thread::sleep(Duration::from_millis(50));
    }
    assert_eq!(session_sizes(&server), [1]);
}

#[test]
fn a_client_that_never_reads_its_answer_holds_nothing_up() {
    let server = Server::with(&[
        "--limit",
        "write_seconds_max=1",
        "--limit",
        "connections_max=3",
    ]);
    let (write, read) = (server.key("write"), server.key("read"));
    let blob: Vec<u8> = vec![b'x'; 32 * 1024 * 1024];
    let hash = blake3::hash(&blob).to_hex();
    let path = format!("/v1/blobs/{hash}");
    let stored = server.send(
        "PUT",
        &path,
        Some(&write),
        "application/octet-stream",
        &blob,
    );
    assert_eq!(stored.status, 201, "{stored:?}");
    let ask =
        format!("GET {path} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {read}\r\n\r\n");
    let mut deaf: Vec<TcpStream> = (0..2).map(|_| connect(&server)).collect();
    for stream in &mut deaf {
        stream.write_all(ask.as_bytes()).unwrap();
    }
    let begun = Instant::now();
    loop {
        let answer = server.send("GET", "/metrics", Some(&read), "", b"");
        if answer.status == 200 && answer.body.contains("\nremembrancer_connections 1\n") {
            break;
        }
        assert!(begun.elapsed() < Duration::from_secs(20), "{answer:?}");
        std::thread::sleep(Duration::from_millis(50));
    }
    for stream in &mut deaf {
        let mut bytes = Vec::new();
        drop(stream.read_to_end(&mut bytes));
        assert!(bytes.len() < blob.len(), "it was not cut off");
    }
}
