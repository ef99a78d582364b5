//! Which ledger whoever signs in sees.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use remembrancer_recorder::{Ledger, WorkspaceName, Workspaces};

use crate::source::{Source, SourceError};

/// A future ledger.
pub(crate) type Found<'a> =
    Pin<Box<dyn Future<Output = Result<Option<Arc<dyn Source>>, SourceError>> + Send + 'a>>;

/// The ledgers of a server, by workspace. [`Workspaces`] is the one that runs; tests put a fixture in its place.
pub(crate) trait Ledgers: Send + Sync + 'static {
    /// The ledger of a workspace; `None` if there is none.
    fn of_workspace<'a>(&'a self, name: &'a WorkspaceName) -> Found<'a>;
    /// The ledger whose key a text may be; `None` if there is none. Whether it is a key, only that ledger knows.
    fn of_key<'a>(&'a self, key: &'a str) -> Found<'a>;
}

impl Ledgers for Workspaces {
    fn of_workspace<'a>(&'a self, name: &'a WorkspaceName) -> Found<'a> {
        Box::pin(async move { Ok(self.get(name).await?.as_ref().map(source)) })
    }

    fn of_key<'a>(&'a self, key: &'a str) -> Found<'a> {
        Box::pin(async move { Ok(Workspaces::of_key(self, key).await?.as_ref().map(source)) })
    }
}

fn source(ledger: &Ledger) -> Arc<dyn Source> {
    Arc::new(ledger.reader().clone())
}

/// One source, without others beside it.
pub(crate) struct Alone(pub(crate) Arc<dyn Source>);

impl Ledgers for Alone {
    fn of_workspace<'a>(&'a self, name: &'a WorkspaceName) -> Found<'a> {
        let found = (name == self.0.workspace()).then(|| Arc::clone(&self.0));
        Box::pin(async move { Ok(found) })
    }

    fn of_key<'a>(&'a self, _: &'a str) -> Found<'a> {
        Box::pin(async move { Ok(Some(Arc::clone(&self.0))) })
    }
}
