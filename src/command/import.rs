//! `remembrancer import`

pub(crate) mod appending;
mod mission_continuity;
mod transcripts;

use crate::failure::Failure;

/// Arguments of `import`.
#[derive(clap::Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub(crate) struct ImportArgs {
    #[command(subcommand)]
    source: Option<Source>,
    #[command(flatten)]
    transcripts: Option<transcripts::TranscriptArgs>,
}

#[derive(clap::Subcommand)]
enum Source {
    /// A replay bundle of the mission-continuity project: a folder with manifest.json, run/ and traces/
    MissionContinuity(mission_continuity::MissionContinuityArgs),
}

pub(crate) async fn run(args: ImportArgs) -> Result<(), Failure> {
    match (args.source, args.transcripts) {
        (Some(Source::MissionContinuity(args)), _) => mission_continuity::run(args).await,
        (None, Some(args)) => transcripts::run(args).await,
        (None, None) => Err(Failure::new("no file is named")
            .hint("name a transcript, or a folder with transcripts: remembrancer import FILE")),
    }
}
