//! What is known of a session, kept between two hooks; and what became of the last sending.

use std::fs::{self, File, TryLockError};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use remembrancer_capture::hook::{Program, SessionStanding};
use remembrancer_capture::private;
use remembrancer_schema::ContentHash;
use serde::{Deserialize, Serialize};

use super::place::Place;

/// Longest time that a hook waits for others of the same session.
const LOCK_TIME_MAX: Duration = Duration::from_millis(500);
/// Time between two tries.
const LOCK_TRY: Duration = Duration::from_micros(300);
/// Largest file that is read, in bytes.
const FILE_BYTES_MAX: u64 = 4 * 1024 * 1024;
/// What is known of a session is forgotten when nothing happened in it for so long.
const KEPT_FOR: Duration = Duration::from_secs(30 * 24 * 3600);
const LAST_SEND: &str = "last-send.json";

/// The name of a session's files.
pub(super) fn name_of(program: Program, session: &str) -> String {
    let hash = ContentHash::of(session.as_bytes()).to_string();
    format!("{}-{}", program.word(), &hash[..24])
}

/// What is known of a session, for the one who holds it: hooks of a session that run at the same time wait for each other here.
pub(super) struct Held {
    pub(super) standing: SessionStanding,
    path: PathBuf,
    _lock: File,
}

impl Held {
    /// Waits for the others and reads. What cannot be read counts as nothing known.
    pub(super) fn take(place: &Place, name: &str) -> io::Result<Self> {
        private::make_folder(&place.standing)?;
        let path = place.standing.join(format!("{name}.json"));
        let mut options = private::options();
        let options = options.write(true).create(true).truncate(false);
        let lock = private::open(options, &place.standing.join(format!("{name}.lock")))?;
        wait_for(&lock)?;
        let standing = match read(&path) {
            Ok(bytes) => serde_json::from_slice(&bytes).unwrap_or_default(),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                forget_old(&place.standing);
                SessionStanding::default()
            }
            Err(error) => return Err(error),
        };
        Ok(Self {
            standing,
            path,
            _lock: lock,
        })
    }

    /// Keeps what is known now.
    pub(super) fn keep(&self) -> io::Result<()> {
        replace(&self.path, &serde_json::to_vec(&self.standing)?)
    }
}

fn wait_for(lock: &File) -> io::Result<()> {
    let until = Instant::now() + LOCK_TIME_MAX;
    loop {
        match lock.try_lock() {
            Ok(()) => return Ok(()),
            Err(TryLockError::WouldBlock) if Instant::now() < until => {
                std::thread::sleep(LOCK_TRY);
            }
            Err(TryLockError::WouldBlock) => {
                return Err(io::Error::new(
                    io::ErrorKind::TimedOut,
                    "other hooks of the session did not end in time",
                ));
            }
            Err(TryLockError::Error(error)) => return Err(error),
        }
    }
}

/// Removes what is known of sessions in which nothing happened for long. Done when a session begins, which is rare.
fn forget_old(folder: &Path) {
    let Ok(entries) = fs::read_dir(folder) else {
        return;
    };
    for entry in entries.flatten() {
        let path = entry.path();
        let age = entry.metadata().and_then(|metadata| metadata.modified());
        let is_old = age.is_ok_and(|time| time.elapsed().is_ok_and(|age| age > KEPT_FOR));
        // A lock is as old as its session; what is known tells when something happened last.
        if is_old && path.extension().is_some_and(|ending| ending == "json") {
            // The next session that begins tries again.
            drop(fs::remove_file(&path));
            drop(fs::remove_file(path.with_extension("lock")));
        }
    }
}

/// What became of the last sending, for people who ask, and for the next hook: it does not wait for a recorder that was not
/// there a moment ago.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct LastSend {
    /// When, in milliseconds since 1970.
    pub(crate) at_ms: i64,
    /// What went wrong; nothing if all was well.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) error: Option<String>,
    /// How many times in a row it went wrong.
    #[serde(default)]
    pub(crate) failures: u32,
    /// When the last records were delivered, in milliseconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) delivered_ms: Option<i64>,
    /// When a process was started last that sends a large record, in milliseconds since 1970.
    #[serde(default)]
    pub(crate) large_ms: i64,
    /// Events that the recorder refused for good, since the spool was made.
    #[serde(default)]
    pub(crate) refused: u64,
    /// Why it refused the last of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) refusal: Option<String>,
}

/// What became of the last sending, as far as is known.
pub(crate) fn last_send(place: &Place) -> LastSend {
    let bytes = read(&place.standing.join(LAST_SEND)).unwrap_or_default();
    serde_json::from_slice(&bytes).unwrap_or_default()
}

/// Notes what became of a sending.
pub(super) fn note_send(place: &Place, last: &LastSend) -> io::Result<()> {
    private::make_folder(&place.standing)?;
    replace(&place.standing.join(LAST_SEND), &serde_json::to_vec(last)?)
}

fn read(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(path)?
        .take(FILE_BYTES_MAX)
        .read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Puts a file in the place of another, so that a reader sees one or the other. Each writer holds a lock.
pub(super) fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let new = path.with_extension("new");
    let mut options = private::options();
    private::open(options.write(true).create(true).truncate(true), &new)?.write_all(bytes)?;
    fs::rename(&new, path)
}
