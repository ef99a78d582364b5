//! The columns of a line of `commands.txt`.

use remembrancer_schema::payload::Effect;

use super::{Does, EffectSet, FileRole, Missing, Operand, Role, Row, Rule};

/// What a line says of a command.
pub(super) fn row(does: &'static str, operands: &'static str, options: &'static str) -> Row {
    let mut row = Row::default();
    for word in does.split_whitespace() {
        match word {
            "tree" => row.is_tree = true,
            word => row.does.push(one_does(word)),
        }
    }
    row.operands = operands.split_whitespace().map(operand).collect();
    for word in options.split_whitespace() {
        match word {
            "*" => row.others_are_harmless = true,
            "@words" => row.has_long_dash = true,
            word => row.options.push(option(word)),
        }
    }
    row
}

fn one_does(word: &str) -> Does {
    let depends = word
        .strip_prefix("maybe-")
        .map(|effect| ("unknown", effect));
    match depends.or_else(|| word.split_once(':')) {
        Some(("unknown", effect)) => Does::Unknown(effect_named(effect)),
        _ if word == "program" => Does::Program,
        _ if word == "input" => Does::Input,
        _ => match word.split_once('=') {
            Some((effect, ".")) => Does::Here(effect_named(effect)),
            Some((effect, _)) => Does::Elsewhere(effect_named(effect)),
            None => Does::Effect(effect_named(word)),
        },
    }
}

fn operand(word: &str) -> Operand {
    let (word, default) = match word.split_once('=') {
        None => (word, Missing::Nothing),
        Some((word, ".")) => (word, Missing::Here),
        Some((word, ".tree")) => (word, Missing::HereInTrees),
        Some((_, other)) => unreachable!("no default of an operand: {other}"),
    };
    Operand {
        role: role(word.trim_end_matches('*')),
        is_many: word.ends_with('*'),
        default,
    }
}

fn role(word: &str) -> Role {
    match word {
        "text" | "" => Role::Text,
        "into" => Role::Into,
        "sub" => Role::Sub,
        "command" => Role::Command,
        "code" => Role::Code,
        "script" => Role::Script,
        "remote-code" => Role::RemoteCode,
        "program" => Role::Program,
        "opaque" => Role::Opaque,
        "assign" => Role::Assign,
        "url" => Role::Url,
        "host" => Role::Host,
        "mode" => Role::Mode,
        "refspec" => Role::Refspec,
        "base" => Role::Base,
        "mount" => Role::Mount,
        "data" => Role::Data,
        "encoded" => Role::Encoded,
        "format" => Role::Format,
        "clock" => Role::Clock,
        "setting" => Role::Setting,
        "sed" => Role::Sed,
        "awk" => Role::Awk,
        word => match word.strip_prefix('%') {
            Some(effect) => Role::Here(effect_named(effect)),
            None => Role::File(FileRole {
                effects: effects(word.trim_start_matches('@').trim_end_matches('/')),
                may_be_remote: word.starts_with('@'),
                is_tree: word.ends_with('/'),
            }),
        },
    }
}

/// An option: its name, then what it does, each part behind a sign. `commands.txt` explains the signs.
pub(super) fn option(word: &'static str) -> (&'static str, Rule) {
    const SIGNS: &[char] = &[':', '!', '<', '>', '+', '~', '^', '$', '*', '?', '/', ';'];
    let dashes = word.len() - word.trim_start_matches('-').len();
    let end = word[dashes..]
        .find(SIGNS)
        .map_or(word.len(), |end| dashes + end);
    let (name, mut rest) = word.split_at(end);
    let mut rule = Rule::default();
    while let Some(sign) = rest.chars().next() {
        rest = &rest[1..];
        let end = rest.find(SIGNS).unwrap_or(rest.len());
        let (what, after) = rest.split_at(end);
        rest = after;
        match sign {
            ':' => rule.values.push(role(what)),
            ';' => rule.is_attached = true,
            '!' => rule.on_all = effects(what),
            '<' => rule.on_read = effects(what),
            '>' => rule.on_written = effects(what),
            '+' => rule.does.push(one_does(what)),
            '~' => rule.without = effects(what),
            '/' => rule.is_tree = true,
            '^' => rule.replaces_text = true,
            '$' => rule.replaces_last = true,
            '*' => rule.only_prints = true,
            _ => rule.is_unknown = true,
        }
    }
    (name, rule)
}

fn effects(words: &str) -> EffectSet {
    let mut effects = EffectSet::default();
    for word in words.split('&') {
        effects.insert(effect_named(word));
    }
    effects
}

fn effect_named(word: &str) -> Effect {
    let named = Effect::ALL.into_iter().find(|known| known.as_str() == word);
    named.unwrap_or_else(|| unreachable!("no effect of the table: {word:?}"))
}
