//! What one command does, by its line of the table.

use remembrancer_schema::payload::Effect;

use super::argument::{Arg, is_assignment};
use super::position::{Dirs, Ends, Input};
use super::walk::Walk;
use crate::effect::Target;
use crate::effect::table::{COMMANDS, Does, EffectSet, Role, Row, Rule};

/// Directories whose programs are the ones that the table tells of.
const PROGRAM_DIRECTORIES: [&str; 6] = [
    "/bin/",
    "/sbin/",
    "/usr/bin/",
    "/usr/local/bin/",
    "/usr/local/sbin/",
    "/usr/sbin/",
];

/// A command that is read by its line of the table.
#[derive(Debug, Default)]
pub(super) struct Found {
    pub(super) on_all: EffectSet,
    pub(super) on_read: EffectSet,
    pub(super) on_written: EffectSet,
    pub(super) without: EffectSet,
    pub(super) does: Vec<Does>,
    pub(super) is_tree: bool,
    pub(super) replaces_text: bool,
    pub(super) replaces_last: bool,
    pub(super) only_prints: bool,
}

impl Walk<'_> {
    /// Runs a command: its name and its words.
    pub(super) fn run(&mut self, args: &[Arg], input: Input<'_>, dirs: &Dirs) -> Ends {
        let Some((name, args)) = args.split_first() else {
            return Ends::at(dirs);
        };
        if !self.spend() {
            return Ends::at(dirs);
        }
        if !name.is_known() {
            self.lose("the name of a program is put together when the command runs");
            return Ends::at(&dirs.with_unknown());
        }
        if let Some(bodies) = self.function(&name.text) {
            return self.call(&bodies, input, dirs);
        }
        let plain = PROGRAM_DIRECTORIES
            .iter()
            .find_map(|directory| name.text.strip_prefix(directory))
            .unwrap_or(&name.text);
        if self.is_renamed(plain) {
            self.lose(&format!(
                "{plain} may be a function or an alias that was defined before"
            ));
            return Ends::at(&dirs.with_unknown());
        }
        if let Some(ends) = self.special(plain, args, input, dirs) {
            return ends;
        }
        match COMMANDS.row(plain) {
            Some(row) => self.known(plain, row, args, input, dirs),
            None => {
                self.effects.have(Effect::Execute);
                self.lose(&format!("what the program {plain} does is not known"));
                Ends::at(dirs)
            }
        }
    }

    /// Runs a command that the table tells of.
    pub(super) fn known(
        &mut self,
        name: &str,
        row: &Row,
        args: &[Arg],
        input: Input<'_>,
        dirs: &Dirs,
    ) -> Ends {
        let mut dirs = dirs.clone();
        let mut found = Found {
            is_tree: row.is_tree,
            ..Found::default()
        };
        let lead = row
            .operands
            .iter()
            .take_while(|operand| !is_rest(operand.role));
        let fixed = lead.filter(|operand| operand.role != Role::Assign).count();
        let rest_role = row
            .operands
            .iter()
            .map(|operand| operand.role)
            .find(|role| is_rest(*role));
        let takes_assignments = row.operands.iter().any(|of| of.role == Role::Assign);
        let mut operands: Vec<&Arg> = Vec::new();
        let mut rest: Option<&[Arg]> = None;
        let (mut at, mut takes_options) = (0, true);
        while let Some(arg) = args.get(at) {
            if takes_options && arg.may_be_option() {
                self.may_be_option(name, row);
            }
            let is_option = takes_options
                && arg.text.len() > 1
                && arg.text.starts_with('-')
                && arg.open_at != Some(0);
            if is_option && arg.text == "--" {
                takes_options = false;
                at += 1;
            } else if is_option {
                at += 1 + self.option(name, row, &args[at..], &mut found, &mut dirs);
            } else if takes_assignments && operands.is_empty() && is_assignment(&arg.text) {
                self.set_for_command(arg.text.split('=').next().unwrap_or_default());
                at += 1;
            } else if rest_role.is_some() && operands.len() == fixed {
                rest = Some(&args[at..]);
                break;
            } else {
                operands.push(arg);
                at += 1;
            }
        }
        if found.only_prints {
            return Ends::at(&dirs);
        }
        // What a command does by itself is not what it does with a subcommand.
        let sub = rest
            .and_then(<[Arg]>::first)
            .filter(|_| rest_role == Some(Role::Sub));
        if let Some(sub) = sub {
            let args = rest.unwrap_or_default();
            return self.subcommand(name, row, sub, &args[1..], input, &dirs);
        }
        for does in &found.does {
            // An option that names an effect here says more than one that takes it away.
            if let Does::Here(effect) = does {
                found.without = found.without.without(EffectSet::of(*effect));
            }
        }
        for does in row.does.iter().chain(&found.does) {
            self.does(*does, name, found.without, &dirs);
        }
        self.operands(name, row, &found, &operands, &dirs);
        // What stands behind options may be the value of one, and no program.
        if rest_role == Some(Role::Program) && rest.is_some_and(|rest| rest.len() < args.len()) {
            rest = None;
        }
        match rest_role {
            Some(role) => self.rest(
                role,
                name,
                row,
                &operands,
                rest.unwrap_or_default(),
                input,
                &dirs,
            ),
            None => Ends::at(&dirs),
        }
    }

    /// A word that begins with something open may be any option.
    fn may_be_option(&mut self, name: &str, row: &Row) {
        let reason = format!("a word that {name} gets may be an option");
        match row.others_are_harmless {
            true => {
                for effect in row.of_options().iter() {
                    self.effects.become_unknown(effect, &reason);
                }
            }
            false => self.lose(&reason),
        }
    }

    /// Reads one option, and says how many words behind it belong to it.
    fn option(
        &mut self,
        name: &str,
        row: &Row,
        args: &[Arg],
        found: &mut Found,
        dirs: &mut Dirs,
    ) -> usize {
        let Some((arg, behind)) = args.split_first() else {
            return 0;
        };
        let is_long = arg.text.starts_with("--") || row.has_long_dash;
        if !is_long {
            return self.short_options(name, row, arg, behind, found, dirs);
        }
        let equals = arg.text.find('=');
        let end = equals.unwrap_or(arg.text.len());
        if arg.open_at.is_some_and(|open| open < end) {
            self.may_be_option(name, row);
            return 0;
        }
        let option = &arg.text[..end];
        let rules: Vec<&Rule> = row.rules(option).collect();
        if rules.is_empty() {
            self.other_option(name, row, option);
        }
        let mut taken = 0;
        for rule in rules {
            self.rule(name, rule, found);
            let inline = equals.map(|equals| arg.tail(equals + 1));
            taken = taken.max(self.values(name, rule, inline, behind, found, dirs));
        }
        taken
    }

    fn short_options(
        &mut self,
        name: &str,
        row: &Row,
        arg: &Arg,
        behind: &[Arg],
        found: &mut Found,
        dirs: &mut Dirs,
    ) -> usize {
        for (at, letter) in arg.text.char_indices().skip(1) {
            if arg.open_at.is_some_and(|open| open <= at) {
                self.may_be_option(name, row);
                return 0;
            }
            let option = format!("-{letter}");
            let rule = row.rules(&option).next();
            let Some(rule) = rule else {
                self.other_option(name, row, &option);
                continue;
            };
            self.rule(name, rule, found);
            if rule.values.is_empty() && !rule.is_attached {
                continue;
            }
            let from = at + letter.len_utf8();
            let inline = (from < arg.text.len()).then(|| arg.tail(from));
            return self.values(name, rule, inline, behind, found, dirs);
        }
        0
    }

    fn other_option(&mut self, name: &str, row: &Row, option: &str) {
        // A program that runs other code says so itself.
        if !row.others_are_harmless && !row.does.contains(&Does::Program) {
            self.lose(&format!(
                "what the option {option} of {name} does is not known"
            ));
        }
    }

    fn rule(&mut self, name: &str, rule: &Rule, found: &mut Found) {
        found.on_all = found.on_all.union(rule.on_all);
        found.on_read = found.on_read.union(rule.on_read);
        found.on_written = found.on_written.union(rule.on_written);
        found.without = found.without.union(rule.without);
        found.does.extend(&rule.does);
        found.is_tree |= rule.is_tree;
        found.replaces_text |= rule.replaces_text;
        found.replaces_last |= rule.replaces_last;
        found.only_prints |= rule.only_prints;
        if rule.is_unknown {
            self.lose(&format!("an option of {name} may make it do anything"));
        }
    }

    fn values(
        &mut self,
        name: &str,
        rule: &Rule,
        inline: Option<Arg>,
        behind: &[Arg],
        found: &Found,
        dirs: &mut Dirs,
    ) -> usize {
        let is_inline = inline.is_some();
        let behind = if rule.is_attached { &[] } else { behind };
        let values = inline.iter().chain(behind);
        let mut taken = 0;
        for (role, value) in rule.values.iter().zip(values) {
            taken += 1;
            match role {
                Role::Base => *dirs = self.moved(value, dirs),
                role => self.value(*role, name, value, found.is_tree, dirs),
            }
        }
        taken - usize::from(is_inline && taken > 0)
    }

    pub(super) fn does(&mut self, does: Does, name: &str, without: EffectSet, dirs: &Dirs) {
        match does {
            Does::Effect(effect)
            | Does::Here(effect)
            | Does::Elsewhere(effect)
            | Does::Unknown(effect)
                if without.holds(effect) => {}
            Does::Effect(effect) => self.effects.have(effect),
            Does::Here(effect) => self.here(effect, dirs),
            Does::Elsewhere(effect) => self.effects.touch(effect, Target::elsewhere(name)),
            Does::Unknown(effect) => {
                let reason = format!("whether {name} has an effect depends on what it finds");
                self.effects.become_unknown(effect, &reason);
            }
            Does::Program => {
                self.effects.have(Effect::Execute);
                self.lose(&format!(
                    "{name} runs code that does not stand in the command"
                ));
            }
            Does::Input => {}
        }
    }

    /// What stands behind the operands.
    #[expect(
        clippy::too_many_arguments,
        reason = "each says another thing of the same command"
    )]
    fn rest(
        &mut self,
        role: Role,
        name: &str,
        row: &Row,
        operands: &[&Arg],
        rest: &[Arg],
        input: Input<'_>,
        dirs: &Dirs,
    ) -> Ends {
        match role {
            Role::Sub => {
                if row.does.is_empty() {
                    self.lose(&format!("what {name} does is not known"));
                }
                Ends::at(dirs)
            }
            Role::Command if rest.is_empty() => Ends::at(dirs),
            Role::Command => {
                let mut args = rest.to_vec();
                if row.does.contains(&Does::Input) {
                    args.push(Arg::open("words from the input"));
                }
                self.run(&args, input, dirs)
            }
            Role::Code if rest.is_empty() => Ends::at(dirs),
            Role::Code => self.shell_code(rest, dirs),
            Role::RemoteCode => {
                let host = operands
                    .first()
                    .map_or("another machine", |host| &*host.text);
                self.remote_code(host, rest);
                Ends::at(dirs)
            }
            _ => {
                if let Some(program) = rest.first().filter(|_| role == Role::Program) {
                    self.file(Effect::Read, program, false, dirs);
                }
                self.does(Does::Program, name, EffectSet::default(), dirs);
                Ends::at(dirs)
            }
        }
    }

    fn subcommand(
        &mut self,
        name: &str,
        row: &Row,
        sub: &Arg,
        args: &[Arg],
        input: Input<'_>,
        dirs: &Dirs,
    ) -> Ends {
        let whole = format!("{name} {}", sub.text);
        match COMMANDS.row(&whole).filter(|_| sub.is_known()) {
            Some(row) => self.known(&whole, row, args, input, dirs),
            None => {
                for does in &row.does {
                    self.does(*does, name, EffectSet::default(), dirs);
                }
                self.effects.have(Effect::Execute);
                self.lose(&format!("what {whole} does is not known"));
                Ends::at(dirs)
            }
        }
    }
}

/// Whether what stands behind the operands is taken as a whole.
pub(super) fn is_rest(role: Role) -> bool {
    matches!(
        role,
        Role::Sub | Role::Command | Role::Code | Role::RemoteCode | Role::Program | Role::Opaque
    )
}
