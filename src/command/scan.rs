//! `remembrancer scan`

mod histories;
mod report;
mod seen;
mod session;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use remembrancer_capture::rules;
use remembrancer_capture::transcript::{Found, ImportOptions};
use remembrancer_recorder::{Ledger, LedgerOptions, Reader, WorkspaceName};

use super::import::appending::append_file;
use super::session::location;
use crate::failure::Failure;
use crate::terminal::{self, Format};
use histories::Histories;
use report::{ScanReport, UnreadFile};
use seen::{FileState, Seen};
use session::ScannedSession;

/// Arguments of `scan`.
#[derive(clap::Args)]
pub(crate) struct ScanArgs {
    /// Folders or files to look at; without any, the histories of Claude Code, Codex and pi of whoever runs this
    #[arg(value_name = "DIR")]
    dirs: Vec<PathBuf>,
    /// Data folder of the ledger that the sessions are kept in; without it, `remembrancer` in the user's own data folder
    #[arg(long, env = "REMEMBRANCER_DATA")]
    data: Option<PathBuf>,
    /// Sessions that are listed, the worst first; 0 lists all
    #[arg(long, default_value_t = 20)]
    top: usize,
    /// Form of the output
    #[arg(long, value_enum, default_value = "text")]
    format: Format,
}

pub(crate) async fn run(args: ScanArgs) -> Result<(), Failure> {
    let histories = Histories::of(args.dirs)?;
    let data = match args.data {
        Some(data) => data,
        None => histories::data_folder()?,
    };
    let found = {
        let histories = histories.clone();
        tokio::task::spawn_blocking(move || histories.find()).await??
    };
    if found.is_empty() {
        return Err(
            Failure::new(format!("no history was found in {}", histories.in_words())).hint(
                "name the folders where your agents keep their sessions: remembrancer scan DIR…",
            ),
        );
    }
    std::fs::create_dir_all(&data)
        .map_err(|error| Failure::new(format!("cannot make {}: {error}", data.display())))?;
    let report = scan(found, &data).await?;
    match args.format {
        Format::Json => terminal::print_json(&report),
        Format::Text => terminal::print(&report.text(args.top)),
    }
}

/// Imports what is new and analyses it; what has not changed since the last scan is told as it was then.
async fn scan(found: Vec<Found>, data: &Path) -> Result<ScanReport, Failure> {
    let mut seen = Seen::read(data)?;
    let options = Arc::new(options());
    let states: Vec<(Found, FileState)> = found
        .into_iter()
        .map(|found| {
            let state = FileState::of(&found.path);
            (found, state)
        })
        .collect();
    let (known, new): (Vec<_>, Vec<_>) = states
        .into_iter()
        .partition(|(found, state)| seen.knows(&found.path, state));
    let mut report = ScanReport::new(data, known.len() + new.len());
    for (found, _) in &known {
        report.sessions.extend(seen.sessions_of(&found.path));
    }
    if !new.is_empty() {
        import(new, data, &options, &mut seen, &mut report).await?;
        seen.write(data)?;
    }
    report.sort();
    Ok(report)
}

/// What is looked for in a history: rules in its rules files, and rule-like sentences of the user.
fn options() -> ImportOptions {
    ImportOptions {
        rules: Some(rules::proposed),
        extract_rules: true,
        ..ImportOptions::default()
    }
}

async fn import(
    new: Vec<(Found, FileState)>,
    data: &Path,
    options: &Arc<ImportOptions>,
    seen: &mut Seen,
    report: &mut ScanReport,
) -> Result<(), Failure> {
    let place = location(data.to_owned(), None, WorkspaceName::default())?;
    let ledger = Ledger::open(LedgerOptions::new(place.clone())).await?;
    let outcome = append_all(&ledger, &new, options, report).await;
    ledger.close().await;
    let imported = outcome?;
    let reader = Reader::open(place).await?;
    let bar = terminal::progress(
        imported
            .iter()
            .map(|(_, sessions)| sessions.len() as u64)
            .sum(),
        "analysing",
    );
    for (at, ids) in imported {
        let (found, state) = &new[at];
        let mut sessions = Vec::new();
        let mut is_whole = true;
        for id in ids {
            match ScannedSession::read(&reader, &id, found).await {
                Ok(session) => sessions.push(session),
                Err(failure) => {
                    is_whole = false;
                    report.unread.push(UnreadFile {
                        file: found.path.display().to_string(),
                        reason: format!("session {id}: {}", failure.into_words().0),
                    });
                }
            }
            bar.inc(1);
        }
        report.sessions.extend(sessions.iter().cloned());
        // A file of which a session is missing is looked at again by the next scan.
        if is_whole {
            seen.keep(&found.path, state.clone(), sessions);
        }
    }
    bar.finish_and_clear();
    Ok(())
}

/// The sessions of each file, by the file's place among the new ones.
type ImportedFiles = Vec<(usize, Vec<remembrancer_schema::SessionId>)>;

async fn append_all(
    ledger: &Ledger,
    new: &[(Found, FileState)],
    options: &Arc<ImportOptions>,
    report: &mut ScanReport,
) -> Result<ImportedFiles, Failure> {
    let total = new.iter().map(|(_, state)| state.bytes).sum();
    let bar = terminal::byte_progress(total, "importing");
    let mut imported = Vec::new();
    let mut read = 0;
    for (at, (found, state)) in new.iter().enumerate() {
        bar.set_position(read);
        match append_file(ledger, found.clone(), options, &bar).await {
            Ok(outcome) => {
                report.recorded += outcome.recorded();
                report.malformed += outcome.malformed;
                let ids = outcome.sessions.into_iter().map(|session| session.session);
                imported.push((at, ids.collect()));
            }
            Err(failure) => report.unread.push(UnreadFile {
                file: found.path.display().to_string(),
                reason: failure.into_words().0,
            }),
        }
        read += state.bytes;
    }
    bar.finish_and_clear();
    Ok(imported)
}
