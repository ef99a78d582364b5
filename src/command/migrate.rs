//! `remembrancer migrate`

use std::path::PathBuf;

use remembrancer_recorder::{
    Actor, BackupOptions, LedgerLocation, Migration, back_up, ledgers_in, migrate_ledger,
    plan_migration, record_act,
};
use remembrancer_schema::payload::AdminAct;
use serde::Serialize;

use crate::config::{GlobalArgs, SettingArgs};
use crate::failure::Failure;
use crate::terminal::{self, Format, shown};

/// Arguments of `migrate`.
#[derive(clap::Args)]
pub(crate) struct MigrateArgs {
    #[command(flatten)]
    settings: SettingArgs,
    /// Say what would be done, and do nothing
    #[arg(long)]
    dry_run: bool,
    /// Make a backup in this new folder first
    #[arg(long, value_name = "DIR", conflicts_with_all = ["dry_run", "no_backup"])]
    backup: Option<PathBuf>,
    /// Make none: there is one, or none is wanted
    #[arg(long, conflicts_with = "dry_run")]
    no_backup: bool,
    /// Form of the output
    #[arg(long, value_enum, default_value = "text")]
    format: Format,
}

/// What was done, or would be.
#[derive(Serialize)]
struct Outcome {
    done: bool,
    backup: Option<PathBuf>,
    ledgers: Vec<Migration>,
}

pub(crate) async fn run(args: MigrateArgs, globals: &GlobalArgs) -> Result<(), Failure> {
    let settings = args.settings.settings(globals)?;
    let location = settings.location()?;
    let ledgers = ledgers_in(&location).await?;
    let mut plans = Vec::new();
    for ledger in &ledgers {
        plans.push(plan_migration(ledger.clone()).await?);
    }
    let is_current = plans.iter().all(|plan| plan.steps.is_empty());
    if args.dry_run || is_current {
        return tell(args.format, false, None, plans);
    }
    if args.backup.is_none() && !args.no_backup {
        return Err(Failure::new(format!(
            "{} is to be changed from version {} to {}: an older program cannot read it afterwards",
            plans[0].location, plans[0].from, plans[0].to
        ))
        .hint(
            "have a backup made first with --backup DIR, or say --no-backup if you have one; --dry-run shows the steps",
        ));
    }
    if let Some(folder) = &args.backup {
        back_up_first(&location, folder).await?;
    }
    let mut done = Vec::new();
    for ledger in ledgers {
        let migration = migrate_ledger(ledger.clone()).await?;
        if !migration.steps.is_empty() {
            let (from, to) = (migration.from.to_string(), migration.to.to_string());
            let subject = ledger.workspace.as_str();
            let detail = [("from", &*from), ("to", &*to)];
            let by = Actor::local_user();
            record_act(
                ledger.clone(),
                AdminAct::LedgerMigrated,
                subject,
                &by,
                &detail,
            )
            .await?;
        }
        done.push(migration);
    }
    tell(args.format, true, args.backup, done)
}

/// A backup with the key: it is what one goes back to if the new version is not to stay.
async fn back_up_first(location: &LedgerLocation, folder: &std::path::Path) -> Result<(), Failure> {
    let options = BackupOptions {
        location: location.clone(),
        to: folder.to_owned(),
        with_key: true,
        configuration: None,
    };
    let report = back_up(options, &mut |_, _| {}).await?;
    if report.is_sound() {
        return Ok(());
    }
    for fault in report.faults.iter().take(20) {
        terminal::say(&format!("fault  {}", shown(fault)));
    }
    terminal::say("the backup does not verify; nothing was migrated");
    Err(Failure::Divergence)
}

fn tell(
    format: Format,
    done: bool,
    backup: Option<PathBuf>,
    ledgers: Vec<Migration>,
) -> Result<(), Failure> {
    if format == Format::Json {
        return terminal::print_json(&Outcome {
            done,
            backup,
            ledgers,
        });
    }
    let mut text = String::new();
    for ledger in &ledgers {
        let place = shown(&ledger.location);
        if ledger.steps.is_empty() {
            text.push_str(&format!("{place}: version {}, up to date\n", ledger.from));
            continue;
        }
        let verb = if done { "brought" } else { "would be brought" };
        text.push_str(&format!(
            "{place}: {verb} from version {} to {}\n",
            ledger.from, ledger.to
        ));
        for step in &ledger.steps {
            text.push_str(&format!("  {:>4}  {}\n", step.version, shown(&step.what)));
        }
        if let Some(entries) = ledger.entries {
            text.push_str(&format!(
                "  {entries} entries have the root that the newest checkpoint signed\n"
            ));
        }
    }
    terminal::print(&text)?;
    if let Some(folder) = backup {
        terminal::say(&format!(
            "the state before is in {}, with the private key",
            folder.display()
        ));
    }
    if done {
        terminal::say("read every entry again with: remembrancer verify --data DIR");
    }
    Ok(())
}
