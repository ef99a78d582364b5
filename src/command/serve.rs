//! `remembrancer serve`

use remembrancer_recorder::LedgerOptions;

use crate::config::{self, GlobalArgs, SettingArgs, Settings};
use crate::failure::Failure;
use crate::service::Service;
use crate::terminal::{self, LogFormat};

/// Arguments of `serve`.
#[derive(clap::Args)]
pub(crate) struct ServeArgs {
    #[command(flatten)]
    settings: SettingArgs,
}

pub(crate) async fn run(args: ServeArgs, globals: &GlobalArgs) -> Result<(), Failure> {
    let settings = args.settings.settings(globals)?;
    terminal::start_log(&settings.log, settings.log_format)?;
    let options = LedgerOptions {
        origin: settings.origin.clone(),
        anchor: settings.anchor.clone(),
        witnesses: settings.witness.clone(),
        witnesses_required: settings.require_witnesses,
        ..LedgerOptions::new(settings.location()?)
    };
    let mut service = Service::open(options, &settings).await?;
    if let Some(public) = &settings.public_url {
        service = service.published_at(public)?;
    }
    let url = format!("http://{}", service.address);
    terminal::print(&format!("{url}\n"))?;
    tell(&settings, &service, &url)?;
    service.run().await
}

/// Says what holds and what to do next: to people in words, to whoever reads the log as JSON in its form.
fn tell(settings: &Settings, service: &Service, url: &str) -> Result<(), Failure> {
    let (origin, key) = (service.ledger().origin(), service.ledger().public_key());
    if settings.log_format == LogFormat::Json {
        return terminal::say_json(&serde_json::json!({
            "message": "started",
            "url": url,
            "ledger": origin.as_str(),
            "key": key.fingerprint().to_string(),
            "workspaces": service.others(),
            "configuration": config::as_json(settings),
        }));
    }
    let folder = settings.data.display();
    terminal::say(&format!(
        "configuration:\n{}\n\
         ledger {origin} in {folder}, key {}\n\
         make a key for an agent:    remembrancer tokens create --role write --name my-agent --data {folder}\n\
         make a key for the viewer:  remembrancer tokens create --role read --name my-name --data {folder}\n\
         then open {url} and log in with the read key; Ctrl-C stops",
        config::as_toml(settings),
        key.fingerprint(),
    ));
    let others = service.others();
    if !others.is_empty() {
        terminal::say(&format!("other workspaces: {}", others.join(", ")));
    }
    if !settings.listen.ip().is_loopback() {
        terminal::say(
            "this address can be reached from other machines: put a TLS proxy before it, keys travel in clear",
        );
    }
    Ok(())
}
