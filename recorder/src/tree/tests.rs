use remembrancer_schema::merkle::{
    consistency_ranges, inclusion_ranges, leaf_hash, verify_consistency, verify_inclusion,
};
use sqlx::SqliteConnection;

use super::*;
use crate::store::sqlite::{self, Reading};

type Database = Reading<Box<SqliteConnection>>;

async fn database() -> Database {
    Reading(Box::new(sqlite::in_memory().await))
}

fn leaf(index: u64) -> TreeHash {
    leaf_hash(&index.to_le_bytes())
}

async fn store_leaf(database: &mut Database, index: u64) {
    sqlx::query("INSERT INTO entries VALUES (?, 1, ?, ?, x'', x'', ?)")
        .bind(index as i64)
        .bind(index as i64)
        .bind(index.to_string())
        .bind(leaf(index).as_bytes().as_slice())
        .execute(&mut *database.0)
        .await
        .expect("stores");
}

async fn store_tile(database: &mut Database, tile: FullTile) {
    sqlx::query("INSERT INTO tiles VALUES (?, ?, ?)")
        .bind(tile.level)
        .bind(tile.tile as i64)
        .bind(tile.hashes)
        .execute(&mut *database.0)
        .await
        .expect("stores");
}

/// Grows a tree past the first tile of level 1 (65,536 leaves) and checks it against a plain frontier on the way.
#[tokio::test]
async fn proofs_hold_at_sizes_around_every_tile_border() {
    const SIZE: u64 = 66_100;
    let mut connection = database().await;
    let mut edge = Edge::load(&mut connection, 0).await.expect("loads");
    assert_eq!(edge.root(), merkle::empty_root());
    let mut plain = Frontier::new();
    let mut roots = vec![plain.root()];
    sqlx::query("BEGIN")
        .execute(&mut *connection.0)
        .await
        .expect("begins");
    let mut full = Vec::new();
    for index in 0..SIZE {
        plain.push(leaf(index), |_, _, _| {});
        roots.push(plain.root());
        edge.push(leaf(index), &mut full);
        store_leaf(&mut connection, index).await;
        for tile in full.drain(..) {
            store_tile(&mut connection, tile).await;
        }
        if [1, 255, 256, 257, 600, 65_535, 65_536, 65_537].contains(&(index + 1)) {
            let loaded = Edge::load(&mut connection, index + 1).await.expect("loads");
            assert_eq!(
                loaded.root(),
                roots[index as usize + 1],
                "size {}",
                index + 1
            );
            edge = loaded;
        }
    }
    assert_eq!(edge.root(), plain.root());
    assert_eq!(edge.size(), SIZE);
    let sizes = [
        1, 2, 3, 255, 256, 257, 511, 512, 513, 1000, 65_535, 65_536, 65_537, SIZE,
    ];
    for size in sizes {
        let root = roots[size as usize];
        assert_eq!(
            range_root(&mut connection, 0..size).await.expect("known"),
            root
        );
        for index in [0, 1, 254, 255, 256, 300, 511, 65_535, 65_536, size - 1] {
            let Some(ranges) = inclusion_ranges(index, size) else {
                continue;
            };
            let proof = range_roots(&mut connection, ranges).await.expect("known");
            assert_eq!(
                verify_inclusion(&leaf(index), index, size, &proof, &root),
                Ok(()),
                "{index} in {size}"
            );
        }
        for old in sizes.into_iter().filter(|old| *old <= size) {
            let ranges = consistency_ranges(old, size).expect("in order");
            let proof = range_roots(&mut connection, ranges).await.expect("known");
            assert_eq!(
                verify_consistency(old, size, &roots[old as usize], &root, &proof),
                Ok(()),
                "{old} to {size}"
            );
        }
    }
}

#[tokio::test]
async fn a_gap_in_the_leaves_is_an_error_and_not_another_root() {
    let mut connection = database().await;
    for index in [0, 1, 3] {
        store_leaf(&mut connection, index).await;
    }
    let error = Edge::load(&mut connection, 4)
        .await
        .expect_err("leaf 2 is missing");
    assert!(error.to_string().contains("not all there"), "{error}");
}
