//! Shortest paths: for every switch and destination host, the ports that lead there.

use bufferlab_scenario::{Node, Topology};
use bufferlab_units::{RandomStream, Time};

const GROUP: u32 = 1 << 31;
/// No path.
const NONE: u32 = GROUP - 1;

/// Next hops of all switches.
#[derive(Debug, Default)]
pub(crate) struct Routes {
    hosts: usize,
    /// By switch × host: a port, or `GROUP | index into groups`, or `NONE`.
    table: Vec<u32>,
    /// (first in `ports`, count).
    groups: Vec<(u32, u32)>,
    ports: Vec<u16>,
    /// By switch: decorrelates the choices of successive switches.
    salt: Vec<u64>,
    /// For base round-trip times, by host: its switch and the delay of its cable.
    attachment: Vec<Option<(u32, Time)>>,
    /// For base round-trip times, by target switch × switch: propagation delay of the shortest path (least delay among those
    /// with fewest hops).
    delay: Vec<Time>,
}

/// A neighbour of a switch as routing sees it.
#[derive(Clone, Copy, Debug)]
struct Neighbour {
    port: u16,
    node: Node,
    up: bool,
    delay: Time,
}

impl Routes {
    /// Next hops over the cables that are up (`is_up`, by cable index). Base round-trip times are those of the network without
    /// failures: an ideal must not depend on when it is looked at.
    pub(crate) fn new(topology: &Topology, seed: u64, is_up: impl Fn(usize) -> bool) -> Self {
        let now = Self::search(topology, seed, &is_up);
        if (0..topology.links.len()).all(is_up) {
            return now;
        }
        let Self { attachment, delay, .. } = Self::search(topology, seed, &|_| true);
        Self { attachment, delay, ..now }
    }

    /// Breadth-first search from every switch with hosts.
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
        let mut routes = Self {
            hosts,
            table: vec![NONE; switches * hosts],
            groups: Vec::new(),
            ports: Vec::new(),
            salt: (0..switches).map(|_| stream.next_u64()).collect(),
            attachment: attachment.iter().map(|at| at.map(|(switch, _, delay)| (switch, delay))).collect(),
            delay: vec![Time::MAX; switches * switches],
        };
        for target in 0..switches {
            let here: Vec<_> = (0..hosts)
                .filter_map(|host| {
                    attachment[host].filter(|at| at.0 as usize == target).map(|at| (host, at.1))
                })
                .collect();
            if !here.is_empty() {
                routes.lead_to(target, &here, &neighbours);
            }
        }
        routes
    }

    /// Enters the next hops towards the hosts of switch `target`.
    fn lead_to(&mut self, target: usize, here: &[(usize, u16)], neighbours: &[Vec<Neighbour>]) {
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
        for &(host, port) in here {
            self.table[target * self.hosts + host] = u32::from(port);
        }
        let switches = neighbours.len();
        self.delay[target * switches + target] = Time::ZERO;
        for &switch in &order[1..] {
            let closer = |n: &&Neighbour| {
                n.up && matches!(n.node, Node::Switch(o) if distance[o as usize] + 1 == distance[switch])
            };
            let ports: Vec<u16> = neighbours[switch].iter().filter(closer).map(|n| n.port).collect();
            let through = |n: &Neighbour| match n.node {
                Node::Switch(other) => self.delay[target * switches + other as usize].saturating_add(n.delay),
                Node::Host(_) => Time::MAX,
            };
            let least = neighbours[switch].iter().filter(closer).map(through).min();
            self.delay[target * switches + switch] = least.unwrap_or(Time::MAX);
            let entry = match ports[..] {
                [port] => u32::from(port),
                _ => self.group(&ports),
            };
            for &(host, _) in here {
                self.table[switch * self.hosts + host] = entry;
            }
        }
    }

    fn group(&mut self, ports: &[u16]) -> u32 {
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

    /// Twice the propagation delay between two hosts; zero if there is no path.
    pub(crate) fn base_rtt(&self, src: u32, dst: u32) -> Time {
        let (Some((a, up)), Some((b, down))) = (self.attachment[src as usize], self.attachment[dst as usize])
        else {
            return Time::ZERO;
        };
        match self.delay[b as usize * self.salt.len() + a as usize] {
            Time::MAX => Time::ZERO,
            between => (up + between + down) * 2,
        }
    }

    /// The largest [`Self::base_rtt`] of a host.
    pub(crate) fn longest_base_rtt(&self, host: u32) -> Time {
        (0..self.attachment.len() as u32).map(|other| self.base_rtt(other, host)).max().unwrap_or(Time::ZERO)
    }

    /// The port through which `switch` sends towards `dst`. `path` is entropy, or explicit choices of which the lowest
    /// byte is consumed here.
    #[inline]
    pub(crate) fn port(&self, switch: u32, dst: u16, path: &mut u32, explicit: bool) -> Option<u16> {
        let entry = self.table[switch as usize * self.hosts + usize::from(dst)];
        if entry & GROUP == 0 {
            return (entry != NONE).then_some(entry as u16);
        }
        let (first, count) = self.groups[(entry & !GROUP) as usize];
        let choice = if explicit {
            let choice = (*path & 0xff) % count;
            *path >>= 8;
            choice
        } else {
            // Multiply-shift: the high half of a product of entropy and salt, scaled to the number of ports.
            let hash =
                (u64::from(*path) ^ self.salt[switch as usize]).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
            ((hash * u64::from(count)) >> 32) as u32
        };
        Some(self.ports[(first + choice) as usize])
    }
}
