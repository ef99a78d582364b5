//! One statement of a mission file: a text alone, or a text with an id, a matcher and the actions that it is about.

use std::fmt;

use super::document::Spot;
use crate::transcript::DeclaredFrom;
use remembrancer_schema::ContentHash;
use remembrancer_schema::limits::{PATTERN_LISTED_MAX, PATTERN_PATH_BYTES_MAX};
use remembrancer_schema::payload::{ActionPattern, ArgumentCondition, Effect, MatchTerm, Matcher};
use serde::Deserialize;
use serde::de::{self, Deserializer, MapAccess, Visitor, value::MapAccessDeserializer};
use serde_saphyr::Spanned;

/// Longest id that is made from a statement's words, in bytes.
const MADE_ID_BYTES_MAX: usize = 60;

/// A statement with its place.
#[derive(Debug)]
pub(super) struct Statement {
    /// Where it begins.
    pub(super) at: Spot,
    fields: Fields,
}

/// A statement written out as a mapping.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Fields {
    id: Option<String>,
    text: String,
    matcher: Option<MatcherFields>,
    #[serde(default)]
    actions: Vec<ActionFields>,
    #[serde(default)]
    from: From,
    /// The same as the schema's patterns, once all are read.
    #[serde(skip)]
    patterns: Vec<ActionPattern>,
}

/// From when on a statement holds.
#[derive(Debug, Default, Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
enum From {
    /// From the start of the session.
    #[default]
    Start,
    /// From the first request whose context holds its words.
    FirstStated,
}

/// [`Matcher`], with keys that it does not have refused.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct MatcherFields {
    #[serde(default)]
    all_of: Vec<TermFields>,
    #[serde(default)]
    any_of: Vec<TermFields>,
    #[serde(default)]
    any_part: bool,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct TermFields {
    term: Option<String>,
    #[serde(default)]
    substring: bool,
    literal: Option<String>,
    regex: Option<String>,
}

/// [`ActionPattern`], with keys that it does not have refused.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ActionFields {
    tool: Option<String>,
    target: Option<String>,
    operation: Option<String>,
    #[serde(default)]
    arguments: Vec<ArgumentFields>,
    effects: Option<Spanned<Vec<Effect>>>,
    paths: Option<Spanned<Vec<Spanned<String>>>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ArgumentFields {
    name: String,
    like: Option<String>,
    at_most: Option<i64>,
    at_least: Option<i64>,
}

/// A statement as it stands in a list, without its place.
pub(super) struct Written(Fields);

impl<'de> Deserialize<'de> for Written {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct TextOrFields;
        impl<'de> Visitor<'de> for TextOrFields {
            type Value = Fields;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(
                    "a sentence, or a mapping with text and perhaps id, matcher and actions",
                )
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Fields, E> {
                Ok(Fields {
                    text: text.to_owned(),
                    ..Fields::default()
                })
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Fields, A::Error> {
                Fields::deserialize(MapAccessDeserializer::new(map))
            }
        }
        let mut fields = deserializer.deserialize_any(TextOrFields)?;
        fields.patterns = fields.actions.iter().map(ActionFields::pattern).collect();
        Ok(Self(fields))
    }
}

impl Statement {
    pub(super) fn new(written: Written, at: Spot) -> Self {
        Self {
            at,
            fields: written.0,
        }
    }

    pub(super) fn text(&self) -> &str {
        &self.fields.text
    }

    pub(super) fn actions(&self) -> &[ActionPattern] {
        &self.fields.patterns
    }

    /// What is wrong with its actions, and where.
    pub(super) fn fault(&self) -> Option<(Spot, String)> {
        self.fields.actions.iter().find_map(ActionFields::fault)
    }

    pub(super) fn from(&self) -> DeclaredFrom {
        match self.fields.from {
            From::Start => DeclaredFrom::Start,
            From::FirstStated => DeclaredFrom::FirstStated,
        }
    }

    /// The id as given, or made from the words.
    pub(super) fn id(&self) -> String {
        self.fields
            .id
            .clone()
            .unwrap_or_else(|| made_id(&self.fields.text))
    }

    pub(super) fn matcher(&self) -> Option<Matcher> {
        let fields = self.fields.matcher.as_ref()?;
        let terms = |terms: &[TermFields]| terms.iter().map(TermFields::term).collect();
        Some(Matcher {
            all_of: terms(&fields.all_of),
            any_of: terms(&fields.any_of),
            any_part: fields.any_part,
        })
    }
}

impl TermFields {
    fn term(&self) -> MatchTerm {
        MatchTerm {
            term: self.term.clone(),
            substring: self.substring,
            literal: self.literal.clone(),
            regex: self.regex.clone(),
        }
    }
}

impl ActionFields {
    fn paths(&self) -> impl Iterator<Item = &Spanned<String>> {
        self.paths.iter().flat_map(|paths| &paths.value)
    }

    /// What is wrong with its effects and paths, and where. A list without anything would mean every effect or every file, and
    /// one that is too long could not be evaluated.
    fn fault(&self) -> Option<(Spot, String)> {
        let effects = self.effects.as_ref();
        let paths = self.paths.as_ref();
        let lists = [
            effects.map(|list| ("effects", list.value.len(), list.defined)),
            paths.map(|list| ("paths", list.value.len(), list.defined)),
        ];
        for (key, length, place) in lists.into_iter().flatten() {
            let reason = match length {
                0 => format!(
                    "{key} names none; name some, or remove the key, which then means every one"
                ),
                1..=PATTERN_LISTED_MAX => continue,
                _ => format!(
                    "{key} names {length}; at most {PATTERN_LISTED_MAX} are allowed: divide the action"
                ),
            };
            return Some((place.into(), reason));
        }
        self.paths().find_map(|path| {
            let reason = match path.value.len() {
                _ if path.value.trim().is_empty() => {
                    "a path has no characters; write \".\" for the root of relative paths".to_owned()
                }
                0..=PATTERN_PATH_BYTES_MAX => return None,
                length => format!(
                    "a path has {length} bytes; at most {PATTERN_PATH_BYTES_MAX} are allowed: name a directory above it"
                ),
            };
            Some((path.defined.into(), reason))
        })
    }
    fn pattern(&self) -> ActionPattern {
        let conditions = self.arguments.iter().map(|argument| ArgumentCondition {
            name: argument.name.clone(),
            like: argument.like.clone(),
            at_most: argument.at_most,
            at_least: argument.at_least,
        });
        ActionPattern {
            tool: self.tool.clone(),
            target: self.target.clone(),
            operation: self.operation.clone(),
            arguments: conditions.collect(),
            effects: self
                .effects
                .as_ref()
                .map_or_else(Vec::new, |effects| effects.value.clone()),
            paths: self.paths().map(|path| path.value.clone()).collect(),
        }
    }
}

/// A text's letters and digits, lower case, other characters as one underscore each run. A text without any of them, or one
/// that is too long, gets digits of its hash, so that two texts never share an id by being cut.
pub(super) fn made_id(text: &str) -> String {
    let mut id = String::new();
    for character in text.trim().chars() {
        if character.is_ascii_alphanumeric() {
            id.push(character.to_ascii_lowercase());
        } else if !id.is_empty() && !id.ends_with('_') {
            id.push('_');
        }
    }
    let id = id.trim_end_matches('_');
    // Two texts that differ in other letters alone must not become one.
    let is_whole = text.is_ascii();
    if is_whole && !id.is_empty() && id.len() <= MADE_ID_BYTES_MAX {
        return id.to_owned();
    }
    let digits = ContentHash::of(text.trim().as_bytes()).to_string();
    let digits = digits.get(..8).unwrap_or(&digits);
    match id.get(..MADE_ID_BYTES_MAX.min(id.len())) {
        Some(start) if !start.is_empty() => format!("{}-{digits}", start.trim_end_matches('_')),
        _ => format!("statement-{digits}"),
    }
}
