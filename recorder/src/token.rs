//! Bearer keys: who may post, who may read.

use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::error::LedgerError;

pub use administration::{
    create_token, create_token_by, list_tokens, revoke_token, revoke_token_by,
};
pub(crate) use gate::{Caller, KeyGate};
pub(crate) use text::workspace_in;
pub use text::workspace_of;

/// What a bearer key may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Append events and blobs; read nothing.
    Write,
    /// Read everything; append nothing.
    Read,
    /// Both, and make and revoke keys.
    Admin,
}

impl Role {
    /// Whether it may read.
    pub fn may_read(self) -> bool {
        matches!(self, Self::Read | Self::Admin)
    }

    /// Whether it may append.
    pub fn may_write(self) -> bool {
        matches!(self, Self::Write | Self::Admin)
    }

    /// Whether it may make and revoke keys.
    pub fn may_administer(self) -> bool {
        matches!(self, Self::Admin)
    }

    /// The role as it is written.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Write => "write",
            Self::Read => "read",
            Self::Admin => "admin",
        }
    }
}

impl std::fmt::Display for Role {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Text that is not a role.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a role; roles are write, read and admin")]
pub struct UnknownRole(pub String);

impl FromStr for Role {
    type Err = UnknownRole;

    fn from_str(text: &str) -> Result<Self, UnknownRole> {
        [Self::Write, Self::Read, Self::Admin]
            .into_iter()
            .find(|role| role.as_str() == text)
            .ok_or_else(|| UnknownRole(text.chars().take(64).collect()))
    }
}

/// Who a key speaks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Principal {
    /// The key's id.
    pub id: String,
    /// What it may do.
    pub role: Role,
    /// Its name for people.
    pub name: String,
}

/// A key as listed. Its secret is not here, nor anywhere.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, utoipa::ToSchema)]
pub struct TokenSummary {
    /// The key's id: part of the key, not secret.
    pub id: String,
    /// What it may do.
    pub role: Role,
    /// Its name for people.
    pub name: String,
    /// When it was made.
    pub created: String,
    /// When it was revoked.
    pub revoked: Option<String>,
}

/// A new key. Its text is shown once.
#[derive(Clone, Serialize, utoipa::ToSchema)]
pub struct NewToken {
    /// The key's id: part of the key, not secret.
    pub id: String,
    /// What it may do.
    pub role: Role,
    /// Its name for people.
    pub name: String,
    /// What a client sends: `rmb_<role>_<workspace>_<id>_<secret>`.
    pub token: String,
}

impl std::fmt::Debug for NewToken {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "NewToken({})", self.id)
    }
}

/// A key's row as stored.
#[derive(Clone)]
pub(crate) struct KeyRow {
    pub(crate) id: String,
    pub(crate) role: String,
    pub(crate) name: String,
    /// What is kept of its secret: see [`secret`].
    pub(crate) secret: Vec<u8>,
    pub(crate) created: String,
    pub(crate) revoked: Option<String>,
}

impl KeyRow {
    /// Whether it is not revoked and its role reads.
    pub(crate) fn may_still_read(&self) -> Result<bool, LedgerError> {
        Ok(self.revoked.is_none() && self.role()?.may_read())
    }

    fn role(&self) -> Result<Role, LedgerError> {
        self.role
            .parse()
            .map_err(|_| LedgerError::Damaged(format!("{:?} is not a role", self.role)))
    }

    fn summary(self) -> Result<TokenSummary, LedgerError> {
        Ok(TokenSummary {
            role: self.role()?,
            id: self.id,
            name: self.name,
            created: self.created,
            revoked: self.revoked,
        })
    }
}

mod administration;
mod gate;
mod secret;
mod text;
