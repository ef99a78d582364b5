//! The fates rebuild the context after from the one before, for random parts and random operations.

use proptest::prelude::*;
use remembrancer_schema::ContentHash;

use super::*;

/// One part of a context. Texts come from a small range, so that equal parts occur often.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Piece {
    Said(usize, u8),
    Call(u8),
    Result(u8),
    /// A marked stub.
    Stub(u8),
    /// A result that became short and is not marked.
    Shortened(u8),
    /// Memory that repeats a result and names its call.
    Pin(u8),
    Withheld(usize, u8),
}

const SAID: [&str; 6] = [
    "system",
    "user",
    "assistant",
    "summary",
    "memory",
    "tool_schema",
];

impl Piece {
    fn json(self) -> String {
        let found = |id: u8| {
            format!("the record {id} was found with amount 149.{id} and a note that is long enough")
        };
        match self {
            Self::Said(kind, text) => {
                format!(r#"{{"kind":"{}","text":"text {text}"}}"#, SAID[kind])
            }
            Self::Call(id) => {
                format!(r#"{{"kind":"tool_call","text":"look({id})","call_id":"c{id}"}}"#)
            }
            Self::Result(id) => format!(
                r#"{{"kind":"tool_result","text":"{}","call_id":"c{id}"}}"#,
                found(id)
            ),
            Self::Stub(id) => format!(
                r#"{{"kind":"tool_result","text":"[removed]","call_id":"c{id}","stub":true}}"#
            ),
            Self::Shortened(id) => {
                format!(r#"{{"kind":"tool_result","text":"short","call_id":"c{id}"}}"#)
            }
            Self::Pin(id) => format!(
                r#"{{"kind":"memory","text":"kept: {}","sources":["c{id}"]}}"#,
                found(id)
            ),
            Self::Withheld(kind, text) => format!(
                r#"{{"kind":"{}","hash":"{}","withheld":"personal"}}"#,
                SAID[kind],
                ContentHash::of(&[text])
            ),
        }
    }
}

#[derive(Debug, Clone, Copy)]
enum Operation {
    Keep,
    Drop,
    Double,
    InsertBefore(Piece),
    /// A result becomes a stub or short, anything else is withheld.
    Shrink(bool),
    /// Takes the part away and puts it at the end.
    MoveToEnd,
    /// Changes places with the part before it.
    SwapBack,
}

fn piece() -> impl Strategy<Value = Piece> {
    prop_oneof![
        4 => (0..SAID.len(), 0u8..8).prop_map(|(kind, text)| Piece::Said(kind, text)),
        2 => (0u8..6).prop_map(Piece::Call),
        3 => (0u8..6).prop_map(Piece::Result),
        1 => (0u8..6).prop_map(Piece::Stub),
        1 => (0u8..6).prop_map(Piece::Shortened),
        1 => (0u8..6).prop_map(Piece::Pin),
        1 => (0..SAID.len(), 0u8..4).prop_map(|(kind, text)| Piece::Withheld(kind, text)),
    ]
}

fn operation() -> impl Strategy<Value = Operation> {
    prop_oneof![
        6 => Just(Operation::Keep),
        2 => Just(Operation::Drop),
        1 => Just(Operation::Double),
        2 => piece().prop_map(Operation::InsertBefore),
        2 => any::<bool>().prop_map(Operation::Shrink),
        1 => Just(Operation::MoveToEnd),
        1 => Just(Operation::SwapBack),
    ]
}

fn apply(before: &[Piece], operations: &[Operation], appended: &[Piece]) -> Vec<Piece> {
    let mut after = Vec::new();
    let mut end = Vec::new();
    for (&piece, operation) in before.iter().zip(operations) {
        match *operation {
            Operation::Keep => after.push(piece),
            Operation::Drop => {}
            Operation::Double => after.extend([piece, piece]),
            Operation::InsertBefore(new) => after.extend([new, piece]),
            Operation::MoveToEnd => end.push(piece),
            Operation::SwapBack => after.insert(after.len().saturating_sub(1), piece),
            Operation::Shrink(marked) => after.push(match piece {
                Piece::Result(id) if marked => Piece::Stub(id),
                Piece::Result(id) => Piece::Shortened(id),
                Piece::Said(kind, text) => Piece::Withheld(kind, text),
                other => other,
            }),
        }
    }
    after.extend(end);
    after.extend(appended);
    after
}

fn json(pieces: &[Piece]) -> String {
    let parts: Vec<String> = pieces.iter().map(|piece| piece.json()).collect();
    format!("[{}]", parts.join(","))
}

/// Makes the context after from the one before and the fates, looking at nothing else.
fn rebuild(
    timeline: &ContextTimeline,
    before: &[PartIndex],
    change: &DerivedChange,
) -> Result<Vec<PartIndex>, TestCaseError> {
    let mut places: Vec<(u32, PartIndex)> = Vec::new();
    for (at, fate) in change.fates.iter().enumerate() {
        let old = before.get(at).copied();
        prop_assert_eq!(fate.before.map(|at| at as usize), old.map(|_| at));
        if let Some(old) = old {
            prop_assert_eq!(fate.part, old);
            prop_assert_ne!(fate.fate, Fate::Injected);
            prop_assert!(!fate.appended);
        }
        let stays = match (old, fate.fate) {
            (None, Fate::Injected | Fate::Stubbed) => Some(fate.part),
            (Some(old), Fate::Kept) => Some(old),
            (Some(_), Fate::Stubbed | Fate::Withheld) => fate.replaced_by,
            (Some(_), Fate::Dropped | Fate::Summarised | Fate::Pinned) => None,
            (place, fate) => {
                return Err(TestCaseError::fail(format!("{fate:?} at {place:?}")));
            }
        };
        if let Some(part) = stays {
            places.push((fate.after.expect("what stays has a place"), part));
        } else if fate.fate != Fate::Dropped {
            let stand_in = fate.replaced_by.expect("something stands in for it");
            let kind = timeline.part(stand_in).kind;
            let stands_in = match fate.fate {
                Fate::Pinned => PartKind::Memory,
                _ => PartKind::Summary,
            };
            prop_assert_eq!(kind, stands_in);
        }
    }
    places.sort_unstable_by_key(|&(place, _)| place);
    let expected: Vec<u32> = (0u32..).take(places.len()).collect();
    let found: Vec<u32> = places.iter().map(|&(place, _)| place).collect();
    prop_assert_eq!(found, expected, "every place is filled once");
    Ok(places.into_iter().map(|(_, part)| part).collect())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, ..ProptestConfig::default() })]

    /// Exactly: the same contents, kinds and calls in the same order, and nothing more.
    #[test]
    fn fates_rebuild_the_context_after(
        before in proptest::collection::vec(piece(), 0..24),
        operations in proptest::collection::vec(operation(), 24),
        appended in proptest::collection::vec(piece(), 0..5),
    ) {
        let after = apply(&before, &operations, &appended);
        let (timeline, change) = between(&json(&before), &json(&after));
        let [old, new] = [0, 1].map(|turn| timeline.turns[turn].parts.to_vec());
        let keys = |parts: &[PartIndex]| -> Vec<_> {
            parts.iter().map(|&part| timeline.key(part)).collect()
        };
        let only_grew = keys(&new).starts_with(&keys(&old));
        prop_assert_eq!(change.is_none(), only_grew);
        if let Some(change) = change {
            let rebuilt = rebuild(&timeline, &old, &change)?;
            prop_assert_eq!(keys(&rebuilt), keys(&new));
        }
    }
}
