//! `remembrancer presence`

use owo_colors::{OwoColorize as _, Style};
use remembrancer_replay::Analysis;
use remembrancer_replay::analysis::{Action, Presence, PresenceState, Risk, ScopeVerdict};
use remembrancer_schema::payload::Witness;

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
    let mut heading = ["turn", "action", "witness"].map(str::to_owned).to_vec();
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
                witness(analysis, action),
            ];
            row.extend(
                constraints
                    .iter()
                    .map(|&constraint| state(analysis.presence_at(action, constraint))),
            );
            row
        })
        .collect();
    let heading: Vec<&str> = heading.iter().map(String::as_str).collect();
    text.push_str(&terminal::table(&heading, &rows));
    text.push_str(&marks(analysis, &constraints));
    if !rows.is_empty() {
        text.push_str(WITNESS);
    }
    text.push_str(&controls(analysis));
    text.push_str(&summary(analysis));
    text
}

/// What the witnesses are.
const WITNESS: &str =
    "witness: how the context that the states rest on became known / how the action did\n";

/// How the context that an action was sent from became known, and how the action did where that is otherwise.
fn witness(analysis: &Analysis, action: &Action) -> String {
    both_witnesses(analysis.witness_of(action.turn), action.witness)
}

/// How a context became known, and how an action did where that is otherwise.
pub(super) fn both_witnesses(context: Option<Witness>, action: Witness) -> String {
    match context.map_or("unknown", Witness::as_str) {
        context if context == action.as_str() => context.to_owned(),
        context => format!("{context} / {}", action.as_str()),
    }
}

/// Behind a state: it stands only in a summary, or only there and in messages.
const IN_SUMMARY: &str = " (s)";
const IN_MESSAGES: &str = " (m)";

fn state(presence: Option<&Presence>) -> String {
    let state = presence.map_or(Some(PresenceState::Unknown), |presence| presence.state);
    let Some(state) = state else {
        return Presence::NOT_YET_DECLARED.to_owned();
    };
    let mark = match presence.and_then(|presence| presence.at_risk) {
        Some(Risk::OnlyInSummary) => IN_SUMMARY,
        Some(Risk::OnlyInMessages) => IN_MESSAGES,
        None => "",
    };
    format!("{}{mark}", state.as_str())
}

/// What is said of states beside their names, for what occurs. Looked up in the analysis: a tool may be named like a mark.
fn marks(analysis: &Analysis, constraints: &[usize]) -> String {
    type IsMeant = dyn Fn(&Presence) -> bool;
    let shown = |is_meant: &IsMeant| {
        let mut cells = analysis.actions.iter().flat_map(|action| {
            let constraints = constraints.iter();
            constraints.filter_map(|&constraint| analysis.presence_at(action, constraint))
        });
        cells.any(is_meant)
    };
    let meanings: [(&str, &str, &IsMeant); 3] = [
        (
            IN_SUMMARY,
            "at risk, it stands only in a summary, whose words are the summarizer's",
            &|presence| presence.at_risk == Some(Risk::OnlyInSummary),
        ),
        (
            IN_MESSAGES,
            "at risk, it stands only in messages, which the next compaction may take",
            &|presence| presence.at_risk == Some(Risk::OnlyInMessages),
        ),
        (
            Presence::NOT_YET_DECLARED,
            "it was declared only after that request, and did not stand in it; such cells are not counted",
            &|presence| presence.state.is_none(),
        ),
    ];
    meanings
        .into_iter()
        .filter(|(_, _, is_meant)| shown(is_meant))
        .map(|(mark, meaning, _)| format!("{}: {meaning}\n", mark.trim()))
        .collect()
}

/// What the checks say where they cannot say anything.
fn controls(analysis: &Analysis) -> String {
    let controls = &analysis.controls;
    let mut text = String::from("\ncontrols:\n");
    for emptied in &controls.emptied {
        text.push_str(&format!("  {}\n", emptied.in_words()));
    }
    let cannot_fail: Vec<String> = controls
        .cannot_fail
        .iter()
        .filter_map(|&constraint| analysis.constraints.get(constraint))
        .map(|constraint| excerpt(&constraint.id, 60))
        .collect();
    if !cannot_fail.is_empty() {
        text.push_str(&format!(
            "  instructions or re-supplied material hold these at every known turn, so their check cannot fail: {}\n",
            cannot_fail.join(", ")
        ));
    }
    for control in &controls.never_stated {
        let result = match &control.found {
            None => "found nowhere, as it must be".to_owned(),
            Some(found) => format!(
                "FOUND at turn {} as {}: the checks of this session are in doubt",
                found.turn,
                found.state.as_str()
            ),
        };
        text.push_str(&format!(
            "  nobody stated {:?}: {result}\n",
            excerpt(&control.text, 80)
        ));
    }
    text
}

fn legend(analysis: &Analysis) -> String {
    let mut text = String::new();
    for constraint in &analysis.constraints {
        let line = format!(
            "{} ({}; {}): {}\n",
            excerpt(&constraint.id, 60),
            constraint.kind.as_str(),
            constraint.witness.as_str(),
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

#[cfg(test)]
mod tests {
    use remembrancer_replay::analysis::{Action, Constraint, Turn};
    use remembrancer_schema::payload::{ConstraintKind, Witness};

    use super::*;

    /// One action of a tool that is named like a mark, with one limit in the state given.
    fn analysis(presence: Presence) -> Analysis {
        Analysis {
            constraints: vec![Constraint {
                id: "limit".to_owned(),
                kind: ConstraintKind::Prohibition,
                text: "never x".to_owned(),
                entry: 1,
                from_turn: Some(1),
                stated_by: None,
                inferred: false,
                matcher: String::new(),
                witness: Witness::Claimed,
            }],
            turns: vec![Turn {
                number: 1,
                entry: Some(2),
                time: None,
                parts: Default::default(),
                unknown: None,
                incomplete: None,
                tokens: None,
                witness: Witness::Exact,
                proof: None,
                response: None,
                mutation: None,
            }],
            actions: vec![Action {
                turn: 1,
                call_id: "c".to_owned(),
                tool: "x (s)".to_owned(),
                target: None,
                operation: None,
                arguments: None,
                entry: 3,
                witness: Witness::Exact,
                time: None,
                returned: None,
                decisions: Vec::new(),
                scope: ScopeVerdict::Undeclared,
                scope_version: None,
                breaks: Vec::new(),
                effects: Default::default(),
            }],
            presence: vec![vec![presence]],
            ..Analysis::default()
        }
    }

    #[test]
    fn marks_are_explained_where_they_stand_behind_a_state_and_not_in_a_name() {
        let presence = |state, at_risk| Presence {
            at_risk,
            ..Presence::of(state)
        };
        let marks = |presence| marks(&analysis(presence), &[0]);
        let verbatim = Some(PresenceState::Verbatim);
        assert_eq!(marks(presence(verbatim, None)), "");
        assert!(marks(presence(verbatim, Some(Risk::OnlyInSummary))).starts_with("(s): at risk"));
        assert!(marks(presence(verbatim, Some(Risk::OnlyInMessages))).starts_with("(m): at risk"));
        let undeclared = analysis(presence(None, None));
        let shown = text(&undeclared);
        let row = shown
            .lines()
            .find(|line| line.contains("x (s)"))
            .unwrap_or("");
        assert!(row.trim_end().ends_with("not yet declared"), "{shown}");
        assert!(
            shown.contains("not yet declared: it was declared only after"),
            "{shown}"
        );
        assert!(!shown.contains("(s): at risk"), "{shown}");
    }
}
