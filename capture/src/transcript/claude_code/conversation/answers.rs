//! Answers of the model, gathered from the lines of its messages.

use remembrancer_schema::payload::{RequestedCall, Usage};

use super::super::super::{Answer, Call};
use super::super::chain::MessageIndex;
use super::super::record::Record;
use super::Conversation;

impl Conversation {
    /// What a line adds to its message's answer.
    pub(super) fn line(&mut self, record: &Record, index: MessageIndex) {
        let Some(message) = &record.message else {
            return;
        };
        let open = self.open.as_mut().filter(|open| open.index == index);
        let Some(open) = open else {
            return self.late_line(record, index);
        };
        let answer = &mut open.answer;
        answer.time.clone_from(&record.timestamp);
        answer.model = message.model.clone().or(answer.model.take());
        answer.stop_reason = message.stop_reason.clone().or(answer.stop_reason.take());
        answer.usage = later_usage(answer.usage, message.usage());
        let turn = answer.turn;
        for block in message.blocks() {
            match block.kind.as_str() {
                "text" => answer
                    .text
                    .extend(block.text.filter(|text| !text.is_empty())),
                kind if is_call(kind) => {
                    let (Some(id), Some(tool)) = (block.id, block.name) else {
                        continue;
                    };
                    answer.calls.push(RequestedCall {
                        call_id: id.clone(),
                        tool: tool.clone(),
                    });
                    self.calls.insert(id.clone(), (index, tool.clone()));
                    self.recording.call(Call {
                        turn,
                        id,
                        tool,
                        arguments: block.input.map(|raw| raw.get().to_owned()),
                        time: record.timestamp.clone(),
                    });
                }
                _ => {}
            }
        }
    }

    /// A line of a message that another request followed already: a copy of an earlier line, whose calls were not made again, or
    /// one that was written late, whose calls are the message's.
    fn late_line(&mut self, record: &Record, index: MessageIndex) {
        let blocks = record.message.as_ref().map(|message| message.blocks());
        for block in blocks.into_iter().flatten() {
            let (Some(id), Some(tool)) = (block.id, block.name) else {
                continue;
            };
            let (true, Some(&turn)) = (is_call(&block.kind), self.turns.get(&index)) else {
                continue;
            };
            if self.calls.contains_key(&id) {
                continue;
            }
            self.calls.insert(id.clone(), (index, tool.clone()));
            self.recording.call(Call {
                turn,
                id,
                tool,
                arguments: block.input.map(|raw| raw.get().to_owned()),
                time: record.timestamp.clone(),
            });
        }
    }

    /// Writes the answer of the last message, whose lines have all been read.
    pub(super) fn close(&mut self) {
        if let Some(open) = self.open.take() {
            let id = answer_id(&open.answer);
            self.recording.answer(&id, open.answer);
        }
    }

    /// Writes the answer of the last message at the end of the file. Where the file may go on with further lines of it, it is
    /// written under another name, so that the whole answer can follow.
    pub(in super::super) fn close_at_end(&mut self) {
        if let Some(open) = self.open.take() {
            let is_whole = open.is_followed || open.answer.stop_reason.is_some();
            let mut id = answer_id(&open.answer);
            if !is_whole {
                let parts = open.answer.text.len() + open.answer.calls.len();
                id.push_str(&format!(".first-{parts}"));
            }
            self.recording.answer(&id, open.answer);
        }
    }
}

fn is_call(kind: &str) -> bool {
    matches!(kind, "tool_use" | "server_tool_use" | "mcp_tool_use")
}

fn answer_id(answer: &Answer) -> String {
    let id = answer.response_id.as_deref().unwrap_or("");
    format!("answer.{}.{id}", answer.turn)
}

/// Lines of one message repeat its usage; the last one that says more counts.
fn later_usage(earlier: Option<Usage>, later: Option<Usage>) -> Option<Usage> {
    match (earlier, later) {
        (Some(earlier), Some(later)) if later.input_tokens < earlier.input_tokens => Some(earlier),
        (earlier, later) => later.or(earlier),
    }
}
