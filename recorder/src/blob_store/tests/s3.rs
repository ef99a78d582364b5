//! The moto server stands for S3. Without it these tests fail where CI is set, and are skipped, visibly, elsewhere.

#![allow(clippy::print_stderr, reason = "a test says that it is skipped")]

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};

use object_store::aws::AmazonS3Builder;

use super::*;

/// A running server, killed when the test ends.
struct Moto {
    child: Child,
    endpoint: String,
}

impl Moto {
    /// Starts one on a free port, or on a given one.
    fn start(port: &str) -> Option<Self> {
        let python = std::env::var("REMEMBRANCER_PYTHON").unwrap_or_else(|_| "python3".to_owned());
        let has_moto = Command::new(&python)
            .args(["-c", "import moto.server, flask"])
            .output()
            .is_ok_and(|done| done.status.success());
        if !has_moto {
            assert!(
                std::env::var_os("CI").is_none(),
                "{python} has no moto: pip install 'moto[server]'"
            );
            eprintln!("skipped: {python} has no moto");
            return None;
        }
        let mut child = Command::new(&python)
            .args(["-m", "moto.server", "-H", "127.0.0.1", "-p", port])
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("moto starts");
        let mut lines = BufReader::new(child.stderr.take().expect("piped")).lines();
        let endpoint = lines
            .by_ref()
            .map_while(Result::ok)
            .find_map(|line| Some(line[line.find("http://127.0.0.1:")?..].trim().to_owned()))
            .expect("moto prints its address");
        // Its log is read on, so that it never waits for room in the pipe.
        std::thread::spawn(move || lines.map_while(Result::ok).for_each(drop));
        Some(Self { child, endpoint })
    }

    fn make_bucket(&self, name: &str) {
        let address = self
            .endpoint
            .trim_start_matches("http://")
            .trim_end_matches('/');
        let mut stream = TcpStream::connect(address).expect("moto listens");
        let request = format!(
            "PUT /{name} HTTP/1.1\r\nHost: {address}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
        );
        stream.write_all(request.as_bytes()).expect("sent");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("answered");
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    }

    fn store(&self, location: &str) -> BlobStore {
        store_at(&self.endpoint, location)
    }
}

impl Drop for Moto {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

fn store_at(endpoint: &str, location: &str) -> BlobStore {
    let location: BlobLocation = location.parse().expect("a location");
    let builder = AmazonS3Builder::new()
        .with_endpoint(endpoint)
        .with_region("eu-central-1")
        .with_access_key_id("test")
        .with_secret_access_key("test");
    let connected = connect::s3(&location, builder).expect("a client");
    BlobStore::from_parts(connected, location)
}

#[tokio::test]
async fn a_bucket_keeps_the_contract() {
    let Some(moto) = Moto::start("0") else { return };
    moto.make_bucket("bucket");
    for location in ["s3://bucket", "s3://bucket/a/prefix"] {
        let store = moto.store(location);
        keeps_the_contract(&store).await;
        takes_the_same_blob_from_many(&store).await;
    }
}

#[tokio::test]
async fn other_bytes_in_a_bucket_are_found() {
    let Some(moto) = Moto::start("0") else { return };
    moto.make_bucket("bucket");
    let store = moto.store("s3://bucket/prefix");
    let blob = blob("content");
    store.put(&blob).await.unwrap();
    let path = store.path(blob.hash());
    let overwrite = store.store.put(&path, PutPayload::from_static(b"CONTENT"));
    overwrite.await.unwrap();
    let Ok(Fetched::Damaged(reason)) = store.fetch(blob.hash()).await else {
        panic!("other bytes were taken for the blob");
    };
    assert!(
        reason.contains(&ContentHash::of(b"CONTENT").to_string()),
        "{reason}"
    );
    let refused = store.put(&blob).await.unwrap_err();
    assert!(
        matches!(refused, BlobStoreError::Occupied { .. }),
        "{refused}"
    );
}

#[tokio::test]
async fn a_service_that_is_down_or_a_bucket_that_is_not_there_is_no_missing_blob() {
    let Some(moto) = Moto::start("0") else { return };
    let blob = blob("content");
    let no_bucket = moto.store("s3://no-such-bucket");
    for outcome in [
        no_bucket.fetch(blob.hash()).await.map(|_| ()),
        no_bucket.put(&blob).await.map(|_| ()),
        no_bucket.claim(&origin("ledger.example/ours"), false).await,
    ] {
        let error = outcome.unwrap_err();
        assert!(
            matches!(error, BlobStoreError::Unavailable { .. })
                && error.to_string().contains("NoSuchBucket"),
            "{error}"
        );
    }

    moto.make_bucket("bucket");
    let store = moto.store("s3://bucket");
    store.put(&blob).await.unwrap();
    let port = moto
        .endpoint
        .rsplit(':')
        .next()
        .unwrap()
        .trim_end_matches('/')
        .to_owned();
    drop(moto);
    for outcome in [
        store.fetch(blob.hash()).await.map(|_| ()),
        store.put(&blob).await.map(|_| ()),
    ] {
        assert!(
            matches!(outcome, Err(BlobStoreError::Unavailable { .. })),
            "{outcome:?}"
        );
    }

    // The same client works again once the service does.
    let moto = Moto::start(&port).expect("it started before");
    moto.make_bucket("bucket");
    assert_eq!(store.put(&blob).await, Ok(Put::Written));
}

#[tokio::test]
async fn a_client_with_tls_can_be_made_and_says_what_failed() {
    // Nothing listens on port 9; that the client exists at all shows that TLS has its algorithms.
    let store = store_at("https://127.0.0.1:9", "s3://bucket");
    let error = store.fetch(&ContentHash::of(b"x")).await.unwrap_err();
    assert!(
        matches!(error, BlobStoreError::Unavailable { .. }),
        "{error}"
    );
}
