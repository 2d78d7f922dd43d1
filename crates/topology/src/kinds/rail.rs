//! Rail-optimised fabric: the GPUs of equal position in their servers share leaves.

use super::{DELAY, NODES, RATE};
use crate::kinds::leaf_spine::MAX_LINKS;
use crate::{LinkSpec, Node, Topology, TopologyInfo, numbered};
use bufferlab_params::{Fault, Faults, ParamInfo, ParamKind, ParamValue, Params};
use bufferlab_units::{BitRate, Time};

/// Registry entry of the topology rail-optimised fabric.
pub(crate) static INFO: TopologyInfo = TopologyInfo {
    name: "rail",
    aliases: &[],
    title: "Rail-optimised leaf-spine fabric",
    summary: "Servers with several GPUs; every GPU has a network card. GPU r of every server is on a leaf of rail r: `rail0_0` (rail, \
              number). All leaves are cabled to all spines. Hosts are the GPUs of server 0, of server 1 …",
    source: "",
    params: PARAMS,
    build: &build,
};

const PARAMS: &[ParamInfo] = &[
    ParamInfo::required("servers", NODES, "16", "Number of servers."),
    ParamInfo::required("rails", NODES, "8", "GPUs of a server, each with a card on its own rail."),
    SERVERS_PER_LEAF,
    ParamInfo::required("spines", NODES, "4", "Number of spines."),
    LINKS_PER_PAIR,
    ParamInfo::required("host_rate", ParamKind::RATE, "\"400 Gb/s\"", "Rate of the access links."),
    FABRIC_RATE,
    ParamInfo::required("delay", ParamKind::DELAY, DELAY, "Propagation delay of the access links, one way."),
    FABRIC_DELAY,
];

pub(super) const SERVERS_PER_LEAF: ParamInfo = ParamInfo::computed(
    "servers_per_leaf",
    NODES,
    "`servers`, which gives one leaf per rail",
    "32",
    "Servers with a card on the same leaf, a divisor of `servers`.",
);

pub(super) const LINKS_PER_PAIR: ParamInfo = ParamInfo::with_default(
    "links_per_pair",
    ParamKind::Count { min: 1, max: 1024 },
    ParamValue::Count(1),
    "Parallel cables between a leaf and a spine.",
);

const FABRIC_RATE: ParamInfo = ParamInfo::computed(
    "fabric_rate",
    ParamKind::RATE,
    "`host_rate`",
    RATE,
    "Rate of a cable between leaf and spine.",
);

pub(super) const FABRIC_DELAY: ParamInfo = ParamInfo::computed(
    "fabric_delay",
    ParamKind::DELAY,
    "`delay`",
    DELAY,
    "Propagation delay between leaf and spine, one way.",
);

/// Rate and propagation delay of a cable.
pub(super) type Cable = (BitRate, Time);

/// Leaf and spine switches of the rails. Leaf `number` of a rail has the cards of server `number` ·
/// `servers_per_leaf` and of the next servers.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rails {
    pub(super) servers: u32,
    pub(super) rails: u32,
    pub(super) servers_per_leaf: u32,
    pub(super) spines: u32,
    pub(super) links_per_pair: u32,
    /// Number of switches of the network that precede the first leaf.
    pub(super) first: u32,
}

impl Rails {
    /// Reads the parameters that all topologies with rails have.
    pub(super) fn read(params: &mut Params, rails: u32) -> Result<Self, Faults> {
        let servers = params.small_count("servers");
        if !params.has("servers_per_leaf") {
            params.set("servers_per_leaf", ParamValue::Count(servers.into()));
        }
        let servers_per_leaf = params.small_count("servers_per_leaf");
        if !servers.is_multiple_of(servers_per_leaf) {
            let message = format!("{servers} servers do not fill leaves of {servers_per_leaf} servers");
            let fault = Fault::new("servers_per_leaf", message, "expected a divisor of `servers`");
            return Err(fault.help("choose a divisor of the number of servers").into());
        }
        let (spines, links_per_pair) = (params.small_count("spines"), params.small_count("links_per_pair"));
        let this = Self { servers, rails, servers_per_leaf, spines, links_per_pair, first: 0 };
        let hosts = u64::from(servers) * u64::from(rails);
        let cables = u64::from(this.leaves_per_rail())
            * u64::from(rails)
            * u64::from(spines)
            * u64::from(links_per_pair);
        if hosts < 2 || hosts.max(cables) > MAX_LINKS {
            let message = format!("{hosts} cards and {cables} cables in the fabric");
            let label = format!("expected at least 2 cards, and at most {MAX_LINKS} of either");
            let fault = Fault::new("servers", message, label);
            return Err(fault
                .help("choose fewer servers, rails, spines or cables between two of them")
                .into());
        }
        Ok(this)
    }

    pub(super) const fn leaves_per_rail(&self) -> u32 {
        self.servers / self.servers_per_leaf
    }

    /// Switch of a rail to which a server has a cable.
    pub(super) const fn leaf(&self, rail: u32, server: u32) -> u32 {
        self.first + rail * self.leaves_per_rail() + server / self.servers_per_leaf
    }

    pub(super) const fn spine(&self, number: u32) -> u32 {
        self.first + self.rails * self.leaves_per_rail() + number
    }

    /// Cables between leaves and spines. The ports of a leaf are its cards, then the spines.
    pub(super) fn cables(&self, (rate, delay): Cable) -> Vec<LinkSpec> {
        let mut links = Vec::new();
        for leaf in self.first..self.spine(0) {
            for spine in 0..self.spines {
                let cable = LinkSpec::new(Node::Switch(leaf), Node::Switch(self.spine(spine)), rate, delay);
                links.extend(std::iter::repeat_n(cable, self.links_per_pair as usize));
            }
        }
        links
    }

    /// Names of the leaf switches, then of the spine switches.
    pub(super) fn names(&self) -> Vec<String> {
        let leaves = self.leaves_per_rail();
        let name = |leaf: u32| format!("rail{}_{}", leaf / leaves, leaf % leaves);
        let mut names: Vec<_> = (0..self.rails * leaves).map(name).collect();
        names.extend(numbered("spine", self.spines));
        names
    }
}

/// Builds the rail-optimised fabric. Host i is GPU i mod `rails` of server i / `rails`.
fn build(params: &mut Params) -> Result<Topology, Faults> {
    let count = params.small_count("rails");
    let rails = Rails::read(params, count)?;
    let (rate, delay) = (params.rate("host_rate"), params.time("delay"));
    let fabric = (params.rate_or("fabric_rate", rate), params.time_or("fabric_delay", delay));
    let hosts = rails.servers * rails.rails;
    let access = |host: u32| {
        let leaf = rails.leaf(host % rails.rails, host / rails.rails);
        LinkSpec::new(Node::Host(host), Node::Switch(leaf), rate, delay)
    };
    let mut links: Vec<_> = (0..hosts).map(access).collect();
    links.extend(rails.cables(fabric));
    Ok(Topology::new(numbered("h", hosts), rails.names(), links))
}

#[cfg(test)]
mod tests {
    use crate::Node;
    use crate::tests::{assert_sound, built, distances_between_racks};
    use bufferlab_params::ParamValue::{Count, Rate, Time as Delay};
    use bufferlab_units::{BitRate, Time};

    #[test]
    fn gpus_of_a_rail_share_a_leaf_and_others_are_three_switches_apart() {
        let topology = built(
            "rail",
            &[
                ("servers", Count(16)),
                ("rails", Count(8)),
                ("servers_per_leaf", Count(8)),
                ("spines", Count(4)),
                ("host_rate", Rate(BitRate::gbps(400))),
                ("delay", Delay(Time::from_us(1))),
            ],
        );
        // The fabric has 8 rails of 2 leaves, 128 access cables, and 16 · 4 cables to spines.
        assert_sound(&topology, 128, 16 + 4, 128 + 64);
        for leaf in 0..16 {
            assert_eq!(topology.ports_of(leaf).len(), 8 + 4);
        }
        for spine in 16..20 {
            assert_eq!(topology.ports_of(spine).len(), 16);
        }
        let rack = |host: u32| topology.racks().iter().position(|rack| rack.contains(&host));
        // GPU 3 of servers 0 and 7 share a leaf; server 8 is on the next leaf of the rail.
        assert_eq!(rack(3), rack(7 * 8 + 3));
        assert_ne!(rack(3), rack(8 * 8 + 3));
        let leaf = topology.node("rail3_0").expect("a leaf");
        assert_eq!(topology.links[3].from(Node::Host(3)).map(|(node, _)| node), Some(leaf));
        // Every path between two leaves has two cables, and every pair of leaves has one path per
        // spine.
        let distances = distances_between_racks(&topology);
        assert!(distances.iter().all(|&(hops, paths)| (hops, paths) == (2, 4)), "{distances:?}");
    }
}
