//! Large blobs, end to end: in S3, and in the folder beside the database.

use std::process::Command;

use serde_json::{Value, json};

use crate::support::{Moto, Server, problem_slug};

/// Larger than what the database keeps.
/// What the S3 server for tests takes for a signature; it does not check it.
const SIGNED: &str = "AWS4-HMAC-SHA256 Credential=test/20260101/us-east-1/s3/aws4_request, SignedHeaders=host, Signature=0";

fn large(word: &str) -> Vec<u8> {
    word.repeat(1024 * 1024 / word.len()).into_bytes()
}

fn hash(bytes: &[u8]) -> String {
    blake3::hash(bytes).to_string()
}

fn put(server: &Server, key: &str, bytes: &[u8]) -> (u16, Value) {
    let path = format!("/v1/blobs/{}", hash(bytes));
    let answer = server.send("PUT", &path, Some(key), "application/octet-stream", bytes);
    if answer.status == 503 {
        assert!(answer.retry_after.is_some(), "{answer:?}");
    }
    (answer.status, answer.json())
}

fn get(server: &Server, key: &str, bytes: &[u8]) -> (u16, String) {
    let path = format!("/v1/blobs/{}", hash(bytes));
    let answer = server.send("GET", &path, Some(key), "", b"");
    (answer.status, answer.body)
}

/// Starts a session, and records an event that names blobs.
fn record(server: &Server, key: &str, id: &str, blobs: &[&[u8]]) {
    let hashes: Vec<String> = blobs.iter().map(|bytes| hash(bytes)).collect();
    let answer = server.post(
        key,
        &json!([
            {"id": "start", "session": "s", "type": "session.started", "data": {}},
            {"id": id, "session": "s", "type": "custom.x", "blobs": hashes, "data": {}},
        ]),
    );
    assert_eq!(answer.status, 200, "{answer:?}");
    let results = answer.json()["results"].clone();
    assert_eq!(results[1]["status"], "recorded", "{results}");
}

/// Runs the program with a server's data folder and variables; exit code, standard output, standard error.
fn run(
    server: &Server,
    environment: &[(&str, &str)],
    arguments: &[&str],
) -> (Option<i32>, String, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_remembrancer"))
        .args(arguments)
        .args(["--data", server.data.to_str().unwrap()])
        .envs(environment.iter().copied())
        .output()
        .unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (
        output.status.code(),
        text(output.stdout),
        text(output.stderr),
    )
}

#[test]
fn blobs_in_s3_are_kept_and_their_loss_is_told_on_every_way() {
    let Some(moto) = Moto::start() else { return };
    let url = moto.url.clone();
    let variables: Vec<(&str, String)> = moto
        .environment()
        .map(|(name, value)| (name, value.to_owned()))
        .into();
    let environment: Vec<(&str, &str)> = variables
        .iter()
        .map(|(name, value)| (*name, value.as_str()))
        .collect();
    let server = Server::with_environment(&["--blobs", "s3://bucket/run"], &environment);
    let (write, read) = (server.key("write"), server.key("read"));
    let (kept, loose, late) = (large("kept "), large("loose "), large("late "));

    assert_eq!(put(&server, &write, &kept).0, 201);
    assert_eq!(put(&server, &write, &kept).0, 200);
    assert_eq!(put(&server, &write, b"small").0, 201);
    assert_eq!(put(&server, &write, &loose).0, 201);
    record(&server, &write, "n", &[&kept, b"small"]);
    let (status, body) = get(&server, &read, &kept);
    assert_eq!((status, body.as_bytes()), (200, &kept[..]));
    let address = hash(&kept);
    let object = format!("{url}/bucket/run/blobs/{}/{address}", &address[..2]);
    let stored = ureq::get(&object)
        .header("authorization", SIGNED)
        .call()
        .unwrap()
        .body_mut()
        .read_to_vec();
    assert!(stored.unwrap() == kept, "the object is the blob");
    assert_eq!(run(&server, &environment, &["verify"]).0, Some(0));

    // Garbage is what no event names: listed first, removed when asked for.
    let gc = ["gc", "--older-than", "0s", "--format", "json"];
    for arguments in [&gc[..], &[&gc[..], &["--delete"]].concat()] {
        assert_eq!(get(&server, &read, &loose).0, 200);
        let (code, out, err) = run(&server, &environment, arguments);
        assert_eq!(code, Some(0), "{err}");
        let report: Value = serde_json::from_str(&out).unwrap();
        assert_eq!(report["count"], 1, "{report}");
        assert_eq!(report["items"][0]["name"], hash(&loose));
        assert_eq!(report["blob_store"], "s3://bucket/run");
    }
    assert_eq!(get(&server, &read, &loose).0, 404);
    assert_eq!(get(&server, &read, &kept).0, 200);

    // The service is down: nothing is said about its blobs, and all else goes on.
    let moto = moto.replaced(|| {
        let (status, problem) = put(&server, &write, &late);
        assert_eq!(
            (status, problem_slug(&problem).as_str()),
            (503, "unavailable")
        );
        assert_eq!(get(&server, &read, &kept).0, 503);
        assert_eq!(put(&server, &write, b"another small").0, 201);
        record(&server, &write, "m", &[b"another small"]);
        let (code, _, err) = run(&server, &environment, &["verify"]);
        assert_eq!(code, Some(2), "{err}");
        assert!(err.contains("s3://bucket/run"), "{err}");
    });

    // It is there again, but has lost what it had.
    assert_eq!(put(&server, &write, &late).0, 201);
    let (status, body) = get(&server, &read, &kept);
    assert_eq!(status, 410, "{body}");
    assert!(
        body.contains(&address) && body.contains("blob-lost"),
        "{body}"
    );
    for what in ["presence", "mutations", "findings", "bundle"] {
        let path = format!("/v1/sessions/s/{what}");
        let answer = server.send("GET", &path, Some(&read), "", b"");
        assert_eq!(
            (answer.status, answer.problem().as_str()),
            (410, "blob-lost"),
            "{what}"
        );
        assert!(answer.body.contains(&address), "{answer:?}");
    }
    let (code, out, _) = run(&server, &environment, &["verify"]);
    assert_eq!(code, Some(1));
    assert!(out.contains(&format!("blob {address} is missing")), "{out}");
    let (code, _, err) = run(&server, &environment, &["presence", "s"]);
    assert_eq!(code, Some(2));
    assert!(err.contains(&address) && err.contains("missing"), "{err}");

    // Uploaded again, it is healed.
    assert_eq!(put(&server, &write, &kept).0, 200);
    assert_eq!(get(&server, &read, &kept).0, 200);
    assert_eq!(run(&server, &environment, &["verify"]).0, Some(0));
    drop(moto);
}

#[test]
fn blobs_in_a_folder_are_kept_and_other_bytes_are_told() {
    let server = Server::start();
    let (write, read) = (server.key("write"), server.key("read"));
    let kept = large("kept ");
    assert_eq!(put(&server, &write, &kept).0, 201);
    record(&server, &write, "n", &[&kept]);
    let address = hash(&kept);
    let file = server.data.join("blobs").join(&address[..2]).join(&address);
    assert!(std::fs::read(&file).unwrap() == kept);

    std::fs::write(&file, large("FORGED")).unwrap();
    let (status, body) = get(&server, &read, &kept);
    assert_eq!(status, 500, "{body}");
    assert!(
        body.contains(&address) && body.contains("blob-damaged"),
        "{body}"
    );
    assert!(
        !body.contains("blobs/"),
        "where it lies is for the log: {body}"
    );
    let (status, problem) = put(&server, &write, &kept);
    assert_eq!(
        (status, problem_slug(&problem).as_str()),
        (500, "blob-damaged")
    );
    let (code, out, _) = run(&server, &[], &["verify"]);
    assert_eq!(code, Some(1));
    assert!(
        out.contains(&format!("blob {address} holds other bytes")),
        "{out}"
    );

    std::fs::remove_file(&file).unwrap();
    assert_eq!(get(&server, &read, &kept).0, 410);
    assert_eq!(put(&server, &write, &kept).0, 200);
    assert_eq!(run(&server, &[], &["verify"]).0, Some(0));
    let (code, out, _) = run(&server, &[], &["gc", "--older-than", "0s"]);
    assert_eq!(code, Some(0));
    assert!(out.starts_with("no garbage"), "{out}");
}
