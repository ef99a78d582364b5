//! `remembrancer config`

use crate::config::{self, GlobalArgs, SettingArgs};
use crate::failure::Failure;
use crate::terminal;

/// Form of the output.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum ConfigFormat {
    /// As a file would say it, with a comment where a value comes from.
    Toml,
    /// Each value with its source.
    Json,
}

/// Arguments of `config`.
#[derive(clap::Args)]
pub(crate) struct ConfigArgs {
    #[command(flatten)]
    settings: SettingArgs,
    /// Form of the output
    #[arg(long, value_enum, default_value = "toml")]
    format: ConfigFormat,
    /// Print a file with every setting, what it means, and its default, instead of what holds
    #[arg(long, conflicts_with = "format")]
    example: bool,
}

pub(crate) fn run(args: &ConfigArgs, globals: &GlobalArgs) -> Result<(), Failure> {
    if args.example {
        return terminal::print(&config::example());
    }
    let settings = args.settings.settings(globals)?;
    match args.format {
        ConfigFormat::Toml => terminal::print(&config::as_toml(&settings)),
        ConfigFormat::Json => terminal::print_json(&config::as_json(&settings)),
    }
}
