//! The ZIP container: written in one form, and read in no other.
//!
//! Two programs must never see different files in one bundle, and everything that makes a ZIP ambiguous is a way to do that:
//! bytes that belong to no file, doubled or unsafe names, headers that disagree, links, comments. So a reader writes the container
//! anew from the files that it found, and refuses one that differs. Only a wrong checksum of a file's content is let through here,
//! so that the file and the entry that it belongs to can be named.

use std::collections::BTreeMap;
use std::io::{Cursor, Read as _, Write as _};

use zip::result::ZipError;

use super::layout::{BUNDLE_BYTES_MAX, BUNDLE_FILES_MAX};

/// Offset and length of the checksum in a local file header and in a central one (APPNOTE 4.3.7, 4.3.12).
const LOCAL_CHECKSUM_OFFSET: u64 = 14;
const CENTRAL_CHECKSUM_OFFSET: u64 = 16;
const CHECKSUM_BYTES: usize = 4;

/// Why a file is not a bundle's container.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ArchiveError {
    /// Not a ZIP file, or one that is cut short.
    #[error("not a ZIP file that can be read: {0}")]
    Unreadable(String),
    /// Larger than a bundle may be.
    #[error("the file has {0} bytes; at most {BUNDLE_BYTES_MAX} are read")]
    TooLarge(u64),
    /// A ZIP file of a form that no bundle has.
    #[error("not the container of a bundle: {0}")]
    Refused(String),
}

/// The files of a bundle, by name.
pub(super) struct Files {
    pub(super) contents: BTreeMap<String, Vec<u8>>,
    /// Names of files whose content does not have the checksum that the container states.
    pub(super) wrong_checksums: Vec<String>,
}

/// Writes the container. Stored and with a fixed date, so that its bytes depend on names and contents alone.
pub(super) fn write(files: &BTreeMap<String, Vec<u8>>) -> Result<Vec<u8>, ZipError> {
    let mut archive = zip::ZipWriter::new(Cursor::new(Vec::new()));
    let options = zip::write::SimpleFileOptions::default()
        .compression_method(zip::CompressionMethod::Stored)
        .last_modified_time(zip::DateTime::DEFAULT)
        .unix_permissions(0o644);
    for (name, content) in files {
        archive.start_file(name.as_str(), options)?;
        archive.write_all(content)?;
    }
    Ok(archive.finish()?.into_inner())
}

/// Reads the container. Contents are as stored; whether they are sound is for the sums to say.
pub(super) fn read(bytes: &[u8]) -> Result<Files, ArchiveError> {
    if bytes.len() as u64 > BUNDLE_BYTES_MAX {
        return Err(ArchiveError::TooLarge(bytes.len() as u64));
    }
    let unreadable = |error: ZipError| ArchiveError::Unreadable(error.to_string());
    let mut archive = zip::ZipArchive::new(Cursor::new(bytes)).map_err(unreadable)?;
    check_members(&mut archive, bytes.len() as u64)?;
    let mut contents = BTreeMap::new();
    let mut checksums = Vec::new();
    for position in 0..archive.len() {
        let mut member = archive.by_index_raw(position).map_err(unreadable)?;
        let name = String::from_utf8_lossy(member.name_raw()).into_owned();
        checksums.push((
            name.clone(),
            member.header_start(),
            member.central_header_start(),
        ));
        let mut content = Vec::new();
        member
            .read_to_end(&mut content)
            .map_err(|error| ArchiveError::Unreadable(error.to_string()))?;
        contents.insert(name, content);
    }
    let wrong_checksums = compare_with_one_form(bytes, &contents, &checksums)?;
    Ok(Files {
        contents,
        wrong_checksums,
    })
}

/// Looks at every member's header before any content is read, so that members which share bytes cost no memory.
fn check_members(
    archive: &mut zip::ZipArchive<Cursor<&[u8]>>,
    available: u64,
) -> Result<(), ArchiveError> {
    let refused = |message: String| Err(ArchiveError::Refused(message));
    if archive.len() > BUNDLE_FILES_MAX {
        return refused(format!("it holds more than {BUNDLE_FILES_MAX} files"));
    }
    let mut stored = 0u64;
    for position in 0..archive.len() {
        let member = archive
            .by_index_raw(position)
            .map_err(|error| ArchiveError::Unreadable(error.to_string()))?;
        let name = String::from_utf8_lossy(member.name_raw()).into_owned();
        if !is_safe_name(&name) {
            return refused(format!("the name {name:?} is not one of a bundle"));
        }
        if member.compression() != zip::CompressionMethod::Stored
            || member.encrypted()
            || member.is_symlink()
        {
            return refused(format!("{name} is compressed, encrypted or a link"));
        }
        stored = stored.saturating_add(member.size());
        if stored > available || member.size() != member.compressed_size() {
            return refused("its files claim more bytes than it has".to_owned());
        }
    }
    Ok(())
}

/// Writes the container anew and compares every byte but the checksums; returns the files whose checksum differs.
fn compare_with_one_form(
    bytes: &[u8],
    contents: &BTreeMap<String, Vec<u8>>,
    checksums: &[(String, u64, u64)],
) -> Result<Vec<String>, ArchiveError> {
    let mut one_form = write(contents).map_err(|error| ArchiveError::Refused(error.to_string()))?;
    let mut wrong = Vec::new();
    for (name, local, central) in checksums {
        for start in [
            local + LOCAL_CHECKSUM_OFFSET,
            central + CENTRAL_CHECKSUM_OFFSET,
        ] {
            let range = start as usize..start as usize + CHECKSUM_BYTES;
            let (Some(stated), Some(computed)) =
                (bytes.get(range.clone()), one_form.get_mut(range))
            else {
                continue;
            };
            if *computed != *stated {
                wrong.push(name.clone());
                computed.copy_from_slice(stated);
            }
        }
    }
    wrong.dedup();
    if one_form == bytes {
        Ok(wrong)
    } else {
        Err(ArchiveError::Refused(
            "its headers, the order of its files or the bytes between them are not those of a bundle".to_owned(),
        ))
    }
}

/// Relative, without `..`, and made of the few characters that a bundle's names have.
fn is_safe_name(name: &str) -> bool {
    let is_safe_part = |part: &str| {
        !part.is_empty()
            && part != "."
            && part != ".."
            && part
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-'))
    };
    name.len() <= 200 && name.split('/').all(is_safe_part)
}
