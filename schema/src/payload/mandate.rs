//! What was declared before acting: intent, scope and constraints.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::context::Witness;
use crate::id::ConstraintId;
use crate::limits::{
    CONSTRAINT_TEXT_BYTES_MAX, MATCHER_REGEX_BYTES_MAX, MATCHER_TERMS_MAX, PLACES_LINKS_MAX,
    PLACES_PATH_BYTES_MAX,
};

/// Who stated something, and where.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StatedBy {
    /// `operator`, `user`, `application`, `agent` …
    pub role: String,
    /// A person's or a program's name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The document it stands in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
}

/// `intent.declared`: what the agent is about to do and what for.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct IntentDeclared {
    /// The objective in words.
    pub objective: String,
    /// Systems or data that the intent names.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub targets: Vec<String>,
    /// Who stated it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stated_by: Option<StatedBy>,
    /// How this became known; without it, as the session says, or else `claimed`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub witness: Option<Witness>,
}

/// `scope.declared`: which actions are permitted and which prohibited. A later declaration is a new version, in force for the
/// actions that are recorded after it in this session, and for no others.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ScopeDeclared {
    /// The tools that the agent was given, with what they act on.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<ToolDeclaration>,
    /// An action that matches none of these is out of scope. Empty, with `policy` empty too: every action is in scope.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub permitted: Vec<ActionPattern>,
    /// An action that matches one of these is prohibited, whatever is permitted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub prohibited: Vec<ActionPattern>,
    /// Further Cedar policies, evaluated together with the ones compiled from the lists.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policy: Option<String>,
    /// Where the paths of actions and of `paths` in patterns are looked for. Without it, only absolute paths are known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub places: Option<Places>,
    /// No scope is declared from here on: the one before is over, and nothing of this one counts.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub withdrawn: bool,
    /// Who stated it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stated_by: Option<StatedBy>,
    /// How this became known; without it, as the session says, or else `claimed`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub witness: Option<Witness>,
}

impl ScopeDeclared {
    pub(super) fn check(&self) -> Result<(), String> {
        self.places.as_ref().map_or(Ok(()), Places::check)
    }
}

/// What has to be known of a file system to tell from a text which file it names.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Places {
    /// The absolute directory that relative paths start from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub root: Option<String>,
    /// The absolute home directory: what `~` and `$HOME` stand for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub home: Option<String>,
    /// File names that differ only in case, or in how an accented letter is composed, name one file.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub ignores_case: bool,
    /// Symbolic links that are known: the absolute path of each, and the absolute path that it leads to.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub links: BTreeMap<String, String>,
}

impl Places {
    fn check(&self) -> Result<(), String> {
        if self.links.len() > PLACES_LINKS_MAX {
            return Err(format!(
                "places.links holds {} links; at most {PLACES_LINKS_MAX} are allowed",
                self.links.len()
            ));
        }
        let links = self.links.iter().flat_map(|(link, to)| [link, to]);
        let named = [("root", &self.root), ("home", &self.home)];
        let named = named
            .into_iter()
            .filter_map(|(name, path)| Some((name, path.as_ref()?)));
        for (name, path) in named.chain(links.map(|path| ("links", path))) {
            if !path.starts_with('/') {
                return Err(format!(
                    "places.{name} holds {path:?}, which is no absolute path: it must start with a slash"
                ));
            }
            if path.len() > PLACES_PATH_BYTES_MAX {
                return Err(format!(
                    "a path in places.{name} has {} bytes; at most {PLACES_PATH_BYTES_MAX} are allowed",
                    path.len()
                ));
            }
        }
        Ok(())
    }
}

/// What an action does to what it touches.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Effect {
    /// It reads a file or a directory.
    Read,
    /// It creates or changes a file or a directory, its mode or its owner.
    Write,
    /// It removes a file or a directory, or history that was kept.
    Delete,
    /// It speaks with another machine.
    Network,
    /// It starts or stops a program whose code does not stand in the action.
    Execute,
    /// It acts with another user's rights, or changes the system or the rights that others have on it.
    Privilege,
}

impl Effect {
    /// Every effect, in the order in which they are shown.
    pub const ALL: [Self; 6] = [
        Self::Read,
        Self::Write,
        Self::Delete,
        Self::Network,
        Self::Execute,
        Self::Privilege,
    ];

    /// The effect as it is written.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Delete => "delete",
            Self::Network => "network",
            Self::Execute => "execute",
            Self::Privilege => "privilege",
        }
    }

    /// Whether what it touches is a file.
    pub fn is_on_files(self) -> bool {
        matches!(self, Self::Read | Self::Write | Self::Delete)
    }
}

/// A tool that the agent was given.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ToolDeclaration {
    /// The tool's name.
    pub tool: String,
    /// The system or data that it acts on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
    /// What it does there: `READ`, `WRITE`, `EXECUTE`, `DELETE` …
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub operation: Option<String>,
    /// The effects that a call of it has, and no others. Without it, they are taken from the name and the arguments of the call
    /// where both are known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effects: Option<Vec<Effect>>,
}

/// Which actions are meant. Every field that is given must hold; a pattern without any matches every action.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ActionPattern {
    /// Tool name; `*` stands for any run of characters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// Target; `*` stands for any run of characters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
    /// Operation, exactly.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub operation: Option<String>,
    /// Conditions on the call's arguments.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub arguments: Vec<ArgumentCondition>,
    /// The effects that are meant. A permission covers these effects of an action and no others; a prohibition is broken by each.
    /// Where it is unknown whether an action has one, a prohibition leaves the action open.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub effects: Vec<Effect>,
    /// The files that are meant, with everything below them, by whole components: `src` is not `src-old`. A relative path starts
    /// at the root of the scope in force; `*` and `?` stand for any characters of one component, `**` for any components. A
    /// permission covers what lies inside; a prohibition is broken by what meets one of them. Where it is unknown which file an
    /// action touches, neither is certain, and the action cannot be judged.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub paths: Vec<String>,
}

/// A condition on one top-level argument of a call. Every bound that is given must hold; a missing argument fulfils none. Where a
/// bound in a prohibition meets an argument that is no number, the action cannot be judged.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ArgumentCondition {
    /// The argument's name.
    pub name: String,
    /// The argument is this text; `*` stands for any run of characters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub like: Option<String>,
    /// The argument is a number and at most this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_most: Option<i64>,
    /// The argument is a number and at least this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_least: Option<i64>,
}

/// What kind of statement a constraint is.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum ConstraintKind {
    /// What the agent must never do.
    Prohibition,
    /// What the agent may do.
    Permission,
    /// What the agent must do.
    Obligation,
    /// What must not be forgotten.
    Fact,
}

impl ConstraintKind {
    /// The kind as it is written.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Prohibition => "prohibition",
            Self::Permission => "permission",
            Self::Obligation => "obligation",
            Self::Fact => "fact",
        }
    }
}

/// `constraint.declared`: one limit, duty or fact whose presence in the context is watched.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ConstraintDeclared {
    /// Its name within the session.
    pub id: ConstraintId,
    /// What kind of statement it is.
    pub kind: ConstraintKind,
    /// The statement, as the agent was told it.
    pub text: String,
    /// How to find it in a context when its words may vary. Without one, the words of `text` are looked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub matcher: Option<Matcher>,
    /// The actions that the statement is about: for a prohibition, those that break it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub actions: Vec<ActionPattern>,
    /// Who stated it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stated_by: Option<StatedBy>,
    /// A program took it for a rule in what somebody wrote; nobody declared it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub inferred: bool,
    /// How this became known; without it, as the session says, or else `claimed`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub witness: Option<Witness>,
}

impl ConstraintDeclared {
    pub(super) fn check(&self) -> Result<(), String> {
        if self.text.trim().is_empty() {
            return Err(format!("the text of constraint {:?} is empty", self.id));
        }
        if self.text.len() > CONSTRAINT_TEXT_BYTES_MAX {
            return Err(format!(
                "the text of constraint {:?} has {} bytes; at most {CONSTRAINT_TEXT_BYTES_MAX} are allowed",
                self.id,
                self.text.len()
            ));
        }
        match &self.matcher {
            Some(matcher) if matcher.all_of.is_empty() && matcher.any_of.is_empty() => {
                Err(format!(
                    "the matcher of constraint {:?} has neither all_of nor any_of",
                    self.id
                ))
            }
            Some(matcher) if matcher.all_of.len() + matcher.any_of.len() > MATCHER_TERMS_MAX => {
                Err(format!(
                    "the matcher of constraint {:?} has more than {MATCHER_TERMS_MAX} terms",
                    self.id
                ))
            }
            Some(matcher) => matcher
                .all_of
                .iter()
                .chain(&matcher.any_of)
                .try_for_each(MatchTerm::check),
            None => Ok(()),
        }
    }
}

/// Holds over a context when every term of `all_of` and, if there are any, at least one of `any_of` is found in it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Matcher {
    /// Terms that must all be found, anywhere in the carrying parts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub all_of: Vec<MatchTerm>,
    /// Terms of which one must be found.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub any_of: Vec<MatchTerm>,
    /// Look in every part, not only in carrying ones. Reproduces plain term checks; a hit in the agent's own words then
    /// counts, so the result says less.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub any_part: bool,
}

/// One thing to look for. Exactly one of `term`, `literal` and `regex` is given.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MatchTerm {
    /// Words, compared without regard to case, on word boundaries.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub term: Option<String>,
    /// With `term`: inside words too, a plain substring of the lower-cased text.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub substring: bool,
    /// Text, compared as `verbatim` is: case, white space and punctuation folded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub literal: Option<String>,
    /// A regular expression of the `regex` crate (linear time), at most 1,024 bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub regex: Option<String>,
}

impl MatchTerm {
    fn check(&self) -> Result<(), String> {
        let given: Vec<&String> = [&self.term, &self.literal, &self.regex]
            .into_iter()
            .flatten()
            .collect();
        match given[..] {
            [text] if text.trim().is_empty() => Err("a matcher's term is empty".to_owned()),
            [_] if self
                .regex
                .as_ref()
                .is_some_and(|regex| regex.len() > MATCHER_REGEX_BYTES_MAX) =>
            {
                Err(format!(
                    "a matcher's regex has more than {MATCHER_REGEX_BYTES_MAX} bytes"
                ))
            }
            [_] => Ok(()),
            _ => Err("a matcher's term has exactly one of term, literal and regex".to_owned()),
        }
    }
}
