//! `explain --critical-path`: runs a scenario twice. The first run finds the critical paths, and
//! the second run follows the packets of the transfers on these paths.

use crate::args::ExplainArgs;
use crate::progress::Board;
use crate::{error, print};
use bufferlab_lab::{Watcher, fits, schedules};
use bufferlab_metrics::{FlowRow, PacketRow, PathRow, PauseSpanRow, RunSink, RunTotals};
use bufferlab_report::{CriticalPath, PathTracer, critical_paths_json, slowest};
use bufferlab_results::NameTables;
use bufferlab_scenario::{RecordedSwitches, Scenario};
use bufferlab_sim::Simulation;
use miette::{IntoDiagnostic, miette};
use std::io;
use std::path::Path;

/// Collects the rows of a run's critical paths.
#[derive(Default)]
struct Paths(Vec<PathRow>);

impl RunSink for Paths {
    fn path(&mut self, row: &PathRow) -> io::Result<()> {
        self.0.push(row.clone());
        Ok(())
    }
}

/// Collects the flows, pauses and packets of critical paths.
struct Tracers(Vec<PathTracer>);

impl RunSink for Tracers {
    fn flow(&mut self, row: &FlowRow) -> io::Result<()> {
        self.0.iter_mut().for_each(|tracer| tracer.flow(row));
        Ok(())
    }
    fn pause_span(&mut self, row: &PauseSpanRow) -> io::Result<()> {
        self.0.iter_mut().for_each(|tracer| tracer.pause(row));
        Ok(())
    }
    fn packet(&mut self, row: &PacketRow) -> io::Result<()> {
        self.0.iter_mut().for_each(|tracer| tracer.packet(row));
        Ok(())
    }
}

/// Explains the critical path of the slowest iteration of every schedule, or of one iteration.
pub(super) fn explain(args: &ExplainArgs, file: &Path, scenario: &Scenario) -> miette::Result<()> {
    fits(scenario).map_err(|why| error::run(file, &why))?;
    let mut found = Paths::default();
    run(scenario, file, &mut found)?;
    let paths = slowest(found.0, args.iteration);
    if paths.is_empty() {
        let help = "add a [[workload]] of the kind \"collective\" or \"schedule\", choose another --iteration, or a longer \
                    duration or drain";
        return Err(miette!(help = help, "the run completes no such iteration of a schedule"));
    }
    let mut recorded = scenario.clone();
    recorded.output.packets = Some(RecordedSwitches::All);
    let names = NameTables {
        switches: scenario.topology.switches.clone(),
        hosts: scenario.topology.hosts.clone(),
        ..NameTables::default()
    };
    let tracers = paths.into_iter().map(|path| PathTracer::new(path, names.clone())).collect();
    let mut tracers = Tracers(tracers);
    run(&recorded, file, &mut tracers)?;
    let paths: Vec<CriticalPath> = tracers.0.into_iter().filter_map(PathTracer::finish).collect();
    if args.json {
        return print(&critical_paths_json(&paths).into_diagnostic()?);
    }
    let names = schedules(scenario);
    let text = |path: &CriticalPath| {
        let sentences = path.sentences(&names[path.schedule as usize]);
        format!("{}\n\n{}", sentences.join("\n"), path.table())
    };
    print(&paths.iter().map(text).collect::<Vec<_>>().join("\n"))
}

fn run(scenario: &Scenario, file: &Path, sink: &mut dyn RunSink) -> miette::Result<RunTotals> {
    let simulation = Simulation::new(scenario).map_err(|e| error::simulation(file, e))?;
    let board = Board::new(1);
    let done = simulation.run(sink, &mut |progress| board.update(0, progress));
    board.clear();
    done.map_err(|e| error::simulation(file, e))
}
