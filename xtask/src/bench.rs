//! Runs a repeatable benchmark: a fixed set of simulation runs. The results are a page and a data
//! file.
//!
//! Each call of the benchmark rewrites the page (`docs/evidence/benchmark.md`), which names the
//! machine. The benchmark appends lines to the data file (`xtask/bench.csv`), so earlier
//! measurements stay. Times depend on the machine and its load: compare only lines of one command.

mod peer;

pub use peer::run as beside;

use crate::program::{self, Build};
use crate::{output, read, root};
use serde::Deserialize;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::Command;

const PAGE: &str = "docs/evidence/benchmark.md";
const DATA: &str = "xtask/bench.csv";

/// An entry of the benchmark: its purpose, its scenario and the changed scenario keys.
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

/// The fields of the output of `bench --json` that this module reads.
#[derive(Debug, Deserialize)]
pub(crate) struct Measured {
    hosts: u64,
    pub(crate) packet_hops: u64,
    /// Duration of every repetition of the benchmark's run (s), the shortest duration first.
    seconds: Vec<f64>,
    /// Rate of the median repetition of the benchmark (packet-hops per second).
    packet_hops_per_second: f64,
    /// Median time for building the simulated network (s).
    built_seconds: f64,
    /// Peak memory of the process (MB); `None` if the operating system does not report the peak.
    peak_resident_mb: Option<u64>,
}

impl Measured {
    /// Returns the median and the largest rate of the repetitions (millions of packet-hops per
    /// second).
    fn rates(&self) -> [f64; 2] {
        let fastest = self.seconds.first().map_or(f64::NAN, |seconds| self.packet_hops as f64 / seconds);
        [self.packet_hops_per_second / 1e6, fastest / 1e6]
    }
}

/// Runs each entry of the benchmark `runs` times, writes the page and appends to the data file.
///
/// # Errors
/// If a benchmark run fails, or its output cannot be parsed.
pub fn run(runs: u32) -> Result<(), String> {
    let program = program::program(Build::Release)?;
    let commit = text(Command::new("git").args(["log", "-1", "--format=%h"]).current_dir(root()))?;
    let date = text(Command::new("date").arg("+%F"))?;
    let compiler = text(Command::new("rustc").arg("--version"))?;
    let mut rows = String::new();
    let mut data = read(DATA)?;
    for &(title, scenario, settings) in SET {
        for threads in [1, 2] {
            let measured = measure(&program, scenario, settings, runs, threads)?;
            let [median, fastest] = measured.rates();
            let Measured { hosts, packet_hops, built_seconds, peak_resident_mb, .. } = measured;
            let resident_mb =
                peak_resident_mb.ok_or("the system does not tell how much memory a run takes")?;
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
         `cargo xtask bench` writes this page; earlier measurements are in [`xtask/bench.csv`](../../xtask/bench.csv). The table has medians of {runs} runs on {date}, commit {commit}, {compiler},\n{}.\n\n\
         The unit of speed is the packet-hop per second ([performance](performance.md)). Rates on one thread are per second of CPU time, rates on two threads are per second of wall-clock time. If two threads cannot share a run, the table has the run twice with one thread. Instructions per packet-hop\n\
         are in [`xtask/instructions.csv`](../../xtask/instructions.csv).\n\n\
         | run | hosts | threads | packet-hops | M packet-hops per second | fastest | built in (s) | resident (MB) |\n|---|--:|--:|--:|--:|--:|--:|--:|\n{rows}\n\
         ## Flow lists\n\n\
         Other simulators can read these lists: a flow per line with its source, destination, size (bytes) and start (ns). `cargo xtask bench --peer 'COMMAND'` simulates each list with bufferlab and another program in turn, and prints both CPU times and their ratios. In COMMAND, `{{list}}` is the name of a list, and `{{flows}}` the path of its file.\n\n\
         | list | flows | the equal network in another simulator |\n|---|---|---|\n{}",
        machine(),
        peer::rows()
    )
}

/// Returns the name of the machine's processor and its number of cores.
fn machine() -> String {
    let info = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = info.lines().find_map(|line| line.strip_prefix("model name")?.split_once(':'));
    let model = model.map_or("an unknown processor", |(_, name)| name.trim());
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let load = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let load = load.split(' ').next().unwrap_or("?").to_owned();
    format!("{model}, {cores} cores, with a load of {load} after the last run")
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
    bench.arg("--json");
    let printed = text(&mut bench)?;
    parsed(&printed).map_err(|error| format!("{bench:?} printed what cannot be read: {error}\n{printed}"))
}

/// Parses the JSON output of the command `bench --json`.
pub(crate) fn parsed(printed: &str) -> serde_json::Result<Measured> {
    serde_json::from_str(printed)
}

fn text(command: &mut Command) -> Result<String, String> {
    output(command).map(|bytes| String::from_utf8_lossy(&bytes).trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_bench_prints_is_read() {
        let printed = r#"{"format": "bufferlab-bench", "hosts": 128, "packet_hops": 7315456, "seconds": [1.0, 1.25],
            "packet_hops_per_second": 5852364.8, "built_seconds": 0.0021, "peak_resident_mb": 12}"#;
        let measured = parsed(printed).expect("it can be read");
        assert_eq!(
            (measured.hosts, measured.packet_hops, measured.peak_resident_mb),
            (128, 7_315_456, Some(12))
        );
        let [median, fastest] = measured.rates();
        assert!((median - 5.852_364_8).abs() < 1e-9 && (fastest - 7.315_456).abs() < 1e-9);
        assert!(parsed("nothing").is_err());
    }
}
