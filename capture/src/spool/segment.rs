//! The segments of a folder: their names and sizes.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Ending of the segments' names.
const SEGMENT: &str = "segment";

/// A segment in the folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Segment {
    pub(super) number: u64,
    pub(super) bytes: u64,
}

/// The segments, oldest first.
pub(super) fn segments(folder: &Path) -> io::Result<Vec<Segment>> {
    let mut found = Vec::new();
    for number in numbers(folder)? {
        found.extend(sized(folder, number)?);
    }
    Ok(found)
}

/// Sizes of the segments before the newest one, which do not change: there may be thousands, and each append asks for all of them.
#[derive(Debug, Default)]
pub(super) struct Sizes(BTreeMap<u64, u64>);

impl Sizes {
    /// Bytes of all segments together, and the newest one. The caller holds the spool's lock.
    pub(super) fn read(&mut self, folder: &Path) -> io::Result<(u64, Option<Segment>)> {
        let mut numbers = numbers(folder)?;
        let newest = match numbers.pop() {
            Some(number) => sized(folder, number)?,
            None => None,
        };
        self.0
            .retain(|number, _| numbers.binary_search(number).is_ok());
        for number in numbers {
            if !self.0.contains_key(&number) {
                let segment = sized(folder, number)?;
                self.0
                    .extend(segment.map(|segment| (segment.number, segment.bytes)));
            }
        }
        let held = self.0.values().sum::<u64>();
        Ok((held + newest.map_or(0, |segment| segment.bytes), newest))
    }
}

/// The segments' numbers, in order.
fn numbers(folder: &Path) -> io::Result<Vec<u64>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.extension().is_some_and(|ending| ending == SEGMENT) {
            let name = path.file_stem().and_then(|name| name.to_str());
            found.extend(name.and_then(|name| name.parse::<u64>().ok()));
        }
    }
    found.sort_unstable();
    Ok(found)
}

/// A segment with its size; none if it was drained meanwhile.
fn sized(folder: &Path, number: u64) -> io::Result<Option<Segment>> {
    match fs::metadata(segment_path(folder, number)) {
        Ok(metadata) => Ok(Some(Segment {
            number,
            bytes: metadata.len(),
        })),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

pub(super) fn segment_path(folder: &Path, number: u64) -> PathBuf {
    folder.join(format!("{number:020}.{SEGMENT}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_those_of_the_segments_that_are_there() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path();
        let write = |number, bytes| {
            fs::write(segment_path(path, number), vec![0; bytes]).expect("written");
        };
        let mut sizes = Sizes::default();
        assert_eq!(sizes.read(path).expect("readable"), (0, None));
        let newest = |number, bytes| Some(Segment { number, bytes });
        write(9, 5);
        write(10, 1);
        assert_eq!(sizes.read(path).expect("readable"), (6, newest(10, 1)));
        write(10, 7);
        assert_eq!(sizes.read(path).expect("readable"), (12, newest(10, 7)));
        write(11, 2);
        fs::remove_file(segment_path(path, 9)).expect("removed");
        assert_eq!(sizes.read(path).expect("readable"), (9, newest(11, 2)));
        assert_eq!(segments(path).expect("readable").len(), 2);
    }
}
