//! Whatever bytes arrive: they are read, rejected span by span, or refused, and nothing panics.

use super::*;

/// Numbers that look random and are the same each time.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, end: usize) -> usize {
        (self.next() % end as u64) as usize
    }
}

fn taken(form: Form, bytes: &[u8]) -> bool {
    let Ok(export) = Export::decode(form, bytes) else {
        return false;
    };
    for mut conversation in export.conversations {
        let others = conversation.split(None);
        for mut one in std::iter::once(conversation).chain(others) {
            let mut session = Session::new(one.session().clone());
            let branches = session.branch(&mut one);
            assert_is_valid(&mut session, &one);
            for branch in branches {
                assert_is_valid(&mut Session::new(branch.session().clone()), &branch);
            }
        }
    }
    true
}

fn assert_is_valid(session: &mut Session, conversation: &Conversation) {
    session.write(conversation, None);
    for event in session.take().events {
        Event::parse(&event.bytes).expect("what is written is valid");
    }
}

fn sample() -> Vec<u8> {
    let mut flat = span(
        5,
        5,
        vec![
            attribute("openinference.span.kind", "LLM"),
            attribute("session.id", "talk"),
            attribute("llm.input_messages.0.message.role", "user"),
            attribute("llm.input_messages.0.message.content", "hello"),
            attribute(
                "llm.output_messages.0.message.tool_calls.0.tool_call.function.name",
                "look",
            ),
        ],
    );
    flat.parent_span_id = vec![5; 8];
    request(vec![
        chat(1, 1, &["go"], &[("c1", "look")], "hm"),
        tool(2, 2, Some("c1"), "look", json!({ "deep": [[[[1]]]] })),
        flat,
    ])
    .encode_to_vec()
}

/// The same request as an exporter writes it in JSON.
const JSON: &str = r#"{"resourceSpans":[{"resource":{"attributes":[{"key":"service.name","value":{"stringValue":"refunds"}}]},
"scopeSpans":[{"scope":{"name":"js"},"unknown":[1,{"a":2}],"spans":[{"traceId":"5B8EFFF798038103D269B633813FC60C","spanId":"eee19b7ec3c1b174",
"parentSpanId":null,"name":"chat","kind":3,"startTimeUnixNano":"1796000000000000000","endTimeUnixNano":1796000000500000000,
"attributes":[{"key":"gen_ai.operation.name","value":{"stringValue":"chat"}},{"key":"gen_ai.usage.input_tokens","value":{"intValue":"12"}},
{"key":"gen_ai.usage.output_tokens","value":{"intValue":3}},{"key":"gen_ai.request.temperature","value":{"doubleValue":0.5}},
{"key":"gen_ai.input.messages","value":{"arrayValue":{"values":[{"kvlistValue":{"values":[{"key":"role","value":{"stringValue":"user"}},
{"key":"parts","value":{"arrayValue":{"values":[{"kvlistValue":{"values":[{"key":"type","value":{"stringValue":"text"}},
{"key":"content","value":{"stringValue":"structured"}}]}}]}}}]}}]}}}],"status":{"code":"STATUS_CODE_ERROR","message":"late"},"droppedAttributesCount":0}]}]}]}"#;

#[test]
fn json_is_read_as_its_senders_write_it() {
    let export = Export::decode(Form::Json, JSON.as_bytes()).expect("a request");
    let mut session = new();
    assert_eq!(session.write(&export.conversations[0], None), []);
    let events = events(&mut session);
    assert_eq!(
        kinds(&events),
        ["session.started", "context.captured", "model.responded"]
    );
    assert_eq!(events[1].3["parts"][0]["text"], "structured");
    assert_eq!(events[2].3["usage"]["input_tokens"], 12);
    assert_eq!(events[2].3["stop_reason"], "error: late");
    assert!(
        events[1]
            .0
            .as_str()
            .starts_with("otlp.5b8efff798038103d269b633813fc60c.eee19b7ec3c1b174.")
    );
}

#[test]
fn truncated_requests_are_read_or_refused() {
    let whole = sample();
    assert!(taken(Form::Protobuf, &whole));
    let refused = (0..whole.len())
        .filter(|end| !taken(Form::Protobuf, &whole[..*end]))
        .count();
    assert!(refused > whole.len() * 9 / 10, "{refused}");
    let refused = (0..JSON.len()).filter(|end| !taken(Form::Json, &JSON.as_bytes()[..*end]));
    assert_eq!(refused.count(), JSON.len());
}

#[test]
fn changed_and_random_bytes_never_panic() {
    let mut numbers = Numbers(0x9e37_79b9_7f4a_7c15);
    let mut read = 0;
    for (form, whole) in [
        (Form::Protobuf, sample()),
        (Form::Json, JSON.as_bytes().to_vec()),
    ] {
        for _ in 0..3000 {
            let mut bytes = whole.clone();
            for _ in 0..=numbers.below(4) {
                let at = numbers.below(bytes.len());
                bytes[at] = numbers.next() as u8;
            }
            read += usize::from(taken(form, &bytes));
        }
        for _ in 0..1000 {
            let bytes: Vec<u8> = (0..numbers.below(200))
                .map(|_| numbers.next() as u8)
                .collect();
            taken(form, &bytes);
        }
    }
    assert!(read > 500, "{read} of the changed requests could be read");
    let in_each_other =
        |open: &str, close: &str| format!("{}{}", open.repeat(50_000), close.repeat(50_000));
    assert!(!taken(Form::Json, in_each_other("[", "]").as_bytes()));
    let values = in_each_other(r#"{"arrayValue":{"values":["#, "]}}");
    let start = r#"{"resourceSpans":[{"resource":{"attributes":[{"key":"a","value":"#;
    assert!(!taken(
        Form::Json,
        format!("{start}{values}}}]}}}}]}}").as_bytes()
    ));
    let mut deep = chat(1, 1, &["go"], &[], "");
    deep.attributes[0].value = Some(nested(200));
    assert!(!taken(Form::Protobuf, &request(vec![deep]).encode_to_vec()));
    assert!(!taken(Form::Protobuf, &[0x0a; 100_001]));
}

#[test]
fn spans_that_cannot_be_named_are_rejected_by_themselves() {
    let mut short = chat(1, 1, &["go"], &[], "");
    short.trace_id = vec![1; 8];
    let mut zero = chat(2, 1, &["go"], &[], "");
    zero.span_id = vec![0; 8];
    let plain = span(3, 1, vec![attribute("http.request.method", "GET")]);
    let good = chat(4, 1, &["go"], &[], "");
    let export = decoded(&request(vec![short, zero, plain, good]));
    assert_eq!(export.ignored, 1);
    assert_eq!(export.conversations[0].spans.len(), 1);
    let reasons: Vec<&str> = export
        .rejected
        .iter()
        .map(|one| one.reason.as_str())
        .collect();
    assert_eq!(
        reasons,
        [
            "its trace id has 8 bytes that count; it must have 16, not all zero",
            "its span id has 0 bytes that count; it must have 8, not all zero",
        ]
    );
    let mut session = Session::new(REJECTED_SESSION.parse().expect("an id"));
    session.reject(&export.rejected).expect("recorded");
    session.reject(&export.rejected).expect("recorded once");
    let events = events(&mut session);
    assert_eq!(kinds(&events), ["session.started", REJECTED_TYPE]);
    assert_eq!(events[1].3["count"], 2);
}

#[test]
fn what_would_break_a_name_or_a_number_does_not() {
    let mut odd = chat(
        1,
        1,
        &["go\u{0}\u{1b}[2J\u{202e}"],
        &[("a\u{7}b", "lo\nok")],
        "x",
    );
    odd.name = "n".repeat(100_000);
    odd.start_time_unix_nano = u64::MAX;
    odd.end_time_unix_nano = 1;
    for one in &mut odd.attributes {
        match one.key.as_str() {
            "gen_ai.conversation.id" => *one = attribute("gen_ai.conversation.id", "../a b\u{0}"),
            "gen_ai.agent.name" => *one = attribute("gen_ai.agent.name", "a\u{1b}[2J".repeat(100)),
            "gen_ai.usage.input_tokens" => *one = attribute("gen_ai.usage.input_tokens", i64::MAX),
            _ => {}
        }
    }
    let export = decoded(&request(vec![odd]));
    let conversation = &export.conversations[0];
    assert!(conversation.session().as_str().starts_with("conversation-"));
    let mut session = new();
    assert_eq!(session.write(conversation, None), []);
    assert_eq!(events(&mut session).len(), 4);
    for name in ["remembrancer.admin", REJECTED_SESSION] {
        let id = super::super::export::session_id(name).expect("an id");
        assert!(
            id.as_str().starts_with("conversation-"),
            "{name} is the recorder's"
        );
    }
}

#[test]
fn empty_spans_are_counted_before_they_are_built() {
    // An empty span in one scope of one resource takes two bytes; so does an empty scope, and an empty resource.
    let within = |bytes: Vec<u8>, tag: u8| {
        let mut outer = vec![tag];
        prost::encoding::encode_varint(bytes.len() as u64, &mut outer);
        outer.extend(bytes);
        outer
    };
    let many = 200_000;
    let spans = within(within([0x12, 0].repeat(many), 0x12), 0x0a);
    let scopes = within([0x12, 0].repeat(many), 0x0a);
    let mut broken = spans.clone();
    broken.push(0xff);
    for body in [spans, scopes, [0x0a, 0].repeat(many), broken] {
        let refused = Export::decode(Form::Protobuf, &body).expect_err("too many");
        assert_eq!(refused, DecodeError::TooManySpans(many));
    }
    let list = format!("[{}{{}}]", "{},".repeat(many - 1));
    let spans = format!(r#"{{"resourceSpans":[{{"scopeSpans":[{{"spans":{list}}}]}}]}}"#);
    let scopes = format!(r#"{{"resourceSpans":[{{"scopeSpans":{list}}}]}}"#);
    for body in [spans, scopes, format!(r#"{{"resourceSpans":{list}}}"#)] {
        let refused = Export::decode(Form::Json, body.as_bytes()).expect_err("too many");
        assert_eq!(refused, DecodeError::TooManySpans(many));
    }
    let within_limit = request((0..100).map(|at| span(at, 1, Vec::new())).collect());
    assert_eq!(decoded(&within_limit).ignored, 100);
}

#[test]
fn an_id_that_is_none_rejects_its_span_alone() {
    let body: Json = serde_json::from_str(JSON).expect("JSON");
    let mut body = body;
    let spans = &mut body["resourceSpans"][0]["scopeSpans"][0]["spans"];
    let mut bad = spans[0].clone();
    bad["spanId"] = json!("no hexadecimal");
    spans.as_array_mut().expect("a list").push(bad);
    let export = Export::decode(Form::Json, body.to_string().as_bytes()).expect("a request");
    assert_eq!(export.rejected.len(), 1);
    assert!(export.rejected[0].reason.contains("span id"));
    assert_eq!(export.conversations[0].spans.len(), 1);
}

/// A value in as many lists as are asked for, one in the other.
fn nested(depth: usize) -> AnyValue {
    (0..depth).fold(AnyValue::default(), |value, _| AnyValue {
        value: Some(Value::Array(super::super::wire::ArrayValue {
            values: vec![value],
        })),
    })
}

#[test]
fn a_span_that_cannot_be_read_costs_no_other() {
    let mut deep = chat(1, 1, &["go"], &[], "");
    deep.attributes[0].value = Some(nested(200));
    let body = request(vec![deep.clone(), chat(2, 2, &["go on"], &[], "done")]).encode_to_vec();
    let export = Export::decode(Form::Protobuf, &body).expect("one can be read");
    assert_eq!(export.conversations[0].spans.len(), 1);
    assert_eq!(export.rejected.len(), 1);
    let rejected = &export.rejected[0];
    assert_eq!(rejected.span, hex::encode(&deep.span_id));
    assert_eq!(rejected.trace, hex::encode(&deep.trace_id));
    assert_eq!(rejected.name, deep.name);
    assert!(
        rejected.reason.starts_with("it cannot be read: "),
        "{rejected:?}"
    );
    assert!(taken(Form::Protobuf, &body));
    // Nothing that can be read, or a frame that is cut off: no request.
    let alone = request(vec![deep]).encode_to_vec();
    Export::decode(Form::Protobuf, &alone).expect_err("nothing can be read");
    Export::decode(Form::Protobuf, &body[..body.len() - 1]).expect_err("it is cut off");

    let good: Json = serde_json::from_str(JSON).expect("JSON");
    let value = format!(
        "{}1{}",
        r#"{"arrayValue":{"values":["#.repeat(300),
        "]}}".repeat(300)
    );
    let of_deep = format!(
        r#"{{"traceId":"{}","spanId":"00000000000000ab","name":"deep","attributes":[{{"key":"a","value":{value}}}]}}"#,
        "ab".repeat(16)
    );
    for broken in [
        of_deep.as_str(),
        r#"{"spanId":"00000000000000ab","name":"deep","startTimeUnixNano":"soon"}"#,
    ] {
        let mark = json!("here");
        let mut body = good.clone();
        let spans = &mut body["resourceSpans"][0]["scopeSpans"][0]["spans"];
        spans.as_array_mut().expect("a list").push(mark);
        let body = body.to_string().replace(r#""here""#, broken);
        let export = Export::decode(Form::Json, body.as_bytes()).expect("one can be read");
        assert_eq!(export.conversations[0].spans.len(), 1);
        let rejected = &export.rejected[0];
        assert_eq!(
            (rejected.span.as_str(), rejected.name.as_str()),
            ("00000000000000ab", "deep")
        );
        assert_eq!(rejected.service.as_deref(), Some("refunds"));
        Export::decode(Form::Json, &body.as_bytes()[..body.len() - 1]).expect_err("it is cut off");
    }
}

#[test]
fn what_a_sender_cut_or_dropped_is_told() {
    let cut = |name: &str, to: &str| {
        let mut span = chat(1, 1, &["go"], &[], "done");
        let found = span.attributes.iter_mut().find(|one| one.key == name);
        *found.expect("given") = attribute(name, to);
        span
    };
    let dropped = |change: fn(&mut Span)| {
        let mut span = chat(1, 1, &["go"], &[], "done");
        change(&mut span);
        span
    };
    for (span, reason) in [
        (
            cut(
                "gen_ai.system_instructions",
                r#"[{"type":"text","content":"Never"#,
            ),
            "gen_ai.system_instructions",
        ),
        (dropped(|span| span.dropped_events_count = 2), "2 events"),
        (
            dropped(|span| {
                span.events.push(wire::SpanEvent {
                    dropped_attributes_count: 3,
                    ..wire::SpanEvent::default()
                });
            }),
            "3 attributes of events",
        ),
    ] {
        let events = written(&mut new(), vec![span]);
        let incomplete = captured(&events)[0].incomplete.clone();
        assert!(
            incomplete
                .as_ref()
                .is_some_and(|told| told.contains(reason)),
            "{reason}: {incomplete:?}"
        );
    }
    let plain = cut("gen_ai.system_instructions", "Never pay.");
    let events = written(&mut new(), vec![plain]);
    assert_eq!(captured(&events)[0].incomplete, None);
    let broken = cut("gen_ai.output.messages", r#"[{"role":"assis"#);
    let events = written(&mut new(), vec![broken]);
    assert!(kinds(&events).contains(&"custom.otlp.answer_unread"));
}
