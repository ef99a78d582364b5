//! `remembrancer verify`

use std::fmt::Display;
use std::path::{Path, PathBuf};

use owo_colors::{OwoColorize as _, Style};
use remembrancer_recorder::{
    LedgerLocation, LedgerVerdict, Reader, WorkspaceName, list_workspaces, verify_ledger_against,
};
use remembrancer_replay::Analysis;
use remembrancer_replay::bundle::{
    self, BUNDLE_BYTES_MAX, KeyStanding, ReportFacts, Verdict, Verification,
};
use remembrancer_replay::verify::Fault;
use remembrancer_schema::cosignature;
use remembrancer_schema::signing::PublicKey;
use remembrancer_schema::verifier_key::VerifierKey;
use serde::Serialize;

use super::session::{DATA_DEFAULT, DATABASE_VARIABLE, WORKSPACE_VARIABLE, location};
use crate::failure::Failure;
use crate::terminal::{self, Format, shown};

/// Faults that the text output lists; JSON has them all.
const FAULTS_SHOWN: usize = 20;

/// Arguments of `verify`.
#[derive(clap::Args)]
pub(crate) struct VerifyArgs {
    /// Bundle to verify; for a whole ledger give --data or --database instead
    #[arg(required_unless_present_any = ["data", "database"], conflicts_with_all = ["data", "database", "workspace", "all_workspaces"])]
    file: Option<PathBuf>,
    /// Ledger to verify whole, by its data folder
    #[arg(long)]
    data: Option<PathBuf>,
    /// PostgreSQL database of the ledger to verify, if it is not in the data folder [env: `REMEMBRANCER_DATABASE`]
    #[arg(long, value_name = "URL")]
    database: Option<String>,
    /// Workspace of the ledger [env: `REMEMBRANCER_WORKSPACE`]
    #[arg(long, value_name = "NAME")]
    workspace: Option<WorkspaceName>,
    /// Verify the ledgers of all workspaces, one after the other
    #[arg(long, conflicts_with_all = ["workspace", "key"])]
    all_workspaces: bool,
    /// The ledger's public key as you know it from elsewhere (PEM); without it a bundle's own key is not confirmed
    #[arg(long)]
    key: Option<PathBuf>,
    /// Key of a witness that must have signed the bundle's checkpoint, as you know it from the witness's operator: NAME+ID+KEY.
    /// Can be given several times
    #[arg(long = "witness", value_name = "KEY", conflicts_with_all = ["data", "database", "all_workspaces"])]
    witnesses: Vec<VerifierKey>,
    /// The anchor that the server of the ledger is started with: tells of a ledger that was replaced by an older copy
    #[arg(long, value_name = "FILE", conflicts_with_all = ["file", "all_workspaces"])]
    anchor: Option<PathBuf>,
    /// Form of the output
    #[arg(long, value_enum, default_value = "text")]
    format: Format,
}

pub(crate) async fn run(args: VerifyArgs) -> Result<(), Failure> {
    let key = args.key.as_deref().map(read_key).transpose()?;
    if let Some(file) = args.file {
        return verify_file(&file, key.as_ref(), &args.witnesses, args.format);
    }
    // The variables name a ledger, and say nothing as long as a file is verified: so they are not clap's here.
    let variable = |name: &str| std::env::var(name).ok();
    let workspace = match args.workspace {
        None if !args.all_workspaces => variable(WORKSPACE_VARIABLE).map(|name| name.parse()),
        given => given.map(Ok),
    };
    let place = location(
        args.data
            .or_else(|| variable("REMEMBRANCER_DATA").map(PathBuf::from))
            .unwrap_or_else(|| DATA_DEFAULT.into()),
        args.database
            .or_else(|| variable(DATABASE_VARIABLE))
            .as_deref(),
        workspace.transpose()?.unwrap_or_default(),
    )?;
    if args.all_workspaces {
        return verify_all(&place, args.format).await;
    }
    if let Some(anchor) = args.anchor.as_deref().filter(|anchor| !anchor.exists()) {
        return Err(Failure::new(format!(
            "there is no anchor {}: without it an older copy of the ledger looks sound",
            anchor.display()
        ))
        .hint("name the file that the server's setting `anchor` names"));
    }
    verify_data(&place, key.as_ref(), args.anchor.as_deref(), args.format).await
}

/// Verifies every workspace's ledger, and goes on after one that fails: each is told.
async fn verify_all(place: &LedgerLocation, format: Format) -> Result<(), Failure> {
    let (mut has_failed, mut unread) = (false, Vec::new());
    for one in list_workspaces(place.clone()).await? {
        match verify_data(&place.workspace(one.name.clone()), None, None, format).await {
            Ok(()) => {}
            Err(Failure::Divergence) => has_failed = true,
            Err(Failure::Impossible { error, .. }) => {
                terminal::say_error(&format!("workspace {}: {error:#}", one.name), None);
                unread.push(one.name.to_string());
            }
        }
    }
    if has_failed {
        Err(Failure::Divergence)
    } else if unread.is_empty() {
        Ok(())
    } else {
        let names = unread.join(", ");
        Err(Failure::new(format!("not verified: {names}"))
            .hint("what keeps each of them from being read is told above"))
    }
}

fn read_key(path: &Path) -> Result<PublicKey, Failure> {
    let pem = std::fs::read_to_string(path).map_err(|error| {
        Failure::new(format!("cannot read the key {}: {error}", path.display()))
    })?;
    PublicKey::from_pem(&pem).map_err(|error| Failure::new(format!("{}: {error}", path.display())))
}

fn verify_file(
    path: &Path,
    key: Option<&PublicKey>,
    witnesses: &[VerifierKey],
    format: Format,
) -> Result<(), Failure> {
    let cannot =
        |error: &dyn std::fmt::Display| Failure::new(format!("{}: {error}", path.display()));
    let size = std::fs::metadata(path)
        .map_err(|error| cannot(&error))?
        .len();
    if size > BUNDLE_BYTES_MAX {
        return Err(cannot(&format!(
            "{size} bytes; at most {BUNDLE_BYTES_MAX} are read"
        )));
    }
    let bytes = std::fs::read(path).map_err(|error| cannot(&error))?;
    let mut verification =
        bundle::verify(&bytes, key, Some(&report)).map_err(|error| cannot(&error))?;
    for witness in witnesses {
        demand(witness, &mut verification);
    }
    match format {
        Format::Json => terminal::print_json(&verification)?,
        Format::Text => terminal::print(&text(path, &verification))?,
    }
    if verification.verdict == Verdict::Failed {
        Err(Failure::Divergence)
    } else {
        Ok(())
    }
}

/// Demands that a witness signed the checkpoint. Which witnesses count is the auditor's own knowledge, never the bundle's.
fn demand(witness: &VerifierKey, verification: &mut Verification) {
    let Some(note) = &verification.checkpoint else {
        // What is wrong with it is told already.
        return;
    };
    let name = &witness.name;
    let found = match cosignature::of_witnesses(note, std::slice::from_ref(witness)) {
        Ok(found) => found.into_iter().next().ok_or_else(|| {
            format!("not signed by the witness {name} with the key that --witness gives")
        }),
        Err(error) => Err(error.to_string()),
    };
    match found {
        Ok((_, cosignature)) => {
            let seconds = i64::try_from(cosignature.time).unwrap_or(i64::MAX);
            let time = jiff::Timestamp::from_second(seconds).map_or_else(
                |_| "a time out of range".to_owned(),
                |time| time.to_string(),
            );
            verification.checked.push(format!(
                "the witness {name} signed the checkpoint, at {time} by its clock, as extending all that it signed before"
            ));
        }
        Err(message) => {
            verification.verdict = Verdict::Failed;
            verification.checked.clear();
            verification
                .faults
                .push(Fault::of_file("checkpoint", message));
        }
    }
}

/// The report as this program renders it.
pub(super) fn report(analysis: &Analysis, facts: &ReportFacts<'_>) -> Option<String> {
    remembrancer_web::render_report(analysis, facts).ok()
}

fn text(path: &Path, verification: &Verification) -> String {
    let (word, style) = match verification.verdict {
        Verdict::Verified => ("verified", Style::new().green().bold()),
        Verdict::KeyNotConfirmed => (
            "consistent, key not confirmed",
            Style::new().yellow().bold(),
        ),
        Verdict::Incomplete if verification.key == KeyStanding::Confirmed => (
            "incomplete: what is there holds",
            Style::new().yellow().bold(),
        ),
        Verdict::Incomplete => (
            "incomplete: what is there holds, key not confirmed",
            Style::new().yellow().bold(),
        ),
        Verdict::Failed => ("FAILED", Style::new().red().bold()),
    };
    let mut text = format!("{}: {}\n", path.display(), word.style(style));
    let mut line =
        |name: &str, value: &str| text.push_str(&format!("  {name:<12} {}\n", shown(value)));
    line("session", verification.session.as_deref().unwrap_or("–"));
    line("ledger", verification.origin.as_deref().unwrap_or("–"));
    line("entries", &verification.entries.to_string());
    if let Some(size) = verification.checkpoint_size {
        line("checkpoint", &format!("of {size} entries"));
    }
    line(
        "key",
        verification.key_fingerprint.as_deref().unwrap_or("–"),
    );
    if let Some(fault) = &verification.first_bad {
        line("first bad", &fault.to_string());
    }
    list_faults(&verification.faults, &mut line);
    for checked in &verification.checked {
        line("checked", checked);
    }
    for open in &verification.not_proven {
        line("not proven", open);
    }
    text
}

async fn verify_data(
    place: &LedgerLocation,
    key: Option<&PublicKey>,
    anchor: Option<&Path>,
    format: Format,
) -> Result<(), Failure> {
    let reader = Reader::open(place.clone()).await?;
    let standing = match key {
        None => KeyStanding::NotConfirmed,
        Some(key) if key == reader.public_key() => KeyStanding::Confirmed,
        Some(_) => KeyStanding::Differs,
    };
    let bar = terminal::progress(reader.size().await?, "verifying");
    let verdict =
        verify_ledger_against(&reader, anchor, |entries| bar.set_position(entries)).await?;
    bar.finish_and_clear();
    let verification = LedgerVerification::of(&reader, standing, &verdict);
    match format {
        Format::Json => terminal::print_json(&verification)?,
        Format::Text => terminal::print(&ledger_text(place, &verification))?,
    }
    if verification.verdict == Verdict::Failed {
        Err(Failure::Divergence)
    } else {
        Ok(())
    }
}

/// What the verification of a ledger came to, in the words of a bundle's.
#[derive(Serialize)]
struct LedgerVerification<'a> {
    verdict: Verdict,
    key: KeyStanding,
    key_fingerprint: String,
    origin: String,
    #[serde(flatten)]
    found: &'a LedgerVerdict,
    not_proven: Vec<&'static str>,
}

impl<'a> LedgerVerification<'a> {
    fn of(reader: &Reader, key: KeyStanding, found: &'a LedgerVerdict) -> Self {
        let verdict = match key {
            _ if !found.is_sound() => Verdict::Failed,
            KeyStanding::Confirmed => Verdict::Verified,
            KeyStanding::NotConfirmed => Verdict::KeyNotConfirmed,
            KeyStanding::Differs => Verdict::Failed,
        };
        let mut not_proven = vec![
            "that no other history was shown to somebody else: compare checkpoints with other holders",
        ];
        if key == KeyStanding::NotConfirmed {
            not_proven.insert(
                0,
                "that the key is the ledger's: give the operator's published key with --key",
            );
        }
        Self {
            verdict,
            key,
            key_fingerprint: reader.public_key().fingerprint(),
            origin: reader.origin().to_string(),
            found,
            not_proven,
        }
    }
}

fn ledger_text(place: &LedgerLocation, verification: &LedgerVerification<'_>) -> String {
    let (word, style) = match verification.verdict {
        Verdict::Verified => ("verified", Style::new().green().bold()),
        Verdict::KeyNotConfirmed => (
            "consistent, key not confirmed",
            Style::new().yellow().bold(),
        ),
        Verdict::Incomplete | Verdict::Failed => ("FAILED", Style::new().red().bold()),
    };
    let mut text = format!("{place}: {}\n", word.style(style));
    let mut line =
        |name: &str, value: &str| text.push_str(&format!("  {name:<12} {}\n", shown(value)));
    line("ledger", &verification.origin);
    line("entries", &verification.found.entries.to_string());
    line("key", &verification.key_fingerprint);
    if verification.key == KeyStanding::Differs {
        line(
            "fault",
            "the ledger has another key than the one given with --key",
        );
    }
    if let Some(fault) = &verification.found.first_bad {
        line("first bad", &fault.to_string());
    }
    list_faults(&verification.found.faults, &mut line);
    for open in &verification.not_proven {
        line("not proven", open);
    }
    text
}

/// The first faults, and how many more there are.
pub(super) fn list_faults(faults: &[impl Display], line: &mut impl FnMut(&str, &str)) {
    for fault in faults.iter().take(FAULTS_SHOWN) {
        line("fault", &fault.to_string());
    }
    let more = faults.len().saturating_sub(FAULTS_SHOWN);
    if more > 0 {
        line(
            "fault",
            &format!("… and {more} more; --format json lists all"),
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_beyond_those_that_are_listed_are_counted() {
        for (count, listed, more) in [(0, 0, None), (20, 20, None), (23, 20, Some("3 more"))] {
            let faults: Vec<String> = (0..count).map(|at| format!("fault {at}")).collect();
            let mut lines = Vec::new();
            list_faults(&faults, &mut |_, value| lines.push(value.to_owned()));
            let rest = lines.split_off(listed);
            assert_eq!(lines, faults[..listed]);
            assert_eq!(rest.len(), usize::from(more.is_some()), "{rest:?}");
            assert!(more.is_none_or(|more| rest[0].contains(more)), "{rest:?}");
        }
    }
}
