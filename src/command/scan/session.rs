//! What a scan tells of one session.

use std::collections::BTreeMap;

use remembrancer_capture::transcript::Found;
use remembrancer_recorder::Reader;
use remembrancer_replay::analysis::PresenceState;
use remembrancer_replay::{Analyser, Analysis};
use remembrancer_schema::SessionId;
use remembrancer_schema::payload::Witness;
use serde::{Deserialize, Serialize};

use crate::failure::Failure;

/// A session, with what the auditor computed of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct ScannedSession {
    /// Its id.
    pub(super) session: String,
    /// Its number in the ledger, which its page's address has.
    pub(super) number: i64,
    /// The file that it was read from.
    pub(super) file: String,
    /// The file's format.
    pub(super) format: String,
    /// When it began.
    pub(super) started: String,
    /// The folder that the agent worked in.
    pub(super) folder: Option<String>,
    /// The session that started it.
    pub(super) parent: Option<String>,
    /// Model requests.
    pub(super) turns: u64,
    /// Tool calls.
    pub(super) actions: u64,
    /// How its contexts and actions became known, from the strongest witness to the weakest.
    pub(super) witnesses: Vec<Witness>,
    /// Changes of the context other than growth, by their kind.
    pub(super) mutations: BTreeMap<String, u64>,
    /// Rules and how they fared, the worst first.
    pub(super) rules: Vec<ScannedRule>,
    /// Actions sent while at least one rule had no textual trace.
    pub(super) actions_without_trace: u64,
    /// Prohibited actions sent while the rule that they break had none.
    pub(super) prohibited_without_trace: u64,
}

/// A rule of a session.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct ScannedRule {
    /// Its text.
    pub(super) text: String,
    /// Who stated it, and where.
    pub(super) stated_by: Option<String>,
    /// Actions sent while it had no textual trace.
    pub(super) actions_without_trace: u64,
    /// Actions at which it is not known whether it was there.
    pub(super) actions_unknown: u64,
    /// The last turn at which it was present before it was gone.
    pub(super) last_present: Option<u32>,
    /// The kind of the mutation that it left with.
    pub(super) left_with: Option<String>,
}

impl ScannedSession {
    /// Reads and analyses a session.
    pub(super) async fn read(
        reader: &Reader,
        id: &SessionId,
        found: &Found,
    ) -> Result<Self, Failure> {
        let summary = reader.find_session(id.as_str()).await?;
        let record = reader.session_record(id).await?;
        let analysing = move || {
            let analyser = Analyser::of(&record);
            // What the analysis needs of the record it has: the rest is not held while it is made.
            drop(record);
            analyser.into_analysis()
        };
        let analysis = tokio::task::spawn_blocking(analysing).await?;
        let mut mutations = BTreeMap::new();
        for mutation in &analysis.mutations {
            *mutations
                .entry(mutation.kind.as_str().to_owned())
                .or_insert(0) += 1;
        }
        Ok(Self {
            session: id.to_string(),
            number: summary.number,
            file: found.path.display().to_string(),
            format: found.format.name().to_owned(),
            started: summary.started,
            folder: analysis.overview.labels.get("folder").cloned(),
            parent: summary.parent.map(|parent| parent.to_string()),
            turns: analysis.turns.len() as u64,
            actions: analysis.actions.len() as u64,
            witnesses: analysis.witnesses(),
            mutations,
            rules: rules(&analysis),
            actions_without_trace: analysis.summary.actions_without_trace,
            prohibited_without_trace: analysis.summary.prohibited_without_trace,
        })
    }

    /// Whether there is something to look at.
    pub(super) fn is_notable(&self) -> bool {
        self.actions_without_trace > 0 || !self.mutations.is_empty()
    }

    /// What makes a session worse than another.
    pub(super) fn badness(&self) -> (u64, u64, u64) {
        (
            self.prohibited_without_trace,
            self.actions_without_trace,
            self.mutations.values().sum(),
        )
    }
}

fn rules(analysis: &Analysis) -> Vec<ScannedRule> {
    let limits = (0..analysis.constraints.len()).filter(|&at| analysis.constraints[at].is_limit());
    let mut rules: Vec<ScannedRule> = limits.map(|at| rule(analysis, at)).collect();
    rules.sort_by_key(|rule| std::cmp::Reverse(rule.actions_without_trace));
    rules
}

fn rule(analysis: &Analysis, at: usize) -> ScannedRule {
    let constraint = &analysis.constraints[at];
    let stated_by = constraint.stated_by.as_ref();
    let mut rule = ScannedRule {
        text: constraint.text.clone(),
        stated_by: stated_by.map(|by| match &by.source {
            Some(source) => format!("{}, {source}", by.role),
            None => by.role.clone(),
        }),
        actions_without_trace: 0,
        actions_unknown: 0,
        last_present: None,
        left_with: None,
    };
    for action in &analysis.actions {
        let Some(presence) = analysis.presence_at(action, at) else {
            continue;
        };
        match presence.state {
            Some(PresenceState::NoTrace) => {
                rule.actions_without_trace += 1;
                rule.last_present = presence.last_present.or(rule.last_present);
                let mutation = presence
                    .left_with
                    .and_then(|left| analysis.mutations.get(left));
                rule.left_with = mutation
                    .map(|mutation| mutation.kind.as_str().to_owned())
                    .or(rule.left_with);
            }
            Some(PresenceState::Unknown | PresenceState::Opaque) => rule.actions_unknown += 1,
            // What was sent before the rule was stated does not count.
            None | Some(_) => {}
        }
    }
    rule
}
