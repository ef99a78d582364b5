//! The shapes of bodies, for the description alone: they are read byte by byte, and written from other types.
#![expect(
    dead_code,
    reason = "nothing is made of these types but their description"
)]

use serde::Serialize;
use serde_json::Value;

/// An event, as a client posts it.
#[derive(Serialize, utoipa::ToSchema)]
pub(crate) struct Event {
    /// Idempotency key within the session.
    #[schema(pattern = "^[A-Za-z0-9._:@-]{1,128}$")]
    id: String,
    /// The session that it belongs to.
    #[schema(pattern = "^[A-Za-z0-9._:@-]{1,128}$")]
    session: String,
    /// What it says: the name of a payload's schema, or `custom.` and a name of one's own.
    #[schema(
        pattern = "^(custom\\.[A-Za-z0-9._-]{1,93}|[a-z]+\\.[a-z_]+)$",
        example = "tool.called"
    )]
    r#type: String,
    /// The agent that it speaks for.
    #[schema(required = false, nullable = false, max_length = 256)]
    agent: Option<String>,
    /// When it happened, as the client says: RFC 3339.
    #[schema(required = false, nullable = false, format = DateTime)]
    time: Option<String>,
    /// BLAKE3 hashes of the blobs that it introduces; they are stored before.
    #[schema(required = false, max_items = 256)]
    blobs: Vec<String>,
    /// Its payload.
    data: Value,
}

/// What `POST /v1/events` takes as `application/json`.
#[derive(Serialize, utoipa::ToSchema)]
#[serde(untagged)]
pub(crate) enum Events {
    /// One event.
    One(Event),
    /// Several; each is taken or rejected by itself.
    Several(Vec<Event>),
}

/// What `POST /v1/events` answers with 200.
#[derive(Serialize, utoipa::ToSchema)]
#[serde(untagged)]
pub(crate) enum EventsAnswer {
    /// To several events.
    Batch(BatchAnswer),
    /// To one event that is recorded already.
    One(EventAnswer),
}

/// The answer to a batch.
#[derive(Serialize, utoipa::ToSchema)]
pub(crate) struct BatchAnswer {
    /// One per event, in order.
    results: Vec<EventResult>,
    /// Signed note over what is recorded; absent if nothing is.
    #[schema(required = false, nullable = false)]
    receipt: Option<String>,
}

/// The answer to one event that is recorded.
#[derive(Serialize, utoipa::ToSchema)]
pub(crate) struct EventAnswer {
    /// Whether it is recorded now, or was before.
    status: TakenStatus,
    /// The event's id.
    id: String,
    /// Index in the ledger, from 0.
    index: u64,
    /// Position in the session, from 0.
    sequence: u64,
    /// Hash of its entry.
    hash: String,
    /// Signed note over the entry.
    receipt: String,
}

/// What became of one event of a batch.
#[derive(Serialize, utoipa::ToSchema)]
#[serde(untagged)]
pub(crate) enum EventResult {
    /// It is recorded.
    Taken(TakenEvent),
    /// It is not.
    Rejected(RejectedEvent),
}

/// An event that is recorded, and where.
#[derive(Serialize, utoipa::ToSchema)]
pub(crate) struct TakenEvent {
    /// Whether it is recorded now, or was before.
    status: TakenStatus,
    /// The event's id.
    id: String,
    /// Index in the ledger, from 0.
    index: u64,
    /// Position in the session, from 0.
    sequence: u64,
    /// Hash of its entry.
    hash: String,
}

/// An event that is not recorded, and why.
#[derive(Serialize, utoipa::ToSchema)]
pub(crate) struct RejectedEvent {
    /// That it is rejected.
    status: RejectedStatus,
    /// The event's id, where it could be read.
    id: Option<String>,
    /// Why.
    problem: super::Problem,
}

/// How an event came to be recorded.
#[derive(Serialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum TakenStatus {
    /// Stored, durably.
    Recorded,
    /// The same event was stored before.
    Duplicate,
}

/// The one status of an event that is not recorded.
#[derive(Serialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum RejectedStatus {
    /// Not stored.
    Rejected,
}

/// An entry of the ledger: the canonical JSON that is hashed and proved.
#[derive(Serialize, utoipa::ToSchema)]
pub(crate) struct Entry {
    /// The agent that it speaks for.
    #[schema(required = false, nullable = false)]
    agent: Option<String>,
    /// Hashes of the blobs that it introduces.
    blobs: Vec<String>,
    /// Commitment to the payload's bytes.
    commitment: String,
    /// The event's id.
    event: String,
    /// Position in the ledger, from 0.
    index: u64,
    /// The ledger's name.
    origin: String,
    /// Hash of the session's entry before.
    prev: String,
    /// When the recorder received it.
    received: String,
    /// Position in the session, from 0.
    sequence: u64,
    /// The session.
    session: String,
    /// When it happened, as the client says.
    #[schema(required = false, nullable = false)]
    time: Option<String>,
    /// The event's type.
    r#type: String,
    /// Version of the format.
    v: u8,
}
