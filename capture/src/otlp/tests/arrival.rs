//! Spans that come late, twice, over a restart, or from several agents.

use super::*;
use crate::session_writer::tests::recorded;

#[test]
fn what_is_sent_again_adds_nothing_and_what_was_changed_is_told() {
    let spans = || {
        vec![
            chat(1, 1, &["go"], &[("c1", "look")], ""),
            tool(2, 2, Some("c1"), "look", json!("seen")),
        ]
    };
    let mut session = new();
    assert_eq!(written(&mut session, spans()).len(), 5);
    assert_eq!(written(&mut session, spans()).len(), 0);
    let changed = chat(1, 1, &["go elsewhere"], &[], "");
    let events = written(&mut session, vec![changed.clone()]);
    assert_eq!(kinds(&events), ["custom.otlp.span_changed"]);
    assert_eq!(written(&mut session, vec![changed]).len(), 0);
}

#[test]
fn a_session_read_from_the_ledger_goes_on_as_the_one_that_was_kept() {
    let mut compacting = chat(2, 3, &["go", "on"], &[("c2", "pay")], "");
    compacting
        .attributes
        .retain(|one| one.key != "gen_ai.output.messages");
    let answer = json!([
        { "type": "tool_call", "id": "c2", "name": "pay", "arguments": { "x": 1 } },
        { "type": "compaction", "content": "so far" },
    ]);
    compacting.attributes.push(attribute(
        "gen_ai.output.messages",
        json!([{ "role": "assistant", "parts": answer }]),
    ));
    let first = vec![chat(1, 1, &["go"], &[("c1", "look")], ""), compacting];
    let next = || {
        vec![
            chat(1, 1, &["go"], &[("c1", "look")], ""),
            chat(5, 2, &["late"], &[], "late"),
            tool(3, 4, None, "pay", json!("paid")),
            chat(4, 5, &["so far"], &[], "done"),
        ]
    };
    let mut kept = new();
    for conversation in &decoded(&request(first)).conversations {
        assert_eq!(kept.write(conversation, None), []);
    }
    let mut read = new();
    read.learn(&recorded(&kept.take()));
    assert_eq!((read.agent(), read.events()), (Some("main"), kept.events()));
    assert_eq!(read.open_call(), None, "two calls are open");
    let (kept, read) = (written(&mut kept, next()), written(&mut read, next()));
    assert_eq!(kept, read);
    assert_eq!(
        kinds(&read),
        [
            "custom.otlp.late_context",
            "model.responded",
            "tool.returned",
            "context.mutated",
            "context.captured",
            "model.responded",
        ]
    );
    assert_eq!(read[2].3["call_id"], "c2");
    assert_eq!(read[3].3["summary"]["text"], "so far");
}

#[test]
fn turns_go_on_over_batches_and_a_late_context_is_no_change() {
    let mut session = new();
    let first = written(
        &mut session,
        vec![
            chat(1, 1, &["go"], &[], "a"),
            chat(2, 5, &["go", "on"], &[], "b"),
        ],
    );
    assert_eq!(turns_of(&first, "context.captured"), [1, 2]);
    // It began between the two and ended after them.
    let late = written(
        &mut session,
        vec![chat(3, 3, &["something else"], &[("c9", "look")], "")],
    );
    assert_eq!(
        kinds(&late),
        ["custom.otlp.late_context", "model.responded", "tool.called"]
    );
    assert_eq!(turns_of(&late, "tool.called"), [3]);
    assert_eq!(late[0].3["parts"].as_array().map(Vec::len), Some(2));
    let next = written(
        &mut session,
        vec![chat(4, 9, &["go", "on", "more"], &[], "c")],
    );
    assert_eq!(turns_of(&next, "context.captured"), [4]);
    assert_eq!(
        captured(&next)[0].base,
        Some(2),
        "the late one stands in nobody's way"
    );
    // One that is late and builds on the last context changes nothing.
    let grown = chat(5, 8, &["go", "on", "more", "and more"], &[], "d");
    assert_eq!(
        turns_of(&written(&mut session, vec![grown]), "context.captured"),
        [5]
    );
}

#[test]
fn agents_of_one_conversation_have_sessions_of_their_own() {
    let mut other = chat(2, 2, &["sub task"], &[], "a");
    for one in &mut other.attributes {
        if one.key == "gen_ai.agent.name" {
            *one = attribute("gen_ai.agent.name", "helper of main");
        }
    }
    let mut export = decoded(&request(vec![chat(1, 1, &["go"], &[], ""), other]));
    let mut conversation = export.conversations.remove(0);
    let others = conversation.split(None);
    assert_eq!(conversation.session().as_str(), "talk");
    assert_eq!(others.len(), 1);
    assert!(
        others[0]
            .session()
            .as_str()
            .starts_with("talk:agent:helperofmain-")
    );
    let parent = others[0].parent().expect("a parent");
    assert_eq!((parent.0.as_str(), &parent.1), ("talk", &None));
    // Later batches go by the agent that the session is of.
    let mut export = decoded(&request(vec![chat(3, 3, &["go"], &[], "")]));
    assert_eq!(
        export
            .conversations
            .remove(0)
            .split(Some("helper of main"))
            .len(),
        1
    );
}

#[test]
fn a_session_without_an_id_is_its_trace_s_and_a_sub_agent_knows_its_call() {
    let unnamed = |span: &mut Span| {
        span.attributes
            .retain(|one| one.key != "gen_ai.conversation.id")
    };
    let mut alone = chat(1, 1, &["go"], &[], "");
    unnamed(&mut alone);
    let export = decoded(&request(vec![alone]));
    let name = format!("trace:{}", "07".repeat(16));
    assert_eq!(export.conversations[0].session().as_str(), name);
    let mut session = new();
    session.write(&export.conversations[0], None);
    let start = &events(&mut session)[0].3;
    assert!(
        start["labels"]["session_id"]
            .as_str()
            .is_some_and(|told| told.contains("derived"))
    );

    let call = tool(2, 2, Some("c1"), "delegate", json!("done"));
    let mut under = chat(3, 3, &["sub task"], &[], "");
    under.parent_span_id = vec![2; 8];
    for one in &mut under.attributes {
        if one.key == "gen_ai.conversation.id" {
            *one = attribute("gen_ai.conversation.id", "sub");
        }
    }
    let mut unnamed_child = tool(4, 4, Some("s1"), "look", json!(1));
    unnamed_child.parent_span_id = vec![3; 8];
    unnamed(&mut unnamed_child);
    let export = decoded(&request(vec![call, under, unnamed_child]));
    let sub = &export.conversations[1];
    assert_eq!(sub.session().as_str(), "sub");
    let parent = sub.parent().expect("a parent");
    assert_eq!(
        (parent.0.as_str(), parent.1.as_deref()),
        ("talk", Some("c1"))
    );
    assert_eq!(
        sub.spans.len(),
        2,
        "the child of a named span is of the same conversation"
    );
}
