use std::path::Path;

use remembrancer_schema::payload::{ConstraintKind, ContextCaptured, Payload};
use remembrancer_schema::{Event, SessionId};

use super::*;

/// Everything that an import gave.
#[derive(Default)]
pub(super) struct Collected {
    pub(super) events: Vec<(SessionId, Vec<u8>)>,
    blobs: std::collections::BTreeMap<remembrancer_schema::ContentHash, Vec<u8>>,
    pub(super) batches: usize,
    bytes: u64,
}

impl Sink for Collected {
    fn take(&mut self, session: &SessionId, written: Written) -> bool {
        self.batches += 1;
        self.blobs.extend(written.blobs);
        for event in &written.events {
            crate::recorded_data::witness_of(&Event::parse(&event.bytes).expect("a valid event"));
        }
        let events = written.events.into_iter();
        self.events
            .extend(events.map(|event| (session.clone(), event.bytes)));
        true
    }

    fn progress(&mut self, bytes: u64) {
        assert!(bytes > 0);
        self.bytes = bytes;
    }
}

impl Collected {
    /// The payloads of a session.
    pub(super) fn payloads(&self, session: &str) -> Vec<Payload> {
        let of_session = self.events.iter().filter(|(id, _)| id.as_str() == session);
        of_session
            .map(|(_, bytes)| Event::parse(bytes).expect("a valid event").payload)
            .collect()
    }

    /// The texts of each context of a session, by turn; a part that cannot be read is `?`.
    pub(super) fn contexts(&self, session: &str) -> Vec<Vec<String>> {
        let mut texts = std::collections::HashMap::new();
        for (hash, bytes) in &self.blobs {
            texts.insert(*hash, String::from_utf8(bytes.clone()).expect("a text"));
        }
        let mut contexts: Vec<Vec<String>> = Vec::new();
        for captured in self.captures(session) {
            for part in &captured.parts {
                if let Some(text) = &part.text {
                    let hash = remembrancer_schema::ContentHash::of(text.as_bytes());
                    texts.insert(hash, text.clone());
                }
            }
            let mut context = match captured.base {
                Some(base) => contexts[base as usize - 1].clone(),
                None => Vec::new(),
            };
            context.extend(captured.parts.iter().map(|part| {
                let by_hash = part.hash.and_then(|hash| texts.get(&hash).cloned());
                part.text
                    .clone()
                    .or(by_hash)
                    .unwrap_or_else(|| "?".to_owned())
            }));
            contexts.push(context);
        }
        contexts
    }

    /// The contexts of a session as they were written.
    pub(super) fn captures(&self, session: &str) -> Vec<ContextCaptured> {
        let payloads = self.payloads(session).into_iter();
        payloads
            .filter_map(|payload| match payload {
                Payload::ContextCaptured(captured) => Some(captured),
                _ => None,
            })
            .collect()
    }
}

/// Imports lines as a file of a name.
pub(super) fn imported(
    format: &dyn Format,
    name: &str,
    lines: &str,
    options: &ImportOptions,
) -> (Collected, FileReport) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join(name);
    std::fs::write(&path, lines).expect("a file");
    read(format, &path, options)
}

/// Imports a file.
pub(super) fn read(
    format: &dyn Format,
    path: &Path,
    options: &ImportOptions,
) -> (Collected, FileReport) {
    let mut collected = Collected::default();
    let report = import(format, path, options, &mut collected).expect("an import");
    (collected, report)
}

const PI: &str = concat!(
    r#"{"type":"session","version":3,"id":"p1","timestamp":"2026-01-01T00:00:00Z","cwd":"/w"}"#,
    "\n",
    r#"{"type":"message","id":"a","parentId":null,"message":{"role":"user","content":"Never push. Be brief."}}"#,
    "\n",
    r#"{"type":"message","id":"b","parentId":"a","message":{"role":"assistant","content":[{"type":"text","text":"ok"}],"usage":{"input":9,"output":1,"cacheRead":2,"cacheWrite":3}}}"#,
    "\n",
);

fn never(text: &str) -> Vec<ProposedRule> {
    text.split_inclusive('.')
        .filter(|sentence| sentence.contains("Never"))
        .map(|sentence| ProposedRule {
            kind: ConstraintKind::Prohibition,
            text: sentence.trim().to_owned(),
            actions: Vec::new(),
        })
        .collect()
}

#[test]
fn a_format_is_told_by_how_a_file_begins() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = |name: &str, content: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, content).expect("a file");
        path
    };
    let pi = file("pi.jsonl", PI);
    let other = file("other.jsonl", "{\"a\":1}\n");
    let format = |path: &Path| guess(path).expect("reads").map(Format::name);
    assert_eq!((format(&pi), format(&other)), (Some("pi"), None));
    let unknown = find(&other, None).map(|found| found.len());
    assert!(matches!(unknown, Err(ImportError::Unknown { .. })));
    let found = find(folder.path(), None).expect("searches");
    let found: Vec<&Path> = found.iter().map(|found| &*found.path).collect();
    assert_eq!(found, [&pi]);
    let wanted = format_named("codex");
    assert!(find(folder.path(), wanted).expect("searches").is_empty());
}

#[test]
fn a_line_that_is_no_record_is_told_and_kept_and_the_rest_is_read() {
    let broken = PI.replace("\"usage\":", "\"usage\":{]");
    let lines = format!("{broken}{}", PI.lines().last().expect("a line")) + "\n";
    let (collected, report) = imported(&pi::Pi, "x.jsonl", &lines, &ImportOptions::default());
    assert_eq!((report.malformed, report.records), (1, 4));
    assert_eq!(report.notices[0].line, Some(3));
    assert!(
        collected.events.iter().any(
            |(_, bytes)| String::from_utf8_lossy(bytes).contains("custom.transcript.malformed")
        )
    );
    assert_eq!(collected.contexts("pi-p1").len(), 1);
}

#[test]
fn a_file_that_grows_gives_what_it_gave_and_then_the_rest() {
    let whole = imported(&pi::Pi, "x.jsonl", PI, &ImportOptions::default()).0;
    for cut in 0..PI.len() {
        if !PI.is_char_boundary(cut) || PI[..cut].lines().count() < 2 {
            continue;
        }
        let part = imported(&pi::Pi, "x.jsonl", &PI[..cut], &ImportOptions::default()).0;
        assert!(whole.events.starts_with(&part.events), "cut at {cut}");
    }
    let again = imported(&pi::Pi, "other-name.jsonl", PI, &ImportOptions::default()).0;
    assert_eq!(whole.events, again.events);
}

#[test]
fn rules_of_the_user_are_declared_before_the_first_request_with_them() {
    let options = ImportOptions {
        rules: Some(never),
        extract_rules: true,
        ..ImportOptions::default()
    };
    let (collected, _) = imported(&pi::Pi, "x.jsonl", PI, &options);
    let payloads = collected.payloads("pi-p1-x");
    let rule = payloads.iter().position(|payload| {
        let Payload::ConstraintDeclared(rule) = payload else {
            return false;
        };
        let by = rule.stated_by.as_ref().expect("who stated it");
        assert_eq!(
            (by.role.as_str(), by.source.as_deref()),
            ("user", Some("line 2"))
        );
        rule.inferred && rule.text == "Never push."
    });
    let context = payloads
        .iter()
        .position(|payload| matches!(payload, Payload::ContextCaptured(_)));
    assert!(rule.is_some() && rule < context);
}

#[test]
fn what_was_said_right_before_a_compaction_is_declared_though_no_request_had_it() {
    let lines = concat!(
        r#"{"type":"session_meta","payload":{"id":"s","cwd":"/w"}}"#,
        "\n",
        r#"{"type":"response_item","payload":{"type":"message","role":"user","content":"Never push."}}"#,
        "\n",
        r#"{"type":"compacted","payload":{"message":"sum","replacement_history":[]}}"#,
        "\n",
    );
    let options = ImportOptions {
        rules: Some(never),
        extract_rules: true,
        ..ImportOptions::default()
    };
    let (collected, _) = imported(&codex::Codex, "r.jsonl", lines, &options);
    let payloads = collected.payloads("codex-s-x");
    assert!(payloads.iter().any(|payload| {
        matches!(payload, Payload::ConstraintDeclared(rule) if rule.text == "Never push.")
    }));
}

#[test]
fn a_declared_rule_can_wait_until_it_is_stated() {
    let rule = |text: &str| DeclaredRule {
        constraint: remembrancer_schema::payload::ConstraintDeclared {
            id: "r".parse().expect("an id"),
            kind: ConstraintKind::Prohibition,
            text: text.to_owned(),
            matcher: None,
            actions: Vec::new(),
            stated_by: None,
            inferred: false,
            witness: None,
        },
        from: DeclaredFrom::FirstStated,
    };
    let with = |text: &str| ImportOptions {
        declared: Declared {
            rules: vec![rule(text)],
            ..Declared::default()
        },
        ..ImportOptions::default()
    };
    let declared = |options: &ImportOptions| {
        let (collected, report) = imported(&pi::Pi, "x.jsonl", PI, options);
        let session = report.sessions[0].as_str();
        let payloads = collected.payloads(session);
        let declared = payloads
            .iter()
            .filter(|payload| matches!(payload, Payload::ConstraintDeclared(_)))
            .count();
        (declared, report.notices.len())
    };
    assert_eq!(declared(&with("never PUSH")), (1, 0));
    assert_eq!(declared(&with("never pull")), (0, 1));
}

#[test]
fn every_event_of_every_recorded_transcript_names_its_witness() {
    use remembrancer_schema::payload::Witness::{Exact, Hook, Transcript};
    let folders = ["transcripts", "governor"].map(crate::recorded_data::shared);
    let mut classes = std::collections::BTreeMap::new();
    for found in folders
        .iter()
        .flatten()
        .flat_map(|folder| find(folder, None).expect("a folder"))
    {
        let options = ImportOptions {
            rules: Some(never),
            extract_rules: true,
            ..ImportOptions::default()
        };
        let (collected, _) = read(found.format, &found.path, &options);
        assert!(!collected.events.is_empty(), "{}", found.path.display());
        for (_, bytes) in &collected.events {
            let event = Event::parse(bytes).expect("a valid event");
            let witness = crate::recorded_data::witness_of(&event);
            let of_format: &mut std::collections::BTreeSet<_> =
                classes.entry(found.format.name()).or_default();
            of_format.insert(witness);
        }
    }
    if folders.iter().any(Option::is_none) {
        return;
    }
    let classes: Vec<_> = classes
        .into_iter()
        .map(|(format, of)| (format, Vec::from_iter(of)))
        .collect();
    let expected = [
        ("claude-code", vec![Transcript]),
        ("codex", vec![Transcript]),
        ("governor", vec![Hook]),
        ("inspect", vec![Exact, Transcript]),
        ("openhands", vec![Transcript]),
        ("pi", vec![Transcript]),
    ];
    assert_eq!(classes, expected);
}
