//! `remembrancer doctor`

use std::time::Duration;

use axum::http::Uri;
use owo_colors::{OwoColorize as _, Style};
use remembrancer_recorder::{DoctorOptions, Finding, Level, examine, open_files_max};
use serde::Serialize;

use crate::config::{GlobalArgs, SettingArgs, Settings};
use crate::failure::Failure;
use crate::terminal::{self, Format, shown};

/// Files that a server has open beside its connections.
const FILES_BESIDE: u64 = 100;
/// Longest time that a running server gets to answer.
const READY_TIME: Duration = Duration::from_secs(5);

/// Arguments of `doctor`.
#[derive(clap::Args)]
pub(crate) struct DoctorArgs {
    #[command(flatten)]
    settings: SettingArgs,
    /// Ask a running server alone whether it writes, at its address such as `http://127.0.0.1:7171`: for health checks
    #[arg(long, value_name = "URL")]
    ready: Option<Uri>,
    /// Form of the output
    #[arg(long, value_enum, default_value = "text")]
    format: Format,
}

#[derive(Serialize)]
struct Outcome<'a> {
    level: Level,
    findings: &'a [Finding],
}

pub(crate) async fn run(args: DoctorArgs, globals: &GlobalArgs) -> Result<(), Failure> {
    let findings = match &args.ready {
        Some(url) => vec![ready(url).await],
        None => everything(&args, globals).await,
    };
    let worst = findings.iter().map(|finding| finding.level).max();
    let level = worst.unwrap_or(Level::Ok);
    match args.format {
        Format::Json => terminal::print_json(&Outcome {
            level,
            findings: &findings,
        })?,
        Format::Text => terminal::print(&text(&findings))?,
    }
    if level == Level::Fail {
        Err(Failure::Divergence)
    } else {
        Ok(())
    }
}

async fn everything(args: &DoctorArgs, globals: &GlobalArgs) -> Vec<Finding> {
    const CONFIGURATION: &str = "configuration";
    let read = args
        .settings
        .settings(globals)
        .and_then(|settings| Ok((settings.location()?, settings)));
    let (location, settings) = match read {
        Ok(read) => read,
        Err(failure) => {
            let (found, next) = failure.into_words();
            let next =
                next.unwrap_or_else(|| "docs/configuration.md lists every setting".to_owned());
            // Without it nobody knows where to look.
            return vec![Finding::fail(CONFIGURATION, found, next)];
        }
    };
    let mut findings = vec![Finding::ok(
        CONFIGURATION,
        "can be read; `remembrancer config` prints it",
    )];
    let options = DoctorOptions {
        location,
        anchor: settings.anchor.clone(),
    };
    findings.extend(examine(&options).await);
    let is_served = findings
        .iter()
        .any(|finding| finding.check == "lock" && finding.found.starts_with("held"));
    findings.push(port(&settings, is_served).await);
    findings.extend(open_files_max().map(|max| open_files(max, &settings)));
    findings
}

/// Whether the server's address can be taken.
async fn port(settings: &Settings, is_served: bool) -> Finding {
    const PORT: &str = "address";
    let listen = settings.listen;
    match tokio::net::TcpListener::bind(listen).await {
        Ok(_) => Finding::ok(PORT, format!("{listen} is free")),
        Err(error) if error.kind() == std::io::ErrorKind::AddrInUse && is_served => {
            Finding::ok(PORT, format!("{listen} is in use, and a server runs"))
        }
        Err(error) => Finding::warn(
            PORT,
            format!("{listen}: {error}"),
            "end what uses it, or choose another with --listen",
        ),
    }
}

fn open_files(max: u64, settings: &Settings) -> Finding {
    const OPEN_FILES: &str = "open files";
    let connections = settings.limits.connections_max as u64;
    let wanted = connections + FILES_BESIDE;
    let found = format!("at most {max}; {connections} connections want {wanted}");
    if max < wanted {
        let next = format!(
            "raise it (`ulimit -n {wanted}`, LimitNOFILE= in systemd), or lower limits.connections_max"
        );
        return Finding::warn(OPEN_FILES, found, next);
    }
    Finding::ok(OPEN_FILES, found)
}

/// Asks a server whether it is ready.
async fn ready(url: &Uri) -> Finding {
    const READY: &str = "server";
    let address = format!("{}/readyz", url.to_string().trim_end_matches('/'));
    let asked = address.clone();
    let answer = tokio::task::spawn_blocking(move || {
        let agent: ureq::Agent = ureq::Agent::config_builder()
            .timeout_global(Some(READY_TIME))
            .http_status_as_error(false)
            .max_redirects(0)
            .build()
            .into();
        agent.get(&asked).call().map(|answer| answer.status())
    });
    match answer.await {
        Ok(Ok(status)) if status.is_success() => Finding::ok(READY, "ready"),
        Ok(Ok(status)) => Finding::fail(
            READY,
            format!("{address} answers {status}"),
            "its log has the cause; it begins again by itself when that is gone",
        ),
        Ok(Err(error)) => Finding::fail(
            READY,
            format!("{address}: {error}"),
            "look whether the server runs, and listens there",
        ),
        Err(error) => Finding::fail(READY, error.to_string(), "try again"),
    }
}

fn text(findings: &[Finding]) -> String {
    let width = findings
        .iter()
        .map(|finding| finding.check.chars().count())
        .max()
        .unwrap_or(0);
    let mut text = String::new();
    for finding in findings {
        let (word, style) = match finding.level {
            Level::Ok => ("ok  ", Style::new().green()),
            Level::Warn => ("warn", Style::new().yellow().bold()),
            Level::Fail => ("FAIL", Style::new().red().bold()),
        };
        text.push_str(&format!(
            "{}  {:width$}  {}\n",
            word.style(style),
            shown(&finding.check),
            shown(&finding.found)
        ));
        if let Some(next) = &finding.next {
            text.push_str(&format!("      {:width$}  next: {}\n", "", shown(next)));
        }
    }
    text
}
