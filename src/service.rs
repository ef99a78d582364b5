//! The running service: the HTTP API and the viewer on one port, over the ledgers of all workspaces.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use axum::Router;
use axum::extract::Request;
use axum::http::Uri;
use axum::middleware::{self, Next};
use axum::response::{IntoResponse as _, Response};
use remembrancer_capture::hook::Program;
use remembrancer_listener::{ConnectionLimits, Listener, Observer};
use remembrancer_recorder::{
    ApiState, Ledger, LedgerError, LedgerOptions, Limits, Metrics, Problem, Reader, SessionSummary,
    Slug, Workspaces,
};
use remembrancer_web::ViewerState;
use tokio::net::TcpListener;
use tokio::sync::watch;

use crate::command::bundle::bundle_bytes;
use crate::config::Settings;
use crate::failure::Failure;
use crate::intake::otlp;
use crate::intake::{CLAUDE_PATH, HookIntake};

/// A service that listens but does not answer yet.
pub(crate) struct Service {
    workspaces: Workspaces,
    pub(crate) viewer: ViewerState,
    pub(crate) address: SocketAddr,
    listener: TcpListener,
    api: Router,
    limits: Limits,
    metrics: Metrics,
    stops: watch::Receiver<u32>,
}

impl Service {
    /// Binds the address, opens the default workspace's ledger for writing, or makes it, and opens the others that are there.
    pub(crate) async fn open(options: LedgerOptions, settings: &Settings) -> Result<Self, Failure> {
        let listen = settings.listen;
        // The address first: a port that is taken should not leave a new ledger behind.
        let listener = TcpListener::bind(listen).await.map_err(|error| {
            Failure::new(format!("cannot listen on {listen}: {error}")).hint(
                "choose another address with --listen, for instance 127.0.0.1:0 for any free port",
            )
        })?;
        let address = listener.local_addr()?;
        let metrics = Metrics::new();
        let options = options.with_limits(&settings.limits);
        let others_max = settings.limits.workspaces_max;
        let workspaces = Workspaces::open(options, others_max, metrics.clone()).await?;
        let viewer = ViewerState::new(workspaces.clone());
        let api = ApiState::new(workspaces.clone(), bundle_maker())
            .with_limits(settings.limits.clone())
            .with_metrics(metrics.clone(), settings.metrics)
            .with_intake(CLAUDE_PATH, Arc::new(HookIntake::new(Program::Claude)))
            .with_intake(otlp::PATH, Arc::new(otlp::Otlp::new()));
        let api = remembrancer_recorder::router(api);
        Ok(Self {
            workspaces,
            viewer,
            address,
            listener,
            api,
            limits: settings.limits.clone(),
            metrics,
            // Before anybody is told that the service is there, and after what may take long and loses nothing when it is
            // ended.
            stops: stop_requests(),
        })
    }

    /// The default workspace's ledger.
    pub(crate) fn ledger(&self) -> &Ledger {
        self.workspaces.default_ledger()
    }

    /// Names of the other workspaces that are open.
    pub(crate) fn others(&self) -> Vec<String> {
        let all = self.workspaces.standing().into_iter();
        all.filter(|one| !one.name.is_default() && one.ledger.is_some())
            .map(|one| one.name.to_string())
            .collect()
    }

    /// Lets the viewer answer to the address under which a proxy publishes it.
    pub(crate) fn published_at(mut self, public: &Uri) -> Result<Self, Failure> {
        let host = public.host().ok_or_else(|| {
            Failure::new(format!("--public-url {public} names no host"))
                .hint("give scheme and host, such as https://audit.example.org")
        })?;
        self.viewer = self.viewer.with_hosts([host.to_owned()]);
        if public.scheme_str() == Some("https") {
            self.viewer = self.viewer.with_secure_cookies();
        }
        Ok(self)
    }

    /// Answers requests until the process is asked to stop, then lets what runs finish.
    pub(crate) async fn run(self) -> Result<(), Failure> {
        let router = self
            .api
            .merge(timed(remembrancer_web::router(self.viewer), &self.limits));
        let listener = Listener {
            listener: self.listener,
            router: remembrancer_recorder::observed(router, self.metrics.clone()),
            limits: connection_limits(&self.limits),
            refusal: serde_json::to_string(&Problem::new(
                Slug::TooManyConnections,
                "this server has as many connections as it may; nothing was stored, try again shortly",
            ))?,
            bodiless: &[CLAUDE_PATH],
            observer: Arc::new(Counted(self.metrics)),
        };
        let waits = AtomicU32::new(0);
        listener
            .run(|| {
                let times = waits.fetch_add(1, Ordering::Relaxed) + 1;
                Box::pin(stop_requested(self.stops.clone(), times))
            })
            .await;
        self.workspaces.close().await;
        Ok(())
    }
}

/// Counts connections for `/metrics`.
struct Counted(Metrics);

impl Observer for Counted {
    fn opened(&self) -> Box<dyn Send> {
        Box::new(self.0.connection_opened())
    }

    fn refused(&self) {
        self.0.refused(Slug::TooManyConnections);
    }
}

pub(crate) fn connection_limits(limits: &Limits) -> ConnectionLimits {
    ConnectionLimits {
        connections_max: limits.connections_max,
        head_bytes_max: limits.header_bytes_max,
        head_time_max: Duration::from_secs(limits.header_seconds_max),
        idle_time_max: Duration::from_secs(limits.idle_seconds_max),
        write_time_max: Duration::from_secs(limits.write_seconds_max),
        drain_time_max: Duration::from_secs(limits.drain_seconds_max),
    }
}

/// The viewer within the time that an answer may take. The API keeps to it by itself.
fn timed(router: Router, limits: &Limits) -> Router {
    let time = Duration::from_secs(limits.request_seconds_max);
    router.layer(middleware::from_fn(move |request: Request, next: Next| {
        within(time, request, next)
    }))
}

async fn within(time: Duration, request: Request, next: Next) -> Response {
    tokio::time::timeout(time, next.run(request))
        .await
        .unwrap_or_else(|_| Problem::new(Slug::Timeout, "the page took too long").into_response())
}

/// Makes bundles for the API: the program knows both the recorder and the pages of the report.
fn bundle_maker() -> remembrancer_recorder::BundleMaker {
    Arc::new(|reader: Reader, session: SessionSummary| {
        Box::pin(async move {
            let data = reader.data_dir().to_owned();
            let read = crate::command::session::read(reader, session.id.as_str()).await;
            let bytes = match read {
                Ok(read) => bundle_bytes(read, &data).await,
                Err(failure) => Err(failure),
            };
            bytes.map_err(failed)
        })
    })
}

/// What the API is told: what the ledger said, where that was the cause, for which it has an answer of its own.
fn failed(failure: Failure) -> Box<dyn std::error::Error + Send + Sync> {
    match failure {
        Failure::Impossible { error, .. } => match error.downcast::<LedgerError>() {
            Ok(error) => error.into(),
            Err(error) => format!("{error:?}").into(),
        },
        divergence @ Failure::Divergence => format!("{divergence:?}").into(),
    }
}

/// Counts how often the process is asked to stop, from now on: before that, a signal ends it at once.
pub(crate) fn stop_requests() -> watch::Receiver<u32> {
    let (sender, receiver) = watch::channel(0);
    #[cfg(unix)]
    let terminated = {
        use tokio::signal::unix::{SignalKind, signal};
        signal(SignalKind::terminate())
    };
    tokio::spawn(async move {
        #[cfg(unix)]
        let mut terminated = terminated;
        loop {
            #[cfg(unix)]
            match &mut terminated {
                Ok(terminated) => tokio::select! {
                    _ = tokio::signal::ctrl_c() => {}
                    _ = terminated.recv() => {}
                },
                Err(_) => drop(tokio::signal::ctrl_c().await),
            }
            #[cfg(not(unix))]
            drop(tokio::signal::ctrl_c().await);
            sender.send_modify(|asked| *asked += 1);
        }
    });
    receiver
}

/// Waits until the process was asked to stop so many times.
pub(crate) async fn stop_requested(mut stops: watch::Receiver<u32>, times: u32) {
    drop(stops.wait_for(|asked| *asked >= times).await);
}
