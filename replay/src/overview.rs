//! What a session is, as its own events say.

use remembrancer_schema::payload::Payload;

use crate::analysis::{Intent, Overview, Score};
use crate::reading::{Reading, event_time};
use crate::record::SessionRecord;

pub(crate) fn overview(record: &SessionRecord, reading: &Reading<'_>) -> Overview {
    let time = |event| Some(event_time(event).to_owned());
    let mut overview = Overview {
        session: record.session.to_string(),
        agent: record
            .events
            .iter()
            .find_map(|event| event.entry.agent.as_ref().map(ToString::to_string)),
        started: record.events.first().and_then(time),
        last_event: record.events.last().and_then(time),
        entries: record.events.len() as u64,
        unreadable_entries: reading.unreadable.len() as u64,
        ..Overview::default()
    };
    let mut answering_model = None;
    for read in &reading.events {
        match &read.payload {
            Payload::SessionStarted(started) => {
                overview.label.clone_from(&started.label);
                overview.labels.clone_from(&started.labels);
                overview.model.clone_from(&started.model);
                overview.source.clone_from(&started.source);
                overview.compaction_trigger_tokens = started.compaction_trigger_tokens;
                if let Some(parent) = &started.parent {
                    overview.parent = Some(parent.session.clone());
                    overview.parent_call.clone_from(&parent.call_id);
                }
            }
            Payload::IntentDeclared(intent) => overview.intents.push(Intent {
                entry: read.entry(),
                objective: intent.objective.clone(),
                stated_by: intent.stated_by.clone(),
            }),
            Payload::ModelResponded(responded) if answering_model.is_none() => {
                answering_model.clone_from(&responded.model);
            }
            Payload::ScoreAssigned(score) => overview.scores.push(Score {
                criterion: score.criterion.clone(),
                value: score.value,
                out_of: score.out_of,
                assigned_by: score.assigned_by.clone(),
            }),
            Payload::SessionEnded(ended) => {
                overview.sealed = true;
                overview.outcome.clone_from(&ended.outcome);
            }
            _ => {}
        }
    }
    // A seal whose payload was erased still seals.
    overview.sealed |= record
        .events
        .last()
        .is_some_and(|event| event.entry.kind == remembrancer_schema::EventType::SessionEnded);
    overview.model = overview.model.or(answering_model);
    overview
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::fixture::SessionFixture;

    #[test]
    fn a_session_is_what_its_events_say() {
        let record = SessionFixture::new()
            .event(
                "session.started",
                r#"{"label":"E1","labels":{"arm":"x"},"compaction_trigger_tokens":11000,"parent":{"session":"p","call_id":"c"}}"#,
            )
            .event("model.responded", r#"{"turn":1,"model":"m-1"}"#)
            .event("score.assigned", r#"{"criterion":"R1","value":0.5}"#)
            .erased("session.ended")
            .record();
        let overview = overview(&record, &Reading::of(&record));
        assert_eq!(overview.label.as_deref(), Some("E1"));
        assert_eq!(overview.model.as_deref(), Some("m-1"));
        assert_eq!(overview.parent_call.as_deref(), Some("c"));
        assert_eq!((overview.entries, overview.unreadable_entries), (4, 1));
        assert!(overview.sealed);
        assert_eq!(overview.scores.len(), 1);
    }
}
