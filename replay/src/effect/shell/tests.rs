use proptest::prelude::*;
use remembrancer_schema::payload::{Effect, Places};

use super::*;
use crate::effect::{Known, Target};

const TABLE: &str = include_str!("tests/commands.txt");

fn ground() -> Ground {
    Ground::new(&Places {
        root: Some("/w".to_owned()),
        home: Some("/home/u".to_owned()),
        ..Places::default()
    })
}

fn effects_of(code: &str) -> Effects {
    effects(code, None, &mut ground(), &mut ShellState::default())
}

/// Effects in one line: those that the code has with their targets, `/…` behind what is meant with all below, `@` before what is
/// no file here, `~` before what is not known; `+` behind each that it may have on more; then `?` behind each that is not known, or alone where that is every other one.
fn told(effects: &Effects) -> String {
    let target = |target: &Target| match target {
        Target::File { tree: true, .. } => format!("{}/…", target.words().trim_end_matches('/')),
        Target::File { .. } => target.words(),
        Target::Elsewhere(words) => format!("@{words}"),
        Target::Unknown(words) => format!("~{words}"),
    };
    let mut words = Vec::new();
    let mut open = Vec::new();
    let mut more = Vec::new();
    let mut are_others_open = true;
    for effect in Effect::ALL {
        match effects.of(effect) {
            Known::False => are_others_open = false,
            Known::Unknown => open.push(format!("{}?", effect.as_str())),
            Known::True => {
                let targets: Vec<String> = effects.targets(effect).map(target).collect();
                words.push(match targets.is_empty() {
                    true => effect.as_str().to_owned(),
                    false => format!("{}({})", effect.as_str(), targets.join(", ")),
                });
                if effects.may_touch_more(effect) {
                    more.push(format!("{}+", effect.as_str()));
                }
            }
        }
    }
    match are_others_open && !open.is_empty() {
        true => words.push("?".to_owned()),
        false => words.extend(more.into_iter().chain(open)),
    }
    match words.is_empty() {
        true => "-".to_owned(),
        false => words.join(" "),
    }
}

fn rows() -> impl Iterator<Item = (String, &'static str)> {
    let lines = TABLE.lines().filter(|line| !line.starts_with("# COMMAND"));
    lines.map(|line| {
        let (code, expected) = line.rsplit_once(" => ").expect("an arrow");
        (code.replace("\\n", "\n"), expected)
    })
}

#[test]
fn commands_have_the_effects_of_the_table() {
    assert!(rows().count() > 350, "the table was cut");
    let wrong: Vec<String> = rows()
        .filter_map(|(code, expected)| {
            let found = told(&effects_of(&code));
            (found != expected)
                .then(|| format!("{code}\n  expected {expected}\n  found    {found}"))
        })
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn what_is_not_known_says_why() {
    for (code, expected) in rows().filter(|(_, expected)| expected.contains(['?', '~'])) {
        let effects = effects_of(&code);
        assert!(!effects.reasons().is_empty(), "{code} => {expected}");
    }
}

/// Code in which a command stands that may not be harmless, wherever it stands.
fn around(command: &str, way: usize) -> String {
    match way {
        0 => format!("ls; {command}"),
        1 => format!("ls && {command}"),
        2 => format!("ls | {command}"),
        3 => format!("if true; then {command}; fi"),
        4 => format!("for i in 1 2; do {command}; done"),
        5 => format!("echo $({command})"),
        6 => format!("echo \"x`{command}`\""),
        7 => format!("({command}) &"),
        8 => format!("f() {{ {command}; }}; f"),
        9 => format!("cat <(  {command})"),
        10 => format!("{{ {command}\n}} > /dev/null"),
        11 => format!("case x in *) {command};; esac"),
        12 => format!("while {command}; do break; done"),
        _ => format!("X=$({command}) true"),
    }
}

#[test]
fn nothing_that_stands_around_a_command_hides_it() {
    for command in [
        "rm -rf a",
        "./tool x",
        "$X y",
        "git push --force",
        "find . -delete",
    ] {
        let alone = effects_of(command);
        for way in 0..14 {
            let code = around(command, way);
            let within = effects_of(&code);
            for effect in Effect::ALL {
                assert!(within.of(effect) >= alone.of(effect), "{code}: {effect:?}");
            }
        }
    }
}

#[test]
fn what_is_longer_or_deeper_than_is_looked_at_is_unknown() {
    let nested = |depth: usize| format!("{}true{}", "$(".repeat(depth), ")".repeat(depth));
    let quoted = |depth: usize| {
        (0..depth).fold("true".to_owned(), |code, _| {
            format!(
                "bash -c {}",
                format_args!("'{}'", code.replace('\'', "'\\''"))
            )
        })
    };
    assert!(effects_of(&quoted(3)).is_none());
    for code in [
        format!("true {}", "x ".repeat(40_000)),
        "true; ".repeat(2_000),
        "(".repeat(5_000),
        "{ ".repeat(5_000),
        "{a,".repeat(5_000),
        "true | ".repeat(5_000) + "true",
        "true && ".repeat(5_000) + "true",
        "if true; then ".repeat(2_000),
        format!("echo {}", nested(40)),
        format!("echo {}", nested(4_000)),
        quoted(9),
        "f() { f; }; f".to_owned(),
        "f() { g; g; }; g() { f; f; }; f".to_owned(),
        "`".repeat(4_000),
        "${x:-".repeat(4_000),
        "\0".to_owned(),
    ] {
        let effects = effects_of(&code);
        let start: String = code.chars().take(30).collect();
        for effect in Effect::ALL {
            assert_ne!(effects.of(effect), Known::False, "{start}");
        }
    }
}

/// Every limit holds on the stack of a thread as small as those that serve requests.
#[test]
fn hostile_code_needs_little_stack() {
    let read = || {
        for opening in [
            "(",
            "$(",
            "\"$(",
            "{ ",
            "`",
            "${x:-",
            "$((",
            "[[ ( ",
            "if ",
            "case x in x) ",
            "<(",
            "f() { ",
        ] {
            for count in [20, 200, 2_000] {
                effects_of(&format!("echo {}", opening.repeat(count)));
                effects_of(&opening.repeat(count));
                let closed = format!("{}a{}", opening.repeat(count), ")".repeat(count));
                effects_of(&closed);
            }
        }
    };
    let thread = std::thread::Builder::new().stack_size(2 * 1024 * 1024);
    thread
        .spawn(read)
        .expect("a thread")
        .join()
        .expect("no panic");
}

#[test]
fn a_shell_may_be_left_in_another_directory_and_with_other_names() {
    let (mut ground, mut state) = (ground(), ShellState::default());
    let mut next = |code: &str| told(&effects(code, None, &mut ground, &mut state));
    assert_eq!(next("rm x"), "delete(/w/x)");
    assert_eq!(next("cd /tmp"), "-");
    assert_eq!(next("rm x"), "delete(/tmp/x, /w/x)");
    assert_eq!(next("(cd /etc); rm x"), "delete(/tmp/x, /w/x)");
    assert_eq!(next("ls() { rm -rf /; }"), "-");
    assert_eq!(next("ls"), "?");
    assert_eq!(next("ln -s /etc /w/link"), "write(/w/link, /w/link/etc)");
    assert_eq!(next("rm /w/link/passwd"), "delete(~/w/link/passwd)");
    assert_eq!(next("rm /w/link"), "delete(/w/link)");
    assert_eq!(next("cd $D"), "-");
    assert_eq!(next("rm x"), "delete(/tmp/x, /w/x, ~x)");
}

#[test]
fn a_variable_that_was_set_counts_for_the_next_action_too() {
    for (before, code, expected) in [
        ("PATH=/x ls", "rm ~/x", "delete(/home/u/x)"),
        ("export FOO=1", "rm ~/x", "delete(/home/u/x)"),
        ("export PATH=/x", "rm ~/x", "delete(/home/u/x) ?"),
        ("export HOME=/etc", "rm ~/x", "delete(~~/x) ?"),
        ("unset HOME", "rm $HOME/x", "delete(~$HOME/x) ?"),
    ] {
        let (mut ground, mut state) = (ground(), ShellState::default());
        let mut next = |code: &str| told(&effects(code, None, &mut ground, &mut state));
        next(before);
        assert_eq!(next(code), expected, "{before}; {code}");
    }
}

#[test]
fn a_call_may_say_where_it_is_run() {
    let (mut ground, mut state) = (ground(), ShellState::default());
    let there = ground.resolve("/srv", None).ok();
    let mut in_dir = |dir| told(&effects("rm x", Some(dir), &mut ground, &mut state));
    assert_eq!(in_dir(there), "delete(/srv/x)");
    assert_eq!(in_dir(None), "delete(~x)");
    assert_eq!(
        told(&effects_of_words(
            &["bash", "-lc", "rm x"],
            None,
            &mut ground,
            &mut state
        )),
        "delete(/w/x)"
    );
}

/// Pieces that the shell's language is made of, so that what is put together from them is often code.
const PIECES: [&str; 44] = [
    "rm", "ls", "cat", "echo", "find", "xargs", "git", "push", "sh", "-c", "-rf", "x", "/", "*",
    "~", "$X", "${X}", "$(", ")", "(", "`", "'", "\"", "\\", ";", "&&", "||", "|", "&", ">", "<",
    "<<E", "E\n", "\n", " ", "{", "}", ",", "if", "then", "fi", "=", "[[", "]]",
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn no_text_panics(text in "\\PC{0,200}") {
        effects_of(&text);
    }

    #[test]
    fn no_bytes_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        effects_of(&String::from_utf8_lossy(&bytes));
    }

    /// Random code is harmless only if each word that may be a command is one that the table knows as harmless.
    #[test]
    fn no_pieces_panic_and_none_with_a_command_are_harmless(
        pieces in proptest::collection::vec(proptest::sample::select(PIECES.to_vec()), 0..40),
    ) {
        let code = pieces.concat();
        let effects = effects_of(&code);
        // A first word that is no command of the table, or one that acts without words too, is never without effect.
        let first = code.split([' ', '\n', ';']).next().unwrap_or_default();
        let is_word = !first.is_empty() && first.chars().all(|of| of.is_ascii_alphanumeric());
        if is_word && !matches!(first, "rm" | "echo" | "cat" | "find" | "xargs" | "git" | "sh" | "if" | "then" | "fi" | "E") {
            prop_assert!(!effects.is_none(), "{code:?}");
        }
    }

    /// A name that the table does not know makes everything unknown.
    #[test]
    fn a_program_that_is_not_known_is_never_harmless(name in "[a-z]{9,12}", words in "[a-z0-9 /.-]{0,20}") {
        let effects = effects_of(&format!("{name} {words}"));
        if crate::effect::table::COMMANDS.row(&name).is_none() {
            for effect in Effect::ALL {
                prop_assert_ne!(effects.of(effect), Known::False);
            }
        }
    }
}
