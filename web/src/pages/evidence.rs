//! `/sessions/{number}/evidence/{action}/{constraint}`: why does the cell say so?

use askama::Template;
use remembrancer_replay::Analysis;
use remembrancer_replay::analysis::{Constraint, Evidence, Presence, Risk, Turn};

use crate::error::{Ids, PageError};
use crate::links::Links;
use crate::mark::{Mark, mark};
use crate::markup::Markup;
use crate::page::{Frame, Page, Shell, count};
use crate::part;
use crate::state::View;
use crate::text::{self, Block, line};

/// Bytes of text shown before and after a match.
const AROUND_BYTES: usize = 1200;

#[derive(Template)]
#[template(path = "evidence.html")]
pub(crate) struct EvidenceView {
    shell: Shell,
    frame: Frame,
    card: Card,
    previous: Option<String>,
    next: Option<String>,
}

/// The evidence of one cell.
pub(crate) struct Card {
    pub(crate) id: String,
    pub(crate) mark: Mark,
    pub(crate) action: usize,
    pub(crate) action_link: String,
    pub(crate) tool: Markup,
    pub(crate) turn: u32,
    pub(crate) turn_link: Option<String>,
    pub(crate) constraint: Markup,
    pub(crate) constraint_link: String,
    pub(crate) kind: &'static str,
    pub(crate) statement: Block,
    pub(crate) stated_by: Option<Markup>,
    pub(crate) matcher: Markup,
    pub(crate) declared_later: bool,
    pub(crate) breaks: bool,
    /// The state in a sentence.
    pub(crate) sentence: String,
    pub(crate) reason: Option<Markup>,
    pub(crate) at_risk: Option<&'static str>,
    pub(crate) last_present: Option<(u32, Option<String>)>,
    /// Number, turn, kind and address of the mutation that it left with.
    pub(crate) left_with: Option<(usize, u32, &'static str, String)>,
    pub(crate) never_present: bool,
    pub(crate) witness: &'static str,
    /// How the action became known.
    pub(crate) action_witness: &'static str,
    /// How the constraint's declaration became known.
    pub(crate) declared_witness: &'static str,
    pub(crate) places: Vec<Place>,
}

/// One place where the constraint's words stand.
pub(crate) struct Place {
    pub(crate) mark: Mark,
    pub(crate) position: u32,
    pub(crate) kind: &'static str,
    pub(crate) origin: &'static str,
    pub(crate) carrying: bool,
    pub(crate) name: Option<Markup>,
    /// The tool that the part belongs to.
    pub(crate) tool: Option<Markup>,
    /// The words stand in the name of that tool: there is nothing to highlight in the text.
    pub(crate) only_in_name: bool,
    pub(crate) tokens_from_end: String,
    pub(crate) note: Option<Markup>,
    pub(crate) change: Option<Change>,
    pub(crate) text: Option<Block>,
    pub(crate) absence: Option<Markup>,
    pub(crate) link: Option<String>,
}

/// How a restatement differs from what was declared, with both texts.
pub(crate) struct Change {
    pub(crate) kind: &'static str,
    pub(crate) difference: Markup,
    pub(crate) declared: Markup,
    pub(crate) said: Markup,
}

pub(crate) async fn card(
    view: View,
    Ids((number, action, constraint)): Ids<(i64, usize, usize)>,
) -> Result<Page<EvidenceView>, PageError> {
    let session = view.session(number).await?;
    let links = Links::Viewer { session: number };
    let (Some(action), Some(constraint)) = (action.checked_sub(1), constraint.checked_sub(1))
    else {
        return Err(PageError::NotFound("cell"));
    };
    let card =
        of_cell(&session.analysis, action, constraint, links).ok_or(PageError::NotFound("cell"))?;
    let next = (action + 1 < session.analysis.actions.len())
        .then(|| links.evidence(action + 1, constraint, false));
    Ok(Page(EvidenceView {
        shell: Shell::of(&view),
        frame: Frame::of(&session, "replay"),
        card,
        previous: action
            .checked_sub(1)
            .map(|action| links.evidence(action, constraint, false)),
        next,
    }))
}

/// The evidence card of a cell; `None` if there is no such cell.
pub(crate) fn of_cell(
    analysis: &Analysis,
    action: usize,
    constraint: usize,
    links: Links,
) -> Option<Card> {
    let sent = analysis.actions.get(action)?;
    let declared = analysis.constraints.get(constraint)?;
    let turn = analysis
        .turn_position(sent.turn)
        .map(|at| &analysis.turns[at]);
    let unknown = Presence {
        reason: Some("the record holds no turn that this action belongs to".into()),
        ..Presence::of(Some(remembrancer_replay::analysis::PresenceState::Unknown))
    };
    let presence = analysis.presence_at(sent, constraint).unwrap_or(&unknown);
    let mark = mark(presence.state);
    let left_with = presence.left_with.and_then(|at| {
        let mutation = analysis.mutations.get(at)?;
        Some((
            at + 1,
            mutation.turn,
            mutation.kind.as_str(),
            links.mutation(at),
        ))
    });
    Some(Card {
        id: format!("cell-{}-{}", action + 1, constraint + 1),
        mark,
        action: action + 1,
        action_link: links.action(action),
        tool: line(&sent.tool, 80),
        turn: sent.turn,
        turn_link: turn.and_then(|turn| links.turn(turn.number)),
        constraint: line(&declared.id, 128),
        constraint_link: links.constraint(constraint),
        kind: declared.kind.as_str(),
        statement: text::block(&declared.text, &[], 4096),
        stated_by: declaration(declared),
        matcher: line(&declared.matcher, 400),
        declared_later: declared.entry > sent.entry,
        breaks: sent.breaks.contains(&constraint),
        sentence: sentence(presence, sent.turn),
        reason: presence.reason_in_words().map(|reason| line(&reason, 400)),
        at_risk: presence.at_risk.map(risk),
        last_present: presence.last_present.map(|turn| (turn, links.turn(turn))),
        left_with,
        never_present: presence.last_present.is_none() && !mark.present,
        witness: turn.map_or("unknown", |turn| turn.witness.as_str()),
        action_witness: sent.witness.as_str(),
        declared_witness: declared.witness.as_str(),
        places: presence
            .evidence
            .iter()
            .map(|evidence| {
                let from_end = presence.evidence.tokens_from_end(evidence);
                place(analysis, turn, evidence, from_end, links)
            })
            .collect(),
    })
}

/// Who stated a constraint, or that nobody did.
pub(crate) fn declaration(declared: &Constraint) -> Option<Markup> {
    let by = declared.stated_by.as_ref().map(stated_by);
    if !declared.inferred {
        return by;
    }
    let mut markup = Markup::new();
    markup.text("inferred by a program, declared by nobody");
    if let Some(by) = by {
        markup.text("; the words are from ").push(&by);
    }
    Some(markup)
}

/// Who stated something, in one line.
fn stated_by(by: &remembrancer_schema::payload::StatedBy) -> Markup {
    let mut markup = line(&by.role, 60);
    if let Some(name) = &by.name {
        markup.text(", ").push(&line(name, 80));
    }
    if let Some(source) = &by.source {
        markup.text(", in ").push(&line(source, 120));
    }
    markup
}

fn sentence(presence: &Presence, turn: u32) -> String {
    use remembrancer_replay::analysis::PresenceState as State;
    let Some(state) = presence.state else {
        return format!(
            "It had not been declared when the request of turn {turn} was sent, and it did not stand there. Nothing was missing, so this is not counted."
        );
    };
    match state {
        State::Verbatim => {
            format!("The statement stood word for word in the context of turn {turn}.")
        }
        State::Matched => format!("The declared matcher held over the context of turn {turn}."),
        State::Altered => {
            format!(
                "The context of turn {turn} restated it with a difference that matters. This does not count as present."
            )
        }
        State::Partial => {
            format!(
                "Much of its wording stood close together in the context of turn {turn}: likely a paraphrase, to be read. This does not count as present."
            )
        }
        State::Mention => {
            format!(
                "Its words stood in the context of turn {turn} only as a topic or without authority. This does not count as present."
            )
        }
        State::NoTrace => format!("No textual trace of it stood in the context of turn {turn}."),
        State::Opaque => {
            format!("A part of the context of turn {turn} cannot be read, so this can't be told.")
        }
        State::Unknown => {
            format!("The context of turn {turn} is not known, so this can't be told.")
        }
    }
}

fn risk(risk: Risk) -> &'static str {
    match risk {
        Risk::OnlyInSummary => "It stood only in a summary, whose words are the summarizer's.",
        Risk::OnlyInMessages => {
            "It stood only in chat messages, which the next compaction may take."
        }
    }
}

fn place(
    analysis: &Analysis,
    turn: Option<&Turn>,
    evidence: &Evidence,
    tokens_from_end: u64,
    links: Links,
) -> Place {
    let part = analysis.parts.get(evidence.part as usize);
    let content = analysis.content_of(evidence.part);
    let full = content.and_then(|content| content.text.as_deref());
    let marks: Vec<(usize, usize)> = evidence.range.into_iter().collect();
    let tool = part.and_then(|part| part.tool.as_deref());
    Place {
        mark: mark(evidence.state),
        position: evidence.position + 1,
        kind: part.map_or("other", |part| part.kind.as_str()),
        origin: part.map_or("unknown", |part| part.origin.as_str()),
        carrying: part.is_some_and(|part| part.kind.is_carrying()),
        name: part
            .and_then(|part| part.name.as_deref())
            .map(|name| line(name, 80)),
        only_in_name: tool.is_some() && full.is_some() && evidence.range.is_none(),
        tool: tool.map(|tool| line(tool, 80)),
        tokens_from_end: count(tokens_from_end),
        note: evidence.note.as_deref().map(|note| line(note, 400)),
        change: evidence.alteration.as_deref().map(|alteration| Change {
            kind: alteration.kind.as_str(),
            difference: line(&alteration.difference, 400),
            declared: line(&alteration.declared, 400),
            said: line(&alteration.said, 400),
        }),
        text: full.map(|full| text::excerpt(full, &marks, AROUND_BYTES)),
        absence: full
            .is_none()
            .then(|| part::absence(content.and_then(|content| content.absence.as_ref()))),
        link: turn.and_then(|turn| links.turn(turn.number)).map(|link| {
            format!(
                "{link}?part={}#part-{}",
                evidence.position + 1,
                evidence.position + 1
            )
        }),
    }
}

#[cfg(test)]
mod tests {
    use remembrancer_replay::analysis::{FoundPlaces, PresenceState};

    use super::*;
    use crate::fixture::Fixture;

    #[test]
    fn an_altered_place_shows_both_texts_and_in_which_way_they_differ() {
        let analysis = Fixture::new(str::to_owned).first().clone();
        let altered = |&(action, constraint): &(usize, usize)| {
            let presence = analysis.presence_at(&analysis.actions[action], constraint);
            presence.is_some_and(|presence| presence.state == Some(PresenceState::Altered))
        };
        let mut cells = (0..analysis.actions.len())
            .flat_map(|action| (0..analysis.constraints.len()).map(move |at| (action, at)));
        let (action, constraint) = cells.find(altered).expect("an altered cell");
        let links = Links::Viewer { session: 1 };
        let card = of_cell(&analysis, action, constraint, links).expect("a cell");
        let change = card.places[0].change.as_ref().expect("both texts");
        assert_eq!(change.kind, "weakened");
        assert!(change.declared.to_string().contains("contact customers"));
        assert!(change.said.to_string().contains("Try not to"));
    }

    #[test]
    fn words_in_the_name_of_a_tool_are_told_from_words_in_a_text() {
        let mut analysis = Fixture::new(str::to_owned).first().clone();
        let part = (0..analysis.parts.len() as u32)
            .find(|&part| {
                let text = analysis
                    .content_of(part)
                    .and_then(|content| content.text.as_ref());
                analysis.parts[part as usize].tool.is_some() && text.is_some()
            })
            .expect("a part of a tool");
        for (range, only_in_name) in [(None, true), (Some((0, 4)), false)] {
            let known = &mut analysis.presence[0][0].evidence;
            let place = Evidence {
                part,
                range,
                ..Evidence::clone(&known[0])
            };
            *known = FoundPlaces::new(place.tokens_to_part_end, [place]);
            let links = Links::Viewer { session: 1 };
            let card = of_cell(&analysis, 0, 0, links).expect("a cell");
            assert_eq!(card.places[0].only_in_name, only_in_name);
            assert!(card.places[0].tool.is_some());
        }
    }
}
