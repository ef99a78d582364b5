//! Characters as they are compared: invisible ones gone, normalised, case-folded, each with the bytes that it comes from.

use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

use super::Escapes;

/// One folded character and the original bytes that it comes from.
pub(super) struct Glyph {
    pub(super) symbol: char,
    pub(super) from: usize,
    pub(super) to: usize,
}

/// Characters without a shape of their own. Left in, they hide a word from every comparison and from every reader.
fn is_invisible(symbol: char) -> bool {
    matches!(symbol,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}'
        | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{3164}'
        | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fff8}' | '\u{1bca0}'..='\u{1bca3}'
        | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}')
}

/// The characters that are compared, each with where it comes from.
pub(super) fn glyphs(text: &str, escapes: Escapes) -> Vec<Glyph> {
    let mut glyphs = Vec::with_capacity(text.len());
    let mut unit = Unit::default();
    let mut chars = text.char_indices();
    while let Some((at, symbol)) = chars.next() {
        let mut end = at + symbol.len_utf8();
        let mut symbol = symbol;
        if symbol == '\\' && escapes == Escapes::Json {
            let (decoded, length) = unescape(&text[end..]);
            symbol = decoded;
            end += length;
            while chars.as_str().len() > text.len() - end {
                chars.next();
            }
        }
        if is_invisible(symbol) {
            continue;
        }
        if !composes(symbol) {
            unit.flush(&mut glyphs);
        }
        if unit.chars.is_empty() {
            unit.from = at;
        }
        unit.chars.push(symbol);
        unit.to = end;
    }
    unit.flush(&mut glyphs);
    glyphs
}

/// The character that an escape after a backslash stands for, and its length in bytes. What is no escape separates words.
fn unescape(rest: &str) -> (char, usize) {
    match rest.as_bytes().first() {
        Some(b'n' | b'r') => ('\n', 1),
        Some(b't' | b'b' | b'f') => (' ', 1),
        Some(b'"' | b'\\' | b'/') => (' ', 1),
        Some(b'u') => rest
            .get(1..5)
            .filter(|hex| hex.bytes().all(|byte| byte.is_ascii_hexdigit()))
            .and_then(|hex| u32::from_str_radix(hex, 16).ok())
            .map_or((' ', 0), |code| (char::from_u32(code).unwrap_or(' '), 5)),
        _ => (' ', 0),
    }
}

/// Characters that normalise together: a base and what composes with it.
#[derive(Default)]
struct Unit {
    chars: Vec<char>,
    from: usize,
    to: usize,
}

impl Unit {
    fn flush(&mut self, glyphs: &mut Vec<Glyph>) {
        let (from, to) = (self.from, self.to);
        let mut push = |symbol: char| glyphs.push(Glyph { symbol, from, to });
        match self.chars[..] {
            [] => {}
            [symbol] if symbol.is_ascii() => push(symbol.to_ascii_lowercase()),
            [symbol] if let Some(digit) = raised_digit(symbol) => {
                push('^');
                push(digit);
            }
            _ => {
                if matches!(self.chars[0], '\u{bc}'..='\u{be}' | '\u{2150}'..='\u{215f}' | '\u{2189}')
                {
                    // 3½ is not 31/2.
                    push(' ');
                }
                let folded = self.chars.iter().copied().nfkc().flat_map(fold).nfkc();
                folded
                    .filter(|symbol| !is_invisible(*symbol))
                    .for_each(push);
            }
        }
        self.chars.clear();
    }
}

/// Whether a character may change what the one before it normalises to.
fn composes(symbol: char) -> bool {
    !symbol.is_ascii()
        && (is_combining_mark(symbol)
            || matches!(symbol, '\u{1160}'..='\u{11ff}' | '\u{d7b0}'..='\u{d7ff}' | '\u{ff9e}'..='\u{ff9f}' | '\u{ffa0}'..='\u{ffdc}'))
}

/// Full case folding: lower, upper, lower takes ß, ẞ, ſ, ς and their like to one spelling.
fn fold(symbol: char) -> impl Iterator<Item = char> {
    symbol
        .to_lowercase()
        .flat_map(char::to_uppercase)
        .flat_map(char::to_lowercase)
}

fn raised_digit(symbol: char) -> Option<char> {
    let value = match symbol {
        '\u{b9}' => 1,
        '\u{b2}' | '\u{b3}' => u32::from(symbol) - 0xb0,
        '\u{2070}' | '\u{2074}'..='\u{2079}' => u32::from(symbol) - 0x2070,
        '\u{2080}'..='\u{2089}' => u32::from(symbol) - 0x2080,
        _ => return None,
    };
    char::from_digit(value, 10)
}
