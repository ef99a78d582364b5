//! What the model sees, request by request.

use remembrancer_schema::payload::{
    ContextCaptured, ContextMutated, EventType, MutationKind, Part, PartKind, RequestedCall,
    ReturnStatus, SummaryRecord, Trigger, Usage,
};

use super::super::assembly::Piece;
use super::super::{Answer, Call, Line, Output, Returned};
use super::item::{Compacted, Item};
use super::{REFUSAL, Rollout, SUMMARY_BYTES_MAX};
use crate::cut::prefix;

impl Rollout {
    /// A part of what the model sees.
    pub(super) fn item(&mut self, item: &Item, time: Option<&str>, line: &Line) {
        if item.is_never_sent() {
            return;
        }
        if item.is_models() {
            self.models(item, time, line);
        } else {
            self.input();
            self.returned(item, time);
        }
        let parts = item.parts();
        if !parts.is_empty() {
            let piece = self.assembly.add(parts, &mut self.recording);
            self.history.push((piece, item.is_users_turn()));
        }
    }

    /// Something that is sent with the next request: the answer to the last one is whole.
    pub(super) fn input(&mut self) {
        if let Some((_, may_go_on)) = &mut self.open {
            *may_go_on = false;
        }
    }

    /// Something that the model wrote. The first one after an input tells of a request.
    pub(super) fn models(&mut self, item: &Item, time: Option<&str>, line: &Line) {
        if !matches!(self.open, Some((_, true))) {
            self.close();
            self.request(time, line);
        }
        let Some((answer, _)) = &mut self.open else {
            return;
        };
        answer.time = time.map(str::to_owned);
        if item.kind == "message" {
            answer.text.extend(item.texts());
        }
        let turn = answer.turn;
        if !item.is_call() {
            return;
        }
        let Some(id) = item.call_name() else { return };
        answer.calls.push(RequestedCall {
            call_id: id.clone(),
            tool: item.tool(),
        });
        self.tools.insert(id.clone(), item.tool());
        self.recording.call(Call {
            turn,
            id,
            tool: item.tool(),
            arguments: item.call_arguments(),
            time: time.map(str::to_owned),
        });
    }

    pub(super) fn request(&mut self, time: Option<&str>, line: &Line) {
        let turn = self.recording.next_turn();
        let name = format!("line.{}", line.number);
        for (number, mutated) in std::mem::take(&mut self.pending).into_iter().enumerate() {
            self.recording.event(
                &format!("mutation.{name}.{number}"),
                &EventType::ContextMutated,
                time,
                &ContextMutated { turn, ..mutated },
            );
        }
        let captured = ContextCaptured {
            turn,
            incomplete: self.incomplete.clone(),
            ..ContextCaptured::default()
        };
        let name = format!("context.{name}");
        let known = self.sent;
        #[cfg(test)]
        let known = super::super::work::known(known);
        let new = self.history.iter().skip(known.unwrap_or(0));
        let new = new.map(|&(piece, _)| piece);
        if known.is_some() {
            let added: Vec<Piece> = new.collect();
            self.assembly
                .grow(&mut self.recording, &name, time, captured, &added);
        } else {
            let pieces = self.head.iter().copied().chain(new).collect();
            self.assembly
                .capture(&mut self.recording, &name, time, captured, pieces);
        }
        self.sent = Some(self.history.len());
        let answer = Answer {
            turn,
            model: self.model.clone(),
            ..Answer::default()
        };
        self.open = Some((answer, true));
    }

    pub(super) fn returned(&mut self, item: &Item, time: Option<&str>) {
        let (Some(output), Some(call_id)) = (item.tool_output(), item.call_id.clone()) else {
            return;
        };
        let status = if output.text.starts_with(REFUSAL) {
            ReturnStatus::Denied
        } else if output.is_error {
            ReturnStatus::Error
        } else {
            ReturnStatus::Ok
        };
        self.recording.returned(Returned {
            tool: self.tools.get(&call_id).cloned(),
            call_id,
            status,
            result: Some(serde_json::Value::from(output.text).to_string()),
            time: time.map(str::to_owned),
        });
    }

    pub(super) fn close(&mut self) {
        if let Some((answer, _)) = self.open.take() {
            self.recording
                .answer(&format!("answer.{}", answer.turn), answer);
        }
    }

    /// Writes the last answer at the end of the file. Where it may go on when the file does, it is written under another name,
    /// so that the whole answer can follow.
    pub(super) fn close_at_end(&mut self) {
        if let Some((answer, may_go_on)) = self.open.take() {
            let mut id = format!("answer.{}", answer.turn);
            if may_go_on {
                let parts = answer.text.len() + answer.calls.len();
                id.push_str(&format!(".first-{parts}"));
            }
            self.recording.answer(&id, answer);
        }
    }

    /// What the last request cost. Nothing of its answer follows.
    pub(super) fn measured(&mut self, usage: Usage) {
        if let Some((answer, may_go_on)) = &mut self.open
            && usage.input_tokens > 0
        {
            answer.usage.get_or_insert(usage);
            *may_go_on = false;
        }
    }

    /// The last turns of the user were taken back, with all that followed.
    pub(super) fn rolled_back(&mut self, turns: u64) {
        self.input();
        for _ in 0..turns {
            let Some(last) = self.history.iter().rposition(|&(_, begins)| begins) else {
                break;
            };
            self.history.truncate(last);
            self.sent = self.sent.filter(|&sent| sent <= last);
        }
        self.pending
            .push(ContextMutated::new(0, MutationKind::Rewind));
    }

    /// What the model sees from now on, in place of all before.
    pub(super) fn compacted(
        &mut self,
        compacted: Compacted,
        time: Option<&str>,
        line: &Line,
        output: &mut Output<'_>,
    ) {
        self.input();
        for &(piece, _) in &self.history {
            self.recording.said(self.assembly.parts(piece), time);
        }
        let summary = compacted.message.filter(|text| !text.is_empty());
        self.history.clear();
        self.sent = None;
        match compacted.replacement_history {
            Some(list) => {
                self.incomplete = None;
                for raw in &list {
                    let Ok(item) = Item::parse(raw.get()) else {
                        output.notice(
                            Some(line.number),
                            "an item of the new history is not understood",
                        );
                        self.incomplete =
                            Some("an item of the compacted history is not understood".to_owned());
                        continue;
                    };
                    if !item.is_known() {
                        self.lost(line.number);
                    }
                    self.replacement(&item, summary.as_deref());
                }
            }
            None => {
                self.incomplete = Some(
                    "the compaction does not list what it kept; only its summary is known"
                        .to_owned(),
                );
                if let Some(text) = &summary {
                    let part = Part::inline(PartKind::Summary, text);
                    let piece = self.assembly.add(vec![part], &mut self.recording);
                    self.history.push((piece, false));
                }
            }
        }
        let mut mutated = ContextMutated::new(0, MutationKind::Compaction);
        mutated.trigger = Some(Trigger::default());
        mutated.summary = summary.map(|text| SummaryRecord {
            text: prefix(&text, SUMMARY_BYTES_MAX).to_owned(),
            ..SummaryRecord::default()
        });
        self.pending.push(mutated);
    }

    /// An item of a new history. The summary stands in it as a message of the user.
    pub(super) fn replacement(&mut self, item: &Item, summary: Option<&str>) {
        let mut parts = item.parts();
        for part in &mut parts {
            let is_summary = summary.is_some_and(|summary| {
                part.text
                    .as_deref()
                    .is_some_and(|text| text.contains(summary))
            });
            if is_summary && part.kind == PartKind::User {
                part.kind = PartKind::Summary;
            }
        }
        let is_summary = parts.iter().any(|part| part.kind == PartKind::Summary);
        if !parts.is_empty() {
            let piece = self.assembly.add(parts, &mut self.recording);
            self.history
                .push((piece, !is_summary && item.is_users_turn()));
        }
    }
}
