//! What a session is, as its own events say.

use remembrancer_schema::EventType;
use remembrancer_schema::payload::Payload;

use crate::analysis::{Intent, Overview, ScopeVersion, Score};
use crate::reading::{ReadEvent, event_time};
use crate::record::RecordedEvent;

/// What a transcript tells later of a sub-agent whose session has begun.
const SUB_AGENT: &str = "custom.claude_code.sub_agent";

/// The overview of a session that grows.
#[derive(Debug)]
pub(crate) struct Outline {
    overview: Overview,
    /// The model that the first response names.
    answering_model: Option<String>,
    /// Whether the last entry seals, readable or not.
    ends: bool,
}

impl Outline {
    /// A session without entries.
    pub(crate) fn new(session: String) -> Self {
        Self {
            overview: Overview {
                session,
                ..Overview::default()
            },
            answering_model: None,
            ends: false,
        }
    }

    /// Takes the next event; `read` is none where its payload cannot be read.
    pub(crate) fn note(&mut self, event: &RecordedEvent, read: Option<&ReadEvent>) {
        let overview = &mut self.overview;
        let time = Some(event_time(event).to_owned());
        if overview.entries == 0 {
            overview.started.clone_from(&time);
        }
        overview.last_event = time;
        overview.entries += 1;
        if overview.agent.is_none() {
            overview.agent = event.entry.agent.as_ref().map(ToString::to_string);
        }
        self.ends = event.entry.kind == EventType::SessionEnded;
        match read {
            None => overview.unreadable_entries += 1,
            Some(read) => self.note_payload(read),
        }
        if event.entry.kind.as_str() == SUB_AGENT {
            self.note_sub_agent(event);
        }
    }

    /// The call that started a sub-agent, which may become known after its session was begun. What the start itself says stays.
    fn note_sub_agent(&mut self, event: &RecordedEvent) {
        #[derive(serde::Deserialize)]
        struct SubAgent {
            call_id: Option<String>,
        }
        if self.overview.parent.is_none() || self.overview.parent_call.is_some() {
            return;
        }
        let data = event.payload.as_ref().map(|payload| &*payload.data);
        let told = data.and_then(|data| serde_json::from_str::<SubAgent>(data).ok());
        self.overview.parent_call = told.and_then(|told| told.call_id);
    }

    fn note_payload(&mut self, read: &ReadEvent) {
        let overview = &mut self.overview;
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
                witness: read.witness(),
            }),
            Payload::ScopeDeclared(scope) => {
                let version = overview.scopes.last().map_or(0, |last| last.version) + 1;
                overview.scopes.push(ScopeVersion {
                    version,
                    entry: read.entry(),
                    time: Some(read.time().to_owned()),
                    stated_by: scope.stated_by.clone(),
                    witness: read.witness(),
                });
            }
            Payload::ModelResponded(responded) if self.answering_model.is_none() => {
                self.answering_model.clone_from(&responded.model);
            }
            Payload::ScoreAssigned(score) => overview.scores.push(Score {
                criterion: score.criterion.clone(),
                value: score.value,
                out_of: score.out_of,
                assigned_by: score.assigned_by.clone(),
                witness: read.witness(),
            }),
            Payload::SessionEnded(ended) => {
                overview.sealed = true;
                overview.outcome.clone_from(&ended.outcome);
            }
            _ => {}
        }
    }

    /// Input size in tokens above which the application compacts.
    pub(crate) fn compaction_trigger_tokens(&self) -> Option<u64> {
        self.overview.compaction_trigger_tokens
    }

    /// The overview so far.
    pub(crate) fn overview(&self) -> Overview {
        let mut overview = self.overview.clone();
        // A seal whose payload was erased still seals.
        overview.sealed |= self.ends;
        if overview.model.is_none() {
            overview.model.clone_from(&self.answering_model);
        }
        overview
    }
}

#[cfg(test)]
mod tests {
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
        let overview = crate::analyse(&record).overview;
        assert_eq!(overview.label.as_deref(), Some("E1"));
        assert_eq!(overview.model.as_deref(), Some("m-1"));
        assert_eq!(overview.parent_call.as_deref(), Some("c"));
        assert_eq!((overview.entries, overview.unreadable_entries), (4, 1));
        assert!(overview.sealed);
        assert_eq!(overview.scores.len(), 1);
    }

    #[test]
    fn the_call_that_started_a_sub_agent_may_be_told_later_and_does_not_change() {
        let parent_call = |started: &str| {
            let told = |data: &str| (super::SUB_AGENT, data.to_owned());
            let mut fixture = SessionFixture::new().event("session.started", started);
            for (kind, data) in [
                told(r#"{"agent_type":"reviewer"}"#),
                told(r#"{"call_id":"first"}"#),
                told(r#"{"call_id":"second"}"#),
                ("custom.other", r#"{"call_id":"third"}"#.to_owned()),
            ] {
                fixture = fixture.event(kind, data);
            }
            crate::analyse(&fixture.record()).overview.parent_call
        };
        let of_file = parent_call(r#"{"parent":{"session":"p"}}"#);
        assert_eq!(of_file.as_deref(), Some("first"));
        let known = parent_call(r#"{"parent":{"session":"p","call_id":"c"}}"#);
        assert_eq!(known.as_deref(), Some("c"));
        assert_eq!(parent_call("{}"), None, "no sub-agent");
    }
}
