//! `remembrancer completions`

use clap::CommandFactory as _;

use crate::failure::Failure;
use crate::terminal;

/// Arguments of `completions`.
#[derive(clap::Args)]
pub(crate) struct CompletionsArgs {
    /// The shell
    shell: clap_complete::Shell,
}

pub(crate) fn run(args: &CompletionsArgs) -> Result<(), Failure> {
    let mut script = Vec::new();
    clap_complete::generate(
        args.shell,
        &mut crate::Arguments::command(),
        "remembrancer",
        &mut script,
    );
    terminal::print(&String::from_utf8_lossy(&script))
}
