//! Runs that the caller advances step by step, changes and copies.

use crate::header::header;
use crate::memory::{fits_into, memory_budget};
use crate::{Finished, Job, RunError};
use bufferlab_core::ParamValue;
use bufferlab_metrics::{CompletedQueries, RowLog};
use bufferlab_results::{RunCaveat, RunWriter, Timing};
use bufferlab_scenario::Loaded;
use bufferlab_sim::{Event, NewFlow, Progress, SimError, Simulation};
use bufferlab_units::{BitRate, Time};
use cpu_time::{ProcessTime, ThreadTime};
use std::time::Instant;

/// A run on one thread that its caller advances. Its rows stay in memory until [`Self::finish`].
///
/// A run without changes writes the bytes that [`crate::execute_one`] writes.
pub struct SteppedRun {
    loaded: Loaded,
    simulation: Simulation,
    rows: RowLog,
    /// Changes of the run by the caller, one line of text per change.
    changes: Vec<String>,
    started: (Instant, ProcessTime),
}

impl std::fmt::Debug for SteppedRun {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SteppedRun").field("now", &self.simulation.now()).finish_non_exhaustive()
    }
}

impl SteppedRun {
    /// Creates a run: builds the network of the scenario.
    ///
    /// # Errors
    /// If the scenario cannot run or does not fit in memory.
    pub fn new(loaded: Loaded) -> Result<Self, RunError> {
        fits_into(&loaded.scenario, memory_budget())?;
        let started = (Instant::now(), ProcessTime::now());
        let simulation = Simulation::new(&loaded.scenario)?;
        Ok(Self { loaded, simulation, rows: RowLog::default(), changes: Vec::new(), started })
    }

    /// Returns the simulation for inspection by the caller.
    #[must_use]
    pub const fn simulation(&self) -> &Simulation {
        &self.simulation
    }

    /// Queries that are complete at the present time.
    #[must_use]
    pub fn completed_queries(&self) -> CompletedQueries {
        self.rows.completed_queries()
    }

    /// Returns the scenario with which the run began.
    #[must_use]
    pub const fn loaded(&self) -> &Loaded {
        &self.loaded
    }

    /// Handles all events until `time` (included): [`Simulation::run_until`].
    ///
    /// # Errors
    /// If the run fails, or `go_on` returns `false`.
    pub fn run_until(
        &mut self,
        time: Time,
        go_on: &mut dyn FnMut(&Progress) -> bool,
    ) -> Result<(), RunError> {
        Ok(self.simulation.run_until(time, &mut self.rows, go_on)?)
    }

    /// Handles the next `count` events: [`Simulation::step`].
    ///
    /// # Errors
    /// If the run fails, or `go_on` returns `false`.
    pub fn step(&mut self, count: u64, go_on: &mut dyn FnMut(&Progress) -> bool) -> Result<(), RunError> {
        Ok(self.simulation.step(count, &mut self.rows, go_on)?)
    }

    /// Returns a copy of the run, which continues exactly like the run itself:
    /// [`Simulation::fork`].
    ///
    /// # Errors
    /// If a custom policy or workload cannot be copied.
    pub fn fork(&self) -> Result<Self, RunError> {
        let (loaded, rows, changes) = (self.loaded.clone(), self.rows.clone(), self.changes.clone());
        Ok(Self { loaded, simulation: self.simulation.fork()?, rows, changes, started: self.started })
    }

    /// Changes the policy of a switch: [`Simulation::set_policy`].
    ///
    /// # Errors
    /// If the policy does not fit the switch.
    pub fn set_policy(
        &mut self,
        switch: usize,
        name: &str,
        params: &[(String, ParamValue)],
    ) -> Result<(), RunError> {
        self.simulation.set_policy(switch, name, params)?;
        let params: Vec<_> = params.iter().map(|(name, value)| format!("{name} = {value}")).collect();
        self.note(&format!("switch {switch}: policy {name}({})", params.join(", ")));
        Ok(())
    }

    /// Sets alpha of every queue of a switch: [`Simulation::set_alphas`].
    ///
    /// # Errors
    /// If an alpha is invalid or the switch is lossless.
    pub fn set_alphas(&mut self, switch: usize, alphas: &[f64]) -> Result<(), RunError> {
        self.simulation.set_alphas(switch, alphas)?;
        // A controller changes alphas thousands of times, so the results record only the first
        // change.
        let change = format!("switch {switch}: alphas from outside");
        if !self.changes.iter().any(|known| known.ends_with(&change)) {
            self.note(&change);
        }
        Ok(())
    }

    /// Starts a flow at the present simulated time: [`Simulation::start_flow_now`].
    ///
    /// # Errors
    /// If the flow is invalid.
    pub fn start_flow(&mut self, flow: NewFlow) -> Result<u64, RunError> {
        let number = self.simulation.start_flow_now(flow)?;
        let NewFlow { src, dst, size, class } = flow;
        self.note(&format!("flow {number}: {size} B of class {class} from host {src} to host {dst}"));
        Ok(number)
    }

    /// Sets a cable down or up: [`Simulation::set_cable`].
    ///
    /// # Errors
    /// If the network has no cable with this number.
    pub fn set_cable(&mut self, cable: usize, up: bool) -> Result<(), RunError> {
        if self.simulation.set_cable(cable, up)? {
            self.note(&format!("cable {cable} {}", if up { "up" } else { "down" }));
        }
        Ok(())
    }

    /// Handles the next event and describes it: [`Simulation::next_event`].
    ///
    /// # Errors
    /// If the run fails, or `go_on` returns `false`.
    pub fn next_event(
        &mut self,
        go_on: &mut dyn FnMut(&Progress) -> bool,
    ) -> Result<Option<Event>, RunError> {
        Ok(self.simulation.next_event(&mut self.rows, go_on)?)
    }

    /// Sets the rate of a cable in both directions: [`Simulation::set_rate`].
    ///
    /// # Errors
    /// If the network has no cable with this number, or cannot have this rate.
    pub fn set_rate(&mut self, cable: usize, rate: BitRate) -> Result<(), RunError> {
        self.simulation.set_rate(cable, rate)?;
        self.note(&format!("cable {cable} at {rate}"));
        Ok(())
    }

    /// Runs the simulation to its end and writes the folder of `job`. The scenario of `job` must be
    /// the scenario of this run.
    ///
    /// The scenario in the folder of a changed run begins with the changes, as comments. So no
    /// command takes the folder for a run of the scenario alone. The run also has a caveat.
    ///
    /// # Errors
    /// If the run fails, the folder cannot be written, or `go_on` returns `false`.
    pub fn finish(self, job: &Job, go_on: &mut dyn FnMut(&Progress) -> bool) -> Result<Finished, RunError> {
        let Self { mut loaded, simulation, rows, changes, started: (wall, cpu) } = self;
        let mut caveats = job.caveats.clone();
        loaded.variant.clone_from(&job.loaded.variant);
        if !changes.is_empty() {
            let lines: Vec<_> = changes.iter().map(|change| format!("# {change}\n")).collect();
            loaded.resolved = format!("# Changed during the run:\n{}{}", lines.concat(), loaded.resolved);
            caveats.push(RunCaveat {
                id: "changed-during-run".to_owned(),
                message: "the caller changed the run while it ran".to_owned(),
                advice: "the scenario alone does not give these results; scenario.toml lists the changes"
                    .to_owned(),
            });
        }
        let mut writer = RunWriter::create(&job.dir, header(&loaded, simulation.classes())?)?;
        rows.write_to(&mut writer).map_err(SimError::from)?;
        let totals = simulation.run_while(&mut writer, go_on)?;
        let cpu_seconds = cpu.elapsed().as_secs_f64();
        let timing = Timing {
            cpu_seconds: Some(cpu_seconds),
            wall_seconds: wall.elapsed().as_secs_f64(),
            packet_hops_per_cpu_second: Some(totals.packet_hops as f64 / cpu_seconds),
            peak_rss_bytes: None,
        };
        writer.finish(&totals, caveats, Some(&timing))?;
        Ok(Finished { packet_hops: totals.packet_hops, cpu_seconds })
    }

    /// Checks packet conservation and the ledger after every event: [`Simulation::set_verify`].
    pub(crate) fn set_verify(&mut self, verify: bool) {
        self.simulation.set_verify(verify);
    }

    /// Changes policies without a note, for a run whose scenario names the changes.
    pub(crate) fn exchange_policies(
        &mut self,
        change: impl FnOnce(&mut Simulation) -> Result<(), SimError>,
    ) -> Result<(), RunError> {
        Ok(change(&mut self.simulation)?)
    }

    /// Runs to the end and writes the folder of `job`, whose scenario names all changes of the run.
    /// The timing counts from `began`.
    pub(crate) fn finish_as(
        self,
        job: &Job,
        (wall, cpu): (Instant, ThreadTime),
        go_on: &mut dyn FnMut(&Progress) -> bool,
    ) -> Result<Finished, RunError> {
        let Self { simulation, rows, .. } = self;
        let earlier = simulation.progress().packet_hops;
        let mut writer = RunWriter::create(&job.dir, header(&job.loaded, simulation.classes())?)?;
        rows.write_to(&mut writer).map_err(SimError::from)?;
        let totals = simulation.run_while(&mut writer, go_on)?;
        let cpu_seconds = cpu.elapsed().as_secs_f64();
        let timing = Timing {
            cpu_seconds: Some(cpu_seconds),
            wall_seconds: wall.elapsed().as_secs_f64(),
            packet_hops_per_cpu_second: Some((totals.packet_hops - earlier) as f64 / cpu_seconds),
            peak_rss_bytes: None,
        };
        writer.finish(&totals, job.caveats.clone(), Some(&timing))?;
        Ok(Finished { packet_hops: totals.packet_hops, cpu_seconds })
    }

    fn note(&mut self, change: &str) {
        self.changes.push(format!("{}: {change}", self.simulation.now()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::execute_one;
    use bufferlab_results::TIMING_FILE;
    use std::fs;
    use std::path::Path;

    fn job(folder: &Path) -> Job {
        let scenario = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios/star-incast.toml");
        let overrides = [("duration".to_owned(), "2 ms".to_owned())];
        let loaded = bufferlab_scenario::load(&scenario, &overrides).expect("it loads");
        Job { loaded, dir: folder.to_owned(), caveats: Vec::new() }
    }

    /// Content of every file of a run except the file with its CPU time.
    fn files(dir: &Path) -> Vec<(String, Vec<u8>)> {
        let entries = fs::read_dir(dir).expect("readable").map(|entry| entry.expect("readable").path());
        let name = |path: &Path| path.file_name().expect("a name").to_string_lossy().into_owned();
        let mut files: Vec<_> = entries
            .filter(|path| name(path) != TIMING_FILE)
            .map(|path| (name(&path), fs::read(&path).expect("readable")))
            .collect();
        files.sort();
        files
    }

    #[test]
    fn a_stepped_run_writes_the_files_of_a_batch_run_and_a_changed_run_says_so() {
        let folder = tempfile::tempdir().expect("a folder");
        let dir = |name: &str| folder.path().join(name);
        execute_one(&job(&dir("batch")), false, &mut |_| true).expect("it runs");
        let mut run = SteppedRun::new(job(&dir("batch")).loaded).expect("it fits");
        for step in 1..9 {
            run.run_until(Time::from_us(150 * step), &mut |_| true).expect("it goes on");
            run.step(77, &mut |_| true).expect("it goes on");
        }
        let mut changed = run.fork().expect("dt can be copied");
        run.finish(&job(&dir("stepped")), &mut |_| true).expect("it ends");
        let batch = files(&dir("batch"));
        assert!(batch.len() > 8 && batch == files(&dir("stepped")));
        changed.set_policy(0, "cs", &[]).expect("it fits");
        changed.finish(&job(&dir("changed")), &mut |_| true).expect("it ends");
        assert!(!crate::has_stored(&dir("changed"), &job(&dir("changed")).loaded));
        let text = fs::read_to_string(dir("changed").join(bufferlab_results::SCENARIO_FILE)).expect("text");
        assert!(text.starts_with("# Changed during the run:\n# ") && text.contains("policy cs()"), "{text}");
    }
}
