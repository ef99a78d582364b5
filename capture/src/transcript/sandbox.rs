//! What the settings of a program itself permit and forbid, as a scope.
//!
//! Only what a setting says becomes a permission or a prohibition: a mode in which a program asks its user declares neither.

use remembrancer_schema::limits::PLACES_PATH_BYTES_MAX;
use remembrancer_schema::payload::{ActionPattern, Effect, Places, ScopeDeclared, StatedBy};

/// Longest path that a pattern can hold, in bytes, and the most paths.
const PATTERN_PATH_BYTES_MAX: usize = 512;
const PATTERN_PATHS_MAX: usize = 64;

/// Nothing may be changed: no file is written, none deleted.
pub(super) fn unchanged_files(folder: Option<&str>) -> ScopeDeclared {
    ScopeDeclared {
        prohibited: vec![pattern(&[Effect::Write, Effect::Delete], Vec::new())],
        places: folder.and_then(places),
        ..ScopeDeclared::default()
    }
}

/// No file may be changed but those in one folder below the home folder, such as `.claude/plans`. Where the home folder is not
/// known, any folder of that name may be it.
pub(super) fn unchanged_files_but(below_home: &str, folder: Option<&str>) -> ScopeDeclared {
    let places = folder.and_then(places);
    let home = places.as_ref().and_then(|places| places.home.as_deref());
    let exempt = format!("{}/{below_home}", home.unwrap_or("/**"));
    let is_change = |effect: &Effect| matches!(effect, Effect::Write | Effect::Delete);
    let elsewhere = Effect::ALL.into_iter().filter(|effect| !is_change(effect));
    ScopeDeclared {
        permitted: vec![
            pattern(&elsewhere.collect::<Vec<_>>(), Vec::new()),
            pattern(&[Effect::Write, Effect::Delete], vec![exempt]),
        ],
        places,
        ..ScopeDeclared::default()
    }
}

/// Files may be changed below some folders alone, and other machines be spoken with only where that is said. `None` where a
/// folder is one that no scope can name: what is permitted is then not known.
pub(super) fn folders(
    folder: &str,
    further: impl IntoIterator<Item = String>,
    may_speak: bool,
) -> Option<ScopeDeclared> {
    let paths: Vec<String> = std::iter::once(folder.to_owned()).chain(further).collect();
    let can_be_named =
        |path: &String| path.starts_with('/') && path.len() <= PATTERN_PATH_BYTES_MAX;
    if paths.len() > PATTERN_PATHS_MAX || !paths.iter().all(can_be_named) {
        return None;
    }
    let mut elsewhere = vec![Effect::Read, Effect::Execute];
    if may_speak {
        elsewhere.push(Effect::Network);
    }
    Some(ScopeDeclared {
        permitted: vec![
            pattern(&elsewhere, Vec::new()),
            pattern(&[Effect::Write, Effect::Delete], paths),
        ],
        places: places(folder),
        ..ScopeDeclared::default()
    })
}

/// The scope with who stated it.
pub(super) fn stated(
    scope: ScopeDeclared,
    role: &str,
    name: Option<&str>,
    source: String,
) -> ScopeDeclared {
    ScopeDeclared {
        stated_by: Some(StatedBy {
            role: role.to_owned(),
            name: name.map(str::to_owned),
            source: Some(source),
        }),
        ..scope
    }
}

/// The end of a scope.
pub(super) fn withdrawn() -> ScopeDeclared {
    ScopeDeclared {
        withdrawn: true,
        ..ScopeDeclared::default()
    }
}

fn pattern(effects: &[Effect], paths: Vec<String>) -> ActionPattern {
    ActionPattern {
        effects: effects.to_vec(),
        paths,
        ..ActionPattern::default()
    }
}

/// Where relative paths start, and the home folder where the path shows it.
fn places(folder: &str) -> Option<Places> {
    if !folder.starts_with('/') || folder.len() > PLACES_PATH_BYTES_MAX {
        return None;
    }
    let mut names = folder.split('/').skip(1);
    let home = match (names.next(), names.next()) {
        (Some(above @ ("home" | "Users")), Some(name)) if !name.is_empty() => {
            Some(format!("/{above}/{name}"))
        }
        (Some("root"), _) => Some("/root".to_owned()),
        _ => None,
    };
    Some(Places {
        root: Some(folder.to_owned()),
        home,
        ..Places::default()
    })
}
