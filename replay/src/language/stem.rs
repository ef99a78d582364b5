//! Words without their inflection.

/// A word without its inflection: always a prefix of the word, so that a search for stems finds every form. Tokens with
/// digits, and what is not English, stay whole.
pub(crate) fn stem(word: &str) -> &str {
    if !word
        .bytes()
        .all(|byte| byte.is_ascii_lowercase() || byte == b'\'')
    {
        return word;
    }
    let word = word.strip_suffix("'s").unwrap_or(word);
    let plain = strip(word, &["ies", "ied"]).or_else(|| {
        let word = if word.ends_with("ss") || word.ends_with("us") || word.ends_with("is") {
            word
        } else {
            strip(word, &["s"]).unwrap_or(word)
        };
        strip(word, &["ing", "ed"]).or(Some(word))
    });
    let plain = plain.unwrap_or(word);
    let plain = strip(plain, &["e", "y"]).unwrap_or(plain);
    undouble(plain)
}

/// Drops one of the endings if a syllable of at least three letters is left.
fn strip<'a>(word: &'a str, endings: &[&str]) -> Option<&'a str> {
    endings.iter().find_map(|ending| {
        let rest = word.strip_suffix(ending)?;
        (rest.len() >= 3 && rest.bytes().any(|byte| b"aeiouy".contains(&byte))).then_some(rest)
    })
}

/// "stopp" is "stop"; "pass" and "call" stay, because their own doubling is not an inflection.
fn undouble(word: &str) -> &str {
    match word.as_bytes() {
        [.., a, b] if a == b && b"bdgmnprt".contains(a) && word.len() > 3 => {
            &word[..word.len() - 1]
        }
        _ => word,
    }
}
