//! Run bundles of [mission-continuity](https://github.com/crescerelabs/mission-continuity): agents whose context is compacted
//! by a plain summary or by a governed memory, recorded with every request's hash and a governor's own trace.
//!
//! [`read`] checks a bundle's manifest, rebuilds the context of every request, proves it against the recorded hash where it
//! can, and turns the run into events. `docs/import-mission-continuity.md` has the mapping.

mod claims;
mod compaction;
mod contexts;
mod correctness;
mod declarations;
mod evaluation;
mod events;
mod joins;
mod json;
mod line;
mod manifest;
mod mission;
mod mutation;
mod notices;
mod price;
mod proof;
mod rows;
mod run;

use std::path::{Path, PathBuf};

use remembrancer_schema::hash::sha256;
use remembrancer_schema::payload::ProofOutcome;
use remembrancer_schema::{ContentHash, IdError, SessionId};

use crate::{NewEvent, WriteError};
pub use compaction::{
    CompactionEvaluation, Control, CountedEvaluation, Floor, SummarizerTokens, TriggerEvaluation,
};
use contexts::Contexts;
pub use correctness::{Correctness, SelfReport};
pub use evaluation::{Cost, Evaluation, EvidenceIntegrity, ProhibitedDispatch, RequestEvaluation};
pub use joins::Joins;
use json::Json;
use manifest::CheckedFiles;
pub use manifest::{BUNDLE_BYTES_MAX, Difference, FILE_BYTES_MAX, FILES_MAX};
use mission::Mission;
pub use price::PriceOfRemembering;
pub use proof::ProofCounts;
use proof::{Restorer, prove};
pub use run::REQUESTS_MAX;
use run::Run;

/// A recorded run as events of one session, in the order in which they happened.
#[derive(Debug, Clone, PartialEq)]
pub struct Import {
    /// The session's id, made from the run's label and the SHA-256 of its manifest.
    pub session: SessionId,
    /// The run's own label.
    pub label: String,
    /// The events, from `session.started` to `session.ended`.
    pub events: Vec<NewEvent>,
    /// The blobs that the events introduce, each once; to be stored before the events.
    pub blobs: Vec<(ContentHash, Vec<u8>)>,
    /// How many rebuilt contexts could be proved.
    pub proofs: ProofCounts,
    /// How the run's files refer to one another.
    pub joins: Joins,
    /// What the files hold of the run's outcome, computed from them.
    pub evaluation: Evaluation,
    /// What an auditor should know about this import: every place where the files disagree or fall short.
    pub notices: Vec<String>,
}

/// How a bundle is read.
#[derive(Debug, Clone, Default)]
pub struct ImportOptions {
    /// A JSON document with the values that the bundle withholds, such as the data set that the run's tools read. Its values
    /// are compared with and enter no event. An import that used one is a session of its own.
    pub restore: Option<Vec<u8>>,
}

/// Why a folder could not be imported. Nothing of it was.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// A file or folder cannot be read.
    #[error(
        "cannot read {path:?}: {error}; a bundle's folder holds manifest.json, run/ and traces/"
    )]
    Read {
        /// What was read.
        path: PathBuf,
        /// Why it failed.
        error: std::io::Error,
    },
    /// A link, a device, a name that is not UTF-8, or folders too deep.
    #[error("{path:?} is neither a plain file nor a folder of a bundle; links are not followed")]
    NotAFile {
        /// Where it is.
        path: PathBuf,
    },
    /// A listed path that leads outside.
    #[error("manifest.json lists {path:?}, which does not stay inside the bundle's folder")]
    Path {
        /// The path as listed.
        path: String,
    },
    /// The folder is not what its manifest lists.
    #[error("{dir:?} is not what its manifest.json lists; nothing was imported:{}", listed(.differences))]
    Manifest {
        /// The bundle's folder.
        dir: PathBuf,
        /// Everything that differs.
        differences: Vec<Difference>,
    },
    /// More files than [`FILES_MAX`].
    #[error("the folder holds more than {FILES_MAX} files and folders; is it a bundle?")]
    TooManyFiles,
    /// More requests than [`REQUESTS_MAX`].
    #[error("the run has more than {REQUESTS_MAX} requests")]
    TooManyRequests,
    /// A file larger than [`FILE_BYTES_MAX`].
    #[error("{file:?} has more than {FILE_BYTES_MAX} bytes")]
    FileTooLarge {
        /// Its path in the bundle.
        file: String,
    },
    /// All files together are larger than [`BUNDLE_BYTES_MAX`].
    #[error("the bundle's files have more than {BUNDLE_BYTES_MAX} bytes together")]
    BundleTooLarge,
    /// A file that every run must have is neither listed nor there.
    #[error("the bundle has no {file}; without it the run cannot be read")]
    NoFile {
        /// Its path in the bundle.
        file: String,
    },
    /// A file whose content is not what the format says.
    #[error("{file}, line {line}: {reason}")]
    Malformed {
        /// Its path in the bundle.
        file: String,
        /// The line, from 1; 0 where the whole file is meant.
        line: usize,
        /// What is wrong.
        reason: String,
    },
    /// The document with withheld values is not JSON.
    #[error("the file with the withheld values is not JSON: {reason}")]
    Restore {
        /// What is wrong.
        reason: String,
    },
    /// A row that makes no valid event.
    #[error("from the bundle: {0}")]
    Event(#[from] WriteError),
    /// A name that no id can be made of.
    #[error("no id can be made: {0}")]
    Name(#[from] IdError),
}

fn listed(differences: &[Difference]) -> String {
    let lines = differences
        .iter()
        .map(|difference| format!("\n  {difference}"));
    lines.collect()
}

/// Reads a bundle's folder. The same folder and options always give the same result.
pub fn read(dir: &Path, options: &ImportOptions) -> Result<Import, ImportError> {
    let files = CheckedFiles::read(dir)?;
    let run = Run::read(&files)?;
    let restore = options.restore.as_deref().map(restorer).transpose()?;
    let session = session_id(&files, options)?;
    let contexts = Contexts::rebuild(&run);
    let joins = Joins::count(&run);
    let evaluation = Evaluation::compute(&run, &contexts, &joins);
    let mut notices = contexts.notices.clone();
    let mut proofs = ProofCounts::default();
    let mut outcomes = std::collections::BTreeMap::new();
    for (&step, request) in &run.requests {
        let Some(lines) = contexts.by_step.get(&step) else {
            proofs.not_rebuilt += 1;
            continue;
        };
        let outcome = prove(lines, &request.context_sha256, restore.as_ref());
        proofs.add(outcome);
        outcomes.insert(step, outcome);
        if outcome == ProofOutcome::Mismatch {
            notices.push(format!(
                "request {step}: nothing is withheld, and the rebuilt context has not the recorded hash"
            ));
        }
        let instructions = lines
            .first()
            .map(|line| hex::encode(sha256(line.words().as_bytes())));
        if instructions.as_deref() != Some(&request.instructions_sha256) {
            notices.push(format!(
                "request {step}: the instructions have not the recorded hash"
            ));
        }
    }
    if files.manifest.label != run.settings.label {
        notices.push(format!(
            "manifest.json has the label {:?}, run/run.json {:?}",
            files.manifest.label, run.settings.label
        ));
    }
    notices.extend(joins.notices());
    notices.extend(notices::disagreements(&run, &evaluation));
    let mission = mission(&run);
    notices.extend(notices::on_mission(&run, mission.as_ref()));
    let source = events::Source {
        files: &files,
        run: &run,
        contexts: &contexts,
        outcomes: &outcomes,
        mission: mission.as_ref(),
        joins: &joins,
        evaluation: &evaluation,
    };
    let written = events::write(&source, session.clone())?;
    Ok(Import {
        session,
        label: run.settings.label.clone(),
        events: written.events,
        blobs: written.blobs.into_iter().collect(),
        proofs,
        joins,
        evaluation,
        notices,
    })
}

fn restorer(bytes: &[u8]) -> Result<Restorer, ImportError> {
    let failed = |reason: String| ImportError::Restore { reason };
    let text = std::str::from_utf8(bytes).map_err(|error| failed(error.to_string()))?;
    let document = Json::parse(text).map_err(|error| failed(error.to_string()))?;
    Ok(Restorer::new(&document))
}

/// The run's label and the first digits of its manifest's hash; with restored values also those of the document that held
/// them, because the proofs then say more.
fn session_id(files: &CheckedFiles, options: &ImportOptions) -> Result<SessionId, ImportError> {
    let is_allowed = |character: char| {
        character.is_ascii_alphanumeric() || matches!(character, '.' | '_' | ':' | '-' | '@')
    };
    let label: String = files
        .manifest
        .label
        .chars()
        .take(64)
        .map(|character| {
            if is_allowed(character) {
                character
            } else {
                '-'
            }
        })
        .collect();
    let mut id = format!("mc-{label}-{}", &files.manifest_sha256[..12]);
    if let Some(document) = &options.restore {
        id.push_str("-r");
        id.push_str(&hex::encode(sha256(document))[..8]);
    }
    Ok(id.parse()?)
}

/// The mission as the first message of the first archive states it.
fn mission(run: &Run) -> Option<Mission> {
    let first = run.compactions.first()?;
    let message = run.archives.get(&first.compaction_id)?.first()?;
    let part = message
        .parts
        .iter()
        .find(|part| part.part_kind == "user-prompt")?;
    Mission::parse(part.content.as_ref()?.as_str()?)
}

#[cfg(test)]
mod tests;
