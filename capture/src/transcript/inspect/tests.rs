use std::io::{Cursor, Write as _};

use remembrancer_schema::payload::{MutationKind, Payload, ReturnStatus, Verdict, Witness};
use serde_json::{Value, json};
use zip::write::SimpleFileOptions;

use super::*;
use crate::recorded_data::shared;
use crate::transcript::collected::Collected;

/// A log with one sample.
fn log(sample: &Value) -> Vec<u8> {
    let mut archive = zip::ZipWriter::new(Cursor::new(Vec::new()));
    let options = SimpleFileOptions::default().compression_method(zip::CompressionMethod::Zstd);
    let header = json!({"version": 2, "eval": {"eval_id": "e", "task": "t", "model": "m"}});
    for (name, content) in [("header.json", &header), ("samples/1_epoch_1.json", sample)] {
        archive.start_file(name, options).expect("starts");
        archive
            .write_all(content.to_string().as_bytes())
            .expect("writes");
    }
    archive.finish().expect("ends").into_inner()
}

fn imported(sample: &Value) -> Collected {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("log.eval");
    std::fs::write(&path, log(sample)).expect("a file");
    assert!(Inspect.recognises(&Opening::of(&path).expect("readable")));
    Collected::of(&Inspect, &path)
}

fn model(uuid: &str, span: &str, refs: &Value, answer: &Value) -> Value {
    json!({"event": "model", "uuid": uuid, "span_id": span, "timestamp": "2026-11-30T05:00:00+00:00", "model": "m",
        "input": [], "input_refs": refs, "tools": [], "output": {"choices": [{"message": answer, "stop_reason": "stop"}],
        "usage": {"input_tokens": 10, "output_tokens": 2, "input_tokens_cache_read": 5}}})
}

fn said(role: &str, text: &str) -> Value {
    json!({"role": role, "content": text})
}

/// The inputs of every model call, computed here from the log itself and with nothing of the importer: texts by role.
fn known_inputs(path: &Path) -> Vec<(String, Vec<(String, String)>)> {
    let mut log = log::Log::open(path).expect("a log");
    let name = log.samples[0].clone();
    let sample: Value =
        serde_json::from_slice(&log.member(&name, path).expect("a member")).expect("JSON");
    let attached = |text: &str| match text.strip_prefix("attachment://") {
        Some(hash) => sample["attachments"][hash]
            .as_str()
            .expect("attached")
            .to_owned(),
        None => text.to_owned(),
    };
    let models = sample["events"].as_array().expect("events").iter();
    let models = models.filter(|event| event["event"] == "model");
    let input = |event: &Value| {
        let mut parts = Vec::new();
        for tool in event["tools"].as_array().expect("tools") {
            parts.push((
                "tool_schema".to_owned(),
                tool["name"].as_str().expect("a name").to_owned(),
            ));
        }
        for range in event["input_refs"].as_array().expect("ranges") {
            let (start, end) = (
                range[0].as_u64().expect("a start"),
                range[1].as_u64().expect("an end"),
            );
            for at in start..end {
                let message = &sample["events_data"]["messages"][at as usize];
                let is_summary = message["metadata"]["summary"] == true;
                let kind = match message["role"].as_str().expect("a role") {
                    "tool" => "tool_result",
                    "user" if is_summary => "summary",
                    role => role,
                };
                let said = message["error"]["message"]
                    .as_str()
                    .or(message["content"].as_str());
                parts.push((kind.to_owned(), attached(said.expect("a text"))));
                for call in message["tool_calls"].as_array().into_iter().flatten() {
                    let told = format!(
                        "{} {}",
                        call["function"].as_str().expect("a name"),
                        call["arguments"]
                    );
                    parts.push(("tool_call".to_owned(), told));
                }
            }
        }
        (event["model"].as_str().expect("a model").to_owned(), parts)
    };
    models.map(input).collect()
}

/// A context with schemas told by their tool's name, and white space of JSON left out.
fn told(context: &[(String, String)]) -> Vec<(String, String)> {
    let part = |(kind, text): &(String, String)| {
        let text = match kind.as_str() {
            "tool_schema" => {
                let schema: Value = serde_json::from_str(text).expect("JSON");
                schema["name"].as_str().expect("a name").to_owned()
            }
            "tool_call" => {
                let (tool, arguments) = text.split_once(' ').expect("arguments");
                let arguments: Value = serde_json::from_str(arguments).expect("JSON");
                format!("{tool} {arguments}")
            }
            _ => text.clone(),
        };
        (kind.clone(), text)
    };
    context.iter().map(part).collect()
}

#[test]
fn conformance_every_known_input_is_the_rebuilt_context() {
    for (name, summariser) in [
        ("transcripts/inspect-01-trim-generated.eval", None),
        (
            "transcripts/inspect-02-summary-generated.eval",
            Some("mockllm/summariser"),
        ),
    ] {
        let Some(path) = shared(name) else { return };
        let read = Collected::of(&Inspect, &path);
        assert_eq!(read.report.malformed, 0);
        let known: Vec<Vec<(String, String)>> = known_inputs(&path)
            .into_iter()
            .filter(|(model, _)| Some(model.as_str()) != summariser)
            .map(|(_, input)| input)
            .collect();
        let rebuilt: Vec<_> = read
            .contexts()
            .iter()
            .map(|context| told(context))
            .collect();
        assert_eq!(rebuilt.len(), 10, "{name}");
        assert_eq!(rebuilt, known, "{name}");
        for captured in read.captures() {
            assert_eq!(
                (captured.witness, &captured.incomplete),
                (Some(Witness::Exact), &None)
            );
        }
        assert_eq!(read.calls().len(), 10);
        assert_eq!(read.returns().len(), 10);
    }
}

#[test]
fn conformance_compactions_are_told_with_who_wrote_the_summary() {
    let Some(path) = shared("transcripts/inspect-02-summary-generated.eval") else {
        return;
    };
    let read = Collected::of(&Inspect, &path);
    let mutations = read.mutations();
    assert_eq!(mutations.len(), 1);
    assert_eq!(
        (mutations[0].turn, mutations[0].kind),
        (6, MutationKind::Compaction)
    );
    let summary = mutations[0].summary.as_ref().expect("a summary");
    assert_eq!(summary.model.as_deref(), Some("mockllm/summariser"));
    assert!(
        summary.text.contains("several SELECTs were run"),
        "{}",
        summary.text
    );
    assert!(summary.output_tokens.is_some());
    let counted = mutations[0].counted.expect("counts");
    assert_eq!((counted.uncompacted, counted.compacted), (2672, 316));
    let path = shared("transcripts/inspect-01-trim-generated.eval").expect("beside the other");
    let read = Collected::of(&Inspect, &path);
    let told: Vec<(u32, MutationKind)> = read
        .mutations()
        .iter()
        .map(|one| (one.turn, one.kind))
        .collect();
    assert_eq!(
        told,
        [(6, MutationKind::Truncation), (9, MutationKind::Truncation)]
    );
}

#[test]
fn an_agent_within_an_agent_is_a_child_session_and_approvals_are_decisions() {
    let call = json!({"role": "assistant", "content": "", "tool_calls": [{"id": "c1", "function": "ask", "arguments": {"b": 1, "a": 2}}]});
    let sample = json!({"id": "x", "epoch": 2, "scores": {"s": {"value": "C"}, "n": {"value": 0.25}, "t": {"value": "text"}},
    "attachments": {"00": "long text"},
    "events_data": {"messages": [said("system", "attachment://00"), said("user", "go"), said("user", "sub task")]},
    "events": [
        {"event": "span_begin", "id": "outer", "type": "agent", "name": "react"},
        model("m1", "outer", &json!([[0, 2]]), &call),
        {"event": "approval", "span_id": "outer", "approver": "human", "decision": "reject", "explanation": "no", "call": {"id": "c1", "function": "ask"}},
        {"event": "span_begin", "id": "tool", "parent_id": "outer", "type": "tool", "name": "ask"},
        {"event": "span_begin", "id": "inner", "parent_id": "tool", "type": "agent", "name": "helper"},
        model("m2", "inner", &json!([[2, 3]]), &said("assistant", "done")),
        {"event": "span_end", "id": "inner", "span_id": "inner"},
            {"event": "span_end", "id": "outer", "span_id": "outer"},
            {"event": "tool", "span_id": "outer", "id": "c1", "function": "ask", "arguments": {}, "result": "attachment://00", "agent_span_id": "inner"},
        {"event": "state", "span_id": "outer", "changes": []},
    ]});
    let read = imported(&sample);
    assert_eq!(read.report.malformed, 0, "{:?}", read.report.notices);
    let ids: Vec<&str> = read.report.sessions.iter().map(|id| id.as_str()).collect();
    assert_eq!(ids, ["inspect-e.x.2", "inspect-e.x.2.inner"]);
    assert_eq!(
        read.contexts()[0],
        [
            ("system".to_owned(), "long text".to_owned()),
            ("user".to_owned(), "go".to_owned())
        ]
    );
    let arguments = read.calls()[0]
        .arguments
        .as_ref()
        .expect("arguments")
        .get()
        .to_owned();
    assert_eq!(
        arguments,
        r#"{"b":1,"a":2}"#.replace("{\"b\":1,\"a\":2}", &json!({"b": 1, "a": 2}).to_string())
    );
    assert_eq!(
        read.returns()[0].result.as_ref().expect("a result").get(),
        "\"long text\""
    );
    assert_eq!(read.answers()[0].usage.expect("usage").input_tokens, 15);
    let decision = read.events().iter().find_map(|event| match &event.payload {
        Payload::DecisionRecorded(decision) => Some(decision),
        _ => None,
    });
    let decision = decision.expect("a decision");
    assert_eq!(
        (decision.verdict, decision.call_id.as_deref()),
        (Some(Verdict::Deny), Some("c1"))
    );
    let scores = read
        .events()
        .iter()
        .filter(|event| event.kind == "score.assigned")
        .count();
    assert_eq!(scores, 2);
    let child = &read.sessions[&read.report.sessions[1]];
    let Payload::SessionStarted(started) = &child[0].payload else {
        panic!("{child:?}");
    };
    let parent = started.parent.as_ref().expect("a parent");
    assert_eq!(
        (parent.session.as_str(), parent.call_id.as_deref()),
        ("inspect-e.x.2", Some("c1"))
    );
    assert!(
        read.report
            .notices
            .iter()
            .any(|notice| notice.text.contains("1 events of type state"))
    );
}

#[test]
fn a_log_that_inspect_wrote_of_two_agents_gives_each_its_own_contexts() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("src/transcript/inspect/written_by_0.3.285.eval");
    let read = Collected::of(&Inspect, &path);
    assert_eq!((read.report.malformed, read.report.sessions.len()), (0, 2));
    let known = known_inputs(&path);
    let (helper, own): (Vec<_>, Vec<_>) = known
        .into_iter()
        .partition(|(model, _)| model == "mockllm/helper");
    let rebuilt: Vec<_> = read
        .contexts()
        .iter()
        .map(|context| told(context))
        .collect();
    let own: Vec<_> = own.into_iter().map(|(_, input)| input).collect();
    assert_eq!((rebuilt.len(), helper.len()), (4, 1));
    assert_eq!(rebuilt, own);
    assert!(read.mutations().is_empty());
    let child = &read.sessions[&read.report.sessions[1]];
    let Payload::SessionStarted(started) = &child[0].payload else {
        panic!("{child:?}");
    };
    let asked = read
        .calls()
        .into_iter()
        .find(|call| call.tool == "helper")
        .expect("the call");
    let parent = started.parent.as_ref().expect("a parent");
    assert_eq!(parent.call_id.as_deref(), Some(asked.call_id.as_str()));
    let captured = child.iter().find_map(|event| match &event.payload {
        Payload::ContextCaptured(captured) => Some(captured),
        _ => None,
    });
    let texts: Vec<&str> = captured
        .expect("a context")
        .parts
        .iter()
        .filter_map(|part| part.text.as_deref())
        .collect();
    let expected: Vec<&str> = helper[0].1.iter().map(|(_, text)| text.as_str()).collect();
    assert_eq!(texts, expected);
    assert!(texts[0].contains("Never write"), "{texts:?}");
    let decisions = read
        .events()
        .iter()
        .filter(|event| event.kind == "decision.recorded")
        .count();
    let failed = read
        .returns()
        .iter()
        .filter(|one| one.status == ReturnStatus::Error)
        .count();
    assert_eq!((decisions, failed), (4, 1));
}

#[test]
fn a_model_call_before_a_compaction_is_the_agents_own_unless_its_words_are_the_summary() {
    let sample = |answer: &str| {
        json!({"id": 1, "epoch": 1, "events_data": {"messages": [said("user", "go"),
            {"role": "user", "content": "Summary: went on", "metadata": {"summary": true}}]},
        "events": [
            model("m1", "s", &json!([[0, 1]]), &said("assistant", answer)),
            {"event": "compaction", "span_id": "s", "type": "summary"},
            model("m2", "s", &json!([[1, 2]]), &said("assistant", "next")),
        ]})
    };
    assert_eq!(imported(&sample("went on")).captures().len(), 1);
    let own = imported(&sample("here I am"));
    assert_eq!(own.captures().len(), 2);
    assert_eq!(own.mutations()[0].turn, 2);
}

#[test]
fn what_a_log_lacks_is_said_and_hostile_files_are_refused() {
    let sample = json!({"id": 1, "epoch": 1, "events_data": {"messages": [said("user", "attachment://ff")]}, "events": [
        model("m1", "s", &json!([[0, 18_446_744_073_709_551_615u64]]), &said("assistant", "x")),
        {"event": "model", "span_id": "s", "input": 7},
        {"no": "event"},
    ]});
    let read = imported(&sample);
    assert_eq!(read.report.malformed, 2);
    assert!(read.captures()[0].incomplete.is_some());
    let folder = tempfile::tempdir().expect("a folder");
    let refused = |content: &[u8]| {
        let path = folder.path().join("x.eval");
        std::fs::write(&path, content).expect("a file");
        let error = Collected::with(
            &Inspect,
            &path,
            &crate::transcript::ImportOptions::default(),
        );
        error.err().expect("refused").to_string()
    };
    assert!(refused(b"PK\x03\x04 no").contains("not a ZIP file"));
    let mut empty = zip::ZipWriter::new(Cursor::new(Vec::new()));
    empty
        .start_file(
            "x",
            SimpleFileOptions::default().compression_method(zip::CompressionMethod::Stored),
        )
        .expect("starts");
    assert!(refused(&empty.finish().expect("ends").into_inner()).contains("is it an Inspect log?"));
    // Half a gigabyte in a few kilobytes.
    let mut bomb = zip::ZipWriter::new(Cursor::new(Vec::new()));
    let options = SimpleFileOptions::default().compression_method(zip::CompressionMethod::Zstd);
    bomb.start_file("header.json", options).expect("starts");
    let zeroes = vec![0u8; 1 << 20];
    for _ in 0..=log::MEMBER_BYTES_MAX >> 20 {
        bomb.write_all(&zeroes).expect("writes");
    }
    let bomb = bomb.finish().expect("ends").into_inner();
    assert!(bomb.len() < 1 << 20);
    assert!(refused(&bomb).contains("header.json has more than 268435456 bytes"));
}
