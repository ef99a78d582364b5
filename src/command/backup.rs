//! `remembrancer backup`

use std::path::PathBuf;

use remembrancer_recorder::{
    Actor, BackupOptions, BackupReport, LedgerLocation, back_up, record_act,
};
use remembrancer_schema::payload::AdminAct;
use serde::Serialize;

use super::verify::list_faults;
use crate::config::{GlobalArgs, SettingArgs};
use crate::failure::Failure;
use crate::terminal::{self, Format, shown};

/// Arguments of `backup`.
#[derive(clap::Args)]
pub(crate) struct BackupArgs {
    #[command(flatten)]
    settings: SettingArgs,
    /// Folder for the backup: a new one, or an empty one
    #[arg(long, value_name = "DIR")]
    to: PathBuf,
    /// Take the private keys with it: whoever has the backup can then sign in the ledger's name
    #[arg(long)]
    with_key: bool,
    /// Form of the output
    #[arg(long, value_enum, default_value = "text")]
    format: Format,
}

#[derive(Serialize)]
struct Outcome<'a> {
    verified: bool,
    folder: &'a std::path::Path,
    #[serde(flatten)]
    report: &'a BackupReport,
}

pub(crate) async fn run(args: BackupArgs, globals: &GlobalArgs) -> Result<(), Failure> {
    let settings = args.settings.settings(globals)?;
    let location = settings.location()?;
    let options = BackupOptions {
        location: location.clone(),
        to: args.to.clone(),
        with_key: args.with_key,
        configuration: globals.named_file()?,
    };
    let bar = terminal::progress(0, "verifying the copy");
    let report = back_up(options, &mut |done, total| {
        bar.set_length(total);
        bar.set_position(done);
    })
    .await?;
    bar.finish_and_clear();
    match args.format {
        Format::Json => terminal::print_json(&Outcome {
            verified: report.is_sound(),
            folder: &args.to,
            report: &report,
        })?,
        Format::Text => terminal::print(&text(&args.to, &report))?,
    }
    if report.is_sound() {
        note(&location, &args, &report).await;
        return Ok(());
    }
    terminal::say(
        "this is no backup and gets no backup.json: find what is wrong with `remembrancer verify --data DIR`, on the \
         original too; keep the last good backup",
    );
    Err(Failure::Divergence)
}

/// Has the act become an entry of each ledger that was backed up. A backup whose act cannot be written down, as on a full or
/// read-only disk, is a backup all the same.
async fn note(location: &LedgerLocation, args: &BackupArgs, report: &BackupReport) {
    for ledger in &report.manifest.ledgers {
        let (Some(state), Ok(name)) = (&ledger.state, ledger.workspace.parse()) else {
            continue;
        };
        let (entries, root) = (state.entries.to_string(), state.root.to_string());
        let with_key = if ledger.has_private_key { "yes" } else { "no" };
        let detail = [
            ("entries", &*entries),
            ("root", &*root),
            ("private_key", with_key),
        ];
        let place = location.workspace(name);
        let subject = args.to.to_string_lossy();
        let by = Actor::local_user();
        if let Err(error) = record_act(place, AdminAct::BackupMade, &subject, &by, &detail).await {
            terminal::say(&format!(
                "the backup is made, but not noted in the ledger: {error}"
            ));
        }
    }
}

fn text(folder: &std::path::Path, report: &BackupReport) -> String {
    let word = if report.is_sound() {
        "verified"
    } else {
        "FAILED"
    };
    let bytes: u64 = report.manifest.files.iter().map(|file| file.bytes).sum();
    let mut text = format!("{}: {word}\n", folder.display());
    let mut line =
        |name: &str, value: &str| text.push_str(&format!("  {name:<12} {}\n", shown(value)));
    for ledger in &report.manifest.ledgers {
        match &ledger.state {
            Some(state) => {
                line(
                    "ledger",
                    &format!("{} ({})", state.origin, ledger.workspace),
                );
                line("entries", &state.entries.to_string());
                line("root", &state.root.to_string());
            }
            None => line(
                "ledger",
                &format!(
                    "{}, tables of version {}: checked as a file, not entry by entry",
                    ledger.workspace, ledger.tables
                ),
            ),
        }
    }
    line(
        "files",
        &format!("{}, {bytes} bytes", report.manifest.files.len()),
    );
    for missing in &report.manifest.not_included {
        line("not in it", missing);
    }
    list_faults(&report.faults, &mut line);
    text
}
