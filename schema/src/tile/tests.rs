use super::*;
use crate::merkle::{Frontier, verify_consistency, verify_inclusion};

#[test]
fn addresses_are_those_of_the_specification_and_there_is_one_for_each_tile() {
    let partial = |number, width| TileIndex { number, width };
    for (text, index) in [
        ("000", partial(0, 256)),
        ("067", partial(67, 256)),
        ("x001/000", partial(1000, 256)),
        ("x001/x234/067", partial(1_234_067, 256)),
        ("x001/x234/067.p/8", partial(1_234_067, 8)),
        ("999.p/255", partial(999, 255)),
        ("x018/x446/x744/x073/x709/x551/615", partial(u64::MAX, 256)),
    ] {
        assert_eq!(TileIndex::parse(text), Ok(index), "{text}");
        assert_eq!(index.to_string(), text);
    }
    for wrong in [
        "",
        "0",
        "00",
        "0000",
        "+00",
        "-01",
        "١٢٣",
        "x000",
        "x000/000",
        "x000/x001/000",
        "001/000",
        "x1/000",
        "x001/000/",
        "/000",
        "x001//000",
        "000.p",
        "000.p/",
        "000.p/0",
        "000.p/256",
        "000.p/01",
        "000.p/+1",
        "000.p/1/2",
        "000.p/1.p/1",
        "x018/x446/x744/x073/x709/x551/616",
        "x001/x000/x000/x000/x000/x000/x000/000",
    ] {
        assert!(TileIndex::parse(wrong).is_err(), "{wrong}");
    }
    let tile = Tile::parse("63/x001/000.p/7").expect("valid");
    assert_eq!(
        (tile.level, tile.to_string().as_str()),
        (63, "63/x001/000.p/7")
    );
    for wrong in [
        "64/000",
        "00/000",
        "01/000",
        "+1/000",
        "0",
        "/000",
        "entries/000",
        "0/entries",
    ] {
        assert!(Tile::parse(wrong).is_err(), "{wrong}");
    }
}

/// The tiles of a tree, hash for hash.
struct Log {
    levels: Vec<Vec<TreeHash>>,
    roots: Vec<TreeHash>,
}

impl Log {
    fn grow(size: u64) -> Self {
        let mut levels = vec![Vec::new(); 3];
        let mut frontier = Frontier::new();
        let mut roots = vec![frontier.root()];
        for index in 0..size {
            frontier.push(leaf_hash(&index.to_le_bytes()), |level, _, hash| {
                if level % TILE_HEIGHT == 0 {
                    levels[(level / TILE_HEIGHT) as usize].push(hash);
                }
            });
            roots.push(frontier.root());
        }
        Self { levels, roots }
    }

    fn serve(&self, tile: Tile, size: u64) -> Vec<u8> {
        let hashes = &self.levels[tile.level as usize];
        let start = tile.index.number * TILE_WIDTH;
        assert!(
            start + tile.index.width <= hashes_at(tile.level, size),
            "{tile} of {size}"
        );
        hashes[start as usize..(start + tile.index.width) as usize]
            .iter()
            .flat_map(|hash| *hash.as_bytes())
            .collect()
    }

    fn fetch(&self, tiles: &BTreeSet<Tile>, size: u64) -> FetchedTiles {
        let mut fetched = FetchedTiles::new(size);
        for tile in tiles {
            fetched.add(*tile, &self.serve(*tile, size)).expect("whole");
        }
        fetched
    }
}

#[test]
fn proofs_from_tiles_hold_at_sizes_around_every_border() {
    let log = Log::grow(70_000);
    let sizes = [
        1, 2, 3, 255, 256, 257, 511, 513, 1000, 65_535, 65_536, 65_537, 65_792, 70_000,
    ];
    for size in sizes {
        let root = log.roots[size as usize];
        let tiles = tiles_for_root(size);
        assert_eq!(log.fetch(&tiles, size).root(), Ok(root), "root of {size}");
        for index in [0, 1, 255, 256, size / 2, size - 1] {
            let Some(tiles) = tiles_for_inclusion(index, size) else {
                assert!(index >= size);
                continue;
            };
            let fetched = log.fetch(&tiles, size);
            let leaf = fetched.leaf(index).expect("the leaf's tile is among them");
            assert_eq!(leaf, leaf_hash(&index.to_le_bytes()));
            let proof = fetched.inclusion_proof(index).expect("all tiles are there");
            assert_eq!(
                verify_inclusion(&leaf, index, size, &proof, &root),
                Ok(()),
                "{index} in {size}"
            );
        }
        for old in sizes.into_iter().filter(|old| *old <= size).chain([0]) {
            let tiles = tiles_for_consistency(old, size).expect("not larger");
            let proof = log
                .fetch(&tiles, size)
                .consistency_proof(old)
                .expect("all tiles are there");
            let old_root = log.roots[old as usize];
            assert_eq!(
                verify_consistency(old, size, &old_root, &root, &proof),
                Ok(()),
                "{old} to {size}"
            );
        }
    }
    // What the specification says of a tree of 70,000.
    let tile = |text: &str| Tile::parse(text).expect("valid");
    let wanted = ["0/273.p/112", "1/001.p/17", "2/000.p/1"].map(tile);
    assert_eq!(tiles_for_root(70_000), BTreeSet::from(wanted));
    assert_eq!(tiles_for_root(256), BTreeSet::from([tile("1/000.p/1")]));
    assert_eq!(tiles_for_inclusion(5, 5), None);
    assert_eq!(tiles_for_consistency(6, 5), None);
}

#[test]
fn tiles_that_are_wrong_short_or_missing_give_no_proof_that_holds() {
    let log = Log::grow(600);
    let size = 600;
    let tiles = tiles_for_inclusion(300, size).expect("in range");
    let root = log.roots[size as usize];
    for changed in &tiles {
        let mut fetched = FetchedTiles::new(size);
        let mut without = FetchedTiles::new(size);
        for tile in &tiles {
            let mut bytes = log.serve(*tile, size);
            assert!(FetchedTiles::new(size).add(*tile, &bytes[1..]).is_err());
            if tile == changed {
                // Every hash, since a proof does not need all of them.
                bytes.iter_mut().step_by(32).for_each(|byte| *byte ^= 1);
            } else {
                without.add(*tile, &bytes).expect("whole");
            }
            fetched.add(*tile, &bytes).expect("as long as it should be");
        }
        let leaf = leaf_hash(&300_u64.to_le_bytes());
        let proof = fetched.inclusion_proof(300).expect("all tiles are there");
        let is_leaf = fetched.leaf(300) == Ok(leaf);
        let holds = verify_inclusion(&leaf, 300, size, &proof, &root).is_ok();
        assert!(!(is_leaf && holds), "{changed}");
        let missing = without.inclusion_proof(300).and(without.leaf(300));
        assert_eq!(missing, Err(TileError::Missing(changed.to_string())));
    }
    assert_eq!(
        FetchedTiles::new(size).leaf(600),
        Err(TileError::OutOfRange)
    );
    assert_eq!(
        FetchedTiles::new(size).inclusion_proof(600),
        Err(TileError::OutOfRange)
    );
    assert_eq!(
        FetchedTiles::new(size).consistency_proof(601),
        Err(TileError::OutOfRange)
    );
}

#[test]
fn bundles_of_entries_are_read_whole_or_not_at_all() {
    let entries: [&[u8]; 3] = [b"one", b"", &[7; ENTRY_BYTES_MAX]];
    let bundle = write_entries(entries).expect("each is short enough");
    assert_eq!(&bundle[..7], b"\x00\x03one\x00\x00");
    let read = read_entries(&bundle, 3).expect("whole");
    assert_eq!(read, entries);
    let hashes: Vec<TreeHash> = entries.iter().map(|entry| leaf_hash(entry)).collect();
    assert!(entries_match(&read, &hashes));
    assert!(!entries_match(&read, &hashes[..2]));
    assert!(!entries_match(&[b"one", b"", b"x"], &hashes));
    for wrong in [
        &bundle[..bundle.len() - 1],
        &bundle[..6],
        &[&bundle[..], &[0]].concat(),
    ] {
        assert_eq!(read_entries(wrong, 3), Err(TileError::Bundle(3)));
    }
    for width in [2, 4] {
        assert_eq!(read_entries(&bundle, width), Err(TileError::Bundle(width)));
    }
    let too_long = vec![0; ENTRY_BYTES_MAX + 1];
    let refused = write_entries([&too_long[..]]);
    assert_eq!(refused, Err(TileError::Entry(ENTRY_BYTES_MAX + 1)));
}
