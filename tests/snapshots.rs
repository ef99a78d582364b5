//! Contexts of a long session: what their recording uploads and stores, in each form that a client may send them.

use std::collections::HashSet;
use std::fmt::Write as _;
use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::support::Server;

const TURNS: usize = 200;
/// Turns between two compactions.
const EPOCH_TURNS: usize = 60;
const RESPONSE_BYTES: usize = 1_300;
const RESULT_BYTES: usize = 12_000;
const LIMIT: &str = "never move a ledger without a written order";

/// How a client names the parts of a context.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    /// What was appended, as text.
    Inline,
    /// By the hash of what the response and the result said before.
    Said,
    /// By hash; results are blobs, and only missing ones are uploaded.
    Blobs,
}

/// Counts what clients send to a server, heads and all, on its way there.
struct Counter {
    url: String,
    sent: Arc<AtomicU64>,
}

impl Counter {
    fn before(server: &Server) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let target = server.url.trim_start_matches("http://").to_owned();
        let sent = Arc::new(AtomicU64::new(0));
        let counted = Arc::clone(&sent);
        std::thread::spawn(move || {
            // Ends with the first connection that the server no longer takes.
            for client in listener.incoming().flatten() {
                let Ok(server) = TcpStream::connect(&target) else {
                    return;
                };
                let (mut answers, mut to_client) =
                    (server.try_clone().unwrap(), client.try_clone().unwrap());
                let counted = Arc::clone(&counted);
                std::thread::spawn(move || forward(client, server, &counted));
                std::thread::spawn(move || {
                    drop(std::io::copy(&mut answers, &mut to_client));
                    drop(to_client.shutdown(Shutdown::Write));
                });
            }
        });
        Self { url, sent }
    }
}

fn forward(mut from: TcpStream, mut to: TcpStream, counted: &AtomicU64) {
    let mut buffer = [0; 64 * 1024];
    while let Ok(bytes @ 1..) = from.read(&mut buffer) {
        counted.fetch_add(bytes as u64, Ordering::SeqCst);
        if to.write_all(&buffer[..bytes]).is_err() {
            break;
        }
    }
    drop(to.shutdown(Shutdown::Write));
}

/// Words that follow one another as in no other text.
struct Prose(u64);

impl Prose {
    fn text(&mut self, bytes: usize) -> String {
        let words = [
            "shelf", "damp", "letter", "room", "index", "page", "seal", "note",
        ];
        let mut text = String::new();
        while text.len() < bytes {
            self.0 = self
                .0
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            let end = match (self.0 >> 40) % 16 {
                0 => ".\n",
                1 => " \"quoted\" ",
                _ => " ",
            };
            write!(
                text,
                "{}{end}",
                words[(self.0 >> 33) as usize % words.len()]
            )
            .unwrap();
        }
        text
    }
}

fn hash(text: &str) -> String {
    blake3::hash(text.as_bytes()).to_string()
}

/// A client that records a session, and knows what it has told the recorder.
struct Client {
    form: Form,
    agent: ureq::Agent,
    url: String,
    key: String,
    /// Every distinct text.
    texts: HashSet<String>,
}

impl Client {
    fn send(&self, method: &str, path: &str, body: &[u8]) -> Value {
        let request = ureq::http::Request::builder()
            .method(method)
            .uri(format!("{}{path}", self.url))
            .header("content-type", "application/json")
            .header("authorization", format!("Bearer {}", self.key));
        let mut response = self.agent.run(request.body(body).unwrap()).unwrap();
        serde_json::from_str(&response.body_mut().read_to_string().unwrap()).unwrap()
    }

    fn post(&self, events: &[Value]) {
        let body = Value::from(events).to_string();
        let answer = self.send("POST", "/v1/events", body.as_bytes());
        let results = answer["results"].as_array().unwrap();
        for result in results {
            assert_eq!(result["status"], "recorded", "{result}");
        }
    }

    /// A part that the recorder may not know.
    fn new_part(&mut self, kind: &str, text: &str, blobs: &mut Vec<String>) -> Value {
        self.texts.insert(text.to_owned());
        if self.form != Form::Blobs {
            return json!({"kind": kind, "text": text});
        }
        let hash = hash(text);
        let asked = json!([hash]).to_string();
        let answer = self.send("POST", "/v1/blobs/missing", asked.as_bytes());
        for missing in answer["missing"].as_array().unwrap() {
            assert_eq!(missing, hash.as_str());
            let stored = self.send("PUT", &format!("/v1/blobs/{hash}"), text.as_bytes());
            assert_eq!(stored["bytes"], text.len());
        }
        blobs.push(hash.clone());
        json!({"kind": kind, "hash": hash})
    }

    /// Records a session: each turn appends a response and a result; a compaction leaves rules, a summary and the last turn.
    fn record(&mut self) {
        let mut prose = Prose(1);
        let rules = format!("{}\n- {LIMIT}.", prose.text(2_000));
        self.post(&[
            json!({"id": "s", "session": "s", "type": "session.started", "data": {}}),
            json!({"id": "c", "session": "s", "type": "constraint.declared",
                "data": {"id": "limit", "kind": "prohibition", "text": LIMIT}}),
        ]);
        // What the next context appends, and what a compaction keeps of it.
        let mut blobs = Vec::new();
        let mut tail = vec![self.new_part("system", &rules, &mut blobs)];
        let mut kept = Vec::new();
        for turn in 1..=TURNS {
            let mut data = json!({"turn": turn, "parts": tail});
            if turn > 1 && (turn - 1) % EPOCH_TURNS == 0 {
                let summary = self.new_part("summary", &prose.text(3_000), &mut blobs);
                let rules = json!({"kind": "system", "hash": hash(&rules)});
                data["parts"] = [vec![rules, summary], kept].concat().into();
            } else if turn > 1 {
                data["base"] = (turn - 1).into();
            }
            let captured = json!({"id": format!("c{turn}"), "session": "s", "type": "context.captured",
                "blobs": std::mem::take(&mut blobs), "data": data});
            let (response, result) = (prose.text(RESPONSE_BYTES), prose.text(RESULT_BYTES));
            self.texts.extend([response.clone(), result.clone()]);
            let id = format!("k{turn}");
            let by_hash = |kind: &str, text: &str| json!({"kind": kind, "hash": hash(text)});
            let (mut said, mut returned) = (
                json!({"turn": turn, "calls": [{"call_id": id, "tool": "read"}]}),
                json!({"call_id": id, "status": "ok"}),
            );
            kept = vec![
                by_hash("assistant", &response),
                by_hash("tool_result", &result),
            ];
            tail.clone_from(&kept);
            match self.form {
                Form::Inline => {
                    tail = vec![
                        json!({"kind": "assistant", "text": response}),
                        json!({"kind": "tool_result", "text": result}),
                    ];
                    // A whole list is sent before its last turn's texts ever were.
                    if turn % EPOCH_TURNS == 0 {
                        kept.clone_from(&tail);
                    }
                }
                Form::Said => {
                    said["text"] = json!([response]);
                    returned["result"] = result.into();
                }
                Form::Blobs => {
                    said["text"] = json!([response]);
                    tail[1] = self.new_part("tool_result", &result, &mut blobs);
                }
            }
            tail[1]["call_id"] = json!(id);
            kept[1]["call_id"] = json!(id);
            self.post(&[captured,
                json!({"id": format!("r{turn}"), "session": "s", "type": "model.responded", "data": said}),
                json!({"id": format!("t{turn}"), "session": "s", "type": "tool.called",
                    "data": {"turn": turn, "call_id": id, "tool": "read", "arguments": {}}}),
                json!({"id": format!("o{turn}"), "session": "s", "type": "tool.returned", "data": returned})]);
        }
    }
}

fn bytes_in(folder: &Path) -> usize {
    let entries = std::fs::read_dir(folder).unwrap();
    entries
        .map(|entry| {
            let entry = entry.unwrap();
            match entry.file_type().unwrap().is_dir() {
                true => bytes_in(&entry.path()),
                false => usize::try_from(entry.metadata().unwrap().len()).unwrap(),
            }
        })
        .sum()
}

/// What a server keeps of a session, in bytes.
#[derive(Debug, Default)]
struct Kept {
    payloads: usize,
    blobs: usize,
    entries: usize,
}

#[derive(Deserialize)]
struct EntryPage {
    items: Vec<EntryItem>,
    next: Option<String>,
}

#[derive(Deserialize)]
struct EntryItem {
    /// Byte for byte as stored, as is `data`.
    entry: Box<RawValue>,
    data: Box<RawValue>,
}

#[derive(Deserialize)]
struct Named {
    blobs: Vec<String>,
}

impl Kept {
    fn of(server: &Server, key: &str) -> Self {
        let get = |path: &str| {
            let answer = server.send("GET", path, Some(key), "application/json", b"");
            assert_eq!(answer.status, 200, "{answer:?}");
            answer.body
        };
        let (mut kept, mut blobs, mut after) = (Self::default(), HashSet::new(), String::new());
        loop {
            let page = get(&format!("/v1/sessions/s/entries?limit=200{after}"));
            let page: EntryPage = serde_json::from_str(&page).unwrap();
            for item in page.items {
                kept.entries += item.entry.get().len();
                kept.payloads += item.data.get().len();
                let named: Named = serde_json::from_str(item.entry.get()).unwrap();
                blobs.extend(named.blobs);
            }
            let Some(next) = page.next else { break };
            after = format!("&after={next}");
        }
        for hash in blobs {
            kept.blobs += get(&format!("/v1/blobs/{hash}")).len();
        }
        kept
    }
}

fn upload_and_storage(form: Form) {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let server = Server::start_on(&data);
    let (write, read) = (server.key("write"), server.key("read"));
    let mut empty = 0;
    server.stop_and_keep(|data| empty = bytes_in(data));
    let server = Server::start_on(&data);
    let counter = Counter::before(&server);
    let mut client = Client {
        form,
        agent: ureq::Agent::new_with_defaults(),
        url: counter.url.clone(),
        key: write,
        texts: HashSet::new(),
    };
    client.record();
    let sent = usize::try_from(counter.sent.load(Ordering::SeqCst)).unwrap();
    every_turn_is_known(&server, &read, form);
    let kept = Kept::of(&server, &read);
    let mut folder_grew = 0;
    server.stop_and_keep(|data| folder_grew = bytes_in(data) - empty);
    let distinct: usize = client.texts.iter().map(String::len).sum();
    let ratio = |bytes: usize| bytes as f64 / distinct as f64;
    let stored = kept.payloads + kept.blobs;
    eprintln!(
        "{form:?}: {distinct} distinct bytes; uploaded {:.3}; stored in payloads and blobs {:.3}, with entries {:.3}; \
         data folder {:.3}",
        ratio(sent),
        ratio(stored),
        ratio(stored + kept.entries),
        ratio(folder_grew),
    );
    assert!(distinct > TURNS * (RESPONSE_BYTES + RESULT_BYTES));
    assert_eq!(kept.blobs > 0, form == Form::Blobs, "{kept:?}");
    assert!(sent > stored, "the counter saw every byte");
    assert!(ratio(sent) < 1.2, "{form:?}: uploaded {:.3}", ratio(sent));
    assert!(ratio(stored) < 1.2, "{form:?}: stored {:.3}", ratio(stored));
    assert!(
        ratio(folder_grew) < 1.6,
        "{form:?}: {:.3}",
        ratio(folder_grew)
    );
}

/// Every context was rebuilt, whatever its form: the limit stands in each, and only compactions change them.
fn every_turn_is_known(server: &Server, read: &str, form: Form) {
    let presence = server.get(read, "/v1/sessions/s/presence");
    let turns = presence["turns"].as_array().unwrap();
    assert_eq!(turns.len(), TURNS);
    for turn in turns {
        assert_eq!(turn["states"]["limit"], "verbatim", "{form:?}: {turn}");
    }
    let mutations = server.get(read, "/v1/sessions/s/mutations");
    let mutations = mutations.as_array().unwrap();
    assert_eq!(mutations.len(), (TURNS - 1) / EPOCH_TURNS);
    for mutation in mutations {
        assert_eq!(mutation["kind"], "compaction", "{form:?}");
        assert_eq!(mutation["counts"]["kept"], 1, "the rules: {mutation}");
        // All but the rules left: two parts of each turn before.
        assert_eq!(
            mutation["counts"]["summarised"],
            2 * (EPOCH_TURNS - 1) + usize::from(mutation["mutation"] != 0) * 3,
            "{form:?}: {mutation}"
        );
    }
}

#[test]
fn contexts_as_appended_text_cost_their_distinct_bytes() {
    upload_and_storage(Form::Inline);
}

#[test]
fn contexts_that_name_what_was_said_cost_its_distinct_bytes() {
    upload_and_storage(Form::Said);
}

#[test]
fn contexts_of_blobs_cost_their_distinct_bytes() {
    upload_and_storage(Form::Blobs);
}
