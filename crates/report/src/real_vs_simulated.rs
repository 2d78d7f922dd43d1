//! Pairs runs with real packets with simulated runs of the same scenario, and reports
//! their differences.

use crate::compare::{MetricComparison, relative_change};
use crate::format;
use crate::load::{Report, Run};
use crate::metric::Unit;
use crate::statistics::Change;
use bufferlab_results::REAL_PACKETS;

/// Maximum number of differences between real and simulated runs in a sentence.
const NAMED: usize = 4;
/// With one pair of runs, a relative difference above this fraction is reported.
const ALIKE: f64 = 0.05;

/// Returns pairs of labels: a label of runs with real packets, and the label of simulated runs.
/// Both runs have one scenario and equal seeds.
pub(crate) fn pairs(report: &Report) -> Vec<(&str, &str)> {
    let is_real = |run: &Run| run.summary.run_caveats.iter().any(|caveat| caveat.id == REAL_PACKETS);
    let is_same = |one: &Run, other: &Run| {
        let (one, other) = (one.result.manifest(), other.result.manifest());
        one.seed == other.seed && one.scenario_sha256 == other.scenario_sha256
    };
    let simulated = |real: &Run| report.runs.iter().find(|run| !is_real(run) && is_same(run, real));
    let policies = report.comparison.policies.iter();
    let real = policies.filter_map(|policy| report.runs_of(policy).find(|run| is_real(run)));
    real.filter_map(|real| Some((real.label.as_str(), simulated(real)?.label.as_str()))).collect()
}

/// A headline metric in a real run and in a simulated run.
struct Pair<'a> {
    row: &'a MetricComparison,
    real: f64,
    simulated: f64,
    /// Change of the metric from the simulator to the real switch; `None` if the simulator's value
    /// is zero.
    change: Option<Change>,
}

impl Pair<'_> {
    fn from_row<'a>(row: &'a MetricComparison, (real, simulated): (&str, &str)) -> Option<Pair<'a>> {
        let cell = |policy: &str| row.cells.iter().find(|cell| cell.policy == policy);
        let (real, simulated) = (cell(real)?, cell(simulated)?);
        let change = relative_change(&simulated.values, &real.values);
        Some(Pair { row, real: real.estimate?.mean, simulated: simulated.estimate?.mean, change })
    }

    /// Whether the change exceeds the interval of several seeds, or [`ALIKE`] with one seed.
    fn differs(&self) -> bool {
        match self.change {
            None => self.real.total_cmp(&self.simulated).is_ne(),
            Some(Change { mean, low: None, .. }) => mean.abs() > ALIKE,
            Some(change) => change.excludes_zero(),
        }
    }

    /// Size of the difference between real and simulated run. A sentence names the largest
    /// difference first.
    fn size(&self) -> f64 {
        self.change.map_or(f64::INFINITY, |change| change.mean.abs())
    }

    fn name(&self) -> String {
        format!("{}, {}", self.row.metric.group, self.row.metric.label)
    }

    fn in_words(&self) -> String {
        let unit = match self.row.metric.unit {
            Unit::Count | Unit::Index => String::new(),
            unit => format!(" {}", unit.symbol()),
        };
        let number = |value: f64| match self.row.metric.unit {
            Unit::Count => format::mean_count(value),
            _ => format::number(value),
        };
        let (real, simulated) = (number(self.real), number(self.simulated));
        let mut text = format!("{} {real}{unit} in the place of {simulated}{unit}", self.name());
        if let Some(change) = self.change {
            text.push_str(&format!(" ({})", change.in_words()));
        }
        text
    }
}

/// Formats one sentence for each of [`pairs`]; none without runs with real packets.
pub(crate) fn sentences(report: &Report) -> Vec<String> {
    let sentence = |(real, simulated): (&str, &str)| {
        let metrics = report.comparison.metrics.iter().filter(|row| row.metric.headline);
        let both = metrics.filter_map(|row| Pair::from_row(row, (real, simulated)));
        let (mut differ, alike): (Vec<_>, Vec<_>) = both.partition(Pair::differs);
        differ.sort_by(|a, b| b.size().total_cmp(&a.size()));
        let more = differ.len().saturating_sub(NAMED);
        let mut text = format!("{real}, real packets against the simulator: ");
        if differ.is_empty() {
            text.push_str("no headline number differs");
        } else {
            let named: Vec<_> = differ.iter().take(NAMED).map(Pair::in_words).collect();
            text.push_str(&named.join("; "));
        }
        if more > 0 {
            text.push_str(&format!("; and {more} more"));
        }
        if !alike.is_empty() && !differ.is_empty() {
            let names: Vec<_> = alike.iter().map(Pair::name).collect();
            let how = if report.comparison.seeds.len() > 1 { "within the interval" } else { "to 5 %" };
            text.push_str(&format!(". Alike {how}: {}", names.join("; ")));
        }
        text + "."
    };
    pairs(report).into_iter().map(sentence).collect()
}
