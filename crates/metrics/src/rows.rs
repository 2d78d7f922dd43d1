//! Declares the tables of a run and their columns.
//! The code that writes and reads tables, and the documentation of tables, follow from this file.

use crate::declare::{tables, word_cell, words};
use crate::record;
use crate::record::{ClassName, HostName, Record, SwitchName};
use bufferlab_core::PacketEvent;

words! {
    /// Final state of a flow.
    FlowState {
        /// Every byte of the flow has arrived.
        Finished => "finished",
        /// The flow has sent all data and does not send lost packets again;
        /// all other packets have arrived.
        Lossy => "lossy",
        /// The run ended before the flow ended.
        Unfinished => "unfinished",
    }
}

words! {
    /// Kind of a node of a schedule.
    NodeKind {
        /// Data that one rank sends to another.
        Transfer => "transfer",
        /// Computation of one rank.
        Compute => "compute",
    }
}

words! {
    /// Event that a node of a critical path waited for.
    WaitedFor {
        /// The start of the iteration, or the node's earliest start.
        Start => "start",
        /// An event of another node of the schedule.
        Node => "node",
        /// The rank's processor, which executed another computation.
        Processor => "processor",
        /// The network inside the server, which carried another transfer of the rank.
        ScaleUp => "scale-up",
    }
}

words! {
    /// Object of a measurement.
    Scope {
        /// The whole buffer of a switch.
        Switch => "switch",
        /// One port of a switch.
        Port => "port",
        /// One queue (port × priority).
        Queue => "queue",
    }
}

record! {
    /// One flow: its size, start, end state, duration and losses.
    pub FlowRow => "flows" {
        /// Number of the flow in order of its start, from 0.
        flow_id: u64,
        /// Class of the flow.
        class: u16 as ClassName,
        /// Number of the query that the flow answers.
        query_id: Option<u32>,
        /// Sending host.
        src_host: u32 as HostName,
        /// Receiving host.
        dst_host: u32 as HostName,
        /// Payload of the flow.
        size_bytes: u64,
        /// Time at which the sending application handed over the flow's data.
        start_ns: u64,
        /// Time that an open-loop flow takes to send at its rate; empty for any other flow.
        sending_ns: Option<u64>,
        /// finished: every byte has arrived; lossy: an open-loop flow that lost packets;
        /// unfinished: the run ended first.
        state: FlowState,
        /// Flow completion time: start to last byte at the receiving application;
        /// empty unless finished.
        fct_ns: Option<u64>,
        /// Ideal FCT: base round-trip time plus payload over the slower access link,
        /// or plus sending_ns if that is longer.
        ideal_ns: f64,
        /// Slowdown fct / ideal; empty unless finished. Below 1 for open-loop flows of few packets,
        /// whose sending_ns contains the gap after the last packet.
        slowdown: Option<f64>,
        /// Number of data packets that the flow sent, retransmissions included.
        sent_packets: u64,
        /// Number of data packets that the flow sent again.
        retransmitted_packets: u64,
        /// Number of the flow's retransmission timeouts, including those of the handshake.
        timeouts: u32,
        /// Number of the flow's data packets that arrived with a congestion mark.
        marked_packets: u64,
        /// Number of the flow's packets (data and ACKs) lost in switches or on dead links.
        dropped_packets: u64,
    }
}

record! {
    /// One query (incast): the answering flows, and the time until all of them had ended.
    pub QueryRow => "queries" {
        /// Number of the query.
        query_id: u32,
        /// Class of the query's flows.
        class: u16 as ClassName,
        /// Host that sends the query.
        client_host: u32 as HostName,
        /// Number of flows that answer the query.
        fan_in: u32,
        /// Total size of all answers to the query.
        request_bytes: u64,
        /// Start of the query.
        start_ns: u64,
        /// Query completion time: start to the end of its last flow; empty if unfinished.
        qct_ns: Option<u64>,
        /// Ideal QCT: base round-trip time plus all answers over the client's link rate.
        ideal_ns: f64,
        /// Slowdown qct / ideal; empty if unfinished.
        slowdown: Option<f64>,
        /// Number of packets that the query's flows lost.
        dropped_packets: u64,
        /// Number of retransmission timeouts of the query's flows.
        timeouts: u32,
    }
}

record! {
    /// One sample of the chosen switch, or of one of its ports or queues:
    /// its occupancy and its present threshold.
    pub SeriesRow => "series" {
        /// Time of the sample.
        time_ns: u64,
        /// Measured object: switch, port or queue.
        scope: Scope,
        /// Switch.
        switch: u32 as SwitchName,
        /// Port of the measured object; empty for a whole switch.
        port: Option<u16>,
        /// Priority of the measured queue; empty for a port or a switch.
        priority: Option<u8>,
        /// Number of bytes that the measured object stores.
        occupancy_bytes: u64,
        /// Limit of the policy for an untagged packet, if the policy has one.
        threshold_bytes: Option<u64>,
    }
}

record! {
    /// One bin of the exact time-weighted histogram of the occupancy of a switch, port or queue.
    pub HistogramRow => "occupancy" {
        /// Measured object: switch, port or queue.
        scope: Scope,
        /// Switch.
        switch: u32 as SwitchName,
        /// Port of the measured object; empty for a whole switch.
        port: Option<u16>,
        /// Priority of the measured queue; empty for a port or a switch.
        priority: Option<u8>,
        /// Smallest occupancy of the bin.
        from_bytes: u64,
        /// Largest occupancy of the bin.
        to_bytes: u64,
        /// Total time at an occupancy of the bin.
        time_ns: u64,
    }
}

record! {
    /// One queue of a switch: its counters over the run.
    pub QueueRow => "queues" {
        /// Switch.
        switch: u32 as SwitchName,
        /// Port.
        port: u16,
        /// Priority.
        priority: u8,
        /// Number of packets that arrived for the queue.
        arrived_packets: u64,
        /// Number of packets that the queue stored.
        enqueued_packets: u64,
        /// Number of bytes that the queue stored, as charged to the buffer.
        enqueued_bytes: u64,
        /// Number of packets that were refused on arrival.
        dropped_packets: u64,
        /// Number of stored packets that were removed without being sent.
        evicted_packets: u64,
        /// Number of packets that were marked.
        marked_packets: u64,
        /// Peak length of the queue.
        max_bytes: u64,
        /// Time-weighted mean length of the queue over the run.
        mean_bytes: f64,
    }
}

record! {
    /// Packets that one queue lost, by reason and class.
    pub DropRow => "drops" {
        /// Switch.
        switch: u32 as SwitchName,
        /// Port.
        port: u16,
        /// Priority.
        priority: u8,
        /// Class of the flow.
        class: u16 as ClassName,
        /// Limit that refused the packets.
        // The policy defines the words of this column.
        reason: &'static str,
        /// Number of packets lost.
        packets: u64,
        /// Number of bytes lost, as charged to the buffer.
        bytes: u64,
    }
}

record! {
    /// One direction of a link: its counters over the run.
    pub LinkRow => "links" {
        /// Sending end of the link.
        from: String,
        /// Receiving end of the link.
        to: String,
        /// Number of the link among the parallel links between two nodes.
        parallel: u16,
        /// Role of the link: host-up, host-down, up, down or peer.
        role: &'static str,
        /// Rate of the link.
        rate_bps: u64,
        /// Number of packets sent on the link.
        tx_packets: u64,
        /// Number of bytes sent, as on the wire.
        tx_bytes: u64,
        /// Number of packets sent with a congestion mark.
        marked_packets: u64,
        /// Mean utilisation of the link over the arrival phase. A packet counts in full
        /// when its transmission starts, so a phase of few packets can exceed 1.
        utilisation: f64,
        /// Number of bytes on the wire that arrived for this port in the arrival phase,
        /// lost or not; empty for a host's link.
        offered_bytes: Option<u64>,
        /// Number of packets lost because the link was down.
        lost_packets: u64,
    }
}

record! {
    /// One sample of an internal value of the chosen switch's policy: a counter, a state, a factor.
    pub ProbeRow => "probes" {
        /// Time of the sample.
        time_ns: u64,
        /// Switch.
        switch: u32 as SwitchName,
        /// Port.
        port: u16,
        /// Priority.
        priority: u8,
        /// Name of the value in the policy.
        name: &'static str,
        /// Sampled value.
        value: f64,
    }
}

record! {
    /// One sample of a live flow: the payload delivered so far. An ended flow has no further rows;
    /// `flows` has its size.
    pub ProgressRow => "progress" {
        /// Time of the sample.
        time_ns: u64,
        /// Flow.
        flow_id: u64,
        /// Class of the flow.
        class: u16 as ClassName,
        /// Payload delivered to the receiving application so far.
        // TCP delivers each byte once and in order.
        // Of an open-loop flow, every arrived byte counts.
        delivered_bytes: u64,
    }
}

record! {
    /// One bin of the queueing delays of a queue and class.
    pub DelayRow => "delays" {
        /// Switch.
        switch: u32 as SwitchName,
        /// Port.
        port: u16,
        /// Priority.
        priority: u8,
        /// Class of the packets' flow; ACKs belong to the class of their flow.
        class: u16 as ClassName,
        /// Smallest delay of the bin: arrival to the start of transmission.
        from_ns: u64,
        /// Largest delay of the bin.
        to_ns: u64,
        /// Number of packets that were sent after a delay in the bin.
        packets: u64,
        /// Sum of the delays of the packets in the bin.
        // The sum of delays makes means exact.
        total_ns: u64,
    }
}

record! {
    /// Pause and resume frames of one priority of one port, and the durations of its pauses.
    pub PauseRow => "pauses" {
        /// Switch.
        switch: u32 as SwitchName,
        /// Port.
        port: u16,
        /// Priority.
        priority: u8,
        /// Number of pause frames sent to the neighbour, repetitions included.
        sent_pauses: u64,
        /// Number of resume frames sent to the neighbour.
        sent_resumes: u64,
        /// Total time for which the policy wanted the neighbour to be silent.
        demanded_ns: u64,
        /// Number of the neighbour's pause frames that took effect, repetitions included.
        received_pauses: u64,
        /// Number of the neighbour's resume frames that took effect.
        received_resumes: u64,
        /// Total time for which the neighbour paused this port.
        paused_ns: u64,
        /// Total time for which the neighbour's port towards this port was paused.
        // Only this column records paused hosts.
        neighbour_paused_ns: u64,
        /// Peak headroom of packets of this priority that arrived through this port.
        max_headroom_bytes: u64,
        /// Number of lost lossless packets of this priority that arrived through this port.
        /// Packets discarded by a watchdog do not count.
        lost_lossless_packets: u64,
    }
}

record! {
    /// One pause of one priority of one link: the pausing and the paused node, start and end.
    pub PauseSpanRow => "pause_spans" {
        /// Node that sent the pause.
        by: String,
        /// Node that is paused on its link to the pausing node.
        paused: String,
        /// Number of the link among the parallel links between two nodes.
        parallel: u16,
        /// Priority.
        priority: u8,
        /// Time at which the paused node stopped sending.
        start_ns: u64,
        /// Time at which the paused node could send again; empty if the run ended first.
        end_ns: Option<u64>,
    }
}

record! {
    /// Paused links that wait for each other in a cycle (a PFC deadlock, if the cycle never opens).
    /// A set of links has one row for all its cycles.
    pub PauseCycleRow => "pause_cycles" {
        /// Time at which the pause cycle closed first.
        time_ns: u64,
        /// Priority.
        priority: u8,
        /// Switches of the cycle in the direction of the traffic.
        /// The next switch pauses each switch, and the first switch pauses the last.
        members: Vec<String>,
        /// Number of times that the pause cycle closed.
        times: u64,
        /// Time at which the pause cycle closed last.
        last_ns: u64,
        /// Total time for which the pause cycle was closed.
        total_ns: u64,
        /// Time at which the pause cycle opened last; empty if the cycle was closed when the run
        /// ended.
        ended_ns: Option<u64>,
    }
}

record! {
    /// One pause storm detected by the PFC watchdog of a switch: the rule,
    /// the action and the losses.
    pub WatchdogRow => "watchdog" {
        /// Switch.
        switch: u32 as SwitchName,
        /// Port of the stormed queue.
        port: u16,
        /// Priority of the stormed queue.
        priority: u8,
        /// Rule that detected the storm: mellanox or broadcom.
        rule: &'static str,
        /// Action of the watchdog: drop, forward or alert.
        action: &'static str,
        /// Time at which the storm was detected.
        detected_ns: u64,
        /// Time at which the queue was restored; empty if the run ended first.
        restored_ns: Option<u64>,
        /// Number of packets flushed from the queue when the storm was detected.
        flushed_packets: u64,
        /// Number of packets discarded on arrival, for the queue or from its port.
        discarded_packets: u64,
        /// Number of bytes of flushed and discarded packets.
        lost_bytes: u64,
        /// Number of packets that the queue sent during the storm.
        sent_packets: u64,
    }
}

word_cell!(PacketEvent);

record! {
    /// One event of one packet in a switch's buffer. Written only on request (`--packets`, or
    /// `output.packets`). Simultaneous events of a switch are in the order of their occurrence: an
    /// evicted packet precedes the packet that takes its space.
    pub PacketRow => "packets" {
        /// Time of the event.
        time_ps: u64,
        /// Switch.
        switch: u32 as SwitchName,
        /// admitted, dropped (refused on arrival), evicted (removed later), marked (ECN),
        /// departed (its transmission begins), paused or resumed (the switch signals
        /// the sender behind the ingress queue).
        event: PacketEvent,
        /// Ingress port of the packet; for a pause, the port whose sender is signalled.
        ingress_port: u16,
        /// Egress port of the packet; empty for a pause that no packet caused.
        port: Option<u16>,
        /// Priority of the packet's queue; for a pause, the priority that is signalled.
        priority: u8,
        /// Class of the packet's flow; ACKs belong to the class of their flow.
        /// Empty for a pause that no packet caused.
        class: Option<u16> as Option<ClassName>,
        /// Number of the packet's flow. Empty for a pause that no packet caused.
        flow_id: Option<u64>,
        /// Number of the packet in its flow, from 0; a retransmission has the number of the
        /// original packet. An ACK has the number of the packet that is expected next.
        packet: Option<u32>,
        /// Kind of packet: data, ack, syn or syn-ack.
        kind: Option<&'static str>,
        /// Bytes charged to the buffer for the packet.
        size_bytes: u32,
        /// Length of the packet's queue after the event.
        queue_bytes: u64,
        /// Occupancy of the whole buffer after the event.
        occupancy_bytes: u64,
        /// Bytes charged to the ingress queue after the event: stored packets
        /// that came through its port with its priority.
        ingress_bytes: u64,
        /// Limit of the policy for this packet in its queue after the event, if the policy has one.
        threshold_bytes: Option<u64>,
        /// Account to which the packet is charged: shared, minimum, reserved or headroom.
        /// Only for admitted packets, and for victims of an eviction.
        account: Option<&'static str>,
        /// Reason for the drop, eviction or mark.
        reason: Option<&'static str>,
        /// Place that had no room for a dropped packet: buffer, queue, port, ingress, headroom …
        bound: Option<&'static str>,
        /// Limit of the place that had no room (column bound).
        /// The packet was dropped because held_bytes plus the packet's bytes exceeded this limit.
        limit_bytes: Option<u64>,
        /// Number of bytes in the place that had no room (column bound).
        held_bytes: Option<u64>,
        /// Time for which a departed or evicted packet had been stored.
        stored_ps: Option<u64>,
    }
}

record! {
    /// One transfer or computation of a schedule: its ready, start and end times, and the node for
    /// which it waited last. Only in runs with a schedule.
    pub ScheduleRow => "schedule" {
        /// Number of the schedule in the run, from 0.
        schedule: u32,
        /// Number of the schedule's execution, from 0.
        iteration: u32,
        /// Number of the node in its schedule, from 0.
        node: u32,
        /// Kind of the node: transfer or compute.
        kind: NodeKind,
        /// Rank that sends or computes.
        rank: u32,
        /// Rank that receives; empty for a computation.
        peer_rank: Option<u32>,
        /// Host of the rank.
        host: u32 as HostName,
        /// Class of a transfer.
        class: Option<u16> as Option<ClassName>,
        /// Payload of a transfer.
        size_bytes: Option<u64>,
        /// Flow of a transfer that passes the simulated network.
        flow_id: Option<u64>,
        /// Number of the node for which this node waited last, also through barriers; empty if this
        /// node waited for no other node.
        after_node: Option<u32>,
        /// Earliest possible start of the node.
        ready_ps: u64,
        /// Start: later than ready_ps if the rank's processor, or its network inside the server,
        /// was busy; empty for a node that never started.
        start_ps: Option<u64>,
        /// Time at which the receiver had the last byte, or the computation was done; empty if the
        /// run ended first.
        end_ps: Option<u64>,
    }
}

record! {
    /// One execution of a collective: its time and bandwidths. Only in runs with collectives.
    pub CollectiveRow => "collectives" {
        /// Number of the schedule, from 0.
        schedule: u32,
        /// Number of the schedule's execution, from 0.
        iteration: u32,
        /// Number of the collective in its schedule, from 0.
        collective: u32,
        /// Operation: all_reduce, all_gather, reduce_scatter, all_to_all, broadcast or pipeline.
        // The crate `schedule` defines the words of `operation` and `algorithm`.
        operation: &'static str,
        /// Algorithm: ring, tree, double_binary_tree, halving_doubling, direct or hierarchical.
        algorithm: &'static str,
        /// Number of ranks in the group.
        ranks: u32,
        /// Size S of the collective.
        size_bytes: u64,
        /// Earliest possible start of the first transfer.
        start_ps: u64,
        /// Time at which the last transfer ended.
        end_ps: u64,
        /// Algorithm bandwidth of nccl-tests: S over the time of the collective.
        algorithm_bps: u64,
        /// Bus bandwidth of nccl-tests: the algorithm bandwidth times 2(n − 1)/n for all_reduce,
        /// (n − 1)/n for all_gather, reduce_scatter and all_to_all, and 1 for broadcast and
        /// pipeline.
        bus_bps: u64,
    }
}

record! {
    /// One rank in one complete execution of a schedule: the parts of the iteration in which the
    /// rank computes, only communicates, or waits. Only in runs with a schedule.
    pub RankRow => "ranks" {
        /// Number of the schedule, from 0.
        schedule: u32,
        /// Number of the schedule's execution, from 0.
        iteration: u32,
        /// Rank.
        rank: u32,
        /// Host of the rank.
        host: u32 as HostName,
        /// End of the last transfer or computation of the rank.
        end_ps: u64,
        /// Time in which the rank computes.
        compute_ps: u64,
        /// Exposed communication: time in which the rank communicates, or waits for the network
        /// inside its server, and does not compute.
        exposed_ps: u64,
        /// Rest of the iteration: the rank waits for other ranks.
        idle_ps: u64,
    }
}

record! {
    /// One node of the critical path of a complete execution of a schedule: the chain of nodes,
    /// each of which waited for the previous one, up to the node that ended last.
    pub PathRow => "critical_path" {
        /// Number of the schedule, from 0.
        schedule: u32,
        /// Number of the schedule's execution, from 0.
        iteration: u32,
        /// Place of the node in the path, from 0.
        step: u32,
        /// Number of the node in its schedule.
        node: u32,
        /// Kind of the node: transfer or compute.
        kind: NodeKind,
        /// Rank that sends or computes.
        rank: u32,
        /// Rank that receives; empty for a computation.
        peer_rank: Option<u32>,
        /// Number of the collective to which the node belongs.
        collective: Option<u32>,
        /// Flow of a transfer that passes the simulated network.
        flow_id: Option<u64>,
        /// Event that the node waited for. Except at the start, the previous node of the path
        /// caused the event.
        waited_for: WaitedFor,
        /// Time of the event that the node waited for, with the delay of the edge.
        start_ps: u64,
        /// Time at which the node ended.
        end_ps: u64,
        /// Part of the iteration's time that the node explains: from its start to the start of the
        /// next node of the path.
        critical_ps: u64,
    }
}

impl PauseCycleRow {
    /// Whether the cycle of pauses was still closed when the run ended.
    #[must_use]
    pub fn lasted(&self) -> bool {
        self.ended_ns.is_none()
    }
}

tables! {
    Flows => FlowRow,
    Queries => QueryRow,
    Series => SeriesRow,
    Occupancy => HistogramRow,
    Queues => QueueRow,
    Drops => DropRow,
    Links => LinkRow,
    Probes => ProbeRow,
    Delays => DelayRow,
    Progress => ProgressRow,
    Pauses => PauseRow,
    PauseSpans => PauseSpanRow,
    PauseCycles => PauseCycleRow,
    Watchdog => WatchdogRow,
    Packets => PacketRow,
    Schedule => ScheduleRow,
    Collectives => CollectiveRow,
    Ranks => RankRow,
    CriticalPath => PathRow,
}

impl Table {
    /// Whether a run writes the table only if it has rows.
    #[must_use]
    pub const fn is_optional(self) -> bool {
        matches!(self, Self::Packets | Self::Schedule | Self::Collectives | Self::Ranks | Self::CriticalPath)
    }
}

/// A record that is the row of a table of a run.
pub trait TableRow: Record {
    /// Table that stores records of this type.
    const TABLE: Table;
}
