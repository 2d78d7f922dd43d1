//! Servers with a scale-up switch each, and network cards on rails.

use super::rail::{FABRIC_DELAY, LINKS_PER_PAIR, Rails, SERVERS_PER_LEAF};
use super::{DELAY, MAX_NODES, NODES, RATE};
use crate::{LinkSpec, Node, RouteSpec, Topology, TopologyInfo, numbered};
use bufferlab_params::{Fault, Faults, ParamInfo, ParamKind, Params};

/// Registry entry of the topology of servers with a scale-up network.
pub(crate) static INFO: TopologyInfo = TopologyInfo {
    name: "scale_up",
    aliases: &[],
    title: "Scale-up domains on rails",
    summary: "Servers of GPUs on a scale-up switch `server0`, `server1` … (NVLink-like). Each server has network cards, and \
              card r is cabled to a leaf of rail r: `rail0_0` (rail, number). Traffic for a GPU of another server uses \
              the rail of the destination GPU. Hosts are the GPUs of server 0, of server 1 …",
    source: "Wang et al., Rail-only, Hot Interconnects 2024",
    params: PARAMS,
    build: &build,
};

const PARAMS: &[ParamInfo] = &[
    ParamInfo::required("servers", NODES, "16", "Number of servers."),
    ParamInfo::required("gpus_per_server", NODES, "8", "GPUs of a server."),
    ParamInfo::computed(
        "nics_per_server",
        NODES,
        "`gpus_per_server`",
        "8",
        "Network cards of a server, a divisor of `gpus_per_server`; each has a rail.",
    ),
    SERVERS_PER_LEAF,
    ParamInfo::required(
        "spines",
        ParamKind::Count { min: 0, max: MAX_NODES },
        "4",
        "Number of spines; 0 is a rail-only network with one leaf per rail.",
    ),
    LINKS_PER_PAIR,
    ParamInfo::required(
        "scale_up_rate",
        ParamKind::RATE,
        "\"2400 Gb/s\"",
        "Rate of a GPU to its scale-up switch.",
    ),
    ParamInfo::required(
        "scale_up_delay",
        ParamKind::DELAY,
        "\"500 ns\"",
        "Propagation delay between a GPU and its scale-up switch, one way.",
    ),
    ParamInfo::required("nic_rate", ParamKind::RATE, "\"400 Gb/s\"", "Rate of a network card."),
    ParamInfo::computed(
        "fabric_rate",
        ParamKind::RATE,
        "`nic_rate`",
        RATE,
        "Rate of a cable between leaf and spine.",
    ),
    ParamInfo::required(
        "delay",
        ParamKind::DELAY,
        DELAY,
        "Propagation delay between card and leaf, one way.",
    ),
    FABRIC_DELAY,
];

/// Largest number of entries in the routing tables of all servers. Each entry takes 4 bytes.
pub(crate) const MAX_ROUTES: u64 = 1 << 27;

/// Builds the servers and rails. Host i is GPU i mod G of server i / G. The scale-up switches are
/// the first switches. The ports of a scale-up switch are its GPUs, then its cards.
fn build(params: &mut Params) -> Result<Topology, Faults> {
    let gpus = params.small_count("gpus_per_server");
    if !params.has("nics_per_server") {
        params.set("nics_per_server", bufferlab_params::ParamValue::Count(gpus.into()));
    }
    let nics = params.small_count("nics_per_server");
    if !gpus.is_multiple_of(nics) {
        let message = format!("{nics} cards do not divide {gpus} GPUs");
        let fault = Fault::new("nics_per_server", message, "expected a divisor of `gpus_per_server`");
        return Err(fault.help("choose a divisor of the number of GPUs").into());
    }
    let rails = Rails::read(params, nics)?;
    if rails.spines == 0 && rails.leaves_per_rail() > 1 {
        let message = "several leaves per rail without a spine".to_owned();
        let fault = Fault::new("spines", message, "expected a spine between the leaves of a rail");
        return Err(fault.help("choose a spine, or leave out servers_per_leaf").into());
    }
    let (nic_rate, delay) = (params.rate("nic_rate"), params.time("delay"));
    let fabric = (params.rate_or("fabric_rate", nic_rate), params.time_or("fabric_delay", delay));
    let (rate, up_delay) = (params.rate("scale_up_rate"), params.time("scale_up_delay"));
    let (servers, rails) = (rails.servers, Rails { first: rails.servers, ..rails });
    if u64::from(servers) * u64::from(gpus) > MAX_NODES {
        let message = format!("{servers} servers of {gpus} GPUs");
        let fault = Fault::new("servers", message, format!("expected at most {MAX_NODES} GPUs"));
        return Err(fault.help("choose fewer servers").into());
    }
    let entries = u64::from(servers) * u64::from(servers) * u64::from(gpus);
    if entries > MAX_ROUTES {
        let message = format!("{servers} servers with routes to {servers} × {gpus} GPUs: {entries} entries");
        let fault = Fault::new("servers", message, format!("expected at most {MAX_ROUTES} entries"));
        return Err(fault
            .help("choose fewer servers, or `kind = \"rail\"` and a workload with `scale_up_rate`")
            .into());
    }
    let hosts = servers * gpus;
    let gpu = |host: u32| LinkSpec::new(Node::Host(host), Node::Switch(host / gpus), rate, up_delay);
    let mut links: Vec<_> = (0..hosts).map(gpu).collect();
    for server in 0..servers {
        links.extend((0..nics).map(|rail| {
            LinkSpec::new(Node::Switch(server), Node::Switch(rails.leaf(rail, server)), nic_rate, delay)
        }));
    }
    links.extend(rails.cables(fabric));
    let names = [numbered("server", servers), rails.names()].concat();
    let routes = routes(&rails, gpus);
    Ok(Topology { routes, ..Topology::new(numbered("h", hosts), names, links) })
}

/// Routes at servers and spines that keep the traffic for a GPU on the rail of its card.
fn routes(rails: &Rails, gpus: u32) -> Vec<RouteSpec> {
    let per_card = gpus / rails.rails;
    let gpus_of =
        |server: u32, rail: u32| (0..per_card).map(move |gpu| server * gpus + rail * per_card + gpu);
    let mut routes = Vec::new();
    for rail in 0..rails.rails {
        for server in 0..rails.servers {
            let others = (0..rails.servers).filter(|&other| other != server);
            let to: Vec<u32> = others.flat_map(|other| gpus_of(other, rail)).collect();
            if !to.is_empty() {
                routes.push(RouteSpec { at: vec![server], to, via: rails.leaf(rail, server) });
            }
        }
        if rails.spines > 0 {
            let spines: Vec<u32> = (0..rails.spines).map(|spine| rails.spine(spine)).collect();
            for server in 0..rails.servers {
                let to = gpus_of(server, rail).collect();
                routes.push(RouteSpec { at: spines.clone(), to, via: rails.leaf(rail, server) });
            }
        }
    }
    routes
}

#[cfg(test)]
mod tests {
    use crate::tests::{assert_sound, built};
    use crate::{Node, Topology};
    use bufferlab_params::ParamValue::{Count, Rate, Time as Delay};
    use bufferlab_units::{BitRate, Time};

    fn servers(nics: u64, per_leaf: u64, spines: u64) -> Topology {
        built(
            "scale_up",
            &[
                ("servers", Count(8)),
                ("gpus_per_server", Count(8)),
                ("nics_per_server", Count(nics)),
                ("servers_per_leaf", Count(per_leaf)),
                ("spines", Count(spines)),
                ("scale_up_rate", Rate(BitRate::gbps(2_400))),
                ("scale_up_delay", Delay(Time::from_ns(500))),
                ("nic_rate", Rate(BitRate::gbps(400))),
                ("delay", Delay(Time::from_us(1))),
            ],
        )
    }

    #[test]
    fn a_server_has_its_gpus_and_its_cards() {
        for (nics, per_leaf, spines) in [(8, 4, 2), (4, 4, 2), (8, 8, 0), (1, 8, 0)] {
            let topology = servers(nics, per_leaf, spines);
            let leaves = nics * 8 / per_leaf;
            let links = 64 + 8 * nics + leaves * spines;
            assert_sound(&topology, 64, (8 + leaves + spines) as usize, links as usize);
            for server in 0..8 {
                assert_eq!(topology.ports_of(server).len() as u64, 8 + nics);
                assert_eq!(topology.leaf_uplink_capacity_bps(server as usize), nics * 400_000_000_000);
            }
            for leaf in 8..8 + leaves {
                assert_eq!(topology.ports_of(leaf as u32).len() as u64, per_leaf + spines);
            }
        }
    }

    #[test]
    fn traffic_stays_on_the_rail_of_the_destination() {
        let topology = servers(4, 4, 2);
        // GPU 5 of 8 uses card 2 of 4.
        let host = 7 * 8 + 5;
        let via = |at: u32| {
            let route =
                topology.routes.iter().filter(|route| route.at.contains(&at) && route.to.contains(&host));
            route.map(|route| topology.node_name(Node::Switch(route.via)).to_owned()).collect::<Vec<_>>()
        };
        assert_eq!(via(0), ["rail2_0"], "server 0 is in the first block");
        assert_eq!(via(7), Vec::<String>::new(), "the server's own GPUs are on its scale-up switch");
        let Some(Node::Switch(spine)) = topology.node("spine1") else { panic!("a spine") };
        assert_eq!(via(spine), ["rail2_1"]);
    }
}
