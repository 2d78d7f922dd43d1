//! What was judged, for programs: JSON with a `format` and a `format_version`, which grows when a
//! field changes its meaning or goes.

use crate::real::{RealRecord, RealRuns, RealStudy};
use crate::{Conclusion, Judged, Results};
use schemars::{JsonSchema, Schema, schema_for};
use serde::Serialize;

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

/// With a line end.
fn text<T: Serialize>(file: &T) -> String {
    serde_json::to_string_pretty(file).expect("plain fields have a form in JSON") + "\n"
}

/// What `reproduce --json` prints: every statement of `results` as it was judged.
#[must_use]
pub fn verdicts_json(results: &[Results], found: &Conclusion) -> String {
    let statement = |judged: &Judged| StatementRecord {
        id: judged.id.clone(),
        verdict: judged.verdict.to_string(),
        statement: found.ledger.claim(&judged.id).map(|claim| claim.statement().to_string()),
        measured: judged.measured(),
        effects: judged.conditions.iter().map(EffectRecord::of).collect(),
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
    })
}

impl EffectRecord {
    fn of(measured: &crate::Measured) -> Self {
        let estimate = measured.estimate.as_ref().ok();
        Self {
            verdict: measured.verdict.to_string(),
            mean: estimate.map(|estimate| estimate.mean),
            half_width: estimate.and_then(|estimate| estimate.half_width),
            seeds: estimate.map(|estimate| estimate.seeds),
        }
    }
}

/// The schema of [`verdicts_json`].
#[must_use]
pub fn verdicts_schema() -> Schema {
    schema_for!(VerdictsFile)
}

/// What `testbed reproduce` judges.
#[derive(Serialize, JsonSchema)]
#[schemars(title = "bufferlab testbed reproduce")]
struct RealVerdictsFile<'a> {
    /// `bufferlab-real-verdicts`.
    format: &'static str,
    /// 1.
    format_version: u32,
    /// In the order in which they ran.
    experiments: Vec<RealExperimentRecord<'a>>,
}

/// An experiment with real packets.
#[derive(Serialize, JsonSchema)]
struct RealExperimentRecord<'a> {
    /// `losspass/fig1`.
    id: &'a str,
    /// The paper's figure or table.
    figure: &'a str,
    title: &'a str,
    runs: RealRuns,
    statements: Vec<RealRecord>,
}

/// What `testbed reproduce --json` prints: every statement as real packets judge it and as the
/// simulator does. `date`: of the record.
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

/// The schema of [`real_verdicts_json`].
#[must_use]
pub fn real_verdicts_schema() -> Schema {
    schema_for!(RealVerdictsFile<'_>)
}
