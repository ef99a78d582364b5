//! What the recording proxy adds to the time of a request: the same requests to the same API on loopback, directly and through the
//! proxy, alternating within one run.
//!
//! `cargo bench -p remembrancer-capture --bench proxy`
//!
//! The API, the proxy and the client each have threads of their own. The proxy records: its spool is on disk, and a recorder that
//! takes everything at once stands behind it. Each request continues a conversation, as an agent's does.
#![allow(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a benchmark prints, and ends where it cannot go on"
)]

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::{Body, Bytes};
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse as _, Response};
use axum::routing::post;
use remembrancer_capture::call_recorder::SessionRules;
use remembrancer_capture::delivery::{DeliveryError, Recorder, Taken};
use remembrancer_capture::proxy::{Proxy, ProxyOptions};
use remembrancer_capture::spool::{Spool, SpoolOptions};
use reqwest::Client;
use tokio::net::TcpListener;
use tokio::runtime::{Builder, Runtime};

/// Rounds, and requests in each that are not counted.
const ROUNDS: usize = 400;
const WARM_UP: usize = 20;

const ANSWER: &str = r#"{"id":"chatcmpl-1","model":"m","choices":[{"index":0,"finish_reason":"stop","message":{"role":"assistant","content":"ok"}}],"usage":{"prompt_tokens":1,"completion_tokens":1}}"#;
const FIRST: &str =
    "data: {\"id\":\"chatcmpl-1\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"ok\"}}]}\n\n";
const LAST: &str = "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";

/// Takes everything at once, and counts it.
#[derive(Default)]
struct Sink {
    events: AtomicUsize,
    /// Exchanges that passed and were not recorded, as the proxy tells it.
    lost: AtomicUsize,
}

#[async_trait::async_trait]
impl Recorder for Sink {
    async fn store_blobs(&self, blobs: &[&[u8]]) -> Result<usize, DeliveryError> {
        Ok(blobs.len())
    }

    async fn append(&self, events: &[&[u8]]) -> Result<Vec<Taken>, DeliveryError> {
        self.events.fetch_add(events.len(), Ordering::Relaxed);
        for event in events {
            let event: serde_json::Value = serde_json::from_slice(event).unwrap();
            if event["type"] == "custom.gap" {
                let lost = event["data"]["count"].as_u64().unwrap();
                self.lost
                    .fetch_add(usize::try_from(lost).unwrap(), Ordering::Relaxed);
            }
        }
        Ok(vec![Taken::Recorded; events.len()])
    }
}

async fn answer(body: Bytes) -> Response {
    if !body.starts_with(b"{\"stream\":true") {
        return ([(CONTENT_TYPE, "application/json")], ANSWER).into_response();
    }
    let pieces =
        [FIRST, LAST].map(|piece| Ok::<_, Infallible>(Bytes::from_static(piece.as_bytes())));
    let body = Body::from_stream(futures_util::stream::iter(pieces));
    ([(CONTENT_TYPE, "text/event-stream")], body).into_response()
}

fn runtime(threads: usize) -> Runtime {
    Builder::new_multi_thread()
        .worker_threads(threads)
        .enable_all()
        .build()
        .unwrap()
}

fn start_api(runtime: &Runtime) -> SocketAddr {
    let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).unwrap();
    let address = listener.local_addr().unwrap();
    let router = Router::new()
        .route("/v1/chat/completions", post(answer))
        .layer(axum::extract::DefaultBodyLimit::disable());
    runtime.spawn(async move {
        use axum::serve::ListenerExt as _;
        let listener = listener.tap_io(|stream| drop(stream.set_nodelay(true)));
        axum::serve(listener, router).await
    });
    address
}

/// A request of a conversation whose history has some size.
fn body(history: &str, number: usize, stream: bool) -> String {
    let stream = if stream { "\"stream\":true," } else { "" };
    format!(
        "{{{stream}\"model\":\"m\",\"messages\":[{{\"role\":\"system\",\"content\":\"Never contact customers.\"}},\
         {{\"role\":\"user\",\"content\":\"{history}\"}},{{\"role\":\"user\",\"content\":\"request {number}\"}}]}}"
    )
}

/// Time until the first byte of the answer's body, and until its end.
async fn request(client: &Client, address: SocketAddr, body: String) -> (Duration, Duration) {
    let started = Instant::now();
    let url = format!("http://{address}/v1/chat/completions");
    let mut response = client
        .post(url)
        .header("content-type", "application/json")
        .header("x-remembrancer-session", "bench")
        .body(body)
        .send()
        .await
        .unwrap();
    assert_eq!(response.status(), 200);
    let first = response.chunk().await.unwrap();
    let until_first = started.elapsed();
    assert!(first.is_some());
    while response.chunk().await.unwrap().is_some() {}
    (until_first, started.elapsed())
}

fn quantile(times: &mut [Duration], part: f64) -> f64 {
    times.sort();
    let at = ((times.len() - 1) as f64 * part).round() as usize;
    times[at].as_secs_f64() * 1000.0
}

fn measure(
    client_runtime: &Runtime,
    client: &Client,
    api: SocketAddr,
    proxy: SocketAddr,
    bytes: usize,
    stream: bool,
) {
    let history = "x".repeat(bytes);
    let (mut direct, mut through) = (Vec::new(), Vec::new());
    for number in 0..WARM_UP + ROUNDS {
        for (address, times) in [(api, &mut direct), (proxy, &mut through)] {
            let times_of_one =
                client_runtime.block_on(request(client, address, body(&history, number, stream)));
            if number >= WARM_UP {
                times.push(if stream {
                    times_of_one.0
                } else {
                    times_of_one.1
                });
            }
        }
    }
    let mut row = vec![match stream {
        true => format!("{bytes} B, first byte of a stream"),
        false => format!("{bytes} B, whole answer"),
    }];
    for part in [0.5, 0.99] {
        let (without, with) = (quantile(&mut direct, part), quantile(&mut through, part));
        row.push(format!("{without:.3}"));
        row.push(format!("{with:.3}"));
        row.push(format!("{:.3}", with - without));
    }
    println!("| {} |", row.join(" | "));
}

fn main() {
    println!("cargo bench -p remembrancer-capture --bench proxy");
    println!("{ROUNDS} requests each way, alternating; milliseconds");
    drop(rustls::crypto::ring::default_provider().install_default());
    let (api_runtime, proxy_runtime, client_runtime) = (runtime(1), runtime(2), runtime(1));
    let api = start_api(&api_runtime);
    let folder = tempfile::tempdir().unwrap();
    let sink = Arc::new(Sink::default());
    let options = SpoolOptions {
        sync: false,
        ..SpoolOptions::default()
    };
    let proxy = proxy_runtime
        .block_on(Proxy::bind(ProxyOptions {
            upstream: format!("http://{api}"),
            listen: "127.0.0.1:0".parse().unwrap(),
            spool: Spool::open(folder.path(), options).unwrap(),
            recorder: Arc::clone(&sink) as Arc<dyn Recorder>,
            rules: SessionRules::default(),
        }))
        .unwrap();
    let address = proxy.address();
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let running = proxy_runtime.spawn(proxy.run(async { drop(stopped.await) }));
    let client = Client::builder().no_proxy().build().unwrap();
    println!("| request | direct p50 | proxy p50 | added | direct p99 | proxy p99 | added |");
    println!("|---|---|---|---|---|---|---|");
    for (bytes, stream) in [
        (2_000, false),
        (2_000, true),
        (200_000, false),
        (200_000, true),
        (2_000_000, false),
    ] {
        measure(&client_runtime, &client, api, address, bytes, stream);
    }
    stop.send(()).unwrap();
    proxy_runtime.block_on(running).unwrap().unwrap();
    println!(
        "events recorded: {}; messages that passed faster than they could be recorded, and are told as gaps: {}",
        sink.events.load(Ordering::Relaxed),
        sink.lost.load(Ordering::Relaxed)
    );
}
