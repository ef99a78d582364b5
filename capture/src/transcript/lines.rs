//! Lines of a file, one after the other, however long the file is.

use std::fs::File;
use std::io::{BufRead as _, BufReader, Read as _};
use std::path::{Path, PathBuf};

use super::ImportError;

/// Longest line that is read, in bytes. A longer one is passed over and reported.
pub const LINE_BYTES_MAX: usize = 32 * 1024 * 1024;
/// Bytes that are read from the file at once.
const BUFFER_BYTES: usize = 256 * 1024;

/// One line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// Its number, from 1.
    pub number: u64,
    /// Its bytes, without the end of the line. Empty where [`Line::is_too_long`].
    pub bytes: Vec<u8>,
    /// It has more than [`LINE_BYTES_MAX`] bytes, so that none of them are here.
    pub is_too_long: bool,
    /// Its end was reached: the last line of a file that is being written has none yet.
    pub is_ended: bool,
}

/// Reads the lines of a file and holds one of them at a time.
#[derive(Debug)]
pub struct Lines {
    path: PathBuf,
    reader: BufReader<File>,
    number: u64,
    read: u64,
}

impl Lines {
    /// Opens a file.
    pub fn open(path: &Path) -> Result<Self, ImportError> {
        let file = File::open(path).map_err(|error| ImportError::read(path, error))?;
        Ok(Self {
            path: path.to_owned(),
            reader: BufReader::with_capacity(BUFFER_BYTES, file),
            number: 0,
            read: 0,
        })
    }

    /// Bytes of the file that were read.
    pub fn bytes_read(&self) -> u64 {
        self.read
    }

    /// The next line that is not blank.
    pub fn next_line(&mut self) -> Result<Option<Line>, ImportError> {
        loop {
            let Some(line) = self.any_line()? else {
                return Ok(None);
            };
            if line.is_too_long || !line.bytes.iter().all(u8::is_ascii_whitespace) {
                return Ok(Some(line));
            }
        }
    }

    fn any_line(&mut self) -> Result<Option<Line>, ImportError> {
        let mut bytes = Vec::new();
        let taken = self.take_to_end(&mut bytes, LINE_BYTES_MAX as u64 + 1)?;
        if taken == 0 {
            return Ok(None);
        }
        self.number += 1;
        let mut is_ended = bytes.last() == Some(&b'\n');
        let is_too_long = !is_ended && bytes.len() > LINE_BYTES_MAX;
        if is_too_long {
            loop {
                bytes.clear();
                if self.take_to_end(&mut bytes, BUFFER_BYTES as u64)? == 0 {
                    break;
                }
                if bytes.last() == Some(&b'\n') {
                    is_ended = true;
                    break;
                }
            }
            bytes = Vec::new();
        }
        while matches!(bytes.last(), Some(b'\n' | b'\r')) {
            bytes.pop();
        }
        Ok(Some(Line {
            number: self.number,
            bytes,
            is_too_long,
            is_ended,
        }))
    }

    fn take_to_end(&mut self, bytes: &mut Vec<u8>, limit: u64) -> Result<usize, ImportError> {
        let taken = (&mut self.reader)
            .take(limit)
            .read_until(b'\n', bytes)
            .map_err(|error| ImportError::read(&self.path, error))?;
        self.read += taken as u64;
        Ok(taken)
    }
}

/// A line as text that can be parsed as JSON: programs that cut a text between the two halves of a character write one half as
/// an escape, which no JSON parser takes. Such a half becomes U+FFFD.
pub fn whole_characters(line: &str) -> Option<String> {
    let bytes = line.as_bytes();
    let mut repaired = String::with_capacity(line.len());
    let (mut at, mut copied, mut is_changed) = (0, 0, false);
    while at + 1 < bytes.len() {
        if bytes[at] != b'\\' {
            at += 1;
            continue;
        }
        match escaped_unit(bytes, at) {
            Some(0xd800..=0xdbff)
                if matches!(escaped_unit(bytes, at + 6), Some(0xdc00..=0xdfff)) =>
            {
                at += 12;
            }
            Some(0xd800..=0xdfff) => {
                repaired.push_str(&line[copied..at]);
                repaired.push_str("\\ufffd");
                at += 6;
                (copied, is_changed) = (at, true);
            }
            Some(_) => at += 6,
            None => at += 2,
        }
    }
    repaired.push_str(&line[copied..]);
    is_changed.then_some(repaired)
}

/// The UTF-16 unit that an escape at a position stands for.
fn escaped_unit(bytes: &[u8], at: usize) -> Option<u16> {
    let digits = bytes.get(at..at + 6)?.strip_prefix(b"\\u")?;
    u16::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines_of(content: &[u8]) -> Vec<Line> {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("a.jsonl");
        std::fs::write(&path, content).expect("a file");
        let mut lines = Lines::open(&path).expect("opens");
        let mut all = Vec::new();
        while let Some(line) = lines.next_line().expect("reads") {
            all.push(line);
        }
        assert_eq!(lines.bytes_read(), content.len() as u64);
        all
    }

    #[test]
    fn lines_keep_their_numbers_whatever_ends_them() {
        let lines = lines_of(b"{}\r\n\n  \n[1]\nlast");
        let told: Vec<(u64, &[u8], bool)> = lines
            .iter()
            .map(|line| (line.number, &line.bytes[..], line.is_ended))
            .collect();
        assert_eq!(
            told,
            [
                (1, &b"{}"[..], true),
                (4, &b"[1]"[..], true),
                (5, &b"last"[..], false)
            ]
        );
    }

    #[test]
    fn a_line_that_is_too_long_is_passed_over() {
        let mut content = vec![b'x'; LINE_BYTES_MAX + 1];
        content.extend_from_slice(b"\nnext\n");
        let lines = lines_of(&content);
        assert!(lines[0].is_too_long && lines[0].bytes.is_empty());
        assert_eq!((lines[1].number, &lines[1].bytes[..]), (2, &b"next"[..]));
        content.remove(0);
        assert!(!lines_of(&content)[0].is_too_long);
    }

    #[test]
    fn half_characters_are_replaced_and_whole_ones_stay() {
        let whole = r#"{"a":"\ud83d\ude00 \\ud83d \u00e9"}"#;
        assert_eq!(whole_characters(whole), None);
        let half = r#"{"a":"x\ud83d","b":"\ude00"}"#;
        let repaired = whole_characters(half).expect("two halves");
        assert_eq!(repaired, r#"{"a":"x\ufffd","b":"\ufffd"}"#);
        assert!(serde_json::from_str::<serde_json::Value>(&repaired).is_ok());
    }
}
