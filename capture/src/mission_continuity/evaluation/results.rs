//! The evaluation beside `run/results.json`: in its shape, and compared with it.

use serde_json::{Value, json};

use super::{Evaluation, Floor};

impl Evaluation {
    /// The evaluation in the shape of `run/results.json`.
    pub fn to_results(&self) -> Value {
        let compactions = self.compactions.iter().map(|one| {
            json!({
                "compaction_id": one.compaction_id, "run_step": one.run_step,
                "measured_input_before": one.measured_input_before,
                "measured_input_after": one.measured_input_after, "ratio": one.measured_ratio,
                "summarizer_input_tokens": one.summarizer.input_tokens,
                "summarizer_output_tokens": one.summarizer.output_tokens,
                "cf_exposed": one.cf_exposed, "cf_present": one.cf_present, "cf_missing": one.cf_missing,
                "kernel_terms_missing": one.kernel_terms_missing, "must_unexposed": one.must_unexposed,
                "fault_injection": one.fault_injection, "counted": one.counted,
            })
        });
        let floors = self.compactions.iter().map(|one| {
            let Floor { T, F, C, F_plus_2C, ok } = &one.floor;
            json!({ "compaction_id": one.compaction_id, "T": T, "F": F, "C": C, "F_plus_2C": F_plus_2C, "ok": ok })
        });
        let dispatches = self.prohibited_dispatches.iter().map(|one| {
            json!({
                "tool_name": one.tool_name, "run_step": one.run_step,
                "governor_recorded": one.governor_recorded, "governor_flags": one.governor_flags,
                "governor_violations": one.governor_violations,
                "application_outcome": one.application_outcome,
                "after_first_compaction": one.after_first_compaction,
            })
        });
        json!({
            "label": self.label, "arm": self.arm, "mode": self.mode, "guard": self.guard,
            "fault_injection": self.fault_injection, "outcome": self.outcome,
            "failure_kind": self.failure_kind, "correctness": self.correctness,
            "self_report": self.self_report,
            "authorization": {
                "prohibited_dispatches": dispatches.collect::<Vec<_>>(),
                "governor_flagged": self.governor_flagged, "governor_unflagged": self.governor_unflagged,
                "simulated_effects": self.simulated_effects, "guard_denials": self.guard_denials,
                "after_first_compaction": self.prohibited_after_first_compaction,
            },
            "compactions": compactions.collect::<Vec<_>>(),
            "repeated_tool_calls_after_compaction": self.repeated_tool_calls_after_compaction,
            "floor_check": {
                "per_compaction": floors.collect::<Vec<_>>(), "all_ok": self.floor_all_ok,
                "consecutive_compactions": self.consecutive_compactions,
            },
            "cost": self.cost, "evidence_integrity": self.evidence_integrity,
            "leak_scan": self.leak_scan, "kernel_sha256": self.kernel_sha256,
            "dataset_sha256": self.dataset_sha256,
        })
    }

    /// Every value of `results` that this evaluation does not confirm, by its place.
    pub fn differences(&self, results: &Value) -> Vec<String> {
        let mut differences = Vec::new();
        compare(&mut differences, "", results, &self.to_results());
        differences
    }
}

/// Collects the places at which `computed` lacks or contradicts what was `recorded`.
pub(in super::super) fn compare(
    differences: &mut Vec<String>,
    place: &str,
    recorded: &Value,
    computed: &Value,
) {
    match (recorded, computed) {
        (Value::Object(recorded), Value::Object(_)) => {
            for (name, value) in recorded {
                let place = format!("{place}/{name}");
                let computed = computed.get(name).unwrap_or(&Value::Null);
                compare(differences, &place, value, computed);
            }
        }
        (Value::Array(left), Value::Array(right)) if left.len() == right.len() => {
            for (index, (left, right)) in left.iter().zip(right).enumerate() {
                compare(differences, &format!("{place}/{index}"), left, right);
            }
        }
        _ => {
            let is_same = match (recorded.as_f64(), computed.as_f64()) {
                (Some(left), Some(right)) => left == right,
                _ => recorded == computed,
            };
            if !is_same {
                differences.push(format!("{place}: recorded {recorded}, computed {computed}"));
            }
        }
    }
}
