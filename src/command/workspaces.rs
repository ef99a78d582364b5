//! `remembrancer workspaces`

use remembrancer_recorder::{WorkspaceName, WorkspaceSummary, create_workspace, list_workspaces};
use remembrancer_schema::Origin;
use remembrancer_schema::checkpoint::Checkpoint;

use super::session::PlaceArg;
use crate::failure::Failure;
use crate::terminal::{self, Format, shown};

/// Arguments of `workspaces`.
#[derive(clap::Args)]
pub(crate) struct WorkspacesArgs {
    #[command(subcommand)]
    action: WorkspacesAction,
}

#[derive(clap::Subcommand)]
enum WorkspacesAction {
    /// Make a workspace; a server that runs takes it in with the first request that presents a key of it
    Create(CreateArgs),
    /// List the workspaces: name, origin, entries, newest checkpoint, key and folder
    List(ListArgs),
}

#[derive(clap::Args)]
struct CreateArgs {
    /// Its name: 1 to 32 of a-z, 0-9 and hyphen, beginning with a letter
    name: WorkspaceName,
    /// Name of its ledger, unique in the world by convention; the default workspace's, a slash and the name unless given
    #[arg(long)]
    origin: Option<Origin>,
    #[command(flatten)]
    place: PlaceArg,
    /// Form of the output
    #[arg(long, value_enum, default_value = "text")]
    format: Format,
}

#[derive(clap::Args)]
struct ListArgs {
    #[command(flatten)]
    place: PlaceArg,
    /// Form of the output
    #[arg(long, value_enum, default_value = "text")]
    format: Format,
}

pub(crate) async fn run(args: WorkspacesArgs) -> Result<(), Failure> {
    match args.action {
        WorkspacesAction::Create(args) => create(args).await,
        WorkspacesAction::List(args) => list(args).await,
    }
}

async fn create(args: CreateArgs) -> Result<(), Failure> {
    let place = args.place.of(WorkspaceName::default())?;
    let folder = place.data.display().to_string();
    let name = args.name;
    let made = create_workspace(place, &name, args.origin).await?;
    let key = made.public_key().fingerprint();
    match args.format {
        Format::Json => terminal::print_json(&serde_json::json!({
            "name": name,
            "origin": made.origin(),
            "key": key,
            "path": made.data_dir(),
        })),
        Format::Text => {
            terminal::say(&format!(
                "workspace {name}: ledger {} in {}, key {key}\n\
                 make a key for an agent:  remembrancer tokens create --role write --name my-agent --data {folder} --workspace {name}",
                made.origin(),
                made.location(),
            ));
            Ok(())
        }
    }
}

async fn list(args: ListArgs) -> Result<(), Failure> {
    let workspaces = list_workspaces(args.place.of(WorkspaceName::default())?).await?;
    match args.format {
        Format::Json => terminal::print_json(&workspaces),
        Format::Text => {
            terminal::print(&text(&workspaces))?;
            for one in &workspaces {
                if let Some(problem) = &one.problem {
                    terminal::say(&format!("workspace {}: {}", one.name, shown(problem)));
                }
            }
            Ok(())
        }
    }
}

fn text(workspaces: &[WorkspaceSummary]) -> String {
    let unknown = || "–".to_owned();
    let rows: Vec<Vec<String>> = workspaces
        .iter()
        .map(|one| {
            let ledger = one.ledger.as_ref();
            let checkpoint = ledger.and_then(|ledger| {
                let note = ledger.checkpoint.as_deref()?;
                Checkpoint::parse_unverified(note).ok()
            });
            let path = one.path.display().to_string();
            vec![
                one.name.to_string(),
                ledger.map_or_else(unknown, |ledger| ledger.origin.to_string()),
                ledger.map_or_else(unknown, |ledger| ledger.size.to_string()),
                checkpoint.map_or_else(unknown, |checkpoint| {
                    format!("{} at {}", checkpoint.root, checkpoint.size)
                }),
                ledger.map_or_else(unknown, |ledger| ledger.key.clone()),
                shown(&path),
            ]
        })
        .collect();
    terminal::table(
        &["name", "origin", "entries", "checkpoint", "key", "path"],
        &rows,
    )
}
