//! Commands that run what they are given: su and runuser, and the words that xargs puts its input into.

use remembrancer_schema::payload::Effect;

use super::argument::Arg;
use super::position::{Dirs, Ends, Input};
use super::walk::Walk;

/// Long options of xargs whose value may be the next word.
const VALUED: [&str; 6] = [
    "arg-file",
    "delimiter",
    "max-args",
    "max-chars",
    "max-procs",
    "process-slot-var",
];

impl Walk<'_> {
    /// What another user runs. `None` where it stands behind `-c`, as the table says.
    pub(super) fn other_user(
        &mut self,
        name: &str,
        args: &[Arg],
        input: Input<'_>,
        dirs: &Dirs,
    ) -> Option<Ends> {
        let starts = |short: &str, long: &str| {
            let is_it = |arg: &Arg| arg.text.starts_with(short) || arg.text.starts_with(long);
            args.iter().any(is_it)
        };
        if name == "runuser" && starts("-u", "--u") {
            self.effects.have(Effect::Privilege);
            let command = self.behind_user(args);
            return Some(self.run(command, input, dirs));
        }
        let is_parted = args.iter().any(|arg| arg.text == "--");
        let has_code = starts("-c", "--c");
        if let (false, Input::Text(code)) = (has_code, input) {
            self.nested_code(code, Input::Outside, &dirs.with_unknown());
        }
        if is_parted || !has_code {
            self.effects.have(Effect::Execute);
            self.lose("what the shell of the other user runs is not known");
        }
        None
    }

    /// The command behind the options of runuser.
    fn behind_user<'a>(&mut self, args: &'a [Arg]) -> &'a [Arg] {
        let mut at = 0;
        while let Some(arg) = args.get(at) {
            match &*arg.text {
                "--" => {
                    at += 1;
                    break;
                }
                "-u" | "-g" | "-G" | "--user" | "--group" | "--supp-group" => at += 2,
                text if ["--user=", "--group=", "--supp-group="]
                    .iter()
                    .any(|known| text.starts_with(known)) =>
                {
                    at += 1;
                }
                text if text.starts_with('-') => {
                    if !["-u", "-g", "-G"]
                        .iter()
                        .any(|known| text.starts_with(known))
                    {
                        self.lose(&format!(
                            "what the option {text} of runuser does is not known"
                        ));
                    }
                    at += 1;
                }
                _ => break,
            }
        }
        args.get(at..).unwrap_or_default()
    }
}

/// Words that xargs puts something into are open. Says too whether that is all that it does with its input.
pub(super) fn placeholders_opened(args: &[Arg]) -> (Vec<Arg>, bool) {
    let (given, command_at) = placeholder(args);
    let has_placeholder = given.is_some();
    let placeholder = given.unwrap_or_else(|| "{}".to_owned());
    let opened = args
        .iter()
        .enumerate()
        .map(|(at, arg)| match arg.text.find(&placeholder) {
            Some(open) if at >= command_at => Arg {
                open_at: Some(arg.open_at.map_or(open, |known| known.min(open))),
                ..arg.clone()
            },
            _ => arg.clone(),
        });
    (opened.collect(), has_placeholder)
}

/// What stands for the input in the words of the command, and where the command begins.
fn placeholder(args: &[Arg]) -> (Option<String>, usize) {
    let mut given = None;
    let mut at = 0;
    while let Some(arg) = args.get(at) {
        let text = &*arg.text;
        if arg.open_at == Some(0) || text.len() < 2 || !text.starts_with('-') {
            break;
        }
        at += 1;
        if text == "--" {
            break;
        }
        if let Some(long) = text.strip_prefix("--") {
            let (name, value) = match long.split_once('=') {
                Some((name, value)) => (name, Some(value)),
                None => (long, None),
            };
            if "replace".starts_with(name) {
                given = Some(value.unwrap_or("{}").to_owned());
            } else if value.is_none() && VALUED.iter().any(|valued| valued.starts_with(name)) {
                at += 1;
            }
            continue;
        }
        for (letter_at, letter) in text.char_indices().skip(1) {
            let rest = &text[letter_at + letter.len_utf8()..];
            match letter {
                'I' | 'n' | 'P' | 'L' | 'd' | 's' | 'a' | 'E' => {
                    let next = args.get(at).map_or("", |next| &*next.text);
                    let value = if rest.is_empty() { next } else { rest };
                    if letter == 'I' {
                        given = Some(value.to_owned());
                    }
                    at += usize::from(rest.is_empty());
                }
                'i' => given = Some(if rest.is_empty() { "{}" } else { rest }.to_owned()),
                'l' | 'e' => {}
                _ => continue,
            }
            break;
        }
    }
    (given.filter(|text| !text.is_empty()), at)
}
