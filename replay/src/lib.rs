#![doc = include_str!("../README.md")]

mod action;
mod alignment;
pub mod analysis;
mod budget;
pub mod bundle;
mod constraint;
pub mod context;
mod declaration;
mod effort;
mod fate;
mod finding;
mod folding;
mod language;
mod matcher;
mod mutation;
mod overview;
mod passage;
mod policy;
pub mod presence;
mod reading;
pub mod record;
mod repetition;
mod report;
pub mod scope;
mod sighting;
mod statement;
mod summary;
pub mod verify;
pub mod view;
mod weight;

pub use analysis::Analysis;
pub use record::{RecordedEvent, RecordedPayload, SessionRecord};
pub use weight::bytes_held;

use reading::Reading;

/// Computes everything that the auditor says of a session. Linear in turns × constraints plus distinct text.
pub fn analyse(record: &SessionRecord) -> Analysis {
    let reading = Reading::of(record);
    let overview = overview::overview(record, &reading);
    let (mut timeline, mut left_out) = context::rebuild(&reading, record);
    let (mutations, unjoined) =
        mutation::mutations(&reading, &mut timeline, overview.compaction_trigger_tokens);
    let (declared, repeated) = constraint::declared(&reading, &timeline.turns);
    left_out.extend(unjoined.into_iter().chain(repeated));
    let constraints: Vec<_> = declared.iter().map(constraint::shown).collect();
    let presence = presence::matrix(&timeline, &mutations, &declared);
    let actions = action::actions(&reading, &constraints);
    let findings = finding::findings(&finding::Evidence {
        reading: &reading,
        left_out: &left_out,
        overview: &overview,
        timeline: &timeline,
        mutations: &mutations,
        constraints: &declared,
        presence: &presence,
        joined: &actions,
    });
    let summary = summary::Counted {
        turns: &timeline.turns,
        actions: &actions.actions,
        constraints: &declared,
        presence: &presence,
    }
    .summary();
    Analysis {
        overview,
        constraints,
        contents: timeline.contents,
        parts: timeline.parts,
        turns: timeline.turns,
        mutations,
        actions: actions.actions,
        presence,
        findings,
        summary,
    }
}
