//! What an import hands on, collected for tests.

use std::collections::BTreeMap;
use std::path::Path;

use remembrancer_schema::payload::{
    ContextCaptured, ContextMutated, ModelResponded, Part, Payload, ToolCalled, ToolReturned,
};
use remembrancer_schema::{ContentHash, Event, SessionId};

use super::{FileReport, Format, ImportError, ImportOptions, Sink, import};
use crate::Written;

/// The events of every session, and the blobs.
#[derive(Default)]
pub(super) struct Collected {
    pub(super) sessions: BTreeMap<SessionId, Vec<Taken>>,
    pub(super) blobs: BTreeMap<ContentHash, Vec<u8>>,
    pub(super) report: FileReport,
}

/// An event, read.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Taken {
    pub(super) id: String,
    pub(super) kind: String,
    pub(super) time: Option<String>,
    pub(super) payload: Payload,
    pub(super) bytes: Vec<u8>,
}

impl Sink for Collected {
    fn take(&mut self, session: &SessionId, written: Written) -> bool {
        self.blobs.extend(written.blobs);
        let taken = self.sessions.entry(session.clone()).or_default();
        for event in written.events {
            let parsed = Event::parse(&event.bytes).expect("a valid event");
            assert_eq!(&parsed.session, session);
            taken.push(Taken {
                id: parsed.id.to_string(),
                kind: parsed.kind.to_string(),
                time: parsed.time.clone(),
                payload: parsed.payload.clone(),
                bytes: event.bytes.clone(),
            });
        }
        true
    }

    fn progress(&mut self, _bytes: u64) {}
}

impl Collected {
    pub(super) fn of(format: &dyn Format, path: &Path) -> Self {
        Self::with(format, path, &ImportOptions::default()).expect("imports")
    }

    pub(super) fn with(
        format: &dyn Format,
        path: &Path,
        options: &ImportOptions,
    ) -> Result<Self, ImportError> {
        let mut collected = Self::default();
        collected.report = import(format, path, options, &mut collected)?;
        Ok(collected)
    }

    /// Reads a text as a file of a format.
    pub(super) fn of_text(format: &dyn Format, name: &str, text: &str) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join(name);
        std::fs::write(&path, text).expect("a file");
        Self::of(format, &path)
    }

    /// The events of the file's own session.
    pub(super) fn events(&self) -> &[Taken] {
        self.report
            .sessions
            .first()
            .and_then(|session| self.sessions.get(session))
            .map_or(&[], Vec::as_slice)
    }

    /// Reads every beginning of a text as a file, and asserts that what it gives is never other than what the whole gives: an event
    /// with an id that the whole has too is the same, byte for byte.
    pub(super) fn assert_growth_agrees(format: &dyn Format, name: &str, text: &str) {
        let whole = Self::of_text(format, name, text);
        let of_id = |collected: &Self| -> BTreeMap<(SessionId, String), Vec<u8>> {
            let sessions = collected.sessions.iter();
            let events = sessions.flat_map(|(session, events)| {
                events
                    .iter()
                    .map(|event| ((session.clone(), event.id.clone()), event.bytes.clone()))
            });
            events.collect()
        };
        let known = of_id(&whole);
        assert!(!known.is_empty());
        let mut compared = 0;
        // Around the ends of lines, and now and then within one.
        let is_cut = |cut: &usize| {
            let near =
                text.as_bytes()[cut.saturating_sub(1)..(cut + 2).min(text.len())].contains(&b'\n');
            text.is_char_boundary(*cut) && (near || cut.is_multiple_of(37))
        };
        for cut in (0..text.len()).filter(is_cut) {
            for (id, bytes) in of_id(&Self::of_text(format, name, &text[..cut])) {
                if let Some(same) = known.get(&id) {
                    assert_eq!(
                        String::from_utf8_lossy(same),
                        String::from_utf8_lossy(&bytes),
                        "cut at {cut}"
                    );
                    compared += 1;
                }
            }
        }
        assert!(compared > known.len(), "{compared}");
    }

    /// Reads a text with one byte changed, at many places and in several ways: every damage is told or harmless, none ends the
    /// import.
    pub(super) fn assert_survives_damage(format: &dyn Format, name: &str, text: &str) {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join(name);
        let mut damaged = 0;
        for at in (0..text.len()).step_by(text.len() / 120 + 1) {
            for byte in [b'"', b'{', b'9', b'\\', b'\n', 0xff] {
                let mut bytes = text.as_bytes().to_vec();
                bytes[at] = byte;
                std::fs::write(&path, bytes).expect("a file");
                let read = Self::with(format, &path, &ImportOptions::default()).expect("imports");
                damaged += read.report.malformed;
            }
        }
        assert!(damaged > 0);
    }

    fn payloads<'a, T>(&'a self, pick: impl Fn(&'a Payload) -> Option<&'a T>) -> Vec<&'a T> {
        self.events()
            .iter()
            .filter_map(|event| pick(&event.payload))
            .collect()
    }

    pub(super) fn captures(&self) -> Vec<&ContextCaptured> {
        self.payloads(|payload| match payload {
            Payload::ContextCaptured(captured) => Some(captured),
            _ => None,
        })
    }

    pub(super) fn mutations(&self) -> Vec<&ContextMutated> {
        self.payloads(|payload| match payload {
            Payload::ContextMutated(mutated) => Some(mutated),
            _ => None,
        })
    }

    pub(super) fn answers(&self) -> Vec<&ModelResponded> {
        self.payloads(|payload| match payload {
            Payload::ModelResponded(responded) => Some(responded),
            _ => None,
        })
    }

    pub(super) fn calls(&self) -> Vec<&ToolCalled> {
        self.payloads(|payload| match payload {
            Payload::ToolCalled(called) => Some(called),
            _ => None,
        })
    }

    pub(super) fn returns(&self) -> Vec<&ToolReturned> {
        self.payloads(|payload| match payload {
            Payload::ToolReturned(returned) => Some(returned),
            _ => None,
        })
    }

    /// Every context as it was sent, part by part: kind and text.
    pub(super) fn contexts(&self) -> Vec<Vec<(String, String)>> {
        let mut texts: BTreeMap<ContentHash, String> = BTreeMap::new();
        for (hash, bytes) in &self.blobs {
            texts.insert(*hash, String::from_utf8_lossy(bytes).into_owned());
        }
        let captures = self.captures();
        for part in captures.iter().flat_map(|captured| &captured.parts) {
            if let Some(text) = &part.text {
                texts.insert(ContentHash::of(text.as_bytes()), text.clone());
            }
        }
        let mut whole: BTreeMap<u32, Vec<Part>> = BTreeMap::new();
        let told = |part: &Part| {
            let known = part.hash.and_then(|hash| texts.get(&hash)).cloned();
            let text = part.text.clone().or(known);
            let unread = || format!("<{}>", part.withheld.as_deref().unwrap_or("encrypted"));
            (part.kind.as_str().to_owned(), text.unwrap_or_else(unread))
        };
        let mut contexts = Vec::new();
        for captured in captures {
            assert!(captured.parts_blob.is_none(), "no test has that many parts");
            let mut parts = captured
                .base
                .map_or_else(Vec::new, |base| whole[&base].clone());
            parts.extend(captured.parts.iter().cloned());
            contexts.push(parts.iter().map(told).collect());
            whole.insert(captured.turn, parts);
        }
        contexts
    }
}
