//! Calls and what they returned, joined by the program's id of the call; where it has none, by tool and arguments.

use remembrancer_schema::ContentHash;
use remembrancer_schema::payload::{
    EventType, Part, PartKind, ReturnStatus, ToolCalled, ToolReturned, Witness,
};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::payload::{BatchedCall, said};
use super::standing::{Batches, OpenCall, ReturnedCall, Task};
use super::translation::Translation;
use super::{fitting, safe};
use crate::WriteError;

/// Tools that start a sub-agent.
const STARTERS: [&str; 2] = ["Agent", "Task"];
/// Longest prompt of a sub-agent that is remembered until it begins, in bytes.
const PROMPT_BYTES_MAX: usize = 16 * 1024;
/// Longest id of a call that is taken as it is, in bytes.
const CALL_ID_BYTES_MAX: usize = 128;

/// A call as a payload tells it.
struct Told<'a> {
    tool: String,
    id: Option<String>,
    input: Option<&'a RawValue>,
}

impl Told<'_> {
    /// The arguments as they are recorded, and what of them an event cannot hold.
    fn arguments(&self) -> Option<fitting::Fitted> {
        self.input.map(fitting::value)
    }
}

impl Translation<'_> {
    fn told(&self) -> Told<'_> {
        let payload = self.payload();
        Told {
            tool: payload
                .name("tool_name")
                .unwrap_or_else(|| "unknown".to_owned()),
            id: payload.name("tool_use_id").map(call_id),
            input: payload.raw("tool_input"),
        }
    }

    /// A call is about to be made.
    pub(super) fn tool_called(&mut self) -> Result<(), WriteError> {
        self.request_with_call_seen()?;
        let told = self.told();
        let (tool, id, arguments) = (told.tool.clone(), told.id.clone(), told.arguments());
        self.record_call(tool, id, arguments).map(drop)
    }

    /// Records a call, and remembers it until it returns. Returns its id.
    fn record_call(
        &mut self,
        tool: String,
        id: Option<String>,
        arguments: Option<fitting::Fitted>,
    ) -> Result<String, WriteError> {
        let number = self.thread.numbered_calls + 1;
        let id = id.unwrap_or_else(|| {
            self.thread.numbered_calls = number;
            format!("call-{number}")
        });
        let mut blobs = Vec::new();
        let arguments = arguments.map(|fitted| {
            if let Some(whole) = fitted.cut {
                self.writer.blob(whole, &mut blobs);
            }
            fitted.value
        });
        let open = OpenCall {
            arguments: hash_of(arguments.as_deref()),
            task: task(&tool, arguments.as_deref()),
            tool: tool.clone(),
            number,
        };
        let called = ToolCalled {
            turn: self.thread.turn,
            call_id: id.clone(),
            tool,
            arguments,
            target: None,
            operation: None,
            witness: Some(Witness::Hook),
        };
        let event_id = format!("called.{}", safe(&id));
        self.push(&event_id, EventType::ToolCalled, &called, &blobs)?;
        self.thread.open(&id, open);
        Ok(id)
    }

    /// A call returned.
    pub(super) fn tool_returned(&mut self) -> Result<(), WriteError> {
        let response = self.payload().raw("tool_response");
        let status = if response.is_some_and(has_error) {
            ReturnStatus::Error
        } else {
            ReturnStatus::Ok
        };
        self.returned(status, response.map(RawValue::to_owned))
    }

    /// A call failed.
    pub(super) fn tool_failed(&mut self) -> Result<(), WriteError> {
        let text = |field| self.payload().text(field);
        let result = serde_json::json!({
            "error": text("error"),
            "is_interrupt": self.payload().read::<bool>("is_interrupt"),
        });
        let result = serde_json::value::to_raw_value(&result).ok();
        self.returned(ReturnStatus::Error, result)
    }

    fn returned(
        &mut self,
        status: ReturnStatus,
        result: Option<Box<RawValue>>,
    ) -> Result<(), WriteError> {
        let told = self.told();
        let arguments = told.arguments();
        let hash = hash_of(arguments.as_ref().map(|fitted| &*fitted.value));
        let tool = told.tool.clone();
        let known = told
            .id
            .clone()
            .or_else(|| self.open_call(&tool, hash))
            .filter(|id| self.thread.open.contains_key(id));
        // The hook before it was not run, or nothing is known of it any more.
        let id = match known {
            Some(id) => id,
            None => {
                let id = told.id.clone();
                self.request_with_call_seen()?;
                self.record_call(tool, id, arguments)?
            }
        };
        self.record_return(&id, status, result)
    }

    /// The call that was opened first with this tool and these arguments.
    pub(super) fn open_call(&self, tool: &str, arguments: ContentHash) -> Option<String> {
        let open = self.thread.open.iter();
        open.filter(|(_, call)| call.tool == tool && call.arguments == arguments)
            .min_by_key(|(_, call)| call.number)
            .map(|(id, _)| id.clone())
    }

    /// The call that the payload is about, where it is one that has not returned.
    pub(super) fn call_in_question(&self) -> Option<String> {
        let told = self.told();
        let arguments = told.arguments();
        let hash = hash_of(arguments.as_ref().map(|fitted| &*fitted.value));
        told.id.clone().or_else(|| self.open_call(&told.tool, hash))
    }

    fn record_return(
        &mut self,
        id: &str,
        status: ReturnStatus,
        result: Option<Box<RawValue>>,
    ) -> Result<(), WriteError> {
        let mut blobs = Vec::new();
        let result = result.map(|raw| {
            let fitted = fitting::value(&raw);
            if let Some(whole) = fitted.cut {
                self.writer.blob(whole, &mut blobs);
            }
            fitted.value
        });
        let call = self.thread.open.get(id).cloned();
        let returned = ToolReturned {
            call_id: id.to_owned(),
            tool: call.as_ref().map(|call| call.tool.clone()),
            status,
            result,
            effect: None,
            witness: Some(Witness::Hook),
        };
        let event_id = format!("returned.{}", safe(id));
        self.push(&event_id, EventType::ToolReturned, &returned, &blobs)?;
        if let Some(call) = call {
            self.thread.close(ReturnedCall {
                call_id: id.to_owned(),
                tool: call.tool,
                arguments: call.arguments,
                result: returned.result.as_deref().map(text_hash),
            });
        }
        Ok(())
    }

    /// All calls of a response returned: the next request carries them, and their results as they stand here.
    pub(super) fn batch(&mut self) -> Result<(), WriteError> {
        self.thread.batches = Batches::Told;
        for call in self.payload().batch() {
            self.batched(call)?;
        }
        // Those of an earlier batch that was not told.
        self.carry_returned()?;
        self.thread.request_due = true;
        Ok(())
    }

    fn batched(&mut self, call: BatchedCall) -> Result<(), WriteError> {
        let id = call_id(call.tool_use_id);
        let is_returned = |one: &ReturnedCall| one.call_id == id;
        if !self.thread.returned.iter().any(is_returned) {
            if !self.thread.open.contains_key(&id) {
                let arguments = call.tool_input.as_deref().map(fitting::value);
                self.request_with_call_seen()?;
                self.record_call(call.tool_name.clone(), Some(id.clone()), arguments)?;
            }
            // No hook told of its return: it was refused, or the hook was lost. What it did is not known.
            let result = call.tool_response.clone();
            self.record_return(&id, ReturnStatus::Error, result)?;
        }
        let at = self.thread.returned.iter().position(is_returned);
        let Some(returned) = at.map(|at| self.thread.returned.remove(at)) else {
            return Ok(());
        };
        let (id, tool) = (Some(returned.call_id), Some(returned.tool));
        self.thread.wait(Part {
            call_id: id.clone(),
            tool: tool.clone(),
            ..Part::by_hash(PartKind::ToolCall, returned.arguments)
        });
        let Some(response) = call.tool_response else {
            return Ok(());
        };
        let text = said(&response);
        let hash = ContentHash::of(text.as_bytes());
        let part = if returned.result == Some(hash) {
            Part::by_hash(PartKind::ToolResult, hash)
        } else {
            self.part(PartKind::ToolResult, text)?
        };
        self.thread.wait(Part {
            call_id: id,
            tool,
            ..part
        });
        Ok(())
    }
}

/// An id of a call that is no longer than such ids may be.
fn call_id(id: String) -> String {
    if id.len() <= CALL_ID_BYTES_MAX {
        id
    } else {
        safe(&id)
    }
}

fn hash_of(arguments: Option<&RawValue>) -> ContentHash {
    ContentHash::of(arguments.map_or("", RawValue::get).as_bytes())
}

/// Hash of a result's text as those who read the record find it: of a JSON string, the text in it.
fn text_hash(result: &RawValue) -> ContentHash {
    match serde_json::from_str::<String>(result.get()) {
        Ok(text) => ContentHash::of(text.as_bytes()),
        Err(_) => ContentHash::of(result.get().as_bytes()),
    }
}

/// Whether a result says itself that it is an error.
fn has_error(result: &RawValue) -> bool {
    #[derive(Deserialize)]
    struct Result {
        #[serde(default)]
        error: Option<serde_json::Value>,
        #[serde(default)]
        is_error: Option<bool>,
    }
    serde_json::from_str::<Result>(result.get()).is_ok_and(|result| {
        let error = result.error.unwrap_or_default();
        let says_none = error.is_null() || error == false || error == "";
        !says_none || result.is_error == Some(true)
    })
}

/// What a call asks of a sub-agent, where its tool starts one.
fn task(tool: &str, arguments: Option<&RawValue>) -> Option<Task> {
    #[derive(Deserialize)]
    struct Arguments {
        #[serde(default)]
        subagent_type: Option<String>,
        #[serde(default)]
        prompt: Option<String>,
    }
    if !STARTERS.contains(&tool) {
        return None;
    }
    let arguments: Arguments = serde_json::from_str(arguments?.get()).ok()?;
    let prompt = arguments.prompt;
    Some(Task {
        agent_type: arguments.subagent_type,
        prompt: prompt.filter(|prompt| prompt.len() <= PROMPT_BYTES_MAX),
        started: false,
    })
}
