//! Compares ranges of metrics over runs that differ in random delays of the flow starts.
//!
//! `testdata/reference/spread.csv` has the ranges of the ns-3 artifact. In the artifact's runs,
//! each flow starts later by a random time from 0 to 19 ns. `testdata/reference/ranges.csv` has
//! bufferlab's values, one row per run, seed and metric. `bufferlab-validation --ranges` records
//! these rows, because a full recording takes minutes. A test repeats some of the runs and compares
//! their values with the recorded values.

use crate::ValidationError;
use crate::cases::{CASES, Case};
use crate::compare::{LONG_FLOW_BYTES, ONE_TIMEOUT_NS, SAMPLES_NS, TWO_TIMEOUTS_NS};
use crate::lossless::SHORT_FLOW_BYTES as SHORT_MESSAGE_BYTES;
use crate::measure::{Flow, Outcome, SHORT_FLOW_BYTES, mean, percentile, slowdowns};
use crate::reference::folder;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// Largest random delay of a flow's start, in the ns-3 artifact's runs and in bufferlab's runs.
pub const JITTER: &str = "20 ns";

/// Interval (ns) in which the switches of Reverie's runs are sampled. The flows of these runs start
/// from 1 s on, for 20 ms. Bufferlab samples at multiples of the interval.
const LOSSLESS_SAMPLES_NS: (u64, u64) = (1_000_020_000, 1_020_000_000);

/// Slowdown above which a late web-search flow is assumed to have had a timeout. The ns-3 artifact
/// does not state its limit. With this limit, bufferlab reproduces the column `ws_rto` of two
/// recorded runs exactly.
const SLOW: f64 = 4.0;

/// Range of a metric over the ns-3 artifact's runs of one setting.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct Spread {
    /// Name of the run in the ns-3 reference's files.
    pub run: String,
    /// Name of the metric in the ns-3 reference's files.
    pub metric: String,
    /// Number of the ns-3 artifact's runs from which the range is computed.
    pub runs: u32,
    /// Smallest value of the metric over the ns-3 artifact's runs.
    pub min: f64,
    /// Median of the metric over the ns-3 artifact's runs.
    pub median: f64,
    /// Largest value of the metric over the ns-3 artifact's runs.
    pub max: f64,
}

/// Value of a metric in one of bufferlab's runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Measured {
    /// Name of the run in the ns-3 reference's files ([`Spread`]).
    pub run: String,
    /// Seed of bufferlab's run.
    pub seed: u64,
    /// Name of the metric in the ns-3 reference's files ([`Spread`]).
    pub metric: String,
    /// Value of the metric in bufferlab's run.
    pub value: f64,
}

/// Returns the path of the file with the ns-3 artifact's ranges of metrics.
#[must_use]
pub fn spread_file() -> PathBuf {
    folder().with_file_name("spread.csv")
}

/// Returns the path of the file with the metrics of bufferlab's runs.
#[must_use]
pub fn ranges_file() -> PathBuf {
    folder().with_file_name("ranges.csv")
}

fn rows<T: for<'a> Deserialize<'a>>(path: PathBuf) -> Result<Vec<T>, ValidationError> {
    let unreadable = |source| ValidationError::Csv { path: path.clone(), source };
    let mut reader = csv::Reader::from_path(&path).map_err(unreadable)?;
    reader.deserialize().collect::<Result<_, _>>().map_err(unreadable)
}

/// Reads the ns-3 artifact's ranges of all metrics.
///
/// # Errors
/// If the file with the ranges cannot be read.
pub fn spreads() -> Result<Vec<Spread>, ValidationError> {
    rows(spread_file())
}

/// Reads the recorded metrics of bufferlab's runs.
///
/// # Errors
/// If the file with the recorded metrics cannot be read.
pub fn recorded() -> Result<Vec<Measured>, ValidationError> {
    rows(ranges_file())
}

/// Returns the cases for which the ns-3 artifact has ranges, in the order of [`CASES`], with the
/// names of their runs.
///
/// # Errors
/// If the file with the ranges cannot be read.
pub fn cases() -> Result<Vec<(&'static Case, String)>, ValidationError> {
    let spreads = spreads()?;
    let named = |case: &'static Case| {
        let name = case.key.name();
        spreads.iter().any(|spread| spread.run == name).then_some((case, name))
    };
    Ok(CASES.iter().filter_map(named).collect())
}

/// Runs a compared scenario with random delays of flow starts. Returns every metric that bufferlab
/// and the ns-3 artifact have in common.
///
/// # Errors
/// If the run of the case fails.
pub fn measure(case: &Case, run: &str, seed: u64) -> Result<Vec<Measured>, ValidationError> {
    let noise = [("seed", seed.to_string()), ("start_jitter", JITTER.to_owned())];
    let outcome = case.run_with(&noise)?;
    let wanted = spreads()?;
    let mut found = Vec::new();
    for spread in wanted.iter().filter(|spread| spread.run == run) {
        let value = match case.is_lossless() {
            true => lossless_metric(&outcome, &spread.metric),
            false => lossy_metric(&outcome, case, &spread.metric),
        };
        if let Some(value) = value {
            found.push(Measured { run: run.to_owned(), seed, metric: spread.metric.clone(), value });
        }
    }
    Ok(found)
}

/// A statistic of a sorted list of values; `None` if the list is empty.
type Statistic = fn(&[f64]) -> Option<f64>;

fn statistic(name: &str) -> Option<Statistic> {
    match name {
        "mean" => Some(mean),
        "p50" => Some(|sorted| percentile(sorted, 0.5)),
        "p99" => Some(|sorted| percentile(sorted, 0.99)),
        _ => None,
    }
}

fn late(flows: &[Flow], limit: u64, select: impl Fn(&Flow) -> bool) -> f64 {
    flows.iter().filter(|flow| select(flow) && flow.fct_ns > limit).count() as f64
}

/// Returns a metric of ABM's evaluation by its name in `spread.csv`; `None` if bufferlab lacks the
/// metric.
fn lossy_metric(outcome: &Outcome, case: &Case, metric: &str) -> Option<f64> {
    let flows = &outcome.flows;
    let incast = |flow: &Flow| flow.incast;
    let short = |flow: &Flow| !flow.incast && flow.size_bytes < SHORT_FLOW_BYTES;
    let long = |flow: &Flow| !flow.incast && flow.size_bytes >= LONG_FLOW_BYTES;
    Some(match metric {
        "drop_down" => outcome.drops.leaf_down as f64,
        "drop_up" => outcome.drops.leaf_up as f64,
        "inc_rto" => late(flows, ONE_TIMEOUT_NS, incast),
        "inc_rto2" => late(flows, TWO_TIMEOUTS_NS, incast),
        "ws_rto" => late(flows, ONE_TIMEOUT_NS, |flow| !flow.incast && flow.slowdown > SLOW),
        "tx_pkts" => outcome.transmissions as f64,
        _ => {
            let (what, name) = metric.rsplit_once('_')?;
            let statistic = statistic(name)?;
            let values = match what {
                "inc" => slowdowns(flows, incast),
                "short" => slowdowns(flows, short),
                "long" => slowdowns(flows, long),
                "occ" => {
                    let (from, step) = SAMPLES_NS;
                    outcome.occupancy_at(from, step, from + case.launch_ns()?)
                }
                _ => return None,
            };
            statistic(&values)?
        }
    })
}

/// Returns a metric of Reverie's evaluation by its name in `spread.csv`.
fn lossless_metric(outcome: &Outcome, metric: &str) -> Option<f64> {
    let flows = &outcome.flows;
    Some(match metric {
        "lossless_drops" => outcome.lossless_drops as f64,
        "lossy_drops" => outcome.drops.all() as f64 - outcome.lossless_drops as f64,
        "pauses" => (outcome.pauses_of_leaves + outcome.pauses_of_spines) as f64,
        "pauses_leaf" => outcome.pauses_of_leaves as f64,
        "pauses_spine" => outcome.pauses_of_spines as f64,
        "rto_fct_gt_8ms" => late(flows, ONE_TIMEOUT_NS, |_| true),
        "tx_pkts" => outcome.transmissions as f64,
        _ => {
            let (what, name) = metric.rsplit_once('_')?;
            let class = |wanted: &str| slowdowns(flows, |flow| flow.class == wanted);
            let short = |wanted: &str| {
                slowdowns(flows, |flow| flow.class == wanted && flow.size_bytes < SHORT_MESSAGE_BYTES)
            };
            let (from, until) = LOSSLESS_SAMPLES_NS;
            let values = match what {
                "rdma_incast" => class("rdma_incast"),
                "tcp_incast" => class("tcp_incast"),
                "rdma_ws" => class("rdma_websearch"),
                "tcp_ws" => class("tcp_websearch"),
                "rdma_ws_short" => short("rdma_websearch"),
                "tcp_ws_short" => short("tcp_websearch"),
                "occ" => outcome.occupancy_at(from, SAMPLES_NS.1, until),
                "occ_prio1" => outcome.occupancy_of(1, from, SAMPLES_NS.1, until),
                "occ_prio3" => outcome.occupancy_of(3, from, SAMPLES_NS.1, until),
                _ => return None,
            };
            statistic(name)?(&values)?
        }
    })
}

/// Bufferlab's range of a metric, and the ns-3 artifact's range.
#[derive(Clone, Debug, PartialEq)]
pub struct Range {
    /// The ns-3 artifact's range of the metric.
    pub theirs: Spread,
    /// Number of bufferlab's runs from which the range is computed.
    pub runs: usize,
    /// Bufferlab's smallest value of the metric.
    pub min: f64,
    /// Bufferlab's largest value of the metric.
    pub max: f64,
}

impl Range {
    /// Gap between bufferlab's and the ns-3 artifact's range, as a fraction of the artifact's
    /// nearest bound. The gap is positive if bufferlab's range is higher, negative if bufferlab's
    /// range is lower, and zero if the ranges overlap.
    #[must_use]
    pub fn gap(&self) -> f64 {
        if self.min > self.theirs.max {
            self.min / self.theirs.max - 1.0
        } else if self.max < self.theirs.min {
            self.max / self.theirs.min - 1.0
        } else {
            0.0
        }
    }

    /// Whether the ns-3 artifact's own runs agree within 1 % on the metric. Runs of the artifact
    /// agree within 1 % on losses, occupancy and tails of isolated incasts. Runs differ more on all
    /// other metrics.
    #[must_use]
    pub fn is_tight(&self) -> bool {
        let isolated = self.theirs.run.contains("_L0.0001_");
        isolated && ["drop", "occ", "inc_p99"].iter().any(|kind| self.theirs.metric.starts_with(kind))
    }

    /// Largest gap between two ranges that counts as agreement: 2 % if the ns-3 artifact's runs
    /// agree within 1 %, else 5 %.
    #[must_use]
    pub fn tolerance(&self) -> f64 {
        if self.is_tight() { 0.02 } else { 0.05 }
    }

    /// Whether the gap between bufferlab's and the ns-3 artifact's range is within the tolerance.
    #[must_use]
    pub fn agrees(&self) -> bool {
        self.gap().abs() <= self.tolerance()
    }
}

/// Returns the ranges of all metrics that bufferlab and the ns-3 artifact have in common, sorted by
/// run and metric.
///
/// # Errors
/// If a file cannot be read.
pub fn compare() -> Result<Vec<Range>, ValidationError> {
    let recorded = recorded()?;
    let range = |theirs: Spread| {
        let ours = recorded.iter().filter(|one| one.run == theirs.run && one.metric == theirs.metric);
        let ours: Vec<f64> = ours.map(|one| one.value).collect();
        let (min, max) = (ours.iter().copied().reduce(f64::min)?, ours.iter().copied().reduce(f64::max)?);
        Some(Range { theirs, runs: ours.len(), min, max })
    };
    Ok(spreads()?.into_iter().filter_map(range).collect())
}

/// Counts the pairs of policies that bufferlab orders like the ns-3 artifact, and all pairs that
/// the artifact separates in a metric. The artifact separates two policies if their ranges do not
/// overlap and their medians are more than 5 % apart. Bufferlab's policies are ordered by the
/// middle of their ranges.
#[must_use]
pub fn orders(ranges: &[Range]) -> (usize, usize) {
    let setting = |range: &Range| {
        let is_policy = |part: &&str| ["ABM", "DT", "REVERIE"].contains(part);
        range.theirs.run.split('_').filter(|part| !is_policy(part)).collect::<Vec<_>>().join("_")
    };
    let middle = |range: &Range| range.min + range.max;
    let (mut right, mut pairs) = (0, 0);
    for (index, one) in ranges.iter().enumerate() {
        for other in &ranges[index + 1..] {
            let apart = one.theirs.max < other.theirs.min || other.theirs.max < one.theirs.min;
            let ratio = one.theirs.median / other.theirs.median;
            let same = one.theirs.metric == other.theirs.metric && setting(one) == setting(other);
            if same && apart && !(0.95..=1.05).contains(&ratio) {
                pairs += 1;
                right +=
                    usize::from((middle(one) < middle(other)) == (one.theirs.median < other.theirs.median));
            }
        }
    }
    (right, pairs)
}
