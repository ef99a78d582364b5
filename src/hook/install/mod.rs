//! `remembrancer hook install`: our hooks in the settings of a coding agent, beside what is there.

mod difference;
mod document;
mod settings;

use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};

use remembrancer_capture::hook::Program;

use super::place::Place;
use crate::failure::Failure;

pub(crate) use settings::events;

/// Largest settings file that is changed, in bytes.
const SETTINGS_BYTES_MAX: u64 = 4 * 1024 * 1024;
/// Most copies of earlier settings that are kept beside them.
const COPIES_MAX: u32 = 100;

/// Whose settings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Scope {
    /// Those of this user, for all projects
    User,
    /// Those of the project in the current folder, which others share
    Project,
    /// Those of this user for the project in the current folder (Claude Code)
    Local,
}

/// A change of settings that is not made yet.
#[derive(Debug)]
pub(crate) struct Plan {
    /// The file, where links lead.
    pub(crate) path: PathBuf,
    before: Option<String>,
    after: String,
}

impl Plan {
    /// Reads the settings and works out what is to change. `events`: those alone.
    pub(crate) fn make(
        program: Program,
        path: &Path,
        events: &[&str],
        binary: &str,
    ) -> Result<Self, Failure> {
        let path = match path.canonicalize() {
            Ok(real) => real,
            Err(error) if error.kind() == io::ErrorKind::NotFound => path.to_owned(),
            Err(error) => return Err(cannot("read", path, &error)),
        };
        let before = read(&path)?;
        let after = settings::with_hooks(
            before.as_deref().unwrap_or_default(),
            program,
            events,
            binary,
        )
        .map_err(|reason| {
            Failure::new(format!("{}: {reason}", path.display()))
                .hint("put that right first: it is not changed as long as it is not understood")
        })?;
        Ok(Self {
            path,
            before,
            after,
        })
    }

    /// Whether there is anything to change.
    pub(crate) fn is_needed(&self) -> bool {
        self.before.as_ref() != Some(&self.after)
    }

    /// The change, line by line.
    pub(crate) fn difference(&self) -> String {
        difference::difference(self.before.as_deref().unwrap_or_default(), &self.after)
    }

    /// Makes the change, all of it or none. Returns the copy of what was there.
    pub(crate) fn apply(&self) -> Result<Option<PathBuf>, Failure> {
        let folder = self.path.parent().unwrap_or(Path::new("."));
        std::fs::create_dir_all(folder).map_err(|error| cannot("make", folder, &error))?;
        let copy = match &self.before {
            Some(before) => Some(keep_copy(&self.path, before)?),
            None => None,
        };
        self.replace(folder)
            .map_err(|error| cannot("write", &self.path, &error))?;
        Ok(copy)
    }

    fn replace(&self, folder: &Path) -> io::Result<()> {
        let mut new = tempfile::NamedTempFile::new_in(folder)?;
        new.write_all(self.after.as_bytes())?;
        match std::fs::metadata(&self.path) {
            Ok(metadata) => new.as_file().set_permissions(metadata.permissions())?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
        new.as_file().sync_all()?;
        // Somebody else may have changed the settings since they were read; what they wrote is not lost either.
        if read(&self.path).ok().flatten() != self.before {
            return Err(io::Error::other("it changed meanwhile; try again"));
        }
        new.persist(&self.path).map_err(|error| error.error)?;
        Ok(())
    }
}

/// Keeps a copy under a name that is not taken, with the rights of the original.
fn keep_copy(path: &Path, before: &str) -> Result<PathBuf, Failure> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    for number in 1..=COPIES_MAX {
        let copy = path.with_file_name(format!("{name}.before-remembrancer-{number}"));
        // For the owner alone until it has the rights of the original.
        let made = remembrancer_capture::private::options()
            .write(true)
            .create_new(true)
            .open(&copy);
        match made {
            Ok(mut file) => {
                let rights = std::fs::metadata(path).map(|metadata| metadata.permissions());
                return rights
                    .and_then(|rights| file.set_permissions(rights))
                    .and_then(|()| file.write_all(before.as_bytes()))
                    .and_then(|()| file.sync_all())
                    .map(|()| copy.clone())
                    .map_err(|error| cannot("write", &copy, &error));
            }
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(cannot("write", &copy, &error)),
        }
    }
    Err(Failure::new(format!(
        "{} has {COPIES_MAX} copies beside it",
        path.display()
    ))
    .hint("remove those that are no longer needed"))
}

/// The settings as text; `None` where there are none.
fn read(path: &Path) -> Result<Option<String>, Failure> {
    let mut text = String::new();
    let read = std::fs::File::open(path)
        .and_then(|file| file.take(SETTINGS_BYTES_MAX + 1).read_to_string(&mut text));
    match read {
        Ok(bytes) if bytes as u64 > SETTINGS_BYTES_MAX => Err(Failure::new(format!(
            "{} has more than {SETTINGS_BYTES_MAX} bytes",
            path.display()
        ))),
        Ok(_) => Ok(Some(text)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(cannot("read", path, &error)),
    }
}

fn cannot(what: &str, path: &Path, error: &io::Error) -> Failure {
    Failure::new(format!("cannot {what} {}: {error}", path.display()))
}

/// The settings file of a program.
pub(crate) fn settings_file(
    program: Program,
    scope: Scope,
    place: &Place,
    project: &Path,
) -> Result<PathBuf, Failure> {
    let home = |set: &Option<PathBuf>, folder: &str| {
        set.clone()
            .or_else(|| place.home.as_ref().map(|home| home.join(folder)))
            .ok_or_else(|| Failure::new("the variable HOME is not set"))
    };
    match (program, scope) {
        (Program::Claude, Scope::User) => Ok(home(&place.claude, ".claude")?.join("settings.json")),
        (Program::Claude, Scope::Project) => Ok(project.join(".claude/settings.json")),
        (Program::Claude, Scope::Local) => Ok(project.join(".claude/settings.local.json")),
        (Program::Codex, Scope::User) => Ok(home(&place.codex, ".codex")?.join("hooks.json")),
        (Program::Codex, Scope::Project) => Ok(project.join(".codex/hooks.json")),
        (Program::Gemini, Scope::User) => Ok(home(&None, ".gemini")?.join("settings.json")),
        (Program::Gemini, Scope::Project) => Ok(project.join(".gemini/settings.json")),
        (Program::Codex | Program::Gemini, Scope::Local) => Err(Failure::new(format!(
            "{} has no settings of a user for one project",
            program.name()
        ))
        .hint("use --scope user or --scope project")),
    }
}

/// In how many of a program's events ours is run, by its settings file.
pub(crate) fn installed(program: Program, path: &Path) -> usize {
    let settings = read(path).ok().flatten().unwrap_or_default();
    settings::installed(&settings, program)
}
