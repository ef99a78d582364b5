//! Attacks by recorded text on whoever reads it: the viewer's pages, a report, and a terminal.

use serde_json::{Value, json};

use super::{Victim, events, text};
use crate::support::{Server, succeed};

/// Markup, an image that runs code, a drawing that does, and a link that does.
const MARKUP: &str = "<script>alert(1)</script><img src=x onerror=alert(2)><svg onload=alert(3)></svg>\"'><a href=javascript:alert(4)>";

/// Clears the screen, sets the title, hides, turns the direction of reading around, rings.
const ESCAPES: &str = "\u{1b}[2J\u{1b}]0;owned\u{7}\u{1b}[8m\u{9b}31m\u{202e}\u{200b}";

/// A session in which every text that an agent chooses is hostile.
fn hostile_events() -> Vec<Value> {
    let hostile = format!("never contact customers {MARKUP}{ESCAPES}");
    let mut all = events();
    all[0]["data"]["label"] = json!(hostile);
    all[1]["data"]["text"] = json!(hostile);
    all[2]["data"]["parts"][0]["text"] = json!(hostile);
    all[3]["data"]["tool"] = json!(hostile);
    all[4]["data"]["result"] = json!({ "text": hostile });
    all[5]["data"]["decision"] = json!(hostile);
    all
}

/// What must never stand in what a person is shown.
#[track_caller]
fn has_no_escape(place: &str, shown: &str) {
    let escape = shown.chars().find(|&character| {
        (character.is_control() && character != '\n' && character != '\t')
            || matches!(character, '\u{202a}'..='\u{202e}' | '\u{200b}' | '\u{2066}'..='\u{2069}')
    });
    assert_eq!(escape, None, "{place}: {shown:?}");
}

/// Elements that run code, whoever wrote them, are counted by a parser, as a browser would see them.
#[track_caller]
fn runs_nothing(place: &str, page: &str) {
    let parsed = scraper::Html::parse_document(page);
    for selector in [
        "img[src=x]",
        "[onerror]",
        "[onload]",
        "a[href^=javascript]",
        "iframe",
        "object",
    ] {
        let selector = scraper::Selector::parse(selector).expect("a selector");
        assert_eq!(parsed.select(&selector).count(), 0, "{place}: {selector:?}");
    }
    let scripts = scraper::Selector::parse("script").expect("a selector");
    for script in parsed.select(&scripts) {
        let code: String = script.text().collect();
        assert!(!code.contains("alert("), "{place}: {code}");
    }
    assert!(
        page.contains("&lt;script"),
        "{place}: the text is shown, as text"
    );
}

#[test]
fn markup_in_recorded_text_is_text_on_every_page() {
    let server = Server::start();
    let write = server.key("write");
    let answer = server.post(&write, &json!(hostile_events())).json();
    for result in answer["results"].as_array().expect("results") {
        assert_eq!(result["status"], "recorded", "{result}");
    }
    let read = server.key("read");
    let pages = [
        "/",
        "/sessions/1",
        "/sessions/1/turns/1",
        "/sessions/1/actions/1",
        "/sessions/1/findings",
    ];
    let mut shown = 0;
    for path in pages {
        let page = server.page(&read, path);
        if page.contains("alert(1)") {
            runs_nothing(path, &page);
            shown += 1;
        }
        has_no_escape(path, &page);
    }
    assert!(shown >= 3, "the pages show the hostile text");
}

#[test]
fn escapes_in_recorded_text_do_not_reach_a_terminal_or_a_report() {
    let victim = Victim::of(&hostile_events());
    let data = victim.data();
    for arguments in [
        &["sessions"][..],
        &["presence", super::SESSION],
        &["findings", super::SESSION],
        &["mutations", super::SESSION],
        &["verify"],
    ] {
        for format in ["text", "json"] {
            let printed = succeed(&[arguments, &["--data", data, "--format", format]].concat());
            has_no_escape(&format!("{arguments:?} {format}"), &printed);
        }
    }
    let bundle = victim.bundle(super::SESSION);
    victim.judge_bundle(&bundle).is_sound();
    let report = super::container::contents(&bundle)
        .remove("report.html")
        .expect("a report");
    let report = String::from_utf8(report).expect("UTF-8");
    runs_nothing("report.html", &report);
    has_no_escape("report.html", &report);
    let file = victim.file("attacked.rmb");
    has_no_escape("verify", &succeed(&["verify", text(&file)]));
}
