//! Reads topologies of HPCC, ns3-datacenter and SimAI.
//!
//! White space separates words, as in input by the operator `>>` of C++. The reader stops after the
//! number of cables that the file announces. Hosts and switches share one numbering, in any order.

use crate::imported::Network;
use crate::limits::{CABLES, HOSTS, NODES};
use crate::source::{Source, Word, too_many};
use crate::{ImportError, Imported};
use bufferlab_topology::{LinkSpec, Node, Topology};
use bufferlab_units::{BitRate, Time};
use std::collections::BTreeMap;

/// Numbers of nodes, switches and cables in the first line of a topology file.
struct Head<'a> {
    nodes: u64,
    switches: u64,
    /// Number of NVSwitches of SimAI; 0 in other variants.
    scale_up: u64,
    links: Word<'a>,
    variant: &'static str,
}

/// Reads `topology.txt` of HPCC (3 words in line 1), PowerTCP (4) or Reverie (6).
pub(crate) fn read(source: Source<'_>, imported: &mut Imported) -> Result<(), ImportError> {
    let first = first_line(source)?;
    let at = |index: usize| first.get(index).copied().ok_or_else(|| incomplete(source));
    let is_long = first.len() >= 4;
    let variant = match first.len() {
        ..4 => "HPCC",
        4 | 5 => "ns3-datacenter (PowerTCP)",
        _ => "ns3-datacenter (Reverie)",
    };
    if is_long {
        imported.notices.ignore("the number of ToRs in line 1, which the parser ignores, too");
    }
    let head = Head {
        nodes: at(0)?.whole("the number of nodes", NODES.most)?,
        switches: at(1)?.whole("the number of switches", NODES.most)?,
        scale_up: 0,
        links: at(if is_long { 3 } else { 2 })?,
        variant,
    };
    rest(source, first.len(), &head, imported)
}

/// Reads a topology of SimAI: `nodes gpus_per_server nvswitches switches links gpu_type`.
pub(crate) fn read_simai(source: Source<'_>, imported: &mut Imported) -> Result<(), ImportError> {
    let first = first_line(source)?;
    let at = |index: usize| first.get(index).copied().ok_or_else(|| incomplete(source));
    let nodes = at(0)?.whole("the number of nodes", NODES.most)?;
    at(1)?.whole("the number of GPUs per server", nodes)?;
    let scale_up = at(2)?.whole("the number of NVSwitches", nodes)?;
    let switches = at(3)?.whole("the number of switches", nodes)?;
    let head = Head { nodes, switches: scale_up + switches, scale_up, links: at(4)?, variant: "SimAI" };
    rest(source, first.len(), &head, imported)
}

fn first_line(source: Source<'_>) -> Result<Vec<Word<'_>>, ImportError> {
    let line = source.lines().find(|line| line.words().next().is_some());
    Ok(line.ok_or_else(|| incomplete(source))?.words().take(16).collect())
}

fn incomplete(source: Source<'_>) -> ImportError {
    source.error(
        "the file is incomplete",
        "expected `nodes switches links`, the ids of the switches, and the links",
    )
}

/// Reads the switches and cables that follow the first `skipped` words.
fn rest(
    source: Source<'_>,
    skipped: usize,
    head: &Head<'_>,
    imported: &mut Imported,
) -> Result<(), ImportError> {
    source.notice_line_ends(&mut imported.notices);
    let count = head.links.whole("the number of links", CABLES.most)?;
    let mut words = source.words().skip(skipped);
    let mut next = |what: &str| {
        words.next().ok_or_else(|| source.error(format!("the file ends before {what}"), "complete it"))
    };
    let mut switches = BTreeMap::new();
    for index in 0..head.switches {
        let word = next("the last switch")?;
        let id = word.whole("the id of a switch", head.nodes.saturating_sub(1))?;
        if switches.insert(id as u32, index < head.scale_up).is_some() {
            return Err(word.error(format!("switch {id} is listed twice"), "list every switch once"));
        }
    }
    let mut cables = Vec::new();
    let (mut losses, mut scale_up) = (0_u64, 0_u64);
    for _ in 0..count {
        let end = "an end of a link";
        let most = head.nodes.saturating_sub(1);
        let first = next("the last link")?;
        let (a, b) = (first.whole(end, most)? as u32, next("the last link")?.whole(end, most)? as u32);
        let rate = rate(next("the last link")?)?;
        let delay = delay(next("the last link")?)?;
        losses += u64::from(next("the last link")?.real("a loss probability")? > 0.0);
        if [a, b].iter().any(|end| switches.get(end) == Some(&true)) {
            scale_up += 1;
        } else {
            cables.push((first, (a, b), rate, delay));
        }
    }
    if words.next().is_some() {
        imported.notices.ignore(format!("everything after the {count} announced links, as the parser does"));
    }
    let numbers = Numbers::new(head, &switches);
    let topology = numbers.build(source, cables)?;
    imported.notices.understand(format!(
        "{} topology: {} nodes, {} switches, {count} links",
        head.variant, head.nodes, head.switches
    ));
    if scale_up > 0 {
        imported.notices.ignore(format!(
            "{} NVSwitches and their {scale_up} links: a host of a scenario has one cable",
            head.scale_up
        ));
    }
    if losses > 0 {
        imported.notices.ignore(format!("the loss probability of {losses} links: cables lose no packets"));
    }
    imported.network = Some(Network { topology, numbers: numbers.hosts });
    Ok(())
}

/// Maps the numbers of nodes in the file to hosts and switches.
struct Numbers {
    hosts: Vec<u32>,
    nodes: Vec<Option<Node>>,
    switches: Vec<u32>,
}

impl Numbers {
    fn new(head: &Head<'_>, switches: &BTreeMap<u32, bool>) -> Self {
        let mut numbers = Self { hosts: Vec::new(), nodes: Vec::new(), switches: Vec::new() };
        for id in 0..head.nodes as u32 {
            let node = match switches.get(&id) {
                Some(true) => None,
                Some(false) => {
                    numbers.switches.push(id);
                    Some(Node::Switch(numbers.switches.len() as u32 - 1))
                }
                None => {
                    numbers.hosts.push(id);
                    Some(Node::Host(numbers.hosts.len() as u32 - 1))
                }
            };
            numbers.nodes.push(node);
        }
        numbers
    }

    /// Builds the network; every host must have exactly one cable to a switch.
    fn build(
        &self,
        source: Source<'_>,
        cables: Vec<(Word<'_>, (u32, u32), BitRate, Time)>,
    ) -> Result<Topology, ImportError> {
        if self.hosts.len() as u64 > HOSTS.most {
            return Err(too_many(source.path, HOSTS, self.hosts.len()));
        }
        let mut degree = vec![0_u32; self.hosts.len()];
        let mut links = Vec::with_capacity(cables.len());
        for (word, (a, b), rate, delay) in cables {
            let (Some(one), Some(other)) = (self.nodes[a as usize], self.nodes[b as usize]) else { continue };
            if matches!((one, other), (Node::Host(_), Node::Host(_))) || a == b {
                return Err(word.error(format!("a link from {a} to {b}"), "expected a switch at one end"));
            }
            for end in [one, other] {
                if let Node::Host(host) = end {
                    degree[host as usize] += 1;
                    if degree[host as usize] > 1 {
                        let id = self.hosts[host as usize];
                        let advice =
                            "hosts of a scenario have one cable: remove the others, or make it a switch";
                        return Err(word.error(format!("host {id} has a second link"), advice));
                    }
                }
            }
            links.push(LinkSpec::new(one, other, rate, delay));
        }
        if let Some(host) = degree.iter().position(|links| *links == 0) {
            let problem = format!("host {} has no link", self.hosts[host]);
            return Err(source.error(problem, "add one, or list it among the switches"));
        }
        let named = |prefix: &str, ids: &[u32]| ids.iter().map(|id| format!("{prefix}{id}")).collect();
        let topology = Topology::new(named("h", &self.hosts), named("s", &self.switches), links);
        match topology.problems().first() {
            None => Ok(topology),
            Some(problem) => Err(source.error(problem.to_string(), "correct the links")),
        }
    }
}

/// Reads a rate such as `100Gbps`, `100Gb/s` or a number of bits per second.
fn rate(word: Word<'_>) -> Result<BitRate, ImportError> {
    let units = [("Tbps", 1e12), ("Gbps", 1e9), ("Mbps", 1e6), ("Kbps", 1e3), ("kbps", 1e3), ("bps", 1.0)];
    let text = word.text.replace("b/s", "bps");
    let (number, factor) = units
        .iter()
        .find_map(|(unit, factor)| Some((text.strip_suffix(unit)?, *factor)))
        .unwrap_or((&text, 1.0));
    let bits = number.parse::<f64>().ok().map(|number| (number * factor).round());
    let bits = bits.filter(|bits| (1.0..=1e15).contains(bits));
    bits.map(|bits| BitRate(bits as u64))
        .ok_or_else(|| word.unexpected("a rate such as 100Gbps, or bits per second"))
}

/// Reads a delay such as `1us`, `1000ns` or `0.001ms`.
fn delay(word: Word<'_>) -> Result<Time, ImportError> {
    let units = [("ps", 1.0), ("ns", 1e3), ("us", 1e6), ("ms", 1e9), ("s", 1e12)];
    let found = units
        .iter()
        .find_map(|(unit, factor)| Some((word.text.strip_suffix(unit)?.parse::<f64>().ok()?, *factor)));
    let time =
        found.map(|(number, factor)| (number * factor).round()).filter(|time| (0.0..=1e13).contains(time));
    time.map(|time| Time(time as u64))
        .ok_or_else(|| word.unexpected("a delay such as 1us, 1000ns or 0.001ms"))
}
