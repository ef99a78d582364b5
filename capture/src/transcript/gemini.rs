//! Gemini CLI sessions: a metadata line, messages that are written again whenever they grow, and records that change the list.
//!
//! `$rewindTo` takes a message and everything after it back; a target that is not there takes everything back, as in the program
//! itself. `$set.messages` puts another list in the place of the messages: the program does so after a compression, and nothing
//! in the file says that it was one, so what it was is told from the two lists. The system prompt, `GEMINI.md` and the
//! tools' declarations are not in the file.

mod change;
mod message;
mod rewriting;

use std::collections::{BTreeSet, HashSet};
use std::path::Path;

use remembrancer_schema::ContentHash;
use remembrancer_schema::payload::{
    ContextCaptured, ContextMutated, EventType, ParentSession, SessionStarted, TokenCount,
    TokenSource,
};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::history::History;
use super::{Format, ImportError, Line, Lines, NewSession, Opening, Output, Recording};
use message::Message;

/// Largest file of the older form, which is one JSON object, in bytes.
const OBJECT_BYTES_MAX: u64 = 64 * 1024 * 1024;
const INCOMPLETE: &str =
    "the file holds neither the system prompt nor GEMINI.md nor the tools' declarations";

/// The format.
#[derive(Debug)]
pub(super) struct Gemini;

impl Format for Gemini {
    fn name(&self) -> &'static str {
        "gemini"
    }

    fn recognises(&self, opening: &Opening) -> bool {
        let begins = |record: &serde_json::Value| {
            record.get("sessionId").is_some() && record.get("projectHash").is_some()
        };
        opening.any_record(begins) || is_object(&opening.bytes)
    }

    fn read(&self, path: &Path, output: &mut Output<'_>) -> Result<(), ImportError> {
        let mut reader = Reader::default();
        if is_object(&Opening::of(path)?.bytes) {
            reader.whole(path, output)?;
        } else {
            let mut lines = Lines::open(path)?;
            while let Some(line) = lines.next_line()? {
                reader.line(&line, path, output)?;
                output.progress(lines.bytes_read());
            }
        }
        reader.finish(output)
    }
}

/// Whether a file is of the older form: one object over several lines.
fn is_object(beginning: &[u8]) -> bool {
    let text = String::from_utf8_lossy(beginning);
    let first = text.lines().next().unwrap_or("").trim();
    first == "{" && text.contains("\"sessionId\"") && text.contains("\"projectHash\"")
}

/// One record of the file.
#[derive(Deserialize)]
struct Record<'a> {
    #[serde(rename = "$rewindTo")]
    rewind_to: Option<String>,
    #[serde(rename = "$set", borrow)]
    set: Option<&'a RawValue>,
    #[serde(rename = "$patch", borrow)]
    patch: Option<&'a RawValue>,
    id: Option<String>,
    #[serde(rename = "sessionId")]
    session: Option<String>,
    #[serde(rename = "startTime")]
    start_time: Option<String>,
    kind: Option<String>,
    #[serde(borrow)]
    messages: Option<Vec<&'a RawValue>>,
}

#[derive(Deserialize)]
struct Set<'a> {
    #[serde(borrow)]
    messages: Option<Vec<&'a RawValue>>,
}

/// A message of the model that may still grow.
struct Growing {
    message: Message,
    turn: u32,
}

#[derive(Default)]
struct Reader {
    recording: Option<Recording>,
    history: History,
    growing: Option<Growing>,
    /// Calls and results that were written.
    called: BTreeSet<String>,
    returned: BTreeSet<String>,
    mutations: Vec<(String, ContextMutated)>,
    /// Why contexts are not known from some record on.
    lost: Option<String>,
}

impl Reader {
    fn whole(&mut self, path: &Path, output: &mut Output<'_>) -> Result<(), ImportError> {
        let cannot = |error| ImportError::read(path, error);
        let size = std::fs::metadata(path).map_err(cannot)?.len();
        if size > OBJECT_BYTES_MAX {
            return Err(ImportError::Malformed {
                path: path.to_owned(),
                reason: format!("{size} bytes in one object; at most {OBJECT_BYTES_MAX} are read"),
            });
        }
        let bytes = std::fs::read(path).map_err(cannot)?;
        let line = Line {
            number: 1,
            bytes,
            is_too_long: false,
            is_ended: true,
        };
        self.line(&line, path, output)?;
        output.progress(size);
        Ok(())
    }

    fn line(
        &mut self,
        line: &Line,
        path: &Path,
        output: &mut Output<'_>,
    ) -> Result<(), ImportError> {
        output.report.records += 1;
        let text = String::from_utf8_lossy(&line.bytes);
        let record = match serde_json::from_str::<Record<'_>>(&text) {
            Ok(record) if !line.is_too_long => record,
            // The last line of a file that is still being written.
            Err(_) if !line.is_ended && !line.is_too_long => return Ok(()),
            other => {
                let reason = match other {
                    Ok(_) => "the line is too long to be read".to_owned(),
                    Err(error) => format!("not a record of a session: {error}"),
                };
                output.report.malformed += 1;
                output.notice(Some(line.number), &*reason);
                // What it changed is not known, so no later context is.
                self.lost = Some(format!("line {} could not be read", line.number));
                self.started(None, path, output)?.malformed(line, &reason);
                return Ok(());
            }
        };
        self.started(Some(&record), path, output)?
            .at_line(line.number);
        self.record(line.number, &record, &text, output);
        if let Some(recording) = &mut self.recording {
            output.drain(recording)?;
        }
        Ok(())
    }

    fn started(
        &mut self,
        record: Option<&Record<'_>>,
        path: &Path,
        output: &mut Output<'_>,
    ) -> Result<&mut Recording, ImportError> {
        if self.recording.is_none() {
            let native = record.and_then(|record| record.session.clone());
            let is_subagent =
                record.is_some_and(|record| record.kind.as_deref() == Some("subagent"));
            // The folder of a sub-agent's file has the id of the session that started it.
            let folder = path.parent().and_then(Path::file_name);
            let parent = match folder.filter(|_| is_subagent) {
                Some(folder) => Some(ParentSession {
                    session: output.session_id("gemini", &folder.to_string_lossy())?,
                    call_id: None,
                }),
                None => None,
            };
            self.recording = Some(output.start(NewSession {
                prefix: "gemini",
                native_id: native.unwrap_or_default(),
                agent: Some("gemini-cli".to_owned()),
                time: record.and_then(|record| record.start_time.clone()),
                started: SessionStarted {
                    parent,
                    ..SessionStarted::default()
                },
            })?);
        }
        Ok(self
            .recording
            .as_mut()
            .expect("it was started one line before"))
    }

    fn record(&mut self, number: u64, record: &Record<'_>, text: &str, output: &mut Output<'_>) {
        if let Some(target) = &record.rewind_to {
            self.close();
            self.rewind(number, target);
        } else if let Some(patch) = record.patch {
            self.close();
            self.lost = Some(format!(
                "line {number} patches messages in a way that is not read"
            ));
            self.keep("custom.gemini.patch", number, patch.get());
            output.notice(Some(number), "a $patch record is kept and not applied; contexts after it are not known as a whole");
        } else if let Some(id) = &record.id {
            match Message::parse(text) {
                Ok(message) if message.is_spoken() => self.message(message),
                Ok(message) => {
                    let kind = format!("custom.gemini.{}", message.kind);
                    self.keep(&kind, number, text);
                }
                Err(error) => output.notice(
                    Some(number),
                    format!("the message {id} cannot be read: {error}"),
                ),
            }
        } else if let Some(set) = record.set {
            let messages = serde_json::from_str::<Set<'_>>(set.get())
                .ok()
                .and_then(|set| set.messages);
            match messages {
                Some(messages) => {
                    self.close();
                    self.replaced(number, &messages, output);
                }
                None => self.keep("custom.gemini.set", number, set.get()),
            }
        } else if let Some(messages) = &record.messages {
            // The older form, or a session that goes on from one.
            for raw in messages {
                match Message::parse(raw.get()) {
                    Ok(message) if message.is_spoken() => self.message(message),
                    Ok(_) => {}
                    Err(error) => {
                        output.notice(Some(number), format!("a message cannot be read: {error}"))
                    }
                }
            }
        }
    }

    fn keep(&mut self, kind: &str, number: u64, record: &str) {
        if let Some(recording) = &mut self.recording {
            recording.raw(kind, number, None, record);
        }
    }

    /// A message, new or written again.
    fn message(&mut self, message: Message) {
        if let Some(growing) = &mut self.growing
            && growing.message.id == message.id
        {
            growing.message = message;
            return;
        }
        self.close();
        if self.history.position(&message.id).is_some() {
            // An earlier message was written again: mostly its results came in.
            let turn = self.recording.as_ref().map_or(0, Recording::turn);
            self.acted(&message, turn);
            if let Some(recording) = &mut self.recording {
                let entry = self.history.entry(recording, &message.id, message.parts());
                self.history.replace(entry);
            }
        } else if message.is_models() {
            let turn = self.recording.as_mut().map_or(0, Recording::next_turn);
            self.growing = Some(Growing { message, turn });
        } else if let Some(recording) = &mut self.recording {
            let entry = self.history.entry(recording, &message.id, message.parts());
            self.history.push(entry);
        }
    }

    /// Writes the model's message that was growing: the request before it, the answer, its calls and their results.
    fn close(&mut self) {
        let Some(Growing { message, turn }) = self.growing.take() else {
            return;
        };
        let Some(recording) = &mut self.recording else {
            return;
        };
        for (id, mutation) in self.mutations.drain(..) {
            let mutation = ContextMutated { turn, ..mutation };
            recording.event(&id, &EventType::ContextMutated, None, &mutation);
        }
        let time = message.time.as_deref();
        let incomplete = match &self.lost {
            Some(lost) => format!("{INCOMPLETE}; {lost}"),
            None => INCOMPLETE.to_owned(),
        };
        let captured = ContextCaptured {
            turn,
            tokens: message.usage().map(|usage| TokenCount {
                count: usage.input_tokens,
                source: TokenSource::Measured,
            }),
            incomplete: Some(incomplete),
            ..ContextCaptured::default()
        };
        // The counts come last, so a file that is still being written may lack them: with them, it is another event.
        let name = match message.usage() {
            Some(_) => format!("request.{}", message.id),
            None => format!("request.{}.uncounted", message.id),
        };
        self.history
            .request(recording, &name, time, captured, &HashSet::new());
        let answer = message.answer(turn);
        // What a message says may still grow: another version of it is another event.
        let version = ContentHash::of(format!("{answer:?}").as_bytes()).short();
        recording.answer(&format!("response.{}.{version}", message.id), answer);
        let entry = self.history.entry(recording, &message.id, message.parts());
        self.history.push(entry);
        self.acted(&message, turn);
    }

    /// Writes calls and results that were not written yet.
    fn acted(&mut self, message: &Message, turn: u32) {
        let Some(recording) = &mut self.recording else {
            return;
        };
        for (call, returned) in message.actions(turn) {
            if self.called.insert(call.id.clone()) {
                recording.call(call);
            }
            if let Some(returned) =
                returned.filter(|returned| self.returned.insert(returned.call_id.clone()))
            {
                recording.returned(returned);
            }
        }
    }

    fn finish(mut self, output: &mut Output<'_>) -> Result<(), ImportError> {
        self.close();
        let Some(mut recording) = self.recording else {
            return Ok(());
        };
        let turn = recording.turn() + 1;
        for (id, mutation) in self.mutations {
            let mutation = ContextMutated { turn, ..mutation };
            recording.event(&id, &EventType::ContextMutated, None, &mutation);
        }
        output.notice(
            None,
            format!("{INCOMPLETE}: a rule that is not found in the messages is unknown, not without trace"),
        );
        output.finish(recording)
    }
}

#[cfg(test)]
mod tests;
