//! The rules of a session: declared from outside, read from rules files, or found in what the user wrote.

use remembrancer_schema::ContentHash;
use remembrancer_schema::payload::{
    ConstraintDeclared, EventType, Part, PartKind, PartOrigin, StatedBy,
};

use super::super::declared::reduced;
use super::super::proposed_rule::ProposedRule;
use super::{RULES_MAX, RULES_TEXT_BYTES_MAX, Recording};
use crate::cut::prefix;

impl Recording {
    /// Notes where the user says something.
    pub(in super::super) fn hear(&mut self, parts: &[Part]) {
        let Some(line) = self.line.filter(|_| self.extracts) else {
            return;
        };
        let said = parts.iter().filter(|part| part.kind == PartKind::User);
        for text in said.filter_map(|part| part.text.as_deref()) {
            let hash = ContentHash::of(text.as_bytes());
            self.heard.entry(hash).or_insert(line);
        }
    }

    /// Declares a rule, once.
    pub fn declare(&mut self, constraint: &ConstraintDeclared, time: Option<&str>) {
        if self.declared.insert(constraint.id.to_string()) {
            let id = format!("rule.{}", constraint.id);
            self.event(&id, &EventType::ConstraintDeclared, time, constraint);
        }
    }

    /// Keeps a rule back until a context holds its words.
    pub(in super::super) fn hold(&mut self, constraint: ConstraintDeclared) {
        let words = reduced(&constraint.text);
        self.held.push((constraint, words));
    }

    /// The rules that no context held.
    pub(in super::super) fn never_stated(&self) -> impl Iterator<Item = &str> {
        self.held
            .iter()
            .map(|(constraint, _)| constraint.text.as_str())
    }

    /// Declares the rules of a rules file that the transcript holds. `name` is the file's.
    pub fn rules_file(&mut self, name: &str, text: &str, time: Option<&str>) {
        for rule in self.proposed(text) {
            let stated_by = StatedBy {
                role: "operator".to_owned(),
                name: None,
                source: Some(name.to_owned()),
            };
            self.propose(rule, stated_by, false, time);
        }
    }

    fn proposed(&self, text: &str) -> Vec<ProposedRule> {
        self.rules.map_or_else(Vec::new, |reader| {
            reader(prefix(text, RULES_TEXT_BYTES_MAX))
        })
    }

    fn propose(
        &mut self,
        rule: ProposedRule,
        stated_by: StatedBy,
        inferred: bool,
        time: Option<&str>,
    ) {
        if self.declared.len() >= RULES_MAX {
            let notice = format!("more than {RULES_MAX} rules: further ones are not watched");
            if !self.notices.contains(&notice) {
                self.notices.push(notice);
            }
            return;
        }
        if let Some(constraint) = rule.constraint(stated_by, inferred) {
            self.declare(&constraint, time);
        }
    }

    /// Takes note of what was said and left again before a request was sent with it: its rules count from here on. Parts that a
    /// context had come by their hashes and are passed over.
    pub fn said(&mut self, parts: &[Part], time: Option<&str>) {
        self.read_rules("before a compaction", parts, time);
    }

    /// Finds rules in the new parts of a context, before the context itself is written: a rule counts from the first request
    /// that was sent with it.
    pub(super) fn read_rules(&mut self, id: &str, parts: &[Part], time: Option<&str>) {
        let is_reading = self.extracts && self.rules.is_some();
        if self.held.is_empty() && !is_reading {
            return;
        }
        for part in parts.iter().filter(|part| part.kind.is_carrying()) {
            let Some(text) = part.text.as_deref() else {
                continue;
            };
            if !self.held.is_empty() {
                self.declare_stated(text, time);
            }
            let is_users =
                part.kind == PartKind::User && part.effective_origin() == PartOrigin::User;
            if is_reading && is_users {
                let line = self.heard.get(&ContentHash::of(text.as_bytes()));
                let source = match line {
                    Some(line) => format!("line {line}"),
                    None => format!("event {id}"),
                };
                for rule in self.proposed(text) {
                    let stated_by = StatedBy {
                        role: "user".to_owned(),
                        name: None,
                        source: Some(source.clone()),
                    };
                    self.propose(rule, stated_by, true, time);
                }
            }
        }
    }

    fn declare_stated(&mut self, text: &str, time: Option<&str>) {
        let text = reduced(text);
        let (stated, held) = std::mem::take(&mut self.held)
            .into_iter()
            .partition(|(_, words)| text.contains(words.as_str()));
        self.held = held;
        for (constraint, _) in stated {
            self.declare(&constraint, time);
        }
    }
}
