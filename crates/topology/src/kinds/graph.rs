//! A custom graph, whose scenario lists every node and cable.

use super::{DELAY, RATE};
use crate::{GraphProblem, LinkSpec, Topology, TopologyInfo};
use bufferlab_params::{
    Fault, Faults, ParamInfo, ParamKind, ParamPlace, ParamValue, Params, TableInfo, first_names, suggestion,
};
use std::collections::BTreeMap;

/// Registry entry of the topology `graph`, a custom graph.
pub(crate) static INFO: TopologyInfo = TopologyInfo {
    name: "graph",
    aliases: &[],
    title: "Graph",
    summary: "Any connected graph in which every host has exactly one cable.",
    source: "",
    params: PARAMS,
    build: &build,
};

const PARAMS: &[ParamInfo] = &[
    ParamInfo::required(
        "hosts",
        ParamKind::Nodes { prefix: "h" },
        "[\"client\", \"server\"]",
        "Number of hosts (h0, h1 …) or a list of their names.",
    ),
    ParamInfo::required(
        "switches",
        ParamKind::Nodes { prefix: "s" },
        "[\"s0\", \"s1\"]",
        "Number of switches (s0, s1 …) or a list of their names.",
    ),
    ParamInfo::required(
        "links",
        ParamKind::Tables(&LINK),
        "[{ a = \"h0\", b = \"s0\", rate = \"10 Gb/s\", delay = \"1 us\" }]",
        "The cables. A switch numbers its ports in this order.",
    ),
];

static LINK: TableInfo = TableInfo {
    title: "an entry of topology.links",
    doc: "A full-duplex cable of a graph.",
    params: &[
        ParamInfo::required("a", ParamKind::Text, "\"h0\"", "Node at one end."),
        ParamInfo::required("b", ParamKind::Text, "\"s0\"", "Node at the other end."),
        ParamInfo::required("rate", ParamKind::RATE, RATE, "Rate of each direction."),
        ParamInfo::required("delay", ParamKind::DELAY, DELAY, "Propagation delay, one way."),
        ParamInfo::with_default(
            "count",
            ParamKind::Count { min: 1, max: 1024 },
            ParamValue::Count(1),
            "Number of parallel cables.",
        ),
    ],
};

fn build(params: &mut Params) -> Result<Topology, Faults> {
    let (hosts, switches) = (params.texts("hosts"), params.texts("switches"));
    let twins = twins(hosts, switches);
    if !twins.is_empty() {
        return Err(Faults(twins));
    }
    let nodes = Topology { hosts: hosts.to_vec(), switches: switches.to_vec(), ..Topology::default() };
    let (mut links, mut places, mut faults) = (Vec::new(), Vec::new(), Vec::new());
    for (index, link) in params.tables("links").iter().enumerate() {
        let place = ParamPlace::new("links").element(index);
        let mut end = |key: &'static str| {
            let node = nodes.node(link.text(key));
            if node.is_none() {
                faults.push(stranger(&nodes, place.key(key), link.text(key)));
            }
            node
        };
        if let (Some(a), Some(b)) = (end("a"), end("b")) {
            let cable = LinkSpec::new(a, b, link.rate("rate"), link.time("delay"));
            let count = link.count("count") as usize;
            links.extend(std::iter::repeat_n(cable, count));
            places.extend(std::iter::repeat_n(place.key("b"), count));
        }
    }
    if !faults.is_empty() {
        return Err(Faults(faults));
    }
    let topology = Topology::new(nodes.hosts, nodes.switches, links);
    let problems = topology.problems();
    if problems.is_empty() {
        return Ok(topology);
    }
    Err(Faults(problems.iter().map(|problem| fault(&topology, &places, problem)).collect()))
}

/// Finds names that are used twice. Hosts and switches share one namespace.
fn twins(hosts: &[String], switches: &[String]) -> Vec<Fault> {
    let mut known: BTreeMap<&str, ParamPlace> = BTreeMap::new();
    let mut faults = Vec::new();
    for (key, nodes) in [("hosts", hosts), ("switches", switches)] {
        for (index, name) in nodes.iter().enumerate() {
            let place = ParamPlace::new(key).element(index);
            if let Some(&first) = known.get(name.as_str()) {
                let fault = Fault::new(place, format!("two nodes are called \"{name}\""), "the second one");
                let help = "rename one of them; hosts and switches share one set of names";
                faults.push(fault.also(first, "the first one").help(help));
            } else {
                known.insert(name, place);
            }
        }
    }
    faults
}

/// Creates the error for a cable end with an unknown node's name.
fn stranger(nodes: &Topology, place: ParamPlace, name: &str) -> Fault {
    let all = || nodes.hosts.iter().chain(&nodes.switches).map(String::as_str);
    let help = match suggestion(name, all()) {
        Some(near) => format!("did you mean \"{near}\"?"),
        None => format!("known nodes: {}", first_names(all())),
    };
    Fault::new(place, format!("there is no node \"{name}\""), "expected a host or a switch").help(help)
}

/// Turns a problem of the graph into an error at the line of the scenario that causes the problem.
/// `links` has the place of every cable in the scenario.
fn fault(topology: &Topology, links: &[ParamPlace], problem: &GraphProblem) -> Fault {
    match problem {
        GraphProblem::DuplicateName(_) => unreachable!("names were compared before"),
        GraphProblem::SelfLoop { link } => {
            let name = topology.node_name(topology.links[*link as usize].a);
            let message = format!("this cable joins \"{name}\" to itself");
            Fault::new(links[*link as usize], message, "expected another node than `a`")
                .help("name two different nodes, or remove the entry")
        }
        GraphProblem::HostToHost { link } => {
            let message = "this cable joins two hosts";
            Fault::new(links[*link as usize], message, "expected a switch at one end")
                .help("put a switch between them: only switches forward packets")
        }
        GraphProblem::HostWithoutLink { host } => {
            let name = &topology.hosts[*host as usize];
            let switch = topology.switches.first().map_or("s0", String::as_str);
            let place = ParamPlace::new("hosts").element(*host as usize);
            let label = "every host needs exactly one entry in topology.links";
            Fault::new(place, format!("host \"{name}\" has no cable"), label).help(format!(
                "add {{ a = \"{name}\", b = \"{switch}\", rate = \"10 Gb/s\", delay = \"1 us\" }} to topology.links, \
                 or remove the host"
            ))
        }
        GraphProblem::HostWithSeveralLinks { host, links: cables } => {
            let name = &topology.hosts[*host as usize];
            let message = format!("host \"{name}\" has {} cables", cables.len());
            Fault::new(links[cables[1] as usize], message, "one cable too many")
                .help("a host has exactly one NIC; give it one cable")
        }
        GraphProblem::Unconnected { nodes } => {
            let names = first_names(nodes.iter().map(|&node| topology.node_name(node)));
            let message =
                format!("the graph falls apart: no path from \"{}\" to {names}", topology.switches[0]);
            Fault::new("links", message, "cables are missing")
                .help("add cables between switches until every node is reachable")
        }
    }
}
