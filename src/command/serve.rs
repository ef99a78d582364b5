//! `remembrancer serve`

use std::net::SocketAddr;

use axum::http::Uri;
use remembrancer_recorder::LedgerOptions;
use remembrancer_schema::Origin;

use super::session::DataArg;
use crate::failure::Failure;
use crate::service::Service;
use crate::terminal;

/// Arguments of `serve`.
#[derive(clap::Args)]
pub(crate) struct ServeArgs {
    #[command(flatten)]
    data: DataArg,
    /// Address to listen on; port 0 takes any free port
    #[arg(long, env = "REMEMBRANCER_LISTEN", default_value = "127.0.0.1:7171")]
    listen: SocketAddr,
    /// Name of a new ledger, unique in the world by convention: a host and path such as ledger.example.org/agents
    #[arg(long, env = "REMEMBRANCER_ORIGIN")]
    origin: Option<Origin>,
    /// Address under which a proxy publishes the viewer, scheme and host: pages answer to that host, and with https the
    /// session cookie is marked Secure
    #[arg(long, env = "REMEMBRANCER_PUBLIC_URL")]
    public_url: Option<Uri>,
}

pub(crate) async fn run(args: ServeArgs) -> Result<(), Failure> {
    let data = args.data.data;
    let options = LedgerOptions {
        origin: args.origin,
        ..LedgerOptions::new(&data)
    };
    let mut service = Service::open(options, args.listen).await?;
    if let Some(public) = &args.public_url {
        service = service.published_at(public)?;
    }
    let url = format!("http://{}", service.address);
    terminal::print(&format!("{url}\n"))?;
    let folder = data.display();
    terminal::say(&format!(
        "ledger {} in {folder}, key {}\n\
         make a key for an agent:    remembrancer tokens create --role write --name my-agent --data {folder}\n\
         make a key for the viewer:  remembrancer tokens create --role read --name my-name --data {folder}\n\
         then open {url} and log in with the read key; Ctrl-C stops",
        service.ledger.origin(),
        service.ledger.public_key().fingerprint(),
    ));
    if !args.listen.ip().is_loopback() {
        terminal::say(
            "this address can be reached from other machines: put a TLS proxy before it, keys travel in clear",
        );
    }
    service.run().await
}
