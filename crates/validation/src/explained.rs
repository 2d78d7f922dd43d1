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
];
