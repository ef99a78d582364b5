//! Requests of one conversation that do not go on from one another, and what becomes of them over restarts.

use std::collections::BTreeMap;

use remembrancer_schema::SessionId;

use super::*;
use crate::session_writer::tests::recorded;
use crate::{NewEvent, Written};

/// What an intake does: one session for each line, kept between batches or read from its entries before each one.
#[derive(Default)]
struct Rig {
    restarts: bool,
    sessions: BTreeMap<SessionId, Session>,
    written: BTreeMap<SessionId, Written>,
}

impl Rig {
    fn restarting() -> Self {
        Self {
            restarts: true,
            ..Self::default()
        }
    }

    fn session(&mut self, id: &SessionId) -> &mut Session {
        if self.restarts || !self.sessions.contains_key(id) {
            let mut session = Session::new(id.clone());
            if let Some(written) = self.written.get(id) {
                session.learn(&recorded(written));
            }
            self.sessions.insert(id.clone(), session);
        }
        self.sessions.get_mut(id).expect("it is there")
    }

    /// Sends spans in one request; returns how many events that made.
    fn send(&mut self, spans: Vec<Span>) -> usize {
        let mut count = 0;
        for mut conversation in decoded(&request(spans)).conversations {
            let agent = self
                .session(conversation.session())
                .agent()
                .map(str::to_owned);
            let others = conversation.split(agent.as_deref());
            for mut one in std::iter::once(conversation).chain(others) {
                if one.is_empty() {
                    continue;
                }
                let branches = self.session(one.session()).branch(&mut one);
                count += self.write(&one);
                for branch in branches {
                    self.session(branch.session());
                    count += self.write(&branch);
                }
            }
        }
        count
    }

    fn write(&mut self, conversation: &Conversation) -> usize {
        let parent = conversation.parent().cloned();
        let parent = parent.map(
            |(session, call_id)| remembrancer_schema::payload::ParentSession { session, call_id },
        );
        let session = self.sessions.get_mut(conversation.session());
        let session = session.expect("it was opened");
        assert_eq!(session.write(conversation, parent), []);
        let new = session.take();
        let count = new.events.len();
        let all = self
            .written
            .entry(conversation.session().clone())
            .or_default();
        all.events.extend(new.events);
        all.blobs.extend(new.blobs);
        count
    }

    /// An event of somebody else.
    fn declare(&mut self, session: &str, event: &Json) {
        let session: SessionId = session.parse().expect("an id");
        let bytes = event.to_string().into_bytes();
        let id = Event::parse(&bytes).expect("a valid event").id;
        let all = self.written.entry(session.clone()).or_default();
        all.events.push(NewEvent { id, bytes });
        self.sessions.remove(&session);
    }

    fn names(&self) -> Vec<&str> {
        self.written.keys().map(SessionId::as_str).collect()
    }

    fn told(&self, session: &str, kind: &str) -> Vec<Json> {
        let all = &self.written[&session.parse::<SessionId>().expect("an id")];
        let events = all.events.iter();
        let events =
            events.map(|event| serde_json::from_slice::<Json>(&event.bytes).expect("JSON"));
        let of_kind = events.filter(|event| event["type"] == kind);
        of_kind.map(|event| event["data"].clone()).collect()
    }

    /// Of each context its turn, and the turn that it goes on from: none for one that is told whole, as after a change.
    fn contexts(&self, session: &str) -> Vec<(u64, Option<u64>)> {
        let contexts = self.told(session, "context.captured");
        let turn = |one: &Json| (one["turn"].as_u64().expect("a turn"), one["base"].as_u64());
        contexts.iter().map(turn).collect()
    }
}

fn with(mut span: Span, key: &str, value: impl Into<Json>) -> Span {
    span.attributes.retain(|one| one.key != key);
    span.attributes.push(attribute(key, value));
    span
}

/// A request without an agent's name, under its own instructions, that takes some seconds.
fn ask(
    number: u8,
    second: u64,
    seconds: u64,
    system: &str,
    texts: &[&str],
    calls: &[(&str, &str)],
) -> Span {
    let mut span = chat(number, second, texts, calls, "answer");
    span.attributes.retain(|one| one.key != "gen_ai.agent.name");
    span.end_time_unix_nano = span.start_time_unix_nano + seconds * 1_000_000_000 - 1;
    with(
        span,
        "gen_ai.system_instructions",
        json!([{ "type": "text", "content": system }]),
    )
}

const AGENT: &str = "Never pay.";
const TITLE: &str = "Find a title for the conversation.";

/// The first one's turns go on from one another, and the other one is a session of its own that names it.
fn assert_beside(rig: &Rig, branch: &str, turns: u64, why: &str) {
    let expected: Vec<(u64, Option<u64>)> = (1..=turns)
        .map(|turn| (turn, (turn > 1).then(|| turn - 1)))
        .collect();
    assert_eq!(rig.contexts("talk"), expected);
    assert_eq!(rig.names(), ["talk", branch]);
    assert_eq!(rig.contexts(branch)[0], (1, None));
    let started = &rig.told(branch, "session.started")[0];
    assert_eq!(started["parent"]["session"], "talk");
    assert_eq!(rig.told("talk", "custom.otlp.branched")[0]["why"], why);
    assert_eq!(rig.told("talk", "context.mutated"), [] as [Json; 0]);
}

const BESIDE: &str = "talk:branch:0202020202020202";

#[test]
fn a_title_that_is_asked_for_meanwhile_is_a_branch() {
    // In one batch, begun before the agent's own first request; and after it, in a batch of its own.
    for is_first in [true, false] {
        let second = if is_first { 0 } else { 2 };
        let title = ask(2, second, 3, TITLE, &["what go says"], &[]);
        let first = ask(1, 1, 5, AGENT, &["go"], &[("c1", "look")]);
        let next = ask(3, 7, 1, AGENT, &["go", "on"], &[]);
        let mut rig = Rig::default();
        if is_first {
            rig.send(vec![title, first, next]);
        } else {
            rig.send(vec![first]);
            rig.send(vec![title]);
            rig.send(vec![next]);
        }
        assert_beside(&rig, BESIDE, 2, "in_flight");
    }
}

#[test]
fn a_title_that_is_asked_for_first_keeps_the_name_and_the_run_is_whole_in_its_branch() {
    let mut rig = Rig::default();
    rig.send(vec![ask(1, 1, 1, TITLE, &["what go says"], &[])]);
    rig.send(vec![ask(2, 3, 1, AGENT, &["go"], &[("c1", "look")])]);
    rig.send(vec![ask(3, 5, 1, AGENT, &["go", "on"], &[])]);
    assert_eq!(rig.names(), ["talk", BESIDE]);
    assert_eq!(rig.contexts("talk"), [(1, None)]);
    assert_eq!(rig.contexts(BESIDE), [(1, None), (2, Some(1))]);
    for session in ["talk", BESIDE] {
        assert_eq!(rig.told(session, "context.mutated"), [] as [Json; 0]);
    }
    assert_eq!(rig.told(BESIDE, "tool.called").len(), 1);
}

#[test]
fn a_request_that_has_nothing_in_common_is_a_branch_but_a_rewriting_is_not() {
    let mut rig = Rig::default();
    rig.send(vec![ask(1, 1, 1, AGENT, &["go"], &[])]);
    rig.send(vec![ask(2, 3, 1, TITLE, &["what go says"], &[])]);
    rig.send(vec![ask(3, 5, 1, AGENT, &["go", "on"], &[])]);
    assert_beside(&rig, BESIDE, 2, "nothing_in_common");
    // The instructions stayed: what is missing is missed.
    rig.send(vec![ask(4, 7, 1, AGENT, &["in short"], &[])]);
    assert_eq!(rig.contexts("talk")[2], (3, None));
    // Nothing stayed, and the sender says so.
    let all = ask(5, 9, 1, "New instructions.", &["all new"], &[]);
    rig.send(vec![with(all, "gen_ai.conversation.compacted", true)]);
    assert_eq!(rig.contexts("talk")[3], (4, None));
    // It holds a call that the session's answers carried.
    rig.send(vec![ask(
        6,
        11,
        1,
        "New instructions.",
        &["all new", "more"],
        &[("c9", "look")],
    )]);
    let held = json!([{ "role": "user", "parts": [{ "type": "tool_call_response", "id": "c9", "response": "seen" }] }]);
    let held = with(
        ask(7, 13, 1, "Newer ones.", &[], &[]),
        "gen_ai.input.messages",
        held,
    );
    rig.send(vec![held]);
    assert_eq!(rig.contexts("talk").len(), 6);
    assert_eq!(
        rig.names(),
        ["talk", BESIDE],
        "all of these are the session's own"
    );
}

#[test]
fn without_instructions_or_tools_a_context_that_is_all_new_is_a_change() {
    let bare = |number, second, text| {
        let mut span = ask(number, second, 1, "", &[text], &[]);
        span.attributes
            .retain(|one| one.key != "gen_ai.system_instructions");
        span
    };
    let mut rig = Rig::default();
    rig.send(vec![bare(1, 1, "all that was said")]);
    rig.send(vec![bare(2, 3, "a summary")]);
    assert_eq!(rig.contexts("talk"), [(1, None), (2, None)]);
    assert_eq!(rig.names(), ["talk"]);
}

#[test]
fn parallel_questions_leave_the_line_that_goes_on_without_them() {
    let spans = vec![
        ask(1, 1, 1, AGENT, &["go"], &[]),
        ask(2, 3, 3, AGENT, &["go", "one side"], &[("c2", "look")]),
        ask(3, 4, 3, AGENT, &["go", "other side"], &[]),
        ask(4, 9, 1, AGENT, &["go", "both sides say"], &[]),
        tool(5, 6, Some("c2"), "look", json!("seen")),
        ask(6, 8, 1, AGENT, &["go", "one side", "more of it"], &[]),
    ];
    let mut spans = spans;
    spans[4]
        .attributes
        .retain(|one| one.key != "gen_ai.agent.name");
    let mut rig = Rig::default();
    rig.send(spans);
    assert_eq!(rig.contexts("talk"), [(1, None), (2, Some(1))]);
    let other = "talk:branch:0303030303030303";
    assert_eq!(rig.names(), ["talk", BESIDE, other]);
    assert_eq!(
        rig.contexts(BESIDE),
        [(1, None), (2, Some(1))],
        "the branch goes on"
    );
    assert_eq!(
        rig.told(BESIDE, "tool.returned").len(),
        1,
        "and has its own calls"
    );
    assert_eq!(rig.told("talk", "tool.called"), [] as [Json; 0]);
    assert_eq!(rig.contexts(other), [(1, None)]);
}

#[test]
fn what_stands_under_a_tool_s_run_is_a_branch_that_names_the_call() {
    let under = |mut span: Span| {
        span.parent_span_id = vec![9; 8];
        span
    };
    let mut run = tool(9, 3, Some("c1"), "delegate", json!("done"));
    run.end_time_unix_nano += 10_000_000_000;
    run.attributes.retain(|one| one.key != "gen_ai.agent.name");
    let mut inner = tool(5, 6, None, "look", json!("seen"));
    inner
        .attributes
        .retain(|one| one.key != "gen_ai.agent.name");
    let spans = vec![
        ask(1, 1, 1, AGENT, &["go"], &[("c1", "delegate")]),
        run,
        under(ask(2, 4, 1, AGENT, &["sub task"], &[("s1", "look")])),
        under(inner),
        // The sub-agent's own history is rewritten: that is a change of its context, and of no other one.
        under(ask(3, 8, 1, AGENT, &["sub task in short"], &[])),
        ask(4, 20, 1, AGENT, &["go", "on"], &[]),
    ];
    let mut rig = Rig::default();
    rig.send(spans);
    assert_beside(&rig, BESIDE, 2, "tool_run");
    assert_eq!(rig.contexts(BESIDE), [(1, None), (2, None)]);
    let started = &rig.told(BESIDE, "session.started")[0];
    assert_eq!(started["parent"]["call_id"], "c1");
    assert_eq!(rig.told(BESIDE, "tool.returned")[0]["call_id"], "s1");
    assert_eq!(rig.told("talk", "tool.called").len(), 1);
}

#[test]
fn a_run_of_another_conversation_s_tool_makes_no_branch() {
    let delegate = |number, second| {
        let mut run = tool(number, second, Some("c1"), "delegate", json!("done"));
        run.end_time_unix_nano += 1_000_000_000;
        run
    };
    let of_sub = |span: Span, parent: u8| {
        let mut span = with(span, "gen_ai.conversation.id", "sub");
        span.parent_span_id = vec![parent; 8];
        span
    };
    let mut rig = Rig::default();
    rig.send(vec![
        delegate(8, 1),
        of_sub(ask(1, 2, 1, AGENT, &["go"], &[]), 8),
    ]);
    // Its history was rewritten between two runs: it is the same conversation, by its own word.
    rig.send(vec![
        delegate(9, 5),
        of_sub(ask(2, 6, 1, AGENT, &["in short"], &[]), 9),
    ]);
    assert_eq!(rig.contexts("sub"), [(1, None), (2, None)]);
    assert_eq!(rig.names(), ["sub", "talk"]);
}

#[test]
fn a_rule_that_was_declared_for_the_session_counts_for_its_branches() {
    let mut rig = Rig::default();
    rig.declare(
        "talk",
        &json!({ "id": "start", "session": "talk", "type": "session.started", "data": {} }),
    );
    rig.declare(
        "talk",
        &json!({ "id": "rule", "session": "talk", "type": "constraint.declared",
        "data": { "id": "budget", "kind": "prohibition", "text": "Never pay." } }),
    );
    rig.send(vec![ask(1, 1, 1, AGENT, &["go"], &[])]);
    rig.send(vec![ask(2, 3, 1, TITLE, &["what go says"], &[])]);
    rig.send(vec![ask(3, 5, 1, TITLE, &["what go says", "again"], &[])]);
    let declared = rig.told(BESIDE, "constraint.declared");
    assert_eq!(declared.len(), 1, "once");
    assert_eq!(
        (&declared[0]["id"], &declared[0]["text"]),
        (&json!("budget"), &json!("Never pay."))
    );
    assert_eq!(rig.contexts(BESIDE), [(1, None), (2, Some(1))]);
}

/// A conversation with all that has to be known from one batch to the next.
fn conversation() -> Vec<Vec<Span>> {
    let flagged = |span| with(span, "gen_ai.conversation.compacted", true);
    let answers = |span, part: Json| {
        let parts = json!([{ "role": "assistant", "parts": [part] }]);
        with(span, "gen_ai.output.messages", parts)
    };
    let summary = json!({ "type": "compaction", "content": "so far" });
    let nothing = |mut span: Span| {
        span.attributes
            .retain(|one| one.key != "gen_ai.output.messages");
        span
    };
    let named = |span| {
        with(
            span,
            "gen_ai.agent.name",
            "a\u{7}gent with a name that is longer than sixty characters, by far",
        )
    };
    vec![
        vec![named(ask(1, 1, 2, AGENT, &["go"], &[("c1", "look")]))],
        vec![named(tool(2, 4, Some("c1"), "look", json!("seen")))],
        vec![ask(3, 2, 3, TITLE, &["what go says"], &[])],
        vec![named(ask(4, 6, 1, AGENT, &["go", "on"], &[("c2", "pay")]))],
        vec![flagged(named(ask(5, 8, 1, AGENT, &["in short"], &[])))],
        vec![flagged(named(ask(
            6,
            10,
            1,
            AGENT,
            &["in short", "and on"],
            &[],
        )))],
        vec![named(answers(
            ask(7, 12, 1, AGENT, &["in short", "and on", "then"], &[]),
            summary,
        ))],
        vec![named(ask(8, 9, 1, AGENT, &["in short", "late"], &[]))],
        vec![ask(9, 14, 1, TITLE, &["what go says", "again"], &[])],
        vec![named(nothing(ask(10, 16, 1, AGENT, &["so far"], &[])))],
        vec![named(tool(11, 18, Some("u1"), "look", json!(1)))],
        vec![named(tool(12, 19, Some("u2"), "look", json!(2)))],
        vec![flagged(named(ask(
            13,
            20,
            1,
            AGENT,
            &["so far", "more"],
            &[],
        )))],
        vec![named(tool(14, 22, Some("u3"), "look", json!(3)))],
        vec![named(tool(15, 23, Some("u4"), "look", json!(4)))],
        vec![flagged(named(ask(
            16,
            24,
            1,
            AGENT,
            &["so far", "more", "end"],
            &[],
        )))],
    ]
}

#[test]
fn a_conversation_goes_on_over_restarts_as_if_there_were_none() {
    let (mut kept, mut read) = (Rig::default(), Rig::restarting());
    for batch in conversation() {
        kept.send(batch.clone());
        read.send(batch);
    }
    assert_eq!(kept.names(), read.names());
    for (session, kept) in &kept.written {
        let read = &read.written[session];
        let shown = |written: &Written| {
            let events = written.events.iter();
            let texts = events.map(|event| String::from_utf8(event.bytes.clone()).expect("text"));
            texts.collect::<Vec<String>>()
        };
        assert_eq!(shown(kept), shown(read), "{session}");
    }
    // The flag stays on the spans after a compaction: it counts at the turn where the context did not just grow.
    let mutated = read.told("talk", "context.mutated");
    let turns: Vec<&Json> = mutated.iter().map(|one| &one["turn"]).collect();
    assert_eq!(turns, [3, 7]);
    assert_eq!(mutated[1]["summary"]["text"], "so far");
    let called = read.told("talk", "tool.called");
    let called: Vec<&Json> = called.iter().map(|one| &one["turn"]).collect();
    assert_eq!(called, [1, 2, 7, 7, 9, 9]);
    assert_eq!(read.names().len(), 2);
}

#[test]
fn what_was_decided_stays_decided_when_the_spans_come_again() {
    for mut rig in [Rig::default(), Rig::restarting()] {
        for batch in conversation() {
            rig.send(batch);
        }
        let again: Vec<Span> = conversation().into_iter().flatten().collect();
        assert_eq!(rig.send(again), 0);
        let mut backwards = conversation();
        backwards.reverse();
        for batch in backwards {
            assert_eq!(rig.send(batch), 0);
        }
    }
}

#[test]
fn a_session_has_no_more_branches_than_it_may() {
    let spans = (0..1100u16).map(|number| {
        let mut span = ask(0, 1, 5, AGENT, &[&format!("question {number}")], &[]);
        span.span_id = [&[1; 6][..], &number.to_be_bytes()].concat();
        span
    });
    let mut rig = Rig::default();
    rig.send(spans.collect());
    assert_eq!(rig.names().len(), 1 + 1024);
    assert_eq!(rig.contexts("talk").len(), 1100 - 1024);
}
