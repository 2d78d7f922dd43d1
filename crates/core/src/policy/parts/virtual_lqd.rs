//! Virtual queue lengths: the lengths that Longest Queue Drop would have after the same arrivals.
//! Counters alone track the virtual lengths.
//!
//! Each queue has a counter. An arrival adds its bytes to the counter of its queue.
//! If the counters exceed the buffer, the excess is taken from the largest counter.
//! Packets are not tracked, so the state is O(queues).

use crate::buffer::{Buffer, QueueId};
use crate::policy::interface::{Arrival, Departure, SwitchShape};
use crate::policy::parts::longest::{Longest, Ties};
use bufferlab_params::{Choice, ParamInfo, ParamKind, ParamValue, Params, choices};
use bufferlab_units::{BitRate, Time};

/// Parameter `idle_thresholds` of policies that follow a virtual Longest Queue Drop.
pub(crate) const IDLE: ParamInfo = ParamInfo {
    name: "idle_thresholds",
    kind: ParamKind::Choice(Idle::WORDS),
    default: ParamValue::word(Idle::Drain.word()),
    artifact_default: Some(ParamValue::word(Idle::Zero.word())),
    doc: "Change of a threshold while its real queue is empty.",
};

choices! {
    /// Change of a queue's threshold while the real queue is empty.
    enum Idle {
        Drain = "drain":
            "the threshold falls at the port's rate while the port is idle, like the queue of Longest Queue \
             Drop (the paper: every port serves its threshold in every slot)",
        Zero = "zero": "the threshold is set to 0 when the real queue empties (the artifact)",
        Keep = "keep": "only real departures lower the threshold",
    }
}

#[derive(Clone, Copy, Debug)]
struct VirtualPort {
    rate: BitRate,
    /// Time up to which the virtual port has sent its packets.
    served_to: Time,
    /// Whether the virtual queues' port is in the list of idle ports.
    is_listed: bool,
}

/// Thresholds that imitate the queue lengths of Longest Queue Drop.
#[derive(Clone, Debug)]
pub(crate) struct VirtualLqd {
    lengths: Longest,
    /// Sum of all virtual lengths, at most `capacity`.
    total: u64,
    capacity: u64,
    queues_per_port: u16,
    idle: Idle,
    ports: Vec<VirtualPort>,
    /// Ports that have virtual packets but no real packets.
    idle_ports: Vec<u16>,
}

impl VirtualLqd {
    /// The empty virtual queues of a policy with the parameters [`IDLE`] and
    /// [`super::longest::TIES`].
    pub(crate) fn new(params: &Params, shape: &SwitchShape, stream: &str) -> Self {
        let port = |&rate: &BitRate| VirtualPort { rate, served_to: Time::ZERO, is_listed: false };
        Self {
            lengths: Longest::new(shape.queues(), Ties::new(params, shape.seed, stream)),
            total: 0,
            capacity: shape.capacity,
            queues_per_port: shape.queues_per_port as u16,
            idle: params.choice(IDLE.name),
            ports: shape.port_rates.iter().map(port).collect(),
            idle_ports: Vec::with_capacity(shape.ports()),
        }
    }

    /// Threshold T of a queue: its virtual length (bytes).
    #[inline]
    pub(crate) fn bytes(&self, queue: QueueId) -> u64 {
        self.lengths.bytes(queue)
    }

    fn set(&mut self, queue: QueueId, bytes: u64) {
        self.total = self.total - self.lengths.bytes(queue) + bytes;
        self.lengths.set(queue, bytes);
    }

    /// Records an arrival. Returns whether Longest Queue Drop would refuse the packet, because the
    /// buffer is full and the arrival's queue is the longest.
    pub(crate) fn arrive(&mut self, arrival: &Arrival, buffer: &Buffer) -> bool {
        let size = u64::from(arrival.header.size);
        if size > self.capacity {
            return true;
        }
        if self.idle == Idle::Drain {
            self.serve_idle_ports(arrival.now, buffer);
        }
        self.set(arrival.queue, self.bytes(arrival.queue) + size);
        let mut is_refused = false;
        while self.total > self.capacity {
            let longest = self.lengths.longest();
            is_refused |= longest == arrival.queue;
            let taken = (self.total - self.capacity).min(self.bytes(longest));
            self.set(longest, self.bytes(longest) - taken);
        }
        if self.idle == Idle::Drain && buffer.shared_port_bytes(arrival.port) == 0 {
            self.list(arrival.port, arrival.now);
        }
        is_refused
    }

    /// Records the departure of a packet from a real queue.
    pub(crate) fn depart(&mut self, departure: &Departure, buffer: &Buffer) {
        let rest = match self.idle {
            Idle::Zero if buffer.queue_packets(departure.queue) == 0 => 0,
            Idle::Drain | Idle::Zero | Idle::Keep => {
                self.bytes(departure.queue).saturating_sub(u64::from(departure.header.size))
            }
        };
        self.set(departure.queue, rest);
        if self.idle == Idle::Drain {
            self.ports[usize::from(departure.port)].served_to = departure.now;
            if buffer.shared_port_bytes(departure.port) == 0 {
                self.list(departure.port, departure.now);
            }
        }
    }

    fn queues_of(&self, port: u16) -> impl Iterator<Item = QueueId> + use<> {
        let first = port * self.queues_per_port;
        (first..first + self.queues_per_port).map(QueueId)
    }

    fn list(&mut self, port: u16, now: Time) {
        if self.ports[usize::from(port)].is_listed || self.queues_of(port).all(|queue| self.bytes(queue) == 0)
        {
            return;
        }
        let state = &mut self.ports[usize::from(port)];
        state.is_listed = true;
        state.served_to = now;
        self.idle_ports.push(port);
    }

    /// Serves the virtual queues of ports that have no real packet, in the order of priority. A
    /// packet leaves the buffer when its transmission starts. The packet's virtual bytes leave
    /// evenly while the previous packet is on the wire.
    fn serve_idle_ports(&mut self, now: Time, buffer: &Buffer) {
        for index in (0..self.idle_ports.len()).rev() {
            let port = self.idle_ports[index];
            let VirtualPort { rate, served_to, .. } = self.ports[usize::from(port)];
            let is_idle = buffer.shared_port_bytes(port) == 0;
            let mut bytes = if is_idle { rate.bytes_in(now.saturating_sub(served_to)) } else { 0 };
            self.ports[usize::from(port)].served_to = served_to.saturating_add(rate.serialization(bytes));
            let mut is_empty = true;
            for queue in self.queues_of(port) {
                let taken = bytes.min(self.bytes(queue));
                if taken > 0 {
                    self.set(queue, self.bytes(queue) - taken);
                    bytes -= taken;
                }
                is_empty &= self.bytes(queue) == 0;
            }
            if is_empty || !is_idle {
                self.ports[usize::from(port)].is_listed = false;
                self.idle_ports.swap_remove(index);
            }
        }
    }
}
