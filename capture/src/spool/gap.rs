//! What could not even be spooled, counted by session, in a file that is made beforehand: rewriting it needs no new room.

use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::path::Path;

use remembrancer_schema::SessionId;
use serde::{Deserialize, Serialize};

use crate::private;

/// Size of the file, which never changes.
const FILE_BYTES: usize = 96 * 1024;
/// Most sessions that are counted by themselves.
const SESSIONS_MAX: usize = 64;

/// Records of a session that are lost.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Gap {
    /// The session; none for those that no longer had a place of their own in the count.
    pub session: Option<SessionId>,
    /// How many records are lost.
    pub count: u64,
    /// When the first was lost, in milliseconds since 1970.
    pub first_ms: i64,
    /// When the last was lost, in milliseconds since 1970.
    pub last_ms: i64,
    /// Why the last was lost.
    pub reason: String,
}

/// Longest reason that is kept, in bytes.
const REASON_BYTES_MAX: usize = 160;

/// The file, opened once so that noting needs no new file either.
#[derive(Debug)]
pub(super) struct GapFile(File);

impl GapFile {
    /// Opens the file, or makes it at its full size.
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        let mut options = private::options();
        options.read(true).write(true).create(true).truncate(false);
        let mut file = private::open(&options, path)?;
        if file.metadata()?.len() < FILE_BYTES as u64 {
            write(&mut file, &[])?;
        }
        Ok(Self(file))
    }

    /// What is counted. What cannot be read as a count is none.
    pub(super) fn read(&self) -> io::Result<Vec<Gap>> {
        let mut bytes = Vec::with_capacity(FILE_BYTES);
        let mut file = &self.0;
        file.seek(SeekFrom::Start(0))?;
        file.take(FILE_BYTES as u64).read_to_end(&mut bytes)?;
        Ok(serde_json::from_slice(&bytes).unwrap_or_default())
    }

    /// Counts lost records. The caller holds the spool's lock.
    pub(super) fn note(
        &self,
        session: &SessionId,
        count: u64,
        now_ms: i64,
        reason: &str,
    ) -> io::Result<()> {
        let mut gaps = self.read()?;
        add(&mut gaps, session, count, now_ms, reason);
        write(&mut &self.0, &gaps)
    }

    /// Takes away what was told: the same counts, or what remains of larger ones. The caller holds the spool's lock.
    pub(super) fn subtract(&self, told: &[Gap]) -> io::Result<()> {
        let mut gaps = self.read()?;
        for gap in &mut gaps {
            let same = told.iter().find(|one| one.session == gap.session);
            gap.count -= same.map_or(0, |one| one.count.min(gap.count));
        }
        gaps.retain(|gap| gap.count > 0);
        write(&mut &self.0, &gaps)
    }
}

fn add(gaps: &mut Vec<Gap>, session: &SessionId, count: u64, now_ms: i64, reason: &str) {
    let is_known = gaps.iter().any(|gap| gap.session.as_ref() == Some(session));
    let own = is_known || gaps.len() < SESSIONS_MAX - 1;
    let session = own.then(|| session.clone());
    let reason: String = crate::cut::prefix(reason, REASON_BYTES_MAX).to_owned();
    match gaps.iter_mut().find(|gap| gap.session == session) {
        Some(gap) => {
            gap.count = gap.count.saturating_add(count);
            gap.last_ms = gap.last_ms.max(now_ms);
            gap.reason = reason;
        }
        None => gaps.push(Gap {
            session,
            count,
            first_ms: now_ms,
            last_ms: now_ms,
            reason,
        }),
    }
}

fn write(file: &mut (impl io::Write + io::Seek), gaps: &[Gap]) -> io::Result<()> {
    let mut bytes = serde_json::to_vec(gaps)?;
    // White space behind the JSON keeps the size, and with it the room on disk.
    if bytes.len() > FILE_BYTES {
        return Err(io::Error::other(
            "the count of lost records outgrew its file",
        ));
    }
    bytes.resize(FILE_BYTES, b' ');
    file.seek(SeekFrom::Start(0))?;
    file.write_all(&bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn session(name: &str) -> SessionId {
        name.parse().expect("an id")
    }

    #[test]
    fn losses_are_counted_by_session_until_they_are_told() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("gaps");
        let file = GapFile::open(&path).expect("it can be made");
        assert_eq!(file.read().expect("readable"), []);
        file.note(&session("a"), 2, 10, "full").expect("noted");
        file.note(&session("b"), 1, 11, "full").expect("noted");
        file.note(&session("a"), 3, 12, "no space").expect("noted");
        let gaps = GapFile::open(&path).expect("opens").read().expect("reads");
        assert_eq!(gaps.len(), 2);
        assert_eq!(
            (gaps[0].count, gaps[0].first_ms, gaps[0].last_ms),
            (5, 10, 12)
        );
        assert_eq!(gaps[0].reason, "no space");
        file.note(&session("a"), 1, 13, "full").expect("noted");
        file.subtract(&gaps).expect("taken away");
        let left = file.read().expect("readable");
        assert_eq!(left.len(), 1);
        assert_eq!(
            (left[0].session.clone(), left[0].count),
            (Some(session("a")), 1)
        );
    }

    #[test]
    fn many_sessions_with_long_names_fit_into_the_file() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = GapFile::open(&folder.path().join("gaps")).expect("it can be made");
        let long = "x".repeat(120);
        for number in 0..200 {
            let name = session(&format!("{long}{number}"));
            file.note(&name, 1, number, &"é\u{1}".repeat(200))
                .expect("noted");
        }
        let gaps = file.read().expect("readable");
        assert_eq!(gaps.len(), SESSIONS_MAX);
        assert_eq!(gaps.iter().map(|gap| gap.count).sum::<u64>(), 200);
        let rest = gaps
            .iter()
            .find(|gap| gap.session.is_none())
            .expect("the rest");
        assert_eq!(rest.count, 200 - (SESSIONS_MAX as u64 - 1));
    }

    #[test]
    fn a_file_with_something_else_in_it_counts_nothing() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("gaps");
        std::fs::write(&path, "nonsense").expect("written");
        let file = GapFile::open(&path).expect("it opens");
        assert_eq!(file.read().expect("readable"), []);
    }
}
