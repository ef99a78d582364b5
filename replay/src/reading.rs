//! A session's events with their payloads read once.

use remembrancer_schema::Payload;

use crate::record::{RecordedEvent, SessionRecord};

/// An event whose payload could be read.
#[derive(Debug)]
pub(crate) struct ReadEvent<'a> {
    pub(crate) event: &'a RecordedEvent,
    pub(crate) payload: Payload,
}

impl ReadEvent<'_> {
    /// Index of its entry in the ledger.
    pub(crate) fn entry(&self) -> u64 {
        self.event.entry.index
    }

    /// The client's time where given, else that of receipt.
    pub(crate) fn time(&self) -> &str {
        event_time(self.event)
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
#[derive(Debug)]
pub(crate) struct Reading<'a> {
    pub(crate) events: Vec<ReadEvent<'a>>,
    /// Entries whose payload is erased or unreadable here.
    pub(crate) unreadable: Vec<LeftOut>,
}

impl<'a> Reading<'a> {
    pub(crate) fn of(record: &'a SessionRecord) -> Self {
        let mut events = Vec::with_capacity(record.events.len());
        let mut unreadable = Vec::new();
        for event in &record.events {
            let read = match &event.payload {
                None => Err(format!(
                    "the payload of this {} was erased",
                    event.entry.kind
                )),
                Some(payload) => Payload::parse(&event.entry.kind, &payload.data)
                    .map_err(|error| error.to_string()),
            };
            match read {
                Ok(payload) => events.push(ReadEvent { event, payload }),
                Err(reason) => unreadable.push(LeftOut {
                    entry: event.entry.index,
                    turn: None,
                    reason,
                }),
            }
        }
        Self { events, unreadable }
    }
}

/// The client's time where given, else that of receipt.
pub(crate) fn event_time(event: &RecordedEvent) -> &str {
    event.entry.time.as_deref().unwrap_or(&event.entry.received)
}
