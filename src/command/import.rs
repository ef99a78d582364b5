//! `remembrancer import`

pub(crate) mod appending;
mod mission_continuity;
mod transcripts;

use crate::failure::Failure;

/// Arguments of `import`.
// An option in front of the subcommand would be that of the transcripts: refused, because it would be passed over without a word.
#[derive(clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct ImportArgs {
    #[command(subcommand)]
    source: Option<Source>,
    #[command(flatten)]
    transcripts: transcripts::TranscriptArgs,
}

#[derive(clap::Subcommand)]
enum Source {
    /// A replay bundle of the mission-continuity project: a folder with manifest.json, run/ and traces/
    MissionContinuity(mission_continuity::MissionContinuityArgs),
}

pub(crate) async fn run(args: ImportArgs) -> Result<(), Failure> {
    match args.source {
        Some(Source::MissionContinuity(args)) => mission_continuity::run(args).await,
        None => transcripts::run(args.transcripts).await,
    }
}
