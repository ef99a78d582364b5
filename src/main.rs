//! `remembrancer`: the program. Subcommands, configuration and exit codes; no rule of the domain lives here.

mod command;
mod config;
mod demo;
mod failure;
mod hook;
mod intake;
mod service;
mod terminal;
mod witness;

use std::process::ExitCode;

use clap::Parser;

use crate::command::Command;
use crate::config::GlobalArgs;

/// Records what AI agents declared, saw and did, and audits it.
///
/// Exit codes: 0 sound, 1 the check ran and found something that does not hold, 2 it could not be done.
#[derive(Parser)]
#[command(name = "remembrancer", version, propagate_version = true)]
struct Arguments {
    #[command(flatten)]
    globals: GlobalArgs,
    #[command(subcommand)]
    command: Command,
}

fn main() -> ExitCode {
    // An agent waits for its hooks: none waits for the command line to be parsed and a runtime to be made.
    if let Some(exit) = hook::run_if_asked() {
        return exit;
    }
    command(Arguments::parse())
}

#[tokio::main]
async fn command(arguments: Arguments) -> ExitCode {
    let outcome = arguments.command.run(&arguments.globals).await;
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(),
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    #[test]
    fn the_command_line_is_well_formed() {
        super::Arguments::command().debug_assert();
    }
}
