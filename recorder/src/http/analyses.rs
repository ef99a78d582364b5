//! Analyses of sessions, kept for as long as their session does not grow.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use remembrancer_replay::Analysis;
use remembrancer_schema::{EntryHash, SessionId};
use tokio::sync::OnceCell;

use super::problem::Problem;
use crate::reader::Reader;
use crate::session::SessionSummary;

/// Analyses kept at the same time.
const KEPT_MAX: usize = 16;

type Key = (SessionId, EntryHash);
type Cell = Arc<OnceCell<Arc<Analysis>>>;

/// The most recently used analyses. A session's head is part of the key, so an analysis is never out of date.
#[derive(Default)]
pub(crate) struct Analyses(Mutex<VecDeque<(Key, Cell)>>);

impl Analyses {
    /// The analysis of a session as it is now. Two requests for the same one compute it once.
    pub(crate) async fn of(
        &self,
        reader: &Reader,
        session: &SessionSummary,
    ) -> Result<Arc<Analysis>, Problem> {
        let cell = self.cell((session.id.clone(), session.head));
        cell.get_or_try_init(|| async {
            let record = reader.record_of(session).await?;
            tokio::task::spawn_blocking(move || Arc::new(remembrancer_replay::analyse(&record)))
                .await
                .map_err(|error| Problem::internal(&error))
        })
        .await
        .cloned()
    }

    fn cell(&self, key: Key) -> Cell {
        let mut kept = self
            .0
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        let found = kept
            .iter()
            .position(|(of, _)| *of == key)
            .and_then(|at| kept.remove(at));
        let entry = found.unwrap_or_else(|| (key, Cell::default()));
        let cell = Arc::clone(&entry.1);
        kept.push_front(entry);
        kept.truncate(KEPT_MAX);
        cell
    }
}
