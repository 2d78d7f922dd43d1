//! Executes simulation runs. The calling thread waits, reports progress to Python and checks for
//! Ctrl-C, while other threads execute the runs.

use crate::errors;
use crate::scenario::Loaded;
use crate::{classifier, control, marking, policy};
use bufferlab_lab::{Execution, Job, Progress, Watcher};
use bufferlab_results::RunCaveat;
use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;
use std::cell::RefCell;
use std::num::NonZero;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::thread;
use std::time::Duration;

/// Interval at which the waiting thread reports progress and checks for signals.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// Progress of all runs that one Python call executes, and the flags that stop these runs.
pub(crate) struct Relay {
    /// Finished fraction and number of packet-hops of every run.
    runs: Mutex<Vec<(f64, u64)>>,
    /// Whether each run has a policy, a marking rule, a classifier or a congestion control in
    /// Python.
    in_python: Vec<bool>,
    /// Flag that stops all runs that the call executes.
    stopped: Arc<AtomicBool>,
    /// Stop flag of the outer run, whose Python policy called this module to start inner runs;
    /// `None` if no policy started the runs.
    outer: Option<Arc<AtomicBool>>,
}

thread_local! {
    /// Stop flag of the runs that the current thread executes.
    static CURRENT: RefCell<Option<Arc<AtomicBool>>> = const { RefCell::new(None) };
}

impl Relay {
    fn new(jobs: &[Job]) -> Self {
        let in_python = |job: &Job| {
            let scenario = &job.loaded.scenario;
            let first = job.loaded.warm_up.iter().flat_map(|warm_up| &warm_up.first.scenario.switches);
            let mut switches = scenario.switches.iter().chain(first);
            let mut transports = scenario.transports.iter();
            switches.any(|switch| {
                let marks = switch.ecn.as_ref().is_some_and(|ecn| marking::IN_PYTHON.contains(&ecn.kind));
                let classifier = switch.classifier.as_ref();
                let sorts = classifier.is_some_and(|spec| classifier::IN_PYTHON.contains(&spec.name));
                marks || sorts || policy::IN_PYTHON.contains(&switch.policy)
            }) || transports.any(|transport| control::IN_PYTHON.contains(&transport.congestion_control))
        };
        Self {
            runs: Mutex::new(vec![(0.0, 0); jobs.len()]),
            in_python: jobs.iter().map(in_python).collect(),
            stopped: Arc::default(),
            outer: CURRENT.with_borrow(Clone::clone),
        }
    }

    /// Executes the function `work`. Runs that `work` starts stop together with the runs that
    /// `self` watches.
    fn within<T>(&self, work: impl FnOnce() -> T) -> T {
        let before = CURRENT.replace(Some(Arc::clone(&self.stopped)));
        let done = work();
        CURRENT.set(before);
        done
    }

    /// Whether the run whose policy started these inner runs was stopped. Signals reach only the
    /// thread that waits for the outer run.
    fn is_orphaned(&self) -> bool {
        self.outer.as_ref().is_some_and(|outer| outer.load(Ordering::Relaxed))
    }

    /// Creates an empty progress record for runs with built-in policies. [`Self::expect`] sets the
    /// number of runs.
    pub(crate) fn empty() -> Self {
        Self::new(&[])
    }

    /// Sets the number of runs whose progress is counted.
    pub(crate) fn expect(&self, runs: usize) {
        *self.runs.lock().expect("nobody panics while holding it") = vec![(0.0, 0); runs];
    }

    fn set(&self, index: usize, fraction: f64, packet_hops: u64) {
        self.runs.lock().expect("nobody panics while holding it")[index] = (fraction, packet_hops);
    }

    /// Progress of all runs: sum of the finished fractions, number of complete runs, packet-hops,
    /// number of runs.
    fn sum(&self) -> (f64, usize, u64, usize) {
        let runs = self.runs.lock().expect("nobody panics while holding it");
        let complete = runs.iter().filter(|run| run.0 >= 1.0).count();
        (runs.iter().map(|run| run.0).sum(), complete, runs.iter().map(|run| run.1).sum(), runs.len())
    }
}

impl Watcher for Relay {
    fn update(&self, index: usize, progress: &Progress) {
        let done = progress.now.0 as f64 / progress.duration.0.max(1) as f64;
        // The phase after the arrivals has an unknown length and is usually short. So this phase
        // counts as the last percent of the run.
        self.set(index, done.min(1.0) * 0.99, progress.packet_hops);
    }

    fn complete(&self, index: usize, packet_hops: u64) {
        self.set(index, 1.0, packet_hops);
    }

    /// A run with verdicts, marks, queues or congestion windows from Python keeps the interpreter
    /// lock until its end. Taking the lock for every decision would cost more than the decision.
    /// Other Python threads run while the custom code runs, as with all Python code.
    fn around(&self, index: usize, work: &mut dyn FnMut()) {
        self.within(|| {
            if self.in_python.get(index) == Some(&true) { Python::attach(|_| work()) } else { work() }
        });
    }

    fn goes_on(&self) -> bool {
        !self.stopped.load(Ordering::Relaxed) && !self.is_orphaned()
    }
}

/// A run that Python requests: scenario, folder, caveats (id, message, advice).
pub(crate) type PlainJob<'py> = (PyRef<'py, Loaded>, PathBuf, Vec<(String, String, String)>);

/// Executes the runs `jobs`, `threads` of the runs in parallel (0 means the number of cores).
/// Returns the exception of each run, or `None`.
///
/// The calling thread calls `progress` about ten times a second. The arguments are the sum of the
/// finished fractions, the number of complete runs, the packet-hops and the number of runs. Ctrl-C
/// or an exception of `progress` stops the runs, and `execute` raises the exception.
#[pyfunction]
#[pyo3(signature = (jobs, threads, verify, progress))]
pub(crate) fn execute<'py>(
    py: Python<'py>,
    jobs: Vec<PlainJob<'py>>,
    threads: usize,
    verify: bool,
    progress: Option<Py<PyAny>>,
) -> PyResult<Vec<Option<Py<PyAny>>>> {
    let jobs: Vec<Job> = jobs.into_iter().map(job).collect();
    let relay = Relay::new(&jobs);
    // A run that waits for another run's warm-up must not keep the interpreter lock.
    let is_warm = jobs.iter().any(|job| job.loaded.warm_up.is_some());
    let threads = if is_warm && relay.in_python.contains(&true) { 1 } else { threads };
    let how = Execution { jobs: NonZero::new(threads), threads: Some(NonZero::<usize>::MIN), verify };
    let outcomes = attend(py, &relay, progress.as_ref(), || bufferlab_lab::execute(&jobs, &how, &relay))?;
    let outcomes = outcomes.map_err(|error| errors::run(py, &error))?;
    let befell =
        |outcome: Result<_, _>| outcome.err().map(|error| errors::run(py, &error).into_value(py).into_any());
    Ok(outcomes.into_iter().map(befell).collect())
}

/// Executes `work` on another thread. Meanwhile, the calling thread reports the progress of the
/// runs in `relay` to `progress` and checks for Ctrl-C ten times a second. Ctrl-C or an exception
/// of `progress` stops the runs. After the work has ended, `attend` raises the exception.
pub(crate) fn attend<T: Send>(
    py: Python<'_>,
    relay: &Relay,
    progress: Option<&Py<PyAny>>,
    work: impl FnOnce() -> T + Send,
) -> PyResult<T> {
    let (done, interruption) = py.detach(|| {
        thread::scope(|scope| {
            let (alive, ended) = mpsc::channel::<()>();
            let work = scope.spawn(|| {
                // The channel end `alive` is dropped when the work ends or panics. The drop wakes
                // the waiting thread.
                let _alive = alive;
                relay.within(work)
            });
            let mut interruption = None;
            while ended.recv_timeout(LOOK_EVERY) == Err(mpsc::RecvTimeoutError::Timeout) {
                if interruption.is_none()
                    && let Err(error) = Python::attach(|py| look_up(py, relay, progress))
                {
                    relay.stopped.store(true, Ordering::Relaxed);
                    interruption = Some(error);
                }
            }
            (work.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)), interruption)
        })
    });
    match interruption {
        Some(error) => Err(error),
        None => tell(py, relay, progress).map(|()| done),
    }
}

pub(crate) fn job((loaded, dir, caveats): PlainJob<'_>) -> Job {
    let caveat = |(id, message, advice)| RunCaveat { id, message, advice };
    Job { loaded: loaded.inner.clone(), dir, caveats: caveats.into_iter().map(caveat).collect() }
}

fn look_up(py: Python<'_>, relay: &Relay, progress: Option<&Py<PyAny>>) -> PyResult<()> {
    py.check_signals()?;
    if relay.is_orphaned() {
        return Err(PyKeyboardInterrupt::new_err(()));
    }
    tell(py, relay, progress)
}

fn tell(py: Python<'_>, relay: &Relay, progress: Option<&Py<PyAny>>) -> PyResult<()> {
    progress.map_or(Ok(()), |progress| progress.call1(py, relay.sum()).map(drop))
}
