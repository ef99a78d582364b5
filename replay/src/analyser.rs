//! The analysis of a session that grows: an event costs what it tells anew, not the session.
//!
//! Events are read and their texts kept as they are appended; the next look at the analysis brings it up to date. Contexts,
//! mutations and presence are built from the first turn that an event tells something new of. For an event of the newest
//! turn that is this one turn. What tells of the past goes back as far as it has to:
//!
//! | event | goes back to |
//! |---|---|
//! | a capture, a response or a declared mutation of an earlier turn | that turn |
//! | a text or blob that an earlier capture named by hash | the first turn that named it |
//! | a constraint, once there are turns; the first turn after such a one | presence at every turn |
//! | a second `session.started` | every turn |
//! | a call whose result was recorded before it | what mutations left behind, from the first context after that result |
//! | a call whose result an earlier context held | whether calls were repeated, from that turn |
//!
//! Actions join as they come. What mutations left behind, controls, findings and the summary are made anew each time: they
//! only look at what is there.

use std::collections::HashMap;
use std::sync::Arc;

use remembrancer_schema::payload::{Part, Payload};
use remembrancer_schema::{ContentHash, EntryHash, SessionId};

use crate::Analysis;
use crate::action::{Actions, Joining};
use crate::aftermath::{self, Repeats};
use crate::authority::Authority;
use crate::constraint;
use crate::context::{ContextTimeline, Contexts, DeclaredConstraint};
use crate::control::{self, Checked, Never};
use crate::finding::{self, Evidence};
use crate::mutation::Changes;
use crate::overview::Outline;
use crate::presence::Seen;
use crate::reading::{LeftOut, ReadEvent, Reading};
use crate::record::{RecordedEvent, SessionRecord};
use crate::summary::Counted;
use crate::weight;

/// Analyses one session as it grows. Equal records give equal analyses, however they were cut into pieces.
#[derive(Debug)]
pub struct Analyser {
    head: Option<EntryHash>,
    entries: u64,
    outline: Outline,
    reading: Reading,
    /// How many of the events read the analysis knows.
    noted: usize,
    contexts: Contexts,
    changes: Changes,
    joining: Joining,
    constraints: Vec<DeclaredConstraint>,
    seen: Seen,
    never: Never,
    authority: Authority,
    repeats: Repeats,
    /// How many mutations are told with what they left behind.
    told: usize,
    /// The first turn that is not as the events say.
    stale: Option<u32>,
    /// Whether anything was appended since the analysis was made.
    is_behind: bool,
    analysis: Arc<Analysis>,
    payload_bytes: usize,
}

impl Analyser {
    /// Before the first entry of a session.
    pub fn new(session: &SessionId) -> Self {
        Self {
            head: None,
            entries: 0,
            outline: Outline::new(session.to_string()),
            reading: Reading::default(),
            noted: 0,
            contexts: Contexts::default(),
            changes: Changes::default(),
            joining: Joining::default(),
            constraints: Vec::new(),
            seen: Seen::new(&[]),
            never: Never::new(session),
            authority: Authority::default(),
            repeats: Repeats::default(),
            told: 0,
            stale: None,
            is_behind: true,
            analysis: Arc::default(),
            payload_bytes: 0,
        }
    }

    /// Behind the last entry of a record.
    pub fn of(record: &SessionRecord) -> Self {
        let mut analyser = Self::new(&record.session);
        analyser.extend(&record.events, &record.blobs);
        analyser
    }

    /// Appends entries, in order, with the blobs that they introduce.
    pub fn extend(&mut self, events: &[RecordedEvent], blobs: &HashMap<ContentHash, Arc<[u8]>>) {
        for (hash, bytes) in blobs {
            let stale = self.contexts.keep_blob(*hash, bytes);
            self.mark(stale);
        }
        for event in events {
            self.append(event);
        }
    }

    /// Hash of the last entry; `None` before the first.
    pub fn head(&self) -> Option<EntryHash> {
        self.head
    }

    /// Number of entries so far.
    pub fn entries(&self) -> u64 {
        self.entries
    }

    /// The analysis of what was appended so far. One that nobody else holds any more is brought up to date in place.
    pub fn analysis(&mut self) -> &Arc<Analysis> {
        if self.is_behind {
            self.refresh();
        }
        &self.analysis
    }

    /// The analysis alone: nothing more will be appended.
    pub fn into_analysis(mut self) -> Arc<Analysis> {
        self.analysis();
        self.analysis
    }

    /// Bytes that it holds, roughly: the analysis, the texts and payloads that later events may need, and what was found in
    /// them. An alteration that the analysis names counts twice: there, and where it is kept by text. Linear in what is held.
    pub fn bytes_held(&self) -> usize {
        let contents = self.analysis.contents.iter();
        let shared: usize = contents
            .filter_map(|content| Some(content.text.as_ref()?.len()))
            .sum();
        weight::bytes_held(&self.analysis)
            + self.contexts.bytes().saturating_sub(shared)
            + self.payload_bytes
            + self.joining.bytes()
            + self.constraints.iter().map(of_declared).sum::<usize>()
            + self.seen.bytes()
            + self.never.bytes()
            + self.authority.bytes()
            + self.repeats.bytes()
            + self.reading.events.len() * size_of::<ReadEvent>()
    }

    fn append(&mut self, event: &RecordedEvent) {
        self.head = Some(event.hash);
        self.entries += 1;
        self.is_behind = true;
        let trigger = self.outline.compaction_trigger_tokens();
        match self.reading.push(event) {
            None => self.outline.note(event, None),
            Some(read) => {
                let stale = self.contexts.keep_texts(&mut read.payload);
                let sent = event.payload.as_ref();
                self.payload_bytes += match &read.payload {
                    Payload::ContextCaptured(captured) => captured.parts.len() * size_of::<Part>(),
                    // Arguments and results are held by actions; what is custom is not read at all.
                    Payload::ToolCalled(_) | Payload::ToolReturned(_) | Payload::Custom => 0,
                    _ => sent.map_or(0, |payload| payload.data.len()),
                };
                self.outline.note(event, Some(read));
                self.mark(stale);
            }
        }
        if self.outline.compaction_trigger_tokens() != trigger {
            self.mark(Some(0));
        }
    }

    /// Notes that turns from a number on are not as the events say.
    fn mark(&mut self, from: Option<u32>) {
        let Some(from) = from else { return };
        self.is_behind = true;
        self.stale = Some(self.stale.map_or(from, |stale| stale.min(from)));
    }

    /// Brings the analysis up to date, stage by stage.
    fn refresh(&mut self) {
        let new = self.noted..self.reading.events.len();
        for at in new.clone() {
            let told = self.contexts.note(&self.reading.events, at);
            self.mark(told);
            let declared = self.changes.note(&self.reading.events, at);
            self.mark(declared);
        }
        // Taken out, so that the stages may change it beside the state of this analyser.
        let mut analysis = std::mem::take(&mut self.analysis);
        let changed = Arc::make_mut(&mut analysis);
        let mut timeline = ContextTimeline::lent_by(changed);
        self.build(&mut timeline, changed);
        let left_out = self.judge(&timeline, changed);
        let mut waited: Option<u64> = None;
        for read in &mut self.reading.events[new] {
            if let Some(returned) = self.joining.note(read, &mut changed.actions) {
                waited = waited.into_iter().chain([returned]).min();
            }
            read.drop_joined();
        }
        if let Some(returned) = waited {
            let first = aftermath::first_behind(returned, &changed.mutations, &timeline);
            self.told = self.told.min(first);
        }
        self.joining
            .place(&mut changed.actions, &changed.constraints);
        changed.overview = self.outline.overview();
        self.conclude(&timeline, changed, &left_out);
        timeline.give_back(changed);
        self.analysis = analysis;
        self.noted = self.reading.events.len();
        self.is_behind = false;
    }

    /// Contexts and mutations, from the first turn that is stale.
    fn build(&mut self, timeline: &mut ContextTimeline, analysis: &mut Analysis) {
        let Some(from) = self.stale.take() else {
            return;
        };
        let events = &self.reading.events;
        let position = timeline.turns.partition_point(|turn| turn.number < from);
        self.changes.rewind(&mut analysis.mutations, position);
        analysis.presence.truncate(position);
        self.never.rewind(position);
        self.authority.rewind(from);
        self.repeats.rewind(from);
        self.told = self.told.min(analysis.mutations.len());
        self.contexts.build(events, timeline, from);
        self.changes.derive(
            events,
            timeline,
            &mut analysis.mutations,
            self.outline.compaction_trigger_tokens(),
        );
    }

    /// Constraints, their presence at the turns that have no row, its controls, and what summaries say was allowed. Names the declarations that do not count.
    fn judge(&mut self, timeline: &ContextTimeline, analysis: &mut Analysis) -> Vec<LeftOut> {
        let (declared, left_out) = constraint::declared(&self.reading, &timeline.turns);
        if declared != self.constraints {
            let are_the_same = declared
                .iter()
                .map(|constraint| &constraint.declared)
                .eq(self.constraints.iter().map(|known| &known.declared));
            // The rows say from which turn on a constraint was declared.
            analysis.presence.clear();
            self.told = 0;
            if !are_the_same {
                self.seen = Seen::new(&declared);
            }
            analysis.constraints = declared.iter().map(constraint::shown).collect();
            self.constraints = declared;
        }
        self.seen.extend(
            &mut analysis.presence,
            timeline,
            &analysis.mutations,
            &self.constraints,
        );
        self.never.extend(timeline, &analysis.mutations);
        let checked = Checked {
            timeline,
            mutations: &analysis.mutations,
            constraints: &self.constraints,
            presence: &analysis.presence,
            never: &self.never,
        };
        let before = std::mem::take(&mut analysis.controls.emptied);
        analysis.controls = control::controls(checked, &mut self.seen, self.told, before);
        analysis.attributions = self.authority.attributions(timeline);
        left_out
    }

    /// What is made anew each time, from all that stands by now: what mutations left behind, findings and the summary.
    fn conclude(
        &mut self,
        timeline: &ContextTimeline,
        analysis: &mut Analysis,
        repeated: &[LeftOut],
    ) {
        let joined = Actions {
            actions: std::mem::take(&mut analysis.actions),
            ..self.joining.joined()
        };
        aftermath::tell(
            &mut analysis.mutations,
            self.told,
            &mut self.repeats,
            aftermath::Known {
                timeline,
                actions: &joined.actions,
                constraints: &analysis.constraints,
                presence: &analysis.presence,
            },
        );
        let left_out = [self.contexts.left_out(), self.changes.left_out(), repeated].concat();
        analysis.findings = finding::findings(&Evidence {
            reading: &self.reading,
            left_out: &left_out,
            overview: &analysis.overview,
            timeline,
            mutations: &analysis.mutations,
            constraints: &self.constraints,
            presence: &analysis.presence,
            limited: self.seen.limited(),
            controls: &analysis.controls,
            attributions: &analysis.attributions,
            joined: &joined,
        });
        analysis.summary = Counted {
            turns: &timeline.turns,
            actions: &joined.actions,
            constraints: &self.constraints,
            presence: &analysis.presence,
        }
        .summary();
        analysis.actions = joined.actions;
        self.told = analysis.mutations.len();
    }
}

fn of_declared(constraint: &DeclaredConstraint) -> usize {
    size_of::<DeclaredConstraint>() + constraint.declared.text.len()
}

#[cfg(test)]
mod tests;
