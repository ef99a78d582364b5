use proptest::prelude::*;

use super::*;

/// Lists with runs in them.
fn parts() -> impl Strategy<Value = Vec<PartIndex>> {
    let run = (0u32..60, 1u32..6).prop_map(|(first, length)| (first..first + length).collect());
    prop::collection::vec(run, 0..12).prop_map(|runs: Vec<Vec<PartIndex>>| runs.concat())
}

proptest! {
    #[test]
    fn it_is_the_list_that_it_was_made_of(list in parts(), other in parts(), shared in 0usize..40) {
        let held: PartList = list.iter().copied().collect();
        prop_assert_eq!(held.to_vec(), list.clone());
        prop_assert_eq!(held.len(), list.len());
        for position in 0..list.len() + 2 {
            prop_assert_eq!(held.get(position), list.get(position).copied());
            let rest: Vec<PartIndex> = held.iter_from(position).collect();
            prop_assert_eq!(&rest[..], list.get(position..).unwrap_or_default());
        }
        let mut like = list[..shared.min(list.len())].to_vec();
        like.extend(other);
        let same = list.iter().zip(&like).take_while(|(one, two)| one == two).count();
        let held_like: PartList = like.iter().copied().collect();
        prop_assert_eq!(held.common_start(&held_like), same);
        prop_assert_eq!(held_like.starts_with(&held), like.starts_with(&list));
        prop_assert_eq!(held == held_like, list == like);
        let runs: Vec<(u32, u64)> = list
            .chunk_by(|left, right| left + 1 == *right)
            .map(|run| (run[0], u64::from(run[0]) + run.len() as u64))
            .collect();
        prop_assert_eq!(serde_json::to_value(&held).unwrap(), serde_json::to_value(runs).unwrap());
    }
}

#[test]
fn a_context_that_only_grows_is_one_run() {
    let list: PartList = (7..100_007).collect();
    assert_eq!(list.run_count(), 1);
    assert_eq!(list.bytes(), size_of::<Run>());
    assert_eq!(list.get(99_999), Some(100_006));
}

#[test]
fn the_last_number_of_all_ends_a_run() {
    let list: PartList = [PartIndex::MAX - 1, PartIndex::MAX, 0]
        .into_iter()
        .collect();
    assert_eq!(list.get(1), Some(PartIndex::MAX));
    assert_eq!(list.get(2), Some(0));
    assert_eq!(list.run_count(), 2);
}
