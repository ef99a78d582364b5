//! What an action touches: for each effect whether the action has it, and on what.
//!
//! Everything is read from the call alone: its tool's name, its arguments, and what the scope declares of the tool and the file
//! system. Nothing is run and no disk is looked at. What cannot be told is [`Known::Unknown`] with the reason; it never counts as
//! harmless. `docs/scope.md` says what is known and what is not.

mod patch;
mod path;
mod shell;
mod table;
mod tool;

use std::collections::{BTreeMap, BTreeSet};

use remembrancer_schema::payload::Effect;
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

pub use path::{Ground, Place};
pub(crate) use path::{Meeting, PathPattern, Unresolved};
pub use shell::ShellState;
pub use tool::{Call, effects_of};

/// Most targets that are told one by one.
const TARGETS_MAX: usize = 64;
/// Most reasons that are told.
const REASONS_MAX: usize = 8;
/// Most characters of a text that is told as it stands in the call.
const SHOWN_CHARS_MAX: usize = 160;

/// Whether an action has an effect.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Known {
    /// It has not.
    #[default]
    False,
    /// It cannot be told.
    Unknown,
    /// It has, if it succeeds.
    True,
}

impl Known {
    /// The word as it is written.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::False => "false",
            Self::Unknown => "unknown",
            Self::True => "true",
        }
    }
}

/// What an action acts on.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Target {
    /// Files of this machine.
    File {
        /// The file, or the directory that a glob is looked for in.
        place: Place,
        /// The components that a shell expands, where there are any.
        globs: Vec<String>,
        /// Everything below it is meant too.
        tree: bool,
    },
    /// Another machine, something on it, or something here that is no file.
    Elsewhere(String),
    /// It cannot be told; how it stands in the call.
    Unknown(String),
}

impl Target {
    /// One file, or a directory without what it holds.
    pub fn file(place: Place) -> Self {
        Self::File {
            place,
            globs: Vec::new(),
            tree: false,
        }
    }

    /// What cannot be told, with its words cut to a bounded length.
    pub fn unknown(text: &str) -> Self {
        Self::Unknown(shown(text))
    }

    /// What is no file of this machine, with its words cut to a bounded length.
    pub fn elsewhere(text: &str) -> Self {
        Self::Elsewhere(shown(text))
    }

    /// The target in words: a path, the name of a machine, or the text that stands in the call.
    pub fn words(&self) -> String {
        match self {
            Self::File { place, globs, .. } if globs.is_empty() => place.to_string(),
            Self::File { place, globs, .. } => {
                let place = place.to_string();
                format!("{}/{}", place.trim_end_matches('/'), globs.join("/"))
            }
            Self::Elsewhere(text) | Self::Unknown(text) => text.clone(),
        }
    }
}

impl Serialize for Target {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        let kind = match self {
            Self::File { .. } => "path",
            Self::Elsewhere(_) => "elsewhere",
            Self::Unknown(_) => "unknown",
        };
        map.serialize_entry(kind, &self.words())?;
        if let Self::File { tree: true, .. } = self {
            map.serialize_entry("tree", &true)?;
        }
        map.end()
    }
}

/// The effects of an action.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Effects {
    known: [Known; Effect::ALL.len()],
    /// Whether the action may have an effect on more than is told.
    is_open: [bool; Effect::ALL.len()],
    /// Whether the action has an effect on something that is not told.
    is_untold: [bool; Effect::ALL.len()],
    targets: BTreeSet<(Effect, Target)>,
    reasons: Vec<String>,
}

impl Effects {
    /// Nothing is known of the action.
    pub fn all_unknown(reason: &str) -> Self {
        let mut effects = Self::default();
        effects.all_become_unknown(reason);
        effects
    }

    /// Whether the action has an effect.
    pub fn of(&self, effect: Effect) -> Known {
        self.known[effect as usize]
    }

    /// Whether the action has an effect and may have it on more than is told.
    pub fn may_touch_more(&self, effect: Effect) -> bool {
        let is_untold = self.is_untold[effect as usize] && self.targets(effect).next().is_some();
        self.of(effect) == Known::True && (self.is_open[effect as usize] || is_untold)
    }

    /// What the action acts on with an effect. Empty where it has the effect and what it acts on is not told.
    pub fn targets(&self, effect: Effect) -> impl Iterator<Item = &Target> {
        let targets = self.targets.iter();
        targets
            .filter(move |(of, _)| *of == effect)
            .map(|(_, target)| target)
    }

    /// Why something cannot be told.
    pub fn reasons(&self) -> &[String] {
        &self.reasons
    }

    /// Whether the action is known to have no effect.
    pub fn is_none(&self) -> bool {
        self.known.iter().all(|known| *known == Known::False)
    }

    /// Bytes that the targets and reasons hold, roughly.
    pub(crate) fn bytes(&self) -> usize {
        let of_target = |(_, target): &(Effect, Target)| {
            size_of::<(Effect, Target)>()
                + match target {
                    Target::File { place, globs, .. } => {
                        let names = place.components().iter().chain(globs);
                        names.map(|name| size_of::<String>() + name.len()).sum()
                    }
                    Target::Elsewhere(text) | Target::Unknown(text) => text.len(),
                }
        };
        let reasons = self.reasons.iter();
        self.targets.iter().map(of_target).sum::<usize>()
            + reasons
                .map(|reason| size_of::<String>() + reason.len())
                .sum::<usize>()
    }

    /// The action has the effect; what it acts on is not told.
    pub(crate) fn have(&mut self, effect: Effect) {
        self.known[effect as usize] = Known::True;
        self.is_untold[effect as usize] = true;
    }

    /// The action has the effect on a target.
    pub(crate) fn touch(&mut self, effect: Effect, target: Target) {
        self.known[effect as usize] = Known::True;
        if self.targets.len() < TARGETS_MAX {
            self.targets.insert((effect, target));
        } else if !self.targets.contains(&(effect, target)) {
            self.targets.insert((effect, Target::unknown("more")));
            self.note("the action touches more targets than are told one by one");
        }
    }

    /// It cannot be told whether the action has the effect.
    pub(crate) fn become_unknown(&mut self, effect: Effect, reason: &str) {
        let known = &mut self.known[effect as usize];
        *known = (*known).max(Known::Unknown);
        self.is_open[effect as usize] = true;
        self.note(reason);
    }

    /// It cannot be told which effects the action has, beside those that it is known to have.
    pub(crate) fn all_become_unknown(&mut self, reason: &str) {
        for effect in Effect::ALL {
            self.become_unknown(effect, reason);
        }
    }

    /// Keeps why something cannot be told.
    pub(crate) fn note(&mut self, reason: &str) {
        let reason = shown(reason);
        if self.reasons.len() < REASONS_MAX && !self.reasons.contains(&reason) {
            self.reasons.push(reason);
        }
    }

    /// The action has the effects of another one too.
    pub(crate) fn add(&mut self, other: &Self) {
        for effect in Effect::ALL {
            let known = &mut self.known[effect as usize];
            *known = (*known).max(other.of(effect));
            self.is_open[effect as usize] |= other.is_open[effect as usize];
            self.is_untold[effect as usize] |= other.is_untold[effect as usize];
        }
        for (effect, target) in &other.targets {
            self.touch(*effect, target.clone());
        }
        other.reasons.iter().for_each(|reason| self.note(reason));
    }

    /// What is touched, one by one, for a judgement: each effect that the action has with each target, and each effect that it
    /// may have.
    pub(crate) fn touches(&self) -> Vec<Touch<'_>> {
        let mut touches = Vec::new();
        for effect in Effect::ALL {
            let of = |is_certain, target| Touch {
                effect,
                is_certain,
                target,
            };
            if self.of(effect) == Known::True {
                let before = touches.len();
                touches.extend(self.targets(effect).map(|target| of(true, Some(target))));
                if touches.len() == before || self.is_untold[effect as usize] {
                    touches.push(of(true, None));
                }
            }
            if self.is_open[effect as usize] {
                touches.push(of(false, None));
            }
        }
        touches
    }
}

/// One effect of an action on one target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Touch<'a> {
    /// The effect.
    pub(crate) effect: Effect,
    /// Whether the action has it, or only may have it.
    pub(crate) is_certain: bool,
    /// What it acts on; `None` where that is not told.
    pub(crate) target: Option<&'a Target>,
}

impl Touch<'_> {
    /// Whether what is touched lies inside a pattern, for certain.
    pub(crate) fn is_inside(&self, pattern: &PathPattern, ground: &Ground) -> bool {
        match self.target {
            Some(Target::File { place, .. }) => pattern.holds(place, ground),
            Some(Target::Elsewhere(_)) => false,
            Some(Target::Unknown(_)) | None => self.effect.is_on_files() && pattern.is_everything(),
        }
    }

    /// How what is touched stands to a pattern.
    pub(crate) fn meets(&self, pattern: &PathPattern, ground: &Ground) -> Meeting {
        if self.is_inside(pattern, ground) {
            return Meeting::Yes;
        }
        match self.target {
            Some(Target::Elsewhere(_)) => Meeting::No,
            Some(Target::File { place, globs, tree }) if globs.is_empty() => {
                let reaches = *tree && pattern.reaches_below(place, ground);
                match (reaches, self.effect) {
                    (false, _) => Meeting::No,
                    // Whoever copies into a directory writes some of what is below it, whoever removes or reads one all of it.
                    (true, Effect::Delete | Effect::Read) => Meeting::Yes,
                    (true, _) => Meeting::May,
                }
            }
            Some(Target::File {
                place,
                globs,
                tree: true,
            }) if matches!(self.effect, Effect::Delete | Effect::Read)
                && pattern.must_meet(place, globs, ground) =>
            {
                Meeting::Yes
            }
            Some(Target::File { place, globs, tree }) => {
                match pattern.may_hold(place, globs, *tree, ground) {
                    true => Meeting::May,
                    false => Meeting::No,
                }
            }
            Some(Target::Unknown(_)) | None if self.effect.is_on_files() => Meeting::May,
            Some(Target::Unknown(_)) | None => Meeting::No,
        }
    }
}

impl Serialize for Effects {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let all = Effect::ALL.into_iter();
        let known: BTreeMap<Effect, Known> = all.map(|effect| (effect, self.of(effect))).collect();
        let mut targets: BTreeMap<Effect, Vec<&Target>> = BTreeMap::new();
        for (effect, target) in &self.targets {
            targets.entry(*effect).or_default().push(target);
        }
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("known", &known)?;
        if !targets.is_empty() {
            map.serialize_entry("targets", &targets)?;
        }
        let more = Effect::ALL.into_iter();
        let more: Vec<Effect> = more.filter(|effect| self.may_touch_more(*effect)).collect();
        if !more.is_empty() {
            map.serialize_entry("may_touch_more", &more)?;
        }
        if !self.reasons.is_empty() {
            map.serialize_entry("unknown_because", &self.reasons)?;
        }
        map.end()
    }
}

/// A text as it is told: cut to a bounded length.
fn shown(text: &str) -> String {
    match text.char_indices().nth(SHOWN_CHARS_MAX) {
        None => text.to_owned(),
        Some((end, _)) => format!("{}…", &text[..end]),
    }
}
