//! Where code may be, and what it reads, while it is walked.

use std::collections::BTreeSet;

use crate::effect::path::Place;

/// Most directories that code may be in at one place.
const DIRS_MAX: usize = 4;

/// The directories that code may be in; `None` is one that is not known.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Dirs(BTreeSet<Option<Place>>);

impl Dirs {
    pub(super) fn insert(&mut self, dir: Option<Place>) {
        if self.0.len() < DIRS_MAX {
            self.0.insert(dir);
        } else if !self.0.contains(&dir) {
            self.0 = BTreeSet::from([None]);
        }
    }

    pub(super) fn holds(&self, dir: &Option<Place>) -> bool {
        self.0.contains(dir)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = Option<&Place>> {
        self.0.iter().map(Option::as_ref)
    }

    pub(super) fn into_iter(self) -> impl Iterator<Item = Option<Place>> {
        self.0.into_iter()
    }

    /// The directory, if there is one and it is known.
    pub(super) fn only(&self) -> Option<&Place> {
        match self.0.len() {
            1 => self.0.first()?.as_ref(),
            _ => None,
        }
    }

    pub(super) fn add(&mut self, other: &Self) {
        other.0.iter().for_each(|dir| self.insert(dir.clone()));
    }

    pub(super) fn unknown() -> Self {
        Self(BTreeSet::from([None]))
    }

    /// These, or one that is not known.
    pub(super) fn with_unknown(&self) -> Self {
        let mut dirs = self.clone();
        dirs.insert(None);
        dirs
    }
}

/// Where code may be once it succeeded, and once it failed.
#[derive(Debug, Clone, Default)]
pub(super) struct Ends {
    pub(super) ok: Dirs,
    pub(super) failed: Dirs,
}

impl Ends {
    pub(super) fn at(dirs: &Dirs) -> Self {
        Self {
            ok: dirs.clone(),
            failed: dirs.clone(),
        }
    }

    pub(super) fn any(mut self) -> Dirs {
        self.ok.add(&self.failed);
        self.ok
    }
}

/// What a command reads.
#[derive(Debug, Clone, Copy)]
pub(super) enum Input<'a> {
    /// Nothing that the code gives it.
    Outside,
    /// A text that stands in the code.
    Text(&'a str),
    /// Something that cannot be told.
    Open,
}
