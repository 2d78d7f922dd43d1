//! Writes completion times and pauses of a run as `fct.txt` and `pfc.txt` of HPCC's simulator.
//!
//! Source: `qp_finish` and `get_pfc` of `third.cc`, alibaba-edu/High-Precision-Congestion-Control.
//! HPCC's simulator ends a flow when the sender has the last ACK. In bufferlab, a flow ends when
//! the receiver has the last byte.

use crate::error::ReportError;
use crate::pauses::rows;
use bufferlab_metrics::{FlowRow, FlowState, LinkRow, PauseSpanRow};
use bufferlab_results::RunResult;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::path::Path;

/// First port number of senders, and the port number of every receiver, in `fct.txt`.
const FIRST_PORT: u32 = 10_000;
const RECEIVER_PORT: u32 = 100;

/// Number of flows and of pauses in the files of [`write_hpcc`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HpccFiles {
    /// Number of finished flows in `fct.txt`.
    pub flows: u64,
    /// Number of pauses in `pfc.txt`, each with the line of its end.
    pub pauses: u64,
}

/// Writes `fct.txt` and `pfc.txt` of a run into `folder`.
///
/// # Errors
/// If the run cannot be read, or the files cannot be written.
pub fn write_hpcc(result: &RunResult, folder: &Path) -> Result<HpccFiles, ReportError> {
    let nodes = Nodes::new(result);
    let (fct, flows) = fct(result, &nodes)?;
    let (pfc, pauses) = pfc(result, &nodes)?;
    fs::create_dir_all(folder).map_err(ReportError::io("create", folder))?;
    for (name, text) in [("fct.txt", fct), ("pfc.txt", pfc)] {
        let path = folder.join(name);
        fs::write(&path, text).map_err(ReportError::io("write", &path))?;
    }
    Ok(HpccFiles { flows, pauses })
}

/// Numbers of the hosts and switches in HPCC's files. Imported networks contain these numbers in
/// their node names, such as `h3` and `s0`. Otherwise hosts are numbered from 0, followed by the
/// switches.
struct Nodes {
    hosts: Vec<u32>,
    /// Number of each node by its name, and whether the node is a switch.
    by_name: BTreeMap<String, (u32, bool)>,
}

impl Nodes {
    fn new(result: &RunResult) -> Self {
        let names = &result.manifest().names;
        let number = |prefix: char, name: &String| {
            name.strip_prefix(prefix)?.parse().ok().filter(|id: &u32| *id < 1 << 20)
        };
        let hosts: Option<Vec<u32>> = names.hosts.iter().map(|name| number('h', name)).collect();
        let switches: Option<Vec<u32>> = names.switches.iter().map(|name| number('s', name)).collect();
        let written = hosts.zip(switches).filter(|(hosts, switches)| {
            let mut all: Vec<_> = hosts.iter().chain(switches).collect();
            all.sort_unstable();
            all.windows(2).all(|pair| pair[0] != pair[1])
        });
        let count = names.hosts.len() as u32;
        let in_order = || ((0..count).collect(), (count..count + names.switches.len() as u32).collect());
        let (hosts, switches): (Vec<u32>, Vec<u32>) = written.unwrap_or_else(in_order);
        let of_hosts = names.hosts.iter().zip(&hosts).map(|(name, id)| (name.clone(), (*id, false)));
        let of_switches = names.switches.iter().zip(&switches).map(|(name, id)| (name.clone(), (*id, true)));
        let by_name = of_hosts.chain(of_switches).collect();
        Self { hosts, by_name }
    }

    /// Address of a host in HPCC's simulator.
    fn address(&self, host: u32) -> u32 {
        let id = self.hosts.get(host as usize).copied().unwrap_or(host);
        0x0b00_0001 + ((id / 256) << 16) + ((id % 256) << 8)
    }
}

/// Lines `sip dip sport dport bytes start_ns fct_ns ideal_ns` of the finished flows, in the order
/// in which flows end.
fn fct(result: &RunResult, nodes: &Nodes) -> Result<(String, u64), ReportError> {
    let mut flows: Vec<FlowRow> = result.load()?;
    flows.sort_by_key(|flow| flow.flow_id);
    let mut ports: BTreeMap<u32, u32> = BTreeMap::new();
    let mut lines = Vec::with_capacity(flows.len());
    for flow in flows {
        let next = ports.entry(flow.src_host).or_insert(FIRST_PORT);
        let port = *next;
        *next = next.wrapping_add(1);
        let (FlowState::Finished, Some(fct)) = (flow.state, flow.fct_ns) else { continue };
        let (src, dst) = (nodes.address(flow.src_host), nodes.address(flow.dst_host));
        let (bytes, start, ideal) = (flow.size_bytes, flow.start_ns, flow.ideal_ns.round() as u64);
        let line = format!("{src:08x} {dst:08x} {port} {RECEIVER_PORT} {bytes} {start} {fct} {ideal}\n");
        lines.push((start + fct, line));
    }
    lines.sort_by_key(|(end, _)| *end);
    let count = lines.len() as u64;
    Ok((lines.into_iter().map(|(_, line)| line).collect(), count))
}

/// Lines `time_ns node node_type if_index 1|0` of the paused nodes, in the order of time.
fn pfc(result: &RunResult, nodes: &Nodes) -> Result<(String, u64), ReportError> {
    let mut next: BTreeMap<String, u32> = BTreeMap::new();
    let mut ports: BTreeMap<(String, String, u16), u32> = BTreeMap::new();
    result.visit(|link: LinkRow| {
        let port = next.entry(link.from.clone()).or_insert(0);
        *port += 1;
        ports.insert((link.from, link.to, link.parallel), *port);
    })?;
    let (mut events, mut pauses) = (Vec::new(), 0);
    for span in rows::<PauseSpanRow>(result)? {
        let (id, is_switch) = nodes.by_name.get(&span.paused).copied().unwrap_or_default();
        let port = ports.get(&(span.paused, span.by, span.parallel)).copied().unwrap_or(1);
        let node = (id, u8::from(is_switch), port);
        pauses += 1;
        events.push((span.start_ns, node, 1));
        events.extend(span.end_ns.map(|end| (end, node, 0)));
    }
    events.sort_by_key(|(time, ..)| *time);
    let mut text = String::new();
    for (time, (id, kind, port), event) in events {
        // Writing into a string cannot fail.
        let _ = writeln!(text, "{time} {id} {kind} {port} {event}");
    }
    Ok((text, pauses))
}
