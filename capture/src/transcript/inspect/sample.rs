//! One sample as sessions: its agent's, and one for each agent that it started.

mod input;

use std::collections::{BTreeMap, HashMap};

use remembrancer_schema::payload::{
    DecisionRecorded, EventType, ParentSession, ReturnStatus, ScoreAssigned, SessionStarted,
    Verdict,
};
use serde_json::Value;

use super::event::{Approval, Attachments, Common, Compaction, Said, SpanBegin, ToolRun};
use super::log::{Header, Sample};
use super::session::Agent;
use crate::transcript::{ImportError, NewSession, Output, Returned};

/// Events that are kept as they are.
const KEPT: [&str; 8] = [
    "branch",
    "checkpoint",
    "error",
    "info",
    "input",
    "interrupt",
    "sample_limit",
    "sandbox",
];
/// How deep spans may nest.
const SPANS_DEEP_MAX: usize = 256;
/// Scores that are letters, with what Inspect takes them for.
const LETTERS: [(&str, f64); 4] = [("C", 1.0), ("P", 0.5), ("I", 0.0), ("N", 0.0)];

/// A span, and whether an agent works in it.
struct Span {
    parent: Option<String>,
    is_agent: bool,
    name: Option<String>,
}

/// A sample that is being imported.
pub(super) struct Session<'a> {
    sample: &'a Sample<'a>,
    header: &'a Header,
    attachments: Attachments<'a>,
    native: String,
    spans: HashMap<String, Span>,
    /// The call that started an agent, by the agent's span.
    started_by: HashMap<String, String>,
    /// Messages of the pool, once read.
    pool: Vec<Option<Said>>,
    /// By the span of the agent; none for the sample's own.
    agents: BTreeMap<Option<String>, Agent>,
    passed_over: BTreeMap<String, u64>,
}

impl<'a> Session<'a> {
    pub(super) fn import(
        sample: &'a Sample<'a>,
        header: &'a Header,
        output: &mut Output<'_>,
    ) -> Result<(), ImportError> {
        let id = sample.id.get().trim_matches('"');
        let composed = || {
            let eval = header.eval.eval_id.as_deref().unwrap_or("log");
            format!("{eval}.{id}.{}", sample.epoch)
        };
        let pool = sample
            .events_data
            .as_ref()
            .map_or(0, |data| data.messages.len());
        let mut session = Self {
            sample,
            header,
            attachments: Attachments::new(&sample.attachments),
            native: sample.uuid.clone().unwrap_or_else(composed),
            spans: HashMap::new(),
            started_by: HashMap::new(),
            pool: vec![None; pool],
            agents: BTreeMap::new(),
            passed_over: BTreeMap::new(),
        };
        session.look_ahead();
        for (at, raw) in sample.events.iter().enumerate() {
            output.report.records += 1;
            if let Err(error) = session.event(at as u64 + 1, raw.get(), output)? {
                output.report.malformed += 1;
                output.notice(Some(at as u64 + 1), format!("sample {id}: {error}"));
            }
        }
        session.finish(output)
    }

    /// Spans and the calls that started agents are told after what happens in them.
    fn look_ahead(&mut self) {
        for raw in &self.sample.events {
            let json = raw.get();
            // The end of a span names it too.
            if let Ok(begin) = serde_json::from_str::<SpanBegin>(json)
                && begin.event == "span_begin"
            {
                let span = Span {
                    parent: begin.parent_id,
                    is_agent: begin.kind.as_deref() == Some("agent"),
                    name: begin.name,
                };
                self.spans.insert(begin.id.clone(), span);
            }
            if let Ok(run) = serde_json::from_str::<ToolRun<'_>>(json)
                && let Some(span) = run.agent_span_id
            {
                self.started_by.insert(span, run.id);
            }
        }
    }

    /// Reads one event. The inner error is of the event alone.
    fn event(
        &mut self,
        number: u64,
        json: &str,
        output: &mut Output<'_>,
    ) -> Result<Result<(), serde_json::Error>, ImportError> {
        let common: Common = match serde_json::from_str(json) {
            Ok(common) => common,
            Err(error) => return Ok(Err(error)),
        };
        let key = self.agent_span(common.span_id.as_deref());
        let kind = common.event.clone();
        let is_used = matches!(
            kind.as_str(),
            "model" | "tool" | "compaction" | "approval" | "score"
        ) || KEPT.contains(&kind.as_str());
        if !is_used {
            if !matches!(
                kind.as_str(),
                "span_begin" | "span_end" | "step" | "sample_init"
            ) {
                *self.passed_over.entry(kind).or_default() += 1;
            }
            return Ok(Ok(()));
        }
        self.start(&key, common.timestamp.as_deref(), output)?;
        let outcome = match kind.as_str() {
            "model" => self.model(&key, &common, number, json),
            "tool" => self.tool(&key, json),
            "compaction" => serde_json::from_str::<Compaction>(json).map(|compaction| {
                let id = common.uuid.clone().unwrap_or_else(|| number.to_string());
                if let Some(agent) = self.agents.get_mut(&key) {
                    agent.compacted(id, &compaction);
                }
            }),
            "approval" => self.approval(&key, &common, number, json),
            _ => {
                if let Some(agent) = self.agents.get_mut(&key) {
                    agent.settle();
                    let kind = format!("custom.inspect.{kind}");
                    let time = common.timestamp.as_deref();
                    agent.recording.raw(&kind, number, time, json);
                }
                Ok(())
            }
        };
        if let Some(agent) = self.agents.get_mut(&key) {
            output.drain(&mut agent.recording)?;
        }
        Ok(outcome)
    }

    /// The span of the agent whose event it is: the nearest one that stands within another agent's, else none.
    fn agent_span(&self, span: Option<&str>) -> Option<String> {
        let mut at = span;
        let mut nearest: Option<&str> = None;
        for _ in 0..SPANS_DEEP_MAX {
            let id = at?;
            let found = self.spans.get(id)?;
            match (found.is_agent, nearest) {
                (true, None) => nearest = Some(id),
                (true, Some(own)) => return Some(own.to_owned()),
                (false, _) => {}
            }
            at = found.parent.as_deref();
        }
        None
    }

    /// Starts the session of an agent, once; the sample's own comes first.
    fn start(
        &mut self,
        key: &Option<String>,
        time: Option<&str>,
        output: &mut Output<'_>,
    ) -> Result<(), ImportError> {
        if self.agents.contains_key(key) {
            return Ok(());
        }
        if key.is_some() {
            self.start(&None, time, output)?;
        }
        let eval = &self.header.eval;
        let sample = self.sample.id.get().trim_matches('"').to_owned();
        let labels = [
            ("task", eval.task.clone()),
            ("sample", Some(sample.clone())),
            ("epoch", Some(self.sample.epoch.to_string())),
            ("eval_id", eval.eval_id.clone()),
            ("run_id", eval.run_id.clone()),
        ];
        let labels = labels
            .into_iter()
            .filter_map(|(name, value)| Some((name.to_owned(), value?)));
        let parent = match key {
            Some(span) => Some(ParentSession {
                session: output.session_id("inspect", &self.native)?,
                call_id: self.started_by.get(span).cloned(),
            }),
            None => None,
        };
        let name = key
            .as_deref()
            .and_then(|span| self.spans.get(span)?.name.clone());
        let native_id = match key {
            Some(span) => format!("{}.{span}", self.native),
            None => self.native.clone(),
        };
        let task = eval.task.as_deref().unwrap_or("task");
        let recording = output.start(NewSession {
            prefix: "inspect",
            native_id,
            agent: name.or_else(|| eval.model.clone()),
            time: time.map(str::to_owned).or_else(|| eval.created.clone()),
            started: SessionStarted {
                label: Some(format!(
                    "{task}, sample {sample}, epoch {}",
                    self.sample.epoch
                )),
                labels: labels.collect(),
                model: eval.model.clone(),
                parent,
                ..SessionStarted::default()
            },
        })?;
        self.agents.insert(key.clone(), Agent::new(recording));
        Ok(())
    }

    fn tool(&mut self, key: &Option<String>, json: &str) -> Result<(), serde_json::Error> {
        let run: ToolRun<'_> = serde_json::from_str(json)?;
        let Some(agent) = self.agents.get_mut(key) else {
            return Ok(());
        };
        agent.settle();
        let error = run.error.filter(|error| error.get() != "null");
        let is_denied = error.is_some_and(|error| {
            let kind = serde_json::from_str::<Value>(error.get()).ok();
            let kind = kind.and_then(|error| error.get("type")?.as_str().map(str::to_owned));
            kind.as_deref() == Some("approval")
        });
        let result = error.or(run.result);
        agent.recording.returned(Returned {
            call_id: run.id,
            tool: run.function,
            status: match (error, is_denied) {
                (None, _) => ReturnStatus::Ok,
                (Some(_), true) => ReturnStatus::Denied,
                (Some(_), false) => ReturnStatus::Error,
            },
            result: result.map(|raw| self.attachments.resolve(raw.get()).0),
            time: run.completed,
        });
        Ok(())
    }

    fn approval(
        &mut self,
        key: &Option<String>,
        common: &Common,
        number: u64,
        json: &str,
    ) -> Result<(), serde_json::Error> {
        let approval: Approval = serde_json::from_str(json)?;
        let Some(agent) = self.agents.get_mut(key) else {
            return Ok(());
        };
        agent.settle();
        let decision = approval.decision.unwrap_or_default();
        let verdict = match decision.as_str() {
            "approve" | "modify" => Some(Verdict::Allow),
            "reject" | "terminate" => Some(Verdict::Deny),
            _ => None,
        };
        let is_plain = matches!(decision.as_str(), "" | "approve" | "reject");
        let data = DecisionRecorded {
            decider: approval.approver.unwrap_or_else(|| "approver".to_owned()),
            call_id: Some(approval.call.id),
            verdict,
            enforced: verdict.is_some(),
            flags: if is_plain { Vec::new() } else { vec![decision] },
            violations: Vec::new(),
            reason: approval.explanation,
            reference: common.uuid.clone(),
            witness: None,
        };
        let id = format!("approval.{number}");
        let time = common.timestamp.as_deref();
        agent
            .recording
            .event(&id, &EventType::DecisionRecorded, time, &data);
        Ok(())
    }

    fn finish(mut self, output: &mut Output<'_>) -> Result<(), ImportError> {
        for (kind, count) in &self.passed_over {
            output.notice(
                None,
                format!("{count} events of type {kind} say nothing of contexts or actions and are not imported"),
            );
        }
        self.scores();
        for (_, mut agent) in std::mem::take(&mut self.agents) {
            agent.settle();
            agent.flush();
            output.finish(agent.recording)?;
        }
        Ok(())
    }

    /// The sample's scores: numbers as they are, letters as Inspect takes them.
    fn scores(&mut self) {
        let Some(agent) = self.agents.get_mut(&None) else {
            return;
        };
        agent.settle();
        agent.flush();
        for (scorer, raw) in self.sample.scores.iter().flatten() {
            let Ok(score) = serde_json::from_str::<Value>(raw.get()) else {
                continue;
            };
            let value = score.get("value").unwrap_or(&Value::Null);
            let letter = LETTERS
                .iter()
                .find(|(letter, _)| value.as_str() == Some(letter));
            let Some(number) = value.as_f64().or(letter.map(|(_, number)| *number)) else {
                continue;
            };
            let data = ScoreAssigned {
                criterion: scorer.clone(),
                value: number,
                out_of: letter.map(|_| 1.0),
                assigned_by: Some(scorer.clone()),
                witness: None,
            };
            let id = format!("score.{scorer}");
            agent
                .recording
                .event(&id, &EventType::ScoreAssigned, None, &data);
        }
    }
}
