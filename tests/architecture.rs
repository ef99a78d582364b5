//! The structure that no compiler checks: who may know whom, and what must be absent where. A rule that is broken names the
//! place and the reason; every rule has a test that it can be broken.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use cargo_metadata::{DependencyKind, MetadataCommand, Package};

/// Which workspace crates a crate may depend on. A crate that is not listed is refused.
const ALLOWED_EDGES: [(&str, &[&str]); 8] = [
    ("remembrancer-schema", &[]),
    ("remembrancer-replay", &["remembrancer-schema"]),
    (
        "remembrancer-capture",
        &["remembrancer-schema", "remembrancer-replay"],
    ),
    (
        "remembrancer-recorder",
        &["remembrancer-schema", "remembrancer-replay"],
    ),
    ("remembrancer-listener", &[]),
    (
        "remembrancer-exports",
        &["remembrancer-schema", "remembrancer-replay"],
    ),
    (
        "remembrancer-web",
        &[
            "remembrancer-schema",
            "remembrancer-replay",
            "remembrancer-recorder",
        ],
    ),
    (
        "remembrancer",
        &[
            "remembrancer-schema",
            "remembrancer-replay",
            "remembrancer-capture",
            "remembrancer-listener",
            "remembrancer-recorder",
            "remembrancer-exports",
            "remembrancer-web",
        ],
    ),
];

/// Dependencies that only some crates may have, and those crates.
const RESERVED: [(&str, &[&str]); 13] = [
    ("blake3", &["remembrancer-schema"]),
    ("sha2", &["remembrancer-schema"]),
    ("sha1", &[]),
    ("md-5", &[]),
    ("hmac", &[]),
    ("ed25519-dalek", &["remembrancer-schema"]),
    ("sqlx", &["remembrancer-recorder"]),
    ("rusqlite", &["remembrancer-recorder"]),
    ("askama", &["remembrancer-web"]),
    ("parquet", &["remembrancer-exports"]),
    ("arrow-array", &[]),
    (
        "axum",
        &[
            "remembrancer-listener",
            "remembrancer-capture",
            "remembrancer-recorder",
            "remembrancer-web",
            "remembrancer",
        ],
    ),
    (
        "tokio",
        &[
            "remembrancer-listener",
            "remembrancer-capture",
            "remembrancer-recorder",
            "remembrancer-web",
            "remembrancer",
        ],
    ),
];

/// Crates that are pure functions of their input.
const PURE: [&str; 2] = ["schema", "replay"];
/// What a pure crate does not name: input, output, clocks, randomness, other threads.
const IMPURE: [&str; 15] = [
    "tokio",
    "sqlx",
    "rusqlite",
    "axum",
    "std::fs",
    "std::net",
    "std::env",
    "std::process",
    "std::thread",
    "SystemTime",
    "Instant::now",
    "Timestamp::now",
    "Zoned::now",
    "getrandom",
    "async fn",
];

/// What begins or makes up an SQL statement. Statements are written with capital keywords.
const SQL: [&[&str]; 9] = [
    &["SELECT ", " FROM "],
    &["INSERT INTO "],
    &["INSERT OR "],
    &["UPDATE ", " SET "],
    &["DELETE FROM "],
    &["CREATE TABLE "],
    &["CREATE INDEX "],
    &["ALTER TABLE "],
    &["PRAGMA "],
];

/// What makes text HTML.
const HTML: [&[&str]; 9] = [
    &["</"],
    &["<div"],
    &["<span"],
    &["<table"],
    &["<a href"],
    &["<html"],
    &["<!DOCTYPE"],
    &["<svg"],
    &["<script"],
];

/// File names that say nothing of what is in them.
const EMPTY_NAMES: [&str; 7] = [
    "util", "utils", "helper", "helpers", "common", "manager", "misc",
];

/// Most lines of a source file.
const FILE_LINES_MAX: usize = 400;
/// Files that are longer, with the length that they may have. Lower a number when its file shrinks; raise none.
const LONG_FILES: [(&str, usize); 0] = [];

/// What the top level holds, beside what git ignores.
const TOP_LEVEL: [&str; 31] = [
    ".cargo",
    ".ci",
    ".config",
    ".dockerignore",
    ".git",
    ".gitignore",
    ".github",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "Cargo.lock",
    "Cargo.toml",
    "Dockerfile",
    "LICENSE-APACHE",
    "LICENSE-MIT",
    "README.md",
    "benches",
    "capture",
    "clippy.toml",
    "deny.toml",
    "docs",
    "exports",
    "fuzz",
    "listener",
    "packaging",
    "recorder",
    "replay",
    "schema",
    "sdk",
    "src",
    "tests",
    "web",
];

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn must_be_empty(problems: &[String]) {
    assert!(problems.is_empty(), "\n{}\n", problems.join("\n"));
}

fn packages() -> Vec<Package> {
    let mut command = MetadataCommand::new();
    command.manifest_path(root().join("Cargo.toml")).no_deps();
    command
        .exec()
        .expect("cargo describes the workspace")
        .packages
}

// --- the crate graph ---------------------------------------------------------------------------

/// A crate and the crates that it depends on, outside of its tests.
type Dependencies = BTreeMap<String, BTreeSet<String>>;

fn dependencies(packages: &[Package]) -> Dependencies {
    let of = |package: &Package| {
        package
            .dependencies
            .iter()
            .filter(|dependency| dependency.kind != DependencyKind::Development)
            .map(|dependency| dependency.name.clone())
            .collect()
    };
    packages
        .iter()
        .map(|package| (package.name.to_string(), of(package)))
        .collect()
}

fn forbidden_edges(graph: &Dependencies) -> Vec<String> {
    let mut problems = Vec::new();
    for (from, to) in graph {
        let Some((_, allowed)) = ALLOWED_EDGES.iter().find(|(name, _)| name == from) else {
            problems.push(format!(
                "{from} is not listed: say in ALLOWED_EDGES whom it may know"
            ));
            continue;
        };
        for name in to.iter().filter(|name| graph.contains_key(*name)) {
            if !allowed.contains(&name.as_str()) {
                problems.push(format!("{from} may not depend on {name}"));
            }
        }
        for (reserved, holders) in RESERVED {
            if to.contains(reserved) && !holders.contains(&from.as_str()) {
                problems.push(format!(
                    "{from} may not depend on {reserved}; allowed are {holders:?}"
                ));
            }
        }
    }
    problems
}

#[test]
fn crates_know_only_those_below_them() {
    let graph = dependencies(&packages());
    assert_eq!(
        graph.len(),
        ALLOWED_EDGES.len(),
        "every listed crate exists: {:?}",
        graph.keys()
    );
    must_be_empty(&forbidden_edges(&graph));
}

#[test]
fn a_forbidden_edge_is_noticed() {
    let graph = |edges: &[(&str, &[&str])]| -> Vec<String> {
        let set = |to: &[&str]| to.iter().map(|name| (*name).to_owned()).collect();
        forbidden_edges(
            &edges
                .iter()
                .map(|(from, to)| ((*from).to_owned(), set(to)))
                .collect(),
        )
    };
    assert!(
        graph(&[
            ("remembrancer-schema", &["blake3", "serde"]),
            ("remembrancer-replay", &["remembrancer-schema"])
        ])
        .is_empty()
    );
    for (wrong, place) in [
        (
            graph(&[
                ("remembrancer-schema", &["remembrancer-replay"]),
                ("remembrancer-replay", &[]),
            ]),
            "schema may not depend on",
        ),
        (
            graph(&[
                ("remembrancer-exports", &["remembrancer-recorder"]),
                ("remembrancer-recorder", &[]),
            ]),
            "exports may not",
        ),
        (graph(&[("remembrancer-web", &["sqlx"])]), "depend on sqlx"),
        (
            graph(&[("remembrancer-recorder", &["sha2"])]),
            "depend on sha2",
        ),
        (graph(&[("remembrancer-helpers", &[])]), "not listed"),
    ] {
        assert_eq!(wrong.len(), 1, "{wrong:?}");
        assert!(wrong[0].contains(place), "{wrong:?}");
    }
}

// --- absences in the source --------------------------------------------------------------------

/// Files below a folder with an extension, relative to the workspace.
fn files(folder: &str, extension: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![root().join(folder)];
    while let Some(folder) = folders.pop() {
        let Ok(entries) = std::fs::read_dir(&folder) else {
            continue;
        };
        for entry in entries {
            let path = entry.expect("a readable folder").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|found| found == extension) {
                found.push(
                    path.strip_prefix(root())
                        .expect("below the root")
                        .to_owned(),
                );
            }
        }
    }
    found.sort();
    found
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(root().join(path)).expect("a source file is readable UTF-8")
}

/// The sources of a crate that are in the product: without the modules that are compiled for tests alone.
fn product_sources(folder: &str) -> Vec<(PathBuf, String)> {
    let sources: Vec<_> = files(folder, "rs")
        .into_iter()
        .map(|path| (path.clone(), read(&path)))
        .collect();
    assert!(
        !sources.is_empty(),
        "{folder} has no sources: the check would hold over nothing"
    );
    let tests: Vec<PathBuf> = sources
        .iter()
        .flat_map(|(path, text)| test_modules(path, text))
        .collect();
    let is_test = |path: &Path| {
        tests
            .iter()
            .any(|test| path.with_extension("").starts_with(test))
    };
    sources
        .into_iter()
        .filter(|(path, _)| !is_test(path))
        .map(|(path, text)| (path, without_tests_and_comments(&text)))
        .collect()
}

/// The modules in files of their own that a file declares for tests, as paths without extension.
fn test_modules(path: &Path, text: &str) -> Vec<PathBuf> {
    let stem = path.file_stem().unwrap_or_default();
    let parent = path.parent().unwrap_or(Path::new(""));
    let folder = if ["lib", "main", "mod"].iter().any(|name| stem == *name) {
        parent.to_owned()
    } else {
        parent.join(stem)
    };
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    lines
        .windows(2)
        .filter(|pair| pair[0] == "#[cfg(test)]")
        .filter_map(|pair| pair[1].rsplit_once("mod ")?.1.strip_suffix(';'))
        .map(|name| folder.join(name))
        .collect()
}

fn without_tests_and_comments(text: &str) -> String {
    let product = text
        .split_once("#[cfg(test)]\nmod tests {")
        .map_or(text, |(product, _)| product);
    let lines = product
        .lines()
        .filter(|line| !line.trim_start().starts_with("//"));
    lines.collect::<Vec<_>>().join("\n")
}

fn naming(path: &Path, text: &str, words: &[&str]) -> Vec<String> {
    let named = words.iter().filter(|word| text.contains(**word));
    named
        .map(|word| format!("{} names {word}", path.display()))
        .collect()
}

/// The string literals of a Rust source, without resolving escapes.
fn string_literals(text: &str) -> Vec<&str> {
    let (mut literals, mut rest) = (Vec::new(), text);
    while let Some(at) = rest.find('"') {
        let before = &rest[..at];
        let after = &rest[at + 1..];
        if before.ends_with('\'') && after.starts_with('\'') {
            rest = &after[1..];
            continue;
        }
        let hashes = before.len() - before.trim_end_matches('#').len();
        let is_raw = before[..before.len() - hashes].ends_with('r');
        let end = if is_raw {
            after.find(&format!("\"{}", "#".repeat(hashes)))
        } else {
            let mut escaped = false;
            after.bytes().position(|byte| {
                let ends = byte == b'"' && !escaped;
                escaped = byte == b'\\' && !escaped;
                ends
            })
        };
        let Some(end) = end else { break };
        literals.push(&after[..end]);
        rest = &after[end + 1..];
    }
    literals
}

fn literals_with(path: &Path, text: &str, what: &str, patterns: &[&[&str]]) -> Vec<String> {
    let holds = |literal: &str| {
        patterns
            .iter()
            .any(|all| all.iter().all(|part| literal.contains(part)))
    };
    let shown = |literal: &str| literal.chars().take(60).collect::<String>();
    let found = string_literals(text)
        .into_iter()
        .filter(|literal| holds(literal));
    found
        .map(|literal| format!("{} writes {what}: {:?}", path.display(), shown(literal)))
        .collect()
}

#[test]
fn schema_and_replay_are_pure() {
    let sources = PURE
        .iter()
        .flat_map(|name| product_sources(&format!("{name}/src")));
    must_be_empty(
        &sources
            .flat_map(|(path, text)| naming(&path, &text, &IMPURE))
            .collect::<Vec<_>>(),
    );
}

#[test]
fn only_the_recorder_writes_sql_and_only_the_viewer_html() {
    let mut problems = Vec::new();
    for folder in [
        "schema/src",
        "replay/src",
        "recorder/src",
        "exports/src",
        "web/src",
        "src",
    ] {
        for (path, text) in product_sources(folder) {
            if folder != "recorder/src" {
                problems.extend(literals_with(&path, &text, "SQL", &SQL));
            }
            if folder != "web/src" {
                problems.extend(literals_with(&path, &text, "HTML", &HTML));
            }
        }
    }
    must_be_empty(&problems);
}

#[test]
fn templates_escape_everything() {
    let templates = files("web/templates", "html");
    let uses_templates = product_sources("web/src")
        .iter()
        .any(|(_, text)| text.contains("#[template("));
    assert_eq!(
        uses_templates,
        !templates.is_empty(),
        "the templates that pages name are not where they are looked for"
    );
    let problems = templates
        .iter()
        .flat_map(|path| unescaped(path, &read(path)));
    must_be_empty(&problems.collect::<Vec<_>>());
}

fn unescaped(path: &Path, text: &str) -> Vec<String> {
    let compact: String = text.split_whitespace().collect();
    let ways = ["|safe", "|escape(\"none\")", "{%autoescape"];
    let found = ways.iter().filter(|way| compact.contains(**way));
    found
        .map(|way| format!("{} switches escaping off: {way}", path.display()))
        .collect()
}

#[test]
fn a_broken_absence_is_noticed() {
    let path = Path::new("x/src/a.rs");
    let source =
        "// std::fs is named here\nlet n = 1;\n#[cfg(test)]\nmod tests {\n std::fs::read();\n}\n";
    assert!(naming(path, &without_tests_and_comments(source), &IMPURE).is_empty());
    let source = "use std::fs;\nfn now() { SystemTime::now() }\n";
    assert_eq!(
        naming(path, &without_tests_and_comments(source), &IMPURE).len(),
        2
    );
    assert_eq!(
        test_modules(
            path,
            "#[cfg(test)]\nmod tests;\n#[cfg(test)]\npub(crate) mod sample;\nmod real;\n"
        ),
        [Path::new("x/src/a/tests"), Path::new("x/src/a/sample")]
    );
    assert_eq!(
        test_modules(Path::new("x/src/lib.rs"), "#[cfg(test)]\nmod t;"),
        [Path::new("x/src/t")]
    );

    let literals = "f('\"', \"a \\\" b\", r#\"c \" d\"#, r\"e\\\", \"\")";
    assert_eq!(string_literals(literals), ["a \\\" b", "c \" d", "e\\", ""]);
    let sql = |text: &str| literals_with(path, text, "SQL", &SQL).len();
    assert_eq!(sql("query(\"SELECT a\n FROM b\"); // \"DELETE FROM x\""), 2);
    assert_eq!(sql("r#\"INSERT INTO a VALUES (1)\"#"), 1);
    assert_eq!(sql("\"select one from the list\"; SELECT a FROM b"), 0);
    let html = |text: &str| literals_with(path, text, "HTML", &HTML).len();
    assert_eq!(html("format!(\"<p>{x}</p>\")"), 1);
    assert_eq!(html("let a: Vec<u8> = b; \"a < b / c\""), 0);

    assert_eq!(unescaped(path, "{{ text|safe }}").len(), 1);
    assert_eq!(unescaped(path, "{{ text | safe }}").len(), 1);
    assert!(unescaped(path, "{{ text }} is safe").is_empty());
}

// --- files -------------------------------------------------------------------------------------

fn too_long(lengths: &[(String, usize)], exceptions: &[(&str, usize)]) -> Vec<String> {
    let mut problems = Vec::new();
    for (path, lines) in lengths {
        let max = exceptions
            .iter()
            .find(|(name, _)| name == path)
            .map_or(FILE_LINES_MAX, |(_, max)| *max);
        if *lines > max {
            problems.push(format!(
                "{path} has {lines} lines, at most {max} are allowed: split it by concept"
            ));
        }
    }
    for (name, _) in exceptions {
        let length = lengths
            .iter()
            .find(|(path, _)| path == name)
            .map(|(_, lines)| *lines);
        if length.is_none_or(|lines| lines <= FILE_LINES_MAX) {
            problems.push(format!(
                "{name} needs no exception any more: take it off LONG_FILES"
            ));
        }
    }
    problems
}

fn empty_name(path: &Path) -> Option<String> {
    let is_empty = |name: &std::ffi::OsStr| EMPTY_NAMES.iter().any(|empty| name == *empty);
    let stem = path.file_stem()?;
    let folders = path
        .parent()?
        .components()
        .any(|part| is_empty(part.as_os_str()));
    (folders || is_empty(stem)).then(|| format!("{} is not named after a concept", path.display()))
}

#[test]
fn source_files_are_short_and_named_after_a_concept() {
    let (mut lengths, mut problems) = (Vec::new(), Vec::new());
    for folder in [
        "schema/src",
        "replay/src",
        "recorder/src",
        "exports/src",
        "web/src",
        "capture/src",
        "listener/src",
        "src",
    ] {
        for (path, _) in product_sources(folder) {
            lengths.push((path.display().to_string(), read(&path).lines().count()));
            problems.extend(empty_name(&path));
        }
    }
    problems.extend(too_long(&lengths, &LONG_FILES));
    must_be_empty(&problems);
}

#[test]
fn the_top_level_holds_only_what_is_listed() {
    let entries = std::fs::read_dir(root()).expect("the root is readable");
    let names = entries.map(|entry| {
        entry
            .expect("readable")
            .file_name()
            .to_string_lossy()
            .into_owned()
    });
    must_be_empty(&unlisted(
        names,
        &std::fs::read_to_string(root().join(".gitignore")).expect("kept"),
    ));
}

fn unlisted(names: impl Iterator<Item = String>, ignored: &str) -> Vec<String> {
    let ignored: Vec<&str> = ignored.lines().map(|line| line.trim_matches('/')).collect();
    let is_ignored = |name: &str| {
        ignored
            .iter()
            .any(|pattern| match pattern.strip_prefix('*') {
                Some(suffix) => name.ends_with(suffix),
                None => name == *pattern,
            })
    };
    let unlisted = names.filter(|name| !TOP_LEVEL.contains(&name.as_str()) && !is_ignored(name));
    unlisted
        .map(|name| format!("{name} is not listed in TOP_LEVEL: put it into a folder"))
        .collect()
}

#[test]
fn a_misplaced_file_is_noticed() {
    let lengths = [
        ("a.rs".to_owned(), 401),
        ("b.rs".to_owned(), 500),
        ("c.rs".to_owned(), 10),
    ];
    assert_eq!(too_long(&lengths[1..2], &[("b.rs", 500)]), [""; 0]);
    assert_eq!(too_long(&lengths, &[("b.rs", 500)]).len(), 1);
    assert_eq!(too_long(&lengths[1..2], &[("b.rs", 499)]).len(), 1);
    assert_eq!(
        too_long(&lengths[2..], &[("c.rs", 500)]).len(),
        1,
        "a stale exception"
    );
    assert_eq!(
        too_long(&lengths[2..], &[("gone.rs", 500)]).len(),
        1,
        "a stale exception"
    );
    assert!(empty_name(Path::new("web/src/utils.rs")).is_some());
    assert!(empty_name(Path::new("web/src/common/page.rs")).is_some());
    assert!(empty_name(Path::new("web/src/page.rs")).is_none());
    let names = ["src", "target", "a.rmb", "notes.txt"]
        .map(str::to_owned)
        .into_iter();
    let found = unlisted(names, "target/\n*.rmb\n/remembrancer-data/\n");
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].starts_with("notes.txt"));
}
