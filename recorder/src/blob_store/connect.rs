//! How the store is reached: the local folder, or an S3 client with its limits of time.

use std::net::IpAddr;
use std::path::Path as FilePath;
use std::sync::Arc;
use std::time::Duration;

use axum::http::Uri;
use object_store::aws::{AmazonS3Builder, AmazonS3ConfigKey, Checksum};
use object_store::local::LocalFileSystem;
use object_store::path::Path;
use object_store::{BackoffConfig, ClientConfigKey, ObjectStore, RetryConfig};

use super::BlobLocation;
use super::error::{BlobStoreError, reason};

/// Longest time that one request to S3 may take.
const REQUEST_TIME: &str = "30s";
/// Longest time until a connection stands.
const CONNECT_TIME: &str = "5s";
/// A failed request is tried again this often, within [`RETRY_TIME`] of the first one.
const RETRIES_MAX: usize = 3;
const RETRY_TIME: Duration = Duration::from_secs(15);

/// A client and the path in it below which everything is kept.
pub(super) struct Connected {
    pub(super) store: Arc<dyn ObjectStore>,
    pub(super) root: Path,
}

/// Makes the client. Nothing is read or written yet.
pub(super) fn connect(location: &BlobLocation) -> Result<Connected, BlobStoreError> {
    match location {
        BlobLocation::Folder(folder) => local(location, folder),
        // Region, endpoint and credentials by the variables that AWS's own tools read.
        BlobLocation::S3 { .. } => s3(location, AmazonS3Builder::from_env()),
    }
}

fn settings(location: &BlobLocation, error: &dyn std::error::Error) -> BlobStoreError {
    BlobStoreError::Settings {
        location: location.to_string(),
        reason: reason(error),
    }
}

fn local(location: &BlobLocation, folder: &FilePath) -> Result<Connected, BlobStoreError> {
    let absolute = std::path::absolute(folder).map_err(|error| settings(location, &error))?;
    let root = Path::from_absolute_path(absolute).map_err(|error| settings(location, &error))?;
    Ok(Connected {
        // With fsync a write returns after the file and every folder that it changed are on the disk.
        store: Arc::new(LocalFileSystem::new().with_fsync(true)),
        root,
    })
}

/// An S3 client from settings that are already in the builder.
pub(super) fn s3(
    location: &BlobLocation,
    builder: AmazonS3Builder,
) -> Result<Connected, BlobStoreError> {
    let BlobLocation::S3 { bucket, prefix } = location else {
        return Err(BlobStoreError::Settings {
            location: location.to_string(),
            reason: "it is not in S3".to_owned(),
        });
    };
    let root = Path::parse(prefix).map_err(|error| settings(location, &error))?;
    install_crypto_provider();
    let client = |key| AmazonS3ConfigKey::Client(key);
    let retry = RetryConfig {
        backoff: BackoffConfig {
            max_backoff: Duration::from_secs(2),
            ..BackoffConfig::default()
        },
        max_retries: RETRIES_MAX,
        retry_timeout: RETRY_TIME,
    };
    let mut builder = builder
        .with_bucket_name(bucket)
        // The service compares what arrived with this before it stores anything.
        .with_checksum_algorithm(Checksum::SHA256)
        .with_retry(retry)
        .with_config(client(ClientConfigKey::Timeout), REQUEST_TIME)
        .with_config(client(ClientConfigKey::ConnectTimeout), CONNECT_TIME);
    if let Some(endpoint) = plain_http_endpoint(&builder) {
        let is_allowed = builder
            .get_config_value(&client(ClientConfigKey::AllowHttp))
            .is_some_and(|value| value == "true");
        if is_loopback(&endpoint) {
            builder = builder.with_config(client(ClientConfigKey::AllowHttp), "true");
        } else if !is_allowed {
            return Err(BlobStoreError::PlainHttp {
                endpoint: shown(&endpoint),
            });
        }
    }
    let store = builder
        .build()
        .map_err(|error| settings(location, &error))?;
    Ok(Connected {
        store: Arc::new(store),
        root,
    })
}

/// The endpoint that will be used, if it is one without TLS.
fn plain_http_endpoint(builder: &AmazonS3Builder) -> Option<String> {
    [AmazonS3ConfigKey::S3Endpoint, AmazonS3ConfigKey::Endpoint]
        .iter()
        .find_map(|key| builder.get_config_value(key))
        .filter(|endpoint| !endpoint.starts_with("https://"))
}

fn is_loopback(endpoint: &str) -> bool {
    let Ok(address) = endpoint.parse::<Uri>() else {
        return false;
    };
    let host = address.host().unwrap_or_default();
    let host = host.trim_start_matches('[').trim_end_matches(']');
    host == "localhost" || host.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback())
}

/// The endpoint without what may be secret in it.
fn shown(endpoint: &str) -> String {
    endpoint
        .parse::<Uri>()
        .ok()
        .and_then(|address| address.authority().map(ToString::to_string))
        .map_or_else(
            || "its endpoint".to_owned(),
            |authority| authority.rsplit('@').next().unwrap_or_default().to_owned(),
        )
}

/// TLS needs one implementation of its algorithms per process; whoever makes a client first installs it.
pub fn install_crypto_provider() {
    if rustls::crypto::CryptoProvider::get_default().is_none() {
        // Another thread may have been faster, which is as good.
        drop(rustls::crypto::ring::default_provider().install_default());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with_endpoint(endpoint: &str, allow_http: bool) -> Result<Connected, BlobStoreError> {
        let location = "s3://bucket/prefix".parse().unwrap();
        let builder = AmazonS3Builder::new()
            .with_endpoint(endpoint)
            .with_allow_http(allow_http);
        s3(&location, builder)
    }

    #[test]
    fn a_password_in_an_endpoint_is_not_shown() {
        assert_eq!(
            shown("http://user:secret@minio.example:9000/x"),
            "minio.example:9000"
        );
    }

    #[test]
    fn only_this_machine_is_reached_without_tls() {
        for (endpoint, allow_http, is_fine) in [
            ("http://127.0.0.1:9000", false, true),
            ("http://localhost:9000/path", false, true),
            ("http://[::1]:9000", false, true),
            ("https://minio.example:9000", false, true),
            ("http://minio.example:9000", false, false),
            ("http://127.0.0.1.example.org", false, false),
            ("http://localhost@minio.example", false, false),
            ("http://10.0.0.1:9000", false, false),
            ("http://minio.example:9000", true, true),
        ] {
            let made = with_endpoint(endpoint, allow_http);
            assert_eq!(made.is_ok(), is_fine, "{endpoint} {allow_http}");
            if !is_fine {
                let error = made
                    .err()
                    .map(|error| error.to_string())
                    .unwrap_or_default();
                let host = shown(endpoint);
                assert!(
                    error.contains(&host) && error.contains("https://"),
                    "{error}"
                );
            }
        }
    }
}
