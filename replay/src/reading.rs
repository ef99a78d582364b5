//! A session's events with their payloads read once.

use remembrancer_schema::payload::Witness;
use remembrancer_schema::{AgentName, Payload};

use crate::record::{RecordedEvent, SessionRecord};

/// An event whose payload could be read.
#[derive(Debug)]
pub(crate) struct ReadEvent {
    entry: u64,
    time: String,
    agent: Option<AgentName>,
    witness: Witness,
    pub(crate) payload: Payload,
}

impl ReadEvent {
    /// Index of its entry in the ledger.
    pub(crate) fn entry(&self) -> u64 {
        self.entry
    }

    /// The client's time where given, else that of receipt.
    pub(crate) fn time(&self) -> &str {
        &self.time
    }

    /// The agent that it speaks for.
    pub(crate) fn agent(&self) -> Option<&str> {
        self.agent.as_ref().map(AgentName::as_str)
    }

    /// How it became known: as it says itself, or else as the session says.
    pub(crate) fn witness(&self) -> Witness {
        self.witness
    }

    /// Drops what only the join of actions reads: arguments and results. An action holds them from then on.
    pub(crate) fn drop_joined(&mut self) {
        match &mut self.payload {
            Payload::ToolCalled(called) => called.arguments = None,
            Payload::ToolReturned(returned) => returned.result = None,
            _ => {}
        }
    }
}

/// An entry that the analysis leaves out, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LeftOut {
    pub(crate) entry: u64,
    pub(crate) turn: Option<u32>,
    pub(crate) reason: String,
}

/// Every event of a session, in order.
#[derive(Debug, Default)]
pub(crate) struct Reading {
    pub(crate) events: Vec<ReadEvent>,
    /// How those events became known that do not say it.
    witness: Option<Witness>,
    /// Entries whose payload is erased or unreadable here.
    pub(crate) unreadable: Vec<LeftOut>,
}

impl Reading {
    pub(crate) fn of(record: &SessionRecord) -> Self {
        let mut reading = Self::default();
        for event in &record.events {
            reading.push(event);
        }
        reading
    }

    /// Reads the next event; `None` if its payload cannot be read.
    pub(crate) fn push(&mut self, event: &RecordedEvent) -> Option<&mut ReadEvent> {
        let read = match &event.payload {
            None => Err(format!(
                "the payload of this {} was erased",
                event.entry.kind
            )),
            Some(payload) => {
                Payload::parse(&event.entry.kind, &payload.data).map_err(|error| error.to_string())
            }
        };
        match read {
            Ok(payload) => {
                if let Payload::SessionStarted(started) = &payload {
                    self.witness = self.witness.or(started.witness);
                }
                let witness = payload.witness().or(self.witness);
                self.events.push(ReadEvent {
                    entry: event.entry.index,
                    time: event_time(event).to_owned(),
                    agent: event.entry.agent.clone(),
                    witness: witness.unwrap_or(Witness::Claimed),
                    payload,
                });
                self.events.last_mut()
            }
            Err(reason) => {
                self.unreadable.push(LeftOut {
                    entry: event.entry.index,
                    turn: None,
                    reason,
                });
                None
            }
        }
    }
}

/// The client's time where given, else that of receipt.
pub(crate) fn event_time(event: &RecordedEvent) -> &str {
    event.entry.time.as_deref().unwrap_or(&event.entry.received)
}
