//! `remembrancer verify`

use std::path::{Path, PathBuf};

use owo_colors::{OwoColorize as _, Style};
use remembrancer_recorder::{LedgerVerdict, Reader, verify_ledger};
use remembrancer_replay::Analysis;
use remembrancer_replay::bundle::{
    self, BUNDLE_BYTES_MAX, KeyStanding, ReportFacts, Verdict, Verification,
};
use remembrancer_schema::signing::PublicKey;
use serde::Serialize;

use crate::failure::Failure;
use crate::terminal::{self, Format, shown};

/// Faults that the text output lists; JSON has them all.
const FAULTS_SHOWN: usize = 20;

/// Arguments of `verify`.
#[derive(clap::Args)]
pub(crate) struct VerifyArgs {
    /// Bundle to verify; for a whole ledger give --data instead
    #[arg(required_unless_present = "data", conflicts_with = "data")]
    file: Option<PathBuf>,
    /// Ledger to verify whole, by its data folder
    #[arg(long)]
    data: Option<PathBuf>,
    /// The ledger's public key as you know it from elsewhere (PEM); without it a bundle's own key is not confirmed
    #[arg(long)]
    key: Option<PathBuf>,
    /// Form of the output
    #[arg(long, value_enum, default_value = "text")]
    format: Format,
}

pub(crate) async fn run(args: VerifyArgs) -> Result<(), Failure> {
    let key = args.key.as_deref().map(read_key).transpose()?;
    match (args.file, args.data) {
        (Some(file), _) => verify_file(&file, key.as_ref(), args.format),
        (None, data) => verify_data(&data.unwrap_or_default(), key.as_ref(), args.format).await,
    }
}

fn read_key(path: &Path) -> Result<PublicKey, Failure> {
    let pem = std::fs::read_to_string(path).map_err(|error| {
        Failure::new(format!("cannot read the key {}: {error}", path.display()))
    })?;
    PublicKey::from_pem(&pem).map_err(|error| Failure::new(format!("{}: {error}", path.display())))
}

fn verify_file(path: &Path, key: Option<&PublicKey>, format: Format) -> Result<(), Failure> {
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
    let verification =
        bundle::verify(&bytes, key, Some(&report)).map_err(|error| cannot(&error))?;
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
    let count = verification.faults.len();
    for fault in verification.faults.iter().take(FAULTS_SHOWN) {
        line("fault", &fault.to_string());
    }
    if count > FAULTS_SHOWN {
        line(
            "fault",
            &format!(
                "… and {} more; --format json lists all",
                count - FAULTS_SHOWN
            ),
        );
    }
    for checked in &verification.checked {
        line("checked", checked);
    }
    for open in &verification.not_proven {
        line("not proven", open);
    }
    text
}

async fn verify_data(data: &Path, key: Option<&PublicKey>, format: Format) -> Result<(), Failure> {
    let reader = Reader::open(data).await?;
    let standing = match key {
        None => KeyStanding::NotConfirmed,
        Some(key) if key == reader.public_key() => KeyStanding::Confirmed,
        Some(_) => KeyStanding::Differs,
    };
    let bar = terminal::progress(reader.size().await?, "verifying");
    let verdict = verify_ledger(&reader, |entries| bar.set_position(entries)).await?;
    bar.finish_and_clear();
    let verification = LedgerVerification::of(&reader, standing, &verdict);
    match format {
        Format::Json => terminal::print_json(&verification)?,
        Format::Text => terminal::print(&ledger_text(data, &verification))?,
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

fn ledger_text(data: &Path, verification: &LedgerVerification<'_>) -> String {
    let (word, style) = match verification.verdict {
        Verdict::Verified => ("verified", Style::new().green().bold()),
        Verdict::KeyNotConfirmed => (
            "consistent, key not confirmed",
            Style::new().yellow().bold(),
        ),
        Verdict::Incomplete | Verdict::Failed => ("FAILED", Style::new().red().bold()),
    };
    let mut text = format!("{}: {}\n", data.display(), word.style(style));
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
    let count = verification.found.faults.len();
    for fault in verification.found.faults.iter().take(FAULTS_SHOWN) {
        line("fault", &fault.to_string());
    }
    if count > FAULTS_SHOWN {
        line(
            "fault",
            &format!(
                "… and {} more; --format json lists all",
                count - FAULTS_SHOWN
            ),
        );
    }
    for open in &verification.not_proven {
        line("not proven", open);
    }
    text
}
