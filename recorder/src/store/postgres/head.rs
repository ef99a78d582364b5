//! Turns: who writes holds the row in `head` until its transaction ends.

use sqlx::PgConnection;

use super::rows::count;
use crate::error::LedgerError;
use crate::store::Result;

/// Waits for the head's row, then says its size, and where the entries end: each statement sees what is committed when it
/// begins. One trip to the server.
const BEGIN: &str = "BEGIN ISOLATION LEVEL READ COMMITTED; \
    SELECT size FROM head WHERE one = 1 FOR UPDATE; \
    SELECT coalesce(max(idx) + 1, 0) AS size FROM entries";

/// A commit is not to be cut short by the statement's time: while it waits for a synchronous standby, that would
/// acknowledge what the standby does not have. The first statement also fails where the transaction has failed, for which
/// COMMIT alone would answer without an error.
pub(super) const COMMIT: &str = "SET LOCAL statement_timeout = 0; COMMIT";

/// Ends the sessions that hold the head while they wait for a client that neither reads nor writes. The server's own limits
/// end those that idle; the network's (`tcp_user_timeout`) those that are stuck in the middle of sending an answer. There is
/// no such limit on a socket of the file system, nor behind a pooler.
const FREE: &str = "SELECT pg_terminate_backend(a.pid) FROM pg_locks AS l JOIN pg_stat_activity AS a ON a.pid = l.pid \
    WHERE l.locktype = 'relation' AND l.relation = 'head'::regclass AND l.granted AND l.mode = 'RowShareLock' \
    AND a.pid <> pg_backend_pid() AND a.wait_event_type = 'Client' AND a.state_change < now() - INTERVAL '10 seconds'";

/// SQLSTATE of a lock that was not to be had in time.
const LOCK_NOT_AVAILABLE: &str = "55P03";

/// Begins a transaction that holds the head, and says its size. After an error the transaction is still to be rolled back.
pub(super) async fn take(connection: &mut PgConnection) -> Result<u64> {
    let rows = sqlx::raw_sql(BEGIN).fetch_all(connection).await?;
    let [head, end] = rows.as_slice() else {
        return Err(LedgerError::Damaged("the ledger has no head".to_owned()));
    };
    let (head, end) = (count(head, "size")?, count(end, "size")?);
    if head != end {
        return Err(LedgerError::Damaged(format!(
            "the head is at size {head}, the entries end at {end}"
        )));
    }
    Ok(head)
}

/// After a wait that ended with `error`: frees the head, if whoever holds it is stuck, for the next attempt.
pub(super) async fn free(connection: &mut PgConnection, error: &LedgerError) -> Result<()> {
    let waited_in_vain = matches!(
        error,
        LedgerError::Database(sqlx::Error::Database(error)) if error.code().as_deref() == Some(LOCK_NOT_AVAILABLE)
    );
    if !waited_in_vain {
        return Ok(());
    }
    let ended = sqlx::raw_sql(FREE).fetch_all(connection).await?.len();
    if ended > 0 {
        tracing::warn!(
            ended,
            "a recorder was stuck while it had its turn; its connection was ended"
        );
    }
    Ok(())
}
