//! One record as bytes in a segment, and how a segment is read back.
//!
//! | bytes | what |
//! |---|---|
//! | 4 | `RMS1` |
//! | 1 | kind: `e` an event, `b` a blob |
//! | 4 | length of the content, little endian |
//! | 8 | the first bytes of the BLAKE3 hash over the nine bytes before and the content |
//! | … | the content |

use std::io::{self, BufReader, Read, Seek};

use remembrancer_schema::ContentHash;

const MAGIC: [u8; 4] = *b"RMS1";
/// Bytes of a frame before its content.
pub(super) const HEADER_BYTES: usize = 17;
/// Largest content of a record, in bytes: that of the largest blob that a recorder takes.
pub const RECORD_BYTES_MAX: usize = 32 * 1024 * 1024;

/// Most bytes of contents that are hashed in the search for a whole frame behind a damaged one.
const SEARCH_BYTES_MAX: usize = 256 * 1024 * 1024;

/// What is kept until it is delivered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Record {
    /// An event as `POST /v1/events` takes it.
    Event(Vec<u8>),
    /// A blob, which is to be stored before the events behind it.
    Blob(Vec<u8>),
}

impl Record {
    /// Its content.
    pub fn bytes(&self) -> &[u8] {
        match self {
            Self::Event(bytes) | Self::Blob(bytes) => bytes,
        }
    }

    fn kind(&self) -> u8 {
        match self {
            Self::Event(_) => b'e',
            Self::Blob(_) => b'b',
        }
    }

    /// Appends the record's frame to `out`.
    pub(super) fn write(&self, out: &mut Vec<u8>) {
        let content = self.bytes();
        // The length was checked against `RECORD_BYTES_MAX`, which fits.
        let length = u32::try_from(content.len()).unwrap_or(u32::MAX);
        let head = head(self.kind(), length);
        out.extend_from_slice(&head);
        out.extend_from_slice(&checksum(&head, content));
        out.extend_from_slice(content);
    }
}

fn head(kind: u8, length: u32) -> [u8; 9] {
    let mut head = [0; 9];
    head[..4].copy_from_slice(&MAGIC);
    head[4] = kind;
    head[5..].copy_from_slice(&length.to_le_bytes());
    head
}

fn checksum(head: &[u8; 9], content: &[u8]) -> [u8; 8] {
    // The content is hashed by itself first, so that it need not be copied behind the head.
    let mut both = [0; 9 + 32];
    both[..9].copy_from_slice(head);
    both[9..].copy_from_slice(ContentHash::of(content).as_bytes());
    let mut first = [0; 8];
    first.copy_from_slice(&ContentHash::of(&both).as_bytes()[..8]);
    first
}

/// What stands at a place of a segment.
#[derive(Debug)]
pub(super) enum Found {
    /// A record, and the place behind it.
    Record(Record, u64),
    /// A frame whose content is not what was written, and the place behind it.
    Damaged(u64),
    /// The segment ends here.
    End,
    /// No whole frame: one that is being written, one that a crash cut off, or something else.
    Torn,
}

/// Reads the frame at a place.
pub(super) fn read_at(
    file: &mut BufReader<impl Read + Seek>,
    at: u64,
    end: u64,
) -> io::Result<Found> {
    if at >= end {
        return Ok(Found::End);
    }
    go_to(file, at)?;
    let Some((head, sum, length)) = read_header(file, at, end)? else {
        return Ok(Found::Torn);
    };
    let mut content = vec![0; length];
    match file.read_exact(&mut content) {
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(Found::Torn),
        outcome => outcome?,
    }
    let behind = at + (HEADER_BYTES + length) as u64;
    if checksum(&head, &content) != sum {
        return Ok(Found::Damaged(behind));
    }
    Ok(match head[4] {
        b'e' => Found::Record(Record::Event(content), behind),
        b'b' => Found::Record(Record::Blob(content), behind),
        _ => Found::Damaged(behind),
    })
}

/// Goes to a place, and keeps what was read ahead if that is among it.
fn go_to(file: &mut BufReader<impl Read + Seek>, at: u64) -> io::Result<()> {
    let now = file.stream_position()?;
    file.seek_relative(at.wrapping_sub(now).cast_signed())
}

/// The place of the next whole frame behind a damaged header at `at`; none if only what a crash cut off stands there.
///
/// A crash leaves the beginning of a frame as it was written. Then nothing behind it is taken for a frame: it is content, and an
/// agent may have written what looks like one.
pub(super) fn next_sound(
    file: &mut BufReader<impl Read + Seek>,
    at: u64,
    end: u64,
) -> io::Result<Option<u64>> {
    go_to(file, at)?;
    let mut bytes = Vec::new();
    file.by_ref().take(end - at).read_to_end(&mut bytes)?;
    let magic = MAGIC.len().min(bytes.len());
    let is_cut_off = bytes[..magic] == MAGIC[..magic]
        && bytes
            .first_chunk::<9>()
            .is_none_or(|head| length_of(head) <= RECORD_BYTES_MAX);
    if is_cut_off {
        return Ok(None);
    }
    let mut hashed = 0;
    for place in 1..bytes.len() {
        let Some((header, content)) = bytes[place..].split_first_chunk::<HEADER_BYTES>() else {
            break;
        };
        let (mut head, mut sum) = ([0; 9], [0; 8]);
        head.copy_from_slice(&header[..9]);
        sum.copy_from_slice(&header[9..]);
        let Some(content) = content.get(..length_of(&head)) else {
            continue;
        };
        if head[..4] != MAGIC {
            continue;
        }
        hashed += content.len();
        if checksum(&head, content) == sum {
            return Ok(Some(at + place as u64));
        }
        if hashed > SEARCH_BYTES_MAX {
            break;
        }
    }
    Ok(None)
}

/// The length that a head announces.
fn length_of(head: &[u8; 9]) -> usize {
    u32::from_le_bytes([head[5], head[6], head[7], head[8]]) as usize
}

/// The place behind the last whole frame of a segment, from `at`. Contents are passed over, and damaged headers with whole frames
/// behind them.
pub(super) fn sound_end(
    file: &mut BufReader<impl Read + Seek>,
    mut at: u64,
    end: u64,
) -> io::Result<u64> {
    while at < end {
        go_to(file, at)?;
        match read_header(file, at, end)? {
            Some((_, _, length)) => at += (HEADER_BYTES + length) as u64,
            None => match next_sound(file, at, end)? {
                Some(next) => at = next,
                None => break,
            },
        }
    }
    Ok(at)
}

type Header = ([u8; 9], [u8; 8], usize);

/// The header at the current place, if it is one and its content ends within the segment.
fn read_header(file: &mut impl Read, at: u64, end: u64) -> io::Result<Option<Header>> {
    let mut header = [0; HEADER_BYTES];
    if end - at < HEADER_BYTES as u64 {
        return Ok(None);
    }
    match file.read_exact(&mut header) {
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
        outcome => outcome?,
    }
    let (mut head, mut sum) = ([0; 9], [0; 8]);
    head.copy_from_slice(&header[..9]);
    sum.copy_from_slice(&header[9..]);
    let length = length_of(&head);
    let is_frame = head[..4] == MAGIC
        && length <= RECORD_BYTES_MAX
        && (HEADER_BYTES + length) as u64 <= end - at;
    Ok(is_frame.then_some((head, sum, length)))
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use super::*;

    fn written(records: &[Record]) -> Vec<u8> {
        let mut bytes = Vec::new();
        records.iter().for_each(|record| record.write(&mut bytes));
        bytes
    }

    fn read_all(bytes: &[u8]) -> (Vec<Record>, usize, bool) {
        let (mut at, mut found, mut damaged) = (0, Vec::new(), 0);
        let mut file = BufReader::new(Cursor::new(bytes));
        loop {
            match read_at(&mut file, at, bytes.len() as u64).expect("memory can be read") {
                Found::Record(record, behind) => {
                    found.push(record);
                    at = behind;
                }
                Found::Damaged(behind) => {
                    damaged += 1;
                    at = behind;
                }
                Found::End => return (found, damaged, false),
                Found::Torn => return (found, damaged, true),
            }
        }
    }

    #[test]
    fn records_come_back_as_written() {
        let records = [
            Record::Event(b"{}".to_vec()),
            Record::Blob(Vec::new()),
            Record::Blob(vec![7; 70_000]),
        ];
        let bytes = written(&records);
        assert_eq!(read_all(&bytes), (records.to_vec(), 0, false));
    }

    #[test]
    fn every_cut_and_every_changed_byte_is_noticed() {
        let records = [
            Record::Event(b"first".to_vec()),
            Record::Event(b"other".to_vec()),
        ];
        let bytes = written(&records);
        let one = HEADER_BYTES + 5;
        for cut in 1..bytes.len() {
            let (found, damaged, torn) = read_all(&bytes[..cut]);
            assert_eq!(found.len(), cut / one, "cut at {cut}");
            assert_eq!((damaged, torn), (0, cut != one), "cut at {cut}");
            let mut file = BufReader::new(Cursor::new(&bytes[..cut]));
            let sound = sound_end(&mut file, 0, cut as u64).expect("memory can be read");
            assert_eq!(sound, (cut / one * one) as u64);
        }
        for at in 0..bytes.len() {
            let mut changed = bytes.clone();
            changed[at] ^= 0x20;
            let (found, damaged, torn) = read_all(&changed);
            assert!(
                found.len() < 2 && (damaged > 0 || torn),
                "byte {at}: {found:?}"
            );
        }
    }

    #[test]
    fn a_damaged_header_hides_no_frame_behind_it_and_content_is_no_frame() {
        let records = ["first", "other", "third"].map(|text| Record::Event(text.into()));
        let bytes = written(&records);
        let one = (HEADER_BYTES + 5) as u64;
        for (place, value) in [(0, b'x'), (8, 0xff)] {
            let mut changed = bytes.clone();
            changed[one as usize + place] = value;
            let end = changed.len() as u64;
            let mut file = BufReader::new(Cursor::new(&changed));
            assert!(matches!(read_at(&mut file, one, end), Ok(Found::Torn)));
            assert_eq!(
                next_sound(&mut file, one, end).expect("readable"),
                Some(2 * one)
            );
            assert_eq!(sound_end(&mut file, 0, end).expect("readable"), end);
        }
        // A blob that was cut off, with a frame in what was written of it.
        let blob = Record::Blob([&bytes[..], &[0; 100]].concat());
        let cut = &written(&[blob])[..bytes.len() + 40];
        let mut file = BufReader::new(Cursor::new(cut));
        let end = cut.len() as u64;
        assert_eq!(next_sound(&mut file, 0, end).expect("readable"), None);
        assert_eq!(sound_end(&mut file, 0, end).expect("readable"), 0);
    }
}
