//! What is remembered of conversations from one run of the proxy to the next, one file each.

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use remembrancer_schema::{ContentHash, SessionId};

use crate::conversation::Conversation;
use crate::private;

/// Most conversations that are read at a start; the newest.
const CONVERSATIONS_MAX: usize = 4096;
/// A conversation that was not used for so long is forgotten.
const AGE_MAX: Duration = Duration::from_secs(30 * 24 * 60 * 60);
/// Largest file that is read, in bytes.
const FILE_BYTES_MAX: u64 = 16 * 1024 * 1024;
/// A file that is being written for so long was given up.
const WRITING_MAX: Duration = Duration::from_secs(60 * 60);
const ENDING: &str = "json";

/// The folder of the files.
#[derive(Debug)]
pub(super) struct Remembered {
    folder: PathBuf,
    /// In the names of files that are being written, so that no two programs write the same one.
    writer: String,
}

impl Remembered {
    /// The folder beside a spool's segments: one for each API, whose conversations no other proxy needs.
    pub(super) fn beside(spool: &Path, upstream: &str) -> Self {
        let api = &ContentHash::of(upstream.as_bytes()).to_string()[..16];
        Self {
            folder: spool.join("conversations").join(api),
            writer: uuid::Uuid::now_v7().simple().to_string(),
        }
    }

    /// Every conversation that is remembered, oldest first. What cannot be read is passed over: its conversation begins anew.
    pub(super) fn load(&self, now: SystemTime) -> Vec<Conversation> {
        let mut files = match private::make_folder(&self.folder).and_then(|()| self.files()) {
            Ok(files) => files,
            Err(error) => {
                tracing::warn!(folder = %self.folder.display(), %error, "no conversation is remembered from the last start");
                return Vec::new();
            }
        };
        files.sort();
        let too_many = files.len().saturating_sub(CONVERSATIONS_MAX);
        let mut known = Vec::new();
        for (number, (modified, path)) in files.into_iter().enumerate() {
            let age = now.duration_since(modified).unwrap_or_default();
            let is_whole = path.extension().is_some_and(|ending| ending == ENDING);
            if !is_whole && age <= WRITING_MAX {
                continue;
            }
            if !is_whole || age > AGE_MAX || number < too_many {
                remove(&path);
                continue;
            }
            match fs::read(&path)
                .and_then(|bytes| Ok(serde_json::from_slice::<Conversation>(&bytes)?))
            {
                Ok(conversation) => known.push(conversation),
                // Another proxy of this API forgot it meanwhile.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => {
                    tracing::warn!(path = %path.display(), %error, "a remembered conversation cannot be read");
                }
            }
        }
        known
    }

    fn files(&self) -> io::Result<Vec<(SystemTime, PathBuf)>> {
        let mut files = Vec::new();
        for entry in fs::read_dir(&self.folder)? {
            let entry = entry?;
            match entry.metadata() {
                Ok(metadata) if metadata.is_file() && metadata.len() <= FILE_BYTES_MAX => {
                    files.push((metadata.modified()?, entry.path()));
                }
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
        }
        Ok(files)
    }

    /// Remembers a conversation as it is now.
    pub(super) fn save(&self, conversation: &Conversation) -> io::Result<()> {
        let bytes = serde_json::to_vec(conversation)?;
        let path = self.path(&conversation.session);
        let new = path.with_extension(format!("{}.new", self.writer));
        let mut options = private::options();
        let written = private::open(options.write(true).create(true).truncate(true), &new)
            .and_then(|mut file| file.write_all(&bytes))
            .and_then(|()| fs::rename(&new, path));
        if written.is_err() {
            remove(&new);
        }
        written
    }

    /// Removes what is remembered of a conversation.
    pub(super) fn forget(&self, session: &SessionId) {
        remove(&self.path(session));
    }

    fn path(&self, session: &SessionId) -> PathBuf {
        let name = &ContentHash::of(session.as_str().as_bytes()).to_string()[..32];
        self.folder.join(format!("{name}.{ENDING}"))
    }
}

fn remove(path: &Path) {
    match fs::remove_file(path) {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => {
            tracing::warn!(path = %path.display(), %error, "a conversation's file cannot be removed");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conversation::{Appearance, Conversations};
    use crate::model_api::Api;

    fn conversation(session: &str) -> Conversation {
        let body = br#"{"messages":[{"role":"user","content":"go"}]}"#;
        let request = Api::OpenAiChat.request(body).expect("a request");
        let appearance = Appearance::of(Api::OpenAiChat, &request, None);
        let mut known = Conversations::default();
        let session = known.begin(&appearance, &session.parse().expect("an id"));
        known.get(&session).expect("it began").clone()
    }

    #[test]
    fn each_api_has_a_folder_of_its_own_and_what_is_forgotten_leaves_it() {
        let spool = tempfile::tempdir().expect("a folder");
        let one = Remembered::beside(spool.path(), "https://one.example/");
        let other = Remembered::beside(spool.path(), "https://other.example/");
        let now = SystemTime::now();
        assert!(one.load(now).is_empty() && other.load(now).is_empty());
        one.save(&conversation("s-1")).expect("saved");
        one.save(&conversation("s-2")).expect("saved");
        assert_eq!((one.load(now).len(), other.load(now).len()), (2, 0));
        one.forget(&"s-1".parse().expect("an id"));
        one.forget(&"s-9".parse().expect("an id"));
        let left: Vec<String> = one
            .load(now)
            .iter()
            .map(|one| one.session.to_string())
            .collect();
        assert_eq!(left, ["s-2"]);
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            let path = one.path(&"s-2".parse().expect("an id"));
            let mode = fs::metadata(path)
                .expect("it is there")
                .permissions()
                .mode();
            assert_eq!(mode & 0o777, 0o600);
        }
    }

    #[test]
    fn a_folder_that_cannot_be_used_is_no_reason_not_to_start() {
        let spool = tempfile::tempdir().expect("a folder");
        fs::write(spool.path().join("conversations"), "in the way").expect("written");
        let remembered = Remembered::beside(spool.path(), "https://one.example/");
        assert!(remembered.load(SystemTime::now()).is_empty());
        assert!(remembered.save(&conversation("s-1")).is_err());
    }
}
