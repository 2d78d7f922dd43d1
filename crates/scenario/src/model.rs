//! The validated scenario, which a driver runs. Every default is filled in, every unit parsed,
//! every name resolved. A driver receives only this scenario.

pub use bufferlab_core::watchdog::{StormCounter, WatchdogAction, WatchdogRule, WatchdogSpec};

pub use crate::format::{
    EcnSpec, EgressSpec, HardwareSpec, HostSpec, OutputSpec, PauseStormSpec, PfcPortsSpec, PfcSpec, Scenario,
    SwitchSpec, TransportSpec, WorkloadSpec,
};
use bufferlab_core::{
    BuildError, Classifier, Hardware, Marker, RateLimit, ScheduleError, Scheduler, SwitchShape,
    find_classifier, find_marker,
};
use bufferlab_params::{Params, choices};
pub use bufferlab_topology::{LinkSpec, Multipath, Node, RouteSpec, Topology};
use bufferlab_transport::Spacing;
use bufferlab_transport::rdma::{Notification, Recovery};
use bufferlab_units::{BitRate, Time};
use bufferlab_workload::Workload;
use std::ops::Range;
use std::sync::Arc;

impl SwitchSpec {
    /// Returns the lossless priorities as a mask: bit p is set if priority p is lossless.
    #[must_use]
    pub fn lossless(&self) -> u32 {
        self.pfc.as_ref().map_or(0, PfcSpec::mask)
    }

    /// Builds the scheduler of a memory that serves the ports `ports` of the switch.
    ///
    /// # Errors
    /// If the groups of a scheduler do not name every queue exactly once.
    pub fn scheduler_of(&self, ports: &Range<usize>) -> Result<Scheduler, ScheduleError> {
        let queues = usize::from(self.queues_per_port);
        let mut scheduler = Scheduler::new(&self.scheduler, queues)?;
        for entry in &self.egress {
            let own =
                |port: &usize| entry.ports.is_empty() || entry.ports.iter().any(|&p| usize::from(p) == *port);
            let ports: Vec<u16> = ports.clone().filter(own).map(|port| (port - ports.start) as u16).collect();
            if ports.is_empty() {
                // The egress table is for ports of other memories, so this memory keeps its fast
                // paths.
                continue;
            }
            if let Some(groups) = &entry.scheduler {
                scheduler = scheduler.with_ports(&ports, Scheduler::new(groups, queues)?);
            }
            if let Some(rate) = entry.rate {
                scheduler = scheduler.with_limit(
                    &ports,
                    &entry.queues,
                    RateLimit { rate, burst: entry.burst.unwrap_or(0) },
                );
            }
        }
        Ok(scheduler)
    }

    /// Whether the switch limits the rate of any queue or port.
    #[must_use]
    pub fn limits_rates(&self) -> bool {
        self.egress.iter().any(|entry| entry.rate.is_some())
    }
}

/// Fault of a host, such as a pause storm.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FaultSpec {
    /// The network card of a host sends pause frames to its switch, regardless of received packets.
    PauseStorm(PauseStormSpec),
}

impl PfcSpec {
    /// Returns the priorities that are lossless on any port as a mask: bit p is set if priority p
    /// is lossless.
    #[must_use]
    pub fn mask(&self) -> u32 {
        let others = self.by_port.iter().filter_map(|entry| entry.priorities.as_deref()).map(mask_of);
        others.fold(mask_of(&self.priorities), |all, own| all | own)
    }

    /// Returns the lossless priorities of `port` as a mask: bit p is set if priority p is lossless.
    #[must_use]
    pub fn mask_at(&self, port: u16) -> u32 {
        let own = |entry: &PfcPortsSpec| {
            entry.priorities.as_deref().filter(|_| entry.ports.contains(&port)).map(mask_of)
        };
        match self.by_port.iter().rev().find_map(own) {
            Some(mask) => mask,
            None if self.ports.is_empty() || self.ports.contains(&port) => mask_of(&self.priorities),
            None => 0,
        }
    }

    /// Returns the time after which the neighbour behind `port` obeys a pause frame.
    #[must_use]
    pub fn reaction_at(&self, port: u16) -> Time {
        let own = |entry: &PfcPortsSpec| entry.reaction.filter(|_| entry.ports.contains(&port));
        self.by_port.iter().rev().find_map(own).unwrap_or(self.reaction)
    }

    /// Whether the lossless priorities differ between the switch's ports.
    #[must_use]
    pub fn differs_by_port(&self) -> bool {
        !self.ports.is_empty() || self.by_port.iter().any(|entry| entry.priorities.is_some())
    }

    /// Returns the lossless priorities of each port, as masks; empty if all ports have equal masks.
    #[must_use]
    pub fn masks_by_port(&self, ports: usize) -> Vec<u32> {
        if !self.differs_by_port() {
            Vec::new()
        } else {
            (0..ports as u16).map(|port| self.mask_at(port)).collect()
        }
    }
}

fn mask_of(priorities: &[u8]) -> u32 {
    priorities.iter().fold(0, |mask, priority| mask | 1 << priority)
}

impl Default for HardwareSpec {
    fn default() -> Self {
        Self { slices: 1, cut_through_bytes: None, device_queue: 0, switch: Hardware::IDEAL }
    }
}

/// Rule of a switch that chooses the queue of a packet.
#[derive(Clone, Debug, PartialEq)]
pub struct ClassifierSpec {
    /// Registry name of the classifier.
    pub name: String,
    /// All parameters of the classifier.
    pub params: Params,
}

impl ClassifierSpec {
    /// Builds the classifier for a switch with `queues_per_port` queues.
    ///
    /// # Errors
    /// If the classifier is no longer registered, or a parameter does not fit the switch.
    pub fn classifier(&self, queues_per_port: usize) -> Result<Classifier, BuildError> {
        let info = find_classifier(&self.name).ok_or_else(|| BuildError {
            param: "name",
            message: format!("no classifier is called \"{}\"", self.name),
        })?;
        info.construct(&self.params, queues_per_port)
    }
}

impl EcnSpec {
    /// Builds the ECN marker for a switch of the shape `shape`.
    ///
    /// # Errors
    /// If the rule is no longer registered, or a parameter does not fit the switch.
    pub fn marker(&self, shape: &SwitchShape) -> Result<Marker, BuildError> {
        let info = find_marker(&self.kind).ok_or_else(|| BuildError {
            param: "kind",
            message: format!("no marking rule is called \"{}\"", self.kind),
        })?;
        let priorities = match &self.priorities {
            None => u32::MAX,
            Some(list) => list.iter().fold(0, |mask, priority| mask | 1 << priority),
        };
        Ok(Marker { rule: info.construct(&self.params, shape)?, priorities })
    }
}

/// Number of bytes that a flow may send before its first ACK.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InitialWindow {
    /// The first window is a given number of segments.
    Segments(u32),
    /// The first window is the bandwidth-delay product of the host's rate and the base round trip,
    /// rounded up to a segment.
    BandwidthDelay,
    /// The first window is the size of the whole flow.
    Whole,
}

/// Settings of a transport over RDMA that TCP transports lack.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RdmaSpec {
    /// Method by which a queue pair repairs losses.
    pub recovery: Recovery,
    /// Whether the bytes in flight are limited to a bandwidth-delay product, even if the congestion
    /// control allows more.
    pub window_limit: bool,
    /// Time without an acknowledgement after which a queue pair sends a message again. With `None`,
    /// losses that the receiver cannot report are never repaired.
    pub retransmission_timeout: Option<Time>,
    /// Time after which go-back-N repeats a negative acknowledgement. With `None`, a queue pair
    /// sends one negative acknowledgement per gap.
    pub nack_interval: Option<Time>,
    /// Method by which RDMA receivers report ECN marks to senders.
    pub notification: Notification,
    /// Whether a segment that waited for the host's network card delays the segments after it.
    pub strict_pace: bool,
    /// Whether a message is complete when its last ACK reaches the sender, not when its last byte
    /// reaches the receiver.
    pub ends_at_sender: bool,
    /// Header bytes per segment in the ideal completion time, from which the slowdown is computed.
    pub ideal_header_bytes: u32,
}

/// Connections that stay open between messages. A connection carries one message at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PersistentSpec {
    /// Largest number of connections from one host to another. If all connections are busy, a
    /// message waits for the first free connection. `None` means no limit: if all connections are
    /// busy, a message opens another connection.
    pub connections_per_pair: Option<u32>,
    /// Whether a connection that was idle for longer than its timeout starts again with the initial
    /// window (RFC 5681 section 4.1).
    pub idle_restart: bool,
}

/// Pacing of a sender by the clock, without feedback.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pacing {
    /// Rate on the wire while a flow sends, including headers.
    pub rate: BitRate,
    /// Distribution of the gaps between the packets of a flow.
    pub spacing: Spacing,
}

choices! {
    /// Programs that carry the workloads between real hosts.
    #[derive(Default)]
    pub enum Applications {
        #[default]
        Own = "own": "senders and receivers of the testbed, which carry every workload",
        Programs = "programs": "flows without an end by iperf3; queries by memcached, with clients of the testbed that ask all servers at once",
    }
}

choices! {
    /// Port whose memory slice stores a packet: ingress or egress.
    pub enum SliceBy {
        Egress = "egress": "its egress port: a separate memory for each group of ports",
        Ingress = "ingress": "its ingress port, as in chips: ingress queues are accounted there, egress queues in every slice",
    }
}

choices! {
    /// Content of a pause or resume frame that had to wait for its link.
    pub enum PauseFrames {
        Latest = "latest": "the states of all priorities when it begins to leave, as in switches with one register of states per port",
        Each = "each": "the change that caused it, one frame for each change, in order, as ns-3 queues them; small packets can cause frames faster than they leave",
    }
}

choices! {
    /// Order in which the simulator processes link events of one instant.
    #[derive(Default)]
    pub enum TieOrder {
        #[default]
        Fair = "fair": "ends of transmissions before arrivals, else a draw by seed and instant: no port is favoured",
        Insertion = "insertion": "the event whose packet began its transmission first, as in a simulator with one queue of events (ns-3)",
    }
}

choices! {
    /// Order of a host's flows at its network card.
    pub enum NicQueueing {
        Fair = "fair": "one packet of each ready flow in turn",
        Fifo = "fifo": "windows go to the NIC as a whole; first come, first served",
        FlowQueues = "flow_queues": "windows go to the NIC as a whole; one packet of each flow in turn, flows that begin to wait first (FqCoDel, RFC 8290, without drops)",
    }
}

impl WorkloadSpec {
    /// Creates a workload from code, without a scenario file.
    #[must_use]
    pub fn new(class: impl Into<String>, transport: u32, workload: impl Workload) -> Self {
        let (class, workload) = (class.into(), Arc::new(workload));
        Self { class, transport, kind: String::new(), params: Params::default(), workload }
    }
}

/// Two workloads are equal if their class, transport, kind and parameters are equal, because these
/// values determine the traffic.
impl PartialEq for WorkloadSpec {
    fn eq(&self, other: &Self) -> bool {
        self.class == other.class
            && self.transport == other.transport
            && self.kind == other.kind
            && self.params == other.params
    }
}

/// Switches at which a run records data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecordedSwitches {
    /// The run records data of every switch in the network.
    All,
    /// The run records data at one switch (index into the topology).
    One(u32),
}

impl RecordedSwitches {
    /// Whether the switch with this index is among the recorded switches.
    #[must_use]
    pub fn contains(self, switch: u32) -> bool {
        match self {
            Self::All => true,
            Self::One(one) => one == switch,
        }
    }
}

choices! {
    /// Protocol of a transport: TCP or RDMA.
    #[derive(Default)]
    pub enum Protocol {
        #[default]
        Tcp = "tcp": "segments and windows; open loop with congestion_control = \"none\"",
        Rdma = "rdma": "messages of queue pairs as in RoCE: no handshake, sent by rate, from line rate on",
    }
}

choices! {
    /// Queue length that a switch reports to transports with telemetry. The report's sent bytes are
    /// always the bytes that the port has sent.
    #[derive(Default)]
    pub enum TelemetryScope {
        #[default]
        Port = "port": "all queues of the packet's egress port together (HPCC, section 3.1)",
        Queue = "queue": "the packet's own queue",
    }
}

choices! {
    /// Packets that collect the telemetry reports of switches.
    #[derive(Default)]
    pub enum TelemetryPath {
        #[default]
        Data = "data": "data on its way to the receiver (HPCC, PowerTCP)",
        RoundTrip = "round_trip": "data, then its ACK on the way back, so that queues on that way count, too",
    }
}

choices! {
    /// Limit of the bytes that a queue pair has in flight.
    #[derive(Default)]
    pub enum WindowLimit {
        #[default]
        None = "none": "whatever the congestion control allows",
        BandwidthDelay = "bdp": "at most what the host's link sends in `base_rtt`",
    }
}

choices! {
    /// Method by which a receiver reports marks to the sender of a queue pair.
    pub enum MarkReport {
        Frames = "frames": "in separate frames, 12 B longer than an ACK, at most one per `notification_interval` and message",
        Acks = "acks": "on ACKs",
    }
}

choices! {
    /// Event that completes a message of a queue pair.
    #[derive(Default)]
    pub enum Completion {
        #[default]
        Sender = "sender": "when the last ACK reaches the sender",
        Receiver = "receiver": "when the last byte reaches the receiver, as with TCP",
    }
}
