//! `remembrancer findings`

use owo_colors::{OwoColorize as _, Style};
use remembrancer_replay::analysis::{Finding, Severity};
use remembrancer_replay::{Analysis, FindingPlaces};
use remembrancer_schema::payload::Witness;

use super::presence::both_witnesses;
use super::session::SessionArgs;
use crate::failure::Failure;
use crate::terminal::{self, Format, shown};

/// Arguments of `findings`.
#[derive(clap::Args)]
pub(crate) struct FindingsArgs {
    #[command(flatten)]
    session: SessionArgs,
}

pub(crate) async fn run(args: FindingsArgs) -> Result<(), Failure> {
    let read = args.session.read().await?;
    match args.session.format {
        Format::Json => terminal::print_json(&remembrancer_replay::view::findings(&read.analysis)),
        Format::Text if read.analysis.findings.is_empty() => {
            terminal::say("nothing was noticed in this session");
            Ok(())
        }
        Format::Text => terminal::print(&text(&read.analysis)),
    }
}

fn text(analysis: &Analysis) -> String {
    let mut text = String::new();
    let places = FindingPlaces::of(analysis);
    let mut is_witness_told = false;
    for finding in &analysis.findings {
        let (word, style) = match finding.severity {
            Severity::Alarm => ("alarm", Style::new().red().bold()),
            Severity::Warning => ("warning", Style::new().yellow()),
            Severity::Notice => ("notice", Style::new()),
        };
        let place = finding
            .turn
            .map_or(String::new(), |turn| format!("turn {turn}  "));
        let kind = finding.kind.as_str();
        let witness = witness(&places, finding);
        is_witness_told |= witness.is_some();
        let witness = witness.map_or(String::new(), |witness| format!("  [{witness}]"));
        text.push_str(&format!(
            "{}  {place}{kind}  {}{witness}\n",
            word.style(style),
            shown(&finding.message)
        ));
    }
    if is_witness_told {
        text.push_str(WITNESS);
    }
    text
}

/// What stands in brackets.
const WITNESS: &str =
    "[witness]: how the context that a finding is about became known / how the action did\n";

/// How the context that a finding is about became known, and how the action did where that is otherwise.
fn witness(places: &FindingPlaces<'_>, finding: &Finding) -> Option<String> {
    let context = places.context_witness(finding);
    match places.action_witness(finding) {
        Some(action) => Some(both_witnesses(context, action)),
        None => context.map(|context| Witness::as_str(context).to_owned()),
    }
}
