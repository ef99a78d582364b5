//! Hooks of one session after the other, and the events that become of them.

mod calls;
mod compaction;
mod sessions;
mod turns;

use remembrancer_schema::payload::{
    ContextCaptured, MutationKind, Part, PartKind, Payload, ReturnStatus, Verdict, Witness,
};
use remembrancer_schema::{ContentHash, Event, EventType};
use serde_json::{Value, json};

use super::*;

/// What a session recorded: its id, the event's type, and its payload.
struct Recorded {
    session: String,
    id: String,
    kind: EventType,
    payload: Payload,
    data: String,
    blobs: Vec<ContentHash>,
}

/// Hooks of one program's session, one after the other.
struct Hooks {
    program: Program,
    standing: SessionStanding,
    recorded: Vec<Recorded>,
    blobs: std::collections::BTreeMap<ContentHash, Vec<u8>>,
    count: u32,
}

impl Hooks {
    fn of(program: Program) -> Self {
        Self {
            program,
            standing: SessionStanding::default(),
            recorded: Vec::new(),
            blobs: std::collections::BTreeMap::new(),
            count: 0,
        }
    }

    fn hook(&mut self, event: &str, fields: Value) {
        self.hook_with(event, fields, Attached::default());
    }

    fn hook_with(&mut self, event: &str, fields: Value, attached: Attached) {
        let mut payload = json!({
            "session_id": "b7c1", "hook_event_name": event, "cwd": "/home/ada/shop",
            "transcript_path": "/home/ada/.claude/projects/-home-ada-shop/b7c1.jsonl",
        });
        let members = payload.as_object_mut().expect("an object");
        members.extend(fields.as_object().expect("an object").clone());
        self.count += 1;
        let text = payload.to_string();
        let arrival = Arrival {
            program: self.program,
            payload: HookPayload::parse(text.as_bytes()).expect("a payload"),
            name: &format!("hook-{}", self.count),
            time: "2026-11-30T08:00:00Z",
            attached,
        };
        // What is known goes through a file between two hooks.
        let kept = serde_json::to_vec(&self.standing).expect("JSON");
        self.standing = serde_json::from_slice(&kept).expect("read back");
        let written = translate(&mut self.standing, &arrival).expect("translated");
        self.blobs.extend(written.blobs);
        for event in written.events {
            let event = Event::parse(&event.bytes).expect("valid");
            assert_eq!(crate::recorded_data::witness_of(&event), Witness::Hook);
            assert!(
                event
                    .blobs
                    .iter()
                    .all(|hash| attached_or(&self.blobs, hash))
            );
            self.recorded.push(Recorded {
                session: event.session.to_string(),
                id: event.id.to_string(),
                kind: event.kind.clone(),
                data: event.data.to_owned(),
                blobs: event.blobs.clone(),
                payload: event.payload,
            });
        }
    }

    fn kinds(&self) -> Vec<&str> {
        self.recorded.iter().map(|one| one.kind.as_str()).collect()
    }

    fn contexts(&self) -> Vec<&ContextCaptured> {
        self.payloads(|payload| match payload {
            Payload::ContextCaptured(captured) => Some(captured),
            _ => None,
        })
    }

    fn payloads<'a, T>(&'a self, of: impl Fn(&'a Payload) -> Option<&'a T>) -> Vec<&'a T> {
        self.recorded
            .iter()
            .filter_map(|one| of(&one.payload))
            .collect()
    }

    fn turns(&self) -> Vec<(String, u32)> {
        let calls = self.payloads(|payload| match payload {
            Payload::ToolCalled(called) => Some(called),
            _ => None,
        });
        calls
            .iter()
            .map(|call| (call.call_id.clone(), call.turn))
            .collect()
    }

    fn custom(&self, name: &str) -> Vec<Value> {
        let of_name = self
            .recorded
            .iter()
            .filter(|one| one.kind.as_str() == format!("custom.{name}"));
        of_name
            .map(|one| serde_json::from_str(&one.data).expect("JSON"))
            .collect()
    }

    /// Starts with a prompt.
    fn prompted(program: Program) -> Self {
        let mut hooks = Self::of(program);
        hooks.hook("SessionStart", json!({"source": "startup", "model": "m"}));
        hooks.hook(
            "UserPromptSubmit",
            json!({"prompt": "Tidy the shelves. Never delete a ledger."}),
        );
        hooks
    }

    fn call(&mut self, id: &str) {
        self.hook(
            "PreToolUse",
            json!({"tool_name": "Read", "tool_use_id": id, "tool_input": {"file": id}}),
        );
    }

    fn returned(&mut self, id: &str) {
        self.hook(
            "PostToolUse",
            json!({"tool_name": "Read", "tool_use_id": id, "tool_input": {"file": id}, "tool_response": {"text": id}}),
        );
    }

    fn batch(&mut self, ids: &[&str]) {
        let calls: Vec<Value> = ids
            .iter()
            .map(|id| json!({"tool_name": "Read", "tool_use_id": id, "tool_input": {"file": id}, "tool_response": format!("seen {id}")}))
            .collect();
        self.hook("PostToolBatch", json!({"tool_calls": calls}));
    }
}

/// Copies of transcripts are kept by whoever made them.
fn attached_or(
    blobs: &std::collections::BTreeMap<ContentHash, Vec<u8>>,
    hash: &ContentHash,
) -> bool {
    blobs.contains_key(hash) || *hash == ContentHash::of(b"transcript")
}

fn kinds_of(parts: &[Part]) -> Vec<PartKind> {
    parts.iter().map(|part| part.kind).collect()
}
