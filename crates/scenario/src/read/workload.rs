//! `[[workload]]`: what is sent.

use super::files::Inputs;
use super::topology::Networks;
use super::transport::Transports;
use crate::context::{Complaint, quoted_list, suggestion};
use crate::model::{LoadReference, SwitchSpec, TrafficProcess, WorkloadSpec};
use crate::quantity::{format_size, format_time, parse_size};
use crate::reader::Reader;
use crate::resolved::quote;
use crate::tree::Origin;
use bufferlab_units::Time;
use bufferlab_workload::{
    BUILTIN_SIZES, FlowListError, IncastParams, IncastSource, Pattern, PoissonParams, PoissonSource,
    QueryNumbers, SizeDistribution, SizeError, SourceError, arrivals_per_second_per_host, read_flow_list,
};
use std::path::{Path, PathBuf};

/// What workloads are judged against, as far as it is known.
pub(crate) struct Facts<'a> {
    pub(crate) networks: Option<&'a Networks>,
    pub(crate) switches: Option<&'a [SwitchSpec]>,
    pub(crate) duration: Option<Time>,
    pub(crate) seed: u64,
}

pub(crate) fn read(
    root: &mut Reader<'_>,
    facts: &Facts<'_>,
    transports: &mut Transports,
    inputs: &mut Inputs,
) -> Option<Vec<WorkloadSpec>> {
    let (mut specs, mut resolved) = (Vec::new(), Vec::new());
    let mut classes: Vec<(String, Origin)> = Vec::new();
    let mut complete = true;
    for mut reader in root.tables("workload") {
        let kind = reader.kind();
        let class = reader.text_or("class", kind);
        let class_origin = reader.place(if reader.has("class") { "class" } else { "kind" });
        if let Some((_, first)) = classes.iter().find(|known| known.0 == class) {
            let complaint =
                Complaint::new(format!("two workloads have the class \"{class}\""), "the second one");
            let help =
                "give each a `class` of its own: it names their rows in tables, and their random streams";
            let key = reader.path("class");
            reader.context.error(&key, class_origin, complaint.also(*first, "the first one").help(help));
        }
        let transport = transports.index_for(&mut reader);
        let process = match kind {
            "poisson" => poisson(&mut reader, facts, inputs, &class),
            "incast" => incast(&mut reader, facts, &class),
            _ => flow_list(&mut reader, facts, inputs),
        };
        classes.push((class.clone(), class_origin));
        resolved.push(reader.finish());
        match (transport, process) {
            (Some(transport), Some(process)) => specs.push(WorkloadSpec { class, transport, process }),
            _ => complete = false,
        }
    }
    root.put_all("workload", resolved);
    (complete && !specs.is_empty()).then_some(specs)
}

fn poisson(
    reader: &mut Reader<'_>,
    facts: &Facts<'_>,
    inputs: &mut Inputs,
    class: &str,
) -> Option<TrafficProcess> {
    let sizes = sizes(reader, inputs);
    let load = reader.ratio("load");
    let several = facts.networks.is_some_and(|networks| networks.as_built.switches.len() > 1);
    let load_of = match reader.choice_or("load_of", if several { "leaf_uplinks" } else { "host_links" }) {
        "leaf_uplinks" => LoadReference::LeafUplinks,
        _ => LoadReference::HostLinks,
    };
    let pattern = pattern(reader, facts);
    let (sizes, load, pattern) = (sizes?, load?, pattern?);
    let networks = facts.networks?;
    let capacity = capacity_bps_per_host(reader, networks, load_of)?;
    let flows_per_second_per_host = arrivals_per_second_per_host(load, capacity, sizes.mean());
    let racks = networks.as_built.racks();
    let params = PoissonParams {
        seed: facts.seed,
        label: class,
        racks: &racks,
        pattern,
        flows_per_second_per_host,
        sizes: sizes.clone(),
        class: 0,
        end: facts.duration?,
    };
    let refused = PoissonSource::new(params).err();
    accept(reader, refused)?;
    Some(TrafficProcess::Poisson { sizes, load, load_of, flows_per_second_per_host, pattern })
}

/// One host's share of the capacity that a load refers to, in the network as built.
fn capacity_bps_per_host(reader: &Reader<'_>, networks: &Networks, load_of: LoadReference) -> Option<f64> {
    let network = &networks.as_built;
    let racks = network.racks();
    let shares: Vec<f64> = match load_of {
        LoadReference::HostLinks => {
            (0..network.hosts.len() as u32).map(|host| network.host_rate(host).0 as f64).collect()
        }
        LoadReference::LeafUplinks => (0..racks.len())
            .map(|rack| network.leaf_uplink_capacity_bps(rack) as f64 / racks[rack].len() as f64)
            .collect(),
    };
    let lowest = shares.iter().copied().fold(f64::INFINITY, f64::min);
    let highest = shares.iter().copied().fold(0.0, f64::max);
    if lowest <= 0.0 {
        let complaint = Complaint::new("a rack has no uplinks", "a load of nothing");
        reader.error("load_of", complaint.help("set load_of = \"host_links\""));
        return None;
    }
    if lowest < highest {
        let whose = match load_of {
            LoadReference::HostLinks => "hosts have different link rates",
            LoadReference::LeafUplinks => "racks have different uplink capacities per host",
        };
        let complaint =
            Complaint::new(format!("{whose}; the smallest counts"), "the same rate at every host");
        let help = format!(
            "shares range from {:.3} to {:.3} Gb/s per host; every host sends as if it had the smallest",
            lowest / 1e9,
            highest / 1e9
        );
        reader.warn("load", complaint.help(help));
    }
    Some(lowest)
}

fn pattern(reader: &mut Reader<'_>, facts: &Facts<'_>) -> Option<Pattern> {
    let racks = facts.networks.map(|networks| networks.as_built.racks().len());
    let computed = if racks == Some(1) { "all_to_all" } else { "other_rack" };
    let pattern = match reader.choice_or("pattern", computed) {
        "next_rack" => Pattern::NextRack,
        "other_rack" => Pattern::OtherRack,
        _ => Pattern::AllToAll,
    };
    if racks == Some(1) && pattern != Pattern::AllToAll {
        let complaint = Complaint::new(
            format!("\"{pattern}\" needs several racks, and all hosts are on one switch"),
            "there is no other rack",
        );
        reader.error("pattern", complaint.help("set pattern = \"all_to_all\""));
        return None;
    }
    Some(pattern)
}

/// A built-in distribution, a file, or one size.
fn sizes(reader: &mut Reader<'_>, inputs: &mut Inputs) -> Option<SizeDistribution> {
    let written = reader.text("sizes")?;
    if let Some(sizes) = SizeDistribution::builtin(&written) {
        return Some(sizes);
    }
    match parse_size(&written) {
        Ok(bytes) if bytes > 0 => {
            reader.out.set("sizes", quote(&format_size(bytes)));
            return Some(SizeDistribution::fixed(bytes));
        }
        Ok(_) => {
            reader.error("sizes", Complaint::new("a flow of 0 B sends nothing", "expected a size above 0"));
            return None;
        }
        Err(_) => {}
    }
    let looks_like_a_file =
        written.contains(['/', '\\']) || written.ends_with(".csv") || written.ends_with(".txt");
    if !looks_like_a_file {
        let names = || BUILTIN_SIZES.iter().map(|sizes| sizes.name);
        let known =
            format!("built in: {}; or a CSV file, or one size such as \"100 KB\"", quoted_list(names()));
        let help = match suggestion(&written, names()) {
            Some(near) => format!("did you mean \"{near}\"?\n{known}"),
            None => known,
        };
        let complaint = Complaint::new(format!("there is no size distribution \"{written}\""), "not known");
        reader.error("sizes", complaint.help(help));
        return None;
    }
    let path = locate(reader, "sizes", &written);
    let content = read_file(reader, "sizes", &path)?;
    let text = String::from_utf8_lossy(&content).into_owned();
    let name = inputs.keep(&path, content);
    reader.out.set("sizes", quote(&name));
    match SizeDistribution::from_csv(&name, &text) {
        Ok(sizes) => Some(sizes),
        Err(error) => {
            let complaint = Complaint::new(error.to_string(), "here")
                .help("each line is `bytes,cumulative`: so many bytes or fewer with that probability; the last one is 1");
            let (key, origin) = (reader.path("sizes"), reader.place("sizes"));
            reader.context.error_in_file(&key, origin, &path, &text, line_of(&error), complaint);
            None
        }
    }
}

fn line_of(error: &SizeError) -> Option<usize> {
    use bufferlab_workload::Place;
    let place = match error {
        SizeError::NotAPair { place, .. }
        | SizeError::NotASize { place, .. }
        | SizeError::SizeFalls { place, .. }
        | SizeError::NotAProbability { place, .. }
        | SizeError::ProbabilityFalls { place, .. }
        | SizeError::EndsBelowOne { place, .. } => place,
        _ => return None,
    };
    match place {
        Place::Line(line) => Some(*line),
        Place::Point(_) => None,
    }
}

/// A path in a scenario is relative to the file that says it; on the command line, to the current folder.
fn locate(reader: &Reader<'_>, key: &str, written: &str) -> PathBuf {
    reader.context.folder_of(reader.place(key)).join(written)
}

fn read_file(reader: &Reader<'_>, key: &'static str, path: &Path) -> Option<Vec<u8>> {
    match std::fs::read(path) {
        Ok(content) => Some(content),
        Err(error) => {
            let complaint = Complaint::new(
                format!("cannot read {}: {}", path.display(), crate::load::reason(&error)),
                "this file",
            );
            let near = crate::load::nearby_file(path);
            let help = near
                .map(|near| format!("did you mean \"{near}\"?"))
                .unwrap_or_else(|| "paths are relative to the scenario file".to_owned());
            reader.error(key, complaint.help(help));
            None
        }
    }
}

fn incast(reader: &mut Reader<'_>, facts: &Facts<'_>, class: &str) -> Option<TrafficProcess> {
    let bytes = reader.size("request");
    let fraction = reader.ratio("request_fraction_of_buffer");
    let request_bytes = match (reader.has("request"), reader.has("request_fraction_of_buffer")) {
        (true, true) => {
            let complaint = Complaint::new("the request's size is given twice", "so is it here");
            let complaint = complaint.also(reader.place("request_fraction_of_buffer"), "and here");
            reader.error("request", complaint.help("remove `request` or `request_fraction_of_buffer`"));
            None
        }
        (false, false) => {
            let complaint = Complaint::new("the request's size is missing", "an incast needs it");
            reader.error(
                "request",
                complaint.help("add request = \"1.15 MB\", or request_fraction_of_buffer = 0.3"),
            );
            None
        }
        (true, false) => bytes,
        (false, true) => fraction.and_then(|fraction| fraction_of_buffer(reader, facts, fraction)),
    };
    if let Some(bytes) = request_bytes {
        reader.out.set("request", quote(&format_size(bytes)));
        reader.out.remove("request_fraction_of_buffer");
    }
    let fan_in = reader.small_count("fan_in");
    let rate = reader.ratio("queries_per_second_per_host");
    let pattern = pattern(reader, facts);
    let persistent = reader.flag("persistent");
    let (request_bytes, fan_in, rate) = (request_bytes?, fan_in?, rate?);
    let (pattern, persistent) = (pattern?, persistent?);
    if request_bytes < u64::from(fan_in) {
        let complaint = Complaint::new(
            format!(
                "a request of {} leaves less than a byte for each of {fan_in} servers",
                format_size(request_bytes)
            ),
            "too little",
        );
        reader.error(if bytes.is_some() { "request" } else { "request_fraction_of_buffer" }, complaint);
        return None;
    }
    let racks = facts.networks?.as_built.racks();
    let params = IncastParams {
        seed: facts.seed,
        label: class,
        racks: &racks,
        pattern,
        fan_in,
        request_bytes,
        queries_per_second_per_host: rate,
        persistent,
        class: 0,
        queries: QueryNumbers::default(),
        end: facts.duration?,
    };
    let refused = IncastSource::new(params).err();
    accept(reader, refused)?;
    let queries_per_second_per_host = rate;
    Some(TrafficProcess::Incast { request_bytes, fan_in, queries_per_second_per_host, pattern, persistent })
}

fn fraction_of_buffer(reader: &Reader<'_>, facts: &Facts<'_>, fraction: f64) -> Option<u64> {
    let switches = facts.switches?;
    let racks = facts.networks?.as_built.rack_switches();
    let mut buffers: Vec<_> = racks.iter().map(|&switch| switches[switch as usize].buffer_bytes).collect();
    buffers.sort_unstable();
    let (smallest, largest) = (*buffers.first()?, *buffers.last()?);
    if smallest != largest {
        let complaint = Complaint::new(
            format!(
                "which buffer? the racks' switches have {} to {}",
                format_size(smallest),
                format_size(largest)
            ),
            "a fraction of what?",
        );
        let help = "give the size itself: request = \"1.15 MB\"";
        reader.error("request_fraction_of_buffer", complaint.help(help));
        return None;
    }
    // A fraction such as 0.3 is not exact: without the margin, 0.3 of 3.84 MB could be 1,151,999 B.
    Some((smallest as f64 * fraction + 1e-6).floor() as u64)
}

/// Turns what the source refuses into an error at the key that is at fault.
fn accept(reader: &Reader<'_>, refused: Option<SourceError>) -> Option<()> {
    let Some(error) = refused else { return Some(()) };
    let (key, complaint) = match &error {
        SourceError::FanIn { fan_in, pattern, available } => {
            let only = match pattern {
                Pattern::AllToAll => format!("there are only {available} other hosts"),
                _ => format!("the smallest rack has only {available} hosts"),
            };
            let complaint = Complaint::new(
                format!("a query asks {fan_in} servers, and {only}"),
                format!("expected at most {available}"),
            );
            let servers = match pattern {
                Pattern::AllToAll => "(not the client itself)",
                _ => "of one rack",
            };
            let help =
                format!("with pattern = \"{pattern}\" the servers of a query are different hosts {servers}");
            ("fan_in", complaint.help(help))
        }
        SourceError::TooFewHosts { .. } | SourceError::TooFewRacks { .. } => {
            ("pattern", Complaint::new(error.to_string(), "nobody to talk to"))
        }
        SourceError::TooManyQueries { .. } => {
            ("queries_per_second_per_host", Complaint::new(error.to_string(), "too many"))
        }
        SourceError::Rate { .. } => {
            let key = if reader.kind() == "poisson" { "load" } else { "queries_per_second_per_host" };
            (key, Complaint::new(error.to_string(), "too many"))
        }
        _ => ("kind", Complaint::new(error.to_string(), "this workload")),
    };
    reader.error(key, complaint);
    None
}

fn flow_list(reader: &mut Reader<'_>, facts: &Facts<'_>, inputs: &mut Inputs) -> Option<TrafficProcess> {
    let written = reader.text("file")?;
    let path = locate(reader, "file", &written);
    let content = read_file(reader, "file", &path)?;
    let text = String::from_utf8_lossy(&content).into_owned();
    let name = inputs.keep(&path, content);
    reader.out.set("file", quote(&name));
    let network = &facts.networks?.as_built;
    let list = match read_flow_list(&path, network.hosts.len(), &network.hosts) {
        Ok(list) => list,
        Err(error) => {
            let (message, line, help) = match &error {
                FlowListError::Cell { line, column, value, problem, .. } => {
                    let problem = problem.to_string();
                    let (what, help) = match problem.split_once("; ") {
                        Some((what, help)) => (what.to_owned(), Some(help.to_owned())),
                        None => (problem, None),
                    };
                    (
                        format!("line {line}, column `{column}`: \"{value}\" {what}"),
                        Some(*line as usize),
                        help,
                    )
                }
                other => (other.to_string(), Some(1), None),
            };
            let complaint = Complaint::new(message, "here").maybe_help(help);
            let (key, origin) = (reader.path("file"), reader.place("file"));
            reader.context.error_in_file(&key, origin, &path, &text, line, complaint);
            return None;
        }
    };
    if !list.ignored_columns.is_empty() {
        let names = quoted_list(list.ignored_columns.iter().map(String::as_str));
        let complaint = Complaint::new(format!("columns of {name} that nobody reads: {names}"), "this file");
        let known =
            "read are: src, dst, size_bytes, start_ns, class, query, conn_open_ns, data_path, ack_path";
        reader.warn("file", complaint.help(known));
    }
    if let Some(duration) = facts.duration {
        let late = list.flows.iter().filter(|flow| flow.start >= duration).count();
        if late > 0 {
            let complaint = Complaint::new(
                format!(
                    "{late} of {} flows start after `duration` ({})",
                    list.flows.len(),
                    format_time(duration)
                ),
                "flows that would be left out",
            );
            let last = list.flows.last().map_or(Time::ZERO, |flow| flow.start);
            let help = format!("the last one starts at {}; raise `duration` above it", format_time(last));
            reader.error("file", complaint.help(help));
            return None;
        }
    }
    Some(TrafficProcess::FlowList { path: name, flows: list.flows, classes: list.classes })
}
