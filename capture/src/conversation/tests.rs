//! Requests of several conversations, and which session each is found to belong to.

use remembrancer_schema::ContentHash;
use serde_json::{Value, json};

use super::*;
use crate::model_api::Api;

fn request(messages: &[Value]) -> Value {
    json!({ "model": "m", "system": "Never contact customers.", "messages": messages })
}

fn user(text: &str) -> Value {
    json!({ "role": "user", "content": text })
}

fn assistant(text: &str) -> Value {
    json!({ "role": "assistant", "content": text })
}

fn call(id: &str) -> Value {
    json!({ "role": "assistant", "content": [{ "type": "tool_use", "id": id, "name": "read", "input": {} }] })
}

fn result(id: &str, text: &str) -> Value {
    json!({ "role": "user", "content": [{ "type": "tool_result", "tool_use_id": id, "content": text }] })
}

/// Sends requests one after the other.
#[derive(Default)]
struct Sender {
    known: Conversations,
    fresh: u32,
}

impl Sender {
    fn send_as(
        &mut self,
        api: Api,
        body: &Value,
        header: Option<&str>,
    ) -> (String, Option<MatchedBy>, u32) {
        let request = api
            .request(body.to_string().as_bytes())
            .expect("it can be read");
        let appearance = Appearance::of(api, &request, header);
        let (session, by) = match self.known.find(&appearance) {
            Some((session, by)) => (session, Some(by)),
            None => {
                self.fresh += 1;
                let fresh = format!("fresh-{}", self.fresh).parse().expect("an id");
                (self.known.begin(&appearance, &fresh), None)
            }
        };
        let turn = self.known.continued(&session, appearance);
        (session.to_string(), by, turn)
    }

    fn send(&mut self, body: &Value) -> (String, Option<MatchedBy>, u32) {
        self.send_as(Api::AnthropicMessages, body, None)
    }

    /// The last exchange ends without an answer.
    fn failed(&mut self, session: &str) {
        let session = session.parse().expect("an id");
        let known = self.known.get_mut(&session).expect("a conversation");
        known.ended(known.turn);
    }

    fn answer(&mut self, session: &str, response: &str, calls: &[&str]) {
        self.failed(session);
        let session = session.parse().expect("an id");
        let known = self.known.get_mut(&session).expect("a conversation");
        known.answered(Some(response), &[]);
        for call in calls {
            known.called(call, "read", "x");
        }
    }
}

#[test]
fn a_request_with_the_messages_of_the_last_one_and_more_continues_it() {
    let mut sender = Sender::default();
    let first = [user("task")];
    assert_eq!(
        sender.send(&request(&first)),
        ("fresh-1".to_owned(), None, 1)
    );
    sender.answer("fresh-1", "r1", &[]);
    let second = [user("task"), assistant("done"), user("more")];
    assert_eq!(
        sender.send(&request(&second)),
        ("fresh-1".to_owned(), Some(MatchedBy::Messages), 2)
    );
    // Another system prompt does not make another conversation of it.
    let mut third = request(&[&second[..], &[assistant("ok"), user("sum up")]].concat());
    third["system"] = json!("You sum up conversations.");
    assert_eq!(sender.send(&third).0, "fresh-1");
}

#[test]
fn markers_of_caching_do_not_change_a_message() {
    let mut sender = Sender::default();
    let marked =
        json!([{ "type": "text", "text": "task", "cache_control": { "type": "ephemeral" } }]);
    sender.send(&request(&[json!({ "role": "user", "content": marked })]));
    sender.answer("fresh-1", "r1", &[]);
    let later = [user("task"), assistant("a"), user("b")];
    assert_eq!(sender.send(&request(&later)).1, Some(MatchedBy::Messages));
}

#[test]
fn the_same_task_again_is_another_run_unless_it_had_no_answer() {
    let mut sender = Sender::default();
    let task = request(&[user("task")]);
    sender.send(&task);
    sender.failed("fresh-1");
    assert_eq!(
        sender.send(&task),
        ("fresh-1".to_owned(), Some(MatchedBy::Messages), 2),
        "tried again"
    );
    sender.answer("fresh-1", "r1", &["a"]);
    assert_eq!(sender.send(&task), ("fresh-2".to_owned(), None, 1));
    sender.answer("fresh-2", "r2", &["b"]);
    // Both began alike: the call tells which one goes on.
    for (id, session) in [("a", "fresh-1"), ("b", "fresh-2")] {
        let next = request(&[user("task"), call(id), result(id, "x")]);
        assert_eq!(
            sender.send(&next),
            (
                session.to_owned(),
                Some(MatchedBy::Messages),
                if id == "a" { 3 } else { 2 }
            )
        );
    }
}

#[test]
fn after_a_compaction_what_stayed_leads_back_and_that_is_derived() {
    let mut sender = Sender::default();
    let long = [
        user("task"),
        call("c1"),
        result("c1", "one"),
        call("c2"),
        result("c2", "two"),
    ];
    sender.send(&request(&long));
    sender.answer("fresh-1", "r1", &["c2"]);
    let by_call = [user("summary"), call("c2"), result("c2", "two")];
    let found = sender.send(&request(&by_call));
    assert_eq!(found, ("fresh-1".to_owned(), Some(MatchedBy::Calls), 2));
    assert!(MatchedBy::Calls.is_derived() && !MatchedBy::Messages.is_derived());
    sender.answer("fresh-1", "r2", &[]);
    let kept = [user("another summary"), result("c2", "two"), user("go on")];
    let mut other = Sender::default();
    other.send(&request(&long));
    let found = other.send(&request(&kept));
    assert_eq!(found, ("fresh-1".to_owned(), Some(MatchedBy::Overlap), 2));
    // Nothing in common but the task: another run, as far as anybody can tell.
    let strange = [user("task"), user("quite another thing")];
    assert_eq!(
        other
            .send(&request(&[&strange[..1], &[user("x")]].concat()))
            .1,
        None
    );
    let mut elsewhere = request(&[user("s"), result("c2", "two")]);
    elsewhere["system"] = json!("Other instructions.");
    assert_eq!(
        other.send(&elsewhere).1,
        None,
        "an overlap counts under the same instructions alone"
    );
}

#[test]
fn a_request_that_holds_the_last_answer_belongs_to_it() {
    use remembrancer_schema::payload::PartKind;
    let mut sender = Sender::default();
    let api = Api::OpenAiResponses;
    sender.send_as(
        api,
        &json!({ "instructions": "rules", "input": "go" }),
        None,
    );
    let known = sender
        .known
        .get_mut(&"fresh-1".parse().expect("an id"))
        .expect("known");
    let item = Part {
        encrypted: true,
        ..Part::by_hash(PartKind::Summary, ContentHash::of(b"opaque"))
    };
    known.answered(Some("r1"), &[item]);
    let input = json!([{ "type": "compaction", "encrypted_content": "opaque" }, { "role": "user", "content": "on" }]);
    let next = sender.send_as(
        api,
        &json!({ "instructions": "rules", "input": input }),
        None,
    );
    assert_eq!(next, ("fresh-1".to_owned(), Some(MatchedBy::Overlap), 2));
    let other = json!([{ "type": "compaction", "encrypted_content": "of another one" }]);
    assert_eq!(
        sender
            .send_as(
                api,
                &json!({ "instructions": "rules", "input": other }),
                None
            )
            .1,
        None
    );
}

#[test]
fn a_session_named_by_the_library_holds_conversations_told_apart_by_their_instructions() {
    let mut sender = Sender::default();
    let named = |system: &str, messages: &[Value]| {
        let mut body = request(messages);
        body["system"] = json!(system);
        body["metadata"] = json!({ "user_id": "{\"device_id\":\"d\",\"session_id\":\"run-7\"}" });
        body
    };
    assert_eq!(
        sender.send(&named("main", &[user("task")])),
        ("run-7".to_owned(), None, 1)
    );
    sender.answer("run-7", "r1", &[]);
    assert_eq!(
        sender.send(&named("title", &[user("name this")])),
        ("run-7.2".to_owned(), None, 1)
    );
    let longer = [user("task"), assistant("a"), user("b")];
    assert_eq!(sender.send(&named("main", &longer)).0, "run-7");
    let summary =
        "This session is being continued from a previous conversation that ran out of context.";
    assert_eq!(
        sender.send(&named("main", &[user(summary)])).0,
        "run-7.3",
        "the other one goes on: it was not compacted"
    );
    sender.answer("run-7", "r2", &[]);
    let compacted = sender.send(&named("main", &[user(&format!("{summary} Now."))]));
    assert_eq!(
        compacted,
        ("run-7".to_owned(), Some(MatchedBy::Instructions), 3)
    );
    // Agents of one kind beside each other.
    assert_eq!(
        sender.send(&named("title", &[user("look at b")])).0,
        "run-7.4"
    );
    let old = request(&[user("task")]);
    let mut old_style = old.clone();
    old_style["metadata"] = json!({ "user_id": "user_1_account__session_run-8" });
    assert_eq!(sender.send(&old_style).0, "run-8");
    let mut only_user = old;
    only_user["metadata"] = json!({ "user_id": "customer 12" });
    assert!(
        sender.send(&only_user).0.starts_with("fresh-"),
        "a user is no session"
    );
}

#[test]
fn a_header_is_believed_whatever_the_messages() {
    let mut sender = Sender::default();
    let one = sender.send_as(
        Api::AnthropicMessages,
        &request(&[user("a")]),
        Some("my run"),
    );
    let other = json!({ "model": "m", "messages": [{ "role": "user", "content": "b" }] });
    let two = sender.send_as(Api::OpenAiChat, &other, Some("my run"));
    assert_eq!(one.0, two.0);
    assert!(one.0.starts_with("session-"));
    assert_eq!((two.1, two.2), (Some(MatchedBy::Name), 2));
}

#[test]
fn responses_are_continued_by_their_id_and_conversations_by_theirs() {
    let mut sender = Sender::default();
    let api = Api::OpenAiResponses;
    sender.send_as(api, &json!({ "input": "a" }), None);
    sender.answer("fresh-1", "resp_1", &[]);
    sender.send_as(api, &json!({ "input": "b" }), None);
    sender.answer("fresh-2", "resp_2", &[]);
    let next = sender.send_as(
        api,
        &json!({ "input": "c", "previous_response_id": "resp_1" }),
        None,
    );
    assert_eq!(next, ("fresh-1".to_owned(), Some(MatchedBy::Response), 2));
    let unknown = sender.send_as(
        api,
        &json!({ "input": "d", "previous_response_id": "resp_9" }),
        None,
    );
    assert_eq!(unknown.1, None);
    for (number, conversation) in [json!("conv_1"), json!({ "id": "conv_1" })]
        .iter()
        .enumerate()
    {
        let body = json!({ "input": "e", "conversation": conversation });
        assert_eq!(
            sender.send_as(api, &body, None),
            (
                "conv_1".to_owned(),
                (number > 0).then_some(MatchedBy::Name),
                number as u32 + 1
            )
        );
    }
    let cached = json!({ "input": "f", "prompt_cache_key": "app" });
    assert_eq!(
        sender.send_as(api, &cached, None).0,
        "fresh-5",
        "an application shares it between its conversations"
    );
}

#[test]
fn a_call_id_that_is_given_twice_stays_apart_and_its_result_finds_it() {
    let mut sender = Sender::default();
    sender.send(&request(&[user("task")]));
    let known = sender
        .known
        .get_mut(&"fresh-1".parse().expect("an id"))
        .expect("known");
    assert_eq!(known.called("call_0", "read", "1.0"), "call_0");
    assert_eq!(
        known.returned("call_0"),
        Some(("call_0".to_owned(), "read".to_owned()))
    );
    assert_eq!(known.returned("call_0"), None, "it came back before");
    assert_eq!(known.called("call_0", "write", "2.0"), "call_0@2.0");
    assert_eq!(known.called("", "list", "2.1"), "@2.1");
    assert_eq!(
        known.returned("call_0"),
        Some(("call_0@2.0".to_owned(), "write".to_owned()))
    );
    assert_eq!(
        known.returned(""),
        Some(("@2.1".to_owned(), "list".to_owned()))
    );
    let long = "x".repeat(1000);
    assert!(known.called(&long, "read", "3.0").len() < 300);
    assert!(known.returned(&long).is_some());
}

#[test]
fn what_is_remembered_of_a_conversation_is_enough_to_go_on() {
    let mut sender = Sender::default();
    sender.send(&request(&[user("task")]));
    sender.answer("fresh-1", "r1", &["c1"]);
    let known = sender
        .known
        .get(&"fresh-1".parse().expect("an id"))
        .expect("known");
    let bytes = serde_json::to_vec(known).expect("JSON");
    let mut later = Sender::default();
    later
        .known
        .remember(serde_json::from_slice(&bytes).expect("JSON"));
    let next = request(&[user("task"), call("c1"), result("c1", "x")]);
    assert_eq!(
        later.send(&next),
        ("fresh-1".to_owned(), Some(MatchedBy::Messages), 2)
    );
}

#[test]
fn the_conversation_unused_for_the_longest_is_forgotten() {
    let mut sender = Sender::default();
    for number in 0..CONVERSATIONS_MAX + 1 {
        sender.send(&request(&[user(&format!("task {number}"))]));
    }
    assert_eq!(sender.known.known.len(), CONVERSATIONS_MAX);
    assert!(
        sender
            .known
            .get(&"fresh-1".parse().expect("an id"))
            .is_none()
    );
    assert!(
        sender
            .known
            .get(&"fresh-2".parse().expect("an id"))
            .is_some()
    );
}

#[test]
fn calls_that_end_alike_are_sessions_of_their_own() {
    let mut sender = Sender::default();
    let chat = |system: &str, text: &str| {
        json!({ "model": "m", "messages": [
            { "role": "system", "content": system }, user(text), user("Answer in JSON."),
        ] })
    };
    for number in 1..5 {
        let fresh = format!("fresh-{number}");
        let body = chat("Extract.", &format!("document {number}"));
        assert_eq!(
            sender.send_as(Api::OpenAiChat, &body, None),
            (fresh.clone(), None, 1)
        );
        match number % 2 {
            0 => sender.failed(&fresh),
            _ => sender.answer(&fresh, "r", &[]),
        }
    }
    // The same texts under other instructions, which this API takes as messages.
    let other = chat("Translate.", "document 4");
    assert_eq!(sender.send_as(Api::OpenAiChat, &other, None).1, None);
}

#[test]
fn the_end_of_an_exchange_leads_back_to_it_if_it_is_that_of_one_alone() {
    let known_with = |tasks: &[&str]| {
        let mut sender = Sender::default();
        for (number, task) in tasks.iter().enumerate() {
            let session = format!("fresh-{}", number + 1);
            sender.send(&request(&[user(task), user("then this")]));
            sender.answer(&session, "r", &[]);
            let known = sender
                .known
                .get_mut(&session.parse().expect("an id"))
                .expect("known");
            let answer = Part {
                message: Some(2),
                ..Part::inline(remembrancer_schema::payload::PartKind::Assistant, "done")
            };
            known.answered(Some("r"), &[answer]);
        }
        sender
    };
    let kept = [
        user("in short"),
        user("then this"),
        assistant("done"),
        user("on"),
    ];
    let found = known_with(&["a"]).send(&request(&kept));
    assert_eq!(found, ("fresh-1".to_owned(), Some(MatchedBy::Overlap), 2));
    assert_eq!(known_with(&["a", "b"]).send(&request(&kept)).1, None);
    // One text that stands in both, or not the end.
    assert_eq!(
        known_with(&["a"])
            .send(&request(&[user("x"), assistant("done")]))
            .1,
        None
    );
    assert_eq!(
        known_with(&["a"])
            .send(&request(&[user("x"), user("then this")]))
            .1,
        None
    );
}

#[test]
fn the_same_request_twice_at_once_is_two_sessions() {
    let mut sender = Sender::default();
    let task = request(&[user("task")]);
    assert_eq!(sender.send(&task).0, "fresh-1");
    assert_eq!(sender.send(&task), ("fresh-2".to_owned(), None, 1));
    sender.failed("fresh-2");
    assert_eq!(sender.send(&task).0, "fresh-2", "tried again");
}

#[test]
fn the_oldest_call_without_a_result_gives_its_place_to_a_new_one() {
    let mut sender = Sender::default();
    sender.send(&request(&[user("task")]));
    let ids: Vec<String> = (0..=CALLS_MAX).map(|number| format!("c{number}")).collect();
    let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
    sender.answer("fresh-1", "r1", &ids);
    let known = sender
        .known
        .get_mut(&"fresh-1".parse().expect("an id"))
        .expect("known");
    assert_eq!(known.returned("c0"), None);
    assert!(known.returned("c1").is_some());
    assert!(known.returned(ids[CALLS_MAX]).is_some());
}

#[test]
fn requests_that_go_on_from_one_context_at_the_same_time_are_sessions_of_their_own() {
    let mut sender = Sender::default();
    let past = [user("task"), call("a"), result("a", "seen")];
    sender.send(&request(&past[..1]));
    sender.answer("fresh-1", "r1", &["a"]);
    let asked = |question: &str| request(&[&past[..], &[user(question)]].concat());
    let one = sender.send(&asked("one side"));
    assert_eq!(one, ("fresh-1".to_owned(), Some(MatchedBy::Messages), 2));
    // It holds the same call, but not the answer that the session waits for.
    assert_eq!(
        sender.send(&asked("other side")),
        ("fresh-2".to_owned(), None, 1)
    );
    let beside = |sender: &Sender, session: &str| {
        let known = sender.known.get(&session.parse().expect("an id"));
        known.expect("known").beside().map(ToString::to_string)
    };
    assert_eq!(beside(&sender, "fresh-2").as_deref(), Some("fresh-1"));
    // More than the last request, without its answer: asked beside it.
    let title = request(&[&past[..], &[user("one side"), user("Find a title.")]].concat());
    assert_eq!(sender.send(&title), ("fresh-3".to_owned(), None, 1));
    assert_eq!(beside(&sender, "fresh-3").as_deref(), Some("fresh-1"));
    // An answer may reach the client before its end is noted here: what holds it goes on from it.
    let next = [
        &past[..],
        &[user("one side"), assistant("it is"), user("on")],
    ]
    .concat();
    assert_eq!(
        sender.send(&request(&next)),
        ("fresh-1".to_owned(), Some(MatchedBy::Messages), 3)
    );
    // Once nothing is in flight, a call leads back to its session, as after a compaction.
    sender.answer("fresh-1", "r2", &[]);
    let short = request(&[user("in short"), call("a"), result("a", "seen"), user("on")]);
    assert_eq!(sender.send(&short).1, Some(MatchedBy::Calls));
    // An odd one has no past to share.
    assert_eq!(beside(&sender, "fresh-1"), None);
}

#[test]
fn two_requests_that_continue_one_response_at_the_same_time_are_two_sessions() {
    let mut sender = Sender::default();
    let api = Api::OpenAiResponses;
    let next =
        |text: &str, response: &str| json!({ "input": text, "previous_response_id": response });
    sender.send_as(api, &json!({ "input": "a" }), None);
    sender.answer("fresh-1", "resp_1", &[]);
    let one = sender.send_as(api, &next("b", "resp_1"), None);
    assert_eq!(one, ("fresh-1".to_owned(), Some(MatchedBy::Response), 2));
    let two = sender.send_as(api, &next("c", "resp_1"), None);
    assert_eq!(two, ("fresh-2".to_owned(), None, 1));
    sender.answer("fresh-2", "resp_3", &[]);
    sender.answer("fresh-1", "resp_2", &[]);
    for (response, session) in [
        ("resp_3", "fresh-2"),
        ("resp_2", "fresh-1"),
        ("resp_1", "fresh-1"),
    ] {
        assert_eq!(sender.send_as(api, &next("d", response), None).0, session);
        sender.answer(session, "resp_9", &[]);
    }
    // A header is believed.
    let headed = |sender: &mut Sender, body: &Value| sender.send_as(api, body, Some("run")).0;
    assert_eq!(headed(&mut sender, &json!({ "input": "a" })), "run");
    sender.answer("run", "resp_h", &[]);
    for _ in 0..2 {
        assert_eq!(headed(&mut sender, &next("b", "resp_h")), "run");
    }
}
