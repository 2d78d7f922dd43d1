//! Metrics of Reverie's evaluation: pause frames, and slowdowns of RDMA and TCP flows by class.

use crate::ValidationError;
use crate::measure::{Flow, Outcome, mean, percentile, slowdowns};
use crate::reference::Expected;
use crate::row::ComparedMetric;

/// Largest relative difference in pause frames: bufferlab may send 0.5 to 1.5 times the frames of
/// ns-3.
pub const PAUSES: f64 = 0.5;
/// Largest relative difference to ns-3 in the mean slowdown of incast flows.
pub const INCAST: f64 = 0.15;
/// Largest relative difference to ns-3 in all metrics except pauses and incasts.
const OTHER: f64 = 0.25;

/// Size below which flows are short (bytes), as in the columns of the ns-3 reference: Reverie's
/// bandwidth-delay product.
pub(crate) const SHORT_FLOW_BYTES: u64 = 54_000;

/// Compares the metrics of a run with RDMA. The p99 of short flows is omitted, because it would
/// depend on one or two flows.
pub(crate) fn rows(
    ours: &Outcome,
    theirs: &[Flow],
    expected: &Expected,
) -> Result<Vec<ComparedMetric>, ValidationError> {
    let number = |column: &str| {
        expected.number(column)?.ok_or_else(|| ValidationError::NoReference(column.to_owned()))
    };
    let row = |metric, tolerance, (ours, theirs)| ComparedMetric { metric, ours, theirs, tolerance };
    let statistic = |select: &dyn Fn(&Flow) -> bool, of: &dyn Fn(&[f64]) -> Option<f64>| {
        let of = |flows: &[Flow]| of(&slowdowns(flows, select)).unwrap_or(0.0);
        (of(&ours.flows), of(theirs))
    };
    let class = |name: &'static str| move |flow: &Flow| flow.class == name;
    let short =
        |name: &'static str| move |flow: &Flow| flow.class == name && flow.size_bytes < SHORT_FLOW_BYTES;
    let pauses = ours.pauses_of_leaves + ours.pauses_of_spines;
    let mut rows = vec![
        row("pauses", PAUSES, (pauses as f64, number("pfc_pause_sent")?)),
        row("pauses by leaves", PAUSES, (ours.pauses_of_leaves as f64, number("pause_by_tor")?)),
        row("pauses by spines", PAUSES, (ours.pauses_of_spines as f64, number("pause_by_spine")?)),
        row("lossless packets lost", 0.0, (ours.lossless_drops as f64, number("lossless_drops")?)),
        row("incast slowdown, mean", INCAST, statistic(&|flow| flow.incast, &mean)),
        row("incast slowdown, p50", INCAST, statistic(&|flow| flow.incast, &|s| percentile(s, 0.5))),
        row("incast slowdown, p99", OTHER, statistic(&|flow| flow.incast, &|s| percentile(s, 0.99))),
        row("RDMA web search, slowdown, mean", OTHER, statistic(&class("rdma_websearch"), &mean)),
        row("short RDMA flows, slowdown, mean", OTHER, statistic(&short("rdma_websearch"), &mean)),
        row(
            "short RDMA flows, slowdown, p50",
            OTHER,
            statistic(&short("rdma_websearch"), &|s| percentile(s, 0.5)),
        ),
    ];
    if theirs.iter().any(class("tcp_websearch")) {
        rows.extend([
            row("TCP web search, slowdown, mean", OTHER, statistic(&class("tcp_websearch"), &mean)),
            row("short TCP flows, slowdown, mean", OTHER, statistic(&short("tcp_websearch"), &mean)),
            row(
                "short TCP flows, slowdown, p50",
                OTHER,
                statistic(&short("tcp_websearch"), &|s| percentile(s, 0.5)),
            ),
        ]);
    }
    Ok(rows)
}
