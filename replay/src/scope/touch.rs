//! What an action touches, as policies see it.

use cedar_policy::RestrictedExpression;

use crate::effect::{Ground, Meeting, PathPattern, Target, Touch, Unresolved};

/// Most directories above a file that policies see.
const WITHIN_MAX: usize = 64;

/// The `paths` of patterns, each list under the id of its pattern.
#[derive(Debug, Default)]
pub(super) struct PathLists {
    lists: Vec<PathList>,
}

#[derive(Debug)]
struct PathList {
    id: String,
    texts: Vec<String>,
    compiled: Vec<Result<PathPattern, Unresolved>>,
}

impl PathLists {
    /// Adds a list; an empty one asks for nothing.
    pub(super) fn add(&mut self, id: &str, texts: &[String]) {
        if !texts.is_empty() {
            self.lists.push(PathList {
                id: id.to_owned(),
                texts: texts.to_vec(),
                compiled: Vec::new(),
            });
        }
    }

    /// Finds out which files are meant. To be called again when the ground is another.
    pub(super) fn compile(&mut self, ground: &Ground) {
        for list in &mut self.lists {
            let compiled = list
                .texts
                .iter()
                .map(|text| PathPattern::compile(text, ground));
            list.compiled = compiled.collect();
        }
    }

    /// How a touch stands to each list.
    pub(super) fn standing(&self, touch: Option<Touch<'_>>, ground: &Ground) -> Standing {
        let mut standing = Standing::default();
        let Some(touch) = touch else {
            return standing;
        };
        let is_file = touch.effect.is_on_files();
        let has_file = matches!(touch.target, Some(Target::File { .. }));
        let is_open = is_file && matches!(touch.target, Some(Target::Unknown(_)) | None);
        for list in &self.lists {
            let known = || list.compiled.iter().flatten();
            let is_unresolved = list.compiled.iter().any(Result::is_err) && (is_file || has_file);
            let is_inside = known().any(|pattern| touch.is_inside(pattern, ground));
            let meeting = known()
                .map(|pattern| touch.meets(pattern, ground))
                .max()
                .unwrap_or(Meeting::No);
            // Each file that a glob stands for may lie inside, even if the directory of the glob does not.
            let has_globs =
                matches!(touch.target, Some(Target::File { globs, .. }) if !globs.is_empty());
            let may_lie_inside = has_globs && meeting != Meeting::No;
            if is_inside {
                standing.inside.push(list.id.clone());
            } else if is_open || is_unresolved || may_lie_inside {
                standing.may_lie_inside.push(list.id.clone());
            }
            match meeting {
                Meeting::Yes => standing.meets.push(list.id.clone()),
                Meeting::May => standing.may_meet.push(list.id.clone()),
                Meeting::No if is_unresolved => standing.may_meet.push(list.id.clone()),
                Meeting::No => {}
            }
        }
        standing
    }

    /// Why it is unknown which files a list means.
    pub(super) fn unresolved(&self, id: &str) -> Option<String> {
        let list = self.lists.iter().find(|list| list.id == id)?;
        let pairs = list.texts.iter().zip(&list.compiled);
        let mut unresolved =
            pairs.filter_map(|(text, compiled)| Some((text, compiled.as_ref().err()?)));
        let (text, reason) = unresolved.next()?;
        Some(format!(
            "which files {text:?} means is open: {}",
            reason.as_str()
        ))
    }
}

/// How a touch stands to the lists of paths, each by its id.
#[derive(Debug, Default)]
pub(super) struct Standing {
    inside: Vec<String>,
    may_lie_inside: Vec<String>,
    meets: Vec<String>,
    may_meet: Vec<String>,
}

impl Standing {
    pub(super) fn add(&mut self, other: Self) {
        self.inside.extend(other.inside);
        self.may_lie_inside.extend(other.may_lie_inside);
        self.meets.extend(other.meets);
        self.may_meet.extend(other.may_meet);
    }

    /// The members of the context that tell of a touch.
    pub(super) fn members(&self, touch: Touch<'_>) -> Vec<(String, RestrictedExpression)> {
        let text = |text: &str| RestrictedExpression::new_string(text.to_owned());
        let set = |texts: &[String]| RestrictedExpression::new_set(texts.iter().map(|of| text(of)));
        let mut members = vec![
            ("effect", text(touch.effect.as_str())),
            ("certain", RestrictedExpression::new_bool(touch.is_certain)),
            ("inside", set(&self.inside)),
            ("may_lie_inside", set(&self.may_lie_inside)),
            ("meets", set(&self.meets)),
            ("may_meet", set(&self.may_meet)),
        ];
        let mut within = Vec::new();
        if let Some(Target::File { place, globs, .. }) = touch.target {
            members.push((
                "path",
                text(&touch.target.map(Target::words).unwrap_or_default()),
            ));
            let mut place = place.clone();
            if !globs.is_empty() {
                within.push(place.to_string());
            }
            while !place.components().is_empty() && within.len() < WITHIN_MAX {
                place = place.parent();
                within.push(place.to_string());
            }
        }
        members.push(("within", set(&within)));
        let named = members.into_iter();
        named.map(|(name, of)| (name.to_owned(), of)).collect()
    }
}

/// Why it cannot be told whether a prohibition is broken.
pub(super) fn open_prohibition(touch: Touch<'_>) -> String {
    match touch.is_certain {
        false => format!(
            "whether the action has the effect {:?} is open",
            touch.effect.as_str()
        ),
        true => format!(
            "whether what has the effect {:?} is meant is open: {}",
            touch.effect.as_str(),
            target(touch)
        ),
    }
}

/// Why it cannot be told whether a policy text forbids something.
pub(super) fn open_policy(touch: Touch<'_>) -> String {
    format!(
        "whether the policy text forbids what may have the effect {:?} is open: {}",
        touch.effect.as_str(),
        target(touch)
    )
}

/// Why it cannot be told whether something is permitted.
pub(super) fn open_permission(touch: Touch<'_>) -> String {
    match touch.is_certain {
        false => format!(
            "nothing permits the effect {:?} on everything, and whether the action has it is open",
            touch.effect.as_str()
        ),
        true => format!(
            "whether what has the effect {:?} is permitted is open: {}",
            touch.effect.as_str(),
            target(touch)
        ),
    }
}

fn target(touch: Touch<'_>) -> String {
    touch.target.map_or_else(
        || "what it acts on is not told".to_owned(),
        |target| format!("{:?}", target.words()),
    )
}
