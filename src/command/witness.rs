//! `remembrancer witness`

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use remembrancer_listener::{Listener, Observer};
use remembrancer_recorder::{Limits, Problem, Slug};
use remembrancer_schema::Origin;
use tokio::net::TcpListener;
use tokio::task::JoinSet;

use crate::failure::Failure;
use crate::service::{connection_limits, stop_requested, stop_requests};
use crate::terminal;
use crate::witness::{Evidence, Following, LedgerAddress, Witness, lock, router};

/// Arguments of `witness`.
#[derive(clap::Args)]
pub(crate) struct WitnessArgs {
    /// Key of a ledger whose checkpoints are signed, as `GET /v1/verifier-key` of its server prints it: NAME+ID+KEY. Compare
    /// it with what its operator says elsewhere. With @ and the server's address behind it, its checkpoint is also fetched from
    /// there. Can be given several times
    #[arg(
        long = "ledger",
        value_name = "KEY[@URL]",
        required_unless_present = "evidence"
    )]
    ledgers: Vec<LedgerAddress>,
    /// Key that may read the ledgers that are fetched from; better in the environment, where other users do not see it
    #[arg(long, env = "REMEMBRANCER_KEY", hide_env_values = true)]
    key: Option<String>,
    /// Seconds between two looks at a ledger that is fetched from
    #[arg(long, value_name = "SECONDS", default_value_t = 60, value_parser = clap::value_parser!(u64).range(1..=86_400))]
    every: u64,
    /// Address to listen on; port 0 takes any free port
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:7373")]
    listen: SocketAddr,
    /// Folder of the witness: its key, the last checkpoint of each ledger, and evidence
    #[arg(long, value_name = "DIR", default_value = "remembrancer-witness")]
    data: PathBuf,
    /// Name of a new witness, unique in the world by convention: a host and path [default: made from its key]
    #[arg(long)]
    name: Option<Origin>,
    /// Print what ledgers showed that cannot stand beside what was signed, and exit: code 1 if there is anything
    #[arg(long)]
    evidence: bool,
}

pub(crate) async fn run(args: WitnessArgs) -> Result<(), Failure> {
    if args.evidence {
        return print_evidence(&args);
    }
    let listener = TcpListener::bind(args.listen).await.map_err(|error| {
        Failure::new(format!("cannot listen on {}: {error}", args.listen)).hint(
            "choose another address with --listen, for instance 127.0.0.1:0 for any free port",
        )
    })?;
    let url = format!("http://{}", listener.local_addr()?);
    let lock = lock(&args.data)?;
    let keys = args.ledgers.iter().map(|ledger| ledger.key.clone());
    let witness = Arc::new(Witness::open(&args.data, args.name, keys.collect())?);
    let every = Duration::from_secs(args.every);
    let mut following = JoinSet::new();
    for ledger in &args.ledgers {
        let witness = Arc::clone(&witness);
        if let Some(one) = Following::new(witness, ledger, args.key.as_deref(), every)? {
            following.spawn(one.run());
        }
    }
    let stops = stop_requests();
    terminal::print(&format!("{url}\n{}\n", witness.verifier_key()))?;
    terminal::say(&format!(
        "ledgers that it signs for: {}, its memory: {}\n\
         ask for its signature:  remembrancer serve --witness '{}@{url}'\n\
         what it refused:        remembrancer witness --evidence --data {}",
        witness.ledgers(),
        args.data.display(),
        witness.verifier_key(),
        args.data.display(),
    ));
    let limits = Limits::default();
    let listener = Listener {
        listener,
        router: router(witness),
        limits: connection_limits(&limits),
        refusal: serde_json::to_string(&Problem::new(
            Slug::TooManyConnections,
            "this witness has as many connections as it may; try again shortly",
        ))?,
        bodiless: &[],
        observer: Arc::new(Uncounted),
    };
    let waits = AtomicU32::new(0);
    listener
        .run(|| {
            let times = waits.fetch_add(1, Ordering::Relaxed) + 1;
            Box::pin(stop_requested(stops.clone(), times))
        })
        .await;
    following.shutdown().await;
    drop(lock);
    Ok(())
}

fn print_evidence(args: &WitnessArgs) -> Result<(), Failure> {
    let kept = Evidence::kept(&args.data)?;
    for (path, text) in &kept {
        // What a ledger's operator wrote is not to move the cursor.
        terminal::print(&format!(
            "{}\n{}\n\n",
            path.display(),
            terminal::shown(text.trim_end())
        ))?;
    }
    if kept.is_empty() {
        terminal::say("nothing was refused that is worth keeping");
        return Ok(());
    }
    Err(Failure::Divergence)
}

/// A witness counts nothing.
struct Uncounted;

impl Observer for Uncounted {
    fn opened(&self) -> Box<dyn Send> {
        Box::new(())
    }

    fn refused(&self) {}
}
