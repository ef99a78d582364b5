//! The file: TOML, every key known.

use std::path::Path;

use super::{Given, KEYS, LIMITS, Source, Value, list};
use crate::failure::Failure;
use remembrancer_recorder::Limits;

/// Largest file that is read, in bytes.
const FILE_BYTES_MAX: u64 = 1024 * 1024;

/// Reads a file. Its text is not repeated in messages, since a line may hold a password.
pub(super) fn read(path: &Path) -> Result<Vec<Given>, Failure> {
    let shown = path.display();
    let unreadable =
        |reason: String| Failure::new(format!("the configuration file {shown}: {reason}"));
    let size = std::fs::metadata(path)
        .map_err(|error| unreadable(error.to_string()))?
        .len();
    if size > FILE_BYTES_MAX {
        return Err(unreadable(format!(
            "{size} bytes, at most {FILE_BYTES_MAX} are read"
        )));
    }
    let text = std::fs::read_to_string(path).map_err(|error| unreadable(error.to_string()))?;
    let table: toml::Table = text.parse().map_err(|error: toml::de::Error| {
        let line = error.span().map_or(0, |span| {
            text.as_bytes()
                .iter()
                .take(span.start)
                .filter(|byte| **byte == b'\n')
                .count()
        });
        unreadable(format!("line {}: {}", line + 1, error.message()))
    })?;
    let mut given = Vec::new();
    for (name, value) in table {
        match value {
            toml::Value::Table(limits) if name == LIMITS => {
                for (name, value) in limits {
                    given.push(limit(path, &name, &value)?);
                }
            }
            value => given.push(setting(path, name, value)?),
        }
    }
    Ok(given)
}

fn setting(path: &Path, name: String, value: toml::Value) -> Result<Given, Failure> {
    let known = KEYS.iter().map(|key| key.name);
    if !known.clone().any(|known| known == name) {
        let all = list(known.chain([LIMITS]));
        return Err(unknown(
            path,
            &name,
            &all,
            Limits::KEYS.iter().any(|key| key.name == name),
        ));
    }
    let toml::Value::String(text) = value else {
        let kind = value.type_str();
        return Err(Failure::new(format!(
            "{}: {name}: a text in quotes is expected, this is of type {kind}",
            path.display()
        )));
    };
    Ok(Given {
        name,
        value: Value::Text(text),
        source: Source::File(path.to_owned()),
    })
}

fn limit(path: &Path, name: &str, value: &toml::Value) -> Result<Given, Failure> {
    let full = format!("{LIMITS}.{name}");
    if !Limits::KEYS.iter().any(|key| key.name == name) {
        let known = list(Limits::KEYS.iter().map(|key| key.name));
        return Err(unknown(path, &full, &known, false));
    }
    let number = value.as_integer().ok_or_else(|| {
        Failure::new(format!(
            "{}: {full}: a limit is a number{}, this is of type {}",
            path.display(),
            super::range(name),
            value.type_str()
        ))
    })?;
    // A negative number is below every range: kept as text, it is shown as it was written.
    let value =
        u64::try_from(number).map_or_else(|_| Value::Text(number.to_string()), Value::Number);
    Ok(Given {
        name: full,
        value,
        source: Source::File(path.to_owned()),
    })
}

fn unknown(path: &Path, name: &str, known: &str, is_limit: bool) -> Failure {
    let name = crate::terminal::excerpt(name, 100);
    let failure = Failure::new(format!(
        "{}: there is no setting named {name}",
        path.display()
    ));
    if is_limit {
        return failure.hint(format!("{name} is a limit: put it under [{LIMITS}]"));
    }
    failure.hint(format!("known here: {known}"))
}
