//! Where the viewer reads from.

use std::future::Future;
use std::pin::Pin;

use std::sync::LazyLock;

use remembrancer_recorder::{
    AnalysisFailed, LedgerError, Page, Reader, SessionSummary, WorkspaceName,
};
use remembrancer_replay::{Analysis, SessionRecord};
use remembrancer_schema::signing::PublicKey;
use remembrancer_schema::{Origin, SessionId, TreeHash};

use crate::text::plain;

/// Characters of a damage's description that are shown.
const DAMAGE_CHARS_MAX: usize = 400;

/// A future answer of a source.
pub type Answer<'a, T> = Pin<Box<dyn Future<Output = Result<T, SourceError>> + Send + 'a>>;

/// Why a source did not answer.
#[derive(Debug, thiserror::Error)]
pub enum SourceError {
    /// The ledger could not be read.
    #[error("the ledger could not be read: {0}")]
    Ledger(#[from] LedgerError),
    /// The analysis did not finish.
    #[error(transparent)]
    Analysis(#[from] AnalysisFailed),
}

impl SourceError {
    /// What is damaged, where this is about damage: other causes are for the log alone.
    pub(crate) fn damage(&self) -> Option<String> {
        match self {
            Self::Ledger(error @ (LedgerError::Corrupt { .. } | LedgerError::Damaged(_))) => {
                Some(plain(&error.to_string(), DAMAGE_CHARS_MAX))
            }
            Self::Ledger(error) => error.blob_loss(),
            Self::Analysis(_) => None,
        }
    }
}

/// What the pages need of a ledger. [`Reader`] is the one that runs; tests put fixtures in its place.
///
/// Every answer is of what is committed at that moment. Nothing here writes.
pub trait Source: Send + Sync + 'static {
    /// The ledger's name.
    fn origin(&self) -> &Origin;
    /// The key that signs its checkpoints.
    fn public_key(&self) -> &PublicKey;
    /// Sessions, newest first.
    fn sessions<'a>(
        &'a self,
        after: Option<&'a str>,
        limit: u32,
    ) -> Answer<'a, Page<SessionSummary>>;
    /// A session by its number.
    fn session(&self, number: i64) -> Answer<'_, Option<SessionSummary>>;
    /// A session by its id.
    fn session_named<'a>(&'a self, id: &'a SessionId) -> Answer<'a, Option<SessionSummary>>;
    /// The sub-agent sessions of a session.
    fn children<'a>(&'a self, id: &'a SessionId) -> Answer<'a, Vec<SessionSummary>>;
    /// All of a session.
    fn record<'a>(&'a self, id: &'a SessionId) -> Answer<'a, SessionRecord>;
    /// The newest checkpoint.
    fn checkpoint(&self) -> Answer<'_, Option<String>>;
    /// Proof that the entry `index` is in the tree of `size` entries.
    fn inclusion_proof(&self, index: u64, size: u64) -> Answer<'_, Vec<TreeHash>>;
    /// The same up to where its summary was read.
    fn record_of<'a>(&'a self, summary: &'a SessionSummary) -> Answer<'a, SessionRecord> {
        self.record(&summary.id)
    }
    /// The id of a key that may read; `None` for what is none.
    fn reading_key<'a>(&'a self, key: &'a str) -> Answer<'a, Option<String>>;
    /// Whether the key with an id may still read.
    fn is_reading_key<'a>(&'a self, id: &'a str) -> Answer<'a, bool>;
    /// The workspace whose ledger this is.
    fn workspace(&self) -> &WorkspaceName {
        static DEFAULT: LazyLock<WorkspaceName> = LazyLock::new(WorkspaceName::default);
        &DEFAULT
    }
    /// The ledger behind it, if it is one: then an analysis goes on from where it was when a session grows.
    fn reader(&self) -> Option<&Reader> {
        None
    }
    /// What the auditor says of a record, where there is no ledger behind it. Blocks; called off the async threads.
    fn analyse(&self, record: &SessionRecord) -> Analysis {
        remembrancer_replay::analyse(record)
    }
}

impl Source for Reader {
    fn origin(&self) -> &Origin {
        Reader::origin(self)
    }

    fn public_key(&self) -> &PublicKey {
        Reader::public_key(self)
    }

    fn sessions<'a>(
        &'a self,
        after: Option<&'a str>,
        limit: u32,
    ) -> Answer<'a, Page<SessionSummary>> {
        Box::pin(async move { Ok(Reader::sessions(self, after, limit).await?) })
    }

    fn session(&self, number: i64) -> Answer<'_, Option<SessionSummary>> {
        Box::pin(async move { Ok(self.session_by_number(number).await?) })
    }

    fn session_named<'a>(&'a self, id: &'a SessionId) -> Answer<'a, Option<SessionSummary>> {
        Box::pin(async move {
            match self.find_session(id.as_str()).await {
                Ok(summary) if summary.id == *id => Ok(Some(summary)),
                Ok(_) | Err(LedgerError::NoSession(_) | LedgerError::AmbiguousLabel { .. }) => {
                    Ok(None)
                }
                Err(error) => Err(error.into()),
            }
        })
    }

    fn children<'a>(&'a self, id: &'a SessionId) -> Answer<'a, Vec<SessionSummary>> {
        Box::pin(async move { Ok(Reader::children(self, id).await?) })
    }

    fn record<'a>(&'a self, id: &'a SessionId) -> Answer<'a, SessionRecord> {
        Box::pin(async move { Ok(self.session_record(id).await?) })
    }

    fn checkpoint(&self) -> Answer<'_, Option<String>> {
        Box::pin(async move { Ok(Reader::checkpoint(self).await?) })
    }

    fn inclusion_proof(&self, index: u64, size: u64) -> Answer<'_, Vec<TreeHash>> {
        Box::pin(async move { Ok(Reader::inclusion_proof(self, index, size).await?) })
    }

    fn record_of<'a>(&'a self, summary: &'a SessionSummary) -> Answer<'a, SessionRecord> {
        Box::pin(async move { Ok(Reader::record_of(self, summary).await?) })
    }

    fn reading_key<'a>(&'a self, key: &'a str) -> Answer<'a, Option<String>> {
        Box::pin(async move {
            let principal = self.authenticate(key).await?;
            let reading = principal.filter(|principal| principal.role.may_read());
            Ok(reading.map(|principal| principal.id))
        })
    }

    fn is_reading_key<'a>(&'a self, id: &'a str) -> Answer<'a, bool> {
        Box::pin(async move { Ok(Reader::is_reading_key(self, id).await?) })
    }

    fn workspace(&self) -> &WorkspaceName {
        &self.location().workspace
    }

    fn reader(&self) -> Option<&Reader> {
        Some(self)
    }
}
