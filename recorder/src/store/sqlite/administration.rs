//! What managing commands write.

use async_trait::async_trait;
use sqlx::{Connection as _, Sqlite, SqliteConnection, Transaction};

use super::blobs;
use super::reading::{Reading, size};
use crate::admin_act::AdminActRow;
use crate::error::LedgerError;
use crate::store::{Administration, CondemnedBlob, Connection, Result};
use crate::token::KeyRow;

/// A connection of a managing command. It waits its turn where a recorder is in the middle of a group.
pub(super) struct SqliteAdministration(Reading<Box<SqliteConnection>>);

impl SqliteAdministration {
    pub(super) fn new(connection: SqliteConnection) -> Self {
        Self(Reading(Box::new(connection)))
    }

    async fn execute(&mut self, statement: &'static str) -> Result<()> {
        sqlx::query(statement).execute(&mut *self.0.0).await?;
        Ok(())
    }

    /// Takes the write lock now, waiting for a group that is under way.
    async fn transaction(&mut self) -> Result<Transaction<'_, Sqlite>> {
        Ok(self.0.0.begin_with("BEGIN IMMEDIATE").await?)
    }
}

#[async_trait]
impl Administration for SqliteAdministration {
    fn reads(&mut self) -> &mut dyn Connection {
        &mut self.0
    }

    async fn add_key(&mut self, key: &KeyRow, act: &AdminActRow) -> Result<()> {
        let mut transaction = self.transaction().await?;
        refuse_revoked(&mut transaction, act).await?;
        sqlx::query("INSERT INTO tokens (id, role, name, secret, created) VALUES (?, ?, ?, ?, ?)")
            .bind(&key.id)
            .bind(&key.role)
            .bind(&key.name)
            .bind(&key.secret)
            .bind(&key.created)
            .execute(&mut *transaction)
            .await?;
        insert_act(&mut transaction, act).await?;
        Ok(transaction.commit().await?)
    }

    async fn revoke_key(&mut self, id: &str, when: &str, act: &AdminActRow) -> Result<bool> {
        let mut transaction = self.transaction().await?;
        refuse_revoked(&mut transaction, act).await?;
        let changed = sqlx::query("UPDATE tokens SET revoked = ? WHERE id = ? AND revoked IS NULL")
            .bind(when)
            .bind(id)
            .execute(&mut *transaction)
            .await?;
        if changed.rows_affected() > 0 {
            insert_act(&mut transaction, act).await?;
        }
        transaction.commit().await?;
        Ok(self.0.key(id).await?.is_some())
    }

    async fn replace_secret(&mut self, id: &str, old: &[u8], new: &[u8]) -> Result<()> {
        sqlx::query("UPDATE tokens SET secret = ? WHERE id = ? AND secret = ?")
            .bind(new)
            .bind(id)
            .bind(old)
            .execute(&mut *self.0.0)
            .await?;
        Ok(())
    }

    async fn record_act(&mut self, act: &AdminActRow) -> Result<()> {
        insert_act(&mut self.0.0, act).await
    }

    async fn begin(&mut self) -> Result<u64> {
        // IMMEDIATE takes the write lock now, as a sequencer does for a group.
        self.execute("BEGIN IMMEDIATE").await?;
        match size(&mut self.0.0).await {
            Ok(size) => Ok(size),
            Err(error) => {
                self.rollback().await?;
                Err(error)
            }
        }
    }

    async fn commit(&mut self) -> Result<()> {
        self.execute("COMMIT").await
    }

    async fn rollback(&mut self) -> Result<()> {
        self.execute("ROLLBACK").await
    }

    async fn condemn_blob(&mut self, blob: &CondemnedBlob) -> Result<bool> {
        blobs::condemn(&mut self.0.0, blob).await
    }

    async fn release_blobs(&mut self, blobs: &[CondemnedBlob]) -> Result<()> {
        blobs::release(&mut self.0.0, blobs).await
    }
}

/// Refuses an act of a key that was revoked since its request was let in.
async fn refuse_revoked(connection: &mut SqliteConnection, act: &AdminActRow) -> Result<()> {
    let Some(key) = &act.acting_key else {
        return Ok(());
    };
    let valid = sqlx::query("SELECT 1 FROM tokens WHERE id = ? AND revoked IS NULL")
        .bind(key)
        .fetch_optional(connection)
        .await?;
    valid.map(|_| ()).ok_or(LedgerError::KeyRefused)
}

async fn insert_act(connection: &mut SqliteConnection, act: &AdminActRow) -> Result<()> {
    sqlx::query("INSERT INTO admin_acts (id, kind, happened, data) VALUES (?, ?, ?, ?)")
        .bind(&act.id)
        .bind(&act.kind)
        .bind(&act.happened)
        .bind(&act.data)
        .execute(connection)
        .await?;
    Ok(())
}
