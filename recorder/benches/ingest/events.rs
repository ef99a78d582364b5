//! The events that are sent: about 1 KiB each, of the types that an agent sends most.

use remembrancer_recorder::OwnedEvent;

/// Events in a batch.
pub(crate) const BATCH_EVENTS: usize = 100;
const TEXT_BYTES: usize = 800;
/// When the first event happened, in milliseconds since 1970.
const START_MILLIS: u64 = 1_796_000_000_000;
/// Events that a session's agent sends in a second, which decides how fast time-ordered ids grow.
const EVENTS_PER_MILLI: u64 = 1;

/// How ids are chosen.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ids {
    /// `UUIDv7`: a timestamp, then random bits.
    Ordered,
    /// As `UUIDv4`.
    Random,
}

impl Ids {
    fn id(self, session: usize, number: usize) -> uuid::Uuid {
        let mut random = Random((session as u64) << 32 | number as u64);
        match self {
            Self::Ordered => {
                let bits =
                    (u128::from(random.next()) << 64 | u128::from(random.next())).to_be_bytes();
                let tail: [u8; 10] = *bits.first_chunk().unwrap();
                let millis = START_MILLIS + number as u64 / EVENTS_PER_MILLI;
                uuid::Builder::from_unix_timestamp_millis(millis, &tail).into_uuid()
            }
            Self::Random => uuid::Uuid::from_u64_pair(random.next(), random.next()),
        }
    }
}

/// `SplitMix64`: the same bits in every run.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^ (bits >> 31)
    }
}

/// The text of a session's event; the first one starts it.
pub(crate) fn text(ids: Ids, session: usize, number: usize) -> String {
    let id = ids.id(session, number);
    let words = "the agent looks at one more thing and says so; "
        .chars()
        .cycle()
        .skip(number % 40)
        .take(TEXT_BYTES)
        .collect::<String>();
    let (kind, data) = match number {
        0 => ("session.started", "{}".to_owned()),
        _ => match number % 4 {
            0 => (
                "tool.called",
                format!(
                    r#"{{"turn":{number},"call_id":"c{number}","tool":"notes.write","arguments":{{"path":"notes/{number}.md","text":"{words}"}}}}"#
                ),
            ),
            1 => (
                "tool.returned",
                format!(
                    r#"{{"call_id":"c{number}","status":"ok","result":{{"lines":{number},"cost":0.25,"text":"{words}"}}}}"#
                ),
            ),
            2 => (
                "model.responded",
                format!(r#"{{"turn":{number},"model":"m-1","text":["{words}"]}}"#),
            ),
            _ => (
                "custom.bench",
                format!(r#"{{"number":{number},"text":"{words}"}}"#),
            ),
        },
    };
    format!(
        r#"{{"id":"{id}","session":"bench-{session:03}","type":"{kind}","agent":"bench","time":"2026-11-30T08:00:00.000Z","data":{data}}}"#
    )
}

pub(crate) fn batch_text(ids: Ids, session: usize, numbers: impl Iterator<Item = usize>) -> String {
    let events: Vec<String> = numbers.map(|number| text(ids, session, number)).collect();
    format!("[{}]", events.join(","))
}

pub(crate) fn batch(
    ids: Ids,
    session: usize,
    numbers: impl Iterator<Item = usize>,
) -> Vec<OwnedEvent> {
    numbers
        .map(|number| OwnedEvent::parse(text(ids, session, number).into()).unwrap())
        .collect()
}
