//! What the writers of a test sent and what they were told: the evidence against which a ledger is audited.

use std::collections::HashMap;
use std::time::Instant;

use remembrancer_schema::checkpoint::Checkpoint;
use remembrancer_schema::receipt::{self, ReceiptLine};
use remembrancer_schema::signing::PublicKey;
use remembrancer_schema::{Origin, SessionId};
use serde_json::Value;

/// An event as it was sent.
#[derive(Debug, Clone)]
pub(crate) struct Event {
    pub(crate) name: Name,
    pub(crate) kind: &'static str,
    /// Its payload, byte for byte.
    pub(crate) data: String,
    /// Whether several writers send it: all but the first are told that it is a duplicate.
    pub(crate) is_shared: bool,
}

/// What tells events apart: session and id.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Name {
    pub(crate) session: String,
    pub(crate) id: String,
}

impl Event {
    /// The event as a client posts it.
    pub(crate) fn to_json(&self) -> String {
        let Name { session, id } = &self.name;
        let (kind, data) = (self.kind, &self.data);
        format!(r#"{{"id":"{id}","session":"{session}","type":"{kind}","data":{data}}}"#)
    }
}

/// What became of one event, as the server answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Acknowledged {
    pub(crate) name: Name,
    /// `recorded` rather than `duplicate`.
    pub(crate) is_new: bool,
    /// Where it stands; its receipt says the same.
    pub(crate) place: ReceiptLine,
}

/// Sums for people.
#[derive(Debug, Clone, Default)]
pub(crate) struct Figures {
    /// Different events that were acknowledged.
    pub(crate) acknowledged: usize,
    /// Requests that were answered.
    pub(crate) answered: usize,
    /// Requests whose answer was lost.
    pub(crate) lost_answers: usize,
    /// Events of those requests: for the client, in doubt.
    pub(crate) in_doubt: usize,
    /// Events that turned out to be stored when a request in doubt was sent again.
    pub(crate) found_stored: usize,
    /// Answers 429.
    pub(crate) busy: usize,
    /// Answers 503.
    pub(crate) unavailable: usize,
    /// What the last answer 503 said.
    pub(crate) last_unavailable: String,
}

/// Everything that was sent and acknowledged.
pub(crate) struct Journal {
    pub(crate) origin: Origin,
    pub(crate) key: PublicKey,
    /// Every event that was ever sent, whatever came of it.
    pub(crate) sent: HashMap<Name, Event>,
    /// The first acknowledgement of each event, in the order of their arrival.
    pub(crate) acknowledged: Vec<Acknowledged>,
    /// Where each event stands, and whether somebody was told `recorded`.
    places: HashMap<Name, (ReceiptLine, bool)>,
    /// Checkpoints that were read.
    pub(crate) checkpoints: Vec<Checkpoint>,
    /// When answers came.
    pub(crate) answers: Vec<Instant>,
    /// Answers that cannot be right.
    pub(crate) faults: Vec<String>,
    pub(crate) figures: Figures,
}

impl Journal {
    pub(crate) fn new(origin: Origin, key: PublicKey) -> Self {
        Self {
            origin,
            key,
            sent: HashMap::new(),
            acknowledged: Vec::new(),
            places: HashMap::new(),
            checkpoints: Vec::new(),
            answers: Vec::new(),
            faults: Vec::new(),
            figures: Figures::default(),
        }
    }

    /// Notes events that are about to be sent.
    pub(crate) fn will_send(&mut self, events: &[Event]) {
        for event in events {
            self.sent
                .entry(event.name.clone())
                .or_insert_with(|| event.clone());
        }
    }

    /// Whether an event was acknowledged.
    pub(crate) fn is_acknowledged(&self, name: &Name) -> bool {
        self.places.contains_key(name)
    }

    /// Notes an answer. `in_doubt`: an earlier sending of the same request may have been stored.
    pub(crate) fn acknowledge(&mut self, answer: Vec<Acknowledged>, in_doubt: bool) {
        self.figures.answered += 1;
        self.answers.push(Instant::now());
        for told in answer {
            let is_shared = self
                .sent
                .get(&told.name)
                .is_some_and(|event| event.is_shared);
            match self.places.get_mut(&told.name) {
                Some((place, _)) if *place != told.place => self.faults.push(format!(
                    "{:?} was acknowledged at two places: {place:?} and {:?}",
                    told.name, told.place
                )),
                // Answers to several writers of one event may be noted in another order than they were given.
                Some((_, recorded)) if told.is_new && (*recorded || !is_shared) => self
                    .faults
                    .push(format!("{:?} was recorded a second time", told.name)),
                Some((_, recorded)) => *recorded |= told.is_new,
                None if !told.is_new && !in_doubt && !is_shared => self.faults.push(format!(
                    "{:?} was called a duplicate, but nothing had been stored of it",
                    told.name
                )),
                None => {
                    self.figures.acknowledged += 1;
                    if !told.is_new && !is_shared {
                        self.figures.found_stored += 1;
                    }
                    self.places
                        .insert(told.name.clone(), (told.place.clone(), told.is_new));
                    self.acknowledged.push(told);
                }
            }
        }
    }

    /// Longest time without an answer since an instant, up to now.
    pub(crate) fn longest_silence(&self, since: Instant) -> std::time::Duration {
        let times = self.answers.iter().copied().filter(|time| *time >= since);
        let (longest, last) = times.fold(
            (std::time::Duration::ZERO, since),
            |(longest, last), time| (longest.max(time.saturating_duration_since(last)), time),
        );
        longest.max(last.elapsed())
    }
}

/// Reads the answer to a request, and checks that its receipt is signed by the ledger and says the same of each event.
pub(crate) fn read_answer(
    origin: &Origin,
    key: &PublicKey,
    events: &[Event],
    answer: &Value,
) -> Result<Vec<Acknowledged>, String> {
    let results = match answer.get("results").and_then(Value::as_array) {
        Some(results) => results.as_slice(),
        None => std::slice::from_ref(answer),
    };
    if results.len() != events.len() {
        return Err(format!(
            "{} events have {} results",
            events.len(),
            results.len()
        ));
    }
    let told = events
        .iter()
        .zip(results)
        .map(|(event, result)| read_result(event, result));
    let told = told.collect::<Result<Vec<_>, _>>()?;
    let receipt = answer["receipt"]
        .as_str()
        .ok_or("recorded without a receipt")?;
    let lines =
        receipt::verify(receipt, origin, key).map_err(|error| format!("bad receipt: {error}"))?;
    if !lines.iter().eq(told.iter().map(|told| &told.place)) {
        return Err(format!(
            "the receipt says otherwise than the answer: {receipt}"
        ));
    }
    Ok(told)
}

fn read_result(event: &Event, result: &Value) -> Result<Acknowledged, String> {
    let bad = || format!("{:?} was answered {result}", event.name);
    let is_new = match result["status"].as_str() {
        Some("recorded") => true,
        Some("duplicate") => false,
        _ => return Err(bad()),
    };
    if result["id"] != event.name.id.as_str() {
        return Err(bad());
    }
    let session: SessionId = event.name.session.parse().map_err(|_| bad())?;
    Ok(Acknowledged {
        name: event.name.clone(),
        is_new,
        place: ReceiptLine {
            index: result["index"].as_u64().ok_or_else(bad)?,
            session,
            sequence: result["sequence"].as_u64().ok_or_else(bad)?,
            hash: result["hash"]
                .as_str()
                .and_then(|hash| hash.parse().ok())
                .ok_or_else(bad)?,
        },
    })
}
