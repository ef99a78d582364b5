//! One batch handed over: the blobs, the events, and what was lost; and what a recorder did not take is kept and counted.
//!
//! This is the one way in which what is spooled is delivered: [`super::Delivery`] goes it for as long as a program runs, and a
//! hook for some milliseconds.

use remembrancer_schema::SessionId;
use serde::Deserialize;

use super::own_event::{gap_count, gap_event, start_event};
use super::{DeliveryError, Recorder, Rejection, Taken, gaps_session, rejected};
use crate::spool::{Batch, Drainer, Gap, Record, Spool, SpoolError};

/// What became of a batch that a recorder answered for. Nothing of it is noted before [`HandedOver::settle`].
#[derive(Debug, Default)]
pub struct HandedOver {
    /// Events and blobs of the batch that the recorder has now.
    pub delivered: u64,
    /// Events that it refused for good, those of gaps among them.
    refused: Vec<(Vec<u8>, Rejection)>,
}

/// What of an event is looked at.
#[derive(Deserialize)]
struct Envelope {
    session: SessionId,
    r#type: String,
}

/// Hands a batch over, and behind it the gaps, so that their sessions are there.
pub async fn hand_over(
    recorder: &dyn Recorder,
    batch: &Batch,
    gaps: &[Gap],
) -> Result<HandedOver, DeliveryError> {
    let (mut blobs, mut events) = (Vec::new(), Vec::new());
    for record in &batch.records {
        match record {
            Record::Blob(bytes) => blobs.push(bytes.as_slice()),
            Record::Event(bytes) => events.push(bytes.as_slice()),
        }
    }
    let mut handed = HandedOver::default();
    if !blobs.is_empty() {
        handed.delivered += recorder.store_blobs(&blobs).await? as u64;
    }
    handed.delivered += handed.append(recorder, &events).await?;
    let told: Vec<Vec<u8>> = gaps.iter().map(gap_event).collect();
    let told: Vec<&[u8]> = told.iter().map(Vec::as_slice).collect();
    handed.append(recorder, &told).await?;
    Ok(handed)
}

impl HandedOver {
    /// How many events the recorder refused for good.
    pub fn refused(&self) -> u64 {
        self.refused.len() as u64
    }

    /// Why it refused the last of them.
    pub fn refusal(&self) -> Option<&Rejection> {
        self.refused.last().map(|(_, rejection)| rejection)
    }

    /// Keeps what was refused where people find it, counts it and what was damaged as lost, and then takes the batch and the
    /// gaps out of the spool.
    pub fn settle(
        &self,
        spool: &Spool,
        drainer: &mut Drainer,
        batch: &Batch,
        gaps: &[Gap],
    ) -> Result<(), SpoolError> {
        for (event, rejection) in &self.refused {
            give_up(spool, event, rejection)?;
        }
        if batch.damaged > 0 {
            tracing::warn!(
                count = batch.damaged,
                "records in the spool were damaged and are lost"
            );
            spool.note_gap(&gaps_session(), batch.damaged, "damaged on disk")?;
        }
        drainer.delivered(batch)?;
        if gaps.is_empty() {
            return Ok(());
        }
        drainer.gaps_told(gaps)
    }

    /// Appends events, and notes those that are refused. Those of sessions whose first event is lost are sent again behind one that
    /// is made up. Returns how many the recorder has.
    async fn append(
        &mut self,
        recorder: &dyn Recorder,
        events: &[&[u8]],
    ) -> Result<u64, DeliveryError> {
        let mut orphans: Vec<&[u8]> = Vec::new();
        let mut taken = 0;
        for (event, outcome) in events.iter().zip(outcomes(recorder, events).await?) {
            match outcome {
                Taken::Recorded => taken += 1,
                Taken::Rejected(why) if why.problem == "unknown-session" => orphans.push(event),
                Taken::Rejected(why) => self.refuse(event, why),
            }
        }
        let mut starts: Vec<Vec<u8>> = Vec::new();
        for event in &orphans {
            if let Ok(envelope) = serde_json::from_slice::<Envelope>(event) {
                let start = start_event(&envelope.session);
                if !starts.contains(&start) {
                    starts.push(start);
                }
            }
        }
        let starts_count = starts.len();
        let starts = starts.iter().map(Vec::as_slice);
        let again: Vec<&[u8]> = starts.chain(orphans).collect();
        // One more than a whole batch may be too many at once.
        let outcomes = outcomes(recorder, &again).await?;
        for (number, (event, outcome)) in again.into_iter().zip(outcomes).enumerate() {
            match outcome {
                Taken::Recorded if number >= starts_count => taken += 1,
                Taken::Recorded => {}
                Taken::Rejected(why) => self.refuse(event, why),
            }
        }
        Ok(taken)
    }

    /// Notes an event that is refused, unless it begins a session that is begun already: by somebody else, or before.
    fn refuse(&mut self, event: &[u8], rejection: Rejection) {
        let is_start = serde_json::from_slice::<Envelope>(event)
            .is_ok_and(|envelope| envelope.r#type == "session.started");
        let is_there = matches!(
            rejection.problem.as_str(),
            "session-already-started" | "id-conflict"
        );
        if !(is_start && is_there) {
            self.refused.push((event.to_vec(), rejection));
        }
    }
}

/// Appends events, as many at once as the recorder takes; one outcome each, in order.
async fn outcomes(recorder: &dyn Recorder, events: &[&[u8]]) -> Result<Vec<Taken>, DeliveryError> {
    let mut outcomes = Vec::with_capacity(events.len());
    let mut waiting = vec![events];
    while let Some(some) = waiting.pop() {
        if some.is_empty() {
            continue;
        }
        match recorder.append(some).await {
            Ok(taken) => outcomes.extend(taken),
            Err(DeliveryError::Refused(_)) if some.len() > 1 => {
                let (first, rest) = some.split_at(some.len() / 2);
                waiting.extend([rest, first]);
            }
            Err(DeliveryError::Refused(why)) => outcomes.push(Taken::Rejected(why)),
            Err(later) => return Err(later),
        }
    }
    Ok(outcomes)
}

/// Keeps an event that no recorder will take where people find it, and counts it.
fn give_up(spool: &Spool, event: &[u8], rejection: &Rejection) -> Result<(), SpoolError> {
    let envelope = serde_json::from_slice::<Envelope>(event).ok();
    let kind = envelope
        .as_ref()
        .map_or("unreadable", |envelope| envelope.r#type.as_str());
    tracing::warn!(
        problem = rejection.problem,
        kind,
        "the recorder refuses an event; it is kept in rejected.ndjson beside the spool"
    );
    rejected::keep(spool.folder(), &rejected::line(&rejection.problem, event))?;
    let gaps = gaps_session();
    let is_gap = kind == "custom.gap";
    let session = envelope.map_or_else(|| gaps.clone(), |envelope| envelope.session);
    let reason = format!("the recorder refused it: {rejection}");
    match is_gap {
        false => spool.note_gap(&session, 1, &reason),
        // A session that ended takes none: it is told beside the sessions.
        true if session != gaps => spool.note_gap(
            &gaps,
            gap_count(event),
            &format!("of session {session}: {reason}"),
        ),
        // A gap that cannot be told anywhere would be counted for ever.
        true => Ok(()),
    }
}
