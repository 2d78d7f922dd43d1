//! Verdicts as JSON with a `format` and a `format_version`. The version increases if a field
//! changes its meaning or is removed.

use crate::real::{RealRecord, RealRuns, RealStudy};
use crate::{Checked, Conclusion, Judged, Results};
use schemars::{JsonSchema, Schema, schema_for};
use serde::Serialize;

/// Verdicts on papers' statements that `reproduce --json` prints.
#[derive(Serialize, JsonSchema)]
#[schemars(title = "bufferlab reproduce")]
struct VerdictsFile {
    /// Name of the file format: always `bufferlab-verdicts`.
    format: &'static str,
    /// Version of the file format: 1.
    format_version: u32,
    /// Experiments that the `reproduce` command ran, in the order of execution.
    experiments: Vec<ExperimentRecord>,
    /// Statements that the user named and that tests judge instead of runs.
    tested: Vec<TestedRecord>,
}

/// A statement of a paper that tests judge instead of simulation runs.
#[derive(Serialize, JsonSchema)]
struct TestedRecord {
    /// Number of the statement: `ABM-SET-1`.
    id: String,
    /// Verdict of the tests that this command ran, or else the recorded verdict.
    verdict: String,
    /// Text of the claim in the paper.
    statement: String,
    /// Recorded result of the statement's tests, as text.
    measured: String,
    /// Names of the tests that this command ran, because they are part of the program.
    computed: Vec<String>,
    /// Names of the tests that need the source tree of bufferlab.
    needs_source: Vec<String>,
}

/// An experiment with its verdicts on a paper's statements.
#[derive(Serialize, JsonSchema)]
struct ExperimentRecord {
    /// Name of the experiment: `abm/fig6`.
    id: String,
    /// Name of the figure or table in the paper.
    figure: String,
    title: String,
    /// Number of the experiment's runs, including reused runs.
    runs: usize,
    statements: Vec<StatementRecord>,
}

/// A statement of a paper with its verdict and measured effects.
#[derive(Serialize, JsonSchema)]
struct StatementRecord {
    /// Number of the statement, such as `ABM-F6c-1`.
    id: String,
    /// Verdict on the statement: `PASS`, `STRONG`, `FAIL` …
    verdict: String,
    /// Text of the claim in the paper.
    statement: Option<String>,
    /// Measured result as text: value, interval, band, the paper's value.
    measured: String,
    /// Effect over the seeds, for every condition of the criterion.
    effects: Vec<EffectRecord>,
    /// Reason why the statement cannot be decided, or a remark.
    note: Option<String>,
}

/// A measured effect of one condition in a statement's criterion.
#[derive(Serialize, JsonSchema)]
struct EffectRecord {
    verdict: String,
    /// Mean of the measured effect over the seeds; null if the effect was not measured.
    mean: Option<f64>,
    /// Half width of the effect's 95 % interval; null with one seed.
    half_width: Option<f64>,
    seeds: Option<u64>,
}

/// Formats a serializable document as JSON with a final newline.
fn text<T: Serialize>(file: &T) -> String {
    serde_json::to_string_pretty(file).expect("plain fields have a form in JSON") + "\n"
}

/// Formats the output of `reproduce --json`: the verdict on every statement of `results`, and on
/// the named statements that tests judge.
#[must_use]
pub fn verdicts_json(results: &[Results], found: &Conclusion, tested: &[Checked<'_>]) -> String {
    let statement = |judged: &Judged| StatementRecord {
        id: judged.id.clone(),
        verdict: judged.verdict.to_string(),
        statement: found.ledger.claim(&judged.id).map(|claim| claim.statement().to_string()),
        measured: judged.measured(),
        effects: judged.conditions.iter().map(EffectRecord::from_measured).collect(),
        note: judged.note.clone(),
    };
    let experiments = results.iter().zip(&found.judged).map(|(result, judged)| {
        let experiment = result.experiment();
        ExperimentRecord {
            id: experiment.id.clone(),
            figure: experiment.figure.clone(),
            title: experiment.title.clone(),
            runs: result.runs.len(),
            statements: judged.iter().map(statement).collect(),
        }
    });
    text(&VerdictsFile {
        format: "bufferlab-verdicts",
        format_version: 1,
        experiments: experiments.collect(),
        tested: tested.iter().map(TestedRecord::from_checked).collect(),
    })
}

impl TestedRecord {
    fn from_checked(checked: &Checked<'_>) -> Self {
        let row = checked.row;
        Self {
            id: row.claim.id.clone(),
            verdict: checked.verdict().to_string(),
            statement: row.claim.statement(),
            measured: row.test.as_ref().map_or_else(String::new, |test| test.measured.clone()),
            computed: checked.ran.iter().map(|(test, _)| test.clone()).collect(),
            needs_source: checked.others.clone(),
        }
    }
}

impl EffectRecord {
    fn from_measured(measured: &crate::Measured) -> Self {
        let estimate = measured.estimate.as_ref().ok();
        Self {
            verdict: measured.verdict.to_string(),
            mean: estimate.map(|estimate| estimate.mean),
            half_width: estimate.and_then(|estimate| estimate.half_width),
            seeds: estimate.map(|estimate| estimate.seeds),
        }
    }
}

/// Returns the JSON schema of the verdicts that [`verdicts_json`] formats.
#[must_use]
pub fn verdicts_schema() -> Schema {
    schema_for!(VerdictsFile)
}

/// Verdicts from real packets that `testbed reproduce --json` prints.
#[derive(Serialize, JsonSchema)]
#[schemars(title = "bufferlab testbed reproduce")]
struct RealVerdictsFile<'a> {
    /// Name of the file format: always `bufferlab-real-verdicts`.
    format: &'static str,
    /// Version of the file format: 1.
    format_version: u32,
    /// Experiments that the `testbed reproduce` command ran, in the order of execution.
    experiments: Vec<RealExperimentRecord<'a>>,
}

/// An experiment with real packets, and its verdicts on a paper's statements.
#[derive(Serialize, JsonSchema)]
struct RealExperimentRecord<'a> {
    /// Name of the experiment: `losspass/fig1`.
    id: &'a str,
    /// Name of the figure or table in the paper.
    figure: &'a str,
    title: &'a str,
    runs: RealRuns,
    statements: Vec<RealRecord>,
}

/// Formats the output of `testbed reproduce --json`: every statement with the verdict of real
/// packets and of the simulator. `date` is the date of the record.
#[must_use]
pub fn real_verdicts_json(studies: &[RealStudy], date: &str) -> String {
    let experiments = studies.iter().map(|study| {
        let experiment = study.experiment();
        RealExperimentRecord {
            id: &experiment.id,
            figure: &experiment.figure,
            title: &experiment.title,
            runs: study.runs(date),
            statements: study.records(date),
        }
    });
    text(&RealVerdictsFile {
        format: "bufferlab-real-verdicts",
        format_version: 1,
        experiments: experiments.collect(),
    })
}

/// Returns the JSON schema of the verdicts that [`real_verdicts_json`] formats.
#[must_use]
pub fn real_verdicts_schema() -> Schema {
    schema_for!(RealVerdictsFile<'_>)
}
