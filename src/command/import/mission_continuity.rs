//! `remembrancer import mission-continuity`

use std::io::Read as _;
use std::path::{Path, PathBuf};

use bytes::Bytes;
use remembrancer_capture::mission_continuity::{self, Import};
use remembrancer_recorder::{Ledger, LedgerOptions, Outcome};
use serde::Serialize;

use super::super::session::DataArg;
use super::appending::append_events;
use crate::failure::Failure;
use crate::terminal::{self, Format, shown};

/// Events that are appended at once.
const BATCH_EVENTS: usize = 100;

/// Largest file of withheld values, in bytes.
const RESTORE_BYTES_MAX: u64 = 16 * 1024 * 1024;

/// Arguments of `import mission-continuity`.
#[derive(clap::Args)]
pub(crate) struct MissionContinuityArgs {
    /// The run's folder
    dir: PathBuf,
    /// JSON file with the values that the run withholds, to check contexts against their recorded hashes
    #[arg(long)]
    restore: Option<PathBuf>,
    #[command(flatten)]
    data: DataArg,
    /// Form of the output
    #[arg(long, value_enum, default_value = "text")]
    format: Format,
}

/// What an import did.
#[derive(Serialize)]
struct ImportReport {
    session: String,
    label: String,
    recorded: usize,
    duplicate: usize,
    proofs: mission_continuity::ProofCounts,
    joins: mission_continuity::Joins,
    notices: Vec<String>,
}

pub(crate) async fn run(args: MissionContinuityArgs) -> Result<(), Failure> {
    let restore = args.restore.as_deref().map(read_restore).transpose()?;
    let options = mission_continuity::ImportOptions { restore };
    let dir = args.dir;
    let import =
        tokio::task::spawn_blocking(move || mission_continuity::read(&dir, &options)).await??;
    let ledger = Ledger::open(LedgerOptions::new(args.data.location()?)).await?;
    let outcome = append(&ledger, import).await;
    ledger.close().await;
    let report = outcome?;
    match args.format {
        Format::Json => terminal::print_json(&report),
        Format::Text => terminal::print(&text(&report)),
    }
}

fn read_restore(path: &Path) -> Result<Vec<u8>, Failure> {
    let cannot =
        |error: std::io::Error| Failure::new(format!("cannot read {}: {error}", path.display()));
    let mut bytes = Vec::new();
    let file = std::fs::File::open(path).map_err(cannot)?;
    file.take(RESTORE_BYTES_MAX + 1)
        .read_to_end(&mut bytes)
        .map_err(cannot)?;
    if bytes.len() as u64 > RESTORE_BYTES_MAX {
        return Err(Failure::new(format!(
            "{} has more than {RESTORE_BYTES_MAX} bytes",
            path.display()
        )));
    }
    Ok(bytes)
}

async fn append(ledger: &Ledger, import: Import) -> Result<ImportReport, Failure> {
    for (_, bytes) in import.blobs {
        ledger.store_blob(Bytes::from(bytes)).await?;
    }
    let mut report = ImportReport {
        session: import.session.to_string(),
        label: import.label,
        recorded: 0,
        duplicate: 0,
        proofs: import.proofs,
        joins: import.joins,
        notices: import.notices,
    };
    let bar = terminal::progress(import.events.len() as u64, "importing");
    for batch in import.events.chunks(BATCH_EVENTS) {
        let outcomes = append_events(ledger, batch).await?;
        for (outcome, event) in outcomes.into_iter().zip(batch) {
            match outcome {
                Outcome::Recorded { .. } => report.recorded += 1,
                Outcome::Duplicate { .. } => report.duplicate += 1,
                Outcome::Rejected(rejection) => {
                    return Err(Failure::new(format!(
                        "event {} was refused: {rejection}",
                        event.id
                    )));
                }
            }
        }
        bar.inc(batch.len() as u64);
    }
    bar.finish_and_clear();
    Ok(report)
}

fn text(report: &ImportReport) -> String {
    let mut text = format!(
        "{}: {} events recorded, {} were there already (session {})\n",
        shown(&report.label),
        report.recorded,
        report.duplicate,
        report.session
    );
    let (proofs, joins) = (&report.proofs, &report.joins);
    text.push_str(&format!(
        "  contexts   {} verified by their recorded hash, {} after restoring withheld values, {} unverifiable: withheld, \
         {} mismatches, {} not rebuilt\n",
        proofs.verified,
        proofs.verified_after_restoring,
        proofs.unverifiable_withheld,
        proofs.mismatch,
        proofs.not_rebuilt
    ));
    text.push_str(&format!(
        "  joins      {}/{} calls and {}/{} responses with the governor's trace\n",
        joins.tool_calls_joined,
        joins.tool_calls,
        joins.token_snapshots_joined,
        joins.model_responses
    ));
    for notice in &report.notices {
        text.push_str(&format!("  notice     {}\n", shown(notice)));
    }
    text
}
