//! Mission files that are named on the command line.

use std::io::Read as _;
use std::path::Path;

use remembrancer_capture::mission_file::{MISSION_BYTES_MAX, Mission};

use crate::failure::Failure;

/// Reads a mission file. Without one that is sound nothing is begun: a rule that was left out would look like one that nobody stated.
pub(super) fn read(file: &Path) -> Result<Mission, Failure> {
    let cannot = |error| {
        Failure::new(format!(
            "cannot read the mission file {}: {error}",
            file.display()
        ))
        .hint("name a YAML file as docs/mission-file.md has it")
    };
    let opened = std::fs::File::open(file).map_err(cannot)?;
    let mut bytes = Vec::new();
    // One byte more than is read of it: what is larger is refused by its size.
    let limit = MISSION_BYTES_MAX as u64 + 1;
    opened.take(limit).read_to_end(&mut bytes).map_err(cannot)?;
    Mission::parse(&file.display().to_string(), &bytes)
        .map_err(|error| Failure::new(error.to_string()))
}
