//! Requests to the recorder from a hook: a process that lives for some milliseconds has no time for a runtime or for TLS, and an
//! end after which nobody waits for an answer.

use std::time::{Duration, Instant};

use bytes::Bytes;
use futures_util::FutureExt as _;
use remembrancer_capture::delivery::{
    ANSWER_BYTES_MAX, Answer, ApiRecorder, DeliveryError, Method, Transport, hand_over,
};
use remembrancer_capture::spool::{Drainer, Spool};

use super::place::Place;
use super::sending::{REQUEST_TIME, Report, SendError, unconnected};

/// Most records of one request.
const BATCH_RECORDS_MAX: usize = 100;
/// Most bytes of one request, unless a single record has more.
const BATCH_BYTES_MAX: usize = 1024 * 1024;

/// One connection's worth of a recorder.
pub(super) struct Sender<'a> {
    spool: &'a Spool,
    recorder: ApiRecorder<BlockingTransport>,
}

/// The way to the recorder. It waits where it is called: a future that uses it never has to be asked twice.
struct BlockingTransport {
    url: String,
    key: String,
    until: Option<Instant>,
    agent: ureq::Agent,
}

impl<'a> Sender<'a> {
    pub(super) fn new(place: &Place, spool: &'a Spool, until: Option<Instant>) -> Self {
        let config = ureq::Agent::config_builder()
            .http_status_as_error(false)
            .max_redirects(0)
            // The recorder is on this machine; a proxy that is meant for other addresses has no part in it.
            .proxy(None)
            .user_agent("remembrancer-hook")
            .build();
        let transport = BlockingTransport {
            url: place.url.clone(),
            key: place.key.clone().unwrap_or_default(),
            until,
            agent: config.into(),
        };
        Self {
            spool,
            recorder: ApiRecorder::over(transport),
        }
    }

    /// Delivers what waits, for a hook that appended the last `own` records; then what was lost is told.
    pub(super) fn drain(
        &self,
        mut drainer: Drainer,
        own: usize,
        report: &mut Report,
    ) -> Result<(), SendError> {
        let mut is_first = true;
        loop {
            let mut batch = drainer.next(BATCH_RECORDS_MAX, BATCH_BYTES_MAX)?;
            let older = batch.records.len().saturating_sub(own);
            if is_first && own > 0 && older > 0 {
                batch = drainer.next(older, BATCH_BYTES_MAX)?;
            }
            is_first = false;
            // Behind everything else, so that their sessions are there.
            let gaps = match batch.is_empty() {
                true => drainer.gaps()?,
                false => Vec::new(),
            };
            if batch.is_empty() && gaps.is_empty() {
                return Ok(());
            }
            let handed = hand_over(&self.recorder, &batch, &gaps)
                .now_or_never()
                .expect("the transport waits where it is called")?;
            report.delivered += handed.delivered;
            report.refused += handed.refused();
            if let Some(refusal) = handed.refusal() {
                report.refusal = Some(refusal.to_string());
            }
            handed.settle(self.spool, &mut drainer, &batch, &gaps)?;
        }
    }
}

impl BlockingTransport {
    fn failed(&self, error: ureq::Error) -> DeliveryError {
        match error {
            ureq::Error::Timeout(ureq::Timeout::Connect | ureq::Timeout::Resolve) => {
                unconnected(&self.url, "no connection in time")
            }
            ureq::Error::Timeout(_) => self.slow(),
            error => unconnected(&self.url, &error.to_string()),
        }
    }

    fn slow(&self) -> DeliveryError {
        slow(&self.url)
    }

    fn time_left(&self) -> Result<Duration, DeliveryError> {
        let Some(until) = self.until else {
            return Ok(REQUEST_TIME);
        };
        let left = until.saturating_duration_since(Instant::now());
        if left < Duration::from_millis(1) {
            return Err(self.slow());
        }
        Ok(left)
    }
}

/// Somebody is there and did not answer in time.
pub(super) fn slow(url: &str) -> DeliveryError {
    DeliveryError::Slow(format!("the recorder at {url} did not answer in time"))
}

#[async_trait::async_trait]
impl Transport for BlockingTransport {
    async fn exchange(
        &self,
        method: Method,
        path: &str,
        media: &'static str,
        body: Bytes,
    ) -> Result<Answer, DeliveryError> {
        let time = self.time_left()?;
        let request = ureq::http::Request::builder()
            .method(method.as_str())
            .uri(format!("{}/{path}", self.url))
            .header("content-type", media)
            .header("authorization", format!("Bearer {}", self.key))
            .body(&body[..])
            // The key is in the request and must not be in the message.
            .map_err(|_| {
                let reason = "the address or the key has characters that neither can have";
                unconnected(&self.url, reason)
            })?;
        let request = self
            .agent
            .configure_request(request)
            .timeout_global(Some(time))
            .timeout_connect(Some(time / 2))
            .build();
        let mut response = self
            .agent
            .run(request)
            .map_err(|error| self.failed(error))?;
        let retry_after = response.headers().get("retry-after");
        let retry_after = retry_after.and_then(|value| value.to_str().ok());
        let retry_after = retry_after.map(str::to_owned);
        let answer = response.body_mut().with_config();
        let answer = answer.limit(ANSWER_BYTES_MAX as u64).read_to_vec();
        Ok(Answer {
            status: response.status().as_u16(),
            retry_after,
            body: answer.map_err(|error| self.failed(error))?.into(),
        })
    }
}
