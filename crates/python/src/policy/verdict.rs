//! Verdicts that policies in Python return.

use crate::errors;
use bufferlab_core::{self as core, Account, DropReason, End, QueueId, Refusal};
use pyo3::prelude::*;
use pyo3::types::PyTuple;

/// Drop reasons that a policy may return. Only the switch may use the other drop reasons.
const REASONS: &[DropReason] = &[
    DropReason::BufferFull,
    DropReason::OverThreshold,
    DropReason::OverPortLimit,
    DropReason::OverIngressLimit,
    DropReason::HeadroomFull,
    DropReason::Early,
    DropReason::Predicted,
];

/// A verdict of a policy. Verdicts are immutable, so a policy can create them once and reuse them.
#[pyclass(frozen, eq, module = "bufferlab._bufferlab")]
#[derive(PartialEq, Eq)]
pub(crate) struct Verdict(pub(super) core::Verdict);

#[pymethods]
impl Verdict {
    /// Verdict of a policy that stores the packet.
    #[classattr]
    const ADMIT: Self = Self(core::Verdict::Admit(Account::Shared));
    /// Verdict that stores the packet in the headroom of its ingress queue (lossless classes).
    #[classattr]
    const ADMIT_TO_HEADROOM: Self = Self(core::Verdict::Admit(Account::Headroom));
    /// Verdict that drops the packet, because its queue would exceed the threshold.
    #[classattr]
    const DROP: Self = Self(core::Verdict::Drop(DropReason::OverThreshold));
    /// Verdict that drops the packet, because the buffer has no room.
    #[classattr]
    const FULL: Self = Self(core::Verdict::Drop(DropReason::BufferFull));

    /// Verdict that drops the packet because of `reason`, the name of the exceeded limit.
    #[staticmethod]
    fn drop(py: Python<'_>, reason: &str) -> PyResult<Self> {
        Ok(Self(core::Verdict::Drop(parse_reason(py, reason)?)))
    }

    /// Evicts one stored packet from the "head" or "tail" of `queue`; after the eviction, `admit`
    /// is called again.
    #[staticmethod]
    #[pyo3(signature = (queue, end = "tail"))]
    fn evict(queue: &Bound<'_, PyAny>, end: &str) -> PyResult<Self> {
        let victim = QueueId(errors::whole_number("queue", queue, u16::MAX.into())? as u16);
        Ok(Self(core::Verdict::Evict { victim, end: parse_end(queue.py(), end)? }))
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyTuple>)> {
        let (py, class) = (slf.py(), slf.get_type());
        Ok(match slf.get().0 {
            core::Verdict::Admit(account) => {
                let name = if account == Account::Headroom { "ADMIT_TO_HEADROOM" } else { "ADMIT" };
                (py.import("builtins")?.getattr("getattr")?, (class, name).into_pyobject(py)?)
            }
            core::Verdict::Evict { victim, end } => {
                (class.getattr("evict")?, (victim.0, end_name(end)).into_pyobject(py)?)
            }
            refused => {
                let Refusal { outcome, reason } = refusal_of(refused);
                (class.getattr(outcome.verb())?, (reason.name(),).into_pyobject(py)?)
            }
        })
    }

    fn __repr__(&self) -> String {
        match self.0 {
            core::Verdict::Admit(Account::Headroom) => "Verdict.ADMIT_TO_HEADROOM".to_owned(),
            core::Verdict::Admit(_) => "Verdict.ADMIT".to_owned(),
            core::Verdict::Evict { victim, end } => {
                format!("Verdict.evict({}, {:?})", victim.0, end_name(end))
            }
            refused => {
                let Refusal { outcome, reason } = refusal_of(refused);
                format!("Verdict.{}({:?})", outcome.verb(), reason.name())
            }
        }
    }

    fn __hash__(&self) -> u64 {
        match self.0 {
            core::Verdict::Admit(account) => account as u64,
            core::Verdict::Evict { victim, end } => {
                256 + u64::from(victim.0) * 2 + u64::from(end == End::Head)
            }
            refused => {
                let Refusal { outcome, reason } = refusal_of(refused);
                16 * outcome as u64 + reason as u64
            }
        }
    }
}

/// Returns the outcome and the reason of a verdict that refuses the packet.
fn refusal_of(verdict: core::Verdict) -> Refusal {
    verdict.refusal().expect("a verdict admits, evicts or refuses")
}

/// Parses the name of a drop reason, such as "over-threshold".
fn parse_reason(py: Python<'_>, reason: &str) -> PyResult<DropReason> {
    let written = reason.replace('_', "-");
    REASONS.iter().copied().find(|known| known.name() == written).ok_or_else(|| {
        errors::unknown(py, "reason", "reason of a drop", reason, REASONS.iter().map(|reason| reason.name()))
    })
}

fn end_name(end: End) -> &'static str {
    if end == End::Head { "head" } else { "tail" }
}

/// Parses an end of a queue: "head" or "tail".
pub(super) fn parse_end(py: Python<'_>, end: &str) -> PyResult<End> {
    match end {
        "head" => Ok(End::Head),
        "tail" => Ok(End::Tail),
        other => Err(errors::unknown(py, "end", "end of a queue", other, ["head", "tail"])),
    }
}
