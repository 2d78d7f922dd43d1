//! Which differences beyond the tolerance are known, and by what name does `docs/validation.md` explain them?

/// A row that may lie outside its tolerance.
#[derive(Clone, Copy, Debug)]
pub struct Explained {
    /// [`crate::Case::name`].
    pub case: &'static str,
    /// [`crate::Row::metric`].
    pub metric: &'static str,
    /// A heading of `docs/validation.md`.
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

/// A mean over some 150 short flows, of which one or two meet the timer.
const ONE_TIMEOUT: &str = "One timeout decides";

/// RDMA is faster here by a tenth.
const BEYOND: &str = "Messages of PowerTCP beyond their first window";

/// Half of some sixty flows are fast, half are paused.
const SHORT_RDMA: &str = "Short messages among TCP incasts";

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
    row("ABM, load 0.4", "short flows, slowdown, mean", ONE_TIMEOUT),
    row("unloaded, Cubic", "flows with an FCT within 3 %", MEET),
    row("unloaded, TIMELY", "flows with an FCT within 3 %", MEET),
    row("DCQCN and Cubic, Reverie", "pauses by spines", SPINES),
    row("PowerTCP, ABM", "pauses by spines", SPINES),
    row("PowerTCP and Cubic, ABM", "incast slowdown, mean", BEYOND),
    row("TCP incasts, Reverie", "pauses by spines", SPINES),
    row("TCP incasts, Reverie", "incast slowdown, mean", ONE_INCAST),
    row("TCP incasts, Reverie", "incast slowdown, p99", ONE_INCAST),
    row("TCP incasts, Reverie", "short RDMA flows, slowdown, p50", SHORT_RDMA),
];
