//! Contexts that are proved by putting withheld values back, against hashes that the importer's own restoring had no part in.
//!
//! A copy of a recorded run gets made-up values: here every withheld place is filled by a rule written by hand, in the text
//! that the events alone give, and the hashes of those texts replace the recorded ones.

use remembrancer_schema::payload::ProofOutcome;
use serde_json::{Value, json};

use super::events::{captured, rendered};
use super::*;

/// The ticket that withholds a phone number inside a sentence.
const TICKET: &str = "SUP-5549";
/// What that sentence has instead, and here every value that is still to be put.
const GAP: &str = "<withheld:phone>";

/// First and last requests.
type Spans = &'static [(u32, u32)];

/// One made-up value, where it stood, and the requests that hold it.
struct MadeUp {
    /// Where the document with the values has it.
    pointer: &'static str,
    value: &'static str,
    /// Each place as the rendered text has it, and the requests that hold it.
    places: &'static [(&'static str, Spans)],
}

/// What `get_account` returned is sent until the compaction before request 6.
const ACCOUNT: Spans = &[(2, 5)];
/// The ticket is read again after the compaction.
const TICKETS: Spans = &[(3, 5), (7, 14)];
/// The agent's note about a seat is written in its answer to request 5.
const NOTE: Spans = &[(6, 14)];

const MADE_UP: [MadeUp; 10] = [
    MadeUp {
        pointer: "/account/owner_phone",
        value: "+99 555 0101",
        places: &[(r#""owner_phone": "<withheld:owner_phone>"#, ACCOUNT)],
    },
    MadeUp {
        pointer: "/account/billing_address",
        value: "7 \"Lantern\" Row, Nowhere\u{e5}s",
        places: &[(r#""billing_address": "<withheld:billing_address>"#, ACCOUNT)],
    },
    MadeUp {
        pointer: "/account/seats/0/name",
        value: "Quenby Vostrikova",
        places: &[(r#""role": "owner", "name": "<withheld:name>"#, ACCOUNT)],
    },
    MadeUp {
        pointer: "/account/seats/0/email",
        value: "quenby@one.invalid",
        places: &[(r#"Vostrikova", "email": "<withheld:email>"#, ACCOUNT)],
    },
    MadeUp {
        pointer: "/account/seats/1/name",
        value: "Ozren \u{10c}abrilo \u{1f56f}",
        places: &[
            (r#""role": "admin", "name": "<withheld:name>"#, ACCOUNT),
            ("(admin seat <withheld:name>)", NOTE),
        ],
    },
    MadeUp {
        pointer: "/account/seats/1/email",
        value: "ozren@two.invalid",
        places: &[(r#"\ud83d\udd6f", "email": "<withheld:email>"#, ACCOUNT)],
    },
    MadeUp {
        pointer: "/account/seats/2/name",
        value: "Ilse Thackwray",
        places: &[(r#""role": "member", "name": "<withheld:name>"#, ACCOUNT)],
    },
    MadeUp {
        pointer: "/account/seats/2/email",
        value: "ilse@three.invalid",
        places: &[(r#"Thackwray", "email": "<withheld:email>"#, ACCOUNT)],
    },
    MadeUp {
        pointer: "/account/payment_method/card_number",
        value: "0000 1234 5678 1111",
        places: &[(r#""card_number": "<withheld:card_number>"#, ACCOUNT)],
    },
    MadeUp {
        pointer: "/tickets/0/thread/0/text",
        value: "(099) 555-0102",
        places: &[("Call me at <withheld:phone>.", TICKETS)],
    },
];

fn holds(spans: Spans, request: u32) -> bool {
    let mut spans = spans.iter();
    spans.any(|(first, last)| (*first..=*last).contains(&request))
}

impl MadeUp {
    fn is_held_by(&self, request: u32) -> bool {
        let mut places = self.places.iter();
        places.any(|(_, spans)| holds(spans, request))
    }

    /// The value as a Python program writes it inside JSON.
    fn spelled(&self) -> &'static str {
        match self.pointer {
            "/account/billing_address" => r#"7 \"Lantern\" Row, Nowhere\u00e5s"#,
            "/account/seats/1/name" => r"Ozren \u010cabrilo \ud83d\udd6f",
            _ => self.value,
        }
    }
}

/// The text with every withheld place filled by hand; each rule must apply in just the requests that it names.
fn filled(request: u32, text: &str) -> String {
    let mut text = text.to_owned();
    for made_up in &MADE_UP {
        for (place, spans) in made_up.places {
            let is_there = text.contains(place);
            assert_eq!(is_there, holds(spans, request), "{request}: {place}");
            let (before, rest) = place.split_once('<').expect("a withheld place");
            let (_, after) = rest.split_once('>').expect("a withheld place");
            let new = format!("{before}{}{after}", made_up.spelled());
            text = text.replace(place, &new);
        }
    }
    assert!(!text.contains("<withheld:"), "request {request}");
    text
}

/// A document with the made-up values, as the data set that the run's tools read has them.
fn document(folder: &Path) -> Value {
    let tools = fs::read_to_string(folder.join("run/tools.jsonl")).expect("readable");
    let mut rows = tools
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
    let ticket = rows.find(|row| row["result"]["ticket_id"] == TICKET);
    let sentence = &ticket.expect("the ticket")["result"]["thread"][0]["text"];
    let mut document = json!({
        "account": {
            "customer_id": "C-1042", "owner_phone": GAP, "billing_address": GAP,
            "seats": [
                {"user_id": "U-1", "role": "owner", "name": GAP, "email": GAP},
                {"user_id": "U-2", "role": "admin", "name": GAP, "email": GAP},
                {"user_id": "U-3", "role": "member", "name": GAP, "email": GAP},
            ],
            "payment_method": {"brand": "visa", "last4": "1111", "card_number": GAP},
        },
        "tickets": [{"ticket_id": TICKET, "thread": [{"from": "owner", "text": sentence}]}],
    });
    for made_up in &MADE_UP {
        put(&mut document, made_up.pointer, GAP, made_up.value);
    }
    document
}

/// Replaces a value of the document, which may stand inside a sentence.
fn put(document: &mut Value, pointer: &str, old: &str, new: &str) {
    let place = document.pointer_mut(pointer).expect("a place");
    let text = place.as_str().expect("a text");
    assert!(text.contains(old), "{pointer}");
    *place = Value::String(text.replace(old, new));
}

/// A copy of the run whose requests 2 to 14 have the hashes of what they would be with the made-up values.
fn run_with_made_up_values() -> Option<tempfile::TempDir> {
    let recorded = import("E1-baseline")?;
    let folder = copy("E1-baseline")?;
    let place = folder.path().join("run/requests.jsonl");
    let sound = fs::read_to_string(&place).expect("readable");
    let mut changed = sound.clone();
    for (request, (captured, parts)) in captured(&recorded).range(2..) {
        let old = &captured.proof.as_ref().expect("a proof").expected;
        let new = hex::encode(sha256(filled(*request, &rendered(parts)).as_bytes()));
        assert_ne!(*old, new);
        assert_eq!(changed.matches(old).count(), 1, "request {request}");
        changed = changed.replace(old, &new);
    }
    fs::write(&place, &changed).expect("writable");
    let manifest = folder.path().join("manifest.json");
    let listed = fs::read_to_string(&manifest).expect("readable");
    let old = hex::encode(sha256(sound.as_bytes()));
    assert_eq!(listed.matches(&old).count(), 1);
    let new = hex::encode(sha256(changed.as_bytes()));
    fs::write(&manifest, listed.replace(&old, &new)).expect("writable");
    Some(folder)
}

fn read_with(folder: &Path, document: Option<&Value>) -> Import {
    let restore = document.map(|document| document.to_string().into_bytes());
    read(folder, &ImportOptions { restore }).expect("a sound copy")
}

/// The first request withholds nothing; the others must have the outcome given.
fn assert_outcomes(import: &Import, of: impl Fn(u32) -> ProofOutcome, what: &str) {
    let mut counts = ProofCounts::default();
    let contexts = captured(import);
    assert!(contexts.keys().copied().eq(1..=14));
    for (request, (captured, _)) in contexts {
        let expected = match request {
            1 => ProofOutcome::Verified,
            _ => of(request),
        };
        counts.add(expected);
        let outcome = captured.proof.expect("a proof").outcome;
        assert_eq!(outcome, expected, "request {request}, {what}");
    }
    assert_eq!(import.proofs, counts, "{what}");
}

#[test]
fn hashes_made_apart_from_the_importer_are_proved_with_the_document_alone() {
    let Some(folder) = run_with_made_up_values() else {
        return;
    };
    let with = read_with(folder.path(), Some(&document(folder.path())));
    assert_eq!(with.proofs.verified_after_restoring, 13);
    assert_outcomes(&with, |_| ProofOutcome::VerifiedAfterRestoring, "with all");
    let without = read_with(folder.path(), None);
    assert_eq!(without.proofs.unverifiable_withheld, 13);
    assert_outcomes(&without, |_| ProofOutcome::UnverifiableWithheld, "without");
    let events = with.events.iter().map(|event| &event.bytes);
    for bytes in events.chain(with.blobs.iter().map(|(_, bytes)| bytes)) {
        let text = std::str::from_utf8(bytes).expect("UTF-8");
        for made_up in &MADE_UP {
            let json = Value::from(made_up.value).to_string();
            let in_json = &json[1..json.len() - 1];
            for spelling in [made_up.value, made_up.spelled(), in_json] {
                assert!(!text.contains(spelling), "{spelling} in {text}");
            }
        }
    }
}

#[test]
fn one_other_value_unproves_just_the_requests_that_hold_it() {
    let Some(folder) = run_with_made_up_values() else {
        return;
    };
    for made_up in &MADE_UP {
        let mut document = document(folder.path());
        put(&mut document, made_up.pointer, made_up.value, "another");
        let import = read_with(folder.path(), Some(&document));
        let of = |request| match made_up.is_held_by(request) {
            true => ProofOutcome::UnverifiableWithheld,
            false => ProofOutcome::VerifiedAfterRestoring,
        };
        assert_outcomes(&import, of, made_up.pointer);
    }
}
