//! Checks that a graph is a valid network, and computes the tiers of its switches.

use crate::{Node, Topology};
use std::collections::VecDeque;
use std::fmt;

/// A reason why a graph is not a valid network.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GraphProblem {
    /// Two nodes of the graph have the name in this error.
    DuplicateName(String),
    /// A cable joins a node to itself.
    SelfLoop {
        /// Index of the cable that joins a node to itself.
        link: u32,
    },
    /// A cable joins two hosts.
    HostToHost {
        /// Index of the cable that joins two hosts.
        link: u32,
    },
    /// A host has no cable.
    HostWithoutLink {
        /// Index of the host without a cable.
        host: u32,
    },
    /// A host has more than one cable.
    HostWithSeveralLinks {
        /// Index of the host with several cables.
        host: u32,
        /// Indices of the host's cables.
        links: Vec<u32>,
    },
    /// Some nodes cannot be reached from the first switch.
    Unconnected {
        /// The nodes that cannot be reached, in order, hosts first.
        nodes: Vec<Node>,
    },
}

impl fmt::Display for GraphProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::DuplicateName(name) => write!(f, "two nodes are called \"{name}\""),
            Self::SelfLoop { link } => write!(f, "cable {link} joins a node to itself"),
            Self::HostToHost { link } => write!(f, "cable {link} joins two hosts"),
            Self::HostWithoutLink { host } => write!(f, "host {host} has no cable"),
            Self::HostWithSeveralLinks { host, links } => write!(f, "host {host} has {} cables", links.len()),
            Self::Unconnected { nodes } => write!(f, "{} nodes cannot be reached", nodes.len()),
        }
    }
}

impl Topology {
    /// Returns every reason why the graph is not a valid network.
    #[must_use]
    pub fn problems(&self) -> Vec<GraphProblem> {
        let mut problems = Vec::new();
        let mut names: Vec<_> = self.hosts.iter().chain(&self.switches).collect();
        names.sort();
        for pair in names.windows(2).filter(|pair| pair[0] == pair[1]) {
            problems.push(GraphProblem::DuplicateName(pair[0].clone()));
        }
        problems.dedup();
        let mut links_of_host = vec![Vec::new(); self.hosts.len()];
        for (index, link) in (0..).zip(&self.links) {
            match (link.a, link.b) {
                (a, b) if a == b => problems.push(GraphProblem::SelfLoop { link: index }),
                (Node::Host(_), Node::Host(_)) => problems.push(GraphProblem::HostToHost { link: index }),
                (Node::Host(host), _) | (_, Node::Host(host)) => links_of_host[host as usize].push(index),
                _ => {}
            }
        }
        for (host, links) in (0..).zip(links_of_host) {
            match links.len() {
                0 => problems.push(GraphProblem::HostWithoutLink { host }),
                1 => {}
                _ => problems.push(GraphProblem::HostWithSeveralLinks { host, links }),
            }
        }
        if problems.is_empty() {
            let unreached = self.unreached();
            if !unreached.is_empty() {
                problems.push(GraphProblem::Unconnected { nodes: unreached });
            }
        }
        problems
    }

    fn unreached(&self) -> Vec<Node> {
        let distances = self.distances(&[0]);
        let host = |host| Node::Host(host);
        let reached = |node: &Node| match node {
            Node::Switch(switch) => distances[*switch as usize].is_some(),
            Node::Host(host) => {
                let link = &self.links[self.host_link(*host) as usize];
                let (peer, _) = link.from(Node::Host(*host)).expect("it is the host's link");
                matches!(peer, Node::Switch(switch) if distances[switch as usize].is_some())
            }
        };
        let hosts = (0..self.hosts.len() as u32).map(host);
        let nodes = hosts.chain((0..self.switches.len() as u32).map(Node::Switch));
        nodes.filter(|node| !reached(node)).collect()
    }

    /// Returns the tier of every switch: its distance from the nearest switch that has hosts.
    #[must_use]
    pub fn distances_from_hosts(&self) -> Vec<u8> {
        let distances = self.distances(&self.rack_switches());
        distances.iter().map(|distance| distance.map_or(u8::MAX, |d| d.min(254) as u8)).collect()
    }

    /// Returns the number of hops from the nearest switch in `from` to every switch,
    /// over switches only.
    fn distances(&self, from: &[u32]) -> Vec<Option<u32>> {
        let mut neighbours = vec![Vec::new(); self.switches.len()];
        for link in &self.links {
            if let (Node::Switch(a), Node::Switch(b)) = (link.a, link.b) {
                neighbours[a as usize].push(b);
                neighbours[b as usize].push(a);
            }
        }
        let mut distances = vec![None; self.switches.len()];
        let mut queue = VecDeque::new();
        for &switch in from.iter().filter(|&&switch| (switch as usize) < self.switches.len()) {
            distances[switch as usize] = Some(0);
            queue.push_back((switch, 0));
        }
        while let Some((switch, distance)) = queue.pop_front() {
            for &next in &neighbours[switch as usize] {
                if distances[next as usize].is_none() {
                    distances[next as usize] = Some(distance + 1);
                    queue.push_back((next, distance + 1));
                }
            }
        }
        distances
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::LinkSpec;
    use bufferlab_units::{BitRate, Time};

    fn graph(hosts: &[&str], switches: &[&str], links: &[(Node, Node)]) -> Topology {
        let link = |&(a, b): &(Node, Node)| LinkSpec::new(a, b, BitRate::gbps(1), Time::ZERO);
        Topology {
            hosts: hosts.iter().map(|&name| name.to_owned()).collect(),
            switches: switches.iter().map(|&name| name.to_owned()).collect(),
            links: links.iter().map(link).collect(),
            ..Topology::default()
        }
    }

    const H0: Node = Node::Host(0);
    const H1: Node = Node::Host(1);
    const S0: Node = Node::Switch(0);
    const S1: Node = Node::Switch(1);

    #[test]
    fn broken_graphs_are_named() {
        let names = (["a", "b"].as_slice(), ["s", "t"].as_slice());
        let of = |links: &[(Node, Node)]| graph(names.0, names.1, links).problems();
        assert_eq!(of(&[(H0, S0), (S0, S1), (S1, H1)]), []);
        assert_eq!(of(&[(H0, S0), (S0, S1)]), [GraphProblem::HostWithoutLink { host: 1 }]);
        assert_eq!(
            of(&[(H0, S0), (H0, S1), (H1, S1)]),
            [GraphProblem::HostWithSeveralLinks { host: 0, links: vec![0, 1] }]
        );
        assert_eq!(of(&[(H0, S0), (H1, S0), (S1, S1)]), [GraphProblem::SelfLoop { link: 2 }]);
        assert_eq!(of(&[(H0, S0), (H1, S0)]), [GraphProblem::Unconnected { nodes: vec![S1] }]);
        assert_eq!(of(&[(H0, S0), (H1, S1)]), [GraphProblem::Unconnected { nodes: vec![H1, S1] }]);
        assert_eq!(of(&[(H0, H1)])[0], GraphProblem::HostToHost { link: 0 });
        let twice = graph(&["a", "a"], &["s"], &[(H0, S0), (H1, S0)]).problems();
        assert_eq!(twice, [GraphProblem::DuplicateName("a".to_owned())]);
    }

    #[test]
    fn tiers_count_hops_from_hosts() {
        let links = [(H0, S0), (H1, S0), (S0, S1), (S1, Node::Switch(2))];
        assert_eq!(graph(&["a", "b"], &["s", "t", "u"], &links).distances_from_hosts(), [0, 1, 2]);
    }
}
