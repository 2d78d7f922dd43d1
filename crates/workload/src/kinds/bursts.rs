//! Workload `bursts`, which sends the bursts that the scenario lists.

use super::parts::{burst_kind, count_of, warn_about_uplinks};
use crate::context::{Carrier, WorkloadContext};
use crate::traffic::TrafficBuilder;
use crate::workload::{Workload, WorkloadInfo};
use crate::{DurationShape, Durations, FlowSpec, SourceError};
use bufferlab_params::{Fault, Faults, ParamInfo, ParamKind, ParamPlace, Params, TableInfo};
use bufferlab_units::Time;
use bufferlab_units::quantity::format_time;

pub(crate) static INFO: WorkloadInfo = WorkloadInfo {
    name: "bursts",
    aliases: &[],
    title: "Listed bursts",
    summary: "Bursts given one by one; a long-lived constant bit rate is one long burst.",
    source: "",
    params: PARAMS,
    build: &build,
};

const PARAMS: &[ParamInfo] = &[ParamInfo::required(
    "bursts",
    ParamKind::Tables(&BURST),
    "[{ src = \"h1\", dst = \"h3\", start = \"150 ms\", duration = \"1 ms\" }]",
    "List of bursts.",
)];

static BURST: TableInfo = TableInfo {
    title: "an entry of workload.bursts",
    doc: "One burst. Without `duration` and `size` the burst lasts until the scenario's `duration`; over a congestion \
          control the burst is a long flow (iperf), whose size is the payload sent.",
    params: &[
        ParamInfo::required("src", ParamKind::Text, "\"h1\"", "Sending host."),
        ParamInfo::required("dst", ParamKind::Text, "\"h3\"", "Receiving host."),
        ParamInfo::required("start", ParamKind::DELAY, "\"150 ms\"", "Start of the burst."),
        ParamInfo::optional(
            "duration",
            ParamKind::SPAN,
            "\"1 ms\"",
            "Time for which the burst sends at its transport's `rate` (congestion_control = \"none\"); rounded to \
             whole packets.",
        ),
        ParamInfo::optional(
            "size",
            ParamKind::SIZE,
            "\"1 MB\"",
            "Payload of the burst, instead of `duration`.",
        ),
    ],
};

#[derive(Debug)]
struct Bursts {
    /// Flows of the listed bursts, ordered by start, with class 0.
    flows: Vec<FlowSpec>,
}

fn build(params: &mut Params, context: &WorkloadContext<'_>) -> Result<Box<dyn Workload>, Faults> {
    let (mut flows, mut faults, mut is_complete) = (Vec::new(), Vec::new(), true);
    for (index, table) in params.tables("bursts").iter().enumerate() {
        match burst(table, context, ParamPlace::new("bursts").element(index)) {
            Ok(flow) => flows.push(flow),
            Err(found) => {
                is_complete = false;
                faults.extend(found.0);
            }
        }
    }
    if !is_complete {
        return Err(Faults(faults));
    }
    // The sort is stable: bursts with equal starts keep the order of the file.
    flows.sort_by_key(|flow| flow.start);
    warn_about_uplinks(context, context.transport()?, flows.iter().map(|flow| flow.src));
    Ok(Box::new(Bursts { flows }))
}

fn burst(table: &Params, context: &WorkloadContext<'_>, place: ParamPlace) -> Result<FlowSpec, Faults> {
    let src = context.host(place.key("src"), table.text("src"))?;
    let dst = context.host(place.key("dst"), table.text("dst"))?;
    let (start, until) = (table.time("start"), context.duration()?);
    if table.has("duration") && table.has("size") {
        let fault = Fault::new(place.key("size"), "the burst's length is given twice", "so is it here");
        return Err(fault.also(place.key("duration"), "and here").help("remove `duration` or `size`").into());
    }
    if src == dst {
        let message = "this burst goes to its own sender";
        let fault = Fault::new(place.key("dst"), message, "expected another host");
        return Err(fault.help("name two different hosts").into());
    }
    if start >= until {
        let message = format!("the burst starts after `duration` ({})", format_time(until));
        let fault = Fault::new(place.key("start"), message, "it would be left out");
        return Err(fault.help(format!("raise `duration` above {}", format_time(start))).into());
    }
    let size = size(table, context.transport()?, Time(until.0 - start.0), place)?;
    let query = FlowSpec::NO_QUERY;
    let (open, data_path, ack_path, node) = (None, None, None, FlowSpec::NO_NODE);
    Ok(FlowSpec { start, src, dst, size, class: 0, query, open, data_path, ack_path, node })
}

/// Payload of a burst. A burst without a duration or size lasts for `rest`.
fn size(table: &Params, carrier: &Carrier, rest: Time, place: ParamPlace) -> Result<u64, Faults> {
    if let Some(size) = table.given_bytes("size") {
        return Ok(size);
    }
    let duration = table.given_time("duration");
    if carrier.rate.is_some() {
        let on = Durations { mean: Time(1), shape: DurationShape::Fixed };
        return Ok(burst_kind(carrier, 1.0, on).size(duration.unwrap_or(rest)));
    }
    if duration.is_some() {
        let message =
            format!("transport \"{}\" has no rate, so that a burst of a length has no size", carrier.name);
        let help = "give `size`, leave both out for a flow that goes on until the scenario's `duration`, or use a \
                    transport with congestion_control = \"none\"";
        return Err(Fault::new(place.key("duration"), message, "how many bytes?").help(help).into());
    }
    if carrier.is_rdma {
        let message =
            format!("a burst over \"{}\" needs a size: a queue pair carries a message", carrier.name);
        let help = "give `size`, as much as the link sends until the scenario's `duration`";
        return Err(Fault::new(place.key("size"), message, "how many bytes?").help(help).into());
    }
    Ok(FlowSpec::UNLIMITED)
}

impl Workload for Bursts {
    fn start(&self, traffic: &mut TrafficBuilder<'_>) -> Result<(), SourceError> {
        let class = traffic.class();
        traffic.add_list(self.flows.iter().map(|flow| FlowSpec { class, ..flow.clone() }).collect());
        Ok(())
    }

    fn largest_flow_bytes(&self) -> Option<u64> {
        self.flows.iter().map(|flow| flow.size).max()
    }

    fn in_words(&self) -> String {
        count_of(self.flows.len(), "listed burst", "listed bursts")
    }
}
