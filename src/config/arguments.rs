//! Settings as flags.

use std::path::PathBuf;
use std::sync::OnceLock;

use super::{Settings, Sources};
use crate::failure::Failure;
use crate::terminal;

/// The file that `--config` names. Commands ask where the ledger is far from where flags are read.
static NAMED_FILE: OnceLock<PathBuf> = OnceLock::new();

/// The file that the flags of this process name.
pub(super) fn named_file() -> Option<PathBuf> {
    NAMED_FILE.get().cloned()
}

/// Flags of every command. They have no defaults and read no variables of their own: [`Settings`] does, and tells what came
/// from where.
#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct GlobalArgs {
    /// Configuration file; without it, what `REMEMBRANCER_CONFIG` names, or remembrancer.toml in the data folder
    #[arg(long, global = true, value_name = "FILE")]
    config: Option<PathBuf>,
    /// What to log on standard error: error, warn, info, debug or a filter such as `remembrancer_recorder=debug` [default:
    /// warn]
    #[arg(long, global = true, value_name = "FILTER")]
    log: Option<String>,
    /// Form of the log: text or json [default: text]
    #[arg(long, global = true, value_name = "FORMAT")]
    log_format: Option<String>,
}

impl GlobalArgs {
    /// Lets every later question for the settings know the file that is named here.
    pub(crate) fn keep(&self) {
        if let Some(file) = &self.config {
            NAMED_FILE.get_or_init(|| file.clone());
        }
    }

    fn sources(&self) -> Result<Sources, Failure> {
        let mut sources = Sources::of_process()?;
        push(&mut sources, "log", self.log.as_ref());
        push(&mut sources, "log_format", self.log_format.as_ref());
        Ok(sources)
    }

    /// The settings that these flags, those of a command, the environment and the file make together.
    pub(crate) fn settings(
        &self,
        flags: Vec<(&'static str, String)>,
        limits: &[String],
    ) -> Result<Settings, Failure> {
        let mut sources = self.sources()?;
        sources.flags.extend(flags);
        sources.limits = limits.to_vec();
        Settings::load(&sources)
    }

    /// The configuration file that was asked for by name, if one was.
    pub(crate) fn named_file(&self) -> Result<Option<PathBuf>, Failure> {
        let file = self.sources()?.file();
        Ok(file.and_then(|(path, is_named)| is_named.then_some(path)))
    }

    /// Starts the log of a command that reads no configuration file.
    pub(crate) fn start_log(&self) -> Result<(), Failure> {
        let (filter, format) = Settings::log_alone(&self.sources()?)?;
        terminal::start_log(&filter, format)
    }
}

/// Settings of a server as flags. Each can also stand in a file or the environment: docs/configuration.md lists them all.
#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct SettingArgs {
    /// Data folder of the ledger [default: remembrancer-data]
    #[arg(long, value_name = "DIR")]
    data: Option<String>,
    /// Address to listen on; port 0 takes any free port [default: 127.0.0.1:7171]
    #[arg(long, value_name = "ADDRESS")]
    listen: Option<String>,
    /// Name of a new ledger, unique in the world by convention: a host and path such as ledger.example.org/agents
    #[arg(long)]
    origin: Option<String>,
    /// Address under which a proxy publishes the viewer, scheme and host: pages answer to that host, and with https the
    /// session cookie is marked Secure
    #[arg(long, value_name = "URL")]
    public_url: Option<String>,
    /// PostgreSQL database of the ledgers; without it, SQLite in the data folder
    #[arg(long, value_name = "URL")]
    database: Option<String>,
    /// Store of large blobs: a folder (file://…) or a bucket (s3://…)
    #[arg(long, value_name = "URL")]
    blobs: Option<String>,
    /// File outside the data folder that keeps the newest checkpoint
    #[arg(long, value_name = "FILE")]
    anchor: Option<String>,
    /// A witness that is asked to sign each new checkpoint: its key, @ and its address; can be given several times
    #[arg(long, value_name = "KEY@URL")]
    witness: Vec<String>,
    /// How many witnesses have to sign a checkpoint before readers get it [default: 0]
    #[arg(long, value_name = "NUMBER")]
    require_witnesses: Option<String>,
    /// Who may read /metrics: key, loopback or open [default: key]
    #[arg(long, value_name = "WHO")]
    metrics: Option<String>,
    /// Sets a limit; can be given several times
    #[arg(long = "limit", value_name = "NAME=NUMBER")]
    limits: Vec<String>,
}

impl SettingArgs {
    /// The settings that these flags, the environment and the file make together.
    pub(crate) fn settings(&self, globals: &GlobalArgs) -> Result<Settings, Failure> {
        let witness = (!self.witness.is_empty()).then(|| self.witness.join(" "));
        let flags = [
            ("witness", &witness),
            ("require_witnesses", &self.require_witnesses),
            ("data", &self.data),
            ("listen", &self.listen),
            ("origin", &self.origin),
            ("public_url", &self.public_url),
            ("database", &self.database),
            ("blobs", &self.blobs),
            ("anchor", &self.anchor),
            ("metrics", &self.metrics),
        ];
        let given = flags
            .into_iter()
            .filter_map(|(name, value)| Some((name, value.clone()?)));
        globals.settings(given.collect(), &self.limits)
    }
}

fn push(sources: &mut Sources, name: &'static str, value: Option<&String>) {
    if let Some(value) = value {
        sources.flags.push((name, value.clone()));
    }
}
