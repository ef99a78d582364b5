use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;

fn places() -> Places {
    Places {
        root: Some("/w/proj".to_owned()),
        home: Some("/home/u/".to_owned()),
        ignores_case: false,
        links: BTreeMap::new(),
    }
}

fn told(ground: &Ground, path: &str) -> String {
    match ground.resolve_from_home(path, ground.root()) {
        Ok(place) => place.to_string(),
        Err(reason) => format!("{reason:?}"),
    }
}

#[test]
fn paths_are_resolved_by_their_text() {
    let ground = Ground::new(&places());
    for (path, expected) in [
        ("a", "/w/proj/a"),
        ("./a//b/", "/w/proj/a/b"),
        (".", "/w/proj"),
        ("..", "/w"),
        ("../../../../..", "/"),
        ("a/../../b", "/w/b"),
        ("/", "/"),
        ("//etc/./passwd", "/etc/passwd"),
        ("/etc/..", "/"),
        ("~", "/home/u"),
        ("~/x", "/home/u/x"),
        ("~//x/..", "/home/u"),
        ("a~", "/w/proj/a~"),
        ("~bob/x", "OtherHome"),
        ("", "Empty"),
        ("a\nb", "Control"),
        ("a\0b", "Control"),
        ("C:\\x", "Backslash"),
        ("c:/x", "Backslash"),
        ("a\\b", "Backslash"),
        ("\\\\host\\x", "Backslash"),
        ("/proc/self/root/etc", "Kernel"),
        ("/proc/1/cwd", "Kernel"),
        ("/proc/cpuinfo", "/proc/cpuinfo"),
        ("/dev/fd/3", "Kernel"),
        ("Ä/ü", "/w/proj/Ä/ü"),
    ] {
        assert_eq!(told(&ground, path), expected, "{path:?}");
    }
    assert_eq!(told(&ground, &"a/".repeat(3000)), "TooLong");
}

#[test]
fn without_a_declaration_only_absolute_paths_are_known() {
    let ground = Ground::default();
    assert_eq!(told(&ground, "/a"), "/a");
    assert_eq!(told(&ground, "a"), "NoRoot");
    assert_eq!(told(&ground, "~/a"), "NoHome");
    let relative = Ground::new(&Places {
        root: Some("w".to_owned()),
        ..Places::default()
    });
    assert_eq!(told(&relative, "a"), "NoRoot");
}

#[test]
fn declared_links_are_followed_and_made_ones_are_not_known() {
    let links = [
        ("/tmp", "/private/tmp"),
        ("/w/proj/out", "/srv/out"),
        ("/loop", "/loop/x"),
        ("/a", "/b"),
        ("/b", "/a"),
    ];
    let owned = |(link, to): (&str, &str)| (link.to_owned(), to.to_owned());
    let mut ground = Ground::new(&Places {
        links: links.map(owned).into_iter().collect(),
        ..places()
    });
    assert_eq!(told(&ground, "/tmp/x"), "/private/tmp/x");
    assert_eq!(told(&ground, "out/../x"), "/srv/x");
    assert_eq!(told(&ground, "/a/x"), "Links");
    let link = ground.resolve("link", ground.root()).expect("known");
    ground.note_link(&link);
    assert_eq!(told(&ground, "link"), "/w/proj/link");
    assert_eq!(told(&ground, "link/"), "MadeLink");
    assert_eq!(told(&ground, "link/x"), "MadeLink");
    assert_eq!(told(&ground, "link-old/x"), "/w/proj/link-old/x");
    for number in 0..100 {
        ground.note_link(&link.entry(&number.to_string()));
    }
    assert_eq!(told(&ground, "/etc"), "MadeLink");
}

fn holds(ground: &Ground, pattern: &str, path: &str) -> bool {
    let pattern = PathPattern::compile(pattern, ground).expect("a pattern");
    let place = ground.resolve(path, ground.root()).expect("a path");
    pattern.holds(&place, ground)
}

#[test]
fn patterns_hold_whole_components_and_what_is_below() {
    let ground = Ground::new(&places());
    for (pattern, path) in [
        (".", "."),
        (".", "a/b"),
        ("src", "src"),
        ("src/", "src/a/b"),
        ("src/../lib", "lib/x"),
        ("/", "/anything"),
        ("~", "/home/u/.ssh"),
        ("*.rs", "a.rs"),
        ("src/*/gen", "src/x/gen/y"),
        ("**/.env", ".env"),
        ("**/.env", "a/b/.env"),
        ("/etc/**/x", "/etc/a/b/x"),
        ("?.txt", "ä.txt"),
        ("a[1]", "a[1]"),
        ("/**", "/"),
    ] {
        assert!(holds(&ground, pattern, path), "{pattern} {path}");
    }
    for (pattern, path) in [
        (".", ".."),
        (".", "/w/proj-old"),
        ("src", "src-old"),
        ("src", "srcs/a"),
        ("src", "lib/src"),
        ("*.rs", "a/b.rs"),
        ("src/*/gen", "src/gen"),
        ("**/.env", "a/env"),
        ("?.txt", "ab.txt"),
        ("a[1]", "a1"),
        ("~", "/home/user"),
        ("SRC", "src"),
    ] {
        assert!(!holds(&ground, pattern, path), "{pattern} {path}");
    }
    assert_eq!(
        PathPattern::compile("*/../x", &ground),
        Err(Unresolved::AboveGlob)
    );
    assert_eq!(PathPattern::compile("", &ground), Err(Unresolved::Empty));
}

#[test]
fn case_is_folded_where_the_platform_folds_it() {
    let ground = Ground::new(&Places {
        ignores_case: true,
        ..places()
    });
    assert!(holds(&ground, "SRC", "src/a"));
    assert!(holds(&ground, "e\u{301}", "É"));
    assert!(holds(&ground, "/W/Proj", "a"));
    assert!(!holds(&ground, "src", "srcs"));
}

proptest! {
    /// What is resolved starts at the root, and holds no component that would lead anywhere else.
    #[test]
    fn what_is_resolved_is_absolute_and_plain(path in "[a-c./~*]{0,24}") {
        let ground = Ground::new(&places());
        if let Ok(place) = ground.resolve_from_home(&path, ground.root()) {
            let text = place.to_string();
            prop_assert!(text.starts_with('/'));
            for component in place.components() {
                prop_assert!(!matches!(&**component, "" | "." | "..") && !component.contains('/'));
            }
            prop_assert_eq!(ground.resolve(&text, None), Ok(place));
        }
    }

    /// A directory holds every path below it that does not go up, and no path next to it.
    #[test]
    fn a_directory_holds_what_is_below_and_nothing_beside(
        directory in "[a-c]{1,3}(/[a-c]{1,3}){0,2}",
        below in "[a-c]{1,3}(/[a-c]{1,3}){0,2}",
    ) {
        let ground = Ground::new(&places());
        let (inside, beside) = (format!("{directory}/{below}"), format!("{directory}x/{below}"));
        prop_assert!(holds(&ground, &directory, &inside));
        prop_assert!(!holds(&ground, &directory, &beside));
    }

    #[test]
    fn no_text_panics(pattern in "\\PC{0,40}", path in "\\PC{0,40}") {
        let ground = Ground::new(&places());
        let place = ground.resolve_from_home(&path, ground.root());
        if let (Ok(pattern), Ok(place)) = (PathPattern::compile(&pattern, &ground), place) {
            // What a pattern holds, a glob that may stand for it may meet.
            let globs = ["*".to_owned()];
            if pattern.holds(&place, &ground) && !place.components().is_empty() {
                prop_assert!(pattern.may_hold(&place.parent(), &globs, true, &ground));
            }
        }
    }
}
