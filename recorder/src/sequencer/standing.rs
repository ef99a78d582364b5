//! Whether the ledger writes at the moment, for others to see.

use std::sync::{PoisonError, RwLock};

/// Whether the ledger writes, and why not.
#[derive(Debug, Default)]
pub(crate) struct Standing(RwLock<Option<String>>);

impl Standing {
    /// Why the ledger does not write at the moment; `None` as long as it does.
    pub(crate) fn reason(&self) -> Option<String> {
        // No code panics while it holds the lock, and a text cannot be half written.
        self.0
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    pub(crate) fn suspend(&self, reason: &str) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = Some(reason.to_owned());
    }

    pub(crate) fn resume(&self) {
        let is_suspended = self.reason().is_some();
        if is_suspended {
            *self.0.write().unwrap_or_else(PoisonError::into_inner) = None;
            tracing::info!("the ledger writes again");
        }
    }
}
