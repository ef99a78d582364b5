use crate::LedgerError;
use crate::testing::{TestLedger, event, note, started};

#[tokio::test]
async fn a_label_that_many_have_is_counted_and_children_come_in_order() {
    let test = TestLedger::new().await;
    let start = |number: usize| {
        event(&format!(
            r#"{{"id":"start","session":"s{number}","type":"session.started","data":{{"label":"same","parent":{{"session":"s0"}}}}}}"#
        ))
    };
    let outcomes = test
        .ledger
        .append((1..=1005).map(start).collect())
        .await
        .expect("appends");
    assert!(outcomes.iter().all(|outcome| outcome.place().is_some()));
    let reader = test.ledger.reader();
    let error = reader.find_session("same").await.expect_err("many");
    assert!(
        matches!(error, LedgerError::AmbiguousLabel { count: 1005, .. }),
        "{error}"
    );
    let parent = "s0".parse().expect("id");
    let children = reader.children(&parent).await.expect("reads");
    assert_eq!(children.len(), 1000);
    assert!(children.iter().map(|child| child.number).eq(1..=1000));
}

#[tokio::test]
async fn a_page_of_large_entries_ends_early_and_the_next_one_goes_on() {
    let test = TestLedger::new().await;
    let text = "x".repeat(250_000);
    test.ledger
        .append(vec![started("a")])
        .await
        .expect("appends");
    for number in 0..40 {
        let large = note("a", &format!("n{number}"), &text);
        let outcomes = test.ledger.append(vec![large]).await.expect("appends");
        assert!(outcomes[0].place().is_some(), "{outcomes:?}");
    }
    let reader = test.ledger.reader();
    let session = reader.find_session("a").await.expect("is there");
    let (mut sizes, mut after, mut read) = (Vec::new(), None, Vec::new());
    loop {
        let page = reader
            .session_entries(&session, after.as_deref(), 1000)
            .await
            .expect("reads");
        sizes.push(page.items.len());
        read.extend(page.items.iter().map(|stored| stored.index));
        after = page.next;
        if after.is_none() {
            break;
        }
    }
    assert_eq!(sizes, [35, 6]);
    assert!(read.into_iter().eq(0..41));
    // A page that ends with the last entry has no next one.
    for (limit, has_more) in [(2, true), (3, false), (4, false)] {
        let after = super::paging::cursor("entries", 37);
        let page = reader
            .session_entries(&session, Some(&after), limit)
            .await
            .expect("reads");
        assert_eq!(page.items.len(), limit.min(3) as usize);
        assert_eq!(page.next.is_some(), has_more);
    }
}
