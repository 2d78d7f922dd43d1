//! `[[workload]]`: what is sent.

use super::files::Inputs;
use super::multi_get::{hosts, multi_get};
use super::on_off;
use super::topology::Networks;
use super::trace;
use super::traffic_files::{flow_list, sizes};
use super::transport::Transports;
use crate::context::Complaint;
use crate::model::{LoadReference, Node, SwitchSpec, TrafficProcess, WorkloadSpec};
use crate::quantity::format_size;
use crate::reader::Reader;
use crate::resolved::quote;
use crate::tree::Origin;
use bufferlab_units::Time;
use bufferlab_workload::{
    IncastParams, IncastSource, Pattern, PoissonParams, PoissonSource, QueryNumbers, SourceError,
    arrivals_per_second_per_host,
};

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
            "on_off" => on_off::on_off(&mut reader, facts, transports, transport, &class),
            "multi_get" => multi_get(&mut reader, facts, transports, transport, &class),
            "bursts" => on_off::bursts(&mut reader, facts, transports, transport),
            "trace" => trace::trace(&mut reader, facts, transports, transport, inputs),
            _ => flow_list(&mut reader, facts, inputs),
        };
        if let Some(TrafficProcess::OnOff { others, .. }) = &process {
            let origin = reader.place("others");
            classes.extend(others.iter().map(|other| (other.class.clone(), origin)));
        }
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
    let between = between(reader, facts);
    let is_between = reader.has("from") || reader.has("to");
    let several = !is_between && facts.networks.is_some_and(|networks| networks.as_built.switches.len() > 1);
    let computed = if several { LoadReference::LeafUplinks } else { LoadReference::HostLinks };
    let load_of = reader.choice_or("load_of", computed);
    let pattern = if is_between { Some(Pattern::AllToAll) } else { pattern(reader, facts) };
    let (sizes, load, pattern, between) = (sizes?, load?, pattern?, between?);
    let networks = facts.networks?;
    let capacity = match (&between, load_of) {
        (None, _) => capacity_bps_per_host(reader, networks, load_of)?,
        (Some((from, _)), LoadReference::HostLinks) => {
            from.iter().map(|&host| networks.as_built.host_rate(host).0).min()? as f64
        }
        (Some(_), LoadReference::LeafUplinks) => {
            let complaint = Complaint::new(
                "with `from` and `to`, a load refers to the senders' own links",
                "whose uplinks?",
            );
            reader.error("load_of", complaint.help("set load_of = \"host_links\", or name a `pattern`"));
            return None;
        }
    };
    let flows_per_second_per_host = arrivals_per_second_per_host(load, capacity, sizes.mean());
    let racks = networks.as_built.racks();
    let params = PoissonParams {
        seed: facts.seed,
        label: class,
        racks: &racks,
        pattern,
        between: between.as_ref().map(|(from, to)| (from.as_slice(), to.as_slice())),
        flows_per_second_per_host,
        sizes: sizes.clone(),
        class: 0,
        end: facts.duration?,
    };
    let refused = PoissonSource::new(params).err();
    accept(reader, refused)?;
    Some(TrafficProcess::Poisson { sizes, load, load_of, flows_per_second_per_host, pattern, between })
}

/// `from` and `to` of Poisson traffic: `Some(None)` where a pattern says who sends to whom.
#[allow(clippy::type_complexity, reason = "senders and receivers, or none; or an error")]
fn between(reader: &mut Reader<'_>, facts: &Facts<'_>) -> Option<Option<(Vec<u32>, Vec<u32>)>> {
    for key in ["from", "to"] {
        reader.spec_of(key);
    }
    let ends = ["from", "to"].map(|key| reader.has(key));
    if ends == [false, false] {
        return Some(None);
    }
    reader.spec_of("pattern");
    if reader.has("pattern") {
        let complaint = Complaint::new("the partners are given twice", "so are they here");
        let given = if ends[0] { "from" } else { "to" };
        let complaint = complaint.also(reader.place(given), "and here");
        reader.error("pattern", complaint.help("remove `pattern`, or `from` and `to`"));
        return None;
    }
    for (key, other) in [("from", "to"), ("to", "from")] {
        if !reader.has(key) {
            let complaint = Complaint::new(format!("`{key}` is missing"), format!("`{other}` goes with it"));
            reader
                .error(other, complaint.help(format!("add {key} = \"leaf1\", or a list of hosts and racks")));
            return None;
        }
    }
    let (from, to) = (hosts(reader, facts, "from"), hosts(reader, facts, "to"));
    Some(Some((from?, to?)))
}

/// One host's share of the capacity that a load refers to, in the network as built.
fn capacity_bps_per_host(reader: &Reader<'_>, networks: &Networks, load_of: LoadReference) -> Option<f64> {
    let network = &networks.as_built;
    let mut uplinks_bps = vec![0_u64; network.switches.len()];
    let mut access_bps = Vec::new();
    for link in &network.links {
        match (link.a, link.b) {
            (Node::Switch(a), Node::Switch(b)) => {
                uplinks_bps[a as usize] += link.rate_ab.0;
                uplinks_bps[b as usize] += link.rate_ba.0;
            }
            // The slower direction: a load is what can be received too.
            (Node::Host(_), _) | (_, Node::Host(_)) => access_bps.push(link.rate_ab.0.min(link.rate_ba.0)),
        }
    }
    let shares: Vec<f64> = match load_of {
        LoadReference::HostLinks => access_bps.iter().map(|&rate| rate as f64).collect(),
        LoadReference::LeafUplinks => {
            let racks = network.rack_switches().into_iter().zip(network.racks());
            racks.map(|(switch, hosts)| uplinks_bps[switch as usize] as f64 / hosts.len() as f64).collect()
        }
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

pub(super) fn pattern(reader: &mut Reader<'_>, facts: &Facts<'_>) -> Option<Pattern> {
    let racks = facts.networks.map(|networks| networks.as_built.racks().len());
    let computed = if racks == Some(1) { "all_to_all" } else { "other_rack" };
    let pattern = match reader.word_or("pattern", computed) {
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
