//! Objects that a congestion control in Python uses: ACKs and the congestion window.

use crate::errors;
use bufferlab_transport::{self as transport, AckEvent, HopReport};
use bufferlab_units::Time;
use pyo3::prelude::*;
use pyo3::types::PyBool;

/// The congestion window of a flow. Changes take effect when the Python method returns.
#[pyclass(eq, module = "bufferlab._bufferlab")]
#[derive(PartialEq)]
pub(crate) struct Window(pub(super) transport::Window);

#[pymethods]
impl Window {
    #[new]
    #[pyo3(signature = (size, slow_start_threshold = None, pacing_gap_ps = None))]
    fn new(
        size: &Bound<'_, PyAny>,
        slow_start_threshold: Option<&Bound<'_, PyAny>>,
        pacing_gap_ps: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let size = segments("size", size)?;
        let threshold = slow_start_threshold.map(|given| segments("slow_start_threshold", given));
        let gap = pacing_gap_ps.map(|given| errors::whole_number("pacing_gap_ps", given, u64::MAX));
        Ok(Self(transport::Window {
            size,
            slow_start_threshold: threshold.transpose()?.unwrap_or(f64::INFINITY),
            pacing_gap: Time(gap.transpose()?.unwrap_or(0)),
        }))
    }

    fn __getnewargs__(&self) -> (f64, f64, u64) {
        let transport::Window { size, slow_start_threshold, pacing_gap } = self.0;
        (size, slow_start_threshold, pacing_gap.0)
    }

    /// The congestion window (segments); less than 1 counts as 1.
    #[getter]
    fn size(&self) -> f64 {
        self.0.size
    }

    #[setter]
    fn set_size(&mut self, size: &Bound<'_, PyAny>) -> PyResult<()> {
        self.0.size = number("size", size)?;
        Ok(())
    }

    /// Slow-start threshold (segments): a window below the threshold grows exponentially. The
    /// initial threshold is infinite.
    #[getter]
    fn slow_start_threshold(&self) -> f64 {
        self.0.slow_start_threshold
    }

    #[setter]
    fn set_slow_start_threshold(&mut self, threshold: &Bound<'_, PyAny>) -> PyResult<()> {
        self.0.slow_start_threshold = number("slow_start_threshold", threshold)?;
        Ok(())
    }

    /// Minimum time between two segments (ps); 0 means no pacing.
    #[getter]
    fn pacing_gap_ps(&self) -> u64 {
        self.0.pacing_gap.0
    }

    #[setter]
    fn set_pacing_gap_ps(&mut self, gap: &Bound<'_, PyAny>) -> PyResult<()> {
        self.0.pacing_gap = Time(errors::whole_number("pacing_gap_ps", gap, u64::MAX)?);
        Ok(())
    }

    /// Grows the congestion window. Below the slow-start threshold, the window grows by one segment
    /// per delivered segment. Above the threshold, the window grows by one segment for each whole
    /// window of delivered segments (RFC 5681).
    fn grow(&mut self, delivered: &Bound<'_, PyAny>) -> PyResult<()> {
        let delivered = f64::from(errors::whole_number("delivered", delivered, u32::MAX.into())? as u32);
        let is_slow_start = self.0.size < self.0.slow_start_threshold;
        self.0.size += if is_slow_start { delivered } else { delivered / self.0.size };
        Ok(())
    }

    fn __repr__(&self) -> String {
        let transport::Window { size, slow_start_threshold, pacing_gap } = self.0;
        format!("Window({size} segments, threshold {slow_start_threshold}, gap {pacing_gap})")
    }
}

/// Converts a number that a method sets. The range is checked after the end of the method.
#[inline]
fn number(attribute: &str, value: &Bound<'_, PyAny>) -> PyResult<f64> {
    value.extract().map_err(|_| errors::not_expected(attribute, value, "a number of segments"))
}

/// Converts a Python number of segments, which may be infinite.
fn segments(argument: &str, value: &Bound<'_, PyAny>) -> PyResult<f64> {
    let found = if value.is_instance_of::<PyBool>() { None } else { value.extract::<f64>().ok() };
    found
        .filter(|segments| *segments >= 0.0)
        .ok_or_else(|| errors::not_expected(argument, value, "a number of segments, 0 or more"))
}

impl Window {
    /// Copies the Python window to the flow, or describes why the window is invalid.
    #[inline]
    pub(super) fn give(&self, to: &mut transport::Window) -> Result<(), String> {
        let transport::Window { size, slow_start_threshold, pacing_gap } = self.0;
        if !(0.0..f64::INFINITY).contains(&size) {
            return Err(format!(
                "left window.size = {size}; expected a finite number of segments, at least 0"
            ));
        }
        if slow_start_threshold.is_nan() || slow_start_threshold < 0.0 {
            return Err(format!(
                "left window.slow_start_threshold = {slow_start_threshold}; expected a number of segments"
            ));
        }
        *to = transport::Window {
            size: size.max(1.0),
            slow_start_threshold: slow_start_threshold.max(1.0),
            pacing_gap,
        };
        Ok(())
    }
}

/// The contents of an ACK that a flow received.
#[pyclass(frozen, module = "bufferlab._bufferlab")]
pub(crate) struct Ack {
    now: Time,
    rtt: Time,
    delivered: u32,
    acknowledged: u32,
    next: u32,
    in_flight: u32,
    marked: bool,
    may_grow: bool,
    /// Reports of the switches on the path. The list is empty, without an allocation, unless the
    /// congestion control requests telemetry.
    telemetry: Vec<HopReport>,
}

impl Ack {
    #[inline]
    pub(super) fn new(ack: &AckEvent<'_>) -> Self {
        let AckEvent { now, rtt, delivered, marked, acknowledged, next, in_flight, may_grow, telemetry } =
            *ack;
        let telemetry = telemetry.to_vec();
        Self { now, rtt, delivered, acknowledged, next, in_flight, marked, may_grow, telemetry }
    }
}

#[pymethods]
impl Ack {
    fn __reduce__(&self, py: Python<'_>) -> PyResult<()> {
        Err(errors::not_pickled(py, "Ack"))
    }

    /// Time at which the ACK arrived at the sender (ps).
    #[getter]
    fn now_ps(&self) -> u64 {
        self.now.0
    }

    /// Round-trip time of the segment that caused the ACK (ps).
    #[getter]
    fn rtt_ps(&self) -> u64 {
        self.rtt.0
    }

    /// Number of segments that the ACK newly reports as delivered.
    #[getter]
    fn delivered(&self) -> u32 {
        self.delivered
    }

    /// Whether the ACK echoes a congestion mark.
    #[getter]
    fn marked(&self) -> bool {
        self.marked
    }

    /// Number of segments that the ACK acknowledges cumulatively.
    #[getter]
    fn acknowledged(&self) -> u32 {
        self.acknowledged
    }

    /// Number of the next new segment of the flow.
    #[getter]
    fn next(&self) -> u32 {
        self.next
    }

    /// Number of segments in the network before the ACK arrived.
    #[getter]
    fn in_flight(&self) -> u32 {
        self.in_flight
    }

    /// Whether the window may grow. The window may grow if no recovery or reduction is active, and
    /// the window limited the sender.
    #[getter]
    fn may_grow(&self) -> bool {
        self.may_grow
    }

    /// Reports of the switches on the path, in the order of the path.
    /// The list is empty unless the class sets `wants_telemetry`.
    #[getter]
    fn telemetry(&self) -> Vec<Hop> {
        self.telemetry.iter().copied().map(Hop).collect()
    }

    fn __repr__(&self) -> String {
        let Self { now, rtt, delivered, .. } = self;
        format!("Ack({delivered} segments at {now}, round trip {rtt})")
    }
}

/// The report of one switch about a packet. The switch makes the report when it starts to send the
/// packet.
#[pyclass(frozen, module = "bufferlab._bufferlab")]
pub(crate) struct Hop(HopReport);

#[pymethods]
impl Hop {
    fn __reduce__(&self, py: Python<'_>) -> PyResult<()> {
        Err(errors::not_pickled(py, "Hop"))
    }

    /// Length of the egress queue after the reported packet left the queue (bytes).
    #[getter]
    fn queue_bytes(&self) -> u32 {
        self.0.queue_bytes
    }

    /// Number of the egress port, unique in the network.
    #[getter]
    fn port(&self) -> u32 {
        self.0.port
    }

    /// Bytes that the egress port had sent before the reported packet.
    #[getter]
    fn sent_bytes(&self) -> u64 {
        self.0.sent_bytes
    }

    /// Time at which the switch made the report (ps).
    #[getter]
    fn at_ps(&self) -> u64 {
        self.0.at.0
    }

    /// Rate of the egress port that made the report (bits per second).
    #[getter]
    fn rate_bps(&self) -> u64 {
        self.0.rate.0
    }
}
