//! A recorder, the API that a script plays, a proxy between it and agents, and what was recorded.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use super::SECRET;
use crate::support::process::{Process, first_line, send_signal, wait_for};
use crate::support::{ADMIN_SESSION, Server};

/// Longest time until what passed is recorded.
const BOUND: Duration = Duration::from_secs(60);

fn python() -> String {
    std::env::var("REMEMBRANCER_PYTHON").unwrap_or_else(|_| "python3".to_owned())
}

fn script(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/proxy")
        .join(name)
}

/// Waits until something holds.
pub(super) fn eventually(what: &str, mut holds: impl FnMut() -> bool) {
    let started = Instant::now();
    while !holds() {
        assert!(started.elapsed() < BOUND, "not after {BOUND:?}: {what}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// The API that a script plays; it ends when the test does.
pub(super) struct Upstream {
    child: Child,
    _input: ChildStdin,
    pub(super) url: String,
}

impl Upstream {
    /// Starts it. Without the client libraries a test fails where CI is set, and is skipped, visibly, elsewhere.
    pub(super) fn start() -> Option<Self> {
        let has_libraries = Command::new(python())
            .args(["-c", "import anthropic, openai"])
            .output()
            .is_ok_and(|done| done.status.success());
        if !has_libraries {
            assert!(
                std::env::var_os("CI").is_none(),
                "{} has not both client libraries: pip install anthropic openai",
                python()
            );
            eprintln!("skipped: {} has not both of anthropic and openai", python());
            return None;
        }
        let mut child = Command::new(python())
            .arg(script("upstream.py"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the script can be started");
        let input = child.stdin.take().expect("standard input is piped");
        let lines = first_line(child.stdout.take().expect("standard output is piped"));
        let url = lines
            .recv_timeout(BOUND)
            .expect("it prints its address")
            .trim()
            .to_owned();
        assert!(url.starts_with("http://127.0.0.1:"), "{url}");
        Some(Self {
            child,
            _input: input,
            url,
        })
    }

    /// Runs an agent, directly or through a proxy, and returns what it saw.
    pub(super) fn agent(
        &self,
        scenario: &str,
        api: &str,
        stream: bool,
        proxy: Option<&str>,
    ) -> Value {
        let base = proxy.unwrap_or(&self.url);
        let mut command = Command::new(python());
        command
            .arg(script("agent.py"))
            .args([scenario, api])
            .args(stream.then_some("stream"))
            .env("ANTHROPIC_BASE_URL", base)
            .env("OPENAI_BASE_URL", format!("{base}/v1"))
            .env("ANTHROPIC_API_KEY", SECRET)
            .env("OPENAI_API_KEY", SECRET);
        for variable in [
            "http_proxy",
            "HTTP_PROXY",
            "https_proxy",
            "HTTPS_PROXY",
            "all_proxy",
            "ALL_PROXY",
        ] {
            command.env_remove(variable);
        }
        let output = command.output().expect("the agent can be started");
        assert!(
            output.status.success(),
            "{scenario} {api}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
        serde_json::from_slice(&output.stdout).expect("the agent prints JSON")
    }

    /// What the API has seen so far.
    pub(super) fn observed(&self) -> Value {
        let mut answer = ureq::get(&self.url).call().expect("it answers");
        answer.body_mut().read_json().expect("JSON")
    }

    pub(super) fn observed_when(&self, holds: impl Fn(&Value) -> bool) {
        eventually("the API sees it", || holds(&self.observed()));
    }
}

impl Drop for Upstream {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// A running proxy, killed when the test is done with it.
pub(super) struct Running {
    child: Child,
    pub(super) url: String,
}

/// Where a proxy writes what it says.
pub(super) fn log_beside(spool: &Path) -> PathBuf {
    spool.parent().expect("a folder").join("proxy.log")
}

fn run_proxy(upstream: &str, spool: &Path, more: &[&str], key: Option<&str>) -> Running {
    // Beside the spool, where it is looked through too.
    let log = std::fs::File::options()
        .create(true)
        .append(true)
        .open(log_beside(spool))
        .expect("a file for what it says");
    let mut command = Command::new(env!("CARGO_BIN_EXE_remembrancer"));
    command
        .stderr(log)
        .args([
            "proxy",
            "--upstream",
            upstream,
            "--listen",
            "127.0.0.1:0",
            "--spool",
        ])
        .arg(spool)
        .args(more)
        .env_remove("REMEMBRANCER_DATA")
        .env_remove("REMEMBRANCER_URL")
        .env("REMEMBRANCER_LOG", "debug")
        .stdout(Stdio::piped());
    match key {
        Some(key) => command.env("REMEMBRANCER_KEY", key),
        None => command.env_remove("REMEMBRANCER_KEY"),
    };
    let mut child = command.spawn().expect("the program can be started");
    let lines = first_line(child.stdout.take().expect("standard output is piped"));
    let url = lines
        .recv_timeout(BOUND)
        .expect("it prints its address")
        .trim()
        .to_owned();
    assert!(
        url.starts_with("http://127.0.0.1:"),
        "the proxy did not start: {url:?}"
    );
    Running { child, url }
}

/// A proxy that sends to a recorder.
pub(super) fn proxy(upstream: &str, recorder: &str, key: &str, spool: &Path) -> Running {
    run_proxy(upstream, spool, &["--recorder", recorder], Some(key))
}

/// A proxy that writes into a data folder.
pub(super) fn proxy_into(upstream: &str, data: &Path, spool: &Path) -> Running {
    run_proxy(
        upstream,
        spool,
        &["--data", data.to_str().expect("UTF-8")],
        None,
    )
}

impl Running {
    pub(super) fn kill(&mut self) {
        self.child.kill().expect("it can be killed");
        drop(self.child.wait());
    }

    /// Asks it to stop as an operator does, and waits for it.
    pub(super) fn stop(mut self, bound: Duration) -> ExitStatus {
        send_signal(self.child.id(), "TERM");
        wait_for(&mut self.child, bound).expect("it ends in time")
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// A recorder on a given address.
pub(super) struct Serving(Process);

pub(super) fn serve_at(address: &str, data: &Path) -> Serving {
    Serving(Process::serve_at(address, data))
}

impl Serving {
    /// Stops it, and verifies what it recorded.
    pub(super) fn stop_and_verify(self, data: &Path) {
        let status = self.0.stop(BOUND);
        assert!(status.success(), "{status:?}");
        crate::support::succeed(&["verify", "--data", data.to_str().expect("UTF-8")]);
    }
}

/// Everything together.
pub(super) struct Rig {
    pub(super) upstream: Upstream,
    pub(super) server: Server,
    pub(super) read: String,
    pub(super) write: String,
    proxy: Running,
    /// Holds the spool and what the proxy says.
    spool: tempfile::TempDir,
    seen: RefCell<BTreeSet<String>>,
}

impl Rig {
    pub(super) fn start(more: &[&str]) -> Option<Self> {
        let upstream = Upstream::start()?;
        let server = Server::start();
        let (read, write) = (server.key("read"), server.key("write"));
        let spool = tempfile::tempdir().expect("a temporary folder can be made");
        let arguments = [&["--recorder", server.url.as_str()], more].concat();
        let proxy = run_proxy(
            &upstream.url,
            &spool.path().join("spool"),
            &arguments,
            Some(&write),
        );
        let seen = RefCell::new(BTreeSet::from([ADMIN_SESSION.to_owned()]));
        Some(Self {
            upstream,
            server,
            read,
            write,
            proxy,
            spool,
            seen,
        })
    }

    /// Runs an agent through the proxy.
    pub(super) fn agent(&self, scenario: &str, api: &str, stream: bool) -> Value {
        self.upstream
            .agent(scenario, api, stream, Some(&self.proxy.url))
    }

    fn sessions(&self) -> Vec<String> {
        let page = self.server.get(&self.read, "/v1/sessions?limit=200");
        let items = page["items"].as_array().expect("a list");
        items
            .iter()
            .map(|item| item["id"].as_str().expect("an id").to_owned())
            .collect()
    }

    /// A session's entries with their payloads as `data`.
    fn entries(&self, session: &str) -> Vec<Value> {
        let page = self.server.get(
            &self.read,
            &format!("/v1/sessions/{session}/entries?limit=200"),
        );
        let items = page["items"].as_array().expect("a list").iter();
        items
            .map(|item| {
                let mut entry = item["entry"].clone();
                entry["data"] = item["data"].clone();
                entry
            })
            .collect()
    }

    pub(super) fn entries_when(
        &self,
        session: &str,
        holds: impl Fn(&[Value]) -> bool,
    ) -> Vec<Value> {
        eventually("the session's entries arrive", || {
            self.sessions().iter().any(|known| known == session) && holds(&self.entries(session))
        });
        self.entries(session)
    }

    /// The one session that is new since this was asked last, once it holds an answer.
    pub(super) fn new_session(&self) -> Vec<Value> {
        let mut found = Vec::new();
        eventually("a session arrives with its answers", || {
            let new: Vec<String> = self
                .sessions()
                .into_iter()
                .filter(|id| !self.seen.borrow().contains(id))
                .collect();
            assert!(new.len() <= 1, "one run is one session: {new:?}");
            found = new.first().map(|id| self.entries(id)).unwrap_or_default();
            let count = |kind: &str| found.iter().filter(|entry| entry["type"] == kind).count();
            count("model.responded") > 0
                && count("model.responded") == count("context.captured")
                && {
                    // An agent with tools goes on after its first answer.
                    let calls = count("tool.called");
                    calls == 0 || count("tool.returned") == calls
                }
        });
        self.seen
            .borrow_mut()
            .insert(found[0]["session"].as_str().expect("an id").to_owned());
        found
    }

    /// The entries of all sessions.
    pub(super) fn all_entries(&self) -> Vec<Value> {
        let sessions = self.sessions().into_iter().filter(|id| id != ADMIN_SESSION);
        sessions
            .flat_map(|session| self.entries(&session))
            .collect()
    }

    pub(super) fn entries_until(&self, holds: impl Fn(&[Value]) -> bool) -> Vec<Value> {
        eventually("the entries arrive", || holds(&self.all_entries()));
        self.all_entries()
    }

    /// No key stands in the spool or in the data folder, and every request carried one.
    pub(super) fn holds_no_secret(&self) {
        let observed = self.upstream.observed();
        let requests = observed["requests"].as_array().expect("a list");
        assert!(
            requests
                .iter()
                .all(|request| request["headers"].to_string().contains(SECRET)),
            "the API needs the keys"
        );
        holds_no_secret(&[self.spool.path(), &self.server.data]);
    }
}

/// Looks through every file below some folders.
pub(super) fn holds_no_secret(folders: &[&Path]) {
    let mut waiting: Vec<PathBuf> = folders.iter().map(|folder| folder.to_path_buf()).collect();
    let mut files = 0;
    while let Some(path) = waiting.pop() {
        if path.is_dir() {
            let entries = std::fs::read_dir(&path).expect("a readable folder");
            waiting.extend(entries.map(|entry| entry.expect("readable").path()));
            continue;
        }
        let mut bytes = Vec::new();
        std::fs::File::open(&path)
            .and_then(|mut file| file.read_to_end(&mut bytes))
            .expect("readable");
        files += 1;
        let found = bytes
            .windows(SECRET.len())
            .any(|window| window == SECRET.as_bytes());
        assert!(!found, "{} holds a key", path.display());
    }
    assert!(files > 1, "there is something to look through");
}
