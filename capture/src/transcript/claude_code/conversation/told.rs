//! What the program itself tells: attachments, emptied results, permission modes, refusals.

use remembrancer_schema::payload::{
    DecisionRecorded, EventType, MutationKind, Part, Trigger, Verdict,
};

use super::super::super::{Line, sandbox};
use super::super::chain::{NodeIndex, Parent};
use super::super::parts;
use super::super::record::{Attachment, MicrocompactMetadata, Record};
use super::{Conversation, mutation};
use crate::cut::prefix;

/// Where plan mode writes its plans, below the home folder.
const PLANS: &str = ".claude/plans";

impl Conversation {
    pub(super) fn refused(&mut self, record: &Record, call_id: &str, reason: &str) {
        let decision = DecisionRecorded {
            decider: "user".to_owned(),
            call_id: Some(call_id.to_owned()),
            verdict: Some(Verdict::Deny),
            enforced: true,
            flags: record.tool_denial_kind.iter().cloned().collect(),
            violations: Vec::new(),
            reason: Some(prefix(reason, 4096).to_owned()),
            reference: None,
            witness: None,
        };
        self.recording.event(
            &format!("decision.{call_id}"),
            &EventType::DecisionRecorded,
            record.timestamp.as_deref(),
            &decision,
        );
    }

    /// Results of calls were emptied.
    pub(in super::super) fn microcompacted(
        &mut self,
        metadata: MicrocompactMetadata,
        parent: Parent,
    ) -> NodeIndex {
        for id in &metadata.compacted_tool_ids {
            let Some(&result) = self.results.get(id) else {
                continue;
            };
            let stubs: Vec<Part> = self
                .assembly
                .parts(result)
                .iter()
                .map(parts::cleared_result)
                .collect();
            let stub = self.assembly.add(stubs, &mut self.recording);
            self.chain.stub(result, stub);
        }
        let mut mutated = mutation(0, MutationKind::Microcompaction, None);
        mutated.trigger = Some(Trigger {
            cause: metadata.trigger,
            threshold_tokens: None,
            observed_tokens: metadata.pre_tokens,
        });
        self.pending.push(mutated);
        self.link(parent)
    }

    /// Something that the program adds to a context by itself.
    pub(in super::super) fn attachment(&mut self, record: &Record, parent: Parent) -> NodeIndex {
        let Some(attachment) = &record.attachment else {
            return self.link(parent);
        };
        let attached = parts::of_attachment(&Attachment::read(attachment));
        if let Some((name, text)) = &attached.rules {
            self.recording
                .rules_file(name, text, record.timestamp.as_deref());
        }
        if let Some(name) = attached.head {
            let pieces = self.add(attached.parts);
            self.chain.put_at_head(&name, pieces);
            return self.link(parent);
        }
        self.plain(parent, attached.parts)
    }

    /// The permission mode: plan mode as a scope that the user declares, every other one as a note. Where a scope was declared
    /// from outside, that one stays.
    pub(in super::super) fn permission_mode(
        &mut self,
        mode: &str,
        folder: Option<&str>,
        line: &Line,
        time: Option<&str>,
    ) {
        if self.permission_mode.as_deref() == Some(mode) {
            return;
        }
        self.permission_mode = Some(mode.to_owned());
        let name = format!("permission-mode.line.{}", line.number);
        let scope = match (self.recording.has_scope(), mode) {
            (true, _) => None,
            // The plan itself is written to a file.
            (false, "plan") => Some(sandbox::unchanged_files_but(PLANS, folder)),
            // The other modes say whom the program asks, not what the agent may do.
            (false, _) => self.is_scope_in_force.then(sandbox::withdrawn),
        };
        let Some(scope) = scope else {
            let kind = EventType::Custom("custom.claude_code.permission_mode".to_owned());
            let data = serde_json::json!({ "mode": mode });
            return self.recording.event(&name, &kind, time, &data);
        };
        self.is_scope_in_force = !scope.withdrawn;
        let source = format!("Claude Code permission mode {mode}");
        let scope = sandbox::stated(scope, "user", None, source);
        self.recording
            .event(&name, &EventType::ScopeDeclared, time, &scope);
    }
}
