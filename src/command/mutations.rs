//! `remembrancer mutations`

mod aftermath;
mod price;

use std::collections::BTreeMap;

use remembrancer_replay::Analysis;
use remembrancer_replay::analysis::Clearing;
use remembrancer_schema::payload::Witness;

use super::session::SessionArgs;
use crate::failure::Failure;
use crate::terminal::{self, Format};

/// Arguments of `mutations`.
#[derive(clap::Args)]
pub(crate) struct MutationsArgs {
    #[command(flatten)]
    session: SessionArgs,
    /// Compare with another session of the same ledger: what do this one's compacted requests cost more than the other's?
    #[arg(long, value_name = "SESSION")]
    against: Option<String>,
}

pub(crate) async fn run(args: MutationsArgs) -> Result<(), Failure> {
    let read = args.session.read().await?;
    if let Some(other) = &args.against {
        let other = args.session.read_other(other).await?;
        let price = remembrancer_replay::price_of_remembering(&other.analysis, &read.analysis);
        return match args.session.format {
            Format::Json => terminal::print_json(&price),
            Format::Text => terminal::print(&price::text(&price)),
        };
    }
    match args.session.format {
        Format::Json => terminal::print_json(&remembrancer_replay::view::mutations(&read.analysis)),
        Format::Text if read.analysis.mutations.is_empty() => {
            terminal::say("the context of this session only grew");
            Ok(())
        }
        Format::Text => terminal::print(&text(&read.analysis)),
    }
}

fn text(analysis: &Analysis) -> String {
    let number = |value: Option<u64>| value.map_or("–".to_owned(), |value| value.to_string());
    let rows: Vec<Vec<String>> = analysis
        .mutations
        .iter()
        .map(|mutation| {
            let mut fates: BTreeMap<&str, usize> = BTreeMap::new();
            for fate in mutation.fates.iter().filter(|fate| !fate.appended) {
                *fates.entry(fate.fate.as_str()).or_default() += 1;
            }
            let fates: Vec<String> = fates
                .iter()
                .map(|(fate, count)| format!("{count} {fate}"))
                .collect();
            let budget = &mutation.budget;
            let declared = match (&mutation.declared, mutation.disagreements.len()) {
                (None, _) => "no".to_owned(),
                (Some(told), 0) => format!("{}, agrees", told.witness.as_str()),
                (Some(told), count) => {
                    format!("{}, {count} disagreements", told.witness.as_str())
                }
            };
            let witness = analysis.witness_across(mutation);
            vec![
                mutation.turn.to_string(),
                mutation.kind.as_str().to_owned(),
                witness.map_or("–", Witness::as_str).to_owned(),
                declared,
                number(budget.counted.map(|counted| counted.uncompacted)),
                number(budget.counted.map(|counted| counted.compacted)),
                budget
                    .reduction_percent
                    .map_or("–".to_owned(), |percent| format!("{percent:.1}%")),
                budget.floor.map_or("–".to_owned(), |floor| {
                    let verdict = if floor.holds { "holds" } else { "fails" };
                    format!("{verdict} ({} against {})", floor.required, floor.trigger)
                }),
                parts(&fates, mutation.clearing.as_ref()),
            ]
        })
        .collect();
    let mut text = terminal::table(
        &[
            "turn",
            "kind",
            "contexts",
            "declared",
            "before",
            "after",
            "smaller by",
            "floor",
            "parts",
        ],
        &rows,
    );
    text.push_str(
        "contexts: how those before and after became known, the weaker of both; declared: how the declaration did\n",
    );
    text.push_str(&aftermath::text(analysis));
    text
}

/// What became of the parts: in the contexts as they were sent, and then at the provider.
fn parts(fates: &[String], clearing: Option<&Clearing>) -> String {
    let mut parts = fates.to_vec();
    if let Some(clearing) = clearing {
        let counts = [
            (clearing.cleared.len(), "cleared by the provider"),
            (clearing.possible.len(), "may be cleared by the provider"),
        ];
        let counts = counts.into_iter().filter(|&(count, _)| count > 0);
        parts.extend(counts.map(|(count, what)| format!("{count} {what}")));
    }
    parts.join(", ")
}
