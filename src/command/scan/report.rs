//! What a scan says.

use std::path::Path;

use owo_colors::{OwoColorize as _, Style};
use serde::Serialize;

use super::session::{ScannedRule, ScannedSession};
use crate::terminal::{excerpt, shown};

/// Rules that are listed of one session.
const RULES_SHOWN: usize = 5;

/// What a scan found.
#[derive(Debug, Serialize)]
pub(super) struct ScanReport {
    /// The data folder that holds the sessions.
    data: String,
    /// Files that were looked at.
    files: usize,
    /// Events that are new since the last scan.
    pub(super) recorded: u64,
    /// Lines that could not be read, in the files that are new or have changed.
    pub(super) malformed: u64,
    /// The sessions, the worst first.
    pub(super) sessions: Vec<ScannedSession>,
    /// Files and sessions that could not be read.
    pub(super) unread: Vec<UnreadFile>,
}

/// How what is told of a session became known.
fn witnesses(session: &ScannedSession) -> String {
    let classes: Vec<&str> = session.witnesses.iter().map(|one| one.as_str()).collect();
    if classes.is_empty() {
        return "none".to_owned();
    }
    classes.join(", ")
}

/// A file that could not be read.
#[derive(Debug, Serialize)]
pub(super) struct UnreadFile {
    pub(super) file: String,
    pub(super) reason: String,
}

impl ScanReport {
    pub(super) fn new(data: &Path, files: usize) -> Self {
        Self {
            data: data.display().to_string(),
            files,
            recorded: 0,
            malformed: 0,
            sessions: Vec::new(),
            unread: Vec::new(),
        }
    }

    /// Puts the worst first, and of equals the newest.
    pub(super) fn sort(&mut self) {
        self.sessions.sort_by(|one, other| {
            let newer = other.started.cmp(&one.started);
            other.badness().cmp(&one.badness()).then(newer)
        });
    }

    /// The report for people: the worst sessions, and how to look at them.
    pub(super) fn text(&self, top: usize) -> String {
        let mut text = self.heading();
        let notable: Vec<&ScannedSession> = self
            .sessions
            .iter()
            .filter(|session| session.is_notable())
            .collect();
        let count = if top == 0 { notable.len() } else { top };
        for session in notable.iter().take(count) {
            text.push('\n');
            self.session(session, &mut text);
        }
        if notable.len() > count {
            line(
                &mut text,
                &format!(
                    "\n{} more sessions whose context changed; --top 0 lists all",
                    notable.len() - count
                ),
            );
        }
        for unread in &self.unread {
            line(
                &mut text,
                &format!(
                    "not read: {}: {}",
                    shown(&unread.file),
                    shown(&unread.reason)
                ),
            );
        }
        if !notable.is_empty() {
            text.push_str(&self.next());
        }
        text
    }

    fn heading(&self) -> String {
        let without: u64 = self
            .sessions
            .iter()
            .map(|session| session.actions_without_trace)
            .sum();
        let actions: u64 = self.sessions.iter().map(|session| session.actions).sum();
        let changed = self
            .sessions
            .iter()
            .filter(|session| !session.mutations.is_empty())
            .count();
        let mut text = format!(
            "{} in {}, {}; sessions whose context changed other than by growing: {changed}\n",
            counted(self.sessions.len() as u64, "session"),
            counted(self.files as u64, "file"),
            counted(actions, "action")
        );
        let told = format!(
            "actions sent while at least one rule had no textual trace in the context: {without}"
        );
        let style = alarm(without > 0);
        line(&mut text, &told.style(style).to_string());
        if self.malformed > 0 {
            line(
                &mut text,
                &format!(
                    "{} lines could not be read; they are kept as they are",
                    self.malformed
                ),
            );
        }
        text
    }

    fn session(&self, session: &ScannedSession, text: &mut String) {
        let folder = session.folder.as_deref().unwrap_or("");
        let heading = format!(
            "{}  {}  {}",
            session.session,
            session.started.get(..10).unwrap_or(&session.started),
            excerpt(folder, 80)
        );
        line(text, &heading.style(Style::new().bold()).to_string());
        let mutations: Vec<String> = session
            .mutations
            .iter()
            .map(|(kind, count)| format!("{} × {count}", kind.replace('_', " ")))
            .collect();
        let mutations = if mutations.is_empty() {
            "no mutation of the context".to_owned()
        } else {
            mutations.join(", ")
        };
        line(
            text,
            &format!(
                "  {}, {}, {}; {mutations}; witness: {}",
                counted(session.turns, "request"),
                counted(session.actions, "action"),
                counted(session.rules.len() as u64, "rule"),
                witnesses(session)
            ),
        );
        if session.actions_without_trace > 0 {
            let told = format!(
                "  {} sent without trace of a rule, {} of them prohibited by it",
                counted(session.actions_without_trace, "action"),
                session.prohibited_without_trace
            );
            line(text, &told.style(alarm(true)).to_string());
        }
        let gone = session
            .rules
            .iter()
            .filter(|rule| rule.actions_without_trace > 0);
        for rule in gone.clone().take(RULES_SHOWN) {
            rule_line(rule, text);
        }
        let more = gone.count().saturating_sub(RULES_SHOWN);
        if more > 0 {
            line(
                text,
                &format!("    and {} more", counted(more as u64, "rule")),
            );
        }
        line(
            text,
            &format!(
                "  remembrancer view {} --data {}",
                session.session,
                quoted(&self.data)
            ),
        );
    }

    fn next(&self) -> String {
        let data = quoted(&self.data);
        format!(
            "\nSequence is not cause: this says what the texts in the files held, not what the agent knew. Rules were taken from \
             rules files and from sentences that read like rules.\n\
             the commands open the viewer on this machine; `remembrancer presence SESSION --data {data}` says the same here. \
             Nothing was sent anywhere.\n"
        )
    }
}

fn rule_line(rule: &ScannedRule, text: &mut String) {
    let stated_by = rule.stated_by.as_deref().unwrap_or("nobody");
    let mut told = format!(
        "    {} without: {:?} ({})",
        counted(rule.actions_without_trace, "action"),
        excerpt(&rule.text, 100),
        excerpt(stated_by, 60)
    );
    if let Some(turn) = rule.last_present {
        told.push_str(&format!(", last there at request {turn}"));
    }
    if let Some(kind) = &rule.left_with {
        told.push_str(&format!(", left with a {}", kind.replace('_', " ")));
    }
    line(text, &told);
}

/// A number with its noun.
fn counted(count: u64, noun: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {noun}{plural}")
}

fn alarm(is_alarming: bool) -> Style {
    if is_alarming {
        Style::new().red().bold()
    } else {
        Style::new()
    }
}

fn line(text: &mut String, line: &str) {
    text.push_str(line);
    text.push('\n');
}

/// A path as a shell takes it.
fn quoted(path: &str) -> String {
    let is_plain = path
        .chars()
        .all(|character| character.is_ascii_alphanumeric() || "/._-+@:,".contains(character));
    if is_plain && !path.is_empty() {
        path.to_owned()
    } else {
        format!("'{}'", shown(path).replace('\'', "'\\''"))
    }
}
