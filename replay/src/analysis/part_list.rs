//! The parts of one context, held as runs.

use serde::{Serialize, Serializer};

use super::PartIndex;

/// A list of parts, in order. A context mostly is the one before and a little more, and parts are numbered as they come, so a
/// list is a few runs of consecutive numbers, however long it is: those of many turns together stay small.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PartList {
    /// None is empty, and none goes on where the one before ends.
    runs: Vec<Run>,
    len: usize,
}

/// Consecutive parts at consecutive positions. It ends where the next one begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Run {
    /// Its first part.
    part: PartIndex,
    /// The position of that part: a context has at most 100,000.
    position: u32,
}

impl PartList {
    /// How many parts there are.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The part at a position.
    pub fn get(&self, position: usize) -> Option<PartIndex> {
        if position >= self.len {
            return None;
        }
        let behind = self
            .runs
            .partition_point(|run| run.position as usize <= position);
        let run = self.runs.get(behind.checked_sub(1)?)?;
        let within = position - run.position as usize;
        run.part.checked_add(PartIndex::try_from(within).ok()?)
    }

    /// The parts, in order.
    pub fn iter(&self) -> Parts<'_> {
        self.iter_from(0)
    }

    /// The parts from a position on.
    pub fn iter_from(&self, position: usize) -> Parts<'_> {
        let behind = self
            .runs
            .partition_point(|run| run.position as usize <= position);
        let mut parts = Parts {
            list: self,
            next: behind,
            part: 0,
            in_run: 0,
            left: self.len.saturating_sub(position),
        };
        if let (Some(part), Some(at)) = (self.get(position), behind.checked_sub(1)) {
            let (_, length) = self.run(at);
            let within = position - self.runs[at].position as usize;
            (parts.part, parts.in_run) = (part, length - within);
        }
        parts
    }

    /// How many parts two lists have in common from their start. Costs their runs, not their parts.
    pub fn common_start(&self, other: &Self) -> usize {
        for at in 0..self.runs.len().min(other.runs.len()) {
            let ((part, length), (other_part, other_length)) = (self.run(at), other.run(at));
            // The positions are the same: every run before was.
            let start = self.runs[at].position as usize;
            if part != other_part {
                return start;
            }
            if length != other_length {
                return start + length.min(other_length);
            }
        }
        self.len.min(other.len)
    }

    /// Whether a list is the start of this one.
    pub fn starts_with(&self, other: &Self) -> bool {
        self.common_start(other) == other.len
    }

    /// Appends a part.
    pub fn push(&mut self, part: PartIndex) {
        let goes_on = self.runs.last().is_some_and(|run| {
            let length = self.len - run.position as usize;
            PartIndex::try_from(length)
                .ok()
                .and_then(|length| run.part.checked_add(length))
                == Some(part)
        });
        if !goes_on {
            let position = u32::try_from(self.len).expect("a context has at most 100,000 parts");
            self.runs.push(Run { part, position });
        }
        self.len += 1;
    }

    /// The parts as a list of numbers, for what has to look at every one.
    pub fn to_vec(&self) -> Vec<PartIndex> {
        self.iter().collect()
    }

    /// How many runs it is held as.
    pub(crate) fn run_count(&self) -> usize {
        self.runs.len()
    }

    /// Bytes that it holds beside itself.
    pub(crate) fn bytes(&self) -> usize {
        self.runs.len() * size_of::<Run>()
    }

    /// Gives back what was taken for parts to come.
    pub(crate) fn shrink(&mut self) {
        self.runs.shrink_to_fit();
    }

    /// The first part of a run, and how many there are.
    fn run(&self, at: usize) -> (PartIndex, usize) {
        let run = self.runs[at];
        let end = self
            .runs
            .get(at + 1)
            .map_or(self.len, |next| next.position as usize);
        (run.part, end - run.position as usize)
    }
}

/// The parts of a list, in order.
#[derive(Debug, Clone)]
pub struct Parts<'a> {
    list: &'a PartList,
    /// The run behind the one at hand.
    next: usize,
    /// The next part, and how many of its run are left with it.
    part: PartIndex,
    in_run: usize,
    left: usize,
}

impl Iterator for Parts<'_> {
    type Item = PartIndex;

    fn next(&mut self) -> Option<PartIndex> {
        if self.left == 0 {
            return None;
        }
        if self.in_run == 0 {
            (self.part, self.in_run) = self.list.run(self.next);
            self.next += 1;
        }
        let part = self.part;
        self.part = part.wrapping_add(1);
        self.in_run -= 1;
        self.left -= 1;
        Some(part)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }
}

impl ExactSizeIterator for Parts<'_> {}

impl<'a> IntoIterator for &'a PartList {
    type Item = PartIndex;
    type IntoIter = Parts<'a>;

    fn into_iter(self) -> Parts<'a> {
        self.iter()
    }
}

impl FromIterator<PartIndex> for PartList {
    fn from_iter<T: IntoIterator<Item = PartIndex>>(parts: T) -> Self {
        let mut list = Self::default();
        list.extend(parts);
        list
    }
}

impl Extend<PartIndex> for PartList {
    fn extend<T: IntoIterator<Item = PartIndex>>(&mut self, parts: T) {
        parts.into_iter().for_each(|part| self.push(part));
    }
}

/// As its runs: `[first, one past the last]`.
impl Serialize for PartList {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let runs = (0..self.runs.len()).map(|at| self.run(at));
        serializer.collect_seq(runs.map(|(part, length)| (part, u64::from(part) + length as u64)))
    }
}

#[cfg(test)]
mod tests;
