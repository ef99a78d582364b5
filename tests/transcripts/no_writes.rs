//! One rule, in the words of the generated transcripts, and the actions that break it.

use std::path::Path;

use serde_json::Value;

use super::{Imported, imported_from};

/// A mission file with the rule.
pub(super) struct NoWrites {
    folder: tempfile::TempDir,
}

impl NoWrites {
    /// The rule holds from the `start`, or from where it is `first_stated`.
    pub(super) fn from(from: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let text = format!(
            "objective: Investigate slow queries.\n\
             prohibitions:\n\
             \x20 - id: no_writes\n\
             \x20   text: read-only queries only, never DELETE\n\
             \x20   from: {from}\n\
             \x20   actions:\n\
             \x20     - tool: run_sql\n\
             \x20       arguments: [{{name: query, like: '*DELETE*'}}]\n\
             \x20     - tool: terminal\n\
             \x20       arguments: [{{name: command, like: '*DELETE*'}}]\n"
        );
        std::fs::write(folder.path().join("mission.yaml"), text).unwrap();
        Self { folder }
    }

    /// Imports a transcript with it.
    pub(super) fn imported(&self, file: &Path) -> Imported {
        let path = self.folder.path().join("mission.yaml");
        imported_from(file, &["--mission", path.to_str().unwrap()])
    }
}

/// The state of the rule at each action.
pub(super) fn at_actions(imported: &Imported) -> Vec<String> {
    let presence = imported.told("presence");
    let actions = presence["actions"].as_array().unwrap().iter();
    let state = |action: &Value| {
        let state = action["states"]["no_writes"]["state"].as_str();
        state.unwrap_or("").to_owned()
    };
    actions.map(state).collect()
}
