//! The subcommands, one file each: its arguments, whose documentation is its help, and what it does.

mod backup;
mod bench;
pub(crate) mod bundle;
mod completions;
mod config;
mod demo;
mod doctor;
mod export;
mod findings;
mod gc;
mod hook;
mod import;
mod migrate;
mod mission;
mod mutations;
mod presence;
mod proxy;
mod restore;
mod scan;
mod serve;
pub(crate) mod session;
mod sessions;
mod tokens;
mod verify;
mod view;
mod witness;
mod workspaces;

use crate::config::GlobalArgs;
use crate::failure::Failure;

/// The subcommands.
#[derive(clap::Subcommand)]
pub(crate) enum Command {
    /// Record and show: the HTTP API and the viewer on one port
    Serve(serve::ServeArgs),
    /// Open the viewer on a ledger: serves it on this machine and prints an address that logs in once
    View(view::ViewArgs),
    /// Record a sample run through the HTTP API, then serve the viewer on it
    Demo(demo::DemoArgs),
    /// Stand between an agent and the API of its model, and record what passes
    Proxy(proxy::ProxyArgs),
    /// Find the histories of Claude Code, Codex and pi, and tell which rules their contexts lost
    Scan(scan::ScanArgs),
    /// Take in runs that other programs recorded
    Import(import::ImportArgs),
    /// Record what coding agents tell their hooks
    Hook(hook::HookArgs),
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
    /// Find blobs that nothing refers to, and remove them if asked to
    Gc(gc::GcArgs),
    /// Make, list and revoke the keys that clients present
    Tokens(tokens::TokensArgs),
    /// Look whether everything is fit for recording, and say what to do where it is not
    Doctor(doctor::DoctorArgs),
    /// Copy the ledgers of a data folder while a server runs, and verify the copy
    Backup(backup::BackupArgs),
    /// Make a data folder from a backup, and verify it
    Restore(restore::RestoreArgs),
    /// Bring a ledger that an older version wrote up to date
    Migrate(migrate::MigrateArgs),
    /// Make and list workspaces, each with a ledger, an origin and keys of its own
    Workspaces(workspaces::WorkspacesArgs),
    /// Sign checkpoints of ledgers elsewhere, each only if it extends all that was signed before
    Witness(witness::WitnessArgs),
    /// Measure the auditor against labelled truth
    Bench(bench::BenchArgs),
    /// Print the settings that hold, and where each comes from
    Config(config::ConfigArgs),
    /// Print a completion script for a shell
    Completions(completions::CompletionsArgs),
}

impl Command {
    /// Runs the subcommand.
    pub(crate) async fn run(self, globals: &GlobalArgs) -> Result<(), Failure> {
        globals.keep();
        // A server's file may say how it logs.
        if !matches!(self, Self::Serve(_)) {
            globals.start_log()?;
        }
        match self {
            Self::Serve(args) => serve::run(args, globals).await,
            Self::View(args) => view::run(args).await,
            Self::Demo(args) => demo::run(args).await,
            Self::Proxy(args) => proxy::run(args).await,
            Self::Scan(args) => scan::run(args).await,
            Self::Import(args) => import::run(args).await,
            Self::Hook(args) => hook::run(args).await,
            Self::Sessions(args) => sessions::run(args).await,
            Self::Presence(args) => presence::run(args).await,
            Self::Mutations(args) => mutations::run(args).await,
            Self::Findings(args) => findings::run(args).await,
            Self::Bundle(args) => bundle::run(args).await,
            Self::Verify(args) => verify::run(args).await,
            Self::Export(args) => export::run(args).await,
            Self::Gc(args) => gc::run(args).await,
            Self::Tokens(args) => tokens::run(args).await,
            Self::Doctor(args) => doctor::run(args, globals).await,
            Self::Backup(args) => backup::run(args, globals).await,
            Self::Restore(args) => restore::run(args).await,
            Self::Migrate(args) => migrate::run(args, globals).await,
            Self::Workspaces(args) => workspaces::run(args).await,
            Self::Witness(args) => witness::run(args).await,
            Self::Bench(args) => bench::run(&args),
            Self::Config(args) => config::run(&args, globals),
            Self::Completions(args) => completions::run(&args),
        }
    }
}
