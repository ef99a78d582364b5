//! How many spans a request has, before any of them is built: one takes two bytes to send, and hundreds in memory.

use std::fmt;
use std::marker::PhantomData;

use prost::encoding::{DecodeContext, WireType, decode_key, decode_varint, skip_field};
use serde::de::{IgnoredAny, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};

/// The fields that lead to a span: of the request, of its resources, of their scopes.
const PATH: [u32; 3] = [1, 2, 2];

/// The number of spans in protobuf, or of resources or scopes if there are more of them. Bytes that are no such request are
/// counted as far as they are one.
pub(super) fn in_protobuf(body: &[u8]) -> usize {
    let mut counts = [0; PATH.len()];
    count(body, 0, &mut counts);
    counts.into_iter().max().unwrap_or(0)
}

fn count(mut bytes: &[u8], depth: usize, counts: &mut [usize; PATH.len()]) -> Option<()> {
    while !bytes.is_empty() {
        let (tag, wire) = decode_key(&mut bytes).ok()?;
        if wire != WireType::LengthDelimited || tag != PATH[depth] {
            skip_field(wire, tag, &mut bytes, DecodeContext::default()).ok()?;
            continue;
        }
        let length = usize::try_from(decode_varint(&mut bytes).ok()?).ok()?;
        let (inner, rest) = bytes.split_at_checked(length)?;
        bytes = rest;
        counts[depth] += 1;
        if depth + 1 < PATH.len() {
            count(inner, depth + 1, counts)?;
        }
    }
    Some(())
}

/// The same in JSON; 0 for what cannot be read.
pub(super) fn in_json(body: &[u8]) -> usize {
    let read: Result<Request, _> = serde_json::from_slice(body);
    read.map_or(0, |request| {
        let Sum { items, within, .. } = request.resource_spans;
        items.max(within)
    })
}

/// Something of which only is kept how many spans it holds, or lists of them if there are more.
trait Counted {
    fn count(&self) -> usize;
}

#[derive(Deserialize)]
struct Request {
    #[serde(rename = "resourceSpans", default)]
    resource_spans: Sum<Resource>,
}

#[derive(Deserialize)]
struct Resource {
    #[serde(rename = "scopeSpans", default)]
    scope_spans: Sum<Scope>,
}

#[derive(Deserialize)]
struct Scope {
    #[serde(default)]
    spans: Sum<One>,
}

struct One;

impl<'de> Deserialize<'de> for One {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        IgnoredAny::deserialize(deserializer).map(|_| Self)
    }
}

impl Counted for One {
    fn count(&self) -> usize {
        1
    }
}

impl Counted for Scope {
    fn count(&self) -> usize {
        self.spans.items
    }
}

impl Counted for Resource {
    fn count(&self) -> usize {
        self.scope_spans.items.max(self.scope_spans.within)
    }
}

/// A list as the number of its items, and what they hold together.
struct Sum<T> {
    items: usize,
    within: usize,
    of: PhantomData<T>,
}

impl<T> Default for Sum<T> {
    fn default() -> Self {
        Self {
            items: 0,
            within: 0,
            of: PhantomData,
        }
    }
}

impl<'de, T: Counted + Deserialize<'de>> Deserialize<'de> for Sum<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Self::default())
    }
}

impl<'de, T: Counted + Deserialize<'de>> Visitor<'de> for Sum<T> {
    type Value = Self;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a list")
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut list: A) -> Result<Self, A::Error> {
        while let Some(item) = list.next_element::<T>()? {
            self.items += 1;
            self.within += item.count();
        }
        Ok(self)
    }

    fn visit_unit<E>(self) -> Result<Self, E> {
        Ok(self)
    }
}
