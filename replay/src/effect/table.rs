//! What commands do, read from `commands.txt`: one line for each command, the same for people and for this program.

mod reading;

use std::collections::HashMap;
use std::sync::LazyLock;

use remembrancer_schema::payload::Effect;

use reading::row;

/// The commands that are known, by name. The name of a subcommand holds the names above it: `git push`.
pub(super) static COMMANDS: LazyLock<Commands> =
    LazyLock::new(|| Commands::parse(include_str!("commands.txt")));

/// The table.
#[derive(Debug, Default)]
pub(super) struct Commands {
    rows: HashMap<&'static str, Row>,
    /// Variables that change what commands do. A name that ends with `*` stands for all that start so.
    variables: Vec<&'static str>,
}

/// What is known of one command.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Row {
    /// What it does whatever its operands are.
    pub(super) does: Vec<Does>,
    /// The roles of its operands, in order.
    pub(super) operands: Vec<Operand>,
    /// Its options.
    pub(super) options: Vec<(&'static str, Rule)>,
    /// Options that are not listed are harmless. Without it, they make everything unknown.
    pub(super) others_are_harmless: bool,
    /// Its options are words after one dash.
    pub(super) has_long_dash: bool,
    /// Its operands are meant with everything below them.
    pub(super) is_tree: bool,
}

/// What a command does whatever its operands are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Does {
    /// It has the effect, on nothing that is told.
    Effect(Effect),
    /// It has the effect on the directory that it is run in and what is below.
    Here(Effect),
    /// It has the effect on something that is no file of this machine.
    Elsewhere(Effect),
    /// It cannot be told whether it has the effect.
    Unknown(Effect),
    /// It runs a program that does not stand in the command: nothing else is known.
    Program,
    /// It takes operands from its input.
    Input,
}

/// The role of an operand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    /// A word that names nothing that is touched.
    Text,
    /// A file.
    File(FileRole),
    /// Where files are put: a file, or a directory that they keep their names in.
    Into,
    /// Writes to the directory that it is run in.
    Here(Effect),
    /// The name of a subcommand.
    Sub,
    /// The rest is a command.
    Command,
    /// The rest is shell code.
    Code,
    /// Shell code in one word.
    Script,
    /// The rest is shell code, run on another machine.
    RemoteCode,
    /// A file with code; the rest are its arguments.
    Program,
    /// Code in another language.
    Opaque,
    /// `NAME=VALUE`.
    Assign,
    /// An address.
    Url,
    /// A machine.
    Host,
    /// The mode of a file.
    Mode,
    /// A branch and where it goes; a `+` or `:` before it removes what was there.
    Refspec,
    /// The directory that it is run in.
    Base,
    /// A directory that is mounted into a container: `FROM:TO`.
    Mount,
    /// What is sent: `@FILE` reads a file.
    Data,
    /// What is sent with its signs escaped: `NAME@FILE` reads a file.
    Encoded,
    /// How something is printed; it may name files.
    Format,
    /// How the time is printed, behind a `+`; anything else sets the clock.
    Clock,
    /// A setting of git.
    Setting,
    /// A script of sed.
    Sed,
    /// A script of awk.
    Awk,
}

/// What is done with a file that an operand names.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct FileRole {
    /// The effects on the file.
    pub(super) effects: EffectSet,
    /// It may be a file of another machine: `HOST:PATH`.
    pub(super) may_be_remote: bool,
    /// A directory is meant with all below it.
    pub(super) is_tree: bool,
}

/// A few effects.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct EffectSet(u8);

impl EffectSet {
    pub(super) fn insert(&mut self, effect: Effect) {
        self.0 |= 1 << effect as u8;
    }

    pub(super) fn of(effect: Effect) -> Self {
        Self(1 << effect as u8)
    }

    pub(super) fn holds(self, effect: Effect) -> bool {
        self.0 & (1 << effect as u8) != 0
    }

    pub(super) fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    pub(super) fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    pub(super) fn iter(self) -> impl Iterator<Item = Effect> {
        Effect::ALL
            .into_iter()
            .filter(move |effect| self.holds(*effect))
    }
}

/// An operand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Operand {
    pub(super) role: Role,
    /// Any number of them, none too.
    pub(super) is_many: bool,
    /// What is meant where none is given.
    pub(super) default: Missing,
}

/// What a missing operand stands for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Missing {
    /// Nothing.
    #[default]
    Nothing,
    /// The directory that the command is run in.
    Here,
    /// The same, where directories are meant with all that is below them.
    HereInTrees,
}

/// What an option does.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Rule {
    /// The roles of the values that follow it.
    pub(super) values: Vec<Role>,
    /// Its value may only stand in the same word: `-i.bak`.
    pub(super) is_attached: bool,
    /// Effects that it adds on every operand that is a file.
    pub(super) on_all: EffectSet,
    /// Effects that it adds on the operands that are read.
    pub(super) on_read: EffectSet,
    /// Effects that it adds on the operands that are written.
    pub(super) on_written: EffectSet,
    /// What it makes the command do whatever its operands are.
    pub(super) does: Vec<Does>,
    /// Effects that it takes from the command and its operands.
    pub(super) without: EffectSet,
    /// Operands are meant with everything below them.
    pub(super) is_tree: bool,
    /// The first operand that would be a text is not given.
    pub(super) replaces_text: bool,
    /// The last operand has the role of the ones before it.
    pub(super) replaces_last: bool,
    /// The command prints something about itself and does nothing else.
    pub(super) only_prints: bool,
    /// Nothing is known of the command with it.
    pub(super) is_unknown: bool,
}

impl Row {
    /// The rules of an option as it stands in a command, `-x` or `--name`. A long name may be cut short; then it is taken for
    /// all that it may stand for.
    pub(super) fn rules<'a>(&'a self, name: &str) -> impl Iterator<Item = &'a Rule> {
        let exact = self.options.iter().find(|(known, _)| *known == name);
        let is_cut = exact.is_none() && name.len() > 2 && name.starts_with("--");
        let name = name.to_owned();
        let cut = self
            .options
            .iter()
            .filter(move |(known, _)| is_cut && known.starts_with(&name));
        exact.into_iter().chain(cut).map(|(_, rule)| rule)
    }

    /// The effects that its options may add.
    pub(super) fn of_options(&self) -> EffectSet {
        let mut all = EffectSet::default();
        for (_, rule) in &self.options {
            all = all
                .union(rule.on_all)
                .union(rule.on_read)
                .union(rule.on_written);
            rule.does.iter().for_each(|does| match does {
                Does::Effect(effect)
                | Does::Here(effect)
                | Does::Elsewhere(effect)
                | Does::Unknown(effect) => all.insert(*effect),
                Does::Program => all = EffectSet(u8::MAX),
                Does::Input => {}
            });
            for value in &rule.values {
                match value {
                    Role::Text | Role::Sub | Role::Base | Role::Mode | Role::Assign => {}
                    Role::File(file) => all = all.union(file.effects),
                    Role::Into => all.insert(Effect::Write),
                    Role::Here(effect) => all.insert(*effect),
                    Role::Url | Role::Host => all.insert(Effect::Network),
                    _ => all = EffectSet(u8::MAX),
                }
            }
            if rule.is_unknown {
                all = EffectSet(u8::MAX);
            }
        }
        all
    }
}

impl Commands {
    /// What is known of a command, or of a subcommand by its whole name.
    pub(super) fn row(&self, name: &str) -> Option<&Row> {
        self.rows.get(name)
    }

    /// Whether setting a variable may change what commands do.
    pub(super) fn is_telling(&self, variable: &str) -> bool {
        self.variables
            .iter()
            .any(|known| match known.strip_suffix('*') {
                Some(start) => variable.starts_with(start),
                None => *known == variable,
            })
    }

    /// Reads the table. A line that cannot be read is a fault of this program; a test reads them all.
    fn parse(text: &'static str) -> Self {
        let mut commands = Self::default();
        let lines = text.lines().map(str::trim);
        for line in lines.filter(|line| !line.is_empty() && !line.starts_with('#')) {
            if let Some(variables) = line.strip_prefix('$') {
                commands.variables.extend(variables.split_whitespace());
                continue;
            }
            let columns: Vec<&'static str> = line.split('|').map(str::trim).collect();
            let [names, does, operands, options] = columns[..] else {
                unreachable!("a line of the table has four columns: {line}");
            };
            let row = row(does, operands, options);
            for name in names.split(',').map(str::trim) {
                let before = commands.rows.insert(name, row.clone());
                assert!(before.is_none(), "the table names {name} twice");
            }
        }
        commands
    }
}

#[cfg(test)]
mod tests;
