//! A message as sentences: what the user wrote, without code, quotations and what programs put around it.

/// A line that opens or closes a block of code.
const FENCES: [&str; 2] = ["```", "~~~"];
/// Closing brackets within which a text is a sentence of its own.
const BRACKETS: [(char, char); 2] = [('(', ')'), ('[', ']')];

/// The sentences of a message, in order; what stands in round or square brackets is one by itself, after the one around it
/// began.
pub(super) fn sentences(message: &str) -> Vec<&str> {
    let mut sentences = Vec::new();
    let mut in_code = false;
    let mut until: Option<String> = None;
    for line in message.lines() {
        let line = line.trim();
        if let Some(close) = &until {
            if line.contains(close.as_str()) {
                until = None;
            }
            continue;
        }
        if FENCES.iter().any(|fence| line.starts_with(fence)) {
            in_code = !in_code;
            continue;
        }
        if in_code || line.starts_with('>') || line.starts_with('{') {
            continue;
        }
        if let Some(close) = opened_tag(line) {
            if !line.contains(close.as_str()) {
                until = Some(close);
            }
            continue;
        }
        divide(without_marker(line), &mut sentences);
    }
    sentences
}

/// The closing tag of a line that begins with an opening one, as programs put around what they insert.
fn opened_tag(line: &str) -> Option<String> {
    let rest = line.strip_prefix('<')?;
    let end = rest.find(|character: char| {
        !character.is_ascii_alphanumeric() && !matches!(character, '-' | '_')
    })?;
    let name = &rest[..end];
    let opens = name.starts_with(|first: char| first.is_ascii_alphabetic());
    (opens && rest[end..].contains('>')).then(|| format!("</{name}>"))
}

/// A line without the mark of a list item: a bullet, a number, a letter that names an option, a box to tick.
fn without_marker(line: &str) -> &str {
    let mut rest = line.trim_start_matches(['-', '*', '+', '\u{2022}', '#', ' ']);
    rest = rest
        .strip_prefix("[ ]")
        .or_else(|| rest.strip_prefix("[x]"))
        .unwrap_or(rest)
        .trim_start();
    let Some((mark, after)) = rest.split_once(['.', ')', ':']) else {
        return rest;
    };
    let is_number = !mark.is_empty() && mark.len() <= 2 && mark.bytes().all(|b| b.is_ascii_digit());
    let is_letter = mark.len() == 1 && mark.bytes().all(|b| b.is_ascii_alphabetic());
    if (is_number || is_letter) && after.starts_with(' ') {
        after.trim_start()
    } else {
        rest
    }
}

/// Divides a line where sentences end.
fn divide<'a>(line: &'a str, sentences: &mut Vec<&'a str>) {
    let mut start = 0;
    let mut characters = line.char_indices().peekable();
    while let Some((at, character)) = characters.next() {
        let next = characters.peek().map(|&(_, next)| next);
        let bracket = BRACKETS.iter().find(|(open, _)| *open == character);
        if let Some((_, close)) = bracket {
            let inner = at + character.len_utf8();
            let Some(length) = line[inner..].find(*close) else {
                continue;
            };
            push(&line[start..at], sentences);
            divide(&line[inner..inner + length], sentences);
            start = inner + length + close.len_utf8();
            while characters.peek().is_some_and(|&(next, _)| next < start) {
                characters.next();
            }
            continue;
        }
        let is_spaced = next.is_none_or(char::is_whitespace);
        let ends = match character {
            '.' | '!' | ';' => is_spaced,
            '?' => is_spaced || next == Some('!'),
            '-' | '\u{2013}' | '\u{2014}' => is_spaced && line[..at].ends_with(char::is_whitespace),
            _ => false,
        };
        if ends {
            // The mark of a question stays: it is what makes it one.
            let end = if character == '?' { at + 1 } else { at };
            push(&line[start..end], sentences);
            start = at + character.len_utf8();
        }
    }
    push(&line[start..], sentences);
}

fn push<'a>(sentence: &'a str, sentences: &mut Vec<&'a str>) {
    let sentence = sentence.trim();
    if !sentence.is_empty() {
        sentences.push(sentence);
    }
}
