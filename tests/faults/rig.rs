//! What the crash tests share: a ledger with its keys, writers, and the demand that nothing is lost.

use std::path::{Path, PathBuf};
use std::time::Duration;

use remembrancer_schema::signing::PublicKey;

use crate::support::ORIGIN;
use crate::support::audit::Auditor;
use crate::support::journal::Journal;
use crate::support::load::Load;
use crate::support::process::{Process, Setup};

/// Longest time that a server may take to do what it was asked: generous, since a busy machine is no fault.
pub(super) const PATIENCE: Duration = Duration::from_secs(60);

/// A ledger under load.
pub(super) struct Rig {
    pub(super) setup: Setup,
    pub(super) load: Load,
    /// A key that reads.
    pub(super) read_key: String,
    /// Reads only what is new at each check.
    following: Auditor,
    data: PathBuf,
}

impl Rig {
    /// Starts a recorder on a new ledger, and gets writers ready. `data` is where the test itself finds the ledger's folder.
    pub(super) fn new(
        setup: Setup,
        data: &Path,
        writers: usize,
        seed: u64,
        pause: Duration,
    ) -> (Self, Process) {
        let process = setup.start();
        let (write_key, read_key) = (setup.key("write"), setup.key("read"));
        let key = public_key(data);
        let origin: remembrancer_schema::Origin = ORIGIN.parse().expect("valid");
        let journal = Journal::new(origin.clone(), key.clone());
        let load = Load::new(writers, seed, &write_key, journal, pause);
        load.talk_to(&[&process.url]);
        let following = Auditor::new(origin, key);
        let data = data.to_owned();
        (
            Self {
                setup,
                load,
                read_key,
                following,
                data,
            },
            process,
        )
    }

    /// Starts the recorder again and sends the writers there.
    pub(super) fn start_again(&self) -> Process {
        let process = self.setup.start();
        self.load.talk_to(&[&process.url]);
        process
    }

    /// Compares what is new in the ledger with what was sent and acknowledged.
    pub(super) fn check_new(&mut self, process: &Process) {
        self.following
            .check(&process.url, &self.read_key, &mut self.load.journal());
    }

    /// Reads the whole ledger anew and compares it.
    pub(super) fn check_all(&mut self, process: &Process) -> Auditor {
        let mut journal = self.load.journal();
        let mut auditor = Auditor::new(journal.origin.clone(), public_key(&self.data));
        auditor.check(&process.url, &self.read_key, &mut journal);
        auditor
    }

    /// Sends what is in doubt until it is answered, stops the recorder, verifies the ledger with the program, starts once
    /// more, reads everything and demands that the events that are there are exactly those that were sent.
    pub(super) fn prove_whole(&mut self, process: Process) -> u64 {
        self.load.settle(PATIENCE);
        let status = process.stop(PATIENCE);
        assert_eq!(status.code(), Some(0), "how it stopped");
        let verified = self.setup.verify();
        let process = self.start_again();
        let auditor = self.check_all(&process);
        // The start itself may add entries of the recorder's own.
        let (entries, own) = (auditor.entries(), auditor.own());
        assert!(
            (entries - own..=entries).contains(&verified),
            "{verified} entries were verified, {entries} are there, {own} of them the recorder's own"
        );
        let journal = self.load.journal();
        assert_eq!(
            journal.sent.len(),
            journal.acknowledged.len(),
            "settled: all is acknowledged"
        );
        assert_eq!(auditor.events(), journal.sent.len(), "every event once");
        verified
    }
}

/// The public key that the recorder left for people.
pub(super) fn public_key(data: &Path) -> PublicKey {
    let path = data.join("ledger.pub.pem");
    let pem = std::fs::read_to_string(&path)
        .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    PublicKey::from_pem(&pem).expect("a public key")
}
