//! A proxy between a client and an API that the test plays itself, byte by byte.

use std::sync::Mutex;
use std::time::Duration;

use remembrancer_schema::SessionId;
use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio::time::timeout;

use super::*;
use crate::delivery::{DeliveryError, Taken};
use crate::spool::SpoolOptions;

const BOUND: Duration = Duration::from_secs(20);

/// Keeps every event that it is given.
#[derive(Default)]
struct Keeper(Mutex<Vec<Value>>);

#[async_trait::async_trait]
impl Recorder for Keeper {
    async fn store_blobs(&self, blobs: &[&[u8]]) -> Result<usize, DeliveryError> {
        Ok(blobs.len())
    }

    async fn append(&self, events: &[&[u8]]) -> Result<Vec<Taken>, DeliveryError> {
        let read = events
            .iter()
            .map(|event| serde_json::from_slice(event).expect("JSON"));
        self.0.lock().expect("no panic").extend(read);
        Ok(vec![Taken::Recorded; events.len()])
    }
}

struct Rig {
    _folder: tempfile::TempDir,
    api: TcpListener,
    address: SocketAddr,
    keeper: Arc<Keeper>,
    stop: oneshot::Sender<()>,
    running: JoinHandle<Result<(), ProxyError>>,
}

impl Rig {
    async fn start(spool_bytes_max: u64) -> Self {
        let api = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let upstream = format!("http://{}/base", api.local_addr().expect("an address"));
        let folder = tempfile::tempdir().expect("a folder");
        let options = SpoolOptions {
            bytes_max: spool_bytes_max,
            sync: false,
        };
        let keeper = Arc::new(Keeper::default());
        let proxy = Proxy::bind(ProxyOptions {
            upstream,
            listen: "127.0.0.1:0".parse().expect("an address"),
            spool: Spool::open(folder.path(), options).expect("it opens"),
            recorder: Arc::clone(&keeper) as Arc<dyn Recorder>,
            rules: SessionRules::default(),
        })
        .await
        .expect("it starts");
        let address = proxy.address();
        let (stop, stopped) = oneshot::channel::<()>();
        let running = tokio::spawn(proxy.run(async {
            drop(stopped.await);
        }));
        Self {
            _folder: folder,
            api,
            address,
            keeper,
            stop,
            running,
        }
    }

    /// A client's connection with a request on it.
    async fn ask(&self, path: &str, body: &str) -> TcpStream {
        let mut client = TcpStream::connect(self.address).await.expect("it listens");
        let request = format!(
            "POST {path} HTTP/1.1\r\nhost: x\r\nx-api-key: sk-very-secret\r\nauthorization: Bearer sk-very-secret\r\n\
             x-remembrancer-session: run-7\r\naccept-encoding: gzip\r\ncontent-type: application/json\r\n\
             content-length: {}\r\n\r\n{body}",
            body.len()
        );
        client.write_all(request.as_bytes()).await.expect("written");
        client
    }

    /// The API's side of the next connection, with the request that came.
    async fn accepted(&self) -> (TcpStream, String) {
        let (mut stream, _) = timeout(BOUND, self.api.accept())
            .await
            .expect("in time")
            .expect("a connection");
        let mut request = String::new();
        let length = |request: &str| -> Option<usize> {
            let (head, body) = request.split_once("\r\n\r\n")?;
            let announced = head
                .lines()
                .find_map(|line| line.strip_prefix("content-length: "))?;
            Some(announced.parse::<usize>().expect("a number") - body.len())
        };
        while length(&request) != Some(0) {
            request.push_str(&next_piece(&mut stream).await);
        }
        (stream, request)
    }

    /// Stops the proxy and returns what was recorded.
    async fn recorded(self) -> Vec<Value> {
        self.stop.send(()).expect("it runs");
        timeout(BOUND * 2, self.running)
            .await
            .expect("in time")
            .expect("no panic")
            .expect("it ends well");
        let events = self.keeper.0.lock().expect("no panic");
        events.clone()
    }
}

async fn next_piece(stream: &mut TcpStream) -> String {
    let mut bytes = vec![0; 65_536];
    let count = timeout(BOUND, stream.read(&mut bytes))
        .await
        .expect("in time")
        .expect("readable");
    String::from_utf8_lossy(&bytes[..count]).into_owned()
}

async fn read_until(stream: &mut TcpStream, end: &str) -> String {
    let mut text = String::new();
    while !text.contains(end) {
        let piece = next_piece(stream).await;
        assert!(!piece.is_empty(), "the connection ended behind {text:?}");
        text.push_str(&piece);
    }
    text
}

fn kinds(events: &[Value]) -> Vec<&str> {
    events
        .iter()
        .map(|event| event["type"].as_str().expect("a type"))
        .collect()
}

const BODY: &str = r#"{"model":"m","messages":[{"role":"user","content":"go"}]}"#;
const STREAM: &str = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nx-kept: yes\r\ntransfer-encoding: chunked\r\n\r\n";

fn chunk(text: &str) -> String {
    format!("{:X}\r\n{text}\r\n", text.len())
}

#[tokio::test]
async fn each_piece_of_a_stream_passes_before_the_next_one_is_there() {
    let rig = Rig::start(1 << 30).await;
    let mut client = rig.ask("/v1/chat/completions?x=1", BODY).await;
    let (mut api, request) = rig.accepted().await;
    assert!(
        request.starts_with("POST /base/v1/chat/completions?x=1 HTTP/1.1\r\n"),
        "{request}"
    );
    assert!(request.ends_with(BODY) && request.contains("authorization: Bearer sk-very-secret"));
    assert!(
        !request.contains("x-remembrancer") && request.contains("accept-encoding: identity"),
        "{request}"
    );
    api.write_all(STREAM.as_bytes()).await.expect("written");
    let pieces = [
        "data: {\"id\":\"a\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Hal\"}}]}\n\n",
        "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"lo\"},\"finish_",
        "reason\":\"stop\"}]}\n\n: comment \u{1f4a7}\r\n\r\ndata: [DONE]\n\n",
    ];
    let mut got = String::new();
    for piece in pieces {
        api.write_all(chunk(piece).as_bytes())
            .await
            .expect("written");
        got.push_str(&read_until(&mut client, piece).await);
    }
    api.write_all(b"0\r\n\r\n").await.expect("written");
    got.push_str(&read_until(&mut client, "0\r\n\r\n").await);
    let (head, body) = got.split_once("\r\n\r\n").expect("a head");
    assert!(head.contains("x-kept: yes"));
    assert_eq!(
        body,
        format!("{}0\r\n\r\n", pieces.map(chunk).concat()),
        "byte for byte, piece for piece"
    );
    let events = rig.recorded().await;
    assert_eq!(
        kinds(&events),
        ["session.started", "context.captured", "model.responded"]
    );
    assert_eq!(events[0]["session"], "run-7");
    assert_eq!(events[2]["data"]["text"], serde_json::json!(["Hallo"]));
    assert!(
        !serde_json::to_string(&events)
            .expect("JSON")
            .contains("sk-very-secret")
    );
}

#[tokio::test]
async fn a_client_that_leaves_is_gone_for_the_api_too() {
    let rig = Rig::start(1 << 30).await;
    let mut client = rig.ask("/v1/messages", BODY).await;
    let (mut api, _) = rig.accepted().await;
    api.write_all(format!("{STREAM}{}", chunk("event: ping\ndata: {}\n\n")).as_bytes())
        .await
        .expect("written");
    read_until(&mut client, "ping").await;
    drop(client);
    // Its side of the connection ends: reading tells so.
    let mut rest = [0; 16];
    let ended = timeout(BOUND, api.read(&mut rest)).await.expect("in time");
    assert!(matches!(ended, Ok(0) | Err(_)), "{ended:?}");
    // The same before an answer began.
    let waiting = rig.ask("/v1/messages", BODY).await;
    let (mut api, _) = rig.accepted().await;
    drop(waiting);
    let ended = timeout(BOUND, api.read(&mut rest)).await.expect("in time");
    assert!(matches!(ended, Ok(0) | Err(_)), "{ended:?}");
    let events = rig.recorded().await;
    let endings: Vec<&Value> = events
        .iter()
        .filter(|event| event["type"] == "custom.model_failed")
        .map(|event| &event["data"]["ending"])
        .collect();
    assert_eq!(endings, ["client_left", "client_left"]);
}

#[tokio::test]
async fn what_came_before_a_break_reaches_the_client() {
    let rig = Rig::start(1 << 30).await;
    let mut client = rig.ask("/v1/messages", BODY).await;
    let (mut api, _) = rig.accepted().await;
    let piece = "event: ping\ndata: {}\n\n";
    // All at once, so that the break is known as soon as the pieces are.
    api.write_all(format!("{STREAM}{}", chunk(piece).repeat(20)).as_bytes())
        .await
        .expect("written");
    drop(api);
    let mut got = String::new();
    loop {
        let mut bytes = [0; 4096];
        match timeout(BOUND, client.read(&mut bytes))
            .await
            .expect("in time")
        {
            Ok(0) | Err(_) => break,
            Ok(count) => got.push_str(&String::from_utf8_lossy(&bytes[..count])),
        }
    }
    assert_eq!(got.matches(piece).count(), 20);
    assert!(!got.ends_with("0\r\n\r\n"), "a break is not an end");
    let events = rig.recorded().await;
    assert_eq!(
        events.last().expect("an event")["data"]["ending"],
        "upstream_broke"
    );
}

#[tokio::test]
async fn errors_and_other_addresses_pass_unchanged() {
    let rig = Rig::start(1 << 30).await;
    let answer =
        "HTTP/1.1 529 Overloaded\r\nretry-after: 7\r\ncontent-length: 11\r\n\r\n{\"error\":1}";
    for path in ["/v1/messages", "/v1/models"] {
        let mut client = rig.ask(path, BODY).await;
        let (mut api, request) = rig.accepted().await;
        assert!(request.ends_with(BODY));
        api.write_all(answer.as_bytes()).await.expect("written");
        let got = read_until(&mut client, "{\"error\":1}").await;
        assert!(
            got.starts_with("HTTP/1.1 529 ") && got.contains("retry-after: 7\r\n"),
            "{got}"
        );
        drop(api);
    }
    let events = rig.recorded().await;
    assert_eq!(
        kinds(&events),
        ["session.started", "context.captured", "custom.model_failed"]
    );
    assert_eq!(events[2]["data"]["status"], 529);
}

#[tokio::test]
async fn an_api_that_cannot_be_reached_is_said_in_the_form_of_its_errors() {
    let mut rig = Rig::start(1 << 30).await;
    let address = rig.api.local_addr().expect("an address");
    rig.api = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    assert!(
        TcpStream::connect(address).await.is_err(),
        "nobody listens there any more"
    );
    let mut client = rig.ask("/v1/messages", BODY).await;
    let got = read_until(&mut client, "upstream_unreachable").await;
    assert!(
        got.starts_with("HTTP/1.1 502 ") && got.contains("upstream_unreachable"),
        "{got}"
    );
    assert!(
        rig.recorded().await.is_empty(),
        "no model was asked anything"
    );
}

#[tokio::test]
async fn an_agent_goes_on_where_nothing_can_be_kept_and_the_gap_is_told() {
    let rig = Rig::start(10).await;
    let mut client = rig.ask("/v1/messages", BODY).await;
    let (mut api, _) = rig.accepted().await;
    let answer = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 28\r\n\r\n{\"id\":\"msg_1\",\"content\":[]}\n";
    api.write_all(answer.as_bytes()).await.expect("written");
    let got = read_until(&mut client, "msg_1").await;
    assert!(got.starts_with("HTTP/1.1 200 "), "{got}");
    let keeper = Arc::clone(&rig.keeper);
    let told = async {
        let is_told = || {
            keeper
                .0
                .lock()
                .expect("no panic")
                .iter()
                .any(|event| event["type"] == "custom.gap")
        };
        while !is_told() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    timeout(BOUND, told).await.expect("the gap is told");
    let events = rig.recorded().await;
    assert!(
        events.iter().all(|event| event["type"] == "custom.gap"),
        "{events:?}"
    );
    let lost: u64 = events
        .iter()
        .map(|event| event["data"]["count"].as_u64().expect("a count"))
        .sum();
    assert!(
        lost >= 2,
        "the session's start and its context at least: {events:?}"
    );
    assert!(events.iter().all(|event| event["session"] == "run-7"));
}

#[tokio::test]
async fn a_request_that_is_none_passes_and_is_counted() {
    let rig = Rig::start(1 << 30).await;
    for body in ["{\"messages\": 7}", BODY] {
        let mut client = rig.ask("/v1/messages", body).await;
        let (mut api, request) = rig.accepted().await;
        assert!(request.ends_with(body));
        api.write_all(b"HTTP/1.1 400 Bad Request\r\ncontent-length: 2\r\n\r\n{}")
            .await
            .expect("written");
        read_until(&mut client, "{}").await;
        drop(api);
    }
    let events = rig.recorded().await;
    let gap = events
        .iter()
        .find(|event| event["type"] == "custom.gap")
        .expect("a gap");
    assert_eq!(
        (&gap["session"], &gap["data"]["count"]),
        (&Value::from("run-7"), &Value::from(1))
    );
    let session: SessionId = serde_json::from_value(gap["session"].clone()).expect("an id");
    assert_eq!(session.as_str(), "run-7");
}

#[test]
fn an_upstream_is_an_address_without_secrets() {
    for good in ["https://api.anthropic.com", "http://127.0.0.1:8000/v1"] {
        assert!(upstream(good).is_ok(), "{good}");
    }
    for bad in [
        "api.anthropic.com",
        "ftp://x",
        "https://user:key@x",
        "https://x?key=1",
        "",
    ] {
        assert!(upstream(bad).is_err(), "{bad}");
    }
}
