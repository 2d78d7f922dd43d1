//! Workload that replays the packets of a file at their recorded times.

use super::parts::{count_of, paced};
use crate::context::WorkloadContext;
use crate::foreign::{Foreign, PACKET_TRACE};
use crate::traffic::TrafficBuilder;
use crate::workload::{Workload, WorkloadInfo};
use crate::{
    AddressBook, AddressRule, FlowSpec, PacketPlace, SourceError, Trace, TraceError, TraceOptions, Unmapped,
    parse_trace,
};
use bufferlab_params::{
    Choice, Fault, Faults, ParamInfo, ParamKind, ParamPlace, ParamValue, Params, TableInfo, choices,
    quoted_list,
};
use bufferlab_units::Time;
use bufferlab_units::quantity::format_time;
use std::borrow::Cow;

pub(crate) static INFO: WorkloadInfo = WorkloadInfo {
    name: "trace",
    aliases: &[],
    title: "Packet trace",
    summary: "Replays the packets of a file at their times: CSV with a header (`time_ps`, `time_ns`, `time_us` or \
              `time_s`, `src`, `dst`, `size_bytes`, optionally `priority`), or a capture (pcap, pcapng) of Ethernet or \
              IP; either may be gzipped. Sizes count bytes on the wire. Every packet is a separate flow, also for \
              policies that know flows (`fab`, `ib`). The transport must have congestion_control = \"none\". Its \
              `rate` is ignored, but packets leave their host one after the other at the rate of its link.",
    source: "",
    params: PARAMS,
    build: &build,
};

const PARAMS: &[ParamInfo] = &[
    ParamInfo::required(
        "file",
        ParamKind::File,
        "\"trace.pcap\"",
        "File of the trace, relative to the scenario file.",
    ),
    ParamInfo::optional(
        "addresses",
        ParamKind::Tables(&ADDRESS),
        "[{ address = \"10.0.3.0/24\", host = \"h3\" }]",
        "Hosts that addresses map to. Among matching entries, the narrowest applies. Names and numbers of hosts \
         need no entry.",
    ),
    ParamInfo::computed(
        "unmapped",
        ParamKind::Choice(Unmapped::WORDS),
        "`refuse` with `addresses`, else `round_robin`",
        "\"round_robin\"",
        "Treatment of an address that maps to no host.",
    ),
    ParamInfo::with_default(
        "start",
        ParamKind::DELAY,
        ParamValue::Time(Time::ZERO),
        "Send time of the first packet.",
    ),
    ParamInfo::with_default(
        "stretch",
        ParamKind::RatioAbove { min: 0.0, max: 1e9 },
        ParamValue::Ratio(1.0),
        "Factor for the time between any two packets: 2 halves the speed.",
    ),
    ParamInfo::with_default(
        "priority",
        ParamKind::Choice(PrioritySource::WORDS),
        ParamValue::Choice(Cow::Borrowed("transport")),
        "Source of a packet's queue. Packets of each priority are a separate class.",
    ),
];

static ADDRESS: TableInfo = TableInfo {
    title: "an entry of workload.addresses",
    doc: "Maps an address of a trace to a host.",
    params: &[
        ParamInfo::required(
            "address",
            ParamKind::Text,
            "\"10.0.3.0/24\"",
            "An IP address, a range of addresses, or any other name in the trace.",
        ),
        ParamInfo::required("host", ParamKind::Text, "\"h3\"", "Name of the host."),
    ],
};

choices! {
    /// Source of a packet's priority.
    enum PrioritySource {
        Transport = "transport": "`data_priority` of the transport",
        Trace = "trace": "the column `priority`; in a capture the priority of the VLAN tag, else the first three \
                          bits of the DSCP",
    }
}

#[derive(Debug)]
struct Packets {
    file: String,
    /// Packets, ordered by time; [`FlowSpec::class`] is an index into `priorities`.
    packets: Vec<FlowSpec>,
    priorities: Vec<Option<u8>>,
}

fn build(params: &mut Params, context: &WorkloadContext<'_>) -> Result<Box<dyn Workload>, Faults> {
    let carrier = paced(context.transport()?, ParamPlace::new("transport"))?;
    let rules = rules(params, context)?;
    let computed = if params.has("addresses") { Unmapped::Refuse } else { Unmapped::RoundRobin };
    let unmapped = params.choice_or("unmapped", computed);
    let queues = context.switches()?.iter().map(|switch| switch.queues_per_port).min();
    let options = TraceOptions {
        start: params.time("start"),
        stretch: params.ratio("stretch"),
        largest: carrier.segment_bytes + carrier.header_bytes,
        queues: match params.choice("priority") {
            PrioritySource::Transport => None,
            PrioritySource::Trace => queues,
        },
    };
    let mut book = AddressBook::new(&context.network()?.hosts, &rules, unmapped);
    let file = params.file("file");
    let trace = parse_trace(&file.path, &file.content, &mut book, &options)
        .map_err(|error| fault(&error, &file.content))?;
    warn(context, &trace);
    let duration = context.duration()?;
    let late = trace.packets.iter().filter(|packet| packet.start >= duration).count();
    if late > 0 {
        let count = trace.packets.len();
        let message = format!("{late} of {count} packets come after `duration` ({})", format_time(duration));
        let last = trace.packets.last().map_or(duration, |packet| packet.start);
        let help = format!(
            "the last one comes at {}; raise `duration` above it, or lower `start` or `stretch`",
            format_time(last)
        );
        return Err(Fault::new("file", message, "packets that would be left out").help(help).into());
    }
    let file = file.name.clone();
    Ok(Box::new(Packets { file, packets: trace.packets, priorities: trace.priorities }))
}

fn rules(params: &Params, context: &WorkloadContext<'_>) -> Result<Vec<AddressRule>, Faults> {
    let (mut rules, mut faults, mut is_complete) = (Vec::new(), Vec::new(), true);
    for (index, table) in params.tables("addresses").iter().enumerate() {
        let place = ParamPlace::new("addresses").element(index);
        let rule = context.host(place.key("host"), table.text("host")).and_then(|host| {
            AddressRule::new(table.text("address"), host).map_err(|why| {
                Fault::new(place.key("address"), why, "no range").help("a single address has no /").into()
            })
        });
        match rule {
            Ok(rule) => rules.push(rule),
            Err(found) => {
                is_complete = false;
                faults.extend(found.0);
            }
        }
    }
    if is_complete { Ok(rules) } else { Err(Faults(faults)) }
}

/// Converts an error in a trace to a fault at a line of the trace, or else at the parameter.
fn fault(error: &TraceError, content: &[u8]) -> Fault {
    let may_be_foreign = matches!(
        error,
        TraceError::MissingColumn { .. } | TraceError::LineTooLong { .. } | TraceError::Empty { .. }
    ) || matches!(error, TraceError::Damaged { place: PacketPlace::Line(_), .. });
    if let Some(foreign) = Foreign::but_not(content, PACKET_TRACE).filter(|_| may_be_foreign) {
        return Fault::new("file", foreign.message(&error.to_string()), "this file").help(foreign.advice);
    }
    let message = match error {
        TraceError::Packet { place, problem, .. } => format!("{place}: {problem}"),
        other => other.to_string(),
    };
    let advice = "see kind = \"trace\" in docs/reference/scenarios.md for what a trace holds";
    match error.line() {
        Some(line) => Fault::of_error("file", &message, "here").or_help(advice).at_line(line as usize),
        None => Fault::of_error("file", &message, "this file").or_help(advice),
    }
}

fn warn(context: &WorkloadContext<'_>, trace: &Trace) {
    if !trace.ignored_columns.is_empty() {
        let names = quoted_list(trace.ignored_columns.iter().map(String::as_str));
        let message = format!("columns that nobody reads: {names}");
        let known = "read are: time_ps (or time_ns, time_us, time_s), src, dst, size_bytes, priority";
        context.warn(Fault::new("file", message, "this file").help(known));
    }
    let sent = trace.packets.len();
    if trace.stayed > 0 {
        let message = format!("{} packets stay at one host and are left out; {sent} are sent", trace.stayed);
        let help = "their addresses belong to the same host: map them with `addresses`, or use more hosts";
        context.warn(Fault::new("file", message, "this trace").help(help));
    }
    if trace.cut_off > 0 {
        let bytes = trace.cut_off;
        let message = format!(
            "the capture was cut off: its last {bytes} bytes are no whole packet and are left out; {sent} packets are sent"
        );
        let help =
            "end captures with Ctrl-C, or write with `tcpdump -U`; nothing to do if its end does not matter";
        context.warn(Fault::new("file", message, "this trace").help(help));
    }
    if trace.without_address > 0 {
        let count = trace.without_address;
        let message = format!("{count} frames without an IP address are left out; {sent} are sent");
        let help = "ARP and the like; nothing to do if they are few";
        context.warn(Fault::new("file", message, "this trace").help(help));
    }
}

impl Workload for Packets {
    fn start(&self, traffic: &mut TrafficBuilder<'_>) -> Result<(), SourceError> {
        let classes: Vec<u16> =
            self.priorities.iter().map(|&priority| traffic.replay_class(priority)).collect();
        let packet =
            |packet: &FlowSpec| FlowSpec { class: classes[usize::from(packet.class)], ..packet.clone() };
        traffic.add_list(self.packets.iter().map(packet).collect());
        Ok(())
    }

    fn listed_flows(&self) -> usize {
        self.packets.len()
    }

    fn in_words(&self) -> String {
        format!("{} of {}", count_of(self.packets.len(), "packet", "packets"), self.file)
    }
}
