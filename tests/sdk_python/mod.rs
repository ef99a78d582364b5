//! The SDK for Python against the real recorder: what its agents record arrives once, whatever ends in the middle.

mod contexts;
mod delivery;
mod front;
mod generated_client;
mod hostile;
mod pydantic_ai;

use std::io::{BufRead as _, BufReader, Read as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};

use serde_json::Value;

use crate::support::python;

/// The folder of the SDK.
fn sdk() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("sdk/python")
}

/// A Python that has these modules. Without it a test fails where CI is set, and is skipped, visibly, elsewhere.
fn python_with(modules: &str) -> Option<Command> {
    let python = python();
    let has_them = Command::new(&python)
        .args(["-c", &format!("import {modules}")])
        .output()
        .is_ok_and(|done| done.status.success());
    if !has_them {
        assert!(
            std::env::var_os("CI").is_none(),
            "{python} lacks one of {modules}: pip install -r sdk/python/requirements-ci.txt"
        );
        eprintln!("skipped: {python} lacks one of {modules}");
        return None;
    }
    let mut command = Command::new(python);
    command
        .env("PYTHONPATH", sdk().join("src"))
        .env("PYTHONDONTWRITEBYTECODE", "1");
    for name in ["URL", "KEY", "SPOOL", "OFF"] {
        command.env_remove(format!("REMEMBRANCER_{name}"));
    }
    Some(command)
}

/// An agent of `tests/end_to_end/agent.py`, killed when the test is done with it.
struct Agent {
    child: Child,
    lines: BufReader<ChildStdout>,
}

impl Agent {
    /// Starts one with its options. `wrapper`: what its command line is appended to.
    fn start(options: &Value, wrapper: &[std::ffi::OsString]) -> Option<Self> {
        let python = python_with("httpx, blake3")?;
        let mut command = match wrapper.split_first() {
            None => Command::new(python.get_program()),
            Some((program, arguments)) => {
                let mut command = Command::new(program);
                command.args(arguments).arg(python.get_program());
                command
            }
        };
        for (name, value) in python.get_envs() {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        let mut child = command
            .arg(sdk().join("tests/end_to_end/agent.py"))
            .arg(options.to_string())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("Python can be started");
        let lines = BufReader::new(child.stdout.take().expect("standard output is piped"));
        Some(Self { child, lines })
    }

    /// Waits until it has recorded everything.
    fn recorded(&mut self) {
        let mut line = String::new();
        self.lines.read_line(&mut line).expect("it can be read");
        assert_eq!(line.trim(), "recorded");
    }

    /// Lets it end, and returns what it says of itself.
    fn finish(mut self) -> Value {
        drop(self.child.stdin.take());
        let mut rest = String::new();
        self.lines
            .read_to_string(&mut rest)
            .expect("it can be read");
        let status = self.child.wait().expect("it can be waited for");
        assert!(status.success(), "{status}: {rest}");
        let last = rest.lines().last().expect("it says how it ended");
        serde_json::from_str(last).expect("JSON")
    }

    /// Waits until it has ended by itself.
    fn end(mut self) {
        let status = self.child.wait().expect("it can be waited for");
        assert!(status.success(), "{status}");
    }

    /// Ends it with SIGKILL: it gets no chance to do anything more.
    fn kill(mut self) {
        self.child.kill().expect("it can be killed");
        let status = self.child.wait().expect("it can be waited for");
        assert!(!status.success(), "it ended before it was killed");
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        // It may have ended before, which is no error.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}
