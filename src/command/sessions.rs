//! `remembrancer sessions`

use remembrancer_recorder::SessionSummary;

use super::session::DataArg;
use crate::failure::Failure;
use crate::terminal::{self, Format, excerpt};

/// Sessions that one read of the list fetches.
const PAGE_SESSIONS: u32 = 500;

/// Arguments of `sessions`.
#[derive(clap::Args)]
pub(crate) struct SessionsArgs {
    #[command(flatten)]
    data: DataArg,
    /// Form of the output
    #[arg(long, value_enum, default_value = "text")]
    format: Format,
}

pub(crate) async fn run(args: SessionsArgs) -> Result<(), Failure> {
    let reader = args.data.reader().await?;
    let sessions = all(&reader).await?;
    match args.format {
        Format::Json => terminal::print_json(&sessions),
        Format::Text if sessions.is_empty() => {
            terminal::say("the ledger holds no session yet");
            Ok(())
        }
        Format::Text => terminal::print(&text(&sessions)),
    }
}

/// Every session of a ledger, newest first.
pub(crate) async fn all(
    reader: &remembrancer_recorder::Reader,
) -> Result<Vec<SessionSummary>, Failure> {
    let mut sessions = Vec::new();
    let mut after = None;
    loop {
        let page = reader.sessions(after.as_deref(), PAGE_SESSIONS).await?;
        sessions.extend(page.items);
        after = page.next;
        if after.is_none() {
            return Ok(sessions);
        }
    }
}

fn text(sessions: &[SessionSummary]) -> String {
    let rows: Vec<Vec<String>> = sessions
        .iter()
        .map(|session| {
            vec![
                excerpt(session.label.as_deref().unwrap_or("–"), 40),
                session.id.to_string(),
                excerpt(
                    session.agent.as_ref().map_or("–", |agent| agent.as_ref()),
                    30,
                ),
                session.started.clone(),
                session.turns.to_string(),
                session.actions.to_string(),
                session.entries.to_string(),
                if session.sealed { "sealed" } else { "open" }.to_owned(),
            ]
        })
        .collect();
    terminal::table(
        &[
            "label", "session", "agent", "started", "turns", "actions", "entries", "state",
        ],
        &rows,
    )
}
