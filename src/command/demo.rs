//! `remembrancer demo`

use std::path::PathBuf;

use remembrancer_recorder::LedgerOptions;

use crate::config::Settings;
use crate::failure::Failure;
use crate::service::Service;
use crate::{demo, terminal};

/// Arguments of `demo`.
#[derive(clap::Args)]
pub(crate) struct DemoArgs {
    /// Folder for the sample ledger: absent or empty; without it, a new temporary folder
    #[arg(long)]
    data: Option<PathBuf>,
    /// Address to listen on; port 0 takes any free port
    #[arg(long, default_value = "127.0.0.1:0")]
    listen: String,
}

pub(crate) async fn run(args: DemoArgs) -> Result<(), Failure> {
    let data = fresh_folder(args.data)?;
    let settings = Settings::with_flags(vec![("listen", args.listen)])?;
    let service = Service::open(LedgerOptions::new(&data), &settings).await?;
    let url = format!("http://{}", service.address);
    let code = service.viewer.logins().issue_code()?;
    let running = tokio::spawn(service.run());
    let recorded = demo::record(&url, &data).await?;
    terminal::print(&format!("{url}/login/{code}\n"))?;
    let folder = data.display();
    terminal::say(&format!(
        "{recorded} events of a sample run are recorded in {folder}; open the address above (it logs in once)\n\
         the same on the command line:  remembrancer presence demo-plain --data {folder}\n\
         Ctrl-C stops"
    ));
    running.await?
}

fn fresh_folder(asked: Option<PathBuf>) -> Result<PathBuf, Failure> {
    let Some(folder) = asked else {
        return Ok(tempfile::Builder::new()
            .prefix("remembrancer-demo-")
            .tempdir()?
            .keep());
    };
    let is_used = std::fs::read_dir(&folder).is_ok_and(|mut entries| entries.next().is_some());
    if is_used {
        return Err(Failure::new(format!("{} is not empty", folder.display()))
            .hint("name a folder that does not exist yet, or leave --data away"));
    }
    Ok(folder)
}
