//! JSON output of the commands (`--json`), and the schemas of this output.
//!
//! Every file has a `format` and a `format_version`. The version grows when a field changes its
//! meaning or is removed. New fields may appear without a new version.

use crate::print;
use bufferlab_results::Inspection;
use bufferlab_scenario::Loaded;
use bufferlab_theory::calculators::Derivation;
use miette::IntoDiagnostic;
use schemars::{JsonSchema, Schema, schema_for};
use serde::Serialize;
use std::path::Path;

/// Prints a value as JSON with a line end.
pub(crate) fn json<T: Serialize>(file: &T) -> miette::Result<()> {
    let text = serde_json::to_string_pretty(file).into_diagnostic()?;
    print(&format!("{text}\n"))
}

/// JSON output of `bufferlab check`.
#[derive(Serialize, JsonSchema)]
#[schemars(title = "bufferlab check")]
struct CheckFile {
    /// Name of the output format: `bufferlab-check`.
    format: &'static str,
    /// Version of the output format: 1.
    format_version: u32,
    /// Name of the scenario.
    name: String,
    description: String,
    /// Profile of the scenario: `paper` or `artifact`.
    profile: String,
    seed: u64,
    /// Length of the arrival phase, in which flows start (ps).
    duration_ps: u64,
    /// Longest time after the last arrival in which flows can complete (ps).
    drain_ps: u64,
    /// Kind of the network's topology, such as `leaf_spine`.
    topology: String,
    hosts: usize,
    switches: usize,
    cables: usize,
    /// Policies of the switches. Each policy is listed once.
    policies: Vec<String>,
    /// Reason why a run uses one thread for any value of `--threads`. The field is absent if the
    /// run may use several threads.
    needs_one_thread: Option<String>,
    /// Estimated memory of a run before its first packet (bytes).
    memory_bytes: u64,
    /// Warnings about the scenario.
    warnings: Vec<String>,
    /// Text of the scenario with all defaults (TOML).
    resolved: String,
}

/// Prints the JSON output of `check --json`.
pub(crate) fn check(loaded: &Loaded, needs_one_thread: Option<&str>) -> miette::Result<()> {
    let scenario = &loaded.scenario;
    let mut policies: Vec<String> = scenario.switches.iter().map(|switch| switch.policy.clone()).collect();
    policies.sort_unstable();
    policies.dedup();
    json(&CheckFile {
        format: "bufferlab-check",
        format_version: 1,
        name: scenario.name.clone(),
        description: scenario.description.clone(),
        profile: scenario.profile.word().to_owned(),
        seed: scenario.seed,
        duration_ps: scenario.duration.0,
        drain_ps: scenario.drain.0,
        topology: scenario.topology.kind.to_string(),
        hosts: scenario.topology.hosts.len(),
        switches: scenario.topology.switches.len(),
        cables: scenario.topology.links.len(),
        policies,
        needs_one_thread: needs_one_thread.map(str::to_owned),
        memory_bytes: bufferlab_sim::MemoryEstimate::new(scenario).bytes(),
        warnings: loaded.warnings.iter().map(ToString::to_string).collect(),
        resolved: loaded.resolved.clone(),
    })
}

/// JSON output of `bufferlab verify`.
#[derive(Serialize, JsonSchema)]
#[schemars(title = "bufferlab verify")]
struct VerifyFile {
    /// Name of the output format: `bufferlab-verification`.
    format: &'static str,
    /// Version of the output format: 1.
    format_version: u32,
    /// Verified folders, in the order of the command line.
    folders: Vec<VerifiedFolder>,
}

/// Result of `verify` for one folder of results.
#[derive(Serialize, JsonSchema)]
pub(crate) struct VerifiedFolder {
    folder: String,
    /// Number of checked runs in the folder.
    runs: usize,
    /// Number of files whose checksums are recorded.
    files: usize,
    /// Total size of the files with a checksum (bytes).
    bytes: u64,
    /// Folders without checksums. In a folder without checksums, the command notices missing files,
    /// but no changes of files.
    without_checksums: Vec<String>,
    /// Manifests, pages and tables without a checksum.
    /// The command does not notice changes of files without a checksum.
    unchecked: Vec<String>,
    problems: Vec<Problem>,
}

/// A difference between a folder of results and its manifests.
#[derive(Serialize, JsonSchema)]
struct Problem {
    folder: String,
    problem: String,
}

impl VerifiedFolder {
    pub(crate) fn from_inspection(folder: &Path, found: &Inspection) -> Self {
        let problem = |(folder, problem): &(std::path::PathBuf, String)| Problem {
            folder: folder.display().to_string(),
            problem: problem.clone(),
        };
        Self {
            folder: folder.display().to_string(),
            runs: found.runs,
            files: found.files,
            bytes: found.bytes,
            without_checksums: found.without_checksums.iter().map(|dir| dir.display().to_string()).collect(),
            unchecked: found.unchecked.iter().map(|file| file.display().to_string()).collect(),
            problems: found.problems.iter().map(problem).collect(),
        }
    }
}

/// Prints the JSON output of `verify --json`.
pub(crate) fn verify(folders: Vec<VerifiedFolder>) -> miette::Result<()> {
    json(&VerifyFile { format: "bufferlab-verification", format_version: 1, folders })
}

/// JSON output of `bufferlab theory CALCULATOR`.
#[derive(Serialize, JsonSchema)]
#[schemars(title = "bufferlab theory")]
struct DerivationFile {
    /// Name of the output format: `bufferlab-derivation`.
    format: &'static str,
    /// Version of the output format: 1.
    format_version: u32,
    /// Question that the calculator answers, as the title of the derivation.
    title: String,
    answers: Vec<AnswerRecord>,
    steps: Vec<StepRecord>,
    /// Table of the calculator's values: column headers, then rows.
    table: Option<TableRecord>,
    /// Conditions under which the calculator's answers are valid.
    notes: Vec<String>,
}

/// An answer of a calculator as a JSON record.
#[derive(Serialize, JsonSchema)]
struct AnswerRecord {
    name: String,
    /// Value in the base unit (bytes, seconds, bits/s or a plain number). The value is null if
    /// unbounded.
    value: Option<f64>,
    /// Value of the answer with its unit, as text for people.
    text: String,
}

/// A step of a derivation as a JSON record.
#[derive(Serialize, JsonSchema)]
struct StepRecord {
    name: String,
    formula: String,
    /// Formula of the step, with numbers in place of its symbols.
    substituted: String,
    result: String,
    /// Paper and equation that justify the step of the derivation. Empty for arithmetic.
    source: String,
}

/// A table of a derivation as a JSON record.
#[derive(Serialize, JsonSchema)]
struct TableRecord {
    columns: Vec<String>,
    rows: Vec<Vec<String>>,
}

/// Prints the JSON of `theory CALCULATOR --json`.
pub(crate) fn derivation(derivation: &Derivation) -> miette::Result<()> {
    let Derivation { title, lines, table, answers, notes } = derivation.clone();
    let answer = |answer: bufferlab_theory::calculators::Answer| AnswerRecord {
        name: answer.name,
        value: Some(answer.value).filter(|value| value.is_finite()),
        text: answer.text,
    };
    let step = |line: bufferlab_theory::calculators::Line| StepRecord {
        name: line.name,
        formula: line.formula,
        substituted: line.substituted,
        result: line.result,
        source: line.source,
    };
    json(&DerivationFile {
        format: "bufferlab-derivation",
        format_version: 1,
        title,
        answers: answers.into_iter().map(answer).collect(),
        steps: lines.into_iter().map(step).collect(),
        table: table.map(|table| TableRecord { columns: table.columns, rows: table.rows }),
        notes,
    })
}

/// Comparison of a switch of real packets with the simulator on equal arrivals.
#[derive(Serialize, JsonSchema)]
#[schemars(title = "bufferlab switch --verify")]
struct ParityFile {
    /// Name of the output format: `bufferlab-parity`.
    format: &'static str,
    /// Version of the output format: 1.
    format_version: u32,
    /// Number of packets in the record of the switch.
    packets: usize,
    /// Number of packets that the switch decided about before the first gap of the record. Without
    /// a gap, all packets count.
    compared: usize,
    sent: usize,
    /// Number of packets sent with a mark of the switch.
    marked: usize,
    dropped: usize,
    evicted: usize,
    /// Number of decisions about packets that differ between switch and simulator.
    differences: usize,
    /// The first decisions that differ between switch and simulator.
    first: Vec<DifferenceRecord>,
}

/// A decision about a packet that differs between switch and simulator.
#[derive(Serialize, JsonSchema)]
struct DifferenceRecord {
    /// Number of the packet in the record, from 0. The number is null if the difference concerns no
    /// single packet.
    packet: Option<usize>,
    /// Kind of difference: `queue`, `verdict`, `mark`, `departure` or `losses`.
    what: String,
    switch: String,
    simulator: String,
}

/// Prints the JSON of `switch --verify` and `switch --synthetic`.
pub(crate) fn parity(comparison: &bufferlab_testbed::parity::Comparison) -> miette::Result<()> {
    let difference = |one: &bufferlab_testbed::parity::Difference| DifferenceRecord {
        packet: one.packet,
        what: one.what.to_owned(),
        switch: one.switch.clone(),
        simulator: one.simulator.clone(),
    };
    json(&ParityFile {
        format: "bufferlab-parity",
        format_version: 1,
        packets: comparison.packets,
        compared: comparison.compared,
        sent: comparison.sent,
        marked: comparison.marked,
        dropped: comparison.dropped,
        evicted: comparison.evicted,
        differences: comparison.differences,
        first: comparison.first.iter().map(difference).collect(),
    })
}

/// Summary of a switch of real packets.
#[derive(Serialize, JsonSchema)]
#[schemars(title = "bufferlab switch")]
pub(crate) struct SwitchRunFile {
    /// Name of the output format: `bufferlab-dataplane-run`.
    pub(crate) format: &'static str,
    /// Version of the output format: 1.
    pub(crate) format_version: u32,
    /// Name of the switch.
    pub(crate) name: String,
    pub(crate) policy: String,
    /// Time for which the switch ran (ns).
    pub(crate) ran_ns: u64,
    /// Lateness of the sent frames: the time when the interface took a frame, minus the planned
    /// time.
    pub(crate) lateness: LatenessRecord,
    pub(crate) buffer: SwitchBufferRecord,
    /// Number of frames that the switch read after it had made a decision for an equal or later
    /// time.
    pub(crate) late_arrivals: u64,
    /// Number of frames that the operating system dropped before the switch read them.
    pub(crate) missed: u64,
    /// CPU time that a hypervisor gave to other guests during the run, over all cores (ns). The
    /// value is null if the kernel does not report the CPU time of other guests.
    pub(crate) stolen_ns: Option<u64>,
    pub(crate) ports: Vec<SwitchPortRecord>,
    pub(crate) queues: Vec<SwitchQueueRecord>,
    /// Number of packets that the core lost, by reason.
    pub(crate) losses: std::collections::BTreeMap<String, u64>,
    /// Reasons why the measured lateness may be wrong.
    pub(crate) notes: Vec<String>,
}

/// Lateness of frames. Quantiles are the upper ends of histogram bins, which are at most 12.5 %
/// wide.
#[derive(Serialize, JsonSchema)]
pub(crate) struct LatenessRecord {
    pub(crate) frames: u64,
    pub(crate) p50_ns: u64,
    pub(crate) p99_ns: u64,
    pub(crate) p999_ns: u64,
    pub(crate) largest_ns: u64,
    /// Whether p99.9 is above a millisecond, so that the results about queues are not reliable.
    pub(crate) is_inconclusive: bool,
}

/// Size and largest occupancy of the switch's shared buffer.
#[derive(Serialize, JsonSchema)]
pub(crate) struct SwitchBufferRecord {
    pub(crate) capacity_bytes: u64,
    /// Largest occupancy of the buffer (bytes).
    pub(crate) peak_bytes: u64,
}

/// Time for which sent packets were in the buffer, from the decision to store a packet to the
/// departure of its first bit. Quantiles are the upper ends of histogram bins, which are at most
/// 12.5 % wide.
#[derive(Serialize, JsonSchema)]
pub(crate) struct StayRecord {
    pub(crate) packets: u64,
    pub(crate) mean_ns: u64,
    pub(crate) p50_ns: u64,
    pub(crate) p99_ns: u64,
    pub(crate) p999_ns: u64,
    pub(crate) largest_ns: u64,
}

/// Numbers of frames that an interface received, sent, copied, refused and discarded.
#[derive(Serialize, JsonSchema)]
pub(crate) struct SwitchPortRecord {
    pub(crate) interface: String,
    /// Number of received frames, including discarded frames.
    pub(crate) received: u64,
    /// Bytes of the received frames, without frame check sequences.
    pub(crate) received_bytes: u64,
    pub(crate) sent: u64,
    pub(crate) sent_bytes: u64,
    /// Number of frames that the switch copied to all other ports.
    pub(crate) flooded: u64,
    /// Number of frames that the interface refused to send.
    pub(crate) refused: u64,
    /// Number of frames whose checksum the switch completed. Senders leave these checksums to their
    /// network cards.
    pub(crate) finished_checksums: u64,
    /// State of the interface at the end: `up`, `down`, `no carrier` or `removed`. Earlier changes
    /// of the interface's state are in the notes.
    pub(crate) link: String,
    /// Number of frames discarded before a decision of the core, by reason.
    /// Reasons without frames are omitted.
    pub(crate) discarded: std::collections::BTreeMap<String, u64>,
}

/// Numbers of arrived, stored, lost and marked packets of a queue.
#[derive(Serialize, JsonSchema)]
pub(crate) struct SwitchQueueRecord {
    pub(crate) interface: String,
    pub(crate) priority: u8,
    pub(crate) arrived: u64,
    pub(crate) enqueued: u64,
    pub(crate) dropped: u64,
    pub(crate) evicted: u64,
    pub(crate) marked: u64,
    /// Largest occupancy of the queue (bytes).
    pub(crate) peak_bytes: u64,
    /// Time for which packets were in the queue. The value is null if the queue sent no packet.
    pub(crate) stay: Option<StayRecord>,
}

/// Requirements of the testbed that this machine meets or lacks.
#[derive(Serialize, JsonSchema)]
#[schemars(title = "bufferlab testbed check")]
struct TestbedCheckFile {
    /// Name of the output format: `bufferlab-testbed-check`.
    format: &'static str,
    /// Version of the output format: 1.
    format_version: u32,
    /// Whether this machine has everything that the testbed needs.
    can_run: bool,
    findings: Vec<TestbedFinding>,
}

/// A requirement of the testbed, or an optional feature.
#[derive(Serialize, JsonSchema)]
struct TestbedFinding {
    what: String,
    is_there: bool,
    /// Whether the testbed cannot run without the requirement that this record describes.
    is_needed: bool,
    /// Advice on how to install a missing requirement.
    advice: String,
}

/// Prints the JSON output of `testbed check --json`.
pub(crate) fn testbed_check(findings: &[bufferlab_testbed::Finding]) -> miette::Result<()> {
    let finding = |one: &bufferlab_testbed::Finding| TestbedFinding {
        what: one.what.to_owned(),
        is_there: one.is_there,
        is_needed: one.is_needed,
        advice: one.advice.to_owned(),
    };
    json(&TestbedCheckFile {
        format: "bufferlab-testbed-check",
        format_version: 1,
        can_run: findings.iter().all(|one| one.is_there || !one.is_needed),
        findings: findings.iter().map(finding).collect(),
    })
}

/// Returns the JSON schema of `check --json`.
pub(crate) fn check_schema() -> Schema {
    schema_for!(CheckFile)
}

pub(crate) fn verify_schema() -> Schema {
    schema_for!(VerifyFile)
}

pub(crate) fn derivation_schema() -> Schema {
    schema_for!(DerivationFile)
}

pub(crate) fn parity_schema() -> Schema {
    schema_for!(ParityFile)
}

pub(crate) fn switch_schema() -> Schema {
    schema_for!(SwitchRunFile)
}

pub(crate) fn testbed_check_schema() -> Schema {
    schema_for!(TestbedCheckFile)
}
