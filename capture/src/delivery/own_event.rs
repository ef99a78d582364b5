//! Events that delivery itself makes: of gaps, and of sessions whose first event is lost.

use remembrancer_schema::SessionId;
use serde_json::json;

use super::gaps_session;
use crate::spool::Gap;

/// Id of the first event of a session whose own first event is lost.
pub(super) const STARTED_ID: &str = "spool.started";

/// How many records the event of a gap tells about.
pub(super) fn gap_count(event: &[u8]) -> u64 {
    serde_json::from_slice::<serde_json::Value>(event)
        .ok()
        .and_then(|event| event["data"]["count"].as_u64())
        .unwrap_or(1)
}

/// The event that tells about a gap.
pub(super) fn gap_event(gap: &Gap) -> Vec<u8> {
    let time = |ms: i64| {
        jiff::Timestamp::from_millisecond(ms)
            .ok()
            .map(|time| time.to_string())
    };
    let session = gap.session.clone().unwrap_or_else(gaps_session);
    let event = json!({
        "id": format!("gap.{}.{}.{}", gap.first_ms, gap.last_ms, gap.count),
        "session": session,
        "type": "custom.gap",
        "data": {
            "count": gap.count,
            "first": time(gap.first_ms),
            "last": time(gap.last_ms),
            "reason": gap.reason,
        },
    });
    event.to_string().into_bytes()
}

/// The first event of a session whose own is lost; the same each time.
pub(super) fn start_event(session: &SessionId) -> Vec<u8> {
    let data = json!({ "source": "spool: the session's own first event is lost" });
    let event =
        json!({ "id": STARTED_ID, "session": session, "type": "session.started", "data": data });
    event.to_string().into_bytes()
}
