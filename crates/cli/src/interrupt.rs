//! Ctrl-C: the first ends the runs, which clear away what they have begun, the second ends the program.

use crate::say;
use std::path::Path;
use std::sync::Once;
use std::sync::atomic::{AtomicBool, Ordering};

/// Exit code of a command that was interrupted: what shells make of SIGINT.
pub(crate) const EXIT_CODE: u8 = 130;

static REQUESTED: AtomicBool = AtomicBool::new(false);

/// From now on, Ctrl-C asks runs to end. Without this, it ends the program at once.
pub(crate) fn listen() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // Where no handler can be installed, Ctrl-C ends the program at once, as it always did.
        let _ = ctrlc::set_handler(|| {
            if REQUESTED.swap(true, Ordering::Relaxed) {
                std::process::exit(EXIT_CODE.into());
            }
            say("interrupted: the runs are being ended; once more ends the program at once");
        });
    });
}

/// The same for something that is expected to be ended in this way.
pub(crate) fn listen_quietly() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let _ = ctrlc::set_handler(|| REQUESTED.store(true, Ordering::Relaxed));
    });
}

/// What Ctrl-C sets.
pub(crate) fn flag() -> &'static AtomicBool {
    &REQUESTED
}

/// Whether Ctrl-C was pressed.
pub(crate) fn requested() -> bool {
    REQUESTED.load(Ordering::Relaxed)
}

/// What is kept of `runs` of which `complete` are, and how to go on.
pub(crate) fn report(out: &Path, complete: usize, runs: usize) -> miette::Report {
    let out = out.display();
    let kept = match complete {
        0 => format!("no run was complete, and what they had begun in {out} is cleared away"),
        1 => format!("1 of {runs} runs is complete and stays in {out}"),
        _ => format!("{complete} of {runs} runs are complete and stay in {out}"),
    };
    let help = match complete {
        0 => "repeat the command to run again",
        _ => "repeat the command to go on: what is complete is not run again",
    };
    miette::miette!(help = help, "interrupted: {kept}")
}

/// The same, of a single run.
pub(crate) fn report_single(out: &Path, earlier: bool) -> miette::Report {
    let out = out.display();
    let kept = if earlier { format!("; the earlier result in {out} is as it was") } else { String::new() };
    miette::miette!(
        help = "repeat the command to run again",
        "interrupted: the run was not complete and has no result{kept}"
    )
}
