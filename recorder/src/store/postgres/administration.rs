//! What managing commands write.

use async_trait::async_trait;
use sqlx::{Connection as _, PgConnection};

use super::connecting::{ANSWER, answered};
use super::reading::Reading;
use super::text::to_stored;
use super::{blobs, head};
use crate::admin_act::AdminActRow;
use crate::error::LedgerError;
use crate::store::{Administration, CondemnedBlob, Connection, Result};
use crate::token::KeyRow;

/// A connection of a managing command. Keys and acts are rows that no group waits for.
pub(super) struct PostgresAdministration(Reading<Box<PgConnection>>);

impl PostgresAdministration {
    pub(super) fn new(connection: PgConnection) -> Self {
        Self(Reading(Box::new(connection)))
    }

    async fn execute(&mut self, statement: &'static str) -> Result<()> {
        answered(ANSWER, sqlx::raw_sql(statement).execute(&mut *self.0.0)).await?;
        Ok(())
    }
}

#[async_trait]
impl Administration for PostgresAdministration {
    fn reads(&mut self) -> &mut dyn Connection {
        &mut self.0
    }

    async fn begin(&mut self) -> Result<u64> {
        match answered(ANSWER, head::take(&mut self.0.0)).await {
            Ok(size) => Ok(size),
            Err(error) => {
                self.rollback().await?;
                head::free(&mut self.0.0, &error).await?;
                Err(error)
            }
        }
    }

    async fn commit(&mut self) -> Result<()> {
        self.execute(head::COMMIT).await
    }

    async fn rollback(&mut self) -> Result<()> {
        self.execute("ROLLBACK").await
    }

    async fn condemn_blob(&mut self, blob: &CondemnedBlob) -> Result<bool> {
        blobs::condemn(&mut self.0.0, blob).await
    }

    async fn release_blobs(&mut self, blobs: &[CondemnedBlob]) -> Result<()> {
        Ok(blobs::release(&mut self.0.0, blobs).await?)
    }

    async fn add_key(&mut self, key: &KeyRow, act: &AdminActRow) -> Result<()> {
        let mut transaction = self.0.0.begin().await?;
        refuse_revoked(&mut transaction, act).await?;
        sqlx::query(
            "INSERT INTO tokens (id, role, name, secret, created) VALUES ($1, $2, $3, $4, $5)",
        )
        .bind(&key.id)
        .bind(&key.role)
        .bind(&key.name)
        .bind(&key.secret)
        .bind(&key.created)
        .execute(&mut *transaction)
        .await?;
        insert_act(&mut transaction, act).await?;
        commit(transaction).await
    }

    async fn revoke_key(&mut self, id: &str, when: &str, act: &AdminActRow) -> Result<bool> {
        let mut transaction = self.0.0.begin().await?;
        refuse_revoked(&mut transaction, act).await?;
        let changed =
            sqlx::query("UPDATE tokens SET revoked = $1 WHERE id = $2 AND revoked IS NULL")
                .bind(when)
                .bind(to_stored(id))
                .execute(&mut *transaction)
                .await?;
        if changed.rows_affected() > 0 {
            insert_act(&mut transaction, act).await?;
        }
        commit(transaction).await?;
        Ok(self.0.key(id).await?.is_some())
    }

    async fn replace_secret(&mut self, id: &str, old: &[u8], new: &[u8]) -> Result<()> {
        sqlx::query("UPDATE tokens SET secret = $1 WHERE id = $2 AND secret = $3")
            .bind(new)
            .bind(to_stored(id))
            .bind(old)
            .execute(&mut *self.0.0)
            .await?;
        Ok(())
    }

    async fn record_act(&mut self, act: &AdminActRow) -> Result<()> {
        insert_act(&mut self.0.0, act).await
    }
}

/// Refuses an act of a key that was revoked since its request was let in. A revocation waits until the act is done.
async fn refuse_revoked(connection: &mut PgConnection, act: &AdminActRow) -> Result<()> {
    let Some(key) = &act.acting_key else {
        return Ok(());
    };
    let valid = sqlx::query("SELECT 1 FROM tokens WHERE id = $1 AND revoked IS NULL FOR SHARE")
        .bind(to_stored(key))
        .fetch_optional(connection)
        .await?;
    valid.map(|_| ()).ok_or(LedgerError::KeyRefused)
}

/// Commits without a limit of time: one that ends the wait for a synchronous standby would be answered as if it was there.
async fn commit(mut transaction: sqlx::Transaction<'_, sqlx::Postgres>) -> Result<()> {
    sqlx::raw_sql("SET LOCAL statement_timeout = 0")
        .execute(&mut *transaction)
        .await?;
    Ok(transaction.commit().await?)
}

async fn insert_act(connection: &mut PgConnection, act: &AdminActRow) -> Result<()> {
    sqlx::query("INSERT INTO admin_acts (id, kind, happened, data) VALUES ($1, $2, $3, $4)")
        .bind(&act.id)
        .bind(&act.kind)
        .bind(&act.happened)
        .bind(to_stored(&act.data))
        .execute(connection)
        .await?;
    Ok(())
}
