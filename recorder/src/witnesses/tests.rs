use remembrancer_schema::checkpoint::Checkpoint;
use remembrancer_schema::cosignature;
use remembrancer_schema::merkle::leaf_hash;
use remembrancer_schema::note;
use remembrancer_schema::signing::LedgerKey;
use remembrancer_schema::verifier_key::VerifierKey;

use super::*;
use crate::checkpoint_copy::CheckpointCopy;

fn ledger_key() -> LedgerKey {
    LedgerKey::from_seed(&[1; 32])
}

fn origin() -> remembrancer_schema::Origin {
    "ledger.example/a".parse().expect("valid")
}

fn note_of(size: u64) -> String {
    let checkpoint = Checkpoint {
        origin: origin(),
        size,
        root: leaf_hash(&size.to_le_bytes()),
    };
    checkpoint.sign(&ledger_key())
}

fn witness(number: u8) -> (LedgerKey, VerifierKey) {
    let key = LedgerKey::from_seed(&[number; 32]);
    let name = format!("witness.example/{number}").parse().expect("valid");
    let verifier = VerifierKey::of_witness(name, key.public());
    (key, verifier)
}

fn line(note: &str, number: u8) -> String {
    let (text, _) = note::split(note).expect("a note");
    let (key, verifier) = witness(number);
    cosignature::sign(text, 1_700_000_000, &verifier.name, &key).line
}

fn publication(folder: &tempfile::TempDir, required: usize) -> Publication {
    let witnesses = [witness(2).1, witness(3).1];
    let file = CheckpointCopy::new(folder.path().join("ledger.cosigned"));
    Publication::open(
        file,
        &origin(),
        &ledger_key().public(),
        &witnesses,
        required,
    )
}

#[test]
fn without_a_quorum_readers_get_the_newest_checkpoint_and_its_signatures_if_there_are_any() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let publication = publication(&folder, 0);
    assert_eq!(publication.published(None), Published::Empty);
    let (first, second) = (note_of(5), note_of(9));
    assert_eq!(
        publication.published(Some(first.clone())),
        Published::Note(first.clone())
    );
    let lines = [line(&first, 2)];
    publication.publish(&first, 5, &lines).expect("writes");
    let cosigned = format!("{first}{}", lines[0]);
    assert_eq!(
        publication.published(Some(first)),
        Published::Note(cosigned)
    );
    assert_eq!(
        publication.published(Some(second.clone())),
        Published::Note(second)
    );
}

#[test]
fn a_checkpoint_is_held_back_until_enough_witnesses_signed_and_never_goes_back() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let published = publication(&folder, 2);
    let (first, second) = (note_of(5), note_of(9));
    let newest = || Some(note_of(9));
    published
        .publish(&first, 5, &[line(&first, 2)])
        .expect("not enough");
    assert_eq!(published.published(newest()), Published::HeldBack(2));
    assert!(!folder.path().join("ledger.cosigned").exists());
    let both = |note: &str| [line(note, 2), line(note, 3)];
    published.publish(&first, 5, &both(&first)).expect("writes");
    let cosigned = |note: &str| Published::Note(format!("{note}{}", both(note).concat()));
    assert_eq!(published.published(newest()), cosigned(&first));
    // What was published stays so over a restart.
    drop(published);
    let published = publication(&folder, 2);
    assert_eq!(published.published(newest()), cosigned(&first));
    published
        .publish(&second, 9, &both(&second))
        .expect("writes");
    published
        .publish(&first, 5, &both(&first))
        .expect("ignored");
    assert_eq!(published.published(newest()), cosigned(&second));
    // With other witnesses in its settings, their signatures count, and these do not.
    let file = CheckpointCopy::new(folder.path().join("ledger.cosigned"));
    let key = ledger_key().public();
    let strict = Publication::open(file.clone(), &origin(), &key, &[witness(4).1], 1);
    assert_eq!(strict.published(newest()), Published::HeldBack(1));
    // A file that this ledger did not sign is not published.
    std::fs::write(file.path(), second.replacen("\n9\n", "\n8\n", 1)).expect("writes");
    assert_eq!(
        publication(&folder, 2).published(newest()),
        Published::HeldBack(2)
    );
}

#[test]
fn a_witness_is_named_by_its_key_and_its_address() {
    let (_, verifier) = witness(2);
    let text = format!("{verifier}@https://w.example.net/path/");
    let address: WitnessAddress = text.parse().expect("valid");
    assert_eq!(
        address.add_checkpoint(),
        "https://w.example.net/path/add-checkpoint"
    );
    assert_eq!(address.to_string(), text);
    assert!(!address.is_local());
    for local in [
        "http://127.0.0.1:7373",
        "http://[::1]:1",
        "http://localhost",
    ] {
        let address: WitnessAddress = format!("{verifier}@{local}").parse().expect("valid");
        assert!(address.is_local(), "{local}");
    }
    for bad in [
        "ftp://w.example.net",
        "w.example.net",
        "",
        "https://u:p@w.example.net",
        "https://w.example.net/?q",
        "https://w.example.net/#f",
    ] {
        let parsed = format!("{verifier}@{bad}").parse::<WitnessAddress>();
        assert_eq!(parsed, Err(BadWitness::Address), "{bad}");
    }
    assert_eq!(
        "https://w.example.net".parse::<WitnessAddress>(),
        Err(BadWitness::Form)
    );
    let ledger = VerifierKey::of_ledger(origin(), ledger_key().public());
    assert!(matches!(
        format!("{ledger}@https://w.example.net").parse::<WitnessAddress>(),
        Err(BadWitness::NotAWitness(_))
    ));
}
