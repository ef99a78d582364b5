use std::path::Path;

use super::*;

fn sources(environment: &[(&str, &str)], flags: &[(&'static str, &str)]) -> Sources {
    let environment = environment.iter();
    let flags = flags.iter();
    Sources {
        environment: environment
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect(),
        flags: flags
            .map(|(name, value)| (*name, (*value).to_owned()))
            .collect(),
        ..Sources::default()
    }
}

/// Settings of a file alone.
fn of_file(text: &str) -> Result<Settings, Failure> {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("r.toml");
    std::fs::write(&path, text).expect("writes");
    Settings::load(&Sources {
        file: Some(path),
        ..Sources::default()
    })
}

/// The message of a refusal, with its hint.
fn refusal(outcome: Result<Settings, Failure>) -> String {
    match outcome {
        Err(Failure::Impossible { error, hint }) => {
            format!("{error} | {}", hint.unwrap_or_default())
        }
        other => panic!("it was taken: {other:?}"),
    }
}

#[test]
fn a_flag_goes_before_a_variable_before_the_file_before_the_default() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("r.toml");
    let text = "listen = \"127.0.0.1:1\"\nlog = \"info\"\nmetrics = \"open\"\n[limits]\nuploads_max = 1\nbatch_events_max = 1\n";
    std::fs::write(&path, text).expect("writes");
    let mut sources = sources(
        &[
            ("REMEMBRANCER_LISTEN", "127.0.0.1:2"),
            ("REMEMBRANCER_LOG", "error"),
            ("REMEMBRANCER_LIMITS_UPLOADS_MAX", "2"),
        ],
        &[("listen", "127.0.0.1:3")],
    );
    sources.file = Some(path.clone());
    sources.limits = vec!["uploads_max=3".to_owned()];
    let settings = Settings::load(&sources).expect("they hold");
    assert_eq!(settings.listen.port(), 3);
    assert_eq!(settings.log, "error");
    assert_eq!(settings.metrics, MetricsAccess::Open);
    assert_eq!(settings.limits.uploads_max, 3);
    assert_eq!(settings.limits.batch_events_max, 1);
    assert_eq!(settings.log_format, LogFormat::Text);
    let source = |name| {
        settings
            .source(name)
            .map(ToString::to_string)
            .unwrap_or_default()
    };
    assert_eq!(source("listen"), "flag --listen");
    assert_eq!(source("log"), "environment variable REMEMBRANCER_LOG");
    assert_eq!(source("metrics"), path.display().to_string());
    assert_eq!(source("limits.uploads_max"), "flag --limit");
    assert_eq!(source("log_format"), "");
}

#[test]
fn the_file_of_a_data_directory_is_read_by_itself() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let data = folder.path().to_str().expect("UTF-8");
    let file = folder.path().join(FILE_NAME);
    let load = || Settings::load(&sources(&[("REMEMBRANCER_DATA", data)], &[]));
    assert_eq!(load().expect("no file").log, "warn");
    std::fs::write(&file, "log = \"debug\"\n").expect("writes");
    assert_eq!(load().expect("a file").log, "debug");
    std::fs::write(&file, "data = \"/elsewhere\"\n").expect("writes");
    assert!(load().is_ok(), "the variable says where the data are");
    std::fs::write(&file, "log = \"info\"\n").expect("writes");
    let other = folder.path().join("other.toml");
    std::fs::write(&other, "log = \"error\"\n").expect("writes");
    let named = [
        ("REMEMBRANCER_DATA", data),
        ("REMEMBRANCER_CONFIG", other.to_str().expect("UTF-8")),
    ];
    let settings = Settings::load(&sources(&named, &[])).expect("the named file");
    assert_eq!(settings.log, "error");
    let missing = sources(&[("REMEMBRANCER_CONFIG", "/nonexistent/r.toml")], &[]);
    assert!(refusal(Settings::load(&missing)).contains("/nonexistent/r.toml"));
}

#[test]
fn an_unknown_key_is_refused_and_what_is_known_is_said() {
    let told = refusal(of_file("lisen = \"127.0.0.1:1\"\n"));
    assert!(
        told.contains("r.toml: there is no setting named lisen"),
        "{told}"
    );
    assert!(told.contains("known here: listen, public_url,"), "{told}");
    let told = refusal(of_file("[limits]\nupload_max = 1\n"));
    assert!(
        told.contains("no setting named limits.upload_max"),
        "{told}"
    );
    assert!(told.contains("uploads_max"), "{told}");
    let told = refusal(of_file("uploads_max = 1\n"));
    assert!(told.contains("put it under [limits]"), "{told}");
    let variable = sources(&[("REMEMBRANCER_LIMITS_UPLOAD_MAX", "1")], &[]);
    let told = refusal(Settings::load(&variable));
    assert!(
        told.contains("REMEMBRANCER_LIMITS_UPLOAD_MAX names no limit"),
        "{told}"
    );
    let flag = Sources {
        limits: vec!["nothing=1".to_owned()],
        ..Sources::default()
    };
    assert!(refusal(Settings::load(&flag)).contains("no limit named"));
}

#[test]
fn a_value_out_of_range_is_refused_with_key_value_range_and_source() {
    let told = refusal(of_file("[limits]\nuploads_max = 0\n"));
    assert!(
        told.contains("r.toml: limits.uploads_max = 0: 0 is out of range: 1 to 10000"),
        "{told}"
    );
    let told = refusal(of_file("[limits]\nuploads_max = -4\n"));
    assert!(
        told.contains("limits.uploads_max = -4: a limit is a number from 1 to 10000"),
        "{told}"
    );
    let told = refusal(of_file("[limits]\nuploads_max = \"8\"\n"));
    assert!(
        told.contains(
            "limits.uploads_max: a limit is a number from 1 to 10000, this is of type string"
        ),
        "{told}"
    );
    let variable = sources(&[("REMEMBRANCER_LIMITS_UPLOADS_MAX", "many")], &[]);
    let told = refusal(Settings::load(&variable));
    assert!(
        told.contains(
            "environment variable REMEMBRANCER_LIMITS_UPLOADS_MAX: limits.uploads_max = many"
        ),
        "{told}"
    );
    for (name, value, reason) in [
        ("listen", "localhost", "not an IP address and a port"),
        ("public_url", "audit.example.org", "not a scheme and a host"),
        (
            "public_url",
            "https://u:p@audit.example.org",
            "not a scheme and a host",
        ),
        ("origin", "two words", "letters"),
        ("metrics", "all", "key, loopback, open"),
        ("log", "a=b=c", "not a log filter"),
        ("log_format", "xml", "text, json"),
        ("data", "", "an empty path"),
        ("database", "mysql://h/d", "postgres:// or postgresql://"),
        ("blobs", "gs://bucket", "no place for blobs"),
    ] {
        let told = refusal(Settings::load(&sources(&[], &[(name, value)])));
        assert!(
            told.contains(reason) && told.contains(name),
            "{name}: {told}"
        );
        assert!(told.contains("flag --"), "{told}");
    }
    let told = refusal(of_file("listen = 7171\n"));
    assert!(
        told.contains("listen: a text in quotes is expected, this is of type integer"),
        "{told}"
    );
}

#[test]
fn no_secret_is_ever_shown() {
    let secret = "s3cr3t";
    let good = [
        format!("postgres://u:{secret}@db.example.org:5432/ledger?password={secret}"),
        format!("postgres://db.example.org/ledger?sslpassword={secret}"),
    ];
    for url in &good {
        let settings = Settings::load(&sources(&[("REMEMBRANCER_DATABASE", url)], &[])).expect(url);
        assert_eq!(
            settings.database.as_ref().map(SecretUrl::reveal),
            Some(url.as_str())
        );
        let shown = format!("{settings:?}{}{}", as_toml(&settings), as_json(&settings));
        assert!(!shown.contains(secret), "{shown}");
        assert!(shown.contains("db.example.org"), "{shown}");
    }
    for url in [
        format!("mysql://u:{secret}@h/d"),
        format!("postgres://u:{secret}@x@h/d"),
        format!("postgres://u:a/{secret}@h/d"),
        format!("postgres://h/d?password=a@{secret}"),
        format!("postgres://u:{secret} @h/d"),
    ] {
        let told = refusal(Settings::load(&sources(&[], &[("database", &url)])));
        assert!(!told.contains(secret), "{told}");
    }
    let broken = format!("database = \"postgres://u:{secret}@h/d\nlisten = 1");
    let told = refusal(of_file(&broken));
    assert!(told.contains("line 1") && !told.contains(secret), "{told}");
    let told = refusal(of_file(&format!("database = [\"{secret}\"]")));
    assert!(!told.contains(secret), "{told}");
}

#[test]
fn what_is_printed_as_a_file_can_be_read_as_one() {
    let flags = [
        ("listen", "[::1]:80"),
        ("origin", "a.example/b"),
        ("metrics", "open"),
    ];
    let mut given = sources(&[], &flags);
    given.limits = vec!["drain_seconds_max=0".to_owned()];
    let settings = Settings::load(&given).expect("they hold");
    let printed = as_toml(&settings);
    assert!(
        printed.contains("listen = \"[::1]:80\"  # flag --listen\n"),
        "{printed}"
    );
    let again = of_file(&printed).expect("a file");
    assert_eq!(again.limits, settings.limits);
    assert_eq!(again.listen, settings.listen);
    assert_eq!(again.origin, settings.origin);
    let json = as_json(&settings);
    assert_eq!(json["limits.drain_seconds_max"]["value"], 0);
    assert_eq!(json["limits.drain_seconds_max"]["source"], "flag --limit");
    assert_eq!(json["limits.uploads_max"]["source"], "default");
    assert_eq!(
        json.as_object().map(serde_json::Map::len),
        Some(names().count())
    );
}

fn document(path: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

#[test]
fn the_example_file_is_the_one_that_the_program_prints_and_its_values_are_the_defaults() {
    let example = example();
    assert_eq!(
        document("docs/remembrancer.example.toml"),
        example,
        "write it anew: remembrancer config --example > docs/remembrancer.example.toml"
    );
    let settings = of_file(&example).expect("it is a file");
    let defaults = Settings::with_flags(Vec::new()).expect("defaults hold");
    assert_eq!(settings.limits, defaults.limits);
    let of = |settings: &Settings| {
        KEYS.iter()
            .map(|key| (key.shown)(settings))
            .collect::<Vec<_>>()
    };
    assert_eq!(of(&settings), of(&defaults));
    // What has no default stands there as a comment, and is a value that is taken.
    let uncommented: String = example
        .lines()
        .map(|line| {
            line.strip_prefix("# ")
                .filter(|rest| rest.contains(" = \""))
                .unwrap_or(line)
        })
        .map(|line| format!("{line}\n"))
        .collect();
    let settings = of_file(&uncommented).expect("examples are values");
    for key in KEYS {
        assert!(
            (key.shown)(&settings).is_some(),
            "{} has no example",
            key.name
        );
    }
}

#[test]
fn the_documentation_lists_every_setting_as_the_program_knows_it() {
    let page = document("docs/configuration.md");
    let mut rows = Vec::new();
    for key in KEYS {
        let default = key
            .default
            .map_or(String::new(), |text| format!("`{text}`"));
        rows.push(format!(
            "| `{}` | {default} | {} | {} |",
            key.name, key.allowed, key.meaning
        ));
    }
    for key in Limits::KEYS {
        let LimitKey {
            name,
            default,
            min,
            max,
            ..
        } = key;
        rows.push(format!(
            "| `{name}` | {default} | {min} to {max} | {} |",
            key.meaning.trim()
        ));
    }
    let missing: Vec<&String> = rows
        .iter()
        .filter(|row| !page.contains(row.as_str()))
        .collect();
    let all = rows.join("\n");
    assert!(
        missing.is_empty(),
        "missing: {missing:#?}\nall rows:\n{all}"
    );
    let listed = page.lines().filter(|line| line.starts_with("| `")).count();
    assert_eq!(listed, rows.len(), "a row of a setting that is gone");
}
