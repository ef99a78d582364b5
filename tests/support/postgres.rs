//! A PostgreSQL database of a test's own: on the server that `REMEMBRANCER_TEST_POSTGRES` names, else on one that the test
//! starts, in a temporary folder, reachable through a socket there alone.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use super::process::{send_signal, wait_for};

/// Longest time that a server may take to start or to stop.
const PATIENCE: Duration = Duration::from_secs(60);

/// A fresh database; gone, with the server if the test started it, when it is dropped.
pub(crate) struct Postgres {
    /// Address of the fresh database.
    pub(crate) url: String,
    /// Address of the database that every server has.
    maintenance: String,
    name: String,
    /// Behind `name`, so that the server outlives the database.
    _server: Option<Server>,
}

struct Server {
    child: Child,
    folder: tempfile::TempDir,
}

impl Postgres {
    /// A fresh database. Where there is no PostgreSQL a test fails if CI is set, and is skipped, visibly, elsewhere.
    pub(crate) fn start() -> Option<Self> {
        static NEXT: AtomicU32 = AtomicU32::new(1);
        let (maintenance, server) = match std::env::var("REMEMBRANCER_TEST_POSTGRES") {
            Ok(url) => (url, None),
            Err(_) => {
                let server = Server::start()?;
                (server.url(), Some(server))
            }
        };
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("remembrancer_faults_{}_{number}", std::process::id());
        let url = with_database(&maintenance, &name);
        let postgres = Self {
            url,
            maintenance,
            name,
            _server: server,
        };
        postgres.maintain(&format!("CREATE DATABASE {}", postgres.name));
        Some(postgres)
    }

    /// Asks the database one thing.
    pub(crate) fn ask(&self, query: &str) -> String {
        ask(&self.url, query)
    }

    fn maintain(&self, statement: &str) {
        ask(&self.maintenance, statement);
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        // A server of the test's own is thrown away whole.
        if self._server.is_none() && !std::thread::panicking() {
            self.maintain(&format!("DROP DATABASE {} WITH (FORCE)", self.name));
        }
    }
}

impl Server {
    fn start() -> Option<Self> {
        let Some(programs) = programs() else {
            assert!(
                std::env::var_os("CI").is_none(),
                "PostgreSQL is not installed"
            );
            eprintln!("skipped: PostgreSQL is not installed");
            return None;
        };
        let folder = tempfile::tempdir().expect("a temporary folder can be made");
        if is_root() {
            must(Command::new("chown").arg("postgres").arg(folder.path()));
        }
        let cluster = folder.path().join("cluster");
        // Not synced: a cluster that does not survive a power cut is made anew.
        must(
            unprivileged(&programs.join("initdb"))
                .args([
                    "--username=postgres",
                    "--auth=trust",
                    "--encoding=UTF8",
                    "--no-locale",
                    "--no-sync",
                    "-D",
                ])
                .arg(&cluster),
        );
        let log =
            std::fs::File::create(folder.path().join("log")).expect("the folder can be written");
        let child = unprivileged(&programs.join("postgres"))
            .arg("-D")
            .arg(&cluster)
            .arg("-k")
            .arg(folder.path())
            .args(["-c", "listen_addresses="])
            .stdin(Stdio::null())
            .stdout(log.try_clone().expect("can be shared"))
            .stderr(log)
            .spawn()
            .expect("PostgreSQL can be started");
        let mut server = Self { child, folder };
        server.wait_until_it_answers();
        Some(server)
    }

    fn url(&self) -> String {
        format!(
            "postgres://postgres@localhost/postgres?host={}",
            self.folder.path().display()
        )
    }

    fn wait_until_it_answers(&mut self) {
        let started = Instant::now();
        while !psql(&self.url(), "SELECT 1")
            .status()
            .is_ok_and(|status| status.success())
        {
            let ended = self.child.try_wait().expect("its state can be asked");
            assert!(
                ended.is_none() && started.elapsed() < PATIENCE,
                "PostgreSQL does not answer ({ended:?}): {}",
                std::fs::read_to_string(self.folder.path().join("log")).unwrap_or_default()
            );
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if matches!(self.child.try_wait(), Ok(Some(_))) {
            return;
        }
        // Ends its sessions, then its own processes, then itself.
        send_signal(self.child.id(), "INT");
        if wait_for(&mut self.child, PATIENCE).is_none() {
            drop(self.child.kill());
            drop(self.child.wait());
        }
    }
}

/// Where the newest installed server's programs are.
fn programs() -> Option<PathBuf> {
    let versions = std::fs::read_dir("/usr/lib/postgresql").ok()?;
    let found = versions.filter_map(|version| {
        let version = version.ok()?;
        let number: u32 = version.file_name().to_str()?.parse().ok()?;
        let programs = version.path().join("bin");
        programs
            .join("initdb")
            .is_file()
            .then_some((number, programs))
    });
    found.max().map(|(_, programs)| programs)
}

/// The server refuses to run as root.
fn unprivileged(program: &Path) -> Command {
    if !is_root() {
        return Command::new(program);
    }
    let mut command = Command::new("setpriv");
    command
        .args([
            "--reuid=postgres",
            "--regid=postgres",
            "--init-groups",
            "--",
        ])
        .arg(program);
    command.current_dir("/");
    command
}

fn is_root() -> bool {
    let told = Command::new("id").arg("-u").output();
    told.is_ok_and(|told| told.stdout.trim_ascii() == b"0")
}

fn must(command: &mut Command) {
    let output = command.output().expect("the program can be started");
    assert!(output.status.success(), "{command:?}: {output:?}");
}

fn psql(url: &str, query: &str) -> Command {
    let mut command = Command::new("psql");
    command
        .args([
            "--no-psqlrc",
            "--quiet",
            "--tuples-only",
            "--no-align",
            "--set=ON_ERROR_STOP=1",
            "--command",
            query,
            url,
        ])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

fn ask(url: &str, query: &str) -> String {
    let output = psql(url, query).output().expect("psql can be started");
    assert!(output.status.success(), "{query}: {output:?}");
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

/// The same address with another database.
fn with_database(url: &str, name: &str) -> String {
    let (address, options) = url
        .split_once('?')
        .map_or((url, None), |(address, options)| (address, Some(options)));
    let host = match address.rsplit_once('/') {
        Some((host, _)) if !host.ends_with('/') => host,
        _ => address,
    };
    let options = options.map_or_else(String::new, |options| format!("?{options}"));
    format!("{host}/{name}{options}")
}

#[test]
fn an_address_keeps_all_but_its_database() {
    for (given, wanted) in [
        ("postgres://u:p@h:5432/postgres", "postgres://u:p@h:5432/x"),
        ("postgres://u@h", "postgres://u@h/x"),
        (
            "postgres://u@localhost/a?host=/tmp/s",
            "postgres://u@localhost/x?host=/tmp/s",
        ),
    ] {
        assert_eq!(with_database(given, "x"), wanted);
    }
}
