//! What is shown of a session whose record cannot be read.

use super::*;

async fn with_a_damaged_session() -> Viewer {
    let viewer = Viewer::signed_in(plain).await;
    let id = "run-b".parse().expect("a session id");
    let taken = viewer
        .fixture
        .records
        .lock()
        .expect("not poisoned")
        .remove(&id);
    assert!(taken.is_some());
    viewer
}

#[tokio::test]
async fn the_list_marks_it_and_shows_the_others() {
    let viewer = with_a_damaged_session().await;
    let list = viewer.get("/").await;
    assert_eq!(list.status, StatusCode::OK);
    assert_page("/", &list);
    let damaged = list.text("td:has(a[href='/sessions/3/integrity'])");
    assert_eq!(damaged, "✕ damaged: see integrity");
    assert_eq!(list.count("a[href='/sessions/2']"), 1);
    assert_eq!(list.count(".gist"), 1, "the other session is judged");
}

#[tokio::test]
async fn its_pages_say_so_and_lead_to_the_panel() {
    let viewer = with_a_damaged_session().await;
    for address in ["/sessions/3", "/sessions/3/turns/1", "/sessions/3/findings"] {
        let page = viewer.get(address).await;
        assert_eq!(page.status, StatusCode::INTERNAL_SERVER_ERROR, "{address}");
        assert_page(address, &page);
        assert_eq!(page.text("h1"), "This record is damaged");
        assert_eq!(page.count("main a[href='/sessions/3/integrity']"), 1);
        assert!(page.text(".lead").contains("entry 4 is damaged"));
        assert_eq!(page.count(".lead b"), 0, "the cause is text");
    }
    assert_eq!(viewer.get("/sessions/1").await.status, StatusCode::OK);
}

#[tokio::test]
async fn the_panel_names_the_fault() {
    let viewer = with_a_damaged_session().await;
    let panel = viewer.get("/sessions/3/integrity").await;
    assert_eq!(panel.status, StatusCode::OK);
    assert_page("/sessions/3/integrity", &panel);
    assert_eq!(panel.count(".verdict.alarm"), 1);
    let failing = panel.text("tr[data-outcome=alarm]");
    assert!(failing.contains("✕ fails"), "{failing}");
    assert!(
        failing.contains("entry 4 is damaged: its bytes are <b>no</b> entry"),
        "{failing}"
    );
    assert_eq!(
        panel.count("tr[data-outcome=sound]"),
        1,
        "only the checkpoint's signature could be checked"
    );
}
