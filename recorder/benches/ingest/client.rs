//! A load generator that takes little of the machine: HTTP/1.1 over kept connections, requests made beforehand, all clients
//! on one thread.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::{Measured, processor};

/// A request, ready to be sent.
pub(crate) fn request(token: &str, body: &str) -> Vec<u8> {
    format!(
        "POST /v1/events HTTP/1.1\r\nhost: bench\r\nauthorization: Bearer {token}\r\n\
         content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    )
    .into_bytes()
}

/// Sends every client's requests one after the other, all clients at the same time. Every answer must be a success.
pub(crate) fn send_all(address: SocketAddr, clients: Vec<Vec<Vec<u8>>>) -> Measured {
    let load = std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        runtime.block_on(async {
            let mut connections = Vec::new();
            for requests in clients {
                connections.push((Connection::open(address).await, requests));
            }
            let (started, used) = (Instant::now(), processor::of_workers());
            let tasks: Vec<_> = connections
                .into_iter()
                .map(|(connection, requests)| tokio::spawn(send(connection, requests)))
                .collect();
            let mut times = Vec::new();
            for task in tasks {
                times.extend(task.await.unwrap());
            }
            let used = processor::of_workers().saturating_sub(used);
            Measured::of(times, started.elapsed(), used)
        })
    });
    load.join().unwrap()
}

async fn send(mut connection: Connection, requests: Vec<Vec<u8>>) -> Vec<Duration> {
    let mut times = Vec::with_capacity(requests.len());
    for request in requests {
        let started = Instant::now();
        connection.exchange(&request).await;
        times.push(started.elapsed());
    }
    times
}

/// One connection, kept open.
pub(crate) struct Connection {
    stream: TcpStream,
    answer: Vec<u8>,
}

impl Connection {
    pub(crate) async fn open(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).await.unwrap();
        stream.set_nodelay(true).unwrap();
        Self {
            stream,
            answer: Vec::with_capacity(64 * 1024),
        }
    }

    /// Sends a request and reads its whole answer.
    pub(crate) async fn exchange(&mut self, request: &[u8]) {
        self.stream.write_all(request).await.unwrap();
        self.answer.clear();
        loop {
            let read = self.stream.read_buf(&mut self.answer).await.unwrap();
            assert!(read > 0, "the server closed the connection");
            if let Some(length) = answer_length(&self.answer)
                && self.answer.len() >= length
            {
                break;
            }
        }
        assert!(
            self.answer.starts_with(b"HTTP/1.1 20"),
            "{}",
            String::from_utf8_lossy(&self.answer)
        );
    }
}

/// Length of an answer, head and body together, once its head is there.
fn answer_length(answer: &[u8]) -> Option<usize> {
    let head = answer.windows(4).position(|bytes| bytes == b"\r\n\r\n")?;
    let text = std::str::from_utf8(&answer[..head]).unwrap();
    let length: usize = text
        .lines()
        .filter_map(|line| line.split_once(':'))
        .find(|(name, _)| name.eq_ignore_ascii_case("content-length"))
        .map(|(_, value)| value.trim().parse().unwrap())
        .unwrap();
    Some(head + 4 + length)
}
