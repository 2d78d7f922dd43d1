//! The network as a graph, and the registry of topologies.
//!
//! A topology is one file in `kinds/`: its entry [`TopologyInfo`] (name, parameters as data)
//! and a function from parameters to a [`Topology`]. [`TOPOLOGIES`] lists the topologies.
//! The scenario format, its schema and its reference are derived from this list.
//! A program adds a custom topology with [`register_topology`].

mod kinds;
mod limits;
mod problems;
mod registry;

pub use limits::LIMITS;
pub use problems::GraphProblem;
pub use registry::{BuildTopology, TOPOLOGIES, TopologyInfo, register_topology, replace_topology};

use bufferlab_params::choices;
use bufferlab_units::{BitRate, Time};

/// A graph of hosts and switches.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Topology {
    /// Name of the topology's kind for reports, such as `leaf_spine` or `graph`.
    pub kind: String,
    /// Names of the hosts; the index of a host is its address.
    pub hosts: Vec<String>,
    /// Names of the switches, by index.
    pub switches: Vec<String>,
    /// Tier of every switch; a switch with hosts has tier 0.
    /// Reports and the routing of the built-in topologies use tiers.
    pub tiers: Vec<u8>,
    /// Cables of the network. A switch numbers its ports in the order of the cables. Every host has
    /// exactly one cable.
    pub links: Vec<LinkSpec>,
    /// Choice among equally short paths: per packet or per flow.
    pub multipath: Multipath,
    /// Next hops that replace hops of the shortest paths. A later entry overrides earlier entries.
    pub routes: Vec<RouteSpec>,
}

/// A static route: some switches send the packets for some hosts to a given neighbour.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RouteSpec {
    /// Indices of the switches that have this static route.
    pub at: Vec<u32>,
    /// Indices of the destination hosts of the static route.
    pub to: Vec<u32>,
    /// The neighbouring switch that is the next hop, over any working cable to this neighbour. If
    /// all cables to the neighbour are down, packets take the shortest path.
    pub via: u32,
}

/// A node of the graph: a host or a switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Node {
    /// A host, with the host's index in [`Topology::hosts`].
    Host(u32),
    /// A switch, with the switch's index in [`Topology::switches`].
    Switch(u32),
}

/// A full-duplex cable between two nodes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinkSpec {
    /// Node at the first end of the cable.
    pub a: Node,
    /// Node at the second end of the cable.
    pub b: Node,
    /// Rate of the cable from `a` to `b`.
    pub rate_ab: BitRate,
    /// Rate of the cable from `b` to `a`.
    /// The rate differs from `rate_ab` only if the scenario requests asymmetry.
    pub rate_ba: BitRate,
    /// Propagation delay of the cable, equal in both directions.
    pub delay: Time,
    /// Intervals `[from, until)` during which the cable is down; `until` may be [`Time::MAX`].
    pub down: Vec<(Time, Time)>,
}

choices! {
    /// Choice among equally short paths: per packet or per flow.
    #[derive(Default)]
    pub enum Multipath {
        #[default]
        EcmpFlow = "ecmp": "a seeded hash of the flow: all of its packets take one path per direction",
        Spray = "spray": "every packet takes a path drawn at random",
    }
}

/// A port of a switch: the switch's end of a cable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Port {
    /// Index of the port's cable in [`Topology::links`].
    pub link: u32,
    /// The node at the other end of the cable.
    pub peer: Node,
    /// Rate at which the port sends.
    pub rate: BitRate,
    /// Propagation delay of the port's cable.
    pub delay: Time,
}

impl LinkSpec {
    /// Creates a cable with equal rates in the two directions that never fails.
    #[must_use]
    pub fn new(a: Node, b: Node, rate: BitRate, delay: Time) -> Self {
        Self { a, b, rate_ab: rate, rate_ba: rate, delay, down: Vec::new() }
    }

    /// Returns whether the cable is down at the time `at`.
    #[must_use]
    pub fn is_down(&self, at: Time) -> bool {
        self.down.iter().any(|&(from, until)| from <= at && at < until)
    }

    /// Returns the far end of the cable as seen from `node`, and the rate towards the far end.
    /// Returns `None` if `node` is not an end of the cable.
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
    /// Builds a network of the given hosts, switches and cables, and derives the tiers of the
    /// switches. Packets in the network take the shortest paths.
    #[must_use]
    pub fn new(hosts: Vec<String>, switches: Vec<String>, links: Vec<LinkSpec>) -> Self {
        let mut topology = Self { hosts, switches, links, ..Self::default() };
        topology.tiers = topology.distances_from_hosts();
        topology
    }

    /// Returns the ports of `switch` in order; the index of a port is its number.
    #[must_use]
    pub fn ports_of(&self, switch: u32) -> Vec<Port> {
        let port = |(link, spec): (usize, &LinkSpec)| {
            let (peer, rate) = spec.from(Node::Switch(switch))?;
            Some(Port { link: link as u32, peer, rate, delay: spec.delay })
        };
        self.links.iter().enumerate().filter_map(port).collect()
    }

    /// Returns the sending rates of the ports of `switch`, in order.
    #[must_use]
    pub fn switch_port_rates(&self, switch: u32) -> Vec<BitRate> {
        self.ports_of(switch).iter().map(|port| port.rate).collect()
    }

    /// Returns [`Self::ports_of`] for every switch, in one pass over the cables.
    #[must_use]
    pub fn all_ports(&self) -> Vec<Vec<Port>> {
        let mut ports = vec![Vec::new(); self.switches.len()];
        for (link, spec) in (0..).zip(&self.links) {
            for end in [spec.a, spec.b] {
                if let (Node::Switch(switch), Some((peer, rate))) = (end, spec.from(end)) {
                    ports[switch as usize].push(Port { link, peer, rate, delay: spec.delay });
                }
            }
        }
        ports
    }

    /// Returns [`Self::switch_port_rates`] for every switch, in one pass over the cables.
    #[must_use]
    pub fn all_port_rates(&self) -> Vec<Vec<BitRate>> {
        let rates = |ports: Vec<Port>| ports.into_iter().map(|port| port.rate).collect();
        self.all_ports().into_iter().map(rates).collect()
    }

    /// Returns the cable of `host` as an index into [`Topology::links`].
    ///
    /// # Panics
    /// If the host has no cable, which a loaded scenario excludes.
    #[must_use]
    pub fn host_link(&self, host: u32) -> u32 {
        let is_its = |link: &LinkSpec| link.from(Node::Host(host)).is_some();
        // Built-in topologies have the cable of host i at index i.
        // Without the shortcut, a loop over all hosts would be quadratic.
        if self.links.get(host as usize).is_some_and(is_its) {
            return host;
        }
        let link = self.links.iter().position(is_its);
        link.unwrap_or_else(|| panic!("host {host} has a link")) as u32
    }

    /// Returns the rate at which `host` can send.
    ///
    /// # Panics
    /// If the host has no cable, which a loaded scenario excludes.
    #[must_use]
    pub fn host_rate(&self, host: u32) -> BitRate {
        let link = &self.links[self.host_link(host) as usize];
        link.from(Node::Host(host)).expect("it is the host's link").1
    }

    /// Returns the indices of the switches that have hosts, in ascending order. Each of these
    /// switches has one rack.
    #[must_use]
    pub fn rack_switches(&self) -> Vec<u32> {
        let with_hosts = self.hosts_by_switch().into_iter().enumerate();
        with_hosts.filter(|(_, hosts)| !hosts.is_empty()).map(|(switch, _)| switch as u32).collect()
    }

    /// Groups the hosts by their switch, in the order of [`Self::rack_switches`].
    #[must_use]
    pub fn racks(&self) -> Vec<Vec<u32>> {
        self.hosts_by_switch().into_iter().filter(|hosts| !hosts.is_empty()).collect()
    }

    /// Returns the capacity from the switch of `rack` (index into [`Self::racks`]) to other
    /// switches (bits per second). The capacity includes cables that are down.
    ///
    /// # Panics
    /// If the network has no such rack.
    #[must_use]
    pub fn leaf_uplink_capacity_bps(&self, rack: usize) -> u64 {
        let ports = self.ports_of(self.rack_switches()[rack]);
        let uplinks = ports.iter().filter(|port| matches!(port.peer, Node::Switch(_)));
        uplinks.map(|port| port.rate.0).sum()
    }

    /// Returns the name of the host or switch `node`.
    #[must_use]
    pub fn node_name(&self, node: Node) -> &str {
        match node {
            Node::Host(index) => &self.hosts[index as usize],
            Node::Switch(index) => &self.switches[index as usize],
        }
    }

    /// Returns the host or switch called `name`.
    #[must_use]
    pub fn node(&self, name: &str) -> Option<Node> {
        let host = self.hosts.iter().position(|known| known == name).map(|index| Node::Host(index as u32));
        let switch = || self.switches.iter().position(|known| known == name);
        host.or_else(|| switch().map(|index| Node::Switch(index as u32)))
    }

    /// Returns the indices in [`Self::links`] of all cables between two nodes, in ascending order.
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

/// Returns `count` numbered names of nodes, such as `h0`, `h1` … for the prefix `h`.
#[must_use]
pub fn numbered(prefix: &str, count: u32) -> Vec<String> {
    (0..count).map(|index| format!("{prefix}{index}")).collect()
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use bufferlab_params::{ParamValue, Params, Profile};

    /// Builds the registered topology `kind` from the given parameters.
    pub(crate) fn built(kind: &str, given: &[(&str, ParamValue)]) -> Topology {
        let info = TOPOLOGIES.find(kind).expect("it is registered");
        let given: Vec<_> = given.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect();
        let mut params = Params::resolve(info.params, Profile::Paper, &given).expect("they are right");
        (info.build)(&mut params).expect("they suit each other")
    }

    /// Asserts the guarantees of every built-in topology: counts, one cable per host, connectivity,
    /// unique names and tiers.
    pub(crate) fn assert_sound(topology: &Topology, hosts: usize, switches: usize, links: usize) {
        assert_eq!((topology.hosts.len(), topology.switches.len()), (hosts, switches));
        assert_eq!(topology.links.len(), links);
        assert_eq!(topology.tiers.len(), switches);
        assert_eq!(topology.problems(), []);
        assert_eq!(topology.tiers, topology.distances_from_hosts());
        assert_eq!(topology.racks().iter().map(Vec::len).sum::<usize>(), hosts);
        let rates = (0..switches as u32).map(|switch| topology.switch_port_rates(switch));
        assert_eq!(topology.all_port_rates(), rates.collect::<Vec<_>>());
        let ports = (0..topology.switches.len() as u32).map(|switch| topology.ports_of(switch));
        assert_eq!(topology.all_ports(), ports.collect::<Vec<_>>());
    }

    /// Returns, for every pair of racks, the number of cables on a shortest path between their
    /// switches, and the number of shortest paths.
    pub(crate) fn distances_between_racks(topology: &Topology) -> Vec<(u32, u64)> {
        let (racks, ports) = (topology.rack_switches(), topology.all_ports());
        let mut pairs = Vec::new();
        for &from in &racks {
            let mut known: Vec<Option<(u32, u64)>> = vec![None; ports.len()];
            known[from as usize] = Some((0, 1));
            let mut queue = std::collections::VecDeque::from([from]);
            while let Some(switch) = queue.pop_front() {
                let (hops, paths) = known[switch as usize].expect("it was reached");
                for port in &ports[switch as usize] {
                    let Node::Switch(next) = port.peer else { continue };
                    match &mut known[next as usize] {
                        Some((far, more)) if *far == hops + 1 => *more += paths,
                        Some(_) => {}
                        unknown => {
                            *unknown = Some((hops + 1, paths));
                            queue.push_back(next);
                        }
                    }
                }
            }
            let others = racks.iter().filter(|&&rack| rack > from);
            pairs.extend(others.map(|&rack| known[rack as usize].expect("the network is connected")));
        }
        pairs
    }

    #[test]
    fn a_port_shows_its_own_direction() {
        let rate = BitRate::gbps(10);
        let mut topology = built(
            "single_switch",
            &[
                ("hosts", ParamValue::Count(2)),
                ("rate", ParamValue::Rate(rate)),
                ("delay", ParamValue::Time(Time::from_us(1))),
            ],
        );
        let Node::Host(_) = topology.links[1].a else { panic!("the generator writes the host first") };
        topology.links[1].rate_ab = BitRate::gbps(1);
        assert_eq!(topology.switch_port_rates(0), [BitRate::gbps(10), BitRate::gbps(10)]);
        assert_eq!(topology.host_rate(1), BitRate::gbps(1));
        assert_eq!(topology.host_link(1), 1);
        assert_eq!(topology.node("h1"), Some(Node::Host(1)));
        assert_eq!(topology.node("switch"), Some(Node::Switch(0)));
    }
}
