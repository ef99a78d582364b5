//! Requests to a recorder from a program that runs on: on its runtime, over HTTP or HTTPS.

use std::time::Duration;

use bytes::Bytes;
use reqwest::header::{AUTHORIZATION, CONTENT_TYPE, HeaderValue, RETRY_AFTER};
use reqwest::{Client, Response, Url, redirect};

use super::api::{ANSWER_BYTES_MAX, Answer, ApiRecorder, Method, Transport};
use super::{DeliveryError, later};

/// Longest time for a connection, and for an answer.
const CONNECT_TIME_MAX: Duration = Duration::from_secs(5);
const ANSWER_TIME_MAX: Duration = Duration::from_secs(60);

/// Why a recorder cannot be addressed.
#[derive(Debug, thiserror::Error)]
pub enum HttpRecorderError {
    /// Not an address.
    #[error("{0:?} is not the address of a recorder, such as http://127.0.0.1:7171")]
    Address(String),
    /// An address with a user or a password in it.
    #[error(
        "the recorder's address holds a user or a password: leave them out, and give the key with --key or in REMEMBRANCER_KEY"
    )]
    Credentials,
    /// A key with characters that no header takes.
    #[error("the key has characters that no key has")]
    Key,
    /// The client could not be made.
    #[error("no HTTP client can be made: {0}")]
    Client(reqwest::Error),
}

/// A recorder at an address.
pub type HttpRecorder = ApiRecorder<HttpTransport>;

/// The way to a recorder at an address.
pub struct HttpTransport {
    client: Client,
    base: Url,
    /// Marked as sensitive: it is never shown.
    authorization: HeaderValue,
}

impl HttpRecorder {
    /// The recorder at a base address, with a key that may write.
    pub fn new(address: &str, key: &str) -> Result<Self, HttpRecorderError> {
        let bad = || HttpRecorderError::Address(address.to_owned());
        let base = format!("{}/", address.trim_end_matches('/'));
        let base = Url::parse(&base).map_err(|_| bad())?;
        // Before the address is shown anywhere.
        if !base.username().is_empty() || base.password().is_some() {
            return Err(HttpRecorderError::Credentials);
        }
        if !matches!(base.scheme(), "http" | "https") || base.host_str().is_none() {
            return Err(bad());
        }
        let mut authorization =
            HeaderValue::from_str(&format!("Bearer {key}")).map_err(|_| HttpRecorderError::Key)?;
        authorization.set_sensitive(true);
        crate::tls::install();
        let mut client = Client::builder()
            .connect_timeout(CONNECT_TIME_MAX)
            .timeout(ANSWER_TIME_MAX)
            .redirect(redirect::Policy::none());
        if crate::tls::is_loopback(&base) {
            client = client.no_proxy();
        }
        let client = client.build().map_err(HttpRecorderError::Client)?;
        Ok(Self::over(HttpTransport {
            client,
            base,
            authorization,
        }))
    }
}

#[async_trait::async_trait]
impl Transport for HttpTransport {
    async fn exchange(
        &self,
        method: Method,
        path: &str,
        media: &'static str,
        body: Bytes,
    ) -> Result<Answer, DeliveryError> {
        let address = self.base.join(path).map_err(|error| later(None, error))?;
        let request = match method {
            Method::Post => self.client.post(address),
            Method::Put => self.client.put(address),
        };
        let request = request
            .header(AUTHORIZATION, self.authorization.clone())
            .header(CONTENT_TYPE, media)
            .body(body);
        let response = request.send().await.map_err(failed)?;
        let status = response.status().as_u16();
        let retry_after = response.headers().get(RETRY_AFTER);
        let retry_after = retry_after.and_then(|value| value.to_str().ok());
        Ok(Answer {
            status,
            retry_after: retry_after.map(str::to_owned),
            body: read(response).await?,
        })
    }
}

/// Without the address, which may name what is not to be logged.
fn failed(error: reqwest::Error) -> DeliveryError {
    let (is_slow, reason) = (
        error.is_timeout() && !error.is_connect(),
        told(&error.without_url()),
    );
    match is_slow {
        true => DeliveryError::Slow(reason),
        false => later(None, reason),
    }
}

/// An error with its causes.
fn told(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(error.source(), |cause| cause.source());
    causes.fold(error.to_string(), |told, cause| format!("{told}: {cause}"))
}

async fn read(mut response: Response) -> Result<Bytes, DeliveryError> {
    let mut bytes = Vec::new();
    loop {
        match response.chunk().await {
            Ok(None) => return Ok(bytes.into()),
            Ok(Some(chunk)) if bytes.len() + chunk.len() <= ANSWER_BYTES_MAX => {
                bytes.extend_from_slice(&chunk)
            }
            Ok(Some(_)) => return Err(later(None, "the recorder's answer is too long")),
            Err(error) => return Err(failed(error)),
        }
    }
}

#[cfg(test)]
mod tests;
