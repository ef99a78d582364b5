use ct_merkle::mem_backed_tree::MemoryBackedTree;

use super::*;

fn leaves(count: u64) -> Vec<Vec<u8>> {
    (0..count)
        .map(|index| format!("entry {index}").into_bytes())
        .collect()
}

fn root_of(range: Range<u64>, leaves: &[Vec<u8>]) -> TreeHash {
    let hashes: Vec<_> = perfect_subtrees(range)
        .into_iter()
        .map(|subtree| {
            let start = (subtree.index << subtree.level) as usize;
            let mut level: Vec<_> = leaves[start..start + (1 << subtree.level)]
                .iter()
                .map(|leaf| leaf_hash(leaf))
                .collect();
            while level.len() > 1 {
                level = level
                    .chunks(2)
                    .map(|pair| node_hash(&pair[0], &pair[1]))
                    .collect();
            }
            level[0]
        })
        .collect();
    fold_subtrees(&hashes).unwrap_or_else(empty_root)
}

/// `ct-merkle` is an implementation that shares no code with this one.
#[test]
fn roots_and_proofs_equal_those_of_an_independent_implementation() {
    for size in 1..=70u64 {
        let leaves = leaves(size);
        let mut oracle = MemoryBackedTree::<sha2::Sha256, Vec<u8>>::new();
        let mut frontier = Frontier::new();
        for leaf in &leaves {
            oracle.push(leaf.clone());
            frontier.push(leaf_hash(leaf), |_, _, _| {});
        }
        let root = frontier.root();
        assert_eq!(
            root.as_bytes().as_slice(),
            oracle.root().as_bytes().as_slice(),
            "root of {size}"
        );
        assert_eq!(root, root_of(0..size, &leaves));
        for index in 0..size {
            let proof: Vec<_> = inclusion_ranges(index, size)
                .expect("index is in range")
                .into_iter()
                .map(|range| root_of(range, &leaves))
                .collect();
            let flat: Vec<u8> = proof.iter().flat_map(|hash| *hash.as_bytes()).collect();
            assert_eq!(
                flat,
                oracle.prove_inclusion(index as usize).as_bytes(),
                "inclusion of {index} in {size}"
            );
            verify_inclusion(
                &leaf_hash(&leaves[index as usize]),
                index,
                size,
                &proof,
                &root,
            )
            .expect("proof holds");
            assert!(
                verify_inclusion(&leaf_hash(b"other"), index, size, &proof, &root).is_err(),
                "another leaf must not verify"
            );
        }
        for old in 1..size {
            let old_root = root_of(0..old, &leaves);
            let proof: Vec<_> = consistency_ranges(old, size)
                .expect("old is not larger")
                .into_iter()
                .map(|range| root_of(range, &leaves))
                .collect();
            let flat: Vec<u8> = proof.iter().flat_map(|hash| *hash.as_bytes()).collect();
            let oracle_proof = oracle.prove_consistency((size - old) as usize);
            assert_eq!(
                flat,
                oracle_proof.as_bytes(),
                "consistency of {old} with {size}"
            );
            verify_consistency(old, size, &old_root, &root, &proof).expect("proof holds");
            assert!(verify_consistency(old, size, &leaf_hash(b"forged"), &root, &proof).is_err());
            assert!(
                verify_consistency(old, size, &old_root, &leaf_hash(b"forged"), &proof).is_err()
            );
            let mut longer = proof.clone();
            longer.push(root);
            assert!(verify_consistency(old, size, &old_root, &root, &longer).is_err());
        }
    }
}

#[test]
fn a_flipped_bit_anywhere_in_a_proof_is_caught() {
    let leaves = leaves(11);
    let root = root_of(0..11, &leaves);
    let proof: Vec<_> = inclusion_ranges(6, 11)
        .expect("in range")
        .into_iter()
        .map(|range| root_of(range, &leaves))
        .collect();
    for position in 0..proof.len() {
        for bit in 0..8 {
            let mut bytes = *proof[position].as_bytes();
            bytes[bit] ^= 1 << bit;
            let mut forged = proof.clone();
            forged[position] = TreeHash::from_bytes(bytes);
            assert_eq!(
                verify_inclusion(&leaf_hash(&leaves[6]), 6, 11, &forged, &root),
                Err(ProofError::Root)
            );
        }
    }
    assert_eq!(
        verify_inclusion(&leaf_hash(&leaves[6]), 11, 11, &proof, &root),
        Err(ProofError::OutOfRange)
    );
}

#[test]
fn the_frontier_reports_each_perfect_subtree_once() {
    let mut frontier = Frontier::new();
    let mut completed = Vec::new();
    for leaf in leaves(8) {
        frontier.push(leaf_hash(&leaf), |level, index, _| {
            completed.push((level, index))
        });
    }
    let per_level: Vec<usize> = (0..4)
        .map(|level| {
            completed
                .iter()
                .filter(|subtree| subtree.0 == level)
                .count()
        })
        .collect();
    assert_eq!(per_level, [8, 4, 2, 1]);
}
