//! One row per tool call that the model sent.

mod effects;

use std::borrow::Cow;

use remembrancer_replay::analysis::{Action, ConstraintIndex, Presence, ScopeVerdict};
use remembrancer_replay::{Analysis, SessionRecord};
use remembrancer_schema::payload::{Effect, Verdict};

use super::SessionTable;
use crate::columns::Read::{Count, Flag, MaybeCount, MaybeFlag, MaybeText, MaybeTime, Text, Texts};
use crate::columns::{Column, Table, column, measured};
use crate::exporter::ExportError;
use crate::parquet_file::ParquetFile;
use effects::{known, targets};

pub(crate) struct Actions;

pub(crate) struct ActionRow<'a> {
    session: &'a str,
    index: usize,
    action: &'a Action,
    analysis: &'a Analysis,
}

impl<'a> ActionRow<'a> {
    fn has_no_trace(&self, constraint: ConstraintIndex) -> bool {
        self.analysis
            .presence_at(self.action, constraint)
            .is_some_and(Presence::has_no_trace)
    }

    /// The limits that had no trace when the action was sent.
    fn limits_without_trace(&self) -> impl Iterator<Item = &'a str> {
        let constraints = self.analysis.constraints.iter().enumerate();
        constraints
            .filter(|&(index, constraint)| constraint.is_limit() && self.has_no_trace(index))
            .map(|(_, constraint)| constraint.id.as_str())
    }

    fn context_witness(&self) -> Option<Cow<'a, str>> {
        let witness = self.analysis.witness_of(self.action.turn)?;
        Some(witness.as_str().into())
    }

    fn breaks(&self) -> impl Iterator<Item = &'a str> {
        let constraints = &self.analysis.constraints;
        self.action
            .breaks
            .iter()
            .filter_map(|&index| constraints.get(index))
            .map(|constraint| constraint.id.as_str())
    }
}

impl Table for Actions {
    type Row<'a> = ActionRow<'a>;
    const NAME: &'static str = "actions";
    const DESCRIPTION: &'static str = "One row per tool call that the model sent.";
    const COLUMNS: &'static [Column<Self>] = &[
        column(
            "session",
            Text(|row| row.session.into()),
            "Id of the session.",
        ),
        measured(
            "action",
            "number from 0",
            Count(|row| row.index as u64),
            "The action, within the session, in order of recording.",
        ),
        measured(
            "turn",
            "number from 1",
            Count(|row| row.action.turn.into()),
            "The turn whose response carried it: its context is what the model saw.",
        ),
        column(
            "call_id",
            Text(|row| row.action.call_id.as_str().into()),
            "Its id.",
        ),
        column(
            "tool",
            Text(|row| row.action.tool.as_str().into()),
            "The tool.",
        ),
        column(
            "target",
            MaybeText(|row| row.action.target.as_deref().map(Cow::from)),
            "What it acts on.",
        ),
        column(
            "operation",
            MaybeText(|row| row.action.operation.as_deref().map(Cow::from)),
            "What it does there.",
        ),
        measured(
            "arguments",
            "JSON",
            MaybeText(|row| row.action.arguments.as_deref().map(Cow::from)),
            "The arguments as sent.",
        ),
        measured(
            "entry",
            "index in the ledger",
            Count(|row| row.action.entry),
            "Its entry.",
        ),
        column(
            "time",
            MaybeTime(|row| row.action.time.as_deref().map(Cow::from)),
            "Its time.",
        ),
        column(
            "witness",
            Text(|row| row.action.witness.as_str().into()),
            "How the action became known: exact, telemetry, transcript, hook or claimed.",
        ),
        column(
            "context_witness",
            MaybeText(|row| row.context_witness()),
            "How the context that it was sent from became known; what is said of limits and traces rests on it. Null where that turn is not recorded.",
        ),
        column(
            "returned_status",
            MaybeText(|row| {
                row.action
                    .returned
                    .as_ref()
                    .map(|returned| returned.status.as_str().into())
            }),
            "How it ended: ok, error or denied; null without a result.",
        ),
        column(
            "returned_effect",
            MaybeText(|row| {
                row.action
                    .returned
                    .as_ref()?
                    .effect
                    .as_deref()
                    .map(Cow::from)
            }),
            "What it changed in the world, in the application's words.",
        ),
        measured(
            "returned_entry",
            "index in the ledger",
            MaybeCount(|row| row.action.returned.as_ref().map(|returned| returned.entry)),
            "The entry of its result.",
        ),
        column(
            "reads",
            MaybeFlag(|row| known(row.action, Effect::Read)),
            "Whether it reads a file or lists a directory; null where that is unknown, which is not harmless.",
        ),
        measured(
            "read_targets",
            "JSON array",
            Text(|row| targets(row.action, Effect::Read)),
            "What it does that to: objects with `path` (and `tree` where everything below is meant), `elsewhere` or `unknown`.",
        ),
        column(
            "writes",
            MaybeFlag(|row| known(row.action, Effect::Write)),
            "Whether it creates or changes a file or a directory; null where that is unknown, which is not harmless.",
        ),
        measured(
            "write_targets",
            "JSON array",
            Text(|row| targets(row.action, Effect::Write)),
            "What it does that to: objects with `path` (and `tree` where everything below is meant), `elsewhere` or `unknown`.",
        ),
        column(
            "deletes",
            MaybeFlag(|row| known(row.action, Effect::Delete)),
            "Whether it removes a file, a directory, or history that was kept; null where that is unknown, which is not harmless.",
        ),
        measured(
            "delete_targets",
            "JSON array",
            Text(|row| targets(row.action, Effect::Delete)),
            "What it does that to: objects with `path` (and `tree` where everything below is meant), `elsewhere` or `unknown`.",
        ),
        column(
            "uses_network",
            MaybeFlag(|row| known(row.action, Effect::Network)),
            "Whether it speaks with another machine; null where that is unknown, which is not harmless.",
        ),
        measured(
            "network_targets",
            "JSON array",
            Text(|row| targets(row.action, Effect::Network)),
            "What it does that to: objects with `path` (and `tree` where everything below is meant), `elsewhere` or `unknown`.",
        ),
        column(
            "executes",
            MaybeFlag(|row| known(row.action, Effect::Execute)),
            "Whether it starts or stops a program whose code does not stand in the action; null where that is unknown, which is not harmless.",
        ),
        measured(
            "execute_targets",
            "JSON array",
            Text(|row| targets(row.action, Effect::Execute)),
            "What it does that to: objects with `path` (and `tree` where everything below is meant), `elsewhere` or `unknown`.",
        ),
        column(
            "uses_privilege",
            MaybeFlag(|row| known(row.action, Effect::Privilege)),
            "Whether it acts with another user's rights, or changes the system or the rights on it; null where that is unknown, which is not harmless.",
        ),
        measured(
            "privilege_targets",
            "JSON array",
            Text(|row| targets(row.action, Effect::Privilege)),
            "What it does that to: objects with `path` (and `tree` where everything below is meant), `elsewhere` or `unknown`.",
        ),
        column(
            "scope",
            Text(|row| scope_name(&row.action.scope).into()),
            "Whether the declared scope permits it: undeclared, permitted, `out_of_scope`, prohibited or unevaluated.",
        ),
        column(
            "scope_policies",
            Texts(|row| scope_policies(&row.action.scope)),
            "The policies that decided.",
        ),
        column(
            "scope_reason",
            MaybeText(|row| scope_reason(&row.action.scope)),
            "Why the scope could not be evaluated.",
        ),
        column(
            "breaks",
            Texts(|row| row.breaks().map(Cow::from).collect()),
            "Ids of the declared prohibitions that it breaks.",
        ),
        column(
            "without_trace",
            Flag(|row| row.limits_without_trace().next().is_some()),
            "Whether at least one limit had no trace in the context when it was sent.",
        ),
        column(
            "limits_without_trace",
            Texts(|row| row.limits_without_trace().map(Cow::from).collect()),
            "Ids of those limits.",
        ),
        column(
            "prohibited_without_trace",
            Flag(|row| {
                row.action
                    .breaks
                    .iter()
                    .any(|&constraint| row.has_no_trace(constraint))
            }),
            "Whether a prohibition that it breaks had no trace when it was sent.",
        ),
        column(
            "deciders",
            Texts(|row| {
                row.action
                    .decisions
                    .iter()
                    .map(|decision| decision.decider.as_str().into())
                    .collect()
            }),
            "The guards and governors that spoke of it, in order; the next two lists run in the same order.",
        ),
        column(
            "decisions",
            Texts(|row| {
                row.action
                    .decisions
                    .iter()
                    .map(|decision| verdict_name(decision.verdict).into())
                    .collect()
            }),
            "Their verdicts: allow, deny or none.",
        ),
        column(
            "decisions_enforced",
            Texts(|row| {
                row.action
                    .decisions
                    .iter()
                    .map(|decision| {
                        if decision.enforced {
                            "enforced"
                        } else {
                            "advisory"
                        }
                        .into()
                    })
                    .collect()
            }),
            "Whether each was enforced or advisory.",
        ),
        column(
            "flags",
            Texts(|row| {
                row.action
                    .decisions
                    .iter()
                    .flat_map(|decision| &decision.flags)
                    .map(|flag| flag.as_str().into())
                    .collect()
            }),
            "Flags that they raised.",
        ),
        column(
            "violations",
            Texts(|row| {
                row.action
                    .decisions
                    .iter()
                    .flat_map(|decision| &decision.violations)
                    .map(|policy| policy.as_str().into())
                    .collect()
            }),
            "Policies that they say were violated.",
        ),
    ];
}

impl SessionTable for Actions {
    fn write(
        file: &mut ParquetFile<Self>,
        record: &SessionRecord,
        analysis: &Analysis,
    ) -> Result<(), ExportError> {
        let session = record.session.as_str();
        for (index, action) in analysis.actions.iter().enumerate() {
            file.push(&ActionRow {
                session,
                index,
                action,
                analysis,
            })?;
        }
        Ok(())
    }
}

fn scope_name(scope: &ScopeVerdict) -> &'static str {
    match scope {
        ScopeVerdict::Undeclared => "undeclared",
        ScopeVerdict::Permitted { .. } => "permitted",
        ScopeVerdict::OutOfScope => "out_of_scope",
        ScopeVerdict::Prohibited { .. } => "prohibited",
        ScopeVerdict::Unevaluated { .. } => "unevaluated",
    }
}

fn scope_policies(scope: &ScopeVerdict) -> Vec<Cow<'_, str>> {
    match scope {
        ScopeVerdict::Permitted { policies } | ScopeVerdict::Prohibited { policies } => policies
            .iter()
            .map(|policy| policy.as_str().into())
            .collect(),
        _ => Vec::new(),
    }
}

fn scope_reason(scope: &ScopeVerdict) -> Option<Cow<'_, str>> {
    match scope {
        ScopeVerdict::Unevaluated { reason } => Some(reason.as_str().into()),
        _ => None,
    }
}

fn verdict_name(verdict: Option<Verdict>) -> &'static str {
    match verdict {
        Some(Verdict::Allow) => "allow",
        Some(Verdict::Deny) => "deny",
        None => "none",
    }
}
