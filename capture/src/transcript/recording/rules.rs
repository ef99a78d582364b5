//! The rules of a session: declared from outside, read from rules files, or found in what the user wrote.

use remembrancer_schema::ContentHash;
use remembrancer_schema::hash::sha256;
use remembrancer_schema::payload::{
    ConstraintDeclared, EventType, Part, PartKind, PartOrigin, StatedBy,
};

use super::super::declared::{ProposedRule, reduced};
use super::{RULES_MAX, RULES_TEXT_BYTES_MAX, Recording};
use crate::cut::prefix;

/// Most bytes of a rule's words in its id.
const SLUG_BYTES_MAX: usize = 40;

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
        let Ok(id) = rule_id(&rule.text).parse() else {
            return;
        };
        if self.declared.len() >= RULES_MAX {
            let notice = format!("more than {RULES_MAX} rules: further ones are not watched");
            if !self.notices.contains(&notice) {
                self.notices.push(notice);
            }
            return;
        }
        let constraint = ConstraintDeclared {
            id,
            kind: rule.kind,
            text: rule.text,
            matcher: None,
            actions: rule.actions,
            stated_by: Some(stated_by),
            inferred,
            witness: None,
        };
        self.declare(&constraint, time);
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

/// The id of a rule that was read from a text: its first words, and a piece of the hash of all of them. The same words give the
/// same id wherever they stand, however they are written.
fn rule_id(text: &str) -> String {
    let hash = hex::encode(sha256(reduced(text).as_bytes()));
    let slug = slug(text);
    if slug.is_empty() {
        // Of a text in other letters than an id can hold.
        return format!("rule-{}", &hash[..12]);
    }
    format!("{slug}-{}", &hash[..6])
}

/// The first words of a text, as far as an id can hold them: whole words, and of the first one what fits.
fn slug(text: &str) -> String {
    let words = reduced(&text.replace(['\'', '’'], ""));
    let mut slug = String::new();
    for word in words
        .split(' ')
        .filter(|word| !word.is_empty() && word.is_ascii())
    {
        let separator = usize::from(!slug.is_empty());
        if slug.len() + separator + word.len() > SLUG_BYTES_MAX {
            if slug.is_empty() {
                slug.push_str(prefix(word, SLUG_BYTES_MAX));
            }
            break;
        }
        if separator > 0 {
            slug.push('-');
        }
        slug.push_str(word);
    }
    slug
}

#[cfg(test)]
mod tests {
    use remembrancer_schema::id::ConstraintId;

    use super::*;

    #[test]
    fn the_id_of_a_rule_reads_and_tells_rules_apart() {
        let id = rule_id("Never push to `main` without asking me first, please!");
        assert!(
            id.starts_with("never-push-to-main-without-asking-me-"),
            "{id}"
        );
        assert_eq!(
            id,
            rule_id("never push to main\nwithout asking me first please")
        );
        let other = rule_id("Never push to main without asking me twice");
        assert!(id[..36] == other[..36] && id != other, "{other}");
        assert!(rule_id("Don’t push").starts_with("dont-push-"));
    }

    #[test]
    fn every_text_gives_an_id_within_its_bounds() {
        let long = "x".repeat(300);
        for text in [
            "Use tabs",
            "prüfe den Code",
            "不要提交",
            "",
            "—",
            &long,
            &"ab ".repeat(90),
        ] {
            let id = rule_id(text);
            assert!(id.parse::<ConstraintId>().is_ok(), "{id}");
            assert!(id.len() <= SLUG_BYTES_MAX + 7, "{id}");
        }
        assert!(rule_id("prüfe den Code").starts_with("den-code-"));
        assert!(rule_id("不要提交").starts_with("rule-"));
        assert_ne!(rule_id("不要提交"), rule_id("不要删除"));
    }
}
