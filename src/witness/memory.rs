//! What a witness remembers: its key, its name, and the last checkpoint of each ledger, each in a file that is replaced whole
//! and on the disk before anything is signed.

use std::fs::{self, File};
use std::io::{ErrorKind, Read as _, Write as _};
use std::path::{Path, PathBuf};

use remembrancer_capture::private;
use remembrancer_schema::checkpoint::Checkpoint;
use remembrancer_schema::limits::NOTE_BYTES_MAX;
use remembrancer_schema::signing::LedgerKey;
use remembrancer_schema::verifier_key::VerifierKey;
use remembrancer_schema::{ContentHash, Origin, TreeHash};

use crate::failure::Failure;

/// More than two notes and a few words have.
const FILE_BYTES_MAX: u64 = 4 * NOTE_BYTES_MAX as u64;
const KEY_FILE: &str = "witness-key.pem";
const NAME_FILE: &str = "witness-name.txt";
const LOCK_FILE: &str = "witness.lock";

/// The last checkpoint of one ledger.
pub(super) struct Memory {
    path: PathBuf,
    last: Option<(Checkpoint, String)>,
}

impl Memory {
    /// Reads it. A file that is not a checkpoint of that ledger is an error: nothing is forgotten by mistake.
    pub(super) fn open(folder: &Path, ledger: &VerifierKey) -> Result<Self, Failure> {
        let path = folder.join(format!("{}.checkpoint", file_name(&ledger.name)));
        let last = match read(&path)? {
            None => None,
            Some(note) => {
                let checkpoint = Checkpoint::verify(&note, &ledger.key)
                    .ok()
                    .filter(|checkpoint| checkpoint.origin == ledger.name)
                    .ok_or_else(|| {
                        Failure::new(format!(
                            "{} is not a checkpoint of {} signed with the key that --ledger gives",
                            path.display(),
                            ledger.name
                        ))
                        .hint("compare the key with the ledger's operator; the file is the evidence of what was signed, so keep it")
                    })?;
                Some((checkpoint, note))
            }
        };
        Ok(Self { path, last })
    }

    /// Size and root.
    pub(super) fn last(&self) -> Option<(u64, TreeHash)> {
        self.last
            .as_ref()
            .map(|(checkpoint, _)| (checkpoint.size, checkpoint.root))
    }

    /// The signed note.
    pub(super) fn note(&self) -> Option<&str> {
        self.last.as_ref().map(|(_, note)| note.as_str())
    }

    /// Puts a checkpoint in the place of the last one. It is on the disk when this returns.
    pub(super) fn replace(&mut self, note: &str, checkpoint: &Checkpoint) -> std::io::Result<()> {
        write_durably(&self.path, note)?;
        self.last = Some((checkpoint.clone(), note.to_owned()));
        Ok(())
    }
}

/// A name for files about a ledger: its origin may hold what no file name does.
pub(super) fn file_name(origin: &Origin) -> String {
    ContentHash::of(origin.as_str().as_bytes()).to_string()[..32].to_owned()
}

/// Makes the folder, for its owner alone.
pub(super) fn make_folder(folder: &Path) -> Result<(), Failure> {
    private::make_folder(folder)
        .map_err(|error| Failure::new(format!("cannot make {}: {error}", folder.display())))
}

/// Takes the folder for this process. The lock is held until the file is dropped.
pub(crate) fn lock(folder: &Path) -> Result<File, Failure> {
    make_folder(folder)?;
    let path = folder.join(LOCK_FILE);
    let file = private_file(&path, false)
        .map_err(|error| Failure::new(format!("cannot open {}: {error}", path.display())))?;
    file.try_lock().map_err(|error| {
        Failure::new(format!("cannot lock {}: {error}", path.display())).hint(
            "two witnesses on one folder would sign what each other did not see: end the other one",
        )
    })?;
    Ok(file)
}

/// The witness's private key, made at first.
pub(super) fn key(folder: &Path) -> Result<LedgerKey, Failure> {
    let path = folder.join(KEY_FILE);
    if let Some(pem) = read(&path)? {
        return LedgerKey::from_pem(&pem)
            .map_err(|error| Failure::new(format!("{}: {error}", path.display())));
    }
    // A witness that lost its key is another witness: whoever trusts it has to be told.
    let has_signed = fs::read_dir(folder)
        .into_iter()
        .flatten()
        .filter_map(Result::ok)
        .any(|file| file.file_name().to_string_lossy().ends_with(".checkpoint"));
    if has_signed {
        return Err(Failure::new(format!(
            "{} is missing, and this folder holds checkpoints that were signed with it",
            path.display()
        ))
        .hint("bring the key back, or begin anew in another folder"));
    }
    let mut seed = [0; 32];
    getrandom::fill(&mut seed)
        .map_err(|error| Failure::new(format!("no randomness for a key: {error}")))?;
    let key = LedgerKey::from_seed(&seed);
    let pem = key.to_pem()?;
    write_durably(&path, &pem)
        .map_err(|error| Failure::new(format!("cannot write {}: {error}", path.display())))?;
    Ok(key)
}

/// Keeps the witness's name, and refuses another one: those who trust it know it by both.
pub(super) fn keep_name(folder: &Path, name: &Origin) -> Result<(), Failure> {
    let path = folder.join(NAME_FILE);
    match read(&path)? {
        Some(kept) if kept.trim() == name.as_str() => Ok(()),
        Some(kept) => Err(Failure::new(format!(
            "this witness is called {}, and --name says {name}",
            kept.trim()
        ))
        .hint("leave --name away, or begin anew in another folder")),
        None => write_durably(&path, &format!("{name}\n"))
            .map_err(|error| Failure::new(format!("cannot write {}: {error}", path.display()))),
    }
}

/// The name that a folder's witness has, if it has one.
pub(super) fn kept_name(folder: &Path) -> Result<Option<Origin>, Failure> {
    let path = folder.join(NAME_FILE);
    let kept = read(&path)?;
    kept.map(|kept| {
        let name = kept.trim().parse();
        name.map_err(|error| Failure::new(format!("{}: {error}", path.display())))
    })
    .transpose()
}

/// A small text file; `None` if there is none.
pub(super) fn read(path: &Path) -> Result<Option<String>, Failure> {
    let mut text = String::new();
    let read =
        File::open(path).and_then(|file| file.take(FILE_BYTES_MAX).read_to_string(&mut text));
    match read {
        Ok(_) => Ok(Some(text)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(Failure::new(format!(
            "cannot read {}: {error}",
            path.display()
        ))),
    }
}

/// Replaces a file whole; file and name are on the disk when this returns.
pub(super) fn write_durably(path: &Path, text: &str) -> std::io::Result<()> {
    let draft = path.with_added_extension("new");
    let mut file = private_file(&draft, true)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()?;
    fs::rename(&draft, path)?;
    match path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty())
    {
        Some(folder) => File::open(folder)?.sync_all(),
        None => File::open(".")?.sync_all(),
    }
}

fn private_file(path: &Path, truncate: bool) -> std::io::Result<File> {
    let mut options = private::options();
    options
        .read(true)
        .write(true)
        .create(true)
        .truncate(truncate);
    private::open(&options, path)
}
