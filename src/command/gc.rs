//! `remembrancer gc`

use std::str::FromStr;
use std::time::Duration;

use remembrancer_recorder::{GRACE, GarbageOptions, GarbagePlace, GarbageReport, collect_garbage};

use super::session::DataArg;
use crate::failure::Failure;
use crate::terminal::{self, Format, shown};

/// Items that the text output lists.
const ITEMS_SHOWN: usize = 50;
/// Objects between two movements of the progress line.
const PROGRESS_EVERY: u64 = 256;

/// Arguments of `gc`.
#[derive(clap::Args)]
pub(crate) struct GcArgs {
    #[command(flatten)]
    data: DataArg,
    /// Remove what is found; without this it is only listed
    #[arg(long)]
    delete: bool,
    /// Leave alone what was uploaded within this time, such as 90m, 24h or 7d
    #[arg(long, default_value_t = Age(GRACE))]
    older_than: Age,
    /// Form of the output
    #[arg(long, value_enum, default_value = "text")]
    format: Format,
}

pub(crate) async fn run(args: GcArgs) -> Result<(), Failure> {
    let reader = args.data.reader().await?;
    let options = GarbageOptions {
        older_than: args.older_than.0,
        removes: args.delete,
        ..GarbageOptions::default()
    };
    let counter = terminal::counter("blobs looked at");
    let report = collect_garbage(&reader, &options, |objects| {
        if objects.is_multiple_of(PROGRESS_EVERY) {
            counter.set_position(objects);
        }
    })
    .await;
    counter.finish_and_clear();
    let report = report?;
    match args.format {
        Format::Json => terminal::print_json(&report),
        Format::Text => terminal::print(&text(&report)),
    }
}

fn text(report: &GarbageReport) -> String {
    let mut text = String::new();
    if !report.items.is_empty() {
        let rows: Vec<Vec<String>> = report
            .items
            .iter()
            .take(ITEMS_SHOWN)
            .map(|item| {
                vec![
                    place(item.place).to_owned(),
                    item.bytes.to_string(),
                    item.stored.clone(),
                    shown(&item.name),
                ]
            })
            .collect();
        text.push_str(&terminal::table(
            &["where", "bytes", "uploaded", "name"],
            &rows,
        ));
        let hidden = report.count - rows.len() as u64;
        if hidden > 0 {
            text.push_str(&format!("… and {hidden} more\n"));
        }
    }
    for name in report.strangers.iter().take(ITEMS_SHOWN) {
        text.push_str(&format!("not a blob, left alone: {}\n", shown(name)));
    }
    let sum = match (report.count, report.removed) {
        (0, _) => "no garbage".to_owned(),
        (count, true) => format!("removed {count} pieces of garbage, {} bytes", report.bytes),
        (count, false) => format!(
            "{count} pieces of garbage, {} bytes; nothing was removed: add --delete for that",
            report.bytes
        ),
    };
    text.push_str(&format!(
        "{sum} (ledger {}, blobs in {}, {} looked at, older than {})\n",
        shown(&report.ledger),
        shown(&report.blob_store),
        report.objects,
        Age(Duration::from_secs(report.older_than_seconds))
    ));
    text
}

fn place(place: GarbagePlace) -> &'static str {
    match place {
        GarbagePlace::Store => "blob store",
        GarbagePlace::Inline => "database",
        GarbagePlace::HalfWritten => "half-written",
    }
}

/// A time as people write it: a whole number and s, m, h or d.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Age(Duration);

const UNITS: [(char, u64); 4] = [('d', 86_400), ('h', 3600), ('m', 60), ('s', 1)];

impl FromStr for Age {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let refused = || format!("{text:?} is not a time: a whole number and s, m, h or d");
        let unit = text.chars().last().ok_or_else(refused)?;
        let (_, seconds) = UNITS
            .iter()
            .find(|(name, _)| *name == unit)
            .ok_or_else(refused)?;
        let number = &text[..text.len() - 1];
        if !number.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(refused());
        }
        let number: u64 = number.parse().map_err(|_| refused())?;
        let seconds = number.checked_mul(*seconds).ok_or_else(refused)?;
        Ok(Self(Duration::from_secs(seconds)))
    }
}

impl std::fmt::Display for Age {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let seconds = self.0.as_secs();
        let fits = |(_, unit): &&(char, u64)| {
            *unit == 1 || (seconds >= *unit && seconds.is_multiple_of(*unit))
        };
        let (name, unit) = UNITS.iter().find(fits).unwrap_or(&('s', 1));
        // A day is written in hours, as people say it.
        if seconds == 86_400 {
            return f.write_str("24h");
        }
        write!(f, "{}{name}", seconds / unit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_age_is_read_as_people_write_it() {
        for (text, seconds) in [("0s", 0), ("90m", 5400), ("24h", 86_400), ("7d", 604_800)] {
            let age: Age = text.parse().unwrap();
            assert_eq!(age.0.as_secs(), seconds);
            assert_eq!(age.to_string(), text);
        }
        for text in [
            "",
            "h",
            "24",
            "-1h",
            "+1h",
            "1.5h",
            "24 h",
            "1w",
            "99999999999999999999d",
            "9é",
        ] {
            assert!(text.parse::<Age>().is_err(), "{text:?}");
        }
    }
}
