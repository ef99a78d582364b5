//! Attacks by the ZIP file itself: two programs must not see different files in it, and none may be led out of its folder.

use std::collections::BTreeMap;
use std::io::{Cursor, Read as _, Write as _};

use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, DateTime, ZipArchive, ZipWriter};

use super::{Judged, SESSION, Victim};

/// The files of a sound bundle.
pub(super) fn contents(bundle: &[u8]) -> BTreeMap<String, Vec<u8>> {
    let mut archive = ZipArchive::new(Cursor::new(bundle)).expect("a ZIP file");
    let mut files = BTreeMap::new();
    for position in 0..archive.len() {
        let mut member = archive.by_index(position).expect("a member");
        let mut content = Vec::new();
        member.read_to_end(&mut content).expect("readable");
        let name = String::from_utf8(member.name_raw().to_vec()).expect("UTF-8");
        files.insert(name, content);
    }
    files
}

fn options() -> SimpleFileOptions {
    SimpleFileOptions::default()
        .compression_method(CompressionMethod::Stored)
        .last_modified_time(DateTime::DEFAULT)
        .unix_permissions(0o644)
}

/// Packs files in the form that a bundle has.
pub(super) fn packed(files: &BTreeMap<String, Vec<u8>>) -> Vec<u8> {
    let mut archive = ZipWriter::new(Cursor::new(Vec::new()));
    add(&mut archive, files);
    archive.finish().expect("can be finished").into_inner()
}

fn add(archive: &mut ZipWriter<Cursor<Vec<u8>>>, files: &BTreeMap<String, Vec<u8>>) {
    for (name, content) in files {
        archive
            .start_file(name.as_str(), options())
            .expect("starts");
        archive.write_all(content).expect("writes");
    }
}

/// A sound bundle with one more file, under a name that the attack asks for.
fn with_file(sound: &[u8], name: &str) -> Vec<u8> {
    let mut files = contents(sound);
    files.insert(name.to_owned(), b"x".to_vec());
    packed(&files)
}

#[track_caller]
fn is_refused(judged: &Judged, why: &str) {
    judged.names(None, "not the container of a bundle");
    judged.names(None, why);
    assert_eq!(
        judged.found["entries"], 0,
        "nothing of it is read: {judged:?}"
    );
}

#[test]
fn a_name_that_leads_elsewhere_is_refused() {
    let victim = Victim::new();
    let sound = victim.bundle(SESSION);
    for name in [
        "../escape",
        "a/../../escape",
        "/etc/absolute",
        "C:\\absolute",
        "a//b",
        "./here",
        "e\u{301}.txt",
    ] {
        is_refused(
            &victim.judge_bundle(&with_file(&sound, name)),
            "is not one of a bundle",
        );
    }
    assert!(!victim.file("escape").exists());
}

#[test]
fn a_link_is_refused() {
    let victim = Victim::new();
    let mut archive = ZipWriter::new(Cursor::new(Vec::new()));
    add(&mut archive, &contents(&victim.bundle(SESSION)));
    archive
        .add_symlink("zz", "/etc/passwd", options())
        .expect("a link");
    let bytes = archive.finish().expect("finishes").into_inner();
    is_refused(
        &victim.judge_bundle(&bytes),
        "zz is compressed, encrypted or a link",
    );
}

#[test]
fn a_doubled_name_is_refused() {
    let victim = Victim::new();
    let mut bytes = with_file(&victim.bundle(SESSION), "keys/ledger.pen");
    // The same length, so that the headers stay whole: in both of them the name becomes that of a file that is there.
    let (from, to) = (b"keys/ledger.pen", b"keys/ledger.pem");
    let at: Vec<usize> = (0..bytes.len() - from.len())
        .filter(|&at| bytes[at..].starts_with(from))
        .collect();
    assert_eq!(at.len(), 2);
    for at in at {
        bytes[at..at + to.len()].copy_from_slice(to);
    }
    is_refused(&victim.judge_bundle(&bytes), "are not those of a bundle");
}

/// Writes into both headers of the file that was added as `zz`: the offsets of a field in the local and in the central one.
fn patched(mut bytes: Vec<u8>, local: usize, central: usize, value: &[u8]) -> Vec<u8> {
    let starts = |signature: &[u8; 4], name_at: usize| {
        (0..bytes.len() - name_at - 2)
            .find(|&at| {
                bytes[at..].starts_with(signature) && bytes[at + name_at..].starts_with(b"zz")
            })
            .expect("the file has this header")
    };
    let fields = [
        starts(b"PK\x03\x04", 30) + local,
        starts(b"PK\x01\x02", 46) + central,
    ];
    for at in fields {
        bytes[at..at + value.len()].copy_from_slice(value);
    }
    bytes
}

#[test]
fn a_bomb_is_refused_before_it_is_unpacked() {
    let victim = Victim::new();
    let with_file = with_file(&victim.bundle(SESSION), "zz");
    // Deflated, to almost 4 GB: the headers alone decide.
    let deflated = patched(with_file.clone(), 8, 10, &8u16.to_le_bytes());
    let bomb = patched(deflated, 22, 24, &0xffff_fff0u32.to_le_bytes());
    is_refused(
        &victim.judge_bundle(&bomb),
        "zz is compressed, encrypted or a link",
    );
    // Stored, and yet larger than the file that it is in.
    let larger = patched(with_file, 22, 24, &0xffff_fff0u32.to_le_bytes());
    is_refused(
        &victim.judge_bundle(&larger),
        "claim more bytes than it has",
    );
}

/// A single byte, at places all over the file; that every byte counts, is tested beside the reader.
#[test]
fn a_byte_flipped_anywhere_is_noticed() {
    let victim = Victim::new();
    let sound = victim.bundle(SESSION);
    victim.judge_bundle(&sound).is_sound();
    let step = sound.len() / 60;
    for at in (0..sound.len()).step_by(step).chain([sound.len() - 1]) {
        let mut changed = sound.clone();
        changed[at] ^= 1 << (at % 8);
        let judged = victim.judge_bundle(&changed);
        match judged.code {
            Some(1) => assert_eq!(judged.found["verdict"], "failed", "byte {at}: {judged:?}"),
            // No ZIP file any more.
            Some(2) => assert!(
                judged.said.contains("attacked.rmb"),
                "byte {at}: {judged:?}"
            ),
            _ => panic!("byte {at} of {}: {judged:?}", sound.len()),
        }
    }
}
