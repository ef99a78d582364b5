//! Blobs, and what bodies may be.

use std::time::Duration;

use sqlx::Connection as _;

use super::*;

#[tokio::test]
async fn blobs_are_kept_by_their_hash() {
    let api = api_with_sessions().await;
    let hash = ContentHash::of(b"content").to_string();
    let answer = api.put_blob(&hash, b"other content".to_vec()).await;
    assert_eq!(
        (answer.status, answer.problem().as_str()),
        (422, "blob-hash-mismatch")
    );
    assert_eq!(api.get(&format!("/v1/blobs/{hash}")).await.status, 404);
    assert_eq!(api.put_blob(&hash, b"content".to_vec()).await.status, 201);
    assert_eq!(api.put_blob(&hash, b"content".to_vec()).await.status, 200);
    assert_eq!(
        api.put_blob("xyz", Vec::new()).await.problem(),
        "invalid-parameter"
    );
    let answer = api.get(&format!("/v1/blobs/{hash}")).await;
    assert_eq!(answer.bytes, b"content");
    assert_eq!(answer.headers[header::ETAG], format!("\"{hash}\""));
    let request = HttpRequest::get(format!("/v1/blobs/{hash}"))
        .header("authorization", format!("Bearer {}", api.read))
        .header("if-none-match", format!("\"{hash}\""))
        .body(Body::empty())
        .expect("valid");
    assert_eq!(api.send(request).await.status, 304);
}

#[tokio::test]
async fn a_client_learns_which_blobs_are_missing() {
    let api = api_with_sessions().await;
    let [stored, unknown, other] = [&b"stored"[..], b"unknown", b"other"].map(ContentHash::of);
    let put = api.put_blob(&stored.to_string(), b"stored".to_vec()).await;
    assert_eq!(put.status, 201);
    let ask = async |body: String| {
        let request = HttpRequest::post("/v1/blobs/missing")
            .header("authorization", format!("Bearer {}", api.write))
            .body(Body::from(body))
            .expect("valid");
        api.send(request).await
    };
    let answer = ask(format!(r#"["{unknown}","{stored}","{other}","{unknown}"]"#)).await;
    assert_eq!(answer.status, 200);
    assert_eq!(
        answer.json()["missing"],
        serde_json::json!([unknown.to_string(), other.to_string()])
    );
    let put = api.put_blob(&other.to_string(), b"other".to_vec()).await;
    assert_eq!(put.status, 201);
    let answer = ask(format!(r#"["{other}","{stored}"]"#)).await;
    assert_eq!(answer.json()["missing"], serde_json::json!([]));

    for bad in ["", "{}", r#"["xyz"]"#, "[1]", r#"{"hashes":[]}"#] {
        assert_eq!(
            ask(bad.to_owned()).await.problem(),
            "invalid-parameter",
            "{bad}"
        );
    }
    let list = |count: usize| format!("[{}]", vec![format!("\"{unknown}\""); count].join(","));
    let answer = ask(list(crate::reader::MISSING_HASHES_MAX)).await;
    assert_eq!(answer.json()["missing"].as_array().map(Vec::len), Some(1));
    for large in [
        list(crate::reader::MISSING_HASHES_MAX + 1),
        " ".repeat(1_000_000),
    ] {
        let answer = ask(large).await;
        assert_eq!(
            (answer.status, answer.problem().as_str()),
            (413, "batch-too-large")
        );
    }
}

#[tokio::test]
async fn bodies_are_limited_after_unpacking_and_their_kind_is_checked() {
    let limits = Limits {
        batch_bytes_max: 2000,
        batch_events_max: 3,
        blob_bytes_max: 10,
        ..Limits::default()
    };
    let api = TestApi::with_limits(limits).await;
    let answer = api.post(" ".repeat(2001)).await;
    assert_eq!(
        (answer.status, answer.problem().as_str()),
        (413, "batch-too-large")
    );
    let answer = api.post("[1,2,3,4]").await;
    assert_eq!(
        (answer.status, answer.problem().as_str()),
        (413, "batch-too-large")
    );
    let answer = api
        .put_blob(&ContentHash::of(&[0; 11]).to_string(), vec![0; 11])
        .await;
    assert_eq!(
        (answer.status, answer.problem().as_str()),
        (413, "blob-too-large")
    );
    let answer = api.post_as("text/plain", "{}").await;
    assert_eq!(
        (answer.status, answer.problem().as_str()),
        (415, "unsupported-media-type")
    );

    let packed = |encoding: &str, body: Vec<u8>| {
        let request = HttpRequest::post("/v1/events")
            .header("authorization", format!("Bearer {}", api.write))
            .header("content-type", "application/json")
            .header("content-encoding", encoding)
            .body(Body::from(body))
            .expect("valid");
        api.send(request)
    };
    let answer = packed("br", b"x".to_vec()).await;
    assert_eq!(
        (answer.status, answer.problem().as_str()),
        (415, "unsupported-media-type")
    );
    let answer = packed("gzip", b"not gzip at all".to_vec()).await;
    assert_eq!(
        (answer.status, answer.problem().as_str()),
        (400, "bad-encoding")
    );
    let answer = packed("gzip", gzip_stored(&b" ".repeat(2001))).await;
    assert_eq!(
        (answer.status, answer.problem().as_str()),
        (413, "batch-too-large")
    );
    assert_eq!(api.size().await, 0);
    let answer = packed("gzip", gzip_stored(started_text("s").as_bytes())).await;
    assert_eq!(
        answer.status,
        201,
        "{}",
        String::from_utf8_lossy(&answer.bytes)
    );
    let answer = packed("zstd", zstd_raw(note_text("s", "1", "x").as_bytes())).await;
    assert_eq!(
        answer.status,
        201,
        "{}",
        String::from_utf8_lossy(&answer.bytes)
    );
    assert_eq!(api.size().await, 2);
}

/// A gzip file (RFC 1952) of stored blocks (RFC 1951), which needs no compressor.
fn gzip_stored(bytes: &[u8]) -> Vec<u8> {
    let mut packed = vec![0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255, 1];
    let length = u16::try_from(bytes.len()).expect("short");
    packed.extend(length.to_le_bytes());
    packed.extend((!length).to_le_bytes());
    packed.extend(bytes);
    let crc = bytes.iter().fold(!0u32, |crc, byte| {
        (0..8).fold(crc ^ u32::from(*byte), |crc, _| {
            if crc & 1 == 1 {
                (crc >> 1) ^ 0xedb8_8320
            } else {
                crc >> 1
            }
        })
    });
    packed.extend((!crc).to_le_bytes());
    packed.extend((bytes.len() as u32).to_le_bytes());
    packed
}

/// A zstd frame (RFC 8878) of one raw block, which needs no compressor.
fn zstd_raw(bytes: &[u8]) -> Vec<u8> {
    let mut packed = vec![0x28, 0xb5, 0x2f, 0xfd, 0xa0];
    packed.extend((bytes.len() as u32).to_le_bytes());
    packed.extend(&(((bytes.len() as u32) << 3) | 1).to_le_bytes()[..3]);
    packed.extend(bytes);
    packed
}

/// A zstd frame of one raw block, whose header asks for a window of two to the power of `window_log`.
fn zstd_with_window(bytes: &[u8], window_log: u8) -> Vec<u8> {
    let mut packed = vec![0x28, 0xb5, 0x2f, 0xfd, 0x00, (window_log - 10) << 3];
    packed.extend(&(((bytes.len() as u32) << 3) | 1).to_le_bytes()[..3]);
    packed.extend(bytes);
    packed
}

#[tokio::test]
async fn packed_bodies_cannot_ask_for_much_memory_and_must_be_whole() {
    let api = TestApi::new().await;
    let send = async |encoding: &str, body: Vec<u8>| {
        let request = HttpRequest::post("/v1/events")
            .header("authorization", format!("Bearer {}", api.write))
            .header("content-type", "application/x-ndjson")
            .header("content-encoding", encoding)
            .body(Body::from(body))
            .expect("valid");
        api.send(request).await
    };
    let event = started_text("s");
    let large = zstd_with_window(event.as_bytes(), 24);
    // The second of two frames counts as the first.
    let second = [zstd_with_window(b"\n", 20), large.clone()].concat();
    let gzip = gzip_stored(event.as_bytes());
    let zstd = zstd_raw(event.as_bytes());
    for (encoding, body) in [
        ("zstd", large),
        ("zstd", second),
        ("zstd", zstd[..zstd.len() - 1].to_vec()),
        ("gzip", gzip[..gzip.len() - 1].to_vec()),
        ("gzip", zstd.clone()),
    ] {
        let answer = send(encoding, body.clone()).await;
        assert_eq!(answer.status, 400, "{body:?}");
        assert_eq!(answer.problem(), "bad-encoding");
    }
    assert_eq!(api.size().await, 0);
    let two = [
        zstd_with_window(event.as_bytes(), 23),
        zstd_raw(format!("\n{}", note_text("s", "1", "x")).as_bytes()),
    ];
    assert_eq!(send("zstd", two.concat()).await.status, 200);
    assert_eq!(api.size().await, 2);
    let named = send("GZIP", gzip_stored(note_text("s", "2", "x").as_bytes())).await;
    assert_eq!(named.json()["results"][0]["status"], "recorded");
}

#[tokio::test]
async fn every_member_of_a_gzip_body_counts_and_nothing_else_may_follow() {
    let api = TestApi::new().await;
    let send = async |pieces: Vec<Vec<u8>>| {
        let pieces = futures_util::stream::iter(pieces.into_iter().map(Ok::<_, std::io::Error>));
        let request = HttpRequest::post("/v1/events")
            .header("authorization", format!("Bearer {}", api.write))
            .header("content-type", "application/x-ndjson")
            .header("content-encoding", "gzip")
            .body(Body::from_stream(pieces))
            .expect("valid");
        api.send(request).await
    };
    let first = gzip_stored(format!("{}\n", started_text("s")).as_bytes());
    let second = |id: &str| gzip_stored(format!("{}\n", note_text("s", id, "x")).as_bytes());
    let empty = gzip_stored(b"");
    for junk in [
        &b"x"[..],
        b"\x1f",
        b"\x1f\x8b\x08",
        b"\0\0\0\0",
        b"junk after it",
    ] {
        for one_piece in [true, false] {
            let mut pieces = vec![first.clone(), second("1"), junk.to_vec()];
            if one_piece {
                pieces = vec![pieces.concat()];
            }
            let answer = send(pieces).await;
            assert_eq!(answer.problem(), "bad-encoding", "{junk:?}");
        }
    }
    assert_eq!(api.size().await, 0);
    let whole = [
        first.clone(),
        empty.clone(),
        second("a"),
        empty,
        second("b"),
    ];
    let bytes = whole.concat();
    let cuts = [1, 7, 18, first.len(), first.len() + 1, bytes.len()];
    for length in cuts {
        let pieces = bytes.chunks(length).map(<[u8]>::to_vec).collect();
        let answer = send(pieces).await;
        assert_eq!(answer.status, 200);
        let results = answer.json()["results"].as_array().map(Vec::len);
        assert_eq!(results, Some(3), "in pieces of {length}");
    }
    let answer = send(whole.to_vec()).await;
    assert_eq!(answer.json()["results"].as_array().map(Vec::len), Some(3));
    assert_eq!(api.size().await, 3);
}

#[tokio::test]
async fn too_many_bodies_at_once_are_answered_busy() {
    let limits = Limits {
        uploads_max: 0,
        ..Limits::default()
    };
    let api = TestApi::with_limits(limits).await;
    let answer = api.post(started_text("s")).await;
    assert_eq!((answer.status, answer.problem().as_str()), (429, "busy"));
    assert!(answer.headers.contains_key(header::RETRY_AFTER));
}

#[tokio::test]
async fn a_packed_body_that_announces_too_much_is_refused_at_once() {
    let limits = Limits {
        batch_bytes_max: 1000,
        ..Limits::default()
    };
    let api = TestApi::with_limits(limits).await;
    for encoding in ["gzip", "zstd", "identity"] {
        // It is no packed body at all: nobody looks at it.
        let request = HttpRequest::post("/v1/events")
            .header("authorization", format!("Bearer {}", api.write))
            .header("content-type", "application/json")
            .header("content-encoding", encoding)
            .body(Body::from(vec![b'x'; 1001]))
            .expect("valid");
        let answer = api.send(request).await;
        assert_eq!(
            (answer.status, answer.problem().as_str()),
            (413, "batch-too-large"),
            "{encoding}"
        );
    }
}

/// The place of an upload is taken from its first byte to its answer, so also while it waits for the ledger.
#[tokio::test]
async fn a_body_that_waits_for_the_ledger_keeps_its_place() {
    let limits = Limits {
        uploads_max: 1,
        ..Limits::default()
    };
    let api = TestApi::with_limits(limits).await;
    assert_eq!(api.post(started_text("s")).await.status, 201);
    // Nothing can be committed while another connection holds the write lock.
    let file = api.test.path().join("ledger.sqlite");
    let mut blocker = sqlx::SqliteConnection::connect_with(&crate::store::sqlite::writing(&file))
        .await
        .expect("opens");
    let lock = blocker.begin_with("BEGIN IMMEDIATE").await.expect("locks");
    let waiting = api.post(note_text("s", "1", "x"));
    let meanwhile = async {
        tokio::time::sleep(Duration::from_millis(200)).await;
        let answer = api.post(note_text("s", "2", "x")).await;
        lock.rollback().await.expect("unlocks");
        answer
    };
    let (waited, answer) = tokio::join!(waiting, meanwhile);
    assert_eq!((answer.status, answer.problem().as_str()), (429, "busy"));
    assert_eq!(waited.status, 201);
    assert_eq!(api.post(note_text("s", "2", "x")).await.status, 201);
}
