//! Files that a payload names. A payload is not trusted: a path leads to nothing but the program's own transcripts, and files of
//! rules where programs keep them.

use std::fs::{File, OpenOptions};
use std::io::{self, BufRead as _, BufReader, Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};

use remembrancer_capture::hook::{HookPayload, Program};
use remembrancer_capture::spool::RECORD_BYTES_MAX;

use super::place::Place;

/// Largest file of rules that is read, in bytes.
const INSTRUCTIONS_BYTES_MAX: u64 = 1024 * 1024;
/// Longest line that is passed over to find the beginning of the next, in bytes.
const LINE_BYTES_MAX: u64 = 8 * 1024 * 1024;

/// The newest part of a transcript, from the beginning of a line.
pub(super) struct Transcript {
    pub(super) bytes: Vec<u8>,
    /// Bytes before it that were left out.
    pub(super) skipped: u64,
}

/// Reads the transcript that a payload names.
pub(super) fn transcript(
    program: Program,
    payload: &HookPayload<'_>,
    place: &Place,
) -> Result<Transcript, String> {
    let path = payload
        .text("transcript_path")
        .ok_or("the payload names none")?;
    let path = Path::new(&path);
    let ending = path.extension().and_then(|ending| ending.to_str());
    if !matches!(ending, Some("jsonl" | "json")) {
        return Err("its name does not end in .jsonl".to_owned());
    }
    let folders = transcript_folders(program, place);
    let mut file = open_below(path, &folders)?;
    tail(&mut file, RECORD_BYTES_MAX as u64).map_err(|error| format!("it cannot be read: {error}"))
}

/// Where a program keeps its transcripts.
fn transcript_folders(program: Program, place: &Place) -> Vec<PathBuf> {
    let home = |folder: &str| place.home.as_ref().map(|home| home.join(folder));
    let folders = match program {
        Program::Claude => {
            let set = place.claude.as_ref().map(|folder| folder.join("projects"));
            vec![set, home(".claude/projects")]
        }
        Program::Codex => {
            let set = place.codex.as_ref().map(|folder| folder.join("sessions"));
            vec![set, home(".codex/sessions")]
        }
        Program::Gemini => vec![home(".gemini/tmp")],
    };
    folders.into_iter().flatten().collect()
}

/// Opens a file that lies below one of the folders, wherever links lead.
fn open_below(path: &Path, folders: &[PathBuf]) -> Result<File, String> {
    if !path.is_absolute() {
        return Err("the path is not absolute".to_owned());
    }
    let real = path
        .canonicalize()
        .map_err(|error| format!("the path leads nowhere: {error}"))?;
    let is_below = folders
        .iter()
        .filter_map(|folder| folder.canonicalize().ok())
        .any(|folder| real.starts_with(folder));
    if !is_below {
        return Err(
            "the path leads outside of the folders of the program's transcripts".to_owned(),
        );
    }
    open_plain(&real)
}

/// Opens a plain file, and does not wait as a pipe or a device would make it.
pub(super) fn open_plain(real: &Path) -> Result<File, String> {
    let failed = |error: io::Error| format!("it cannot be opened: {error}");
    let mut options = OpenOptions::new();
    options.read(true);
    #[cfg(unix)]
    {
        use rustix::fs::OFlags;
        use std::os::unix::fs::OpenOptionsExt as _;
        // What was resolved before is no link now, and nothing is waited for at the other end.
        let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
        options.custom_flags(i32::try_from(flags.bits()).unwrap_or(0));
    }
    let file = options.open(real).map_err(failed)?;
    if !file.metadata().map_err(failed)?.is_file() {
        return Err("it is no plain file".to_owned());
    }
    Ok(file)
}

/// The last bytes of a file, at most so many, from the beginning of a line.
fn tail(file: &mut File, bytes_max: u64) -> io::Result<Transcript> {
    let length = file.metadata()?.len();
    let mut skipped = 0;
    if length > bytes_max {
        // One byte before, so that a line that begins right there is whole.
        let start = length - bytes_max - 1;
        file.seek(SeekFrom::Start(start))?;
        let mut reader = BufReader::new(&*file).take(LINE_BYTES_MAX);
        let mut passed = 0;
        loop {
            let buffer = reader.fill_buf()?;
            let (used, is_end) = match buffer.iter().position(|&byte| byte == b'\n') {
                Some(at) => (at + 1, true),
                None => (buffer.len(), buffer.is_empty()),
            };
            reader.consume(used);
            passed += used as u64;
            if is_end {
                break;
            }
        }
        skipped = start + passed;
        file.seek(SeekFrom::Start(skipped))?;
    }
    let mut bytes = Vec::with_capacity(usize::try_from(length - skipped).unwrap_or(0));
    // The program may still write; what it adds meanwhile belongs to what comes after.
    file.take(length - skipped).read_to_end(&mut bytes)?;
    Ok(Transcript { bytes, skipped })
}

/// Reads the file of rules that was loaded. `projects` are folders that the process knows by itself: the payload's own word for
/// where it works would open any folder.
pub(super) fn instructions(
    payload: &HookPayload<'_>,
    place: &Place,
    projects: &[PathBuf],
) -> Result<String, String> {
    let path = payload
        .text("file_path")
        .ok_or("the payload names no file")?;
    let path = Path::new(&path);
    if !path.is_absolute() {
        return Err("the path is not absolute".to_owned());
    }
    let real = path
        .canonicalize()
        .map_err(|error| format!("the path leads nowhere: {error}"))?;
    if real.extension().is_none_or(|ending| ending != "md") {
        return Err("it does not end in .md, as files of rules do".to_owned());
    }
    if !is_place_of_rules(&real, projects, place) {
        return Err(
            "it lies neither in the project, nor above it, nor with the program's own files"
                .to_owned(),
        );
    }
    let file = open_plain(&real)?;
    let mut bytes = Vec::new();
    file.take(INSTRUCTIONS_BYTES_MAX + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| format!("it cannot be read: {error}"))?;
    if bytes.len() as u64 > INSTRUCTIONS_BYTES_MAX {
        return Err(format!("it has more than {INSTRUCTIONS_BYTES_MAX} bytes"));
    }
    String::from_utf8(bytes).map_err(|_| "it is not UTF-8".to_owned())
}

/// Whether files of rules may lie there: in the project or right in a folder above it, or with the program's own files.
fn is_place_of_rules(real: &Path, projects: &[PathBuf], place: &Place) -> bool {
    let projects = projects.iter().filter(|folder| folder.is_absolute());
    let mut projects = projects.filter_map(|folder| folder.canonicalize().ok());
    let is_in_project = projects.any(|cwd| {
        let is_above = |folder: &Path| cwd.starts_with(folder) && folder != Path::new("/");
        let is_below = cwd.parent().is_some() && real.starts_with(&cwd);
        is_below || real.parent().is_some_and(is_above)
    });
    let home = place.home.as_ref().map(|home| home.join(".claude"));
    let own = [
        place.claude.clone(),
        home,
        Some(PathBuf::from("/etc/claude-code")),
    ];
    is_in_project
        || own
            .into_iter()
            .flatten()
            .filter_map(|folder| folder.canonicalize().ok())
            .any(|folder| real.starts_with(folder))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_long_transcript_the_newest_whole_lines_are_kept() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("t.jsonl");
        std::fs::write(&path, "one\ntwo\nthree\n").expect("written");
        let kept = |bytes_max| {
            let mut file = File::open(&path).expect("it opens");
            let kept = tail(&mut file, bytes_max).expect("it can be read");
            (String::from_utf8(kept.bytes).expect("text"), kept.skipped)
        };
        assert_eq!(kept(100), ("one\ntwo\nthree\n".to_owned(), 0));
        assert_eq!(kept(14), ("one\ntwo\nthree\n".to_owned(), 0));
        assert_eq!(kept(13), ("two\nthree\n".to_owned(), 4));
        assert_eq!(kept(10), ("two\nthree\n".to_owned(), 4));
        assert_eq!(kept(9), ("three\n".to_owned(), 8));
        assert_eq!(kept(3), (String::new(), 14));
    }
}
