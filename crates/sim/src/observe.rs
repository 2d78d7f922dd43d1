//! Turns the state of a run into rows of results. The rows of flows and queries are written when
//! the flow or query ends, and samples at their sampling times. All other rows are written at the
//! end of the run.
//!
//! Observers never change the network. They read the network through a [`View`].

pub(crate) mod explain;
mod links;
mod packets;
mod switches;

use crate::SimError;
use crate::demand::queries::{Queries, Query};
use crate::host::{FlowAccount, Hosts};
use crate::ids::{HostId, LinkId, SwitchId, Table};
use crate::switch::{Logged, Sent, SwitchNode};
use crate::world::World;
use bufferlab_metrics::{DelayHistogram, FlowRow, FlowState, PacketRow, ProgressRow, QueryRow, RunSink};
use bufferlab_scenario::{OutputSpec, Topology};
use bufferlab_units::{BitRate, Time};
use bufferlab_workload::FlowSpec;
use explain::Explainer;

/// Read-only view of a network, for observers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct View<'a> {
    pub(crate) world: &'a World,
    pub(crate) hosts: &'a Hosts,
    pub(crate) switches: &'a Table<SwitchId, SwitchNode>,
    pub(crate) topology: &'a Topology,
}

/// Records of a run, without the records of queues, which are in the switches.
#[derive(Clone, Debug)]
pub(crate) struct Records {
    pub(crate) output: OutputSpec,
    /// Names of the flow classes.
    pub(crate) classes: Vec<String>,
    /// Simulated time at which flows stop arriving.
    duration: Time,
    /// For each host, the link from its switch to the host.
    pub(crate) downlinks: Table<HostId, LinkId>,
    /// Delay histograms by queue and class (`queue * classes + class`).
    /// Empty if the run does not measure delays.
    delays: Table<SwitchId, Vec<DelayHistogram>>,
    /// Ended flows whose rows are not written yet, each with the time of its end.
    ended: Vec<(Time, FlowAccount)>,
    flows_finished: u64,
    /// Explainer of losses and marks, if the run needs explanations.
    pub(crate) explainer: Option<Explainer>,
    /// Rows of packet events that are not written yet.
    pub(crate) packets: Vec<PacketRow>,
}

impl Records {
    pub(crate) fn new(
        output: OutputSpec,
        classes: Vec<String>,
        duration: Time,
        downlinks: Table<HostId, LinkId>,
        switches: &Table<SwitchId, SwitchNode>,
    ) -> Self {
        let cells =
            |node: &SwitchNode| vec![DelayHistogram::default(); node.record.queues.len() * classes.len()];
        let delays = if output.delays { switches.iter().map(cells).collect() } else { Table::default() };
        let (ended, flows_finished, explainer, packets) = (Vec::new(), 0, None, Vec::new());
        Self { output, classes, duration, downlinks, delays, ended, flows_finished, explainer, packets }
    }

    /// Number of flows that have ended.
    pub(crate) fn flows_finished(&self) -> u64 {
        self.flows_finished
    }

    /// Whether the run records the queueing delays of packets.
    #[inline]
    pub(crate) fn measures_delays(&self) -> bool {
        self.output.delays
    }

    /// Records how long a packet of `class` that leaves a switch now was in the buffer.
    pub(crate) fn note_delay(&mut self, node: &SwitchNode, sent: Sent, class: u16) {
        let at = usize::from(sent.queue.0) * self.classes.len() + usize::from(class);
        self.delays[node.id][at].add(node.record.last_sojourn.as_ns());
    }

    /// Adds a row for every packet event in the log of a switch.
    #[cold]
    pub(crate) fn note_packets(
        packets: &mut Vec<PacketRow>,
        view: View<'_>,
        switch: SwitchId,
        log: &[Logged],
    ) {
        packets.extend(log.iter().map(|logged| packets::row(view, switch, logged)));
    }

    /// Writes the rows of packets if at least `least` rows are waiting, so that memory does not
    /// grow with the run.
    pub(crate) fn flush_packets(&mut self, least: usize, sink: &mut dyn RunSink) -> Result<(), SimError> {
        if self.packets.len() >= least {
            for row in self.packets.drain(..) {
                sink.packet(&row)?;
            }
        }
        Ok(())
    }

    /// Records that a flow has ended at the time `at`.
    pub(crate) fn note_end(&mut self, at: Time, account: FlowAccount) {
        self.flows_finished += 1;
        self.ended.push((at, account));
    }

    /// Adopts the records of a switch that another shard of the network has run.
    pub(crate) fn adopt(&mut self, switch: SwitchId, other: &mut Self) {
        if self.measures_delays() {
            std::mem::swap(&mut self.delays[switch], &mut other.delays[switch]);
        }
    }

    /// Writes the rows of flows and queries that ended before `until` to the sink. Flows that end
    /// at one instant are written in the order of their numbers. Hosts in different shards do not
    /// know the order of their events.
    pub(crate) fn flush(
        &mut self,
        until: Time,
        world: &World,
        queries: &mut Queries,
        sink: &mut dyn RunSink,
    ) -> Result<(), SimError> {
        if self.ended.is_empty() {
            return Ok(());
        }
        let mut ended = std::mem::take(&mut self.ended);
        ended.sort_by_key(|(at, account)| (*at, account.number));
        let due = ended.partition_point(|(at, _)| *at < until);
        for (_, account) in ended.drain(..due) {
            queries.note_end(&account);
            sink.flow(&self.flow_row(world, &account))?;
        }
        self.ended = ended;
        for (number, query) in queries.take_finished() {
            sink.query(&self.query_row(world, number, &query, !query.lossy))?;
        }
        Ok(())
    }

    /// Writes the rows of flows and queries that are unfinished at the end of the run.
    pub(crate) fn write_unfinished(
        &self,
        view: View<'_>,
        queries: &Queries,
        sink: &mut dyn RunSink,
    ) -> Result<(), SimError> {
        for slot in view.hosts.flows().live_slots() {
            sink.flow(&self.flow_row(view.world, &view.hosts.account(slot)))?;
        }
        for (number, query) in queries.in_progress() {
            sink.query(&self.query_row(view.world, number, query, false))?;
        }
        Ok(())
    }

    /// Samples the delivered bytes of every live flow.
    fn sample_flows(&self, view: View<'_>, sink: &mut dyn RunSink) -> Result<(), SimError> {
        for slot in view.hosts.flows().live_slots() {
            let info = view.hosts.flows().info(slot);
            sink.progress(&ProgressRow {
                time_ns: view.world.now().as_ns(),
                flow_id: info.number,
                class: info.spec.class,
                delivered_bytes: view.hosts.delivered_bytes(slot),
            })?;
        }
        Ok(())
    }

    fn flow_row(&self, world: &World, account: &FlowAccount) -> FlowRow {
        let (spec, sending) = (&account.spec, account.sending);
        let (src, dst) = (HostId::new(spec.src), HostId::new(spec.dst));
        let rate = world.links()[src.uplink()].account.nominal_rate.min(self.receive_rate(world, dst));
        let base = self.output.base_rtt.unwrap_or_else(|| world.routes().base_rtt(src, dst));
        let (base_ns, payload_ns) = (base.0 as f64 / 1e3, account.ideal_bytes as f64 * 8e9 / rate.0 as f64);
        let ideal_ns = base_ns + sending.map_or(payload_ns, |sending| payload_ns.max(sending.0 as f64 / 1e3));
        let fct = account.completed.map(|at| at - spec.start);
        FlowRow {
            flow_id: account.number,
            class: spec.class,
            query_id: (spec.query != FlowSpec::NO_QUERY).then_some(spec.query),
            src_host: spec.src,
            dst_host: spec.dst,
            size_bytes: account.size_bytes,
            start_ns: spec.start.as_ns(),
            sending_ns: sending.map(Time::as_ns),
            state: match fct {
                Some(_) => FlowState::Finished,
                None if account.is_lossy => FlowState::Lossy,
                None => FlowState::Unfinished,
            },
            fct_ns: fct.map(Time::as_ns),
            ideal_ns,
            slowdown: fct.map(|fct| fct.0 as f64 / 1e3 / ideal_ns),
            sent_packets: u64::from(account.counters.sent),
            retransmitted_packets: u64::from(account.counters.retransmitted),
            timeouts: account.counters.timeouts,
            marked_packets: account.marked_packets,
            dropped_packets: u64::from(account.dropped_packets),
        }
    }

    fn query_row(&self, world: &World, number: u32, query: &Query, complete: bool) -> QueryRow {
        let client = HostId::new(query.client);
        let rate = self.receive_rate(world, client);
        // The query does not record its servers, so the longest base round trip of the client
        // counts for all servers.
        let base = self.output.base_rtt.unwrap_or_else(|| world.routes().longest_base_rtt(client));
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

    /// Rate of the link from the switch to a host, in the scenario.
    fn receive_rate(&self, world: &World, host: HostId) -> BitRate {
        world.links()[self.downlinks[host]].account.nominal_rate
    }
}
