//! What those who run the ledger did to it.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The session in which a recorder keeps the acts of those who run it. No client starts it or posts to it.
pub const ADMIN_SESSION: &str = "remembrancer.admin";
/// Most bytes of a subject, of a doer, and of each detail.
const TEXT_BYTES_MAX: usize = 1024;
/// Most details.
const DETAILS_MAX: usize = 32;

/// What was done: the part of the type after `admin.`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum AdminAct {
    /// A bearer key was made.
    KeyCreated,
    /// A bearer key was revoked.
    KeyRevoked,
    /// A workspace was made.
    WorkspaceCreated,
    /// Blobs that no entry names were deleted.
    GarbageCollected,
    /// A backup was made.
    BackupMade,
    /// The ledger was put back from a backup.
    BackupRestored,
    /// The tables were brought to another version.
    LedgerMigrated,
}

/// `admin.*`: an act of somebody who runs the ledger. The recorder writes these itself, into a session of its own; clients may
/// not. Never holds a secret.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AdminActed {
    /// What it was done to: a key's id, a workspace's name, a backup's file.
    pub subject: String,
    /// Who did it: `cli:` and the name of an account of the machine, or `key:` and the id of an admin key.
    pub by: String,
    /// What else is to be known about it.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub detail: BTreeMap<String, String>,
}

impl AdminActed {
    /// Cuts texts and details that are too long, and leaves out what is more than may be: an act that was done is recorded in
    /// any case.
    pub fn shortened(mut self) -> Self {
        let cut = |text: &mut String| text.truncate(text.floor_char_boundary(TEXT_BYTES_MAX));
        cut(&mut self.subject);
        cut(&mut self.by);
        self.detail = std::mem::take(&mut self.detail)
            .into_iter()
            .take(DETAILS_MAX)
            .map(|(mut name, mut text)| {
                cut(&mut name);
                cut(&mut text);
                (name, text)
            })
            .collect();
        self
    }

    /// Refuses what the types alone allow.
    pub(super) fn check(&self) -> Result<(), String> {
        if self.detail.len() > DETAILS_MAX {
            return Err(format!("more than {DETAILS_MAX} details"));
        }
        let details = self.detail.iter().flat_map(|(name, text)| [name, text]);
        match [&self.subject, &self.by]
            .into_iter()
            .chain(details)
            .find(|text| text.len() > TEXT_BYTES_MAX)
        {
            Some(text) => Err(format!(
                "a text has {} bytes; at most {TEXT_BYTES_MAX} are allowed",
                text.len()
            )),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::payload::{EventType, Payload};

    #[test]
    fn an_act_too_long_is_refused_and_fits_once_it_is_shortened() {
        let long = AdminActed {
            subject: "é".repeat(TEXT_BYTES_MAX),
            by: "cli:x".to_owned(),
            detail: (0..DETAILS_MAX + 1)
                .map(|number| (number.to_string(), "y".repeat(TEXT_BYTES_MAX + 1)))
                .collect(),
        };
        let kind = EventType::Admin(AdminAct::KeyCreated);
        let parse = |acted: &AdminActed| {
            Payload::parse(&kind, &serde_json::to_string(acted).expect("JSON"))
        };
        assert!(parse(&long).is_err());
        let short = long.shortened();
        assert_eq!(short.subject.len(), TEXT_BYTES_MAX);
        assert_eq!(short.detail.len(), DETAILS_MAX);
        assert_eq!(parse(&short), Ok(Payload::AdminActed(short)));
    }
}
