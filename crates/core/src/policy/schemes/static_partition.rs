//! Static partitions of the buffer: Complete Partitioning (by queue) and Evenly Split (by port).

use crate::buffer::{Buffer, QueueId};
use crate::policy::interface::{
    Account, Arrival, Bound, BuildError, DropReason, Policy, PolicyInfo, SwitchShape, Tags, Verdict,
};
use crate::policy::parts::port_limit::{port_bound, rest_of_port};

/// Registry entry of the policy `cp`.
pub(super) static COMPLETE_PARTITIONING: PolicyInfo = PolicyInfo {
    name: "cp",
    aliases: &["complete-partitioning"],
    title: "Complete Partitioning",
    summary: "Reserves B/N of the buffer for every queue, used or not.",
    source: "Folklore. T = B/N with N the number of queues.",
    cost: "O(1)",
    params: &[],
    build: &|_, shape| build(Part::Queue, shape, shape.queues()),
};

/// Registry entry of the policy `es`.
pub(super) static EVENLY_SPLIT: PolicyInfo = PolicyInfo {
    name: "es",
    aliases: &["evenly-split"],
    title: "Evenly Split",
    summary: "Reserves B/n for every port, used or not; a port's queues share the port's part.",
    source: "TDT, section VI-A. T = B/n with n the number of ports, active or not.",
    cost: "O(1)",
    params: &[],
    build: &|_, shape| build(Part::Port, shape, shape.ports()),
};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    Queue,
    Port,
}

fn build(part: Part, shape: &SwitchShape, parts: usize) -> Result<Box<dyn Policy>, BuildError> {
    let limit = shape.capacity / parts as u64;
    if limit < shape.max_packet {
        let message = format!(
            "{parts} parts of {} B leave {limit} B each, less than a packet of {} B: enlarge the buffer",
            shape.capacity, shape.max_packet
        );
        return Err(BuildError { param: "buffer", message });
    }
    Ok(Box::new(StaticPartition { part, limit }))
}

/// A fixed share of ⌊B/parts⌋ bytes for every queue or every port.
/// The shares never exceed the buffer, so the size of the memory never limits a queue.
#[derive(Clone, Copy, Debug)]
pub struct StaticPartition {
    part: Part,
    limit: u64,
}

impl Policy for StaticPartition {
    #[inline]
    fn admit(&mut self, arrival: &Arrival, buffer: &Buffer) -> Verdict {
        let (used, reason) = match self.part {
            Part::Queue => (buffer.shared_queue_bytes(arrival.queue), DropReason::OverThreshold),
            Part::Port => (buffer.shared_port_bytes(arrival.port), DropReason::OverPortLimit),
        };
        if used + u64::from(arrival.header.size) <= self.limit {
            Verdict::Admit(Account::Shared)
        } else {
            Verdict::Drop(reason)
        }
    }

    fn bound(&self, arrival: &Arrival, reason: DropReason, buffer: &Buffer) -> Option<Bound> {
        match self.part {
            Part::Queue => Bound::usual(arrival, reason, Some(self.limit), buffer),
            Part::Port => port_bound(arrival, reason, self.limit, buffer),
        }
    }

    /// With one partition per port, the threshold of a queue is the partition less the bytes of the
    /// port's other queues.
    fn threshold(&self, queue: QueueId, _: Tags, buffer: &Buffer) -> Option<u64> {
        Some(match self.part {
            Part::Queue => self.limit,
            Part::Port => rest_of_port(self.limit, queue, buffer),
        })
    }

    fn boxed_clone(&self) -> Option<Box<dyn Policy>> {
        Some(Box::new(*self))
    }
}
