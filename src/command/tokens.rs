//! `remembrancer tokens`

use remembrancer_recorder::{Role, TokenSummary, create_token, list_tokens, revoke_token};

use super::session::DataArg;
use crate::failure::Failure;
use crate::terminal::{self, Format, shown};

/// Arguments of `tokens`.
#[derive(clap::Args)]
pub(crate) struct TokensArgs {
    #[command(subcommand)]
    action: TokensAction,
}

#[derive(clap::Subcommand)]
enum TokensAction {
    /// Make a key and print it; it is shown this once and stored only as a hash
    Create(CreateArgs),
    /// List the keys, without their secrets
    List(ListArgs),
    /// Revoke a key; the next request with it is refused
    Revoke(RevokeArgs),
}

#[derive(clap::Args)]
struct CreateArgs {
    /// What the key may do: write appends and reads nothing, read reads, admin does both
    #[arg(long)]
    role: Role,
    /// Whose key it is, for people
    #[arg(long)]
    name: String,
    #[command(flatten)]
    data: DataArg,
    /// Form of the output
    #[arg(long, value_enum, default_value = "text")]
    format: Format,
}

#[derive(clap::Args)]
struct ListArgs {
    #[command(flatten)]
    data: DataArg,
    /// Form of the output
    #[arg(long, value_enum, default_value = "text")]
    format: Format,
}

#[derive(clap::Args)]
struct RevokeArgs {
    /// The key's id, as `tokens list` shows it
    id: String,
    #[command(flatten)]
    data: DataArg,
}

pub(crate) async fn run(args: TokensArgs) -> Result<(), Failure> {
    match args.action {
        TokensAction::Create(args) => create(args).await,
        TokensAction::List(args) => list(args).await,
        TokensAction::Revoke(args) => {
            let revoked = revoke_token(args.data.location()?, &args.id).await?;
            terminal::say(&format!(
                "the {} key {} of {} is revoked",
                revoked.role,
                revoked.id,
                shown(&revoked.name)
            ));
            Ok(())
        }
    }
}

async fn create(args: CreateArgs) -> Result<(), Failure> {
    let key = create_token(args.data.location()?, args.role, &args.name).await?;
    match args.format {
        Format::Json => terminal::print_json(
            &serde_json::json!({ "id": key.id, "role": args.role, "token": key.token }),
        ),
        Format::Text => {
            terminal::print(&format!("{}\n", key.token))?;
            terminal::say("keep it: it is not shown again");
            Ok(())
        }
    }
}

async fn list(args: ListArgs) -> Result<(), Failure> {
    let keys = list_tokens(args.data.location()?).await?;
    match args.format {
        Format::Json => terminal::print_json(&keys),
        Format::Text if keys.is_empty() => {
            terminal::say("no key was made yet: `remembrancer tokens create` makes one");
            Ok(())
        }
        Format::Text => terminal::print(&text(&keys)),
    }
}

fn text(keys: &[TokenSummary]) -> String {
    let rows: Vec<Vec<String>> = keys
        .iter()
        .map(|key| {
            let state = key
                .revoked
                .as_ref()
                .map_or("valid".to_owned(), |when| format!("revoked {when}"));
            vec![
                key.id.clone(),
                key.role.to_string(),
                shown(&key.name),
                key.created.clone(),
                state,
            ]
        })
        .collect();
    terminal::table(&["id", "role", "name", "created", "state"], &rows)
}
