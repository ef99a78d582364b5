//! A request's spans, sorted by the conversation that they belong to.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use prost::Message as _;
use remembrancer_schema::SessionId;
use remembrancer_schema::hash::sha256;
use remembrancer_schema::payload::{ADMIN_SESSION, ConstraintDeclared};
use serde::{Deserialize, Serialize};

use super::attributes::Attributes;
use super::counted;
use super::salvage::salvage;
use super::session::Note;
use super::source::Source;
use super::span::{AgentSpan, Told};
use super::wire::{ExportRequest, Span};

/// The session that holds what was rejected.
pub const REJECTED_SESSION: &str = "otlp.rejected";
/// Most spans of one request.
const SPANS_MAX: usize = 100_000;

/// The form of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// `application/x-protobuf`.
    Protobuf,
    /// `application/json`.
    Json,
}

/// Why a request can never be accepted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// Not an `ExportTraceServiceRequest`.
    #[error("the body is no ExportTraceServiceRequest in protobuf: {0}")]
    Protobuf(String),
    /// Not one in JSON.
    #[error("the body is no ExportTraceServiceRequest in JSON: {0}")]
    Json(String),
    /// Too many spans.
    #[error(
        "the request has {0} spans, or as many lists of them; at most {SPANS_MAX} are taken at once"
    )]
    TooManySpans(usize),
}

/// A span that was not recorded.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rejected {
    /// Its trace id in hexadecimal, as far as it has one.
    pub trace: String,
    /// Its own id.
    pub span: String,
    /// Its name.
    pub name: String,
    /// What sent it.
    pub service: Option<String>,
    /// Why it was rejected.
    pub reason: String,
}

/// What a request holds.
#[derive(Debug)]
pub struct Export {
    /// The conversations, each with its spans, in the order of their first spans' starts.
    pub conversations: Vec<Conversation>,
    /// Spans that cannot be read.
    pub rejected: Vec<Rejected>,
    /// Number of spans that have nothing to do with agents.
    pub ignored: usize,
}

/// The spans of one session, in the order of their starts.
#[derive(Debug)]
pub struct Conversation {
    pub(super) session: SessionId,
    /// The conversation's own id, or the trace's.
    pub(super) name: String,
    /// Whether the id was made from the trace, for want of one.
    pub(super) is_derived: bool,
    pub(super) spans: Vec<SourcedSpan>,
    /// The session whose tool call the first span stands under, and that call, where the request shows it.
    pub(super) parent: Option<(SessionId, Option<String>)>,
    /// For a branch: what others declared for the session that it belongs to.
    pub(super) carried: Vec<ConstraintDeclared>,
    /// Requests that were handed over to branches.
    pub(super) branched: Vec<Note>,
}

/// A span and what sent it.
#[derive(Debug)]
pub(super) struct SourcedSpan {
    pub(super) source: Arc<Source>,
    pub(super) span: AgentSpan,
    /// The nearest run of a tool above it, where the request shows one.
    pub(super) under: Option<ToolAbove>,
}

/// A run of a tool that other spans stand under.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ToolAbove {
    pub(super) span: String,
    pub(super) began: u64,
    pub(super) call_id: Option<String>,
}

impl Export {
    /// Reads a request. An error is for bytes that can never be accepted; single spans are rejected by themselves.
    pub fn decode(form: Form, body: &[u8]) -> Result<Self, DecodeError> {
        let count = match form {
            Form::Protobuf => counted::in_protobuf(body),
            Form::Json => counted::in_json(body),
        };
        if count > SPANS_MAX {
            return Err(DecodeError::TooManySpans(count));
        }
        let request = match form {
            Form::Protobuf => ExportRequest::decode(body)
                .map_err(|error| DecodeError::Protobuf(error.to_string())),
            Form::Json => {
                serde_json::from_slice(body).map_err(|error| DecodeError::Json(error.to_string()))
            }
        };
        match request {
            Ok(request) => Ok(Self::of(&request)),
            Err(error) => {
                let (request, broken) = salvage(form, body).ok_or(error)?;
                let mut export = Self::of(&request);
                export.rejected.extend(broken);
                Ok(export)
            }
        }
    }

    fn of(request: &ExportRequest) -> Self {
        let mut spans = Vec::new();
        let mut rejected = Vec::new();
        let mut ignored = 0;
        for resource in &request.resource_spans {
            let attributes = resource.resource.as_ref();
            let attributes = attributes.map_or(&[][..], |resource| &resource.attributes);
            let attributes = Attributes::of(attributes);
            for scope in &resource.scope_spans {
                let source = Arc::new(Source::of(&attributes, scope.scope.as_ref()));
                for span in &scope.spans {
                    match AgentSpan::read(span) {
                        Ok(None) => ignored += 1,
                        Ok(Some(span)) => spans.push(SourcedSpan {
                            source: Arc::clone(&source),
                            span,
                            under: None,
                        }),
                        Err(error) => rejected.push(unreadable(span, &source, &error.to_string())),
                    }
                }
            }
        }
        spans.sort_by(|one, other| one.order().cmp(&other.order()));
        Self {
            conversations: conversations(spans),
            rejected,
            ignored,
        }
    }
}

pub(super) fn unreadable(span: &Span, source: &Source, reason: &str) -> Rejected {
    let id = |bytes: &[u8]| hex::encode(&bytes[..bytes.len().min(16)]);
    Rejected {
        trace: id(&span.trace_id),
        span: id(&span.span_id),
        name: span.name.chars().take(256).collect(),
        service: source.service.clone(),
        reason: reason.to_owned(),
    }
}

impl SourcedSpan {
    fn order(&self) -> (u64, &str) {
        (self.span.start, &self.span.span)
    }

    pub(super) fn rejected(&self, reason: String) -> Rejected {
        Rejected {
            trace: self.span.trace.clone(),
            span: self.span.span.clone(),
            name: self.span.name.clone(),
            service: self.source.service.clone(),
            reason,
        }
    }
}

/// Sorts spans by conversation. One that names none belongs to that of the nearest span above it that names one, where the
/// request shows that; else to a session of its trace.
fn conversations(spans: Vec<SourcedSpan>) -> Vec<Conversation> {
    let lineage = Lineage::of(&spans);
    let named: Vec<Option<String>> = spans
        .iter()
        .map(|span| lineage.conversation(span))
        .collect();
    let parents: Vec<_> = spans.iter().map(|span| lineage.call_above(span)).collect();
    let under: Vec<_> = spans.iter().map(|span| lineage.tool_above(span)).collect();
    let mut by_session: BTreeMap<SessionId, Conversation> = BTreeMap::new();
    let related = named.into_iter().zip(parents).zip(under);
    for (mut span, ((named, parent), under)) in spans.into_iter().zip(related) {
        span.under = under;
        let is_derived = named.is_none();
        let name = named.unwrap_or_else(|| format!("trace:{}", span.span.trace));
        let Some(session) = session_id(&name) else {
            continue;
        };
        let conversation = by_session.entry(session.clone()).or_insert(Conversation {
            session,
            name,
            is_derived,
            spans: Vec::new(),
            parent: None,
            carried: Vec::new(),
            branched: Vec::new(),
        });
        let parent = parent.filter(|(parent, _)| *parent != conversation.session);
        conversation.parent = conversation.parent.take().or(parent);
        conversation.spans.push(span);
    }
    let mut conversations: Vec<Conversation> = by_session.into_values().collect();
    conversations.sort_by(|one, other| {
        let first =
            |conversation: &Conversation| conversation.spans.first().map(|span| span.span.start);
        first(one).cmp(&first(other))
    });
    conversations
}

/// A session's id for a conversation's: the same where its characters allow, else made of its hash.
pub(super) fn session_id(name: &str) -> Option<SessionId> {
    let is_free = name != ADMIN_SESSION && name != REJECTED_SESSION;
    if let Ok(id) = name.parse()
        && is_free
    {
        return Some(id);
    }
    let hash = hex::encode(sha256(name.as_bytes()));
    format!("conversation-{}", &hash[..24]).parse().ok()
}

/// Which span of a request stands above which.
struct Lineage<'a> {
    spans: HashMap<(&'a str, &'a str), &'a AgentSpan>,
}

/// Longest way up that is followed: what claims to be deeper may be a circle.
const GENERATIONS_MAX: usize = 64;

impl<'a> Lineage<'a> {
    fn of(spans: &'a [SourcedSpan]) -> Self {
        let by_id = |SourcedSpan { span, .. }: &'a SourcedSpan| {
            ((span.trace.as_str(), span.span.as_str()), span)
        };
        Self {
            spans: spans.iter().map(by_id).collect(),
        }
    }

    /// The span itself and those above it, as far as the request has them.
    fn above(&self, span: &'a AgentSpan) -> impl Iterator<Item = &'a AgentSpan> {
        std::iter::successors(Some(span), move |span| {
            let parent = span.parent.as_deref()?;
            self.spans.get(&(span.trace.as_str(), parent)).copied()
        })
        .take(GENERATIONS_MAX)
    }

    fn conversation(&self, SourcedSpan { span, .. }: &'a SourcedSpan) -> Option<String> {
        let mut named = self
            .above(span)
            .filter_map(|span| span.conversation.clone());
        named.next()
    }

    /// The nearest run of a tool above a span, if it is of the same conversation: one of another tells nothing about this one's
    /// requests.
    fn tool_above(&self, SourcedSpan { span, .. }: &'a SourcedSpan) -> Option<ToolAbove> {
        let mut tools = self.above(span).skip(1).filter_map(|above| {
            let Told::Tool(run) = &above.told else {
                return None;
            };
            Some((above, run))
        });
        let (above, run) = tools.next()?;
        let named = |span| self.above(span).find_map(|span| span.conversation.as_ref());
        (named(above) == named(span)).then(|| ToolAbove {
            span: above.span.clone(),
            began: above.start,
            call_id: run.call_id.clone(),
        })
    }

    /// The tool run above a span that belongs to another conversation.
    fn call_above(
        &self,
        SourcedSpan { span, .. }: &'a SourcedSpan,
    ) -> Option<(SessionId, Option<String>)> {
        let own = span.conversation.as_deref()?;
        let other = self.above(span).find(|above| {
            above
                .conversation
                .as_deref()
                .is_some_and(|other| other != own)
        })?;
        let call = match &other.told {
            Told::Tool(run) => run.call_id.clone(),
            _ => None,
        };
        Some((session_id(other.conversation.as_deref()?)?, call))
    }
}
