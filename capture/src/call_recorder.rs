//! Model calls as events: what was asked, and what was answered.
//!
//! Pure: the caller reads the clock, keeps the events, and says when that failed. One [`CallRecorder`] holds all sessions, so that
//! their events are made one after the other.

use std::collections::BTreeMap;

use remembrancer_schema::payload::{
    ContextCaptured, EventType, ParentSession, SessionStarted, Witness,
};
use remembrancer_schema::{AgentName, SessionId};
use serde_json::json;

use crate::conversation::{
    Appearance, Conversation, Conversations, MatchedBy, Unfinished, UnsentCall,
};
use crate::model_api::{Api, AskedClearing, ModelRequest, ReadError};
use crate::{SessionWriter, WriteError, Written};

mod answer;
mod fitting;
mod kept;
mod provider;
mod rules;
#[cfg(test)]
mod tests;

pub use answer::{Answered, Ending};
pub use rules::SessionRules;

use kept::KeptContexts;

/// Most sessions whose texts are remembered as sent; of further ones they are sent again.
const WRITERS_MAX: usize = 256;
/// A request, as the client sent it.
#[derive(Debug)]
pub struct Asked<'a> {
    /// The API that it speaks.
    pub api: Api,
    /// Its body.
    pub body: &'a [u8],
    /// The session that the client names outside the body.
    pub session: Option<&'a str>,
    /// The agent that the client names outside the body.
    pub agent: Option<AgentName>,
    /// When it came: RFC 3339.
    pub time: &'a str,
    /// The session's id if the request begins one and names none.
    pub fresh: &'a SessionId,
}

/// Which request of which session something was.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallPlace {
    /// The session.
    pub session: SessionId,
    /// The request's number in it.
    pub turn: u32,
    /// The API that it speaks.
    pub api: Api,
    /// Which results the provider was asked to clear from it.
    pub clearing: Option<AskedClearing>,
}

/// Why a call could not be made into events.
#[derive(Debug, thiserror::Error)]
pub enum CallError {
    /// A body that is not what its API says.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// An event that would be refused.
    #[error(transparent)]
    Write(#[from] WriteError),
}

/// What is remembered of a session beside its conversation.
#[derive(Debug)]
struct Tracked {
    writer: SessionWriter,
    kept: KeptContexts,
    used: u64,
}

/// Makes events of model calls.
#[derive(Debug)]
pub struct CallRecorder {
    /// Stands in the ids of events, so that two runs of the program never give the same id to different events.
    run: String,
    rules: SessionRules,
    conversations: Conversations,
    tracked: BTreeMap<SessionId, Tracked>,
    uses: u64,
    /// What was unfinished in the session that was written last before it was, and the calls that were written then.
    before: Option<(SessionId, Unfinished, Vec<UnsentCall>)>,
}

impl CallRecorder {
    /// A recorder without sessions. `run` is unique to this run of the program, and made of letters and digits;
    /// `rules` are declared in every session.
    pub fn new(run: String, rules: SessionRules) -> Self {
        Self {
            run,
            rules,
            conversations: Conversations::default(),
            tracked: BTreeMap::new(),
            uses: 0,
            before: None,
        }
    }

    /// Takes a conversation that an earlier run remembered.
    pub fn remember(&mut self, conversation: Conversation) {
        self.conversations.remember(conversation);
    }

    /// What is to be remembered of a session for the next run.
    pub fn conversation(&self, session: &SessionId) -> Option<&Conversation> {
        self.conversations.get(session)
    }

    /// The sessions that were forgotten since this was called last: nothing of them needs to be remembered for the next run.
    pub fn take_forgotten(&mut self) -> Vec<SessionId> {
        self.conversations.take_forgotten()
    }

    /// Forgets which texts of a session were sent, because what was written last could not be kept: they are sent again, and so are
    /// the calls and the results among it, with the session's next request.
    pub fn lost(&mut self, session: &SessionId) {
        self.tracked.remove(session);
        if let Some(known) = self.conversations.get_mut(session) {
            known.is_started = false;
            known.declared.clear();
            if let Some((_, before, calls)) = self.before.take().filter(|(of, ..)| of == session) {
                known.set_unfinished(before);
                known.keep_unsent(calls);
            }
        }
    }

    /// The events of a request.
    pub fn asked(&mut self, asked: &Asked<'_>) -> Result<(CallPlace, Written), CallError> {
        let mut request = asked.api.request(asked.body)?;
        let appearance = Appearance::of(asked.api, &request, asked.session);
        let found = self.conversations.find(&appearance);
        let (session, by) = match found {
            Some((session, by)) => (session, Some(by)),
            None => (self.conversations.begin(&appearance, asked.fresh), None),
        };
        let turn = self.conversations.continued(&session, appearance);
        let place = CallPlace {
            session,
            turn,
            api: asked.api,
            clearing: request.clearing.take(),
        };
        self.track(&place.session, asked.agent.clone());
        self.before = self
            .conversations
            .get(&place.session)
            .map(|known| (place.session.clone(), known.unfinished(), Vec::new()));
        let mut outcome = self.write_start(&place, asked, &request);
        if outcome.is_ok() {
            outcome = self.write_request(&place, asked, &mut request, by);
        }
        let written = self
            .tracked
            .get_mut(&place.session)
            .map(|tracked| tracked.writer.take());
        if let Err(error) = outcome {
            self.lost(&place.session);
            if let Some(known) = self.conversations.get_mut(&place.session) {
                known.ended(place.turn);
            }
            return Err(error.into());
        }
        Ok((place, written.unwrap_or_default()))
    }

    fn track(&mut self, session: &SessionId, agent: Option<AgentName>) {
        self.uses += 1;
        let uses = self.uses;
        let is_new = !self.tracked.contains_key(session);
        // What it goes on from may be kept by the provider.
        let beside = self.conversations.get(session).filter(|_| is_new);
        let beside = beside.and_then(Conversation::beside);
        let kept = beside.and_then(|beside| self.tracked.get(beside));
        let kept = kept.map(|tracked| tracked.kept.clone()).unwrap_or_default();
        if is_new && self.tracked.len() >= WRITERS_MAX {
            let oldest = self.tracked.iter().min_by_key(|(_, tracked)| tracked.used);
            if let Some(oldest) = oldest.map(|(session, _)| session.clone()) {
                self.tracked.remove(&oldest);
            }
        }
        let tracked = self
            .tracked
            .entry(session.clone())
            .or_insert_with(|| Tracked {
                writer: SessionWriter::new(session.clone(), agent, Witness::Exact),
                kept,
                used: 0,
            });
        tracked.used = uses;
    }

    /// The session's first event. A recorder that has one already refuses a second, which changes nothing.
    fn write_start(
        &mut self,
        place: &CallPlace,
        asked: &Asked<'_>,
        request: &ModelRequest,
    ) -> Result<(), WriteError> {
        let parent = self
            .conversations
            .get(&place.session)
            .and_then(|known| known.beside().cloned().or_else(|| known.first_of_group()))
            .filter(|first| self.conversations.get(first).is_some());
        let (Some(tracked), Some(known)) = (
            self.tracked.get_mut(&place.session),
            self.conversations.get_mut(&place.session),
        ) else {
            return Ok(());
        };
        if known.is_started {
            return Ok(());
        }
        let mut started = SessionStarted {
            parent: parent.map(|session| ParentSession {
                session,
                call_id: None,
            }),
            model: request.model.as_deref().map(fitting::name),
            witness: Some(Witness::Exact),
            compaction_trigger_tokens: request.threshold_tokens,
            source: Some(format!("proxy: {}", place.api.as_str())),
            ..SessionStarted::default()
        };
        started
            .labels
            .insert("session_named_by".to_owned(), known.named_by().to_owned());
        if let Some(name) = known.name() {
            started
                .labels
                .insert("conversation_group".to_owned(), fitting::name(name));
        }
        tracked.writer.push(
            "proxy.started",
            &EventType::SessionStarted,
            Some(asked.time),
            &started,
        )?;
        self.rules.at_start(&mut tracked.writer, known)?;
        known.is_started = true;
        Ok(())
    }

    fn write_request(
        &mut self,
        place: &CallPlace,
        asked: &Asked<'_>,
        request: &mut ModelRequest,
        by: Option<MatchedBy>,
    ) -> Result<(), WriteError> {
        let id = |what: &str| format!("{}.{}.{what}", self.run, place.turn);
        let (Some(tracked), Some(known)) = (
            self.tracked.get_mut(&place.session),
            self.conversations.get_mut(&place.session),
        ) else {
            return Ok(());
        };
        if let Some(by) = by.filter(|by| by.is_derived()) {
            let matched = json!({ "turn": place.turn, "by": by.as_str(), "derived": true });
            let kind = EventType::Custom("custom.conversation_matched".to_owned());
            tracked
                .writer
                .push(&id("matched"), &kind, Some(asked.time), &matched)?;
        }
        for call in known.take_unsent() {
            answer::write_call(&call, &mut tracked.writer)?;
        }
        answer::push_results(
            std::mem::take(&mut request.results),
            asked.time,
            &mut tracked.writer,
            known,
        )?;
        let mut incomplete = std::mem::take(&mut request.incomplete);
        let mut parts = std::mem::take(&mut request.parts);
        let kept = request.kept.as_ref();
        let compaction = &mut request.compaction;
        tracked
            .kept
            .complete(kept, &mut parts, &mut incomplete, compaction);
        fitting::fit(&mut parts, &mut incomplete);
        if let Some(item) = request
            .compaction
            .take()
            .filter(|item| known.unfinished_mut().compaction != Some(item.hash))
        {
            known.unfinished_mut().compaction = Some(item.hash);
            let mutated = provider::compacted(place, &item, request);
            tracked.writer.push(
                &id("compacted"),
                &EventType::ContextMutated,
                Some(asked.time),
                &mutated,
            )?;
        }
        if place.api == Api::OpenAiResponses {
            tracked
                .kept
                .asked(place.turn, &parts, request.kept.as_ref());
        }
        self.rules.stated(&parts, &mut tracked.writer, known)?;
        let captured = ContextCaptured {
            turn: place.turn,
            parts,
            incomplete: (!incomplete.is_empty())
                .then(|| incomplete.into_iter().collect::<Vec<_>>().join("; ")),
            witness: Some(Witness::Exact),
            ..ContextCaptured::default()
        };
        tracked
            .writer
            .context(&id("context"), Some(asked.time), captured)
    }

    /// The events of an answer.
    pub fn answered(
        &mut self,
        place: &CallPlace,
        answered: Answered<'_>,
    ) -> Result<Written, WriteError> {
        self.track(&place.session, None);
        let (Some(tracked), Some(known)) = (
            self.tracked.get_mut(&place.session),
            self.conversations.get_mut(&place.session),
        ) else {
            return Ok(Written::default());
        };
        known.ended(place.turn);
        let (before, time) = (known.unfinished(), answered.time);
        let outcome = answer::write(&self.run, place, answered, &mut tracked.writer, known);
        let calls = outcome
            .iter()
            .flatten()
            .flat_map(|response| &response.calls);
        let calls = calls
            .map(|call| answer::unsent(place, call, time))
            .collect();
        self.before = Some((place.session.clone(), before, calls));
        if let (Ok(Some(response)), Api::OpenAiResponses) = (&outcome, place.api) {
            tracked.kept.answered(place.turn, response);
        }
        let written = tracked.writer.take();
        match outcome {
            Ok(_) => Ok(written),
            Err(error) => {
                self.lost(&place.session);
                Err(error)
            }
        }
    }
}
