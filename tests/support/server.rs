//! A running server: the real binary on a port of its own, stopped when the test ends.

use std::fs::File;
use std::io::{BufRead as _, BufReader, Read as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use serde_json::Value;

use super::succeed;

/// Where a server that is started with arguments writes what it says.
const LOG: &str = "stderr";

/// A server on a fresh or a given data folder.
pub(crate) struct Server {
    child: Child,
    /// Scheme, host and port.
    pub(crate) url: String,
    /// What the program printed: for the demo, an address that logs in once.
    pub(crate) login_url: String,
    pub(crate) data: PathBuf,
    folder: Option<tempfile::TempDir>,
}

/// An answer: status, headers that matter, body.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) content_type: String,
    pub(crate) retry_after: Option<String>,
    pub(crate) body: String,
}

impl Answer {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// The last segment of a problem's type.
    pub(crate) fn problem(&self) -> String {
        assert_eq!(self.content_type, "application/problem+json", "{self:?}");
        problem_slug(&self.json())
    }
}

/// The last segment of a problem's type.
pub(crate) fn problem_slug(problem: &Value) -> String {
    let kind = problem["type"]
        .as_str()
        .unwrap_or_else(|| panic!("no problem type: {problem}"));
    kind.rsplit(':').next().unwrap_or_default().to_owned()
}

impl Server {
    /// Starts on a fresh folder.
    pub(crate) fn start() -> Self {
        Self::in_fresh_folder("serve")
    }

    /// Starts on a given folder.
    pub(crate) fn start_on(data: &Path) -> Self {
        Self::spawn("serve", data)
    }

    /// Starts on a given folder with further arguments. What it says is written to a file, anew.
    pub(crate) fn start_on_with(data: &Path, arguments: &[&str], log: &Path) -> Self {
        let log = File::create(log).expect("the log can be made");
        Self::spawn_with("serve", data, arguments, &[], log.into())
    }

    /// Starts on a fresh folder with further arguments. What it says goes into a file: see [`Self::log`].
    pub(crate) fn with(arguments: &[&str]) -> Self {
        Self::with_environment(arguments, &[])
    }

    /// The same, with variables besides.
    pub(crate) fn with_environment(arguments: &[&str], environment: &[(&str, &str)]) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder can be made");
        let log = File::create(folder.path().join(LOG)).expect("the log can be made");
        let data = folder.path().join("data");
        let mut server = Self::spawn_with("serve", &data, arguments, environment, log.into());
        server.folder = Some(folder);
        server
    }

    /// What a server that was started with arguments has said on standard error so far.
    pub(crate) fn log(&self) -> String {
        let folder = self.folder.as_ref().expect("it has a folder of its own");
        std::fs::read_to_string(folder.path().join(LOG)).expect("the log is text")
    }

    /// Runs the demo in a fresh folder. What it prints first is the address that logs in once: see [`Self::login_url`].
    pub(crate) fn demo() -> Self {
        Self::in_fresh_folder("demo")
    }

    fn in_fresh_folder(command: &str) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder can be made");
        let mut server = Self::spawn(command, &folder.path().join("data"));
        server.folder = Some(folder);
        server
    }

    fn spawn(command: &str, data: &Path) -> Self {
        Self::spawn_with(command, data, &[], &[], Stdio::inherit())
    }

    fn spawn_with(
        command: &str,
        data: &Path,
        arguments: &[&str],
        environment: &[(&str, &str)],
        errors: Stdio,
    ) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_remembrancer"))
            .args([
                command,
                "--listen",
                "127.0.0.1:0",
                "--data",
                data.to_str().unwrap(),
            ])
            .args(arguments)
            .envs(environment.iter().copied())
            .stdout(Stdio::piped())
            .stderr(errors)
            .spawn()
            .expect("the program can be started");
        let mut first_line = String::new();
        let stdout = child.stdout.take().expect("standard output is piped");
        BufReader::new(stdout)
            .read_line(&mut first_line)
            .expect("the server prints its URL");
        let login_url = first_line.trim().to_owned();
        assert!(
            login_url.starts_with("http://127.0.0.1:"),
            "the first line is the URL: {login_url:?}"
        );
        let url = login_url
            .split("/login/")
            .next()
            .expect("split gives one part")
            .to_owned();
        Self {
            child,
            url,
            login_url,
            data: data.to_owned(),
            folder: None,
        }
    }

    /// Makes a key with a role.
    pub(crate) fn key(&self, role: &str) -> String {
        let data = self.data.to_str().unwrap();
        succeed(&[
            "tokens", "create", "--role", role, "--name", "test", "--data", data,
        ])
        .trim()
        .to_owned()
    }

    /// Sends a request and returns the answer, whatever its status.
    pub(crate) fn send(
        &self,
        method: &str,
        path: &str,
        key: Option<&str>,
        content_type: &str,
        body: &[u8],
    ) -> Answer {
        let agent: ureq::Agent = ureq::Agent::config_builder()
            .http_status_as_error(false)
            .max_redirects(0)
            .build()
            .into();
        let mut request = ureq::http::Request::builder()
            .method(method)
            .uri(format!("{}{path}", self.url))
            .header("content-type", content_type);
        if let Some(key) = key {
            request = request.header("authorization", format!("Bearer {key}"));
        }
        let mut response = agent
            .run(request.body(body).unwrap())
            .expect("the server answers");
        let header = |name: &str| {
            let value = response.headers().get(name);
            value.map(|value| value.to_str().unwrap().to_owned())
        };
        let (content_type, retry_after) = (header("content-type"), header("retry-after"));
        let mut text = String::new();
        response
            .body_mut()
            .as_reader()
            .read_to_string(&mut text)
            .expect("the answer is text");
        Answer {
            status: response.status().as_u16(),
            content_type: content_type.unwrap_or_default(),
            retry_after,
            body: text,
        }
    }

    /// Posts one event or an array.
    pub(crate) fn post(&self, key: &str, body: &Value) -> Answer {
        self.send(
            "POST",
            "/v1/events",
            Some(key),
            "application/json",
            body.to_string().as_bytes(),
        )
    }

    /// Gets JSON.
    pub(crate) fn get(&self, key: &str, path: &str) -> Value {
        let answer = self.send("GET", path, Some(key), "application/json", b"");
        assert_eq!(answer.status, 200, "{answer:?}");
        answer.json()
    }

    /// A page of the viewer, as somebody sees it who logged in with a key.
    pub(crate) fn page(&self, key: &str, path: &str) -> String {
        let agent: ureq::Agent = ureq::Agent::config_builder()
            .http_status_as_error(false)
            .max_redirects(0)
            .build()
            .into();
        let login = agent
            .post(format!("{}/login", self.url))
            .content_type("application/x-www-form-urlencoded")
            .send(format!("key={key}"))
            .unwrap();
        let cookie = login.headers()["set-cookie"].to_str().unwrap();
        let mut page = agent
            .get(format!("{}{path}", self.url))
            .header("cookie", cookie.split(';').next().unwrap())
            .call()
            .unwrap();
        assert_eq!(page.status().as_u16(), 200, "{path}");
        page.body_mut().read_to_string().unwrap()
    }

    /// Posts until the server takes it: a full queue answers 429 or 503 and loses nothing.
    pub(crate) fn post_until_taken(&self, key: &str, body: &Value) -> Value {
        for _ in 0..1_000 {
            let answer = self.post(key, body);
            match answer.status {
                200 | 201 => return answer.json(),
                429 | 503 => std::thread::sleep(std::time::Duration::from_millis(20)),
                _ => panic!("{answer:?}"),
            }
        }
        panic!("the server was busy a thousand times");
    }

    /// Stops the server as an operator would, waits for it, and looks at what it left.
    pub(crate) fn stop_and_keep(mut self, look: impl FnOnce(&Path)) {
        self.end();
        look(&self.data);
    }

    /// Its process.
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Asks it to stop, as an operator would.
    pub(crate) fn ask_to_stop(&self) {
        let id = self.child.id().to_string();
        let asked = Command::new("kill").args(["-TERM", &id]).status();
        assert!(asked.is_ok_and(|status| status.success()));
    }

    /// Waits until it has ended, and returns its exit code.
    pub(crate) fn exit_code(&mut self) -> Option<i32> {
        self.child.wait().expect("it can be waited for").code()
    }

    fn end(&mut self) {
        if matches!(self.child.try_wait(), Ok(Some(_))) {
            return;
        }
        let id = self.child.id().to_string();
        let asked = Command::new("kill").args(["-TERM", &id]).status();
        if !asked.is_ok_and(|status| status.success()) {
            drop(self.child.kill());
        }
        drop(self.child.wait());
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.end();
    }
}
