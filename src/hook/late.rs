//! Payloads of a session whose other hooks did not end in time: kept as they came, and recorded by the next hook of the session,
//! or by `remembrancer hook send`.

use std::fs;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use remembrancer_capture::hook::Program;
use remembrancer_capture::private;
use remembrancer_capture::spool::Spool;

use super::place::Place;
use super::receive::{self, Came, PAYLOAD_BYTES_MAX};
use super::standing_file::{Held, replace};

/// Ending of the folders that they wait in.
const LATE: &str = "late";
/// Most payloads that one hook records beside its own.
const AT_ONCE: usize = 64;
/// Longest time of arrival, in bytes.
const TIME_BYTES_MAX: usize = 64;

fn folder(place: &Place, name: &str) -> PathBuf {
    place.standing.join(format!("{name}.{LATE}"))
}

/// Keeps a payload: the time on a line, then the payload.
pub(super) fn leave(place: &Place, name: &str, came: &Came<'_>) -> io::Result<()> {
    let folder = folder(place, name);
    private::make_folder(&folder)?;
    let text = [came.time.as_bytes(), b"\n", came.bytes].concat();
    replace(&folder.join(format!("{}.payload", came.name)), &text)
}

/// Records what waits, in the order in which it came. Returns how many records that were.
pub(super) fn record_all(
    held: &mut Held,
    program: Program,
    name: &str,
    place: &Place,
    spool: &Spool,
) -> usize {
    let mut count = 0;
    for path in waiting(&folder(place, name)).into_iter().take(AT_ONCE) {
        let recorded = record_one(held, program, &path, place, spool);
        match recorded {
            Ok(records) => count += records,
            Err(loss) => receive::count_loss(&loss, program, place, spool),
        }
        // One that cannot be removed is recorded again, with the same ids.
        drop(fs::remove_file(&path));
    }
    count
}

fn record_one(
    held: &mut Held,
    program: Program,
    path: &Path,
    place: &Place,
    spool: &Spool,
) -> Result<usize, receive::Loss> {
    let mut text = Vec::new();
    fs::File::open(path)
        .and_then(|file| {
            let bytes_max = PAYLOAD_BYTES_MAX + TIME_BYTES_MAX as u64;
            file.take(bytes_max).read_to_end(&mut text)
        })
        .map_err(receive::Loss::new)?;
    let at = text.iter().position(|&byte| byte == b'\n').unwrap_or(0);
    let time = std::str::from_utf8(&text[..at]).unwrap_or_default();
    let name = path.file_stem().and_then(|name| name.to_str());
    let came = Came {
        program,
        bytes: text.get(at + 1..).unwrap_or_default(),
        time,
        name: name.unwrap_or("late"),
    };
    receive::record(held, &came, place, spool)
}

/// The payloads in a folder, by their names: the time comes first in them.
fn waiting(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(folder) else {
        return Vec::new();
    };
    let paths = entries.flatten().map(|entry| entry.path());
    let mut paths: Vec<PathBuf> = paths
        .filter(|path| path.extension().is_some_and(|ending| ending == "payload"))
        .collect();
    paths.sort();
    paths
}

/// Records what waits in any session.
pub(super) fn record_everywhere(place: &Place, spool: &Spool) {
    let Ok(entries) = fs::read_dir(&place.standing) else {
        return;
    };
    for entry in entries.flatten() {
        let path = entry.path();
        if path.extension().is_none_or(|ending| ending != LATE) {
            continue;
        }
        let Some(name) = path.file_stem().and_then(|name| name.to_str()) else {
            continue;
        };
        let program = Program::ALL
            .into_iter()
            .find(|program| name.starts_with(program.word()));
        while let Some(program) = program
            && !waiting(&path).is_empty()
            && let Ok(mut held) = Held::take(place, name)
            && record_all(&mut held, program, name, place, spool) > 0
        {}
    }
}
