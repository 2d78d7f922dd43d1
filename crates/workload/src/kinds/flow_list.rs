//! Workload that sends exactly the flows of a list.

use super::parts::count_of;
use crate::context::{ForeignFile, ForeignTraffic, WorkloadContext};
use crate::flow_list::FlowList;
use crate::foreign::{Foreign, LIST_OF_FLOWS};
use crate::traffic::TrafficBuilder;
use crate::workload::{Queries, Workload, WorkloadInfo};
use crate::{FlowListError, FlowSpec, SourceError, parse_flow_list};
use bufferlab_params::{Fault, Faults, ParamInfo, ParamKind, Params, quoted_list};
use bufferlab_topology::Topology;
use bufferlab_units::quantity::format_time;
use bufferlab_units::{BitRate, Time};
use std::collections::BTreeMap;

pub(crate) static INFO: WorkloadInfo = WorkloadInfo {
    name: "flow_list",
    aliases: &[],
    title: "Flow list",
    summary: "Exactly the flows of a CSV file, or of a file of another simulator. Over a transport with congestion_control = \"none\", flows of one \
              segment are a packet trace.",
    source: "",
    params: PARAMS,
    build: &build,
};

const PARAMS: &[ParamInfo] = &[ParamInfo::required(
    "file",
    ParamKind::File,
    "\"flows.csv\"",
    "File of the list, relative to the scenario file: at most 10,000,000 flows on lines of at most 65,536 bytes. Each flow \
     takes 64 bytes of memory, and as much again in every run.",
)];

/// Workload that sends a given list of flows.
#[derive(Debug)]
pub struct FlowListWorkload {
    /// Origin of the flows for messages and descriptions, such as the path of the list.
    pub file: String,
    /// Flows that the workload sends.
    pub flows: Vec<FlowSpec>,
    /// Names of the classes; [`FlowSpec::class`] is an index into this list.
    pub classes: Vec<String>,
}

fn build(params: &mut Params, context: &WorkloadContext<'_>) -> Result<Box<dyn Workload>, Faults> {
    let (file, network) = (params.file("file"), context.network()?);
    let list = match parse_flow_list(&file.path, &file.content, network.hosts.len(), &network.hosts) {
        Ok(list) => list,
        Err(error) => match context.foreign(file) {
            Some(foreign) => foreign_list(foreign?, network, context.duration()?)?,
            None => return Err(fault(&error, &file.content).into()),
        },
    };
    if !list.ignored_columns.is_empty() {
        let names = quoted_list(list.ignored_columns.iter().map(String::as_str));
        let message = format!("columns of {} that nobody reads: {names}", file.name);
        let known =
            "read are: src, dst, size_bytes, start_ns, class, query, conn_open_ns, data_path, ack_path";
        context.warn(Fault::new("file", message, "this file").help(known));
    }
    let duration = context.duration()?;
    let late = list.flows.iter().filter(|flow| flow.start >= duration).count();
    if late > 0 {
        let count = list.flows.len();
        let message = format!("{late} of {count} flows start after `duration` ({})", format_time(duration));
        let last = list.flows.last().map_or(Time::ZERO, |flow| flow.start);
        let help = format!("the last one starts at {}; raise `duration` above it", format_time(last));
        return Err(Fault::new("file", message, "flows that would be left out").help(help).into());
    }
    let file = file.name.clone();
    Ok(Box::new(FlowListWorkload { file, flows: list.flows, classes: list.classes }))
}

/// Converts the flows of a file of another simulator. Number i of the file is the host `h<i>` if
/// the network has this host for all numbers, as in imported networks. Otherwise number i is the
/// i-th host.
fn foreign_list(foreign: ForeignFile, network: &Topology, duration: Time) -> Result<FlowList, Faults> {
    let refuse = |problem: &str, help: &str| {
        Err(Fault::new("file", format!("{}: {problem}", foreign.format), "this file").help(help).into())
    };
    let (mut flows, classes) = match foreign.traffic {
        ForeignTraffic::Flows(flows, classes) => (flows, classes),
        ForeignTraffic::Schedule(_) => {
            return refuse("its flows wait for each other", "give it to a workload of `kind = \"schedule\"`");
        }
    };
    let named: BTreeMap<u32, u32> = (0..).zip(&network.hosts).filter_map(host_number).collect();
    let ends = || flows.iter().flat_map(|flow| [flow.src, flow.dst]);
    let is_named = ends().all(|end| named.contains_key(&end));
    if let Some(end) = ends().find(|end| !is_named && *end as usize >= network.hosts.len()) {
        let problem = format!("a flow of node {end}, but the network has {} hosts", network.hosts.len());
        return refuse(&problem, "use a network with these hosts");
    }
    // An endless flow gets twice the bytes that the fastest cable carries in the run.
    let rate = network.links.iter().map(|link| link.rate_ab).max().unwrap_or(BitRate::gbps(100));
    let endless = rate.bytes_in(duration).saturating_mul(2).clamp(1, 1 << 50);
    for flow in &mut flows {
        if is_named {
            (flow.src, flow.dst) = (named[&flow.src], named[&flow.dst]);
        }
        if flow.size == FlowSpec::UNLIMITED {
            flow.size = endless;
        }
    }
    Ok(FlowList { flows, classes, ignored_columns: Vec::new() })
}

/// Number in the name of a host such as `h12`, with the host's index.
fn host_number((index, name): (u32, &String)) -> Option<(u32, u32)> {
    Some((name.strip_prefix('h')?.parse().ok()?, index))
}

/// Converts an error in a flow list to a fault with the line. For a file of another
/// tool, the fault has no line.
fn fault(error: &FlowListError, content: &[u8]) -> Fault {
    let is_own = matches!(error, FlowListError::Cell { .. } | FlowListError::FieldCount { .. });
    if let Some(foreign) = Foreign::but_not(content, LIST_OF_FLOWS).filter(|_| !is_own) {
        return Fault::new("file", foreign.message(&error.to_string()), "this file").help(foreign.advice);
    }
    let text = match error {
        FlowListError::Cell { line, column, value, problem, .. } => {
            format!("line {line}, column `{column}`: \"{value}\" {problem}")
        }
        other => other.to_string(),
    };
    Fault::of_error("file", &text, "here")
        .or_help("see \"Flow lists\" in docs/reference/scenarios.md for what a list holds")
        .at_line(error.line().unwrap_or(1) as usize)
}

impl Workload for FlowListWorkload {
    fn start(&self, traffic: &mut TrafficBuilder<'_>) -> Result<(), SourceError> {
        let classes: Vec<u16> = self.classes.iter().map(|name| traffic.named_class(name)).collect();
        let flow = |flow: &FlowSpec| FlowSpec { class: classes[usize::from(flow.class)], ..flow.clone() };
        traffic.add_list(self.flows.iter().map(flow).collect());
        Ok(())
    }

    fn largest_flow_bytes(&self) -> Option<u64> {
        self.flows.iter().map(|flow| flow.size).max()
    }

    fn listed_flows(&self) -> usize {
        self.flows.len()
    }

    fn in_words(&self) -> String {
        format!("{} of {}", count_of(self.flows.len(), "flow", "flows"), self.file)
    }

    fn queries(&self) -> Queries {
        Queries::Listed
    }
}
