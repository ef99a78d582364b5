//! What every handler shares.

use std::collections::BTreeSet;
use std::sync::Arc;

use remembrancer_recorder::{Reader, SessionSummary};
use remembrancer_replay::Analysis;

use crate::analyses::Analyses;
use crate::error::PageError;
use crate::login::Logins;
use crate::source::Source;

/// The ledger that is viewed, the analyses computed so far, and who is signed in. Cheap to clone.
#[derive(Clone)]
pub struct ViewerState {
    pub(crate) source: Arc<dyn Source>,
    pub(crate) analyses: Arc<Analyses>,
    logins: Arc<Logins>,
    hosts: Arc<BTreeSet<String>>,
    secure_cookies: bool,
}

impl ViewerState {
    /// A viewer of a ledger, reachable by the names of this machine's loopback interface.
    pub fn new(reader: Reader) -> Self {
        Self::over(Arc::new(reader))
    }

    /// A viewer of any source.
    pub fn over(source: Arc<dyn Source>) -> Self {
        let hosts = ["localhost", "127.0.0.1", "[::1]"].map(str::to_owned);
        Self {
            source,
            analyses: Arc::default(),
            logins: Arc::default(),
            hosts: Arc::new(BTreeSet::from(hosts)),
            secure_cookies: false,
        }
    }

    /// Answers requests for further host names too (without port, as in the `Host` header).
    #[must_use]
    pub fn with_hosts(mut self, hosts: impl IntoIterator<Item = String>) -> Self {
        let mut all = (*self.hosts).clone();
        all.extend(hosts.into_iter().map(|host| host.to_ascii_lowercase()));
        self.hosts = Arc::new(all);
        self
    }

    /// Marks cookies `Secure`: for a viewer that is reached over TLS only.
    #[must_use]
    pub fn with_secure_cookies(mut self) -> Self {
        self.secure_cookies = true;
        self
    }

    /// Sign-ins and one-time codes.
    pub fn logins(&self) -> &Logins {
        &self.logins
    }

    pub(crate) fn is_known_host(&self, host: &str) -> bool {
        self.hosts.contains(&host.to_ascii_lowercase())
    }

    pub(crate) fn secure_cookies(&self) -> bool {
        self.secure_cookies
    }

    /// A session as the list has it, whether or not its record can be read.
    pub(crate) async fn summary(&self, number: i64) -> Result<SessionSummary, PageError> {
        self.source
            .session(number)
            .await?
            .ok_or(PageError::NotFound("session"))
    }

    /// A session and its analysis.
    pub(crate) async fn session(&self, number: i64) -> Result<Session, PageError> {
        let summary = self.summary(number).await?;
        let analysis = self
            .analyses
            .get(&self.source, &summary)
            .await
            .map_err(|error| PageError::Unreadable { number, error })?;
        Ok(Session { summary, analysis })
    }
}

/// A session and what the auditor says of it.
pub(crate) struct Session {
    pub(crate) summary: SessionSummary,
    pub(crate) analysis: Arc<Analysis>,
}
