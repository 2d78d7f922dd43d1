//! Creates the result tables of a run from the data of hosts and switch. A simulation has equal
//! tables.

use crate::outcome::{FlowOutcome, Outcome};
use crate::plan::Plan;
use bufferlab_dataplane::{Fate, Recorded};
use bufferlab_metrics::{
    DropRow, FlowRow, FlowState, HistogramRow, LinkRow, OccupancyHistogram, ProgressRow, QueryRow, QueueRow,
    RunSink, RunTotals, Scope, SeriesRow,
};
use bufferlab_units::Time;
use bufferlab_workload::FlowSpec;
use std::collections::BTreeMap;
use std::io;

/// Record of the switch, from which the tables of a run are computed.
#[derive(Debug)]
pub(crate) struct SwitchLog<'a> {
    /// Rows of the switch's record, in the order of the packets' arrivals.
    pub(crate) rows: &'a [Recorded],
    /// Time at which the clock of the record is zero (ns since 1970).
    pub(crate) epoch_ns: u64,
}

/// Counts of a flow's packets in the record of the switch.
#[derive(Clone, Copy, Debug, Default)]
struct Packets {
    sent: u64,
    marked: u64,
    dropped: u64,
    /// Number of gaps between packets of the flow that are as long as the smallest retransmission
    /// timeout, or longer.
    timeouts: u32,
    /// Time of the flow's last packet (ns since the start of the run).
    last_ns: Option<u64>,
}

/// Writes all result tables of a testbed run.
pub(crate) fn write(
    plan: &Plan,
    outcome: &Outcome,
    seen: &SwitchLog<'_>,
    sink: &mut dyn RunSink,
) -> io::Result<RunTotals> {
    let min_rto = plan.scenario().transports.iter().map(|transport| transport.min_rto).min();
    let packets = packets_of_flows(outcome, seen, min_rto.unwrap_or(Time::MAX));
    write_flows(plan, outcome, &packets, sink)?;
    write_queries(plan, outcome, &packets, sink)?;
    for sample in &outcome.progress {
        sink.progress(&ProgressRow {
            time_ns: sample.at.as_ns(),
            flow_id: sample.flow as u64,
            class: outcome.flows[sample.flow].spec.class,
            delivered_bytes: sample.bytes,
        })?;
    }
    let began = Time::from_ns(outcome.began_ns.saturating_sub(seen.epoch_ns));
    let end = write_switch(plan, seen.rows, began, outcome, sink)?;
    write_links(plan, seen.rows, began, sink)?;
    let scenario = plan.scenario();
    Ok(RunTotals {
        classes: outcome.classes.clone(),
        switches: scenario.topology.switches.clone(),
        hosts: scenario.topology.hosts.clone(),
        buffer_bytes: vec![scenario.switches[0].buffer_bytes],
        end_ns: end.as_ns(),
        packet_hops: 2 * seen.rows.len() as u64,
        events: 0,
        flows: outcome.flows.len() as u64,
        flows_finished: outcome.flows.iter().filter(|flow| flow.completed.is_some()).count() as u64,
        peak_packets: 0,
        peak_flows: 0,
        lost_acks: 0,
        nearest_pause: None,
    })
}

/// Counts the data packets of every flow. A flow has the packets of its connection from the flow's
/// start to the start of the connection's next flow.
fn packets_of_flows(outcome: &Outcome, seen: &SwitchLog<'_>, min_rto: Time) -> Vec<Packets> {
    // Frames without data have headers with options: 66 B to 94 B, plus 24 B around the frame.
    const MOST_WITHOUT_DATA: u32 = 118;
    let mut by_connection: BTreeMap<u32, Vec<(Time, usize)>> = BTreeMap::new();
    for (index, flow) in outcome.flows.iter().enumerate() {
        by_connection.entry(flow.hash).or_default().push((flow.started, index));
    }
    let mut packets = vec![Packets::default(); outcome.flows.len()];
    for row in seen.rows {
        let Some(flows) = by_connection.get(&row.incoming.header.flow) else { continue };
        let at_ns = (row.incoming.at.as_ns() + seen.epoch_ns).saturating_sub(outcome.began_ns);
        let place = flows.partition_point(|(started, _)| started.as_ns() <= at_ns);
        if place == 0 || row.incoming.header.size <= MOST_WITHOUT_DATA {
            continue;
        }
        let counted = &mut packets[flows[place - 1].1];
        counted.sent += 1;
        let silence = counted.last_ns.replace(at_ns).map_or(0, |last| at_ns.saturating_sub(last));
        counted.timeouts += u32::from(silence >= min_rto.as_ns());
        match row.fate {
            Fate::Sent { marked, .. } => counted.marked += u64::from(marked),
            Fate::Refused(_) | Fate::Evicted { .. } => counted.dropped += 1,
        }
    }
    packets
}

fn base_and_rate(plan: &Plan, spec: &FlowSpec) -> (Time, f64) {
    let rate = plan.hosts[spec.src as usize].rate.min(plan.hosts[spec.dst as usize].rate);
    (plan.base_rtt(), rate.0 as f64)
}

fn write_flows(
    plan: &Plan,
    outcome: &Outcome,
    packets: &[Packets],
    sink: &mut dyn RunSink,
) -> io::Result<()> {
    for (index, (flow, packets)) in outcome.flows.iter().zip(packets).enumerate() {
        let FlowOutcome { spec, started, completed, .. } = flow;
        let size = if spec.size == FlowSpec::UNLIMITED { 1 } else { spec.size };
        let (base, rate) = base_and_rate(plan, spec);
        let ideal_ns = base.as_ns() as f64 + size as f64 * 8e9 / rate;
        let fct_ns = completed.map(|at| at.saturating_sub(*started).as_ns());
        let segment = u64::from(plan.scenario().transports[0].segment_bytes);
        sink.flow(&FlowRow {
            flow_id: index as u64,
            class: spec.class,
            query_id: (spec.query != FlowSpec::NO_QUERY).then_some(spec.query),
            src_host: spec.src,
            dst_host: spec.dst,
            size_bytes: size,
            start_ns: started.as_ns(),
            sending_ns: None,
            state: if completed.is_some() { FlowState::Finished } else { FlowState::Unfinished },
            fct_ns,
            ideal_ns,
            slowdown: fct_ns.map(|fct| fct as f64 / ideal_ns),
            sent_packets: packets.sent,
            retransmitted_packets: packets.sent.saturating_sub(size.div_ceil(segment)),
            timeouts: packets.timeouts,
            marked_packets: packets.marked,
            dropped_packets: packets.dropped,
        })?;
    }
    Ok(())
}

fn write_queries(
    plan: &Plan,
    outcome: &Outcome,
    packets: &[Packets],
    sink: &mut dyn RunSink,
) -> io::Result<()> {
    let mut lost: BTreeMap<u32, (u64, u32)> = BTreeMap::new();
    for (flow, packets) in outcome.flows.iter().zip(packets) {
        let cell = lost.entry(flow.spec.query).or_default();
        *cell = (cell.0 + packets.dropped, cell.1 + packets.timeouts);
    }
    for query in &outcome.queries {
        let rate = plan.hosts[query.client as usize].rate.0 as f64;
        let ideal_ns = plan.base_rtt().as_ns() as f64 + query.bytes as f64 * 8e9 / rate;
        let qct_ns = query.completed.map(|at| at.saturating_sub(query.started).as_ns());
        sink.query(&QueryRow {
            query_id: query.number,
            class: query.class,
            client_host: query.client,
            fan_in: query.answers,
            request_bytes: query.bytes,
            start_ns: query.started.as_ns(),
            qct_ns,
            ideal_ns,
            slowdown: qct_ns.map(|qct| qct as f64 / ideal_ns),
            dropped_packets: lost.get(&query.number).map_or(0, |lost| lost.0),
            timeouts: lost.get(&query.number).map_or(0, |lost| lost.1),
        })?;
    }
    Ok(())
}

/// State of a queue while the function replays the changes of its length.
#[derive(Default)]
struct Queue {
    bytes: u64,
    histogram: OccupancyHistogram,
    row: [u64; 6],
}

/// A change of a queue's length: an arrival or a departure of a packet.
type Change = (Time, bool, u16, u8, u64);

fn changes(plan: &Plan, rows: &[Recorded]) -> Vec<Change> {
    let uncharged = u64::from(plan.scenario().switches[0].uncharged_bytes);
    let mut changes = Vec::with_capacity(rows.len() * 2);
    for row in rows {
        let (port, size) = (row.incoming.egress, u64::from(row.incoming.header.size) - uncharged);
        let left = match row.fate {
            Fate::Sent { at, .. } | Fate::Evicted { at, .. } => at,
            Fate::Refused(_) => continue,
        };
        changes.push((row.incoming.at, true, port, row.queue, size));
        changes.push((left, false, port, row.queue, size));
    }
    // At one time, departures come before arrivals, except that a packet that leaves immediately
    // arrives first.
    changes.sort_by_key(|change| change.0);
    changes
}

/// Writes histograms, counters, samples and losses of the switch; returns the time of the last
/// departure.
fn write_switch(
    plan: &Plan,
    rows: &[Recorded],
    began: Time,
    outcome: &Outcome,
    sink: &mut dyn RunSink,
) -> io::Result<Time> {
    let (ports, queues) = (plan.hosts.len(), usize::from(plan.scenario().switches[0].queues_per_port));
    let mut table: Vec<Queue> = (0..ports * queues).map(|_| Queue::default()).collect();
    let mut total = Queue::default();
    let mut by_port: Vec<Queue> = (0..ports).map(|_| Queue::default()).collect();
    let index = |port: u16, queue: u8| usize::from(port) * queues + usize::from(queue);
    let interval = plan.scenario().output.sample_interval;
    let (mut end, mut next_sample) = (Time::ZERO, interval);
    for (at, enters, port, queue, size) in changes(plan, rows) {
        let at = at.saturating_sub(began);
        while interval > Time::ZERO && next_sample <= at {
            write_samples(&table, &total, next_sample, queues, sink)?;
            next_sample += interval;
        }
        for one in [&mut total, &mut by_port[usize::from(port)], &mut table[index(port, queue)]] {
            one.bytes = if enters { one.bytes + size } else { one.bytes - size };
            one.histogram.set(at.0, one.bytes);
        }
        end = end.max(at);
    }
    count(plan, rows, &mut table, index);
    total.histogram.close(end.0);
    write_histogram(sink, &total.histogram, (Scope::Switch, None, None))?;
    for (port, one) in (0_u16..).zip(&mut by_port) {
        one.histogram.close(end.0);
        write_histogram(sink, &one.histogram, (Scope::Port, Some(port), None))?;
    }
    for (place, one) in table.iter_mut().enumerate() {
        let (port, priority) = ((place / queues) as u16, (place % queues) as u8);
        one.histogram.close(end.0);
        write_histogram(sink, &one.histogram, (Scope::Queue, Some(port), Some(priority)))?;
        let [arrived, enqueued, enqueued_bytes, dropped, evicted, marked] = one.row;
        sink.queue(&QueueRow {
            switch: 0,
            port,
            priority,
            arrived_packets: arrived,
            enqueued_packets: enqueued,
            enqueued_bytes,
            dropped_packets: dropped,
            evicted_packets: evicted,
            marked_packets: marked,
            max_bytes: one.histogram.max(),
            mean_bytes: one.histogram.mean(),
        })?;
    }
    write_drops(plan, rows, outcome, sink)?;
    Ok(end)
}

fn count(plan: &Plan, rows: &[Recorded], table: &mut [Queue], index: impl Fn(u16, u8) -> usize) {
    let uncharged = plan.scenario().switches[0].uncharged_bytes;
    for row in rows {
        let [arrived, enqueued, bytes, dropped, evicted, marked] =
            &mut table[index(row.incoming.egress, row.queue)].row;
        *arrived += 1;
        match row.fate {
            Fate::Refused(_) => {
                *dropped += 1;
                continue;
            }
            Fate::Evicted { .. } => *evicted += 1,
            Fate::Sent { marked: was_marked, .. } => *marked += u64::from(was_marked),
        }
        *enqueued += 1;
        *bytes += u64::from(row.incoming.header.size - uncharged);
    }
}

fn write_samples(
    table: &[Queue],
    total: &Queue,
    at: Time,
    queues: usize,
    sink: &mut dyn RunSink,
) -> io::Result<()> {
    let row = SeriesRow {
        time_ns: at.as_ns(),
        scope: Scope::Switch,
        switch: 0,
        port: None,
        priority: None,
        occupancy_bytes: total.bytes,
        threshold_bytes: None,
    };
    sink.series(&row)?;
    for (place, one) in table.iter().enumerate().filter(|(_, one)| one.bytes > 0) {
        let (port, priority) = (Some((place / queues) as u16), Some((place % queues) as u8));
        sink.series(&SeriesRow {
            scope: Scope::Queue,
            port,
            priority,
            occupancy_bytes: one.bytes,
            ..row.clone()
        })?;
    }
    Ok(())
}

fn write_histogram(
    sink: &mut dyn RunSink,
    histogram: &OccupancyHistogram,
    (scope, port, priority): (Scope, Option<u16>, Option<u8>),
) -> io::Result<()> {
    if histogram.max() == 0 && scope != Scope::Switch {
        return Ok(());
    }
    for bin in histogram.bins() {
        let (from_bytes, to_bytes, time_ns) = (bin.from, bin.to, Time(bin.time).as_ns());
        sink.histogram(&HistogramRow { scope, switch: 0, port, priority, from_bytes, to_bytes, time_ns })?;
    }
    Ok(())
}

/// Writes losses by queue, class and reason. Acknowledgements belong to no flow, so a lost
/// acknowledgement counts for the class of its connection.
fn write_drops(plan: &Plan, rows: &[Recorded], outcome: &Outcome, sink: &mut dyn RunSink) -> io::Result<()> {
    let class_of: BTreeMap<u32, u16> =
        outcome.flows.iter().map(|flow| (flow.hash, flow.spec.class)).collect();
    let uncharged = plan.scenario().switches[0].uncharged_bytes;
    let mut drops: BTreeMap<(u16, u8, u16, &'static str), (u64, u64)> = BTreeMap::new();
    for row in rows {
        let Some(reason) = row.fate.loss() else { continue };
        let class = class_of.get(&row.incoming.header.flow).copied().unwrap_or(0);
        let cell = drops.entry((row.incoming.egress, row.queue, class, reason.name())).or_default();
        cell.0 += 1;
        cell.1 += u64::from(row.incoming.header.size - uncharged);
    }
    for ((port, priority, class, reason), (packets, bytes)) in drops {
        sink.drops(&DropRow { switch: 0, port, priority, class, reason, packets, bytes })?;
    }
    Ok(())
}

fn write_links(plan: &Plan, rows: &[Recorded], began: Time, sink: &mut dyn RunSink) -> io::Result<()> {
    let scenario = plan.scenario();
    let switch = &scenario.topology.switches[0];
    let rates = scenario.topology.switch_port_rates(0);
    let phase = began + scenario.duration;
    for host in &plan.hosts {
        let mut up = (0_u64, 0_u64, 0_u64, 0_u64);
        let (mut down, mut offered) = (up, 0);
        for row in rows {
            let (wire, is_early) = (u64::from(row.incoming.header.size), row.incoming.at <= phase);
            let early = if is_early { wire } else { 0 };
            if row.incoming.ingress == host.port {
                up = (up.0 + 1, up.1 + wire, up.2, up.3 + early);
            }
            if row.incoming.egress == host.port {
                offered += early;
                if let Fate::Sent { at, marked } = row.fate {
                    let early = if at <= phase { wire } else { 0 };
                    down = (down.0 + 1, down.1 + wire, down.2 + u64::from(marked), down.3 + early);
                }
            }
        }
        let link =
            |from: &str, to: &str, role, rate: u64, counts: (u64, u64, u64, u64), offered_bytes| LinkRow {
                from: from.to_owned(),
                to: to.to_owned(),
                role,
                rate_bps: rate,
                tx_packets: counts.0,
                tx_bytes: counts.1,
                marked_packets: counts.2,
                utilisation: counts.3 as f64 * 8.0 / (rate as f64 * scenario.duration.as_secs_f64()),
                offered_bytes,
                ..LinkRow::default()
            };
        sink.link(&link(&host.name, switch, "host-up", host.rate.0, up, None))?;
        let rate = rates[usize::from(host.port)].0;
        sink.link(&link(switch, &host.name, "host-down", rate, down, Some(offered)))?;
    }
    Ok(())
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use crate::outcome::{ProgressSample, QueryOutcome};
    use bufferlab_core::{DropReason, Header, Refusal};
    use bufferlab_dataplane::Incoming;

    #[derive(Default)]
    struct Rows {
        flows: Vec<FlowRow>,
        queries: Vec<QueryRow>,
        queues: Vec<QueueRow>,
        drops: Vec<DropRow>,
        links: Vec<LinkRow>,
        bins: Vec<HistogramRow>,
        progress: Vec<ProgressRow>,
    }

    impl RunSink for Rows {
        fn flow(&mut self, row: &FlowRow) -> io::Result<()> {
            self.flows.push(row.clone());
            Ok(())
        }
        fn query(&mut self, row: &QueryRow) -> io::Result<()> {
            self.queries.push(row.clone());
            Ok(())
        }
        fn queue(&mut self, row: &QueueRow) -> io::Result<()> {
            self.queues.push(row.clone());
            Ok(())
        }
        fn drops(&mut self, row: &DropRow) -> io::Result<()> {
            self.drops.push(row.clone());
            Ok(())
        }
        fn link(&mut self, row: &LinkRow) -> io::Result<()> {
            self.links.push(row.clone());
            Ok(())
        }
        fn progress(&mut self, row: &ProgressRow) -> io::Result<()> {
            self.progress.push(row.clone());
            Ok(())
        }
        fn histogram(&mut self, row: &HistogramRow) -> io::Result<()> {
            self.bins.push(row.clone());
            Ok(())
        }
    }

    const MS: u64 = 1_000_000;

    /// Returns the record of a packet of connection 7 from host 1 to host 0.
    fn packet(at_ms: u64, wire: u32, fate: Fate) -> Recorded {
        let at = Time::from_ms(at_ms);
        let header = Header { flow: 7, ..Header::new(wire) };
        let incoming = Incoming { at, header, ingress: 1, egress: 0 };
        Recorded { incoming, queue: 1, fate }
    }

    fn plan() -> Plan {
        let reno = ["small", "large"]
            .map(|name| (format!("transport.{name}.congestion_control"), "newreno".to_owned()));
        let loaded = bufferlab_scenario::load_text("demo.toml".as_ref(), crate::DEMO, &reno);
        Plan::new(loaded.expect("it is right")).expect("it can run")
    }

    /// The test sends two messages of 2,000 B over one connection. Time zero of the switch is 10 ms
    /// before the start of the run.
    #[test]
    fn tables_hold_what_hosts_and_switch_saw() {
        let message = |started: u64, completed: u64| FlowOutcome {
            spec: FlowSpec {
                start: Time::ZERO,
                src: 1,
                dst: 0,
                size: 2_000,
                class: 0,
                query: 5,
                open: None,
                data_path: None,
                ack_path: None,
                node: FlowSpec::NO_NODE,
            },
            started: Time::from_ms(started),
            completed: Some(Time::from_ms(completed)),
            hash: 7,
        };
        let outcome = Outcome {
            flows: vec![message(100, 110), message(200, 520)],
            queries: vec![QueryOutcome {
                number: 5,
                class: 0,
                client: 0,
                started: Time::from_ms(95),
                answers: 2,
                bytes: 4_000,
                completed: Some(Time::from_ms(520)),
            }],
            progress: vec![ProgressSample { at: Time::from_ms(105), flow: 0, bytes: 1_448 }],
            measured: Vec::new(),
            classes: vec!["incast".to_owned(), "long".to_owned()],
            began_ns: 1_000_010 * MS,
        };
        let sent = |at_ms, marked| Fate::Sent { at: Time::from_ms(at_ms), marked };
        let evicted = Fate::Evicted { at: Time::from_ms(216), reason: DropReason::PushedOut };
        let rows = [
            packet(111, 1_538, sent(111, false)),
            packet(112, 642, sent(113, true)),
            packet(211, 1_538, Fate::Refused(Refusal::dropped(DropReason::OverThreshold))),
            packet(212, 642, evicted),
            // This packet is an acknowledgement, which carries no data.
            packet(213, 90, sent(214, false)),
            // The next packet of the connection is more than min_rto (200 ms) later.
            packet(500, 1_538, sent(501, false)),
            packet(501, 642, sent(502, false)),
        ];
        let mut sink = Rows::default();
        let seen = SwitchLog { rows: &rows, epoch_ns: 1_000_000 * MS };
        let totals = write(&plan(), &outcome, &seen, &mut sink).expect("the sink takes all");
        let flows: Vec<_> = sink
            .flows
            .iter()
            .map(|row| {
                (
                    row.fct_ns,
                    row.sent_packets,
                    row.retransmitted_packets,
                    row.dropped_packets,
                    row.marked_packets,
                    row.timeouts,
                )
            })
            .collect();
        assert_eq!(flows, [(Some(10 * MS), 2, 0, 0, 1, 0), (Some(320 * MS), 4, 2, 2, 0, 1)]);
        let sample = &sink.progress[0];
        assert_eq!((sample.time_ns, sample.flow_id, sample.delivered_bytes), (105 * MS, 0, 1_448));
        let query = &sink.queries[0];
        assert_eq!((query.qct_ns, query.dropped_packets, query.timeouts), (Some(425 * MS), 2, 1));
        // The query's ideal time is 5 ms without queues, plus 4,000 B at 100 Mb/s.
        assert_eq!(query.ideal_ns, 5e6 + 320e3);
        let queue = sink.queues.iter().find(|row| (row.port, row.priority) == (0, 1)).expect("there is one");
        let counted = [
            queue.arrived_packets,
            queue.enqueued_packets,
            queue.enqueued_bytes,
            queue.dropped_packets,
            queue.evicted_packets,
            queue.marked_packets,
            queue.max_bytes,
        ];
        assert_eq!(counted, [7, 6, 1_538 + 642 + 642 + 90 + 1_538 + 642, 1, 1, 1, 1_538]);
        let drops: Vec<_> =
            sink.drops.iter().map(|row| (row.reason, row.class, row.packets, row.bytes)).collect();
        assert_eq!(drops, [("over-threshold", 0, 1, 1_538), ("pushed-out", 0, 1, 642)]);
        // The queues store 642 B for a millisecond at each of 112, 212 and 501 ms. They store 732 B
        // with the acknowledgement, and 642 B until the eviction.
        let held: u64 = sink
            .bins
            .iter()
            .filter(|row| row.scope == Scope::Queue && row.from_bytes > 0)
            .map(|row| row.time_ns)
            .sum();
        assert_eq!(held, (1 + 4 + 1 + 1) * MS);
        let down = sink.links.iter().find(|row| row.to == "h0").expect("there is one");
        assert_eq!((down.role, down.tx_packets, down.marked_packets), ("host-down", 5, 1));
        assert_eq!((totals.flows, totals.flows_finished, totals.end_ns), (2, 2, 492 * MS));
    }
}
