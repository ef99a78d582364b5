//! The context of every request, rebuilt from archives and ledgers.
//!
//! Before a compaction, the archive that it left holds the messages of every earlier request. At a compaction, the context is
//! the recorded head and the last messages of that archive, with the results that were stubbed. After the last compaction
//! there is no archive: the context grows by each response's calls and their returns, in the order of the calls.

use std::collections::{BTreeMap, BTreeSet};

use super::json::Json;
use super::line::{Line, LineKind};
use super::rows::{Compaction, MemoryRow, Message, ToolRow};
use super::run::Run;

/// The text that the application puts in place of a long result in the tail of a compacted request. Read from the archives
/// of runs that were compacted again; part of what their hashes cover.
pub(super) fn stub(tool: &str, call_id: &str) -> String {
    format!(
        "[result compacted by the continuity manager: {tool} tool_call_id={call_id}; see the continuity/summary message \
         above. The original is kept in the run's redacted execution record.]"
    )
}

/// Most bytes that all rebuilt contexts may have together.
const CONTEXT_BYTES_MAX: usize = 512 * 1024 * 1024;

/// The lines of every request that can be rebuilt, by step, and why others cannot.
pub(super) struct Contexts {
    pub(super) by_step: BTreeMap<u32, Vec<Line>>,
    pub(super) notices: Vec<String>,
}

impl Contexts {
    pub(super) fn rebuild(run: &Run) -> Self {
        let mut by_step: BTreeMap<u32, Vec<Line>> = BTreeMap::new();
        let mut notices = Vec::new();
        let mut bytes = 0usize;
        for (&step, request) in &run.requests {
            let rebuilt = if let Some(compaction) = run.compaction_at(step) {
                at_compaction(run, compaction)
            } else if let Some(next) = run.compactions.iter().find(|row| row.run_step > step) {
                before_compaction(run, next, request.n_messages)
            } else {
                step.checked_sub(1)
                    .and_then(|previous| by_step.get(&previous))
                    .ok_or_else(|| "the request before it could not be rebuilt".to_owned())
                    .and_then(|previous| extended(run, previous, step - 1))
            };
            let rebuilt = rebuilt.and_then(|lines| {
                bytes += lines.iter().map(|line| line.words().len()).sum::<usize>();
                if bytes > CONTEXT_BYTES_MAX {
                    return Err("the contexts are too large together".to_owned());
                }
                Ok(lines)
            });
            match rebuilt {
                Ok(lines) => {
                    by_step.insert(step, lines);
                }
                Err(reason) => {
                    notices.push(format!("request {step}: context not rebuilt: {reason}"));
                }
            }
        }
        Self { by_step, notices }
    }
}

fn instructions(compaction: &Compaction) -> Line {
    Line::text(
        LineKind::Instructions,
        None,
        compaction.instructions_text.clone(),
    )
}

fn archive<'a>(run: &'a Run, compaction: &Compaction) -> &'a [Message] {
    run.archives
        .get(&compaction.compaction_id)
        .map_or(&[], Vec::as_slice)
}

fn before_compaction(run: &Run, next: &Compaction, count: u64) -> Result<Vec<Line>, String> {
    let messages = archive(run, next);
    let count = usize::try_from(count).unwrap_or(usize::MAX);
    let messages = messages
        .get(..count)
        .ok_or_else(|| format!("{} has only {} messages", next.archive_ref, messages.len()))?;
    let mut lines = vec![instructions(next)];
    for (index, message) in (0u32..).zip(messages) {
        push_message(run, &mut lines, index, message, &BTreeSet::new())?;
    }
    Ok(lines)
}

fn at_compaction(run: &Run, compaction: &Compaction) -> Result<Vec<Line>, String> {
    let mut lines = vec![instructions(compaction)];
    push_head(run, &mut lines, compaction);
    let stubbed = compaction
        .tail_stubbed_tool_call_ids
        .iter()
        .map(String::as_str)
        .collect();
    for (index, message) in (1u32..).zip(tail(archive(run, compaction))) {
        push_message(run, &mut lines, index, message, &stubbed)?;
    }
    Ok(lines)
}

/// The messages that a compaction keeps: the last returns with the response that asked for them, or else the last message.
pub(super) fn tail(messages: &[Message]) -> &[Message] {
    let count = match messages {
        [.., response, returns]
            if response.kind == "response"
                && returns
                    .parts
                    .iter()
                    .any(|part| part.part_kind == "tool-return") =>
        {
            2
        }
        [] => 0,
        _ => 1,
    };
    &messages[messages.len() - count..]
}

fn push_message(
    run: &Run,
    lines: &mut Vec<Line>,
    index: u32,
    message: &Message,
    stubbed: &BTreeSet<&str>,
) -> Result<(), String> {
    for part in &message.parts {
        let content = part.content.clone().unwrap_or(Json::Null);
        let call_id = part.tool_call_id.as_deref();
        let tool = part.tool_name.as_deref();
        let of_call = |kind, content| Line::of_call(kind, index, call_id, tool, content);
        match part.part_kind.as_str() {
            "user-prompt" => {
                let text = content.to_content();
                let head = run
                    .compactions
                    .iter()
                    .find(|row| row.assembled_head == text);
                match head {
                    Some(compaction) if index == 0 => push_head(run, lines, compaction),
                    _ => lines.push(Line::text(LineKind::User, Some(index), text)),
                }
            }
            "text" => lines.push(Line::text(
                LineKind::Text,
                Some(index),
                content.to_content(),
            )),
            "tool-call" => {
                let args = part.args.clone().unwrap_or(Json::Null);
                lines.push(of_call(LineKind::Call, args));
            }
            "tool-return" => {
                let stub = stub(tool.unwrap_or_default(), call_id.unwrap_or_default());
                let is_now = call_id.is_some_and(|id| stubbed.contains(id));
                let is_stub = is_now || content.as_str() == Some(stub.as_str());
                let content = if is_now { Json::String(stub) } else { content };
                lines.push(Line {
                    is_stub,
                    ..of_call(LineKind::Return, content)
                });
            }
            "retry-prompt" => lines.push(of_call(LineKind::Retry, content)),
            // Not rendered, so not hashed; no part of the text that the application checks.
            "thinking" => {}
            // Instructions precede the messages.
            "system-prompt" => {}
            other => {
                return Err(format!(
                    "message {index} has a part of unknown kind {other:?}"
                ));
            }
        }
    }
    Ok(())
}

/// Adds the lines of the response to `step` and of what its calls returned.
fn extended(run: &Run, previous: &[Line], step: u32) -> Result<Vec<Line>, String> {
    let response = run
        .responses
        .get(&step)
        .ok_or_else(|| format!("request {step} has no recorded response"))?;
    let mut lines = previous.to_vec();
    let index = previous.iter().filter_map(|line| line.message).max();
    let index = index.map_or(0, |last| last + 1);
    for text in &response.text_parts {
        lines.push(Line::text(LineKind::Text, Some(index), text.clone()));
    }
    let mut rows = Vec::new();
    for call in &response.tool_calls {
        let row = run.tool(&call.tool_call_id);
        let row = row.ok_or_else(|| format!("call {} has no tool row", call.tool_call_id))?;
        rows.push(row);
    }
    let mut push = |kind, index, content: fn(&ToolRow) -> Json| {
        for row in &rows {
            let (id, tool) = (
                Some(row.tool_call_id.as_str()),
                Some(row.tool_name.as_str()),
            );
            lines.push(Line::of_call(kind, index, id, tool, content(row)));
        }
    };
    push(LineKind::Call, index, ToolRow::args);
    push(LineKind::Return, index + 1, ToolRow::result);
    Ok(lines)
}

/// Splits the block that replaced compacted messages into what was pinned, what the summarizer wrote, and the rest, at line
/// ends, so that the pieces joined by line feeds are the block again.
fn push_head(run: &Run, lines: &mut Vec<Line>, compaction: &Compaction) {
    let head = compaction.assembled_head.as_str();
    let summary = summary_line(head, &compaction.summary_text);
    let pins: Vec<(String, &MemoryRow)> = run
        .memory_of(&compaction.compaction_id)
        .filter(|row| row.exposed)
        .map(|row| {
            (
                format!("- [{}] {}", row.sigma.tool_call_ids.join(", "), row.text),
                row,
            )
        })
        .collect();
    let mut by_first_line: BTreeMap<&str, Vec<&(String, &MemoryRow)>> = BTreeMap::new();
    for pin in &pins {
        let first_line = pin.0.lines().next().unwrap_or_default();
        by_first_line.entry(first_line).or_default().push(pin);
    }
    let is_baseline = pins.is_empty() && head.ends_with(&compaction.summary_text);
    if is_baseline {
        let kind = if compaction.summary_text.is_empty() {
            LineKind::HeadMemory
        } else {
            LineKind::HeadSummary
        };
        lines.push(Line::text(kind, Some(0), head));
        return;
    }
    let mut plain = String::new();
    let mut at = 0;
    let mut is_plain_open = false;
    while at <= head.len() {
        let rest = &head[at..];
        let ends_line = |piece: &str| {
            rest.starts_with(piece)
                && matches!(rest.as_bytes().get(piece.len()), None | Some(b'\n'))
        };
        let first_line = &rest[..rest.find('\n').unwrap_or(rest.len())];
        let mut candidates = by_first_line.get(first_line).into_iter().flatten();
        let pin = candidates.find(|(text, _)| ends_line(text));
        let (piece, line) = if let Some((text, row)) = pin {
            let line = Line {
                name: Some(row.entry_id.clone()),
                sources: row.sigma.tool_call_ids.clone(),
                ..Line::text(LineKind::HeadMemory, Some(0), text.clone())
            };
            (text.len(), Some(line))
        } else if let Some((start, end)) = summary.filter(|&(start, _)| start == at) {
            let line = Line::text(LineKind::HeadSummary, Some(0), &head[start..end]);
            (end - start, Some(line))
        } else {
            if is_plain_open {
                plain.push('\n');
            }
            plain.push_str(first_line);
            is_plain_open = true;
            (first_line.len(), None)
        };
        if let Some(line) = line {
            if std::mem::take(&mut is_plain_open) {
                let text = std::mem::take(&mut plain);
                lines.push(Line::text(LineKind::HeadMemory, Some(0), text));
            }
            lines.push(line);
        }
        at += piece + 1;
    }
    if is_plain_open {
        lines.push(Line::text(LineKind::HeadMemory, Some(0), plain));
    }
}

/// Where the line that ends with the summary starts and ends.
fn summary_line(head: &str, summary: &str) -> Option<(usize, usize)> {
    if summary.is_empty() {
        return None;
    }
    head.match_indices(summary)
        .map(|(at, _)| (at, at + summary.len()))
        .filter(|&(_, end)| matches!(head.as_bytes().get(end), None | Some(b'\n')))
        .last()
        .map(|(at, end)| (head[..at].rfind('\n').map_or(0, |feed| feed + 1), end))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_summary_line_is_the_last_one_that_ends_with_the_summary() {
        let head = "a: x\nlabel: x\nb\nlast";
        assert_eq!(summary_line(head, "x"), Some((5, 13)));
        assert_eq!(summary_line(head, "x\nb"), Some((5, 15)));
        assert_eq!(summary_line(head, "last"), Some((16, 20)));
        assert_eq!(summary_line(head, "labe"), None);
        assert_eq!(summary_line(head, ""), None);
    }

    #[test]
    fn the_tail_is_the_last_returns_with_their_calls() {
        let message = |kind: &str, part: &str| -> Message {
            let text = format!(r#"{{"kind":"{kind}","parts":[{{"part_kind":"{part}"}}]}}"#);
            serde_json::from_str(&text).expect("a message")
        };
        let user = || message("request", "user-prompt");
        let calls = || message("response", "tool-call");
        let returns = || message("request", "tool-return");
        assert_eq!(tail(&[user(), calls(), returns()]).len(), 2);
        assert_eq!(tail(&[user(), calls(), user()]).len(), 1);
        assert_eq!(tail(&[returns()]).len(), 1);
        assert_eq!(tail(&[]).len(), 0);
    }
}
