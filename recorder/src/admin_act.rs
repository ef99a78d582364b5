//! What those who run a ledger do to it: written with the act itself, and turned into an entry by the sequencer.

use std::collections::BTreeMap;

use bytes::Bytes;
use remembrancer_schema::payload::{ADMIN_SESSION, AdminAct, AdminActed};
use remembrancer_schema::{EventError, EventType};
use serde::Serialize;
use serde_json::value::RawValue;

use crate::error::LedgerError;
use crate::incoming::OwnedEvent;
use crate::store::{self, LedgerLocation};
use crate::{clock, random};

/// The id of the event that starts the session of these acts.
const START_ID: &str = "start";

/// Somebody who runs a ledger.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Actor(String);

/// Begins what names the holder of a key.
const KEY: &str = "key:";

impl Actor {
    /// Whoever runs this process, by the name of the account as the environment tells it.
    pub fn local_user() -> Self {
        let name = ["USER", "LOGNAME", "USERNAME"]
            .into_iter()
            .find_map(|name| std::env::var(name).ok().filter(|user| !user.is_empty()))
            .unwrap_or_else(|| "unknown".to_owned());
        Self(format!("cli:{name}"))
    }

    /// The holder of a bearer key, by the key's id.
    pub(crate) fn key(id: &str) -> Self {
        Self(format!("{KEY}{id}"))
    }

    /// The key's id, if it is the holder of one.
    fn key_id(&self) -> Option<&str> {
        self.0.strip_prefix(KEY)
    }
}

impl std::fmt::Display for Actor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

/// An act that waits to become an entry, as stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct AdminActRow {
    /// Also the id of its event. Begins with the time, so that ids order acts.
    pub(crate) id: String,
    /// Its type: `admin.*`.
    pub(crate) kind: String,
    /// When it was done.
    pub(crate) happened: String,
    /// The payload of its event.
    pub(crate) data: String,
    /// Id of the bearer key that it is done with, which must be valid when it is done. Not stored: `data` names it.
    pub(crate) acting_key: Option<String>,
}

impl AdminActRow {
    /// An act done now. `detail` never holds a secret.
    pub(crate) fn now(
        act: AdminAct,
        subject: &str,
        by: &Actor,
        detail: &[(&str, &str)],
    ) -> Result<Self, LedgerError> {
        let acted = AdminActed {
            subject: subject.to_owned(),
            by: by.0.clone(),
            detail: detail
                .iter()
                .map(|(name, text)| ((*name).to_owned(), (*text).to_owned()))
                .collect::<BTreeMap<_, _>>(),
        };
        let data = serde_json::to_string(&acted.shortened())
            .map_err(|error| LedgerError::Damaged(error.to_string()))?;
        Ok(Self {
            id: uuid::Builder::from_unix_timestamp_millis(clock::milliseconds(), &random::bytes()?)
                .into_uuid()
                .to_string(),
            kind: EventType::Admin(act).as_str().to_owned(),
            happened: clock::now(),
            data,
            acting_key: by.key_id().map(ToOwned::to_owned),
        })
    }

    /// The event that it becomes.
    pub(crate) fn event(&self) -> Result<OwnedEvent, LedgerError> {
        let damaged = |error: &dyn std::fmt::Display| {
            LedgerError::Damaged(format!("the admin act {:?}: {error}", self.id))
        };
        let data = serde_json::from_str(&self.data).map_err(|error| damaged(&error))?;
        let posted = Posted {
            id: &self.id,
            session: ADMIN_SESSION,
            kind: &self.kind,
            time: Some(&self.happened),
            data,
        };
        posted.event().map_err(|error| damaged(&error))
    }
}

/// The event that starts the session of the acts. Always the same, so that a second one is told apart as a duplicate.
pub(crate) fn start() -> Result<OwnedEvent, LedgerError> {
    let posted = Posted {
        id: START_ID,
        session: ADMIN_SESSION,
        kind: EventType::SessionStarted.as_str(),
        time: None,
        data: serde_json::from_str(r#"{"label":"acts of those who run this ledger"}"#)
            .map_err(|error| LedgerError::Damaged(error.to_string()))?,
    };
    posted
        .event()
        .map_err(|error| LedgerError::Damaged(error.to_string()))
}

/// Writes down an act on a ledger that changed nothing in its tables, or did so already: a backup, a migration. Also while a
/// server runs on it. Fails if the ledger cannot be written.
pub async fn record_act(
    location: impl Into<LedgerLocation>,
    act: AdminAct,
    subject: &str,
    by: &Actor,
    detail: &[(&str, &str)],
) -> Result<(), LedgerError> {
    let row = AdminActRow::now(act, subject, by, detail)?;
    let store = store::open(&location.into()).await?;
    let mut administration = store.administration().await?;
    administration.record_act(&row).await
}

/// An event as a client would post it.
#[derive(Serialize)]
struct Posted<'a> {
    id: &'a str,
    session: &'a str,
    #[serde(rename = "type")]
    kind: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    time: Option<&'a str>,
    data: &'a RawValue,
}

impl Posted<'_> {
    fn event(&self) -> Result<OwnedEvent, EventError> {
        let bytes =
            serde_json::to_vec(self).map_err(|error| EventError::Envelope(error.to_string()))?;
        OwnedEvent::parse(Bytes::from(bytes))
    }
}

#[cfg(test)]
mod tests;
