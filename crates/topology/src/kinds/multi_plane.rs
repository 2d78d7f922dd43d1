//! Several leaf-spine planes: every host has a card with a port on each plane.

use super::{DELAY, NODES, RATE};
use crate::kinds::leaf_spine::MAX_LINKS;
use crate::{LinkSpec, Node, Topology, TopologyInfo, numbered};
use bufferlab_params::{Fault, Faults, ParamInfo, ParamKind, Params};
use bufferlab_units::BitRate;

/// Registry entry of the topology multi-plane.
pub(crate) static INFO: TopologyInfo = TopologyInfo {
    name: "multi_plane",
    aliases: &[],
    title: "Multi-plane leaf-spine fabric",
    summary: "Equal leaf-spine planes without cables between them. The card of host i is the switch `nic0`, `nic1` …, with a \
              port of rate `host_rate`/`planes` on each plane. Switches of a plane: `leaf0_1` (plane, number), `spine0_1`.",
    source: "",
    params: PARAMS,
    build: &build,
};

const PARAMS: &[ParamInfo] = &[
    ParamInfo::required("planes", ParamKind::Count { min: 1, max: 64 }, "4", "Number of planes."),
    ParamInfo::required("leaves", NODES, "4", "Leaves of a plane."),
    ParamInfo::required("hosts_per_leaf", NODES, "32", "Hosts with a port on a leaf."),
    ParamInfo::required("spines", NODES, "4", "Spines of a plane."),
    ParamInfo::required(
        "host_rate",
        ParamKind::RATE,
        "\"800 Gb/s\"",
        "Rate of a card on all planes together.",
    ),
    ParamInfo::computed(
        "fabric_rate",
        ParamKind::RATE,
        "`host_rate`/`planes`",
        RATE,
        "Rate of a cable between leaf and spine.",
    ),
    ParamInfo::required(
        "delay",
        ParamKind::DELAY,
        DELAY,
        "Propagation delay between card and leaf, one way.",
    ),
    ParamInfo::computed(
        "fabric_delay",
        ParamKind::DELAY,
        "`delay`",
        DELAY,
        "Propagation delay between leaf and spine, one way.",
    ),
];

/// Builds the leaf-spine planes. Host i has a cable without delay to its card, which is switch i.
/// The ports of a card are its host, then the planes in order. The leaves of all planes follow,
/// then the spines.
fn build(params: &mut Params) -> Result<Topology, Faults> {
    let (planes, leaves) = (params.small_count("planes"), params.small_count("leaves"));
    let (per_leaf, spines) = (params.small_count("hosts_per_leaf"), params.small_count("spines"));
    let (host_rate, delay) = (params.rate("host_rate"), params.time("delay"));
    let port_rate = BitRate(host_rate.0 / u64::from(planes));
    let fabric_rate = params.rate_or("fabric_rate", port_rate);
    let fabric_delay = params.time_or("fabric_delay", delay);
    let [p, l, h, s] = [planes, leaves, per_leaf, spines].map(u64::from);
    let (hosts, cables) = (l * h, p * (l * h + l * s));
    if hosts < 2 || cables > MAX_LINKS || port_rate.0 == 0 {
        let message = format!("{hosts} hosts and {cables} cables in the planes");
        let label =
            format!("expected at least 2 hosts, at most {MAX_LINKS} cables, and a rate for each plane");
        let fault = Fault::new("planes", message, label);
        return Err(fault.help("choose fewer planes, leaves, hosts or spines").into());
    }
    let hosts = leaves * per_leaf;
    let leaf = |plane: u32, number: u32| Node::Switch(hosts + plane * leaves + number);
    let spine = |plane: u32, number: u32| Node::Switch(hosts + planes * leaves + plane * spines + number);
    let no_delay = bufferlab_units::Time::ZERO;
    let access = |host: u32| LinkSpec::new(Node::Host(host), Node::Switch(host), host_rate, no_delay);
    let mut links: Vec<_> = (0..hosts).map(access).collect();
    for host in 0..hosts {
        let port = |plane| LinkSpec::new(Node::Switch(host), leaf(plane, host / per_leaf), port_rate, delay);
        links.extend((0..planes).map(port));
    }
    for plane in 0..planes {
        for number in 0..leaves {
            let cable = |to| LinkSpec::new(leaf(plane, number), spine(plane, to), fabric_rate, fabric_delay);
            links.extend((0..spines).map(cable));
        }
    }
    let named = |prefix: &str, count: u32| -> Vec<String> {
        (0..planes * count).map(|index| format!("{prefix}{}_{}", index / count, index % count)).collect()
    };
    let switches = [numbered("nic", hosts), named("leaf", leaves), named("spine", spines)].concat();
    Ok(Topology::new(numbered("h", hosts), switches, links))
}

#[cfg(test)]
mod tests {
    use crate::tests::{assert_sound, built, distances_between_racks};
    use bufferlab_params::ParamValue::{Count, Rate, Time as Delay};
    use bufferlab_units::{BitRate, Time};

    #[test]
    fn every_plane_offers_its_spines_to_hosts_of_two_leaves() {
        let topology = built(
            "multi_plane",
            &[
                ("planes", Count(4)),
                ("leaves", Count(2)),
                ("hosts_per_leaf", Count(3)),
                ("spines", Count(2)),
                ("host_rate", Rate(BitRate::gbps(800))),
                ("delay", Delay(Time::from_us(1))),
            ],
        );
        assert_sound(&topology, 6, 6 + 4 * (2 + 2), 6 + 6 * 4 + 4 * 2 * 2);
        assert_eq!(topology.leaf_uplink_capacity_bps(0), 800_000_000_000);
        // Two cards of one leaf have one path per plane. Cards of two leaves have one path per
        // plane and spine.
        let mut pairs = distances_between_racks(&topology);
        pairs.sort_unstable();
        pairs.dedup();
        assert_eq!(pairs, [(2, 4), (4, 8)]);
    }
}
