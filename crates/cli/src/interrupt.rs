//! Ctrl-C: the first ends the runs, which clear away what they have begun, the second ends the
//! program. What runs until it is ended also hears the signals of service managers, containers and
//! terminals that are closed.

use crate::say;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock, Once};

/// Exit code of a command that was interrupted: what shells make of SIGINT.
pub(crate) const EXIT_CODE: u8 = 130;

static REQUESTED: LazyLock<Arc<AtomicBool>> = LazyLock::new(Arc::default);

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

/// Listens for every request to end, for something that is expected to be ended in this way:
/// Ctrl-C, and the signals of [`listen_to_services`].
pub(crate) fn listen_quietly() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        listen_to_services();
        #[cfg(unix)]
        set_at(signal_hook::consts::SIGINT);
        #[cfg(not(unix))]
        let _ = ctrlc::set_handler(|| REQUESTED.store(true, Ordering::Relaxed));
    });
}

/// From now on SIGTERM, SIGQUIT and SIGHUP ask to end: service managers, `timeout` and `docker
/// stop` send the first, a closed terminal the last. A process that was started with SIGHUP ignored
/// (nohup) goes on ignoring it.
pub(crate) fn listen_to_services() {
    #[cfg(unix)]
    {
        use signal_hook::consts::{SIGHUP, SIGQUIT, SIGTERM};
        static ONCE: Once = Once::new();
        ONCE.call_once(|| {
            set_at(SIGTERM);
            set_at(SIGQUIT);
            if !is_ignored(SIGHUP) {
                set_at(SIGHUP);
            }
        });
    }
}

/// The signal sets [`flag`], without a thread that waits for it.
#[cfg(unix)]
fn set_at(signal: i32) {
    // Where no handler can be installed, the signal ends the program at once, as it always did.
    let _ = signal_hook::flag::register(signal, Arc::clone(&REQUESTED));
}

/// Whether this process was started with `signal` ignored, as far as the system says so: proc(5),
/// `SigIgn`.
#[cfg(unix)]
fn is_ignored(signal: i32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_some_and(|mask| mask >> (signal - 1) & 1 == 1)
}

/// What was asked to end has ended: from now on an error is an error, and no interruption.
pub(crate) fn fulfilled() {
    REQUESTED.store(false, Ordering::Relaxed);
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
