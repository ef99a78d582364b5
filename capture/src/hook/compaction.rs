//! Compactions, and the files of rules that are loaded into a context, at its beginning or anew after one.

use remembrancer_schema::ContentHash;
use remembrancer_schema::payload::{
    ArtifactChanged, ContextMutated, EventType, MutationKind, Part, PartKind, SummaryRecord,
    Trigger, Witness,
};
use serde_json::json;

use super::fitting;
use super::standing::Compaction;
use super::translation::Translation;
use crate::WriteError;
use crate::cut::prefix;

impl Translation<'_> {
    /// A compaction is about to begin; the transcript is still whole.
    pub(super) fn compaction_begun(&mut self) -> Result<(), WriteError> {
        self.keep_transcript()?;
        let payload = self.payload();
        let trigger = payload.name("trigger");
        let instructions = payload.text("custom_instructions");
        let begun = json!({
            "trigger": trigger,
            "custom_instructions": instructions.map(|text| fitting::text(text).0),
        });
        self.custom("compaction_begun", "compaction", &begun)?;
        self.thread.compaction = Some(Compaction {
            trigger,
            ..Compaction::default()
        });
        Ok(())
    }

    fn keep_transcript(&mut self) -> Result<(), WriteError> {
        let name = self.payload().text("transcript_path").unwrap_or_default();
        match &self.arrival.attached.transcript {
            None => Ok(()),
            Some(Ok(copy)) => {
                let changed = ArtifactChanged {
                    name: fitting::text(name).0,
                    kind: Some("transcript".to_owned()),
                    hash: Some(copy.hash),
                    text: None,
                    turn: Some(self.thread.turn),
                    witness: None,
                };
                let id = self.id("transcript");
                self.push(&id, EventType::ArtifactChanged, &changed, &[copy.hash])?;
                if copy.skipped == 0 {
                    return Ok(());
                }
                let cut = json!({ "kept_bytes": copy.bytes, "skipped_bytes": copy.skipped });
                self.custom("transcript_cut", "transcript-cut", &cut)
            }
            Some(Err(reason)) => {
                let data = json!({ "path": fitting::text(name).0, "reason": reason });
                self.custom("transcript_not_copied", "transcript", &data)
            }
        }
    }

    /// A compaction is done, and the program tells the summary.
    pub(super) fn compaction_done(&mut self) -> Result<(), WriteError> {
        let payload = self.payload();
        let begun = self.thread.compaction.take().unwrap_or_default();
        let trigger = payload.name("trigger").or(begun.trigger);
        let summary = payload.text("compact_summary");
        self.compacted(trigger, begun.reloaded, summary)
    }

    /// Before a request: what is known of a compaction that no hook said was done.
    pub(super) fn settle_compaction(&mut self) -> Result<(), WriteError> {
        match self.thread.compaction.take() {
            Some(begun) if begun.done => self.compacted(begun.trigger, begun.reloaded, None),
            // It was stopped, or nobody told: the context goes on, and what was loaded is in it.
            Some(begun) => {
                for part in begun.reloaded {
                    self.thread.wait(part);
                }
                Ok(())
            }
            None => Ok(()),
        }
    }

    /// The same for a program that tells its requests: one that does not go on from the last shows that it was compacted.
    pub(super) fn settle_told_compaction(&mut self, goes_on: bool) -> Result<(), WriteError> {
        match self.thread.compaction.take() {
            Some(begun) if !goes_on => self.mutated(begun.trigger, None, Vec::new()),
            _ => Ok(()),
        }
    }

    fn compacted(
        &mut self,
        trigger: Option<String>,
        reloaded: Vec<Part>,
        summary: Option<String>,
    ) -> Result<(), WriteError> {
        let mut blobs = Vec::new();
        let (summary, analysis) = summary.map_or((None, None), split_analysis);
        let text = summary.map(|text| self.fitted(text, &mut blobs));
        if let Some(analysis) = analysis {
            let data = json!({ "text": fitting::text(analysis).0 });
            self.custom("compaction_analysis", "analysis", &data)?;
        }
        // The summary comes first; the calls and results that waited went into it.
        self.thread.waiting.clear();
        self.thread.returned.clear();
        self.thread.grows = false;
        if let Some(text) = &text {
            let hash = ContentHash::of(text.as_bytes());
            self.thread.wait(Part::by_hash(PartKind::Summary, hash));
        }
        for part in reloaded {
            self.thread.wait(part);
        }
        let summary = text.map(|text| SummaryRecord {
            text,
            ..SummaryRecord::default()
        });
        self.mutated(trigger, summary, blobs)
    }

    fn mutated(
        &mut self,
        trigger: Option<String>,
        summary: Option<SummaryRecord>,
        blobs: Vec<ContentHash>,
    ) -> Result<(), WriteError> {
        let mutated = ContextMutated {
            name: Some(self.payload().event.clone()),
            trigger: trigger.map(|cause| Trigger {
                cause: Some(match cause.as_str() {
                    "auto" => "automatic".to_owned(),
                    _ => cause,
                }),
                ..Trigger::default()
            }),
            summary,
            witness: Some(Witness::Hook),
            ..ContextMutated::new(self.thread.turn + 1, MutationKind::Compaction)
        };
        let id = self.id("compacted");
        self.push(&id, EventType::ContextMutated, &mutated, &blobs)
    }

    /// A file of rules entered the context.
    pub(super) fn instructions_loaded(&mut self) -> Result<(), WriteError> {
        let payload = self.payload();
        let path = payload.text("file_path").unwrap_or_default();
        let path = prefix(&path, 1024).to_owned();
        let reason = payload.name("load_reason");
        let text = match (payload.text("content"), &self.arrival.attached.instructions) {
            (Some(text), _) => Ok(text),
            (None, Some(Ok(text))) => Ok(text.clone()),
            (None, Some(Err(reason))) => Err(reason.as_str()),
            (None, None) => Err("hooks are told the file's name alone"),
        };
        let loaded = json!({
            "path": path,
            "memory_type": payload.name("memory_type"),
            "load_reason": reason,
            "blake3": text.as_ref().ok().map(|text| ContentHash::of(text.as_bytes())),
            "not_read": text.as_ref().err(),
        });
        self.custom("instructions_loaded", "loaded", &loaded)?;
        let Ok(text) = text else {
            return Ok(());
        };
        let kind = match reason.as_deref() {
            Some("compact") => PartKind::Memory,
            _ => PartKind::User,
        };
        let part = Part {
            name: Some(path),
            ..self.part(kind, text)?
        };
        match &mut self.thread.compaction {
            Some(begun) => begun.reloaded.push(part),
            None => self.thread.wait(part),
        }
        Ok(())
    }
}

/// Takes the model's notes out of a summary, which are written before it and are not sent on.
fn split_analysis(summary: String) -> (Option<String>, Option<String>) {
    let Some(rest) = summary.trim_start().strip_prefix("<analysis>") else {
        return (Some(summary), None);
    };
    match rest.split_once("/analysis>") {
        Some((analysis, text)) => {
            let analysis = analysis.trim_end_matches('<').to_owned();
            (Some(text.trim_start().to_owned()), Some(analysis))
        }
        None => (Some(summary), None),
    }
}
