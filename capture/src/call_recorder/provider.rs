//! Changes to a context that the provider makes, as it tells them.

use remembrancer_schema::payload::{
    ContextMutated, CountedTokens, MutationKind, SummaryRecord, TokenSource, Trigger, Witness,
};

use super::{CallPlace, fitting};
use crate::model_api::{CompactionItem, ModelRequest, ModelResponse};

/// What the provider says it put in the place of what was there before.
pub(super) fn compacted(
    place: &CallPlace,
    item: &CompactionItem,
    request: &ModelRequest,
) -> ContextMutated {
    ContextMutated {
        turn: place.turn,
        kind: MutationKind::Compaction,
        name: Some(format!("{} compaction", place.api.as_str())),
        trigger: Some(Trigger {
            cause: Some("provider".to_owned()),
            threshold_tokens: request.threshold_tokens,
            observed_tokens: None,
        }),
        parts: Vec::new(),
        summary: item.summary.as_deref().map(|text| SummaryRecord {
            text: fitting::text(text),
            ..SummaryRecord::default()
        }),
        counted: None,
        withheld: if item.summary.is_none() {
            vec!["summary".to_owned()]
        } else {
            Vec::new()
        },
        injected_fault: None,
        witness: Some(Witness::Exact),
    }
}

/// What the provider says it took out of the very request that it answers.
pub(super) fn edited(
    place: &CallPlace,
    name: &str,
    cleared: Option<u64>,
    response: &ModelResponse,
) -> ContextMutated {
    let counted = cleared
        .zip(response.measured())
        .map(|(cleared, measured)| CountedTokens {
            uncompacted: measured.count.saturating_add(cleared),
            compacted: measured.count,
            fixed_overhead: None,
            source: TokenSource::Measured,
        });
    ContextMutated {
        turn: place.turn,
        kind: MutationKind::ServerEdit,
        name: Some(fitting::name(name)),
        trigger: Some(Trigger {
            cause: Some("provider".to_owned()),
            ..Trigger::default()
        }),
        parts: Vec::new(),
        summary: None,
        counted,
        withheld: Vec::new(),
        injected_fault: None,
        witness: Some(Witness::Exact),
    }
}
