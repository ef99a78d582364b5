//! A mission file: what an agent is to do, what it may and may not do, and what must not be forgotten, as YAML.
//!
//! [`Mission::parse`] reads it; in a session it becomes `intent.declared`, `scope.declared` and `constraint.declared`.
//! `docs/mission-file.md` has the format. A mistake is never passed over: a key that is not known, a statement without words, an
//! id that is used twice are errors with the line and what to do next, because a rule that was silently left out would look like
//! a rule that nobody stated.

mod document;
mod statement;

use std::collections::HashMap;

use remembrancer_schema::limits::CONSTRAINT_TEXT_BYTES_MAX;
use remembrancer_schema::payload::{
    ActionPattern, ConstraintDeclared, ConstraintKind, EventType, IntentDeclared, Payload,
    ScopeDeclared, StatedBy, Witness,
};

use crate::transcript::{Declared, DeclaredFrom, DeclaredRule};
use document::{Document, Spot};
use serde::Serialize;
use statement::Statement;

/// Largest mission file, in bytes.
pub const MISSION_BYTES_MAX: usize = 256 * 1024;
/// Most statements of a mission file, all lists together. An analysis looks for 500 constraints in a session at most.
pub const STATEMENTS_MAX: usize = 400;

/// Why a mission file was refused. Nothing of it is used then.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{file}, line {line}, column {column}: {reason}")]
pub struct MissionError {
    /// The file's name, as given.
    pub file: String,
    /// The line, from 1.
    pub line: u64,
    /// The column, from 1.
    pub column: u64,
    /// What is wrong there, and what to do next.
    pub reason: String,
}

/// What a mission file declares.
#[derive(Debug, Clone, PartialEq)]
pub struct Mission {
    /// The objective, where one is stated.
    pub intent: Option<IntentDeclared>,
    /// The tools, what they may do, and the policy, where any of these is stated.
    pub scope: Option<ScopeDeclared>,
    /// Prohibitions, obligations, permissions and facts, in the file's order within each list.
    pub constraints: Vec<ConstraintDeclared>,
    /// From when on each of them holds, in the same order.
    pub from: Vec<DeclaredFrom>,
    /// What its author should know: statements that mean something else than they seem to.
    pub notices: Vec<String>,
}

impl Mission {
    /// Reads a mission file. `file` is its name, for messages and for where a statement was made.
    pub fn parse(file: &str, bytes: &[u8]) -> Result<Self, MissionError> {
        let document = Document::parse(bytes).map_err(|fault| fault.in_file(file))?;
        let source = Source {
            file,
            role: document.role(),
            name: document.stated_by.as_ref().and_then(|by| by.name.clone()),
        };
        let constraints = source.constraints(&document)?;
        let permitted = document.permissions.iter().flat_map(Statement::actions);
        let scope = ScopeDeclared {
            tools: document.tools(),
            permitted: permitted.cloned().collect(),
            prohibited: Vec::new(),
            policy: document.policy.as_ref().map(|text| text.value.clone()),
            stated_by: Some(source.stated_by(None)),
            places: document.places().map(|(_, places)| places),
            withdrawn: false,
            witness: Some(Witness::Claimed),
        };
        let is_scoped = !scope.tools.is_empty()
            || !scope.permitted.is_empty()
            || scope.policy.is_some()
            || scope.places.is_some();
        if let Some((at, _)) = document.places() {
            source.check(at, &EventType::ScopeDeclared, &scope)?;
        }
        let intent = document.objective.as_ref().map(|objective| IntentDeclared {
            objective: objective.value.trim().to_owned(),
            targets: document.targets.clone(),
            stated_by: Some(source.stated_by(Some(objective.defined.line()))),
            witness: Some(Witness::Claimed),
        });
        if intent.is_none() && !is_scoped && constraints.is_empty() {
            let reason = "the mission states nothing; give it an objective, or one of permissions, prohibitions, \
                          obligations and facts";
            return Err(source.fault(Spot::START, reason));
        }
        Ok(Self {
            intent,
            scope: is_scoped.then_some(scope),
            constraints,
            from: document
                .lists()
                .iter()
                .flat_map(|(_, list)| list.iter().map(Statement::from))
                .collect(),
            notices: source.notices(&document),
        })
    }

    /// What the mission declares, for the sessions of a transcript.
    pub fn declared(&self) -> Declared {
        let rules = self.constraints.iter().zip(&self.from);
        Declared {
            intent: self.intent.clone(),
            scope: self.scope.clone(),
            rules: rules
                .map(|(constraint, from)| DeclaredRule {
                    constraint: constraint.clone(),
                    from: *from,
                })
                .collect(),
        }
    }
}

/// The file, and who speaks in it.
struct Source<'a> {
    file: &'a str,
    role: String,
    name: Option<String>,
}

impl Source<'_> {
    fn stated_by(&self, line: Option<u64>) -> StatedBy {
        let source = match line {
            Some(line) => format!("{}, line {line}", self.file),
            None => self.file.to_owned(),
        };
        StatedBy {
            role: self.role.clone(),
            name: self.name.clone(),
            source: Some(source),
        }
    }

    fn fault(&self, at: Spot, reason: impl Into<String>) -> MissionError {
        MissionError {
            file: self.file.to_owned(),
            line: at.line,
            column: at.column,
            reason: reason.into(),
        }
    }

    /// Every statement as a constraint, each id once.
    fn constraints(&self, document: &Document) -> Result<Vec<ConstraintDeclared>, MissionError> {
        let lists = document.lists();
        let count: usize = lists.iter().map(|(_, list)| list.len()).sum();
        if count > STATEMENTS_MAX {
            let reason = format!(
                "the mission makes {count} statements; at most {STATEMENTS_MAX} are read: keep the limits and facts \
                 that must not be forgotten"
            );
            return Err(self.fault(Spot::START, reason));
        }
        let mut lines: HashMap<String, u64> = HashMap::new();
        let mut constraints = Vec::with_capacity(count);
        for (kind, list) in lists {
            for statement in list {
                let constraint = self.constraint(kind, statement)?;
                if let Some(first) = lines.insert(constraint.id.to_string(), statement.at.line) {
                    let reason = format!(
                        "the id {:?} is used on line {first} already; give one of the two another id, or remove it if it \
                         says the same",
                        constraint.id
                    );
                    return Err(self.fault(statement.at, reason));
                }
                constraints.push(constraint);
            }
        }
        Ok(constraints)
    }

    fn constraint(
        &self,
        kind: ConstraintKind,
        statement: &Statement,
    ) -> Result<ConstraintDeclared, MissionError> {
        let at = statement.at;
        if let Some((at, reason)) = statement.fault() {
            return Err(self.fault(at, reason));
        }
        let text = statement.text().trim();
        if text.is_empty() {
            return Err(self.fault(
                at,
                "the statement has no words; write what it says, or remove it",
            ));
        }
        if text.len() > CONSTRAINT_TEXT_BYTES_MAX {
            let reason = format!(
                "the statement has {} bytes; at most {CONSTRAINT_TEXT_BYTES_MAX} are allowed: divide it",
                text.len()
            );
            return Err(self.fault(at, reason));
        }
        let id = statement
            .id()
            .parse()
            .map_err(|error| self.fault(at, format!("{error}; write another id")))?;
        let constraint = ConstraintDeclared {
            id,
            kind,
            text: text.to_owned(),
            matcher: statement.matcher(),
            actions: statement.actions().to_vec(),
            stated_by: Some(self.stated_by(Some(at.line))),
            inferred: false,
            witness: Some(Witness::Claimed),
        };
        self.check(at, &EventType::ConstraintDeclared, &constraint)?;
        Ok(constraint)
    }

    /// What the recorder would refuse is refused here, where the line is known.
    fn check<T: Serialize>(
        &self,
        at: Spot,
        kind: &EventType,
        payload: &T,
    ) -> Result<(), MissionError> {
        let data = serde_json::to_string(payload)
            .map_err(|error| self.fault(at, format!("{error}; correct it")))?;
        Payload::parse(kind, &data)
            .map(drop)
            .map_err(|error| self.fault(at, format!("{}; correct it", error.reason)))
    }

    fn notices(&self, document: &Document) -> Vec<String> {
        let permissions = &document.permissions;
        let mut notices = Vec::new();
        if permissions.iter().any(|one| !one.actions().is_empty()) {
            let bare = permissions.iter().filter(|one| one.actions().is_empty());
            notices.extend(bare.map(|permission| {
                format!(
                    "{}, line {}: other permissions name their actions and this one names none, so whatever it allows is \
                     out of scope; give it actions",
                    self.file, permission.at.line
                )
            }));
        }
        let everything = |list: &[Statement]| {
            let all = |one: &&Statement| one.actions().contains(&ActionPattern::default());
            list.iter().find(all).map(|one| one.at.line)
        };
        notices.extend(everything(&document.prohibitions).map(|line| {
            format!(
                "{}, line {line}: an action without tool, target, operation, arguments, effects and paths is every \
                 action, so that every action is prohibited",
                self.file
            )
        }));
        notices.extend(self.notices_of_places(document));
        notices
    }

    /// Paths that start from a place which the mission does not name, and effects that a path cannot permit.
    fn notices_of_places(&self, document: &Document) -> Vec<String> {
        let places = document
            .places()
            .map(|(_, places)| places)
            .unwrap_or_default();
        let mut notices = Vec::new();
        for (kind, list) in document.lists() {
            for statement in list {
                let mut notice = |text: &str| {
                    notices.push(format!("{}, line {}: {text}", self.file, statement.at.line));
                };
                let paths = || statement.actions().iter().flat_map(|action| &action.paths);
                let is_of_home = |path: &&String| *path == "~" || path.starts_with("~/");
                if places.home.is_none() && paths().any(|path| is_of_home(&path)) {
                    notice(
                        "a path starts at the home directory, which the mission does not name, so that no action can be \
                         judged by it; give places.home",
                    );
                }
                let is_relative = |path: &String| !path.starts_with('/') && !is_of_home(&path);
                if places.root.is_none() && paths().any(is_relative) {
                    notice(
                        "a path is relative and the mission does not name the directory that it starts from, so that no \
                         action can be judged by it; give places.root, or write the path from / on",
                    );
                }
                let is_elsewhere = |action: &ActionPattern| {
                    !action.paths.is_empty()
                        && !action.effects.iter().all(|effect| effect.is_on_files())
                };
                if kind == ConstraintKind::Permission
                    && statement.actions().iter().any(is_elsewhere)
                {
                    notice(
                        "a permission with paths covers files alone, so that network, execute and privilege stay out of \
                         scope; name them in an action without paths",
                    );
                }
            }
        }
        notices
    }
}

#[cfg(test)]
mod tests;
