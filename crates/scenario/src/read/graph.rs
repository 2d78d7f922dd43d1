//! `kind = "graph"`: nodes and cables one by one.

use super::topology::first_names;
use crate::context::{Complaint, suggestion};
use crate::convert;
use crate::model::{LinkSpec, Node, Topology};
use crate::reader::Reader;
use crate::resolved::{list, quote};
use crate::topology::GraphProblem;
use crate::tree::{Origin, Value};
use std::collections::BTreeMap;

pub(crate) fn graph(reader: &mut Reader<'_>) -> Option<Topology> {
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
