//! Where a ledger is: a data directory, perhaps a database server, and a workspace.

use std::path::{Path, PathBuf};
use std::str::FromStr;

use crate::blob_store::BlobLocation;
use crate::data_dir::DataDir;

/// Most characters of a workspace's name.
const WORKSPACE_CHARACTERS_MAX: usize = 32;

/// Where the ledger of one workspace is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LedgerLocation {
    /// The data directory: keys and the copy of the newest checkpoint, and the database unless `database` names another.
    pub data: PathBuf,
    /// A database server; the SQLite file in the data directory if `None`.
    pub database: Option<DatabaseUrl>,
    /// Where large blobs are kept, for all workspaces; the place that was used last, or the data directory, if `None`.
    pub blobs: Option<BlobLocation>,
    /// The workspace. Each has its own ledger, with its own origin and key.
    pub workspace: WorkspaceName,
}

impl LedgerLocation {
    /// The default workspace's ledger in a data directory, on SQLite.
    pub fn new(data: impl Into<PathBuf>) -> Self {
        Self {
            data: data.into(),
            database: None,
            blobs: None,
            workspace: WorkspaceName::default(),
        }
    }

    /// The same place for another workspace.
    pub fn workspace(&self, workspace: WorkspaceName) -> Self {
        Self {
            workspace,
            ..self.clone()
        }
    }

    /// The folder of this workspace's files: the data directory itself for the default one, else one below it.
    pub fn directory(&self) -> PathBuf {
        if self.workspace.is_default() {
            self.data.clone()
        } else {
            self.workspaces().join(self.workspace.as_str())
        }
    }

    /// The folder of the folders of the other workspaces.
    pub(crate) fn workspaces(&self) -> PathBuf {
        self.data.join("workspaces")
    }

    pub(crate) fn folder(&self) -> DataDir {
        DataDir::new(&self.directory())
    }
}

impl<P: AsRef<Path> + ?Sized> From<&P> for LedgerLocation {
    fn from(data: &P) -> Self {
        Self::new(data.as_ref())
    }
}

impl std::fmt::Display for LedgerLocation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.database {
            None => write!(f, "{}", self.directory().display()),
            Some(url) if self.workspace.is_default() => write!(f, "{url}"),
            Some(url) => write!(f, "workspace {} of {url}", self.workspace),
        }
    }
}

/// Address of a database server. Shown without its password.
#[derive(Clone, PartialEq, Eq)]
pub struct DatabaseUrl(String);

/// Text that is not the address of a database that this program knows.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UnknownDatabase {
    /// It is of another kind.
    #[error(
        "a database's address begins with postgres:// or postgresql://; leave it away for SQLite in the data directory"
    )]
    Kind,
    /// It has a parameter that nothing would heed, and that could be a secret under a mistyped name.
    #[error("the database's address has the parameter {0:?}, which is not known here")]
    Parameter(String),
}

/// What may stand behind the question mark of an address.
const PARAMETERS: [&str; 17] = [
    "application_name",
    "dbname",
    "host",
    "hostaddr",
    "options",
    "password",
    "port",
    "ssl-ca",
    "ssl-cert",
    "ssl-key",
    "ssl-mode",
    "ssl-root-cert",
    "sslcert",
    "sslkey",
    "sslmode",
    "sslrootcert",
    "user",
];

impl DatabaseUrl {
    /// The address with its password, for connecting.
    pub(crate) fn expose(&self) -> &str {
        &self.0
    }
}

impl FromStr for DatabaseUrl {
    type Err = UnknownDatabase;

    fn from_str(text: &str) -> Result<Self, UnknownDatabase> {
        let is_known = ["postgres://", "postgresql://"]
            .iter()
            .any(|scheme| text.starts_with(scheme));
        if !is_known {
            return Err(UnknownDatabase::Kind);
        }
        let query = text.split_once('?').map_or("", |(_, query)| query);
        let names = query
            .split('&')
            .filter(|pair| !pair.is_empty())
            .map(|pair| pair.split('=').next().unwrap_or_default());
        match names
            .into_iter()
            .find(|name| !PARAMETERS.contains(name) && !name.starts_with("options["))
        {
            Some(name) => Err(UnknownDatabase::Parameter(name.chars().take(64).collect())),
            None => Ok(Self(text.to_owned())),
        }
    }
}

impl std::fmt::Display for DatabaseUrl {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (scheme, rest) = self.0.split_once("://").unwrap_or(("postgres", ""));
        // A query can hold a password too.
        let rest = rest.split('?').next().unwrap_or_default();
        match rest.rsplit_once('@') {
            None => write!(f, "{scheme}://{rest}"),
            Some((user, host)) => {
                let user = user.split(':').next().unwrap_or_default();
                write!(f, "{scheme}://{user}@{host}")
            }
        }
    }
}

impl std::fmt::Debug for DatabaseUrl {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "DatabaseUrl({self})")
    }
}

/// Name of a workspace: 1 to 32 of a to z, 0 to 9 and hyphen, beginning with a letter.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WorkspaceName(String);

/// Name of the workspace that every data directory has.
pub(crate) const WORKSPACE_DEFAULT: &str = "default";

/// Text that cannot name a workspace.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} cannot name a workspace: 1 to 32 of a-z, 0-9 and hyphen, beginning with a letter")]
pub struct BadWorkspaceName(pub String);

impl WorkspaceName {
    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether a text can name a workspace.
    pub(crate) fn is_good(text: &str) -> bool {
        text.len() <= WORKSPACE_CHARACTERS_MAX
            && text.starts_with(|first: char| first.is_ascii_lowercase())
            && text
                .bytes()
                .all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-'))
    }

    /// Whether it is the workspace that every data directory has.
    pub fn is_default(&self) -> bool {
        self.0 == WORKSPACE_DEFAULT
    }
}

impl Default for WorkspaceName {
    fn default() -> Self {
        Self(WORKSPACE_DEFAULT.to_owned())
    }
}

impl FromStr for WorkspaceName {
    type Err = BadWorkspaceName;

    fn from_str(text: &str) -> Result<Self, BadWorkspaceName> {
        Self::is_good(text)
            .then(|| Self(text.to_owned()))
            .ok_or_else(|| BadWorkspaceName(text.chars().take(64).collect()))
    }
}

impl serde::Serialize for WorkspaceName {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

impl std::fmt::Display for WorkspaceName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_database_is_shown_without_its_password() {
        for (text, shown) in [
            ("postgres://u:secret@h:1/d", "postgres://u@h:1/d"),
            (
                "postgres://u:s@cret@h/d?password=secret",
                "postgres://u@h/d",
            ),
            ("postgresql:///d?host=/run", "postgresql:///d"),
        ] {
            let url: DatabaseUrl = text.parse().expect(text);
            assert_eq!(url.to_string(), shown);
            assert!(!format!("{url:?}").contains("secret"));
            assert_eq!(url.expose(), text);
        }
        assert_eq!(
            "mysql://h/d".parse::<DatabaseUrl>(),
            Err(UnknownDatabase::Kind)
        );
        for text in [
            "postgres://h/d?sslpassword=secret",
            "postgres://h/d?user=u&passwrd=secret",
        ] {
            let refused = text.parse::<DatabaseUrl>().expect_err(text).to_string();
            assert!(refused.contains("passw"), "{refused}");
            assert!(!refused.contains("secret"), "{refused}");
        }
    }

    #[test]
    fn a_workspace_is_a_folder_of_its_own_and_never_one_outside() {
        let data = LedgerLocation::new("data");
        assert_eq!(data.directory(), Path::new("data"));
        let acme = data.workspace("acme-2".parse().expect("a name"));
        assert_eq!(acme.directory(), Path::new("data/workspaces/acme-2"));
        for bad in [
            "",
            "..",
            "a/b",
            "A",
            "2a",
            "-a",
            "a_b",
            "a.b",
            &"a".repeat(33),
        ] {
            assert!(bad.parse::<WorkspaceName>().is_err(), "{bad}");
        }
    }
}
