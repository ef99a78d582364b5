//! The ledger as a tiled log.

use remembrancer_schema::checkpoint::Checkpoint;
use remembrancer_schema::merkle::{leaf_hash, verify_consistency, verify_inclusion};
use remembrancer_schema::tile::{
    FetchedTiles, Tile, entries_match, read_entries, tiles_for_consistency, tiles_for_inclusion,
};
use remembrancer_schema::verifier_key::VerifierKey;

use super::*;

/// A ledger of one session with so many entries.
async fn grown(entries: usize) -> TestApi {
    let api = TestApi::new().await;
    let mut events = vec![started_text("s")];
    events.extend((1..entries).map(|number| note_text("s", &format!("n{number}"), "x")));
    for events in events.chunks(500) {
        let answer = api.post(format!("[{}]", events.join(","))).await;
        assert_eq!(answer.status, 200);
    }
    api
}

impl TestApi {
    async fn bytes(&self, uri: &str) -> Vec<u8> {
        let answer = self.get(uri).await;
        assert_eq!(answer.status, 200, "{uri}");
        assert_eq!(
            answer.headers[header::CONTENT_TYPE],
            "application/octet-stream"
        );
        answer.bytes
    }

    async fn get_with(&self, uri: &str, name: header::HeaderName, value: &str) -> Answer {
        let request = HttpRequest::get(uri)
            .header("authorization", format!("Bearer {}", self.read))
            .header(name, value)
            .body(Body::empty())
            .expect("valid");
        self.send(request).await
    }
}

#[tokio::test]
async fn proofs_from_served_tiles_lead_to_the_served_checkpoint() {
    let api = grown(700).await;
    let answer = api.get("/tlog/checkpoint").await;
    assert_eq!(
        answer.headers[header::CONTENT_TYPE],
        "text/plain; charset=utf-8"
    );
    assert_eq!(answer.headers[header::CACHE_CONTROL], "no-store");
    assert_eq!(answer.bytes, api.get("/v1/checkpoint").await.bytes);
    let note = String::from_utf8(answer.bytes).expect("text");
    let line = String::from_utf8(api.get("/v1/verifier-key").await.bytes).expect("text");
    let verifier: VerifierKey = line.parse().expect("a key");
    assert_eq!(verifier.key, *api.test.ledger.public_key());
    let checkpoint = Checkpoint::verify(&note, &verifier.key).expect("signed");
    assert_eq!((checkpoint.size, &checkpoint.origin), (700, &verifier.name));

    let fetch = async |tiles: std::collections::BTreeSet<Tile>| {
        let mut fetched = FetchedTiles::new(checkpoint.size);
        for tile in tiles {
            let bytes = api.bytes(&format!("/tlog/tile/{tile}")).await;
            fetched.add(tile, &bytes).expect("whole");
        }
        fetched
    };
    for index in [0, 255, 256, 600, 699] {
        let tiles = tiles_for_inclusion(index, checkpoint.size).expect("in range");
        let fetched = fetch(tiles).await;
        let stored = api.test.ledger.reader().entries_from(index, 1).await;
        let leaf = leaf_hash(&stored.expect("reads")[0].bytes);
        let proof = fetched.inclusion_proof(index).expect("all there");
        let held = verify_inclusion(&leaf, index, checkpoint.size, &proof, &checkpoint.root);
        assert_eq!(held, Ok(()), "{index}");
    }
    for old in [1, 256, 300, 512, 700] {
        let tiles = tiles_for_consistency(old, checkpoint.size).expect("in range");
        let proof = fetch(tiles)
            .await
            .consistency_proof(old)
            .expect("all there");
        let old_root = api.test.ledger.reader().root(old).await.expect("known");
        let held = verify_consistency(old, checkpoint.size, &old_root, &checkpoint.root, &proof);
        assert_eq!(held, Ok(()), "{old}");
    }
}

#[tokio::test]
async fn tiles_and_bundles_are_there_at_every_width_that_the_ledger_had() {
    let api = grown(260).await;
    for (place, width) in [
        ("000", 256),
        ("000.p/1", 1),
        ("000.p/255", 255),
        ("001.p/4", 4),
    ] {
        let hashes = api.bytes(&format!("/tlog/tile/0/{place}")).await;
        assert_eq!(hashes.len(), width * 32, "{place}");
        let hashes: Vec<TreeHash> = hashes
            .as_chunks::<32>()
            .0
            .iter()
            .map(|hash| TreeHash::from_bytes(*hash))
            .collect();
        let bundle = api.bytes(&format!("/tlog/tile/entries/{place}")).await;
        let entries = read_entries(&bundle, width as u64).expect("whole");
        assert!(entries_match(&entries, &hashes), "{place}");
    }
    let above = api.bytes("/tlog/tile/1/000.p/1").await;
    assert_eq!(
        above,
        api.test
            .ledger
            .reader()
            .root(256)
            .await
            .expect("known")
            .as_bytes()
    );
    for absent in [
        "/tlog/tile/0/001",
        "/tlog/tile/0/001.p/5",
        "/tlog/tile/0/002.p/1",
        "/tlog/tile/1/000",
        "/tlog/tile/1/000.p/2",
        "/tlog/tile/2/000.p/1",
        "/tlog/tile/63/000.p/1",
        "/tlog/tile/entries/001.p/5",
        "/tlog/tile/entries/x018/x446/x744/x073/x709/x551/615",
        "/tlog",
        "/tlog/",
        "/tlog/nothing",
        "/tlog/tile/",
    ] {
        assert_eq!(api.get(absent).await.problem(), "not-found", "{absent}");
    }
    for wrong in [
        "/tlog/tile/0/0",
        "/tlog/tile/64/000",
        "/tlog/tile/00/000",
        "/tlog/tile/0/000.p/0",
        "/tlog/tile/0/000.p/256",
        "/tlog/tile/0/x000/000",
        "/tlog/tile/0",
        "/tlog/tile/%ff/000",
        "/tlog/tile/entries/0",
        "/tlog/tile/entries/000.p/01",
        "/tlog/tile/-1/000",
    ] {
        let answer = api.get(wrong).await;
        assert_eq!(
            (answer.status, answer.problem().as_str()),
            (400, "invalid-parameter"),
            "{wrong}"
        );
    }
    assert_eq!(
        TestApi::new().await.get("/tlog/checkpoint").await.problem(),
        "not-found"
    );
}

#[tokio::test]
async fn tiles_may_be_kept_for_ever_by_their_reader_and_bundles_come_packed_if_asked_for() {
    let api = grown(100).await;
    for uri in ["/tlog/tile/0/000.p/100", "/tlog/tile/entries/000.p/100"] {
        let answer = api.get(uri).await;
        assert_eq!(
            answer.headers[header::CACHE_CONTROL],
            "private, max-age=31536000, immutable"
        );
        assert_eq!(
            answer.headers[header::VARY],
            "authorization, accept-encoding"
        );
        assert!(!answer.headers.contains_key(header::CONTENT_ENCODING));
        let tag = answer.headers[header::ETAG].to_str().expect("text");
        assert_eq!(
            api.get_with(uri, header::IF_NONE_MATCH, tag).await.status,
            304
        );
    }
    let uri = "/tlog/tile/entries/000.p/100";
    let plain = api.bytes(uri).await;
    for (accepted, is_packed) in [
        ("gzip", true),
        ("br, GZIP;q=0.5", true),
        ("*", true),
        ("gzip;q=0", false),
        ("gzip;q=0.0, *", false),
        ("identity", false),
        ("*;q=0", false),
        ("", false),
    ] {
        let answer = api.get_with(uri, header::ACCEPT_ENCODING, accepted).await;
        let coding = answer.headers.get(header::CONTENT_ENCODING);
        assert_eq!(coding.is_some(), is_packed, "{accepted:?}");
        if is_packed {
            assert!(
                answer.bytes.len() < plain.len() / 2,
                "{}",
                answer.bytes.len()
            );
            assert_eq!(unpacked(&answer.bytes).await, plain);
        } else {
            assert_eq!(answer.bytes, plain);
        }
    }
    let hashes = "/tlog/tile/0/000.p/100";
    let answer = api.get_with(hashes, header::ACCEPT_ENCODING, "gzip").await;
    assert!(!answer.headers.contains_key(header::CONTENT_ENCODING));
}

async fn unpacked(bytes: &[u8]) -> Vec<u8> {
    use tokio::io::AsyncReadExt as _;
    let mut plain = Vec::new();
    async_compression::tokio::bufread::GzipDecoder::new(bytes)
        .read_to_end(&mut plain)
        .await
        .expect("gzip");
    plain
}
