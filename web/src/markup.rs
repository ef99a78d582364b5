//! HTML that is built in Rust where a template cannot: SVG drawings and highlighted text.
//!
//! This is the one type that templates emit unescaped, and it cannot be made from a string: element and attribute names are
//! literals of this crate, and every value goes through the same escaper.

use std::fmt::{self, Display, Write as _};

use askama::filters::HtmlSafe;

/// Well-formed HTML in which every text and attribute value is escaped.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Markup(String);

/// An attribute: its name, and its value before escaping.
pub(crate) type Attribute<'a> = (&'static str, &'a dyn Display);

impl Markup {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    /// Appends text.
    pub(crate) fn text(&mut self, text: impl Display) -> &mut Self {
        write!(Escaper(&mut self.0), "{text}").expect("writing to a string does not fail");
        self
    }

    /// Opens an element.
    pub(crate) fn open(&mut self, name: &'static str, attributes: &[Attribute<'_>]) -> &mut Self {
        self.tag(name, attributes);
        self.0.push('>');
        self
    }

    /// Closes an element.
    pub(crate) fn close(&mut self, name: &'static str) -> &mut Self {
        self.0.push_str("</");
        self.0.push_str(name);
        self.0.push('>');
        self
    }

    /// An element without content, in the form that SVG wants.
    pub(crate) fn empty(&mut self, name: &'static str, attributes: &[Attribute<'_>]) -> &mut Self {
        self.tag(name, attributes);
        self.0.push_str("/>");
        self
    }

    /// An element that holds text alone.
    pub(crate) fn element(
        &mut self,
        name: &'static str,
        attributes: &[Attribute<'_>],
        text: impl Display,
    ) -> &mut Self {
        self.open(name, attributes).text(text).close(name)
    }

    /// Appends other markup.
    pub(crate) fn push(&mut self, other: &Self) -> &mut Self {
        self.0.push_str(&other.0);
        self
    }

    fn tag(&mut self, name: &'static str, attributes: &[Attribute<'_>]) {
        self.0.push('<');
        self.0.push_str(name);
        for (attribute, value) in attributes {
            self.0.push(' ');
            self.0.push_str(attribute);
            self.0.push_str("=\"");
            self.text(value);
            self.0.push('"');
        }
    }
}

impl Display for Markup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl HtmlSafe for Markup {}

struct Escaper<'a>(&'a mut String);

impl fmt::Write for Escaper<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for character in text.chars() {
            match character {
                '&' => self.0.push_str("&amp;"),
                '<' => self.0.push_str("&lt;"),
                '>' => self.0.push_str("&gt;"),
                '"' => self.0.push_str("&quot;"),
                '\'' => self.0.push_str("&#39;"),
                other => self.0.push(other),
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_and_attribute_values_are_escaped() {
        let mut markup = Markup::new();
        markup.element("a", &[("title", &"\"><script>")], "<b> & 'c'");
        assert_eq!(
            markup.to_string(),
            "<a title=\"&quot;&gt;&lt;script&gt;\">&lt;b&gt; &amp; &#39;c&#39;</a>"
        );
    }
}
