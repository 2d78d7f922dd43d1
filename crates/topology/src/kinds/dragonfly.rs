//! Dragonfly: groups of fully connected routers, and global cables between all groups.

use super::{DELAY, MAX_NODES, NODES, RATE};
use crate::kinds::leaf_spine::MAX_LINKS;
use crate::{LinkSpec, Node, Topology, TopologyInfo, numbered};
use bufferlab_params::{Fault, Faults, ParamInfo, ParamKind, ParamValue, Params};

/// Registry entry of the topology Dragonfly.
pub(crate) static INFO: TopologyInfo = TopologyInfo {
    name: "dragonfly",
    aliases: &[],
    title: "Dragonfly",
    summary: "Groups of `a` routers, such as `router0_1` (group, number), with a cable between any two routers of a group. Every router \
              has `p` hosts and `h` global cables to other groups, so there are at most a·h + 1 groups. Packets take the path \
              of fewest routers, which may pass a third group.",
    source: "Kim, Dally, Scott, Abts, ISCA 2008",
    params: PARAMS,
    build: &build,
};

const PARAMS: &[ParamInfo] = &[
    ParamInfo::required("routers_per_group", NODES, "8", "Routers of a group, a. Balanced: a = 2p = 2h."),
    ParamInfo::required("hosts_per_router", NODES, "4", "Hosts of a router, p."),
    ParamInfo::required("global_links", NODES, "4", "Global cables of a router, h."),
    ParamInfo::computed(
        "groups",
        ParamKind::Count { min: 2, max: MAX_NODES },
        "the largest number, a·h + 1",
        "33",
        "Number of groups. Fewer groups have several cables between two groups.",
    ),
    ParamInfo::required("host_rate", ParamKind::RATE, RATE, "Rate of the access links."),
    ParamInfo::computed(
        "fabric_rate",
        ParamKind::RATE,
        "`host_rate`",
        RATE,
        "Rate of the cables between routers.",
    ),
    ParamInfo::required("delay", ParamKind::DELAY, DELAY, "Propagation delay inside a group, one way."),
    ParamInfo::computed(
        "global_delay",
        ParamKind::DELAY,
        "`delay`",
        DELAY,
        "Propagation delay between groups, one way.",
    ),
];

/// Builds the Dragonfly. Host i is on router i / p. The ports of a router are its hosts, then the
/// routers of its group. Global cables follow group by group. Global port k of a group belongs to
/// router k / h, and leads to the group that is k mod (g − 1) + 1 groups further.
fn build(params: &mut Params) -> Result<Topology, Faults> {
    let (a, p) = (params.small_count("routers_per_group"), params.small_count("hosts_per_router"));
    let h = params.small_count("global_links");
    let most = u64::from(a) * u64::from(h) + 1;
    if !params.has("groups") {
        params.set("groups", ParamValue::Count(most.min(MAX_NODES)));
    }
    let groups = params.small_count("groups");
    if u64::from(groups) > most {
        let message =
            format!("{groups} groups need {} global cables each, and have {}", groups - 1, most - 1);
        let fault = Fault::new("groups", message, format!("expected at most a·h + 1 = {most} groups"));
        return Err(fault.help("choose fewer groups, or more routers or global cables").into());
    }
    let routers = u64::from(groups) * u64::from(a);
    let cables = routers * u64::from(a - 1 + h) / 2;
    if routers * u64::from(p) > MAX_NODES || cables > MAX_LINKS {
        let message = format!("{} hosts and {cables} cables between routers", routers * u64::from(p));
        let fault = Fault::new(
            "groups",
            message,
            format!("expected at most {MAX_NODES} hosts and {MAX_LINKS} cables"),
        );
        return Err(fault.help("choose fewer groups, routers, hosts or cables").into());
    }
    let (host_rate, delay) = (params.rate("host_rate"), params.time("delay"));
    let rate = params.rate_or("fabric_rate", host_rate);
    let global_delay = params.time_or("global_delay", delay);
    let hosts = groups * a * p;
    let mut links: Vec<_> = (0..hosts)
        .map(|host| LinkSpec::new(Node::Host(host), Node::Switch(host / p), host_rate, delay))
        .collect();
    for group in 0..groups {
        for one in 0..a {
            let other = |other| {
                LinkSpec::new(Node::Switch(group * a + one), Node::Switch(group * a + other), rate, delay)
            };
            links.extend((one + 1..a).map(other));
        }
    }
    // The cables connect each group with every other group equally often. Other global ports are
    // unused.
    let others = groups - 1;
    let used = a * h / others * others;
    for group in 0..groups {
        for port in 0..used {
            let peer = (group + port % others + 1) % groups;
            let back = port / others * others + others - 1 - port % others;
            if group < peer {
                let (from, to) = (Node::Switch(group * a + port / h), Node::Switch(peer * a + back / h));
                links.push(LinkSpec::new(from, to, rate, global_delay));
            }
        }
    }
    let names = (0..groups * a).map(|router| format!("router{}_{}", router / a, router % a)).collect();
    Ok(Topology::new(numbered("h", hosts), names, links))
}

#[cfg(test)]
mod tests {
    use crate::tests::{assert_sound, built, distances_between_racks};
    use crate::{Node, Topology};
    use bufferlab_params::ParamValue::{Count, Rate, Time as Delay};
    use bufferlab_units::{BitRate, Time};
    use std::collections::BTreeMap;

    fn dragonfly(a: u64, p: u64, h: u64, groups: Option<u64>) -> Topology {
        let mut params = vec![
            ("routers_per_group", Count(a)),
            ("hosts_per_router", Count(p)),
            ("global_links", Count(h)),
            ("host_rate", Rate(BitRate::gbps(100))),
            ("delay", Delay(Time::from_us(1))),
        ];
        params.extend(groups.map(|groups| ("groups", Count(groups))));
        built("dragonfly", &params)
    }

    #[test]
    fn the_largest_dragonfly_has_one_global_cable_between_two_groups() {
        for (a, p, h) in [(2, 1, 1), (4, 2, 2), (8, 4, 4)] {
            let topology = dragonfly(a, p, h, None);
            let groups = a * h + 1;
            // Kim et al., section 3.1: N = ap(ah + 1) hosts, routers of p + a + h − 1 ports.
            let links = groups * a * p + groups * a * (a - 1) / 2 + groups * (groups - 1) / 2;
            assert_sound(&topology, (a * p * groups) as usize, (groups * a) as usize, links as usize);
            for router in 0..topology.switches.len() as u32 {
                assert_eq!(topology.ports_of(router).len() as u64, p + a + h - 1);
            }
            // The longest shortest path has a local, a global and a local cable, so the diameter is
            // 3.
            let most = distances_between_racks(&topology).into_iter().map(|(hops, _)| hops).max();
            assert_eq!(most, Some(3));
        }
    }

    #[test]
    fn fewer_groups_share_the_global_cables_evenly() {
        let topology = dragonfly(4, 2, 2, Some(5));
        let mut cables: BTreeMap<(u32, u32), u32> = BTreeMap::new();
        for link in &topology.links {
            if let (Node::Switch(from), Node::Switch(to)) = (link.a, link.b) {
                *cables.entry((from / 4, to / 4)).or_default() += 1;
            }
        }
        let between: Vec<_> = cables.into_iter().filter(|((from, to), _)| from != to).collect();
        // Each of the 5 groups has 8 global ports, that is 2 cables to each of the 4 other groups.
        assert_eq!(between.len(), 10);
        assert!(between.iter().all(|(_, count)| *count == 2), "{between:?}");
    }
}
