//! Events of `OpenHands`, one after the other, as a session.

use std::collections::HashSet;
use std::path::Path;

use remembrancer_schema::payload::{
    ContextCaptured, ContextMutated, EventType, Fate, MutationKind, Part, PartKind, PartOrigin,
    RequestedCall, ReturnStatus, SummaryRecord, Trigger,
};

use super::pairs::Pairs;
use super::record::Record;
use crate::transcript::history::History;
use crate::transcript::{Answer, Call, ImportError, Line, NewSession, Output, Recording, Returned};

/// Why a context may lack parts where no system prompt was recorded.
const NO_SYSTEM_PROMPT: &str = "the transcript holds no system prompt event, so the system prompt and the tools' schemas are missing";

/// A condensation that no request was sent with yet.
struct Condensed {
    id: String,
    mutation: ContextMutated,
}

/// A response that is being read: the events with one response id.
#[derive(Default)]
struct Response {
    /// The provider's id, or the event's where there is none.
    id: String,
    answer: Answer,
    calls: Vec<Call>,
    /// How many events it consists of.
    records: u32,
}

/// Events, put together to what the model was sent and what it did.
#[derive(Default)]
pub(super) struct Reader {
    recording: Option<Recording>,
    history: History,
    pairs: Pairs,
    has_system_prompt: bool,
    response: Option<Response>,
    condensed: Vec<Condensed>,
    /// A request for condensation, and why, where it says.
    requested: Option<String>,
    has_told_times: bool,
}

impl Reader {
    /// Reads one event of a transcript at a path.
    pub(super) fn line(
        &mut self,
        line: &Line,
        path: &Path,
        output: &mut Output<'_>,
    ) -> Result<(), ImportError> {
        output.report.records += 1;
        let record = match Record::parse(line) {
            Ok(record) => record,
            // The last line of a file that is still being written.
            Err(_) if !line.is_ended && !line.is_too_long => return Ok(()),
            Err(reason) => {
                output.report.malformed += 1;
                output.notice(Some(line.number), &*reason);
                let recording = self.started(None, path, output)?;
                recording.malformed(line, &reason);
                return Ok(());
            }
        };
        if !self.has_told_times && record.has_zoneless_time() {
            self.has_told_times = true;
            output.notice(
                Some(line.number),
                "times without an offset from UTC are left out; the order of the events is kept",
            );
        }
        self.started(Some(&record), path, output)?
            .at_line(line.number);
        self.record(line, &record);
        if let Some(recording) = &mut self.recording {
            output.drain(recording)?;
        }
        Ok(())
    }

    /// The recording; the first record starts it.
    fn started(
        &mut self,
        record: Option<&Record>,
        path: &Path,
        output: &mut Output<'_>,
    ) -> Result<&mut Recording, ImportError> {
        if self.recording.is_none() {
            let first = record.map(|record| record.id.clone());
            // The folder of a conversation is named by its id; a file of events is told by its first one.
            let folder = path.is_dir().then(|| path.file_name()).flatten();
            let native = folder.map(|name| name.to_string_lossy().into_owned());
            self.recording = Some(output.start(NewSession {
                prefix: "oh",
                native_id: native.or(first).unwrap_or_default(),
                agent: Some("openhands".to_owned()),
                time: record.and_then(Record::time),
                ..NewSession::default()
            })?);
        }
        Ok(self
            .recording
            .as_mut()
            .expect("it was started one line before"))
    }

    fn record(&mut self, line: &Line, record: &Record) {
        match record.kind.as_str() {
            "SystemPromptEvent" => {
                self.has_system_prompt = true;
                self.add(record, record.system_parts());
            }
            "MessageEvent" if record.is_models() => self.answered(record),
            "MessageEvent" => {
                self.close();
                self.add(record, record.message_parts());
            }
            "ActionEvent" => self.answered(record),
            "ObservationEvent" | "UserRejectObservation" | "AgentErrorEvent" => {
                self.returned(record)
            }
            "CondensationRequest" => {
                self.requested = Some(
                    record
                        .reason
                        .clone()
                        .unwrap_or_else(|| "requested".to_owned()),
                );
            }
            "Condensation" => self.condensation(record),
            kind => {
                let kind = format!("custom.openhands.{kind}");
                let time = record.time();
                if let Some(recording) = &mut self.recording {
                    recording.raw(&kind, line.number, time.as_deref(), &record.text);
                }
            }
        }
    }

    /// Adds what a record brings into the context.
    fn add(&mut self, record: &Record, parts: Vec<Part>) {
        if let Some(recording) = &mut self.recording {
            self.pairs.add(&record.id, &parts);
            let entry = self.history.entry(recording, &record.id, parts);
            self.history.push(entry);
        }
    }

    /// A part of a response: the first one of each is preceded by the request that it answers.
    fn answered(&mut self, record: &Record) {
        let id = record
            .response_id
            .clone()
            .unwrap_or_else(|| record.id.clone());
        if self
            .response
            .as_ref()
            .is_none_or(|response| response.id != id)
        {
            self.close();
            self.request(record, &id);
        }
        let turn = self.recording.as_ref().map_or(0, Recording::turn);
        if let Some(response) = &mut self.response {
            response.records += 1;
            response.answer.text.extend(record.said());
            if let Some(call) = record.call() {
                response.answer.calls.push(RequestedCall {
                    call_id: call.id.clone(),
                    tool: call.tool.clone(),
                });
                response.calls.push(Call { turn, ..call });
            }
        }
        self.add(record, record.answer_parts());
    }

    /// Writes the context of a request, with the mutations that lie before it.
    fn request(&mut self, record: &Record, id: &str) {
        let unsent = self.pairs.unpaired();
        let Some(recording) = &mut self.recording else {
            return;
        };
        let turn = recording.next_turn();
        for condensed in self.condensed.drain(..) {
            let mutation = ContextMutated {
                turn,
                ..condensed.mutation
            };
            let name = format!("condensation.{}", condensed.id);
            recording.event(&name, &EventType::ContextMutated, None, &mutation);
        }
        let time = record.time();
        let captured = ContextCaptured {
            turn,
            incomplete: (!self.has_system_prompt).then(|| NO_SYSTEM_PROMPT.to_owned()),
            ..ContextCaptured::default()
        };
        let name = format!("request.{}", record.id);
        self.history
            .request(recording, &name, time.as_deref(), captured, &unsent);
        self.response = Some(Response {
            id: id.to_owned(),
            answer: Answer {
                turn,
                response_id: record.response_id.clone(),
                time,
                ..Answer::default()
            },
            ..Response::default()
        });
    }

    /// Writes a response once all its events were read.
    fn close(&mut self) {
        let (Some(response), Some(recording)) = (self.response.take(), &mut self.recording) else {
            return;
        };
        // A file that is still being written may end within a response: once there is more of it, it is another event.
        let id = format!("response.{}.{}", response.id, response.records);
        recording.answer(&id, response.answer);
        for call in response.calls {
            recording.call(call);
        }
    }

    fn returned(&mut self, record: &Record) {
        self.close();
        let status = match record.kind.as_str() {
            "UserRejectObservation" => ReturnStatus::Denied,
            "ObservationEvent" if !record.is_error() => ReturnStatus::Ok,
            _ => ReturnStatus::Error,
        };
        if let (Some(call_id), Some(recording)) = (record.call_id.clone(), &mut self.recording) {
            recording.returned(Returned {
                call_id,
                tool: record.tool.clone(),
                status,
                result: record.result(),
                time: record.time(),
            });
        }
        self.add(record, record.result_parts());
    }

    fn condensation(&mut self, record: &Record) {
        self.close();
        let forgotten: HashSet<String> = record.forgotten.iter().cloned().collect();
        let removed = self.history.remove(&forgotten);
        for entry in &removed {
            self.pairs.remove(&entry.id, self.history.parts(entry));
        }
        let summary = record.summary.clone().zip(record.summary_offset);
        let (kind, fate) = match summary {
            Some(_) => (MutationKind::Compaction, Fate::Summarised),
            None => (MutationKind::Truncation, Fate::Dropped),
        };
        if let (Some((text, offset)), Some(recording)) = (&summary, &mut self.recording) {
            let part = Part {
                origin: Some(PartOrigin::Model),
                ..Part::inline(PartKind::Summary, text.clone())
            };
            // The id by which a later condensation names this summary.
            let id = format!("{}-summary", record.id);
            let entry = self.history.entry(recording, id, vec![part]);
            self.history.insert(*offset, entry);
        }
        self.condensed.push(Condensed {
            id: record.id.clone(),
            mutation: ContextMutated {
                name: Some("Condensation".to_owned()),
                trigger: self.requested.take().map(|cause| Trigger {
                    cause: Some(cause),
                    ..Trigger::default()
                }),
                parts: self.history.fates(&removed, fate),
                summary: summary.map(|(text, _)| SummaryRecord {
                    text,
                    ..SummaryRecord::default()
                }),
                ..ContextMutated::new(0, kind)
            },
        });
    }

    /// Writes what waits, and ends.
    pub(super) fn finish(mut self, output: &mut Output<'_>) -> Result<(), ImportError> {
        self.close();
        let Some(mut recording) = self.recording else {
            return Ok(());
        };
        let turn = recording.turn() + 1;
        for condensed in self.condensed {
            let mutation = ContextMutated {
                turn,
                ..condensed.mutation
            };
            let name = format!("condensation.{}", condensed.id);
            recording.event(&name, &EventType::ContextMutated, None, &mutation);
        }
        if !self.has_system_prompt {
            output.notice(None, NO_SYSTEM_PROMPT);
        }
        output.finish(recording)
    }
}
