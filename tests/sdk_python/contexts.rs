//! The contexts that a reader of the record finds, put together here by the rules of `docs/http-api.md` alone.

use std::collections::{BTreeMap, HashMap};

use serde_json::Value;

/// Kind and text of every part, by turn.
pub(super) type Contexts = BTreeMap<u64, Vec<(String, String)>>;

/// Reads from a recorder with a key.
pub(super) struct Reader<'a> {
    pub(super) url: &'a str,
    pub(super) key: &'a str,
}

impl Reader<'_> {
    fn bytes(&self, path: &str) -> Vec<u8> {
        let mut answer = ureq::get(format!("{}{path}", self.url))
            .header("authorization", format!("Bearer {}", self.key))
            .call()
            .unwrap_or_else(|error| panic!("{path}: {error}"));
        let body = answer.body_mut().with_config().limit(64 * 1024 * 1024);
        body.read_to_vec().expect("the answer can be read")
    }

    pub(super) fn get(&self, path: &str) -> Value {
        serde_json::from_slice(&self.bytes(path)).expect("JSON")
    }

    /// All entries of a session, with their payloads.
    pub(super) fn entries(&self, session: &str) -> Vec<Value> {
        let mut entries = Vec::new();
        let mut after = String::new();
        loop {
            let page = self.get(&format!("/v1/sessions/{session}/entries?limit=1000{after}"));
            entries.extend_from_slice(page["items"].as_array().expect("a page"));
            match page["next"].as_str() {
                Some(next) => after = format!("&after={next}"),
                None => return entries,
            }
        }
    }

    /// The contexts of a session, each text read from where the record has it.
    pub(super) fn contexts(&self, entries: &[Value]) -> Contexts {
        let mut texts = HashMap::new();
        let mut keep = |text: &str| {
            texts.insert(blake3::hash(text.as_bytes()).to_string(), text.to_owned());
        };
        for entry in entries {
            for blob in entry["entry"]["blobs"].as_array().expect("a list") {
                let hash = blob.as_str().expect("a hash");
                let text = String::from_utf8(self.bytes(&format!("/v1/blobs/{hash}")));
                keep(&text.expect("these agents record text"));
            }
            let data = &entry["data"];
            let lists = [&data["parts"], &data["text"]];
            for part in lists.into_iter().filter_map(Value::as_array).flatten() {
                part["text"].as_str().or(part.as_str()).map(&mut keep);
            }
            data["result"].as_str().map(&mut keep);
        }
        let mut contexts = Contexts::new();
        for entry in entries {
            if entry["entry"]["type"] == "context.captured" {
                let data = &entry["data"];
                let mut context = data["base"]
                    .as_u64()
                    .map_or_else(Vec::new, |base| contexts[&base].clone());
                for part in data["parts"].as_array().expect("a list") {
                    let text = match part["text"].as_str() {
                        Some(text) => text.to_owned(),
                        None => texts[part["hash"].as_str().expect("a hash")].clone(),
                    };
                    context.push((part["kind"].as_str().expect("a kind").to_owned(), text));
                }
                contexts.insert(data["turn"].as_u64().expect("a number"), context);
            }
        }
        contexts
    }
}
