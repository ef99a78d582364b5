//! Permissions that were asked for and refused.

use remembrancer_schema::payload::{DecisionRecorded, EventType, Verdict};

use super::fitting;
use super::translation::Translation;
use crate::WriteError;

impl Translation<'_> {
    /// The program asks whether a call may be made. What the answer is, no hook tells.
    pub(super) fn permission_requested(&mut self) -> Result<(), WriteError> {
        self.decided(None, Some("asked for permission".to_owned()))
    }

    /// The program refused a call.
    pub(super) fn permission_denied(&mut self) -> Result<(), WriteError> {
        let reason = self.payload().text("reason");
        self.decided(Some(Verdict::Deny), reason)
    }

    fn decided(
        &mut self,
        verdict: Option<Verdict>,
        reason: Option<String>,
    ) -> Result<(), WriteError> {
        let decision = DecisionRecorded {
            decider: format!("{} permissions", self.arrival.program.name()),
            call_id: self.call_in_question(),
            verdict,
            enforced: verdict.is_some(),
            flags: Vec::new(),
            violations: Vec::new(),
            reason: reason.map(|reason| fitting::text(reason).0),
            reference: self.payload().name("prompt_id"),
            witness: None,
        };
        let id = self.id("decision");
        self.push(&id, EventType::DecisionRecorded, &decision, &[])
    }
}
