//! Scripts of sed and awk: whether they only look at text and change it on its way. Whatever is not plainly so may do more.

/// Whether a script of sed runs no command and names no file.
pub(super) fn sed_only_edits(script: &str) -> bool {
    let mut rest = script.trim_start();
    while !rest.is_empty() {
        match sed_command(rest) {
            Some(behind) => rest = behind.trim_start_matches([' ', '\t', '\n', ';']),
            None => return false,
        }
    }
    true
}

/// Reads one command, and gives what stands behind it.
fn sed_command(text: &str) -> Option<&str> {
    let text = address(text)?;
    let text = match text.strip_prefix(',') {
        Some(text) => address(text.trim_start_matches(['+', '~']))?,
        None => text,
    };
    let text = text.trim_start_matches([' ', '!']);
    let letter = text.chars().next()?;
    let behind = &text[letter.len_utf8()..];
    match letter {
        '{' | '}' | '=' | 'd' | 'D' | 'p' | 'P' | 'h' | 'H' | 'g' | 'G' | 'x' | 'n' | 'N' | 'z' => {
            Some(behind)
        }
        'q' | 'Q' | 'l' | 'b' | 't' | 'T' | ':' => {
            let end = behind.find([';', '\n', '}']).unwrap_or(behind.len());
            Some(&behind[end..])
        }
        'a' | 'i' | 'c' => behind_text(behind),
        's' | 'y' => {
            let delimiter = behind.chars().next()?;
            if matches!(delimiter, '\n' | '\\') {
                return None;
            }
            let first = through(&behind[delimiter.len_utf8()..], delimiter)?;
            let second = through(first, delimiter)?;
            let flags = second
                .find(|of: char| !of.is_ascii_alphanumeric())
                .unwrap_or(second.len());
            let is_harmless = |of: char| of.is_ascii_digit() || "gpiImM".contains(of);
            second[..flags]
                .chars()
                .all(is_harmless)
                .then(|| &second[flags..])
        }
        _ => None,
    }
}

/// What stands behind the text that is put in: it ends with its line, or goes on where the end of the line is escaped. Where the
/// text may begin in more ways than one, it cannot be told.
fn behind_text(text: &str) -> Option<&str> {
    const BLANKS: [char; 2] = [' ', '\t'];
    let text = text.trim_start_matches(BLANKS);
    let text = match text.strip_prefix('\\') {
        None => text,
        Some(lines) if lines.starts_with('\n') => {
            let lines = &lines[1..];
            if lines.trim_start_matches(BLANKS).starts_with('\\') {
                return None;
            }
            lines
        }
        Some(line) => {
            let end = line.find('\n').unwrap_or(line.len());
            let is_plain = !line[..end].contains('\\') && !line[..end].trim().is_empty();
            return is_plain.then(|| &line[end..]);
        }
    };
    let mut is_escaped = false;
    let end = text.find(|of: char| {
        let is_end = of == '\n' && !is_escaped;
        is_escaped = of == '\\' && !is_escaped;
        is_end
    });
    Some(&text[end.unwrap_or(text.len())..])
}

fn address(text: &str) -> Option<&str> {
    let first = text.chars().next()?;
    match first {
        '0'..='9' => Some(text.trim_start_matches(|of: char| of.is_ascii_digit() || of == '~')),
        '$' => Some(&text[1..]),
        '/' => Some(through(&text[1..], '/')?.trim_start_matches(['I', 'M'])),
        '\\' => {
            let delimiter = text[1..].chars().next()?;
            through(&text[1 + delimiter.len_utf8()..], delimiter)
        }
        _ => Some(text),
    }
}

/// What stands behind the next delimiter that is not escaped. A set that holds one, or another bracket, cannot be told.
fn through(text: &str, delimiter: char) -> Option<&str> {
    let mut at = 0;
    loop {
        let next = text[at..].chars().next()?;
        at += next.len_utf8();
        match next {
            '\\' => at += text[at..].chars().next()?.len_utf8(),
            next if next == delimiter => return Some(&text[at..]),
            '[' => {
                let first = text[at..].chars().next()?.len_utf8();
                let end = at + first + text[at + first..].find(']')?;
                if text[at..end].contains([delimiter, '[', '\\']) {
                    return None;
                }
                at = end + 1;
            }
            _ => {}
        }
    }
}

/// Whether a script of awk runs no command and names no file. A comparison with `>` looks like an output and does not pass.
pub(super) fn awk_only_reads(script: &str) -> bool {
    let signs = [
        "|", ">", "system", "getline", "close", "@", "ARGV", "ENVIRON",
    ];
    !signs.iter().any(|sign| script.contains(sign))
}
