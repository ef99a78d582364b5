//! The moto server, which stands for S3.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};

/// A running imitation of S3 with one bucket, killed when the test ends. What it holds goes with it.
pub(crate) struct Moto {
    child: Child,
    /// Scheme, host and port.
    pub(crate) url: String,
}

/// Name of its bucket.
pub(crate) const BUCKET: &str = "bucket";

impl Moto {
    /// Starts one on a free port. Without moto a test fails where CI is set, and is skipped, visibly, elsewhere.
    pub(crate) fn start() -> Option<Self> {
        let python = python();
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
        Some(Self::on_port("0"))
    }

    /// Stops it and starts an empty one on the same port, after `meanwhile`.
    pub(crate) fn replaced(self, meanwhile: impl FnOnce()) -> Self {
        let port = self.url.rsplit(':').next().unwrap().to_owned();
        drop(self);
        meanwhile();
        Self::on_port(&port)
    }

    fn on_port(port: &str) -> Self {
        let mut child = Command::new(python())
            .args(["-m", "moto.server", "-H", "127.0.0.1", "-p", port])
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("moto can be started");
        let mut lines = BufReader::new(child.stderr.take().expect("it is piped")).lines();
        let url = lines
            .by_ref()
            .map_while(Result::ok)
            .find_map(|line| Some(line[line.find("http://127.0.0.1:")?..].trim().to_owned()))
            .expect("moto prints its address");
        // Its log is read on, so that it never waits for room in the pipe.
        std::thread::spawn(move || lines.map_while(Result::ok).for_each(drop));
        let made = ureq::put(format!("{url}/{BUCKET}")).send_empty();
        assert!(made.is_ok(), "{made:?}");
        Self { child, url }
    }

    /// The variables that lead a program to it.
    pub(crate) fn environment(&self) -> [(&'static str, &str); 4] {
        [
            ("AWS_ENDPOINT_URL", &self.url),
            ("AWS_REGION", "eu-central-1"),
            ("AWS_ACCESS_KEY_ID", "test"),
            ("AWS_SECRET_ACCESS_KEY", "test"),
        ]
    }
}

/// The Python that has what the tests need: `REMEMBRANCER_PYTHON`, or python3.
pub(crate) fn python() -> String {
    std::env::var("REMEMBRANCER_PYTHON").unwrap_or_else(|_| "python3".to_owned())
}

impl Drop for Moto {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}
