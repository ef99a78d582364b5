//! What a tool call does, by the name of the tool and its arguments.

mod table;

use remembrancer_schema::payload::Effect;
use serde_json::{Map, Value};

use super::path::{Ground, Place};
use super::shell::{self, ShellState};
use super::{Effects, Known, Target, patch};
use table::{Role, TOOLS, Tool};

/// Most values of one argument that is a list.
const VALUES_MAX: usize = 256;
/// Names that arguments with paths mostly have, for tools whose effects a scope declares.
const PATH_NAMES: [&str; 15] = [
    "absolute_path",
    "destination",
    "dir",
    "dir_path",
    "directory",
    "file",
    "file_path",
    "filename",
    "files",
    "folder",
    "notebook_path",
    "path",
    "paths",
    "source",
    "target_file",
];
/// Names that arguments with the directory of a shell command have.
const BASE_NAMES: [&str; 3] = ["cwd", "workdir", "working_directory"];

/// A tool call.
#[derive(Debug, Clone, Copy, Default)]
pub struct Call<'a> {
    /// The tool.
    pub tool: &'a str,
    /// Its arguments: JSON.
    pub arguments: Option<&'a str>,
    /// The effects that the scope declares for the tool.
    pub declared: Option<&'a [Effect]>,
}

/// The effects of a tool call. What shells keep from one call to the next is read from and noted in `state`, links that are made
/// in `ground`.
pub fn effects_of(call: Call<'_>, ground: &mut Ground, state: &mut ShellState) -> Effects {
    let arguments = call.arguments.map(serde_json::from_str::<Value>);
    if let Some(declared) = call.declared {
        let arguments = arguments.and_then(Result::ok);
        return as_declared(declared, arguments.as_ref(), ground);
    }
    let Some(tool) = TOOLS.rows.get(call.tool) else {
        return Effects::all_unknown(
            "what the tool does is not known; a scope can declare its effects",
        );
    };
    let mut arguments = match arguments {
        Some(Ok(Value::Object(arguments))) => arguments,
        // Some programs send the only argument by itself.
        Some(Ok(text @ Value::String(_))) if !tool.arguments.is_empty() => {
            let name = tool.arguments[0].names[0].to_owned();
            Map::from_iter([(name, text)])
        }
        Some(Ok(Value::Null)) | None => Map::new(),
        Some(_) => return Effects::all_unknown("the arguments of the call cannot be read"),
    };
    // What is typed into a program that runs is no command.
    if arguments
        .get("is_input")
        .is_some_and(|is| *is != Value::Bool(false) && !is_no(is))
    {
        return Effects::all_unknown("the call types into a program that runs");
    }
    let mut effects = Effects::default();
    tool.does.iter().for_each(|effect| effects.have(*effect));
    let start = base(tool, &arguments, ground);
    for argument in &tool.arguments {
        let name = argument
            .names
            .iter()
            .find(|name| arguments.contains_key(**name));
        let value = name
            .and_then(|name| arguments.remove(*name))
            .filter(|value| !value.is_null());
        match (&argument.role, value) {
            (Role::Base, _) | (Role::Rights | Role::Interpreter | Role::Pattern, None) => {}
            (Role::Rights, Some(value)) => {
                let is_usual = value.as_str() == Some("use_default") || is_no(&value);
                if !is_usual && value != Value::Bool(false) {
                    effects.have(Effect::Privilege);
                }
            }
            (Role::Interpreter, Some(value)) => {
                if !value.as_str().is_some_and(is_shell) {
                    effects.have(Effect::Execute);
                    effects.all_become_unknown(
                        "what the program named as the shell does is not known",
                    );
                }
            }
            (
                Role::File {
                    effects: on_file,
                    tree,
                },
                None,
            ) if argument.is_here_without => {
                let here = ground.root().cloned();
                for effect in on_file {
                    touch_place(&mut effects, *effect, here.clone(), *tree);
                }
            }
            (_, None) => {
                effects
                    .all_become_unknown("the call has not the arguments that the tool is known by");
            }
            (role, Some(value)) => {
                role_of(
                    role,
                    &value,
                    &arguments,
                    start.clone(),
                    &mut effects,
                    ground,
                    state,
                );
            }
        }
    }
    effects
}

fn is_no(value: &Value) -> bool {
    value
        .as_str()
        .is_some_and(|text| text.eq_ignore_ascii_case("false"))
}

/// The directory that the call says it is run in.
fn base(tool: &Tool, arguments: &Map<String, Value>, ground: &Ground) -> Option<Option<Place>> {
    let of_tool = tool
        .arguments
        .iter()
        .filter(|argument| argument.role == Role::Base);
    let names = of_tool
        .flat_map(|argument| &argument.names)
        .chain(&BASE_NAMES);
    let text = names
        .filter_map(|name| arguments.get(*name)?.as_str())
        .next()?;
    Some(ground.resolve_from_home(text, ground.root()).ok())
}

fn role_of(
    role: &Role,
    value: &Value,
    others: &Map<String, Value>,
    start: Option<Option<Place>>,
    effects: &mut Effects,
    ground: &mut Ground,
    state: &mut ShellState,
) {
    let words = texts(value);
    let Some(words) = words else {
        effects.all_become_unknown("an argument of the call is no text");
        return;
    };
    match role {
        Role::Base | Role::Text | Role::Rights | Role::Interpreter => {}
        Role::Pattern => {
            for word in words {
                pattern(effects, word, ground);
            }
        }
        Role::File {
            effects: on_file,
            tree,
        } => {
            for (word, effect) in words
                .iter()
                .flat_map(|word| on_file.iter().map(move |on| (word, on)))
            {
                touch(effects, *effect, word, *tree, ground);
            }
        }
        Role::Url => words.iter().for_each(|word| {
            effects.touch(Effect::Network, Target::elsewhere(word));
        }),
        Role::Shell => {
            for code in words {
                effects.add(&shell::effects(code, start.clone(), ground, state));
            }
        }
        Role::Words if value.is_string() => {
            effects.add(&shell::effects(words[0], start, ground, state));
        }
        Role::Words => effects.add(&shell::effects_of_words(&words, start, ground, state)),
        Role::Patch => words.iter().for_each(|text| {
            let from = start.clone().unwrap_or_else(|| ground.root().cloned());
            patch::effects(text, from.as_ref(), ground, effects);
        }),
        Role::Editor => {
            let command = others.get("command").and_then(Value::as_str);
            let on_file: &[Effect] = match command {
                Some("view") => &[Effect::Read],
                Some("create") => &[Effect::Write],
                Some("str_replace" | "insert" | "undo_edit") => &[Effect::Read, Effect::Write],
                _ => {
                    effects.all_become_unknown("what the editor is told to do is not known");
                    return;
                }
            };
            for effect in on_file {
                words
                    .iter()
                    .for_each(|word| touch(effects, *effect, word, false, ground));
            }
        }
    }
}

/// Whether a program is one of the shells whose code is read.
fn is_shell(program: &str) -> bool {
    let name = ["/bin/", "/usr/bin/", "/usr/local/bin/"]
        .iter()
        .find_map(|directory| program.strip_prefix(directory))
        .unwrap_or(program);
    ["sh", "bash", "dash", "ash", "ksh", "zsh"].contains(&name)
}

/// A pattern of files that are listed below a directory may lead out of it.
fn pattern(effects: &mut Effects, text: &str, ground: &Ground) {
    if text.contains("..") || text.contains('{') && text.contains('/') {
        effects.note("a pattern may lead out of the directory that it is looked for in");
        effects.touch(Effect::Read, Target::unknown(text));
    } else if text.starts_with(['/', '~']) {
        touch(effects, Effect::Read, text, true, ground);
    }
}

/// A text, or a list of texts that is not empty.
fn texts(value: &Value) -> Option<Vec<&str>> {
    match value {
        Value::String(text) => Some(vec![text]),
        Value::Array(values) if (1..=VALUES_MAX).contains(&values.len()) => {
            values.iter().map(Value::as_str).collect()
        }
        _ => None,
    }
}

fn touch(effects: &mut Effects, effect: Effect, text: &str, tree: bool, ground: &Ground) {
    // Tools that take patterns are told with the directory that the pattern starts in.
    let fixed = text.find(['*', '?', '[']).map(|glob| {
        let end = text[..glob].rfind('/').map_or(0, |slash| slash + 1);
        if end == 0 { "." } else { &text[..end] }
    });
    let is_pattern = fixed.is_some();
    match ground.resolve_from_home(fixed.unwrap_or(text), ground.root()) {
        Ok(_) if is_pattern && text.contains("..") => {
            effects.touch(effect, Target::unknown(text));
        }
        Ok(place) => touch_place(effects, effect, Some(place), tree || is_pattern),
        Err(reason) => {
            effects.note(reason.as_str());
            effects.touch(effect, Target::unknown(text));
        }
    }
}

fn touch_place(effects: &mut Effects, effect: Effect, place: Option<Place>, tree: bool) {
    let target = match place {
        Some(place) => Target::File {
            place,
            globs: Vec::new(),
            tree,
        },
        None => {
            effects.note("the directory that paths start from is not declared");
            Target::unknown(".")
        }
    };
    effects.touch(effect, target);
}

/// The effects that a scope declares for a tool, on what the arguments name.
fn as_declared(declared: &[Effect], arguments: Option<&Value>, ground: &Ground) -> Effects {
    let mut effects = Effects::default();
    let empty = Map::new();
    let arguments = arguments.and_then(Value::as_object).unwrap_or(&empty);
    for effect in declared {
        let named = |names: &'static [&'static str]| {
            let values = names.iter().filter_map(|name| arguments.get(*name));
            values.filter_map(texts).flatten()
        };
        match effect {
            effect if effect.is_on_files() => {
                for path in named(&PATH_NAMES) {
                    touch(&mut effects, *effect, path, true, ground);
                }
            }
            Effect::Network => {
                for host in named(&["url", "host", "hostname", "domain"]) {
                    effects.touch(*effect, Target::elsewhere(host));
                }
            }
            _ => {}
        }
        if effects.of(*effect) != Known::True {
            effects.have(*effect);
        }
    }
    effects
}

#[cfg(test)]
mod tests;
