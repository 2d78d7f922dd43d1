//! Total numbers of packets, events and flows of a run.

/// Totals of a run, for the run's manifest and summary.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RunTotals {
    /// Names of traffic classes; rows refer to a class by its index.
    pub classes: Vec<String>,
    /// Names of switches; rows refer to a switch by its index.
    pub switches: Vec<String>,
    /// Names of hosts; rows refer to a host by its index.
    pub hosts: Vec<String>,
    /// Buffer size of every switch in bytes, in the order of `switches`.
    pub buffer_bytes: Vec<u64>,
    /// Simulated time at the end of the run (ns).
    pub end_ns: u64,
    /// Number of packet-hops: packets that crossed a link, ACKs included.
    pub packet_hops: u64,
    /// Number of events that the simulator processed.
    pub events: u64,
    /// Number of flows that started.
    pub flows: u64,
    /// Number of flows that ended, in the state finished or lossy.
    pub flows_finished: u64,
    /// Largest number of packets in the network at one time.
    pub peak_packets: u64,
    /// Largest number of unfinished flows at one time.
    pub peak_flows: u64,
    /// Number of ACKs that switches dropped.
    pub lost_acks: u64,
    /// Lossless ingress queue that was nearest to a pause. `None` if a switch paused a sender, if
    /// no lossless packet waited, or if the policy has no pause threshold.
    pub nearest_pause: Option<NearestPause>,
}

/// A lossless ingress queue at its peak, and the threshold at which the queue would have paused its
/// sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NearestPause {
    /// Index of the queue's switch in the list of switches.
    pub switch: u32,
    /// Arrival port of the ingress queue.
    pub port: u16,
    /// Priority of the queue.
    pub priority: u8,
    /// Peak length of the queue, the length that the policy compares with the threshold (bytes).
    pub held_bytes: u64,
    /// Pause threshold at the time of the peak (bytes).
    pub threshold_bytes: u64,
}
