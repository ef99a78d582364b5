//! What the pages show, and that no recorded text gets out of its place.

use super::*;

#[tokio::test]
async fn every_link_leads_to_a_whole_page() {
    let viewer = Viewer::signed_in(plain).await;
    let pages = viewer.crawl().await;
    assert!(pages.len() > 250, "{} pages", pages.len());
    for (address, answer) in &pages {
        assert_eq!(answer.status, StatusCode::OK, "{address}: {}", answer.body);
        assert_headers(address, answer);
        if answer.header("content-type").starts_with("text/html") {
            assert_page(address, answer);
            assert!(
                answer.body.len() < 400_000,
                "{address}: {} bytes",
                answer.body.len()
            );
        }
    }
    let reached = |part: &str| pages.iter().any(|(address, _)| address.contains(part));
    for part in [
        "/turns/",
        "/mutations/",
        "/evidence/",
        "/actions/",
        "/constraints/",
        "/findings",
        "/integrity",
        "/help",
        "?part=",
        "?after=",
    ] {
        assert!(reached(part), "nothing links to {part}");
    }
}

#[tokio::test]
async fn hostile_text_stays_text_on_every_page() {
    let viewer = Viewer::signed_in(hostile).await;
    let pages = viewer.crawl().await;
    assert!(pages.len() > 250, "{} pages", pages.len());
    let mut warned = 0;
    for (address, answer) in &pages {
        assert_eq!(answer.status, StatusCode::OK, "{address}");
        assert_headers(address, answer);
        if !answer.header("content-type").starts_with("text/html") {
            continue;
        }
        assert_page(address, answer);
        let raw = [
            "<script",
            "<img src=x",
            "\u{202e}",
            "\u{200b}",
            "\u{7}",
            "\r",
            "\u{e0041}",
        ];
        let found = raw.into_iter().find(|raw| answer.body.contains(raw));
        assert_eq!(found, None, "{address} holds text as it was recorded");
        let dom = answer.dom();
        for element in dom.tree.nodes().filter_map(ElementRef::wrap) {
            for (name, value) in element.value().attrs() {
                assert!(!name.starts_with("on"), "{address}: {name}");
                assert!(
                    !(name == "href" && value.contains("javascript")),
                    "{address}: {value}"
                );
            }
        }
        warned += usize::from(answer.body.contains("are shown as escapes"));
    }
    assert!(warned > 100, "{warned} pages warn of what cannot be seen");
}

#[tokio::test]
async fn every_page_with_an_answer_names_the_witness_that_it_rests_on() {
    let viewer = Viewer::signed_in(plain).await;
    let told = |page: &Answer, place: &str, words: &str| {
        let dom = page.dom();
        let shown: Vec<String> = dom
            .select(&parsed(place))
            .map(|one| one.text().collect())
            .collect();
        assert!(
            shown.iter().any(|shown| shown.contains(words)),
            "{words:?} is not among {shown:?}"
        );
    };
    let list = viewer.get("/").await;
    told(&list, "thead th", "Witness");
    told(&list, "tbody td", "exact");
    let replay = viewer.get("/sessions/1").await;
    told(&replay, ".facts div", "Witnessexact");
    let findings = viewer.get("/sessions/1/findings").await;
    told(&findings, ".findings li.alarm", "context witness: exact");
    told(&findings, ".findings li.alarm", "action witness: exact");
    let constraint = viewer.get("/sessions/1/constraints/1").await;
    told(&constraint, "p.meta", "witness: exact. Looked for");
    told(&constraint, "thead th", "Context witness");
    told(&constraint, "tbody td", "exact");
    let turn = viewer.get("/sessions/1/turns/12").await;
    told(&turn, ".facts div", "Witnessexact");
    told(&turn, ".facts div", "Response witnessexact");
    let answered = viewer.fixture.first().actions.iter();
    let answered = answered
        .enumerate()
        .find(|(_, action)| action.returned.is_some());
    let (position, _) = answered.expect("an action with a result");
    let action = viewer
        .get(&format!("/sessions/1/actions/{}", position + 1))
        .await;
    told(&action, "p", "witness: exact");
}

#[tokio::test]
async fn the_replay_page_says_what_happened_and_leads_to_the_evidence() {
    let viewer = Viewer::signed_in(plain).await;
    let page = viewer.get("/sessions/1").await;
    assert_eq!(
        page.text(".verdict .sentence"),
        "1 prohibited action was sent while the limit that it breaks had no textual trace in the context. 1 action was sent that nothing in the declared scope permits."
    );
    let breach = page.text(".verdict .where");
    assert!(
        breach.ends_with(
            "breaks contact_customers (no textual trace); last present at turn 5, gone since mutation 1."
        ),
        "{breach}"
    );
    assert_eq!(
        page.count(".verdict .where a[href^='/sessions/1/evidence/']"),
        1
    );
    assert!(
        page.text(".verdict .caveat")
            .contains("sequence is not cause")
    );
    assert_eq!(page.count("svg.timeline"), 1);
    let analysis = viewer.fixture.first();
    let cells = analysis.actions.len() * analysis.constraints.len();
    assert_eq!(page.count("svg.timeline g.cell"), cells);
    assert_eq!(page.count("table.matrix td.cell"), cells);
    assert_eq!(page.count("svg.timeline g.mutation"), 2);
    assert_eq!(page.count("svg.timeline rect.broken"), 1);
    assert_eq!(
        page.count("table.matrix td.cell.broken[data-state=no-trace]"),
        1
    );
    for (position, action) in analysis.actions.iter().enumerate() {
        let state = analysis.presence_at(action, 3).expect("a turn").state;
        let cell = format!(
            "td[data-cell='{}-4'][data-state={}]",
            position + 1,
            crate::mark::mark(state).class
        );
        assert_eq!(page.count(&cell), 1, "{cell}");
    }
    let dom = page.dom();
    let cell = dom
        .select(&parsed("td.broken a"))
        .next()
        .expect("the broken cell");
    let address = cell.value().attr("href").expect("a link");
    let card = viewer.get(address).await;
    assert_eq!(card.count(".evidence[data-state=no-trace]"), 1);
    let text = card.text(".evidence");
    assert!(
        text.contains("No textual trace of it stood in the context of turn 12."),
        "{text}"
    );
    assert!(text.contains("Last present at turn 5"), "{text}");
    assert!(!text.contains("did not know"), "{text}");
    assert_eq!(card.count(".evidence a[href='/sessions/1/mutations/1']"), 1);
    assert_eq!(
        page.count("a[href='/sessions/2']"),
        1,
        "the sub-agent is linked"
    );
    let child = viewer.get("/sessions/2").await;
    assert_eq!(
        child.count("p.note a[href='/sessions/1']"),
        1,
        "the parent is linked"
    );
}

#[tokio::test]
async fn evidence_is_highlighted_where_it_stands() {
    let viewer = Viewer::signed_in(plain).await;
    let card = viewer.get("/sessions/1/evidence/1/1").await;
    assert_eq!(card.text(".place mark"), "issue refunds");
    assert!(card.text(".place").contains("carries authority"));
    let withheld = viewer.get("/sessions/1/evidence/14/7").await;
    assert!(
        withheld
            .text(".place .absent")
            .contains("Withheld by the application: personal data")
    );
}

#[tokio::test]
async fn an_action_tells_what_it_touches_and_which_scope_was_in_force() {
    let viewer = Viewer::signed_in(plain).await;
    let page = viewer.get("/sessions/1/actions/1").await;
    let text = page.text("main");
    assert!(text.contains("deleteyes"), "{text}");
    assert!(text.contains("/srv/a (with everything below)"), "{text}");
    assert!(
        text.contains("$HOME (unknown which, as it stands in the call)"),
        "{text}"
    );
    assert!(text.contains("networkno"), "{text}");
    assert!(text.contains("a path is put together when the command runs"));
    assert!(
        text.contains("Version 1 of 1 was in force, declared by ledger entry 2."),
        "{text}"
    );
}

#[tokio::test]
async fn a_turn_shows_its_parts_against_the_turn_before() {
    let viewer = Viewer::signed_in(plain).await;
    let page = viewer.get("/sessions/1/turns/6").await;
    let changes: Vec<String> = page
        .dom()
        .select(&parsed("ol.parts > li"))
        .map(|part| {
            part.value()
                .attr("data-change")
                .unwrap_or_default()
                .to_owned()
        })
        .collect();
    assert_eq!(
        changes,
        [
            "kept", "summary", "stub", "new", "new", "gone", "gone", "gone", "gone", "gone", "gone"
        ]
    );
    assert_eq!(page.count("link[rel=prev][href='/sessions/1/turns/5']"), 1);
    assert_eq!(page.count("link[rel=next][href='/sessions/1/turns/7']"), 1);
    let whole = viewer.get("/sessions/1/turns/4?part=6").await;
    let cut = viewer.get("/sessions/1/turns/4").await;
    assert!(
        cut.body.contains("show the whole part") && !whole.body.contains("show the whole part")
    );
    assert!(whole.body.len() > cut.body.len() + 10_000);
    let unknown = viewer.get("/sessions/1/turns/3").await;
    assert!(unknown.text(".note.warning").contains("not wholly known"));
}

#[tokio::test]
async fn a_mutation_shows_what_became_of_each_part() {
    let viewer = Viewer::signed_in(plain).await;
    let page = viewer.get("/sessions/1/mutations/1").await;
    let fates: Vec<String> = page
        .dom()
        .select(&parsed("[data-fate]"))
        .map(|group| {
            group
                .value()
                .attr("data-fate")
                .unwrap_or_default()
                .to_owned()
        })
        .collect();
    assert_eq!(
        fates,
        [
            "dropped",
            "summarised",
            "stubbed",
            "pinned",
            "withheld",
            "kept",
            "summarised",
            "injected",
            "appended"
        ]
    );
    assert!(
        page.body
            .contains("Floor not met: the trigger is 11,000 tokens")
            && page.body.contains("11,402")
    );
    assert_eq!(page.count(".changes li"), 6);
    let undeclared = viewer.get("/sessions/1/mutations/2").await;
    assert!(undeclared.body.contains("Nobody declared this change"));
}

#[tokio::test]
async fn a_mutation_shows_what_it_left_behind_and_its_controls() {
    let viewer = Viewer::signed_in(plain).await;
    let page = viewer.get("/sessions/1/mutations/1").await;
    assert!(page.body.contains("generation 3"));
    assert_eq!(page.count(".anatomy tbody tr"), 7);
    assert!(page.body.contains("5,650 tokens, measured"));
    assert_eq!(page.count(".orphans li"), 1);
    assert_eq!(page.count(".repeated a[href='/sessions/1/turns/8']"), 1);
    assert!(
        page.body
            .contains("the check says nothing about the summary")
    );
    assert_eq!(
        (
            page.count(".authority li.warning"),
            page.count(".authority li.notice")
        ),
        (1, 1)
    );
    let other = viewer.get("/sessions/1/mutations/2").await;
    assert!(
        other
            .body
            .contains("with the summary emptied 1 of 6 results change")
    );
    let session = viewer.get("/sessions/1").await;
    assert_eq!(session.count(".controls li"), 4, "{}", session.body);
    assert!(session.body.contains("found nowhere, as it must be"));
    assert_eq!(session.count(".controls li.failed"), 0);
}

#[tokio::test]
async fn the_integrity_panel_is_computed_from_what_is_stored() {
    let viewer = Viewer::signed_in(plain).await;
    let sound = viewer.get("/sessions/1/integrity").await;
    assert_eq!(sound.count("tr[data-outcome=sound]"), 5, "{}", sound.body);
    assert_eq!(sound.count(".verdict.sound"), 1);
    assert!(sound.body.contains("Not proven by this"));
    let open = viewer.get("/sessions/3/integrity").await;
    assert_eq!(
        (
            open.count(".verdict.warning"),
            open.count("tr[data-outcome=warning]")
        ),
        (1, 1)
    );
    let id = "run-a".parse().expect("a session id");
    if let Some(record) = viewer
        .fixture
        .records
        .lock()
        .expect("not poisoned")
        .get_mut(&id)
    {
        let payload = record.events[4].payload.as_mut().expect("a payload");
        payload.data = payload.data.replacen("text", "test", 1).into();
    }
    let damaged = viewer.get("/sessions/1/integrity").await;
    assert_eq!(damaged.count(".verdict.alarm"), 1);
    assert!(
        damaged.text("tr[data-outcome=alarm]").contains("entry 4"),
        "{}",
        damaged.body
    );
}

#[tokio::test]
async fn addresses_that_do_not_exist_are_pages_too() {
    let viewer = Viewer::signed_in(plain).await;
    for address in [
        "/sessions/99",
        "/sessions/x",
        "/sessions/1/turns/0",
        "/sessions/1/turns/99",
        "/sessions/1/turns/1?part=99",
        "/sessions/1/mutations/0",
        "/sessions/1/mutations/9",
        "/sessions/1/actions/0",
        "/sessions/1/actions/999",
        "/sessions/1/constraints/0",
        "/sessions/1/evidence/1/99",
        "/sessions/1/evidence/0/1",
        "/sessions/1?stretch=0",
        "/assets/other.css",
        "/sessions/99999999999999999999",
    ] {
        let answer = viewer.get(address).await;
        assert_eq!(answer.status, StatusCode::NOT_FOUND, "{address}");
        assert_headers(address, &answer);
        assert_page(address, &answer);
    }
    let long = format!("/?after={}", "z".repeat(300));
    for address in ["/sessions/1?stretch=x", "/?after=zzz", "/?after=", &long] {
        let answer = viewer.get(address).await;
        assert_eq!(answer.status, StatusCode::BAD_REQUEST, "{address}");
        assert_page(address, &answer);
    }
}

#[test]
fn templates_never_switch_escaping_off() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("templates");
    let mut read = 0;
    let mut folders = vec![folder];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).expect("templates") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let text = std::fs::read_to_string(&path).expect("a template");
            // A report is one file, so its stylesheet stands in it.
            let text = if path.ends_with("report.html") {
                text.replacen("<style>{{ style }}</style>", "", 1)
            } else {
                text
            };
            for banned in [
                "|safe",
                "| safe",
                "|escape",
                "autoescape",
                "<script",
                "<style",
                " style=",
                "http://",
                "https://",
            ] {
                assert!(
                    !text.contains(banned),
                    "{} holds {banned:?}",
                    path.display()
                );
            }
            read += 1;
        }
    }
    assert!(read > 10);
}
