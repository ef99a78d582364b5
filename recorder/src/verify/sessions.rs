//! Sessions: the chain of each, and the row that is derived from its entries.

use std::collections::hash_map;

use remembrancer_replay::verify::ChainVerifier;
use remembrancer_schema::payload::Payload;
use remembrancer_schema::{Entry, EventType, SessionId};

use super::{PAGE_ROWS, Run};
use crate::error::LedgerError;
use crate::incoming::Facts;
use crate::session::SessionSummary;
use crate::store::Connection;

/// One session as its entries say.
pub(super) struct Followed {
    pub(super) chain: ChainVerifier,
    /// Its number, which every row of its entries must have.
    pub(super) number: i64,
    summary: Option<SessionSummary>,
}

impl Followed {
    pub(super) fn absent_payloads(&self) -> u64 {
        self.chain.absent_payloads()
    }

    /// Derives the session's row, as the recorder did. To be told of an entry after its chain.
    pub(super) fn follow(&mut self, entry: &Entry, data: Option<&str>) {
        // Payloads of other types hold nothing that a row has.
        let has_facts = matches!(
            entry.kind,
            EventType::SessionStarted | EventType::ModelResponded
        );
        let facts = data
            .filter(|_| has_facts)
            .and_then(|data| Payload::parse(&entry.kind, data).ok())
            .map(Facts::of)
            .unwrap_or_default();
        let head = self.chain.head();
        let summary = self.summary.get_or_insert_with(|| SessionSummary {
            number: self.number,
            id: entry.session.clone(),
            label: facts.label.clone(),
            agent: entry.agent.as_ref().map(ToString::to_string),
            model: facts.model.clone(),
            parent: facts.parent.clone(),
            started: entry.time.clone().unwrap_or_else(|| entry.received.clone()),
            last_received: entry.received.clone(),
            sealed: false,
            entries: 0,
            actions: 0,
            turns: 0,
            head,
        });
        summary.advance(&entry.kind, facts.model.as_deref(), &entry.received, head);
    }
}

impl Run<'_> {
    /// The session of an entry. Its number is what its row says, so that an entry that was moved to another number shows; a
    /// session without a row, which is a fault told at the end, has the number of its first entry.
    pub(super) async fn followed(
        &mut self,
        connection: &mut dyn Connection,
        id: &SessionId,
        session_no: i64,
    ) -> Result<&mut Followed, LedgerError> {
        match self.sessions.entry(id.clone()) {
            hash_map::Entry::Occupied(known) => Ok(known.into_mut()),
            hash_map::Entry::Vacant(place) => {
                let number = match connection.session(id).await {
                    Ok(row) => row.map_or(session_no, |row| row.number),
                    // Told at the end, when all rows are compared.
                    Err(LedgerError::Damaged(_)) => session_no,
                    Err(error) => return Err(error),
                };
                self.by_number.insert(number, id.clone());
                Ok(place.insert(Followed {
                    chain: ChainVerifier::new(self.reader.origin().clone(), id.clone()),
                    number,
                    summary: None,
                }))
            }
        }
    }

    /// The derived rows of sessions against what their entries say.
    pub(super) async fn session_rows(
        &mut self,
        connection: &mut dyn Connection,
    ) -> Result<(), LedgerError> {
        let mut seen = 0;
        let mut after = i64::MIN;
        loop {
            let rows = connection.sessions_after(after, PAGE_ROWS).await?;
            if rows.is_empty() {
                break;
            }
            for stored in rows {
                after = stored.number;
                let Some(followed) = self.sessions.get(&stored.id) else {
                    self.faults
                        .general(format!("session {} has a row and no entries", stored.id));
                    continue;
                };
                seen += 1;
                if followed.summary.as_ref() != Some(&stored) {
                    self.faults.general(format!(
                        "the row of session {} differs from its entries",
                        stored.id
                    ));
                }
            }
        }
        if seen != self.sessions.len() {
            self.faults.general(format!(
                "{} sessions have entries and no row",
                self.sessions.len() - seen
            ));
        }
        Ok(())
    }
}
