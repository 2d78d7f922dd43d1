//! A repeatable benchmark: a fixed set of runs, as a page and as data.
//!
//! Each run rewrites the page (`docs/evidence/benchmark.md`), which names the machine. It appends
//! lines to the data (`xtask/bench.csv`), so earlier measurements stay. Times depend on the machine
//! and the hour: compare lines of one command.

use crate::python::Build;
use crate::{ci, output, read, root};
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::Command;

const PAGE: &str = "docs/evidence/benchmark.md";
const DATA: &str = "xtask/bench.csv";

/// A run of the set: its purpose, its scenario, changed keys.
type Entry = (&'static str, &'static str, &'static [&'static str]);

const SET: &[Entry] = &[
    ("permutation, 128 hosts, DCTCP", "permutation", &[]),
    ("the same, Cubic", "permutation", &["transport.0.congestion_control=\"cubic\""]),
    (
        "the same, HPCC",
        "permutation",
        &["transport.0.congestion_control=\"hpcc\"", "transport.0.initial_window=\"bdp\""],
    ),
    ("web search and incast, 64 hosts, DT", "abm-reduced", &["duration=\"100 ms\""]),
    ("the same, ABM", "abm-reduced", &["duration=\"100 ms\"", "switch.policy=\"abm\""]),
    ("the same, LossPass", "abm-reduced", &["duration=\"100 ms\"", "switch.policy=\"losspass\""]),
    ("the same, LQD", "abm-reduced", &["duration=\"100 ms\"", "switch.policy=\"lqd\""]),
    ("RDMA and PFC beside Cubic, 64 hosts", "reverie-reduced", &["duration=\"30 ms\""]),
    ("paper scale, 256 hosts", "abm-full", &["duration=\"60 ms\""]),
    ("fat tree, 1,024 hosts", "fat-tree", &["topology.k=16", "duration=\"3 ms\""]),
    ("fat tree, 3,456 hosts", "fat-tree", &["topology.k=24", "duration=\"1 ms\""]),
    ("fat tree, 8,192 hosts", "fat-tree", &["topology.k=32", "duration=\"1 ms\""]),
    (
        "leaves and spines, 10,000 hosts",
        "abm-reduced",
        &[
            "topology.leaves=250",
            "topology.hosts_per_leaf=40",
            "topology.spines=16",
            "topology.links_per_pair=1",
            "duration=\"1 ms\"",
        ],
    ),
];

/// Output of a run.
struct Measured {
    hosts: String,
    packet_hops: u64,
    /// Millions of packet-hops per second: median and maximum.
    rate: [f64; 2],
    built_seconds: f64,
    resident_mb: u64,
}

/// Runs the set, each entry `runs` times, writes the page and appends to the data.
///
/// # Errors
/// If a run fails, or its output cannot be parsed.
pub fn run(runs: u32) -> Result<(), String> {
    let program = ci::program(Build::Release)?;
    let commit = text(Command::new("git").args(["log", "-1", "--format=%h"]).current_dir(root()))?;
    let date = text(Command::new("date").arg("+%F"))?;
    let compiler = text(Command::new("rustc").arg("--version"))?;
    let mut rows = String::new();
    let mut data = read(DATA)?;
    for &(title, scenario, settings) in SET {
        for threads in [1, 2] {
            let measured = measure(&program, scenario, settings, runs, threads)?;
            let Measured { hosts, packet_hops, rate: [median, fastest], built_seconds, resident_mb } =
                measured;
            println!("{title}, {threads} thread(s): {median:.2} M packet-hops per second");
            let _ = writeln!(
                rows,
                "| {title} | {hosts} | {threads} | {packet_hops} | {median:.2} | {fastest:.2} | {built_seconds:.3} | {resident_mb} |"
            );
            let _ = writeln!(
                data,
                "{date},{commit},\"{title}\",{threads},{packet_hops},{median:.3},{fastest:.3},{built_seconds:.4},{resident_mb}"
            );
        }
    }
    let page = page(&date, &commit, &compiler, runs, &rows);
    fs::write(root().join(PAGE), page).map_err(|error| format!("{PAGE}: {error}"))?;
    fs::write(root().join(DATA), data).map_err(|error| format!("{DATA}: {error}"))
}

fn page(date: &str, commit: &str, compiler: &str, runs: u32, rows: &str) -> String {
    format!(
        "# Benchmark\n\n\
         Written by `cargo xtask bench`; earlier measurements are in [`xtask/bench.csv`](../../xtask/bench.csv). Medians of {runs} runs on {date}, commit {commit}, {compiler},\n{}.\n\n\
         The unit is the packet-hop ([performance](performance.md)); one thread: per second of its CPU; two: per second of wall-clock time. A run that cannot be divided is shown on one thread twice. Instructions per packet-hop\n\
         are recorded apart ([`xtask/instructions.csv`](../../xtask/instructions.csv)), because they do not depend on the machine.\n\n\
         | run | hosts | threads | packet-hops | M packet-hops per second | fastest | built in (s) | resident (MB) |\n|---|--:|--:|--:|--:|--:|--:|--:|\n{rows}\n\
         The permutation is a list of flows that any simulator can read: [`permutation-flows.csv`](../../scenarios/permutation-flows.csv), a flow per line with its source, destination, size (bytes) and start (ns). A twin has 8 leaves of 16 hosts and 16\n\
         spines, 10 Gb/s and 1 us on every cable, packets of 1,400 B of payload, and marks at the threshold of the [scenario](../../scenarios/permutation.toml).\n",
        machine()
    )
}

/// The processor and its cores, as the system names them.
fn machine() -> String {
    let info = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = info.lines().find_map(|line| line.strip_prefix("model name")?.split_once(':'));
    let model = model.map_or("an unknown processor", |(_, name)| name.trim());
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let load = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let load = load.split(' ').next().unwrap_or("?").to_owned();
    format!("{model}, {cores} cores, with a load of {load} when it ended")
}

fn measure(
    program: &Path,
    scenario: &str,
    settings: &[&str],
    runs: u32,
    threads: u32,
) -> Result<Measured, String> {
    let mut bench = Command::new(program);
    bench.current_dir(root()).args([
        "bench",
        &format!("scenarios/{scenario}.toml"),
        "--runs",
        &runs.to_string(),
    ]);
    bench
        .args(["--threads", &threads.to_string()])
        .args(settings.iter().flat_map(|setting| ["--set", setting]));
    let printed = text(&mut bench)?;
    parsed(&printed).ok_or_else(|| format!("{bench:?} printed what cannot be read:\n{printed}"))
}

/// Parses the output of `bench`.
fn parsed(printed: &str) -> Option<Measured> {
    let before = |mark: &str| printed.split_once(mark)?.0.split_whitespace().last().map(str::to_owned);
    let after = |mark: &str| {
        let rest = printed.split_once(mark)?.1.trim_start();
        rest.split(|c: char| !c.is_ascii_digit() && c != '.').next().map(str::to_owned)
    };
    Some(Measured {
        hosts: before(" hosts,")?,
        packet_hops: before(" packet-hops,")?.replace(',', "").parse().ok()?,
        rate: [before(" M packet-hops per")?.parse().ok()?, after("fastest ")?.parse().ok()?],
        built_seconds: after("built in ")?.parse().ok()?,
        resident_mb: before(" MB resident")?.parse().ok()?,
    })
}

fn text(command: &mut Command) -> Result<String, String> {
    output(command).map(|bytes| String::from_utf8_lossy(&bytes).trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_bench_prints_is_read() {
        let printed = "scenario permutation: 128 hosts, 13 ms simulated, 128 flows\n\
                       7,315,456 packet-hops, 1.39 events per packet-hop; at most 5,017 packets and 128 flows alive\n\
                       6.76 M packet-hops per CPU second (median of 3; fastest 6.90), 1.083 s of CPU\n\
                       built in 0.0021 s; 12 MB resident at most\n";
        let Measured { hosts, packet_hops, rate, built_seconds, resident_mb } =
            parsed(printed).expect("it can be read");
        assert_eq!((hosts.as_str(), packet_hops, resident_mb), ("128", 7_315_456, 12));
        assert_eq!((rate, built_seconds), ([6.76, 6.90], 0.0021));
        assert!(parsed("nothing").is_none());
    }
}
