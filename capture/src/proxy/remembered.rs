//! What is remembered of conversations from one run of the proxy to the next, one file each.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use remembrancer_schema::ContentHash;

use crate::conversation::Conversation;
use crate::spool::make_private;

/// Most conversations that are read at a start; the newest.
const CONVERSATIONS_MAX: usize = 4096;
/// A conversation that was not used for so long is forgotten.
const AGE_MAX: Duration = Duration::from_secs(30 * 24 * 60 * 60);
/// Largest file that is read, in bytes.
const FILE_BYTES_MAX: u64 = 16 * 1024 * 1024;
const ENDING: &str = "json";

/// The folder of the files.
#[derive(Debug)]
pub(super) struct Remembered(PathBuf);

impl Remembered {
    /// The folder beside a spool's segments; made if it is not there.
    pub(super) fn beside(spool: &Path) -> io::Result<Self> {
        let folder = spool.join("conversations");
        make_private(&folder)?;
        Ok(Self(folder))
    }

    /// Every conversation that is remembered, oldest first. A file that cannot be read is passed over: its conversation begins anew.
    pub(super) fn load(&self, now: SystemTime) -> io::Result<Vec<Conversation>> {
        let mut files = Vec::new();
        for entry in fs::read_dir(&self.0)? {
            let entry = entry?;
            let path = entry.path();
            let metadata = entry.metadata()?;
            if path.extension().is_none_or(|ending| ending != ENDING)
                || metadata.len() > FILE_BYTES_MAX
            {
                continue;
            }
            files.push((metadata.modified()?, path));
        }
        files.sort();
        let too_many = files.len().saturating_sub(CONVERSATIONS_MAX);
        let mut known = Vec::new();
        for (number, (modified, path)) in files.into_iter().enumerate() {
            let is_old = now.duration_since(modified).is_ok_and(|age| age > AGE_MAX);
            if is_old || number < too_many {
                fs::remove_file(path)?;
                continue;
            }
            match fs::read(&path).map(|bytes| serde_json::from_slice::<Conversation>(&bytes)) {
                Ok(Ok(conversation)) => known.push(conversation),
                Ok(Err(error)) => {
                    tracing::warn!(path = %path.display(), %error, "a remembered conversation cannot be read")
                }
                Err(error) => {
                    tracing::warn!(path = %path.display(), %error, "a remembered conversation cannot be read")
                }
            }
        }
        Ok(known)
    }

    /// Remembers a conversation as it is now.
    pub(super) fn save(&self, conversation: &Conversation) -> io::Result<()> {
        let name = &ContentHash::of(conversation.session.as_str().as_bytes()).to_string()[..32];
        let bytes = serde_json::to_vec(conversation)?;
        let new = self.0.join(format!("{name}.new"));
        fs::write(&new, bytes)?;
        fs::rename(new, self.0.join(format!("{name}.{ENDING}")))
    }
}
