//! The three-tier fat tree of k-port switches (Al-Fares, Loukissas, Vahdat, SIGCOMM 2008).

use super::{host_names, numbered};
use crate::model::{LinkSpec, Multipath, Node, Topology};
use bufferlab_units::{BitRate, Time};

/// Parameters of the fat tree.
#[derive(Clone, Copy, Debug)]
pub struct FatTree {
    /// Ports per switch, even.
    pub k: u32,
    /// Rate of every link.
    pub rate: BitRate,
    /// Propagation delay of every link.
    pub delay: Time,
}

impl FatTree {
    /// k pods of k/2 edge and k/2 aggregation switches, (k/2)² cores, k³/4 hosts. Aggregation switch j of
    /// every pod is cabled to cores j·k/2 … (j+1)·k/2 − 1. Switches: edges pod by pod, aggregations pod
    /// by pod, cores.
    ///
    /// # Panics
    /// If `k` is odd or zero.
    #[must_use]
    pub fn build(&self) -> Topology {
        assert!(self.k > 0 && self.k.is_multiple_of(2), "a fat tree needs an even number of ports");
        let (k, half) = (self.k, self.k / 2);
        let per_tier = k * half;
        let edge = |pod: u32, index: u32| Node::Switch(pod * half + index);
        let aggregation = |pod: u32, index: u32| Node::Switch(per_tier + pod * half + index);
        let core = |index: u32| Node::Switch(2 * per_tier + index);
        let link = |a, b| LinkSpec::new(a, b, self.rate, self.delay);

        let hosts = per_tier * half;
        let mut links: Vec<_> =
            (0..hosts).map(|host| link(Node::Host(host), Node::Switch(host / half))).collect();
        for pod in 0..k {
            for e in 0..half {
                links.extend((0..half).map(|a| link(edge(pod, e), aggregation(pod, a))));
            }
        }
        for pod in 0..k {
            for a in 0..half {
                links.extend((0..half).map(|c| link(aggregation(pod, a), core(a * half + c))));
            }
        }
        let names = |tier: &str| -> Vec<String> {
            (0..per_tier).map(|index| format!("{tier}{}_{}", index / half, index % half)).collect()
        };
        let counts = [(0, per_tier), (1, per_tier), (2, half * half)];
        Topology {
            kind: "fat_tree".to_owned(),
            hosts: host_names(hosts),
            switches: [names("edge"), names("agg"), numbered("core", half * half)].concat(),
            tiers: counts.iter().flat_map(|&(tier, count)| vec![tier; count as usize]).collect(),
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
    fn every_switch_of_a_fat_tree_has_k_ports_and_no_tier_is_oversubscribed() {
        for k in [2, 4, 8_u32] {
            let topology = FatTree { k, rate: BitRate::gbps(10), delay: Time::from_us(1) }.build();
            let (hosts, half) = ((k * k * k / 4) as usize, (k / 2) as usize);
            // Three tiers of k³/4 cables each.
            assert_sound(&topology, hosts, (2 * k) as usize * half + half * half, 3 * hosts);
            for switch in 0..topology.switches.len() as u32 {
                assert_eq!(topology.ports_of(switch).len(), k as usize, "switch {switch}, k = {k}");
            }
            assert_eq!(topology.racks().len(), (k * k / 2) as usize);
            let rack_bps = topology.racks()[0].len() as u64 * 10_000_000_000;
            assert_eq!(topology.leaf_uplink_capacity_bps(0), rack_bps);
        }
    }

    #[test]
    fn a_core_reaches_every_pod_once() {
        let topology = FatTree { k: 4, rate: BitRate::gbps(10), delay: Time::from_us(1) }.build();
        let core = topology.node("core0").expect("there is a core 0");
        let Node::Switch(index) = core else { panic!("a core is a switch") };
        let peers: Vec<_> =
            topology.ports_of(index).iter().map(|port| topology.node_name(port.peer).to_owned()).collect();
        assert_eq!(peers, ["agg0_0", "agg1_0", "agg2_0", "agg3_0"]);
    }
}
