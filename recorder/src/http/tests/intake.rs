//! Routes for what other programs send, with an intake that tells what it was given.

use async_trait::async_trait;
use bytes::Bytes;

use super::*;
use crate::store::faulty::{Fault, Step};
use crate::{Intake, IntakeAnswer, IntakeDescription, IntakeRequest, OwnedEvent};

/// Where the tests' intake is mounted.
pub(super) const ECHO: &str = "/v1/echo";
const MEDIA: &str = "application/x-echo";

/// Appends the body, if it has any, as the text of a note to the session `s`, and says what it was given.
pub(super) struct Echo;

#[async_trait]
impl Intake for Echo {
    fn description(&self) -> IntakeDescription {
        IntakeDescription {
            summary: "Says what it was given",
            media_types: &[MEDIA],
            answers: &[("200", "What was given")],
        }
    }

    async fn take(&self, request: IntakeRequest) -> IntakeAnswer {
        let text = String::from_utf8_lossy(&request.body).into_owned();
        let mut recorded = 0;
        if !text.is_empty() {
            let blob = Bytes::from(format!("blob of {text}"));
            if let Err(error) = request.store_blob(blob).await {
                return self.refuse(&request.headers, &error.into());
            }
            let note = note_text("s", &text, "x");
            let event = OwnedEvent::parse(Bytes::from(note)).expect("an event");
            match request.append(vec![event]).await {
                Ok(outcomes) => recorded = outcomes.len(),
                Err(error) => return self.refuse(&request.headers, &error.into()),
            }
        }
        let mut names: Vec<String> = request.headers.keys().map(ToString::to_string).collect();
        names.sort();
        let told = json!({
            "path": request.path,
            "workspace": request.workspace().to_string(),
            "recorded": recorded,
            "bytes": text.len(),
            "headers": names,
        });
        IntakeAnswer::new(StatusCode::OK, MEDIA, told.to_string().into_bytes())
    }

    fn refuse(&self, _: &HeaderMap, problem: &Problem) -> IntakeAnswer {
        let status = match problem.kind {
            Slug::Busy | Slug::RateLimited => StatusCode::SERVICE_UNAVAILABLE,
            kind => kind.status(),
        };
        let told = format!("echo: {}", problem.kind.as_str());
        let answer = IntakeAnswer::new(status, MEDIA, told.into_bytes());
        match problem.seconds_to_wait() {
            Some(seconds) => answer.retry_after(seconds),
            None => answer,
        }
    }
}

impl TestApi {
    async fn echo(&self, headers: &[(&str, &str)], body: impl Into<Body>) -> Answer {
        let mut request = HttpRequest::post(ECHO)
            .header("authorization", format!("Bearer {}", self.write))
            .header("content-type", MEDIA);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        self.send(request.body(body.into()).expect("valid")).await
    }
}

impl Answer {
    fn echoed(&self) -> (u16, &str) {
        assert_eq!(self.headers[header::CONTENT_TYPE], MEDIA);
        let text = std::str::from_utf8(&self.bytes).expect("text");
        (self.status, text)
    }
}

#[tokio::test]
async fn an_intake_gets_the_unpacked_body_and_no_key_and_its_answer_is_sent_as_it_is() {
    let api = api_with_sessions().await;
    let before = api.size().await;
    let answer = api.echo(&[("x-format", "7")], "n1").await;
    assert_eq!(answer.status, 200);
    assert_eq!(answer.headers[header::CONTENT_TYPE], MEDIA);
    assert_eq!(answer.headers[header::CACHE_CONTROL], "no-store");
    let told = answer.json();
    assert_eq!(
        (&told["path"], &told["workspace"], &told["recorded"]),
        (&json!(ECHO), &json!("default"), &json!(1))
    );
    assert_eq!(told["headers"], json!(["content-type", "x-format"]));
    assert_eq!(api.size().await, before + 1);

    let mut packer = async_compression::tokio::bufread::GzipEncoder::new(&b"n2"[..]);
    let mut packed = Vec::new();
    tokio::io::copy(&mut packer, &mut packed)
        .await
        .expect("packs");
    let unpacked = api.echo(&[("content-encoding", "gzip")], packed).await;
    assert_eq!(
        (unpacked.status, &unpacked.json()["bytes"]),
        (200, &json!(2))
    );
}

#[tokio::test]
async fn what_is_refused_before_an_intake_has_the_intake_s_form() {
    let api = TestApi::with_limits(Limits {
        batch_bytes_max: 64 * 1024,
        key_requests_per_second_max: 1,
        key_requests_burst_max: 4,
        ..Limits::default()
    })
    .await;
    let large = api.echo(&[], vec![b'x'; 64 * 1024 + 1]).await;
    assert_eq!(large.echoed(), (413, "echo: batch-too-large"));
    let packed = api.echo(&[("content-encoding", "br")], "x").await;
    assert_eq!(packed.echoed(), (415, "echo: unsupported-media-type"));
    let broken = api.echo(&[("content-encoding", "gzip")], "no gzip").await;
    assert_eq!(broken.echoed(), (400, "echo: bad-encoding"));
    let no_key = HttpRequest::post(ECHO).body(Body::empty()).expect("valid");
    let no_key = api.send(no_key).await;
    assert_eq!(no_key.echoed(), (401, "echo: unauthorized"));
    assert!(no_key.headers.contains_key(header::WWW_AUTHENTICATE));
    assert_eq!(no_key.headers[header::CACHE_CONTROL], "no-store");
    assert_eq!(api.echo(&[], "").await.status, 200);
    let rated = api.echo(&[], "").await;
    assert_eq!(rated.echoed(), (503, "echo: rate-limited"));
    assert_eq!(rated.headers[header::RETRY_AFTER], "1");
}

#[tokio::test]
async fn an_intake_tells_its_sender_to_wait_while_the_ledger_does_not_write() {
    let api = api_with_sessions().await;
    api.test.plan.add(Step::Commit, Fault::NotDone);
    let answer = api.echo(&[], "n1").await;
    assert_eq!(answer.echoed(), (503, "echo: unavailable"));
    assert_eq!(answer.headers[header::RETRY_AFTER], "10");
    let get = HttpRequest::get(ECHO)
        .header("authorization", format!("Bearer {}", api.read))
        .body(Body::empty())
        .expect("valid");
    let get = api.send(get).await;
    assert_eq!(get.echoed(), (405, "echo: method-not-allowed"));
    assert_eq!(get.headers[header::ALLOW], "POST");
}
