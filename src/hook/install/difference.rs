//! What a change of a small text file comes to, line by line.

use std::fmt::Write as _;

/// Longest files that are compared line by line, in lines.
const LINES_MAX: usize = 4_000;
/// Lines shown around a change.
const AROUND: usize = 3;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Line<'a> {
    Same(&'a str),
    Gone(&'a str),
    New(&'a str),
}

/// The change as `diff -u` shows one, without positions. Empty where nothing changes.
pub(super) fn difference(before: &str, after: &str) -> String {
    let (before, after): (Vec<&str>, Vec<&str>) =
        (before.lines().collect(), after.lines().collect());
    let lines = compare(&before, &after);
    let is_shown = |at: usize| {
        let range = at.saturating_sub(AROUND)..(at + AROUND + 1).min(lines.len());
        lines[range]
            .iter()
            .any(|line| !matches!(line, Line::Same(_)))
    };
    let mut text = String::new();
    let mut is_cut = false;
    for (at, line) in lines.iter().enumerate() {
        if !is_shown(at) {
            is_cut = true;
            continue;
        }
        if std::mem::take(&mut is_cut) && !text.is_empty() {
            text.push_str("  …\n");
        }
        let (mark, line) = match line {
            Line::Same(line) => (' ', line),
            Line::Gone(line) => ('-', line),
            Line::New(line) => ('+', line),
        };
        writeln!(text, "{mark} {line}").expect("writing to a string does not fail");
    }
    text
}

fn compare<'a>(before: &[&'a str], after: &[&'a str]) -> Vec<Line<'a>> {
    if before.len().max(after.len()) > LINES_MAX {
        let gone = before.iter().map(|line| Line::Gone(line));
        return gone
            .chain(after.iter().map(|line| Line::New(line)))
            .collect();
    }
    // Length of the longest common rest from each pair of places.
    let width = after.len() + 1;
    let mut rest = vec![0u16; (before.len() + 1) * width];
    for i in (0..before.len()).rev() {
        for j in (0..after.len()).rev() {
            rest[i * width + j] = if before[i] == after[j] {
                rest[(i + 1) * width + j + 1] + 1
            } else {
                rest[(i + 1) * width + j].max(rest[i * width + j + 1])
            };
        }
    }
    let (mut i, mut j, mut lines) = (0, 0, Vec::new());
    while i < before.len() || j < after.len() {
        if i < before.len() && j < after.len() && before[i] == after[j] {
            lines.push(Line::Same(before[i]));
            (i, j) = (i + 1, j + 1);
        } else if j == after.len()
            || (i < before.len() && rest[(i + 1) * width + j] >= rest[i * width + j + 1])
        {
            lines.push(Line::Gone(before[i]));
            i += 1;
        } else {
            lines.push(Line::New(after[j]));
            j += 1;
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::difference;

    #[test]
    fn a_change_is_shown_with_the_lines_around_it() {
        let before: Vec<String> = (0..20).map(|number| format!("line {number}")).collect();
        let mut after = before.clone();
        after[10] = "changed".to_owned();
        after.push("added".to_owned());
        let shown = difference(&before.join("\n"), &after.join("\n"));
        let expected = "  line 7\n  line 8\n  line 9\n- line 10\n+ changed\n  line 11\n  line 12\n  line 13\n  …\n  line 17\n  \
                        line 18\n  line 19\n+ added\n";
        assert_eq!(shown, expected);
        assert_eq!(difference("a\nb", "a\nb"), "");
        assert_eq!(difference("", "a"), "+ a\n");
    }
}
