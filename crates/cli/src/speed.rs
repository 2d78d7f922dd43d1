//! `bench`: how fast the engine is on a scenario, with every metric on and nothing written.

use crate::args::BenchArgs;
use crate::execute::load;
use crate::{error, inform, print};
use bufferlab_metrics::{RunSink, RunTotals};
use bufferlab_scenario::Scenario;
use bufferlab_sim::Simulation;
use cpu_time::ThreadTime;
use std::path::Path;
use std::time::Instant;

/// Takes rows and forgets them.
#[derive(Debug, Default)]
pub(crate) struct Forget;

impl RunSink for Forget {}

/// Whether several threads make a difference.
fn say_if_undivided(args: &BenchArgs, scenario: &Scenario, path: &Path) -> miette::Result<()> {
    if args.threads.get() > 1 {
        let simulation = Simulation::new(scenario).map_err(|e| error::simulation(path, e))?;
        if let Some(why) = simulation.needs_one_thread(scenario) {
            inform(&format!("one thread, although --threads asks for more: {why}"));
        }
    }
    Ok(())
}

/// `bench`.
pub(crate) fn bench(args: &BenchArgs) -> miette::Result<()> {
    let loaded = load(&args.scenario)?;
    let path = args.scenario.file();
    say_if_undivided(args, &loaded.scenario, path)?;
    let (mut seconds, mut built) = (Vec::new(), Vec::new());
    let mut totals = RunTotals::default();
    for _ in 0..args.runs.get() {
        let begun = Instant::now();
        let simulation = Simulation::new(&loaded.scenario).map_err(|e| error::simulation(path, e))?;
        built.push(begun.elapsed().as_secs_f64());
        let (start, wall) = (ThreadTime::now(), Instant::now());
        let ran = simulation.run_on(args.threads, &loaded.scenario, &mut Forget, &mut |_| true);
        totals = ran.map_err(|e| error::simulation(path, e))?;
        // The time of one thread says nothing of several.
        let elapsed = if args.threads.get() == 1 { start.elapsed() } else { wall.elapsed() };
        seconds.push(elapsed.as_secs_f64());
    }
    seconds.sort_by(f64::total_cmp);
    built.sort_by(f64::total_cmp);
    let rate = |s: f64| totals.packet_hops as f64 / s / 1e6;
    print(&format!(
        "scenario {}: {} hosts, {} ms simulated, {} flows\n\
         {} packet-hops, {:.2} events per packet-hop; at most {} packets and {} flows alive\n\
         {:.2} M packet-hops per {} second (median of {}; fastest {:.2}), {:.3} s{}\n\
         built in {:.4} s{}\n",
        loaded.scenario.name,
        loaded.scenario.topology.hosts.len(),
        totals.end_ns as f64 / 1e6,
        totals.flows,
        totals.packet_hops,
        totals.events as f64 / totals.packet_hops as f64,
        totals.peak_packets,
        totals.peak_flows,
        rate(seconds[seconds.len() / 2]),
        if args.threads.get() == 1 { "CPU" } else { "wall clock" },
        seconds.len(),
        rate(seconds[0]),
        seconds[seconds.len() / 2],
        if args.threads.get() == 1 { " of CPU" } else { "" },
        built[built.len() / 2],
        peak_resident_mb().map_or_else(String::new, |mb| format!("; {mb} MB resident at most")),
    ))
}

/// The most memory that this process has had (MB), where the system says so.
fn peak_resident_mb() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok().map(|kb| kb.div_ceil(1_024))
}
