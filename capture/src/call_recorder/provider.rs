//! Changes to a context that the provider makes, as it tells them.

use remembrancer_schema::payload::{
    ContextMutated, CountedTokens, DeclaredFate, Fate, MutationKind, PartKind, SummaryRecord,
    TokenSource, Trigger, Witness,
};

use super::{CallPlace, fitting};
use crate::model_api::{CompactionItem, ModelRequest, ModelResponse, ServerEdit};

/// Most results that an edit names, and most bytes of their calls' ids. Of one that took more it is only told that it did: an event
/// has room for no more.
const NAMED_PARTS_MAX: usize = 1_000;
const NAMED_BYTES_MAX: usize = 64 * 1024;

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
        parts: cleared(place, edit),
        witness: Some(Witness::Exact),
        ..ContextMutated::new(place.turn, MutationKind::ServerEdit)
    }
}

/// The results that an edit put a placeholder in the place of, where what was asked and what was answered settle which ones.
fn cleared(place: &CallPlace, edit: &ServerEdit) -> Vec<DeclaredFate> {
    let asked = place
        .clearing
        .as_ref()
        .filter(|asked| asked.name == edit.name);
    let calls = asked
        .zip(edit.cleared_calls)
        .and_then(|(asked, count)| asked.cleared(count))
        .filter(|calls| {
            let bytes: usize = calls.iter().map(String::len).sum();
            calls.len() <= NAMED_PARTS_MAX && bytes <= NAMED_BYTES_MAX
        })
        .unwrap_or_default();
    let with_inputs = asked.is_some_and(|asked| asked.with_inputs);
    calls
        .iter()
        .map(|call| DeclaredFate {
            fate: Fate::Stubbed,
            hash: None,
            call_id: Some(call.clone()),
            part_kind: (!with_inputs).then_some(PartKind::ToolResult),
            position: None,
        })
        .collect()
}
