//! From state to rows: flows and queries as they end, samples as they are due, everything else at the end.

use crate::SimError;
use crate::flow::FlowReceiver;
use crate::ids::{FlowSlot, HostId, Id, LinkId, SwitchId};
use crate::link::{End, Link};
use crate::nic::Nic;
use crate::simulation::{Control, Query, Simulation};
use crate::switch_node::QueuePlace;
use crate::timers::Timer;
use bufferlab_core::{DropReason, Policy, QueueId, Tags};
use bufferlab_metrics::{
    DelayRow, DropRow, FlowRow, FlowState, HistogramRow, LinkRow, OccupancyHistogram, ProbeRow, ProgressRow,
    QueryRow, QueueRow, RunSink, RunTotals, Scope, SeriesRow,
};
use bufferlab_units::{BitRate, Time};
use bufferlab_workload::FlowSpec;

impl Simulation {
    /// Ends a flow and gives its slot back.
    pub(crate) fn retire(&mut self, slot: FlowSlot) {
        let row = self.flow_row(slot);
        let transport = self.flows.senders[slot].transport;
        if self.transports[transport].persistent.is_some() {
            self.leave_connection(slot);
        }
        let info = self.flows.remove(slot);
        self.flows_finished += 1;
        if info.spec.query != FlowSpec::NO_QUERY {
            self.count_query_flow(&info.spec, &row, self.flows.receivers[slot].completed());
        }
        self.finished_flows.push(row);
    }

    fn flow_row(&self, slot: FlowSlot) -> FlowRow {
        let info = self.flows.info(slot);
        let receiver = &self.flows.receivers[slot];
        let counters = self.flows.senders[slot].sender.counters();
        let spec = &info.spec;
        let sender = &self.flows.senders[slot];
        let (src, dst) = (HostId::new(spec.src), HostId::new(spec.dst));
        let rate = self.links[src.uplink()].rate.min(self.receive_rate(dst));
        let transport = &self.transports[sender.transport];
        let sending = match transport.control {
            Control::Window(_) | Control::QueuePair(_) => None,
            Control::Pace { gap, .. } => Some(Time(gap.0 * u64::from(sender.total))),
        };
        let size = match (spec.size, &receiver.receiver) {
            // It is still sending: what has arrived counts.
            (FlowSpec::UNLIMITED, FlowReceiver::Tcp(receiver)) => {
                u64::from(receiver.delivered().max(1)) * u64::from(transport.segment)
            }
            (size, _) => size,
        };
        let segments = size.div_ceil(u64::from(transport.segment));
        let ideal_bytes = size + segments * u64::from(transport.ideal_header);
        let (base_ns, payload_ns) = self.ideal_parts_ns(src, dst, ideal_bytes, rate);
        let ideal_ns = base_ns + sending.map_or(payload_ns, |sending| payload_ns.max(sending.0 as f64 / 1e3));
        let fct = receiver.completed().map(|at| at - spec.start);
        let state = match fct {
            Some(_) => FlowState::Finished,
            None if sending.is_some() && sender.sender.is_done() && sender.in_network == 0 => {
                FlowState::Lossy
            }
            None => FlowState::Unfinished,
        };
        FlowRow {
            flow_id: info.number,
            class: spec.class,
            query_id: (spec.query != FlowSpec::NO_QUERY).then_some(spec.query),
            src_host: spec.src,
            dst_host: spec.dst,
            size_bytes: size,
            start_ns: spec.start.as_ns(),
            sending_ns: sending.map(Time::as_ns),
            state,
            fct_ns: fct.map(Time::as_ns),
            ideal_ns,
            slowdown: fct.map(|fct| fct.0 as f64 / 1e3 / ideal_ns),
            sent_packets: u64::from(counters.sent),
            retransmitted_packets: u64::from(counters.retransmitted),
            timeouts: counters.timeouts,
            marked_packets: receiver.marked_packets,
            dropped_packets: u64::from(info.dropped_packets),
        }
    }

    /// The rate at which a host can receive.
    fn receive_rate(&self, host: HostId) -> BitRate {
        self.links[self.downlinks[host]].rate
    }

    /// Base round-trip time, and the payload at the slower access link: the parts of the slowdown's denominator (ns).
    fn ideal_parts_ns(&self, src: HostId, dst: HostId, bytes: u64, rate: BitRate) -> (f64, f64) {
        let base = self.output.base_rtt.unwrap_or_else(|| self.routes.base_rtt(src, dst));
        (base.0 as f64 / 1e3, bytes as f64 * 8e9 / rate.0 as f64)
    }

    fn count_query_flow(&mut self, spec: &FlowSpec, row: &FlowRow, completed: Option<Time>) {
        let Some(query) = self.queries.get_mut(&spec.query) else { return };
        query.finished += 1;
        query.last = query.last.max(completed.unwrap_or(Time::ZERO));
        query.dropped += row.dropped_packets;
        query.timeouts += row.timeouts;
        query.lossy |= completed.is_none();
        if query.finished == query.expected.unwrap_or(query.started) {
            let query = self.queries.remove(&spec.query).expect("it was just found");
            self.finished_queries.push((spec.query, query));
        }
    }

    fn query_row(&self, number: u32, query: &Query, complete: bool) -> QueryRow {
        let client = HostId::new(query.client);
        let rate = self.receive_rate(client);
        // Which servers answer is not kept: the client's longest base round trip stands for theirs.
        let base = self.output.base_rtt.unwrap_or_else(|| self.routes.longest_base_rtt(client));
        let ideal_ns = base.0 as f64 / 1e3 + query.bytes as f64 * 8e9 / rate.0 as f64;
        let qct = complete.then(|| query.last - query.start);
        QueryRow {
            query_id: number,
            class: query.class,
            client_host: query.client,
            fan_in: query.expected.unwrap_or(query.started),
            request_bytes: query.bytes,
            start_ns: query.start.as_ns(),
            qct_ns: qct.map(Time::as_ns),
            ideal_ns,
            slowdown: qct.map(|qct| qct.0 as f64 / 1e3 / ideal_ns),
            dropped_packets: query.dropped,
            timeouts: query.timeouts,
        }
    }

    /// Hands finished rows to the sink.
    pub(crate) fn flush_rows(&mut self, sink: &mut dyn RunSink) -> Result<(), SimError> {
        for row in self.finished_flows.drain(..) {
            sink.flow(&row)?;
        }
        for (number, query) in std::mem::take(&mut self.finished_queries) {
            sink.query(&self.query_row(number, &query, !query.lossy))?;
        }
        if self.has_pause_rows() {
            self.flush_pauses(sink)?;
        }
        Ok(())
    }

    /// Samples the chosen switch: its total, and for its queues length, threshold and the policy's probes.
    pub(crate) fn sample(&mut self, sink: &mut dyn RunSink) -> Result<(), SimError> {
        let switch = self.output.sample_switch;
        let node = &self.switches[SwitchId(switch)];
        let time_ns = self.now.as_ns();
        sink.series(&SeriesRow {
            time_ns,
            scope: Scope::Switch,
            switch,
            port: None,
            priority: None,
            occupancy_bytes: node.occupancy(),
            threshold_bytes: None,
        })?;
        for QueuePlace { slice, local, port, priority, .. } in node.queues() {
            let (core, buffer) = (&slice.core, slice.core.buffer());
            let occupancy_bytes = buffer.queue_bytes(local);
            // Ports that somebody asked for are shown empty too; of all the others only what they hold.
            let wanted = match &self.output.sample_ports {
                Some(ports) => ports.contains(&port),
                None => occupancy_bytes > 0,
            };
            if !wanted {
                continue;
            }
            sink.series(&SeriesRow {
                time_ns,
                scope: Scope::Queue,
                switch,
                port: Some(port),
                priority: Some(priority),
                occupancy_bytes,
                threshold_bytes: core.threshold(local, Tags::NONE),
            })?;
            let mut probed = Ok(());
            core.policy().probe(local, buffer, &mut |name, value| {
                let row = ProbeRow { time_ns, switch, port, priority, name, value };
                if probed.is_ok() {
                    probed = sink.probe(&row);
                }
            });
            probed?;
        }
        if self.output.sample_flows {
            self.sample_flows(sink)?;
        }
        let next = self.now + self.output.sample_interval;
        if self.output.sample_until.is_none_or(|until| next < until) {
            self.timers.push(next, Timer::Sample);
        }
        Ok(())
    }

    /// Samples every live flow: what has been delivered of it.
    fn sample_flows(&self, sink: &mut dyn RunSink) -> Result<(), SimError> {
        for slot in self.flows.live_slots() {
            let info = self.flows.info(slot);
            let sender = &self.flows.senders[slot];
            let segments = match &self.flows.receivers[slot].receiver {
                FlowReceiver::Tcp(receiver) => receiver.delivered(),
                FlowReceiver::Rdma(receiver) => receiver.delivered(),
                FlowReceiver::Counting { missing } => sender.total - missing,
            };
            let segment = u64::from(self.transports[sender.transport].segment);
            sink.progress(&ProgressRow {
                time_ns: self.now.as_ns(),
                flow_id: info.number,
                class: info.spec.class,
                delivered_bytes: (u64::from(segments) * segment).min(info.spec.size),
            })?;
        }
        Ok(())
    }

    /// Flows no longer start: notes what every link has carried, and what asked for it.
    pub(crate) fn close_arrival_phase(&mut self) {
        for link in self.links.iter_mut() {
            link.phase_bytes = link.tx_bytes;
        }
        for node in self.switches.iter() {
            for QueuePlace { slice, local, port, .. } in node.queues() {
                let counters = slice.core.counters(local);
                let charged = counters.enqueued_bytes + counters.dropped_bytes;
                let link = &mut self.links[node.first_link.at_port(port)];
                *link.phase_offered.get_or_insert(0) +=
                    charged + counters.arrived * u64::from(node.uncharged);
            }
        }
    }

    /// Closes all measures at the end of the run.
    pub(crate) fn finish(mut self, sink: &mut dyn RunSink) -> Result<RunTotals, SimError> {
        // What is unfinished was watched until the end, even if nothing has happened for long.
        if !self.is_over() {
            self.now = self.end;
        }
        let end = self.now;
        self.flush_rows(sink)?;
        for switch in self.switches.ids() {
            self.check_policy(switch)?;
            self.verify_switch(switch)?;
        }
        self.verify_packets()?;
        let unfinished: Vec<FlowSlot> = self.flows.live_slots().collect();
        for slot in unfinished {
            sink.flow(&self.flow_row(slot))?;
        }
        for (number, query) in &self.queries {
            sink.query(&self.query_row(*number, query, false))?;
        }
        for switch in self.switches.ids() {
            self.finish_switch(switch, sink)?;
        }
        self.finish_pauses(sink)?;
        for link in self.links.ids() {
            sink.link(&self.link_row(link))?;
        }
        if let Some(explainer) = &self.explainer {
            for explanation in &explainer.found {
                sink.explanation(explanation)?;
            }
        }
        Ok(RunTotals {
            classes: self.classes,
            buffer_bytes: self.switches.iter().map(|node| node.capacity()).collect(),
            switches: self.topology.switches,
            hosts: self.topology.hosts,
            end_ns: end.as_ns(),
            packet_hops: self.packet_hops,
            events: self.events,
            flows: self.flows.started(),
            flows_finished: self.flows_finished,
            peak_packets: self.packets.peak() as u64,
            peak_flows: self.flows.peak() as u64,
        })
    }

    /// Every packet that is alive is in a queue, on a link or at a network card.
    fn verify_packets(&self) -> Result<(), SimError> {
        let stored: usize = self
            .switches
            .iter()
            .flat_map(|node| node.queues())
            .map(|place| place.slice.core.buffer().queue_packets(place.local))
            .sum();
        let flying: usize = self.links.iter().map(|link| link.pipe.len()).sum();
        let waiting: usize = self.nics.iter().map(Nic::waiting_packets).sum();
        let (alive, found) = (self.packets.len(), stored + flying + waiting);
        if alive == found { Ok(()) } else { Err(SimError::LostTrack { alive, found }) }
    }

    fn finish_switch(&mut self, switch: SwitchId, sink: &mut dyn RunSink) -> Result<(), SimError> {
        let end = self.now.0;
        let node = &mut self.switches[switch];
        node.record.total.close(end);
        node.record.ports.iter_mut().for_each(|histogram| histogram.close(end));
        node.record.queues.iter_mut().for_each(|histogram| histogram.close(end));
        let (node, record) = (&*node, &node.record);
        write_histogram(sink, &record.total, (Scope::Switch, switch, None, None))?;
        for (port, histogram) in record.ports.iter().enumerate() {
            write_histogram(sink, histogram, (Scope::Port, switch, Some(port as u16), None))?;
        }
        for QueuePlace { slice, local, queue, port, priority } in node.queues() {
            let histogram = &record.queues[usize::from(queue.0)];
            write_histogram(sink, histogram, (Scope::Queue, switch, Some(port), Some(priority)))?;
            let counters = slice.core.counters(local);
            sink.queue(&QueueRow {
                switch: switch.0,
                port,
                priority,
                arrived_packets: counters.arrived,
                enqueued_packets: counters.enqueued,
                enqueued_bytes: counters.enqueued_bytes,
                dropped_packets: counters.dropped,
                evicted_packets: counters.evicted,
                marked_packets: counters.marked,
                max_bytes: histogram.max(),
                mean_bytes: histogram.mean(),
            })?;
        }
        let classes = self.classes.len().max(1);
        for (at, histogram) in record.delays.iter().enumerate() {
            let queue = QueueId((at / classes) as u16);
            let (port, priority) = node.port_and_priority(queue);
            for bin in histogram.bins() {
                sink.delay(&DelayRow {
                    switch: switch.0,
                    port,
                    priority,
                    class: (at % classes) as u16,
                    from_ns: bin.from_ns,
                    to_ns: bin.to_ns,
                    packets: bin.packets,
                    total_ns: bin.total_ns,
                })?;
            }
        }
        for (&(queue, class, reason), &(packets, bytes)) in &record.drops {
            let (port, priority) = node.port_and_priority(queue);
            let reason = DropReason::ALL[usize::from(reason)].name();
            sink.drops(&DropRow { switch: switch.0, port, priority, class, reason, packets, bytes })?;
        }
        Ok(())
    }

    fn link_row(&self, id: LinkId) -> LinkRow {
        let link = &self.links[id];
        let name = |end: End| match end {
            End::Host(host) => self.topology.hosts[host.index()].clone(),
            End::Switch(switch, _) => self.topology.switches[switch.index()].clone(),
        };
        let same_ends = |other: &&Link| same_node(other.from, link.from) && same_node(other.to, link.to);
        let capacity_bits = link.rate.0 as f64 * self.duration.as_secs_f64();
        LinkRow {
            from: name(link.from),
            to: name(link.to),
            parallel: self.links.as_slice()[..id.index()].iter().filter(same_ends).count() as u16,
            role: self.role(link),
            rate_bps: link.rate.0,
            tx_packets: link.tx_packets,
            tx_bytes: link.tx_bytes,
            marked_packets: link.marked_packets,
            utilisation: link.phase_bytes as f64 * 8.0 / capacity_bits,
            offered_bytes: link.phase_offered,
            lost_packets: link.lost_packets,
        }
    }

    fn role(&self, link: &Link) -> &'static str {
        let tier = |switch: SwitchId| self.topology.tiers[switch.index()];
        match (link.from, link.to) {
            (End::Host(_), _) => "host-up",
            (_, End::Host(_)) => "host-down",
            (End::Switch(a, _), End::Switch(b, _)) if tier(a) < tier(b) => "up",
            (End::Switch(a, _), End::Switch(b, _)) if tier(a) > tier(b) => "down",
            _ => "peer",
        }
    }
}

fn same_node(one: End, other: End) -> bool {
    match (one, other) {
        (End::Host(a), End::Host(b)) => a == b,
        (End::Switch(a, _), End::Switch(b, _)) => a == b,
        _ => false,
    }
}

fn write_histogram(
    sink: &mut dyn RunSink,
    histogram: &OccupancyHistogram,
    (scope, switch, port, priority): (Scope, SwitchId, Option<u16>, Option<u8>),
) -> std::io::Result<()> {
    // An empty queue's only bin says nothing that its absence does not say.
    if histogram.max() == 0 && scope != Scope::Switch {
        return Ok(());
    }
    for bin in histogram.bins() {
        let (from_bytes, to_bytes, time_ns) = (bin.from, bin.to, Time(bin.time).as_ns());
        sink.histogram(&HistogramRow {
            scope,
            switch: switch.0,
            port,
            priority,
            from_bytes,
            to_bytes,
            time_ns,
        })?;
    }
    Ok(())
}
