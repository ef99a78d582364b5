//! What the subcommands that look at one session share: how it is named, and how it is read.

use std::path::PathBuf;

use remembrancer_recorder::{Reader, SessionSummary};
use remembrancer_replay::{Analysis, SessionRecord};

use crate::failure::Failure;
use crate::terminal::Format;

/// Folder of the ledger.
#[derive(clap::Args)]
pub(crate) struct DataArg {
    /// Data folder of the ledger
    #[arg(long, env = "REMEMBRANCER_DATA", default_value = "remembrancer-data")]
    pub(crate) data: PathBuf,
}

impl DataArg {
    /// Opens the ledger for reading.
    pub(crate) async fn reader(&self) -> Result<Reader, Failure> {
        Ok(Reader::open(&self.data).await?)
    }
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
        read(self.data.reader().await?, &self.session).await
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
