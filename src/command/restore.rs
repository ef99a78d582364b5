//! `remembrancer restore`

use std::path::PathBuf;

use remembrancer_recorder::{
    Actor, KeyAfterRestore, LedgerLocation, RestoreOptions, RestoreReport, record_act, restore,
};
use remembrancer_schema::payload::AdminAct;
use serde::Serialize;

use super::verify::list_faults;
use crate::failure::Failure;
use crate::terminal::{self, Format, shown};

/// Arguments of `restore`.
#[derive(clap::Args)]
pub(crate) struct RestoreArgs {
    /// Folder that `backup` wrote
    #[arg(long, value_name = "DIR")]
    from: PathBuf,
    /// Data folder to make: a new one, or an empty one
    #[arg(long, value_name = "DIR")]
    data: PathBuf,
    /// Private key of the ledger, for a backup without it
    #[arg(long, value_name = "FILE")]
    key: Option<PathBuf>,
    /// The anchor that the server is started with: says now if it states more entries than the backup has
    #[arg(long, value_name = "FILE")]
    anchor: Option<PathBuf>,
    /// Form of the output
    #[arg(long, value_enum, default_value = "text")]
    format: Format,
}

#[derive(Serialize)]
struct Outcome<'a> {
    verified: bool,
    folder: &'a std::path::Path,
    #[serde(flatten)]
    report: &'a RestoreReport,
    next: Vec<String>,
}

pub(crate) async fn run(args: RestoreArgs) -> Result<(), Failure> {
    let options = RestoreOptions {
        from: args.from.clone(),
        data: args.data.clone(),
        key: args.key.clone(),
        anchor: args.anchor.clone(),
    };
    let bar = terminal::progress(0, "verifying what was restored");
    let report = restore(options, &mut |done, total| {
        bar.set_length(total);
        bar.set_position(done);
    })
    .await?;
    bar.finish_and_clear();
    let next = next_steps(&args, &report);
    match args.format {
        Format::Json => terminal::print_json(&Outcome {
            verified: report.is_sound(),
            folder: &args.data,
            report: &report,
            next,
        })?,
        Format::Text => {
            terminal::print(&text(&args, &report))?;
            next.iter().for_each(|step| terminal::say(step));
        }
    }
    if !report.is_sound() {
        return Err(Failure::Divergence);
    }
    note(&args, &report).await
}

/// Has the act become the first entry of each restored ledger after those of the backup.
async fn note(args: &RestoreArgs, report: &RestoreReport) -> Result<(), Failure> {
    for ledger in &report.ledgers {
        let (Some(entries), Ok(name)) = (ledger.entries, ledger.workspace.parse()) else {
            continue;
        };
        let place = LedgerLocation::new(&args.data).workspace(name);
        let entries = entries.to_string();
        let detail = [
            ("entries", &*entries),
            ("backup_made", &*report.manifest.made),
        ];
        let subject = args.from.to_string_lossy();
        let by = Actor::local_user();
        record_act(place, AdminAct::BackupRestored, &subject, &by, &detail).await?;
    }
    Ok(())
}

fn text(args: &RestoreArgs, report: &RestoreReport) -> String {
    let word = if report.is_sound() {
        "verified"
    } else {
        "FAILED"
    };
    let mut text = format!("{}: {word}\n", args.data.display());
    let mut line =
        |name: &str, value: &str| text.push_str(&format!("  {name:<12} {}\n", shown(value)));
    line("backup of", &report.manifest.made);
    for ledger in &report.ledgers {
        let entries = ledger
            .entries
            .map_or("not counted".to_owned(), |entries| entries.to_string());
        line("ledger", &ledger.workspace);
        line("entries", &entries);
        let key = match ledger.key {
            KeyAfterRestore::Present => "there, and the ledger's",
            KeyAfterRestore::Missing => "MISSING",
            KeyAfterRestore::OfAnotherLedger => "OF ANOTHER LEDGER",
        };
        line("private key", key);
    }
    list_faults(&report.faults, &mut line);
    text
}

/// What the operator has to do or decide before a server is started on it.
fn next_steps(args: &RestoreArgs, report: &RestoreReport) -> Vec<String> {
    let data = args.data.display();
    if report.ledgers.is_empty() {
        return vec![format!(
            "nothing was restored: {} is not what its backup.json says; take another backup",
            args.from.display()
        )];
    }
    if !report.is_sound() {
        return vec![format!(
            "do not start a server on {data}; take another backup, or ask `remembrancer verify --data {data}` for more"
        )];
    }
    let mut steps = Vec::new();
    for ledger in &report.ledgers {
        let entries = ledger.entries.unwrap_or_default();
        if ledger.key != KeyAfterRestore::Present {
            steps.push(format!(
                "workspace {}: put its ledger-key.pem into its folder before a server is started; it can be read without",
                ledger.workspace
            ));
        }
        if let (Some(stated), Some(anchor)) = (ledger.anchor_states, &args.anchor) {
            steps.push(format!(
                "the anchor {} states {stated} entries, the backup has {entries}: {} entries are lost. A server refuses this \
                 ledger with that anchor. Look for a newer database or backup first. To go on without them: tell those who \
                 hold receipts or checkpoints, keep the anchor as evidence, and move it away. What is recorded then is \
                 another history than the lost one, under the same name, and whoever kept a receipt can show it.",
                anchor.display(),
                stated - entries
            ));
        }
    }
    if args.anchor.is_none() {
        steps.push(
            "what was recorded after the backup is not here; no anchor was given to say how much that is".to_owned(),
        );
    }
    if report.ledgers.iter().any(|ledger| ledger.entries.is_none()) {
        steps.push(format!(
            "its tables are of an older version: start the program that wrote them, or bring it up to date with \
             `remembrancer migrate --data {data}`"
        ));
        return steps;
    }
    steps.push(format!("then: remembrancer serve --data {data}"));
    steps
}
