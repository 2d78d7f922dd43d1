//! Workload of queries that many servers answer at once.

use super::parts::{OTHER_RACK, pattern};
use crate::context::WorkloadContext;
use crate::traffic::TrafficBuilder;
use crate::workload::{Queries, Workload, WorkloadInfo};
use crate::{IncastParams, IncastSource, Pattern, QueryNumbers, SourceError};
use bufferlab_params::{Fault, Faults, ParamInfo, ParamKind, ParamValue, Params};
use bufferlab_units::Time;
use bufferlab_units::quantity::format_size;

pub(crate) static INFO: WorkloadInfo = WorkloadInfo {
    name: "incast",
    aliases: &[],
    title: "Incast queries",
    summary: "Queries: a client asks `fan_in` servers, all of which answer at once.",
    source: "",
    params: PARAMS,
    build: &build,
};

const PARAMS: &[ParamInfo] = &[
    ParamInfo::computed(
        "request",
        ParamKind::SIZE,
        "one of the two is required",
        "\"1.15 MB\"",
        "Total bytes of all answers of one query. Alternative to `request_fraction_of_buffer`.",
    ),
    ParamInfo::computed(
        "request_fraction_of_buffer",
        ParamKind::RatioAbove { min: 0.0, max: 1000.0 },
        "one of the two is required",
        "0.3",
        "Total bytes of all answers of one query as a fraction of the buffer of the racks' switches, rounded down to a byte.",
    ),
    ParamInfo::required(
        "fan_in",
        ParamKind::Count { min: 1, max: u32::MAX as u64 },
        "32",
        "Servers per query.",
    ),
    ParamInfo::required(
        "queries_per_second_per_host",
        ParamKind::RatioAbove { min: 0.0, max: 1e9 },
        "2.0",
        "Mean rate at which every host asks queries (Poisson).",
    ),
    pattern(OTHER_RACK, "\"next_rack\"", "Servers of a client's queries."),
    ParamInfo::with_default(
        "persistent",
        ParamKind::Flag,
        ParamValue::Flag(true),
        "Whether the answers use existing connections, without a handshake. Default: ABM's artifact and \
         Plasticine section 6.",
    ),
];

#[derive(Debug)]
struct Incast {
    request_bytes: u64,
    fan_in: u32,
    queries_per_second_per_host: f64,
    pattern: Pattern,
    persistent: bool,
    offered_bps: f64,
    words: String,
}

fn build(params: &mut Params, context: &WorkloadContext<'_>) -> Result<Box<dyn Workload>, Faults> {
    let is_fraction = params.has("request_fraction_of_buffer");
    let request_bytes = request(params, context)?;
    let (fan_in, rate) = (params.small_count("fan_in"), params.ratio("queries_per_second_per_host"));
    let pattern = context.pattern(params)?;
    if request_bytes < u64::from(fan_in) {
        let place = if is_fraction { "request_fraction_of_buffer" } else { "request" };
        let size = format_size(request_bytes);
        let message = format!("a request of {size} leaves less than a byte for each of {fan_in} servers");
        return Err(Fault::new(place, message, "too little")
            .help("raise the request, or lower fan_in")
            .into());
    }
    let (network, duration) = (context.network()?, context.duration()?);
    let words = format!(
        "queries of {} from {fan_in} servers, about {:.0} queries",
        format_size(request_bytes),
        rate * network.hosts.len() as f64 * duration.as_secs_f64()
    );
    let persistent = params.flag("persistent");
    let offered_bps = rate * network.hosts.len() as f64 * request_bytes as f64 * 8.0;
    let incast = Incast {
        request_bytes,
        fan_in,
        queries_per_second_per_host: rate,
        pattern,
        persistent,
        offered_bps,
        words,
    };
    // This trial builds the source, and reports an error of the source
    // at the parameter in question.
    let queries = QueryNumbers::default();
    let trial = incast.source(context.seed(), context.class(), &network.racks(), 0, queries, duration);
    trial.map_err(|error| refused(&error, "queries_per_second_per_host"))?;
    Ok(Box::new(incast))
}

impl Incast {
    fn source(
        &self,
        seed: u64,
        label: &str,
        racks: &[Vec<u32>],
        class: u16,
        queries: QueryNumbers,
        end: Time,
    ) -> Result<IncastSource, SourceError> {
        IncastSource::new(IncastParams {
            seed,
            label,
            racks,
            pattern: self.pattern,
            fan_in: self.fan_in,
            request_bytes: self.request_bytes,
            queries_per_second_per_host: self.queries_per_second_per_host,
            persistent: self.persistent,
            class,
            queries,
            end,
        })
    }
}

impl Workload for Incast {
    fn start(&self, traffic: &mut TrafficBuilder<'_>) -> Result<(), SourceError> {
        let (class, queries) = (traffic.class(), traffic.queries());
        let (seed, racks, end) = (traffic.seed(), traffic.racks(), traffic.end());
        let source = self.source(seed, traffic.label(), racks, class, queries, end)?;
        traffic.add_source(source);
        Ok(())
    }

    fn offered_bps(&self) -> Option<f64> {
        Some(self.offered_bps)
    }

    fn arrivals_per_second(&self) -> Option<f64> {
        Some(self.offered_bps / 8.0 / self.request_bytes as f64)
    }

    fn in_words(&self) -> String {
        self.words.clone()
    }

    fn queries(&self) -> Queries {
        Queries::Numbered
    }
}

/// Size of all answers of a query, from `request` or from `request_fraction_of_buffer` (bytes).
fn request(params: &mut Params, context: &WorkloadContext<'_>) -> Result<u64, Faults> {
    let bytes = match (params.given_bytes("request"), params.given_ratio("request_fraction_of_buffer")) {
        (Some(_), Some(_)) => {
            let fault = Fault::new("request", "the request's size is given twice", "so is it here");
            let fault = fault.also("request_fraction_of_buffer", "and here");
            return Err(fault.help("remove `request` or `request_fraction_of_buffer`").into());
        }
        (None, None) => {
            let fault = Fault::new("request", "the request's size is missing", "an incast needs it");
            let help = "add request = \"1.15 MB\", or request_fraction_of_buffer = 0.3";
            return Err(fault.help(help).into());
        }
        (Some(bytes), None) => bytes,
        (None, Some(fraction)) => fraction_of_buffer(context, fraction)?,
    };
    params.set("request", ParamValue::Bytes(bytes));
    params.unset("request_fraction_of_buffer");
    Ok(bytes)
}

fn fraction_of_buffer(context: &WorkloadContext<'_>, fraction: f64) -> Result<u64, Faults> {
    let switches = context.switches()?;
    let racks = context.network()?.rack_switches();
    let mut buffers: Vec<_> = racks.iter().map(|&switch| switches[switch as usize].buffer_bytes).collect();
    buffers.sort_unstable();
    let (smallest, largest) = (*buffers.first().ok_or_else(Faults::reported)?, buffers[buffers.len() - 1]);
    if smallest != largest {
        let (smallest, largest) = (format_size(smallest), format_size(largest));
        let message = format!("which buffer? the racks' switches have {smallest} to {largest}");
        let fault = Fault::new("request_fraction_of_buffer", message, "a fraction of what?");
        return Err(fault.help("give the size itself: request = \"1.15 MB\"").into());
    }
    // A fraction such as 0.3 is not exact: without the margin of 1e-6, 0.3 of 3.84 MB could be
    // 1,151,999 B.
    Ok((smallest as f64 * fraction + 1e-6).floor() as u64)
}

/// Converts an error of a traffic source to a fault at the parameter that causes the error. `rate`
/// is the name of the parameter for the rate.
pub(super) fn refused(error: &SourceError, rate: &'static str) -> Fault {
    match error {
        SourceError::FanIn { fan_in, pattern, available } => {
            let (only, servers) = match pattern {
                Pattern::AllToAll => {
                    (format!("there are only {available} other hosts"), "(not the client itself)")
                }
                Pattern::NextRack | Pattern::OtherRack => {
                    (format!("the smallest rack has only {available} hosts"), "of one rack")
                }
            };
            let message = format!("a query asks {fan_in} servers, and {only}");
            let wider =
                if *pattern == Pattern::AllToAll { "" } else { "; \"all_to_all\" asks hosts of any rack" };
            let help = format!(
                "with pattern = \"{pattern}\" the servers of a query are different hosts {servers}{wider}"
            );
            Fault::new("fan_in", message, format!("expected at most {available}")).help(help)
        }
        SourceError::TooFewHosts { .. } | SourceError::TooFewRacks { .. } => {
            Fault::of_error("pattern", &error.to_string(), "nobody to talk to")
        }
        SourceError::TooManyQueries { .. } | SourceError::Rate { .. } => {
            Fault::of_error(rate, &error.to_string(), "too many")
        }
        _ => Fault::of_error("kind", &error.to_string(), "this workload"),
    }
}
