//! `remembrancer bundle`

use std::io::Write as _;
use std::path::{Path, PathBuf};

use remembrancer_recorder::{Reader, load_key};
use remembrancer_replay::SessionRecord;
use remembrancer_replay::bundle::{
    self, BundleInput, ConsistencyProof, InclusionProof, Proofs, ReportFacts,
};
use remembrancer_schema::checkpoint::Checkpoint;

use super::session::{AnalysedSession, DataArg, read};
use crate::failure::Failure;
use crate::terminal;

/// Arguments of `bundle`.
#[derive(clap::Args)]
pub(crate) struct BundleArgs {
    /// The session's id, or its label if only one session has it
    session: String,
    #[command(flatten)]
    data: DataArg,
    /// File to write; its extension is .rmb by convention
    #[arg(long)]
    out: PathBuf,
}

pub(crate) async fn run(args: BundleArgs) -> Result<(), Failure> {
    let read = read(args.data.reader().await?, &args.session).await?;
    let (session, entries, sealed) = (
        read.summary.id.clone(),
        read.record.events.len(),
        read.summary.sealed,
    );
    let folder = read.reader.data_dir().to_owned();
    let bytes = bundle_bytes(read, &folder).await?;
    write_whole(&args.out, &bytes)?;
    let out = args.out.display();
    let open = if sealed {
        ""
    } else {
        "; the session is not sealed, so it may go on"
    };
    terminal::say(&format!(
        "{entries} entries of session {session} are in {out} ({} bytes){open}\ncheck it:  remembrancer verify {out} --key {}",
        bytes.len(),
        folder.join("ledger.pub.pem").display()
    ));
    Ok(())
}

/// The bundle of a session, against the ledger's newest checkpoint.
pub(crate) async fn bundle_bytes(read: AnalysedSession, data: &Path) -> Result<Vec<u8>, Failure> {
    let key = load_key(data)?;
    let (checkpoint, proofs) = proofs(&read.reader, &read.record).await?;
    let bytes = tokio::task::spawn_blocking(move || {
        let head = read
            .record
            .head()
            .map_or_else(String::new, |hash| hash.to_string());
        let report = remembrancer_web::render_report(
            &read.analysis,
            &ReportFacts {
                origin: read.reader.origin().as_str(),
                fingerprint: &key.public().fingerprint(),
                checkpoint: &checkpoint,
                head: &head,
            },
        )?;
        let bytes = bundle::write(&BundleInput {
            record: &read.record,
            analysis: &read.analysis,
            checkpoint: &checkpoint,
            proofs: &proofs,
            report: &report,
            key: &key,
        })?;
        // What is signed here will be believed elsewhere, so it is looked at first as an outsider would.
        let verification =
            bundle::verify(&bytes, Some(&key.public()), Some(&super::verify::report))?;
        match verification.faults.first() {
            Some(fault) => Err(Failure::new(format!(
                "the record does not verify, so no bundle of it is signed: {fault}"
            ))
            .hint("`remembrancer verify --data DIR` names every fault of the ledger")),
            None => Ok(bytes),
        }
    });
    bytes.await?
}

/// A checkpoint; that every entry of the session is in it; and that it extends the first one that held them all.
async fn proofs(reader: &Reader, record: &SessionRecord) -> Result<(String, Proofs), Failure> {
    let held_from = record
        .events
        .last()
        .map_or(0, |event| event.entry.index + 1);
    let checkpoint = checkpoint_holding(reader, held_from).await?;
    let size = Checkpoint::parse_unverified(&checkpoint)?.size;
    let mut inclusion = Vec::with_capacity(record.events.len());
    for event in &record.events {
        let index = event.entry.index;
        inclusion.push(InclusionProof {
            index,
            path: reader.inclusion_proof(index, size).await?,
        });
    }
    let consistency = match reader.first_checkpoint_holding(held_from).await? {
        // Behind the same note there may be signatures of witnesses.
        Some(earlier) if !checkpoint.starts_with(&earlier) => {
            let earlier_size = Checkpoint::parse_unverified(&earlier)?.size;
            let path = reader.consistency_proof(earlier_size, size).await?;
            Some(ConsistencyProof {
                checkpoint: earlier,
                path,
            })
        }
        _ => None,
    };
    Ok((
        checkpoint,
        Proofs {
            size,
            inclusion,
            consistency,
        },
    ))
}

/// The newest checkpoint that witnesses signed, if it holds as many entries, since it says more to an outsider; else the
/// newest one.
async fn checkpoint_holding(reader: &Reader, entries: u64) -> Result<String, Failure> {
    if let Some(cosigned) = reader.cosigned_checkpoint().await?
        && Checkpoint::parse_unverified(&cosigned)?.size >= entries
    {
        return Ok(cosigned);
    }
    let newest = reader.checkpoint().await?;
    newest.ok_or_else(|| Failure::new("the ledger has no checkpoint yet"))
}

/// Writes a file whole or not at all. A link is followed; what is neither absent nor a regular file is left alone.
fn write_whole(path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    let path = &path.canonicalize().unwrap_or_else(|_| path.to_owned());
    if std::fs::metadata(path).is_ok_and(|existing| !existing.is_file()) {
        return Err(Failure::new(format!(
            "{} is not a regular file",
            path.display()
        )));
    }
    let folder = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty())
        .unwrap_or(Path::new("."));
    let cannot =
        |error: std::io::Error| Failure::new(format!("cannot write {}: {error}", path.display()));
    let mut builder = tempfile::Builder::new();
    // A bundle is made to be handed on: the usual rights of a new file, not a temporary file's.
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    let mut file = builder.tempfile_in(folder).map_err(cannot)?;
    file.write_all(bytes)
        .and_then(|()| file.as_file().sync_all())
        .map_err(cannot)?;
    file.persist(path).map_err(|error| cannot(error.error))?;
    Ok(())
}
