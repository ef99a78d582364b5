//! `remembrancer view`

use std::net::{Ipv4Addr, SocketAddr};

use remembrancer_recorder::LedgerOptions;

use super::session::PlaceArg;
use crate::failure::Failure;
use crate::service::Service;
use crate::terminal;

/// Arguments of `view`.
#[derive(clap::Args)]
pub(crate) struct ViewArgs {
    /// The session to open, by its id, or its label if only one session has it; without it, the list of all
    session: Option<String>,
    #[command(flatten)]
    place: PlaceArg,
    /// Port on the loopback address; 0 takes any free port
    #[arg(long, default_value_t = 0)]
    port: u16,
}

pub(crate) async fn run(args: ViewArgs) -> Result<(), Failure> {
    let mut settings = args.place.settings()?;
    settings.listen = SocketAddr::from((Ipv4Addr::LOCALHOST, args.port));
    let location = settings.location()?;
    // Looking at a ledger makes none.
    let reader = remembrancer_recorder::Reader::open(location.clone()).await?;
    let page = match &args.session {
        Some(name) => format!("/sessions/{}", reader.find_session(name).await?.number),
        None => "/".to_owned(),
    };
    drop(reader);
    let service = Service::open(LedgerOptions::new(location), &settings).await?;
    let url = format!("http://{}", service.address);
    let code = service.viewer.logins().issue_code()?;
    terminal::print(&format!("{url}/login/{code}?to={page}\n"))?;
    terminal::say("open the address above (it logs in once); Ctrl-C stops");
    service.run().await
}
