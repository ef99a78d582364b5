//! What a group does with its requests: each is decided in order, and what comes of it written.

use std::collections::{HashMap, HashSet};

use remembrancer_schema::SessionId;

use super::acts::refused_keys;
use super::request::{Answer, Request, Work};
use crate::error::LedgerError;
use crate::group::Group;
use crate::incoming::{Outcome, SaltedEvent};
use crate::session::SessionSummary;
use crate::store::Writer;

/// Decides every request in order, after the acts of those who run the ledger, and writes the entries that come of it. While
/// the database writes some, the next ones are decided.
pub(super) async fn decide<'a>(
    group: &mut Group<'a>,
    writer: &mut dyn Writer,
    known: &HashMap<SessionId, SessionSummary>,
    acts: &'a [SaltedEvent],
    requests: &'a [Request],
) -> Result<Vec<Answer>, LedgerError> {
    let refused = refused_keys(writer, requests).await?;
    let good = || {
        requests
            .iter()
            .filter(|request| !is_refused(&refused, request))
    };
    let posted = good().flat_map(|request| match &request.work {
        Work::Append { events, .. } => events.as_slice(),
        Work::StoreBlob { .. } => &[] as &[SaltedEvent],
    });
    let uploads = good().filter_map(|request| match &request.work {
        Work::StoreBlob { blob, .. } => Some(&blob.hash),
        Work::Append { .. } => None,
    });
    group
        .look_up(writer, known, acts.iter().chain(posted), uploads)
        .await?;
    for act in acts {
        group.take_act(act);
    }
    let at_once = writer.entries_at_once();
    let mut deciding = Deciding {
        rest: requests,
        refused,
        outcomes: Vec::new(),
        answers: Vec::with_capacity(requests.len()),
    };
    deciding.advance(group, at_once);
    while group.waiting() > 0 {
        let entries = group.take_entries();
        // The first is polled first: its statement is on its way to the database when the second one begins.
        let (written, ()) = tokio::join!(biased; writer.write_entries(entries), async {
            deciding.advance(group, at_once);
        });
        written?;
    }
    Ok(deciding.answers)
}

/// How far the requests of a group are decided.
struct Deciding<'a> {
    rest: &'a [Request],
    /// Keys that were revoked since their requests were let in.
    refused: HashSet<&'a str>,
    /// Outcomes of the first request of the rest.
    outcomes: Vec<Outcome>,
    answers: Vec<Answer>,
}

impl<'a> Deciding<'a> {
    /// Decides on until so many entries wait to be written, or all is decided.
    fn advance(&mut self, group: &mut Group<'a>, entries: usize) {
        while let Some((request, behind)) = self.rest.split_first() {
            match &request.work {
                _ if is_refused(&self.refused, request) => self.answers.push(Answer::KeyRefused),
                Work::Append { events, .. } => {
                    for event in &events[self.outcomes.len()..] {
                        if group.waiting() >= entries {
                            return;
                        }
                        self.outcomes.push(group.decide(event));
                    }
                    let outcomes = std::mem::take(&mut self.outcomes);
                    self.answers.push(Answer::Appended(outcomes));
                }
                Work::StoreBlob { blob, .. } => {
                    let taken = group.take_blob(blob);
                    self.answers.push(Answer::BlobTaken(taken));
                }
            }
            self.rest = behind;
        }
    }
}

fn is_refused(refused: &HashSet<&str>, request: &Request) -> bool {
    let key = request.key.as_deref();
    key.is_some_and(|key| refused.contains(key))
}
