//! A body, cut into events, each of them checked by itself.

use std::borrow::Cow;
use std::sync::Arc;

use bytes::Bytes;
use remembrancer_schema::EventId;
use serde::de::{Error as _, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use crate::http::body;
use crate::http::problem::{Problem, Slug};
use crate::incoming::OwnedEvent;
use crate::limits::Limits;

/// Bodies above this size are cut and parsed where they do not hold up other requests.
const PARSE_INLINE_BYTES_MAX: usize = 64 * 1024;

/// A body, cut into events.
enum Batch {
    One(Bytes),
    Many(Vec<Bytes>),
}

/// One event of a body after its own check.
pub(super) type Checked = Result<OwnedEvent, (Option<EventId>, Problem)>;

/// Cuts a body into events and checks each by itself: here, or where a long one holds up nobody.
pub(super) async fn parse(
    upload: body::Upload,
    lines: bool,
    limits: &Arc<Limits>,
) -> Result<(bool, Vec<Checked>, body::Place), Problem> {
    let body::Upload { bytes, place } = upload;
    if bytes.len() <= PARSE_INLINE_BYTES_MAX {
        let (is_single, checked) = cut_and_check(&bytes, lines, limits)?;
        return Ok((is_single, checked, place));
    }
    // The work goes on when its client leaves, and with it the memory that it takes: its place too.
    let limits = Arc::clone(limits);
    let work = move || (cut_and_check(&bytes, lines, &limits), place);
    let (cut, place) = tokio::task::spawn_blocking(work)
        .await
        .map_err(|error| Problem::internal(&error))?;
    let (is_single, checked) = cut?;
    Ok((is_single, checked, place))
}

fn cut_and_check(
    bytes: &Bytes,
    lines: bool,
    limits: &Limits,
) -> Result<(bool, Vec<Checked>), Problem> {
    let (is_single, mut checked) = match cut(bytes, lines, limits)? {
        Batch::One(event) => (true, vec![check(event)]),
        Batch::Many(events) => (false, events.into_iter().map(check).collect()),
    };
    detach(&mut checked, bytes.len());
    Ok((is_single, checked))
}

fn cut(bytes: &Bytes, lines: bool, limits: &Limits) -> Result<Batch, Problem> {
    let max = limits.batch_events_max;
    // Counted before anything is made of them: a body can hold millions of empty ones.
    let events: Vec<&[u8]> = if lines {
        bytes
            .split(|byte| *byte == b'\n')
            .map(<[u8]>::trim_ascii)
            .filter(|line| !line.is_empty())
            .take(max.saturating_add(1))
            .collect()
    } else if bytes.trim_ascii_start().first() == Some(&b'[') {
        let mut items = Items {
            events: Vec::new(),
            max,
        };
        let mut reader = serde_json::Deserializer::from_slice(bytes);
        let read = items
            .deserialize_from(&mut reader)
            .and_then(|()| reader.end());
        match read {
            // Nothing after the first event too many is looked at.
            Err(_) if items.events.len() > max => {}
            Err(error) => {
                return Err(Problem::new(
                    Slug::NotJson,
                    format!("the body is not a JSON array: {error}; nothing was stored"),
                ));
            }
            Ok(()) => {}
        }
        items.events
    } else {
        return Ok(Batch::One(bytes.clone()));
    };
    if events.len() > max {
        return Err(Problem::new(
            Slug::BatchTooLarge,
            format!("the batch has more than {max} events; nothing was stored"),
        ));
    }
    let events = events.into_iter().map(|event| bytes.slice_ref(event));
    Ok(Batch::Many(events.collect()))
}

/// The items of an array, read no further than the first one too many.
struct Items<'a> {
    events: Vec<&'a [u8]>,
    max: usize,
}

impl<'a> Items<'a> {
    fn deserialize_from<D: Deserializer<'a>>(&mut self, reader: D) -> Result<(), D::Error> {
        reader.deserialize_seq(self)
    }
}

impl<'a> Visitor<'a> for &mut Items<'a> {
    type Value = ();

    fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("an array of events")
    }

    fn visit_seq<A: SeqAccess<'a>>(self, mut items: A) -> Result<(), A::Error> {
        while let Some(event) = items.next_element::<&'a RawValue>()? {
            self.events.push(event.get().as_bytes());
            if self.events.len() > self.max {
                return Err(A::Error::custom("too many events"));
            }
        }
        Ok(())
    }
}

/// Events are views into their body and keep all of it in memory. Where most of a body is not theirs they get their own
/// bytes, so that what waits in the ledger's queue is never much more than the queue is charged for.
fn detach(checked: &mut [Checked], body_bytes: usize) {
    let good = || checked.iter().filter_map(|event| event.as_ref().ok());
    let charged: usize = good().map(|event| event.data.len()).sum();
    if charged >= body_bytes / 2 {
        return;
    }
    for event in checked.iter_mut().filter_map(|event| event.as_mut().ok()) {
        event.data = Bytes::copy_from_slice(&event.data);
    }
}

fn check(bytes: Bytes) -> Checked {
    OwnedEvent::parse(bytes.clone()).map_err(|error| (readable_id(&bytes), error.into()))
}

/// The id of an event that is refused, so that the client can tell which one it was.
fn readable_id(bytes: &[u8]) -> Option<EventId> {
    #[derive(Deserialize)]
    struct Named<'a> {
        #[serde(borrow)]
        id: Cow<'a, str>,
    }
    serde_json::from_slice::<Named<'_>>(bytes)
        .ok()?
        .id
        .parse()
        .ok()
}

#[cfg(test)]
mod tests;
