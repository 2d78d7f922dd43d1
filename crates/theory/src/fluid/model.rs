//! The switch and the traffic of the fluid model, with checks of their values.

use thiserror::Error;

/// Reason why a fluid model cannot be built or run.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum FluidError {
    /// A number is outside the range of valid values.
    #[error("{what} is {value}, expected {expected}")]
    OutOfDomain {
        /// Name of the number that is out of range.
        what: String,
        /// Value of the number that is out of range.
        value: f64,
        /// Range of valid values of the number that is out of range.
        expected: &'static str,
    },
    /// The switch has no queue with the given number.
    #[error("queue {queue} does not exist, expected 0 to {last}")]
    UnknownQueue {
        /// Number of the queue that does not exist.
        queue: usize,
        /// Number of the last queue of the switch.
        last: usize,
    },
    /// A list has the wrong number of values.
    #[error("{found} values for {what}, expected {expected}")]
    WrongLength {
        /// Description of the values in the list, such as alphas.
        what: &'static str,
        /// Number of values in the given list.
        found: usize,
        /// Number of values that the list must have.
        expected: usize,
    },
    /// Events repeat while no time passes: the law and the state contradict each other, or this
    /// crate has a defect.
    #[error("{events} events in a row without progress at time {time}: the law chatters there")]
    Chattering {
        /// Time at which too many events happen without progress.
        time: f64,
        /// Number of events at the time without progress.
        events: usize,
    },
    /// The run had more events than its limit allows.
    #[error("more than {limit} events by time {time}: raise the limit or shorten the run")]
    TooManyEvents {
        /// Time in the model at which the run stopped.
        time: f64,
        /// Maximum number of events of the run.
        limit: usize,
    },
}

/// Returns `value` if `accept` is true, otherwise an error that names the range.
pub(super) fn checked(
    what: impl Into<String>,
    value: f64,
    accept: bool,
    expected: &'static str,
) -> Result<f64, FluidError> {
    if accept && !value.is_nan() {
        Ok(value)
    } else {
        Err(FluidError::OutOfDomain { what: what.into(), value, expected })
    }
}

/// Checks that a number is finite and above zero.
pub(super) fn positive(what: impl Into<String>, value: f64) -> Result<f64, FluidError> {
    checked(what, value, value.is_finite() && value > 0.0, "a finite number above 0")
}

/// Checks that a number is finite and not negative.
pub(super) fn not_negative(what: impl Into<String>, value: f64) -> Result<f64, FluidError> {
    checked(what, value, value.is_finite() && value >= 0.0, "a finite number of at least 0")
}

/// The switch: one shared buffer, and ports with their line rates and an equal number of queues.
#[derive(Clone, Debug, PartialEq)]
pub struct Shape {
    buffer: f64,
    port_rates: Vec<f64>,
    queues_per_port: usize,
}

impl Shape {
    /// A switch with a buffer of size `buffer` and ports of `port_rates` (size per time),
    /// each with `queues_per_port` queues.
    ///
    /// # Errors
    /// If the buffer or a rate is not a finite number above 0, or if there is no port or no queue.
    pub fn new(buffer: f64, port_rates: Vec<f64>, queues_per_port: usize) -> Result<Self, FluidError> {
        positive("the buffer", buffer)?;
        checked("the number of ports", port_rates.len() as f64, !port_rates.is_empty(), "at least 1")?;
        checked("queues per port", queues_per_port as f64, queues_per_port > 0, "at least 1")?;
        for (port, &rate) in port_rates.iter().enumerate() {
            positive(format!("the rate of port {port}"), rate)?;
        }
        Ok(Self { buffer, port_rates, queues_per_port })
    }

    /// Size B of the shared buffer.
    #[must_use]
    pub fn buffer(&self) -> f64 {
        self.buffer
    }

    /// Line rate C of each port (size per time).
    #[must_use]
    pub fn port_rates(&self) -> &[f64] {
        &self.port_rates
    }

    /// Number n of ports of the switch.
    #[must_use]
    pub fn ports(&self) -> usize {
        self.port_rates.len()
    }

    /// Number of queues of each port.
    #[must_use]
    pub fn queues_per_port(&self) -> usize {
        self.queues_per_port
    }

    /// Number of queues of the switch.
    #[must_use]
    pub fn queues(&self) -> usize {
        self.port_rates.len() * self.queues_per_port
    }

    /// Number of the queue of `priority` on `port`. Queues are numbered port by port.
    ///
    /// # Errors
    /// If the queue does not exist.
    pub fn queue(&self, port: usize, priority: usize) -> Result<usize, FluidError> {
        checked("the port", port as f64, port < self.ports(), "a number below that of the ports")?;
        let known = priority < self.queues_per_port;
        checked("the priority", priority as f64, known, "a number below that of a port's queues")?;
        Ok(port * self.queues_per_port + priority)
    }

    pub(super) fn known(&self, queue: usize) -> Result<usize, FluidError> {
        if queue < self.queues() {
            Ok(queue)
        } else {
            Err(FluidError::UnknownQueue { queue, last: self.queues() - 1 })
        }
    }

    /// Returns `values` if the list has one value for each queue.
    pub(super) fn by_queue<'a>(
        &self,
        what: &'static str,
        values: &'a [f64],
    ) -> Result<&'a [f64], FluidError> {
        if values.len() == self.queues() {
            Ok(values)
        } else {
            Err(FluidError::WrongLength { what, found: values.len(), expected: self.queues() })
        }
    }
}

/// Liquid that arrives for a queue at a constant rate for some time. Sources of one queue add up.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Source {
    /// Number of the queue that receives the liquid ([`Shape::queue`]).
    pub queue: usize,
    /// Rate at which the liquid arrives (size per time).
    pub rate: f64,
    /// Time at which the arrivals start (included).
    pub start: f64,
    /// Time at which the arrivals end (excluded).
    pub end: f64,
}

impl Source {
    pub(super) fn validate(self, shape: &Shape) -> Result<Self, FluidError> {
        shape.known(self.queue)?;
        not_negative("the rate of a source", self.rate)?;
        not_negative("the start of a source", self.start)?;
        checked("the end of a source", self.end, self.end >= self.start, "a time not before its start")?;
        Ok(self)
    }
}
