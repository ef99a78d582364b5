//! `remembrancer hook`

use std::ffi::OsString;
use std::fmt::Write as _;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::time::Instant;

use remembrancer_capture::hook::Program;
use serde::Serialize;

use crate::failure::Failure;
use crate::hook::install::{self, Plan, Scope};
use crate::hook::{Backlog, LastSend, Place, RecorderAddress, keep_address, last_send, send};
use crate::terminal::{self, Format, shown};

/// Largest file with a key, in bytes.
const KEY_BYTES_MAX: u64 = 4 * 1024;

/// Arguments of `hook`.
#[derive(clap::Args)]
pub(crate) struct HookArgs {
    #[command(subcommand)]
    action: Action,
}

#[derive(clap::Subcommand)]
enum Action {
    /// Take a payload of a Claude Code hook from standard input; prints nothing, always exits with 0
    Claude,
    /// Take a payload of a Codex hook from standard input; prints nothing, always exits with 0
    Codex,
    /// Take a payload of a Gemini CLI hook from standard input; prints nothing, always exits with 0
    Gemini,
    /// Put the hooks into a coding agent's settings, beside what is there
    Install(InstallArgs),
    /// What waits in the spool, and what became of the last sending
    Status(StatusArgs),
    /// Send everything that waits in the spool
    Send(SendArgs),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Agent {
    Claude,
    Codex,
    Gemini,
}

impl From<Agent> for Program {
    fn from(agent: Agent) -> Self {
        match agent {
            Agent::Claude => Self::Claude,
            Agent::Codex => Self::Codex,
            Agent::Gemini => Self::Gemini,
        }
    }
}

#[derive(clap::Args)]
struct InstallArgs {
    /// The coding agent
    #[arg(long, value_enum, default_value = "claude")]
    agent: Agent,
    /// Whose settings
    #[arg(long, value_enum, default_value = "user")]
    scope: Scope,
    /// Show what would change, and change nothing
    #[arg(long)]
    dry_run: bool,
    /// Only these events, for a version of the agent that does not know all of them
    #[arg(long, value_delimiter = ',', value_name = "EVENT")]
    events: Vec<String>,
    /// Address of the recorder, kept for all hooks of this user; port 7171 of this machine unless another one is kept
    #[arg(long, value_name = "URL")]
    url: Option<String>,
    /// File with a key of the role `write`, kept for all hooks of this user, outside of any project
    #[arg(long, value_name = "FILE")]
    key_file: Option<PathBuf>,
}

#[derive(clap::Args)]
struct StatusArgs {
    /// Form of the output
    #[arg(long, value_enum, default_value = "text")]
    format: Format,
}

#[derive(clap::Args)]
struct SendArgs {
    /// Form of the output
    #[arg(long, value_enum, default_value = "text")]
    format: Format,
}

pub(crate) async fn run(args: HookArgs) -> Result<(), Failure> {
    match args.action {
        Action::Claude => take(Program::Claude),
        Action::Codex => take(Program::Codex),
        Action::Gemini => take(Program::Gemini),
        Action::Install(args) => install(&args),
        Action::Status(args) => status(&args),
        Action::Send(args) => {
            let place = place()?;
            let report = tokio::task::spawn_blocking(move || send(&place)).await??;
            match args.format {
                Format::Json => terminal::print_json(&report),
                Format::Text => terminal::print(&format!(
                    "{} sent, {} refused by the recorder{}\n",
                    report.delivered,
                    report.refused,
                    report
                        .refusal
                        .map_or_else(String::new, |reason| format!(": {}", shown(&reason)))
                )),
            }
        }
    }
}

/// Only reached with flags beside: without, the payload is taken before the command line is parsed.
fn take(program: Program) -> Result<(), Failure> {
    crate::hook::run(program, Instant::now());
    Ok(())
}

fn variable(name: &str) -> Option<OsString> {
    std::env::var_os(name)
}

fn place() -> Result<Place, Failure> {
    Place::find(variable).ok_or_else(|| {
        Failure::new("there is no place for a spool: HOME is not set")
            .hint("set HOME, or name a folder in REMEMBRANCER_SPOOL")
    })
}

fn install(args: &InstallArgs) -> Result<(), Failure> {
    let program = Program::from(args.agent);
    let address = RecorderAddress {
        url: args.url.clone().map(checked_url).transpose()?,
        key: args.key_file.as_deref().map(read_key).transpose()?,
    };
    let known = install::events(program);
    if let Some(unknown) = args
        .events
        .iter()
        .find(|event| !known.contains(&event.as_str()))
    {
        return Err(Failure::new(format!(
            "--events {}: not an event that is recorded",
            shown(unknown)
        ))
        .hint(format!("known events: {}", known.join(", "))));
    }
    let events: Vec<&str> = known
        .iter()
        .copied()
        .filter(|event| args.events.is_empty() || args.events.iter().any(|one| one == event))
        .collect();
    let project = std::env::current_dir()?;
    let path = install::settings_file(program, args.scope, &place()?, &project)?;
    let plan = Plan::make(program, &path, &events, &binary(args.scope)?)?;
    let mut text = String::new();
    if args.dry_run {
        write!(
            text,
            "would change {}:\n{}",
            plan.path.display(),
            shown(&plan.difference())
        )?;
        if !plan.is_needed() {
            text = format!("{} has the hooks already\n", plan.path.display());
        }
        return terminal::print(&text);
    }
    if plan.is_needed() {
        let copy = plan.apply()?;
        writeln!(
            text,
            "{} runs {} hooks now",
            plan.path.display(),
            events.len()
        )?;
        if let Some(copy) = copy {
            writeln!(text, "what was there before is in {}", copy.display())?;
        }
    } else {
        writeln!(text, "{} has the hooks already", plan.path.display())?;
    }
    if address != RecorderAddress::default() {
        let path = keep_address(address, variable)?;
        writeln!(
            text,
            "the recorder's address and key are in {}",
            path.display()
        )?;
    }
    for step in next_steps(program, args.scope)? {
        writeln!(text, "next: {step}")?;
    }
    terminal::print(&text)
}

/// What a user still has to do.
fn next_steps(program: Program, scope: Scope) -> Result<Vec<String>, Failure> {
    let mut steps = Vec::new();
    let place = place()?;
    if place.key.is_none() {
        steps.push(
            "give the hooks a key: remembrancer tokens create --role write --name hooks >KEYFILE, then remembrancer hook \
             install --key-file KEYFILE; until then events wait in the spool"
                .to_owned(),
        );
    }
    match program {
        Program::Claude => steps.push(
            "start a new session of Claude Code; /hooks lists them, and if /doctor does not know one of the events, update \
             Claude Code or install with --events"
                .to_owned(),
        ),
        Program::Codex => steps.push(
            "open /hooks in Codex, review the hooks and trust them: Codex runs none that is not trusted, and asks again when \
             one changes"
                .to_owned(),
        ),
        Program::Gemini => steps.push(
            "start Gemini CLI anew; /hooks lists them. Hooks must be enabled there, and those of a project are trusted with it"
                .to_owned(),
        ),
    }
    if scope == Scope::Project {
        steps.push("whoever shares the project needs `remembrancer` in the PATH".to_owned());
    }
    Ok(steps)
}

/// The program as the settings name it: in those that others share, by its name alone.
fn binary(scope: Scope) -> Result<String, Failure> {
    if scope == Scope::Project {
        return Ok("remembrancer".to_owned());
    }
    let path = std::env::current_exe()?;
    let text = path.to_str().map(str::to_owned);
    text.ok_or_else(|| Failure::new(format!("{} is not UTF-8", path.display())))
}

fn checked_url(url: String) -> Result<String, Failure> {
    let uri: Option<axum::http::Uri> = url.parse().ok();
    let is_address = uri.is_some_and(|uri| {
        let has_user = uri
            .authority()
            .is_some_and(|authority| authority.as_str().contains('@'));
        uri.scheme_str() == Some("http") && uri.host().is_some() && uri.path() == "/" && !has_user
    });
    if is_address {
        return Ok(url);
    }
    Err(Failure::new(format!("--url {}: not an address such as http://127.0.0.1:7171", shown(&url))).hint(
        "hooks send to a recorder on this machine, or at the near end of a tunnel: nothing else answers within their time",
    ))
}

fn read_key(path: &Path) -> Result<String, Failure> {
    let cannot = |reason: String| Failure::new(format!("{}: {reason}", path.display()));
    let mut key = String::new();
    std::fs::File::open(path)
        .and_then(|file| file.take(KEY_BYTES_MAX).read_to_string(&mut key))
        .map_err(|error| cannot(format!("cannot read it: {error}")))?;
    let key = key.trim();
    if !key.starts_with("rmb_write_") || key.contains(char::is_whitespace) {
        return Err(
            cannot("it does not hold one key of the role `write`".to_owned())
                .hint("make one: remembrancer tokens create --role write --name hooks"),
        );
    }
    Ok(key.to_owned())
}

/// What `hook status` tells.
#[derive(Serialize)]
struct Status {
    url: String,
    has_key: bool,
    spool: String,
    backlog: Backlog,
    last_send: LastSend,
    installed: Vec<Installed>,
}

#[derive(Serialize)]
struct Installed {
    agent: &'static str,
    file: String,
    events: usize,
}

fn status(args: &StatusArgs) -> Result<(), Failure> {
    let place = place()?;
    let project = std::env::current_dir()?;
    let mut installed = Vec::new();
    for program in Program::ALL {
        for scope in [Scope::User, Scope::Project, Scope::Local] {
            let Ok(path) = install::settings_file(program, scope, &place, &project) else {
                continue;
            };
            let events = install::installed(program, &path);
            if events > 0 {
                installed.push(Installed {
                    agent: program.word(),
                    file: path.display().to_string(),
                    events,
                });
            }
        }
    }
    let status = Status {
        backlog: Backlog::look(&place)?,
        last_send: last_send(&place),
        has_key: place.key.is_some(),
        spool: place.spool.display().to_string(),
        url: place.url,
        installed,
    };
    match args.format {
        Format::Json => terminal::print_json(&status),
        Format::Text => terminal::print(&text(&status)?),
    }
}

fn text(status: &Status) -> Result<String, Failure> {
    let mut text = String::new();
    let key = if status.has_key {
        "with a key"
    } else {
        "without a key: nothing can be sent"
    };
    writeln!(text, "recorder   {}, {key}", shown(&status.url))?;
    let backlog = &status.backlog;
    let waiting = match backlog.records {
        None => "somebody sends at the moment".to_owned(),
        Some(records) if backlog.has_more => format!("more than {records} records wait"),
        Some(records) => format!("{records} records wait"),
    };
    writeln!(text, "spool      {waiting} in {}", shown(&status.spool))?;
    if backlog.lost > 0 {
        let loss = backlog.loss.as_deref().unwrap_or_default();
        writeln!(
            text,
            "lost       {} records, not told to the recorder yet: {}",
            backlog.lost,
            shown(loss)
        )?;
    }
    let last = &status.last_send;
    let time = |ms: i64| {
        jiff::Timestamp::from_millisecond(ms)
            .map_or_else(|_| "?".to_owned(), |time| time.to_string())
    };
    match (&last.error, last.at_ms) {
        (_, 0) => writeln!(text, "last send  none yet")?,
        (None, at) => writeln!(text, "last send  {}", time(at))?,
        (Some(error), at) => writeln!(text, "last send  {}: {}", time(at), shown(error))?,
    }
    if let Some(at) = last.delivered_ms {
        writeln!(text, "delivered  {}", time(at))?;
    }
    if last.refused > 0 {
        let reason = last.refusal.as_deref().unwrap_or_default();
        writeln!(
            text,
            "refused    {} events, the last because: {}",
            last.refused,
            shown(reason)
        )?;
    }
    for one in &status.installed {
        writeln!(
            text,
            "installed  {}: {} events in {}",
            one.agent,
            one.events,
            shown(&one.file)
        )?;
    }
    if status.installed.is_empty() {
        writeln!(text, "installed  nowhere: remembrancer hook install")?;
    }
    Ok(text)
}
