//! What a server says of itself, as far as durability depends on it.

use sqlx::{Connection as _, PgConnection, Row as _};

use super::connecting::{Purpose, Server};
use crate::doctor::Finding;
use crate::store::{DatabaseUrl, LedgerLocation, Result};

/// The oldest version that the tests run on, as `server_version_num` writes it.
const OLDEST_TESTED: i32 = 150_000;

/// What was asked.
struct Told {
    version: String,
    number: i32,
    fsync: String,
    full_page_writes: String,
    checksums: String,
    is_standby: bool,
}

/// How the server is set up. `synchronous_commit` is not asked for: each connection that writes sets it itself.
pub(crate) async fn condition(
    url: &DatabaseUrl,
    location: &LedgerLocation,
) -> Result<Vec<Finding>> {
    let server = Server::new(url, &location.workspace)?;
    let mut connection = server.connect(Purpose::Reading).await?;
    let told = ask(&mut connection).await;
    connection.close().await?;
    Ok(judge(&told?))
}

async fn ask(connection: &mut PgConnection) -> Result<Told> {
    let row = sqlx::query(
        "SELECT current_setting('server_version') AS version, \
         CAST(current_setting('server_version_num') AS INTEGER) AS number, current_setting('fsync') AS fsync, \
         current_setting('full_page_writes') AS full_page_writes, current_setting('data_checksums') AS checksums, \
         pg_is_in_recovery() AS is_standby",
    )
    .fetch_one(connection)
    .await?;
    Ok(Told {
        version: row.try_get("version")?,
        number: row.try_get("number")?,
        fsync: row.try_get("fsync")?,
        full_page_writes: row.try_get("full_page_writes")?,
        checksums: row.try_get("checksums")?,
        is_standby: row.try_get("is_standby")?,
    })
}

fn judge(told: &Told) -> Vec<Finding> {
    let version = format!("PostgreSQL {}", told.version);
    let check = "database server";
    let server = if told.is_standby {
        let found = format!("{version}, a standby");
        Finding::fail(check, found, "name the primary: a standby takes no writes")
    } else if told.number < OLDEST_TESTED {
        Finding::warn(
            check,
            version,
            "versions before 15 are not tested: upgrade the server",
        )
    } else {
        Finding::ok(check, version)
    };
    let setting = |name: &str, value: &str, wrong: Finding| match value {
        "on" => Finding::ok(name, "on"),
        _ => wrong,
    };
    vec![
        server,
        setting(
            "fsync",
            &told.fsync,
            Finding::fail(
                "fsync",
                &told.fsync,
                "set fsync = on: a crash of the host loses what was acknowledged",
            ),
        ),
        setting(
            "full_page_writes",
            &told.full_page_writes,
            Finding::warn(
                "full_page_writes",
                &told.full_page_writes,
                "set it on, unless the file system never tears a page",
            ),
        ),
        setting(
            "data_checksums",
            &told.checksums,
            Finding::warn(
                "data_checksums",
                &told.checksums,
                "pg_checksums --enable lets the server notice damage on its disk; a verification finds it too, later",
            ),
        ),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::Level;

    #[test]
    fn a_server_that_can_lose_what_it_acknowledged_is_told() {
        let good = || Told {
            version: "15.10".to_owned(),
            number: 150_010,
            fsync: "on".to_owned(),
            full_page_writes: "on".to_owned(),
            checksums: "on".to_owned(),
            is_standby: false,
        };
        let levels = |told: &Told| {
            judge(told)
                .iter()
                .map(|finding| finding.level)
                .collect::<Vec<_>>()
        };
        assert_eq!(levels(&good()), [Level::Ok; 4]);
        let off = || "off".to_owned();
        assert_eq!(
            levels(&Told {
                fsync: off(),
                ..good()
            })[1],
            Level::Fail
        );
        assert_eq!(
            levels(&Told {
                full_page_writes: off(),
                ..good()
            })[2],
            Level::Warn
        );
        assert_eq!(
            levels(&Told {
                checksums: off(),
                ..good()
            })[3],
            Level::Warn
        );
        assert_eq!(
            levels(&Told {
                is_standby: true,
                ..good()
            })[0],
            Level::Fail
        );
        assert_eq!(
            levels(&Told {
                number: 140_000,
                ..good()
            })[0],
            Level::Warn
        );
    }
}
