//! The subcommands, one file each: its arguments, whose documentation is its help, and what it does.

pub(crate) mod bundle;
mod completions;
mod demo;
mod export;
mod findings;
mod import;
mod mutations;
mod presence;
mod serve;
pub(crate) mod session;
mod sessions;
mod tokens;
mod verify;

use crate::failure::Failure;

/// The subcommands.
#[derive(clap::Subcommand)]
pub(crate) enum Command {
    /// Record and show: the HTTP API and the viewer on one port
    Serve(serve::ServeArgs),
    /// Record a sample run through the HTTP API, then serve the viewer on it
    Demo(demo::DemoArgs),
    /// Take in runs that other programs recorded
    Import(import::ImportArgs),
    /// List the sessions of a ledger
    Sessions(sessions::SessionsArgs),
    /// Whether each constraint was in context when each action was sent
    Presence(presence::PresenceArgs),
    /// How a session's context changed other than by growing
    Mutations(mutations::MutationsArgs),
    /// What the auditor noticed in a session
    Findings(findings::FindingsArgs),
    /// Write one session, with its proofs, into one file that anybody can verify
    Bundle(bundle::BundleArgs),
    /// Verify a bundle, or a whole ledger
    Verify(verify::VerifyArgs),
    /// Write all sessions and their analysis as Parquet tables
    Export(export::ExportArgs),
    /// Make, list and revoke the keys that clients present
    Tokens(tokens::TokensArgs),
    /// Print a completion script for a shell
    Completions(completions::CompletionsArgs),
}

impl Command {
    /// Runs the subcommand.
    pub(crate) async fn run(self) -> Result<(), Failure> {
        match self {
            Self::Serve(args) => serve::run(args).await,
            Self::Demo(args) => demo::run(args).await,
            Self::Import(args) => import::run(args).await,
            Self::Sessions(args) => sessions::run(args).await,
            Self::Presence(args) => presence::run(args).await,
            Self::Mutations(args) => mutations::run(args).await,
            Self::Findings(args) => findings::run(args).await,
            Self::Bundle(args) => bundle::run(args).await,
            Self::Verify(args) => verify::run(args).await,
            Self::Export(args) => export::run(args).await,
            Self::Tokens(args) => tokens::run(args).await,
            Self::Completions(args) => completions::run(&args),
        }
    }
}
