//! Requests that cannot be read at all, and answers that no exporter takes for success or for a loss.

use std::io::Write as _;
use std::process::{Command, Stdio};

use serde_json::json;

use super::{Answer, PROTOBUF, TRACE, entries, one_span, rejected_page, send};
use crate::support::Server;

/// Headers and body of a request, the status that it is answered with, and words of the reason.
type Case<'a> = (&'a [(&'a str, &'a str)], &'a [u8], u16, &'a str);

fn packed(bytes: &[u8]) -> Vec<u8> {
    let mut gzip = Command::new("gzip")
        .arg("-c")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("gzip is there");
    let mut input = gzip.stdin.take().unwrap();
    let bytes = bytes.to_vec();
    let writing = std::thread::spawn(move || input.write_all(&bytes));
    let done = gzip.wait_with_output().unwrap();
    writing.join().unwrap().unwrap();
    assert!(done.status.success());
    done.stdout
}

/// The rows of the page of rejected spans.
fn rows(page: &str) -> Vec<&str> {
    page.split("<tr>").skip(2).collect()
}

#[test]
fn requests_that_cannot_be_read_stand_on_the_page_of_rejected_spans() {
    let server = Server::with(&["--limit", "batch_bytes_max=65536"]);
    let write = server.key("write");
    let sender = "<i>exporter</i>/1";
    let as_json = ("content-type", "application/json");
    let as_protobuf = ("content-type", PROTOBUF);
    let gzip = ("content-encoding", "gzip");
    let whole = packed(one_span(TRACE, "chat").to_string().as_bytes());
    let hostile =
        br#"{"resourceSpans":[{"<script>alert(1)</script>":1}],"resourceSpans":"<script>"}"#;
    let cases: [Case<'_>; 7] = [
        (
            &[as_protobuf],
            b"\x0a\xff\xff",
            400,
            "no ExportTraceServiceRequest in protobuf",
        ),
        (
            &[as_json],
            hostile,
            400,
            "no ExportTraceServiceRequest in JSON",
        ),
        (
            &[as_json, gzip],
            b"no gzip at all",
            400,
            "not what its Content-Encoding says",
        ),
        (
            &[as_json, gzip],
            &whole[..whole.len() / 2],
            400,
            "not what its Content-Encoding says",
        ),
        // Small on the wire, large unpacked.
        (
            &[as_json, gzip],
            &packed(&vec![b' '; 1_000_000]),
            413,
            "more than 65536 bytes",
        ),
        (
            &[as_json, ("content-encoding", "br")],
            b"x",
            415,
            "Content-Encoding gzip or zstd",
        ),
        (
            &[("content-type", "text/<b>plain")],
            b"x",
            415,
            "application/x-protobuf or application/json",
        ),
    ];
    for (headers, body, status, reason) in cases {
        let headers = [headers, &[("user-agent", sender)]].concat();
        // Sent twice, as some exporters do: told once.
        for _ in 0..2 {
            let answer = send(&server.url, &write, &headers, body);
            assert_eq!(answer.status, status, "{reason}");
        }
        let page = rejected_page(&server);
        let newest = rows(&page)[0].to_owned();
        assert!(newest.contains(reason), "{reason}: {newest}");
        assert!(
            newest.contains("&lt;i&gt;exporter&lt;/i&gt;/1, key "),
            "{newest}"
        );
        assert!(
            !page.contains("<i>") && !page.contains("<script>alert"),
            "{page}"
        );
        assert!(!page.contains(&write), "a key's secret is nowhere");
    }
    let page = rejected_page(&server);
    // The two broken packings are told alike.
    assert_eq!(rows(&page).len(), 6, "{page}");
    // Who has no key that may append, leaves nothing here.
    let before = entries(&server, "otlp.rejected");
    for key in ["rmb_write_default_x_y", &server.key("read")] {
        let refused = send(&server.url, key, &[as_json, gzip], b"no gzip");
        assert!(matches!(refused.status, 401 | 403), "{}", refused.status);
    }
    assert_eq!(entries(&server, "otlp.rejected"), before);
}

#[test]
fn no_answer_is_a_redirect_or_an_error_of_ours() {
    let server = Server::start();
    let write = server.key("write");
    let agent: ureq::Agent = ureq::Agent::config_builder()
        .http_status_as_error(false)
        .max_redirects(0)
        .build()
        .into();
    let body = one_span(TRACE, "chat").to_string();
    // What exporters make of an endpoint that is written in another way.
    for path in [
        "/v1/traces/",
        "//v1/traces",
        "/v1/traces/v1/traces",
        "/v1//traces",
        "/V1/TRACES",
        "/v1/traces?x=1",
        "/",
    ] {
        let answer = agent
            .post(format!("{}{path}", server.url))
            .header("authorization", format!("Bearer {write}"))
            .header("content-type", "application/json")
            .send(body.as_bytes())
            .unwrap();
        let status = answer.status().as_u16();
        let is_taken = path == "/v1/traces?x=1";
        assert_eq!(status == 200, is_taken, "{path}: {status}");
        assert!(matches!(status, 200 | 400..=499), "{path}: {status}");
    }
    for call in [
        agent.get(format!("{}/v1/traces", server.url)),
        agent.delete(format!("{}/v1/traces", server.url)),
    ] {
        let answer = call
            .header("authorization", format!("Bearer {write}"))
            .call()
            .unwrap();
        assert!(
            matches!(answer.status().as_u16(), 400..=499),
            "{}",
            answer.status()
        );
    }
}

#[test]
fn a_partial_success_counts_the_spans_in_both_forms() {
    let server = Server::start();
    let write = server.key("write");
    let bad = |number: u8| {
        let mut request = one_span("5b8e", "bad");
        request["resourceSpans"][0]["scopeSpans"][0]["spans"][0]["spanId"] =
            json!(format!("{number:016x}"));
        request["resourceSpans"][0].clone()
    };
    let mut mixed = one_span(TRACE, "good");
    mixed["resourceSpans"]
        .as_array_mut()
        .unwrap()
        .extend([bad(1), bad(2)]);
    let body = packed(mixed.to_string().as_bytes());
    let headers = [
        ("content-type", "application/json; charset=utf-8"),
        ("content-encoding", "gzip"),
    ];
    let Answer {
        status,
        media,
        body,
        ..
    } = send(&server.url, &write, &headers, &body);
    assert_eq!((status, media.as_str()), (200, "application/json"));
    let told: serde_json::Value = serde_json::from_slice(&body).unwrap();
    assert_eq!(told["partialSuccess"]["rejectedSpans"], "2");
    assert_eq!(entries(&server, "talk"), 3, "the good one is recorded");

    // The same in protobuf, by hand: one span with a short trace id and an operation.
    let field = |number: u8, bytes: &[u8]| {
        [
            &[number << 3 | 2, u8::try_from(bytes.len()).unwrap()],
            bytes,
        ]
        .concat()
    };
    let text = field(1, b"chat");
    let attribute = [field(1, b"gen_ai.operation.name"), field(2, &text)].concat();
    let span = [field(1, b"\x07"), field(2, &[8; 8]), field(9, &attribute)].concat();
    let request = field(1, &field(2, &field(2, &span)));
    let answer = send(&server.url, &write, &[("content-type", PROTOBUF)], &request);
    assert_eq!((answer.status, answer.media.as_str()), (200, PROTOBUF));
    // `partial_success` (1) holds `rejected_spans` (1) = 1 and `error_message` (2); each length is one or two bytes.
    let rest = |bytes: &[u8]| bytes[if bytes[0] < 128 { 1 } else { 2 }..].to_vec();
    assert_eq!(answer.body[0], 0x0a, "{:?}", answer.body);
    let partial = rest(&answer.body[1..]);
    assert_eq!(partial[..3], [0x08, 1, 0x12], "{partial:?}");
    let message = String::from_utf8(rest(&partial[3..])).unwrap();
    assert!(
        message.contains("its trace id has 1 bytes") && message.contains("/rejected"),
        "{message}"
    );
}
