//! What a policy in Python sees: an arrival, a departure, the buffer.
//!
//! The buffer is not copied. It is lent to the calling thread for the time of one call, and
//! [`Buffer`] reads it there; an object that somebody keeps for later finds nothing and says so.

use crate::errors;
use bufferlab_core::{self as core, IngressId, QueueId, Tags};
use pyo3::exceptions::{PyIndexError, PyRuntimeError};
use pyo3::prelude::*;
use pyo3::types::PyBool;

scoped_tls::scoped_thread_local!(static LENT: core::Buffer);

/// Lends `buffer` to Python code that `call` runs on this thread.
#[inline]
pub(crate) fn lend<R>(buffer: &core::Buffer, call: impl FnOnce() -> R) -> R {
    LENT.set(buffer, call)
}

/// One packet asking for space, after classification.
#[pyclass(frozen, module = "bufferlab._bufferlab")]
pub(crate) struct Arrival(pub(super) core::Arrival);

#[pymethods]
impl Arrival {
    fn __reduce__(&self, py: Python<'_>) -> PyResult<()> {
        Err(errors::not_pickled(py, "Arrival"))
    }

    /// When (ps).
    #[getter]
    fn now_ps(&self) -> u64 {
        self.0.now.0
    }

    /// The egress queue that it wants to join: port * queues per port + priority.
    #[getter]
    fn queue(&self) -> u16 {
        self.0.queue.0
    }

    /// Egress port of the queue.
    #[getter]
    fn port(&self) -> u16 {
        self.0.port
    }

    /// Priority: which queue of the port, from 0.
    #[getter]
    fn priority(&self) -> u8 {
        self.0.priority
    }

    /// Bytes that it would occupy.
    #[getter]
    fn size(&self) -> u32 {
        self.0.header.size
    }

    /// Its flow, stable over the flow's life.
    #[getter]
    fn flow(&self) -> u32 {
        self.0.header.flow
    }

    /// The ingress queue that it is charged to: arrival port * queues per port + priority.
    #[getter]
    fn ingress(&self) -> u16 {
        self.0.ingress.0
    }

    /// Stored packets that have been evicted for it so far: the policy is asked again after each.
    #[getter]
    fn evictions(&self) -> u32 {
        self.0.evictions
    }

    /// Sent in the first round trip of its flow, before any feedback.
    #[getter]
    fn unscheduled(&self) -> bool {
        self.0.header.tags.contains(Tags::UNSCHEDULED)
    }

    /// Of a short flow, or of the first bytes of any flow.
    #[getter]
    fn small(&self) -> bool {
        self.0.header.tags.contains(Tags::SMALL)
    }

    /// Carries no data (ACK, handshake).
    #[getter]
    fn control(&self) -> bool {
        self.0.header.tags.contains(Tags::CONTROL)
    }

    /// A retransmission.
    #[getter]
    fn retransmission(&self) -> bool {
        self.0.header.tags.contains(Tags::RETRANSMISSION)
    }

    /// Of a lossless class.
    #[getter]
    fn lossless(&self) -> bool {
        self.0.header.tags.contains(Tags::LOSSLESS)
    }

    /// Names of its marks.
    #[getter]
    fn tags(&self) -> Vec<&'static str> {
        self.0.header.tags.names().collect()
    }

    fn __repr__(&self) -> String {
        let core::Arrival { now, header, queue, port, priority, .. } = self.0;
        let size = header.size;
        format!("Arrival({size} B for queue {}, port {port}, priority {priority}, at {now})", queue.0)
    }
}

/// A packet that leaves its queue for the wire.
#[pyclass(frozen, module = "bufferlab._bufferlab")]
pub(crate) struct Departure(pub(super) core::Departure);

#[pymethods]
impl Departure {
    fn __reduce__(&self, py: Python<'_>) -> PyResult<()> {
        Err(errors::not_pickled(py, "Departure"))
    }

    /// When its transmission starts (ps).
    #[getter]
    fn now_ps(&self) -> u64 {
        self.0.now.0
    }

    /// The queue that it leaves.
    #[getter]
    fn queue(&self) -> u16 {
        self.0.queue.0
    }

    /// Egress port of the queue.
    #[getter]
    fn port(&self) -> u16 {
        self.0.port
    }

    /// Priority.
    #[getter]
    fn priority(&self) -> u8 {
        self.0.priority
    }

    /// Bytes released.
    #[getter]
    fn size(&self) -> u32 {
        self.0.header.size
    }

    /// Its flow.
    #[getter]
    fn flow(&self) -> u32 {
        self.0.header.flow
    }

    /// The ingress queue that it was charged to.
    #[getter]
    fn ingress(&self) -> u16 {
        self.0.ingress.0
    }

    /// When it had been admitted (ps).
    #[getter]
    fn enqueued_at_ps(&self) -> u64 {
        self.0.enqueued_at.0
    }

    fn __repr__(&self) -> String {
        let core::Departure { now, header, queue, port, priority, .. } = self.0;
        let size = header.size;
        format!("Departure({size} B from queue {}, port {port}, priority {priority}, at {now})", queue.0)
    }
}

/// The shared buffer as policies see it: without what the switch sets aside for queues and ports.
/// Only within the call that was given it.
#[pyclass(frozen, module = "bufferlab._bufferlab")]
pub(crate) struct Buffer;

/// Reads the buffer that is lent now.
#[inline]
fn read<R>(get: impl FnOnce(&core::Buffer) -> R) -> PyResult<R> {
    if LENT.is_set() { Ok(LENT.with(get)) } else { Err(nothing_lent()) }
}

#[cold]
fn nothing_lent() -> PyErr {
    PyRuntimeError::new_err("the buffer can be read only within the call that was given it")
}

/// Reads a value of the queue that the argument `name` numbers.
#[inline]
fn of_queue<R>(
    name: &'static str,
    queue: &Bound<'_, PyAny>,
    get: impl FnOnce(&core::Buffer, QueueId) -> R,
) -> PyResult<R> {
    let queue = errors::whole(name, queue, u64::MAX)? as usize;
    read(|buffer| {
        let queues = usize::from(buffer.ports()) * usize::from(buffer.queues_per_port());
        if queue < queues {
            Ok(get(buffer, QueueId(queue as u16)))
        } else {
            Err(beyond("queue", queue, queues))
        }
    })?
}

#[cold]
fn beyond(what: &str, found: usize, count: usize) -> PyErr {
    PyIndexError::new_err(format!("there is no {what} {found}: the switch has {count}, numbered from 0"))
}

#[pymethods]
impl Buffer {
    fn __reduce__(&self, py: Python<'_>) -> PyResult<()> {
        Err(errors::not_pickled(py, "Buffer"))
    }

    /// B: what policies divide (bytes).
    #[getter]
    fn capacity(&self) -> PyResult<u64> {
        read(core::Buffer::shared_capacity)
    }

    /// Q: bytes in use.
    #[getter]
    fn occupancy(&self) -> PyResult<u64> {
        read(core::Buffer::shared_occupancy)
    }

    /// B - Q (bytes).
    #[getter]
    fn free(&self) -> PyResult<u64> {
        read(core::Buffer::shared_free)
    }

    /// Number of ports.
    #[getter]
    fn ports(&self) -> PyResult<u16> {
        read(core::Buffer::ports)
    }

    /// Queues per port.
    #[getter]
    fn queues_per_port(&self) -> PyResult<u16> {
        read(core::Buffer::queues_per_port)
    }

    /// Number of egress queues.
    #[getter]
    fn queues(&self) -> PyResult<usize> {
        read(|buffer| usize::from(buffer.ports()) * usize::from(buffer.queues_per_port()))
    }

    /// Whether so many more bytes fit: Q + size <= B.
    fn fits(&self, size: &Bound<'_, PyAny>) -> PyResult<bool> {
        let size = errors::whole("size", size, u32::MAX.into())? as u32;
        read(|buffer| buffer.fits(size))
    }

    /// Bytes of an egress queue.
    fn queue_bytes(&self, queue: &Bound<'_, PyAny>) -> PyResult<u64> {
        of_queue("queue", queue, core::Buffer::shared_queue_bytes)
    }

    /// Packets of an egress queue.
    fn queue_packets(&self, queue: &Bound<'_, PyAny>) -> PyResult<usize> {
        of_queue("queue", queue, core::Buffer::queue_packets)
    }

    /// Bytes of an egress port.
    fn port_bytes(&self, port: &Bound<'_, PyAny>) -> PyResult<u64> {
        let port = errors::whole("port", port, u64::MAX)? as usize;
        read(|buffer| {
            let ports = usize::from(buffer.ports());
            if port < ports {
                Ok(buffer.shared_port_bytes(port as u16))
            } else {
                Err(beyond("port", port, ports))
            }
        })?
    }

    /// Bytes that came through an ingress queue and are still stored.
    fn ingress_bytes(&self, ingress: &Bound<'_, PyAny>) -> PyResult<u64> {
        of_queue("ingress", ingress, |buffer, queue| buffer.ingress_bytes(IngressId(queue.0)))
    }

    /// Bytes of every egress queue, in order.
    fn queue_lengths(&self) -> PyResult<Vec<u64>> {
        read(|buffer| buffer.queue_ids().map(|queue| buffer.shared_queue_bytes(queue)).collect())
    }

    /// The longest egress queue and its bytes; the first of several.
    fn longest_queue(&self) -> PyResult<(u16, u64)> {
        read(|buffer| {
            let lengths = buffer.queue_ids().map(|queue| (queue.0, buffer.shared_queue_bytes(queue)));
            lengths.reduce(|best, next| if next.1 > best.1 { next } else { best }).unwrap_or_default()
        })
    }

    fn __repr__(&self) -> String {
        match read(|buffer| (buffer.shared_occupancy(), buffer.shared_capacity())) {
            Ok((occupancy, capacity)) => format!("Buffer({occupancy} of {capacity} B in use)"),
            Err(_) => "Buffer(not within a call)".to_owned(),
        }
    }
}

/// A factor such as alpha as switches compute with it: fixed point with 32 binary places, so that
/// verdicts are the same everywhere.
#[pyclass(frozen, eq, module = "bufferlab._bufferlab")]
#[derive(PartialEq, Eq)]
pub(crate) struct Weight(core::Weight);

#[pymethods]
impl Weight {
    #[new]
    fn new(factor: &Bound<'_, PyAny>) -> PyResult<Self> {
        let given = if factor.is_instance_of::<PyBool>() { None } else { factor.extract::<f64>().ok() };
        let given = given.filter(|factor| factor.is_finite() && *factor >= 0.0);
        given
            .map(|factor| Self(core::Weight::from_f64(factor)))
            .ok_or_else(|| errors::not_expected("factor", factor, "a number, 0 or more"))
    }

    /// factor * bytes, rounded down.
    fn of(&self, bytes: &Bound<'_, PyAny>) -> PyResult<u64> {
        Ok(self.0.of(errors::whole("bytes", bytes, u64::MAX)?))
    }

    fn __float__(&self) -> f64 {
        self.0.as_f64()
    }

    fn __hash__(&self) -> u64 {
        self.0.0
    }

    /// 32 binary places behind the point are a number of Python as they are.
    fn __getnewargs__(&self) -> (f64,) {
        (self.0.as_f64(),)
    }

    fn __repr__(&self) -> String {
        format!("Weight({})", self.0.as_f64())
    }
}
