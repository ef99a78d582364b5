//! Commands whose words mean more than a line of the table can say.

use remembrancer_schema::payload::Effect;

use super::ShellState;
use super::argument::Arg;
use super::given;
use super::operand::remote;
use super::position::{Dirs, Ends, Input};
use super::variable::names_variables;
use super::walk::Walk;
use crate::effect::path::Ground;
use crate::effect::table::COMMANDS;
use crate::effect::{Effects, Known, Target, patch};

impl Walk<'_> {
    /// Runs a command that is special. `None` for every other one.
    pub(super) fn special(
        &mut self,
        name: &str,
        args: &[Arg],
        input: Input<'_>,
        dirs: &Dirs,
    ) -> Option<Ends> {
        match name {
            "cd" | "pushd" | "popd" => Some(self.change_directory(name, args, dirs)),
            "exit" | "logout" => Some(Ends::default()),
            "source" | "." => {
                if let Some(row) = COMMANDS.row(name) {
                    self.known(name, row, args, input, dirs);
                }
                Some(Ends::at(&dirs.with_unknown()))
            }
            "alias" => {
                for arg in args {
                    if let Some((name, _)) = arg.text.split_once('=') {
                        self.state.note_name(name);
                    }
                }
                Some(Ends::at(dirs))
            }
            "ln" => {
                // With one word the link is put here.
                let is_single = args.iter().filter(|arg| !arg.text.starts_with('-')).count() == 1;
                match COMMANDS.row(name) {
                    Some(row) if !is_single => {
                        self.known(name, row, args, input, dirs);
                    }
                    _ => self.here(Effect::Write, dirs),
                }
                self.note_links(args, dirs);
                Some(Ends::at(dirs))
            }
            "cp" => {
                let is_linking = |arg: &Arg| match arg.text.strip_prefix('-') {
                    Some(long) if long.starts_with('-') => long.starts_with("-s"),
                    Some(short) => short.contains('s'),
                    None => false,
                };
                let row = COMMANDS.row(name)?;
                let ends = self.known(name, row, args, input, dirs);
                if args.iter().any(is_linking) {
                    self.note_links(args, dirs);
                }
                Some(ends)
            }
            "su" | "runuser" => self.other_user(name, args, input, dirs),
            _ if names_variables(name) => {
                self.named_variables(name, args);
                None
            }
            "apply_patch" | "applypatch" => {
                self.apply_patch(args, input, dirs);
                Some(Ends::at(dirs))
            }
            "find" => {
                self.find(args, dirs);
                Some(Ends::at(dirs))
            }
            "dd" => {
                self.copy_blocks(args, dirs);
                Some(Ends::at(dirs))
            }
            "tar" | "bsdtar" | "gtar" => {
                self.archive(args, dirs);
                Some(Ends::at(dirs))
            }
            "xargs" => {
                let mut row = COMMANDS.row(name)?.clone();
                let (args, has_placeholder) = given::placeholders_opened(args);
                if has_placeholder {
                    row.does.clear();
                }
                Some(self.known(name, &row, &args, input, dirs))
            }
            "sh" | "bash" | "dash" | "ash" | "ksh" | "zsh" => {
                Some(self.shell(name, args, input, dirs))
            }
            _ => None,
        }
    }

    /// Whether a name may no longer mean the program of that name.
    pub(super) fn is_renamed(&self, name: &str) -> bool {
        self.state.is_open || self.state.names.contains(name)
    }

    fn change_directory(&mut self, name: &str, args: &[Arg], dirs: &Dirs) -> Ends {
        let is_option =
            |arg: &&Arg| arg.text.len() > 1 && arg.text.starts_with('-') && arg.open_at.is_none();
        let to = args.iter().find(|arg| !is_option(arg));
        let moved = match (name, to) {
            ("cd", None) => {
                let mut home = Dirs::default();
                home.insert(self.home().cloned());
                home
            }
            ("cd" | "pushd", Some(to))
                if !matches!(&*to.text, "-") && !to.text.starts_with('+') =>
            {
                self.moved(to, dirs)
            }
            _ => Dirs::default().with_unknown(),
        };
        Ends {
            ok: moved,
            failed: dirs.clone(),
        }
    }

    /// A link makes a path mean another file from then on.
    fn note_links(&mut self, args: &[Arg], dirs: &Dirs) {
        let mut operands: Vec<Arg> = args
            .iter()
            .filter(|arg| !arg.text.starts_with('-'))
            .cloned()
            .collect();
        operands.extend(target_directory(args));
        let Some((link, sources)) = operands.split_last() else {
            return;
        };
        let names = sources.iter().chain([link]);
        let names: Vec<Arg> = names
            .filter_map(|source| source.text.trim_end_matches('/').rsplit('/').next())
            .map(Arg::plain)
            .collect();
        for dir in dirs.iter() {
            let is_single = sources.is_empty();
            let mut places = Vec::new();
            if let (false, Ok(Target::File { place, .. })) =
                (is_single, link.file(self.ground, dir))
            {
                let below = names.iter().map(|name| place.entry(&name.text));
                places.extend(below);
                places.push(place);
            }
            if let (true, Some(dir)) = (is_single, dir) {
                places.extend(names.iter().map(|name| dir.entry(&name.text)));
            }
            places.iter().for_each(|place| self.ground.note_link(place));
        }
    }

    /// Code as words: joined with spaces.
    pub(super) fn shell_code(&mut self, words: &[Arg], dirs: &Dirs) -> Ends {
        if words.iter().any(|word| !word.is_known_text()) {
            self.lose("shell code is put together when the command runs");
            return Ends::at(&dirs.with_unknown());
        }
        let texts: Vec<&str> = words.iter().map(|word| &*word.text).collect();
        self.nested_code(&texts.join(" "), Input::Outside, dirs)
    }

    /// What code does on another machine, where none of our paths are.
    pub(super) fn remote_code(&mut self, host: &str, words: &[Arg]) {
        if words.is_empty() || words.iter().any(|word| !word.is_known_text()) {
            self.effects.have(Effect::Execute);
            self.lose("what runs on the other machine does not stand in the command");
            return;
        }
        let texts: Vec<&str> = words.iter().map(|word| &*word.text).collect();
        let (mut ground, mut state) = (Ground::default(), ShellState::default());
        let mut there = Effects::default();
        Walk::new(&mut ground, &mut state, &mut there)
            .code(&texts.join(" "), &Dirs::default().with_unknown());
        for effect in Effect::ALL {
            match there.of(effect) {
                Known::False => {}
                Known::Unknown => self
                    .effects
                    .become_unknown(effect, "what runs on the other machine is not known"),
                Known::True => {
                    if there.may_touch_more(effect) {
                        self.effects
                            .become_unknown(effect, "what runs on the other machine may do more");
                    }
                    let mut targets = there.targets(effect).peekable();
                    if targets.peek().is_none() {
                        self.effects.touch(effect, Target::elsewhere(host));
                    }
                    for target in targets {
                        let words = format!("{host}:{}", target.words());
                        self.effects.touch(effect, Target::elsewhere(&words));
                    }
                }
            }
        }
    }

    fn apply_patch(&mut self, args: &[Arg], input: Input<'_>, dirs: &Dirs) {
        let text = match (args.first(), input) {
            (Some(arg), _) if arg.is_known_text() => &*arg.text,
            (None, Input::Text(text)) => text,
            _ => return self.lose("a patch is put together when the command runs"),
        };
        for dir in dirs.iter() {
            patch::effects(text, dir, self.ground, self.effects);
        }
    }

    fn copy_blocks(&mut self, args: &[Arg], dirs: &Dirs) {
        for arg in args {
            match arg.text.split_once('=') {
                _ if arg.open_at == Some(0) => self.lose("a word that dd gets may be any setting"),
                Some(("if", _)) => self.file(Effect::Read, &arg.tail(3), false, dirs),
                Some(("of", _)) => self.file(Effect::Write, &arg.tail(3), false, dirs),
                Some(_) => {}
                None => self.lose("what dd does with a word is not known"),
            }
        }
    }

    fn archive(&mut self, args: &[Arg], dirs: &Dirs) {
        let mut parts = super::archive::Parts::default();
        if let Err(reason) = parts.read(args) {
            self.lose(&reason);
        }
        let mut within = dirs.clone();
        let mut passed = dirs.clone();
        for directory in &parts.directories {
            within = self.moved(directory, &within);
            passed.add(&within);
        }
        // Which of the directories a file is looked for in is not told apart.
        if parts.moves_between {
            within = passed;
        }
        let archive = match parts.does {
            super::archive::Does::Pack => Effect::Write,
            _ => Effect::Read,
        };
        for file in &parts.archives {
            if remote(&file.text).is_some() {
                let there = Target::elsewhere(&file.text);
                self.effects.touch(Effect::Network, there.clone());
                self.effects.touch(archive, there);
            } else {
                self.file(archive, file, false, dirs);
            }
        }
        match parts.does {
            super::archive::Does::List => {}
            super::archive::Does::Unpack => self.here(Effect::Write, &within),
            super::archive::Does::Pack => {
                for operand in &parts.operands {
                    self.file(Effect::Read, operand, true, &within);
                    if parts.removes {
                        self.file(Effect::Delete, operand, true, &within);
                    }
                }
            }
        }
    }

    fn shell(&mut self, name: &str, args: &[Arg], input: Input<'_>, dirs: &Dirs) -> Ends {
        let mut takes_code = false;
        let mut reads_input = false;
        let mut at = 0;
        while let Some(arg) = args.get(at) {
            if arg.open_at == Some(0) || !arg.text.starts_with(['-', '+']) || arg.text.len() < 2 {
                break;
            }
            at += 1;
            match &*arg.text {
                "--" => break,
                "--version" | "--help" => return Ends::at(dirs),
                "--norc" | "--noprofile" | "--login" | "--posix" | "--restricted" => {}
                long if long.starts_with("--") => {
                    self.lose(&format!(
                        "what the option {long} of {name} does is not known"
                    ));
                }
                short => {
                    takes_code |= short.starts_with('-') && short.contains('c');
                    reads_input |= short.contains('s');
                    // The name of a shell option follows.
                    at += usize::from(short.ends_with(['o', 'O']));
                }
            }
        }
        let rest = args.get(at..).unwrap_or_default();
        match rest.first() {
            Some(code) if takes_code => {
                self.shell_code(std::slice::from_ref(code), dirs);
            }
            Some(program) if !reads_input => {
                self.file(Effect::Read, program, false, dirs);
                self.effects.have(Effect::Execute);
                self.lose(&format!(
                    "{name} runs code that does not stand in the command"
                ));
            }
            _ => match input {
                Input::Text(code) => {
                    self.nested_code(code, Input::Outside, dirs);
                }
                Input::Outside | Input::Open => {
                    self.effects.have(Effect::Execute);
                    self.lose(&format!(
                        "{name} runs code that does not stand in the command"
                    ));
                }
            },
        }
        Ends::at(dirs)
    }
}

/// The directory that `-t` names. Any word behind a `-t` may be it.
fn target_directory(args: &[Arg]) -> Option<Arg> {
    for (at, arg) in args.iter().enumerate() {
        let inline = match arg.text.strip_prefix("--t") {
            Some(long) => Some(long.find('=').map(|equals| arg.tail(3 + equals + 1))),
            None if arg.text.starts_with('-') && !arg.text.starts_with("--") => {
                let t = arg.text.find('t');
                t.map(|t| (t + 1 < arg.text.len()).then(|| arg.tail(t + 1)))
            }
            None => None,
        };
        if let Some(inline) = inline {
            return inline.or_else(|| args.get(at + 1).cloned());
        }
    }
    None
}
