//! Objects that a policy in Python reads: arrivals, departures, the buffer.
//!
//! The buffer is not copied: the calling thread lends the buffer to [`Buffer`] for one call of a
//! method. After the call, [`Buffer`] raises an error.

use crate::errors;
use bufferlab_core::{self as core, IngressId, QueueId};
use pyo3::exceptions::{PyIndexError, PyRuntimeError};
use pyo3::prelude::*;
use pyo3::types::PyBool;

scoped_tls::scoped_thread_local!(static LENT: core::Buffer);

/// Lends `buffer` to the Python code that `call` runs on the current thread.
#[inline]
pub(crate) fn lend<R>(buffer: &core::Buffer, call: impl FnOnce() -> R) -> R {
    LENT.set(buffer, call)
}

/// Defines the Python methods of a type of packets: the getters of the header, and additional
/// methods. With the word `with_tags`, the tags of the packet are readable, too.
macro_rules! header_class {
    (impl $Class:ident { $($methods:tt)* } with_tags) => {
        $crate::policy::header_class! {
            impl $Class {
                $($methods)*

                /// Whether the packet was sent in the first round trip of its flow, before any
                /// feedback.
                #[getter]
                fn unscheduled(&self) -> bool {
                    self.0.header.tags.contains(bufferlab_core::Tags::UNSCHEDULED)
                }

                /// Whether the packet belongs to a short flow, or to the first bytes of any flow.
                #[getter]
                fn small(&self) -> bool {
                    self.0.header.tags.contains(bufferlab_core::Tags::SMALL)
                }

                /// Whether the packet carries no data (ACK, handshake).
                #[getter]
                fn control(&self) -> bool {
                    self.0.header.tags.contains(bufferlab_core::Tags::CONTROL)
                }

                /// Whether the packet is a retransmission.
                #[getter]
                fn retransmission(&self) -> bool {
                    self.0.header.tags.contains(bufferlab_core::Tags::RETRANSMISSION)
                }

                /// Whether the packet belongs to a lossless class.
                #[getter]
                fn lossless(&self) -> bool {
                    self.0.header.tags.contains(bufferlab_core::Tags::LOSSLESS)
                }

                /// Names of the tags of the packet.
                #[getter]
                fn tags(&self) -> Vec<&'static str> {
                    self.0.header.tags.names().collect()
                }
            }
        }
    };
    (impl $Class:ident { $($methods:tt)* }) => {
        #[pymethods]
        impl $Class {
            fn __reduce__(&self, py: Python<'_>) -> PyResult<()> {
                Err($crate::errors::not_pickled(py, stringify!($Class)))
            }

            /// Time of the packet's arrival or departure (ps).
            #[getter]
            fn now_ps(&self) -> u64 {
                self.0.now.0
            }

            /// Buffer space that the packet occupies (bytes).
            #[getter]
            fn size(&self) -> u32 {
                self.0.header.size
            }

            /// Number of the packet's flow, which is constant over the life of the flow.
            #[getter]
            fn flow(&self) -> u32 {
                self.0.header.flow
            }

            $($methods)*
        }
    };
}
pub(crate) use header_class;

/// Defines the Python methods of a type of packets in queues: the getters that all these packets
/// have, and additional methods. [`header_class`] defines the getters of the header.
macro_rules! packet_class {
    (impl $Class:ident { $($methods:tt)* } $($tags:ident)?) => {
        $crate::policy::header_class! {
            impl $Class {
                /// Egress queue of the packet: port * queues per port + priority.
                #[getter]
                fn queue(&self) -> u16 {
                    self.0.queue.0
                }

                /// Egress port of the packet.
                #[getter]
                fn port(&self) -> u16 {
                    self.0.port
                }

                /// Priority of the packet: the index of its queue at the egress port, from 0.
                #[getter]
                fn priority(&self) -> u8 {
                    self.0.priority
                }

                $($methods)*
            }
            $($tags)?
        }
    };
}
pub(crate) use packet_class;

/// A packet that requests buffer space, after classification.
#[pyclass(frozen, module = "bufferlab._bufferlab")]
pub(crate) struct Arrival(pub(super) core::Arrival);

packet_class! {
    impl Arrival {
        /// Ingress queue charged for the packet: arrival port * queues per port + priority.
        #[getter]
        fn ingress(&self) -> u16 {
            self.0.ingress.0
        }

        /// Number of stored packets that were evicted to make room for the arriving packet. After
        /// each eviction, the policy decides again.
        #[getter]
        fn evictions(&self) -> u32 {
            self.0.evictions
        }

        fn __repr__(&self) -> String {
            let core::Arrival { now, header, queue, port, priority, .. } = self.0;
            let size = header.size;
            format!("Arrival({size} B for queue {}, port {port}, priority {priority}, at {now})", queue.0)
        }
    }
    with_tags
}

/// A packet that leaves its queue for transmission.
#[pyclass(frozen, module = "bufferlab._bufferlab")]
pub(crate) struct Departure(pub(super) core::Departure);

packet_class! {
    impl Departure {
        /// Ingress queue charged for the packet: arrival port * queues per port + priority.
        #[getter]
        fn ingress(&self) -> u16 {
            self.0.ingress.0
        }

        /// Time at which the switch admitted the packet to the buffer (ps).
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
}

/// The shared buffer as policies see it, without reserved buffer of queues and ports. A policy's
/// method can read the object only during its call.
#[pyclass(frozen, module = "bufferlab._bufferlab")]
pub(crate) struct Buffer;

/// Reads a value of the borrowed shared buffer.
#[inline]
fn read<R>(get: impl FnOnce(&core::Buffer) -> R) -> PyResult<R> {
    if LENT.is_set() { Ok(LENT.with(get)) } else { Err(nothing_lent()) }
}

#[cold]
fn nothing_lent() -> PyErr {
    PyRuntimeError::new_err("the buffer can be read only within the call that was given it")
}

/// Reads a value of one queue. `name` is the name of the argument with the queue's number.
#[inline]
fn of_queue<R>(
    name: &'static str,
    queue: &Bound<'_, PyAny>,
    get: impl FnOnce(&core::Buffer, QueueId) -> R,
) -> PyResult<R> {
    let queue = errors::whole_number(name, queue, u64::MAX)? as usize;
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

    /// Size B of the shared buffer (bytes).
    #[getter]
    fn capacity(&self) -> PyResult<u64> {
        read(core::Buffer::shared_capacity)
    }

    /// Occupancy Q of the shared buffer (bytes).
    #[getter]
    fn occupancy(&self) -> PyResult<u64> {
        read(core::Buffer::shared_occupancy)
    }

    /// Free space B - Q of the shared buffer (bytes).
    #[getter]
    fn free(&self) -> PyResult<u64> {
        read(core::Buffer::shared_free)
    }

    /// Number of the switch's ports.
    #[getter]
    fn ports(&self) -> PyResult<u16> {
        read(core::Buffer::ports)
    }

    /// Number of queues per port of the switch.
    #[getter]
    fn queues_per_port(&self) -> PyResult<u16> {
        read(core::Buffer::queues_per_port)
    }

    /// Number of the switch's egress queues.
    #[getter]
    fn queues(&self) -> PyResult<usize> {
        read(|buffer| usize::from(buffer.ports()) * usize::from(buffer.queues_per_port()))
    }

    /// Whether a packet of `size` bytes fits into the shared buffer: Q + size <= B.
    fn fits(&self, size: &Bound<'_, PyAny>) -> PyResult<bool> {
        let size = errors::whole_number("size", size, u32::MAX.into())? as u32;
        read(|buffer| buffer.fits(size))
    }

    /// Length of an egress queue (bytes).
    fn queue_bytes(&self, queue: &Bound<'_, PyAny>) -> PyResult<u64> {
        of_queue("queue", queue, core::Buffer::shared_queue_bytes)
    }

    /// Length of an egress queue (packets).
    fn queue_packets(&self, queue: &Bound<'_, PyAny>) -> PyResult<usize> {
        of_queue("queue", queue, core::Buffer::queue_packets)
    }

    /// Occupancy of an egress port (bytes).
    fn port_bytes(&self, port: &Bound<'_, PyAny>) -> PyResult<u64> {
        let port = errors::whole_number("port", port, u64::MAX)? as usize;
        read(|buffer| {
            let ports = usize::from(buffer.ports());
            if port < ports {
                Ok(buffer.shared_port_bytes(port as u16))
            } else {
                Err(beyond("port", port, ports))
            }
        })?
    }

    /// Number of stored bytes that arrived through an ingress queue.
    fn ingress_bytes(&self, ingress: &Bound<'_, PyAny>) -> PyResult<u64> {
        of_queue("ingress", ingress, |buffer, queue| buffer.ingress_bytes(IngressId(queue.0)))
    }

    /// Lengths of all egress queues (bytes), in the order of their numbers.
    fn queue_lengths(&self) -> PyResult<Vec<u64>> {
        read(|buffer| buffer.queue_ids().map(|queue| buffer.shared_queue_bytes(queue)).collect())
    }

    /// Returns the longest egress queue and its length (bytes). If several queues are equally long,
    /// returns the queue with the lowest number.
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

/// A factor, such as alpha, in the arithmetic of switches: fixed point with 32 binary places. With
/// fixed point, a policy gives equal verdicts on every platform.
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

    /// The product of the factor and `bytes`, rounded down.
    fn of(&self, bytes: &Bound<'_, PyAny>) -> PyResult<u64> {
        Ok(self.0.apply(errors::whole_number("bytes", bytes, u64::MAX)?))
    }

    fn __float__(&self) -> f64 {
        self.0.as_f64()
    }

    fn __hash__(&self) -> u64 {
        self.0.0
    }

    /// Arguments for unpickling the factor: its value as a float.
    fn __getnewargs__(&self) -> (f64,) {
        (self.0.as_f64(),)
    }

    fn __repr__(&self) -> String {
        format!("Weight({})", self.0.as_f64())
    }
}
