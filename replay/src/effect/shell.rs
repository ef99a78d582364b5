//! What shell code does: the effects of every command that may run.

mod archive;
mod argument;
mod command;
mod find;
mod given;
mod operand;
mod position;
mod scan;
mod script;
mod special;
mod text_script;
mod variable;
mod walk;

use std::collections::BTreeSet;

use super::Effects;
use super::path::{Ground, Place};
use argument::Arg;
use position::{Dirs, Input};
use walk::Walk;

/// Most names of functions and aliases that are remembered between actions.
const NAMES_MAX: usize = 64;
/// Most directories that are remembered between actions.
const LEFT_IN_MAX: usize = 3;

/// What one action of a session may leave for the next one to run in: some programs keep one shell for all of them, others
/// start a new one each time, and the record does not say which.
#[derive(Debug, Clone, Default)]
pub struct ShellState {
    /// Directories that a shell was left in.
    left_in: BTreeSet<Option<Place>>,
    /// Functions and aliases that were defined: what they do is no longer what their name says.
    names: BTreeSet<String>,
    /// Variables were set that may change what commands do.
    is_set_otherwise: bool,
    /// The home directory may be another.
    is_home_open: bool,
    /// `$PWD` may be another directory than the one that commands are run in.
    is_directory_open: bool,
    /// More was changed than is remembered.
    is_open: bool,
}

impl ShellState {
    /// Bytes that it holds, roughly.
    pub(crate) fn bytes(&self) -> usize {
        let places = self.left_in.iter().flatten();
        places.map(Place::bytes).sum::<usize>()
            + self
                .names
                .iter()
                .map(|name| size_of::<String>() + name.len())
                .sum::<usize>()
    }

    /// A variable that may change what commands do is set for more than one command.
    fn note_variable(&mut self, name: &str) {
        self.is_set_otherwise = true;
        self.is_home_open |= name == "HOME";
        self.is_directory_open |= name == "PWD";
    }

    fn note_name(&mut self, name: &str) {
        if self.names.len() < NAMES_MAX {
            self.names.insert(name.to_owned());
        } else {
            self.is_open = true;
        }
    }
}

/// The effects of shell code. `start` is the directory that it is started in, where the call says so.
pub(super) fn effects(
    code: &str,
    start: Option<Option<Place>>,
    ground: &mut Ground,
    state: &mut ShellState,
) -> Effects {
    walked(start, ground, state, |walk, dirs| walk.code(code, dirs))
}

/// The effects of a command that is given as words.
pub(super) fn effects_of_words(
    words: &[&str],
    start: Option<Option<Place>>,
    ground: &mut Ground,
    state: &mut ShellState,
) -> Effects {
    let args: Vec<Arg> = words.iter().map(|word| Arg::plain(word)).collect();
    walked(start, ground, state, |walk, dirs| {
        walk.run(&args, Input::Outside, dirs);
        // The program that runs it starts it anew each time.
        dirs.clone()
    })
}

fn walked(
    start: Option<Option<Place>>,
    ground: &mut Ground,
    state: &mut ShellState,
    run: impl FnOnce(&mut Walk<'_>, &Dirs) -> Dirs,
) -> Effects {
    let mut dirs = Dirs::default();
    match start {
        Some(start) => dirs.insert(start),
        None => {
            dirs.insert(ground.root().cloned());
            let left_in = state.left_in.iter();
            left_in.for_each(|dir| dirs.insert(dir.clone()));
        }
    }
    let mut effects = Effects::default();
    if state.is_set_otherwise {
        effects.all_become_unknown(
            "an action before it set a variable that may change what commands do",
        );
    }
    let mut walk = Walk::new(ground, state, &mut effects);
    let ends_in = run(&mut walk, &dirs);
    if walk.is_lost() {
        state.left_in.insert(None);
    }
    // A shell that was left where it was started says nothing new.
    for dir in ends_in.into_iter().filter(|dir| !dirs.holds(dir)) {
        state.left_in.insert(dir);
    }
    if state.left_in.len() > LEFT_IN_MAX {
        state.left_in = BTreeSet::from([None]);
    }
    effects
}

#[cfg(test)]
mod tests;
