//! Folders that are not what their manifest says.

use super::*;

fn refused(folder: &Path) -> ImportError {
    read(folder, &ImportOptions::default()).expect_err("the folder was changed")
}

#[test]
fn one_changed_byte_in_any_file_is_refused_by_name() {
    let Some(folder) = copy("E1-baseline") else {
        return;
    };
    let listed = CheckedFiles::read(folder.path())
        .expect("a sound copy")
        .manifest
        .files;
    assert_eq!(listed.len(), 11);
    for (path, hash) in listed {
        let place = folder.path().join(&path);
        let sound = fs::read(&place).expect("readable");
        let mut changed = sound.clone();
        let middle = changed.len() / 2;
        changed[middle] ^= 1;
        fs::write(&place, &changed).expect("writable");
        let error = refused(folder.path());
        let found = hex::encode(sha256(&changed));
        let difference = Difference::Different {
            path: path.clone(),
            listed: hash,
            found,
        };
        assert!(error.to_string().contains(&path), "{error}");
        let ImportError::Manifest { differences, .. } = error else {
            panic!("{error}");
        };
        assert_eq!(differences, [difference]);
        fs::write(&place, sound).expect("writable");
    }
    assert!(read(folder.path(), &ImportOptions::default()).is_ok());
}

#[test]
fn everything_that_differs_is_listed_at_once() {
    let Some(folder) = copy("E1-governed") else {
        return;
    };
    fs::remove_file(folder.path().join("run/notes.jsonl")).expect("there");
    fs::write(folder.path().join("run/tools.jsonl"), "").expect("writable");
    fs::write(folder.path().join("run/runner.log"), "x").expect("writable");
    fs::write(folder.path().join("extra"), "x").expect("writable");
    let ImportError::Manifest { differences, .. } = refused(folder.path()) else {
        panic!("refused for another reason");
    };
    let lines: Vec<String> = differences.iter().map(ToString::to_string).collect();
    assert_eq!(lines.len(), 4, "{lines:?}");
    assert_eq!(lines[0], r#"missing: "run/notes.jsonl""#);
    assert!(lines[1].starts_with(r#"different: "run/tools.jsonl" has SHA-256 e3b0c442"#));
    assert_eq!(lines[2], r#"not listed: "extra""#);
    assert_eq!(lines[3], r#"not listed: "run/runner.log""#);
}

#[test]
#[cfg(unix)]
fn links_are_not_followed() {
    let Some(folder) = copy("E1-baseline") else {
        return;
    };
    let outside = tempfile::NamedTempFile::new().expect("a temporary file");
    let place = folder.path().join("run/run.json");
    let sound = fs::read(&place).expect("readable");
    fs::write(outside.path(), sound).expect("writable");
    fs::remove_file(&place).expect("there");
    std::os::unix::fs::symlink(outside.path(), &place).expect("a link");
    assert!(matches!(refused(folder.path()), ImportError::NotAFile { path } if path == place));
}

#[test]
fn paths_that_leave_the_folder_are_refused() {
    for path in [
        "../secret",
        "/etc/passwd",
        "run//x",
        "run/./x",
        "a\\..\\b",
        "",
        "c:x",
    ] {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let manifest = serde_json::json!({ "label": "x", "files": { path: "0".repeat(64) } });
        fs::write(folder.path().join("manifest.json"), manifest.to_string()).expect("writable");
        let error = refused(folder.path());
        assert!(
            matches!(&error, ImportError::Path { path: named } if named == path),
            "{error}"
        );
    }
}

#[test]
fn a_folder_without_a_run_says_what_is_missing() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    assert!(matches!(refused(folder.path()), ImportError::Read { .. }));
    fs::write(
        folder.path().join("manifest.json"),
        r#"{"label":"x","files":{}}"#,
    )
    .expect("writable");
    let error = refused(folder.path());
    assert!(
        matches!(&error, ImportError::NoFile { file } if file == "run/run.json"),
        "{error}"
    );
    fs::write(folder.path().join("manifest.json"), "{").expect("writable");
    assert!(matches!(
        refused(folder.path()),
        ImportError::Malformed { .. }
    ));
}

#[test]
fn values_to_restore_must_be_json() {
    let Some(folder) = shared("E1-baseline") else {
        return;
    };
    let options = ImportOptions {
        restore: Some(b"{".to_vec()),
    };
    assert!(matches!(
        read(&folder, &options),
        Err(ImportError::Restore { .. })
    ));
}
