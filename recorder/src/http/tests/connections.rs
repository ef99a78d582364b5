//! The API behind a real listener: what clients send that are slow, leave early, or announce too much.

use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

use super::*;

/// A server that ends with its test.
struct Server {
    api: TestApi,
    address: std::net::SocketAddr,
    task: tokio::task::JoinHandle<()>,
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Server {
    async fn new(limits: Limits) -> Self {
        let api = TestApi::with_limits(limits).await;
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("binds");
        let address = listener.local_addr().expect("bound");
        let router = api.router.clone();
        let task = tokio::spawn(async move {
            axum::serve(listener, router).await.expect("serves");
        });
        Self { api, address, task }
    }

    /// Connects and sends the head of a request.
    async fn head(&self, request: &str, headers: &str) -> TcpStream {
        let mut stream = TcpStream::connect(self.address).await.expect("connects");
        let head = format!(
            "{request} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {}\r\n{headers}\r\n",
            self.api.write
        );
        stream.write_all(head.as_bytes()).await.expect("sends");
        stream
    }

    async fn post(&self, length: usize) -> TcpStream {
        let headers = format!(
            "content-type: application/json\r\ncontent-length: {length}\r\nconnection: close\r\n"
        );
        self.head("POST /v1/events", &headers).await
    }
}

/// Everything that a server sends until it closes, within ten seconds.
async fn answer(mut stream: TcpStream) -> String {
    let mut bytes = Vec::new();
    let reading = stream.read_to_end(&mut bytes);
    let read = tokio::time::timeout(Duration::from_secs(10), reading).await;
    // A server that answers before it has read a body may reset the connection once its answer is sent.
    if let Err(error) = read.expect("the server answers and closes") {
        assert_eq!(error.kind(), std::io::ErrorKind::ConnectionReset);
    }
    String::from_utf8(bytes).expect("text")
}

#[tokio::test]
async fn an_event_arrives_in_pieces() {
    let server = Server::new(Limits::default()).await;
    let event = started_text("s");
    let mut stream = server.post(event.len()).await;
    for piece in event.as_bytes().chunks(40) {
        stream.write_all(piece).await.expect("sends");
        stream.flush().await.expect("sends");
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    let answer = answer(stream).await;
    assert!(answer.starts_with("HTTP/1.1 201 "), "{answer}");
    assert_eq!(server.api.size().await, 1);
}

#[tokio::test]
async fn a_body_that_does_not_arrive_in_time_is_given_up_and_its_place_is_free_again() {
    let limits = Limits {
        upload_seconds_max: 1,
        uploads_max: 1,
        ..Limits::default()
    };
    let server = Server::new(limits).await;
    let begun = Instant::now();
    let mut slow = server.post(100).await;
    slow.write_all(b"{\"id\":").await.expect("sends");
    let answer = answer(slow).await;
    assert!(answer.starts_with("HTTP/1.1 408 "), "{answer}");
    assert!(
        answer.contains("urn:remembrancer:problem:timeout"),
        "{answer}"
    );
    assert!(begun.elapsed() >= Duration::from_secs(1));
    assert_eq!(server.api.size().await, 0);
    assert_eq!(server.api.post(started_text("s")).await.status, 201);
}

#[tokio::test]
async fn a_body_that_announces_too_much_is_refused_before_it_is_sent() {
    let server = Server::new(Limits::default()).await;
    let max = Limits::default().batch_bytes_max;
    for length in [max + 1, 1 << 40] {
        let answer = answer(server.post(length).await).await;
        assert!(answer.starts_with("HTTP/1.1 413 "), "{answer}");
        assert!(answer.contains("problem:batch-too-large"), "{answer}");
    }
    // A client that asks first is not told to go on.
    let headers = format!(
        "content-type: application/json\r\ncontent-length: {}\r\nexpect: 100-continue\r\nconnection: close\r\n",
        max + 1
    );
    let answer = answer(server.head("POST /v1/events", &headers).await).await;
    assert!(answer.starts_with("HTTP/1.1 413 "), "{answer}");
}

#[tokio::test]
async fn a_client_that_leaves_early_stores_nothing() {
    let limits = Limits {
        uploads_max: 1,
        ..Limits::default()
    };
    let server = Server::new(limits).await;
    let event = started_text("s");
    let mut stream = server.post(event.len() + 1).await;
    stream.write_all(event.as_bytes()).await.expect("sends");
    drop(stream);
    // Its place is free as soon as the server has seen it leave.
    let begun = Instant::now();
    while server.api.post("{}").await.status == 429 {
        assert!(begun.elapsed() < Duration::from_secs(10));
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert_eq!(server.api.size().await, 0);
}

#[tokio::test]
async fn two_lengths_in_one_request_are_refused() {
    let server = Server::new(Limits::default()).await;
    let event = started_text("s");
    let headers = format!(
        "content-type: application/json\r\ncontent-length: {0}\r\ncontent-length: {1}\r\nconnection: close\r\n",
        event.len(),
        event.len() - 1
    );
    let mut stream = server.head("POST /v1/events", &headers).await;
    stream.write_all(event.as_bytes()).await.expect("sends");
    let answer = answer(stream).await;
    assert!(answer.starts_with("HTTP/1.1 400 "), "{answer}");
    assert_eq!(server.api.size().await, 0);
}
