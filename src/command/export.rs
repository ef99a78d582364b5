//! `remembrancer export`

use std::path::PathBuf;

use remembrancer_exports::Exporter;

use super::session::DataArg;
use super::sessions::all;
use crate::failure::Failure;
use crate::terminal::{self, Format};

/// Arguments of `export`.
#[derive(clap::Args)]
pub(crate) struct ExportArgs {
    #[command(flatten)]
    data: DataArg,
    /// Folder to write the tables to: absent, empty, or of an earlier export
    #[arg(long)]
    out: PathBuf,
    /// Form of the output
    #[arg(long, value_enum, default_value = "text")]
    format: Format,
}

pub(crate) async fn run(args: ExportArgs) -> Result<(), Failure> {
    let reader = args.data.reader().await?;
    let checkpoint = reader.checkpoint().await?;
    let mut sessions = all(&reader).await?;
    sessions.reverse();
    let mut exporter = Exporter::create(&args.out, reader.origin())?;
    let bar = terminal::progress(sessions.len() as u64, "exporting");
    for session in &sessions {
        let record = reader.session_record(&session.id).await?;
        exporter = tokio::task::spawn_blocking(move || {
            let analysis = remembrancer_replay::analyse(&record);
            exporter.add(&record, &analysis).map(|()| exporter)
        })
        .await??;
        bar.inc(1);
    }
    bar.finish_and_clear();
    let manifest =
        tokio::task::spawn_blocking(move || exporter.finish(checkpoint.as_deref())).await??;
    match args.format {
        Format::Json => terminal::print(&manifest.to_json()),
        Format::Text => {
            let rows: Vec<Vec<String>> = manifest
                .tables
                .iter()
                .map(|table| {
                    vec![
                        table.file.clone(),
                        table.rows.to_string(),
                        table.bytes.to_string(),
                    ]
                })
                .collect();
            terminal::print(&terminal::table(&["file", "rows", "bytes"], &rows))
        }
    }
}
