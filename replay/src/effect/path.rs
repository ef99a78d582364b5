//! Which file a path in a text names, as far as text can tell.
//!
//! Paths are POSIX paths. `.`, `..` and doubled slashes are resolved without looking at a disk, so a symbolic link that nobody
//! declared is taken for a directory. What cannot be resolved is an [`Unresolved`] with the reason, never a guess.

mod pattern;

use std::borrow::Cow;
use std::fmt;

use remembrancer_schema::payload::Places;
use unicode_normalization::UnicodeNormalization;

pub(crate) use pattern::{Meeting, PathPattern};

/// Longest path that is looked at, in bytes: Linux takes no longer one.
const PATH_BYTES_MAX: usize = 4096;
/// Most declared links that one path may pass.
const LINKS_PASSED_MAX: usize = 16;
/// Most links made by the actions themselves that are remembered.
const MADE_LINKS_MAX: usize = 64;
/// Names below `/proc/PID` that lead elsewhere.
const PROC_LINKS: [&str; 6] = ["cwd", "exe", "fd", "map_files", "root", "task"];

/// An absolute path, component by component, without `.`, `..` and empty components.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Place {
    components: Vec<String>,
}

impl Place {
    /// Bytes that it holds, roughly.
    pub(crate) fn bytes(&self) -> usize {
        let names = self.components.iter();
        names.map(|name| size_of::<String>() + name.len()).sum()
    }

    /// The components, from the root on.
    pub fn components(&self) -> &[String] {
        &self.components
    }

    /// The directory that it stands in; the root stands in itself.
    pub fn parent(&self) -> Self {
        let kept = self.components.len().saturating_sub(1);
        Self {
            components: self.components[..kept].to_vec(),
        }
    }

    /// The last component.
    pub fn name(&self) -> Option<&str> {
        self.components.last().map(String::as_str)
    }

    /// The path of an entry of this directory. `name` is one component.
    pub fn entry(&self, name: &str) -> Self {
        let mut components = self.components.clone();
        components.push(name.to_owned());
        Self { components }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.components.is_empty() {
            return f.write_str("/");
        }
        self.components
            .iter()
            .try_for_each(|component| write!(f, "/{component}"))
    }
}

/// Why it is unknown which file a path names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unresolved {
    /// There is no text.
    Empty,
    /// It is longer than any path.
    TooLong,
    /// It holds a control character.
    Control,
    /// It may be a Windows path.
    Backslash,
    /// It is relative, and nobody declared where paths start.
    NoRoot,
    /// It starts at a home directory, and nobody declared which.
    NoHome,
    /// It starts at the home directory of another user.
    OtherHome,
    /// It passes more links than are followed.
    Links,
    /// It passes a link that was made by an action before it.
    MadeLink,
    /// It leads through a link of the kernel.
    Kernel,
    /// It goes up from a component that may be any.
    AboveGlob,
}

impl Unresolved {
    /// The reason in words.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Empty => "the path is empty",
            Self::TooLong => "the path is longer than 4096 bytes",
            Self::Control => "the path holds a control character",
            Self::Backslash => "the path holds a backslash and may be a Windows path",
            Self::NoRoot => "the path is relative and the scope declares no places.root",
            Self::NoHome => {
                "the path starts at the home directory and the scope declares no places.home"
            }
            Self::OtherHome => "the path starts at another user's home directory",
            Self::Links => "the path passes more than 16 declared links",
            Self::MadeLink => "the path passes a link that an action made before",
            Self::Kernel => "the path leads through a link of the kernel",
            Self::AboveGlob => "the path goes up from a component that may be any",
        }
    }
}

/// What is known of the file system: the declared places, and the links that actions made.
#[derive(Debug, Clone, Default)]
pub struct Ground {
    root: Option<Place>,
    home: Option<Place>,
    ignores_case: bool,
    /// The place of each declared link, as it is compared, and what it leads to.
    links: Vec<(Vec<String>, Vec<String>)>,
    /// Links that actions made, as they are compared.
    made: Vec<Vec<String>>,
    /// More links were made than are remembered.
    is_made_open: bool,
}

impl Ground {
    /// The ground that a scope declares.
    pub fn new(places: &Places) -> Self {
        let mut ground = Self {
            ignores_case: places.ignores_case,
            ..Self::default()
        };
        let absolute = |text: &String| {
            let components = text.strip_prefix('/')?.split('/');
            let mut place = Place::default();
            components.for_each(|component| step(&mut place.components, component));
            Some(place)
        };
        for (link, leads_to) in &places.links {
            if let (Some(link), Some(leads_to)) = (absolute(link), absolute(leads_to)) {
                let compared = ground.folded(&link.components);
                ground.links.push((compared, leads_to.components));
            }
        }
        let resolved = |text: &Option<String>| {
            let text = text.as_deref().filter(|text| text.starts_with('/'))?;
            ground.resolve(text, None).ok()
        };
        (ground.root, ground.home) = (resolved(&places.root), resolved(&places.home));
        ground
    }

    /// The directory that relative paths start from.
    pub fn root(&self) -> Option<&Place> {
        self.root.as_ref()
    }

    /// The home directory.
    pub fn home(&self) -> Option<&Place> {
        self.home.as_ref()
    }

    /// Remembers that an action made a link.
    pub fn note_link(&mut self, place: &Place) {
        if self.made.len() == MADE_LINKS_MAX {
            self.is_made_open = true;
            return;
        }
        let compared = self.folded(&place.components);
        if !self.made.contains(&compared) {
            self.made.push(compared);
        }
    }

    /// Whether an action made a link below a directory.
    pub(crate) fn has_link_below(&self, place: &Place) -> bool {
        let compared = self.folded(&place.components);
        self.is_made_open || self.made.iter().any(|link| link.starts_with(&compared))
    }

    /// Bytes that the links which actions made hold, roughly.
    pub(crate) fn bytes_of_made_links(&self) -> usize {
        let names = self.made.iter().flatten();
        names.map(|name| size_of::<String>() + name.len()).sum()
    }

    /// Takes over the links that were made on another ground.
    pub fn keep_links_of(&mut self, other: &Self) {
        self.made.clone_from(&other.made);
        self.is_made_open = other.is_made_open;
    }

    /// The file that a path names when it is used in the directory `from`. A leading `~` is a name like any other.
    pub(crate) fn resolve(&self, text: &str, from: Option<&Place>) -> Result<Place, Unresolved> {
        if text.is_empty() {
            return Err(Unresolved::Empty);
        }
        if text.len() > PATH_BYTES_MAX {
            return Err(Unresolved::TooLong);
        }
        if text.chars().any(char::is_control) {
            return Err(Unresolved::Control);
        }
        let is_drive = |text: &str| {
            let bytes = text.as_bytes();
            bytes.len() >= 2 && bytes[0].is_ascii_alphabetic() && bytes[1] == b':'
        };
        if text.contains('\\') || is_drive(text) {
            return Err(Unresolved::Backslash);
        }
        let mut components = match text.starts_with('/') {
            true => Vec::new(),
            false => from.ok_or(Unresolved::NoRoot)?.components.clone(),
        };
        let mut passed = 0;
        for component in text.split('/') {
            // Whatever follows, be it `..`, passes what was walked so far.
            self.check(&components, true)?;
            step(&mut components, component);
            self.follow(&mut components, &mut passed)?;
        }
        self.check(&components, text.ends_with('/'))?;
        Ok(Place { components })
    }

    /// The file that a path names where a leading `~` stands for the home directory.
    pub(crate) fn resolve_from_home(
        &self,
        text: &str,
        from: Option<&Place>,
    ) -> Result<Place, Unresolved> {
        match text.strip_prefix('~') {
            None => self.resolve(text, from),
            Some(rest) if rest.is_empty() || rest.starts_with('/') => {
                let home = self.home.as_ref().ok_or(Unresolved::NoHome)?;
                let rest = rest.trim_start_matches('/');
                self.resolve(if rest.is_empty() { "." } else { rest }, Some(home))
            }
            Some(_) => Err(Unresolved::OtherHome),
        }
    }

    /// Replaces what was walked so far by what a declared link leads to.
    fn follow(&self, components: &mut Vec<String>, passed: &mut usize) -> Result<(), Unresolved> {
        if self.links.is_empty() {
            return Ok(());
        }
        loop {
            let compared = self.folded(components);
            let Some((_, leads_to)) = self.links.iter().find(|(link, _)| *link == compared) else {
                return Ok(());
            };
            *passed += 1;
            if *passed > LINKS_PASSED_MAX {
                return Err(Unresolved::Links);
            }
            components.clone_from(leads_to);
        }
    }

    /// Links that are known to be there and not where they lead. The last component may be such a link itself: then an
    /// action on it is an action on the link, unless a slash follows.
    fn check(&self, components: &[String], is_directory: bool) -> Result<(), Unresolved> {
        let of_kernel = match components {
            [first, _, link, ..] if first == "proc" => PROC_LINKS.contains(&link.as_str()),
            [first, link, rest @ ..] if first == "dev" => {
                let is_stream = matches!(&**link, "stdin" | "stdout" | "stderr");
                link == "fd" || is_stream && (is_directory || !rest.is_empty())
            }
            [first, link, rest @ ..] if first == "proc" => {
                let is_link = matches!(&**link, "self" | "thread-self" | "net");
                is_link && (is_directory || !rest.is_empty())
            }
            _ => false,
        };
        if of_kernel {
            return Err(Unresolved::Kernel);
        }
        if self.is_made_open {
            return Err(Unresolved::MadeLink);
        }
        if self.made.is_empty() {
            return Ok(());
        }
        let compared = self.folded(components);
        let passes = |link: &Vec<String>| {
            compared.starts_with(link) && (is_directory || compared.len() > link.len())
        };
        match self.made.iter().any(passes) {
            true => Err(Unresolved::MadeLink),
            false => Ok(()),
        }
    }

    /// Components as they are compared with others.
    pub(super) fn folded(&self, components: &[String]) -> Vec<String> {
        let folded = components.iter().map(|component| self.fold(component));
        folded.map(Cow::into_owned).collect()
    }

    /// A name as it is compared with others.
    fn fold<'a>(&self, name: &'a str) -> Cow<'a, str> {
        match self.ignores_case {
            true => Cow::Owned(name.nfc().flat_map(char::to_lowercase).nfc().collect()),
            false => Cow::Borrowed(name),
        }
    }
}

fn step(components: &mut Vec<String>, component: &str) {
    match component {
        "" | "." => {}
        ".." => {
            components.pop();
        }
        name => components.push(name.to_owned()),
    }
}

#[cfg(test)]
mod tests;
