//! The recorder as a process that a test starts, kills, freezes and starts again on the same data.

use std::ffi::OsString;
use std::io::{BufRead as _, BufReader, Read};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// Longest time that a start may take before a test says so.
const START_SECONDS_MAX: u64 = 60;
/// Bytes of a process's standard error that are kept for a failing test.
const LOG_BYTES_MAX: usize = 64 * 1024;

/// How a recorder is started: the same way each time, on the same data.
#[derive(Clone)]
pub(crate) struct Setup {
    /// What the recorder's command line is appended to: a program that changes something and then becomes the recorder by
    /// `exec`, so that the process started is the recorder. Empty for none.
    pub(crate) wrapper: Vec<OsString>,
    /// Arguments that name the ledger, for every command: `--data DIR` and what else there is.
    pub(crate) ledger: Vec<OsString>,
    /// Arguments of `serve` alone.
    pub(crate) serve: Vec<OsString>,
}

impl Setup {
    /// A ledger in a data folder.
    pub(crate) fn in_folder(data: &Path) -> Self {
        Self {
            wrapper: Vec::new(),
            ledger: vec!["--data".into(), data.into()],
            serve: vec!["--origin".into(), super::ORIGIN.into()],
        }
    }

    /// The same, started by a program that becomes the recorder.
    pub(crate) fn wrapped<A: Into<OsString>>(
        mut self,
        wrapper: impl IntoIterator<Item = A>,
    ) -> Self {
        self.wrapper = wrapper.into_iter().map(Into::into).collect();
        self
    }

    /// The same with further arguments of `serve`.
    pub(crate) fn serving<A: Into<OsString>>(mut self, more: impl IntoIterator<Item = A>) -> Self {
        self.serve.extend(more.into_iter().map(Into::into));
        self
    }

    /// Starts the recorder and waits until it listens.
    pub(crate) fn start(&self) -> Process {
        self.try_start()
            .unwrap_or_else(|ended| panic!("the recorder did not start: {ended:?}"))
    }

    /// Starts the recorder and waits until it listens, or until it has ended.
    pub(crate) fn try_start(&self) -> Result<Process, Ended> {
        let mut command = self.command("serve");
        command.args(["--listen", "127.0.0.1:0"]).args(&self.serve);
        Process::spawn(command)
    }

    /// Starts the recorder and kills it so soon that it may not even have opened the ledger.
    pub(crate) fn kill_while_starting(&self, after: Duration) {
        let mut command = self.command("serve");
        command.args(["--listen", "127.0.0.1:0"]).args(&self.serve);
        let mut process = Process::child(&mut command);
        thread::sleep(after);
        process.kill();
    }

    /// Runs another command on the ledger: the words before the arguments that name it.
    pub(crate) fn run(&self, words: &[&str], more: &[&str]) -> Output {
        let (first, rest) = words.split_first().expect("a command has a name");
        let mut command = self.program(first);
        let output = command.args(rest).args(&self.ledger).args(more).output();
        output.expect("the program can be started")
    }

    /// Makes a key.
    pub(crate) fn key(&self, role: &str) -> String {
        let made = self.run(&["tokens", "create"], &["--role", role, "--name", role]);
        assert!(made.status.success(), "{made:?}");
        String::from_utf8(made.stdout)
            .expect("a key is text")
            .trim()
            .to_owned()
    }

    /// Verifies the whole ledger with the program itself, and returns the number of entries that it found sound.
    pub(crate) fn verify(&self) -> u64 {
        let verified = self.run(&["verify"], &["--format", "json"]);
        let told = String::from_utf8_lossy(&verified.stdout);
        assert!(
            verified.status.success(),
            "the ledger does not verify: {told}\n{}",
            String::from_utf8_lossy(&verified.stderr)
        );
        let verdict: serde_json::Value = serde_json::from_str(&told).expect("JSON");
        assert_eq!(verdict["faults"], serde_json::json!([]), "{verdict}");
        verdict["entries"].as_u64().expect("a number of entries")
    }

    fn command(&self, name: &str) -> Command {
        let mut command = self.program(name);
        command.args(&self.ledger);
        command
    }

    fn program(&self, name: &str) -> Command {
        let binary = env!("CARGO_BIN_EXE_remembrancer");
        let mut command = match self.wrapper.split_first() {
            None => Command::new(binary),
            Some((wrapper, arguments)) => {
                let mut command = Command::new(wrapper);
                command.args(arguments).arg(binary);
                command
            }
        };
        command.arg(name).env_remove("REMEMBRANCER_DATA");
        command
    }
}

/// How a recorder ended that should have run.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) status: ExitStatus,
    /// What it said on standard error.
    pub(crate) said: String,
}

/// A running recorder. Killed, by its id, when the test is done with it.
pub(crate) struct Process {
    child: Child,
    /// Scheme, host and port.
    pub(crate) url: String,
    log: Arc<Mutex<Vec<u8>>>,
    /// Keeps the log until standard error ends.
    keeper: Option<JoinHandle<()>>,
}

impl Process {
    fn child(command: &mut Command) -> Self {
        // A group of its own: a signal for the test's group does not reach it before its guard does.
        let mut child = command
            .process_group(0)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program can be started");
        let (log, keeper) = keep(child.stderr.take().expect("standard error is piped"));
        Self {
            child,
            url: String::new(),
            log,
            keeper: Some(keeper),
        }
    }

    fn spawn(mut command: Command) -> Result<Self, Ended> {
        let mut process = Self::child(&mut command);
        let stdout = process.child.stdout.take();
        let lines = first_line(stdout.expect("standard output is piped"));
        match lines.recv_timeout(Duration::from_secs(START_SECONDS_MAX)) {
            Ok(line) if line.starts_with("http://127.0.0.1:") => {
                process.url = line.trim().to_owned();
                Ok(process)
            }
            Ok(_) => {
                let status = process.wait(Duration::from_secs(START_SECONDS_MAX));
                // All of it: standard error ended with the process.
                let keeper = process.keeper.take().expect("not waited for before");
                keeper.join().expect("the keeper does not panic");
                let said = process.log();
                Err(Ended { status, said })
            }
            Err(_) => panic!(
                "the recorder neither listens nor ends after {START_SECONDS_MAX} s: {}",
                process.log()
            ),
        }
    }

    /// Starts a recorder on an address that it had before, and waits until it listens.
    pub(crate) fn serve_at(address: &str, data: &Path) -> Self {
        let mut command = Setup::in_folder(data).program("serve");
        command.arg("--data").arg(data).args(["--listen", address]);
        Self::spawn(command).unwrap_or_else(|ended| panic!("the recorder did not start: {ended:?}"))
    }

    /// Its process id.
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Ends it with SIGKILL: it gets no chance to do anything more.
    pub(crate) fn kill(&mut self) {
        assert_eq!(
            self.child.try_wait().expect("its state can be asked"),
            None,
            "it ended before it was killed: {}",
            self.log()
        );
        self.child.kill().expect("it can be killed");
        drop(self.child.wait());
    }

    /// Asks it to stop as an operator does (SIGTERM), and returns how it ended.
    pub(crate) fn stop(mut self, bound: Duration) -> ExitStatus {
        self.signal("TERM");
        self.wait(bound)
    }

    /// Stops its execution where it stands (SIGSTOP).
    pub(crate) fn freeze(&self) {
        self.signal("STOP");
    }

    /// Lets it go on after [`Self::freeze`].
    pub(crate) fn thaw(&self) {
        self.signal("CONT");
    }

    /// Whether it still runs.
    pub(crate) fn is_running(&mut self) -> bool {
        self.child
            .try_wait()
            .expect("its state can be asked")
            .is_none()
    }

    /// What it said on standard error.
    pub(crate) fn log(&self) -> String {
        String::from_utf8_lossy(&self.log.lock().expect("no reader panics")).into_owned()
    }

    fn signal(&self, name: &str) {
        send_signal(self.id(), name);
    }

    fn wait(&mut self, bound: Duration) -> ExitStatus {
        wait_for(&mut self.child, bound)
            .unwrap_or_else(|| panic!("it has not ended after {bound:?}: {}", self.log()))
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // Also ends a frozen one. It may have ended before, which is no error.
        drop(self.child.kill());
        drop(self.child.wait());
        if thread::panicking() {
            eprintln!("what the recorder said:\n{}", self.log());
        }
    }
}

/// Sends a signal to a process that the test started.
pub(crate) fn send_signal(id: u32, name: &str) {
    let sent = Command::new("kill")
        .args([&format!("-{name}"), &id.to_string()])
        .status();
    assert!(
        sent.is_ok_and(|status| status.success()),
        "SIG{name} cannot be sent to {id}"
    );
}

/// Waits for a process, not longer than the bound.
pub(crate) fn wait_for(child: &mut Child, bound: Duration) -> Option<ExitStatus> {
    let started = Instant::now();
    loop {
        if let Some(status) = child.try_wait().expect("its state can be asked") {
            return Some(status);
        }
        if started.elapsed() > bound {
            return None;
        }
        thread::sleep(Duration::from_millis(5));
    }
}

/// The first line of a stream, empty if it ends without one; what follows is read and dropped, so that the pipe never fills.
pub(crate) fn first_line(stream: impl Read + Send + 'static) -> Receiver<String> {
    let (sender, receiver) = channel();
    thread::spawn(move || {
        let mut stream = BufReader::new(stream);
        let mut line = String::new();
        if stream.read_line(&mut line).is_err() {
            line.clear();
        }
        drop(sender.send(line));
        drop(std::io::copy(&mut stream, &mut std::io::sink()));
    });
    receiver
}

/// Keeps the end of what a stream says.
fn keep(mut stream: impl Read + Send + 'static) -> (Arc<Mutex<Vec<u8>>>, JoinHandle<()>) {
    let kept = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&kept);
    let keeper = thread::spawn(move || {
        let mut buffer = [0; 4096];
        while let Ok(count @ 1..) = stream.read(&mut buffer) {
            let mut log = log.lock().expect("no reader panics");
            log.extend_from_slice(&buffer[..count]);
            let too_many = log.len().saturating_sub(LOG_BYTES_MAX);
            log.drain(..too_many);
        }
    });
    (kept, keeper)
}

/// A data folder inside a temporary one.
pub(crate) fn data_in(folder: &tempfile::TempDir) -> PathBuf {
    folder.path().join("data")
}
