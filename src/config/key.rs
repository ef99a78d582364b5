//! The settings that are not limits: name, default, meaning, and how text becomes a value.

use std::path::PathBuf;

use axum::http::Uri;
use remembrancer_recorder::{BadWitness, BlobStoreError, MetricsAccess, WitnessAddress};
use remembrancer_schema::IdError;
use remembrancer_schema::limits::WITNESSES_MAX;

use super::{SecretUrl, Settings};
use crate::terminal::LogFormat;

pub(super) const DATA_DEFAULT: &str = "remembrancer-data";

/// A setting.
pub(crate) struct Key {
    pub(crate) name: &'static str,
    pub(crate) meaning: &'static str,
    /// Its value unless set; `None` if it has none then.
    pub(crate) default: Option<&'static str>,
    /// A value, for the example file.
    pub(crate) example: &'static str,
    /// The values that it may have, in words.
    pub(crate) allowed: &'static str,
    /// Whether its value may hold a secret: then no message repeats it.
    pub(crate) is_secret: bool,
    pub(super) set: fn(&mut Settings, &str) -> Result<(), String>,
    /// The value as it may be shown.
    pub(super) shown: fn(&Settings) -> Option<String>,
}

/// All of them, in the order in which they are shown.
pub(crate) const KEYS: &[Key] = &[
    Key {
        name: "listen",
        meaning: "Address on which the API and the viewer answer; port 0 takes any free port.",
        default: Some("127.0.0.1:7171"),
        example: "127.0.0.1:7171",
        allowed: "IP address and port",
        is_secret: false,
        set: |settings, text| {
            let error = "not an IP address and a port such as 127.0.0.1:7171";
            settings.listen = text.parse().map_err(|_| error.to_owned())?;
            Ok(())
        },
        shown: |settings| Some(settings.listen.to_string()),
    },
    Key {
        name: "public_url",
        meaning: "Address under which a proxy publishes the viewer: pages answer to that host, and with https the session \
                  cookie is marked Secure.",
        default: None,
        example: "https://audit.example.org",
        allowed: "scheme and host",
        is_secret: false,
        set: |settings, text| {
            settings.public_url = Some(public_url(text)?);
            Ok(())
        },
        shown: |settings| settings.public_url.as_ref().map(ToString::to_string),
    },
    Key {
        name: "data",
        meaning: "Data directory: ledger, keys, and other workspaces below it.",
        default: Some(DATA_DEFAULT),
        example: "/var/lib/remembrancer",
        allowed: "folder; not in the file of a data directory",
        is_secret: false,
        set: |settings, text| {
            settings.data = path(text)?;
            Ok(())
        },
        shown: |settings| Some(settings.data.display().to_string()),
    },
    Key {
        name: "origin",
        meaning: "Name of a new ledger, unique in the world by convention; made from its key unless set. A ledger that exists \
                  must have this one.",
        default: None,
        example: "ledger.example.org/agents",
        allowed: "host and path",
        is_secret: false,
        set: |settings, text| {
            let origin = text.parse();
            settings.origin = Some(origin.map_err(|error: IdError| error.to_string())?);
            Ok(())
        },
        shown: |settings| settings.origin.as_ref().map(ToString::to_string),
    },
    Key {
        name: "database",
        meaning: "PostgreSQL database of the ledgers; without it, SQLite in the data directory. A password is better kept in a \
                  password file (PGPASSFILE): what stands in a flag is seen by other users of the machine, and a file that holds one \
                  is for its owner alone (mode 0600).",
        default: None,
        example: "postgres://remembrancer@db.example.org/ledger",
        allowed: "postgres:// URL",
        is_secret: true,
        set: |settings, text| {
            settings.database = Some(SecretUrl::parse(text, &["postgres", "postgresql"])?);
            Ok(())
        },
        shown: |settings| settings.database.as_ref().map(ToString::to_string),
    },
    Key {
        name: "blobs",
        meaning: "Where blobs are kept that are too large for the database: a folder, s3://BUCKET or s3://BUCKET/PREFIX. \
                  Remembered in the data directory; at first it is the data directory itself.",
        default: None,
        example: "s3://bucket/prefix",
        allowed: "folder or s3:// address",
        is_secret: false,
        set: |settings, text| {
            let location = text.parse();
            settings.blobs = Some(location.map_err(|error: BlobStoreError| error.to_string())?);
            Ok(())
        },
        shown: |settings| settings.blobs.as_ref().map(ToString::to_string),
    },
    Key {
        name: "anchor",
        meaning: "File outside the data directory that keeps the newest checkpoint: an older copy of the data directory is \
                  refused against it.",
        default: None,
        example: "/mnt/other-disk/ledger.checkpoint",
        allowed: "file",
        is_secret: false,
        set: |settings, text| {
            settings.anchor = Some(path(text)?);
            Ok(())
        },
        shown: |settings| {
            settings
                .anchor
                .as_ref()
                .map(|path| path.display().to_string())
        },
    },
    Key {
        name: "witness",
        meaning: "Witnesses that are asked to sign each new checkpoint, at most 16: the key that `remembrancer witness` prints, @ and \
                  its address; several with a space between.",
        default: None,
        example: "witness.example.net/1+b47c44b9+BDuKBhpAjIGwumYPyrNDJVERcryV0sv7AjhPmABgQAhz@https://witness.example.net/",
        allowed: "KEY@URL",
        is_secret: false,
        set: |settings, text| {
            settings.witness = witnesses(text)?;
            Ok(())
        },
        shown: |settings| {
            let all: Vec<String> = settings.witness.iter().map(ToString::to_string).collect();
            (!all.is_empty()).then(|| all.join(" "))
        },
    },
    Key {
        name: "require_witnesses",
        meaning: "How many of them have to sign a checkpoint before readers get it. Receipts never wait for witnesses.",
        default: Some("0"),
        example: "1",
        allowed: "number, at most that of the witnesses",
        is_secret: false,
        set: |settings, text| {
            let number = text.parse();
            settings.require_witnesses = number.map_err(|_| "it is a number".to_owned())?;
            Ok(())
        },
        shown: |settings| Some(settings.require_witnesses.to_string()),
    },
    Key {
        name: "metrics",
        meaning: "Who may read /metrics: `key`, whoever presents a key that may read; `loopback`, programs on this machine that \
                  do not come through a proxy; `open`, everybody who can reach the address.",
        default: Some("key"),
        example: "key",
        allowed: "key, loopback or open",
        is_secret: false,
        set: |settings, text| {
            let choices = [
                MetricsAccess::Key,
                MetricsAccess::Loopback,
                MetricsAccess::Open,
            ];
            settings.metrics = choice(text, &choices, MetricsAccess::as_str)?;
            Ok(())
        },
        shown: |settings| Some(settings.metrics.as_str().to_owned()),
    },
    Key {
        name: "log",
        meaning: "What is logged on standard error: error, warn, info (one line a request), debug, or a filter such as \
                  `warn,remembrancer_recorder=debug`. Bodies and keys are never logged.",
        default: Some("warn"),
        example: "info",
        allowed: "level or filter",
        is_secret: false,
        set: |settings, text| {
            settings.log = crate::terminal::log_filter(text)?;
            Ok(())
        },
        shown: |settings| Some(settings.log.clone()),
    },
    Key {
        name: "log_format",
        meaning: "Form of the log: `text` for people, `json` for programs, one object a line.",
        default: Some("text"),
        example: "json",
        allowed: "text or json",
        is_secret: false,
        set: |settings, text| {
            settings.log_format =
                choice(text, &[LogFormat::Text, LogFormat::Json], LogFormat::as_str)?;
            Ok(())
        },
        shown: |settings| Some(settings.log_format.as_str().to_owned()),
    },
];

fn path(text: &str) -> Result<PathBuf, String> {
    if text.is_empty() {
        return Err("an empty path".to_owned());
    }
    Ok(PathBuf::from(text))
}

fn witnesses(text: &str) -> Result<Vec<WitnessAddress>, String> {
    let mut all: Vec<WitnessAddress> = Vec::new();
    for one in text.split_whitespace() {
        let address: WitnessAddress = one.parse().map_err(|error: BadWitness| error.to_string())?;
        // One witness is one signature, however often it is named.
        if all.iter().any(|known| known.key.key == address.key.key) {
            return Err(format!("{} is named twice", address.key.name));
        }
        all.push(address);
    }
    if all.len() > WITNESSES_MAX {
        return Err(format!(
            "{} witnesses, at most {WITNESSES_MAX} are asked",
            all.len()
        ));
    }
    Ok(all)
}

fn public_url(text: &str) -> Result<Uri, String> {
    let expected = "not a scheme and a host such as https://audit.example.org";
    let uri: Uri = text.parse().map_err(|_| expected.to_owned())?;
    let is_web = matches!(uri.scheme_str(), Some("http" | "https"));
    let names_user = uri
        .authority()
        .is_some_and(|authority| authority.as_str().contains('@'));
    if !is_web || uri.host().is_none_or(str::is_empty) || names_user {
        return Err(expected.to_owned());
    }
    Ok(uri)
}

fn choice<T: Copy>(text: &str, choices: &[T], name: fn(T) -> &'static str) -> Result<T, String> {
    let found = choices.iter().find(|choice| name(**choice) == text);
    found.copied().ok_or_else(|| {
        let names: Vec<&str> = choices.iter().map(|choice| name(*choice)).collect();
        format!("it is one of {}", names.join(", "))
    })
}
