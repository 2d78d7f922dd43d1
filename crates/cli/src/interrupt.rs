//! Ctrl-C: the first Ctrl-C ends the runs, and the runs remove their partial results. A second
//! Ctrl-C ends the program. Commands that run until a request to end also obey the signals of
//! service managers, containers and closed terminals.

use crate::say;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock, Once};

/// Exit code of an interrupted command, which shells report for SIGINT.
pub(crate) const EXIT_CODE: u8 = 130;

static REQUESTED: LazyLock<Arc<AtomicBool>> = LazyLock::new(Arc::default);

/// Makes Ctrl-C request the end of the runs. Without this call, Ctrl-C ends the program at once.
pub(crate) fn listen() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // Without a handler, Ctrl-C ends the program at once.
        let _ = ctrlc::set_handler(|| {
            if REQUESTED.swap(true, Ordering::Relaxed) {
                std::process::exit(EXIT_CODE.into());
            }
            say("interrupted: ending the runs; press Ctrl-C again to end the program at once");
        });
    });
}

/// Listens for all requests to end, without printing a message:
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

/// Makes SIGTERM, SIGQUIT and SIGHUP request the end of the command.
/// Service managers, `timeout` and `docker stop` send SIGTERM. A closed terminal sends SIGHUP.
/// A process that was started with SIGHUP ignored (nohup) still ignores SIGHUP.
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

/// Makes the signal `signal` set the flag [`flag`], without a waiting thread.
#[cfg(unix)]
fn set_at(signal: i32) {
    // Without a handler, the signal ends the program at once.
    let _ = signal_hook::flag::register(signal, Arc::clone(&REQUESTED));
}

/// Whether this process was started with `signal` ignored, from `SigIgn` in proc(5).
/// False on systems without `SigIgn`.
#[cfg(unix)]
fn is_ignored(signal: i32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_some_and(|mask| mask >> (signal - 1) & 1 == 1)
}

/// Clears the interruption request after the command has ended, so that later errors are not
/// reported as interruptions.
pub(crate) fn fulfilled() {
    REQUESTED.store(false, Ordering::Relaxed);
}

/// Returns the flag that Ctrl-C sets.
pub(crate) fn flag() -> &'static AtomicBool {
    &REQUESTED
}

/// Whether the user has pressed Ctrl-C.
pub(crate) fn requested() -> bool {
    REQUESTED.load(Ordering::Relaxed)
}

/// The error of an interrupted command: how many of `runs` are complete,
/// and how to resume the command.
pub(crate) fn report(out: &Path, complete: usize, runs: usize) -> miette::Report {
    let out = out.display();
    let kept = match complete {
        0 => format!("no run was complete, and partial results in {out} were removed"),
        1 => format!("1 of {runs} runs is complete and stays in {out}"),
        _ => format!("{complete} of {runs} runs are complete and stay in {out}"),
    };
    let help = match complete {
        0 => "repeat the command to run again",
        _ => "repeat the command to resume: complete runs are not repeated",
    };
    miette::miette!(help = help, "interrupted: {kept}")
}

/// Error message for a single run that Ctrl-C interrupted.
pub(crate) fn report_single(out: &Path, earlier: bool) -> miette::Report {
    let out = out.display();
    let kept = if earlier { format!("; the earlier result in {out} is unchanged") } else { String::new() };
    miette::miette!(
        help = "repeat the command to run again",
        "interrupted: the run was not complete and has no result{kept}"
    )
}
