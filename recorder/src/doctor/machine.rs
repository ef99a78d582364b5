//! The machine: disk, file system, limits of the process.

use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::time::{Duration, Instant};

use super::Finding;
use crate::data_dir::private_file;
use crate::store::LedgerLocation;

const SPACE: &str = "disk space";
const FLUSH: &str = "disk flush";
const FILE_SYSTEM: &str = "file system";

/// Free bytes below which somebody should look, and below which recording is about to stop.
const SPACE_LOW: u64 = 1024 * 1024 * 1024;
const SPACE_OUT: u64 = 64 * 1024 * 1024;
/// Flushes that are timed, and what each of them writes: about one small event.
const FLUSHES: usize = 100;
const FLUSH_BYTES: usize = 1024;
/// A flush slower than this makes every client wait.
const FLUSH_SLOW: Duration = Duration::from_millis(50);
/// No disk that keeps its promise is faster: less means that a cache answers, or memory.
const FLUSH_UNLIKELY: Duration = Duration::from_micros(10);

/// Room on the disk.
pub(super) fn space(folder: &Path) -> Finding {
    let (free, total) = match free_space(folder) {
        Ok(space) => space,
        Err(error) => {
            return Finding::warn(SPACE, format!("cannot be read: {error}"), "look with `df`");
        }
    };
    let found = format!("{} of {} free", size(free), size(total));
    let next = "make room or move the data directory: when the disk is full nothing is stored and clients get 503, until \
                there is room again";
    match free {
        _ if free < SPACE_OUT => Finding::fail(SPACE, found, next),
        _ if free < SPACE_LOW => Finding::warn(SPACE, found, next),
        _ => Finding::ok(SPACE, found),
    }
}

#[cfg(unix)]
fn free_space(folder: &Path) -> std::io::Result<(u64, u64)> {
    let told = rustix::fs::statvfs(folder)?;
    Ok((
        told.f_bavail.saturating_mul(told.f_frsize),
        told.f_blocks.saturating_mul(told.f_frsize),
    ))
}

#[cfg(not(unix))]
fn free_space(_: &Path) -> std::io::Result<(u64, u64)> {
    Err(std::io::ErrorKind::Unsupported.into())
}

/// A size in words for people.
fn size(bytes: u64) -> String {
    let mebibytes = bytes / (1024 * 1024);
    if mebibytes < 10 * 1024 {
        format!("{mebibytes} MiB")
    } else {
        format!("{} GiB", mebibytes / 1024)
    }
}

/// How long one flush to the disk takes: what every commit waits for.
pub(super) fn flush_latency(folder: &Path) -> Finding {
    let path = folder.join(format!("flush-probe.{}", std::process::id()));
    let measured = flushes(&path);
    // What cannot be removed either is told by the write that failed.
    drop(fs::remove_file(&path));
    let mut times = match measured {
        Ok(times) => times,
        Err(error) => {
            return Finding::fail(
                FLUSH,
                format!("{} cannot be written: {error}", folder.display()),
                "run this as the server's user; a read-only or full disk takes no events",
            );
        }
    };
    times.sort();
    let at = |percent: usize| times[(times.len() * percent / 100).min(times.len() - 1)];
    let (middle, slow) = (at(50), at(99));
    let found = format!(
        "{} of {} KiB: p50 {} µs, p99 {} µs",
        times.len(),
        FLUSH_BYTES / 1024,
        middle.as_micros(),
        slow.as_micros()
    );
    if slow > FLUSH_SLOW {
        let next =
            "every receipt waits for one flush: use a faster disk, or one that is not shared";
        return Finding::warn(FLUSH, found, next);
    }
    if middle < FLUSH_UNLIKELY {
        let next = "no disk is that fast: something answers before the data is safe, so that a power cut can take receipted \
                    events";
        return Finding::warn(FLUSH, found, next);
    }
    Finding::ok(FLUSH, found)
}

fn flushes(path: &Path) -> std::io::Result<Vec<Duration>> {
    let mut file = private_file().create_new(true).open(path)?;
    let text = [0x20; FLUSH_BYTES];
    let mut times = Vec::with_capacity(FLUSHES);
    for _ in 0..FLUSHES {
        let start = Instant::now();
        file.write_all(&text)?;
        file.sync_data()?;
        times.push(start.elapsed());
    }
    Ok(times)
}

/// What kind of file system the folder is on, where the system tells.
pub(super) fn file_system(location: &LedgerLocation) -> Option<Finding> {
    let folder = fs::canonicalize(location.directory()).ok()?;
    let mounts = fs::read_to_string("/proc/self/mountinfo").ok()?;
    let kind = kind_of(&mounts, &folder)?;
    let holds_database = location.database.is_none();
    Some(judge(kind, holds_database))
}

fn judge(kind: &str, holds_database: bool) -> Finding {
    let found = kind.to_owned();
    let is_remote = [
        "nfs",
        "nfs4",
        "cifs",
        "smb3",
        "smbfs",
        "9p",
        "afs",
        "ceph",
        "glusterfs",
    ]
    .contains(&kind)
        || kind.starts_with("fuse.sshfs");
    match kind {
        _ if is_remote && holds_database => Finding::fail(
            FILE_SYSTEM,
            format!("{found}: over a network"),
            "SQLite needs locks and shared memory of one machine: use a local disk, or PostgreSQL with --database",
        ),
        "overlay" | "overlayfs" | "aufs" => Finding::warn(
            FILE_SYSTEM,
            format!("{found}: the container's own layer"),
            "mount a volume: this is gone with the container",
        ),
        "tmpfs" | "ramfs" => Finding::warn(
            FILE_SYSTEM,
            format!("{found}: memory"),
            "nothing here survives a restart of the machine: use a disk",
        ),
        _ => Finding::ok(FILE_SYSTEM, found),
    }
}

/// The type of the mount that a path is on, from `/proc/self/mountinfo`: the longest mount point that the path is below, and
/// of those the last, which covers the others.
fn kind_of<'a>(mounts: &'a str, path: &Path) -> Option<&'a str> {
    let mut best: Option<(usize, &str)> = None;
    for line in mounts.lines() {
        let Some((place, kind)) = line.split_once(" - ") else {
            continue;
        };
        let (Some(point), Some(kind)) = (place.split(' ').nth(4), kind.split(' ').next()) else {
            continue;
        };
        let point = point.replace("\\040", " ");
        if path.starts_with(&point) && best.is_none_or(|(length, _)| point.len() >= length) {
            best = Some((point.len(), kind));
        }
    }
    best.map(|(_, kind)| kind)
}

/// How many files this process may have open, where the system tells.
pub fn open_files_max() -> Option<u64> {
    let limits = fs::read_to_string("/proc/self/limits").ok()?;
    let line = limits
        .lines()
        .find_map(|line| line.strip_prefix("Max open files"))?;
    line.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::Level;

    const MOUNTS: &str = "\
22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw
30 22 0:26 / /data rw - nfs4 server:/x rw
31 22 0:27 / /data/local\\040disk rw - xfs /dev/sdb rw
32 22 0:28 / /tmp rw - tmpfs tmpfs rw
33 22 0:29 / /tmp rw - ext4 /dev/sdc rw
";

    #[test]
    fn the_nearest_mount_counts() {
        for (path, kind) in [
            ("/var/lib/x", "ext4"),
            ("/data/x", "nfs4"),
            ("/database", "ext4"),
            ("/data/local disk/x", "xfs"),
            ("/tmp/x", "ext4"),
        ] {
            assert_eq!(kind_of(MOUNTS, Path::new(path)), Some(kind), "{path}");
        }
        assert_eq!(kind_of("nonsense\n", Path::new("/")), None);
    }

    #[test]
    fn a_file_system_that_cannot_hold_a_ledger_is_told() {
        for (kind, with_database, without) in [
            ("ext4", Level::Ok, Level::Ok),
            ("nfs4", Level::Fail, Level::Ok),
            ("overlay", Level::Warn, Level::Warn),
            ("tmpfs", Level::Warn, Level::Warn),
        ] {
            assert_eq!(judge(kind, true).level, with_database, "{kind}");
            assert_eq!(judge(kind, false).level, without, "{kind}");
        }
    }

    #[test]
    fn flushes_are_timed_and_leave_nothing() {
        let folder = tempfile::tempdir().expect("a folder");
        let found = flush_latency(folder.path());
        assert!(found.found.starts_with("100 of 1 KiB: p50 "), "{found:?}");
        assert_eq!(fs::read_dir(folder.path()).expect("lists").count(), 0);
        let nowhere = flush_latency(&folder.path().join("nowhere"));
        assert_eq!(nowhere.level, Level::Fail, "{nowhere:?}");
    }

    #[test]
    fn room_is_told_in_words() {
        assert_eq!(size(5 * 1024 * 1024 + 7), "5 MiB");
        assert_eq!(size(64 * 1024 * 1024 * 1024), "64 GiB");
        assert_eq!(space(Path::new("/nowhere/at/all")).level, Level::Warn);
    }
}
