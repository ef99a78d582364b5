//! The alignment of two consecutive contexts: which part before is which part after.

use std::collections::HashMap;
use std::hash::Hash;

/// Largest product of lengths for which the exact longest common subsequence is computed; above it, unique elements anchor
/// the alignment. Two contexts of 1,024 parts without a common start or end stay exact.
const EXACT_CELLS_MAX: usize = 1 << 20;

/// Pairs of positions, before and after, both growing: a longest common subsequence, or close to one where the lists are
/// very long and very different.
pub(crate) fn align<K: Eq + Hash + Copy>(before: &[K], after: &[K]) -> Vec<(usize, usize)> {
    let mut pairs = Vec::new();
    align_range(before, after, 0, 0, &mut pairs, true);
    pairs
}

/// Elements that [`align`] leaves over on both sides and that are equal: they moved. Each is paired once, in order.
pub(crate) fn moved<K: Eq + Hash + Copy>(
    before: &[K],
    after: &[K],
    aligned: &[(usize, usize)],
) -> Vec<(usize, usize)> {
    let mut is_taken_before = vec![false; before.len()];
    let mut is_taken_after = vec![false; after.len()];
    for &(old, new) in aligned {
        is_taken_before[old] = true;
        is_taken_after[new] = true;
    }
    let mut free: HashMap<K, Vec<usize>> = HashMap::new();
    for old in (0..before.len()).rev().filter(|&old| !is_taken_before[old]) {
        free.entry(before[old]).or_default().push(old);
    }
    (0..after.len())
        .filter(|&new| !is_taken_after[new])
        .filter_map(|new| Some((free.get_mut(&after[new])?.pop()?, new)))
        .collect()
}

fn align_range<K: Eq + Hash + Copy>(
    before: &[K],
    after: &[K],
    before_start: usize,
    after_start: usize,
    pairs: &mut Vec<(usize, usize)>,
    may_anchor: bool,
) {
    let prefix = before
        .iter()
        .zip(after)
        .take_while(|(old, new)| old == new)
        .count();
    pairs.extend((0..prefix).map(|at| (before_start + at, after_start + at)));
    let (before, after) = (&before[prefix..], &after[prefix..]);
    let (before_start, after_start) = (before_start + prefix, after_start + prefix);
    let suffix = before
        .iter()
        .rev()
        .zip(after.iter().rev())
        .take_while(|(old, new)| old == new)
        .count();
    let (middle_before, middle_after) = (
        &before[..before.len() - suffix],
        &after[..after.len() - suffix],
    );

    if middle_before.len().saturating_mul(middle_after.len()) <= EXACT_CELLS_MAX {
        exact(
            middle_before,
            middle_after,
            before_start,
            after_start,
            pairs,
        );
    } else if may_anchor {
        anchored(
            middle_before,
            middle_after,
            before_start,
            after_start,
            pairs,
        );
    } else {
        greedy(
            middle_before,
            middle_after,
            before_start,
            after_start,
            pairs,
        );
    }
    pairs.extend((0..suffix).map(|at| {
        (
            before_start + middle_before.len() + at,
            after_start + middle_after.len() + at,
        )
    }));
}

/// The longest common subsequence: read off where what both lists hold is unique and in order, as in a context whose start
/// was cut off, else by dynamic programming over suffixes.
fn exact<K: Eq + Hash + Copy>(
    before: &[K],
    after: &[K],
    before_start: usize,
    after_start: usize,
    pairs: &mut Vec<(usize, usize)>,
) {
    match in_order(before, after) {
        Some(found) => pairs.extend(
            found
                .into_iter()
                .map(|(old, new)| (before_start + old, after_start + new)),
        ),
        None => by_table(before, after, before_start, after_start, pairs),
    }
}

/// The elements of both lists, if each stands once in either list and all in the same order: then there is one longest common
/// subsequence.
fn in_order<K: Eq + Hash + Copy>(before: &[K], after: &[K]) -> Option<Vec<(usize, usize)>> {
    let mut places: HashMap<K, Option<usize>> = HashMap::with_capacity(before.len());
    for (at, &key) in before.iter().enumerate() {
        places
            .entry(key)
            .and_modify(|place| *place = None)
            .or_insert(Some(at));
    }
    let mut found: Vec<(usize, usize)> = Vec::new();
    for (new, key) in after.iter().enumerate() {
        let Some(&place) = places.get(key) else {
            continue;
        };
        // One that stands twice in either list, or before its predecessor, leaves a choice.
        let old = place.filter(|&old| found.last().is_none_or(|&(last, _)| old > last))?;
        found.push((old, new));
    }
    Some(found)
}

fn by_table<K: Eq>(
    before: &[K],
    after: &[K],
    before_start: usize,
    after_start: usize,
    pairs: &mut Vec<(usize, usize)>,
) {
    if before.is_empty() || after.is_empty() {
        return;
    }
    let width = after.len() + 1;
    let mut longest = vec![0u32; (before.len() + 1) * width];
    for old in (0..before.len()).rev() {
        for new in (0..after.len()).rev() {
            longest[old * width + new] = if before[old] == after[new] {
                longest[(old + 1) * width + new + 1] + 1
            } else {
                longest[(old + 1) * width + new].max(longest[old * width + new + 1])
            };
        }
    }
    let (mut old, mut new) = (0, 0);
    while old < before.len() && new < after.len() {
        if before[old] == after[new] {
            pairs.push((before_start + old, after_start + new));
            old += 1;
            new += 1;
        } else if longest[(old + 1) * width + new] >= longest[old * width + new + 1] {
            old += 1;
        } else {
            new += 1;
        }
    }
}

/// Elements that occur exactly once on either side hold the alignment; what lies between them is aligned by itself.
fn anchored<K: Eq + Hash + Copy>(
    before: &[K],
    after: &[K],
    before_start: usize,
    after_start: usize,
    pairs: &mut Vec<(usize, usize)>,
) {
    let once_before = positions_of_unique(before);
    let once_after = positions_of_unique(after);
    let mut shared: Vec<(usize, usize)> = once_before
        .iter()
        .filter_map(|(key, &old)| once_after.get(key).map(|&new| (old, new)))
        .collect();
    shared.sort_unstable();
    let (mut old_from, mut new_from) = (0, 0);
    let end = (before.len(), after.len());
    for (old, new) in longest_rising(&shared).into_iter().chain([end]) {
        align_range(
            &before[old_from..old],
            &after[new_from..new],
            before_start + old_from,
            after_start + new_from,
            pairs,
            false,
        );
        if (old, new) != end {
            pairs.push((before_start + old, after_start + new));
        }
        (old_from, new_from) = (old + 1, new + 1);
    }
}

fn positions_of_unique<K: Eq + Hash + Copy>(list: &[K]) -> HashMap<K, usize> {
    let mut seen: HashMap<K, Option<usize>> = HashMap::new();
    for (at, &key) in list.iter().enumerate() {
        seen.entry(key)
            .and_modify(|position| *position = None)
            .or_insert(Some(at));
    }
    seen.into_iter()
        .filter_map(|(key, position)| Some((key, position?)))
        .collect()
}

/// The longest run of pairs, sorted by their first position, whose second positions grow.
fn longest_rising(pairs: &[(usize, usize)]) -> Vec<(usize, usize)> {
    let mut tails: Vec<usize> = Vec::new();
    let mut previous: Vec<Option<usize>> = vec![None; pairs.len()];
    for (at, &(_, new)) in pairs.iter().enumerate() {
        let length = tails.partition_point(|&tail| pairs[tail].1 < new);
        previous[at] = length.checked_sub(1).map(|shorter| tails[shorter]);
        if length == tails.len() {
            tails.push(at);
        } else {
            tails[length] = at;
        }
    }
    let mut rising: Vec<(usize, usize)> =
        std::iter::successors(tails.last().copied(), |&at| previous[at])
            .map(|at| pairs[at])
            .collect();
    rising.reverse();
    rising
}

/// Takes each element at its next free place: a common subsequence in linear time, not always the longest.
fn greedy<K: Eq + Hash + Copy>(
    before: &[K],
    after: &[K],
    before_start: usize,
    after_start: usize,
    pairs: &mut Vec<(usize, usize)>,
) {
    let mut places: HashMap<K, Vec<usize>> = HashMap::new();
    for (at, &key) in before.iter().enumerate() {
        places.entry(key).or_default().push(at);
    }
    let mut from = 0;
    for (new, key) in after.iter().enumerate() {
        let Some(list) = places.get(key) else {
            continue;
        };
        if let Some(&old) = list.get(list.partition_point(|&old| old < from)) {
            pairs.push((before_start + old, after_start + new));
            from = old + 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_stays_in_order_is_aligned_and_what_moved_is_told() {
        let (before, after) = ([1, 2, 3, 4, 5], [1, 9, 4, 5, 2]);
        let aligned = align(&before, &after);
        assert_eq!(aligned, [(0, 0), (3, 2), (4, 3)]);
        assert_eq!(moved(&before, &after, &aligned), [(1, 4)]);
    }

    #[test]
    fn lists_too_long_for_the_exact_way_are_aligned_by_what_is_unique() {
        let before: Vec<u32> = (0..4000).collect();
        let after: Vec<u32> = (5000..5100)
            .chain((0..4000).filter(|n| n % 3 != 0))
            .chain(6000..6100)
            .collect();
        let aligned = align(&before, &after);
        assert_eq!(aligned.len(), (0..4000).filter(|n| n % 3 != 0).count());
        assert!(aligned.iter().all(|&(old, new)| before[old] == after[new]));
    }

    #[test]
    fn long_lists_without_anything_unique_are_still_aligned() {
        let before: Vec<u32> = (0..4000).map(|n| n % 7).collect();
        let after: Vec<u32> = (0..4000).map(|n| (n * 3) % 7).collect();
        let aligned = align(&before, &after);
        assert!(aligned.len() > 1000, "{}", aligned.len());
        assert!(
            aligned
                .windows(2)
                .all(|two| two[0].0 < two[1].0 && two[0].1 < two[1].1)
        );
    }

    #[test]
    fn a_list_whose_start_was_cut_off_needs_no_table() {
        let before: Vec<u32> = (0..900).collect();
        let after: Vec<u32> = (300..1200).filter(|n| n % 5 != 0).collect();
        let found = in_order(&before, &after).expect("unique and in order");
        assert_eq!(found.len(), (300..900).filter(|n| n % 5 != 0).count());
        for (before, after) in [([1, 2], [2, 1]), ([1, 1], [1, 2]), ([1, 2], [1, 1])] {
            assert_eq!(in_order(&before, &after), None);
        }
    }

    fn length_by_table(before: &[u8], after: &[u8]) -> usize {
        let mut row = vec![0; after.len() + 1];
        for old in before {
            let mut diagonal = 0;
            for (at, new) in after.iter().enumerate() {
                let above = row[at + 1];
                row[at + 1] = if old == new {
                    diagonal + 1
                } else {
                    above.max(row[at])
                };
                diagonal = above;
            }
        }
        row[after.len()]
    }

    proptest! {
        #[test]
        fn what_is_unique_and_in_order_is_aligned_as_by_the_table(
            before in proptest::collection::vec(0u8..40, 0..30),
            after in proptest::collection::vec(0u8..40, 0..30),
        ) {
            if let Some(found) = in_order(&before, &after) {
                let mut by_the_table = Vec::new();
                by_table(&before, &after, 0, 0, &mut by_the_table);
                prop_assert_eq!(found, by_the_table);
            }
        }

        #[test]
        fn an_alignment_is_a_longest_common_subsequence(
            before in proptest::collection::vec(0u8..6, 0..30),
            after in proptest::collection::vec(0u8..6, 0..30),
        ) {
            let aligned = align(&before, &after);
            prop_assert!(aligned.iter().all(|&(old, new)| before[old] == after[new]));
            prop_assert!(aligned.windows(2).all(|two| two[0].0 < two[1].0 && two[0].1 < two[1].1));
            prop_assert_eq!(aligned.len(), length_by_table(&before, &after));
        }
    }
}
