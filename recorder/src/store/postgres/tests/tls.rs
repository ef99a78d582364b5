//! A server with a certificate: the connection is encrypted and its other end known, or there is none.

#![allow(clippy::print_stderr, reason = "a test that is skipped says so")]

use std::path::{Path, PathBuf};

use super::*;

/// Folder with the authority of the server's certificate (`root.crt`) and with another one (`other.crt`).
const VARIABLE: &str = "REMEMBRANCER_TEST_POSTGRES_TLS";

/// A server that has a certificate for 127.0.0.1, and that folder.
fn with_certificate() -> Option<(TestDatabase, PathBuf)> {
    let database = TestDatabase::postgres()?;
    let Some(folder) = std::env::var_os(VARIABLE) else {
        assert!(
            std::env::var_os("CI").is_none(),
            "{VARIABLE} is not set: without a certificate nothing is known about TLS"
        );
        eprintln!("skipped: {VARIABLE} names no folder with certificates");
        return None;
    };
    Some((database, folder.into()))
}

/// The place with an address that asks for TLS.
fn asking(database: &TestDatabase, mode: &str, root: &Path, host: &str) -> LedgerLocation {
    let url = database.location.database.as_ref().expect("a server");
    let url = url.expose().replace("127.0.0.1", host);
    let separator = if url.contains('?') { '&' } else { '?' };
    let root = root.display();
    let asking = format!("{url}{separator}sslmode={mode}&sslrootcert={root}");
    LedgerLocation {
        database: Some(asking.parse().expect("an address")),
        ..database.location.clone()
    }
}

#[tokio::test]
async fn a_server_whose_certificate_the_root_signed_is_talked_to_encrypted() {
    let Some((database, folder)) = with_certificate() else {
        return;
    };
    for (mode, host) in [("verify-full", "127.0.0.1"), ("verify-ca", "localhost")] {
        let place = asking(&database, mode, &folder.join("root.crt"), host);
        let ledger = Ledger::create(LedgerOptions::new(place.clone()))
            .await
            .expect("opens");
        let session = format!("by-{mode}");
        let outcomes = ledger.append(vec![started(&session)]).await;
        assert!(outcomes.expect("appends")[0].place().is_some());
        ledger.close().await;
        let url = place.database.as_ref().expect("a server");
        let server = Server::new(url, &place.workspace).expect("an address");
        for purpose in [Purpose::Writing, Purpose::Reading] {
            let mut connection = server.connect(purpose).await.expect("connects");
            let is_encrypted: bool =
                sqlx::query_scalar("SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()")
                    .fetch_one(&mut connection)
                    .await
                    .expect("answers");
            assert!(is_encrypted, "{mode}, {purpose:?}");
        }
    }
}

#[tokio::test]
async fn a_server_that_cannot_show_who_it_is_is_refused_and_the_error_says_so() {
    let Some((database, folder)) = with_certificate() else {
        return;
    };
    let (root, other) = (folder.join("root.crt"), folder.join("other.crt"));
    for (mode, root, host, reasons) in [
        (
            "verify-full",
            &other,
            "127.0.0.1",
            ["certificate", "UnknownIssuer"],
        ),
        (
            "verify-ca",
            &other,
            "127.0.0.1",
            ["certificate", "UnknownIssuer"],
        ),
        (
            "verify-full",
            &root,
            "localhost",
            ["certificate", "not valid for name"],
        ),
    ] {
        let place = asking(&database, mode, root, host);
        let refused = Ledger::create(LedgerOptions::new(place)).await;
        let refused = refused.expect_err("nobody knows who that is");
        let told = format!("{:#}", ErrorChain(&refused));
        for reason in reasons {
            assert!(told.contains(reason), "{mode}, {host}: {told}");
        }
    }
}

/// An error with what it comes from, as a program prints it.
struct ErrorChain<'a>(&'a dyn std::error::Error);

impl std::fmt::Display for ErrorChain<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.0)?;
        let mut source = self.0.source();
        while let Some(error) = source {
            write!(f, ": {error}")?;
            source = error.source();
        }
        Ok(())
    }
}
