use std::path::Path;

use super::*;

/// Whether a JSON object keeps its members' order depends on features that other crates of a build switch on; the kept files
/// must not.
fn sorted(value: serde_json::Value) -> serde_json::Value {
    match value {
        serde_json::Value::Object(members) => {
            let members: std::collections::BTreeMap<_, _> = members
                .into_iter()
                .map(|(name, value)| (name, sorted(value)))
                .collect();
            members.into_iter().collect()
        }
        serde_json::Value::Array(items) => items.into_iter().map(sorted).collect(),
        other => other,
    }
}

/// The schemas under `json/` are generated; `UPDATE_SCHEMAS=1 cargo test` writes them anew.
#[test]
fn the_kept_json_schemas_are_those_of_the_types() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("json");
    let mut expected: Vec<String> = Vec::new();
    for (name, schema) in json_schemas() {
        let schema = Schema::try_from(sorted(schema.to_value())).expect("sorting keeps a schema");
        let text = serde_json::to_string_pretty(&schema).expect("a schema is JSON") + "\n";
        let path = folder.join(format!("{name}.json"));
        if std::env::var_os("UPDATE_SCHEMAS").is_some() {
            std::fs::write(&path, &text).expect("json/ can be written");
        }
        let kept = std::fs::read_to_string(&path).unwrap_or_default();
        assert_eq!(
            kept,
            text,
            "{} is not current: run UPDATE_SCHEMAS=1 cargo test -p remembrancer-schema",
            path.display()
        );
        expected.push(format!("{name}.json"));
    }
    expected.sort();
    let mut present: Vec<String> = std::fs::read_dir(&folder)
        .expect("json/ exists")
        .map(|file| {
            file.expect("json/ can be listed")
                .file_name()
                .to_string_lossy()
                .into_owned()
        })
        .collect();
    present.sort();
    assert_eq!(
        present, expected,
        "json/ holds a schema for each type and nothing else"
    );
}

#[test]
fn every_known_type_parses_from_its_own_name_and_has_a_schema() {
    let names: Vec<&str> = EventType::known().collect();
    for name in &names {
        assert_eq!(name.parse::<EventType>().expect("known").as_str(), *name);
    }
    assert_eq!(
        json_schemas()
            .iter()
            .map(|(name, _)| *name)
            .collect::<Vec<_>>(),
        names
    );
    assert_eq!(
        "custom.a.b-c_1"
            .parse::<EventType>()
            .expect("custom")
            .as_str(),
        "custom.a.b-c_1"
    );
    for wrong in [
        "custom.",
        "custom.a b",
        "Tool.called",
        "tool",
        &format!("custom.{}", "x".repeat(94)),
    ] {
        assert!(wrong.parse::<EventType>().is_err(), "{wrong}");
    }
}

#[test]
fn a_matcher_says_exactly_what_it_looks_for() {
    let parse = |matcher: &str| {
        Payload::parse(
            &EventType::ConstraintDeclared,
            &format!(r#"{{"id":"c","kind":"prohibition","text":"no","matcher":{matcher}}}"#),
        )
    };
    assert!(parse(r#"{"all_of":[{"term":"contact"}],"any_of":[{"regex":"never|not"}]}"#).is_ok());
    assert!(parse("{}").is_err());
    assert!(parse(r#"{"all_of":[{}]}"#).is_err());
    assert!(parse(r#"{"all_of":[{"term":"a","literal":"b"}]}"#).is_err());
    assert!(
        parse(&format!(
            r#"{{"all_of":[{{"regex":"{}"}}]}}"#,
            "x".repeat(1025)
        ))
        .is_err()
    );
}

#[test]
fn a_constraint_is_refused_beyond_its_limits_and_kept_at_them() {
    use crate::limits::{CONSTRAINT_TEXT_BYTES_MAX, MATCHER_TERMS_MAX};
    let kind: EventType = "constraint.declared".parse().expect("known");
    let parse = |text: usize, all_of: usize, any_of: usize| {
        let term = |count| vec![serde_json::json!({"term": "x"}); count];
        let data = serde_json::json!({
            "id": "c", "kind": "fact", "text": "x".repeat(text),
            "matcher": {"all_of": term(all_of), "any_of": term(any_of)},
        });
        Payload::parse(&kind, &data.to_string()).map_err(|error| error.to_string())
    };
    let half = MATCHER_TERMS_MAX / 2;
    parse(CONSTRAINT_TEXT_BYTES_MAX, half, half).expect("at the limits");
    let long = parse(CONSTRAINT_TEXT_BYTES_MAX + 1, 1, 0).expect_err("a byte too many");
    assert!(long.contains("8193 bytes; at most 8192"), "{long}");
    let many = parse(1, half, half + 1).expect_err("a term too many");
    assert!(many.contains("more than 64 terms"), "{many}");
}

/// The acts of those who run the ledger are the recorder's own; everything else says how it became known, or may.
#[test]
fn every_payload_has_a_place_for_its_witness() {
    for (name, schema) in json_schemas() {
        let schema = schema.to_value();
        let has_place = schema["properties"].get("witness").is_some();
        assert_eq!(has_place, !name.starts_with("admin."), "{name}");
        if !has_place {
            continue;
        }
        assert!(
            !schema["required"]
                .as_array()
                .is_some_and(|names| names.iter().any(|one| one == "witness")),
            "{name}: what was recorded without a witness must stay readable"
        );
        let kind: EventType = name.parse().expect("known");
        let with = |witness: &str| {
            let least = least_of(name);
            let data = format!("{}{witness}}}", &least[..least.len() - 1]);
            Payload::parse(&kind, &data)
        };
        let separator = if least_of(name) == "{}" { "" } else { "," };
        let told = with(&format!(r#"{separator}"witness":"hook""#)).expect(name);
        assert_eq!(told.witness(), Some(Witness::Hook), "{name}");
        assert_eq!(with("").expect(name).witness(), None, "{name}");
        assert!(
            with(&format!(r#"{separator}"witness":"rumour""#)).is_err(),
            "{name}"
        );
    }
}

/// The least that a payload of a type says.
fn least_of(name: &str) -> &'static str {
    match name {
        "intent.declared" => r#"{"objective":"o"}"#,
        "constraint.declared" => r#"{"id":"c","kind":"fact","text":"t"}"#,
        "context.captured" => r#"{"turn":1,"parts":[]}"#,
        "context.mutated" => r#"{"turn":1,"kind":"clear"}"#,
        "model.responded" => r#"{"turn":1}"#,
        "tool.called" => r#"{"turn":1,"call_id":"c","tool":"t","arguments":{}}"#,
        "tool.returned" => r#"{"call_id":"c","status":"ok"}"#,
        "decision.recorded" => r#"{"decider":"d"}"#,
        "artifact.changed" => r#"{"name":"n"}"#,
        "score.assigned" => r#"{"criterion":"c","value":1.0}"#,
        _ => "{}",
    }
}
