//! What managing commands write.

use async_trait::async_trait;
use sqlx::SqliteConnection;

use super::reading::Reading;
use crate::store::{Administration, Connection, Result};
use crate::token::KeyRow;

/// A connection of a managing command. It waits its turn where a recorder is in the middle of a group.
pub(super) struct SqliteAdministration(Reading<Box<SqliteConnection>>);

impl SqliteAdministration {
    pub(super) fn new(connection: SqliteConnection) -> Self {
        Self(Reading(Box::new(connection)))
    }
}

#[async_trait]
impl Administration for SqliteAdministration {
    fn reads(&mut self) -> &mut dyn Connection {
        &mut self.0
    }

    async fn add_key(&mut self, key: &KeyRow) -> Result<()> {
        sqlx::query("INSERT INTO tokens (id, role, name, secret, created) VALUES (?, ?, ?, ?, ?)")
            .bind(&key.id)
            .bind(&key.role)
            .bind(&key.name)
            .bind(&key.secret)
            .bind(&key.created)
            .execute(&mut *self.0.0)
            .await?;
        Ok(())
    }

    async fn revoke_key(&mut self, id: &str, when: &str) -> Result<bool> {
        sqlx::query("UPDATE tokens SET revoked = ? WHERE id = ? AND revoked IS NULL")
            .bind(when)
            .bind(id)
            .execute(&mut *self.0.0)
            .await?;
        Ok(self.0.key(id).await?.is_some())
    }
}
