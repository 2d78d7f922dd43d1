//! How are jobs executed, and what is there already?

use crate::head::head;
use crate::memory::{MemoryBudget, fits_into, memory_budget};
use crate::panic::{caught, run_in_words};
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

/// One run to be done.
#[derive(Clone, Debug)]
pub struct Job {
    /// What runs.
    pub loaded: Loaded,
    /// Where its results go; a finished run there is replaced.
    pub dir: PathBuf,
    /// To be checked before trusting its numbers.
    pub caveats: Vec<RunCaveat>,
}

/// How jobs are executed.
#[derive(Clone, Copy, Debug, Default)]
pub struct Execution {
    /// Runs at the same time; the number of cores if `None`.
    pub jobs: Option<NonZero<usize>>,
    /// Threads of every run, where its network can be divided ([`Simulation::needs_one_thread`]);
    /// its tables are the same. `None`: the cores that no other run needs, for networks of at least
    /// [`AUTOMATIC_HOSTS`] hosts. Policies that know of the thread that built them need one.
    pub threads: Option<NonZero<usize>>,
    /// Check packet conservation and the ledger after every event, not only at the end (slow).
    pub verify: bool,
}

/// A smaller network has so little to do between two meetings of its threads that nobody divides it
/// unasked.
pub const AUTOMATIC_HOSTS: usize = 64;

impl Execution {
    /// Runs at the same time, of so many.
    fn at_once(&self, runs: usize) -> usize {
        let cores = thread::available_parallelism().map_or(1, NonZero::get);
        self.jobs.map_or(cores, NonZero::get).min(runs).max(1)
    }

    /// Threads of each of the runs that go on at the same time.
    fn threads_of(&self, at_once: usize) -> ThreadsOfARun {
        let cores = thread::available_parallelism().map_or(1, NonZero::get);
        let idle = cores.saturating_sub(busy_elsewhere());
        let spare = NonZero::new(idle / at_once).unwrap_or(NonZero::<usize>::MIN);
        self.threads.map_or(ThreadsOfARun::AtMost(spare), ThreadsOfARun::Exactly)
    }
}

/// How many cores others use at this moment, where the system says so: threads of one run wait for
/// each other all the time, and are slower than one thread where they must share cores.
fn busy_elsewhere() -> usize {
    // The fourth word: threads that run or could run, this one included, of all.
    let text = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let running = text.split(' ').nth(3).and_then(|word| word.split('/').next()?.parse::<usize>().ok());
    running.map_or(0, |running| running.saturating_sub(1))
}

/// How many threads a run gets.
#[derive(Clone, Copy, Debug)]
enum ThreadsOfARun {
    Exactly(NonZero<usize>),
    /// In a network that is large enough.
    AtMost(NonZero<usize>),
}

impl ThreadsOfARun {
    fn count(self, simulation: &Simulation, scenario: &Scenario) -> NonZero<usize> {
        let one = NonZero::<usize>::MIN;
        let (threads, is_worth_it) = match self {
            Self::Exactly(threads) => (threads, true),
            Self::AtMost(threads) => (threads, scenario.topology.hosts.len() >= AUTOMATIC_HOSTS),
        };
        if is_worth_it && simulation.needs_one_thread(scenario).is_none() { threads } else { one }
    }
}

/// Receives the progress of runs, from several threads at once.
pub trait Watcher: Sync {
    /// Job `index` has come this far.
    fn update(&self, index: usize, progress: &Progress);
    /// Job `index` is complete.
    fn complete(&self, index: usize, packet_hops: u64);
    /// Does the work of a job on its thread: calls `work` once. A policy in another language does
    /// here what it needs around a whole run.
    fn around(&self, _index: usize, work: &mut dyn FnMut()) {
        work();
    }
    /// Whether runs go on; called often. Once it has returned `false`, it does so for every job.
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

/// Ignores progress.
#[derive(Clone, Copy, Debug, Default)]
pub struct Unwatched;

impl Watcher for Unwatched {
    fn update(&self, _: usize, _: &Progress) {}
    fn complete(&self, _: usize, _: u64) {}
}

/// What a finished run was.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Finished {
    /// Packets that crossed a link.
    pub packet_hops: u64,
    /// CPU time of the run (s).
    pub cpu_seconds: f64,
}

/// Does all jobs, several at a time. The result of a job depends on the job alone, not on the
/// others.
///
/// Returns the outcome of each job, in their order.
///
/// # Errors
/// If threads cannot be started; the error of a job is in its place of the result.
pub fn execute(
    jobs: &[Job],
    how: &Execution,
    watcher: &dyn Watcher,
) -> Result<Vec<Result<Finished, RunError>>, RunError> {
    execute_then(jobs, how, watcher, |_, result| result)
}

/// Does all jobs as [`execute`] does. After each job, and before the next one on the same thread,
/// `then` is called with the index of the job and its outcome; its results are returned. So a front
/// end that keeps little of a run frees memory early.
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
    // More threads than jobs would only wait for one another.
    let at_once = room.at_once(how.at_once(jobs.len()));
    let pool = rayon::ThreadPoolBuilder::new().num_threads(at_once).build()?;
    let threads = how.threads_of(at_once);
    let place =
        Place { budget: room.budget, threads, most_threads: room.threads(at_once), verify: how.verify };
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
    // One at a time: the next job goes to an idle thread, so that a long one at the end of a
    // thread's share delays no other.
    Ok(pool.install(|| jobs.par_iter().enumerate().with_max_len(1).map(work).collect()))
}

/// Does one job on this thread; `go_on` receives its progress, and ends it by returning `false`.
///
/// # Errors
/// If the scenario cannot run, the folder cannot be written, or `go_on` returns `false`; then the
/// folder is as it was before.
pub fn execute_one(
    job: &Job,
    verify: bool,
    go_on: &mut dyn FnMut(&Progress) -> bool,
) -> Result<Finished, RunError> {
    let one = NonZero::<usize>::MIN;
    let threads = ThreadsOfARun::Exactly(one);
    run_one(job, &Place { budget: memory_budget(), threads, most_threads: one, verify }, go_on)
}

/// Does a job, unless it does not fit. Its outcome is that of one thread, whatever happens to
/// several.
fn run_one(job: &Job, place: &Place, go_on: &mut dyn FnMut(&Progress) -> bool) -> Result<Finished, RunError> {
    fits_into(&job.loaded.scenario, place.budget)?;
    let mut used = NonZero::<usize>::MIN;
    let attempt = attempt_caught(job, place, &mut used, go_on);
    match attempt {
        Err(error) if used.get() > 1 && error.may_depend_on_threads() => {
            let threads = ThreadsOfARun::Exactly(NonZero::<usize>::MIN);
            attempt_caught(job, &Place { threads, ..*place }, &mut used, go_on)
        }
        outcome => outcome,
    }
}

/// Does a job; a panic is an error of it alone.
fn attempt_caught(
    job: &Job,
    place: &Place,
    used: &mut NonZero<usize>,
    go_on: &mut dyn FnMut(&Progress) -> bool,
) -> Result<Finished, RunError> {
    caught(|| attempt(job, place, used, go_on)).unwrap_or_else(|panicked| {
        Err(RunError::Panicked(Box::new(Panicked { run: run_in_words(&job.loaded), ..panicked })))
    })
}

/// Where runs are done.
#[derive(Clone, Copy, Debug)]
struct Place {
    budget: MemoryBudget,
    threads: ThreadsOfARun,
    /// Every thread of a run has the whole network: there is memory for this many.
    most_threads: NonZero<usize>,
    verify: bool,
}

/// Memory for several runs.
struct Room {
    budget: MemoryBudget,
    /// What the largest run takes that fits (bytes).
    largest: u64,
}

impl Room {
    fn new<'a>(scenarios: impl Iterator<Item = &'a Scenario>) -> Self {
        let budget = memory_budget();
        let sizes = scenarios.filter_map(|scenario| fits_into(scenario, budget).ok());
        Self { budget, largest: sizes.max().unwrap_or(1).max(1) }
    }

    /// Runs at the same time: as many as are wanted, or as have room.
    fn at_once(&self, wanted: usize) -> usize {
        wanted.min((self.budget.bytes / self.largest) as usize).max(1)
    }

    fn threads(&self, at_once: usize) -> NonZero<usize> {
        NonZero::new((self.budget.bytes / self.largest) as usize / at_once).unwrap_or(NonZero::<usize>::MIN)
    }
}

/// Does a job; `used` is set to the threads that it gets.
fn attempt(
    job: &Job,
    place: &Place,
    used: &mut NonZero<usize>,
    go_on: &mut dyn FnMut(&Progress) -> bool,
) -> Result<Finished, RunError> {
    let (wall, cpu) = (Instant::now(), ThreadTime::now());
    let mut simulation = Simulation::new(&job.loaded.scenario)?;
    simulation.set_verify(place.verify);
    let head = head(&job.loaded, simulation.classes())?;
    let mut writer = RunWriter::create(&job.dir, head)?;
    let threads = place.threads.count(&simulation, &job.loaded.scenario).min(place.most_threads);
    *used = threads;
    let totals = simulation.run_on(threads, &job.loaded.scenario, &mut writer, go_on)?;
    // Threads of one run wait for each other without leaving their cores.
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

/// Whether the run at `dir` ran what `loaded` says.
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
        // A file where a folder should be: the second run has no result.
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
