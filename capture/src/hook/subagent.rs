//! Which recorded session an event belongs to: a sub-agent has one of its own, below that which started it.

use remembrancer_schema::SessionId;
use remembrancer_schema::payload::ParentSession;

use super::standing::{SUBAGENTS_MAX, SessionStanding};
use super::{Arrival, Program, parsed, safe};
use crate::WriteError;

/// What a sub-agent is called that is one too many.
const FURTHER: &str = "further";

/// What is known of a sub-agent's beginning.
#[derive(Debug)]
pub(super) struct Beginning {
    pub(super) parent: ParentSession,
    /// What it was asked to do.
    pub(super) prompt: Option<String>,
}

/// The id of the session in which the events of a program's session are recorded, or those of one of its sub-agents. A session
/// that is resumed after its end goes on in another one: `run` counts them from 1.
pub fn session_id(
    program: Program,
    session: &str,
    agent_id: Option<&str>,
    run: u32,
) -> Result<SessionId, WriteError> {
    let mut name = format!("{}-hooks:{}", program.name(), safe(session));
    if let Some(agent) = agent_id {
        name.push_str(&format!(":{}", safe(agent)));
    }
    if run > 1 {
        name.push_str(&format!(":run-{run}"));
    }
    parsed(&name)
}

/// The sub-agent that an event happened in, if it did in one.
pub(super) fn of(standing: &SessionStanding, arrival: &Arrival<'_>) -> Option<String> {
    let id = arrival.payload.agent_id()?;
    let is_known = standing.subagents.contains_key(&id);
    let has_room = standing.subagents.len() < SUBAGENTS_MAX;
    Some(if is_known || has_room {
        id
    } else {
        FURTHER.to_owned()
    })
}

/// What the parent's calls tell of a sub-agent that begins: which call started it, where that is beyond doubt.
pub(super) fn beginning(
    standing: &mut SessionStanding,
    arrival: &Arrival<'_>,
) -> Result<Beginning, WriteError> {
    let agent_type = arrival.payload.name("agent_type");
    let run = standing.main.run.max(1);
    let mut asked: Vec<_> = standing
        .main
        .open
        .iter_mut()
        .filter_map(|(id, call)| Some((id, call.task.as_mut()?)))
        .filter(|(_, task)| !task.started && task.agent_type == agent_type)
        .collect();
    let (call_id, prompt) = match &mut asked[..] {
        [(id, task)] => {
            task.started = true;
            (Some((*id).clone()), task.prompt.clone())
        }
        _ => (None, None),
    };
    Ok(Beginning {
        parent: ParentSession {
            session: session_id(arrival.program, &arrival.payload.session_id, None, run)?,
            call_id,
        },
        prompt,
    })
}
