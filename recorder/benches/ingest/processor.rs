//! Processor time of this process's threads, as Linux counts it.

use std::path::Path;
use std::time::Duration;

/// Processor time that the threads which serve HTTP have used so far. They are the first that the runtime started: those for
/// work that blocks, with the same name, come later. Nothing where the system does not tell.
pub(crate) fn of_workers() -> Duration {
    let count = std::thread::available_parallelism().map_or(1, usize::from);
    let Ok(threads) = std::fs::read_dir("/proc/self/task") else {
        return Duration::ZERO;
    };
    let mut workers: Vec<(u64, Duration)> = threads
        .filter_map(|thread| used(&thread.ok()?.path()))
        .collect();
    workers.sort_unstable();
    workers.iter().take(count).map(|(_, used)| *used).sum()
}

/// A worker's number and what it used; `None` for another thread.
fn used(thread: &Path) -> Option<(u64, Duration)> {
    let name = std::fs::read_to_string(thread.join("comm")).ok()?;
    if name.trim() != "tokio-rt-worker" {
        return None;
    }
    let times = std::fs::read_to_string(thread.join("schedstat")).ok()?;
    let used = times.split_whitespace().next()?.parse().ok()?;
    let number = thread.file_name()?.to_str()?.parse().ok()?;
    Some((number, Duration::from_nanos(used)))
}
