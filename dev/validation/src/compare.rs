//! Compares the metrics of a run of bufferlab with the metrics of an ns-3 run.

use crate::ValidationError;
use crate::by_size::{self, SizeClass};
use crate::cases::Case;
use crate::explained::{EXPLAINED, Explained};
use crate::lossless;
use crate::measure::{Flow, Outcome, SHORT_FLOW_BYTES, mean, percentile, slowdowns};
use crate::reference::{self, Expected};
use crate::row::ComparedMetric;

/// Largest relative difference to ns-3 in runs without drops, and for single flows on an empty
/// network.
pub const TOLERANCE_WITHOUT_DROPS: f64 = 0.03;
/// Largest relative difference to ns-3 in runs in which packets are dropped.
pub const TOLERANCE_WITH_DROPS: f64 = 0.25;

/// Start and interval (ns) at which the ns-3 artifact samples the occupancy of leaf 0. The samples
/// end when the last flow starts. Start, end and interval of the sampling are inferred. Among start
/// times in steps of 50 ms and intervals in steps of 5 us, only these values reproduce the
/// occupancy within 1 %.
pub(crate) const SAMPLES_NS: (u64, u64) = (1_100_000_000, 30_000);

/// Smallest size of a long flow (bytes), as in the column `long1MB_mean` of the ns-3 reference.
pub(crate) const LONG_FLOW_BYTES: u64 = 1_000_000;

/// Completion time (ns) above which a flow had a retransmission timeout of 10 ms. Without a
/// timeout, every flow takes less than a third of this completion time.
pub(crate) const ONE_TIMEOUT_NS: u64 = 8_000_000;
/// Completion time above which a flow had two retransmission timeouts (ns).
pub(crate) const TWO_TIMEOUTS_NS: u64 = 16_000_000;

/// Agreement of completion times of single flows between bufferlab and the ns-3 reference.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scatter {
    /// Number of flows that finished in bufferlab and in the ns-3 reference.
    pub flows: usize,
    /// Median over flows of the relative difference between the completion times in bufferlab and
    /// in ns-3.
    pub median: f64,
    /// Maximum over flows of the relative difference between the completion times in bufferlab and
    /// in ns-3.
    pub largest: f64,
    /// Number of flows whose completion times in bufferlab and in ns-3 agree within 1 %.
    pub within_one_percent: usize,
    /// Number of flows whose completion times in bufferlab and in ns-3 agree within 3 %.
    pub within_three_percent: usize,
    /// Number of flows whose completion times in bufferlab and in ns-3 agree within 5 %.
    pub within_five_percent: usize,
}

/// Result of comparing bufferlab's run of a case with the ns-3 reference.
#[derive(Clone, Debug)]
pub struct Comparison {
    /// The case that is compared with the ns-3 reference.
    pub case: Case,
    /// Metrics of the compared runs of bufferlab and of the ns-3 reference.
    pub rows: Vec<ComparedMetric>,
    /// Agreement of the completion times of single flows with the ns-3 reference.
    pub scatter: Scatter,
    /// Agreement of completion times with the ns-3 reference, by workload class and flow size.
    pub by_size: Vec<SizeClass>,
}

impl Comparison {
    /// Runs a compared scenario, and compares the run's metrics with the ns-3 reference.
    ///
    /// # Errors
    /// If the run fails, the reference's files cannot be read, or the two simulators had different
    /// flows.
    pub fn run(case: &Case) -> Result<Self, ValidationError> {
        let ours = case.run()?;
        let expected = Expected::load(&case.key)?;
        let theirs = reference::flows(&case.key)?;
        let pairs = pairs(&ours.flows, &theirs)?;
        let (scatter, by_size) = (scatter(&pairs), by_size::classes(&pairs));
        let has = |incast: bool| theirs.iter().any(|flow| flow.incast == incast);
        let rows = match (has(true), has(false)) {
            _ if case.is_lossless() => lossless::rows(&ours, &theirs, &expected)?,
            (true, true) => loaded_rows(&ours, &theirs, &expected)?,
            (true, false) => incast_rows(&ours, &theirs, &expected)?,
            _ => unloaded_rows(&ours, &theirs, &expected, scatter)?,
        };
        Ok(Self { case: *case, rows, scatter, by_size })
    }

    /// Returns the known explanation for a metric that differs too much from ns-3, if any.
    #[must_use]
    pub fn explanation(&self, row: &ComparedMetric) -> Option<&'static Explained> {
        EXPLAINED.iter().find(|entry| entry.case == self.case.name && entry.metric == row.metric)
    }

    /// Returns metrics outside their tolerance without an explanation, and explained metrics that
    /// agree.
    #[must_use]
    pub fn surprises(&self) -> Vec<String> {
        let surprise = |row: &ComparedMetric| {
            let ComparedMetric { metric, ours, theirs, .. } = row;
            let case = self.case.name;
            let percent = 100.0 * row.difference();
            match (row.is_within(), self.explanation(row)) {
                (false, None) => Some(format!(
                    "{case}: {metric}: {ours:.3} for {theirs:.3} ({percent:+.1} %) is unexplained"
                )),
                (true, Some(_)) => Some(format!("{case}: {metric} is explained, but within its tolerance")),
                _ => None,
            }
        };
        self.rows.iter().filter_map(surprise).collect()
    }
}

/// Pairs each flow of bufferlab with its counterpart in the ns-3 reference.
fn pairs<'a>(ours: &'a [Flow], theirs: &'a [Flow]) -> Result<Vec<(&'a Flow, &'a Flow)>, ValidationError> {
    let key = |flow: &Flow| (flow.start_ns, flow.src, flow.dst, flow.size_bytes);
    let (mut ours, mut theirs): (Vec<_>, Vec<_>) = (ours.iter().collect(), theirs.iter().collect());
    ours.sort_by_key(|flow| key(flow));
    theirs.sort_by_key(|flow| key(flow));
    if ours.len() != theirs.len() || ours.iter().zip(&theirs).any(|(a, b)| key(a) != key(b)) {
        return Err(ValidationError::OtherFlows { ours: ours.len(), theirs: theirs.len() });
    }
    Ok(ours.into_iter().zip(theirs).collect())
}

fn scatter(pairs: &[(&Flow, &Flow)]) -> Scatter {
    let deviation = |(a, b): &(&Flow, &Flow)| (a.fct_ns as f64 / b.fct_ns as f64 - 1.0).abs();
    let mut deviations: Vec<_> = pairs.iter().map(deviation).collect();
    deviations.sort_by(f64::total_cmp);
    let within = |limit: f64| deviations.partition_point(|&deviation| deviation <= limit);
    Scatter {
        flows: deviations.len(),
        median: percentile(&deviations, 0.5).unwrap_or(0.0),
        largest: deviations.last().copied().unwrap_or(0.0),
        within_one_percent: within(0.01),
        within_three_percent: within(0.03),
        within_five_percent: within(0.05),
    }
}

fn number(expected: &Expected, column: &str) -> Result<f64, ValidationError> {
    expected.number(column)?.ok_or_else(|| ValidationError::NoReference(column.to_owned()))
}

/// Computes a statistic of the sorted slowdowns of bufferlab and of the ns-3 reference.
fn pair(ours: &[f64], theirs: &[f64], of: impl Fn(&[f64]) -> Option<f64>) -> (f64, f64) {
    (of(ours).unwrap_or(0.0), of(theirs).unwrap_or(0.0))
}

fn incast_rows(
    ours: &Outcome,
    theirs: &[Flow],
    expected: &Expected,
) -> Result<Vec<ComparedMetric>, ValidationError> {
    let number = |column: &str| number(expected, column);
    let drops = ["drop_leaf_down", "drop_leaf_up", "drop_spine"];
    let dropped = drops.iter().map(|column| number(column)).sum::<Result<f64, _>>()?;
    let tolerance = if dropped > 0.0 { TOLERANCE_WITH_DROPS } else { TOLERANCE_WITHOUT_DROPS };
    let row = |metric, (ours, theirs)| ComparedMetric { metric, ours, theirs, tolerance };
    let a = slowdowns(&ours.flows, |flow| flow.incast);
    let b = slowdowns(theirs, |flow| flow.incast);
    let slower_than = |limit: u64| {
        let count = |flows: &[Flow]| flows.iter().filter(|flow| flow.fct_ns > limit).count() as f64;
        (count(&ours.flows), count(theirs))
    };
    // The ns-3 reference counts each mark twice, at the root queue and at the child queue. The
    // reference also counts packets that already have a mark.
    let marks_up = (ours.marks.leaf_up as f64, number("mark_leaf_up")? / 2.0);
    let marks_down = (ours.marked_to_hosts as f64, number("mark_leaf_down")? / 2.0);
    let mut rows = vec![
        row("incast slowdown, p50", pair(&a, &b, |s| percentile(s, 0.5))),
        row("incast slowdown, mean", pair(&a, &b, mean)),
        row("incast slowdown, p99", pair(&a, &b, |s| percentile(s, 0.99))),
        row("flows with a timeout", slower_than(ONE_TIMEOUT_NS)),
        row("flows with two timeouts", slower_than(TWO_TIMEOUTS_NS)),
        row("drops, leaf to host", (ours.drops.leaf_down as f64, number("drop_leaf_down")?)),
        row("drops, leaf to spine", (ours.drops.leaf_up as f64, number("drop_leaf_up")?)),
        row("drops, spine", (ours.drops.spine as f64, number("drop_spine")?)),
        row("marks, leaf to spine", marks_up),
        row("marked packets, leaf to host", marks_down),
    ];
    rows.extend(occupancy_rows(ours, expected, tolerance)?);
    Ok(rows)
}

/// Compares the occupancy of leaf 0 during the time in which flows start.
fn occupancy_rows(
    ours: &Outcome,
    expected: &Expected,
    tolerance: f64,
) -> Result<Vec<ComparedMetric>, ValidationError> {
    let (from, step) = SAMPLES_NS;
    let window_ns = (number(expected, "launch_s")? * 1e9) as u64;
    let occupancy = ours.occupancy_at(from, step, from + window_ns);
    let row = |metric, ours: Option<f64>, column| {
        Ok::<_, ValidationError>(ComparedMetric {
            metric,
            ours: ours.unwrap_or(0.0),
            theirs: number(expected, column)?,
            tolerance,
        })
    };
    Ok(vec![
        row("occupancy of leaf 0, mean [%]", mean(&occupancy), "occ_pct_mean")?,
        row("occupancy of leaf 0, p99 [%]", percentile(&occupancy, 0.99), "occ_pct_p99")?,
        row("occupancy of leaf 0, max [%]", occupancy.last().copied(), "occ_pct_max")?,
    ])
}

/// Compares the metrics of runs with web search, incast and drops. The p99 of short flows is
/// omitted, because it would depend on two flows.
fn loaded_rows(
    ours: &Outcome,
    theirs: &[Flow],
    expected: &Expected,
) -> Result<Vec<ComparedMetric>, ValidationError> {
    let tolerance = TOLERANCE_WITH_DROPS;
    let row = |metric, (ours, theirs)| ComparedMetric { metric, ours, theirs, tolerance };
    let of = |select: fn(&Flow) -> bool| (slowdowns(&ours.flows, select), slowdowns(theirs, select));
    let incast = of(|flow| flow.incast);
    let short = of(|flow| !flow.incast && flow.size_bytes < SHORT_FLOW_BYTES);
    let long = of(|flow| !flow.incast && flow.size_bytes >= LONG_FLOW_BYTES);
    let all = of(|flow| !flow.incast);
    let late = |incast: bool| {
        let is_late = |flow: &&Flow| flow.incast == incast && flow.fct_ns > ONE_TIMEOUT_NS;
        let count = |flows: &[Flow]| flows.iter().filter(is_late).count() as f64;
        (count(&ours.flows), count(theirs))
    };
    let drops = |ours: u64, column| Ok::<_, ValidationError>((ours as f64, number(expected, column)?));
    let mut rows = vec![
        row("incast slowdown, p50", pair(&incast.0, &incast.1, |s| percentile(s, 0.5))),
        row("incast slowdown, mean", pair(&incast.0, &incast.1, mean)),
        row("incast slowdown, p99", pair(&incast.0, &incast.1, |s| percentile(s, 0.99))),
        row("incast flows with a timeout", late(true)),
        row("short flows, slowdown, p50", pair(&short.0, &short.1, |s| percentile(s, 0.5))),
        row("short flows, slowdown, mean", pair(&short.0, &short.1, mean)),
        row("flows of 1 MB or more, slowdown, mean", pair(&long.0, &long.1, mean)),
        row("web search, slowdown, mean", pair(&all.0, &all.1, mean)),
        row("drops, leaf to host", drops(ours.drops.leaf_down, "drop_leaf_down")?),
        row("drops, leaf to spine", drops(ours.drops.leaf_up, "drop_leaf_up")?),
        row("drops, spine", drops(ours.drops.spine, "drop_spine")?),
    ];
    rows.extend(occupancy_rows(ours, expected, tolerance)?);
    Ok(rows)
}

fn unloaded_rows(
    ours: &Outcome,
    theirs: &[Flow],
    expected: &Expected,
    scatter: Scatter,
) -> Result<Vec<ComparedMetric>, ValidationError> {
    let row =
        |metric, (ours, theirs)| ComparedMetric { metric, ours, theirs, tolerance: TOLERANCE_WITHOUT_DROPS };
    let short = |flow: &Flow| !flow.incast && flow.size_bytes < SHORT_FLOW_BYTES;
    let (a, b) = (slowdowns(&ours.flows, short), slowdowns(theirs, short));
    let (all_a, all_b) = (slowdowns(&ours.flows, |_| true), slowdowns(theirs, |_| true));
    let drops = ours.drops.leaf_down + ours.drops.leaf_up + ours.drops.spine;
    let marks_up = (ours.marks.leaf_up as f64, number(expected, "mark_leaf_up")? / 2.0);
    Ok(vec![
        row("short flows, slowdown, p50", pair(&a, &b, |s| percentile(s, 0.5))),
        row("short flows, slowdown, p99", pair(&a, &b, |s| percentile(s, 0.99))),
        row("all flows, slowdown, mean", pair(&all_a, &all_b, mean)),
        row("flows with an FCT within 3 %", (scatter.within_three_percent as f64, scatter.flows as f64)),
        row("drops, all switches", (drops as f64, number(expected, "drop_leaf_up")?)),
        row("marks, leaf to spine", marks_up),
    ])
}
