//! The walk over shell code: what runs, in which directory, with which input.

use std::collections::BTreeMap;
use std::rc::Rc;

use remembrancer_schema::payload::Effect;

use super::ShellState;
use super::argument::{Arg, Expansion};
use super::position::{Dirs, Ends, Input};
use super::scan::Unit;
use super::script::{self, Link, Node, Redirect, Simple};
use crate::effect::path::Ground;
use crate::effect::table::COMMANDS;
use crate::effect::{Effects, Place, Target};

/// Most commands that are looked at.
const COMMANDS_MAX: usize = 1024;
/// Deepest nesting of code in code: `sh -c`, `eval`, substitutions, functions.
const DEPTH_MAX: usize = 8;
/// Files that keep nothing and give nothing away.
const DEVICES: [&str; 9] = [
    "/dev/null",
    "/dev/zero",
    "/dev/full",
    "/dev/random",
    "/dev/urandom",
    "/dev/tty",
    "/dev/stdin",
    "/dev/stdout",
    "/dev/stderr",
];

/// Commands that may leave the directory that they are run in.
const MOVING: [&str; 9] = [
    ".", "builtin", "cd", "command", "eval", "popd", "pushd", "source", "trap",
];

/// Commands that set variables of the shell.
const DECLARING: [&str; 5] = ["declare", "export", "local", "readonly", "typeset"];

/// The walk.
pub(super) struct Walk<'a> {
    pub(super) ground: &'a mut Ground,
    pub(super) state: &'a mut ShellState,
    pub(super) effects: &'a mut Effects,
    functions: BTreeMap<String, Vec<Rc<Node>>>,
    commands_left: usize,
    depth: usize,
    /// Something ran that may have changed the directory unseen.
    is_lost: bool,
}

impl<'a> Walk<'a> {
    pub(super) fn new(
        ground: &'a mut Ground,
        state: &'a mut ShellState,
        effects: &'a mut Effects,
    ) -> Self {
        Self {
            ground,
            state,
            effects,
            functions: BTreeMap::new(),
            commands_left: COMMANDS_MAX,
            depth: 0,
            is_lost: false,
        }
    }

    pub(super) fn is_lost(&self) -> bool {
        self.is_lost
    }

    /// Nothing is known any more.
    pub(super) fn lose(&mut self, reason: &str) {
        self.effects.all_become_unknown(reason);
    }

    /// Walks code, and says where it may leave the shell.
    pub(super) fn code(&mut self, code: &str, dirs: &Dirs) -> Dirs {
        self.nested_code(code, Input::Outside, dirs).any()
    }

    /// Walks code that stands in code.
    pub(super) fn nested_code(&mut self, code: &str, input: Input<'_>, dirs: &Dirs) -> Ends {
        if self.depth == DEPTH_MAX {
            self.lose("code stands in code deeper than is looked at");
            return self.lost_ends();
        }
        match script::read(code) {
            Ok(node) => {
                self.depth += 1;
                let ends = self.node(&node, input, dirs);
                self.depth -= 1;
                ends
            }
            Err(unread) => {
                self.lose(unread.as_str());
                self.lost_ends()
            }
        }
    }

    fn lost_ends(&mut self) -> Ends {
        self.is_lost = true;
        Ends::at(&Dirs::unknown())
    }

    fn node(&mut self, node: &Node, input: Input<'_>, dirs: &Dirs) -> Ends {
        match node {
            Node::Simple(simple) => self.simple(simple, input, dirs),
            Node::Sequence(nodes) => {
                let mut ends = Ends::at(dirs);
                for node in nodes {
                    let here = ends.any();
                    ends = self.node(node, input, &here);
                }
                ends
            }
            Node::Chain(first, rest) => {
                let mut ends = self.node(first, input, dirs);
                for (link, node) in rest {
                    let (from, mut kept) = match link {
                        Link::And => (
                            ends.ok.clone(),
                            Ends {
                                ok: Dirs::default(),
                                ..ends
                            },
                        ),
                        Link::Or => (
                            ends.failed.clone(),
                            Ends {
                                failed: Dirs::default(),
                                ..ends
                            },
                        ),
                    };
                    let next = self.node(node, input, &from);
                    kept.ok.add(&next.ok);
                    kept.failed.add(&next.failed);
                    ends = kept;
                }
                ends
            }
            Node::Pipe(nodes) => {
                for (at, node) in nodes.iter().enumerate() {
                    let input = if at == 0 { input } else { Input::Open };
                    self.node(node, input, dirs);
                }
                Ends::at(dirs)
            }
            Node::Apart(node) => {
                self.node(node, input, dirs);
                Ends::at(dirs)
            }
            Node::Choice(first, branches) => {
                let first = self.node(first, input, dirs);
                let here = first.any();
                let mut ends = Ends::at(&here);
                for branch in branches {
                    let branch = self.node(branch, input, &here);
                    ends.ok.add(&branch.ok);
                    ends.failed.add(&branch.failed);
                }
                ends
            }
            Node::Loop(body) => {
                let mut within = dirs.clone();
                if self.moves(body) {
                    within = Dirs::unknown();
                }
                let mut after = self.node(body, input, &within).any();
                after.add(dirs);
                Ends::at(&after)
            }
            Node::Function(names, body) => {
                for name in names {
                    let bodies = self.functions.entry(name.clone()).or_default();
                    bodies.push(Rc::clone(body));
                    self.state.note_name(name);
                }
                Ends::at(dirs)
            }
            Node::With(redirects, node) => self.with(redirects, node, input, dirs),
            Node::Code(code) => {
                self.nested_code(code, Input::Outside, dirs);
                Ends::at(dirs)
            }
            Node::Unclear(reason) => {
                self.lose(reason);
                Ends::at(dirs)
            }
        }
    }

    fn with<'i>(
        &mut self,
        redirects: &'i [Redirect],
        node: &Node,
        mut input: Input<'i>,
        dirs: &Dirs,
    ) -> Ends {
        for redirect in redirects {
            let (units, effects): (_, &[Effect]) = match redirect {
                Redirect::Text(text) => {
                    input = text.as_deref().map_or(Input::Open, Input::Text);
                    continue;
                }
                Redirect::From(units) => {
                    input = Input::Open;
                    (units, &[Effect::Read])
                }
                Redirect::To(units) => (units, &[Effect::Write]),
                Redirect::Both(units) => (units, &[Effect::Read, Effect::Write]),
            };
            let args = self.args(units, dirs);
            for arg in &args {
                let connects = ["/dev/tcp/", "/dev/udp/"];
                if let Some(address) = connects
                    .iter()
                    .find_map(|start| arg.text.strip_prefix(start))
                {
                    self.effects
                        .touch(Effect::Network, Target::elsewhere(address));
                } else {
                    effects
                        .iter()
                        .for_each(|effect| self.file(*effect, arg, false, dirs));
                }
            }
        }
        self.node(node, input, dirs)
    }

    fn simple(&mut self, simple: &Simple, input: Input<'_>, dirs: &Dirs) -> Ends {
        // What stands before a command counts for that command alone, and only behind its words are put together.
        let args: Vec<Arg> = simple
            .words
            .iter()
            .flat_map(|units| self.args(units, dirs))
            .collect();
        let is_kept = args
            .first()
            .is_none_or(|name| DECLARING.contains(&&*name.text));
        for name in &simple.variables {
            match is_kept {
                true => self.set_variable(name),
                false => self.set_for_command(name),
            }
        }
        self.run(&args, input, dirs)
    }

    fn args(&self, units: &[Unit], dirs: &Dirs) -> Vec<Arg> {
        Expansion {
            home: self.home(),
            directory: dirs.only().filter(|_| !self.state.is_directory_open),
        }
        .args(units)
    }

    /// The home directory, while nothing may have changed it.
    pub(super) fn home(&self) -> Option<&Place> {
        self.ground.home().filter(|_| !self.state.is_home_open)
    }

    /// A variable is set from here on.
    pub(super) fn set_variable(&mut self, name: &str) {
        if COMMANDS.is_telling(name) {
            self.state.note_variable(name);
        }
        self.set_for_command(name);
    }

    /// A variable is set for one command.
    pub(super) fn set_for_command(&mut self, name: &str) {
        if COMMANDS.is_telling(name) {
            self.lose(&format!(
                "the variable {name} is set, which may change what commands do"
            ));
        }
    }

    /// Counts a command. False where there were too many.
    pub(super) fn spend(&mut self) -> bool {
        match self.commands_left.checked_sub(1) {
            Some(left) => {
                self.commands_left = left;
                true
            }
            None => {
                self.lose("there are more commands than are looked at");
                false
            }
        }
    }

    /// The bodies of a function that was defined in this code.
    pub(super) fn function(&self, name: &str) -> Option<Vec<Rc<Node>>> {
        self.functions.get(name).cloned()
    }

    /// A function is called.
    pub(super) fn call(&mut self, bodies: &[Rc<Node>], input: Input<'_>, dirs: &Dirs) -> Ends {
        if self.depth == DEPTH_MAX {
            self.lose("functions call functions deeper than is looked at");
            return self.lost_ends();
        }
        self.depth += 1;
        let mut ends = Ends::default();
        for body in bodies {
            let one = self.node(body, input, dirs);
            ends.ok.add(&one.ok);
            ends.failed.add(&one.failed);
        }
        self.depth -= 1;
        ends
    }

    /// What a word names is touched.
    pub(super) fn file(&mut self, effect: Effect, arg: &Arg, is_tree: bool, dirs: &Dirs) {
        if let Some(targets) = &arg.stands_for {
            for target in targets {
                self.effects.touch(effect, target.clone());
            }
            return;
        }
        if arg.is_known() && is_stream(&arg.text) {
            return;
        }
        for dir in dirs.iter() {
            let target = match arg.file(self.ground, dir) {
                Ok(target) => target,
                Err((target, reason)) => {
                    self.effects.note(reason);
                    target
                }
            };
            let target = match target {
                Target::File { place, globs, tree } => Target::File {
                    place,
                    globs,
                    tree: tree || is_tree,
                },
                other => other,
            };
            self.effects.touch(effect, target);
        }
        // Code that cannot be reached, as far as is seen, is looked at all the same.
        if dirs.iter().next().is_none() {
            self.effects.touch(effect, Target::unknown(&arg.text));
        }
    }

    /// The directory that a command is run in is touched, with what is below it.
    pub(super) fn here(&mut self, effect: Effect, dirs: &Dirs) {
        self.file(effect, &Arg::plain("."), true, dirs);
    }

    /// Whether code may leave the directory that it is in.
    fn moves(&self, node: &Node) -> bool {
        match node {
            Node::Simple(simple) => {
                let is_known = |unit: &Unit| matches!(unit, Unit::Char { .. });
                let Some(units) = simple.words.first() else {
                    return false;
                };
                let name: String = units
                    .iter()
                    .filter_map(|unit| match unit {
                        Unit::Char { of, .. } => Some(*of),
                        Unit::Variable { .. } | Unit::Open => None,
                    })
                    .collect();
                !units.iter().all(is_known)
                    || MOVING.contains(&&*name)
                    || self.functions.contains_key(&name)
                    || self.state.names.contains(&name)
            }
            Node::Sequence(nodes) => nodes.iter().any(|node| self.moves(node)),
            Node::Chain(first, rest) => {
                self.moves(first) || rest.iter().any(|(_, node)| self.moves(node))
            }
            Node::Choice(first, branches) => {
                self.moves(first) || branches.iter().any(|node| self.moves(node))
            }
            Node::Loop(node) | Node::With(_, node) => self.moves(node),
            Node::Pipe(_) | Node::Apart(_) | Node::Code(_) | Node::Function(..) => false,
            Node::Unclear(_) => true,
        }
    }
}

/// Whether a path names something that keeps nothing and gives nothing away, or what is open already.
fn is_stream(path: &str) -> bool {
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|of| of.is_ascii_digit());
    DEVICES.contains(&path) || path.strip_prefix("/dev/fd/").is_some_and(is_number)
}
