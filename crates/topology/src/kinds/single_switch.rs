//! The star: all hosts on one switch, as in the examples of most papers.

use super::{DELAY, MAX_PORTS, RATE};
use crate::{LinkSpec, Node, Topology, TopologyInfo, numbered};
use bufferlab_params::{Faults, ParamInfo, ParamKind, Params};

/// Registry entry of the topology single switch.
pub(crate) static INFO: TopologyInfo = TopologyInfo {
    name: "single_switch",
    aliases: &[],
    title: "Single switch",
    summary: "All hosts on one switch, called `switch`.",
    source: "",
    params: PARAMS,
    build: &build,
};

const PARAMS: &[ParamInfo] = &[
    ParamInfo::required("hosts", ParamKind::Count { min: 2, max: MAX_PORTS }, "8", "Number of hosts."),
    ParamInfo::required("rate", ParamKind::RATE, RATE, "Rate of every link."),
    ParamInfo::computed(
        "uplink_rate",
        ParamKind::RATE,
        "`rate`",
        "\"100 Gb/s\"",
        "Rate from the hosts to the switch, if it differs. With fast uplinks, bursts arrive at the rate of their \
         source and only the switch's ports are slow.",
    ),
    ParamInfo::required("delay", ParamKind::DELAY, DELAY, "Propagation delay of every link, one way."),
];

/// Builds the network of a single switch; host i is on port i.
fn build(params: &mut Params) -> Result<Topology, Faults> {
    let (hosts, rate, delay) = (params.small_count("hosts"), params.rate("rate"), params.time("delay"));
    let uplink_rate = params.given_rate("uplink_rate").unwrap_or(rate);
    let link = |host| LinkSpec {
        rate_ab: uplink_rate,
        ..LinkSpec::new(Node::Host(host), Node::Switch(0), rate, delay)
    };
    let links = (0..hosts).map(link).collect();
    Ok(Topology::new(numbered("h", hosts), vec!["switch".to_owned()], links))
}

#[cfg(test)]
mod tests {
    use crate::Node;
    use crate::tests::{assert_sound, built};
    use bufferlab_params::ParamValue;
    use bufferlab_units::{BitRate, Time};

    #[test]
    fn a_star_has_one_port_and_one_link_per_host() {
        let (rate, uplink_rate) = (BitRate::gbps(1), BitRate::gbps(10));
        let topology = built(
            "single_switch",
            &[
                ("hosts", ParamValue::Count(8)),
                ("rate", ParamValue::Rate(rate)),
                ("uplink_rate", ParamValue::Rate(uplink_rate)),
                ("delay", ParamValue::Time(Time::from_us(10))),
            ],
        );
        assert_sound(&topology, 8, 1, 8);
        assert_eq!((topology.ports_of(0)[3].rate, topology.host_rate(3)), (rate, uplink_rate));
        assert_eq!(topology.ports_of(0).len(), 8);
        assert_eq!(topology.ports_of(0)[3].peer, Node::Host(3));
        assert_eq!(topology.racks(), [(0..8).collect::<Vec<_>>()]);
        assert_eq!(topology.leaf_uplink_capacity_bps(0), 0);
    }
}
