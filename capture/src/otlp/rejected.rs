//! Spans that were not recorded, kept where somebody looks: exporters do not tell those who use them.

use remembrancer_schema::payload::{EventType, SessionStarted, Witness};
use remembrancer_schema::{ContentHash, EventId};
use serde_json::json;

use super::export::Rejected;
use super::session::Session;
use crate::WriteError;

/// Type of the events that hold rejected spans.
pub const REJECTED_TYPE: &str = "custom.otlp.rejected";
/// Most events of that type. Beyond them, rejected spans are told to their sender alone.
const EVENTS_MAX: usize = 1000;
/// Most spans that one event lists; the others are counted.
const LISTED_MAX: usize = 50;
/// Longest reason, in characters.
const REASON_CHARS_MAX: usize = 500;

impl Rejected {
    /// The span of an event that the ledger refused by itself, from the event's id.
    pub fn of_event(id: &EventId, reason: String) -> Self {
        let mut pieces = id.as_str().split('.').skip(1);
        let mut piece = || pieces.next().unwrap_or_default().to_owned();
        Self {
            trace: piece(),
            span: piece(),
            name: String::new(),
            service: None,
            reason,
        }
    }
}

impl Session {
    /// Writes spans that were rejected into this session, which is theirs: each list once, however often it is sent.
    pub fn reject(&mut self, rejected: &[Rejected]) -> Result<(), WriteError> {
        if rejected.is_empty() || self.events() >= EVENTS_MAX {
            return Ok(());
        }
        if self.events() == 0 {
            let started = SessionStarted {
                label: Some("OpenTelemetry: rejected spans".to_owned()),
                witness: Some(Witness::Telemetry),
                source: Some("OpenTelemetry".to_owned()),
                ..SessionStarted::default()
            };
            self.push("otlp.start", &EventType::SessionStarted, &started)?;
        }
        let listed: Vec<Rejected> = rejected
            .iter()
            .take(LISTED_MAX)
            .map(|span| Rejected {
                reason: span.reason.chars().take(REASON_CHARS_MAX).collect(),
                ..span.clone()
            })
            .collect();
        let told = json!({ "count": rejected.len(), "spans": listed });
        let hash = ContentHash::of(told.to_string().as_bytes()).short();
        let id = format!("otlp.rejected.{hash}");
        if self.has(&id) {
            return Ok(());
        }
        self.push(&id, &EventType::Custom(REJECTED_TYPE.to_owned()), &told)
    }
}
