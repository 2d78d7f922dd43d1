//! The tables of a run: their columns, each declared once. What is written, read and documented
//! follows from this file.

use crate::declare::{tables, word_cell, words};
use crate::record;
use crate::record::{ClassName, HostName, Record, SwitchName};
use bufferlab_core::PacketEvent;

words! {
    /// How a flow ended.
    FlowState {
        /// Every byte has arrived.
        Finished => "finished",
        /// It sent everything, lost packets will not be sent again, and the rest has arrived.
        Lossy => "lossy",
        /// The run ended first.
        Unfinished => "unfinished",
    }
}

words! {
    /// What a measurement is about.
    Scope {
        /// A whole switch.
        Switch => "switch",
        /// One port.
        Port => "port",
        /// One queue (port × priority).
        Queue => "queue",
    }
}

record! {
    /// One flow: its size, when it started, how it ended, how long it took, what it lost.
    pub FlowRow => "flows" {
        /// Number of the flow in order of its start, from 0.
        flow_id: u64,
        /// Class of the flow.
        class: u16 as ClassName,
        /// Query that the flow answers.
        query_id: Option<u32>,
        /// Sending host.
        src_host: u32 as HostName,
        /// Receiving host.
        dst_host: u32 as HostName,
        /// Payload.
        size_bytes: u64,
        /// When the application handed the data over.
        start_ns: u64,
        /// How long an open-loop flow sends at its rate; empty for any other.
        sending_ns: Option<u64>,
        /// finished: every byte has arrived; lossy: an open-loop flow that lost packets;
        /// unfinished: the run ended first.
        state: FlowState,
        /// Flow completion time: start to last byte at the receiving application; empty unless
        /// finished.
        fct_ns: Option<u64>,
        /// Ideal FCT: base round-trip time plus payload over the slower access link, or plus
        /// sending_ns where that is longer.
        ideal_ns: f64,
        /// fct / ideal; empty unless finished. Below 1 for open-loop flows of few packets, whose
        /// sending_ns contains the gap after the last one.
        slowdown: Option<f64>,
        /// Data packets sent, retransmissions included.
        sent_packets: u64,
        /// Data packets sent again.
        retransmitted_packets: u64,
        /// Retransmission timeouts, of the handshake too.
        timeouts: u32,
        /// Data packets that arrived with a congestion mark.
        marked_packets: u64,
        /// Packets of the flow (data and ACKs) lost in switches or on dead links.
        dropped_packets: u64,
    }
}

record! {
    /// One query (incast): the flows that answer it, and when all of them had ended.
    pub QueryRow => "queries" {
        /// Number of the query.
        query_id: u32,
        /// Class of its flows.
        class: u16 as ClassName,
        /// The asking host.
        client_host: u32 as HostName,
        /// Flows that answer.
        fan_in: u32,
        /// Bytes of all answers.
        request_bytes: u64,
        /// Start.
        start_ns: u64,
        /// Query completion time: start to the end of its last flow; empty if unfinished.
        qct_ns: Option<u64>,
        /// Ideal QCT: base round-trip time plus all answers over the client's link rate.
        ideal_ns: f64,
        /// qct / ideal; empty if unfinished.
        slowdown: Option<f64>,
        /// Packets lost.
        dropped_packets: u64,
        /// Timeouts of its flows.
        timeouts: u32,
    }
}

record! {
    /// One sample of the chosen switch: what it, one of its ports or one of its queues holds, and
    /// the threshold in force.
    pub SeriesRow => "series" {
        /// Instant.
        time_ns: u64,
        /// What is measured: switch, port or queue.
        scope: Scope,
        /// Switch.
        switch: u32 as SwitchName,
        /// Port; empty for a whole switch.
        port: Option<u16>,
        /// Priority; empty unless a queue is measured.
        priority: Option<u8>,
        /// Bytes stored.
        occupancy_bytes: u64,
        /// The policy's limit for an untagged packet, where it has one.
        threshold_bytes: Option<u64>,
    }
}

record! {
    /// One bin of the exact time-weighted histogram of what a switch, port or queue holds.
    pub HistogramRow => "occupancy" {
        /// What is measured: switch, port or queue.
        scope: Scope,
        /// Switch.
        switch: u32 as SwitchName,
        /// Port; empty for a whole switch.
        port: Option<u16>,
        /// Priority; empty unless a queue is measured.
        priority: Option<u8>,
        /// Smallest occupancy of the bin.
        from_bytes: u64,
        /// Largest occupancy of the bin.
        to_bytes: u64,
        /// Time spent in the bin.
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
        /// Packets that asked for space.
        arrived_packets: u64,
        /// Packets stored.
        enqueued_packets: u64,
        /// Bytes stored, as charged to the buffer.
        enqueued_bytes: u64,
        /// Packets refused on arrival.
        dropped_packets: u64,
        /// Packets removed after having been stored.
        evicted_packets: u64,
        /// Packets marked.
        marked_packets: u64,
        /// Largest length.
        max_bytes: u64,
        /// Mean length over the run, time-weighted.
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
        /// Which limit bound.
        // In the policy's word.
        reason: &'static str,
        /// Packets lost.
        packets: u64,
        /// Bytes lost, as charged to the buffer.
        bytes: u64,
    }
}

record! {
    /// One direction of a link: its counters over the run.
    pub LinkRow => "links" {
        /// Sending end.
        from: String,
        /// Receiving end.
        to: String,
        /// Number among parallel links of the same two ends.
        parallel: u16,
        /// host-up, host-down, up, down or peer.
        role: &'static str,
        /// Rate.
        rate_bps: u64,
        /// Packets sent.
        tx_packets: u64,
        /// Bytes sent, as on the wire.
        tx_bytes: u64,
        /// Packets sent with a congestion mark.
        marked_packets: u64,
        /// Mean use over the arrival phase: a packet counts in full when it starts, so a phase of
        /// few packets can exceed 1.
        utilisation: f64,
        /// Bytes that asked for this port in the arrival phase, lost or not, as on the wire; empty
        /// for a host's link.
        offered_bytes: Option<u64>,
        /// Packets lost because the link was down.
        lost_packets: u64,
    }
}

record! {
    /// One sample of an internal value of the chosen switch's policy: a counter, a state, a factor.
    pub ProbeRow => "probes" {
        /// Instant.
        time_ns: u64,
        /// Switch.
        switch: u32 as SwitchName,
        /// Port.
        port: u16,
        /// Priority.
        priority: u8,
        /// The policy's name for the value.
        name: &'static str,
        /// The value.
        value: f64,
    }
}

record! {
    /// One sample of a live flow: what it has delivered so far. A flow that has ended has no more
    /// rows; its size is in `flows`.
    pub ProgressRow => "progress" {
        /// Instant.
        time_ns: u64,
        /// Flow.
        flow_id: u64,
        /// Class of the flow.
        class: u16 as ClassName,
        /// Payload that the receiving application has so far.
        // In order, each byte once; of an open-loop flow all that arrived.
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
        /// Class of the flow; ACKs count for their flow.
        class: u16 as ClassName,
        /// Smallest delay of the bin: arrival to the start of transmission.
        from_ns: u64,
        /// Largest delay of the bin.
        to_ns: u64,
        /// Packets that were sent after such a delay.
        packets: u64,
        /// Sum of their delays.
        // So that means are exact.
        total_ns: u64,
    }
}

record! {
    /// One priority of one port that was paused or paused its neighbour: pause and resume frames,
    /// and for how long.
    pub PauseRow => "pauses" {
        /// Switch.
        switch: u32 as SwitchName,
        /// Port.
        port: u16,
        /// Priority.
        priority: u8,
        /// Pause frames sent to the neighbour, repetitions included.
        sent_pauses: u64,
        /// Resume frames sent to the neighbour.
        sent_resumes: u64,
        /// How long the policy wanted the neighbour to be silent.
        demanded_ns: u64,
        /// Pause frames of the neighbour that took effect, repetitions included.
        received_pauses: u64,
        /// Resume frames of the neighbour that took effect.
        received_resumes: u64,
        /// How long this port was paused.
        paused_ns: u64,
        /// How long the neighbour's port towards this one was paused.
        // Of hosts this is the only record.
        neighbour_paused_ns: u64,
        /// The most headroom that packets of this priority, arrived through this port, held at a
        /// time.
        max_headroom_bytes: u64,
        /// Packets of this priority, arrived through this port, that the switch lost although they
        /// are lossless; what a watchdog discards is not counted.
        lost_lossless_packets: u64,
    }
}

record! {
    /// One pause of one priority of one link: who wanted it, who was paused, from when to when.
    pub PauseSpanRow => "pause_spans" {
        /// Node that wants silence.
        by: String,
        /// Node that is paused on its link to it.
        paused: String,
        /// Number among parallel links of the same two ends.
        parallel: u16,
        /// Priority.
        priority: u8,
        /// When the sender obeyed.
        start_ns: u64,
        /// When it was free again; empty if it was still paused when the run ended.
        end_ns: Option<u64>,
    }
}

record! {
    /// Paused links that wait for each other in a cycle (a PFC deadlock, if it never opens). The
    /// same links have one row for all their cycles.
    pub PauseCycleRow => "pause_cycles" {
        /// When the circle closed for the first time.
        time_ns: u64,
        /// Priority.
        priority: u8,
        /// Its switches in the direction of the traffic; each is paused by the next, the last by
        /// the first.
        members: Vec<String>,
        /// How often it closed.
        times: u64,
        /// When it closed for the last time.
        last_ns: u64,
        /// How long it was closed altogether.
        total_ns: u64,
        /// When it opened for the last time; empty if it was closed when the run ended.
        ended_ns: Option<u64>,
    }
}

record! {
    /// One storm of pauses that the PFC watchdog of a switch noticed: its rule, what it did, what
    /// was lost.
    pub WatchdogRow => "watchdog" {
        /// Switch.
        switch: u32 as SwitchName,
        /// Port of the stormed queue.
        port: u16,
        /// Its priority.
        priority: u8,
        /// Rule that noticed the storm: mellanox or broadcom.
        rule: &'static str,
        /// What was done: drop, forward or alert.
        action: &'static str,
        /// When the storm was noticed.
        detected_ns: u64,
        /// When the queue was restored; empty if it was not before the run ended.
        restored_ns: Option<u64>,
        /// Packets flushed out of the queue when the storm was noticed.
        flushed_packets: u64,
        /// Packets discarded on arrival, for the queue or from its port.
        discarded_packets: u64,
        /// Bytes of both.
        lost_bytes: u64,
        /// Packets that the queue sent during the storm.
        sent_packets: u64,
    }
}

word_cell!(PacketEvent);

record! {
    /// One event in a switch's buffer, of one packet; written where a run is asked for it
    /// (`--packets`, or `output.packets`), absent otherwise. Events of one instant at one switch
    /// are in the order in which they happened: an evicted packet stands before the one that it
    /// made room for.
    pub PacketRow => "packets" {
        /// Instant.
        time_ps: u64,
        /// Switch.
        switch: u32 as SwitchName,
        /// admitted, dropped (refused on arrival), evicted (removed later), marked (ECN), departed
        /// (its transmission begins), paused or resumed (the switch tells the sender behind the
        /// ingress queue).
        event: PacketEvent,
        /// Port through which the packet came; of a pause, the port that is told.
        ingress_port: u16,
        /// Port through which it leaves; empty for a pause that no packet brought about.
        port: Option<u16>,
        /// Its queue at that port; of a pause, the priority that is told.
        priority: u8,
        /// Class of its flow; ACKs count for their flow. Empty for a pause that no packet brought
        /// about.
        class: Option<u16> as Option<ClassName>,
        /// Its flow. Empty for a pause that no packet brought about.
        flow_id: Option<u64>,
        /// Number of the packet in its flow, from 0, the same for a repetition; of an ACK, the
        /// packet that is expected next.
        packet: Option<u32>,
        /// data, ack, syn or syn-ack.
        kind: Option<&'static str>,
        /// What it is charged in the buffer.
        size_bytes: u32,
        /// Length of its queue after the event.
        queue_bytes: u64,
        /// Content of the whole buffer after the event.
        occupancy_bytes: u64,
        /// What is charged to the ingress queue after the event: what came through that port with
        /// that priority and is still stored.
        ingress_bytes: u64,
        /// The policy's limit for this packet in its queue after the event, where it has one.
        threshold_bytes: Option<u64>,
        /// What the packet is charged to: shared, minimum, reserved or headroom. Of admitted
        /// packets, and of victims of an eviction.
        account: Option<&'static str>,
        /// Why it was dropped, evicted or marked.
        reason: Option<&'static str>,
        /// What had no room for a dropped packet: buffer, queue, port, ingress, headroom …
        bound: Option<&'static str>,
        /// What that may hold. The packet was dropped because held_bytes and what it would have
        /// added were more.
        limit_bytes: Option<u64>,
        /// What that held.
        held_bytes: Option<u64>,
        /// How long a departed or evicted packet had been stored.
        stored_ps: Option<u64>,
    }
}

impl PauseCycleRow {
    /// All its links were paused, and waited for each other, when the run ended.
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
}

impl Table {
    /// Whether a run writes it only where it was asked to.
    #[must_use]
    pub const fn is_optional(self) -> bool {
        matches!(self, Self::Packets)
    }
}

/// A record that is the row of a table of a run.
pub trait TableRow: Record {
    /// The table.
    const TABLE: Table;
}
