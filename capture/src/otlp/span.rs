//! A span, read as what it tells of an agent: a call of a model, a run of a tool, a run of an agent, or something else.

mod usage;

use prost::Message as _;
use remembrancer_schema::ContentHash;
use remembrancer_schema::payload::Usage;
use serde_json::Value as Json;

use super::agents;
use super::attributes::{Attributes, Structured};
use super::flat;
use super::messages::{Answer, Parts};
use super::older;
use super::wire::{Span, Status};
use usage::usage;

/// Most attributes of one span.
const ATTRIBUTES_MAX: usize = 100_000;

/// A span of an agent.
#[derive(Debug)]
pub(super) struct AgentSpan {
    pub(super) trace: String,
    pub(super) span: String,
    pub(super) parent: Option<String>,
    pub(super) name: String,
    /// Nanoseconds since 1970.
    pub(super) start: u64,
    pub(super) end: u64,
    /// Digits of a hash of everything that was read of it: a resend has the same ones.
    pub(super) content: String,
    pub(super) conversation: Option<String>,
    pub(super) agent: Option<String>,
    /// Why it failed, where it did.
    pub(super) error: Option<String>,
    pub(super) told: Told,
}

/// What a span tells.
#[derive(Debug)]
pub(super) enum Told {
    Model(Box<ModelCall>),
    Tool(ToolRun),
    Agent(Box<AgentRun>),
    /// Another operation, by its name.
    Other(String),
}

/// One request to a model and its answer.
#[derive(Debug, Default)]
pub(super) struct ModelCall {
    /// What was sent; `None` where the span does not say.
    pub(super) sent: Option<Parts>,
    /// Why parts that were sent may be missing.
    pub(super) incomplete: Vec<String>,
    /// What came back; `None` where the span does not say.
    pub(super) answer: Option<Answer>,
    /// How many bytes the answer has, where it is no JSON.
    pub(super) unread_answer: Option<usize>,
    pub(super) usage: Option<Usage>,
    pub(super) model: Option<String>,
    pub(super) response_id: Option<String>,
    pub(super) stop_reason: Option<String>,
    /// Whether the span says that the conversation was compacted.
    pub(super) is_compacted: bool,
}

/// One run of a tool.
#[derive(Debug)]
pub(super) struct ToolRun {
    pub(super) tool: String,
    pub(super) call_id: Option<String>,
    pub(super) arguments: Option<Json>,
    pub(super) result: Option<Json>,
}

/// One run of an agent, which ends after everything in it.
#[derive(Debug)]
pub(super) struct AgentRun {
    /// Its history, as the agent tells it afterwards: a claim, no context.
    pub(super) history: Option<Json>,
    pub(super) result: Option<Json>,
    pub(super) run_id: Option<String>,
    pub(super) input_tokens: Option<u64>,
    pub(super) output_tokens: Option<u64>,
    pub(super) version: Option<String>,
    pub(super) description: Option<String>,
}

/// Why a span cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum SpanError {
    #[error("its trace id has {0} bytes that count; it must have 16, not all zero")]
    TraceId(usize),
    #[error("its span id has {0} bytes that count; it must have 8, not all zero")]
    SpanId(usize),
    #[error("it has {0} attributes; at most {ATTRIBUTES_MAX} are read")]
    TooManyAttributes(usize),
}

/// What kind of operation a span is.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Operation {
    Model,
    Tool,
    Agent,
    Other(String),
}

impl AgentSpan {
    /// Reads a span; `None` for one that has nothing to do with agents.
    pub(super) fn read(span: &Span) -> Result<Option<Self>, SpanError> {
        let mut attributes = Attributes::of(&span.attributes);
        for event in &span.events {
            if older::is_details(&event.name) {
                attributes.add(&event.attributes);
            }
        }
        let Some(operation) = operation(&attributes, span) else {
            return Ok(None);
        };
        let size = span.attributes.len();
        if size > ATTRIBUTES_MAX {
            return Err(SpanError::TooManyAttributes(size));
        }
        let told = match operation {
            Operation::Model => Told::Model(Box::new(model_call(&attributes, span))),
            Operation::Tool => Told::Tool(tool_run(&attributes, span)),
            Operation::Agent => Told::Agent(Box::new(agent_run(&attributes))),
            Operation::Other(name) => Told::Other(name),
        };
        let hash = ContentHash::of(&span.encode_to_vec());
        let owned = |text: Option<&str>| text.map(str::to_owned);
        Ok(Some(Self {
            trace: id(&span.trace_id, 16).map_err(SpanError::TraceId)?,
            span: id(&span.span_id, 8).map_err(SpanError::SpanId)?,
            parent: id(&span.parent_span_id, 8).ok(),
            name: span.name.chars().take(256).collect(),
            start: span.start_time_unix_nano,
            end: span.end_time_unix_nano.max(span.start_time_unix_nano),
            content: hash.short(),
            conversation: owned(attributes.text(&[
                "gen_ai.conversation.id",
                "session.id",
                "traceloop.association.properties.session_id",
            ])),
            agent: attributes
                .text(&["gen_ai.agent.name", "agent_name", "agent.name"])
                .map(agents::fitting),
            error: error(&attributes, span),
            told,
        }))
    }
}

fn id(bytes: &[u8], length: usize) -> Result<String, usize> {
    if bytes.len() == length && bytes.iter().any(|byte| *byte != 0) {
        return Ok(hex::encode(bytes));
    }
    let is_zero = bytes.iter().all(|byte| *byte == 0);
    Err(if is_zero { 0 } else { bytes.len() })
}

fn operation(attributes: &Attributes<'_>, span: &Span) -> Option<Operation> {
    let named = attributes.text(&["gen_ai.operation.name"]);
    let kind = attributes.text(&["openinference.span.kind", "traceloop.span.kind"]);
    if let Some(name) = named {
        return Some(match name {
            "chat" | "generate_content" | "text_completion" | "completion" => Operation::Model,
            "execute_tool" => Operation::Tool,
            "invoke_agent" | "invoke_workflow" => Operation::Agent,
            other => Operation::Other(other.chars().take(64).collect()),
        });
    }
    if let Some(kind) = kind {
        return Some(match kind.to_ascii_lowercase().as_str() {
            "llm" => Operation::Model,
            "tool" => Operation::Tool,
            "agent" => Operation::Agent,
            other => Operation::Other(other.chars().take(64).collect()),
        });
    }
    // Before operations had names.
    let is_model = attributes.has("gen_ai.request.model") || attributes.has("llm.request.type");
    let is_tool = attributes.has("gen_ai.tool.name");
    match (is_tool, is_model) {
        (true, _) => Some(Operation::Tool),
        (false, true) => Some(Operation::Model),
        (false, false) if span.name == "running tool" => Some(Operation::Tool),
        (false, false) => None,
    }
}

/// Why a span failed: as its status says, else by the exception that it holds, else by the error's type.
fn error(attributes: &Attributes<'_>, span: &Span) -> Option<String> {
    let failed = |status: &&Status| status.code == Status::ERROR;
    let status = span.status.as_ref().filter(failed)?;
    let exception = span.events.iter().rfind(|event| event.name == "exception");
    let exception = exception.map(|event| {
        let told = Attributes::of(&event.attributes);
        let told = ["exception.type", "exception.message"].map(|name| told.text(&[name]));
        told.into_iter().flatten().collect::<Vec<_>>().join(": ")
    });
    let text = Some(status.message.clone())
        .filter(|text| !text.is_empty())
        .or_else(|| exception.filter(|text| !text.is_empty()))
        .or_else(|| attributes.text(&["error.type"]).map(str::to_owned));
    let text = text.unwrap_or_else(|| "error".to_owned());
    Some(text.chars().take(1000).collect())
}

fn model_call(attributes: &Attributes<'_>, span: &Span) -> ModelCall {
    let older = older::Messages::of(attributes, &span.events);
    let mut call = ModelCall {
        usage: usage(attributes),
        is_compacted: attributes.is_true("gen_ai.conversation.compacted"),
        ..ModelCall::default()
    };
    call.read_sent(attributes, older.input);
    call.read_answer(attributes, older.output);
    let of_events = span.events.iter();
    let of_events = of_events.map(|event| u64::from(event.dropped_attributes_count));
    for (count, what) in [
        (span.dropped_attributes_count.into(), "attributes"),
        (span.dropped_events_count.into(), "events"),
        (of_events.sum::<u64>(), "attributes of events"),
    ] {
        if count > 0 {
            call.incomplete
                .push(format!("the sender dropped {count} {what} of the span"));
        }
    }
    if let Some(id) = attributes.text(&["gen_ai.request.previous_response.id"]) {
        let id: String = id.chars().take(128).collect();
        call.incomplete.push(format!(
            "the provider holds what stood before response {id}"
        ));
    }
    let owned = |names: &[&str]| attributes.text(names).map(str::to_owned);
    call.model = owned(&[
        "gen_ai.response.model",
        "gen_ai.request.model",
        "llm.model_name",
    ]);
    call.response_id = owned(&["gen_ai.response.id"]);
    let reasons = attributes.value(&["gen_ai.response.finish_reasons", "llm.finish_reason"]);
    call.stop_reason = reasons.map(|reasons| match &reasons {
        Json::Array(items) => {
            let items: Vec<String> = items.iter().map(super::messages::written).collect();
            items.join(", ")
        }
        other => super::messages::written(other),
    });
    call
}

impl ModelCall {
    fn read_sent(&mut self, attributes: &Attributes<'_>, older: Option<Json>) {
        let mut parts = Parts::default();
        let instructions = attributes.structured(&["gen_ai.system_instructions"]);
        match &instructions {
            Structured::Absent => {}
            Structured::Read(instructions) => parts.instructions(instructions),
            Structured::Broken(text) => {
                // A plain text is what some senders give; one that begins like JSON was cut.
                if text.trim_start().starts_with(['[', '{', '"']) {
                    self.cut("gen_ai.system_instructions");
                }
                parts.instructions(&Json::String(text.clone()));
            }
        }
        let definitions = attributes.structured(&["gen_ai.tool.definitions"]);
        match definitions {
            Structured::Absent => {
                if let Some(tools) = flat::tools(attributes) {
                    parts.tools(&tools);
                }
            }
            Structured::Read(definitions) => parts.tools(&definitions),
            Structured::Broken(_) => self.cut("gen_ai.tool.definitions"),
        }
        let flat = || {
            flat::messages(attributes, &flat::OPENINFERENCE_INPUT)
                .or_else(|| flat::messages(attributes, &flat::OPENLLMETRY_INPUT))
        };
        match attributes.structured(&["gen_ai.input.messages"]) {
            Structured::Read(messages) => parts.messages(&messages),
            Structured::Broken(text) => {
                self.cut("gen_ai.input.messages");
                parts.messages(&serde_json::json!([{ "role": "unknown", "content": text }]));
            }
            Structured::Absent => match older.or_else(flat) {
                Some(messages) => parts.messages(&messages),
                None if matches!(instructions, Structured::Absent) => return,
                None => self
                    .incomplete
                    .push("the span holds no input messages".to_owned()),
            },
        }
        if parts.empty > 0 {
            self.incomplete.push(format!(
                "of {} parts the text was not sent: the instrumentation leaves content out",
                parts.empty
            ));
        }
        self.sent = Some(parts);
    }

    fn read_answer(&mut self, attributes: &Attributes<'_>, older: Option<Json>) {
        let flat = || {
            flat::messages(attributes, &flat::OPENINFERENCE_OUTPUT)
                .or_else(|| flat::messages(attributes, &flat::OPENLLMETRY_OUTPUT))
        };
        let messages = match attributes.structured(&["gen_ai.output.messages"]) {
            Structured::Read(messages) => Some(messages),
            Structured::Broken(text) => {
                self.unread_answer = Some(text.len());
                None
            }
            Structured::Absent => older.or_else(flat),
        };
        self.answer = messages.as_ref().map(Answer::of);
    }

    fn cut(&mut self, attribute: &str) {
        self.incomplete.push(format!(
            "{attribute} is no JSON: most likely it was cut by a limit of the sender"
        ));
    }
}

fn tool_run(attributes: &Attributes<'_>, span: &Span) -> ToolRun {
    let owned = |names: &[&str]| attributes.text(names).map(str::to_owned);
    let tool = owned(&["gen_ai.tool.name", "tool.name", "traceloop.entity.name"]);
    ToolRun {
        tool: tool.unwrap_or_else(|| span.name.chars().take(256).collect()),
        call_id: owned(&["gen_ai.tool.call.id", "tool_call.id", "tool.id"]),
        arguments: attributes.value(&[
            "gen_ai.tool.call.arguments",
            "tool_arguments",
            "input.value",
            "tool.parameters",
            "traceloop.entity.input",
        ]),
        result: attributes.value(&[
            "gen_ai.tool.call.result",
            "tool_response",
            "output.value",
            "traceloop.entity.output",
        ]),
    }
}

fn agent_run(attributes: &Attributes<'_>) -> AgentRun {
    let owned = |names: &[&str]| attributes.text(names).map(str::to_owned);
    AgentRun {
        history: attributes.value(&[
            "pydantic_ai.all_messages",
            "all_messages_events",
            "gen_ai.input.messages",
            "input.value",
        ]),
        result: attributes.value(&["final_result", "gen_ai.output.messages", "output.value"]),
        run_id: owned(&["gen_ai.agent.call.id"]),
        input_tokens: attributes.count(&[
            "gen_ai.aggregated_usage.input_tokens",
            "gen_ai.usage.input_tokens",
        ]),
        output_tokens: attributes.count(&[
            "gen_ai.aggregated_usage.output_tokens",
            "gen_ai.usage.output_tokens",
        ]),
        version: owned(&["gen_ai.agent.version"]),
        description: owned(&["gen_ai.agent.description"]),
    }
}
