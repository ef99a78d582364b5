//! Changes to a context that the provider makes, as it tells them.

use remembrancer_schema::payload::{
    ContextMutated, CountedTokens, MutationKind, SummaryRecord, TokenSource, Trigger, Witness,
};

use super::{CallPlace, fitting};
use crate::model_api::{CompactionItem, ModelRequest, ModelResponse, ServerEdit};

/// What the provider says it put in the place of what was there before.
pub(super) fn compacted(
    place: &CallPlace,
    item: &CompactionItem,
    request: &ModelRequest,
) -> ContextMutated {
    ContextMutated {
        name: Some(format!("{} compaction", place.api.as_str())),
        trigger: Some(Trigger {
            cause: Some("provider".to_owned()),
            threshold_tokens: request.threshold_tokens,
            observed_tokens: None,
        }),
        summary: item.summary.as_deref().map(|text| SummaryRecord {
            text: fitting::text(text),
            ..SummaryRecord::default()
        }),
        withheld: if item.summary.is_none() {
            vec!["summary".to_owned()]
        } else {
            Vec::new()
        },
        witness: Some(Witness::Exact),
        ..ContextMutated::new(place.turn, MutationKind::Compaction)
    }
}

/// What the provider says it took out of the very request that it answers; `later` is the number of tokens that it took out
/// behind that.
pub(super) fn edited(
    place: &CallPlace,
    edit: &ServerEdit,
    later: u64,
    response: &ModelResponse,
) -> ContextMutated {
    let counted = edit
        .cleared_tokens
        .zip(response.measured())
        .map(|(cleared, measured)| {
            let compacted = measured.count.saturating_add(later);
            CountedTokens {
                uncompacted: compacted.saturating_add(cleared),
                compacted,
                fixed_overhead: None,
                source: TokenSource::Measured,
            }
        });
    ContextMutated {
        name: Some(fitting::name(&edit.name)),
        trigger: Some(Trigger {
            cause: Some("provider".to_owned()),
            ..Trigger::default()
        }),
        counted,
        witness: Some(Witness::Exact),
        ..ContextMutated::new(place.turn, MutationKind::ServerEdit)
    }
}
