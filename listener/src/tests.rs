//! The listener and its connections over real sockets, with handlers of the test's own.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::Instant;

use axum::routing::get;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use super::*;

/// Larger than what the system buffers for a client that does not read.
const LARGE: usize = 64 * 1024 * 1024;

#[derive(Default)]
struct Counts {
    open: AtomicU64,
    refused: AtomicU64,
}

struct Counting(Arc<Counts>);

struct Open(Arc<Counts>);

impl Observer for Counting {
    fn opened(&self) -> Box<dyn Send> {
        self.0.open.fetch_add(1, Ordering::Relaxed);
        Box::new(Open(Arc::clone(&self.0)))
    }

    fn refused(&self) {
        self.0.refused.fetch_add(1, Ordering::Relaxed);
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        self.0.open.fetch_sub(1, Ordering::Relaxed);
    }
}

struct Running {
    address: SocketAddr,
    counts: Arc<Counts>,
    stop: watch::Sender<u32>,
    task: JoinHandle<()>,
}

impl Drop for Running {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn start(limits: &[(&str, u64)]) -> Running {
    let router = Router::new()
        .route("/", get(|| async { "hello" }))
        .route("/large", get(|| async { vec![b'x'; LARGE] }))
        .route(
            "/slow",
            get(|| async {
                tokio::time::sleep(Duration::from_millis(700)).await;
                "done"
            }),
        )
        .route("/never", get(std::future::pending::<&'static str>));
    let mut set = ConnectionLimits {
        connections_max: 512,
        head_bytes_max: 64 * 1024,
        head_time_max: Duration::from_secs(10),
        idle_time_max: Duration::from_secs(60),
        write_time_max: Duration::from_secs(30),
        drain_time_max: Duration::from_secs(30),
    };
    for &(name, value) in limits {
        let time = Duration::from_secs(value);
        match name {
            "connections_max" => set.connections_max = usize::try_from(value).expect("small"),
            "header_bytes_max" => set.head_bytes_max = usize::try_from(value).expect("small"),
            "header_seconds_max" => set.head_time_max = time,
            "idle_seconds_max" => set.idle_time_max = time,
            "write_seconds_max" => set.write_time_max = time,
            "drain_seconds_max" => set.drain_time_max = time,
            other => panic!("no limit is called {other}"),
        }
    }
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("binds");
    let address = listener.local_addr().expect("bound");
    let counts = Arc::new(Counts::default());
    let listener = Listener {
        listener,
        router,
        limits: set,
        refusal: r#"{"type":"urn:example:full"}"#.to_owned(),
        bodiless: &["/silent"],
        observer: Arc::new(Counting(Arc::clone(&counts))),
    };
    let (stop, asked) = watch::channel(0);
    let calls = AtomicU32::new(0);
    let task = tokio::spawn(listener.run(move || {
        let mut asked = asked.clone();
        let before = calls.fetch_add(1, Ordering::Relaxed);
        Box::pin(async move {
            asked
                .wait_for(|times| *times > before)
                .await
                .expect("the test goes on");
        })
    }));
    Running {
        address,
        counts,
        stop,
        task,
    }
}

impl Running {
    async fn connect(&self) -> TcpStream {
        TcpStream::connect(self.address).await.expect("connects")
    }

    /// Connects and sends.
    async fn sent(&self, text: &str) -> TcpStream {
        let mut stream = self.connect().await;
        stream.write_all(text.as_bytes()).await.expect("sends");
        stream
    }

    async fn asked(&self, path: &str) -> TcpStream {
        self.sent(&format!("GET {path} HTTP/1.1\r\nhost: x\r\n\r\n"))
            .await
    }

    fn open(&self) -> u64 {
        self.counts.open.load(Ordering::Relaxed)
    }

    async fn open_are(&self, wanted: u64) {
        let begun = Instant::now();
        while self.open() != wanted {
            assert!(
                begun.elapsed() < Duration::from_secs(10),
                "{} are open",
                self.open()
            );
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    fn ask_to_stop(&self) {
        self.stop.send_modify(|times| *times += 1);
    }

    /// Waits for the end, and says how long it took.
    async fn end(mut self) -> Duration {
        let begun = Instant::now();
        let ended = tokio::time::timeout(Duration::from_secs(20), &mut self.task).await;
        ended.expect("it ends").expect("without a panic");
        begun.elapsed()
    }
}

/// Everything that comes until the server closes.
async fn rest(mut stream: TcpStream) -> String {
    let mut bytes = Vec::new();
    let reading = stream.read_to_end(&mut bytes);
    let read = tokio::time::timeout(Duration::from_secs(20), reading).await;
    if let Err(error) = read.expect("the server closes") {
        assert_eq!(error.kind(), std::io::ErrorKind::ConnectionReset);
    }
    String::from_utf8(bytes).expect("text")
}

#[tokio::test]
async fn half_a_head_and_silence_are_given_up() {
    let running = start(&[("header_seconds_max", 1)]).await;
    let begun = Instant::now();
    let half = running.sent("GET / HTTP/1.1\r\nhost: ").await;
    let silent = running.connect().await;
    running.open_are(2).await;
    assert_eq!(rest(half).await, "");
    assert_eq!(rest(silent).await, "");
    let took = begun.elapsed();
    assert!(
        took >= Duration::from_secs(1) && took < Duration::from_secs(5),
        "{took:?}"
    );
    running.open_are(0).await;
}

#[tokio::test]
async fn a_head_that_drips_has_no_more_time_than_another() {
    let running = start(&[("header_seconds_max", 1), ("idle_seconds_max", 30)]).await;
    let mut stream = running.asked("/").await;
    let mut answer = [0; 1024];
    assert!(stream.read(&mut answer).await.expect("an answer") > 0);
    // The second request of the connection: its time begins with its first byte.
    tokio::time::sleep(Duration::from_millis(1300)).await;
    assert_eq!(running.open(), 1, "between two requests there is more time");
    let begun = Instant::now();
    for byte in b"GET / HTTP/1.1\r\nhost: xxxxxxxxxxxxxxxxxxxxxxx".chunks(1) {
        if stream.write_all(byte).await.is_err() || running.open() == 0 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    assert!(
        begun.elapsed() < Duration::from_secs(3),
        "{:?}",
        begun.elapsed()
    );
    running.open_are(0).await;
}

#[tokio::test]
async fn a_head_that_is_too_large_is_refused() {
    let running = start(&[("header_bytes_max", 4096)]).await;
    let head = format!(
        "GET / HTTP/1.1\r\nhost: x\r\nfiller: {}\r\n\r\n",
        "y".repeat(5000)
    );
    let answer = rest(running.sent(&head).await).await;
    assert!(answer.starts_with("HTTP/1.1 431 "), "{answer}");
}

#[tokio::test]
async fn an_idle_connection_is_closed() {
    let running = start(&[("idle_seconds_max", 1), ("header_seconds_max", 10)]).await;
    let begun = Instant::now();
    let answer = rest(running.asked("/").await).await;
    assert!(
        answer.starts_with("HTTP/1.1 200 ") && answer.ends_with("hello"),
        "{answer}"
    );
    let took = begun.elapsed();
    assert!(
        took >= Duration::from_secs(1) && took < Duration::from_secs(5),
        "{took:?}"
    );
}

#[tokio::test]
async fn connections_above_the_limit_are_told_and_a_free_place_is_taken_again() {
    let running = start(&[("connections_max", 2)]).await;
    let held = [running.connect().await, running.connect().await];
    running.open_are(2).await;
    for _ in 0..3 {
        let answer = rest(running.asked("/").await).await;
        assert!(answer.starts_with("HTTP/1.1 503 "), "{answer}");
        assert!(answer.contains("\r\nretry-after: 1\r\n"), "{answer}");
        assert!(answer.contains("urn:example:full"), "{answer}");
    }
    assert_eq!(running.counts.refused.load(Ordering::Relaxed), 3);
    // Whoever must not be given a body is given none, nor whoever has not said yet what is asked.
    for begins in [
        "POST /silent HTTP/1.1\r\nhost: x\r\n\r\n",
        "POST http://x/silent?a=b HTTP/1.1\r\n",
        "POST /sil",
        "\u{7}\r\n",
    ] {
        let answer = rest(running.sent(begins).await).await;
        assert!(answer.starts_with("HTTP/1.1 503 "), "{begins}: {answer}");
        assert!(answer.contains("\r\ncontent-length: 0\r\n"), "{answer}");
        assert!(answer.ends_with("\r\n\r\n"), "{begins}: {answer}");
        assert!(!answer.contains("\ncontent-type:"), "{begins}: {answer}");
    }
    // A flood of them: none is served, and the server goes on.
    let mut flood = Vec::new();
    for _ in 0..200 {
        flood.push(running.connect().await);
    }
    assert_eq!(running.open(), 2);
    drop((held, flood));
    running.open_are(0).await;
    let closing = "GET / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n";
    let answer = rest(running.sent(closing).await).await;
    assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
}

#[tokio::test]
async fn a_client_that_never_reads_its_answer_is_disconnected() {
    let running = start(&[("write_seconds_max", 1), ("idle_seconds_max", 60)]).await;
    let begun = Instant::now();
    let deaf = running.asked("/large").await;
    running.open_are(1).await;
    running.open_are(0).await;
    let took = begun.elapsed();
    assert!(
        took >= Duration::from_secs(1) && took < Duration::from_secs(8),
        "{took:?}"
    );
    assert!(rest(deaf).await.len() < LARGE);
}

#[tokio::test]
async fn a_client_that_reads_slowly_but_enough_gets_its_whole_answer() {
    let running = start(&[("write_seconds_max", 1), ("idle_seconds_max", 1)]).await;
    let mut stream = running
        .sent("GET /large HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n")
        .await;
    let mut piece = vec![0; 4 * 1024 * 1024];
    let mut total = 0;
    let begun = Instant::now();
    loop {
        let read = stream.read(&mut piece).await.expect("reads");
        if read == 0 {
            break;
        }
        total += read;
        // Slow at first, for longer than any of the times; a server that cut it off would do it here.
        if begun.elapsed() < Duration::from_millis(2500) {
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }
    assert!(
        begun.elapsed() >= Duration::from_millis(2000),
        "{:?}",
        begun.elapsed()
    );
    assert!(total > LARGE, "{total}");
}

#[tokio::test]
async fn a_stop_finishes_what_runs_and_waits_for_nothing_else() {
    let running = start(&[]).await;
    let half = running.sent("GET / HTTP/1.1\r\nhost: ").await;
    let silent = running.connect().await;
    let mut idle = running.asked("/").await;
    let mut bytes = [0; 1024];
    assert!(idle.read(&mut bytes).await.expect("an answer") > 0);
    let slow = running.asked("/slow").await;
    let large = running.asked("/large").await;
    running.open_are(5).await;
    tokio::time::sleep(Duration::from_millis(50)).await;
    running.ask_to_stop();
    let (slow, large) = tokio::join!(rest(slow), rest(large));
    assert!(
        slow.starts_with("HTTP/1.1 200 ") && slow.ends_with("done"),
        "{slow}"
    );
    assert!(large.len() > LARGE, "the answer under way is sent whole");
    let address = running.address;
    let took = running.end().await;
    assert!(took < Duration::from_secs(2), "{took:?}");
    assert_eq!(rest(half).await, "");
    assert_eq!(rest(silent).await, "");
    assert_eq!(rest(idle).await, "");
    assert!(
        TcpStream::connect(address).await.is_err(),
        "nothing listens"
    );
}

#[tokio::test]
async fn a_stop_does_not_wait_longer_than_it_may_nor_when_asked_again() {
    let running = start(&[("drain_seconds_max", 1)]).await;
    let stuck = running.asked("/never").await;
    running.open_are(1).await;
    tokio::time::sleep(Duration::from_millis(50)).await;
    running.ask_to_stop();
    let took = running.end().await;
    assert!(
        took >= Duration::from_millis(900) && took < Duration::from_secs(5),
        "{took:?}"
    );
    assert_eq!(rest(stuck).await, "");

    let running = start(&[("drain_seconds_max", 600)]).await;
    let stuck = running.asked("/never").await;
    running.open_are(1).await;
    running.ask_to_stop();
    tokio::time::sleep(Duration::from_millis(100)).await;
    running.ask_to_stop();
    let took = running.end().await;
    assert!(took < Duration::from_secs(5), "{took:?}");
    assert_eq!(rest(stuck).await, "");
}
