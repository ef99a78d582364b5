//! Bearer keys: who may post, who may read.

use std::str::FromStr;

use remembrancer_schema::hash::ContentHash;
use serde::Serialize;
use subtle::ConstantTimeEq as _;

use crate::error::LedgerError;
use crate::store::{self, Administration, Connection, LedgerLocation};
use crate::{clock, random};

const PREFIX: &str = "rmb";
const NAME_CHARACTERS_MAX: usize = 100;

/// What a bearer key may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Append events and blobs; read nothing.
    Write,
    /// Read everything; append nothing.
    Read,
    /// Both.
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
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
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
#[derive(Clone)]
pub struct NewToken {
    /// The key's id: part of the key, not secret.
    pub id: String,
    /// What it may do.
    pub role: Role,
    /// Its name for people.
    pub name: String,
    /// What a client sends: `rmb_<role>_<id>_<secret>`.
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
    pub(crate) secret: Vec<u8>,
    pub(crate) created: String,
    pub(crate) revoked: Option<String>,
}

/// Makes a key for a ledger; also while a server runs on it.
pub async fn create_token(
    location: impl Into<LedgerLocation>,
    role: Role,
    name: &str,
) -> Result<NewToken, LedgerError> {
    let length = name.chars().count();
    if length == 0 || length > NAME_CHARACTERS_MAX || name.chars().any(char::is_control) {
        return Err(LedgerError::TokenName(
            name.chars().take(NAME_CHARACTERS_MAX).collect(),
        ));
    }
    let id = hex::encode(random::bytes::<6>()?);
    let secret: [u8; 32] = random::bytes()?;
    let row = KeyRow {
        id: id.clone(),
        role: role.as_str().to_owned(),
        name: name.to_owned(),
        secret: digest(&secret).to_vec(),
        created: clock::now(),
        revoked: None,
    };
    administration(location).await?.add_key(&row).await?;
    Ok(NewToken {
        token: format!("{PREFIX}_{role}_{id}_{}", hex::encode(secret)),
        id,
        role,
        name: name.to_owned(),
    })
}

/// The keys of a ledger, oldest first, revoked ones included.
pub async fn list_tokens(
    location: impl Into<LedgerLocation>,
) -> Result<Vec<TokenSummary>, LedgerError> {
    let store = store::open(&location.into()).await?;
    let keys = store.connection().await?.keys().await?;
    keys.into_iter().map(summary).collect()
}

/// Revokes a key; holds from the next request on. Revoking twice changes nothing.
pub async fn revoke_token(
    location: impl Into<LedgerLocation>,
    id: &str,
) -> Result<TokenSummary, LedgerError> {
    let mut administration = administration(location).await?;
    administration.revoke_key(id, &clock::now()).await?;
    let row = administration.reads().key(id).await?;
    let row = row.ok_or_else(|| LedgerError::NoToken(id.chars().take(64).collect()))?;
    summary(row)
}

/// Who a key's text speaks for, unless it is unknown, wrong or revoked.
pub(crate) async fn authenticate(
    connection: &mut dyn Connection,
    text: &str,
) -> Result<Option<Principal>, LedgerError> {
    let Some((role, id, secret)) = split(text) else {
        return Ok(None);
    };
    let Some(row) = connection.key(id).await? else {
        return Ok(None);
    };
    if row.revoked.is_some() {
        return Ok(None);
    }
    let is_right = bool::from(digest(&secret).as_slice().ct_eq(&row.secret));
    let stored_role = parse_role(&row.role)?;
    if !is_right || stored_role != role {
        return Ok(None);
    }
    Ok(Some(Principal {
        id: id.to_owned(),
        role,
        name: row.name,
    }))
}

fn split(text: &str) -> Option<(Role, &str, [u8; 32])> {
    let mut fields = text.split('_');
    let (prefix, role, id, secret) = (
        fields.next()?,
        fields.next()?,
        fields.next()?,
        fields.next()?,
    );
    if prefix != PREFIX || fields.next().is_some() {
        return None;
    }
    let mut bytes = [0; 32];
    hex::decode_to_slice(secret, &mut bytes).ok()?;
    Some((role.parse().ok()?, id, bytes))
}

/// What is stored of a secret. A slow password hash exists to make guessing of guessable secrets costly; this secret is 256
/// random bits, which nobody guesses at any speed, so a fast hash keeps a stolen table just as useless, and every request
/// cheap.
fn digest(secret: &[u8; 32]) -> [u8; 32] {
    *ContentHash::of(secret).as_bytes()
}

async fn administration(
    location: impl Into<LedgerLocation>,
) -> Result<Box<dyn Administration>, LedgerError> {
    store::open(&location.into()).await?.administration().await
}

fn parse_role(role: &str) -> Result<Role, LedgerError> {
    role.parse()
        .map_err(|_| LedgerError::Damaged(format!("{role:?} is not a role")))
}

fn summary(row: KeyRow) -> Result<TokenSummary, LedgerError> {
    Ok(TokenSummary {
        role: parse_role(&row.role)?,
        id: row.id,
        name: row.name,
        created: row.created,
        revoked: row.revoked,
    })
}
