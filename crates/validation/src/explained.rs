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

/// The five slowest of 384 flows belong to one incast or two.
const ONE_INCAST: &str = "One incast decides";

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
    row("Cubic, ABM, load 0.8", "drops, leaf to host", FULL),
    row("unloaded, Cubic", "flows with an FCT within 3 %", MEET),
    row("unloaded, TIMELY", "flows with an FCT within 3 %", MEET),
    row("DCQCN and Cubic, DT", "pauses by spines", SPINES),
    row("DCQCN and Cubic, DT", "incast slowdown, p99", ONE_INCAST),
    row("PowerTCP, ABM", "pauses by spines", SPINES),
];
