//! The way of a transcript's events into a ledger, while the file is still being read.

use std::collections::BTreeSet;
use std::sync::Arc;

use bytes::Bytes;
use remembrancer_capture::transcript::{self, Found, ImportError, ImportOptions, Notice, Sink};
use remembrancer_capture::{NewEvent, Written};
use remembrancer_recorder::{Ledger, Outcome, OwnedEvent, Rejection};
use remembrancer_schema::SessionId;
use serde::Serialize;
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use crate::failure::Failure;

/// Batches of events that wait for the ledger; the reader then waits too.
const BATCHES_WAITING_MAX: usize = 4;
/// Blobs that are stored at once.
const BLOBS_AT_ONCE: usize = 32;
/// Events that differ from what is recorded under their id, and are told one by one.
const CONFLICTS_TOLD_MAX: usize = 5;

/// What became of a file.
#[derive(Debug, Serialize)]
pub(crate) struct FileOutcome {
    /// The file.
    pub(crate) file: String,
    /// Its format.
    pub(crate) format: &'static str,
    /// Its sessions, those of sub-agents last.
    pub(crate) sessions: Vec<SessionOutcome>,
    /// Lines that could not be read.
    pub(crate) malformed: u64,
    /// What an auditor should know.
    pub(crate) notices: Vec<Notice>,
    /// Notices that are not listed.
    pub(crate) more_notices: u64,
}

/// What became of the events of one session.
#[derive(Debug, Serialize)]
pub(crate) struct SessionOutcome {
    /// The session.
    pub(crate) session: SessionId,
    /// Events that are new.
    pub(crate) recorded: u64,
    /// Events that were there already.
    pub(crate) duplicate: u64,
    /// Events that stand there already in another form, which stays.
    pub(crate) conflicting: u64,
}

impl FileOutcome {
    /// Events that are new.
    pub(crate) fn recorded(&self) -> u64 {
        self.sessions.iter().map(|session| session.recorded).sum()
    }

    /// Events that were there already.
    pub(crate) fn duplicate(&self) -> u64 {
        self.sessions.iter().map(|session| session.duplicate).sum()
    }
}

/// Reads a transcript and appends its events as they come.
pub(crate) async fn append_file(
    ledger: &Ledger,
    found: Found,
    options: &Arc<ImportOptions>,
    bar: &indicatif::ProgressBar,
) -> Result<FileOutcome, Failure> {
    let (sender, receiver) = mpsc::channel(BATCHES_WAITING_MAX);
    let (file, format) = (found.path.display().to_string(), found.format.name());
    let mut sink = ChannelSink {
        sender,
        bar: bar.clone(),
        start: bar.position(),
    };
    let options = Arc::clone(options);
    let reading = tokio::task::spawn_blocking(move || {
        transcript::import(found.format, &found.path, &options, &mut sink)
    });
    let mut appending = Appending {
        ledger,
        sessions: Vec::new(),
        refused: BTreeSet::new(),
        notices: Vec::new(),
    };
    let appended = appending.run(receiver).await;
    let read = reading.await?;
    appended?;
    let report = match read {
        Ok(report) => report,
        Err(error @ ImportError::NotWanted) => return Err(Failure::new(error)),
        Err(error) => return Err(error.into()),
    };
    let mut notices = report.notices;
    notices.extend(appending.notices);
    Ok(FileOutcome {
        file,
        format,
        sessions: appending.sessions,
        malformed: report.malformed,
        notices,
        more_notices: report.more_notices,
    })
}

/// Appends events. One that versions of this program which did not name the witness of every event have imported already is a
/// duplicate, although it stands there without its witness: what is recorded stays.
pub(super) async fn append_events(
    ledger: &Ledger,
    events: &[NewEvent],
) -> Result<Vec<Outcome>, Failure> {
    let owned: Result<Vec<OwnedEvent>, _> = events
        .iter()
        .map(|event| OwnedEvent::parse(Bytes::copy_from_slice(&event.bytes)))
        .collect();
    let mut outcomes = ledger.append(owned?).await?;
    let mut places = Vec::new();
    let mut earlier = Vec::new();
    for (at, (outcome, event)) in outcomes.iter().zip(events).enumerate() {
        if matches!(outcome, Outcome::Rejected(Rejection::IdConflict { .. }))
            && let Some(bytes) = event.without_witness()
        {
            places.push(at);
            earlier.push(OwnedEvent::parse(Bytes::from(bytes))?);
        }
    }
    if !earlier.is_empty() {
        let known = ledger.append(earlier).await?;
        for (at, outcome) in places.into_iter().zip(known) {
            outcomes[at] = outcome;
        }
    }
    Ok(outcomes)
}

/// Hands batches to the ledger's side and waits while it is busy, so that a large file is never in memory as a whole.
struct ChannelSink {
    sender: mpsc::Sender<(SessionId, Written)>,
    bar: indicatif::ProgressBar,
    start: u64,
}

impl Sink for ChannelSink {
    fn take(&mut self, session: &SessionId, written: Written) -> bool {
        self.sender
            .blocking_send((session.clone(), written))
            .is_ok()
    }

    fn progress(&mut self, bytes: u64) {
        self.bar.set_position(self.start + bytes);
    }
}

struct Appending<'a> {
    ledger: &'a Ledger,
    sessions: Vec<SessionOutcome>,
    /// Sessions that are there already in another form: nothing is appended to them.
    refused: BTreeSet<SessionId>,
    notices: Vec<Notice>,
}

impl Appending<'_> {
    async fn run(
        &mut self,
        mut receiver: mpsc::Receiver<(SessionId, Written)>,
    ) -> Result<(), Failure> {
        while let Some((session, written)) = receiver.recv().await {
            if !self.refused.contains(&session) {
                self.append(session, written).await?;
            }
        }
        Ok(())
    }

    async fn append(&mut self, session: SessionId, written: Written) -> Result<(), Failure> {
        self.store(written.blobs.into_values().collect()).await?;
        let outcomes = append_events(self.ledger, &written.events).await?;
        let at = self.outcome_of(&session);
        for (outcome, event) in outcomes.into_iter().zip(&written.events) {
            match outcome {
                Outcome::Recorded { .. } => self.sessions[at].recorded += 1,
                Outcome::Duplicate { .. } => self.sessions[at].duplicate += 1,
                Outcome::Rejected(
                    Rejection::SessionAlreadyStarted(_) | Rejection::SessionEnded(_),
                ) => {
                    self.refuse(&session);
                    return Ok(());
                }
                Outcome::Rejected(rejection @ Rejection::IdConflict { .. }) => {
                    if event.id.as_str() == "session" {
                        self.refuse(&session);
                        return Ok(());
                    }
                    self.conflict(at, &rejection);
                }
                Outcome::Rejected(rejection) => {
                    return Err(Failure::new(format!(
                        "event {} was refused: {rejection}",
                        event.id
                    )));
                }
            }
        }
        Ok(())
    }

    async fn store(&self, mut blobs: Vec<Vec<u8>>) -> Result<(), Failure> {
        while !blobs.is_empty() {
            let mut storing = JoinSet::new();
            for bytes in blobs.drain(..blobs.len().min(BLOBS_AT_ONCE)) {
                let ledger = self.ledger.clone();
                storing.spawn(async move { ledger.store_blob(Bytes::from(bytes)).await });
            }
            while let Some(stored) = storing.join_next().await {
                stored??;
            }
        }
        Ok(())
    }

    fn outcome_of(&mut self, session: &SessionId) -> usize {
        let known = self
            .sessions
            .iter()
            .position(|outcome| outcome.session == *session);
        known.unwrap_or_else(|| {
            self.sessions.push(SessionOutcome {
                session: session.clone(),
                recorded: 0,
                duplicate: 0,
                conflicting: 0,
            });
            self.sessions.len() - 1
        })
    }

    fn refuse(&mut self, session: &SessionId) {
        self.refused.insert(session.clone());
        self.notices.push(Notice {
            line: None,
            text: format!(
                "the session {session} is here already and begins otherwise: another version of this program imported it, or it \
                 was recorded in another way; nothing was added to it. Import the file into another --data folder or --workspace"
            ),
        });
    }

    fn conflict(&mut self, at: usize, rejection: &Rejection) {
        let session = &mut self.sessions[at];
        session.conflicting += 1;
        let text = match session.conflicting as usize {
            told if told < CONFLICTS_TOLD_MAX => format!("{rejection}; what is recorded stays"),
            CONFLICTS_TOLD_MAX => format!(
                "{}: further events differ from what is recorded under their ids; what is recorded stays",
                session.session
            ),
            _ => return,
        };
        self.notices.push(Notice { line: None, text });
    }
}

#[cfg(test)]
mod tests {
    use remembrancer_capture::SessionWriter;
    use remembrancer_recorder::LedgerOptions;
    use remembrancer_schema::payload::{EventType, IntentDeclared, SessionStarted, Witness};

    use super::*;

    fn written(objective: &str) -> Vec<NewEvent> {
        let session = "s".parse().expect("an id");
        let mut writer = SessionWriter::new(session, None, Witness::Transcript);
        let started = SessionStarted::default();
        let intent = IntentDeclared {
            objective: objective.to_owned(),
            ..IntentDeclared::default()
        };
        let events = [
            writer.push("session", &EventType::SessionStarted, None, &started),
            writer.push("intent", &EventType::IntentDeclared, None, &intent),
        ];
        assert!(events.iter().all(Result::is_ok), "{events:?}");
        writer.take().events
    }

    #[tokio::test]
    async fn what_was_imported_without_its_witness_is_there_already() {
        let folder = tempfile::tempdir().expect("a folder");
        let ledger = Ledger::open(LedgerOptions::new(folder.path()))
            .await
            .expect("a ledger");
        let now = written("look");
        let before: Vec<NewEvent> = now
            .iter()
            .map(|event| NewEvent {
                id: event.id.clone(),
                bytes: event.without_witness().expect("a witness"),
            })
            .collect();
        let outcomes = append_events(&ledger, &before).await.expect("appended");
        assert!(
            outcomes
                .iter()
                .all(|one| matches!(one, Outcome::Recorded { .. })),
            "{outcomes:?}"
        );
        let outcomes = append_events(&ledger, &now).await.expect("appended");
        assert!(
            outcomes
                .iter()
                .all(|one| matches!(one, Outcome::Duplicate { .. })),
            "{outcomes:?}"
        );
        let outcomes = append_events(&ledger, &written("something else"))
            .await
            .expect("appended");
        assert!(
            matches!(
                outcomes[..],
                [
                    Outcome::Duplicate { .. },
                    Outcome::Rejected(Rejection::IdConflict { .. })
                ]
            ),
            "{outcomes:?}"
        );
        ledger.close().await;
    }
}
