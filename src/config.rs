//! How a server is set up: flags before environment before file before defaults, in one typed structure.

mod arguments;
mod file;
mod key;
mod print;
mod secret_url;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;

use axum::http::Uri;
use remembrancer_recorder::{
    BlobLocation, LedgerLocation, LimitKey, Limits, MetricsAccess, WitnessAddress,
};
use remembrancer_schema::Origin;

use crate::failure::Failure;
use crate::terminal::LogFormat;

pub(crate) use arguments::{GlobalArgs, SettingArgs};
pub(crate) use key::KEYS;
pub(crate) use print::{as_json, as_toml, example};
pub(crate) use secret_url::SecretUrl;

/// The file in a data directory that is read unless another one is named.
pub(crate) const FILE_NAME: &str = "remembrancer.toml";
/// What every variable of ours begins with.
const VARIABLE_PREFIX: &str = "REMEMBRANCER_";
/// The table of the limits in a file, and the beginning of their names elsewhere.
const LIMITS: &str = "limits";

/// Everything that can be set.
#[derive(Debug, Clone)]
pub(crate) struct Settings {
    pub(crate) listen: SocketAddr,
    pub(crate) public_url: Option<Uri>,
    pub(crate) data: PathBuf,
    pub(crate) origin: Option<Origin>,
    pub(crate) database: Option<SecretUrl>,
    pub(crate) blobs: Option<BlobLocation>,
    pub(crate) anchor: Option<PathBuf>,
    pub(crate) witness: Vec<WitnessAddress>,
    pub(crate) require_witnesses: usize,
    pub(crate) metrics: MetricsAccess,
    pub(crate) log: String,
    pub(crate) log_format: LogFormat,
    pub(crate) limits: Limits,
    /// Where each value comes from that is not a default.
    sources: BTreeMap<String, Source>,
}

/// Where a value comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Source {
    File(PathBuf),
    Variable(String),
    Flag(String),
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path) => write!(f, "{}", path.display()),
            Self::Variable(name) => write!(f, "environment variable {name}"),
            Self::Flag(name) => write!(f, "flag --{name}"),
        }
    }
}

/// What the settings are made from.
#[derive(Debug, Clone, Default)]
pub(crate) struct Sources {
    /// The file that was asked for with `--config`.
    pub(crate) file: Option<PathBuf>,
    /// The variables whose names begin as ours do.
    pub(crate) environment: BTreeMap<String, String>,
    /// Settings given as flags: name and value.
    pub(crate) flags: Vec<(&'static str, String)>,
    /// Limits given as flags: `NAME=NUMBER` each.
    pub(crate) limits: Vec<String>,
}

/// One value on its way in.
struct Given {
    name: String,
    value: Value,
    source: Source,
}

/// A value as its source writes it.
enum Value {
    Text(String),
    Number(u64),
}

impl Sources {
    /// The environment of this process, and the file that its flags name. A variable that is set to nothing counts as not set.
    pub(crate) fn of_process() -> Result<Self, Failure> {
        let mut environment = BTreeMap::new();
        for (name, value) in std::env::vars_os() {
            let Some(name) = name
                .to_str()
                .filter(|name| name.starts_with(VARIABLE_PREFIX))
            else {
                continue;
            };
            let value = value.into_string().map_err(|_| {
                Failure::new(format!("the environment variable {name} is not UTF-8"))
            })?;
            if !value.is_empty() {
                environment.insert(name.to_owned(), value);
            }
        }
        Ok(Self {
            file: arguments::named_file(),
            environment,
            ..Self::default()
        })
    }

    fn variable(&self, name: &str) -> Option<(String, &String)> {
        let variable = variable_name(name);
        let value = self.environment.get(&variable)?;
        Some((variable, value))
    }

    /// A setting that the file cannot be asked for, since it decides which file is read or is needed before.
    fn without_file(&self, name: &str) -> Option<&String> {
        let flag = self.flags.iter().rev().find(|(flag, _)| *flag == name);
        flag.map(|(_, value)| value)
            .or_else(|| self.variable(name).map(|(_, value)| value))
    }

    /// The file that is to be read, and whether it was asked for by name.
    fn file(&self) -> Option<(PathBuf, bool)> {
        let named = self.file.clone().or_else(|| {
            let (_, value) = self.variable("config")?;
            Some(PathBuf::from(value))
        });
        if let Some(path) = named {
            return Some((path, true));
        }
        let data = self.without_file("data");
        let path = PathBuf::from(data.map_or(key::DATA_DEFAULT, String::as_str)).join(FILE_NAME);
        path.exists().then_some((path, false))
    }

    fn given_by_environment(&self) -> Result<Vec<Given>, Failure> {
        let beginning = variable_name(&format!("{LIMITS}."));
        for variable in self.environment.keys() {
            let is_known = || names().any(|name| variable_name(&name) == *variable);
            if variable.starts_with(&beginning) && !is_known() {
                let known = Limits::KEYS.iter().map(|key| key.name);
                return Err(Failure::new(format!(
                    "the environment variable {variable} names no limit"
                ))
                .hint(format!("known limits: {}", list(known))));
            }
        }
        let given = names().filter_map(|name| {
            let (variable, value) = self.variable(&name)?;
            Some(Given {
                name,
                value: Value::Text(value.clone()),
                source: Source::Variable(variable),
            })
        });
        Ok(given.collect())
    }

    fn given_by_flags(&self) -> Result<Vec<Given>, Failure> {
        let settings = self.flags.iter().map(|(name, value)| {
            Ok(Given {
                name: (*name).to_owned(),
                value: Value::Text(value.clone()),
                source: Source::Flag(name.replace('_', "-")),
            })
        });
        let limits = self.limits.iter().map(|flag| {
            let (name, value) = flag.split_once('=').ok_or_else(|| {
                Failure::new(format!("--limit {flag}: there is no `=`"))
                    .hint("write a limit as NAME=NUMBER, such as --limit connections_max=256")
            })?;
            Ok(Given {
                name: format!("{LIMITS}.{name}"),
                value: Value::Text(value.to_owned()),
                source: Source::Flag("limit".to_owned()),
            })
        });
        settings.chain(limits).collect()
    }
}

impl Settings {
    /// The settings that the sources make together.
    pub(crate) fn load(sources: &Sources) -> Result<Self, Failure> {
        let mut settings = Self::with_defaults()?;
        let file = sources.file();
        if let Some((path, _)) = &file {
            settings.take(file::read(path)?)?;
        }
        settings.take(sources.given_by_environment()?)?;
        settings.take(sources.given_by_flags()?)?;
        if let Some((path, is_named)) = file
            && !is_named
            && path != settings.data.join(FILE_NAME)
        {
            return Err(Failure::new(format!(
                "{}: data: a file in a data directory cannot name another one, {}",
                path.display(),
                settings.data.display()
            ))
            .hint("take `data` out of the file, or name the file with --config"));
        }
        if settings.require_witnesses > settings.witness.len() {
            return Err(Failure::new(format!(
                "require_witnesses = {}: there are {} witnesses, so that no checkpoint would ever be published",
                settings.require_witnesses,
                settings.witness.len()
            ))
            .hint("name as many with `witness`"));
        }
        Ok(settings)
    }

    /// Where the ledger of the default workspace is.
    pub(crate) fn location(&self) -> Result<LedgerLocation, Failure> {
        let database = self.database.as_ref();
        Ok(LedgerLocation {
            database: database.map(|url| url.reveal().parse()).transpose()?,
            blobs: self.blobs.clone(),
            ..LedgerLocation::new(&self.data)
        })
    }

    /// The settings of a command that is told where the ledger is: what it is not told, the environment and the file say.
    pub(crate) fn of_place(data: &str, database: Option<&str>) -> Result<Self, Failure> {
        let mut sources = Sources::of_process()?;
        // The default is what nobody asked for.
        if data != key::DATA_DEFAULT {
            sources.flags.push(("data", data.to_owned()));
        }
        let database = database.filter(|url| !url.is_empty());
        sources
            .flags
            .extend(database.map(|url| ("database", url.to_owned())));
        Self::load(&sources)
    }

    /// The defaults, but for these values: nothing of a file or the environment.
    pub(crate) fn with_flags(flags: Vec<(&'static str, String)>) -> Result<Self, Failure> {
        let sources = Sources {
            flags,
            ..Sources::default()
        };
        let mut settings = Self::with_defaults()?;
        settings.take(sources.given_by_flags()?)?;
        Ok(settings)
    }

    /// The filter and the format of the log, for commands that read no file.
    pub(crate) fn log_alone(sources: &Sources) -> Result<(String, LogFormat), Failure> {
        let mut settings = Self::with_defaults()?;
        let given = sources.given_by_environment()?.into_iter();
        let mut given: Vec<Given> = given.chain(sources.given_by_flags()?).collect();
        given.retain(|given| ["log", "log_format"].contains(&given.name.as_str()));
        settings.take(given)?;
        Ok((settings.log, settings.log_format))
    }

    fn with_defaults() -> Result<Self, Failure> {
        let mut settings = Self {
            listen: SocketAddr::from(([127, 0, 0, 1], 0)),
            public_url: None,
            data: PathBuf::new(),
            origin: None,
            database: None,
            blobs: None,
            anchor: None,
            witness: Vec::new(),
            require_witnesses: 0,
            metrics: MetricsAccess::Key,
            log: String::new(),
            log_format: LogFormat::Text,
            limits: Limits::default(),
            sources: BTreeMap::new(),
        };
        for key in KEYS {
            if let Some(default) = key.default {
                (key.set)(&mut settings, default)
                    .map_err(|reason| Failure::new(format!("default of {}: {reason}", key.name)))?;
            }
        }
        Ok(settings)
    }

    fn take(&mut self, all: Vec<Given>) -> Result<(), Failure> {
        for given in all {
            self.take_one(given)?;
        }
        Ok(())
    }

    fn take_one(&mut self, given: Given) -> Result<(), Failure> {
        let Given {
            name,
            value,
            source,
        } = given;
        let refused = |shown: &str, reason: &str| {
            let shown = crate::terminal::excerpt(shown, 200);
            Failure::new(format!("{source}: {name} = {shown}: {reason}"))
                .hint("docs/configuration.md lists every setting; `remembrancer config` prints what holds")
        };
        if let Some(limit) = name.strip_prefix("limits.") {
            let number = match &value {
                Value::Number(number) => *number,
                Value::Text(text) => text
                    .parse()
                    .map_err(|_| refused(text, &format!("a limit is a number{}", range(limit))))?,
            };
            self.limits
                .set(limit, number)
                .map_err(|error| refused(&number.to_string(), &error.to_string()))?;
        } else {
            let key = KEYS.iter().find(|key| key.name == name);
            let key = key.ok_or_else(|| refused("…", "there is no such setting"))?;
            let text = match value {
                Value::Text(text) => text,
                Value::Number(number) => number.to_string(),
            };
            let shown = if key.is_secret { "…" } else { &text };
            (key.set)(self, &text).map_err(|reason| refused(shown, &reason))?;
        }
        self.sources.insert(name, source);
        Ok(())
    }

    /// Where a value comes from; `None` for a default.
    pub(crate) fn source(&self, name: &str) -> Option<&Source> {
        self.sources.get(name)
    }
}

/// The range of a limit in words, for a message about something that is no number at all.
fn range(limit: &str) -> String {
    let key = Limits::KEYS.iter().find(|key| key.name == limit);
    key.map_or(String::new(), |LimitKey { min, max, .. }| {
        format!(" from {min} to {max}")
    })
}

/// The names of all settings, as they are written in messages: those of limits with their table.
pub(crate) fn names() -> impl Iterator<Item = String> {
    let limits = Limits::KEYS
        .iter()
        .map(|key| format!("{LIMITS}.{}", key.name));
    KEYS.iter().map(|key| key.name.to_owned()).chain(limits)
}

/// The environment variable of a setting.
pub(crate) fn variable_name(name: &str) -> String {
    let name = name.replace('.', "_").to_ascii_uppercase();
    format!("{VARIABLE_PREFIX}{name}")
}

fn list<'a>(names: impl Iterator<Item = &'a str>) -> String {
    names.collect::<Vec<_>>().join(", ")
}
