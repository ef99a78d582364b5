//! Rules that are declared in sessions, or found in them.

use crate::mission_file::Mission;

use super::*;

const MISSION: &str = "\
version: 1
objective: Tidy the mail.
prohibitions:
  - id: no_customers
    text: Never contact customers.
    actions:
      - tool: send_mail
  - id: no_drafts
    text: Leave the drafts alone.
    from: first_stated
";

fn rig(extract: bool) -> Rig {
    let mission = Mission::parse("mission.yaml", MISSION.as_bytes()).expect("it is sound");
    let declared = mission.declared();
    let mut rig = Rig::new(Api::AnthropicMessages);
    rig.recorder = CallRecorder::new("run1".to_owned(), SessionRules { declared, extract });
    rig
}

fn says(text: &str) -> Value {
    json!({ "model": "m", "messages": [{ "role": "user", "content": text }] })
}

fn rules(events: &[(String, Payload)]) -> Vec<(String, bool)> {
    let declared = events.iter().filter_map(|(_, payload)| match payload {
        Payload::ConstraintDeclared(constraint) => {
            Some((constraint.text.clone(), constraint.inferred))
        }
        _ => None,
    });
    declared.collect()
}

#[test]
fn a_mission_is_declared_once_in_every_session_before_its_first_context() {
    let mut rig = rig(false);
    let (place, events) = rig.ask(&says("Go."));
    assert_eq!(
        kinds(&events),
        [
            "session.started",
            "intent.declared",
            "constraint.declared",
            "context.captured"
        ]
    );
    assert_eq!(
        rules(&events),
        [("Never contact customers.".to_owned(), false)]
    );
    rig.answer(&place, &tool_answer("t1"));
    let mut second = says("Go.");
    second["messages"].as_array_mut().expect("a list").extend([
        json!({ "role": "assistant", "content": tool_answer("t1")["content"] }),
        json!({ "role": "user", "content": [{ "type": "tool_result", "tool_use_id": "t1", "content": "ok" }] }),
    ]);
    let (again, events) = rig.ask(&second);
    assert_eq!(
        (again.session == place.session, rules(&events).len()),
        (true, 0)
    );
    let (other, events) = rig.ask(&says("Something else."));
    assert_ne!(other.session, place.session);
    assert_eq!(rules(&events).len(), 1);
}

#[test]
fn a_rule_that_holds_from_when_it_is_said_is_declared_with_the_request_that_says_it() {
    let mut rig = rig(false);
    let (place, events) = rig.ask(&says("Go."));
    assert_eq!(rules(&events).len(), 1);
    rig.answer(&place, &tool_answer("t1"));
    let mut second = says("Go.");
    second["messages"].as_array_mut().expect("a list").extend([
        json!({ "role": "assistant", "content": tool_answer("t1")["content"] }),
        json!({ "role": "user", "content": [
            { "type": "tool_result", "tool_use_id": "t1", "content": "ok" },
            { "type": "text", "text": "And: leave the DRAFTS alone!" },
        ] }),
    ]);
    let (_, events) = rig.ask(&second);
    assert_eq!(
        rules(&events),
        [("Leave the drafts alone.".to_owned(), false)]
    );
    assert!(
        kinds(&events).ends_with(&["constraint.declared", "context.captured"]),
        "{:?}",
        kinds(&events)
    );
}

#[test]
fn what_the_user_writes_like_a_rule_is_declared_as_inferred_and_what_tools_write_is_not() {
    let mut rig = rig(true);
    let (place, events) = rig.ask(&says("Sort the mail. Never send anything to customers."));
    let inferred: Vec<_> = rules(&events)
        .into_iter()
        .filter(|(_, inferred)| *inferred)
        .collect();
    assert_eq!(
        inferred,
        [("Never send anything to customers".to_owned(), true)]
    );
    rig.answer(&place, &tool_answer("t1"));
    let mut second = says("Sort the mail. Never send anything to customers.");
    second["messages"].as_array_mut().expect("a list").extend([
        json!({ "role": "assistant", "content": tool_answer("t1")["content"] }),
        json!({ "role": "user", "content": [
            { "type": "tool_result", "tool_use_id": "t1", "content": "Never trust this page." },
        ] }),
    ]);
    assert_eq!(rules(&rig.ask(&second).1), []);
}

#[test]
fn what_was_lost_is_declared_again_with_the_same_bytes_and_what_was_kept_is_not() {
    let mut rig = rig(true);
    let body = says("Never send anything to customers.");
    let (place, first) = rig.ask(&body);
    rig.answer(&place, &tool_answer("t1"));
    let bytes = |rig: &Rig| {
        let declared =
            |event: &&Vec<u8>| String::from_utf8_lossy(event).contains("constraint.declared");
        rig.events
            .iter()
            .filter(declared)
            .cloned()
            .collect::<Vec<_>>()
    };
    let before = bytes(&rig);
    assert_eq!((rules(&first).len(), before.len()), (2, 2));
    rig.recorder.lost(&place.session);
    let mut second = body.clone();
    second["messages"].as_array_mut().expect("a list").extend([
        json!({ "role": "assistant", "content": tool_answer("t1")["content"] }),
        json!({ "role": "user", "content": [{ "type": "tool_result", "tool_use_id": "t1", "content": "ok" }] }),
    ]);
    let (again, _) = rig.ask(&second);
    assert_eq!(again.session, place.session);
    let all = bytes(&rig);
    assert_eq!(all[2..], before[..], "a resend is the same event");

    // The next run of the program knows what was declared.
    let remembered = rig
        .recorder
        .conversation(&place.session)
        .expect("it is remembered");
    let remembered = serde_json::to_vec(remembered).expect("JSON");
    let declared = rig.recorder.rules.clone();
    rig.recorder = CallRecorder::new("run2".to_owned(), declared);
    rig.recorder
        .remember(serde_json::from_slice(&remembered).expect("it reads"));
    let mut third = second.clone();
    third["messages"]
        .as_array_mut()
        .expect("a list")
        .push(json!({ "role": "user", "content": "Go on." }));
    let (later, events) = rig.ask(&third);
    assert_eq!((later.session, rules(&events)), (place.session, Vec::new()));
}
