//! Counters and occupancy of a switch at one moment, for Prometheus and for a terminal.
//!
//! The forwarding thread fills a private snapshot and exchanges it with the published snapshot. The
//! forwarding thread never waits. If a reader locks the published snapshot, the exchange happens at
//! the next attempt.

use crate::lateness::Durations;
use crate::pipeline::Pipeline;
use crate::tallies::Tallies;
use bufferlab_core::{Counters, Tags};
use bufferlab_units::Time;
use std::sync::Mutex;

/// State of a switch's port at one instant.
#[derive(Clone, Debug, Default)]
pub struct PortSnapshot {
    /// Counts of the port's frames that are outside the core switch.
    pub tallies: Tallies,
    /// Number of packets that the port's queues lost, by reason.
    pub losses: Vec<(&'static str, u64)>,
}

/// State of a switch's queue at one instant.
#[derive(Clone, Debug, Default)]
pub struct QueueSnapshot {
    /// Number of the port to which the queue belongs.
    pub port: u16,
    /// Priority of the queue at its port.
    pub priority: u8,
    /// Size of the packets stored in the queue (bytes).
    pub bytes: u64,
    /// Peak length of the queue since the last snapshot (bytes).
    pub peak: u64,
    /// Threshold of the policy for the queue (bytes); `None` without a threshold.
    pub threshold: Option<u64>,
    /// Counters of the queue in the core switch.
    pub counters: Counters,
}

/// State of a whole switch at one instant.
#[derive(Clone, Debug, Default)]
pub struct Snapshot {
    /// Time since the switch started.
    pub at: Time,
    /// States of the ports, by number of the port.
    pub ports: Vec<PortSnapshot>,
    /// States of the queues, by port and priority.
    pub queues: Vec<QueueSnapshot>,
    /// Size of the packets stored in the buffer (bytes).
    pub occupancy: u64,
    /// Peak occupancy of the buffer since the last snapshot (bytes).
    pub peak: u64,
    /// Capacity of the packet buffer (bytes).
    pub capacity: u64,
    /// Lateness of frames (ns): p50, p99, p99.9 and largest value.
    pub lateness_ns: [u64; 4],
    /// Sum of the lateness of all frames (ns).
    pub lateness_sum_ns: u64,
    /// Number of frames in the sum of the lateness of frames.
    pub handed_over: u64,
    /// Number of arrivals that came after a decision about an equal or a later time.
    pub late_arrivals: u64,
    /// Number of frames that the kernel dropped before the switch read the frames.
    pub missed: u64,
    /// Number of frames that the capture omitted; `None` without a capture.
    pub left_out: Option<u64>,
}

impl Snapshot {
    /// Copies the state of `pipeline` into this snapshot, whose memory is reused.
    pub fn take(&mut self, pipeline: &Pipeline, lateness: &Durations) {
        let core = pipeline.driver().core();
        let buffer = core.buffer();
        (self.occupancy, self.capacity) = (buffer.occupancy(), buffer.capacity());
        self.queues.clear();
        for queue in buffer.queue_ids() {
            let (port, priority) = buffer.port_and_priority(queue);
            let (bytes, counters) = (buffer.queue_bytes(queue), core.counters(queue));
            let peak = pipeline.peaks().queue(usize::from(queue.0)).max(bytes);
            let threshold = core.threshold(queue, Tags::NONE);
            self.queues.push(QueueSnapshot { port, priority, bytes, peak, threshold, counters });
        }
        self.peak = pipeline.peaks().buffer().max(self.occupancy);
        self.ports.resize_with(pipeline.tallies().len(), PortSnapshot::default);
        for ((port, tallies), index) in self.ports.iter_mut().zip(pipeline.tallies()).zip(0..) {
            port.tallies.clone_from(tallies);
            port.losses.clear();
            port.losses.extend(pipeline.losses_of(index));
        }
        self.lateness_ns[..3].copy_from_slice(&[0.5, 0.99, 0.999].map(|q| lateness.quantile(q)));
        (self.lateness_ns[3], self.handed_over) = (lateness.largest(), lateness.count());
        self.lateness_sum_ns = lateness.sum();
        self.late_arrivals = pipeline.driver().late();
        self.left_out = pipeline.left_out();
    }

    /// Number of packets that the core switch refused or evicted, by reason.
    #[must_use]
    pub fn losses(&self) -> std::collections::BTreeMap<&'static str, u64> {
        let mut all = std::collections::BTreeMap::new();
        for (reason, packets) in self.ports.iter().flat_map(|port| &port.losses) {
            *all.entry(*reason).or_insert(0) += packets;
        }
        all
    }
}

/// Shared memory for the last published snapshot.
#[derive(Debug, Default)]
pub struct Watch {
    latest: Mutex<Option<Box<Snapshot>>>,
}

impl Watch {
    /// Returns the last published snapshot; `None` if no snapshot was published.
    #[must_use]
    pub fn latest(&self) -> Option<Snapshot> {
        self.latest.lock().ok()?.as_deref().cloned()
    }

    /// Publishes `snapshot` and takes an older snapshot for reuse. Returns false if a reader holds
    /// the lock, because forwarding must not wait.
    pub fn publish(&self, snapshot: &mut Box<Snapshot>) -> bool {
        let Ok(mut latest) = self.latest.try_lock() else { return false };
        match latest.as_mut() {
            Some(latest) => std::mem::swap(latest, snapshot),
            None => *latest = Some(std::mem::take(snapshot)),
        }
        true
    }
}
