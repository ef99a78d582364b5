//! `remembrancer findings`

use owo_colors::{OwoColorize as _, Style};
use remembrancer_replay::Analysis;
use remembrancer_replay::analysis::Severity;

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
        text.push_str(&format!(
            "{}  {place}{kind}  {}\n",
            word.style(style),
            shown(&finding.message)
        ));
    }
    text
}
