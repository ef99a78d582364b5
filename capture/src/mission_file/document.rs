//! The YAML of a mission file, read within limits, and what is wrong with it in words.

use std::collections::BTreeMap;

use remembrancer_schema::payload::{ConstraintKind, Effect, Places, ToolDeclaration};
use serde::Deserialize;
use serde_saphyr::budget::BudgetBreach;
use serde_saphyr::options::{DuplicateKeyPolicy, MergeKeyPolicy, Options};
use serde_saphyr::{Error, Location, Spanned};

use super::statement::{Statement, Written};
use super::{MISSION_BYTES_MAX, MissionError};

/// The version of the format that is read.
const VERSION: u64 = 1;
/// Who speaks in a mission file that does not say.
const OPERATOR: &str = "operator";
/// Deepest nesting of lists and mappings. The format itself needs 7 levels.
const DEPTH_MAX: usize = 16;
/// Most values of a file. Every statement is a handful.
const NODES_MAX: usize = 50_000;

/// A mission file's keys, each list with the places of its statements.
#[derive(Debug, Default)]
pub(super) struct Document {
    pub(super) objective: Option<Spanned<String>>,
    pub(super) targets: Vec<String>,
    pub(super) stated_by: Option<Speaker>,
    tools: Vec<Tool>,
    pub(super) permissions: Vec<Statement>,
    pub(super) prohibitions: Vec<Statement>,
    obligations: Vec<Statement>,
    facts: Vec<Statement>,
    pub(super) policy: Option<Spanned<String>>,
    places: Option<Spanned<PlacesFields>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Keys {
    version: Option<Spanned<u64>>,
    objective: Option<Spanned<String>>,
    #[serde(default)]
    targets: Vec<String>,
    stated_by: Option<Speaker>,
    #[serde(default)]
    tools: Vec<Tool>,
    #[serde(default)]
    permissions: Vec<Spanned<Written>>,
    #[serde(default)]
    prohibitions: Vec<Spanned<Written>>,
    #[serde(default)]
    obligations: Vec<Spanned<Written>>,
    #[serde(default)]
    facts: Vec<Spanned<Written>>,
    policy: Option<Spanned<String>>,
    places: Option<Spanned<PlacesFields>>,
}

/// [`Places`], with keys that it does not have refused.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct PlacesFields {
    root: Option<String>,
    home: Option<String>,
    #[serde(default)]
    ignores_case: bool,
    #[serde(default)]
    links: BTreeMap<String, String>,
}

/// Who states the mission.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Speaker {
    role: Option<String>,
    pub(super) name: Option<String>,
}

/// A tool that the agent is given.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Tool {
    tool: String,
    target: Option<String>,
    operation: Option<String>,
    effects: Option<Vec<Effect>>,
}

/// A place in the file, both counted from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Spot {
    pub(super) line: u64,
    pub(super) column: u64,
}

impl Spot {
    /// The beginning of the file.
    pub(super) const START: Self = Self { line: 1, column: 1 };
}

impl From<Location> for Spot {
    fn from(place: Location) -> Self {
        Self {
            line: place.line().max(1),
            column: place.column().max(1),
        }
    }
}

/// What is wrong, and where.
#[derive(Debug)]
pub(super) struct Fault {
    at: Spot,
    reason: String,
}

impl Fault {
    fn new(at: Spot, reason: impl Into<String>) -> Self {
        Self {
            at,
            reason: reason.into(),
        }
    }

    /// The error of a file by this name.
    pub(super) fn in_file(self, file: &str) -> MissionError {
        MissionError {
            file: file.to_owned(),
            line: self.at.line,
            column: self.at.column,
            reason: self.reason,
        }
    }
}

impl Document {
    /// Reads the file's bytes.
    pub(super) fn parse(bytes: &[u8]) -> Result<Self, Fault> {
        if bytes.len() > MISSION_BYTES_MAX {
            let reason = format!(
                "the file has {} bytes; at most {MISSION_BYTES_MAX} are read: is it a mission file?",
                bytes.len()
            );
            return Err(Fault::new(Spot::START, reason));
        }
        let text = std::str::from_utf8(bytes).map_err(|error| {
            let before = &bytes[..error.valid_up_to()];
            let line_start = before.iter().rposition(|byte| *byte == b'\n');
            let on_line = &before[line_start.map_or(0, |at| at + 1)..];
            let at = Spot {
                line: before.iter().filter(|byte| **byte == b'\n').count() as u64 + 1,
                column: String::from_utf8_lossy(on_line).chars().count() as u64 + 1,
            };
            Fault::new(at, "the file is not UTF-8 from here on; save it as UTF-8")
        })?;
        let keys: Keys = serde_saphyr::from_str_with_options(text, options()).map_err(fault)?;
        if let Some(version) = keys.version.filter(|version| version.value != VERSION) {
            let reason = format!(
                "version {} of the format is not known; this program reads version {VERSION}: use a newer program, or \
                 remove the key",
                version.value
            );
            return Err(Fault::new(version.defined.into(), reason));
        }
        let statements = |list: Vec<Spanned<Written>>| {
            let place = |one: Spanned<Written>| Statement::new(one.value, one.defined.into());
            list.into_iter().map(place).collect()
        };
        if let Some(objective) = keys
            .objective
            .as_ref()
            .filter(|text| text.value.trim().is_empty())
        {
            return Err(Fault::new(
                objective.defined.into(),
                "the objective has no words; write what the agent is to achieve, or remove the key",
            ));
        }
        Ok(Self {
            objective: keys.objective,
            targets: keys.targets,
            stated_by: keys.stated_by,
            tools: keys.tools,
            permissions: statements(keys.permissions),
            prohibitions: statements(keys.prohibitions),
            obligations: statements(keys.obligations),
            facts: statements(keys.facts),
            policy: keys.policy,
            places: keys.places,
        })
    }

    /// The statements by kind: what limits first.
    pub(super) fn lists(&self) -> [(ConstraintKind, &[Statement]); 4] {
        [
            (ConstraintKind::Prohibition, &self.prohibitions),
            (ConstraintKind::Obligation, &self.obligations),
            (ConstraintKind::Permission, &self.permissions),
            (ConstraintKind::Fact, &self.facts),
        ]
    }

    pub(super) fn tools(&self) -> Vec<ToolDeclaration> {
        let declared = self.tools.iter().map(|tool| ToolDeclaration {
            tool: tool.tool.clone(),
            target: tool.target.clone(),
            operation: tool.operation.clone(),
            effects: tool.effects.clone(),
        });
        declared.collect()
    }

    /// Where the paths of actions and of patterns are looked for, and where the file says so.
    pub(super) fn places(&self) -> Option<(Spot, Places)> {
        let fields = self.places.as_ref()?;
        let places = Places {
            root: fields.value.root.clone(),
            home: fields.value.home.clone(),
            ignores_case: fields.value.ignores_case,
            links: fields.value.links.clone(),
        };
        Some((fields.defined.into(), places))
    }

    /// Who speaks: `operator` where the file does not say.
    pub(super) fn role(&self) -> String {
        let speaker = self.stated_by.as_ref().and_then(|by| by.role.clone());
        speaker.unwrap_or_else(|| OPERATOR.to_owned())
    }
}

/// Anchors and aliases are refused: a file of a few lines could otherwise mean millions.
fn options() -> Options {
    let budget = serde_saphyr::budget! {
        max_anchors: 0,
        max_aliases: 0,
        max_merge_keys: 0,
        max_depth: DEPTH_MAX,
        max_documents: 1,
        max_nodes: NODES_MAX,
    };
    serde_saphyr::options! {
        budget: budget,
        duplicate_keys: DuplicateKeyPolicy::Error,
        merge_keys: MergeKeyPolicy::Error,
        with_snippet: false,
    }
}

/// What a fault means and what to do, in words.
fn fault(error: Error) -> Fault {
    let at = error.location().map_or(Spot::START, Spot::from);
    let reason = match error.without_snippet() {
        Error::SerdeUnknownField {
            field, expected, ..
        } => format!(
            "unknown key {field:?}; known here are {}: correct or remove it",
            expected.join(", ")
        ),
        Error::SerdeMissingField { field, .. } => {
            format!("the key {field:?} is missing here; add it")
        }
        Error::DuplicateMappingKey { key, .. } => format!(
            "the key {:?} stands here a second time; put both contents under one",
            key.as_deref().unwrap_or("")
        ),
        Error::Budget { breach, .. } => breached(breach),
        Error::UnknownAnchor { .. } | Error::MergeKeyNotAllowed { .. } => {
            ANCHORS_REFUSED.to_owned()
        }
        Error::MultipleDocuments { .. } => {
            "a second document begins here; a mission file holds one: make two files".to_owned()
        }
        Error::Eof { .. } => {
            "the file is empty; see docs/mission-file.md for an example".to_owned()
        }
        other => format!("{}; correct it", in_words(other)),
    };
    Fault::new(at, reason)
}

const ANCHORS_REFUSED: &str =
    "anchors (&), aliases (*) and merge keys (<<) are not read; write the text out";

fn breached(breach: &BudgetBreach) -> String {
    match breach {
        BudgetBreach::Anchors { .. }
        | BudgetBreach::Aliases { .. }
        | BudgetBreach::MergeKeys { .. }
        | BudgetBreach::AliasAnchorRatio { .. } => ANCHORS_REFUSED.to_owned(),
        BudgetBreach::Depth { .. } => {
            format!("lists and mappings are nested deeper than {DEPTH_MAX} levels; flatten them")
        }
        BudgetBreach::Documents { .. } => {
            "a second document begins here; a mission file holds one: make two files".to_owned()
        }
        _ => "the file holds more values than a mission has; is it a mission file?".to_owned(),
    }
}

/// The parser's own words on one line, without the place, which stands before them.
fn in_words(error: &Error) -> String {
    let text = error.render_with_formatter(&serde_saphyr::DefaultMessageFormatter);
    let text = text.lines().next().unwrap_or("this is not YAML");
    match text.rfind(" at line ") {
        Some(at) => text[..at].to_owned(),
        None => text.to_owned(),
    }
}
