//! `[topology]`: from parameters to the graph as built, and as it runs after its changes.

use crate::context::{Complaint, quoted_list, suggestion};
use crate::convert;
use crate::model::{LinkSpec, Multipath, Node, Topology};
use crate::quantity::format_time;
use crate::reader::Reader;
use crate::resolved::{list, quote};
use crate::topology::{Dumbbell, FatTree, GraphProblem, LeafSpine, SingleSwitch};
use crate::tree::{Origin, Value};
use bufferlab_units::Time;
use std::collections::BTreeMap;

/// The network before and after `topology.change`.
pub(crate) struct Networks {
    /// As the generator built it: buffers and loads follow from it.
    pub(crate) as_built: Topology,
    /// With slower, longer and failing cables.
    pub(crate) as_it_runs: Topology,
}

pub(crate) fn read(root: &mut Reader<'_>) -> Option<Networks> {
    let mut reader = root.table("topology")?;
    let multipath = match reader.choice("multipath") {
        Some("spray") => Multipath::Spray,
        _ => Multipath::EcmpFlow,
    };
    let built = match reader.kind() {
        "single_switch" => single_switch(&mut reader),
        "dumbbell" => dumbbell(&mut reader),
        "leaf_spine" => leaf_spine(&mut reader),
        "fat_tree" => fat_tree(&mut reader),
        _ => graph(&mut reader),
    };
    let as_built = built.map(|built| Topology { multipath, ..built });
    let as_it_runs = changed(&mut reader, as_built.clone());
    let resolved = reader.finish();
    root.put("topology", resolved);
    Some(Networks { as_built: as_built?, as_it_runs: as_it_runs? })
}

fn single_switch(reader: &mut Reader<'_>) -> Option<Topology> {
    let (hosts, rate, delay) = (reader.small_count("hosts"), reader.rate("rate"), reader.time("delay"));
    Some(SingleSwitch { hosts: hosts?, rate: rate?, delay: delay? }.build())
}

fn dumbbell(reader: &mut Reader<'_>) -> Option<Topology> {
    let hosts_per_side = reader.small_count("hosts_per_side");
    let (host_rate, bottleneck_rate) = (reader.rate("host_rate"), reader.rate("bottleneck_rate"));
    let delay = reader.time("delay");
    let bottleneck_delay = reader.time_or("bottleneck_delay", delay);
    let dumbbell = Dumbbell {
        hosts_per_side: hosts_per_side?,
        host_rate: host_rate?,
        bottleneck_rate: bottleneck_rate?,
        delay: delay?,
        bottleneck_delay: bottleneck_delay?,
    };
    Some(dumbbell.build())
}

fn leaf_spine(reader: &mut Reader<'_>) -> Option<Topology> {
    let (leaves, hosts_per_leaf) = (reader.small_count("leaves"), reader.small_count("hosts_per_leaf"));
    let (spines, links_per_pair) = (reader.small_count("spines"), reader.small_count("links_per_pair"));
    let host_rate = reader.rate("host_rate");
    let fabric_rate = reader.rate_or("fabric_rate", host_rate);
    let host_delay = reader.time("delay");
    let fabric_delay = reader.time_or("fabric_delay", host_delay);
    let fabric = LeafSpine {
        leaves: leaves?,
        hosts_per_leaf: hosts_per_leaf?,
        spines: spines?,
        links_per_pair: links_per_pair?,
        host_rate: host_rate?,
        fabric_rate: fabric_rate?,
        host_delay: host_delay?,
        fabric_delay: fabric_delay?,
    };
    let hosts = u64::from(fabric.leaves) * u64::from(fabric.hosts_per_leaf);
    let cables = u64::from(fabric.leaves) * u64::from(fabric.spines) * u64::from(fabric.links_per_pair);
    if hosts < 2 || hosts.max(cables) > MAX_LINKS {
        let message = format!("{hosts} hosts and {cables} cables in the fabric");
        let label = format!("expected at least 2 hosts, and at most {MAX_LINKS} of either");
        reader.error("leaves", Complaint::new(message, label));
        return None;
    }
    Some(fabric.build())
}

/// More would not fit a machine's memory, and is a typing error.
const MAX_LINKS: u64 = 1 << 22;

fn fat_tree(reader: &mut Reader<'_>) -> Option<Topology> {
    let (k, rate, delay) = (reader.small_count("k"), reader.rate("rate"), reader.time("delay"));
    if let Some(odd) = k.filter(|k| k % 2 == 1) {
        let complaint =
            Complaint::new(format!("{odd} is odd"), "expected an even number of ports per switch");
        reader.error("k", complaint.help(format!("k = {} gives {} hosts", odd + 1, (odd + 1).pow(3) / 4)));
        return None;
    }
    Some(FatTree { k: k?, rate: rate?, delay: delay? }.build())
}

fn graph(reader: &mut Reader<'_>) -> Option<Topology> {
    let hosts = node_names(reader, "hosts", "h");
    let switches = node_names(reader, "switches", "s");
    let mut topology = Topology { kind: "graph".to_owned(), ..Topology::default() };
    let mark = reader.context.mark();
    if let (Some(hosts), Some(switches)) = (&hosts, &switches) {
        refuse_twins(reader, hosts, switches);
    }
    let known = hosts.is_some() && switches.is_some() && !reader.context.failed_since(mark);
    let places: Vec<Origin> = hosts.iter().flatten().map(|(_, origin)| *origin).collect();
    let names =
        |nodes: Option<Vec<(String, Origin)>>| nodes.into_iter().flatten().map(|(name, _)| name).collect();
    topology.hosts = names(hosts);
    topology.switches = names(switches);
    let (mut origins, mut resolved) = (Vec::new(), Vec::new());
    for mut link in reader.tables("links") {
        let ends = [cable_end(&mut link, "a", &topology, known), cable_end(&mut link, "b", &topology, known)];
        let (rate, delay, count) = (link.rate("rate"), link.time("delay"), link.count("count"));
        if let ([Some(a), Some(b)], Some(rate), Some(delay), Some(count)) = (ends, rate, delay, count) {
            for _ in 0..count {
                topology.links.push(LinkSpec::new(a, b, rate, delay));
                origins.push((link.path("b"), link.place("b")));
            }
        }
        resolved.push(link.finish());
    }
    reader.put_all("links", resolved);
    if !known || reader.context.failed_since(mark) {
        return None;
    }
    let problems = topology.problems();
    for problem in &problems {
        report(reader, &topology, &places, &origins, problem);
    }
    if !problems.is_empty() {
        return None;
    }
    topology.tiers = topology.distances_from_hosts();
    Some(topology)
}

/// Nodes by name, with the place where each is named.
fn node_names(reader: &mut Reader<'_>, key: &'static str, prefix: &str) -> Option<Vec<(String, Origin)>> {
    let item = reader.value_of(key)?;
    let wanted = reader.spec_of(key).wanted();
    let names: Vec<(String, Origin)> = match &item.value {
        Value::Integer(_) => match convert::count(&item, &wanted, 1, 1 << 20) {
            Ok(count) => (0..count).map(|index| (format!("{prefix}{index}"), item.origin)).collect(),
            Err(complaint) => {
                reader.error(key, complaint);
                return None;
            }
        },
        Value::Array(elements) => {
            let mut names = Vec::new();
            for element in elements {
                match convert::text(element, &wanted) {
                    Ok(name) if name.is_empty() || name.contains(['*', '?', '/']) => {
                        let complaint = Complaint::new(
                            format!("\"{name}\" cannot be a node's name"),
                            "expected a name without *, ? and /",
                        );
                        let help = "those characters stand for patterns and for cable numbers elsewhere";
                        reader.context.error(&reader.path(key), element.origin, complaint.help(help));
                        return None;
                    }
                    Ok(name) => names.push((name.to_owned(), element.origin)),
                    Err(complaint) => {
                        reader.context.error(&reader.path(key), element.origin, complaint);
                        return None;
                    }
                }
            }
            names
        }
        _ => {
            reader.error(key, convert::wrong_kind(&item, &wanted));
            return None;
        }
    };
    if names.is_empty() {
        let complaint = Complaint::new("the list is empty", "expected at least one name");
        reader.error(key, complaint);
        return None;
    }
    reader.out.set(key, list(names.iter().map(|(name, _)| quote(name))));
    Some(names)
}

/// Hosts and switches share one set of names.
fn refuse_twins(reader: &Reader<'_>, hosts: &[(String, Origin)], switches: &[(String, Origin)]) {
    let mut known: BTreeMap<&str, Origin> = BTreeMap::new();
    for (key, nodes) in [("hosts", hosts), ("switches", switches)] {
        for (name, origin) in nodes {
            if let Some(&first) = known.get(name.as_str()) {
                let complaint = Complaint::new(format!("two nodes are called \"{name}\""), "the second one");
                let complaint = complaint.also(first, "the first one");
                let help = "rename one of them; hosts and switches share one set of names";
                reader.context.error(&reader.path(key), *origin, complaint.help(help));
            } else {
                known.insert(name, *origin);
            }
        }
    }
}

fn cable_end(link: &mut Reader<'_>, key: &'static str, topology: &Topology, known: bool) -> Option<Node> {
    let name = link.text(key)?;
    let node = topology.node(&name);
    if node.is_none() && known {
        let all = || topology.hosts.iter().chain(&topology.switches).map(String::as_str);
        let help = match suggestion(&name, all()) {
            Some(near) => format!("did you mean \"{near}\"?"),
            None => format!("known nodes: {}", first_names(all())),
        };
        let complaint = Complaint::new(format!("there is no node \"{name}\""), "expected a host or a switch");
        link.error(key, complaint.help(help));
    }
    node
}

/// At most twelve names.
pub(crate) fn first_names<'a>(names: impl Iterator<Item = &'a str> + Clone) -> String {
    let count = names.clone().count();
    let shown = quoted_list(names.take(12));
    if count > 12 { format!("{shown} … ({count} in all)") } else { shown }
}

fn report(
    reader: &Reader<'_>,
    topology: &Topology,
    hosts: &[Origin],
    links: &[(String, Origin)],
    problem: &GraphProblem,
) {
    let at_link = |link: u32, complaint: Complaint| {
        let (path, origin) = &links[link as usize];
        reader.context.error(path, *origin, complaint);
    };
    match problem {
        GraphProblem::DuplicateName(_) => unreachable!("names are compared before cables are read"),
        GraphProblem::SelfLoop { link } => {
            let name = topology.node_name(topology.links[*link as usize].a);
            let complaint = Complaint::new(
                format!("this cable joins \"{name}\" to itself"),
                "expected another node than `a`",
            );
            at_link(*link, complaint.help("name two different nodes, or remove the entry"));
        }
        GraphProblem::HostToHost { link } => {
            let complaint = Complaint::new("this cable joins two hosts", "expected a switch at one end");
            at_link(*link, complaint.help("put a switch between them: only switches forward packets"));
        }
        GraphProblem::HostWithoutLink { host } => {
            let name = &topology.hosts[*host as usize];
            let switch = topology.switches.first().map_or("s0", String::as_str);
            let complaint = Complaint::new(
                format!("host \"{name}\" has no cable"),
                "every host needs exactly one entry in topology.links",
            );
            let help = format!(
                "add {{ a = \"{name}\", b = \"{switch}\", rate = \"10 Gb/s\", delay = \"1 us\" }} to topology.links, or \
                 remove the host"
            );
            reader.context.error(&reader.path("hosts"), hosts[*host as usize], complaint.help(help));
        }
        GraphProblem::HostWithSeveralLinks { host, links: cables } => {
            let name = &topology.hosts[*host as usize];
            let complaint =
                Complaint::new(format!("host \"{name}\" has {} cables", cables.len()), "one cable too many");
            at_link(cables[1], complaint.help("a host has exactly one NIC; give it one cable"));
        }
        GraphProblem::Unconnected { nodes } => {
            let names = first_names(nodes.iter().map(|&node| topology.node_name(node)));
            let complaint = Complaint::new(
                format!("the graph falls apart: no path from \"{}\" to {names}", topology.switches[0]),
                "cables are missing",
            );
            reader
                .error("links", complaint.help("add cables between switches until every node is reachable"));
        }
    }
}

/// Applies `topology.change`.
fn changed(reader: &mut Reader<'_>, built: Option<Topology>) -> Option<Topology> {
    let mut topology = built;
    let mut resolved = Vec::new();
    for mut change in reader.tables("change") {
        let name = change.text("link");
        let rate = change.rate("rate");
        let rates = [change.rate("rate_ab").or(rate), change.rate("rate_ba").or(rate)];
        let delay = change.time("delay");
        let failed = change.flag("failed") == Some(true);
        let down = intervals(&mut change);
        if failed && change.has("down") {
            let complaint =
                Complaint::new("`failed` and `down` exclude each other", "failed = true is down for ever");
            change.error("down", complaint.help("remove one of the two"));
        }
        let nothing =
            ["rate", "rate_ab", "rate_ba", "delay", "failed", "down"].iter().all(|key| !change.has(key));
        if nothing {
            let complaint = Complaint::new("this entry changes nothing", "expected a change of this cable");
            change.error("link", complaint.help("add one of rate, rate_ab, rate_ba, delay, failed, down"));
        }
        if let (Some(topology), Some(name)) = (&mut topology, name) {
            for (index, reversed) in cables(&change, topology, &name) {
                let link = &mut topology.links[index as usize];
                let [forward, backward] = if reversed { [rates[1], rates[0]] } else { rates };
                link.rate_ab = forward.unwrap_or(link.rate_ab);
                link.rate_ba = backward.unwrap_or(link.rate_ba);
                link.delay = delay.unwrap_or(link.delay);
                if failed {
                    link.down = vec![(Time::ZERO, Time::MAX)];
                }
                link.down.extend(&down);
                link.down.sort_unstable();
            }
        }
        resolved.push(change.finish());
    }
    reader.put_all("change", resolved);
    topology
}

fn intervals(change: &mut Reader<'_>) -> Vec<(Time, Time)> {
    let read = change.read("down", |item, wanted| {
        let elements = convert::elements(item, wanted)?.iter();
        let times: Vec<Time> = elements
            .map(|element| convert::time(element, wanted, true).map(Time))
            .collect::<Result<_, _>>()?;
        if times.is_empty() || times.len() % 2 == 1 || times.windows(2).any(|pair| pair[0] >= pair[1]) {
            return Err(Complaint::new(
                "these times are no intervals",
                "expected pairs in ascending order: from, until, from, until …",
            )
            .help(
                "for example down = [\"10 ms\", \"20 ms\"]; a cable that never comes back: failed = true",
            ));
        }
        let text = list(times.iter().map(|&time| quote(&format_time(time))));
        Ok((times, text))
    });
    let times = read.unwrap_or_default();
    times.chunks_exact(2).map(|pair| (pair[0], pair[1])).collect()
}

/// The cables that `name` ("leaf0-spine1", "leaf0-spine1/2") means, and whether it names the ends the other
/// way round.
fn cables(change: &Reader<'_>, topology: &Topology, name: &str) -> Vec<(u32, bool)> {
    let (ends, number) = match name.split_once('/') {
        Some((ends, number)) => (ends, Some(number)),
        None => (name, None),
    };
    let mut splits = ends.match_indices('-').map(|(at, _)| (&ends[..at], &ends[at + 1..]));
    let Some((one, other)) = splits.find_map(|(a, b)| Some((topology.node(a)?, topology.node(b)?))) else {
        let complaint = Complaint::new(
            format!("\"{name}\" does not name two nodes"),
            "expected two names joined by a hyphen",
        );
        let nodes = first_names(topology.switches.iter().chain(&topology.hosts).map(String::as_str));
        change.error("link", complaint.help(format!("for example \"leaf0-spine1\"; nodes here: {nodes}")));
        return Vec::new();
    };
    let found = topology.cables_between(one, other);
    if found.is_empty() {
        let complaint = Complaint::new(
            format!(
                "there is no cable between \"{}\" and \"{}\"",
                topology.node_name(one),
                topology.node_name(other)
            ),
            "no such cable",
        );
        let peers: Vec<_> =
            topology.links.iter().filter_map(|link| link.from(one)).map(|(peer, _)| peer).collect();
        let mut names: Vec<_> = peers.iter().map(|&peer| topology.node_name(peer)).collect();
        names.dedup();
        let help =
            format!("\"{}\" has cables to {}", topology.node_name(one), first_names(names.iter().copied()));
        change.error("link", complaint.help(help));
        return Vec::new();
    }
    let chosen = match number.map(|number| number.parse::<usize>().ok().and_then(|index| found.get(index))) {
        None => found,
        Some(Some(&one)) => vec![one],
        Some(None) => {
            let complaint = Complaint::new(
                format!("there is no cable number \"{}\" here", number.unwrap_or_default()),
                format!("expected a number from 0 to {}", found.len() - 1),
            );
            change.error(
                "link",
                complaint.help("parallel cables are numbered from 0 in the order of their ports"),
            );
            Vec::new()
        }
    };
    chosen.into_iter().map(|index| (index, topology.links[index as usize].a != one)).collect()
}
