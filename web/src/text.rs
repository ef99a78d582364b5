//! Recorded text, made safe to look at.
//!
//! Whatever an agent, a tool or a web page wrote is shown as text and never as markup, and characters that could deceive a
//! reader (bidi controls, zero-width and tag characters, control characters, a lone carriage return) are shown as visible escapes.

use std::ops::Range;

use crate::markup::Markup;

/// Most characters of a recorded text that stand within a line of ours.
pub(crate) const LINE_CHARS_MAX: usize = 160;
/// Bytes of a part that are shown at first.
pub(crate) const PART_BYTES_FIRST: usize = 16 * 1024;
/// Bytes of a part that are shown when it is asked for alone.
pub(crate) const PART_BYTES_MAX: usize = 512 * 1024;

/// Longest match that is shown in full, in bytes.
const MATCH_BYTES_MAX: usize = 8 * 1024;

/// Recorded text as a block.
#[derive(Debug, Clone, Default)]
pub(crate) struct Block {
    /// The text within its isolating element.
    pub(crate) markup: Markup,
    /// Number of characters shown as escapes.
    pub(crate) hidden: usize,
    /// Length of the whole text in bytes.
    pub(crate) bytes: usize,
    /// Bytes left out before what is shown.
    pub(crate) cut_before: usize,
    /// Bytes left out after what is shown.
    pub(crate) cut_after: usize,
}

impl Block {
    /// Whether some of the text is left out.
    pub(crate) fn is_cut(&self) -> bool {
        self.cut_before + self.cut_after > 0
    }

    /// A warning about characters that cannot be seen, if there are any.
    pub(crate) fn warning(&self) -> Option<String> {
        match self.hidden {
            0 => None,
            1 => Some("1 invisible or deceptive character is shown as an escape.".to_owned()),
            count => Some(format!(
                "{count} invisible or deceptive characters are shown as escapes."
            )),
        }
    }
}

/// Recorded text as a block, at most `bytes_max` of it from the start, with `marks` highlighted.
pub(crate) fn block(text: &str, marks: &[(usize, usize)], bytes_max: usize) -> Block {
    window(text, marks, 0..bytes_max)
}

/// The surroundings of the first mark: at most `around` bytes before it and `around` after it.
pub(crate) fn excerpt(text: &str, marks: &[(usize, usize)], around: usize) -> Block {
    let (start, end) = marks.first().copied().unwrap_or((0, 0));
    let end = end.min(start.saturating_add(MATCH_BYTES_MAX));
    window(
        text,
        marks,
        start.saturating_sub(around)..end.saturating_add(around),
    )
}

/// Recorded text within a line of ours: white space folded, at most `chars_max` characters.
pub(crate) fn line(text: &str, chars_max: usize) -> Markup {
    let mut markup = Markup::new();
    markup.open("bdi", &[("class", &"rec")]);
    let (folded, cut) = fold(text, chars_max);
    for character in folded.chars() {
        write_visible(&mut markup, character);
    }
    if cut {
        markup.text("…");
    }
    markup.close("bdi");
    markup
}

/// Recorded text where no markup may stand: page titles, tooltips, labels within drawings.
pub(crate) fn plain(text: &str, chars_max: usize) -> String {
    let (folded, cut) = fold(text, chars_max);
    let mut shown = String::with_capacity(folded.len());
    for character in folded.chars() {
        if is_deceptive(character) {
            shown.push_str(&escape(character));
        } else {
            shown.push(character);
        }
    }
    if cut {
        shown.push('…');
    }
    shown
}

/// Whether a character cannot be seen, or changes how others are seen: what recorded text may not show as it is, on a page or
/// on a terminal.
pub fn is_deceptive(character: char) -> bool {
    match character {
        '\n' | '\t' => false,
        // Soft hyphen, combining grapheme joiner, Arabic letter mark, fillers, vowel separators.
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' => {
            true
        }
        '\u{180b}'..='\u{180f}' | '\u{3164}' | '\u{ffa0}' => true,
        // Zero-width characters, bidi marks, line and paragraph separators, bidi embeddings, invisible operators, isolates.
        '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' => true,
        // Variation selectors, with which bytes are hidden, byte order mark, annotations. The emoji's one is no exception.
        '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{fff0}'..='\u{fffb}' => true,
        // Musical beams and slurs, which are drawn as nothing.
        '\u{1d173}'..='\u{1d17a}' => true,
        // Tag characters and further variation selectors, with which whole texts are hidden.
        '\u{e0000}'..='\u{e0fff}' => true,
        other => other.is_control(),
    }
}

fn window(text: &str, marks: &[(usize, usize)], wanted: Range<usize>) -> Block {
    let start = text.floor_char_boundary(wanted.start);
    let end = text.floor_char_boundary(wanted.end).max(start);
    let mut block = Block {
        bytes: text.len(),
        cut_before: start,
        cut_after: text.len() - end,
        ..Block::default()
    };
    let is_marked = |at: usize| marks.iter().any(|&(from, to)| (from..to).contains(&at));
    block.markup.open("bdi", &[]);
    let mut in_mark = false;
    let mut characters = text[start..end].char_indices().peekable();
    while let Some((offset, character)) = characters.next() {
        if is_marked(start + offset) != in_mark {
            if in_mark {
                block.markup.close("mark");
            } else {
                block.markup.open("mark", &[]);
            }
            in_mark = !in_mark;
        }
        if character == '\r' && characters.peek().is_some_and(|&(_, next)| next == '\n') {
            continue;
        }
        block.hidden += usize::from(write_visible(&mut block.markup, character));
    }
    if in_mark {
        block.markup.close("mark");
    }
    block.markup.close("bdi");
    block
}

/// Writes one character; returns whether it had to be shown as an escape.
fn write_visible(markup: &mut Markup, character: char) -> bool {
    let deceptive = is_deceptive(character);
    if deceptive {
        markup.element("span", &[("class", &"esc")], escape(character));
    } else {
        markup.text(character);
    }
    deceptive
}

fn escape(character: char) -> String {
    format!("⟦U+{:04X}⟧", u32::from(character))
}

/// Runs of white space become one space. Returns whether the text was cut.
fn fold(text: &str, chars_max: usize) -> (String, bool) {
    let mut folded = String::new();
    let mut count = 0;
    let mut pending_space = false;
    for character in text.chars() {
        if matches!(character, ' ' | '\n' | '\t') {
            pending_space = count > 0;
            continue;
        }
        if count >= chars_max {
            return (folded, true);
        }
        if pending_space {
            folded.push(' ');
            count += 1;
            pending_space = false;
        }
        folded.push(character);
        count += 1;
    }
    (folded, false)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markup_stays_text_and_deceptive_characters_are_shown_and_counted() {
        let block = block(
            "<b>\u{202e}x\u{200b}\r\n\rend\u{1b}[31m\u{e0041}",
            &[],
            1024,
        );
        assert_eq!(block.hidden, 5);
        let shown = block.markup.to_string();
        assert!(
            shown.starts_with("<bdi>&lt;b&gt;<span class=\"esc\">⟦U+202E⟧</span>x"),
            "{shown}"
        );
        assert!(
            shown.contains("</span>\n<span class=\"esc\">⟦U+000D⟧</span>end"),
            "{shown}"
        );
        assert!(
            shown.contains("⟦U+001B⟧") && shown.contains("⟦U+E0041⟧"),
            "{shown}"
        );
        assert!(
            block
                .warning()
                .is_some_and(|warning| warning.starts_with("5 "))
        );
    }

    #[test]
    fn what_is_drawn_as_nothing_is_shown_as_an_escape() {
        let invisible = [
            '\u{ad}'..='\u{ad}',
            '\u{34f}'..='\u{34f}',
            '\u{61c}'..='\u{61c}',
            '\u{115f}'..='\u{1160}',
            '\u{17b4}'..='\u{17b5}',
            '\u{180b}'..='\u{180f}',
            '\u{200b}'..='\u{200f}',
            '\u{2028}'..='\u{202e}',
            '\u{2060}'..='\u{206f}',
            '\u{3164}'..='\u{3164}',
            '\u{fe00}'..='\u{fe0f}',
            '\u{feff}'..='\u{feff}',
            '\u{ffa0}'..='\u{ffa0}',
            '\u{fff0}'..='\u{fffb}',
            '\u{1d173}'..='\u{1d17a}',
            '\u{e0000}'..='\u{e0fff}',
        ];
        for character in invisible.into_iter().flatten() {
            let text = format!("a{character}b");
            let escape = format!("⟦U+{:04X}⟧", u32::from(character));
            assert_eq!(plain(&text, 10), format!("a{escape}b"));
            let shown = block(&text, &[], text.len());
            assert_eq!(shown.hidden, 1, "{escape}");
            let shown = shown.markup.to_string();
            assert!(shown.contains(&escape) && !shown.contains(character));
        }
        for character in ['a', 'é', '\u{301}', '中', '\u{1f600}', '\u{1d172}', '\n'] {
            assert!(!is_deceptive(character), "{character:?}");
        }
    }

    #[test]
    fn marks_and_cuts_fall_on_characters() {
        let text = "äöü never contact";
        let marked = block(text, &[(7, 12)], text.len());
        assert_eq!(
            marked.markup.to_string(),
            "<bdi>äöü <mark>never</mark> contact</bdi>"
        );
        let cut = block(text, &[], 3);
        assert_eq!(
            (cut.markup.to_string(), cut.cut_after),
            ("<bdi>ä</bdi>".to_owned(), 18)
        );
        let near = excerpt(text, &[(7, 12)], 2);
        assert_eq!(near.markup.to_string(), "<bdi>ü <mark>never</mark> c</bdi>");
    }

    #[test]
    fn lines_fold_white_space_and_are_bounded() {
        assert_eq!(plain("  a\n\n b\u{202e}", 10), "a b⟦U+202E⟧");
        assert_eq!(plain("abcdef", 3), "abc…");
        assert_eq!(
            line("<i>", 10).to_string(),
            "<bdi class=\"rec\">&lt;i&gt;</bdi>"
        );
    }
}
