//! Racks of hosts on leaves, every leaf cabled to every spine.

use super::{host_names, numbered};
use crate::model::{LinkSpec, Multipath, Node, Topology};
use bufferlab_units::{BitRate, Time};

/// Parameters of the leaf-spine fabric.
#[derive(Clone, Copy, Debug)]
pub struct LeafSpine {
    /// Leaves, one rack each.
    pub leaves: u32,
    /// Hosts on every leaf.
    pub hosts_per_leaf: u32,
    /// Spines.
    pub spines: u32,
    /// Parallel cables between a leaf and a spine.
    pub links_per_pair: u32,
    /// Rate of the access links.
    pub host_rate: BitRate,
    /// Rate of a cable between leaf and spine.
    pub fabric_rate: BitRate,
    /// Propagation delay of the access links.
    pub host_delay: Time,
    /// Propagation delay between leaf and spine.
    pub fabric_delay: Time,
}

impl LeafSpine {
    /// Host i is on leaf i / `hosts_per_leaf`. A leaf's ports: its hosts, then spine 0's cables, spine 1's …;
    /// a spine's ports: leaf 0's cables, leaf 1's … Switches: leaves first.
    #[must_use]
    pub fn build(&self) -> Topology {
        let hosts = self.leaves * self.hosts_per_leaf;
        let leaf = |index: u32| Node::Switch(index);
        let spine = |index: u32| Node::Switch(self.leaves + index);
        let access = |host: u32| {
            LinkSpec::new(Node::Host(host), leaf(host / self.hosts_per_leaf), self.host_rate, self.host_delay)
        };
        let mut links: Vec<_> = (0..hosts).map(access).collect();
        for l in 0..self.leaves {
            for s in 0..self.spines {
                for _ in 0..self.links_per_pair {
                    links.push(LinkSpec::new(leaf(l), spine(s), self.fabric_rate, self.fabric_delay));
                }
            }
        }
        let (leaves, spines) = (self.leaves as usize, self.spines as usize);
        Topology {
            kind: "leaf_spine".to_owned(),
            hosts: host_names(hosts),
            switches: [numbered("leaf", self.leaves), numbered("spine", self.spines)].concat(),
            tiers: [vec![0; leaves], vec![1; spines]].concat(),
            links,
            multipath: Multipath::default(),
            routes: Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::tests::assert_sound;

    #[test]
    fn the_reduced_abm_fabric_has_40_port_leaves_and_8_port_spines_at_4_to_1() {
        let (rate, delay) = (BitRate::gbps(10), Time::from_us(10));
        let topology = LeafSpine {
            leaves: 2,
            hosts_per_leaf: 32,
            spines: 2,
            links_per_pair: 4,
            host_rate: rate,
            fabric_rate: rate,
            host_delay: delay,
            fabric_delay: delay,
        }
        .build();
        assert_sound(&topology, 64, 4, 64 + 2 * 2 * 4);
        let ports: Vec<_> = (0..4).map(|switch| topology.ports_of(switch).len()).collect();
        assert_eq!(ports, [40, 40, 8, 8]);
        assert_eq!(topology.racks()[1], (32..64).collect::<Vec<_>>());
        let down: u64 = topology.racks()[0].iter().map(|&host| topology.host_rate(host).0).sum();
        assert_eq!(down / topology.leaf_uplink_capacity_bps(0), 4);
        assert_eq!(topology.cables_between(Node::Switch(3), Node::Switch(0)), [68, 69, 70, 71]);
        assert_eq!(topology.tiers, [0, 0, 1, 1]);
    }
}
