//! The leaf-spine fabric: racks of hosts on leaves, with cables from every leaf to every spine.

use super::{DELAY, NODES, RATE};
use crate::{LinkSpec, Node, Topology, TopologyInfo, numbered};
use bufferlab_params::{Fault, Faults, ParamInfo, ParamKind, ParamValue, Params};

/// Registry entry of the topology leaf-spine.
pub(crate) static INFO: TopologyInfo = TopologyInfo {
    name: "leaf_spine",
    aliases: &[],
    title: "Leaf-spine fabric",
    summary: "Racks of hosts on leaves `leaf0`, `leaf1` …, every leaf cabled to every spine `spine0`, `spine1` …",
    source: "",
    params: PARAMS,
    build: &build,
};

const PARAMS: &[ParamInfo] = &[
    ParamInfo::required("leaves", NODES, "2", "Number of leaves (racks)."),
    ParamInfo::required("hosts_per_leaf", NODES, "32", "Hosts on every leaf."),
    ParamInfo::required("spines", NODES, "2", "Number of spines."),
    ParamInfo::with_default(
        "links_per_pair",
        ParamKind::Count { min: 1, max: 1024 },
        ParamValue::Count(1),
        "Parallel cables between a leaf and a spine.",
    ),
    ParamInfo::required("host_rate", ParamKind::RATE, RATE, "Rate of the access links."),
    ParamInfo::computed(
        "fabric_rate",
        ParamKind::RATE,
        "`host_rate`",
        RATE,
        "Rate of a cable between leaf and spine.",
    ),
    ParamInfo::required("delay", ParamKind::DELAY, DELAY, "Propagation delay of the access links, one way."),
    ParamInfo::computed(
        "fabric_delay",
        ParamKind::DELAY,
        "`delay`",
        DELAY,
        "Propagation delay between leaf and spine, one way.",
    ),
];

/// Maximum number of hosts and of cables of the fabric.
/// A larger fabric would not fit a machine's memory, and is probably a typing error.
pub(crate) const MAX_LINKS: u64 = 1 << 18;

/// Builds the leaf-spine fabric. Host i is on leaf i / `hosts_per_leaf`.
/// The ports of a leaf are its hosts, then the cables of spine 0, of spine 1 … The ports of a
/// spine are the cables of leaf 0, of leaf 1 … The leaves are the first switches.
fn build(params: &mut Params) -> Result<Topology, Faults> {
    let (leaves, spines) = (params.small_count("leaves"), params.small_count("spines"));
    let (per_leaf, per_pair) = (params.small_count("hosts_per_leaf"), params.small_count("links_per_pair"));
    let (host_rate, host_delay) = (params.rate("host_rate"), params.time("delay"));
    let fabric_rate = params.rate_or("fabric_rate", host_rate);
    let fabric_delay = params.time_or("fabric_delay", host_delay);
    let hosts = u64::from(leaves) * u64::from(per_leaf);
    let cables = u64::from(leaves) * u64::from(spines) * u64::from(per_pair);
    if hosts < 2 || hosts.max(cables) > MAX_LINKS {
        let message = format!("{hosts} hosts and {cables} cables in the fabric");
        let label = format!("expected at least 2 hosts, and at most {MAX_LINKS} of either");
        let fault = Fault::new("leaves", message, label);
        return Err(fault.help("choose fewer leaves, spines or cables between two of them").into());
    }
    let hosts = leaves * per_leaf;
    let leaf = |index: u32| Node::Switch(index);
    let spine = |index: u32| Node::Switch(leaves + index);
    let access = |host: u32| LinkSpec::new(Node::Host(host), leaf(host / per_leaf), host_rate, host_delay);
    let mut links: Vec<_> = (0..hosts).map(access).collect();
    for l in 0..leaves {
        for s in 0..spines {
            let cable = LinkSpec::new(leaf(l), spine(s), fabric_rate, fabric_delay);
            links.extend(std::iter::repeat_n(cable, per_pair as usize));
        }
    }
    let switches = [numbered("leaf", leaves), numbered("spine", spines)].concat();
    Ok(Topology::new(numbered("h", hosts), switches, links))
}

#[cfg(test)]
mod tests {
    use crate::Node;
    use crate::tests::{assert_sound, built};
    use bufferlab_params::ParamValue;
    use bufferlab_units::{BitRate, Time};

    #[test]
    fn the_reduced_abm_fabric_has_40_port_leaves_and_8_port_spines_at_4_to_1() {
        let topology = built(
            "leaf_spine",
            &[
                ("leaves", ParamValue::Count(2)),
                ("hosts_per_leaf", ParamValue::Count(32)),
                ("spines", ParamValue::Count(2)),
                ("links_per_pair", ParamValue::Count(4)),
                ("host_rate", ParamValue::Rate(BitRate::gbps(10))),
                ("delay", ParamValue::Time(Time::from_us(10))),
            ],
        );
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
