//! Executes jobs (planned runs), several in parallel.

use crate::header::header;
use crate::memory::{MemoryBudget, fits_into, memory_budget};
use crate::panic::{caught, run_in_words};
use crate::warm_up::{self, WarmStarts};
use crate::{Panicked, RunError};
use bufferlab_results::{RunCaveat, RunWriter, Timing};
use bufferlab_scenario::{Loaded, Scenario};
use bufferlab_sim::{Progress, SimError, Simulation};
use cpu_time::ThreadTime;
use rayon::prelude::*;
use std::borrow::Borrow;
use std::fs;
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Instant;

/// A planned run with its scenario and its folder.
#[derive(Clone, Debug)]
pub struct Job {
    /// The loaded scenario of the run.
    pub loaded: Loaded,
    /// Folder of the run's results. A finished run in the folder is replaced.
    pub dir: PathBuf,
    /// Caveats that readers should check before they trust the run's numbers.
    pub caveats: Vec<RunCaveat>,
}

/// Settings for the execution of planned runs.
#[derive(Clone, Copy, Debug, Default)]
pub struct Execution {
    /// Number of runs in parallel; `None` means the number of cores.
    pub jobs: Option<NonZero<usize>>,
    /// Threads per run. The result tables do not depend on the number of threads, if the network
    /// can be divided ([`Simulation::needs_one_thread`]). `None` means the cores that no other run
    /// needs, for networks of at least [`AUTOMATIC_HOSTS`] hosts. A run needs one thread if a
    /// policy is bound to the thread that built the policy.
    pub threads: Option<NonZero<usize>>,
    /// Whether packet conservation and the ledger are checked after every event (slow),
    /// not only at the end.
    pub verify: bool,
}

/// Number of hosts from which a network is divided among threads by default. In a smaller network,
/// threads would do too little work between two synchronisations.
pub const AUTOMATIC_HOSTS: usize = 64;

impl Execution {
    /// Returns the number of runs that execute in parallel, out of `runs` runs.
    fn parallel_runs(&self, runs: usize) -> usize {
        let cores = thread::available_parallelism().map_or(1, NonZero::get);
        self.jobs.map_or(cores, NonZero::get).min(runs).max(1)
    }

    /// Returns the number of threads for each of `parallel` runs.
    fn threads_of(&self, parallel: usize) -> ThreadsOfARun {
        let cores = thread::available_parallelism().map_or(1, NonZero::get);
        let idle = cores.saturating_sub(busy_elsewhere());
        let spare = NonZero::new(idle / parallel).unwrap_or(NonZero::<usize>::MIN);
        self.threads.map_or(ThreadsOfARun::AtMost(spare), ThreadsOfARun::Exactly)
    }
}

/// Returns the number of cores that other processes use now, if the system reports this number.
/// Threads of one run constantly wait for each other. If the threads of a run must share cores, the
/// run is slower than with a single thread.
fn busy_elsewhere() -> usize {
    // The fourth field of `/proc/loadavg`, such as 3/120, has the number of runnable threads, then
    // the number of all threads. The runnable threads include this thread.
    let text = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let running = text.split(' ').nth(3).and_then(|word| word.split('/').next()?.parse::<usize>().ok());
    running.map_or(0, |running| running.saturating_sub(1))
}

/// Rule that chooses the number of threads per run.
#[derive(Clone, Copy, Debug)]
enum ThreadsOfARun {
    Exactly(NonZero<usize>),
    /// Maximum number of threads; a small network uses one thread.
    AtMost(NonZero<usize>),
}

impl ThreadsOfARun {
    fn count(self, simulation: &Simulation, scenario: &Scenario) -> NonZero<usize> {
        let one = NonZero::<usize>::MIN;
        let (threads, is_worth_it) = match self {
            Self::Exactly(threads) => (threads, true),
            Self::AtMost(threads) => (threads, scenario.topology.hosts.len() >= AUTOMATIC_HOSTS),
        };
        // The search for a reason against several threads reads all routes, so search only if
        // several threads are possible.
        let may_use_several = threads > one && is_worth_it && simulation.needs_one_thread(scenario).is_none();
        if may_use_several { threads } else { one }
    }
}

/// Receives the progress of runs from several threads.
pub trait Watcher: Sync {
    /// Receives the progress of the job with the number `index`.
    fn update(&self, index: usize, progress: &Progress);
    /// Receives the message that the job with the number `index` is complete.
    fn complete(&self, index: usize, packet_hops: u64);
    /// Executes a job on its thread by calling `work` once. A front end for policies in another
    /// language overrides this method to set up and clean up around a whole run.
    fn around(&self, _index: usize, work: &mut dyn FnMut()) {
        work();
    }
    /// Whether runs should continue. Threads call this method often. After a first `false`, this
    /// method must return `false` for every job.
    fn goes_on(&self) -> bool {
        true
    }
}

impl<W: Watcher + ?Sized> Watcher for &W {
    fn update(&self, index: usize, progress: &Progress) {
        (**self).update(index, progress);
    }

    fn complete(&self, index: usize, packet_hops: u64) {
        (**self).complete(index, packet_hops);
    }

    fn around(&self, index: usize, work: &mut dyn FnMut()) {
        (**self).around(index, work);
    }

    fn goes_on(&self) -> bool {
        (**self).goes_on()
    }
}

/// A watcher that ignores the progress of runs.
#[derive(Clone, Copy, Debug, Default)]
pub struct Unwatched;

impl Watcher for Unwatched {
    fn update(&self, _: usize, _: &Progress) {}
    fn complete(&self, _: usize, _: u64) {}
}

/// Packet-hops and CPU time of a finished run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Finished {
    /// Number of packet-hops of the run: packets that crossed a link.
    pub packet_hops: u64,
    /// CPU time of the run (s).
    pub cpu_seconds: f64,
}

/// Executes all jobs, several in parallel. The result of a job does not depend on other jobs.
///
/// Returns the outcome of each job in the order of the jobs.
///
/// # Errors
/// If threads cannot be started. The error of a single job is part of the returned outcomes.
pub fn execute(
    jobs: &[Job],
    how: &Execution,
    watcher: &dyn Watcher,
) -> Result<Vec<Result<Finished, RunError>>, RunError> {
    execute_then(jobs, how, watcher, |_, result| result)
}

/// Executes all jobs as [`execute`] does and returns the results of `then`. The function `then`
/// receives the index and outcome of each job before the thread begins its next job.
/// A front end that keeps little data of a run thus frees memory early.
///
/// # Errors
/// If threads cannot be started.
pub fn execute_then<J: Borrow<Job> + Sync, R: Send>(
    jobs: &[J],
    how: &Execution,
    watcher: &dyn Watcher,
    then: impl Fn(usize, Result<Finished, RunError>) -> R + Sync,
) -> Result<Vec<R>, RunError> {
    let room = Room::new(jobs.iter().map(|job| &job.borrow().loaded.scenario));
    // With more threads than jobs, some threads would be idle.
    let parallel = room.parallel_runs(how.parallel_runs(jobs.len()));
    let pool = rayon::ThreadPoolBuilder::new().num_threads(parallel).build()?;
    let threads = how.threads_of(parallel);
    let starts = WarmStarts::new(jobs.iter().map(|job| &job.borrow().loaded));
    let place = RunResources {
        starts: &starts,
        budget: room.budget,
        threads,
        most_threads: room.threads(parallel),
        verify: how.verify,
    };
    let run = |(index, job): (usize, &J)| {
        let job = job.borrow();
        if !watcher.goes_on() {
            return Err(RunError::Simulation(SimError::Interrupted));
        }
        let mut go_on = |progress: &Progress| {
            watcher.update(index, progress);
            watcher.goes_on()
        };
        let mut finished = None;
        watcher.around(index, &mut || finished = Some(run_one(job, &place, &mut go_on)));
        let finished = finished.expect("the watcher has called it")?;
        watcher.complete(index, finished.packet_hops);
        Ok(finished)
    };
    let work = |(index, job)| then(index, run((index, job)));
    // Hand out one job at a time to idle threads, so that a long job delays no other job.
    Ok(pool.install(|| jobs.par_iter().enumerate().with_max_len(1).map(work).collect()))
}

/// Executes one job on this thread.
/// `go_on` receives the progress and stops the run by returning `false`.
///
/// # Errors
/// If the scenario cannot run, the folder cannot be written, or `go_on` returns `false`. After an
/// error, the folder is unchanged.
pub fn execute_one(
    job: &Job,
    verify: bool,
    go_on: &mut dyn FnMut(&Progress) -> bool,
) -> Result<Finished, RunError> {
    let one = NonZero::<usize>::MIN;
    let threads = ThreadsOfARun::Exactly(one);
    let (budget, starts) = (memory_budget(), WarmStarts::default());
    run_one(job, &RunResources { starts: &starts, budget, threads, most_threads: one, verify }, go_on)
}

/// Executes a job if the run fits in memory. If a run with several threads fails, a second attempt
/// with one thread decides the outcome.
fn run_one(
    job: &Job,
    place: &RunResources<'_>,
    go_on: &mut dyn FnMut(&Progress) -> bool,
) -> Result<Finished, RunError> {
    fits_into(&job.loaded.scenario, place.budget)?;
    let mut used = NonZero::<usize>::MIN;
    let attempt = attempt_caught(job, place, &mut used, go_on);
    match attempt {
        Err(error) if used.get() > 1 && error.may_depend_on_threads() => {
            let threads = ThreadsOfARun::Exactly(NonZero::<usize>::MIN);
            attempt_caught(job, &RunResources { threads, ..*place }, &mut used, go_on)
        }
        outcome => outcome,
    }
}

/// Executes a job and turns a panic into an error of the job.
fn attempt_caught(
    job: &Job,
    place: &RunResources<'_>,
    used: &mut NonZero<usize>,
    go_on: &mut dyn FnMut(&Progress) -> bool,
) -> Result<Finished, RunError> {
    caught(|| attempt(job, place, used, go_on)).unwrap_or_else(|panicked| {
        Err(RunError::Panicked(Box::new(Panicked { run: run_in_words(&job.loaded), ..panicked })))
    })
}

/// Memory and threads that one run may use.
#[derive(Clone, Copy, Debug)]
struct RunResources<'a> {
    /// Common beginnings of the runs.
    starts: &'a WarmStarts,
    budget: MemoryBudget,
    threads: ThreadsOfARun,
    /// Maximum number of threads for which memory suffices; every thread of a
    /// run copies the network.
    most_threads: NonZero<usize>,
    verify: bool,
}

/// Memory for all runs that execute in parallel.
struct Room {
    budget: MemoryBudget,
    /// Memory of the largest run that fits into the memory budget (bytes).
    largest: u64,
}

impl Room {
    fn new<'a>(scenarios: impl Iterator<Item = &'a Scenario>) -> Self {
        let budget = memory_budget();
        let sizes = scenarios.filter_map(|scenario| fits_into(scenario, budget).ok());
        Self { budget, largest: sizes.max().unwrap_or(1).max(1) }
    }

    /// Returns the number of runs in parallel: `wanted`, or a smaller number if memory is short.
    fn parallel_runs(&self, wanted: usize) -> usize {
        wanted.min((self.budget.bytes / self.largest) as usize).max(1)
    }

    fn threads(&self, parallel: usize) -> NonZero<usize> {
        NonZero::new((self.budget.bytes / self.largest) as usize / parallel).unwrap_or(NonZero::<usize>::MIN)
    }
}

/// Executes a job, and sets `used` to the number of threads of its run.
fn attempt(
    job: &Job,
    place: &RunResources<'_>,
    used: &mut NonZero<usize>,
    go_on: &mut dyn FnMut(&Progress) -> bool,
) -> Result<Finished, RunError> {
    if let Some(start) = &job.loaded.warm_up {
        return warm_up::run(job, start, place.starts, place.verify, go_on);
    }
    let (wall, cpu) = (Instant::now(), ThreadTime::now());
    let mut simulation = Simulation::new(&job.loaded.scenario)?;
    simulation.set_verify(place.verify);
    let head = header(&job.loaded, simulation.classes())?;
    let mut writer = RunWriter::create(&job.dir, head)?;
    let threads = place.threads.count(&simulation, &job.loaded.scenario).min(place.most_threads);
    *used = threads;
    let totals = simulation.run_on(threads, &job.loaded.scenario, &mut writer, go_on)?;
    // Threads of one run spin while waiting, so the CPU time is the number of threads times the
    // elapsed time.
    let cpu_seconds = match threads.get() {
        1 => cpu.elapsed().as_secs_f64(),
        threads => threads as f64 * wall.elapsed().as_secs_f64(),
    };
    let timing = Timing {
        cpu_seconds: Some(cpu_seconds),
        wall_seconds: wall.elapsed().as_secs_f64(),
        packet_hops_per_cpu_second: Some(totals.packet_hops as f64 / cpu_seconds),
        peak_rss_bytes: None,
    };
    writer.finish(&totals, job.caveats.clone(), Some(&timing))?;
    Ok(Finished { packet_hops: totals.packet_hops, cpu_seconds })
}

/// Whether the run in `dir` has the scenario and the inputs of `loaded`.
#[must_use]
pub fn has_stored(dir: &Path, loaded: &Loaded) -> bool {
    let is = |name: &str, content: &[u8]| fs::read(dir.join(name)).is_ok_and(|stored| stored == content);
    is(bufferlab_results::SCENARIO_FILE, loaded.resolved.as_bytes())
        && loaded.inputs.iter().all(|input| is(&input.name, &input.content))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job(folder: &Path, seed: u64, buffer: &str) -> Job {
        let scenario = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios/star-incast.toml");
        let overrides = [("duration", "1 ms"), ("seed", &seed.to_string()), ("switch.buffer", buffer)];
        let overrides = overrides.map(|(key, value)| (key.to_owned(), value.to_owned()));
        let loaded = bufferlab_scenario::load(&scenario, &overrides).expect("it loads");
        Job { loaded, dir: folder.join(seed.to_string()), caveats: Vec::new() }
    }

    #[test]
    fn there_are_never_more_threads_than_runs() {
        let folder = tempfile::tempdir().expect("a folder");
        let jobs = [job(folder.path(), 1, "1 MB"), job(folder.path(), 2, "1 MB")];
        for (asked, given) in [(1, 1), (2, 2), (1_000_000, 2)] {
            let how = Execution { jobs: NonZero::new(asked), ..Execution::default() };
            let threads = execute_then(&jobs, &how, &Unwatched, |_, _| rayon::current_num_threads());
            assert_eq!(threads.expect("threads start"), [given; 2]);
            jobs.iter().for_each(|job| fs::remove_dir_all(&job.dir).expect("removable"));
        }
    }

    #[test]
    fn what_is_done_with_a_run_is_done_while_its_tables_are_there_and_answered_in_its_place() {
        let folder = tempfile::tempdir().expect("a folder");
        let jobs =
            [(1, "1 MB"), (2, "2 MB"), (3, "3 MB")].map(|(seed, buffer)| job(folder.path(), seed, buffer));
        // A file is at the path of the second run's folder, so the second run has no result.
        fs::write(&jobs[1].dir, "in the way").expect("writable");
        let how = Execution { jobs: NonZero::new(2), ..Execution::default() };
        let answers = execute_then(&jobs, &how, &Unwatched, |index, result| {
            let there = jobs[index].dir.join(bufferlab_results::MANIFEST_FILE).is_file();
            if there {
                fs::remove_dir_all(&jobs[index].dir).expect("removable");
            }
            (index, there, result.is_ok())
        });
        let answers = answers.expect("threads start");
        assert_eq!(answers, [(0, true, true), (1, false, false), (2, true, true)]);
        assert!(!jobs[0].dir.exists() && !jobs[2].dir.exists());
    }
}
