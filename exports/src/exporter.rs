//! Writing an export: one session at a time, every table beside the others, nothing visible under its name before all is done.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use parquet::errors::ParquetError;
use remembrancer_replay::{Analysis, SessionRecord};
use remembrancer_schema::Origin;

use crate::manifest::{FORMAT_NAME, FORMAT_VERSION, MANIFEST_FILE, Manifest, TableFile};
use crate::parquet_file::{ParquetFile, file_name, partial_name};
use crate::table::{
    Actions, ContextParts, Entries, Findings, Mutations, PresenceTable, SessionTable, Sessions,
    Turns, describe_tables,
};

/// The manifest's name while it is written.
const MANIFEST_PARTIAL: &str = ".manifest.json.partial";

/// Why an export failed.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    /// A file or folder cannot be read or written.
    #[error("{path}: {source}", path = path.display())]
    Io {
        /// Which.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A table cannot be encoded.
    #[error("{path}: {source}", path = path.display())]
    Parquet {
        /// The file being written.
        path: PathBuf,
        /// Why.
        source: ParquetError,
    },
    /// The folder holds something that no export wrote.
    #[error(
        "{folder} holds {found:?}, which is not part of an export: name an empty or a new folder",
        folder = folder.display()
    )]
    ForeignFolder {
        /// The folder.
        folder: PathBuf,
        /// The first foreign name in it.
        found: String,
    },
    /// A session was given twice.
    #[error("session {0} was already exported: give every session once")]
    Repeated(String),
    /// An entry of another ledger.
    #[error(
        "session {session} has an entry of the ledger {found}; this is an export of {expected}"
    )]
    OtherLedger {
        /// The session.
        session: String,
        /// The entry's ledger.
        found: String,
        /// The export's ledger.
        expected: String,
    },
    /// Record and analysis do not belong together.
    #[error("the analysis of session {session} does not fit its record: {reason}; analyse it anew")]
    Inconsistent {
        /// The session.
        session: String,
        /// What does not fit.
        reason: String,
    },
}

impl ExportError {
    pub(crate) fn io(path: &Path, source: io::Error) -> Self {
        Self::Io {
            path: path.to_owned(),
            source,
        }
    }

    pub(crate) fn parquet(path: &Path, source: ParquetError) -> Self {
        Self::Parquet {
            path: path.to_owned(),
            source,
        }
    }
}

/// Writes the tables of a ledger's sessions into a folder. Memory is bounded by one session and one row group per table.
///
/// Sessions in the same order give the same bytes. Dropped before [`Exporter::finish`], it removes its temporary files, and
/// an earlier export in the folder stays as it was.
pub struct Exporter {
    folder: PathBuf,
    origin: Origin,
    added: BTreeSet<String>,
    files: Option<Files>,
    /// Set once files get their names: from then on what was written stays, so that the next export can tell whose it is.
    publishing: bool,
}

impl Exporter {
    /// Starts an export of the ledger `origin` into `folder`, which is created if needed. A folder with an earlier export is
    /// overwritten at the end; one with anything else in it is refused.
    pub fn create(folder: &Path, origin: &Origin) -> Result<Self, ExportError> {
        fs::create_dir_all(folder).map_err(|error| ExportError::io(folder, error))?;
        refuse_foreign(folder)?;
        Ok(Self {
            folder: folder.to_owned(),
            origin: origin.clone(),
            added: BTreeSet::new(),
            files: Some(Files::create(folder)?),
            publishing: false,
        })
    }

    /// Adds one session with its analysis. After an error, the export cannot be finished.
    pub fn add(&mut self, record: &SessionRecord, analysis: &Analysis) -> Result<(), ExportError> {
        self.check(record, analysis)?;
        // Taken out while it is written to: after an error no half-written session can be finished.
        let Some(mut files) = self.files.take() else {
            return Err(self.broken());
        };
        files.add(record, analysis)?;
        self.files = Some(files);
        self.added.insert(record.session.to_string());
        Ok(())
    }

    /// Completes the files, gives them their names and writes the manifest last. `checkpoint` is the ledger's signed note.
    pub fn finish(mut self, checkpoint: Option<&str>) -> Result<Manifest, ExportError> {
        let Some(files) = self.files.take() else {
            return Err(self.broken());
        };
        let manifest = Manifest {
            format: FORMAT_NAME,
            version: FORMAT_VERSION,
            origin: self.origin.to_string(),
            checkpoint: checkpoint.map(str::to_owned),
            tables: files.finish()?,
        };
        self.publish(&manifest)?;
        Ok(manifest)
    }

    /// Gives the files their names. A crash before the old manifest is removed leaves the earlier export whole. After that
    /// the folder has no manifest, so it claims nothing, and the new manifest's temporary file says whose the tables are.
    fn publish(&mut self, manifest: &Manifest) -> Result<(), ExportError> {
        let partial = self.folder.join(MANIFEST_PARTIAL);
        let path = self.folder.join(MANIFEST_FILE);
        let io = |error| ExportError::io(&partial, error);
        let mut file = File::create(&partial).map_err(io)?;
        file.write_all(manifest.to_json().as_bytes()).map_err(io)?;
        file.sync_all().map_err(io)?;
        sync_folder(&self.folder)?;
        self.publishing = true;
        match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(ExportError::io(&path, error));
            }
            _ => sync_folder(&self.folder)?,
        }
        for table in &manifest.tables {
            let from = self.folder.join(partial_name(table.name));
            fs::rename(&from, self.folder.join(&table.file))
                .map_err(|error| ExportError::io(&from, error))?;
        }
        sync_folder(&self.folder)?;
        fs::rename(&partial, &path).map_err(io)?;
        sync_folder(&self.folder)
    }

    fn check(&self, record: &SessionRecord, analysis: &Analysis) -> Result<(), ExportError> {
        let session = record.session.to_string();
        if self.added.contains(&session) {
            return Err(ExportError::Repeated(session));
        }
        if let Some(event) = record
            .events
            .iter()
            .find(|event| event.entry.origin != self.origin)
        {
            return Err(ExportError::OtherLedger {
                session,
                found: event.entry.origin.to_string(),
                expected: self.origin.to_string(),
            });
        }
        let reason = if analysis.overview.session != session {
            format!("it is of session {}", analysis.overview.session)
        } else if analysis.overview.entries != record.events.len() as u64 {
            format!(
                "it is of {} entries, the record has {}",
                analysis.overview.entries,
                record.events.len()
            )
        } else {
            return Ok(());
        };
        Err(ExportError::Inconsistent { session, reason })
    }

    fn broken(&self) -> ExportError {
        ExportError::io(
            &self.folder,
            io::Error::other("an earlier session could not be written"),
        )
    }
}

impl Drop for Exporter {
    fn drop(&mut self) {
        if self.publishing {
            return;
        }
        // Best effort: a temporary file that stays is overwritten by the next export into the folder.
        for name in temporary_names() {
            fs::remove_file(self.folder.join(name)).ok();
        }
    }
}

struct Files {
    sessions: ParquetFile<Sessions>,
    turns: ParquetFile<Turns>,
    context_parts: ParquetFile<ContextParts>,
    mutations: ParquetFile<Mutations>,
    actions: ParquetFile<Actions>,
    presence: ParquetFile<PresenceTable>,
    findings: ParquetFile<Findings>,
    entries: ParquetFile<Entries>,
}

impl Files {
    fn create(folder: &Path) -> Result<Self, ExportError> {
        Ok(Self {
            sessions: ParquetFile::create(folder)?,
            turns: ParquetFile::create(folder)?,
            context_parts: ParquetFile::create(folder)?,
            mutations: ParquetFile::create(folder)?,
            actions: ParquetFile::create(folder)?,
            presence: ParquetFile::create(folder)?,
            findings: ParquetFile::create(folder)?,
            entries: ParquetFile::create(folder)?,
        })
    }

    fn add(&mut self, record: &SessionRecord, analysis: &Analysis) -> Result<(), ExportError> {
        Sessions::write(&mut self.sessions, record, analysis)?;
        Turns::write(&mut self.turns, record, analysis)?;
        ContextParts::write(&mut self.context_parts, record, analysis)?;
        Mutations::write(&mut self.mutations, record, analysis)?;
        Actions::write(&mut self.actions, record, analysis)?;
        PresenceTable::write(&mut self.presence, record, analysis)?;
        Findings::write(&mut self.findings, record, analysis)?;
        Entries::write(&mut self.entries, record, analysis)
    }

    fn finish(self) -> Result<Vec<TableFile>, ExportError> {
        Ok(vec![
            self.sessions.finish()?,
            self.turns.finish()?,
            self.context_parts.finish()?,
            self.mutations.finish()?,
            self.actions.finish()?,
            self.presence.finish()?,
            self.findings.finish()?,
            self.entries.finish()?,
        ])
    }
}

fn temporary_names() -> impl Iterator<Item = String> {
    describe_tables()
        .into_iter()
        .map(|table| partial_name(table.name))
        .chain([MANIFEST_PARTIAL.to_owned()])
}

/// An earlier export may be overwritten, finished or not; anything else is somebody's and stays.
fn refuse_foreign(folder: &Path) -> Result<(), ExportError> {
    let io = |error| ExportError::io(folder, error);
    let mut names = BTreeSet::new();
    for entry in fs::read_dir(folder).map_err(io)? {
        names.insert(
            entry
                .map_err(io)?
                .file_name()
                .to_string_lossy()
                .into_owned(),
        );
    }
    let interrupted = names.contains(MANIFEST_PARTIAL);
    let temporary: BTreeSet<String> = temporary_names().collect();
    names.retain(|name| !temporary.contains(name));
    let ours: BTreeSet<String> = describe_tables()
        .into_iter()
        .map(|table| file_name(table.name))
        .chain([MANIFEST_FILE.to_owned()])
        .collect();
    let foreign = match names.iter().find(|name| !ours.contains(*name)) {
        Some(foreign) => Some(foreign.as_str()),
        None if names.contains(MANIFEST_FILE) => (!is_export(folder)?).then_some(MANIFEST_FILE),
        // Tables without a manifest are an interrupted export's, or a stranger's with the same names.
        None if interrupted => None,
        None => names.first().map(String::as_str),
    };
    let Some(found) = foreign else {
        return Ok(());
    };
    Err(ExportError::ForeignFolder {
        folder: folder.to_owned(),
        found: found.to_owned(),
    })
}

/// Whether the manifest in `folder` is one of an export.
fn is_export(folder: &Path) -> Result<bool, ExportError> {
    #[derive(serde::Deserialize)]
    struct Format {
        format: String,
    }
    let path = folder.join(MANIFEST_FILE);
    let text = fs::read(&path).map_err(|error| ExportError::io(&path, error))?;
    Ok(serde_json::from_slice::<Format>(&text).is_ok_and(|found| found.format == FORMAT_NAME))
}

/// Makes renames in a folder durable.
fn sync_folder(folder: &Path) -> Result<(), ExportError> {
    File::open(folder)
        .and_then(|file| file.sync_all())
        .map_err(|error| ExportError::io(folder, error))
}

#[cfg(test)]
mod tests;
