use super::reading::option;
use super::*;

/// Reading the table checks every line of it: what a line may hold is checked by the reader.
#[test]
fn every_line_of_the_table_is_read() {
    assert!(COMMANDS.rows.len() > 400, "{}", COMMANDS.rows.len());
    let rm = COMMANDS.row("rm").expect("known");
    assert!(rm.others_are_harmless);
    let rule = rm.rules("-r").next().expect("an option");
    assert!(rule.is_tree);
    assert!(COMMANDS.row("git push").is_some());
    assert!(COMMANDS.row("no-such-program").is_none());
}

#[test]
fn options_say_what_they_do() {
    let (name, rule) = option("-i;!write&read");
    assert_eq!(name, "-i");
    assert!(
        rule.is_attached && rule.on_all.holds(Effect::Write) && rule.on_all.holds(Effect::Read)
    );
    let (name, rule) = option("--delete>delete");
    assert_eq!(
        (name, rule.on_written.holds(Effect::Delete)),
        ("--delete", true)
    );
    let (name, rule) = option("--slurpfile::read");
    assert_eq!((name, rule.values.len()), ("--slurpfile", 2));
    let (_, rule) = option("-f+delete=@~write");
    assert_eq!(rule.does, [Does::Elsewhere(Effect::Delete)]);
    assert!(rule.without.holds(Effect::Write));
    assert!(option("-x?").1.is_unknown);
    assert!(option("--version*").1.only_prints);
}

#[test]
fn a_long_option_may_be_cut_short() {
    let sort = COMMANDS.row("sort").expect("known");
    assert_eq!(sort.rules("--output").count(), 1);
    assert_eq!(sort.rules("--outp").count(), 1);
    assert_eq!(sort.rules("--p").count(), 1);
    assert_eq!(sort.rules("--").count(), 0);
}

#[test]
fn variables_that_change_commands_are_known() {
    for name in ["PATH", "LD_PRELOAD", "GIT_SSH_COMMAND", "HOME"] {
        assert!(COMMANDS.is_telling(name), "{name}");
    }
    for name in ["FOO", "PATHS", "NODE_ENV"] {
        assert!(!COMMANDS.is_telling(name), "{name}");
    }
}
