use std::path::Path;

use tempfile::TempDir;

use super::*;
use crate::testing::{note, started};
use crate::{Metrics, Reader, Role, create_token};

fn name(text: &str) -> WorkspaceName {
    text.parse().expect(text)
}

fn place(folder: &TempDir, workspace: &str) -> LedgerLocation {
    LedgerLocation::new(folder.path()).workspace(name(workspace))
}

async fn opened(folder: &Path, max: usize) -> Workspaces {
    Workspaces::open(LedgerOptions::new(folder), max, Metrics::new())
        .await
        .expect("opens")
}

async fn with_default() -> TempDir {
    let folder = tempfile::tempdir().expect("a temporary folder");
    opened(folder.path(), 1).await.close().await;
    folder
}

fn problems(all: &Workspaces) -> Vec<(String, bool)> {
    let standing = all.standing().into_iter();
    standing
        .map(|one| (one.name.to_string(), one.problem.is_some()))
        .collect()
}

#[tokio::test]
async fn only_making_a_workspace_makes_one() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let error = create_workspace(folder.path(), &name("acme"), None).await;
    assert!(
        matches!(error, Err(LedgerError::NoLedger(_))),
        "needs a default one"
    );
    let folder = with_default().await;
    let opened_alone = Ledger::open(LedgerOptions::new(place(&folder, "acme"))).await;
    assert!(matches!(opened_alone, Err(LedgerError::NoWorkspace { .. })));
    let all = opened(folder.path(), 8).await;
    assert!(all.get(&name("acme")).await.expect("looks").is_none());
    all.close().await;
    assert!(!folder.path().join("workspaces").exists());
}

#[tokio::test]
async fn names_and_origins_are_taken_once() {
    let folder = with_default().await;
    let default = Reader::open(folder.path()).await.expect("opens");
    let acme = create_workspace(folder.path(), &name("acme"), None)
        .await
        .expect("makes");
    assert_eq!(
        acme.origin().to_string(),
        format!("{}/acme", default.origin())
    );
    assert_ne!(acme.public_key(), default.public_key());
    assert_eq!(acme.data_dir(), folder.path().join("workspaces/acme"));
    let own = "ledger.example/own".parse().expect("an origin");
    let mine = create_workspace(folder.path(), &name("mine"), Some(own)).await;
    assert_eq!(mine.expect("makes").origin().as_str(), "ledger.example/own");
    for (workspace, origin) in [
        ("third", "ledger.example/own"),
        ("third", default.origin().as_str()),
    ] {
        let origin = Some(origin.parse().expect("an origin"));
        let error = create_workspace(folder.path(), &name(workspace), origin).await;
        assert!(
            matches!(error, Err(LedgerError::OriginTaken { .. })),
            "{error:?}"
        );
    }
    for workspace in ["acme", "default"] {
        let error = create_workspace(folder.path(), &name(workspace), None).await;
        assert!(
            matches!(error, Err(LedgerError::WorkspaceExists(_))),
            "{error:?}"
        );
    }
    let listed = list_workspaces(folder.path()).await.expect("lists");
    let names: Vec<String> = listed.iter().map(|one| one.name.to_string()).collect();
    assert_eq!(names, ["default", "acme", "mine"]);
    let fingerprints: std::collections::BTreeSet<_> = listed
        .iter()
        .map(|one| one.ledger.as_ref().expect("read").key.clone())
        .collect();
    assert_eq!(fingerprints.len(), 3);
}

#[tokio::test]
async fn a_half_made_workspace_is_none_until_it_is_made_whole() {
    let folder = with_default().await;
    let half = place(&folder, "half");
    half.folder().create().expect("makes the folder");
    store::migrate(&half).await.expect("makes the tables");
    let all = opened(folder.path(), 8).await;
    assert!(all.get(&name("half")).await.expect("looks").is_none());
    create_workspace(folder.path(), &name("half"), None)
        .await
        .expect("goes on from there");
    let ledger = all.get(&name("half")).await.expect("opens");
    assert!(ledger.is_some());
    all.close().await;
    assert!(
        all.get(&name("half")).await.is_err(),
        "a server that stops opens nothing"
    );
}

#[tokio::test]
async fn a_workspace_that_does_not_open_concerns_nobody_else() {
    let folder = with_default().await;
    for workspace in ["acme", "lost", "torn"] {
        create_workspace(folder.path(), &name(workspace), None)
            .await
            .expect("makes");
    }
    let files = |workspace: &str| folder.path().join("workspaces").join(workspace);
    std::fs::remove_file(files("lost").join("ledger.sqlite")).expect("removes");
    std::fs::write(files("torn").join("ledger.sqlite"), b"no database at all").expect("writes");
    // What is not named as a workspace is, is none.
    std::fs::create_dir(files("lost+found")).expect("makes");
    std::fs::create_dir(files("default")).expect("makes");

    let all = opened(folder.path(), 8).await;
    let expected = [
        ("default", false),
        ("acme", false),
        ("lost", true),
        ("torn", true),
    ];
    let expected = expected.map(|(name, is_bad)| (name.to_owned(), is_bad));
    assert_eq!(problems(&all), expected);
    let acme = all
        .get(&name("acme"))
        .await
        .expect("opens")
        .expect("is there");
    let outcomes = acme.append(vec![started("s"), note("s", "1", "x")]).await;
    assert_eq!(outcomes.expect("appends").len(), 2);
    for bad in ["lost", "torn"] {
        let error = all.get(&name(bad)).await.expect_err(bad);
        assert!(
            matches!(error, LedgerError::WorkspaceUnavailable { .. }),
            "{error}"
        );
    }
    let listed = list_workspaces(folder.path()).await.expect("lists");
    let bad = listed.iter().filter(|one| one.problem.is_some());
    assert_eq!(bad.count(), 2);
    assert!(
        listed
            .iter()
            .all(|one| one.ledger.is_some() != one.problem.is_some())
    );
    all.close().await;
}

#[tokio::test]
async fn a_server_opens_no_more_workspaces_than_it_may() {
    let folder = with_default().await;
    for workspace in ["a", "b"] {
        create_workspace(folder.path(), &name(workspace), None)
            .await
            .expect("makes");
    }
    let all = opened(folder.path(), 1).await;
    assert!(all.get(&name("a")).await.expect("opens").is_some());
    let error = all.get(&name("b")).await.expect_err("one too many");
    assert!(error.to_string().contains("workspaces_max"), "{error}");
    assert_eq!(problems(&all).len(), 3);
    all.close().await;
}

#[tokio::test]
async fn a_key_leads_to_the_workspace_that_it_names_and_is_good_there_alone() {
    let folder = with_default().await;
    create_workspace(folder.path(), &name("acme"), None)
        .await
        .expect("makes");
    let all = opened(folder.path(), 8).await;
    let key = async |workspace: &str| {
        let made = create_token(place(&folder, workspace), Role::Read, "test").await;
        made.expect("makes").token
    };
    let (here, there) = (key("default").await, key("acme").await);
    assert!(
        there.starts_with("rmb_read_acme_"),
        "the name is in the key"
    );
    for (key, workspace) in [(&here, "default"), (&there, "acme")] {
        let ledger = all.of_key(key).await.expect("looks").expect("is there");
        assert_eq!(ledger.reader().location().workspace, name(workspace));
        assert!(ledger.reader().may_read(key).await.expect("reads"));
        for other in ["default", "acme"]
            .into_iter()
            .filter(|other| *other != workspace)
        {
            let other = all
                .get(&name(other))
                .await
                .expect("opens")
                .expect("is there");
            assert!(!other.reader().may_read(key).await.expect("reads"));
        }
    }
    // Another workspace's name in a good key's text leads there, where nobody knows the key.
    let moved = here.replacen("_default_", "_acme_", 1);
    assert_ne!(moved, here);
    let ledger = all.of_key(&moved).await.expect("looks").expect("is there");
    assert!(!ledger.reader().may_read(&moved).await.expect("reads"));
    for nowhere in [
        here.replacen("_default_", "_nobody_", 1),
        here.replacen("_default_", "_.._", 1),
        "rmb".to_owned(),
    ] {
        assert!(all.of_key(&nowhere).await.expect("looks").is_none());
    }
    // A key from before there were workspaces is one of the default one.
    let old = here.replacen("_default_", "_", 1);
    let ledger = all.of_key(&old).await.expect("looks").expect("is there");
    assert!(ledger.reader().may_read(&old).await.expect("reads"));
    all.close().await;
}

#[test]
fn each_workspace_has_an_anchor_of_its_own() {
    let anchor = beside(Path::new("/mnt/other/ledger.checkpoint"), &name("acme"));
    assert_eq!(anchor, Path::new("/mnt/other/ledger.checkpoint.acme"));
}
