//! What commands print for programs: `--json`, and the schemas of it.
//!
//! Every file says its `format` and `format_version`, which grows when a field changes its meaning
//! or goes; new fields may come without.

use crate::print;
use bufferlab_results::Inspection;
use bufferlab_scenario::Loaded;
use bufferlab_theory::calculators::Derivation;
use miette::IntoDiagnostic;
use schemars::{JsonSchema, Schema, schema_for};
use serde::Serialize;
use std::path::Path;

/// Prints it with a line end.
pub(crate) fn json<T: Serialize>(file: &T) -> miette::Result<()> {
    let text = serde_json::to_string_pretty(file).into_diagnostic()?;
    print(&format!("{text}\n"))
}

/// What `check` finds.
#[derive(Serialize, JsonSchema)]
#[schemars(title = "bufferlab check")]
struct CheckFile {
    /// `bufferlab-check`.
    format: &'static str,
    /// 1.
    format_version: u32,
    /// The scenario's name.
    name: String,
    description: String,
    /// `paper` or `artifact`.
    profile: String,
    seed: u64,
    /// Flows arrive for so long (ps).
    duration_ps: u64,
    /// Then they have at most so long to finish (ps).
    drain_ps: u64,
    /// The topology's kind.
    topology: String,
    hosts: usize,
    switches: usize,
    cables: usize,
    /// Policies of the switches, each once.
    policies: Vec<String>,
    /// Why a run uses one thread, whatever it is given; absent: it can use several.
    needs_one_thread: Option<String>,
    /// Memory that a run takes before its first packet, estimated (bytes).
    memory_bytes: u64,
    /// What is doubtful about the scenario.
    warnings: Vec<String>,
    /// The scenario with every default filled in (TOML).
    resolved: String,
}

/// `check --json`.
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

/// What `verify` finds.
#[derive(Serialize, JsonSchema)]
#[schemars(title = "bufferlab verify")]
struct VerifyFile {
    /// `bufferlab-verification`.
    format: &'static str,
    /// 1.
    format_version: u32,
    /// In the order of the command.
    folders: Vec<VerifiedFolder>,
}

/// A folder of results.
#[derive(Serialize, JsonSchema)]
pub(crate) struct VerifiedFolder {
    folder: String,
    /// Runs that were looked at.
    runs: usize,
    /// Files with a checksum.
    files: usize,
    /// Their length together (bytes).
    bytes: u64,
    /// Folders that were written without checksums: only missing files would be noticed.
    without_checksums: Vec<String>,
    /// Manifests, pages and tables without checksum: a change of them would not be noticed.
    unchecked: Vec<String>,
    problems: Vec<Problem>,
}

/// What is not as it was written.
#[derive(Serialize, JsonSchema)]
struct Problem {
    folder: String,
    problem: String,
}

impl VerifiedFolder {
    pub(crate) fn of(folder: &Path, found: &Inspection) -> Self {
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

/// `verify --json`.
pub(crate) fn verify(folders: Vec<VerifiedFolder>) -> miette::Result<()> {
    json(&VerifyFile { format: "bufferlab-verification", format_version: 1, folders })
}

/// What a calculator derives.
#[derive(Serialize, JsonSchema)]
#[schemars(title = "bufferlab theory")]
struct DerivationFile {
    /// `bufferlab-derivation`.
    format: &'static str,
    /// 1.
    format_version: u32,
    /// The question.
    title: String,
    answers: Vec<AnswerRecord>,
    steps: Vec<StepRecord>,
    /// Values side by side: the heads of the columns, then rows.
    table: Option<TableRecord>,
    /// Under which conditions the answers hold.
    notes: Vec<String>,
}

/// An answer.
#[derive(Serialize, JsonSchema)]
struct AnswerRecord {
    name: String,
    /// In the base unit (bytes, seconds, bits/s or a plain number); null: unbounded.
    value: Option<f64>,
    /// With its unit.
    text: String,
}

/// A step.
#[derive(Serialize, JsonSchema)]
struct StepRecord {
    name: String,
    formula: String,
    /// The formula with its numbers.
    substituted: String,
    result: String,
    /// The paper and equation; empty for arithmetic.
    source: String,
}

/// A table.
#[derive(Serialize, JsonSchema)]
struct TableRecord {
    columns: Vec<String>,
    rows: Vec<Vec<String>>,
}

/// `theory CALCULATOR --json`.
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

/// What a switch of real packets and the simulator say of the same arrivals.
#[derive(Serialize, JsonSchema)]
#[schemars(title = "bufferlab switch --verify")]
struct ParityFile {
    /// `bufferlab-parity`.
    format: &'static str,
    /// 1.
    format_version: u32,
    /// Packets of the record.
    packets: usize,
    /// Packets whose fate was decided before anything of the record is missing: all, unless its end
    /// is.
    compared: usize,
    sent: usize,
    /// Sent with a mark of the switch.
    marked: usize,
    dropped: usize,
    evicted: usize,
    /// Answers in which the two differ.
    differences: usize,
    /// The first of them.
    first: Vec<DifferenceRecord>,
}

/// An answer in which the two differ.
#[derive(Serialize, JsonSchema)]
struct DifferenceRecord {
    /// The packet's number in the record, from 0; null: it is about no single packet.
    packet: Option<usize>,
    /// `queue`, `verdict`, `mark`, `departure` or `losses`.
    what: String,
    switch: String,
    simulator: String,
}

/// `switch --verify --json`, `switch --synthetic --json`.
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

/// What a switch of real packets did.
#[derive(Serialize, JsonSchema)]
#[schemars(title = "bufferlab switch")]
pub(crate) struct SwitchRunFile {
    /// `bufferlab-switch-run`.
    pub(crate) format: &'static str,
    /// 1.
    pub(crate) format_version: u32,
    /// The switch's name.
    pub(crate) name: String,
    pub(crate) policy: String,
    /// How long it ran (ns).
    pub(crate) ran_ns: u64,
    /// How late frames were handed over.
    pub(crate) lateness: LatenessRecord,
    pub(crate) buffer: SwitchBufferRecord,
    /// Arrivals for times that had been decided already.
    pub(crate) late_arrivals: u64,
    /// Frames that the system dropped before they were read.
    pub(crate) missed: u64,
    /// CPU time that a hypervisor gave to others meanwhile, of all cores (ns); null: the kernel
    /// does not say.
    pub(crate) stolen_ns: Option<u64>,
    pub(crate) ports: Vec<SwitchPortRecord>,
    pub(crate) queues: Vec<SwitchQueueRecord>,
    /// Packets that the core lost, by reason.
    pub(crate) losses: std::collections::BTreeMap<String, u64>,
    /// What to know before trusting the lateness.
    pub(crate) notes: Vec<String>,
}

/// Quantiles are the upper ends of bins of an eighth of an octave.
#[derive(Serialize, JsonSchema)]
pub(crate) struct LatenessRecord {
    pub(crate) frames: u64,
    pub(crate) p50_ns: u64,
    pub(crate) p99_ns: u64,
    pub(crate) p999_ns: u64,
    pub(crate) largest_ns: u64,
    /// Whether p99.9 is above a millisecond, so that the run says little about queues.
    pub(crate) is_inconclusive: bool,
}

/// The shared buffer.
#[derive(Serialize, JsonSchema)]
pub(crate) struct SwitchBufferRecord {
    pub(crate) capacity_bytes: u64,
    /// The most that was stored at a time.
    pub(crate) peak_bytes: u64,
}

/// How long packets that were sent had been stored, from the decision to store them to the first
/// bit that left. Quantiles as in the lateness.
#[derive(Serialize, JsonSchema)]
pub(crate) struct StayRecord {
    pub(crate) packets: u64,
    pub(crate) mean_ns: u64,
    pub(crate) p50_ns: u64,
    pub(crate) p99_ns: u64,
    pub(crate) p999_ns: u64,
    pub(crate) largest_ns: u64,
}

/// Frames of an interface.
#[derive(Serialize, JsonSchema)]
pub(crate) struct SwitchPortRecord {
    pub(crate) interface: String,
    /// Discarded ones included.
    pub(crate) received: u64,
    /// Without check sequence.
    pub(crate) received_bytes: u64,
    pub(crate) sent: u64,
    pub(crate) sent_bytes: u64,
    /// Copied to all other ports.
    pub(crate) flooded: u64,
    /// Refused by the interface.
    pub(crate) refused: u64,
    /// Received with a checksum that the sender had left to its card, which the switch has
    /// finished.
    pub(crate) finished_checksums: u64,
    /// Whether the interface worked at the end: `up`, `down`, `no carrier` or `removed`; notes have
    /// the changes.
    pub(crate) link: String,
    /// Discarded before the core was asked, by reason; reasons without frames are left out.
    pub(crate) discarded: std::collections::BTreeMap<String, u64>,
}

/// Packets of a queue.
#[derive(Serialize, JsonSchema)]
pub(crate) struct SwitchQueueRecord {
    pub(crate) interface: String,
    pub(crate) priority: u8,
    pub(crate) arrived: u64,
    pub(crate) enqueued: u64,
    pub(crate) dropped: u64,
    pub(crate) evicted: u64,
    pub(crate) marked: u64,
    /// The most that it held at a time (bytes).
    pub(crate) peak_bytes: u64,
    /// Null: no packet was sent.
    pub(crate) stay: Option<StayRecord>,
}

/// What this machine has for the testbed.
#[derive(Serialize, JsonSchema)]
#[schemars(title = "bufferlab testbed check")]
struct TestbedCheckFile {
    /// `bufferlab-testbed-check`.
    format: &'static str,
    /// 1.
    format_version: u32,
    /// Whether everything is there that is needed.
    can_run: bool,
    findings: Vec<TestbedFinding>,
}

/// Something that the testbed needs or can use.
#[derive(Serialize, JsonSchema)]
struct TestbedFinding {
    what: String,
    is_there: bool,
    /// Nothing runs without it.
    is_needed: bool,
    /// What to do if it is not there.
    advice: String,
}

/// `testbed check --json`.
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

/// The schemas of what is here.
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
