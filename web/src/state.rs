//! What every handler shares, and what the pages of who is signed in are made from.

use std::collections::BTreeSet;
use std::sync::Arc;

use axum::extract::FromRequestParts;
use axum::http::HeaderMap;
use axum::http::request::Parts;
use remembrancer_recorder::{Analyses, SessionSummary, Workspaces};
use remembrancer_replay::Analysis;

use crate::error::PageError;
use crate::guard::cookie;
use crate::ledgers::{Alone, Ledgers};
use crate::login::Logins;
use crate::source::{Source, SourceError};

/// The ledgers that are viewed, the analyses computed so far, and who is signed in. Cheap to clone.
#[derive(Clone)]
pub struct ViewerState {
    pub(crate) ledgers: Arc<dyn Ledgers>,
    analyses: Arc<Analyses>,
    logins: Arc<Logins>,
    hosts: Arc<BTreeSet<String>>,
    secure_cookies: bool,
}

impl ViewerState {
    /// A viewer of the ledgers of a server, reachable by the names of this machine's loopback interface.
    pub fn new(workspaces: impl Into<Workspaces>) -> Self {
        let workspaces = workspaces.into();
        let analyses = Arc::clone(workspaces.analyses());
        Self::over_ledgers(Arc::new(workspaces), analyses)
    }

    /// A viewer of any source.
    pub fn over(source: Arc<dyn Source>) -> Self {
        Self::over_ledgers(Arc::new(Alone(source)), Arc::default())
    }

    fn over_ledgers(ledgers: Arc<dyn Ledgers>, analyses: Arc<Analyses>) -> Self {
        let hosts = ["localhost", "127.0.0.1", "[::1]"].map(str::to_owned);
        Self {
            ledgers,
            analyses,
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

    /// What the sender of a request may see; `None` if nobody is signed in, or the key of the sign-in is revoked.
    pub(crate) async fn view(&self, headers: &HeaderMap) -> Result<Option<View>, PageError> {
        let Some(secret) = cookie(headers) else {
            return Ok(None);
        };
        let Some(sign_in) = self.logins.signed_in(secret) else {
            return Ok(None);
        };
        let Some(source) = self.ledgers.of_workspace(&sign_in.workspace).await? else {
            return Ok(None);
        };
        let is_valid = match &sign_in.key {
            Some(key) => source.is_reading_key(key).await?,
            None => true,
        };
        if !is_valid {
            self.logins.sign_out(secret);
            return Ok(None);
        }
        Ok(Some(View {
            source,
            analyses: Arc::clone(&self.analyses),
        }))
    }
}

/// The one ledger that who is signed in sees: that of the workspace of the key. The guard puts it into the request.
#[derive(Clone)]
pub(crate) struct View {
    pub(crate) source: Arc<dyn Source>,
    pub(crate) analyses: Arc<Analyses>,
}

impl<S: Send + Sync> FromRequestParts<S> for View {
    type Rejection = PageError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, PageError> {
        let found = parts.extensions.get::<Self>().cloned();
        found.ok_or_else(|| PageError::Internal("a page was asked for past the guard".to_owned()))
    }
}

impl View {
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
            .analysis(&summary)
            .await
            .map_err(|error| PageError::Unreadable { number, error })?;
        Ok(Session { summary, analysis })
    }

    /// The analysis of a session as it stands at its summary's head.
    pub(crate) async fn analysis(
        &self,
        summary: &SessionSummary,
    ) -> Result<Arc<Analysis>, SourceError> {
        if let Some(reader) = self.source.reader() {
            return Ok(self.analyses.of(reader, summary).await?);
        }
        let source = Arc::clone(&self.source);
        let record = self.source.record_of(summary);
        self.analyses
            .get(self.source.origin(), summary, record, move |record| {
                source.analyse(record)
            })
            .await
    }

    /// The analysis of a session if it was computed already.
    pub(crate) fn kept_analysis(&self, summary: &SessionSummary) -> Option<Arc<Analysis>> {
        self.analyses.kept(self.source.origin(), summary)
    }
}

/// A session and what the auditor says of it.
pub(crate) struct Session {
    pub(crate) summary: SessionSummary,
    pub(crate) analysis: Arc<Analysis>,
}
