//! What commands print for programs: `--json`, and the schemas of it.
//!
//! Every file says its `format` and `format_version`, which grows when a field changes its meaning or goes; new fields may come without.

use crate::print;
use bufferlab_reproduce::{Conclusion, Results};
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

/// What `reproduce` judges.
#[derive(Serialize, JsonSchema)]
#[schemars(title = "bufferlab reproduce")]
struct VerdictsFile {
    /// `bufferlab-verdicts`.
    format: &'static str,
    /// 1.
    format_version: u32,
    /// In the order in which they ran.
    experiments: Vec<ExperimentRecord>,
}

/// An experiment.
#[derive(Serialize, JsonSchema)]
struct ExperimentRecord {
    /// `abm/fig6`.
    id: String,
    /// The paper's figure or table.
    figure: String,
    title: String,
    /// Runs that it took, those included that were there.
    runs: usize,
    statements: Vec<StatementRecord>,
}

/// A statement of a paper, judged.
#[derive(Serialize, JsonSchema)]
struct StatementRecord {
    /// `ABM-F6c-1`.
    id: String,
    /// `PASS`, `STRONG`, `FAIL` …
    verdict: String,
    /// What the paper says.
    statement: Option<String>,
    /// In words: value, interval, band, the paper's value.
    measured: String,
    /// Every condition of the criterion: the effect over the seeds.
    effects: Vec<EffectRecord>,
    /// Why it cannot be decided, or what to know.
    note: Option<String>,
}

/// An effect.
#[derive(Serialize, JsonSchema)]
struct EffectRecord {
    verdict: String,
    /// Null: it was not measured.
    mean: Option<f64>,
    /// Half of the 95 % interval; null with one seed.
    half_width: Option<f64>,
    seeds: Option<u64>,
}

/// `reproduce NAMES --json`.
pub(crate) fn verdicts(results: &[Results], found: &Conclusion) -> miette::Result<()> {
    let experiments = results.iter().zip(&found.judged).map(|(result, judged)| {
        let experiment = result.experiment();
        let statement = |judged: &bufferlab_reproduce::Judged| StatementRecord {
            id: judged.id.clone(),
            verdict: judged.verdict.to_string(),
            statement: found.ledger.claim(&judged.id).map(|claim| claim.statement().to_string()),
            measured: judged.measured(),
            effects: judged
                .conditions
                .iter()
                .map(|condition| {
                    let estimate = condition.estimate.as_ref().ok();
                    EffectRecord {
                        verdict: condition.verdict.to_string(),
                        mean: estimate.map(|estimate| estimate.mean),
                        half_width: estimate.and_then(|estimate| estimate.half_width),
                        seeds: estimate.map(|estimate| estimate.seeds),
                    }
                })
                .collect(),
            note: judged.note.clone(),
        };
        ExperimentRecord {
            id: experiment.id.clone(),
            figure: experiment.figure.clone(),
            title: experiment.title.clone(),
            runs: result.runs.len(),
            statements: judged.iter().map(statement).collect(),
        }
    });
    json(&VerdictsFile {
        format: "bufferlab-verdicts",
        format_version: 1,
        experiments: experiments.collect(),
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

pub(crate) fn verdicts_schema() -> Schema {
    schema_for!(VerdictsFile)
}
