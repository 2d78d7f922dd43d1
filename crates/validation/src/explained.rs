//! Which differences beyond the tolerance are known, and by what name does
//! `docs/evidence/validation.md` explain them?

use crate::by_size::SizeClass;

/// A row that may lie outside its tolerance.
#[derive(Clone, Copy, Debug)]
pub struct Explained {
    /// [`crate::Case::name`].
    pub case: &'static str,
    /// [`crate::Row::metric`].
    pub metric: &'static str,
    /// A heading of `docs/evidence/validation.md`.
    pub name: &'static str,
}

/// Simultaneous packets: seeded and fair here, in order of insertion in ns-3.
const TIES: &str = "Order of simultaneous packets";

/// A handful of flows: their number changes with the seed.
const SECOND_TIMEOUTS: &str = "Second timeouts";

/// Few flows, at the same time on one uplink.
const MEET: &str = "Flows that meet";

/// Drops at a few moments.
const FULL: &str = "A full buffer under load";

/// A few pauses of a thousand: their number changes with the seed.
const SPINES: &str = "Pauses by spines";

/// The five slowest of 384 or 512 flows belong to one incast or two.
const ONE_INCAST: &str = "One incast decides";

/// Half of some sixty flows are fast, half are paused.
const SHORT_RDMA: &str = "Short messages among pauses";

const fn row(case: &'static str, metric: &'static str, name: &'static str) -> Explained {
    Explained { case, metric, name }
}

/// Every known difference. A row that is listed but within its tolerance fails the test as well.
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

/// A class of flows of one size whose median lies outside its tolerance.
#[derive(Clone, Copy, Debug)]
pub struct ExplainedSize {
    /// [`crate::Case::name`].
    pub case: &'static str,
    /// [`SizeClass::class`].
    pub class: &'static str,
    /// [`SizeClass::sizes`].
    pub sizes: &'static str,
    /// A heading of `docs/evidence/validation.md`.
    pub name: &'static str,
}

/// Every known class of sizes that does not agree. One that agrees but is listed fails the test as
/// well.
pub const SIZES: &[ExplainedSize] = &[
    size("PowerTCP, DT"),
    size("PowerTCP, ABM"),
    size("PowerTCP, Reverie"),
    size("PowerTCP and Cubic, ABM"),
];

/// RDMA messages just beyond the first window are too fast.
const fn size(case: &'static str) -> ExplainedSize {
    let name = "Messages of PowerTCP beyond their first window";
    ExplainedSize { case, class: "rdma_websearch", sizes: "54 to 300 KB", name }
}

/// The heading that explains why a class of sizes does not agree, if there is one.
#[must_use]
pub fn explained_size(case: &str, class: &SizeClass) -> Option<&'static str> {
    let is_it = |known: &&ExplainedSize| {
        known.case == case && known.class == class.class && known.sizes == class.sizes()
    };
    SIZES.iter().find(is_it).map(|known| known.name)
}

/// A metric whose ranges do not agree.
#[derive(Clone, Copy, Debug)]
pub struct RangeApart {
    /// [`crate::ranges::Spread::run`].
    pub run: &'static str,
    /// [`crate::ranges::Spread::metric`].
    pub metric: &'static str,
    /// The cause, or what is known of it.
    pub why: &'static str,
}

/// See the section of this name.
const MORE_HELD: &str = "A full buffer under load";
/// Open.
const LOSSLESS_SHARE: &str = "open: lossless queues hold more of the pool than there, TCP less";

/// Open.
const TCP_LOSSES: &str = "open: TCP loses more than there since its connections are full";

const fn apart(run: &'static str, metric: &'static str, why: &'static str) -> RangeApart {
    RangeApart { run, metric, why }
}

/// Every metric whose ranges are known not to agree. One that agrees but is listed fails the test.
pub const RANGES: &[RangeApart] = &[
    apart("abm_clean_ABM_cubic_L0.8_R0.5_Q15_W0.06", "drop_up", MORE_HELD),
    apart("rev_S1_ABM_dcqcn_cubic", "lossy_drops", LOSSLESS_SHARE),
    apart("rev_S1_ABM_dcqcn_cubic", "occ_prio3_p99", LOSSLESS_SHARE),
    apart("rev_S1_REVERIE_dcqcn_cubic", "lossy_drops", TCP_LOSSES),
    apart("rev_S4_ABM_dcqcn_cubic", "lossy_drops", LOSSLESS_SHARE),
];
