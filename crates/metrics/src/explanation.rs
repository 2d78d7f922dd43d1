//! One event of a switch, explained: which limit bound, who held the buffer, what other policies would have said.

/// Why a packet was dropped, marked or evicted.
#[derive(Clone, Debug, PartialEq)]
pub struct Explanation {
    /// When.
    pub time_ns: u64,
    /// Switch index.
    pub switch: u32,
    /// Egress port.
    pub port: u16,
    /// Priority.
    pub priority: u8,
    /// `drop`, `mark` or `eviction`.
    pub event: &'static str,
    /// The limit that bound, in the policy's word; `ecn` for a mark.
    pub reason: &'static str,
    /// Class of the packet's flow, an index into the run's class table.
    pub class: u16,
    /// The packet's flow.
    pub flow_id: u64,
    /// Bytes that it asked for.
    pub size_bytes: u64,
    /// Its marks: `unscheduled`, `retransmission` …
    pub tags: Vec<&'static str>,
    /// Length of its queue before it (bytes).
    pub queue_bytes: u64,
    /// What that length was compared with: the policy's threshold for this packet, or the marking threshold.
    pub limit_bytes: Option<u64>,
    /// Bytes in the whole buffer.
    pub occupancy_bytes: u64,
    /// The buffer's size.
    pub buffer_bytes: u64,
    /// What went into the limit, by the policy's own names ([`limit_bytes`](Self::limit_bytes)): γ, congested queues, states …
    pub inputs: Vec<(&'static str, f64)>,
    /// Who held the buffer at that moment: the largest holders of each kind, largest first.
    pub holders: Vec<Holder>,
    /// What each registered policy would have answered in the same state, with default parameters.
    pub opinions: Vec<PolicyOpinion>,
}

/// Somebody's share of the buffer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Holder {
    /// `port`, `queue`, `class` or `flow`.
    pub kind: &'static str,
    /// Which one: `3`, `3.1` (port and priority), a class name, a flow number.
    pub name: String,
    /// Bytes.
    pub bytes: u64,
    /// Packets.
    pub packets: u64,
}

/// A policy's opinion of the same arrival.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PolicyOpinion {
    /// Name of the policy.
    pub policy: &'static str,
    /// `admit`, a drop reason, or `evict from 3.1`.
    pub verdict: String,
    /// Its limit (bytes), where it has one.
    pub threshold_bytes: Option<u64>,
}
