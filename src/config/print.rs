//! Settings in print: what holds, without secrets, and the example file.

use remembrancer_recorder::Limits;
use serde_json::{Map, Value, json};

use super::{KEYS, LIMITS, Settings};
use crate::terminal::shown;

/// Width of a comment in the example file.
const COMMENT_WIDTH: usize = 110;

/// What holds, as a file would say it. Values that are not defaults say where they come from.
pub(crate) fn as_toml(settings: &Settings) -> String {
    let mut text = String::new();
    for key in KEYS {
        let line = match (key.shown)(settings) {
            Some(value) => format!("{} = {}", key.name, quoted(&value)),
            None => format!("# {} is not set", key.name),
        };
        push(&mut text, &line, settings, key.name);
    }
    text.push_str(&format!("\n[{LIMITS}]\n"));
    for key in Limits::KEYS {
        let value = settings.limits.get(key.name).unwrap_or(key.default);
        let name = format!("{LIMITS}.{}", key.name);
        push(
            &mut text,
            &format!("{} = {value}", key.name),
            settings,
            &name,
        );
    }
    text
}

fn push(text: &mut String, line: &str, settings: &Settings, name: &str) {
    text.push_str(line);
    if let Some(source) = settings.source(name) {
        text.push_str(&format!("  # {}", shown(&source.to_string())));
    }
    text.push('\n');
}

/// What holds, for programs: each value with its source.
pub(crate) fn as_json(settings: &Settings) -> Value {
    let entry = |value: Value, name: &str| {
        let source = settings
            .source(name)
            .map_or("default".to_owned(), ToString::to_string);
        json!({ "value": value, "source": source })
    };
    let mut all = Map::new();
    for key in KEYS {
        let value = (key.shown)(settings).map_or(Value::Null, Value::from);
        all.insert(key.name.to_owned(), entry(value, key.name));
    }
    for key in Limits::KEYS {
        let name = format!("{LIMITS}.{}", key.name);
        let value = settings.limits.get(key.name).unwrap_or(key.default);
        all.insert(name.clone(), entry(value.into(), &name));
    }
    Value::Object(all)
}

/// A file with every setting, what it means, and its default.
pub(crate) fn example() -> String {
    let mut text = String::from(
        "# Configuration of Remembrancer. Every setting, with its default where it has one; all of them may be left away.\n\
         # `remembrancer config --example` prints this file, `remembrancer config` what holds. Flags go before environment\n\
         # variables (REMEMBRANCER_ and the name in capitals), those before this file.\n",
    );
    for key in KEYS {
        let meaning = format!("{} ({})", key.meaning, key.allowed);
        let (mark, value) = match key.default {
            Some(default) => ("", default),
            None => ("# ", key.example),
        };
        let line = format!("{mark}{} = {}", key.name, quoted(value));
        text.push_str(&format!("\n{}\n{line}\n", comment(&meaning)));
    }
    text.push_str(&format!("\n[{LIMITS}]\n"));
    for key in Limits::KEYS {
        let meaning = format!("{} {} to {}.", key.meaning.trim(), key.min, key.max);
        let line = format!("{} = {}", key.name, key.default);
        text.push_str(&format!("\n{}\n{line}\n", comment(&meaning)));
    }
    text
}

/// A text as TOML writes it.
fn quoted(text: &str) -> String {
    toml::Value::String(text.to_owned()).to_string()
}

/// Words as comment lines.
fn comment(words: &str) -> String {
    let mut lines = vec![String::from("#")];
    for word in words.split_whitespace() {
        let line = lines.last_mut().expect("there is one from the beginning");
        if line.len() + 1 + word.len() > COMMENT_WIDTH {
            lines.push(format!("# {word}"));
        } else {
            line.push(' ');
            line.push_str(word);
        }
    }
    lines.join("\n")
}
