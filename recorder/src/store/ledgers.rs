//! Which ledgers a data directory holds.

use super::{Found, LedgerLocation, Result, WorkspaceName, find, workspaces};

/// The ledgers of a data directory with the version of their tables: the default workspace's first, then the others by name.
/// `location` may name any workspace.
pub(crate) async fn ledgers(location: &LedgerLocation) -> Result<Vec<(LedgerLocation, i64)>> {
    let others = workspaces(location).await?;
    let mut found = Vec::new();
    for name in [WorkspaceName::default()].into_iter().chain(others) {
        let ledger = location.workspace(name);
        if let Found::Version(version) = find(&ledger).await? {
            found.push((ledger, version));
        }
    }
    Ok(found)
}
