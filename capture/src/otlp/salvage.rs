//! Requests that cannot be read as a whole: span by span, so that one that is broken or nested too deeply costs no other.
//!
//! The frame of a request, its lists of resources and scopes, has to be whole: what is cut off or is no request stays refused.

use prost::Message;
use prost::encoding::{DecodeContext, WireType, decode_key, decode_varint, skip_field};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;

use super::attributes::Attributes;
use super::export::{Form, Rejected, unreadable};
use super::source::Source;
use super::wire::{ExportRequest, Resource, ResourceSpans, Scope, ScopeSpans, Span};
use super::wire_json as json;

/// What of a request can be read, and the spans of it that cannot. `None` where that is nothing, or where its frame is broken.
pub(super) fn salvage(form: Form, body: &[u8]) -> Option<(ExportRequest, Vec<Rejected>)> {
    let resources = match form {
        Form::Protobuf => of_protobuf(body)?,
        Form::Json => of_json(body)?,
    };
    let mut rejected = Vec::new();
    let resource_spans: Vec<ResourceSpans> = resources
        .into_iter()
        .map(|pieces| pieces.read(form, &mut rejected))
        .collect();
    let scopes = resource_spans.iter().flat_map(|one| &one.scope_spans);
    let any = scopes.flat_map(|one| &one.spans).next().is_some();
    any.then_some((ExportRequest { resource_spans }, rejected))
}

/// The bytes of a resource, of its scopes and of their spans.
#[derive(Default)]
struct ResourcePieces<'a> {
    resource: Option<&'a [u8]>,
    scopes: Vec<ScopePieces<'a>>,
}

#[derive(Default)]
struct ScopePieces<'a> {
    scope: Option<&'a [u8]>,
    spans: Vec<&'a [u8]>,
}

impl ResourcePieces<'_> {
    fn read(self, form: Form, rejected: &mut Vec<Rejected>) -> ResourceSpans {
        // A resource that cannot be read leaves its spans without a name of who sent them.
        let resource: Option<Resource> = self.resource.and_then(|raw| read(form, raw).ok());
        let attributes = resource.as_ref();
        let attributes = attributes.map_or(&[][..], |resource| &resource.attributes);
        let attributes = Attributes::of(attributes);
        let scopes = self.scopes.into_iter().map(|pieces| {
            let scope: Option<Scope> = pieces.scope.and_then(|raw| read(form, raw).ok());
            let source = Source::of(&attributes, scope.as_ref());
            let spans = pieces.spans.into_iter().filter_map(|raw| {
                read::<Span>(form, raw)
                    .map_err(|error| {
                        let reason = format!("it cannot be read: {error}");
                        rejected.push(unreadable(&named(form, raw), &source, &reason));
                    })
                    .ok()
            });
            let spans = spans.collect();
            ScopeSpans { scope, spans }
        });
        let scope_spans = scopes.collect();
        ResourceSpans {
            resource,
            scope_spans,
        }
    }
}

fn read<T: Message + Default + DeserializeOwned>(form: Form, raw: &[u8]) -> Result<T, String> {
    match form {
        Form::Protobuf => T::decode(raw).map_err(|error| error.to_string()),
        Form::Json => serde_json::from_slice(raw).map_err(|error| error.to_string()),
    }
}

/// What names a span, whatever else it holds.
#[derive(Clone, PartialEq, Message, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct SpanName {
    #[prost(bytes = "vec", tag = "1")]
    #[serde(deserialize_with = "json::hex_id")]
    trace_id: Vec<u8>,
    #[prost(bytes = "vec", tag = "2")]
    #[serde(deserialize_with = "json::hex_id")]
    span_id: Vec<u8>,
    #[prost(string, tag = "5")]
    #[serde(deserialize_with = "json::or_default")]
    name: String,
}

fn named(form: Form, raw: &[u8]) -> Span {
    let named: SpanName = read(form, raw).unwrap_or_default();
    Span {
        trace_id: named.trace_id,
        span_id: named.span_id,
        name: named.name,
        ..Span::default()
    }
}

fn of_protobuf(body: &[u8]) -> Option<Vec<ResourcePieces<'_>>> {
    let mut resources = Vec::new();
    for (tag, bytes) in fields(body)? {
        if tag == 1 {
            resources.push(resource_of(bytes)?);
        }
    }
    Some(resources)
}

fn resource_of(bytes: &[u8]) -> Option<ResourcePieces<'_>> {
    let mut pieces = ResourcePieces::default();
    for (tag, bytes) in fields(bytes)? {
        match tag {
            1 => pieces.resource = Some(bytes),
            2 => {
                let mut scope = ScopePieces::default();
                for (tag, bytes) in fields(bytes)? {
                    match tag {
                        1 => scope.scope = Some(bytes),
                        2 => scope.spans.push(bytes),
                        _ => {}
                    }
                }
                pieces.scopes.push(scope);
            }
            _ => {}
        }
    }
    Some(pieces)
}

/// The fields of a message that hold bytes, by their tags; `None` where it is no message.
fn fields(mut bytes: &[u8]) -> Option<Vec<(u32, &[u8])>> {
    let mut fields = Vec::new();
    while !bytes.is_empty() {
        let (tag, wire) = decode_key(&mut bytes).ok()?;
        if wire != WireType::LengthDelimited {
            skip_field(wire, tag, &mut bytes, DecodeContext::default()).ok()?;
            continue;
        }
        let length = usize::try_from(decode_varint(&mut bytes).ok()?).ok()?;
        let (inner, rest) = bytes.split_at_checked(length)?;
        bytes = rest;
        fields.push((tag, inner));
    }
    Some(fields)
}

/// The frame of a request in JSON.
#[derive(Deserialize)]
struct Frame<'a> {
    #[serde(rename = "resourceSpans", borrow)]
    resource_spans: Vec<FrameResource<'a>>,
}

#[derive(Deserialize)]
struct FrameResource<'a> {
    #[serde(borrow)]
    resource: Option<&'a RawValue>,
    #[serde(rename = "scopeSpans", borrow, default)]
    scope_spans: Option<Vec<FrameScope<'a>>>,
}

#[derive(Deserialize)]
struct FrameScope<'a> {
    #[serde(borrow)]
    scope: Option<&'a RawValue>,
    #[serde(borrow, default)]
    spans: Option<Vec<&'a RawValue>>,
}

fn of_json(body: &[u8]) -> Option<Vec<ResourcePieces<'_>>> {
    fn bytes(raw: &RawValue) -> &[u8] {
        raw.get().as_bytes()
    }
    let frame: Frame<'_> = serde_json::from_slice(body).ok()?;
    let mut resources = Vec::new();
    for resource in frame.resource_spans {
        let mut pieces = ResourcePieces {
            resource: resource.resource.map(bytes),
            scopes: Vec::new(),
        };
        for scope in resource.scope_spans.into_iter().flatten() {
            pieces.scopes.push(ScopePieces {
                scope: scope.scope.map(bytes),
                spans: scope.spans.into_iter().flatten().map(bytes).collect(),
            });
        }
        resources.push(pieces);
    }
    Some(resources)
}
