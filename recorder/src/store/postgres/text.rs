//! Text that PostgreSQL takes: any but U+0000, which a label may hold.

use std::borrow::Cow;

/// Begins an escape, and so is escaped itself.
const ESCAPE: char = '\u{1a}';
const NUL: char = '0';
const ITSELF: char = '1';

/// As it is stored. Texts that differ are stored differently.
pub(super) fn to_stored(text: &str) -> Cow<'_, str> {
    if !text.contains(['\0', ESCAPE]) {
        return Cow::Borrowed(text);
    }
    let mut stored = String::with_capacity(text.len() + 8);
    for character in text.chars() {
        match character {
            '\0' => stored.extend([ESCAPE, NUL]),
            ESCAPE => stored.extend([ESCAPE, ITSELF]),
            other => stored.push(other),
        }
    }
    Cow::Owned(stored)
}

/// As it was before [`to_stored`]. An escape that was never written stays as it is.
pub(super) fn from_stored(stored: String) -> String {
    if !stored.contains(ESCAPE) {
        return stored;
    }
    let mut text = String::with_capacity(stored.len());
    let mut rest = stored.chars();
    while let Some(character) = rest.next() {
        if character != ESCAPE {
            text.push(character);
            continue;
        }
        match rest.next() {
            Some(NUL) => text.push('\0'),
            Some(ITSELF) => text.push(ESCAPE),
            other => text.extend([Some(ESCAPE), other].into_iter().flatten()),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_text_comes_back() {
        for (text, expected) in [
            ("", ""),
            ("plain é", "plain é"),
            ("a\0b", "a\u{1a}0b"),
            ("\u{1a}0", "\u{1a}10"),
            ("\0\u{1a}\0", "\u{1a}0\u{1a}1\u{1a}0"),
        ] {
            let stored = to_stored(text);
            assert_eq!(stored, expected);
            assert_eq!(from_stored(stored.into_owned()), text);
        }
        assert_eq!(from_stored("\u{1a}".to_owned()), "\u{1a}");
    }
}
