//! Where hooks find the recorder, their spool, and what is known of sessions.

use std::ffi::OsString;
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use remembrancer_capture::spool;
use remembrancer_schema::ContentHash;
use serde::{Deserialize, Serialize};

/// Address of the recorder unless another one is given.
const ADDRESS_DEFAULT: &str = "http://127.0.0.1:7171";
/// File with the address and the key, below the user's configuration.
const FILE: &str = "remembrancer/hooks.json";
/// Largest such file, in bytes.
const FILE_BYTES_MAX: u64 = 16 * 1024;

/// Longest time after its start that a hook may be told to send, in milliseconds.
const SEND_MS_MAX: u64 = 1_500;

/// Where the recorder is, and the key that it knows the hooks by.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct RecorderAddress {
    /// Scheme, host and port.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) url: Option<String>,
    /// A key that may write.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) key: Option<String>,
}

/// Everything that hooks need to know of their surroundings.
#[derive(Clone)]
pub(crate) struct Place {
    pub(crate) url: String,
    pub(crate) key: Option<String>,
    /// How long after its start a hook sends, where that is set: other than the default.
    pub(crate) send_time: Option<Duration>,
    /// The spool's folder.
    pub(crate) spool: PathBuf,
    /// The folder of what is known of sessions.
    pub(crate) standing: PathBuf,
    /// Where losses are counted while even the spool cannot be opened.
    pub(crate) losses: PathBuf,
    pub(crate) home: Option<PathBuf>,
    /// Folder of the program's own files, where a variable names it.
    pub(crate) claude: Option<PathBuf>,
    pub(crate) codex: Option<PathBuf>,
}

impl Place {
    /// As the environment and the user's file say. `None` where not even a home folder is known.
    pub(crate) fn find(variable: impl Fn(&str) -> Option<OsString>) -> Option<Self> {
        let set = |name: &str| variable(name).filter(|value| !value.is_empty());
        let text = |name: &str| set(name).and_then(|value| value.into_string().ok());
        let file = file(&variable)
            .and_then(|path| read(&path).ok())
            .unwrap_or_default();
        let url = text("REMEMBRANCER_URL").or(file.url);
        let url = url
            .as_deref()
            .unwrap_or(ADDRESS_DEFAULT)
            .trim_end_matches('/')
            .to_owned();
        let key = text("REMEMBRANCER_KEY").or(file.key);
        let folder = folder_of_key(spool::folder_for(&url, &variable)?, key.as_deref());
        // Never where others may write too.
        let state = || Some(PathBuf::from(set("HOME")?).join(".local/state/remembrancer"));
        let for_losses = set("XDG_RUNTIME_DIR").map(PathBuf::from).or_else(state);
        let name = folder.file_name().unwrap_or_default().to_string_lossy();
        let losses = format!("remembrancer-hook-losses-{name}");
        Some(Self {
            key,
            send_time: text("REMEMBRANCER_HOOK_SEND_MS")
                .and_then(|text| text.parse().ok())
                .map(|ms: u64| Duration::from_millis(ms.min(SEND_MS_MAX))),
            standing: folder.join("hook-sessions"),
            losses: for_losses.unwrap_or_else(|| folder.clone()).join(losses),
            spool: folder,
            home: set("HOME").map(PathBuf::from),
            claude: set("CLAUDE_CONFIG_DIR").map(PathBuf::from),
            codex: set("CODEX_HOME").map(PathBuf::from),
            url,
        })
    }
}

/// The spool of one key at a recorder: keys may be of different workspaces, and what was spooled for one must not reach another.
/// The key itself is in no name. Without a key it is the recorder's own, from which nothing is sent.
fn folder_of_key(folder: PathBuf, key: Option<&str>) -> PathBuf {
    let (Some(key), Some(name)) = (key, folder.file_name()) else {
        return folder;
    };
    let hash = ContentHash::of(key.as_bytes()).to_string();
    let name = format!("{}-key-{}", name.to_string_lossy(), &hash[..16]);
    folder.with_file_name(name)
}

/// The user's file.
fn file(variable: impl Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    let set = |name: &str| {
        variable(name)
            .filter(|value| !value.is_empty())
            .map(PathBuf::from)
    };
    let folder = set("XDG_CONFIG_HOME").or_else(|| Some(set("HOME")?.join(".config")))?;
    Some(folder.join(FILE))
}

fn read(path: &Path) -> io::Result<RecorderAddress> {
    let mut bytes = Vec::new();
    std::fs::File::open(path)?
        .take(FILE_BYTES_MAX)
        .read_to_end(&mut bytes)?;
    Ok(serde_json::from_slice(&bytes)?)
}

/// Keeps the address and the key for every hook of this user, in a file for the user alone. Returns the file.
pub(crate) fn keep_address(
    given: RecorderAddress,
    variable: impl Fn(&str) -> Option<OsString>,
) -> io::Result<PathBuf> {
    let path = file(variable).ok_or_else(|| {
        io::Error::new(
            io::ErrorKind::NotFound,
            "neither HOME nor XDG_CONFIG_HOME is set",
        )
    })?;
    let folder = path.parent().unwrap_or(Path::new("."));
    std::fs::create_dir_all(folder)?;
    let before = match read(&path) {
        Ok(address) => address,
        Err(error) if error.kind() == io::ErrorKind::NotFound => RecorderAddress::default(),
        Err(error) => return Err(error),
    };
    let address = RecorderAddress {
        url: given.url.or(before.url),
        key: given.key.or(before.key),
    };
    // Temporary files are for their owner alone, and so is what one becomes.
    let mut new = tempfile::NamedTempFile::new_in(folder)?;
    new.write_all(&serde_json::to_vec_pretty(&address)?)?;
    new.as_file().sync_all()?;
    new.persist(&path).map_err(|error| error.error)?;
    Ok(path)
}
