//! What a command does with its words, each by its role.

use remembrancer_schema::payload::Effect;

use super::argument::Arg;
use super::command::{Found, is_rest};
use super::position::Dirs;
use super::text_script;
use super::walk::Walk;
use crate::effect::Target;
use crate::effect::table::{Does, EffectSet, FileRole, Missing, Operand, Role, Row};

impl Walk<'_> {
    /// The directory that a word names, from each directory that the command may be in.
    pub(super) fn moved(&mut self, to: &Arg, dirs: &Dirs) -> Dirs {
        let mut moved = Dirs::default();
        for dir in dirs.iter() {
            match to.file(self.ground, dir) {
                Ok(Target::File { place, globs, .. }) if globs.is_empty() => {
                    moved.insert(Some(place));
                }
                Ok(_) => moved.insert(None),
                Err((_, reason)) => {
                    self.effects.note(reason);
                    moved.insert(None);
                }
            }
        }
        moved
    }

    /// Gives each operand its role.
    pub(super) fn operands(
        &mut self,
        name: &str,
        row: &Row,
        found: &Found,
        operands: &[&Arg],
        dirs: &Dirs,
    ) {
        let is_text = |role: Role| matches!(role, Role::Text | Role::Sed | Role::Awk | Role::Mode);
        let mut roles: Vec<Operand> = row
            .operands
            .iter()
            .copied()
            .filter(|operand| !is_rest(operand.role) && operand.role != Role::Assign)
            .collect();
        if found.replaces_text
            && let Some(first) = roles.iter().position(|operand| is_text(operand.role))
        {
            roles.remove(first);
        }
        if found.replaces_last {
            roles.pop();
        }
        if roles.is_empty() && !operands.is_empty() {
            self.lose(&format!("what {name} does with its words is not known"));
        }
        let many = roles.iter().position(|operand| operand.is_many);
        let behind = many.map_or(0, |many| roles.len() - many - 1);
        let mut used = vec![false; roles.len()];
        let mut sources: Vec<&Arg> = Vec::new();
        for (at, arg) in operands.iter().enumerate() {
            let left = operands.len() - at;
            let role_at = match many {
                Some(many) if at >= many && left <= behind => roles.len() - left,
                Some(many) if at >= many => many,
                _ => at.min(roles.len().saturating_sub(1)),
            };
            let Some(operand) = roles.get(role_at) else {
                return;
            };
            used[role_at] = true;
            match operand.role {
                Role::File(file) => {
                    self.operand_file(file, found, arg, dirs);
                    sources.push(arg);
                }
                Role::Into => {
                    sources
                        .iter()
                        .for_each(|source| self.into(source, arg, found, dirs));
                    self.into(arg, arg, found, dirs);
                }
                Role::Text => sources.push(arg),
                role => self.value(role, name, arg, found.is_tree, dirs),
            }
        }
        for (operand, _) in roles.iter().zip(used).filter(|(_, used)| !used) {
            let is_meant = match operand.default {
                Missing::Nothing => false,
                Missing::Here => true,
                Missing::HereInTrees => found.is_tree,
            };
            if is_meant && let Role::File(file) = operand.role {
                let here = Arg::plain(".");
                self.operand_file(file, found, &here, dirs);
            }
        }
    }

    fn operand_file(&mut self, file: FileRole, found: &Found, arg: &Arg, dirs: &Dirs) {
        let mut effects = file.effects.union(found.on_all);
        if file.effects.holds(Effect::Read) {
            effects = effects.union(found.on_read);
        }
        if file.effects.holds(Effect::Write) {
            effects = effects.union(found.on_written);
        }
        let file = FileRole {
            effects: effects.without(found.without),
            ..file
        };
        self.touched(file, arg, found.is_tree, dirs);
    }

    fn touched(&mut self, file: FileRole, arg: &Arg, is_tree: bool, dirs: &Dirs) {
        if arg.text == "-" {
            return;
        }
        let is_tree = is_tree || file.is_tree;
        let remote = file.may_be_remote.then(|| remote(&arg.text)).flatten();
        if remote.is_some() {
            self.effects
                .touch(Effect::Network, Target::elsewhere(&arg.text));
        }
        for effect in file.effects.iter() {
            match remote {
                _ if !effect.is_on_files() => self.effects.have(effect),
                Some(_) => self.effects.touch(effect, Target::elsewhere(&arg.text)),
                None => self.file(effect, arg, is_tree, dirs),
            }
        }
    }

    /// `source` is put at `to`, or below it under its own name.
    fn into(&mut self, source: &Arg, to: &Arg, found: &Found, dirs: &Dirs) {
        let mut effects = found.on_all.union(found.on_written);
        effects.insert(Effect::Write);
        let file = FileRole {
            effects: effects.without(found.without),
            may_be_remote: false,
            is_tree: false,
        };
        self.touched(file, to, found.is_tree, dirs);
        if std::ptr::eq(source, to) || !to.is_known() {
            return;
        }
        let name = source.text.trim_end_matches('/').rsplit('/').next();
        let below = match name {
            Some(name) if source.is_known() && !matches!(name, "" | "." | "..") => {
                Arg::plain(&format!("{}/{name}", to.text.trim_end_matches('/')))
            }
            _ => return self.touched(file, to, true, dirs),
        };
        self.touched(file, &below, found.is_tree, dirs);
    }

    /// A word that is no file operand, by its role.
    pub(super) fn value(&mut self, role: Role, name: &str, arg: &Arg, is_tree: bool, dirs: &Dirs) {
        match role {
            Role::Text | Role::Sub | Role::Assign | Role::Base => {}
            Role::File(file) => self.touched(file, arg, is_tree, dirs),
            Role::Into => self.file(Effect::Write, arg, true, dirs),
            Role::Here(effect) => self.here(effect, dirs),
            Role::Program | Role::Opaque | Role::Command | Role::RemoteCode => {
                self.does(Does::Program, name, EffectSet::default(), dirs);
            }
            Role::Script if matches!(&*arg.text, "" | "-") => {}
            Role::Code | Role::Script => {
                self.shell_code(std::slice::from_ref(arg), dirs);
            }
            Role::Url => self.url(arg, dirs),
            Role::Host => {
                let machine = self.machine(arg);
                self.effects.touch(Effect::Network, machine);
            }
            Role::Mode if sets_identity(arg) => self.effects.have(Effect::Privilege),
            Role::Mode => {}
            Role::Refspec => {
                if arg.may_be_option() || arg.text.starts_with(['+', ':']) {
                    self.effects
                        .touch(Effect::Delete, Target::elsewhere(&arg.text));
                }
            }
            Role::Mount => {
                let from = arg.text.split(':').next().unwrap_or_default();
                let from = Arg {
                    text: from.to_owned(),
                    ..arg.clone()
                };
                if from.text.contains(['/', '.', '~']) || from.open_at.is_some() {
                    self.file(Effect::Read, &from, true, dirs);
                    self.file(Effect::Write, &from, true, dirs);
                }
            }
            Role::Data => {
                if arg.open_at == Some(0) {
                    self.effects
                        .become_unknown(Effect::Read, "what is sent may be a file");
                }
                if let Some(at) = arg.text.find(['@', '<']) {
                    let is_file = at == 0 || arg.text[..at].ends_with('=');
                    if is_file {
                        self.sent_file(&arg.tail(at + 1), dirs);
                    }
                }
            }
            Role::Encoded => {
                let sign = arg
                    .text
                    .find(['@', '='])
                    .filter(|at| arg.text[*at..].starts_with('@'));
                if arg.open_at.is_some() {
                    self.effects
                        .become_unknown(Effect::Read, "what is sent may be a file");
                }
                if let Some(at) = sign {
                    self.file(Effect::Read, &arg.tail(at + 1), false, dirs);
                }
            }
            Role::Format => {
                if arg.text.contains("%output") || arg.open_at.is_some() {
                    self.effects.become_unknown(
                        Effect::Write,
                        &format!("what {name} prints may go into a file"),
                    );
                }
                if arg.text.starts_with('@') {
                    self.file(Effect::Read, &arg.tail(1), false, dirs);
                }
            }
            Role::Clock => {
                if !arg.text.starts_with('+') {
                    self.effects.have(Effect::Privilege);
                }
            }
            Role::Setting => {
                let harmless = ["user.", "color.", "advice.", "core.quotepath", "log.date"];
                let is_harmless = harmless.iter().any(|start| arg.text.starts_with(start));
                if !is_harmless || arg.may_be_option() {
                    self.lose("a setting of git may make it do anything");
                }
            }
            Role::Sed if arg.is_known_text() && text_script::sed_only_edits(&arg.text) => {}
            Role::Awk if arg.is_known_text() && text_script::awk_only_reads(&arg.text) => {}
            Role::Sed | Role::Awk => {
                self.lose(&format!(
                    "the script of {name} may run commands or write files"
                ));
            }
        }
    }

    /// A file that is sent. Behind it more may be said of it, and more files may be named.
    fn sent_file(&mut self, file: &Arg, dirs: &Dirs) {
        let Some(end) = file.text.find([';', ',']) else {
            return self.file(Effect::Read, file, false, dirs);
        };
        self.file(Effect::Read, &Arg::plain(&file.text[..end]), false, dirs);
        self.effects
            .touch(Effect::Read, Target::unknown(&file.text));
        self.effects.note("more files may be sent than one");
    }

    fn url(&mut self, arg: &Arg, dirs: &Dirs) {
        let lower = arg.text.to_ascii_lowercase();
        if let Some(rest) = lower.strip_prefix("file:") {
            let named = match rest.strip_prefix("//") {
                None => Some(rest),
                Some(rest) if rest.starts_with('/') => Some(rest),
                Some(rest) => ["localhost", "127.0.0.1"]
                    .iter()
                    .find_map(|host| rest.strip_prefix(host)),
            };
            // Escapes and sets make other paths than those that stand there.
            let is_plain =
                |path: &&str| path.starts_with('/') && !path.contains(['%', '{', '[', '?', '#']);
            let path = match named.filter(is_plain) {
                Some(path) => arg.tail(arg.text.len() - path.len()),
                None => Arg::open(&arg.text),
            };
            self.file(Effect::Read, &path, false, dirs);
            return;
        }
        let host = self.machine(arg);
        self.effects.touch(Effect::Network, host);
    }

    fn machine(&mut self, arg: &Arg) -> Target {
        match arg.open_at {
            Some(_) => {
                self.effects
                    .note("an address is put together when the command runs");
                Target::unknown(&arg.text)
            }
            None => Target::elsewhere(&arg.text),
        }
    }
}

/// The machine of `HOST:PATH`. A slash before the colon makes it a path of this machine.
pub(super) fn remote(text: &str) -> Option<&str> {
    let (host, _) = text.split_once(':')?;
    (!host.is_empty() && !host.contains('/')).then_some(host)
}

/// Whether a mode makes a program run with its owner's rights.
fn sets_identity(mode: &Arg) -> bool {
    let text = mode.text.trim_start_matches(['+', '=', '-']);
    let is_octal = text.len() >= 4 && text.chars().all(|of| of.is_digit(8));
    let digit = text.trim_start_matches('0').len();
    !mode.is_known()
        || is_octal && digit > 3 && !text.trim_start_matches('0').starts_with('1')
        || !is_octal && text.contains('s')
}
