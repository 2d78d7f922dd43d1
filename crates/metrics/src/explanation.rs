//! One event of a switch, explained: which limit bound, who held the buffer, what other policies would have said.

/// Why a packet was dropped, marked or evicted.
#[derive(Clone, Debug, PartialEq)]
pub struct Explanation {
    /// When.
    pub time_ns: u64,
    /// Switch index.
    pub switch: u32,
    /// Egress port; for a pause the ingress port.
    pub port: u16,
    /// Priority.
    pub priority: u8,
    /// `drop`, `mark`, `eviction` or `pause`.
    pub event: &'static str,
    /// The limit that bound, in the policy's word; `ecn` for a mark, `pause` for a pause.
    pub reason: &'static str,
    /// The switch's policy.
    pub policy: String,
    /// Its parameters as the scenario gives them, or their defaults.
    pub params: Vec<(String, String)>,
    /// Class of the packet's flow, an index into the run's class table.
    pub class: u16,
    /// The packet's flow.
    pub flow_id: u64,
    /// Bytes that it asked for.
    pub size_bytes: u64,
    /// Its marks: `unscheduled`, `retransmission` …
    pub tags: Vec<&'static str>,
    /// Length of its queue before it (bytes); for a pause that of the ingress queue with it.
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
    /// What each registered policy would have answered in the same state: the switch's own as it is configured, all others with default
    /// parameters. Empty where they were not asked.
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

impl Explanation {
    /// The comparison that decided, with its numbers, as a sentence without a full stop.
    #[must_use]
    pub fn because(&self) -> String {
        let Self { queue_bytes, size_bytes, occupancy_bytes, buffer_bytes, policy, reason, .. } = self;
        let with = queue_bytes + size_bytes;
        match (*reason, self.limit_bytes) {
            ("ecn", Some(limit)) => {
                format!("the queue held {queue_bytes} B, above the marking threshold of {limit} B")
            }
            ("over-threshold", Some(limit)) if with > limit => {
                format!("queue {queue_bytes} B + packet {size_bytes} B = {with} B, {policy} allows {limit} B")
            }
            ("buffer-full", _) => {
                format!(
                    "buffer {occupancy_bytes} B + packet {size_bytes} B does not fit into {buffer_bytes} B"
                )
            }
            ("pause", Some(limit)) => {
                format!(
                    "with it the ingress queue holds {queue_bytes} B, {policy} lets it have {limit} B of the pool"
                )
            }
            ("pause", None) => {
                format!("{policy} stops the sender; with it the ingress queue holds {queue_bytes} B")
            }
            ("pushed-out", _) => {
                format!("{policy} made room for an arriving packet; this queue held {with} B")
            }
            ("pfc-watchdog", _) => {
                format!(
                    "the PFC watchdog discards what comes to or from a queue that pauses storm; this one held {with} B with it"
                )
            }
            (reason, Some(limit)) => format!("{reason}: queue {queue_bytes} B, {policy} allows {limit} B"),
            (reason, None) => format!("{reason}: queue {queue_bytes} B"),
        }
    }
}
