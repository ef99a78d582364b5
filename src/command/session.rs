//! What the subcommands that look at one session share: how it is named, and how it is read.

use std::path::{Path, PathBuf};

use remembrancer_recorder::{LedgerLocation, Reader, SessionSummary, WorkspaceName};
use remembrancer_replay::{Analysis, SessionRecord};

use crate::config::Settings;
use crate::failure::Failure;
use crate::terminal::Format;

/// Where the ledgers of all workspaces are.
#[derive(clap::Args)]
pub(crate) struct PlaceArg {
    /// Data folder: keys, the copy of the newest checkpoint, and the ledger unless --database names another place
    #[arg(long, env = "REMEMBRANCER_DATA", default_value = DATA_DEFAULT)]
    data: PathBuf,
    /// PostgreSQL database of the ledger, by an address that begins with `postgres://`; without it, SQLite in the data folder
    // Text, so that an address that is refused is not shown: it may hold a password.
    #[arg(long, env = DATABASE_VARIABLE, hide_env_values = true, value_name = "URL")]
    database: Option<String>,
}

impl PlaceArg {
    /// The settings of a server on this place.
    pub(crate) fn settings(&self) -> Result<Settings, Failure> {
        Settings::of_place(data_text(&self.data)?, self.database.as_deref())
    }

    /// The place of a workspace.
    pub(crate) fn of(&self, workspace: WorkspaceName) -> Result<LedgerLocation, Failure> {
        location(self.data.clone(), self.database.as_deref(), workspace)
    }
}

/// Where the ledger of one workspace is.
#[derive(clap::Args)]
pub(crate) struct DataArg {
    #[command(flatten)]
    place: PlaceArg,
    /// Workspace of the ledger
    #[arg(
        long,
        env = WORKSPACE_VARIABLE,
        default_value_t,
        value_name = "NAME"
    )]
    workspace: WorkspaceName,
}

/// Data folder where none is named.
pub(crate) const DATA_DEFAULT: &str = "remembrancer-data";
/// Environment variable of `--database`.
pub(crate) const DATABASE_VARIABLE: &str = "REMEMBRANCER_DATABASE";
/// Environment variable of `--workspace`.
pub(crate) const WORKSPACE_VARIABLE: &str = "REMEMBRANCER_WORKSPACE";

impl DataArg {
    /// The place that the arguments name.
    pub(crate) fn location(&self) -> Result<LedgerLocation, Failure> {
        self.place.of(self.workspace.clone())
    }

    /// Opens the ledger for reading.
    pub(crate) async fn reader(&self) -> Result<Reader, Failure> {
        Ok(Reader::open(self.location()?).await?)
    }
}

/// A place by its parts. What they leave open, a configuration file may say: without it, a command would work on another ledger
/// than the server beside it. An empty address is none, as an environment variable that is set to nothing.
pub(crate) fn location(
    data: PathBuf,
    database: Option<&str>,
    workspace: WorkspaceName,
) -> Result<LedgerLocation, Failure> {
    let settings = Settings::of_place(data_text(&data)?, database)?;
    Ok(settings.location()?.workspace(workspace))
}

fn data_text(data: &Path) -> Result<&str, Failure> {
    data.to_str()
        .ok_or_else(|| Failure::new(format!("--data {}: not UTF-8", data.display())))
}

/// One session, by name.
#[derive(clap::Args)]
pub(crate) struct SessionArgs {
    /// The session's id, or its label if only one session has it
    session: String,
    #[command(flatten)]
    data: DataArg,
    /// Form of the output
    #[arg(long, value_enum, default_value = "text")]
    pub(crate) format: Format,
}

/// A session with its analysis.
pub(crate) struct AnalysedSession {
    pub(crate) reader: Reader,
    pub(crate) summary: SessionSummary,
    pub(crate) record: SessionRecord,
    pub(crate) analysis: Analysis,
}

impl SessionArgs {
    /// Reads and analyses the session.
    pub(crate) async fn read(&self) -> Result<AnalysedSession, Failure> {
        self.read_other(&self.session).await
    }

    /// Reads and analyses another session of the same ledger.
    pub(crate) async fn read_other(&self, name: &str) -> Result<AnalysedSession, Failure> {
        read(self.data.reader().await?, name).await
    }
}

/// Reads and analyses a session by its name.
pub(crate) async fn read(reader: Reader, name: &str) -> Result<AnalysedSession, Failure> {
    let summary = reader.find_session(name).await?;
    let record = reader.session_record(&summary.id).await?;
    let (record, analysis) = tokio::task::spawn_blocking(move || {
        let analysis = remembrancer_replay::analyse(&record);
        (record, analysis)
    })
    .await?;
    Ok(AnalysedSession {
        reader,
        summary,
        record,
        analysis,
    })
}
