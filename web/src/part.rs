//! One part of a context, as pages show it.

use remembrancer_replay::Analysis;
use remembrancer_replay::analysis::{Absence, PartIndex};

use crate::markup::Markup;
use crate::page::count;
use crate::text::{self, Block, line};

/// Text left to show on a page, so that no page grows without bound.
pub(crate) struct TextBudget(usize);

impl TextBudget {
    /// About what a page should hold.
    pub(crate) fn page() -> Self {
        Self(192 * 1024)
    }

    /// For the one part that was asked for.
    pub(crate) fn whole() -> Self {
        Self(text::PART_BYTES_MAX)
    }

    fn take(&mut self, wanted: usize) -> usize {
        // Each part shows a little, however many came before it.
        let given = wanted.min(self.0.max(240));
        self.0 = self.0.saturating_sub(given);
        given
    }
}

/// A part within a list.
pub(crate) struct PartView {
    /// Its position in the list, from 1.
    pub(crate) position: usize,
    pub(crate) kind: &'static str,
    pub(crate) origin: &'static str,
    pub(crate) message: Option<u32>,
    pub(crate) name: Option<Markup>,
    pub(crate) tool: Option<Markup>,
    pub(crate) tokens: String,
    pub(crate) first_turn: u32,
    pub(crate) stub: bool,
    pub(crate) carrying: bool,
    /// Its first words.
    pub(crate) preview: Markup,
    pub(crate) text: Option<Block>,
    /// Why there is no text.
    pub(crate) absence: Option<Markup>,
    pub(crate) hash: String,
    /// Address of the whole text, where it is cut.
    pub(crate) whole: Option<String>,
}

/// Shows a part with at most `bytes_max` of its text.
pub(crate) fn view(
    analysis: &Analysis,
    part: PartIndex,
    position: usize,
    bytes_max: usize,
    budget: &mut TextBudget,
) -> PartView {
    let Some(entry) = analysis.parts.get(part as usize) else {
        return missing(position);
    };
    let content = analysis.contents.get(entry.content);
    let full = content.and_then(|content| content.text.as_deref());
    let block = full.map(|full| text::block(full, &[], budget.take(full.len().min(bytes_max))));
    PartView {
        position,
        kind: entry.kind.as_str(),
        origin: entry.origin.as_str(),
        message: entry.message,
        name: entry.name.as_deref().map(|name| line(name, 80)),
        tool: entry.tool.as_deref().map(|tool| line(tool, 80)),
        tokens: count(entry.estimated_tokens),
        first_turn: entry.first_turn,
        stub: entry.stub,
        carrying: entry.kind.is_carrying(),
        preview: full.map(|full| line(full, 110)).unwrap_or_default(),
        absence: if block.is_none() {
            Some(absence(
                content.and_then(|content| content.absence.as_ref()),
            ))
        } else {
            None
        },
        text: block,
        hash: content
            .map(|content| content.hash.short())
            .unwrap_or_default(),
        whole: None,
    }
}

/// A part of which the analysis holds nothing.
fn missing(position: usize) -> PartView {
    PartView {
        position,
        kind: "other",
        origin: "unknown",
        message: None,
        name: None,
        tool: None,
        tokens: "0".to_owned(),
        first_turn: 0,
        stub: false,
        carrying: false,
        preview: Markup::new(),
        text: None,
        absence: Some(absence(None)),
        hash: String::new(),
        whole: None,
    }
}

/// Why a text cannot be read, in words.
pub(crate) fn absence(why: Option<&Absence>) -> Markup {
    let mut markup = Markup::new();
    match why {
        Some(Absence::Withheld(reason)) => {
            markup
                .text("Withheld by the application: ")
                .push(&line(reason, 160));
        }
        Some(Absence::Encrypted) => {
            markup.text("Encrypted by the provider; nobody here can read it.");
        }
        Some(Absence::NotRecorded) => {
            markup.text("Named by its hash; its bytes never came.");
        }
        Some(Absence::NotText) => {
            markup.text("Recorded, but not as UTF-8 text.");
        }
        None => {
            markup.text("The text is not at hand.");
        }
    }
    markup
}
