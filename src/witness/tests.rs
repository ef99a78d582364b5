use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use remembrancer_schema::merkle::leaf_hash;
use remembrancer_schema::tile::{FetchedTiles, Tile};

use super::*;

/// A ledger of fewer than 256 entries, whose history may leave another one's.
struct Ledger {
    key: LedgerKey,
    leaves: Vec<TreeHash>,
}

impl Ledger {
    fn new(size: u64) -> Self {
        let mut ledger = Self {
            key: LedgerKey::from_seed(&[1; 32]),
            leaves: Vec::new(),
        };
        ledger.grow(size, "");
        ledger
    }

    fn grow(&mut self, size: u64, what: &str) {
        for index in self.leaves.len() as u64..size {
            self.leaves
                .push(leaf_hash(format!("{what}{index}").as_bytes()));
        }
    }

    fn tiles(&self, size: u64) -> FetchedTiles {
        let mut tiles = FetchedTiles::new(size);
        if size > 0 {
            let tile = Tile::parse(&format!("0/000.p/{size}")).unwrap();
            let leaves = self.leaves[..size as usize].iter();
            let bytes: Vec<u8> = leaves.flat_map(|leaf| *leaf.as_bytes()).collect();
            tiles.add(tile, &bytes).unwrap();
        }
        tiles
    }

    fn key(&self) -> VerifierKey {
        VerifierKey::of_ledger("ledger.example/a".parse().unwrap(), self.key.public())
    }

    fn note(&self, size: u64) -> String {
        let checkpoint = Checkpoint {
            origin: self.key().name,
            size,
            root: self.tiles(size).root().unwrap(),
        };
        checkpoint.sign(&self.key)
    }

    fn request(&self, old: u64, size: u64) -> String {
        let proof = if old <= size {
            self.tiles(size).consistency_proof(old).unwrap()
        } else {
            Vec::new()
        };
        request::body(old, &proof, &self.note(size))
    }
}

fn open(folder: &Path, ledger: &Ledger) -> Witness {
    let name = "witness.example/1".parse().unwrap();
    Witness::open(folder, Some(name), vec![ledger.key()])
        .unwrap_or_else(|failure| panic!("{:?}", failure.into_words()))
}

fn evidence(folder: &Path) -> Vec<(String, String)> {
    let kept =
        Evidence::kept(folder).unwrap_or_else(|failure| panic!("{:?}", failure.into_words()));
    kept.into_iter()
        .map(|(path, text)| {
            (
                path.file_name().unwrap().to_string_lossy().into_owned(),
                text,
            )
        })
        .collect()
}

#[test]
fn a_growing_ledger_is_signed_and_what_was_signed_is_remembered() {
    let folder = tempfile::tempdir().unwrap();
    let ledger = Ledger::new(20);
    let witness = open(folder.path(), &ledger);
    for (old, size) in [(0, 0), (0, 3), (3, 3), (3, 8), (8, 20)] {
        let line = witness
            .add_checkpoint(&ledger.request(old, size))
            .expect("signs");
        let note = format!("{}{line}", ledger.note(size));
        let found = cosignature::of_witnesses(&note, &[witness.verifier_key()]).unwrap();
        assert_eq!(found.len(), 1, "{line}");
        assert!(now() - found[0].1.time < 60);
    }
    let refused = witness.add_checkpoint(&ledger.request(0, 20));
    assert_eq!(refused, Err(Refusal::OtherSize(20)));
    let key = witness.verifier_key();
    drop(witness);
    // Another start, without its name: the same witness.
    let witness = Witness::open(folder.path(), None, vec![ledger.key()]).expect("opens");
    assert_eq!(witness.verifier_key(), key);
    assert_eq!(
        witness.add_checkpoint(&ledger.request(8, 20)),
        Err(Refusal::OtherSize(20))
    );
    witness
        .add_checkpoint(&ledger.request(20, 20))
        .expect("signs again");
    assert_eq!(evidence(folder.path()), []);
}

#[test]
fn forks_and_roll_backs_are_refused_and_both_checkpoints_are_kept() {
    let folder = tempfile::tempdir().unwrap();
    let ledger = Ledger::new(20);
    let witness = open(folder.path(), &ledger);
    witness
        .add_checkpoint(&ledger.request(0, 20))
        .expect("signs");
    let mut fork = Ledger::new(12);
    fork.grow(40, "other ");

    let refused = witness.add_checkpoint(&fork.request(20, 20));
    assert_eq!(refused, Err(Refusal::Fork(20)));
    // Also where the request says another old size: the two notes say it all.
    assert_eq!(
        witness.add_checkpoint(&fork.request(0, 20)),
        Err(Refusal::Fork(20))
    );
    let refused = witness.add_checkpoint(&fork.request(20, 40));
    assert!(matches!(refused, Err(Refusal::NotProven(_))), "{refused:?}");
    let refused = witness.add_checkpoint(&ledger.request(0, 15));
    assert_eq!(refused, Err(Refusal::OtherSize(20)));

    let kept = evidence(folder.path());
    assert_eq!(kept.len(), 3, "{kept:?}");
    for (kind, shown) in [
        ("-fork-", fork.note(20)),
        ("-not-extended-", fork.note(40)),
        ("-older.", ledger.note(15)),
    ] {
        let (_, text) = kept
            .iter()
            .find(|(name, _)| name.contains(kind))
            .expect(kind);
        let (_, notes) = text.split_once("--- signed here\n").expect("a first note");
        let (first, second) = notes.split_once("--- refused\n").expect("a second note");
        assert_eq!((first, second), (&*ledger.note(20), &*shown), "{kind}");
        for note in [first, second] {
            Checkpoint::verify(note, &ledger.key.public()).expect("signed by the ledger");
        }
    }
    // It goes on with the history that it knows, and only with that.
    let mut ledger = ledger;
    ledger.grow(30, "");
    drop(witness);
    let witness = open(folder.path(), &ledger);
    witness
        .add_checkpoint(&ledger.request(20, 30))
        .expect("signs");
    assert!(witness.add_checkpoint(&fork.request(30, 40)).is_err());
}

#[test]
fn requests_that_are_not_sound_are_refused_each_in_its_way_and_change_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let ledger = Ledger::new(20);
    let witness = open(folder.path(), &ledger);
    witness
        .add_checkpoint(&ledger.request(0, 5))
        .expect("signs");
    let good = ledger.request(5, 20);
    let hash = STANDARD.encode([7; 32]);
    for wrong in [
        String::new(),
        "old 5".to_owned(),
        good.replacen("old 5", "old 05", 1),
        good.replacen("old 5", "old +5", 1),
        good.replacen("old 5", "old -5", 1),
        good.replacen("old 5", "5", 1),
        good.replacen("old 5", "old 18446744073709551616", 1),
        good.replacen("old 5\n", "old 5\nnot base64\n", 1),
        good.replacen("old 5\n", &format!("old 5\n{}\n", &hash[..8]), 1),
        good.replacen(
            "old 5\n",
            &format!("old 5\n{}", format!("{hash}\n").repeat(64)),
            1,
        ),
        good.replacen("\n20\n", "\n020\n", 1),
        good.replacen("\n20\n", "\n20\nextension\n", 1),
        good.trim_end().to_owned(),
        good.replacen("old 5", "old 21", 1),
        format!("{good}{}", "x".repeat(BODY_BYTES_MAX)),
    ] {
        let refused = witness.add_checkpoint(&wrong);
        assert!(
            matches!(refused, Err(Refusal::Malformed(_))),
            "{wrong:.200}: {refused:?}"
        );
    }
    let unknown = good.replace("ledger.example/a", "ledger.example/b");
    assert!(matches!(
        witness.add_checkpoint(&unknown),
        Err(Refusal::UnknownLedger(_))
    ));
    let unsigned = good.replacen("\n20\n", "\n19\n", 1);
    assert_eq!(witness.add_checkpoint(&unsigned), Err(Refusal::NotSigned));
    let mut stranger = Ledger::new(20);
    stranger.key = LedgerKey::from_seed(&[9; 32]);
    assert_eq!(
        witness.add_checkpoint(&stranger.request(5, 20)),
        Err(Refusal::NotSigned)
    );
    for wrong in [
        good.replacen("old 5\n", &format!("old 5\n{hash}\n"), 1),
        format!("old 5\n\n{}", ledger.note(20)),
    ] {
        assert!(
            matches!(witness.add_checkpoint(&wrong), Err(Refusal::NotProven(_))),
            "{wrong}"
        );
    }
    witness.add_checkpoint(&good).expect("nothing was changed");
}

#[test]
fn a_folder_belongs_to_one_witness_and_one_key_of_each_ledger() {
    let folder = tempfile::tempdir().unwrap();
    let ledger = Ledger::new(3);
    let held = lock(folder.path()).expect("takes");
    assert!(lock(folder.path()).is_err(), "two at once");
    drop(held);
    let witness = open(folder.path(), &ledger);
    witness
        .add_checkpoint(&ledger.request(0, 3))
        .expect("signs");
    drop(witness);
    let open = |name: &str, ledgers| {
        let opened = Witness::open(folder.path(), Some(name.parse().unwrap()), ledgers);
        opened.err().map(|failure| failure.into_words().0)
    };
    let said = open("witness.example/2", vec![ledger.key()]).expect("another name");
    assert!(said.contains("witness.example/1"), "{said}");
    let mut stranger = Ledger::new(3);
    stranger.key = LedgerKey::from_seed(&[9; 32]);
    let said = open("witness.example/1", vec![stranger.key()]).expect("another key");
    assert!(
        said.contains("is not a checkpoint of ledger.example/a"),
        "{said}"
    );
    let said = open("witness.example/1", vec![ledger.key(), stranger.key()]);
    assert!(said.is_some());
    // A lost key is no reason to begin anew under the old name.
    std::fs::remove_file(folder.path().join("witness-key.pem")).unwrap();
    let said = open("witness.example/1", vec![ledger.key()]).expect("no key");
    assert!(said.contains("is missing"), "{said}");
}

async fn post(router: &axum::Router, body: String) -> (u16, String, String) {
    use axum::body::{Body, to_bytes};
    use tower::ServiceExt as _;
    let request = axum::http::Request::post("/add-checkpoint")
        .body(Body::from(body))
        .unwrap();
    let answer = router.clone().oneshot(request).await.unwrap();
    let media = answer.headers()["content-type"]
        .to_str()
        .unwrap()
        .to_owned();
    let status = answer.status().as_u16();
    let bytes = to_bytes(answer.into_body(), usize::MAX).await.unwrap();
    (status, media, String::from_utf8(bytes.to_vec()).unwrap())
}

#[tokio::test]
async fn answers_have_the_statuses_and_types_of_the_specification() {
    let folder = tempfile::tempdir().unwrap();
    let ledger = Ledger::new(20);
    let mut fork = Ledger::new(3);
    fork.grow(20, "other ");
    let router = router(std::sync::Arc::new(open(folder.path(), &ledger)));
    let (status, media, line) = post(&router, ledger.request(0, 8)).await;
    assert_eq!((status, media.as_str()), (200, "text/plain; charset=utf-8"));
    assert!(
        line.starts_with("\u{2014} witness.example/1 ") && line.ends_with('\n'),
        "{line}"
    );
    let unknown = ledger
        .request(8, 20)
        .replace("ledger.example/a", "ledger.example/b");
    let unsigned = ledger.request(8, 20).replacen("\n20\n", "\n19\n", 1);
    for (body, expected) in [
        (String::new(), 400),
        (ledger.request(21, 20), 400),
        (unsigned, 403),
        (unknown, 404),
        (fork.request(8, 20), 422),
        ("x".repeat(BODY_BYTES_MAX + 1), 413),
    ] {
        let (status, _, told) = post(&router, body).await;
        assert_eq!(status, expected, "{told}");
    }
    for body in [ledger.request(0, 20), fork.request(8, 8)] {
        let answer = post(&router, body).await;
        assert_eq!(
            answer,
            (409, "text/x.tlog.size".to_owned(), "8\n".to_owned())
        );
    }
}

#[cfg(unix)]
#[test]
fn what_cannot_be_remembered_is_not_signed() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = tempfile::tempdir().unwrap();
    let ledger = Ledger::new(9);
    let witness = open(folder.path(), &ledger);
    witness
        .add_checkpoint(&ledger.request(0, 3))
        .expect("signs");
    // A folder where the draft should be: nobody can write it, whoever this runs as.
    let name = format!("{}.checkpoint.new", memory::file_name(&ledger.key().name));
    std::fs::create_dir(folder.path().join(&name)).unwrap();
    let refused = witness.add_checkpoint(&ledger.request(3, 9));
    assert!(matches!(refused, Err(Refusal::NotKept(_))), "{refused:?}");
    std::fs::remove_dir(folder.path().join(&name)).unwrap();
    witness
        .add_checkpoint(&ledger.request(3, 9))
        .expect("signs");
    let mode = |name: &str| {
        let file = std::fs::metadata(folder.path().join(name)).unwrap();
        file.permissions().mode() & 0o777
    };
    assert_eq!(mode("witness-key.pem"), 0o600);
}
