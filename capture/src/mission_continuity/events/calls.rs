//! Calls and their returns.

use remembrancer_schema::payload::{EventType, ReturnStatus, ToolCalled, ToolReturned};

use super::super::ImportError;
use super::super::json::Json;
use super::super::mission::TOOLS;
use super::super::rows::{ToolRow, TraceEvent};
use super::{Run, RunWriter};

impl RunWriter {
    /// The calls of a step in the order of its response, each with what the governor flagged, then their returns in the order
    /// of completion.
    pub(super) fn calls(&mut self, run: &Run, step: u32) -> Result<(), ImportError> {
        let rows: Vec<&ToolRow> = run
            .tools
            .iter()
            .filter(|row| row.run_step == step)
            .collect();
        let order = |row: &&ToolRow| {
            let calls = run
                .responses
                .get(&step)
                .map_or(&[][..], |response| &response.tool_calls);
            calls
                .iter()
                .position(|call| call.tool_call_id == row.tool_call_id)
                .unwrap_or(usize::MAX)
        };
        let mut called = rows.clone();
        called.sort_by_key(order);
        for row in called {
            let event = run.scope_of(&row.tool_call_id);
            self.push(
                format!("call-{}", row.tool_call_id),
                &EventType::ToolCalled,
                event.map_or(&row.ts, |event| &event.timestamp_utc),
                &tool_called(row, event),
            )?;
            for event in run.flags_of(&row.tool_call_id) {
                self.decision(event)?;
            }
        }
        for row in rows {
            let id = format!("return-{}", row.tool_call_id);
            self.push(id, &EventType::ToolReturned, &row.ts, &tool_returned(row))?;
        }
        Ok(())
    }
}

fn tool_called(row: &ToolRow, event: Option<&TraceEvent>) -> ToolCalled {
    let known = TOOLS.iter().find(|tool| tool.name == row.tool_name);
    let traced = event.map(|event| &event.payload);
    ToolCalled {
        turn: row.run_step,
        call_id: row.tool_call_id.clone(),
        tool: row.tool_name.clone(),
        arguments: Some(row.args.clone()),
        target: traced
            .and_then(|payload| payload.target_system.clone())
            .or_else(|| known.map(|tool| tool.target.to_owned())),
        operation: traced
            .and_then(|payload| payload.operation_type.clone())
            .or_else(|| known.map(|tool| tool.operation.to_owned())),
        witness: None,
    }
}

fn tool_returned(row: &ToolRow) -> ToolReturned {
    let is_error = matches!(row.result(), Json::Object(members) if members.iter().any(|(name, _)| name == "error"));
    let status = if row.effect == "intervention" {
        ReturnStatus::Denied
    } else if is_error {
        ReturnStatus::Error
    } else {
        ReturnStatus::Ok
    };
    ToolReturned {
        call_id: row.tool_call_id.clone(),
        tool: Some(row.tool_name.clone()),
        status,
        result: Some(row.result.clone()),
        effect: Some(row.effect.clone()),
        witness: None,
    }
}
