//! `remembrancer import FILE…`: the transcripts of agent programs.

use std::path::PathBuf;
use std::sync::Arc;

use remembrancer_capture::mission_file::Mission;
use remembrancer_capture::rules;
use remembrancer_capture::transcript::{self, Format, Found, ImportOptions};
use remembrancer_recorder::{Ledger, LedgerOptions};
use serde::Serialize;

use super::super::mission;
use super::super::session::DataArg;
use super::appending::{FileOutcome, append_file};
use crate::failure::Failure;
use crate::terminal::{self, Format as OutputFormat, shown};

/// Arguments of `import` for transcripts.
#[derive(clap::Args)]
pub(crate) struct TranscriptArgs {
    /// Transcripts, or folders that are searched for them. The name of a format may come first; without it, the format is told
    /// by how a file begins
    #[arg(value_name = "[FORMAT] FILE|DIR")]
    paths: Vec<PathBuf>,
    /// A mission file (YAML): objective, permissions, prohibitions and facts that are declared at the start of every session.
    /// Sessions that are imported with a mission are sessions of their own
    #[arg(long, value_name = "FILE")]
    mission: Option<PathBuf>,
    /// Propose sentences of the user that read like rules as constraints, marked as inferred
    #[arg(long)]
    extract_rules: bool,
    #[command(flatten)]
    data: DataArg,
    /// Form of the output
    #[arg(long, value_enum, default_value = "text")]
    format: OutputFormat,
}

/// What an import did.
#[derive(Serialize)]
struct ImportReport {
    /// What the author of the mission file should know.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    mission: Vec<String>,
    files: Vec<FileOutcome>,
    recorded: u64,
    duplicate: u64,
    failed: Vec<FailedFile>,
}

/// A file that could not be imported.
#[derive(Serialize)]
struct FailedFile {
    file: String,
    reason: String,
}

pub(crate) async fn run(args: TranscriptArgs) -> Result<(), Failure> {
    let (format, paths) = split(args.paths)?;
    let found = tokio::task::spawn_blocking(move || find(&paths, format)).await??;
    if found.is_empty() {
        return Err(Failure::new("no transcript was found in the folders named").hint(format!(
            "the formats that are known: {}; name one before the folder if its files have other endings than .jsonl, .json and .eval",
            format_names()
        )));
    }
    let mission = args.mission.as_deref().map(mission::read).transpose()?;
    let options = Arc::new(ImportOptions {
        declared: mission.as_ref().map(Mission::declared).unwrap_or_default(),
        rules: Some(rules::proposed),
        extract_rules: args.extract_rules,
    });
    let ledger = Ledger::open(LedgerOptions::new(args.data.location()?)).await?;
    let outcome = import_all(&ledger, found, &options).await;
    ledger.close().await;
    let mut report = outcome?;
    report.mission = mission.map_or_else(Vec::new, |mission| mission.notices);
    match args.format {
        OutputFormat::Json => terminal::print_json(&report)?,
        OutputFormat::Text => terminal::print(&text(&report))?,
    }
    match report.failed.len() {
        0 => Ok(()),
        failed => Err(Failure::new(format!(
            "{failed} of {} files could not be imported",
            failed + report.files.len()
        ))),
    }
}

/// The format, where the first word names one and is no file, and the paths.
fn split(mut paths: Vec<PathBuf>) -> Result<(Option<&'static dyn Format>, Vec<PathBuf>), Failure> {
    if paths.is_empty() {
        return Err(Failure::new("no file is named")
            .hint("name a transcript, or a folder with transcripts: remembrancer import FILE"));
    }
    let named = paths
        .first()
        .filter(|first| !first.exists())
        .and_then(|first| first.to_str())
        .and_then(transcript::format_named);
    if named.is_some() {
        paths.remove(0);
    }
    if paths.is_empty() {
        return Err(Failure::new("a format is named, but no file")
            .hint("name a transcript, or a folder with transcripts, behind it"));
    }
    match paths.iter().find(|path| !path.exists()) {
        // An option was named before it, so that it was taken for a path.
        Some(missing) if missing.as_os_str() == "mission-continuity" => Err(Failure::new(
            "mission-continuity comes before every option of `import`",
        )
        .hint(
            "name the options behind it: remembrancer import mission-continuity --data DIR FOLDER",
        )),
        Some(missing) => Err(
            Failure::new(format!("there is no file {}", missing.display())).hint(format!(
                "the formats that may be named before a file: {}",
                format_names()
            )),
        ),
        None => Ok((named, paths)),
    }
}

fn format_names() -> String {
    let names: Vec<&str> = transcript::formats()
        .iter()
        .map(|format| format.name())
        .collect();
    names.join(", ")
}

fn find(
    paths: &[PathBuf],
    format: Option<&'static dyn Format>,
) -> Result<Vec<Found>, transcript::ImportError> {
    let mut found = Vec::new();
    for path in paths {
        found.extend(transcript::find(path, format)?);
    }
    Ok(found)
}

async fn import_all(
    ledger: &Ledger,
    found: Vec<Found>,
    options: &Arc<ImportOptions>,
) -> Result<ImportReport, Failure> {
    let total = found.iter().map(|found| size(&found.path)).sum();
    let bar = terminal::byte_progress(total, "importing");
    let mut report = ImportReport {
        mission: Vec::new(),
        files: Vec::new(),
        recorded: 0,
        duplicate: 0,
        failed: Vec::new(),
    };
    for transcript in found {
        let file = transcript.path.display().to_string();
        let before = bar.position();
        let bytes = size(&transcript.path);
        match append_file(ledger, transcript, options, &bar).await {
            Ok(outcome) => {
                report.recorded += outcome.recorded();
                report.duplicate += outcome.duplicate();
                report.files.push(outcome);
            }
            Err(failure) => report.failed.push(FailedFile {
                file,
                reason: failure.into_words().0,
            }),
        }
        bar.set_position(before + bytes);
    }
    bar.finish_and_clear();
    Ok(report)
}

fn size(path: &std::path::Path) -> u64 {
    std::fs::metadata(path).map_or(0, |data| data.len())
}

fn text(report: &ImportReport) -> String {
    let mission = report.mission.iter();
    let mut text: String = mission
        .map(|notice| format!("notice     {}\n", shown(notice)))
        .collect();
    for file in &report.files {
        text.push_str(&format!("{} ({})\n", shown(&file.file), file.format));
        for session in &file.sessions {
            text.push_str(&format!(
                "  {}: {} events recorded, {} were there already\n",
                session.session, session.recorded, session.duplicate
            ));
        }
        for notice in &file.notices {
            let place = notice
                .line
                .map_or_else(String::new, |line| format!("line {line}: "));
            text.push_str(&format!("  notice     {place}{}\n", shown(&notice.text)));
        }
        if file.more_notices > 0 {
            text.push_str(&format!("  notice     {} more\n", file.more_notices));
        }
    }
    for failed in &report.failed {
        text.push_str(&format!(
            "{}: not imported: {}\n",
            shown(&failed.file),
            shown(&failed.reason)
        ));
    }
    text
}
