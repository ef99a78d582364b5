//! What tools do, read from `tools.txt`: one line for each tool.

use std::collections::HashMap;
use std::sync::LazyLock;

use remembrancer_schema::payload::Effect;

/// The tools that are known, by name.
pub(super) static TOOLS: LazyLock<Tools> =
    LazyLock::new(|| Tools::parse(include_str!("../tools.txt")));

#[derive(Debug, Default)]
pub(super) struct Tools {
    pub(super) rows: HashMap<&'static str, Tool>,
}

#[derive(Debug, Clone, Default)]
pub(super) struct Tool {
    pub(super) does: Vec<Effect>,
    pub(super) arguments: Vec<Argument>,
}

#[derive(Debug, Clone)]
pub(super) struct Argument {
    pub(super) names: Vec<&'static str>,
    pub(super) role: Role,
    pub(super) is_here_without: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Role {
    File {
        effects: Vec<Effect>,
        tree: bool,
    },
    Shell,
    Words,
    Base,
    Patch,
    Url,
    Editor,
    /// More rights than usual are asked for.
    Rights,
    /// The shell that runs the command.
    Interpreter,
    /// A pattern of the files that are listed.
    Pattern,
    Text,
}

impl Tools {
    /// Reads the table. A line that cannot be read is a fault of this program; a test reads them all.
    fn parse(text: &'static str) -> Self {
        let mut tools = Self::default();
        let lines = text.lines().map(str::trim);
        for line in lines.filter(|line| !line.is_empty() && !line.starts_with('#')) {
            let columns: Vec<&'static str> = line.split('|').map(str::trim).collect();
            let [names, does, arguments] = columns[..] else {
                unreachable!("a line of the table has three columns: {line}");
            };
            let tool = Tool {
                does: does.split_whitespace().map(effect_named).collect(),
                arguments: arguments.split_whitespace().map(argument).collect(),
            };
            for name in names.split(',').map(str::trim) {
                let before = tools.rows.insert(name, tool.clone());
                assert!(before.is_none(), "the table names {name} twice");
            }
        }
        tools
    }
}

fn argument(word: &'static str) -> Argument {
    let Some((names, role)) = word.split_once(':') else {
        unreachable!("an argument of the table has a role: {word}");
    };
    let (role, is_here_without) = match role.strip_suffix("=.") {
        Some(role) => (role, true),
        None => (role, false),
    };
    let role = match role {
        "shell" => Role::Shell,
        "words" => Role::Words,
        "base" => Role::Base,
        "patch" => Role::Patch,
        "url" => Role::Url,
        "editor" => Role::Editor,
        "rights" => Role::Rights,
        "interpreter" => Role::Interpreter,
        "pattern" => Role::Pattern,
        "text" => Role::Text,
        role => Role::File {
            effects: role
                .trim_end_matches('/')
                .split('&')
                .map(effect_named)
                .collect(),
            tree: role.ends_with('/'),
        },
    };
    Argument {
        names: names.split(',').collect(),
        role,
        is_here_without,
    }
}

fn effect_named(word: &str) -> Effect {
    let named = Effect::ALL.into_iter().find(|known| known.as_str() == word);
    named.unwrap_or_else(|| unreachable!("no effect of the table: {word:?}"))
}
