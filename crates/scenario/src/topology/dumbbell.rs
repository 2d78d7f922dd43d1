//! Two switches with a bottleneck between them.

use super::host_names;
use crate::model::{LinkSpec, Multipath, Node, Topology};
use bufferlab_units::{BitRate, Time};

/// Parameters of the dumbbell.
#[derive(Clone, Copy, Debug)]
pub struct Dumbbell {
    /// Hosts on either switch.
    pub hosts_per_side: u32,
    /// Rate of the access links.
    pub host_rate: BitRate,
    /// Rate between the switches.
    pub bottleneck_rate: BitRate,
    /// Propagation delay of the access links.
    pub delay: Time,
    /// Propagation delay between the switches.
    pub bottleneck_delay: Time,
}

impl Dumbbell {
    /// Hosts `0..n` are on `left`, `n..2n` on `right`; the bottleneck is the last cable, so it is the last
    /// port of either switch.
    #[must_use]
    pub fn build(&self) -> Topology {
        let side = |host| if host < self.hosts_per_side { 0 } else { 1 };
        let access =
            |host| LinkSpec::new(Node::Host(host), Node::Switch(side(host)), self.host_rate, self.delay);
        let mut links: Vec<_> = (0..2 * self.hosts_per_side).map(access).collect();
        let (left, right) = (Node::Switch(0), Node::Switch(1));
        links.push(LinkSpec::new(left, right, self.bottleneck_rate, self.bottleneck_delay));
        Topology {
            kind: "dumbbell".to_owned(),
            hosts: host_names(2 * self.hosts_per_side),
            switches: vec!["left".to_owned(), "right".to_owned()],
            tiers: vec![0, 0],
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
    fn a_dumbbell_has_one_bottleneck_and_two_racks() {
        let (host_rate, bottleneck_rate) = (BitRate::gbps(10), BitRate::gbps(1));
        let (delay, bottleneck_delay) = (Time::from_us(10), Time::from_ms(1));
        let topology =
            Dumbbell { hosts_per_side: 3, host_rate, bottleneck_rate, delay, bottleneck_delay }.build();
        assert_sound(&topology, 6, 2, 7);
        assert_eq!(topology.racks(), [vec![0, 1, 2], vec![3, 4, 5]]);
        assert_eq!(topology.switch_port_rates(1).last(), Some(&bottleneck_rate));
        assert_eq!(topology.leaf_uplink_capacity_bps(1), 1_000_000_000);
    }
}
