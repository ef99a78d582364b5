//! The actions that a report claims, read from its sentences.

use remembrancer_schema::payload::ClaimedAction;

use super::mission::TOOLS;

/// Every tool that a claim names, with the argument that it names for it: `tool(ARGUMENT)`, or `tool for A, B, C`, which
/// claims one call each. A claim without a known tool stays a text.
pub(super) fn read(claims: &[String]) -> Vec<ClaimedAction> {
    claims.iter().flat_map(|claim| read_one(claim)).collect()
}

fn read_one(claim: &str) -> Vec<ClaimedAction> {
    let mut actions = Vec::new();
    let mut at = 0;
    while at < claim.len() {
        let length = word_length(&claim[at..]);
        if length == 0 {
            at += claim[at..].chars().next().map_or(1, char::len_utf8);
            continue;
        }
        let word = &claim[at..at + length];
        at += length;
        if !TOOLS.iter().any(|tool| tool.name == word) {
            continue;
        }
        let mut arguments = arguments(&claim[at..]).into_iter().peekable();
        let mut push = |argument: Option<&str>| {
            actions.push(ClaimedAction {
                text: claim.to_owned(),
                tool: Some(word.to_owned()),
                argument: argument.map(str::to_owned),
            });
        };
        if arguments.peek().is_none() {
            push(None);
        }
        arguments.for_each(|argument| push(Some(argument)));
    }
    if actions.is_empty() {
        actions.push(ClaimedAction {
            text: claim.to_owned(),
            ..ClaimedAction::default()
        });
    }
    actions
}

/// Length of the word at the start of a text: letters, digits, `_` and `-`.
fn word_length(text: &str) -> usize {
    text.find(|character: char| !character.is_alphanumeric() && !matches!(character, '_' | '-'))
        .unwrap_or(text.len())
}

/// What follows a tool's name as its arguments.
fn arguments(rest: &str) -> Vec<&str> {
    if let Some(inside) = rest.strip_prefix('(') {
        let length = word_length(inside);
        let is_closed = length > 0 && inside[length..].starts_with(')');
        return if is_closed {
            vec![&inside[..length]]
        } else {
            Vec::new()
        };
    }
    let rest = rest.strip_prefix(')').unwrap_or(rest);
    let Some(mut list) = rest.strip_prefix(" for ") else {
        return Vec::new();
    };
    let mut found = Vec::new();
    loop {
        let length = word_length(list);
        let word = &list[..length];
        if length == 0 || TOOLS.iter().any(|tool| tool.name == word) {
            return found;
        }
        found.push(word);
        list = &list[length..];
        let next = [", and ", ", ", " and "]
            .iter()
            .find_map(|joint| list.strip_prefix(joint));
        match next {
            Some(next) => list = next,
            None => return found,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(claim: &str) -> Vec<(Option<String>, Option<String>)> {
        let actions = read(&[claim.to_owned()]);
        assert!(actions.iter().all(|action| action.text == claim));
        actions
            .into_iter()
            .map(|action| (action.tool, action.argument))
            .collect()
    }

    fn call(tool: &str, argument: Option<&str>) -> (Option<String>, Option<String>) {
        (Some(tool.to_owned()), argument.map(str::to_owned))
    }

    #[test]
    fn a_claim_names_tools_and_arguments_in_either_style() {
        assert_eq!(
            named("get_ticket(SUP-5201) [prior session]"),
            [call("get_ticket", Some("SUP-5201"))]
        );
        assert_eq!(
            named("record_progress (multiple)"),
            [call("record_progress", None)]
        );
        assert_eq!(
            named(
                "Retrieved invoices (list_invoices, get_invoice for INV-1, INV-2 and INV-3) for C-1042"
            ),
            [
                call("list_invoices", None),
                call("get_invoice", Some("INV-1")),
                call("get_invoice", Some("INV-2")),
                call("get_invoice", Some("INV-3")),
            ]
        );
        assert_eq!(
            named("Retrieved the profile (get_account) for C-1042"),
            [call("get_account", Some("C-1042"))]
        );
        assert_eq!(named("Thought about it"), [(None, None)]);
        assert_eq!(named("é get_account("), [call("get_account", None)]);
        assert_eq!(named("get_accounts(C-1)"), [(None, None)]);
    }
}
