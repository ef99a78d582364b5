//! The ledger itself: its tables, its key, what it signed, its newest entries, and the clock beside them.

use remembrancer_schema::commitment::commit;
use remembrancer_schema::entry::entry_hash;
use remembrancer_schema::merkle::leaf_hash;
use remembrancer_schema::{Entry, Salt};

use super::blobs::blobs;
use super::{DoctorOptions, Finding, Level};
use crate::checkpoint_copy::CheckpointCopy;
use crate::clock;
use crate::error::LedgerError;
use crate::reader::Reader;
use crate::store::{self, EntryRow, Found, LedgerLocation, PageLimits};

const TABLES: &str = "tables";
const CHECKPOINT: &str = "newest checkpoint";
const ENTRIES: &str = "newest entries";
const CLOCK: &str = "clock";
const KEY: &str = "private key";

/// Entries that are read again, at the end of the ledger.
const ENTRIES_READ: u32 = 1000;
const BYTES_READ: usize = 64 * 1024 * 1024;
/// How far the clock may be behind the newest entry: two processes read it at different moments.
const CLOCK_BEHIND_MAX_MS: i64 = 1000;

/// What does not hold; the message of an error names the next step itself.
fn broken(check: &str, error: &LedgerError) -> Finding {
    Finding {
        level: Level::Fail,
        ..Finding::ok(check, error.to_string())
    }
}

/// Everything about the ledger, as far as each step allows the next.
pub(super) async fn ledger(options: &DoctorOptions) -> Vec<Finding> {
    let location = &options.location;
    let (tables, is_current) = tables(location).await;
    let mut findings = vec![tables];
    if !is_current {
        return findings;
    }
    findings.extend(
        store::condition(location)
            .await
            .unwrap_or_else(|error| vec![broken("database settings", &error)]),
    );
    let reader = match Reader::open(location.clone()).await {
        Ok(reader) => reader,
        Err(error) => {
            findings.push(broken(TABLES, &error));
            return findings;
        }
    };
    findings.push(key(location, &reader));
    findings.extend(checkpoints(options, &reader).await);
    match newest_entries(&reader).await {
        Ok(read) => {
            findings.push(entries(&read));
            findings.extend(clock(&read));
        }
        Err(error) => findings.push(broken(ENTRIES, &error)),
    }
    findings.push(blobs(&reader).await);
    reader.close().await;
    findings
}

/// The version of the tables, and whether it is the one that can be read.
async fn tables(location: &LedgerLocation) -> (Finding, bool) {
    let known = store::known_version(location);
    let found = match store::find(location).await {
        Ok(found) => found,
        Err(error) => return (broken(TABLES, &error), false),
    };
    let folder = location.folder();
    match found {
        Found::Version(found) if found == known => {
            (Finding::ok(TABLES, format!("version {found}")), true)
        }
        Found::Version(found) => {
            let error = LedgerError::SchemaVersion {
                location: location.to_string(),
                found,
                known,
            };
            (broken(TABLES, &error), false)
        }
        Found::Nothing => {
            let remains = [folder.checkpoint_copy(), folder.private_key()];
            let finding = match folder.refuse_remains(&location.to_string(), &remains) {
                Err(error) => broken(TABLES, &error),
                Ok(()) => Finding::warn(
                    TABLES,
                    format!("{location} holds no ledger yet"),
                    "`remembrancer serve` makes it",
                ),
            };
            (finding, false)
        }
    }
}

fn key(location: &LedgerLocation, reader: &Reader) -> Finding {
    let folder = location.folder();
    match folder.key(false) {
        Ok(key) if key.public() == *reader.public_key() => Finding::ok(
            KEY,
            format!(
                "the ledger's, fingerprint {}",
                reader.public_key().fingerprint()
            ),
        ),
        Ok(_) => broken(
            KEY,
            &LedgerError::WrongKey {
                path: folder.private_key(),
            },
        ),
        Err(error) => broken(KEY, &error),
    }
}

/// The newest checkpoint against the entries, and the copies of it outside the database.
async fn checkpoints(options: &DoctorOptions, reader: &Reader) -> Vec<Finding> {
    let beside = CheckpointCopy::new(options.location.folder().checkpoint_copy());
    let anchor = options.anchor.clone().map(CheckpointCopy::new);
    // Read before the database: a recorder that goes on writing makes both newer, the database first.
    let copies = [("checkpoint beside", Some(beside)), ("anchor", anchor)].map(|(check, copy)| {
        let read = copy
            .as_ref()
            .map(|copy| copy.read(reader.origin(), reader.public_key()));
        (check, copy, read)
    });
    let size = match reader.check_newest_checkpoint().await {
        Ok(size) => size,
        Err(error) => return vec![broken(CHECKPOINT, &error)],
    };
    let mut findings = vec![Finding::ok(
        CHECKPOINT,
        format!(
            "{size} entries of {} have the root that it signed",
            reader.origin()
        ),
    )];
    for (check, copy, read) in copies {
        let finding = match (copy, read) {
            (Some(_), Some(Err(error))) => broken(check, &error),
            (Some(copy), Some(Ok(None))) if size > 0 => Finding::warn(
                check,
                format!("{} is missing or empty", copy.path().display()),
                "a server writes it with the next event; until then a database that was replaced by an older copy of itself \
                 is not noticed",
            ),
            (Some(_), Some(Ok(None))) => Finding::ok(check, "nothing to state yet"),
            (Some(copy), Some(Ok(Some(stated)))) => {
                let compared = async {
                    let mut connection = reader.snapshot().await?;
                    let size = connection.size().await?;
                    copy.compare(&mut *connection, size, &stated).await
                };
                match compared.await {
                    Ok(()) => {
                        Finding::ok(check, format!("states {} entries, which hold", stated.size))
                    }
                    Err(error) => broken(check, &error),
                }
            }
            _ => Finding::warn(
                check,
                "none is set",
                "set `anchor` to a file on another disk or machine: it tells when database and data directory are replaced by \
                 older copies together",
            ),
        };
        findings.push(finding);
    }
    findings
}

async fn newest_entries(reader: &Reader) -> Result<Vec<EntryRow>, LedgerError> {
    let mut connection = reader.snapshot().await?;
    let size = connection.size().await?;
    let limits = PageLimits {
        rows: ENTRIES_READ,
        bytes: BYTES_READ,
    };
    let from = size.saturating_sub(u64::from(ENTRIES_READ));
    Ok(connection.entries(from, limits).await?.rows)
}

/// Hashes and payloads of the newest entries. The whole ledger is `verify`'s to check.
fn entries(rows: &[EntryRow]) -> Finding {
    match rows.iter().find_map(|row| Some((row.index, fault(row)?))) {
        Some((index, fault)) => Finding::fail(
            ENTRIES,
            format!("entry {index}: {fault}"),
            "`remembrancer verify --data DIR` finds every bad entry; then restore a backup",
        ),
        None => Finding::ok(
            ENTRIES,
            format!(
                "the last {} hold; `remembrancer verify --data DIR` reads all",
                rows.len()
            ),
        ),
    }
}

fn fault(row: &EntryRow) -> Option<String> {
    let entry = match Entry::from_bytes(&row.bytes) {
        Ok(entry) => entry,
        Err(error) => return Some(error.to_string()),
    };
    if i64::try_from(entry.index) != Ok(row.index) {
        return Some(format!("its bytes say that it is entry {}", entry.index));
    }
    if row.hash != entry_hash(&row.bytes).as_bytes() || row.leaf != leaf_hash(&row.bytes).as_bytes()
    {
        return Some("its stored hashes are not those of its bytes".to_owned());
    }
    let salt = row.salt.as_deref().and_then(|salt| salt.try_into().ok());
    match (salt, &row.data) {
        (Some(salt), Some(data)) if commit(&Salt::from_bytes(salt), data) == entry.commitment => {
            None
        }
        (Some(_), Some(_)) => Some("its payload is not what was committed to".to_owned()),
        _ => Some("its payload is missing".to_owned()),
    }
}

/// The clock against the newest receipt: time does not go back.
fn clock(rows: &[EntryRow]) -> Option<Finding> {
    let entry = Entry::from_bytes(&rows.last()?.bytes).ok()?;
    let received: jiff::Timestamp = entry.received.parse().ok()?;
    let now: jiff::Timestamp = clock::now().parse().ok()?;
    Some(compare_clock(now, received))
}

fn compare_clock(now: jiff::Timestamp, received: jiff::Timestamp) -> Finding {
    let behind = received.as_millisecond() - now.as_millisecond();
    if behind > CLOCK_BEHIND_MAX_MS {
        return Finding::fail(
            CLOCK,
            format!("it says {now}; the newest entry was received at {received}"),
            "set the clock and keep it by NTP: receipt times are what the record has, and they would go back",
        );
    }
    Finding::ok(CLOCK, format!("{now}, after the newest entry ({received})"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_that_went_back_is_told() {
        let at = |text: &str| text.parse().expect("a time");
        let received = at("2026-11-30T12:00:00Z");
        for (now, level) in [
            ("2026-11-30T12:00:01Z", Level::Ok),
            ("2026-11-30T11:59:59.5Z", Level::Ok),
            ("2026-11-30T11:59:58Z", Level::Fail),
            ("2016-11-30T12:00:00Z", Level::Fail),
        ] {
            assert_eq!(compare_clock(at(now), received).level, level, "{now}");
        }
    }
}
