//! The files that a patch in Codex's form names. Each stands in a line of its own, so that the rest of the patch is only text.

use remembrancer_schema::payload::Effect;

use super::path::{Ground, Place};
use super::{Effects, Target};

/// The effects of a patch that is put on files below a directory.
pub(super) fn effects(patch: &str, from: Option<&Place>, ground: &Ground, effects: &mut Effects) {
    if !patch.trim_start().starts_with("*** Begin Patch") {
        effects.all_become_unknown("the patch is not in the form that is known");
        return;
    }
    let mut count = 0;
    for line in patch.lines() {
        // Blanks before a header count for nothing.
        let Some(header) = line.trim().strip_prefix("*** ") else {
            continue;
        };
        let on_file: &[Effect] = match header.split_once(": ").map(|(what, _)| what) {
            Some("Add File") => &[Effect::Write],
            Some("Update File") => &[Effect::Read, Effect::Write],
            Some("Delete File") => &[Effect::Delete],
            Some("Move to") => &[Effect::Write],
            _ if matches!(header, "Begin Patch" | "End Patch" | "End of File") => continue,
            // A line of a file that looks like a header.
            _ if !line.starts_with("*** ") => continue,
            _ => {
                effects.all_become_unknown("a line of the patch is not known");
                continue;
            }
        };
        let is_move = header.starts_with("Move to");
        let path = header.split_once(": ").map_or("", |(_, path)| path.trim());
        count += 1;
        for effect in on_file {
            let target = match ground.resolve(path, from) {
                Ok(place) => Target::file(place),
                Err(reason) => {
                    effects.note(reason.as_str());
                    Target::unknown(path)
                }
            };
            effects.touch(*effect, target);
        }
        if is_move {
            // What was updated before it is no longer where it was.
            effects.have(Effect::Delete);
        }
    }
    if count == 0 {
        effects.all_become_unknown("the patch names no file");
    }
}
