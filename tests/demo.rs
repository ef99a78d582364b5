//! The first command of the README, as a newcomer runs it.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::support::process::first_line;
use crate::support::{Server, json};

#[test]
fn the_demo_records_its_runs_and_serves_them() {
    let started = Instant::now();
    let demo = Server::demo();
    let agent: ureq::Agent = ureq::Agent::config_builder()
        .http_status_as_error(false)
        .max_redirects(0)
        .build()
        .into();
    let get = |url: &str, cookie: &str| {
        agent
            .get(url)
            .header("cookie", cookie)
            .call()
            .expect("the demo answers")
    };
    let first = get(&demo.login_url, "");
    eprintln!(
        "first answer {} ms after the start",
        started.elapsed().as_millis()
    );
    let cookie = first
        .headers()
        .get("set-cookie")
        .expect("the one-time login sets a cookie")
        .to_str()
        .unwrap();
    let cookie = cookie.split(';').next().unwrap();
    let page = get(&format!("{}/", demo.url), cookie)
        .body_mut()
        .read_to_string()
        .unwrap();
    for session in ["demo-plain", "demo-governed", "demo-researcher"] {
        assert!(page.contains(session), "{session} is not in {page}");
    }
    assert!(
        get(&demo.login_url, "")
            .headers()
            .get("set-cookie")
            .is_none(),
        "a one-time login works once"
    );
    let stranger = get(&format!("{}/sessions/1", demo.url), "");
    assert_eq!(stranger.status().as_u16(), 303, "pages ask for a login");

    let data = demo.data.to_str().unwrap();
    let plain = json(&["presence", "demo-plain", "--data", data]);
    assert_eq!(plain["summary"]["prohibited_without_trace"], 1);
    let governed = json(&["presence", "demo-governed", "--data", data]);
    assert_eq!(governed["summary"]["prohibited_without_trace"], 0);
    assert_eq!(governed["summary"]["actions_without_trace"], 0);
    for session in ["demo-plain", "demo-governed"] {
        let mutations = json(&["mutations", session, "--data", data]);
        let kinds: Vec<&str> = mutations
            .as_array()
            .unwrap()
            .iter()
            .map(|mutation| mutation["kind"].as_str().unwrap())
            .collect();
        assert_eq!(kinds, ["compaction", "compaction"], "{session}");
    }
    demo.stop_and_keep(|data| {
        assert!(data.join("ledger.sqlite").exists());
        opens_in_the_viewer(data);
    });
}

/// `view` prints an address that logs in once and leads to the session.
fn opens_in_the_viewer(data: &Path) {
    let mut viewer = Command::new(env!("CARGO_BIN_EXE_remembrancer"))
        .args(["view", "demo-governed", "--data"])
        .arg(data)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("the program starts");
    let lines = first_line(viewer.stdout.take().expect("its output is piped"));
    let address = lines.recv_timeout(Duration::from_secs(60));
    let agent: ureq::Agent = ureq::Agent::config_builder()
        .max_redirects(0)
        .build()
        .into();
    let answer = address.map(|address| agent.get(address.trim()).call().expect("it answers"));
    viewer.kill().expect("it runs");
    viewer.wait().expect("it ends");
    let answer = answer.expect("an address");
    let leads_to = answer.headers().get("location").expect("a page");
    assert_eq!(leads_to, "/sessions/3");
    assert!(answer.headers().contains_key("set-cookie"));
}
