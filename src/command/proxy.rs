//! `remembrancer proxy`

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytes::Bytes;
use remembrancer_capture::call_recorder::SessionRules;
use remembrancer_capture::delivery::{DeliveryError, HttpRecorder, Recorder, Rejection, Taken};
use remembrancer_capture::mission_file::Mission;
use remembrancer_capture::proxy::{Proxy, ProxyOptions};
use remembrancer_capture::spool::{Spool, SpoolOptions, folder_for};
use remembrancer_recorder::{Ledger, LedgerOptions, Outcome, OwnedEvent, Slug, WorkspaceName};

use super::mission;
use super::session::{WORKSPACE_VARIABLE, location};
use crate::failure::Failure;
use crate::service::{stop_requested, stop_requests};
use crate::terminal;

/// Arguments of `proxy`.
#[derive(clap::Args)]
pub(crate) struct ProxyArgs {
    /// Address of the API that requests go on to, such as `https://api.anthropic.com` or `https://api.openai.com`
    #[arg(long, value_name = "URL")]
    upstream: String,
    /// Address to listen on; port 0 takes any free port
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:7272")]
    listen: SocketAddr,
    /// Address of the recorder, such as `http://127.0.0.1:7171`
    #[arg(
        long,
        value_name = "URL",
        env = "REMEMBRANCER_URL",
        required_unless_present = "data",
        requires = "key"
    )]
    recorder: Option<String>,
    /// Key of the recorder that may write; better in the environment, where other users do not see it
    #[arg(long, env = "REMEMBRANCER_KEY", hide_env_values = true)]
    key: Option<String>,
    /// Data folder of a ledger to write to without a recorder; no server may run on it meanwhile
    #[arg(long, value_name = "DIR", conflicts_with = "recorder")]
    data: Option<PathBuf>,
    /// Workspace of the ledger in the data folder
    #[arg(long, env = WORKSPACE_VARIABLE, default_value_t, value_name = "NAME")]
    workspace: WorkspaceName,
    /// A mission file (YAML): objective, permissions, prohibitions and facts that are declared in every session that begins
    #[arg(long, value_name = "FILE")]
    mission: Option<PathBuf>,
    /// Propose sentences of the user that read like rules as constraints, marked as inferred
    #[arg(long)]
    extract_rules: bool,
    /// Folder of what waits for the recorder [default: one for each recorder below ~/.local/state/remembrancer/spool]
    #[arg(long, value_name = "DIR")]
    spool: Option<PathBuf>,
    /// Most bytes that may wait there
    #[arg(long, value_name = "BYTES", default_value_t = 4 * 1024 * 1024 * 1024)]
    spool_bytes_max: u64,
}

pub(crate) async fn run(args: ProxyArgs) -> Result<(), Failure> {
    let mission = args.mission.as_deref().map(mission::read).transpose()?;
    let target = args.target()?;
    let folder = args.spool_folder(&target)?;
    let ledger = match &args.data {
        Some(data) => {
            let location = location(data.clone(), None, args.workspace.clone())?;
            Some(Arc::new(Ledger::open(LedgerOptions::new(location)).await?))
        }
        None => None,
    };
    let recorder: Arc<dyn Recorder> = match &ledger {
        Some(ledger) => Arc::new(InFolder(Arc::clone(ledger))),
        None => {
            let address = args.recorder.as_deref().unwrap_or_default();
            Arc::new(HttpRecorder::new(
                address,
                args.key.as_deref().unwrap_or_default(),
            )?)
        }
    };
    let options = SpoolOptions {
        bytes_max: args.spool_bytes_max,
        // The proxy waits for the disk itself, for many at once.
        sync: false,
    };
    let proxy = Proxy::bind(ProxyOptions {
        upstream: args.upstream.clone(),
        listen: args.listen,
        spool: Spool::open(&folder, options)?,
        recorder,
        rules: SessionRules {
            declared: mission.as_ref().map(Mission::declared).unwrap_or_default(),
            extract: args.extract_rules,
        },
    })
    .await?;
    for notice in mission.iter().flat_map(|mission| &mission.notices) {
        terminal::say(&terminal::shown(notice));
    }
    let stops = stop_requests();
    let url = format!("http://{}", proxy.address());
    terminal::print(&format!("{url}\n"))?;
    tell(&args, &url, &target, &folder);
    let outcome = proxy.run(stop_requested(stops, 1)).await;
    if let Some(ledger) = ledger {
        ledger.close().await;
    }
    Ok(outcome?)
}

impl ProxyArgs {
    /// The recorder as its spool is named: an address and a workspace of it, or a data folder.
    fn target(&self) -> Result<String, Failure> {
        match (&self.recorder, &self.data) {
            (Some(address), _) => Ok(match self.key.as_deref().and_then(workspace_of) {
                Some(workspace) => format!("{}#{workspace}", address.trim_end_matches('/')),
                None => address.clone(),
            }),
            (None, Some(data)) => {
                let whole = std::path::absolute(data)?;
                Ok(format!("{}#{}", whole.display(), self.workspace))
            }
            (None, None) => Err(Failure::new("neither --recorder nor --data is given")),
        }
    }

    fn spool_folder(&self, target: &str) -> Result<PathBuf, Failure> {
        let named = self
            .spool
            .clone()
            .or_else(|| folder_for(target, |name| std::env::var_os(name)));
        named.ok_or_else(|| {
            Failure::new("there is no folder for what waits for the recorder: HOME is not set")
                .hint("name one with --spool")
        })
    }
}

/// The workspace that a key names: `rmb_<role>_<workspace>_<id>_<secret>`.
fn workspace_of(key: &str) -> Option<&str> {
    key.strip_prefix("rmb_")?.split('_').nth(1)
}

fn tell(args: &ProxyArgs, url: &str, target: &str, folder: &Path) {
    let target = target.split('#').next().unwrap_or_default();
    terminal::say(&terminal::shown(&format!(
        "requests go on to {}, records to {target}; what waits lies in {}\n\
         Anthropic:  export ANTHROPIC_BASE_URL={url}\n\
         OpenAI:     export OPENAI_BASE_URL={url}/v1\n\
         a session is named by the header x-remembrancer-session, or found by itself; Ctrl-C stops",
        args.upstream,
        folder.display(),
    )));
    if !args.listen.ip().is_loopback() {
        terminal::say(
            "this address can be reached from other machines: put a TLS proxy before it, keys travel in clear",
        );
    }
}

/// A ledger that this process writes to itself.
struct InFolder(Arc<Ledger>);

fn later(error: impl std::fmt::Display) -> DeliveryError {
    DeliveryError::Later {
        after: None,
        reason: error.to_string(),
    }
}

#[async_trait::async_trait]
impl Recorder for InFolder {
    async fn store_blobs(&self, blobs: &[&[u8]]) -> Result<usize, DeliveryError> {
        for bytes in blobs {
            self.0
                .store_blob(Bytes::copy_from_slice(bytes))
                .await
                .map_err(later)?;
        }
        Ok(blobs.len())
    }

    async fn append(&self, events: &[&[u8]]) -> Result<Vec<Taken>, DeliveryError> {
        let parsed: Vec<_> = events
            .iter()
            .map(|event| OwnedEvent::parse(Bytes::copy_from_slice(event)))
            .collect();
        let mut good = Vec::with_capacity(parsed.len());
        let mut refused = Vec::with_capacity(parsed.len());
        for event in parsed {
            match event {
                Ok(event) => {
                    good.push(event);
                    refused.push(None);
                }
                Err(error) => refused.push(Some(error.to_string())),
            }
        }
        let mut outcomes = self.0.append(good).await.map_err(later)?.into_iter();
        let taken = refused.into_iter().map(|refused| match refused {
            Some(detail) => Taken::Rejected(Rejection {
                problem: Slug::InvalidEvent.as_str().to_owned(),
                detail,
            }),
            None => match outcomes.next() {
                Some(Outcome::Rejected(rejection)) => {
                    let problem = Slug::from(&rejection).as_str().to_owned();
                    Taken::Rejected(Rejection {
                        problem,
                        detail: rejection.to_string(),
                    })
                }
                _ => Taken::Recorded,
            },
        });
        Ok(taken.collect())
    }
}

#[cfg(test)]
mod tests {
    use super::workspace_of;

    #[test]
    fn a_key_names_its_workspace() {
        assert_eq!(workspace_of("rmb_write_main_abc_secret"), Some("main"));
        assert_eq!(workspace_of("something else"), None);
    }
}
