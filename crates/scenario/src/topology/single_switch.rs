//! A star: all hosts on one switch.

use super::host_names;
use crate::model::{LinkSpec, Multipath, Node, Topology};
use bufferlab_units::{BitRate, Time};

/// Parameters of the star.
#[derive(Clone, Copy, Debug)]
pub struct SingleSwitch {
    /// Number of hosts.
    pub hosts: u32,
    /// Rate from the switch to every host.
    pub rate: BitRate,
    /// Rate from every host to the switch.
    pub uplink_rate: BitRate,
    /// Propagation delay of every link.
    pub delay: Time,
}

impl SingleSwitch {
    /// Host i is on port i of the switch called `switch`.
    #[must_use]
    pub fn build(&self) -> Topology {
        let link = |host| LinkSpec {
            rate_ab: self.uplink_rate,
            ..LinkSpec::new(Node::Host(host), Node::Switch(0), self.rate, self.delay)
        };
        Topology {
            kind: "single_switch".to_owned(),
            hosts: host_names(self.hosts),
            switches: vec!["switch".to_owned()],
            tiers: vec![0],
            links: (0..self.hosts).map(link).collect(),
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
    fn a_star_has_one_port_and_one_link_per_host() {
        let (rate, uplink_rate) = (BitRate::gbps(1), BitRate::gbps(10));
        let topology = SingleSwitch { hosts: 8, rate, uplink_rate, delay: Time::from_us(10) }.build();
        assert_sound(&topology, 8, 1, 8);
        assert_eq!((topology.ports_of(0)[3].rate, topology.host_rate(3)), (rate, uplink_rate));
        assert_eq!(topology.ports_of(0).len(), 8);
        assert_eq!(topology.ports_of(0)[3].peer, Node::Host(3));
        assert_eq!(topology.racks(), [(0..8).collect::<Vec<_>>()]);
        assert_eq!(topology.leaf_uplink_capacity_bps(0), 0);
    }
}
