//! `remembrancer presence`

use owo_colors::{OwoColorize as _, Style};
use remembrancer_replay::Analysis;
use remembrancer_replay::analysis::{PresenceState, ScopeVerdict};

use super::session::SessionArgs;
use crate::failure::Failure;
use crate::terminal::{self, Format, excerpt};

/// Arguments of `presence`.
#[derive(clap::Args)]
pub(crate) struct PresenceArgs {
    #[command(flatten)]
    session: SessionArgs,
}

pub(crate) async fn run(args: PresenceArgs) -> Result<(), Failure> {
    let read = args.session.read().await?;
    match args.session.format {
        Format::Json => terminal::print_json(&remembrancer_replay::view::presence(&read.analysis)),
        Format::Text => terminal::print(&text(&read.analysis)),
    }
}

fn text(analysis: &Analysis) -> String {
    let mut text = legend(analysis);
    let constraints: Vec<usize> = (0..analysis.constraints.len())
        .filter(|&constraint| analysis.constraints[constraint].is_limit())
        .collect();
    let mut heading = vec!["turn".to_owned(), "action".to_owned()];
    heading.extend(
        constraints
            .iter()
            .map(|&constraint| excerpt(&analysis.constraints[constraint].id, 24)),
    );
    let rows: Vec<Vec<String>> = analysis
        .actions
        .iter()
        .map(|action| {
            let mark = match &action.scope {
                _ if !action.breaks.is_empty() => " ! prohibited",
                ScopeVerdict::Prohibited { .. } => " ! prohibited",
                ScopeVerdict::OutOfScope => " ! out of scope",
                _ => "",
            };
            let mut row = vec![
                action.turn.to_string(),
                format!("{}{mark}", excerpt(&action.tool, 30)),
            ];
            row.extend(constraints.iter().map(|&constraint| {
                analysis
                    .presence_at(action, constraint)
                    .map_or(PresenceState::Unknown, |presence| presence.state)
                    .as_str()
                    .to_owned()
            }));
            row
        })
        .collect();
    let heading: Vec<&str> = heading.iter().map(String::as_str).collect();
    text.push_str(&terminal::table(&heading, &rows));
    text.push_str(&summary(analysis));
    text
}

fn legend(analysis: &Analysis) -> String {
    let mut text = String::new();
    for constraint in &analysis.constraints {
        let line = format!(
            "{} ({}): {}\n",
            excerpt(&constraint.id, 60),
            constraint.kind.as_str(),
            excerpt(&constraint.text, 100)
        );
        text.push_str(&line);
    }
    text.push('\n');
    text
}

fn summary(analysis: &Analysis) -> String {
    let summary = &analysis.summary;
    let alarming = summary.prohibited_without_trace > 0;
    let style = if alarming {
        Style::new().red().bold()
    } else {
        Style::new()
    };
    format!(
        "\n{} of {} actions were sent while at least one limit had no textual trace in the context;\n{}\n\
         longest stretch without one limit: {} turns. Sequence is not cause: this says what the context held.\n",
        summary.actions_without_trace,
        analysis.actions.len(),
        format!(
            "{} prohibited actions were sent while the limit that they break had none;",
            summary.prohibited_without_trace
        )
        .style(style),
        summary.longest_gap_turns,
    )
}
