//! What a witness keeps when a ledger shows it what cannot stand beside what it signed: both notes, as they came. Each is signed by
//! the ledger, so that anybody can check them.

use std::fs;
use std::path::{Path, PathBuf};

use remembrancer_schema::{ContentHash, Origin};

use super::memory::{file_name, make_folder, read, write_durably};
use crate::failure::Failure;

/// Most files of one kind that are kept: whoever has a ledger's key can make any number of forks, and who has many of its
/// checkpoints can present each without a proof.
const FILES_MAX: usize = 500;

/// What a refused checkpoint may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Suspicion {
    /// Two roots of one size: the ledger signed two histories. The two notes prove it by themselves.
    Fork,
    /// Larger than the last one, and not shown to extend it.
    NotExtended,
    /// Smaller than the last one: a ledger that went back, or somebody who presents an old checkpoint.
    Older,
}

impl Suspicion {
    fn name(self) -> &'static str {
        match self {
            Self::Fork => "fork",
            Self::NotExtended => "not-extended",
            Self::Older => "older",
        }
    }

    fn words(self) -> &'static str {
        match self {
            Self::Fork => {
                "two checkpoints of one size with different roots: the ledger signed two histories"
            }
            Self::NotExtended => {
                "a larger checkpoint that is not shown to extend the one that was signed here"
            }
            Self::Older => {
                "a smaller checkpoint than the one that was signed here: a ledger that went back, or an old checkpoint presented again"
            }
        }
    }
}

/// The folder of the evidence.
pub(crate) struct Evidence(PathBuf);

impl Evidence {
    pub(super) fn open(folder: &Path) -> Result<Self, Failure> {
        let folder = folder.join("evidence");
        make_folder(&folder)?;
        Ok(Self(folder))
    }

    /// Keeps both notes, and says so in the log. The same two are kept once; of older checkpoints the last one, since anybody
    /// may present any number of them.
    pub(super) fn keep(&self, suspicion: Suspicion, origin: &Origin, seen: &str, shown: &str) {
        let ledger = file_name(origin);
        let kind = suspicion.name();
        let name = if suspicion == Suspicion::Older {
            format!("{ledger}-{kind}.txt")
        } else {
            let both = ContentHash::of(format!("{seen}{shown}").as_bytes()).to_string();
            format!("{ledger}-{kind}-{}.txt", &both[..16])
        };
        let path = self.0.join(name);
        let text = format!(
            "{}\nledger {origin}\n\n--- signed here\n{seen}--- refused\n{shown}",
            suspicion.words()
        );
        let marked = format!("-{kind}");
        let is_full = !path.exists()
            && self.files().is_ok_and(|files| {
                let of_kind = |file: &&PathBuf| file.to_string_lossy().contains(&marked);
                files.iter().filter(of_kind).count() >= FILES_MAX
            });
        let kept = if is_full {
            Err(std::io::Error::other(format!(
                "there are {FILES_MAX} files"
            )))
        } else {
            write_durably(&path, &text)
        };
        let what = suspicion.words();
        match kept {
            Ok(()) => tracing::error!(%origin, evidence = %path.display(), "{what}"),
            // Refused it is all the same.
            Err(error) => {
                tracing::error!(%origin, %error, path = %path.display(), "{what}; the evidence cannot be kept");
            }
        }
    }

    /// All that is kept, in the order of names.
    pub(crate) fn files(&self) -> Result<Vec<PathBuf>, Failure> {
        let mut files = Vec::new();
        for file in fs::read_dir(&self.0)? {
            let path = file?.path();
            if path.extension().is_some_and(|extension| extension == "txt") {
                files.push(path);
            }
        }
        files.sort();
        Ok(files)
    }

    /// What is kept below a witness's folder, each with its text; nothing if there was never a witness.
    pub(crate) fn kept(folder: &Path) -> Result<Vec<(PathBuf, String)>, Failure> {
        let evidence = Self(folder.join("evidence"));
        if !evidence.0.is_dir() {
            return Ok(Vec::new());
        }
        let mut all = Vec::new();
        for path in evidence.files()? {
            if let Some(text) = read(&path)? {
                all.push((path, text));
            }
        }
        Ok(all)
    }
}
