//! The words of find: where it looks, and what it does with what it finds.

use remembrancer_schema::payload::Effect;

use super::argument::Arg;
use super::position::{Dirs, Input};
use super::walk::Walk;
use crate::effect::{Effects, Target};

impl Walk<'_> {
    pub(super) fn find(&mut self, args: &[Arg], dirs: &Dirs) {
        let is_root =
            |arg: &Arg| arg.open_at == Some(0) || !arg.text.starts_with(['-', '(', ')', '!', ',']);
        let args = self.behind_options(args);
        let count = args.iter().take_while(|arg| is_root(arg)).count();
        let (roots, tests) = args.split_at(count);
        let here = [Arg::plain(".")];
        let roots = if roots.is_empty() { &here } else { roots };
        if roots.iter().any(|root| root.open_at == Some(0)) {
            self.lose("a word that find gets may be an option");
        }
        let mut found = Effects::default();
        std::mem::swap(self.effects, &mut found);
        roots
            .iter()
            .for_each(|root| self.file(Effect::Read, root, true, dirs));
        std::mem::swap(self.effects, &mut found);
        let targets: Vec<Target> = found.targets(Effect::Read).cloned().collect();
        self.effects.add(&found);
        let mut at = 0;
        while let Some(test) = tests.get(at) {
            at += 1;
            match &*test.text {
                "-delete" => {
                    for target in &targets {
                        self.effects.touch(Effect::Delete, target.clone());
                    }
                }
                "-exec" | "-execdir" | "-ok" | "-okdir" => {
                    let rest = &tests[at..];
                    // A plus ends a command only directly behind `{}`, and never one that is asked for.
                    let takes_plus = test.text.starts_with("-exec");
                    let is_end = |at: usize| match &*rest[at].text {
                        ";" => true,
                        "+" => takes_plus && at > 0 && rest[at - 1].text == "{}",
                        _ => false,
                    };
                    let end = (0..rest.len()).find(|at| is_end(*at));
                    let end = end.unwrap_or(rest.len());
                    let command: Vec<Arg> = rest[..end]
                        .iter()
                        .map(|arg| found_file(arg, &targets))
                        .collect();
                    self.run(&command, Input::Outside, dirs);
                    at += end + 1;
                }
                "-fprint" | "-fprint0" | "-fls" | "-fprintf" => {
                    if let Some(file) = tests.get(at) {
                        self.file(Effect::Write, file, false, dirs);
                    }
                    at += 1;
                }
                "-files0-from" => self.lose("find takes its directories from a file"),
                _ if test.may_be_option() => self.lose("a word that find gets may be an option"),
                _ => {}
            }
        }
    }
}

impl Walk<'_> {
    /// What stands behind the options that come before the directories. Other finds have other options there.
    fn behind_options<'a>(&mut self, args: &'a [Arg]) -> &'a [Arg] {
        let mut at = 0;
        while let Some(arg) = args.get(at) {
            let is_short = |letters: &str| {
                !letters.is_empty() && letters.chars().all(|of| "EHLPXdfsx".contains(of))
            };
            match &*arg.text {
                "-H" | "-L" | "-P" => at += 1,
                "-D" => at += 2,
                "--" => {
                    at += 1;
                    break;
                }
                text if text.starts_with("-O") => at += 1,
                text if text.strip_prefix('-').is_some_and(is_short) => {
                    self.lose(&format!("what the option {text} of find does is not known"));
                    at += 1;
                }
                _ => break,
            }
        }
        args.get(at..).unwrap_or_default()
    }
}

/// What `{}` stands for in a command of find.
fn found_file(arg: &Arg, targets: &[Target]) -> Arg {
    if !arg.text.contains("{}") {
        return arg.clone();
    }
    match arg.text == "{}" {
        true => Arg {
            stands_for: Some(targets.to_vec()),
            ..arg.clone()
        },
        false => Arg {
            open_at: Some(0),
            ..arg.clone()
        },
    }
}
