//! The run as events, in the order in which it went: what was declared, then request, response, calls and returns of each
//! step, then the report and what others made of it.

use std::collections::{BTreeMap, BTreeSet};

use remembrancer_schema::SessionId;
use remembrancer_schema::payload::{
    ArtifactChanged, ContextCaptured, ContextProof, DecisionRecorded, EventType, IntentDeclared,
    ModelResponded, ProofOutcome, ReportFiled, RequestedCall, ScoreAssigned, SessionEnded,
    StatedBy, TokenCount, TokenSource, Usage, Witness,
};
use serde::Serialize;
use serde_json::json;
use serde_json::value::RawValue;

use super::contexts::Contexts;
use super::declarations::{constraints, operator, scope, started};
use super::evaluation::Evaluation;
use super::joins::Joins;
use super::line::Line;
use super::manifest::CheckedFiles;
use super::mission::Mission;
use super::rows::{Compaction, TraceEvent};
use super::run::Run;
use super::{ImportError, claims, mutation, proof};
use crate::{SessionWriter, Written};

const SCORER: &str = "mission-continuity evaluate.py, as recorded in run/results.json";

/// Everything that events are made of.
pub(super) struct Source<'a> {
    pub(super) files: &'a CheckedFiles,
    pub(super) run: &'a Run,
    pub(super) contexts: &'a Contexts,
    pub(super) outcomes: &'a BTreeMap<u32, ProofOutcome>,
    pub(super) mission: Option<&'a Mission>,
    pub(super) joins: &'a Joins,
    pub(super) evaluation: &'a Evaluation,
}

/// Writes the events of a run.
pub(super) fn write(source: &Source<'_>, session: SessionId) -> Result<Written, ImportError> {
    let agent = source
        .run
        .main_trace()
        .first()
        .map(|event| event.agent_id.parse())
        .transpose()?;
    let mut writer = RunWriter(SessionWriter::new(session, agent, Witness::Transcript));
    writer.declarations(source)?;
    let steps: BTreeSet<u32> = source
        .run
        .requests
        .keys()
        .chain(source.run.responses.keys())
        .chain(source.run.tools.iter().map(|row| &row.run_step))
        .copied()
        .collect();
    for step in steps {
        writer.step(source, step)?;
    }
    writer.outcome(source)?;
    Ok(writer.0.take())
}

struct RunWriter(SessionWriter);

impl RunWriter {
    fn push<T: Serialize>(
        &mut self,
        id: String,
        kind: &EventType,
        time: &str,
        data: &T,
    ) -> Result<(), ImportError> {
        Ok(self.0.push(&id, kind, Some(time), data)?)
    }

    fn declarations(&mut self, source: &Source<'_>) -> Result<(), ImportError> {
        let run = source.run;
        let start = run.settings.started_at.as_str();
        self.push(
            "run".into(),
            &EventType::SessionStarted,
            start,
            &started(source),
        )?;
        if let Some(mission) = source.mission {
            let intent = IntentDeclared {
                objective: mission.objective.clone(),
                targets: Vec::new(),
                stated_by: Some(operator(mission)),
                witness: None,
            };
            self.push(
                "intent-mission".into(),
                &EventType::IntentDeclared,
                start,
                &intent,
            )?;
        }
        for event in run.main_trace() {
            let Some(objective) = &event.payload.stated_objective else {
                continue;
            };
            let intent = IntentDeclared {
                objective: objective.clone(),
                targets: event.payload.session_scope_hint.clone(),
                stated_by: Some(StatedBy {
                    role: "application".to_owned(),
                    name: Some(event.agent_id.clone()),
                    source: Some("Sentience Governor, INTENT_DECLARED".to_owned()),
                }),
                witness: None,
            };
            let id = format!("gov-{}", event.event_id);
            self.push(
                id,
                &EventType::IntentDeclared,
                &event.timestamp_utc,
                &intent,
            )?;
        }
        if let Some(mission) = source.mission {
            self.push(
                "scope".into(),
                &EventType::ScopeDeclared,
                start,
                &scope(mission),
            )?;
        }
        for constraint in constraints(source.mission)? {
            let id = format!("constraint-{}", constraint.id);
            self.push(id, &EventType::ConstraintDeclared, start, &constraint)?;
        }
        Ok(())
    }

    fn step(&mut self, source: &Source<'_>, step: u32) -> Result<(), ImportError> {
        let run = source.run;
        if let Some(compaction) = run.compaction_at(step) {
            let mutated = mutation::declared(run, source.contexts, compaction);
            let id = format!("mutation-{}", compaction.compaction_id);
            self.push(id, &EventType::ContextMutated, &compaction.ts, &mutated)?;
            self.artifacts(source, compaction)?;
        }
        self.capture(source, step)?;
        let Some(response) = run.responses.get(&step) else {
            return self.calls(run, step);
        };
        let snapshot = response.provider_response_id.as_deref();
        let snapshot = snapshot.and_then(|id| run.snapshot_of(id));
        let responded = ModelResponded {
            turn: step,
            response_id: response.provider_response_id.clone(),
            text: response.text_parts.clone(),
            calls: response
                .tool_calls
                .iter()
                .map(|call| RequestedCall {
                    call_id: call.tool_call_id.clone(),
                    tool: call.tool_name.clone(),
                })
                .collect(),
            usage: Some(Usage {
                input_tokens: response.input_tokens,
                output_tokens: response.output_tokens,
                ..Usage::default()
            }),
            model: snapshot.and_then(|event| event.payload.model_identifier.clone()),
            stop_reason: None,
            witness: None,
        };
        self.push(
            format!("res-{step}"),
            &EventType::ModelResponded,
            &response.ts,
            &responded,
        )?;
        self.calls(run, step)
    }

    fn capture(&mut self, source: &Source<'_>, step: u32) -> Result<(), ImportError> {
        let (Some(request), Some(lines)) = (
            source.run.requests.get(&step),
            source.contexts.by_step.get(&step),
        ) else {
            return Ok(());
        };
        let response = source.run.responses.get(&step);
        let captured = ContextCaptured {
            turn: step,
            parts: lines.iter().map(Line::to_part).collect(),
            tokens: response.map(|response| TokenCount {
                count: response.input_tokens,
                source: TokenSource::Measured,
            }),
            witness: Some(Witness::Transcript),
            proof: source.outcomes.get(&step).map(|&outcome| ContextProof {
                method: proof::METHOD.to_owned(),
                expected: request.context_sha256.clone(),
                outcome,
            }),
            ..ContextCaptured::default()
        };
        let id = format!("req-{step}");
        Ok(self.0.context(&id, Some(&request.ts), captured)?)
    }

    fn decision(&mut self, event: &TraceEvent) -> Result<(), ImportError> {
        let decision = DecisionRecorded {
            decider: "Sentience Governor".to_owned(),
            call_id: event.payload.tool_use_id.clone(),
            verdict: None,
            enforced: !event.pass_through,
            flags: event.advisory_flags.clone(),
            violations: event.policy_violations.clone(),
            reason: event.simulated_consequence.clone(),
            reference: Some(event.event_id.clone()),
            witness: None,
        };
        let id = format!("gov-{}", event.event_id);
        self.push(
            id,
            &EventType::DecisionRecorded,
            &event.timestamp_utc,
            &decision,
        )
    }

    /// What a compaction left on disk.
    fn artifacts(
        &mut self,
        source: &Source<'_>,
        compaction: &Compaction,
    ) -> Result<(), ImportError> {
        let name = &compaction.compaction_id;
        let memory: Vec<&str> = source
            .run
            .memory_of(name)
            .map(|row| row.line.as_str())
            .collect();
        let memory = (!memory.is_empty()).then(|| memory.join("\n").into_bytes());
        let file = |path: &str| source.files.get(path).map(<[u8]>::to_vec);
        let archive = format!("run/{}", compaction.archive_ref);
        let checkpoint = format!("run/checkpoints/ckpt-{name}.json");
        let kept = [
            ("archive", archive.clone(), file(&archive)),
            ("memory", "run/memory.jsonl".to_owned(), memory),
            ("checkpoint", checkpoint.clone(), file(&checkpoint)),
        ];
        for (kind, path, bytes) in kept {
            let Some(bytes) = bytes else { continue };
            let mut introduced = Vec::new();
            let hash = self.0.blob(bytes, &mut introduced);
            let changed = ArtifactChanged {
                name: path,
                kind: Some(kind.to_owned()),
                hash: Some(hash),
                text: None,
                turn: compaction.run_step.checked_sub(1),
                witness: None,
            };
            self.0.push_with_blobs(
                &format!("{kind}-{name}"),
                &EventType::ArtifactChanged,
                Some(&compaction.ts),
                &changed,
                &introduced,
            )?;
        }
        Ok(())
    }

    fn outcome(&mut self, source: &Source<'_>) -> Result<(), ImportError> {
        let run = source.run;
        let end = run.settings.ended_at.as_str();
        let unplaced = run.main_trace().iter().filter(|event| {
            let call = event.payload.tool_use_id.as_deref();
            event.is_flagged() && call.is_none_or(|call| run.tool(call).is_none())
        });
        for event in unplaced {
            self.decision(event)?;
        }
        for (session, trace) in &run.traces {
            let id = format!("governor-{session}");
            self.push(
                id,
                &EventType::Custom("custom.governor.session".to_owned()),
                end,
                &governor_session(session, trace),
            )?;
        }
        if let Some(report) = &run.report {
            let body = run
                .report_text
                .clone()
                .and_then(|text| RawValue::from_string(text).ok());
            let filed = ReportFiled {
                claimed_actions: Some(claims::read(&report.actions_taken_by_agent)),
                body,
                witness: None,
            };
            self.push("report".into(), &EventType::ReportFiled, end, &filed)?;
        }
        self.scores(source, end)?;
        let joins = json!(source.joins);
        self.push(
            "joins".into(),
            &EventType::Custom("custom.mission-continuity.joins".to_owned()),
            end,
            &joins,
        )?;
        let differences = run
            .results
            .as_ref()
            .map(|results| source.evaluation.differences(results));
        let evaluation = json!({ "evaluation": source.evaluation, "differences_from_results_json": differences });
        let kind = &EventType::Custom("custom.mission-continuity.evaluation".to_owned());
        self.push("evaluation".into(), kind, end, &evaluation)?;
        let ended = SessionEnded {
            outcome: Some(run.settings.outcome.clone()),
            reason: run.settings.error.clone(),
            witness: None,
        };
        self.push("end".into(), &EventType::SessionEnded, end, &ended)
    }

    /// The scores as recorded. The evaluation beside them says whether they are confirmed.
    fn scores(&mut self, source: &Source<'_>, end: &str) -> Result<(), ImportError> {
        let Some(recorded) = source
            .run
            .results
            .as_ref()
            .and_then(|results| results.get("correctness"))
        else {
            return Ok(());
        };
        for (criterion, _) in source.evaluation.correctness.criteria() {
            let Some(holds) = recorded.get(criterion).and_then(serde_json::Value::as_bool) else {
                continue;
            };
            self.score(criterion, f64::from(u8::from(holds)), 1.0, end)?;
        }
        if let Some(score) = recorded.get("score").and_then(serde_json::Value::as_f64) {
            self.score("score", score, 5.0, end)?;
        }
        Ok(())
    }

    fn score(
        &mut self,
        criterion: &str,
        value: f64,
        best: f64,
        end: &str,
    ) -> Result<(), ImportError> {
        let score = ScoreAssigned {
            criterion: criterion.to_owned(),
            value,
            out_of: Some(best),
            assigned_by: Some(SCORER.to_owned()),
            witness: None,
        };
        self.push(
            format!("score-{criterion}"),
            &EventType::ScoreAssigned,
            end,
            &score,
        )
    }
}

mod calls;

fn governor_session(session: &str, trace: &[TraceEvent]) -> serde_json::Value {
    let objective = trace
        .iter()
        .find_map(|event| event.payload.stated_objective.as_deref());
    json!({
        "governor_session_id": session,
        "agent_id": trace.first().map(|event| &event.agent_id),
        "objective": objective,
        "events": trace.len(),
        "flagged": trace.iter().filter(|event| event.is_flagged()).count(),
        "first_event_id": trace.first().map(|event| &event.event_id),
        "last_event_id": trace.last().map(|event| &event.event_id),
    })
}
