//! Views of a run between two steps: switches, queues, links and flows.

use super::Simulation;
use crate::host::flow::FlowSender;
use crate::ids::{Id, SwitchId};
use crate::switch::{QueuePlace, SwitchNode};
use bufferlab_core::{Counters, Tags};
use bufferlab_scenario::Node;
use bufferlab_units::Time;

/// State of one switch of a run between two steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SwitchView<'a> {
    /// Name of the switch.
    pub name: &'a str,
    /// Registry name of the switch's buffer policy.
    pub policy: &'a str,
    /// Size of the switch's memory (bytes).
    pub capacity: u64,
    /// Bytes stored in the switch's memory.
    pub occupancy: u64,
    /// Number of ports of the switch.
    pub ports: u16,
    /// Number of queues of each port of the switch.
    pub queues_per_port: u16,
}

/// State of one egress queue of a switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueueView {
    /// Egress port of the queue.
    pub port: u16,
    /// Number of the queue within its port.
    pub priority: u8,
    /// Length of the queue (bytes).
    pub occupancy: u64,
    /// Limit of the policy for an untagged packet in this queue (bytes), if the policy has a limit.
    pub threshold: Option<u64>,
    /// Counters of packets and bytes of the queue since the start of the run.
    pub counters: Counters,
}

/// State of one live flow of a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FlowView {
    /// Number of the flow, as in the table of flows.
    pub number: u64,
    /// Index of the flow's class.
    pub class: u16,
    /// Number of the sending host.
    pub src: u32,
    /// Number of the receiving host.
    pub dst: u32,
    /// Payload of the flow (bytes); [`bufferlab_workload::FlowSpec::UNLIMITED`] for a flow without
    /// a size.
    pub size: u64,
    /// Start time of the flow.
    pub start: Time,
    /// Payload of the flow that has arrived (bytes).
    pub delivered: u64,
    /// Congestion window (segments). `None` for a flow without a window.
    pub window: Option<f64>,
    /// Number of segments that are sent and not acknowledged. `None` for a flow without a window.
    pub in_flight: Option<u32>,
    /// Threshold below which the window grows exponentially (segments). `None` for a flow without a
    /// window.
    pub slow_start_threshold: Option<f64>,
    /// Number of segments that the sender knows to have arrived, without gaps. `None` for a flow
    /// without acknowledgements.
    pub acknowledged: Option<u32>,
    /// Smoothed round-trip time. `None` before the first sample, and for a flow that estimates
    /// none.
    pub rtt: Option<Time>,
    /// Rate of the flow's pace (bits per second on the wire). `None` for a flow without a pace.
    pub rate: Option<f64>,
    /// Number of segments that the flow has sent, with retransmissions.
    pub sent: u32,
    /// Number of retransmitted segments of the flow.
    pub retransmitted: u32,
    /// Number of retransmission timeouts of the flow.
    pub timeouts: u32,
}

impl Simulation {
    /// Number of switches in the network.
    #[must_use]
    pub fn switch_count(&self) -> usize {
        self.plan.topology.switches.len()
    }

    /// State of the switch with the number `switch`. `None` if the network has no such switch.
    #[must_use]
    pub fn switch(&self, switch: usize) -> Option<SwitchView<'_>> {
        let node = self.node(switch)?;
        Some(SwitchView {
            name: &self.plan.topology.switches[switch],
            policy: &node.first.policy.0,
            capacity: node.capacity(),
            occupancy: node.occupancy(),
            ports: node.ports(),
            queues_per_port: node.first.core.buffer().queues_per_port(),
        })
    }

    /// Queues of a switch, in the order of ports and priorities. Empty if the network has no switch
    /// of this number.
    pub fn queues(&self, switch: usize) -> impl Iterator<Item = QueueView> + '_ {
        let queues = self.node(switch).into_iter().flat_map(SwitchNode::queues);
        queues.map(|QueuePlace { slice, local, port, priority, .. }| QueueView {
            port,
            priority,
            occupancy: slice.core.buffer().queue_bytes(local),
            threshold: slice.core.threshold(local, Tags::NONE),
            counters: slice.core.counters(local),
        })
    }

    /// Bytes that every port of a switch has begun to send since the start of the run. Empty if the
    /// network has no switch of this number.
    pub fn sent_bytes(&self, switch: usize) -> impl Iterator<Item = u64> + '_ {
        let now = self.now();
        self.node(switch).into_iter().flat_map(move |node| {
            (0..node.ports()).map(move |port| {
                let link = &self.world.links()[node.first_link.at_port(port)];
                link.tx_bytes - link.pending(now).bytes
            })
        })
    }

    /// Rates of the ports of a switch (bits per second). Empty if the network has no switch of this
    /// number.
    pub fn port_rates(&self, switch: usize) -> impl Iterator<Item = u64> + '_ {
        self.node(switch).into_iter().flat_map(|node| {
            let rate = |port| self.world.links()[node.first_link.at_port(port)].account.rate.0;
            (0..node.ports()).map(rate)
        })
    }

    /// Names of the nodes at both ends of every cable, in the order of the cables' numbers.
    pub fn cables(&self) -> impl Iterator<Item = (&str, &str)> {
        let topology = &self.plan.topology;
        let name = |node| match node {
            Node::Host(host) => topology.hosts[host as usize].as_str(),
            Node::Switch(switch) => topology.switches[switch as usize].as_str(),
        };
        topology.links.iter().map(move |cable| (name(cable.a), name(cable.b)))
    }

    /// Names of the hosts, in the order of their numbers.
    #[must_use]
    pub fn hosts(&self) -> &[String] {
        &self.plan.topology.hosts
    }

    /// Live flows, in the order of their slots in the flow tables.
    pub fn flows(&self) -> impl Iterator<Item = FlowView> + '_ {
        let flows = self.hosts.flows();
        flows.live_slots().map(move |slot| {
            let (info, sender) = (flows.info(slot), &flows.senders[slot].sender);
            let (window, in_flight, acknowledged, rtt) = match sender {
                FlowSender::Tcp(sender) => {
                    let rtt = sender.smoothed_rtt();
                    (Some(sender.window()), Some(sender.in_flight()), Some(sender.acknowledged()), rtt)
                }
                FlowSender::Rdma(sender) => {
                    (Some(sender.window()), Some(sender.in_flight()), Some(sender.acknowledged()), None)
                }
                FlowSender::Paced(_) => (None, None, None, None),
            };
            let gap = match sender {
                FlowSender::Paced(sender) => sender.gap(),
                FlowSender::Tcp(_) | FlowSender::Rdma(_) => window.map_or(Time::ZERO, |at| at.pacing_gap),
            };
            let wire = self.hosts.segment_wire_bytes(slot);
            let rate = (gap > Time::ZERO).then(|| f64::from(wire) * 8e12 / gap.0 as f64);
            let counters = sender.counters();
            FlowView {
                number: info.number,
                class: info.spec.class,
                src: info.spec.src,
                dst: info.spec.dst,
                size: info.spec.size,
                start: info.spec.start,
                delivered: self.hosts.delivered_bytes(slot),
                window: window.map(|at| at.size),
                in_flight,
                slow_start_threshold: window.map(|at| at.slow_start_threshold),
                acknowledged,
                rtt,
                rate,
                sent: counters.sent,
                retransmitted: counters.retransmitted,
                timeouts: counters.timeouts,
            }
        })
    }

    fn node(&self, switch: usize) -> Option<&SwitchNode> {
        (switch < self.switch_count()).then(|| &self.switches[SwitchId::from_index(switch)])
    }
}
