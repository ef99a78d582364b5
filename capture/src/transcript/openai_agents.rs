//! Traces of the `OpenAI` Agents SDK: traces and spans as its processors export them.
//!
//! A response span holds an id and sizes, not what was sent, so presence cannot be answered from it: it is unknown at every
//! action. A generation span, which the Chat Completions API gives, holds its messages, unless the trace leaves out what was
//! said. There is no span for a compaction. What every trace holds is which tools were called and what they gave back, which
//! guardrails were tripped, and what each response cost.

mod chat;
mod span;

use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use remembrancer_schema::payload::{
    ContextCaptured, DecisionRecorded, EventType, Part, ReturnStatus, SessionStarted, TokenCount,
    TokenSource, Usage, Verdict, Witness,
};
use serde_json::Value;
use serde_json::value::RawValue;

use super::{
    Answer, Call, Format, ImportError, Line, Lines, NewSession, Opening, Output, Recording,
    Returned,
};
use span::{Item, SpanData};

/// Most traces in a file.
const TRACES_MAX: usize = 10_000;
/// Most items of one line: a batch that an exporter sends has some hundred.
const BATCH_MAX: usize = 100_000;
const NO_COMPACTIONS: &str = "traces of the OpenAI Agents SDK have no span for a compaction";

/// The format.
#[derive(Debug)]
pub(super) struct OpenAiAgents;

impl Format for OpenAiAgents {
    fn name(&self) -> &'static str {
        "openai-agents"
    }

    fn recognises(&self, opening: &Opening) -> bool {
        let is_item = |value: &Value| {
            let object = value.get("object").and_then(Value::as_str);
            matches!(object, Some("trace" | "trace.span"))
        };
        opening.any_record(|record| {
            let batch = record.as_array().or_else(|| record.get("data")?.as_array());
            is_item(record) || batch.is_some_and(|items| items.iter().any(is_item))
        })
    }

    fn read(&self, path: &Path, output: &mut Output<'_>) -> Result<(), ImportError> {
        let mut reader = Reader::default();
        let mut lines = Lines::open(path)?;
        while let Some(line) = lines.next_line()? {
            reader.line(&line, output)?;
            output.progress(lines.bytes_read());
        }
        for (_, trace) in reader.traces {
            if trace.unseen > 0 || trace.recording.turn() == 0 {
                let notice = format!(
                    "{}: {} of {} model calls do not say what was sent: whether a rule was present at their actions is unknown",
                    trace.recording.session(),
                    trace.unseen,
                    trace.recording.turn()
                );
                output.notice(None, notice);
            }
            output.finish(trace.recording)?;
        }
        output.notice(None, NO_COMPACTIONS);
        Ok(())
    }
}

/// One trace.
struct Trace {
    recording: Recording,
    /// The last turn of each agent, by the span under which it works.
    turns: HashMap<String, u32>,
    /// Model calls that do not say what was sent.
    unseen: u32,
}

#[derive(Default)]
struct Reader {
    traces: BTreeMap<String, Trace>,
}

impl Reader {
    /// A line: one item, a list of items, or a batch as an exporter sends it.
    fn line(&mut self, line: &Line, output: &mut Output<'_>) -> Result<(), ImportError> {
        let text = String::from_utf8_lossy(&line.bytes);
        let items = if line.is_too_long {
            Err("the line is too long to be read".to_owned())
        } else {
            items(&text)
        };
        let items = match items {
            Ok(items) => items,
            // The last line of a file that is still being written.
            Err(_) if !line.is_ended && !line.is_too_long => return Ok(()),
            Err(reason) => {
                output.report.records += 1;
                output.report.malformed += 1;
                output.notice(
                    Some(line.number),
                    format!("neither a trace nor a span: {reason}"),
                );
                if let Some(trace) = self.traces.values_mut().next_back() {
                    trace.recording.malformed(line, &reason);
                }
                return Ok(());
            }
        };
        for json in items {
            output.report.records += 1;
            match Item::parse(json) {
                Ok(item) => self.item(line.number, &item, json, output)?,
                Err(error) => {
                    output.report.malformed += 1;
                    output.notice(
                        Some(line.number),
                        format!("neither a trace nor a span: {error}"),
                    );
                }
            }
        }
        Ok(())
    }

    fn item(
        &mut self,
        line: u64,
        item: &Item,
        json: &str,
        output: &mut Output<'_>,
    ) -> Result<(), ImportError> {
        let id = item.trace().to_owned();
        if !self.traces.contains_key(&id) {
            if self.traces.len() >= TRACES_MAX {
                output.notice(
                    Some(line),
                    format!("more than {TRACES_MAX} traces; further ones are left out"),
                );
                return Ok(());
            }
            let labels = item
                .group_id
                .iter()
                .map(|group| ("group".to_owned(), group.clone()));
            let recording = output.start(NewSession {
                prefix: "oai",
                native_id: id.clone(),
                agent: None,
                time: item.started_at.clone(),
                started: SessionStarted {
                    label: item.workflow_name.clone(),
                    labels: labels.collect(),
                    witness: Some(Witness::Telemetry),
                    ..SessionStarted::default()
                },
            })?;
            let trace = Trace {
                recording,
                turns: HashMap::new(),
                unseen: 0,
            };
            self.traces.insert(id.clone(), trace);
        }
        if let Some(trace) = self.traces.get_mut(&id) {
            trace.write(line, item, json);
            output.drain(&mut trace.recording)?;
        }
        Ok(())
    }
}

/// The items of a line, each as it stands.
fn items(text: &str) -> Result<Vec<&str>, String> {
    #[derive(serde::Deserialize)]
    struct Batch<'a> {
        #[serde(borrow)]
        data: Option<Vec<&'a RawValue>>,
    }
    let text = text.trim();
    let list = if text.starts_with('[') {
        Some(serde_json::from_str::<Vec<&RawValue>>(text).map_err(|error| error.to_string())?)
    } else {
        let batch: Batch<'_> = serde_json::from_str(text).map_err(|error| error.to_string())?;
        batch.data
    };
    match list {
        Some(list) if list.len() > BATCH_MAX => Err(format!(
            "{} items in one line; at most {BATCH_MAX} are read",
            list.len()
        )),
        Some(list) => Ok(list.into_iter().map(RawValue::get).collect()),
        None => Ok(vec![text]),
    }
}

impl Trace {
    fn write(&mut self, line: u64, item: &Item, json: &str) {
        let agent = item.parent_id.clone().unwrap_or_default();
        let time = item.ended_at.as_deref().or(item.started_at.as_deref());
        match &item.data {
            Some(SpanData::Model {
                response_id,
                model,
                usage,
                input,
            }) => {
                let turn = self.recording.next_turn();
                self.turns.insert(agent, turn);
                self.sent(item, turn, *usage, input.as_deref());
                let answer = Answer {
                    turn,
                    response_id: response_id.clone(),
                    model: model.clone(),
                    usage: *usage,
                    stop_reason: item.error.as_ref().map(|_| "error".to_owned()),
                    time: time.map(str::to_owned),
                    ..Answer::default()
                };
                self.recording
                    .answer(&format!("response.{}", item.id), answer);
            }
            Some(SpanData::Function {
                name,
                input,
                output,
            }) => {
                // A span is exported when it ends, so a tool's follows the response that called it.
                let turn = self.turns.get(&agent).copied();
                self.recording.call(Call {
                    turn: turn.unwrap_or_else(|| self.recording.turn().max(1)),
                    id: item.id.clone(),
                    tool: name.clone(),
                    arguments: input.clone(),
                    time: item.started_at.clone(),
                });
                let status = if item.error.is_some() {
                    ReturnStatus::Error
                } else {
                    ReturnStatus::Ok
                };
                self.recording.returned(Returned {
                    call_id: item.id.clone(),
                    tool: Some(name.clone()),
                    status,
                    result: output.clone().or_else(|| item.error.clone()),
                    time: item.ended_at.clone(),
                });
            }
            Some(SpanData::Guardrail { name, triggered }) => {
                let decision = DecisionRecorded {
                    decider: format!("guardrail {name}"),
                    call_id: None,
                    verdict: Some(if *triggered {
                        Verdict::Deny
                    } else {
                        Verdict::Allow
                    }),
                    enforced: *triggered,
                    flags: Vec::new(),
                    violations: Vec::new(),
                    reason: None,
                    reference: Some(item.id.clone()),
                    witness: None,
                };
                let id = format!("guardrail.{}", item.id);
                self.recording
                    .event(&id, &EventType::DecisionRecorded, time, &decision);
            }
            Some(SpanData::Other(kind)) => {
                let plain = |character: char| character.is_ascii_alphanumeric() || character == '_';
                let kind: String = kind.chars().filter(|one| plain(*one)).take(40).collect();
                self.raw(&format!("custom.openai_agents.{kind}"), line, item, json);
            }
            None => self.raw("custom.openai_agents.trace", line, item, json),
        }
    }

    /// Writes what a model call was sent, where its span holds it. The tools' schemas, which it does not hold, carry no rules.
    fn sent(&mut self, item: &Item, turn: u32, usage: Option<Usage>, input: Option<&[Part]>) {
        let Some(parts) = input else {
            self.unseen += 1;
            return;
        };
        let captured = ContextCaptured {
            turn,
            parts: parts.to_vec(),
            tokens: usage.map(|usage| TokenCount {
                count: usage.input_tokens,
                source: TokenSource::Measured,
            }),
            ..ContextCaptured::default()
        };
        let name = format!("request.{}", item.id);
        self.recording
            .context(&name, item.started_at.as_deref(), captured);
    }

    /// Keeps an item as it is. Several stand in one line, so the line is not its name.
    fn raw(&mut self, kind: &str, line: u64, item: &Item, json: &str) {
        let data = serde_json::json!({ "line": line, "id": item.id });
        let time = item.ended_at.as_deref().or(item.started_at.as_deref());
        let kept = super::fitting(json);
        let record = Kept {
            place: data,
            record: kept,
        };
        let kind = EventType::Custom(kind.to_owned());
        self.recording
            .event(&format!("item.{}", item.id), &kind, time, &record);
    }
}

/// An item that is kept as it is.
#[derive(serde::Serialize)]
struct Kept {
    place: Value,
    record: Box<RawValue>,
}

#[cfg(test)]
mod tests;
