//! The network as a graph: what drivers ask of it, and the generators that build it.

mod dumbbell;
mod fat_tree;
mod graph;
mod leaf_spine;
mod single_switch;

pub use dumbbell::Dumbbell;
pub use fat_tree::FatTree;
pub use graph::GraphProblem;
pub use leaf_spine::LeafSpine;
pub use single_switch::SingleSwitch;

use crate::model::{LinkSpec, Node, Topology};
use bufferlab_units::{BitRate, Time};

/// A switch's end of a cable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Port {
    /// The cable: index into [`Topology::links`].
    pub link: u32,
    /// What is at its other end.
    pub peer: Node,
    /// Rate away from the switch.
    pub rate: BitRate,
    /// Propagation delay.
    pub delay: Time,
}

impl LinkSpec {
    /// A symmetric cable that never fails.
    #[must_use]
    pub fn new(a: Node, b: Node, rate: BitRate, delay: Time) -> Self {
        Self { a, b, rate_ab: rate, rate_ba: rate, delay, down: Vec::new() }
    }

    /// The other end and the rate towards it, seen from `node`; `None` if it is not an end.
    #[must_use]
    pub fn from(&self, node: Node) -> Option<(Node, BitRate)> {
        if self.a == node {
            Some((self.b, self.rate_ab))
        } else if self.b == node {
            Some((self.a, self.rate_ba))
        } else {
            None
        }
    }
}

impl Topology {
    /// The ports of `switch` in order: port number = index.
    #[must_use]
    pub fn ports_of(&self, switch: u32) -> Vec<Port> {
        let port = |(link, spec): (usize, &LinkSpec)| {
            let (peer, rate) = spec.from(Node::Switch(switch))?;
            Some(Port { link: link as u32, peer, rate, delay: spec.delay })
        };
        self.links.iter().enumerate().filter_map(port).collect()
    }

    /// The rates of the ports of `switch`, away from it, in order.
    #[must_use]
    pub fn switch_port_rates(&self, switch: u32) -> Vec<BitRate> {
        self.ports_of(switch).iter().map(|port| port.rate).collect()
    }

    /// [`Self::switch_port_rates`] of every switch, in one pass over the cables.
    #[must_use]
    pub fn all_port_rates(&self) -> Vec<Vec<BitRate>> {
        let mut rates = vec![Vec::new(); self.switches.len()];
        for link in &self.links {
            if let Node::Switch(switch) = link.a {
                rates[switch as usize].push(link.rate_ab);
            }
            if let Node::Switch(switch) = link.b {
                rates[switch as usize].push(link.rate_ba);
            }
        }
        rates
    }

    /// The cable of `host`: index into [`Topology::links`].
    ///
    /// # Panics
    /// If the host has none; a loaded scenario has no such host.
    #[must_use]
    pub fn host_link(&self, host: u32) -> u32 {
        let link = self.links.iter().position(|link| link.from(Node::Host(host)).is_some());
        link.unwrap_or_else(|| panic!("host {host} has a link")) as u32
    }

    /// The rate at which `host` can send.
    ///
    /// # Panics
    /// As [`Self::host_link`].
    #[must_use]
    pub fn host_rate(&self, host: u32) -> BitRate {
        let link = &self.links[self.host_link(host) as usize];
        link.from(Node::Host(host)).expect("it is the host's link").1
    }

    /// The switches that have hosts, in order: the switch of each rack.
    #[must_use]
    pub fn rack_switches(&self) -> Vec<u32> {
        let with_hosts = self.hosts_by_switch().into_iter().enumerate();
        with_hosts.filter(|(_, hosts)| !hosts.is_empty()).map(|(switch, _)| switch as u32).collect()
    }

    /// Hosts by their switch, for every switch that has any, in the order of [`Self::rack_switches`].
    #[must_use]
    pub fn racks(&self) -> Vec<Vec<u32>> {
        self.hosts_by_switch().into_iter().filter(|hosts| !hosts.is_empty()).collect()
    }

    /// Capacity from the switch of `rack` (index into [`Self::racks`]) to other switches (bits per second);
    /// cables count whether or not they are down.
    ///
    /// # Panics
    /// If there is no such rack.
    #[must_use]
    pub fn leaf_uplink_capacity_bps(&self, rack: usize) -> u64 {
        let ports = self.ports_of(self.rack_switches()[rack]);
        let uplinks = ports.iter().filter(|port| matches!(port.peer, Node::Switch(_)));
        uplinks.map(|port| port.rate.0).sum()
    }

    /// The name of a node.
    #[must_use]
    pub fn node_name(&self, node: Node) -> &str {
        match node {
            Node::Host(index) => &self.hosts[index as usize],
            Node::Switch(index) => &self.switches[index as usize],
        }
    }

    /// The node of that name.
    #[must_use]
    pub fn node(&self, name: &str) -> Option<Node> {
        let host = self.hosts.iter().position(|known| known == name).map(|index| Node::Host(index as u32));
        let switch = || self.switches.iter().position(|known| known == name);
        host.or_else(|| switch().map(|index| Node::Switch(index as u32)))
    }

    /// All cables between two nodes, in order: indices into [`Self::links`].
    #[must_use]
    pub fn cables_between(&self, one: Node, other: Node) -> Vec<u32> {
        let joins = |link: &LinkSpec| link.from(one).is_some_and(|(peer, _)| peer == other);
        (0..).zip(&self.links).filter(|(_, link)| joins(link)).map(|(index, _)| index).collect()
    }

    fn hosts_by_switch(&self) -> Vec<Vec<u32>> {
        let mut racks = vec![Vec::new(); self.switches.len()];
        for link in &self.links {
            if let (Node::Host(host), Node::Switch(switch)) | (Node::Switch(switch), Node::Host(host)) =
                (link.a, link.b)
            {
                racks[switch as usize].push(host);
            }
        }
        for rack in &mut racks {
            rack.sort_unstable();
        }
        racks
    }
}

/// `h0`, `h1` …
fn host_names(count: u32) -> Vec<String> {
    numbered("h", count)
}

fn numbered(prefix: &str, count: u32) -> Vec<String> {
    (0..count).map(|index| format!("{prefix}{index}")).collect()
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// What holds for every generator: counts, one cable per host, connected, unique names, tiers.
    pub(crate) fn assert_sound(topology: &Topology, hosts: usize, switches: usize, links: usize) {
        assert_eq!((topology.hosts.len(), topology.switches.len()), (hosts, switches));
        assert_eq!(topology.links.len(), links);
        assert_eq!(topology.tiers.len(), switches);
        assert_eq!(topology.problems(), []);
        assert_eq!(topology.tiers, topology.distances_from_hosts());
        assert_eq!(topology.racks().iter().map(Vec::len).sum::<usize>(), hosts);
        let rates = (0..switches as u32).map(|switch| topology.switch_port_rates(switch));
        assert_eq!(topology.all_port_rates(), rates.collect::<Vec<_>>());
    }

    #[test]
    fn a_port_shows_its_own_direction() {
        let rate = BitRate::gbps(10);
        let mut topology =
            SingleSwitch { hosts: 2, rate, uplink_rate: rate, delay: Time::from_us(1) }.build();
        let Node::Host(_) = topology.links[1].a else { panic!("the generator writes the host first") };
        topology.links[1].rate_ab = BitRate::gbps(1);
        assert_eq!(topology.switch_port_rates(0), [BitRate::gbps(10), BitRate::gbps(10)]);
        assert_eq!(topology.host_rate(1), BitRate::gbps(1));
        assert_eq!(topology.host_link(1), 1);
        assert_eq!(topology.node("h1"), Some(Node::Host(1)));
        assert_eq!(topology.node("switch"), Some(Node::Switch(0)));
    }
}
