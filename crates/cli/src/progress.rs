//! Progress of several runs at once on stderr: a bar on a terminal,
//! or a line every ten seconds without a terminal.

use crate::{inform, interrupt, is_quiet};
use bufferlab_lab::Watcher;
use bufferlab_sim::Progress;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// Length of the progress bar per run. A run is complete after this number of units.
const UNITS: u64 = 10_000;
const LINE_EVERY: Duration = Duration::from_secs(10);

/// Progress of every run, and the time of the last progress line.
#[derive(Debug)]
struct State {
    /// Progress of each run in units of 1/`UNITS`, and the packet-hops of the run.
    runs: Vec<(u64, u64)>,
    last_line: Instant,
}

/// Progress bar for several runs of a command.
#[derive(Debug)]
pub(crate) struct Board {
    bar: ProgressBar,
    started: Instant,
    state: Mutex<State>,
}

impl Board {
    /// Creates a progress bar for a command with `runs` runs.
    pub(crate) fn new(runs: usize) -> Self {
        let target =
            if is_quiet() { ProgressDrawTarget::hidden() } else { ProgressDrawTarget::stderr_with_hz(4) };
        let bar = ProgressBar::with_draw_target(Some(UNITS * runs as u64), target);
        let style = ProgressStyle::with_template("{bar:30} {percent:>3} %  {msg}");
        bar.set_style(style.expect("the template is valid"));
        let started = Instant::now();
        let state = State { runs: vec![(0, 0); runs], last_line: started };
        Self { bar, started, state: Mutex::new(state) }
    }

    fn set(&self, index: usize, units: u64, packet_hops: u64) {
        let mut state = self.state.lock().expect("nobody panics while holding it");
        state.runs[index] = (units, packet_hops);
        let done: u64 = state.runs.iter().map(|run| run.0).sum();
        let hops: u64 = state.runs.iter().map(|run| run.1).sum();
        let total = UNITS * state.runs.len() as u64;
        let elapsed = self.started.elapsed().as_secs_f64();
        let left = if done == 0 { f64::NAN } else { elapsed * (total - done) as f64 / done as f64 };
        let rate = hops as f64 / elapsed.max(1e-3) / 1e6;
        let complete = state.runs.iter().filter(|run| run.0 == UNITS).count();
        let runs = state.runs.len();
        let text = format!("{complete}/{runs} runs  {rate:.1} M packet-hops/s  {} left", seconds(left));
        if self.bar.is_hidden() && state.last_line.elapsed() >= LINE_EVERY {
            state.last_line = Instant::now();
            inform(&format!("{:>3} %  {text}", done * 100 / total.max(1)));
        }
        self.bar.set_message(text);
        self.bar.set_position(done);
    }

    /// Removes the progress bar from the terminal.
    pub(crate) fn clear(&self) {
        self.bar.finish_and_clear();
    }
}

impl Watcher for Board {
    fn update(&self, index: usize, progress: &Progress) {
        let done = (progress.now.0 as f64 / progress.duration.0.max(1) as f64).min(1.0);
        // The drain time after the arrival phase is usually short and of unknown length, so it
        // counts as the last percent of the run.
        self.set(index, (done * 0.99 * UNITS as f64) as u64, progress.packet_hops);
    }

    fn complete(&self, index: usize, packet_hops: u64) {
        self.set(index, UNITS, packet_hops);
    }

    fn goes_on(&self) -> bool {
        !interrupt::requested()
    }
}

/// Formats a duration in seconds for people.
pub(crate) fn seconds(value: f64) -> String {
    match value {
        v if v.is_nan() => "?".to_owned(),
        v if v < 100.0 => format!("{v:.0} s"),
        v if v < 6_000.0 => format!("{:.0} min", v / 60.0),
        v => format!("{:.1} h", v / 3_600.0),
    }
}
