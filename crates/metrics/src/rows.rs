//! Rows of the result tables. One struct per table; field names are column names.

/// How a flow ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum FlowState {
    /// Every byte has arrived.
    Finished,
    /// It sent everything, lost packets will not be sent again, and the rest has arrived.
    Lossy,
    /// The run ended first.
    Unfinished,
}

impl FlowState {
    /// Every state.
    pub const ALL: [Self; 3] = [Self::Finished, Self::Lossy, Self::Unfinished];

    /// Name in tables.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Finished => "finished",
            Self::Lossy => "lossy",
            Self::Unfinished => "unfinished",
        }
    }
}

/// One flow (table `flows`).
#[derive(Clone, Debug, PartialEq)]
pub struct FlowRow {
    /// Number of the flow in order of its start, from 0.
    pub flow_id: u64,
    /// Class name, an index into the run's class table ([`RunTotals::classes`]).
    pub class: u16,
    /// Query number, or `None`.
    pub query_id: Option<u32>,
    /// Sending host.
    pub src_host: u32,
    /// Receiving host.
    pub dst_host: u32,
    /// Payload (bytes).
    pub size_bytes: u64,
    /// When the application handed the data over.
    pub start_ns: u64,
    /// For an open-loop flow (no congestion control): how long it sends at its rate; `None` for any other.
    pub sending_ns: Option<u64>,
    /// How it ended.
    pub state: FlowState,
    /// Start to last byte at the receiving application; `None` unless it is finished.
    pub fct_ns: Option<u64>,
    /// Ideal FCT: base round-trip time plus payload over the slower access link, or plus `sending_ns` where that is longer.
    pub ideal_ns: f64,
    /// `fct / ideal`; `None` unless it is finished.
    pub slowdown: Option<f64>,
    /// Data packets sent, retransmissions included.
    pub sent_packets: u64,
    /// Data packets sent again.
    pub retransmitted_packets: u64,
    /// Retransmission timeouts, of the handshake too.
    pub timeouts: u32,
    /// Data packets of this flow that arrived with a congestion mark.
    pub marked_packets: u64,
    /// Packets of this flow (data and ACKs) lost in switches or on dead links.
    pub dropped_packets: u64,
}

/// One query (table `queries`).
#[derive(Clone, Debug, PartialEq)]
pub struct QueryRow {
    /// Number of the query.
    pub query_id: u32,
    /// Class of its flows.
    pub class: u16,
    /// The asking host.
    pub client_host: u32,
    /// Flows that answer.
    pub fan_in: u32,
    /// Bytes of all answers.
    pub request_bytes: u64,
    /// Start.
    pub start_ns: u64,
    /// Start to the end of its last flow (query completion time); `None` if unfinished.
    pub qct_ns: Option<u64>,
    /// Ideal QCT: base round-trip time plus all answers over the client's link rate.
    pub ideal_ns: f64,
    /// `qct / ideal`.
    pub slowdown: Option<f64>,
    /// Packets lost.
    pub dropped_packets: u64,
    /// Timeouts of its flows.
    pub timeouts: u32,
}

/// What a measurement is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Scope {
    /// A whole switch.
    Switch,
    /// One port.
    Port,
    /// One queue (port × priority).
    Queue,
}

impl Scope {
    /// Name in tables.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Switch => "switch",
            Self::Port => "port",
            Self::Queue => "queue",
        }
    }
}

/// One sample (table `series`).
#[derive(Clone, Debug, PartialEq)]
pub struct SeriesRow {
    /// Instant.
    pub time_ns: u64,
    /// What is sampled.
    pub scope: Scope,
    /// Switch index.
    pub switch: u32,
    /// Port, except for a whole switch.
    pub port: Option<u16>,
    /// Priority, for a queue.
    pub priority: Option<u8>,
    /// Bytes stored.
    pub occupancy_bytes: u64,
    /// The policy's limit for an untagged packet, for a queue where the policy has one.
    pub threshold_bytes: Option<u64>,
}

/// How far a live flow is (table `progress`): its throughput over time, by differences. A flow that has ended has no more rows; its size
/// is in `flows`.
#[derive(Clone, Debug, PartialEq)]
pub struct ProgressRow {
    /// Instant.
    pub time_ns: u64,
    /// Number of the flow in order of its start ([`FlowRow::flow_id`]).
    pub flow_id: u64,
    /// Class, an index into the run's class table ([`RunTotals::classes`]).
    pub class: u16,
    /// Payload that the receiving application has so far (bytes): in order, each byte once. Of an open-loop flow: all that arrived.
    pub delivered_bytes: u64,
}

/// One internal value of the sampled switch's policy (table `probes`).
#[derive(Clone, Debug, PartialEq)]
pub struct ProbeRow {
    /// Instant.
    pub time_ns: u64,
    /// Switch index.
    pub switch: u32,
    /// Port.
    pub port: u16,
    /// Priority.
    pub priority: u8,
    /// The policy's name for the value.
    pub name: &'static str,
    /// The value.
    pub value: f64,
}

/// One bin of the queueing delays of a class in a queue (table `delays`): arrival to the start of transmission.
#[derive(Clone, Debug, PartialEq)]
pub struct DelayRow {
    /// Switch index.
    pub switch: u32,
    /// Port.
    pub port: u16,
    /// Priority.
    pub priority: u8,
    /// Flow class; ACKs count for the class of their flow.
    pub class: u16,
    /// Smallest delay of the bin.
    pub from_ns: u64,
    /// Largest delay of the bin.
    pub to_ns: u64,
    /// Packets that were sent after such a delay.
    pub packets: u64,
    /// Sum of their delays, so that means are exact.
    pub total_ns: u64,
}

/// One bin of a time-weighted occupancy histogram (table `occupancy`).
#[derive(Clone, Debug, PartialEq)]
pub struct HistogramRow {
    /// What is measured.
    pub scope: Scope,
    /// Switch index.
    pub switch: u32,
    /// Port, except for a whole switch.
    pub port: Option<u16>,
    /// Priority, for a queue.
    pub priority: Option<u8>,
    /// Smallest occupancy of the bin (bytes).
    pub from_bytes: u64,
    /// Largest occupancy of the bin (bytes).
    pub to_bytes: u64,
    /// Time spent in the bin.
    pub time_ns: u64,
}

/// Counters of one switch queue (table `queues`).
#[derive(Clone, Debug, PartialEq)]
pub struct QueueRow {
    /// Switch index.
    pub switch: u32,
    /// Port.
    pub port: u16,
    /// Priority.
    pub priority: u8,
    /// Packets that asked for space.
    pub arrived_packets: u64,
    /// Packets stored.
    pub enqueued_packets: u64,
    /// Bytes stored (as charged).
    pub enqueued_bytes: u64,
    /// Packets refused on arrival.
    pub dropped_packets: u64,
    /// Packets removed after having been stored.
    pub evicted_packets: u64,
    /// Packets marked.
    pub marked_packets: u64,
    /// Largest length (bytes).
    pub max_bytes: u64,
    /// Mean length over the run (bytes), time-weighted.
    pub mean_bytes: f64,
}

/// Lost packets of one queue, reason and class (table `drops`).
#[derive(Clone, Debug, PartialEq)]
pub struct DropRow {
    /// Switch index.
    pub switch: u32,
    /// Port.
    pub port: u16,
    /// Priority.
    pub priority: u8,
    /// Flow class.
    pub class: u16,
    /// Which limit bound ([`FlowRow::class`] is the flow's, this is the policy's word).
    pub reason: &'static str,
    /// Packets.
    pub packets: u64,
    /// Bytes (as charged).
    pub bytes: u64,
}

/// Pauses of one priority of one port of a switch (table `pauses`); only where there were some.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PauseRow {
    /// Switch index.
    pub switch: u32,
    /// Port.
    pub port: u16,
    /// Priority.
    pub priority: u8,
    /// Pause frames sent to the neighbour behind the port, repetitions included.
    pub sent_pauses: u64,
    /// Resume frames sent to it.
    pub sent_resumes: u64,
    /// How long the policy wanted the neighbour to be silent (ns).
    pub demanded_ns: u64,
    /// Pause frames of the neighbour that took effect on this port, repetitions included.
    pub received_pauses: u64,
    /// Resume frames that did.
    pub received_resumes: u64,
    /// How long this port was paused (ns).
    pub paused_ns: u64,
    /// How long the neighbour's port towards this one was paused (ns); of hosts this is the only record.
    pub neighbour_paused_ns: u64,
}

/// One pause of one priority of one link (table `pause_spans`): from the moment at which its sender obeys to the one at which it may go on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PauseSpanRow {
    /// Name of the node that wants silence.
    pub by: String,
    /// Name of the node that is paused on its link to it.
    pub paused: String,
    /// Number among parallel links of the same two ends.
    pub parallel: u16,
    /// Priority.
    pub priority: u8,
    /// When it began (ns).
    pub start_ns: u64,
    /// When it ended (ns); `None`: not before the run.
    pub end_ns: Option<u64>,
}

/// Paused links that wait for each other in a circle (PFC deadlock; table `pause_cycles`). One row for all times at which the same links did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PauseCycleRow {
    /// When the circle closed for the first time (ns).
    pub time_ns: u64,
    /// Priority of all links.
    pub priority: u8,
    /// Names of the switches in the direction of the traffic, beginning with the one that comes first in the topology; each is paused by the
    /// next, the last by the first.
    pub members: Vec<String>,
    /// How often it closed.
    pub times: u64,
    /// When it closed for the last time (ns).
    pub last_ns: u64,
    /// How long it was closed altogether (ns).
    pub total_ns: u64,
    /// When it opened for the last time (ns); `None`: it was closed when the run ended.
    pub ended_ns: Option<u64>,
}

impl PauseCycleRow {
    /// All its links were paused, and waited for each other, when the run ended.
    #[must_use]
    pub fn lasted(&self) -> bool {
        self.ended_ns.is_none()
    }
}

/// One storm of pauses that the PFC watchdog of a switch has noticed (table `watchdog`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WatchdogRow {
    /// Switch index.
    pub switch: u32,
    /// Port of the stormed queue.
    pub port: u16,
    /// Its priority.
    pub priority: u8,
    /// The rule that noticed it: `mellanox` or `broadcom`.
    pub rule: &'static str,
    /// What was done: `drop`, `forward` or `alert`.
    pub action: &'static str,
    /// When it was noticed (ns).
    pub detected_ns: u64,
    /// When the queue was restored (ns); `None`: not before the run's end.
    pub restored_ns: Option<u64>,
    /// Packets that were flushed out of the queue when it was noticed.
    pub flushed_packets: u64,
    /// Packets that were discarded on arrival until the restoration, for the queue or from its port.
    pub discarded_packets: u64,
    /// Bytes of both.
    pub lost_bytes: u64,
    /// Packets that the queue sent meanwhile.
    pub sent_packets: u64,
}

/// Counters of one direction of a link (table `links`).
#[derive(Clone, Debug, PartialEq)]
pub struct LinkRow {
    /// Sending end, a host's or switch's name.
    pub from: String,
    /// Receiving end.
    pub to: String,
    /// Number among parallel links of the same two ends.
    pub parallel: u16,
    /// Role: `host-up`, `host-down`, `up`, `down` (towards or away from the hosts) or `peer`.
    pub role: &'static str,
    /// Rate (bit/s).
    pub rate_bps: u64,
    /// Packets sent.
    pub tx_packets: u64,
    /// Bytes sent, as on the wire.
    pub tx_bytes: u64,
    /// Packets with a congestion mark among them.
    pub marked_packets: u64,
    /// Mean use over the arrival phase (0..duration), 0..=1.
    pub utilisation: f64,
    /// Bytes that asked for this port in the arrival phase, lost or not, as on the wire; `None` for a host's link.
    pub offered_bytes: Option<u64>,
    /// Packets lost because the link was down.
    pub lost_packets: u64,
}

/// Totals of a run, for the manifest and the summary.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RunTotals {
    /// Class names; rows refer to them by index.
    pub classes: Vec<String>,
    /// Switch names; rows refer to them by index.
    pub switches: Vec<String>,
    /// Host names.
    pub hosts: Vec<String>,
    /// Buffer of every switch (bytes).
    pub buffer_bytes: Vec<u64>,
    /// Simulated time at the end of the run.
    pub end_ns: u64,
    /// Packets that crossed a link, ACKs included: the unit of speed.
    pub packet_hops: u64,
    /// Events processed.
    pub events: u64,
    /// Flows started.
    pub flows: u64,
    /// Flows that ended, finished or lossy.
    pub flows_finished: u64,
    /// Largest number of packets alive at once.
    pub peak_packets: u64,
    /// Largest number of flows alive at once.
    pub peak_flows: u64,
}
