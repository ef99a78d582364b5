//! Whether a ledger, its files and the machine are fit for recording: each check looks at one thing and says, in one line,
//! what it found, and what to do where that is not good. Nothing is changed but probe files that are removed again.

mod blobs;
mod files;
mod ledger;
mod machine;

use std::path::PathBuf;

use serde::Serialize;

use crate::store::LedgerLocation;

pub use machine::open_files_max;

/// How good something is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    /// As it should be.
    Ok,
    /// It works, but somebody should look.
    Warn,
    /// Recording, or what was recorded, is in danger.
    Fail,
}

/// What one check found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// How good it is.
    pub level: Level,
    /// What was looked at.
    pub check: String,
    /// What was found.
    pub found: String,
    /// What to do, where it is not good.
    pub next: Option<String>,
}

impl Finding {
    /// As it should be.
    pub fn ok(check: impl Into<String>, found: impl Into<String>) -> Self {
        Self {
            level: Level::Ok,
            check: check.into(),
            found: found.into(),
            next: None,
        }
    }

    /// It works, but somebody should look.
    pub fn warn(
        check: impl Into<String>,
        found: impl Into<String>,
        next: impl Into<String>,
    ) -> Self {
        Self {
            level: Level::Warn,
            next: Some(next.into()),
            ..Self::ok(check, found)
        }
    }

    /// Recording, or what was recorded, is in danger.
    pub fn fail(
        check: impl Into<String>,
        found: impl Into<String>,
        next: impl Into<String>,
    ) -> Self {
        Self {
            level: Level::Fail,
            ..Self::warn(check, found, next)
        }
    }
}

/// What is looked at.
#[derive(Debug, Clone)]
pub struct DoctorOptions {
    /// The ledger of one workspace.
    pub location: LedgerLocation,
    /// The anchor that a server is started with.
    pub anchor: Option<PathBuf>,
}

/// Looks at a ledger, its files and the machine. What cannot be looked at is a finding, too.
pub async fn examine(options: &DoctorOptions) -> Vec<Finding> {
    let mut findings = files::data_directory(&options.location);
    let is_there = options.location.directory().is_dir();
    if is_there {
        findings.extend(machine::file_system(&options.location));
        findings.push(machine::space(&options.location.directory()));
        findings.push(machine::flush_latency(&options.location.directory()));
        // A database server lets one write at a time by its own means.
        if options.location.database.is_none() {
            findings.push(files::lock(&options.location.folder()));
        }
    }
    // A database server can hold a ledger of which no file is here yet.
    if is_there || options.location.database.is_some() {
        findings.extend(ledger::ledger(options).await);
    }
    findings
}

#[cfg(test)]
mod tests;
