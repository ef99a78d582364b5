//! Turning a bundle's files back into a session's record.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use remembrancer_schema::entry::entry_hash;
use remembrancer_schema::{ContentHash, Entry, Salt};

use super::layout;
use crate::record::{RecordedEvent, RecordedPayload, SessionRecord};
use crate::verify::{ChainVerifier, Fault, PayloadBytes, blob_faults};

/// What the entries of a bundle give: the record as far as it could be read, and what does not hold.
pub(super) struct ReadSession {
    pub(super) record: SessionRecord,
    pub(super) chain: ChainVerifier,
    pub(super) faults: Vec<Fault>,
}

/// Reads entries, payloads and blobs and checks them against each other. `None` when not even the first entry can be read.
pub(super) fn session(files: &BTreeMap<String, Vec<u8>>) -> Option<ReadSession> {
    let entries = files.get(layout::ENTRIES)?;
    let mut lines: Vec<&[u8]> = entries.split(|&byte| byte == b'\n').collect();
    let ends_in_newline = lines.pop().is_some_and(<[u8]>::is_empty);
    let (origin, session) = lines.iter().find_map(|line| {
        let entry = Entry::from_bytes(line).ok()?;
        Some((entry.origin, entry.session))
    })?;
    let mut read = ReadSession {
        record: SessionRecord {
            session: session.clone(),
            events: Vec::new(),
            blobs: blobs(files),
        },
        chain: ChainVerifier::new(origin, session),
        faults: Vec::new(),
    };
    if !ends_in_newline {
        read.faults.push(Fault::of_file(
            layout::ENTRIES,
            "the last entry does not end in a newline",
        ));
    }
    for (sequence, line) in (0u64..).zip(lines) {
        let payload = payload(files, sequence);
        let bytes = payload.as_ref().ok().and_then(Option::as_ref);
        let bytes = bytes.map(|payload| PayloadBytes {
            salt: &payload.salt,
            data: &payload.data,
        });
        match read.chain.push(line, bytes) {
            Err(fault) => read.faults.push(fault.in_file(layout::ENTRIES)),
            Ok(entry) => {
                read.faults.extend(blob_faults(&entry, &read.record));
                if let Err(message) = &payload {
                    let fault = Fault::of_entry(Some(entry.index), entry.sequence, message.clone());
                    read.faults.push(fault.in_file(layout::payload(sequence)));
                }
                let payload = payload.ok().flatten();
                let hash = entry_hash(line);
                read.record.events.push(RecordedEvent {
                    entry,
                    entry_bytes: Arc::from(line),
                    hash,
                    payload,
                });
            }
        }
    }
    read.faults.extend(stray_faults(files, &read.record));
    Some(read)
}

/// The payload of an entry and its salt: both, or neither.
fn payload(
    files: &BTreeMap<String, Vec<u8>>,
    sequence: u64,
) -> Result<Option<RecordedPayload>, String> {
    let (data, salt) = match (
        files.get(&layout::payload(sequence)),
        files.get(&layout::salt(sequence)),
    ) {
        (None, None) => return Ok(None),
        (Some(data), Some(salt)) => (data, salt),
        _ => return Err("the payload or its salt is missing".to_owned()),
    };
    let data = std::str::from_utf8(data).map_err(|_| "the payload is not UTF-8".to_owned())?;
    let salt = std::str::from_utf8(salt)
        .ok()
        .and_then(|text| text.strip_suffix('\n'))
        .and_then(|text| text.parse::<ContentHash>().ok())
        .ok_or("the salt is not 64 hexadecimal digits and a newline")?;
    Ok(Some(RecordedPayload {
        salt: Salt::from_bytes(*salt.as_bytes()),
        data: Arc::from(data),
    }))
}

fn blobs(files: &BTreeMap<String, Vec<u8>>) -> HashMap<ContentHash, Arc<[u8]>> {
    files
        .iter()
        .filter_map(|(name, bytes)| {
            let hash: ContentHash = name.strip_prefix("blobs/")?.parse().ok()?;
            Some((hash, Arc::from(bytes.as_slice())))
        })
        .collect()
}

/// Files that no entry accounts for: a bundle holds nothing that its entries do not bind.
fn stray_faults(files: &BTreeMap<String, Vec<u8>>, record: &SessionRecord) -> Vec<Fault> {
    let mut accounted: std::collections::HashSet<String> = [
        layout::README,
        layout::SUMS,
        layout::SUMS_SIGNATURE,
        layout::KEY,
        layout::CHECKPOINT,
        layout::ENTRIES,
        layout::PROOFS,
        layout::ANALYSIS,
        layout::REPORT,
    ]
    .map(str::to_owned)
    .into();
    for event in &record.events {
        accounted.insert(layout::payload(event.entry.sequence));
        accounted.insert(layout::salt(event.entry.sequence));
        accounted.extend(event.entry.blobs.iter().map(layout::blob));
    }
    files
        .keys()
        .filter(|name| !accounted.contains(*name))
        .map(|name| Fault::of_file(name.clone(), "no entry refers to this file"))
        .collect()
}
