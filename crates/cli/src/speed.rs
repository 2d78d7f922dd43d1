//! The command `bench` measures the engine's speed on a scenario.
//! All metrics are computed and no results are written.

use crate::args::BenchArgs;
use crate::execute::load;
use crate::records::json;
use crate::{error, inform, print};
use bufferlab_metrics::{RunSink, RunTotals};
use bufferlab_report::format::readable;
use bufferlab_scenario::Scenario;
use bufferlab_sim::Simulation;
use cpu_time::ThreadTime;
use schemars::{JsonSchema, Schema, schema_for};
use serde::Serialize;
use std::path::Path;
use std::time::Instant;

/// A sink of results that ignores every row.
#[derive(Debug, Default)]
pub(crate) struct Forget;

impl RunSink for Forget {}

/// Prints why the run uses one thread although `--threads` requests several threads.
fn say_if_undivided(args: &BenchArgs, scenario: &Scenario, path: &Path) -> miette::Result<()> {
    if args.threads.get() > 1 {
        let simulation = Simulation::new(scenario).map_err(|e| error::simulation(path, e))?;
        if let Some(why) = simulation.needs_one_thread(scenario) {
            inform(&format!("one thread, although --threads asks for more: {why}"));
        }
    }
    Ok(())
}

/// JSON output of `bufferlab bench`.
#[derive(Serialize, JsonSchema)]
#[schemars(title = "bufferlab bench")]
struct BenchFile {
    /// Name of the output format: `bufferlab-bench`.
    format: &'static str,
    /// Version of the output format: 1.
    format_version: u32,
    /// Name of the scenario.
    name: String,
    hosts: usize,
    flows: u64,
    /// Simulated time of the run (ns).
    simulated_ns: u64,
    packet_hops: u64,
    events: u64,
    /// Largest number of packets that exist at one time in the simulation.
    peak_packets: u64,
    /// Largest number of flows that exist at one time in the simulation.
    peak_flows: u64,
    /// Number of threads that the user requested.
    threads: usize,
    /// Clock of the measurement. The value `cpu` means the CPU time of the only thread. The value
    /// `wall` means the elapsed time, with several threads.
    clock: &'static str,
    /// Time of every repetition, the fastest repetition first (s).
    seconds: Vec<f64>,
    /// Speed of the median repetition (packet-hops per second).
    packet_hops_per_second: f64,
    /// Median time for building the network (s).
    built_seconds: f64,
    /// Largest memory of the process (MB). The value is null if the operating system does not
    /// report it.
    peak_resident_mb: Option<u64>,
}

/// Returns the JSON schema of `bench --json`.
pub(crate) fn schema() -> Schema {
    schema_for!(BenchFile)
}

/// Executes the command `bench`.
pub(crate) fn bench(args: &BenchArgs) -> miette::Result<()> {
    let loaded = load(&args.scenario)?;
    say_if_undivided(args, &loaded.scenario, args.scenario.file())?;
    let measured = measure(args, &loaded.scenario)?;
    if args.json { json(&measured) } else { print(&readable(&in_words(&measured))) }
}

fn measure(args: &BenchArgs, scenario: &Scenario) -> miette::Result<BenchFile> {
    let path = args.scenario.file();
    let is_one = args.threads.get() == 1;
    let (mut seconds, mut built) = (Vec::new(), Vec::new());
    let mut totals = RunTotals::default();
    for _ in 0..args.runs.get() {
        let begun = Instant::now();
        let simulation = Simulation::new(scenario).map_err(|e| error::simulation(path, e))?;
        built.push(begun.elapsed().as_secs_f64());
        let (start, wall) = (ThreadTime::now(), Instant::now());
        let ran = simulation.run_on(args.threads, scenario, &mut Forget, &mut |_| true);
        totals = ran.map_err(|e| error::simulation(path, e))?;
        // With several threads, the CPU time of one thread has no meaning.
        let elapsed = if is_one { start.elapsed() } else { wall.elapsed() };
        seconds.push(elapsed.as_secs_f64());
    }
    seconds.sort_by(f64::total_cmp);
    built.sort_by(f64::total_cmp);
    Ok(BenchFile {
        format: "bufferlab-bench",
        format_version: 1,
        name: scenario.name.clone(),
        hosts: scenario.topology.hosts.len(),
        flows: totals.flows,
        simulated_ns: totals.end_ns,
        packet_hops: totals.packet_hops,
        events: totals.events,
        peak_packets: totals.peak_packets,
        peak_flows: totals.peak_flows,
        threads: args.threads.get(),
        clock: if is_one { "cpu" } else { "wall" },
        packet_hops_per_second: totals.packet_hops as f64 / seconds[seconds.len() / 2],
        built_seconds: built[built.len() / 2],
        seconds,
        peak_resident_mb: peak_resident_mb(),
    })
}

fn in_words(measured: &BenchFile) -> String {
    let rate = |s: f64| measured.packet_hops as f64 / s / 1e6;
    let (seconds, is_cpu) = (&measured.seconds, measured.clock == "cpu");
    format!(
        "scenario {}: {} hosts, {} ms simulated, {} flows\n\
         {} packet-hops, {:.2} events per packet-hop; at most {} packets and {} flows alive\n\
         {:.2} M packet-hops per {} second (median of {}; fastest {:.2}), {:.3} s{}\n\
         built in {:.4} s{}\n",
        measured.name,
        measured.hosts,
        measured.simulated_ns as f64 / 1e6,
        measured.flows,
        measured.packet_hops,
        measured.events as f64 / measured.packet_hops as f64,
        measured.peak_packets,
        measured.peak_flows,
        rate(seconds[seconds.len() / 2]),
        if is_cpu { "CPU" } else { "wall clock" },
        seconds.len(),
        rate(seconds[0]),
        seconds[seconds.len() / 2],
        if is_cpu { " of CPU" } else { "" },
        measured.built_seconds,
        measured.peak_resident_mb.map_or_else(String::new, |mb| format!("; {mb} MB resident at most")),
    )
}

/// Largest memory of this process (MB); `None` if the operating system does not report the memory.
fn peak_resident_mb() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok().map(|kb| kb.div_ceil(1_024))
}
