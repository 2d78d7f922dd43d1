//! The three-tier fat tree of switches with k ports.

use super::{DELAY, RATE};
use crate::{LinkSpec, Node, Topology, TopologyInfo, numbered};
use bufferlab_params::{Fault, Faults, ParamInfo, ParamKind, Params};

/// Registry entry of the topology fat tree.
pub(crate) static INFO: TopologyInfo = TopologyInfo {
    name: "fat_tree",
    aliases: &[],
    title: "Fat tree",
    summary: "The three-tier fat tree of k-port switches: k pods of k/2 edge and k/2 aggregation switches, (k/2)² \
              cores, k³/4 hosts. Switches: `edge0_1` (pod, number), `agg0_1`, `core0`.",
    source: "Al-Fares, Loukissas, Vahdat, SIGCOMM 2008",
    params: PARAMS,
    build: &build,
};

const PARAMS: &[ParamInfo] = &[
    ParamInfo::required("k", ParamKind::Count { min: 2, max: 64 }, "4", "Ports per switch, even."),
    ParamInfo::required("rate", ParamKind::RATE, RATE, "Rate of every link."),
    ParamInfo::required("delay", ParamKind::DELAY, DELAY, "Propagation delay of every link, one way."),
];

/// Builds the fat tree. Aggregation switch j of every pod has cables to cores j·k/2 … (j+1)·k/2
/// − 1. The order of switches is: edges pod by pod, aggregations pod by pod, cores.
fn build(params: &mut Params) -> Result<Topology, Faults> {
    let (k, rate, delay) = (params.small_count("k"), params.rate("rate"), params.time("delay"));
    if !k.is_multiple_of(2) {
        let fault = Fault::new("k", format!("{k} is odd"), "expected an even number of ports per switch");
        return Err(fault.help(format!("k = {} gives {} hosts", k + 1, (k + 1).pow(3) / 4)).into());
    }
    let half = k / 2;
    let per_tier = k * half;
    let edge = |pod: u32, index: u32| Node::Switch(pod * half + index);
    let aggregation = |pod: u32, index: u32| Node::Switch(per_tier + pod * half + index);
    let core = |index: u32| Node::Switch(2 * per_tier + index);
    let link = |a, b| LinkSpec::new(a, b, rate, delay);

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
    let switches = [names("edge"), names("agg"), numbered("core", half * half)].concat();
    Ok(Topology::new(numbered("h", hosts), switches, links))
}

#[cfg(test)]
mod tests {
    use crate::tests::{assert_sound, built};
    use crate::{Node, Topology};
    use bufferlab_params::ParamValue;
    use bufferlab_units::{BitRate, Time};

    fn fat_tree(k: u32) -> Topology {
        let (rate, delay) = (ParamValue::Rate(BitRate::gbps(10)), ParamValue::Time(Time::from_us(1)));
        built("fat_tree", &[("k", ParamValue::Count(k.into())), ("rate", rate), ("delay", delay)])
    }

    #[test]
    fn every_switch_of_a_fat_tree_has_k_ports_and_no_tier_is_oversubscribed() {
        for k in [2, 4, 8_u32] {
            let topology = fat_tree(k);
            let (hosts, half) = ((k * k * k / 4) as usize, (k / 2) as usize);
            // The network has k³/4 cables in each of three tiers.
            assert_sound(&topology, hosts, (2 * k) as usize * half + half * half, 3 * hosts);
            for switch in 0..topology.switches.len() as u32 {
                assert_eq!(topology.ports_of(switch).len(), k as usize, "switch {switch}, k = {k}");
            }
            let (per_tier, cores) = ((k * k / 2) as usize, half * half);
            let tiers = [vec![0; per_tier], vec![1; per_tier], vec![2; cores]].concat();
            assert_eq!(topology.tiers, tiers, "edges, aggregations, cores");
            assert_eq!(topology.racks().len(), per_tier);
            let rack_bps = topology.racks()[0].len() as u64 * 10_000_000_000;
            assert_eq!(topology.leaf_uplink_capacity_bps(0), rack_bps);
        }
    }

    #[test]
    fn a_core_reaches_every_pod_once() {
        let topology = fat_tree(4);
        let core = topology.node("core0").expect("there is a core 0");
        let Node::Switch(index) = core else { panic!("a core is a switch") };
        let peers: Vec<_> =
            topology.ports_of(index).iter().map(|port| topology.node_name(port.peer).to_owned()).collect();
        assert_eq!(peers, ["agg0_0", "agg1_0", "agg2_0", "agg3_0"]);
    }
}
