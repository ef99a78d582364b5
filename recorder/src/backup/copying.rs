//! Files copied so that they are on the disk, readable by their owner alone.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::ErrorKind;
use std::path::Path;

use super::manifest::files_below;
use crate::data_dir::{DataDir, failed, private_file};
use crate::error::LedgerError;

/// Makes a folder for its owner alone, or takes one that is empty.
pub(super) fn empty_folder(folder: &Path) -> Result<(), LedgerError> {
    match fs::read_dir(folder) {
        Ok(mut entries) => match entries.next() {
            None => Ok(()),
            Some(_) => Err(LedgerError::NotEmpty(folder.to_owned())),
        },
        Err(error) if error.kind() == ErrorKind::NotFound => DataDir::new(folder).create(),
        Err(error) => Err(failed("cannot list", folder)(error)),
    }
}

/// Copies a file to a name that nothing has.
pub(super) fn copy_file(from: &Path, to: &Path) -> Result<(), LedgerError> {
    let mut source = File::open(from).map_err(failed("cannot read", from))?;
    let mut copy = || {
        let mut target = private_file().create_new(true).open(to)?;
        std::io::copy(&mut source, &mut target)?;
        target.sync_all()?;
        match to.parent() {
            Some(folder) => File::open(folder)?.sync_all(),
            None => Ok(()),
        }
    };
    copy().map_err(failed("cannot write", to))
}

/// Copies every regular file below a folder, if there is such a folder.
pub(super) fn copy_folder(from: &Path, to: &Path) -> Result<(), LedgerError> {
    if !from.exists() {
        return Ok(());
    }
    for path in files_below(from)? {
        let target = to.join(&path);
        if let Some(folder) = target.parent() {
            DataDir::new(folder).create()?;
        }
        match copy_file(&from.join(&path), &target) {
            // Garbage may be collected meanwhile; what the copy needs of it, its verification finds missing.
            Err(LedgerError::File { source, .. })
                if source.kind() == ErrorKind::NotFound && !from.join(&path).exists() => {}
            outcome => outcome?,
        }
    }
    Ok(())
}

/// Makes the names of all folders below one durable.
pub(super) fn sync_folders(root: &Path) -> Result<(), LedgerError> {
    let files = files_below(root)?;
    let folders: BTreeSet<&Path> = files
        .iter()
        .flat_map(|file| file.ancestors().skip(1))
        .collect();
    for folder in folders {
        DataDir::new(&root.join(folder)).sync()?;
    }
    Ok(())
}
