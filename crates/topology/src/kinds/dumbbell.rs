//! The dumbbell: two switches with a bottleneck between them.

use super::{DELAY, MAX_PORTS, RATE};
use crate::{LinkSpec, Node, Topology, TopologyInfo, numbered};
use bufferlab_params::{Faults, ParamInfo, ParamKind, Params};

/// Registry entry of the topology dumbbell.
pub(crate) static INFO: TopologyInfo = TopologyInfo {
    name: "dumbbell",
    aliases: &[],
    title: "Dumbbell",
    summary: "Two switches, `left` and `right`, with a bottleneck between them. The left hosts come first.",
    source: "",
    params: PARAMS,
    build: &build,
};

const PARAMS: &[ParamInfo] = &[
    ParamInfo::required(
        "hosts_per_side",
        ParamKind::Count { min: 1, max: MAX_PORTS - 1 },
        "4",
        "Hosts on each switch.",
    ),
    ParamInfo::required("host_rate", ParamKind::RATE, RATE, "Rate of the access links."),
    ParamInfo::required("bottleneck_rate", ParamKind::RATE, RATE, "Rate of the link between the switches."),
    ParamInfo::required("delay", ParamKind::DELAY, DELAY, "Propagation delay of the access links, one way."),
    ParamInfo::computed(
        "bottleneck_delay",
        ParamKind::DELAY,
        "`delay`",
        "\"1 ms\"",
        "Propagation delay between the switches, one way.",
    ),
];

/// Builds the dumbbell. Hosts `0..n` are on `left`, and hosts `n..2n` are on `right`. The
/// bottleneck is the last cable, so the last port of each switch leads to the bottleneck.
fn build(params: &mut Params) -> Result<Topology, Faults> {
    let per_side = params.small_count("hosts_per_side");
    let (rate, delay) = (params.rate("host_rate"), params.time("delay"));
    let bottleneck_delay = params.time_or("bottleneck_delay", delay);
    let side = |host| Node::Switch(u32::from(host >= per_side));
    let access = |host| LinkSpec::new(Node::Host(host), side(host), rate, delay);
    let mut links: Vec<_> = (0..2 * per_side).map(access).collect();
    let (left, right) = (Node::Switch(0), Node::Switch(1));
    links.push(LinkSpec::new(left, right, params.rate("bottleneck_rate"), bottleneck_delay));
    let switches = vec!["left".to_owned(), "right".to_owned()];
    Ok(Topology::new(numbered("h", 2 * per_side), switches, links))
}

#[cfg(test)]
mod tests {
    use crate::tests::{assert_sound, built};
    use bufferlab_params::ParamValue;
    use bufferlab_units::{BitRate, Time};

    #[test]
    fn a_dumbbell_has_one_bottleneck_and_two_racks() {
        let bottleneck_rate = BitRate::gbps(1);
        let topology = built(
            "dumbbell",
            &[
                ("hosts_per_side", ParamValue::Count(3)),
                ("host_rate", ParamValue::Rate(BitRate::gbps(10))),
                ("bottleneck_rate", ParamValue::Rate(bottleneck_rate)),
                ("delay", ParamValue::Time(Time::from_us(10))),
                ("bottleneck_delay", ParamValue::Time(Time::from_ms(1))),
            ],
        );
        assert_sound(&topology, 6, 2, 7);
        assert_eq!(topology.racks(), [vec![0, 1, 2], vec![3, 4, 5]]);
        assert_eq!(topology.switch_port_rates(1).last(), Some(&bottleneck_rate));
        assert_eq!(topology.links[6].delay, Time::from_ms(1));
        assert_eq!(topology.leaf_uplink_capacity_bps(1), 1_000_000_000);
    }
}
