//! Where spools are, unless somebody says otherwise.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use remembrancer_schema::ContentHash;

/// The folder of the spool for what goes to one recorder (an address, or a data folder): below `REMEMBRANCER_SPOOL`, else below
/// `$XDG_STATE_HOME/remembrancer/spool`, else below `~/.local/state/remembrancer/spool`. Each recorder has its own, so that
/// nothing reaches another one than it was meant for. `variable` looks up an environment variable.
pub fn folder_for(recorder: &str, variable: impl Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    let set = |name: &str| {
        variable(name)
            .filter(|value| !value.is_empty())
            .map(PathBuf::from)
    };
    let below = |base: PathBuf| base.join("remembrancer/spool");
    let root = set("REMEMBRANCER_SPOOL")
        .or_else(|| set("XDG_STATE_HOME").map(below))
        .or_else(|| set("HOME").map(|home| below(home.join(".local/state"))))?;
    Some(root.join(name_of(recorder)))
}

/// A folder name that people recognise and that no two recorders share.
fn name_of(recorder: &str) -> String {
    let recorder = recorder.trim_end_matches('/');
    let readable: String = recorder
        .trim_start_matches("http://")
        .trim_start_matches("https://")
        .chars()
        .map(|character| {
            if character.is_ascii_alphanumeric() {
                character
            } else {
                '-'
            }
        })
        .take(40)
        .collect();
    let hash = ContentHash::of(recorder.as_bytes()).to_string();
    let name = format!("{}-{}", readable.trim_matches('-'), &hash[..12]);
    debug_assert_eq!(Path::new(&name).components().count(), 1);
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_recorder_has_a_folder_of_its_own_below_the_first_place_that_is_set() {
        let at = |set: &[(&str, &str)], recorder: &str| {
            let set: Vec<(String, OsString)> = set
                .iter()
                .map(|(name, value)| ((*name).to_owned(), value.into()))
                .collect();
            folder_for(recorder, move |name| {
                set.iter()
                    .find(|(one, _)| one == name)
                    .map(|(_, value)| value.clone())
            })
        };
        let home = [("HOME", "/home/a"), ("XDG_STATE_HOME", "")];
        let one = at(&home, "http://127.0.0.1:7171").expect("a folder");
        assert!(
            one.starts_with("/home/a/.local/state/remembrancer/spool"),
            "{one:?}"
        );
        assert!(one.ends_with(name_of("http://127.0.0.1:7171")));
        assert_eq!(at(&home, "http://127.0.0.1:7171/"), Some(one.clone()));
        assert_ne!(at(&home, "https://127.0.0.1:7171"), Some(one));
        let set = [("REMEMBRANCER_SPOOL", "/spool"), ("HOME", "/home/a")];
        assert!(at(&set, "../..").expect("a folder").starts_with("/spool"));
        assert_eq!(at(&set, "../..").expect("a folder").components().count(), 3);
        assert_eq!(at(&[], "x"), None);
    }
}
