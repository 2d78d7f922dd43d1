//! Known differences to the ns-3 reference that exceed the tolerance. Each difference has a heading
//! in `docs/evidence/validation.md`.

use crate::by_size::SizeClass;

/// A metric of a compared case that may differ from ns-3 by more than its tolerance, because the
/// difference is explained.
#[derive(Clone, Copy, Debug)]
pub struct Explained {
    /// Name of the compared case ([`crate::Case::name`]).
    pub case: &'static str,
    /// Name of the metric outside its tolerance ([`crate::ComparedMetric::metric`]).
    pub metric: &'static str,
    /// Heading of `docs/evidence/validation.md` below which the difference is explained.
    pub name: &'static str,
}

/// Cause of differences to ns-3: bufferlab orders simultaneous packets at random, ns-3 by
/// insertion.
const TIES: &str = "Order of simultaneous packets";

/// Cause of differences to ns-3: a few flows have a second retransmission timeout; their number
/// changes with the seed.
const SECOND_TIMEOUTS: &str = "Second timeouts";

/// Cause of differences to ns-3: a few flows share an uplink for a short time, so their completion
/// times differ.
const MEET: &str = "Flows that meet";

/// Cause of differences to ns-3: packets are dropped only at a few moments of the run.
const FULL: &str = "A full buffer under load";

/// Cause of differences to ns-3: spines send only a few pause frames, and the number changes with
/// the seed.
const SPINES: &str = "Pauses by spines";

/// Cause of differences to ns-3: the five slowest of 384 or 512 flows, which decide the p99, belong
/// to one or two incasts.
const ONE_INCAST: &str = "One incast decides";

/// Cause of differences to ns-3: about half of some sixty flows are fast, and pauses delay the
/// other flows.
const SHORT_RDMA: &str = "Short messages among pauses";

const fn row(case: &'static str, metric: &'static str, name: &'static str) -> Explained {
    Explained { case, metric, name }
}

/// Every metric that is known to differ from ns-3 by more than its tolerance. The test also fails
/// if a listed metric agrees.
pub const EXPLAINED: &[Explained] = &[
    row("DT, R = 0.5", "incast slowdown, p50", TIES),
    row("DT, R = 0.5", "flows with a timeout", TIES),
    row("DT, R = 0.75", "incast slowdown, mean", TIES),
    row("DT, R = 0.75", "flows with a timeout", TIES),
    row("DT, R = 0.75", "flows with two timeouts", SECOND_TIMEOUTS),
    row("Cubic, DT, R = 0.75", "flows with a timeout", TIES),
    row("Cubic, ABM, load 0.8", "incast flows with a timeout", FULL),
    row("Cubic, ABM, load 0.4", "incast flows with a timeout", FULL),
    row("unloaded, Cubic", "flows with an FCT within 3 %", MEET),
    row("unloaded, TIMELY", "flows with an FCT within 3 %", MEET),
    row("DCQCN and Cubic, DT", "pauses by spines", SPINES),
    row("DCQCN and Cubic, ABM", "incast slowdown, p99", ONE_INCAST),
    row("DCQCN and Cubic, ABM", "short RDMA flows, slowdown, mean", SHORT_RDMA),
    row("DCQCN and Cubic, Reverie", "pauses by spines", SPINES),
    row("TCP incasts, Reverie", "pauses by spines", SPINES),
    row("TCP incasts, Reverie", "incast slowdown, mean", ONE_INCAST),
    row("TCP incasts, Reverie", "incast slowdown, p99", ONE_INCAST),
    row("TCP incasts, Reverie", "short RDMA flows, slowdown, p50", SHORT_RDMA),
];

/// A size class of flows whose median completion time differs too much from ns-3.
#[derive(Clone, Copy, Debug)]
pub struct ExplainedSize {
    /// Name of the compared case ([`crate::Case::name`]).
    pub case: &'static str,
    /// Workload class of the flows ([`SizeClass::class`]).
    pub class: &'static str,
    /// Range of the flows' sizes ([`SizeClass::sizes`]).
    pub sizes: &'static str,
    /// Heading of `docs/evidence/validation.md` below which the difference is explained.
    pub name: &'static str,
}

/// Every size class of flows that is known to disagree with ns-3. The test also fails if a listed
/// size class agrees.
pub const SIZES: &[ExplainedSize] = &[
    size("PowerTCP, DT"),
    size("PowerTCP, ABM"),
    size("PowerTCP, Reverie"),
    size("PowerTCP and Cubic, ABM"),
];

/// Creates the list entry for RDMA messages just beyond the first window, which are too fast in
/// bufferlab.
const fn size(case: &'static str) -> ExplainedSize {
    let name = "Messages of PowerTCP beyond their first window";
    ExplainedSize { case, class: "rdma_websearch", sizes: "54 to 300 KB", name }
}

/// Returns the heading that explains why a size class disagrees with ns-3, if the disagreement is
/// known.
#[must_use]
pub fn explained_size(case: &str, class: &SizeClass) -> Option<&'static str> {
    let is_it = |known: &&ExplainedSize| {
        known.case == case && known.class == class.class && known.sizes == class.sizes()
    };
    SIZES.iter().find(is_it).map(|known| known.name)
}

/// A metric whose ranges in bufferlab and in the ns-3 reference disagree.
#[derive(Clone, Copy, Debug)]
pub struct RangeApart {
    /// Name of the ns-3 reference's run ([`crate::ranges::Spread::run`]).
    pub run: &'static str,
    /// Name of the metric of the run ([`crate::ranges::Spread::metric`]).
    pub metric: &'static str,
    /// Cause of the difference between the ranges. The text begins with `open:` if the cause is
    /// unknown.
    pub why: &'static str,
}

/// Heading in `docs/evidence/validation.md` below which the difference between ranges is explained.
const MORE_HELD: &str = "A full buffer under load";
/// Unexplained difference: in bufferlab, lossless queues occupy more of the pool than in the ns-3
/// artifact.
const LOSSLESS_SHARE: &str = "open: lossless queues hold more of the pool than in ns-3, TCP less";

/// Unexplained difference: in bufferlab, TCP loses more packets than in the ns-3 artifact.
const TCP_LOSSES: &str = "open: with full connections, TCP loses more than in ns-3";

const fn apart(run: &'static str, metric: &'static str, why: &'static str) -> RangeApart {
    RangeApart { run, metric, why }
}

/// Every metric whose ranges in bufferlab and in ns-3 are known to disagree. The test fails if a
/// listed metric agrees with ns-3.
pub const RANGES: &[RangeApart] = &[
    apart("abm_clean_ABM_cubic_L0.8_R0.5_Q15_W0.06", "drop_up", MORE_HELD),
    apart("rev_S1_ABM_dcqcn_cubic", "lossy_drops", LOSSLESS_SHARE),
    apart("rev_S1_ABM_dcqcn_cubic", "occ_prio3_p99", LOSSLESS_SHARE),
    apart("rev_S1_REVERIE_dcqcn_cubic", "lossy_drops", TCP_LOSSES),
    apart("rev_S4_ABM_dcqcn_cubic", "lossy_drops", LOSSLESS_SHARE),
];
