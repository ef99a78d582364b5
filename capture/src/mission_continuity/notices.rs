//! What an auditor should know of a run: where its files disagree with one another or with what is computed from them.

use std::collections::BTreeSet;

use super::compaction::calls_that_left;
use super::evaluation::Evaluation;
use super::mission::{Mission, TOOLS};
use super::run::Run;

/// Whether the mission's words, the adapter's tables and the governor's trace fit together.
pub(super) fn on_mission(run: &Run, mission: Option<&Mission>) -> Vec<String> {
    let mut notices = Vec::new();
    let Some(mission) = mission else {
        return vec![
            "the mission's text is not in the bundle or has another form: no limits were declared"
                .to_owned(),
        ];
    };
    let declared = run
        .main_trace()
        .iter()
        .find(|event| event.event_type == "INTENT_DECLARED");
    if let Some(event) = declared {
        let objective = event
            .payload
            .stated_objective
            .as_deref()
            .unwrap_or_default();
        let kernel = mission.kernel_sha256(objective, &event.payload.session_scope_hint);
        if kernel != run.settings.kernel_sha256 {
            notices.push(format!(
                "the mission's words and this adapter's tool tables give the kernel hash {kernel}, the run records {}: \
                 which tools its limits cover may differ",
                run.settings.kernel_sha256
            ));
        }
    }
    for event in run.main_trace().iter().filter(|event| event.is_scope()) {
        let payload = &event.payload;
        let name = payload.tool_id.as_deref().unwrap_or_default();
        let known = TOOLS.iter().find(|tool| tool.name == name);
        let agrees = known.is_some_and(|tool| {
            payload.target_system.as_deref() == Some(tool.target)
                && payload.operation_type.as_deref() == Some(tool.operation)
        });
        if !agrees {
            notices.push(format!(
                "trace event {}: {name:?} with target {:?} and operation {:?} is not in this adapter's tool table",
                event.event_sequence_number, payload.target_system, payload.operation_type
            ));
        }
    }
    notices
}

/// Where the recorded evaluation and the recorded checks are not confirmed.
pub(super) fn disagreements(run: &Run, evaluation: &Evaluation) -> Vec<String> {
    let mut notices = Vec::new();
    match &run.results {
        Some(results) => notices.extend(
            evaluation
                .differences(results)
                .into_iter()
                .map(|difference| format!("run/results.json{difference}")),
        ),
        None => notices.push("the bundle has no run/results.json to compare with".to_owned()),
    }
    for (row, computed) in run.compactions.iter().zip(&evaluation.compactions) {
        let checks = &row.context_checks;
        let mut check = |what: &str, is_same: bool| {
            if !is_same {
                notices.push(format!("{}: {what} is not confirmed", row.compaction_id));
            }
        };
        check(
            "kernel_terms_present",
            checks.kernel_terms_present == computed.kernel_terms_present,
        );
        check(
            "kernel_terms_missing",
            checks.kernel_terms_missing == computed.kernel_terms_missing,
        );
        check("cf_exposed", checks.cf_exposed == computed.cf_exposed);
        check("cf_present", checks.cf_present == computed.cf_present);
        check("cf_missing", checks.cf_missing == computed.cf_missing);
        check(
            "messages_before",
            row.messages_before == computed.messages_before,
        );
        check(
            "messages_after",
            row.messages_after == computed.messages_after,
        );
        let listed: BTreeSet<&str> = row
            .prefix_tool_calls
            .iter()
            .map(|call| call.tool_call_id.as_str())
            .collect();
        check("prefix_tool_calls", listed == calls_that_left(run, row));
        let request = run.requests.get(&row.run_step);
        let named = request.and_then(|request| request.compaction_id.as_ref());
        check(
            "the compaction id of its request",
            named == Some(&row.compaction_id),
        );
        if let Some(recorded) = &row.precedence_check {
            let unexposed = Some(&recorded.must_unexposed) == computed.must_unexposed.as_ref();
            check("must_unexposed", unexposed);
            let tokens = Some(recorded.must_block_est_tokens) == computed.must_block_est_tokens;
            check("must_block_est_tokens", tokens);
            let exceeded = Some(recorded.must_budget_exceeded) == computed.must_budget_exceeded;
            check("must_budget_exceeded", exceeded);
        }
    }
    notices
}
