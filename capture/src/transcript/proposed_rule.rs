//! Rules that were found in what somebody wrote.

use remembrancer_schema::hash::sha256;
use remembrancer_schema::payload::{ActionPattern, ConstraintDeclared, ConstraintKind, StatedBy};

use super::declared::reduced;
use crate::cut::prefix;

/// Most bytes of a rule's words in its id.
const SLUG_BYTES_MAX: usize = 40;

/// A sentence that reads like a rule, as it stands in a text.
#[derive(Debug, Clone, PartialEq)]
pub struct ProposedRule {
    /// What kind of statement it is.
    pub kind: ConstraintKind,
    /// The sentence, word for word.
    pub text: String,
    /// The actions that would break it, where the sentence says so clearly.
    pub actions: Vec<ActionPattern>,
}

impl ProposedRule {
    /// The rule as a constraint. It is inferred where nobody declared it: it was found in what somebody wrote.
    pub(crate) fn constraint(
        self,
        stated_by: StatedBy,
        inferred: bool,
    ) -> Option<ConstraintDeclared> {
        Some(ConstraintDeclared {
            id: rule_id(&self.text).parse().ok()?,
            kind: self.kind,
            text: self.text,
            matcher: None,
            actions: self.actions,
            stated_by: Some(stated_by),
            inferred,
            witness: None,
        })
    }
}

/// Finds the sentences of a text that read like rules.
pub type RuleReader = fn(&str) -> Vec<ProposedRule>;

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
