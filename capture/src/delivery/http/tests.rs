//! What a recorder may answer, and what becomes of it.

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

use remembrancer_schema::ContentHash;

use super::*;
use crate::delivery::{Recorder as _, Rejection, Taken};

/// Answers one request after the other, each with its status line, headers and body; returns what was asked.
async fn recorder(answers: Vec<String>) -> (HttpRecorder, tokio::task::JoinHandle<Vec<String>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = format!("http://{}", listener.local_addr().expect("an address"));
    let answering = tokio::spawn(async move {
        let mut asked = Vec::new();
        for answer in answers {
            let (mut stream, _) = listener.accept().await.expect("a connection");
            let mut request = String::new();
            let is_whole = |request: &str| {
                let Some((head, body)) = request.split_once("\r\n\r\n") else {
                    return false;
                };
                let length = head
                    .lines()
                    .find_map(|line| line.strip_prefix("content-length: "));
                length.and_then(|length| length.parse().ok()) == Some(body.len())
            };
            while !is_whole(&request) {
                let mut bytes = [0; 4096];
                let count = stream.read(&mut bytes).await.expect("readable");
                assert!(count > 0, "the request ends early: {request}");
                request.push_str(&String::from_utf8_lossy(&bytes[..count]));
            }
            asked.push(request);
            stream.write_all(answer.as_bytes()).await.expect("written");
        }
        asked
    });
    (
        HttpRecorder::new(&address, "rmb_write_x").expect("an address"),
        answering,
    )
}

fn answer(status: &str, headers: &str, body: &str) -> String {
    format!(
        "HTTP/1.1 {status}\r\nconnection: close\r\n{headers}content-length: {}\r\n\r\n{body}",
        body.len()
    )
}

#[tokio::test]
async fn one_result_per_event_says_what_became_of_it() {
    let body = r#"{"results":[{"status":"recorded","id":"1"},{"status":"duplicate"},
        {"status":"rejected","problem":{"type":"urn:remembrancer:problem:id-conflict"}}]}"#;
    let (recorder, asked) = recorder(vec![answer("200 OK", "", body)]).await;
    let events: [&[u8]; 3] = [b"{\"a\":\n1}", b"{}", b"{}"];
    let taken = recorder.append(&events).await.expect("an answer");
    assert_eq!(
        taken,
        [
            Taken::Recorded,
            Taken::Recorded,
            Taken::Rejected(Rejection::named("id-conflict"))
        ]
    );
    let asked = asked.await.expect("no panic").remove(0);
    assert!(
        asked.starts_with("POST /v1/events HTTP/1.1\r\n")
            && asked.contains("authorization: Bearer rmb_write_x")
    );
    assert!(asked.ends_with("[{\"a\":\n1},{},{}]"), "{asked}");
}

#[tokio::test]
async fn what_may_go_later_is_told_from_what_is_refused() {
    let problem = r#"{"type":"urn:remembrancer:problem:busy"}"#;
    let answers = [
        ("429 Too Many Requests", "retry-after: 7\r\n"),
        ("503 Service Unavailable", "retry-after: 2\r\n"),
        ("401 Unauthorized", ""),
        ("500 Internal Server Error", ""),
        (
            "308 Permanent Redirect",
            "location: http://127.0.0.1:1/\r\n",
        ),
        ("404 Not Found", ""),
        ("413 Payload Too Large", ""),
    ];
    let all = answers.map(|(status, headers)| answer(status, headers, problem));
    let with_too_few = answer("200 OK", "", r#"{"results":[]}"#);
    let (recorder, _asked) = recorder(all.into_iter().chain([with_too_few]).collect()).await;
    let mut told = Vec::new();
    for _ in 0..answers.len() + 1 {
        told.push(
            recorder
                .append(&[b"{}"])
                .await
                .expect_err("nothing is taken"),
        );
    }
    let afters: Vec<Option<Option<u64>>> = told
        .iter()
        .map(|error| match error {
            DeliveryError::Later { after, .. } => Some(after.map(|after| after.as_secs())),
            DeliveryError::Slow(_) | DeliveryError::Refused(_) => None,
        })
        .collect();
    assert_eq!(
        afters,
        [
            Some(Some(7)),
            Some(Some(2)),
            Some(None),
            Some(None),
            Some(None),
            Some(None),
            None,
            Some(None)
        ]
    );
    assert!(
        told[2].to_string().contains("refuses the key")
            && !told[2].to_string().contains("rmb_write_x")
    );
    assert!(told[6].to_string().contains("busy"));
}

#[tokio::test]
async fn only_a_recorder_refuses_for_good() {
    let problem = r#"{"type":"urn:remembrancer:problem:invalid-event"}"#;
    let (recorder, _asked) = recorder(vec![
        answer("400 Bad Request", "", "<html>a proxy's page</html>"),
        answer("422 Unprocessable Content", "", r#"{"type":"about:blank"}"#),
        answer("400 Bad Request", "", problem),
        answer("413 Payload Too Large", "", "<html>too large</html>"),
    ])
    .await;
    let mut are_refused = Vec::new();
    for _ in 0..4 {
        let error = recorder
            .append(&[b"{}"])
            .await
            .expect_err("nothing is taken");
        are_refused.push(matches!(error, DeliveryError::Refused(_)));
    }
    assert_eq!(are_refused, [false, false, true, true]);
}

#[test]
fn an_address_with_a_password_is_refused_and_not_repeated() {
    for address in [
        "http://user:secret@127.0.0.1:7171",
        "http://secret@127.0.0.1:7171",
    ] {
        let error = HttpRecorder::new(address, "k").err().expect("refused");
        assert!(matches!(error, HttpRecorderError::Credentials));
        assert!(!error.to_string().contains("secret"), "{error}");
    }
}

#[tokio::test]
async fn only_blobs_that_are_missing_are_sent() {
    let (one, two) = (b"one".as_slice(), b"two".as_slice());
    let missing = format!("{{\"missing\":[\"{}\"]}}", ContentHash::of(two));
    let (recorder, asked) = recorder(vec![
        answer("200 OK", "", &missing),
        answer("201 Created", "", "{}"),
    ])
    .await;
    assert_eq!(recorder.store_blobs(&[one, two]).await, Ok(2));
    let asked = asked.await.expect("no panic");
    assert!(asked[0].starts_with("POST /v1/blobs/missing "));
    assert!(
        asked[1].starts_with(&format!("PUT /v1/blobs/{} ", ContentHash::of(two)))
            && asked[1].ends_with("two")
    );
}

#[tokio::test]
async fn nobody_there_is_a_reason_to_wait() {
    let gone = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = format!("http://{}", gone.local_addr().expect("an address"));
    drop(gone);
    let recorder = HttpRecorder::new(&address, "k").expect("an address");
    assert!(matches!(
        recorder.append(&[b"{}"]).await,
        Err(DeliveryError::Later { after: None, .. })
    ));
    for bad in ["", "127.0.0.1:7171", "ftp://x", "http://"] {
        assert!(HttpRecorder::new(bad, "k").is_err(), "{bad}");
    }
    assert!(matches!(
        HttpRecorder::new(&address, "two\nlines"),
        Err(HttpRecorderError::Key)
    ));
}
