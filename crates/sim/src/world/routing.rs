//! Shortest paths, and prescribed routes that replace shortest paths. The module finds the egress
//! ports for every switch and destination host.
//!
//! Every other switch reaches all hosts of one switch over equal ports. So the table has an entry
//! per switch and *destination*: all hosts of a switch to which equal prescribed routes apply.
//! Switches with equal rows share a row. In a fat tree of 8,192 hosts, 1,280 switches share 34
//! rows. So the table fits into the cache, and forwarding does not wait for memory.

mod circles;

use crate::SimError;
use crate::ids::{HostId, Id, SwitchId};
use crate::world::packet::{Flags, Packet};
use bufferlab_scenario::{Node, Topology};
use bufferlab_units::{RandomStream, Time};
use std::collections::BTreeMap;

/// Flag of an entry of the route table that is a group of equal next hops.
const GROUP: u32 = 1 << 31;
/// Flag of a group of consecutive ports. The entry then has the number of the ports from bit 16 on,
/// and the first port. Most groups are of this kind, and need no lookup.
const RANGE: u32 = 1 << 30;
/// Largest number of ports in a group with the flag [`RANGE`].
const RANGE_MAX: usize = (1 << 14) - 1;
/// Entry of the route table for a destination without a path.
const NONE: u32 = GROUP - 1;
/// Entry of a host's own switch. The final table has no such entry: [`HostPlace`] has the port.
const OWN: u32 = GROUP - 2;
/// Value of [`HostPlace::switch`] for a host that every switch reaches by the table.
const NOWHERE: u32 = u32::MAX;

/// Place of a host in the network.
#[derive(Clone, Copy, Debug)]
struct HostPlace {
    /// Number of the destination (group of hosts) to which the host belongs.
    destination: u32,
    /// Switch that sends packets for the host to the port `port`, without the route table.
    switch: u32,
    port: u16,
}

/// Row and salt of a switch.
#[derive(Clone, Copy, Debug)]
struct Forwarding {
    /// Start of the switch's row in the route table.
    row: usize,
    /// Salt for the hash of multipath choices. The salt decorrelates the choices of successive
    /// switches.
    salt: u64,
}

/// Next hops of all switches to all destinations.
#[derive(Clone, Debug, Default)]
pub(crate) struct Routes {
    /// Number of destinations in the route table.
    destinations: usize,
    hosts: Vec<HostPlace>,
    /// Next hop by row × destination: a port, a range of ports ([`RANGE`]), `GROUP | index into
    /// groups`, or `NONE`. During the construction each switch has its own row.
    table: Vec<u32>,
    switches: Vec<Forwarding>,
    /// Switch of each destination ([`HostPlace::switch`]).
    targets: Vec<u32>,
    /// Groups of equal next hops: (first index in `ports`, number of ports).
    groups: Vec<(u32, u32)>,
    ports: Vec<u16>,
    /// Switch of each host and the delay of the host's cable, for base round-trip times.
    attachment: Vec<Option<(u32, Time)>>,
    /// Rack number of each switch that is connected to hosts.
    rack: Vec<Option<u32>>,
    racks: usize,
    /// Propagation delay of the shortest path by target rack × rack, for base round-trip times.
    /// Among paths with the fewest hops, the least delay counts.
    delay: Vec<Time>,
}

/// Neighbour of a switch: an input of the computation of routes.
#[derive(Clone, Copy, Debug)]
struct Neighbour {
    port: u16,
    node: Node,
    up: bool,
    delay: Time,
}

impl Routes {
    /// Computes next hops over the cables that are up (`is_up`, by cable index).
    /// Base round-trip times ignore failures, because the ideal completion time of a flow must not
    /// depend on the time of the computation.
    pub(crate) fn new(topology: &Topology, seed: u64, is_up: impl Fn(usize) -> bool) -> Self {
        let now = Self::search(topology, seed, &is_up);
        if (0..topology.links.len()).all(is_up) {
            return now;
        }
        let Self { attachment, rack, racks, delay, .. } = Self::search(topology, seed, &|_| true);
        Self { attachment, rack, racks, delay, ..now }
    }

    /// Runs a breadth-first search from every switch that is connected to hosts.
    fn search(topology: &Topology, seed: u64, is_up: &impl Fn(usize) -> bool) -> Self {
        let switches = topology.switches.len();
        let hosts = topology.hosts.len();
        let mut neighbours: Vec<Vec<Neighbour>> = vec![Vec::new(); switches];
        let mut attachment = vec![None; hosts];
        for (index, link) in topology.links.iter().enumerate() {
            let up = is_up(index);
            for (here, there) in [(link.a, link.b), (link.b, link.a)] {
                match here {
                    Node::Switch(switch) => {
                        let list = &mut neighbours[switch as usize];
                        list.push(Neighbour { port: list.len() as u16, node: there, up, delay: link.delay });
                        if let (Node::Host(host), true) = (there, up) {
                            attachment[host as usize] = Some((switch, list.len() as u16 - 1, link.delay));
                        }
                    }
                    Node::Host(_) => {}
                }
            }
        }
        let mut stream = RandomStream::new(seed, "sim/multipath", 0);
        let own_switch: Vec<_> = attachment.iter().map(|at| at.map(|(switch, ..)| switch)).collect();
        let (destination, switch_of) = group_hosts(topology, &own_switch);
        let mut routes = Self {
            destinations: switch_of.len(),
            hosts: destination
                .into_iter()
                .zip(&attachment)
                .map(|(destination, at)| {
                    let port = at.map_or(0, |(_, port, _)| port);
                    HostPlace { destination, switch: NOWHERE, port }
                })
                .collect(),
            table: vec![NONE; switches * switch_of.len()],
            switches: (0..switches)
                .map(|switch| Forwarding { row: switch * switch_of.len(), salt: stream.next_u64() })
                .collect(),
            targets: vec![NOWHERE; switch_of.len()],
            groups: Vec::new(),
            ports: Vec::new(),
            attachment: attachment.iter().map(|at| at.map(|(switch, _, delay)| (switch, delay))).collect(),
            rack: vec![None; switches],
            racks: 0,
            delay: Vec::new(),
        };
        let mut destinations_of = vec![Vec::new(); switches];
        for (destination, switch) in switch_of.iter().enumerate() {
            if let Some(switch) = *switch {
                destinations_of[switch as usize].push(destination);
            }
        }
        let racks: Vec<_> = (0..switches).filter(|&switch| !destinations_of[switch].is_empty()).collect();
        routes.racks = racks.len();
        for (index, &switch) in (0..).zip(&racks) {
            routes.rack[switch] = Some(index);
        }
        for &target in &racks {
            let delay = routes.lead_to(target, &destinations_of[target], &neighbours);
            routes.delay.extend(racks.iter().map(|&switch| delay[switch]));
        }
        routes.divert(topology, &neighbours);
        routes.take_out_own_entries();
        routes.share_rows();
        routes
    }

    /// Replaces the entries `OWN` of the table by the places of the hosts. The table then ignores
    /// these entries. Each of them gets another entry of its row, so that rows become equal.
    fn take_out_own_entries(&mut self) {
        for (switch, forwarding) in (0..).zip(&self.switches) {
            let row = &mut self.table[forwarding.row..][..self.destinations];
            let other = row.iter().copied().find(|&entry| entry != OWN).unwrap_or(NONE);
            for (entry, target) in row.iter_mut().zip(&mut self.targets).filter(|(entry, _)| **entry == OWN) {
                (*entry, *target) = (other, switch);
            }
        }
        for host in &mut self.hosts {
            host.switch = self.targets[host.destination as usize];
        }
    }

    /// Stores equal rows of the table once.
    fn share_rows(&mut self) {
        let table = std::mem::take(&mut self.table);
        let mut known = BTreeMap::new();
        for Forwarding { row: start, .. } in &mut self.switches {
            let row = &table[*start..][..self.destinations];
            *start = *known.entry(row).or_insert_with(|| {
                self.table.extend_from_slice(row);
                self.table.len() - row.len()
            });
        }
        self.table.shrink_to_fit();
    }

    /// Replaces shortest paths by the next hops that the scenario prescribes.
    fn divert(&mut self, topology: &Topology, neighbours: &[Vec<Neighbour>]) {
        for route in &topology.routes {
            for &switch in &route.at {
                let leads = |n: &&Neighbour| n.up && n.node == Node::Switch(route.via);
                let ports: Vec<u16> =
                    neighbours[switch as usize].iter().filter(leads).map(|n| n.port).collect();
                let entry = match ports[..] {
                    [] => continue,
                    [port] => u32::from(port),
                    _ => self.group(&ports),
                };
                for &host in &route.to {
                    let destination = self.hosts[host as usize].destination as usize;
                    self.table[switch as usize * self.destinations + destination] = entry;
                }
            }
        }
    }

    /// Checks that prescribed routes form no loop.
    ///
    /// # Errors
    /// If packets for a host would follow a loop.
    pub(crate) fn check(&self, topology: &Topology) -> Result<(), SimError> {
        let Some((host, switches)) = self.find_loop(topology) else { return Ok(()) };
        let names: Vec<_> =
            switches.iter().map(|&switch| topology.switches[switch as usize].as_str()).collect();
        let host = topology.hosts[host as usize].clone();
        Err(SimError::RoutingLoop { host, switches: names.join(", ") })
    }

    /// Finds a host, and switches among which packets for the host would loop.
    fn find_loop(&self, topology: &Topology) -> Option<(u32, Vec<u32>)> {
        if topology.routes.is_empty() {
            return None;
        }
        let peers: Vec<Vec<Node>> =
            topology.all_ports().iter().map(|ports| ports.iter().map(|port| port.peer).collect()).collect();
        let next = |switch: u32, host: u32| -> Vec<u32> {
            let entry = self.entry(SwitchId(switch), self.hosts[host as usize].destination);
            let peer = |port: u16| match peers[switch as usize][usize::from(port)] {
                Node::Switch(other) => Some(other),
                Node::Host(_) => None,
            };
            self.ports_of(entry).filter_map(peer).collect()
        };
        // Only hosts with a prescribed route can have a loop.
        let mut hosts: Vec<u32> = topology.routes.iter().flat_map(|route| route.to.iter().copied()).collect();
        hosts.sort_unstable();
        hosts.dedup();
        for host in hosts {
            // The search is depth-first. A switch is done when all its next hops are done.
            let mut done = vec![false; peers.len()];
            for start in 0..peers.len() as u32 {
                let mut path = vec![start];
                let mut open = vec![next(start, host)];
                while let Some(choices) = open.last_mut() {
                    match choices.pop() {
                        Some(other) if done[other as usize] => {}
                        Some(other) => match path.iter().position(|&on_path| on_path == other) {
                            Some(at) => return Some((host, path[at..].to_vec())),
                            None => {
                                path.push(other);
                                open.push(next(other, host));
                            }
                        },
                        None => {
                            open.pop();
                            done[path.pop().expect("as long as the choices") as usize] = true;
                        }
                    }
                }
            }
        }
        None
    }

    /// Adds the next hops towards switch `target`, which has the destinations `here`, to the route
    /// table. Returns the delay from every switch to `target`.
    fn lead_to(&mut self, target: usize, here: &[usize], neighbours: &[Vec<Neighbour>]) -> Vec<Time> {
        let mut distance = vec![u32::MAX; neighbours.len()];
        distance[target] = 0;
        let mut order = vec![target];
        let mut next = 0;
        while let Some(&switch) = order.get(next) {
            next += 1;
            for neighbour in neighbours[switch].iter().filter(|neighbour| neighbour.up) {
                if let Node::Switch(other) = neighbour.node
                    && distance[other as usize] == u32::MAX
                {
                    distance[other as usize] = distance[switch] + 1;
                    order.push(other as usize);
                }
            }
        }
        for &destination in here {
            self.table[target * self.destinations + destination] = OWN;
        }
        let mut delay = vec![Time::MAX; neighbours.len()];
        delay[target] = Time::ZERO;
        let mut ports = Vec::new();
        for &switch in &order[1..] {
            ports.clear();
            let mut least = Time::MAX;
            for neighbour in neighbours[switch].iter().filter(|neighbour| neighbour.up) {
                if let Node::Switch(other) = neighbour.node
                    && distance[other as usize] + 1 == distance[switch]
                {
                    ports.push(neighbour.port);
                    least = least.min(delay[other as usize].saturating_add(neighbour.delay));
                }
            }
            delay[switch] = least;
            let entry = match ports[..] {
                [port] => u32::from(port),
                _ => self.group(&ports),
            };
            for &destination in here {
                self.table[switch * self.destinations + destination] = entry;
            }
        }
        delay
    }

    fn group(&mut self, ports: &[u16]) -> u32 {
        let is_range = ports.windows(2).all(|pair| pair[0].checked_add(1) == Some(pair[1]));
        if is_range && (1..=RANGE_MAX).contains(&ports.len()) {
            return GROUP | RANGE | (ports.len() as u32) << 16 | u32::from(ports[0]);
        }
        let known = self
            .groups
            .iter()
            .position(|&(first, count)| self.ports[first as usize..(first + count) as usize] == *ports);
        let index = known.unwrap_or_else(|| {
            self.groups.push((self.ports.len() as u32, ports.len() as u32));
            self.ports.extend_from_slice(ports);
            self.groups.len() - 1
        });
        GROUP | index as u32
    }

    /// Twice the propagation delay between two hosts. Zero if no path connects the hosts.
    pub(crate) fn base_rtt(&self, src: HostId, dst: HostId) -> Time {
        let (Some((a, up)), Some((b, down))) = (self.attachment[src.index()], self.attachment[dst.index()])
        else {
            return Time::ZERO;
        };
        let rack = |switch: u32| self.rack[switch as usize].expect("a switch with a host") as usize;
        match self.delay[rack(b) * self.racks + rack(a)] {
            Time::MAX => Time::ZERO,
            between => (up + between + down) * 2,
        }
    }

    /// Largest [`Self::base_rtt`] between a host and any other host.
    pub(crate) fn longest_base_rtt(&self, host: HostId) -> Time {
        (0..self.attachment.len())
            .map(|other| self.base_rtt(HostId::from_index(other), host))
            .max()
            .unwrap_or(Time::ZERO)
    }

    /// Egress port that [`Self::port`] will choose for a packet that arrives at `switch`.
    #[inline]
    pub(crate) fn peek(&self, switch: SwitchId, packet: &Packet) -> Option<u16> {
        let mut path = packet.path;
        self.port(switch, packet.dst, &mut path, packet.flags.has(Flags::EXPLICIT_PATH))
    }

    /// Egress port of `switch` towards `dst`. `path` is entropy, or explicit choices. The call
    /// removes the lowest byte of explicit path choices.
    #[inline(always)] // The callers are hot.
    pub(crate) fn port(&self, switch: SwitchId, dst: HostId, path: &mut u32, explicit: bool) -> Option<u16> {
        let host = self.hosts[dst.index()];
        if host.switch == switch.0 {
            return Some(host.port);
        }
        let Forwarding { row, salt } = self.switches[switch.index()];
        let entry = self.table[row + host.destination as usize];
        if entry & GROUP == 0 {
            return (entry != NONE).then_some(entry as u16);
        }
        let (first, count) = match entry & RANGE {
            0 => self.groups[(entry & !GROUP) as usize],
            _ => (entry & 0xffff, range_length(entry)),
        };
        let choice = if explicit {
            let choice = (*path & 0xff) % count;
            *path >>= 8;
            choice
        } else {
            // The port number is the high half of a product of entropy and salt,
            // scaled to the number of ports (multiply-shift).
            let hash = (u64::from(*path) ^ salt).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
            ((hash * u64::from(count)) >> 32) as u32
        };
        Some(if entry & RANGE == 0 { self.ports[(first + choice) as usize] } else { (first + choice) as u16 })
    }
}

/// Number of ports of an entry with the flag [`RANGE`].
#[inline]
fn range_length(entry: u32) -> u32 {
    entry >> 16 & RANGE_MAX as u32
}

/// Groups hosts into destinations. Returns the destination of every host,
/// and the switch of every destination. `own_switch` has the switch of each host,
/// and `None` while the host's cable is down.
fn group_hosts(topology: &Topology, own_switch: &[Option<u32>]) -> (Vec<u32>, Vec<Option<u32>>) {
    let mut concerned: Vec<Vec<u32>> = vec![Vec::new(); own_switch.len()];
    for (index, route) in (0..).zip(&topology.routes) {
        for &host in &route.to {
            concerned[host as usize].push(index);
        }
    }
    let mut known = BTreeMap::new();
    let mut switch_of = Vec::new();
    let destination = own_switch.iter().zip(concerned).map(|(&switch, routes)| {
        *known.entry((switch, routes)).or_insert_with(|| {
            switch_of.push(switch);
            switch_of.len() as u32 - 1
        })
    });
    (destination.collect(), switch_of)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    #[test]
    fn switches_with_equal_next_hops_share_a_row() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios/fat-tree.toml");
        let eight_ports = [("topology.k".to_owned(), "8".to_owned())];
        let loaded = bufferlab_scenario::load(&path, &eight_ports).expect("the scenario is valid");
        let routes = Routes::new(&loaded.scenario.topology, 1, |_| true);
        assert_eq!(routes.switches.len(), 80, "32 edge, 32 aggregation and 16 core switches");
        // All edge switches share a row, the aggregation switches of each pod, and all core
        // switches.
        assert_eq!(routes.table.len(), (1 + 8 + 1) * routes.destinations);
    }
}
