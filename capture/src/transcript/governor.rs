//! Traces of Sentience Governor: what a hook or a wrapper saw of an agent's actions, one event a line, chained by the id of the
//! event before.
//!
//! A trace holds no context, no arguments and no results, so presence cannot be answered from it: it is unknown at every action.
//! What it holds is which tools were called on what, what the governor flagged, and the sizes of model calls.

mod event;
mod trace;

use std::collections::BTreeMap;
use std::path::Path;

use remembrancer_schema::payload::{SessionStarted, Witness};

use super::{Format, ImportError, Lines, NewSession, Opening, Output, Recording};
use event::{TraceEvent, Turns};
use trace::Trace;

/// Most sessions in a file.
const SESSIONS_MAX: usize = 10_000;
const NO_CONTEXTS: &str = "a governor's trace holds no contexts, arguments or results: whether a rule was present at an action \
                           is unknown";

/// The format.
#[derive(Debug)]
pub(super) struct Governor;

impl Format for Governor {
    fn name(&self) -> &'static str {
        "governor"
    }

    fn recognises(&self, opening: &Opening) -> bool {
        opening.any_record(|record| {
            record.get("event_sequence_number").is_some()
                && record.get("previous_event_id").is_some()
                && record.get("advisory_flags").is_some()
        })
    }

    fn read(&self, path: &Path, output: &mut Output<'_>) -> Result<(), ImportError> {
        let turns = Turns::read(path)?;
        let mut reader = Reader {
            turns,
            traces: BTreeMap::new(),
        };
        let mut lines = Lines::open(path)?;
        while let Some(line) = lines.next_line()? {
            output.report.records += 1;
            let text = String::from_utf8_lossy(&line.bytes);
            let outcome = if line.is_too_long {
                Err("the line is too long to be read".to_owned())
            } else {
                serde_json::from_str::<TraceEvent>(&text).map_err(|error| error.to_string())
            };
            match outcome {
                Ok(event) => reader.event(line.number, &event, &text, output)?,
                // The last line of a file that is still being written.
                Err(_) if !line.is_ended && !line.is_too_long => {}
                Err(reason) => {
                    output.report.malformed += 1;
                    output.notice(
                        Some(line.number),
                        format!("not an event of a trace: {reason}"),
                    );
                    // The session of such a line is not known; it is kept in the one that was written last.
                    if let Some(trace) = reader.traces.values_mut().next_back() {
                        trace.recording.malformed(&line, &reason);
                    }
                }
            }
            output.progress(lines.bytes_read());
        }
        reader.finish(output)
    }
}

struct Reader {
    turns: Turns,
    traces: BTreeMap<String, Trace>,
}

impl Reader {
    fn event(
        &mut self,
        line: u64,
        event: &TraceEvent,
        text: &str,
        output: &mut Output<'_>,
    ) -> Result<(), ImportError> {
        if !self.traces.contains_key(&event.session_id) {
            if self.traces.len() >= SESSIONS_MAX {
                output.notice(
                    Some(line),
                    format!("more than {SESSIONS_MAX} sessions; further ones are left out"),
                );
                return Ok(());
            }
            let known = self.turns.count(&event.session_id);
            let trace = Trace::new(start(event, output)?, known);
            self.traces.insert(event.session_id.clone(), trace);
        }
        let Some(trace) = self.traces.get_mut(&event.session_id) else {
            return Ok(());
        };
        for fault in trace.faults(event) {
            output.notice(Some(line), fault);
        }
        trace.write(line, event, text, &self.turns);
        output.drain(&mut trace.recording)
    }

    fn finish(self, output: &mut Output<'_>) -> Result<(), ImportError> {
        for (_, trace) in self.traces {
            output.finish(trace.recording)?;
        }
        output.notice(None, NO_CONTEXTS);
        Ok(())
    }
}

/// Starts the session of an event: its first one, which mostly registers the agent.
fn start(event: &TraceEvent, output: &mut Output<'_>) -> Result<Recording, ImportError> {
    let payload = &event.payload;
    let capabilities = payload.declared_capabilities.join(", ");
    let labels = [
        ("vendor", payload.vendor_id.clone()),
        ("owner", payload.owner_claim.clone()),
        ("deployment_mode", event.deployment_mode.clone()),
        (
            "declared_capabilities",
            (!capabilities.is_empty()).then_some(capabilities),
        ),
    ];
    let labels = labels
        .into_iter()
        .filter_map(|(name, value)| Some((name.to_owned(), value?)));
    output.start(NewSession {
        prefix: "gov",
        native_id: event.session_id.clone(),
        agent: event.agent_id.clone(),
        time: event.timestamp_utc.clone(),
        started: SessionStarted {
            label: event.agent_id.clone(),
            labels: labels.collect(),
            agent_version: payload.agent_version.clone(),
            witness: Some(Witness::Hook),
            ..SessionStarted::default()
        },
    })
}

#[cfg(test)]
mod tests;
