//! Which agent a session is of. Agents that share a conversation have contexts of their own: mixed into one sequence, each
//! request would look like a change of the one before it.

use remembrancer_schema::hash::sha256;

use super::export::{Conversation, Rejected, SourcedSpan, session_id};
use super::span::Told;

/// Longest name of an agent, in characters.
const NAME_CHARS_MAX: usize = 60;

/// The agent of the first request to a model, where that has one.
pub(super) fn main_of(conversation: &Conversation) -> Option<&str> {
    let spans = conversation.spans.iter().map(|sourced| &sourced.span);
    let model = spans.filter(|span| matches!(span.told, Told::Model(_)));
    model.filter_map(|span| span.agent.as_deref()).next()
}

impl Conversation {
    /// The conversation's id.
    pub fn session(&self) -> &remembrancer_schema::SessionId {
        &self.session
    }

    /// Whether it has no spans.
    pub fn is_empty(&self) -> bool {
        self.spans.is_empty()
    }

    /// The ids of the traces that its spans belong to, each once.
    pub fn traces(&self) -> Vec<&str> {
        let mut traces: Vec<&str> = self
            .spans
            .iter()
            .map(|one| one.span.trace.as_str())
            .collect();
        traces.sort_unstable();
        traces.dedup();
        traces
    }

    /// The session whose tool call started this one, where the request shows it.
    pub fn parent(&self) -> Option<&(remembrancer_schema::SessionId, Option<String>)> {
        self.parent.as_ref()
    }

    /// The same without the spans that were rejected.
    #[must_use]
    pub fn without(mut self, rejected: &[Rejected]) -> Self {
        let is_rejected = |span: &SourcedSpan| {
            rejected
                .iter()
                .any(|one| one.trace == span.span.trace && one.span == span.span.span)
        };
        self.spans.retain(|span| !is_rejected(span));
        self
    }

    /// Takes out the spans of agents other than the main one: each agent's become a session of its own.
    pub fn split(&mut self, main: Option<&str>) -> Vec<Self> {
        let main = main.or_else(|| main_of(self)).map(str::to_owned);
        let Some(main) = main else {
            return Vec::new();
        };
        let mut others: Vec<Self> = Vec::new();
        let mut kept = Vec::new();
        for sourced in std::mem::take(&mut self.spans) {
            match &sourced.span.agent {
                Some(agent) if *agent != main => self.hand_over(sourced, &mut others),
                _ => kept.push(sourced),
            }
        }
        self.spans = kept;
        others
    }

    fn hand_over(&self, sourced: SourcedSpan, others: &mut Vec<Self>) {
        let agent = sourced.span.agent.as_deref().unwrap_or_default();
        let name = format!("{}:agent:{}", self.name, plain(agent));
        match others.iter_mut().find(|other| other.name == name) {
            Some(other) => other.spans.push(sourced),
            None => others.extend(session_id(&name).map(|session| Self {
                session,
                name,
                is_derived: self.is_derived,
                spans: vec![sourced],
                parent: Some((self.session.clone(), None)),
                carried: Vec::new(),
                branched: Vec::new(),
            })),
        }
    }
}

/// An agent's name as events hold it, so that it reads the same after a restart: without control characters, a longer one with
/// a hash in the place of its end.
pub(super) fn fitting(agent: &str) -> String {
    let plain = agent
        .chars()
        .map(|one| if one.is_control() { ' ' } else { one });
    if agent.chars().count() <= NAME_CHARS_MAX {
        return plain.collect();
    }
    let begins: String = plain.take(NAME_CHARS_MAX - 10).collect();
    format!("{begins}… {}", &hex::encode(sha256(agent.as_bytes()))[..8])
}

/// An agent's name as it can stand in a session's id; a longer or stranger one with a hash behind it.
fn plain(agent: &str) -> String {
    let is_plain = |one: char| one.is_ascii_alphanumeric() || matches!(one, '_' | '-' | '.');
    if agent.len() <= 40 && agent.chars().all(is_plain) {
        return agent.to_owned();
    }
    let kept: String = agent
        .chars()
        .filter(|one| is_plain(*one))
        .take(24)
        .collect();
    format!("{kept}-{}", &hex::encode(sha256(agent.as_bytes()))[..8])
}
