//! `remembrancer hook claude`: what a coding agent runs at each of its events.
//!
//! An agent waits for its hooks, takes what they print for instructions, and stops at an exit code. So this reads the payload,
//! spools it, sends what fits into a few milliseconds, prints nothing, and exits with 0 whatever happens. It is dispatched before
//! the command line is parsed and before there is a runtime: both cost more than all the rest.

mod backlog;
mod files;
pub(crate) mod install;
mod late;
mod place;
mod receive;
mod sender;
mod sending;
mod standing_file;
#[cfg(test)]
mod tests;

use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use remembrancer_capture::hook::Program;

pub(crate) use backlog::Backlog;
pub(crate) use place::{Place, RecorderAddress, keep_address};
pub(crate) use sending::send;
pub(crate) use standing_file::{LastSend, last_send};

/// After so long since the start nothing is waited for any more: agents give hooks some seconds, and a user waits for all of it.
const WHOLE_TIME_MAX: Duration = Duration::from_secs(2);

/// The payload of this process is in the spool, or counted as lost.
static IS_KEPT: AtomicBool = AtomicBool::new(false);

/// Handles a hook where the arguments of the process ask for nothing else.
pub(crate) fn run_if_asked() -> Option<ExitCode> {
    let started = Instant::now();
    let mut arguments = std::env::args_os().skip(1);
    if arguments.next()? != *"hook" {
        return None;
    }
    let word = arguments.next()?;
    let program = Program::ALL
        .into_iter()
        .find(|program| word == *program.word())?;
    // Whatever follows: the exit code of a command line that is wrong would stop the agent at what it is about to do.
    Some(run(program, started))
}

/// Handles a hook: the payload is on standard input. Always succeeds.
pub(crate) fn run(program: Program, started: Instant) -> ExitCode {
    // Whatever is printed would be read by the agent or shown to its user.
    std::panic::set_hook(Box::new(|_| {}));
    // Without any place for a spool there is none for a count of losses either.
    let Some(place) = Place::find(|name| std::env::var_os(name)) else {
        return ExitCode::SUCCESS;
    };
    let watched = place.losses.clone();
    #[expect(
        clippy::disallowed_methods,
        reason = "the process ends here whatever its main thread waits for"
    )]
    let watch = std::thread::Builder::new().spawn(move || {
        std::thread::sleep(WHOLE_TIME_MAX.saturating_sub(started.elapsed()));
        if !IS_KEPT.load(Ordering::Acquire) {
            receive::note_loss(&watched, "a hook did not end in time");
        }
        std::process::exit(0);
    });
    // Without it an agent waits as long as its own settings say.
    drop(watch);
    let outcome = std::panic::catch_unwind(|| receive::receive(program, &place, started, &IS_KEPT));
    if outcome.is_err() && !IS_KEPT.load(Ordering::Acquire) {
        receive::note_loss(&place.losses, "a hook failed");
    }
    ExitCode::SUCCESS
}
