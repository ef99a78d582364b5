//! The states, rule by rule; the recorded runs; the labelled sets.
#![expect(clippy::disallowed_methods, reason = "tests read recorded data")]

mod invented;
mod labelled;
mod limited;
mod recorded;
mod rules;
mod work;

use std::path::PathBuf;
use std::sync::Arc;

use remembrancer_schema::ContentHash;
use remembrancer_schema::payload::{
    ConstraintDeclared, ConstraintKind, Matcher, MutationKind, PartKind, PartOrigin, Witness,
};

use super::*;
use crate::analysis::{Aftermath, Budget, Content, ContextPart};

/// A timeline under construction.
#[derive(Default)]
struct Contexts {
    timeline: ContextTimeline,
}

impl Contexts {
    fn part(&mut self, kind: PartKind, text: &str) -> PartIndex {
        self.tool_part(kind, None, Ok(text))
    }

    fn tool_part(
        &mut self,
        kind: PartKind,
        tool: Option<&str>,
        text: Result<&str, Absence>,
    ) -> PartIndex {
        let (text, absence) = match text {
            Ok(text) => (Some(text), None),
            Err(absence) => (None, Some(absence)),
        };
        let hash = ContentHash::of(text.unwrap_or("").as_bytes());
        let known = self
            .timeline
            .contents
            .iter()
            .position(|content| text.is_some() && content.text.as_deref() == text);
        let content = known.unwrap_or_else(|| {
            self.timeline.contents.push(Content {
                hash,
                bytes: text.map(|text| text.len() as u64),
                text: text.map(Arc::from),
                absence,
            });
            self.timeline.contents.len() - 1
        });
        self.timeline.parts.push(ContextPart {
            content,
            kind,
            origin: PartOrigin::Application,
            entry: 0,
            first_turn: 1,
            message: None,
            name: None,
            call_id: None,
            tool: tool.map(str::to_owned),
            stub: false,
            sources: Vec::new(),
            estimated_tokens: text.map_or(0, |text| (text.chars().count() as u64).div_ceil(4)),
        });
        PartIndex::try_from(self.timeline.parts.len() - 1).expect("tests are small")
    }

    fn turn(&mut self, number: u32, parts: Vec<PartIndex>) -> &mut Turn {
        self.timeline.turns.push(Turn {
            number,
            entry: None,
            time: None,
            parts: parts.into_iter().collect(),
            unknown: None,
            tokens: None,
            witness: Witness::Exact,
            proof: None,
            response: None,
            mutation: None,
            incomplete: None,
        });
        self.timeline.turns.last_mut().expect("one was just added")
    }
}

fn constraint(id: &str, kind: ConstraintKind, text: &str) -> DeclaredConstraint {
    DeclaredConstraint {
        declared: ConstraintDeclared {
            id: id.parse().expect("a valid id"),
            kind,
            text: text.to_owned(),
            matcher: None,
            actions: Vec::new(),
            stated_by: None,
            inferred: false,
            witness: None,
        },
        entry: 0,
        from_turn: Some(1),
    }
}

fn with_matcher(mut constraint: DeclaredConstraint, matcher: Matcher) -> DeclaredConstraint {
    constraint.declared.matcher = Some(matcher);
    constraint
}

fn mutation(turn: u32, previous: u32) -> Mutation {
    Mutation {
        turn,
        previous_turn: Some(previous),
        kind: MutationKind::Compaction,
        declared: None,
        fates: Vec::new(),
        disagreements: Vec::new(),
        budget: Budget::default(),
        aftermath: Aftermath::default(),
        clearing: None,
    }
}

/// How a constraint stands in a context of one part.
fn stands(kind: ConstraintKind, declared: &str, part: PartKind, text: &str) -> Presence {
    let mut contexts = Contexts::default();
    let part = contexts.part(part, text);
    contexts.turn(1, vec![part]);
    let mut rows = matrix(&contexts.timeline, &[], &[constraint("c", kind, declared)]);
    rows.remove(0).remove(0)
}

/// A file of the recorded data, or `None` with a visible word where there is none; on a build server that is a failure.
pub(crate) fn recorded_data(name: &str) -> Option<PathBuf> {
    let workspace = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("..");
    let data = std::env::var_os("REMEMBRANCER_SHARED_DATA")
        .map_or_else(|| workspace.join("../shared/data"), PathBuf::from);
    let path = data.join(name);
    if path.exists() {
        return Some(path);
    }
    assert!(
        std::env::var_os("CI").is_none(),
        "{} is missing; set REMEMBRANCER_SHARED_DATA to the folder of recorded data",
        path.display()
    );
    skip(&format!("skipped: no recorded data at {}", path.display()));
    None
}

#[expect(clippy::print_stderr, reason = "a test that is skipped must be seen")]
fn skip(message: &str) {
    eprintln!("{message}");
}

#[test]
fn nothing_is_without_trace_in_an_incomplete_context() {
    let mut contexts = Contexts::default();
    let part = contexts.part(PartKind::User, "Please sort the shelves.");
    let rule = "Never spend more than 100 EUR.";
    let held = contexts.part(PartKind::User, rule);
    contexts.turn(1, vec![part]).incomplete =
        Some("the instructions are not in the file".to_owned());
    contexts.turn(2, vec![part, held]).incomplete = Some("the same".to_owned());
    contexts.turn(3, vec![part]);
    let rule = [constraint("c", ConstraintKind::Prohibition, rule)];
    let rows = matrix(&contexts.timeline, &[], &rule);
    let states: Vec<Option<PresenceState>> = rows.iter().map(|row| row[0].state).collect();
    assert_eq!(
        states,
        [
            Some(PresenceState::Unknown),
            Some(PresenceState::Verbatim),
            Some(PresenceState::NoTrace)
        ]
    );
    let reason = rows[0][0].reason_in_words();
    assert_eq!(
        reason.as_deref(),
        Some("the instructions are not in the file")
    );
}
