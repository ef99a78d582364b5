//! Bearer keys: who may post, who may read.

use std::path::Path;
use std::str::FromStr;

use remembrancer_schema::hash::ContentHash;
use serde::Serialize;
use sqlx::sqlite::SqliteRow;
use sqlx::{Connection as _, Row as _, SqliteConnection, SqlitePool};
use subtle::ConstantTimeEq as _;

use crate::data_dir::DataDir;
use crate::error::LedgerError;
use crate::{clock, random, store};

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

/// Makes a key for the ledger in a data directory; also while a server runs on it.
pub async fn create_token(data: &Path, role: Role, name: &str) -> Result<NewToken, LedgerError> {
    let length = name.chars().count();
    if length == 0 || length > NAME_CHARACTERS_MAX || name.chars().any(char::is_control) {
        return Err(LedgerError::TokenName(
            name.chars().take(NAME_CHARACTERS_MAX).collect(),
        ));
    }
    let id = hex::encode(random::bytes::<6>()?);
    let secret: [u8; 32] = random::bytes()?;
    let mut connection = connect(data).await?;
    sqlx::query("INSERT INTO tokens (id, role, name, secret, created) VALUES (?, ?, ?, ?, ?)")
        .bind(&id)
        .bind(role.as_str())
        .bind(name)
        .bind(digest(&secret).as_slice())
        .bind(clock::now())
        .execute(&mut connection)
        .await?;
    connection.close().await?;
    Ok(NewToken {
        token: format!("{PREFIX}_{role}_{id}_{}", hex::encode(secret)),
        id,
        role,
        name: name.to_owned(),
    })
}

/// The keys of the ledger in a data directory, oldest first, revoked ones included.
pub async fn list_tokens(data: &Path) -> Result<Vec<TokenSummary>, LedgerError> {
    let mut connection = connect(data).await?;
    let rows =
        sqlx::query("SELECT id, role, name, created, revoked FROM tokens ORDER BY created, id")
            .fetch_all(&mut connection)
            .await?;
    connection.close().await?;
    rows.iter().map(summary_from_row).collect()
}

/// Revokes a key; holds from the next request on. Revoking twice changes nothing.
pub async fn revoke_token(data: &Path, id: &str) -> Result<TokenSummary, LedgerError> {
    let mut connection = connect(data).await?;
    sqlx::query("UPDATE tokens SET revoked = ? WHERE id = ? AND revoked IS NULL")
        .bind(clock::now())
        .bind(id)
        .execute(&mut connection)
        .await?;
    let row = sqlx::query("SELECT id, role, name, created, revoked FROM tokens WHERE id = ?")
        .bind(id)
        .fetch_optional(&mut connection)
        .await?;
    connection.close().await?;
    let row = row.ok_or_else(|| LedgerError::NoToken(id.chars().take(64).collect()))?;
    summary_from_row(&row)
}

/// Who a key's text speaks for, unless it is unknown, wrong or revoked.
pub(crate) async fn authenticate(
    pool: &SqlitePool,
    text: &str,
) -> Result<Option<Principal>, LedgerError> {
    let Some((role, id, secret)) = split(text) else {
        return Ok(None);
    };
    let row = sqlx::query("SELECT role, name, secret FROM tokens WHERE id = ? AND revoked IS NULL")
        .bind(id)
        .fetch_optional(pool)
        .await?;
    let Some(row) = row else {
        return Ok(None);
    };
    let stored: Vec<u8> = row.try_get("secret")?;
    let is_right = bool::from(digest(&secret).as_slice().ct_eq(&stored));
    let stored_role = role_from_row(&row)?;
    if !is_right || stored_role != role {
        return Ok(None);
    }
    Ok(Some(Principal {
        id: id.to_owned(),
        role,
        name: row.try_get("name")?,
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

async fn connect(data: &Path) -> Result<SqliteConnection, LedgerError> {
    let file = DataDir::new(data).database();
    if !file.exists() {
        return Err(LedgerError::NoLedger(data.to_owned()));
    }
    Ok(SqliteConnection::connect_with(&store::writing(&file)).await?)
}

fn role_from_row(row: &SqliteRow) -> Result<Role, LedgerError> {
    let role: String = row.try_get("role")?;
    role.parse()
        .map_err(|_| LedgerError::Damaged(format!("{role:?} is not a role")))
}

fn summary_from_row(row: &SqliteRow) -> Result<TokenSummary, LedgerError> {
    Ok(TokenSummary {
        id: row.try_get("id")?,
        role: role_from_row(row)?,
        name: row.try_get("name")?,
        created: row.try_get("created")?,
        revoked: row.try_get("revoked")?,
    })
}
