//! Making, listing and revoking keys; also while a server runs on the ledger.

use remembrancer_schema::payload::AdminAct;

use super::{KeyRow, NewToken, Role, TokenSummary, secret, text};
use crate::admin_act::{Actor, AdminActRow};
use crate::error::LedgerError;
use crate::store::{self, Administration, LedgerLocation};
use crate::{clock, random};

const NAME_CHARACTERS_MAX: usize = 100;

/// Makes a key for a ledger, on behalf of whoever runs this process.
pub async fn create_token(
    location: impl Into<LedgerLocation>,
    role: Role,
    name: &str,
) -> Result<NewToken, LedgerError> {
    create_token_by(location, role, name, &Actor::local_user()).await
}

/// Makes a key for a ledger. The act is recorded in the ledger, with who did it.
pub async fn create_token_by(
    location: impl Into<LedgerLocation>,
    role: Role,
    name: &str,
    by: &Actor,
) -> Result<NewToken, LedgerError> {
    let length = name.chars().count();
    if length == 0 || length > NAME_CHARACTERS_MAX || name.chars().any(char::is_control) {
        return Err(LedgerError::TokenName(
            name.chars().take(NAME_CHARACTERS_MAX).collect(),
        ));
    }
    let location = location.into();
    let id = hex::encode(random::bytes::<6>()?);
    let bytes: [u8; 32] = random::bytes()?;
    let stored = tokio::task::spawn_blocking(move || secret::hash(&bytes))
        .await
        .map_err(|error| LedgerError::Hashing(error.to_string()))??;
    let row = KeyRow {
        id: id.clone(),
        role: role.as_str().to_owned(),
        name: name.to_owned(),
        secret: stored,
        created: clock::now(),
        revoked: None,
    };
    let detail = [("role", role.as_str()), ("name", name)];
    let act = AdminActRow::now(AdminAct::KeyCreated, &id, by, &detail)?;
    administration(&location).await?.add_key(&row, &act).await?;
    Ok(NewToken {
        token: text::text(role, &location.workspace, &id, &bytes),
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
    keys.into_iter().map(KeyRow::summary).collect()
}

/// Revokes a key, on behalf of whoever runs this process.
pub async fn revoke_token(
    location: impl Into<LedgerLocation>,
    id: &str,
) -> Result<TokenSummary, LedgerError> {
    revoke_token_by(location, id, &Actor::local_user()).await
}

/// Revokes a key; holds from the next request on. The act is recorded in the ledger, with who did it. Revoking twice changes
/// and records nothing.
pub async fn revoke_token_by(
    location: impl Into<LedgerLocation>,
    id: &str,
    by: &Actor,
) -> Result<TokenSummary, LedgerError> {
    let mut administration = administration(&location.into()).await?;
    let act = AdminActRow::now(AdminAct::KeyRevoked, id, by, &[])?;
    administration.revoke_key(id, &clock::now(), &act).await?;
    let row = administration.reads().key(id).await?;
    row.ok_or_else(|| LedgerError::NoToken(id.chars().take(64).collect()))?
        .summary()
}

async fn administration(location: &LedgerLocation) -> Result<Box<dyn Administration>, LedgerError> {
    store::open(location).await?.administration().await
}
