//! The `paths` of a declared pattern: which files are meant, by whole components.

use super::{Ground, Place, Unresolved};

/// How a file that an action touches stands to a pattern.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Meeting {
    /// They have no file in common.
    No,
    /// They may have a file in common.
    May,
    /// They have.
    Yes,
}

/// A path of a declared pattern. It means the file and everything below it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PathPattern {
    parts: Vec<Part>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Part {
    /// One component; it may hold `*` and `?`.
    Name(String),
    /// Any number of components.
    Any,
}

impl PathPattern {
    /// Reads a pattern. A relative one starts at the root, a leading `~` at the home directory.
    pub(crate) fn compile(text: &str, ground: &Ground) -> Result<Self, Unresolved> {
        let fixed_end = text
            .split_inclusive('/')
            .take_while(|component| !is_wild(component.trim_end_matches('/')))
            .map(str::len)
            .sum();
        let (fixed, rest) = text.split_at(fixed_end);
        let from = ground.root();
        let place = match fixed {
            "" if text.is_empty() => return Err(Unresolved::Empty),
            "" => from.cloned().ok_or(Unresolved::NoRoot)?,
            fixed => ground.resolve_from_home(fixed, from)?,
        };
        let mut parts: Vec<Part> = ground
            .folded(place.components())
            .into_iter()
            .map(Part::Name)
            .collect();
        let fixed_parts = parts.len();
        for component in rest.split('/') {
            match component {
                "" | "." => {}
                "**" => {
                    if parts.last() != Some(&Part::Any) {
                        parts.push(Part::Any);
                    }
                }
                // What lies above a component that may be any is any directory.
                ".." if parts.len() > fixed_parts => return Err(Unresolved::AboveGlob),
                name => parts.push(Part::Name(ground.fold(name).into_owned())),
            }
        }
        Ok(Self { parts })
    }

    /// Whether it means every file there is.
    pub(crate) fn is_everything(&self) -> bool {
        self.parts.iter().all(|part| *part == Part::Any)
    }

    /// Whether a file is the one that is meant, or lies below it.
    pub(crate) fn holds(&self, place: &Place, ground: &Ground) -> bool {
        let mut walk = Walk::new(&self.parts);
        walk.is_through || {
            let components = ground.folded(place.components());
            components.iter().any(|component| {
                walk.step(|name| name_matches(name, component));
                walk.is_through
            })
        }
    }

    /// Whether something below a directory is meant that the directory itself does not show.
    pub(crate) fn reaches_below(&self, place: &Place, ground: &Ground) -> bool {
        let mut walk = Walk::new(&self.parts);
        for component in ground.folded(place.components()) {
            walk.step(|name| name_matches(name, &component));
        }
        walk.is_alive()
    }

    /// Whether a shell's globs that stand for every name there is surely stand for what is meant, or for something above it.
    pub(crate) fn must_meet(&self, place: &Place, globs: &[String], ground: &Ground) -> bool {
        let mut walk = Walk::new(&self.parts);
        for component in ground.folded(place.components()) {
            walk.step(|name| name_matches(name, &component));
        }
        // A star stands for no name that begins with a dot.
        let is_meant = |name: &str| !is_wild(name) && !name.starts_with('.');
        let is_every = |glob: &String| glob == "*";
        globs.iter().all(is_every) && {
            globs.iter().for_each(|_| walk.step(is_meant));
            walk.is_alive()
        }
    }

    /// Whether one of the files below `place` that a shell's glob may stand for is meant. With `tree`, what lies below them too.
    pub(crate) fn may_hold(
        &self,
        place: &Place,
        globs: &[String],
        tree: bool,
        ground: &Ground,
    ) -> bool {
        let mut walk = Walk::new(&self.parts);
        for component in ground.folded(place.components()) {
            walk.step(|name| name_matches(name, &component));
        }
        for glob in ground.folded(globs) {
            if walk.is_through {
                return true;
            }
            let is_plain = |name: &str| !is_wild(name);
            walk.step(|name| match (is_plain(name), is_glob(&glob)) {
                (true, _) => glob_matches(&glob, name),
                (false, false) => name_matches(name, &glob),
                (false, true) => true,
            });
        }
        walk.is_through || tree && walk.is_alive()
    }
}

/// The positions in a pattern that a path has come to.
struct Walk<'a> {
    parts: &'a [Part],
    at: Vec<bool>,
    /// The whole pattern was walked.
    is_through: bool,
}

impl<'a> Walk<'a> {
    fn new(parts: &'a [Part]) -> Self {
        let mut walk = Self {
            parts,
            at: vec![false; parts.len() + 1],
            is_through: false,
        };
        walk.arrive(0);
        walk
    }

    fn arrive(&mut self, at: usize) {
        self.at[at] = true;
        match self.parts.get(at) {
            None => self.is_through = true,
            // It stands for no component too.
            Some(Part::Any) if !self.at[at + 1] => self.arrive(at + 1),
            Some(_) => {}
        }
    }

    fn step(&mut self, matches: impl Fn(&str) -> bool) {
        let before = std::mem::replace(&mut self.at, vec![false; self.parts.len() + 1]);
        for (at, part) in self.parts.iter().enumerate() {
            match part {
                _ if !before[at] => {}
                Part::Any => self.arrive(at),
                Part::Name(name) if matches(name) => self.arrive(at + 1),
                Part::Name(_) => {}
            }
        }
    }

    fn is_alive(&self) -> bool {
        self.at.contains(&true)
    }
}

fn is_wild(component: &str) -> bool {
    component.contains(['*', '?'])
}

/// Whether a shell takes a component for a glob.
fn is_glob(component: &str) -> bool {
    component.contains(['*', '?', '['])
}

/// Whether a component of a declared pattern matches a whole name. `*` stands for any run of characters, `?` for one.
fn name_matches(pattern: &str, name: &str) -> bool {
    matches(pattern, name, false)
}

/// Whether a shell's glob may stand for a whole name. What a set in brackets holds is not looked at: it may stand for anything.
fn glob_matches(glob: &str, name: &str) -> bool {
    matches(glob, name, true)
}

fn matches(glob: &str, name: &str, has_sets: bool) -> bool {
    let (glob, name): (Vec<char>, Vec<char>) = (glob.chars().collect(), name.chars().collect());
    let (mut at, mut seen) = (0, 0);
    let mut last_star: Option<(usize, usize)> = None;
    loop {
        match glob.get(at) {
            Some('*') => {
                last_star = Some((at, seen));
                at += 1;
                continue;
            }
            Some('[') if has_sets && glob[at..].contains(&']') => return true,
            Some('?') if seen < name.len() => {
                (at, seen) = (at + 1, seen + 1);
                continue;
            }
            Some(expected) if name.get(seen) == Some(expected) => {
                (at, seen) = (at + 1, seen + 1);
                continue;
            }
            None if seen == name.len() => return true,
            _ => {}
        }
        match &mut last_star {
            Some((star, from)) if *from < name.len() => {
                *from += 1;
                (at, seen) = (*star + 1, *from);
            }
            _ => return false,
        }
    }
}
