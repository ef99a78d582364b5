//! What mutations left behind, as text.

use remembrancer_replay::Analysis;
use remembrancer_replay::analysis::{
    Anatomy, Attribution, EmptiedSummary, Mutation, Orphan, OrphanKind, RepeatedCall,
};

use crate::terminal::excerpt;

/// Most orphans, repeated calls and attributions that are named for one mutation.
const NAMED_MAX: usize = 10;

/// For each mutation a heading and its lines.
pub(super) fn text(analysis: &Analysis) -> String {
    let mut text = String::new();
    for (index, mutation) in analysis.mutations.iter().enumerate() {
        let mut lines = lines(mutation);
        let emptied = |control: &&EmptiedSummary| control.mutation == index;
        lines.extend(
            analysis
                .controls
                .emptied
                .iter()
                .find(emptied)
                .map(|control| format!("control: {}", control.in_words())),
        );
        let said: Vec<&Attribution> = analysis
            .attributions
            .iter()
            .filter(|attribution| attribution.mutation == Some(index))
            .collect();
        lines.extend(said.iter().take(NAMED_MAX).map(|said| attribution(said)));
        lines.extend(more(said.len() as u64, said.len().min(NAMED_MAX)));
        if lines.is_empty() {
            continue;
        }
        text.push_str(&format!(
            "\n{} before turn {}\n",
            mutation.kind.as_str(),
            mutation.turn
        ));
        for line in lines {
            text.push_str(&format!("  {line}\n"));
        }
    }
    text
}

fn lines(mutation: &Mutation) -> Vec<String> {
    let aftermath = &mutation.aftermath;
    let mut lines = Vec::new();
    lines.extend(aftermath.anatomy.as_ref().map(anatomy));
    if let Some(generation) = aftermath.generation {
        lines.push(match generation {
            1 => "summary: of recorded parts (generation 1)".to_owned(),
            deeper => format!("summary: generation {deeper}, a summary of what held a summary"),
        });
    }
    if let Some(growth) = aftermath.growth {
        lines.push(format!(
            "did not shrink: {} tokens became {} ({})",
            growth.before,
            growth.after,
            growth.source.as_str()
        ));
    }
    if aftermath.compacted_again {
        lines.push("the very next request was compacted again".to_owned());
    }
    let orphans = aftermath.orphans.iter().take(NAMED_MAX);
    lines.extend(orphans.clone().map(orphan));
    lines.extend(more(aftermath.orphan_count, orphans.len()));
    let repeated = aftermath.repeated_calls.iter().take(NAMED_MAX);
    lines.extend(repeated.clone().map(repetition));
    lines.extend(more(aftermath.repeated_call_count, repeated.len()));
    lines
}

fn more(all: u64, named: usize) -> Option<String> {
    let left = all.saturating_sub(named as u64);
    (left > 0).then(|| format!("… and {left} more"))
}

fn anatomy(anatomy: &Anatomy) -> String {
    let told = anatomy.told.map_or_else(String::new, |told| {
        format!("; {} {}", told.count, told.source.as_str())
    });
    format!(
        "request after, {} tokens: fixed overhead {}, kernel {}, pinned {}, summary {}, recent {}, stubs {}; {} in all{told}",
        anatomy.source.as_str(),
        anatomy.fixed_overhead,
        anatomy.kernel,
        anatomy.pinned,
        anatomy.summary,
        anatomy.recent,
        anatomy.stubs,
        anatomy.total
    )
}

fn orphan(orphan: &Orphan) -> String {
    let what = match orphan.kind {
        OrphanKind::Result => "result without its call",
        OrphanKind::Call => "call without its result",
    };
    format!(
        "{what}: {} {}",
        excerpt(orphan.tool.as_deref().unwrap_or(""), 40),
        excerpt(&orphan.call_id, 60)
    )
}

fn repetition(call: &RepeatedCall) -> String {
    format!(
        "asked again at turn {}: {}, as at turn {}, whose result was {}",
        call.turn,
        excerpt(&call.tool, 40),
        call.earlier_turn,
        call.fate.as_str()
    )
}

fn attribution(said: &Attribution) -> String {
    let borne_out = match said.support {
        Some(_) => "borne out by the user's or the operator's words",
        None => "NOT borne out",
    };
    format!(
        "the summary says somebody allowed something, {borne_out}: {}",
        excerpt(&said.sentence, 200)
    )
}
