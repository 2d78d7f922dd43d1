//! `kind = "on_off"` and `kind = "bursts"`: traffic without congestion control.

use super::transport::Transports;
use super::workload::{Facts, pattern};
use crate::context::{Complaint, first_names, suggestion};
use crate::convert;
use crate::model::{Between, OtherBurst, TrafficProcess, TransportSpec};
use crate::quantity::{format_rate, format_time};
use crate::reader::Reader;
use crate::resolved::{float, list, quote};
use crate::tree::Origin;
use bufferlab_transport::UNRESPONSIVE;
use bufferlab_units::{BitRate, Time};
use bufferlab_workload::{
    BurstKind, DurationShape, Durations, FlowSpec, OnOffParams, OnOffPartners, OnOffSource, SourceError,
};

/// The default shape of Pareto distributions.
const PARETO_SHAPE: f64 = 1.5;

pub(crate) fn on_off(
    reader: &mut Reader<'_>,
    facts: &Facts<'_>,
    transports: &mut Transports,
    transport: Option<u32>,
    class: &str,
) -> Option<TrafficProcess> {
    let between = between(reader, facts);
    let shape = pareto_shape(reader, &["on_distribution", "off_distribution"]);
    let on = durations(reader, "on_time", "on_distribution", shape);
    let off = durations(reader, "off_time", "off_distribution", shape);
    let own = transport.and_then(|index| open_loop(reader, transports, index));
    let others = others(reader, transports);
    let (between, on, off, own, others) = (between?, on?, off?, own?, others?);
    check_uplinks(reader, facts, &between, &own);
    let share: f64 = others.iter().map(|(other, _)| other.share).sum();
    if share >= 1.0 {
        let complaint = Complaint::new(
            format!("the shares of other bursts add up to {share}"),
            format!("nothing is left for \"{class}\""),
        );
        reader.error("others", complaint.help("expected a sum below 1"));
        return None;
    }
    // Built on trial: what the source refuses is refused here, at its place.
    let mut kinds = vec![burst_kind(&own, 1.0 - share, on)];
    kinds.extend(others.iter().map(|(other, spec)| burst_kind(spec, other.share, other.on)));
    let network = &facts.networks?.as_built;
    let racks = network.racks();
    let partners = match &between {
        Between::Pairs(pairs) => OnOffPartners::Pairs(pairs),
        Between::Pattern(pattern) => OnOffPartners::Pattern { racks: &racks, pattern: *pattern },
    };
    let (seed, end) = (facts.seed, facts.duration?);
    let params = OnOffParams { seed, label: class, partners, kinds, off, end };
    if let Err(error) = OnOffSource::new(params) {
        let name = |host: &u32| &network.hosts[*host as usize];
        let message = match &error {
            SourceError::SelfPair { host } => format!("host \"{}\" would send to itself", name(host)),
            SourceError::PairTwice { src, dst } => {
                format!("the pair from \"{}\" to \"{}\" is listed twice", name(src), name(dst))
            }
            other => other.to_string(),
        };
        let complaint = Complaint::new(message, "these sources");
        let key = if reader.has("pairs") { "pairs" } else { "pattern" };
        reader.error(key, complaint.help("name every source once, from one host to another"));
        return None;
    }
    let others = others.into_iter().map(|(other, _)| other).collect();
    Some(TrafficProcess::OnOff { between, on, off, others })
}

/// What a burst over this transport looks like; its class is the driver's business.
fn burst_kind(spec: &TransportSpec, weight: f64, on: Durations) -> BurstKind {
    BurstKind {
        class: 0,
        weight,
        on,
        rate: spec.pacing.map_or(BitRate(0), |pacing| pacing.rate),
        packet_bytes: spec.segment_bytes + spec.header_bytes,
        payload_bytes: spec.segment_bytes,
    }
}

/// The transport of bursts, which must have a rate. `None` too where it is wrong itself.
pub(super) fn open_loop(reader: &Reader<'_>, transports: &Transports, index: u32) -> Option<TransportSpec> {
    let spec = transports.spec(index)?;
    if spec.pacing.is_none() {
        let complaint = Complaint::new(
            format!("open-loop traffic needs a rate, and transport \"{}\" has a window", spec.name),
            format!("expected a transport with congestion_control = \"{UNRESPONSIVE}\""),
        );
        let help = format!(
            "add a [[transport]] with congestion_control = \"{UNRESPONSIVE}\" and a rate, and name it here"
        );
        reader.error("transport", complaint.help(help));
        return None;
    }
    Some(spec.clone())
}

fn between(reader: &mut Reader<'_>, facts: &Facts<'_>) -> Option<Between> {
    let wanted = reader.spec_of("pairs").wanted();
    if !reader.has("pairs") {
        return pattern(reader, facts).map(Between::Pattern);
    }
    reader.spec_of("pattern");
    if reader.has("pattern") {
        let complaint = Complaint::new("the partners are given twice", "so are they here");
        let complaint = complaint.also(reader.place("pairs"), "and here");
        reader.error("pattern", complaint.help("remove `pairs` or `pattern`"));
        return None;
    }
    let item = reader.value_of("pairs")?;
    let pair = |item: &crate::tree::Item| -> Result<(String, Origin, String, Origin), Complaint> {
        match convert::elements(item, &wanted)? {
            [from, to] => {
                let (src, dst) = (convert::text(from, &wanted)?, convert::text(to, &wanted)?);
                Ok((src.to_owned(), from.origin, dst.to_owned(), to.origin))
            }
            other => Err(Complaint::new(
                format!("a pair of {} hosts", other.len()),
                "expected two names: [from, to]",
            )
            .help(format!("for example {} = {}", wanted.name, wanted.example))),
        }
    };
    let mut named = Vec::new();
    let elements = match convert::elements(&item, &wanted) {
        Ok(elements) => elements,
        Err(complaint) => {
            reader.error("pairs", complaint);
            return None;
        }
    };
    for element in elements {
        match pair(element) {
            Ok(pair) => named.push(pair),
            Err(complaint) => {
                reader.context.error(&reader.path("pairs"), element.origin, complaint);
                return None;
            }
        }
    }
    let text = list(named.iter().map(|(src, _, dst, _)| list([quote(src), quote(dst)])));
    reader.out.set("pairs", text);
    let mut pairs = Vec::new();
    for (src, at_src, dst, at_dst) in &named {
        pairs.push((host(reader, facts, "pairs", src, *at_src), host(reader, facts, "pairs", dst, *at_dst)));
    }
    let pairs: Option<Vec<_>> = pairs.into_iter().map(|(src, dst)| src.zip(dst)).collect();
    Some(Between::Pairs(pairs?))
}

/// The host of that name.
pub(super) fn host(
    reader: &Reader<'_>,
    facts: &Facts<'_>,
    key: &str,
    name: &str,
    origin: Origin,
) -> Option<u32> {
    let hosts = &facts.networks?.as_built.hosts;
    let found = hosts.iter().position(|known| known == name);
    if found.is_none() {
        let names = || hosts.iter().map(String::as_str);
        let help = match suggestion(name, names()) {
            Some(near) => format!("did you mean \"{near}\"? hosts here: {}", first_names(names())),
            None => format!("hosts here: {}", first_names(names())),
        };
        let complaint = Complaint::new(format!("there is no host \"{name}\""), "no such host");
        reader.context.error(&reader.path(key), origin, complaint.help(help));
    }
    found.map(|index| index as u32)
}

/// The shape, written down only where a distribution asks for it.
pub(super) fn pareto_shape(reader: &mut Reader<'_>, keys: &[&'static str]) -> f64 {
    let shape = reader.ratio("pareto_shape");
    let asked = keys.iter().any(|&key| {
        matches!(reader.item(key).map(|item| &item.value), Some(crate::tree::Value::String(word)) if word == "pareto")
    });
    if asked {
        reader.out.set("pareto_shape", float(shape.unwrap_or(PARETO_SHAPE)));
    } else if reader.has("pareto_shape") {
        let complaint = Complaint::new("`pareto_shape` has no effect", "no distribution here is \"pareto\"");
        reader.warn("pareto_shape", complaint.help("remove it"));
        reader.out.remove("pareto_shape");
    }
    shape.unwrap_or(PARETO_SHAPE)
}

fn durations(
    reader: &mut Reader<'_>,
    time: &'static str,
    distribution: &'static str,
    pareto_shape: f64,
) -> Option<Durations> {
    let mean = reader.time(time);
    let shape = match reader.word(distribution)? {
        "fixed" => DurationShape::Fixed,
        "pareto" => DurationShape::Pareto(pareto_shape),
        _ => DurationShape::Exponential,
    };
    Some(Durations { mean: mean?, shape })
}

fn others(reader: &mut Reader<'_>, transports: &mut Transports) -> Option<Vec<(OtherBurst, TransportSpec)>> {
    let (mut others, mut resolved, mut complete) = (Vec::new(), Vec::new(), true);
    for mut entry in reader.tables("others") {
        let class = entry.text("class");
        let transport = transports.index_for(&mut entry);
        let share = entry.ratio("share");
        let shape = pareto_shape(&mut entry, &["on_distribution"]);
        let on = durations(&mut entry, "on_time", "on_distribution", shape);
        let spec = transport.and_then(|index| open_loop(&entry, transports, index));
        resolved.push(entry.finish());
        match (class, transport, share, on, spec) {
            (Some(class), Some(transport), Some(share), Some(on), Some(spec)) => {
                others.push((OtherBurst { class, transport, share, on }, spec));
            }
            _ => complete = false,
        }
    }
    reader.put_all("others", resolved);
    complete.then_some(others)
}

/// A source whose host is slower than its bursts sends at the host's rate.
fn check_uplinks(reader: &Reader<'_>, facts: &Facts<'_>, between: &Between, spec: &TransportSpec) {
    let (Some(networks), Some(pacing)) = (facts.networks, spec.pacing) else { return };
    let network = &networks.as_built;
    let sources: Vec<u32> = match between {
        Between::Pairs(pairs) => pairs.iter().map(|&(src, _)| src).collect(),
        Between::Pattern(_) => (0..network.hosts.len() as u32).collect(),
    };
    if let Some(slow) = sources.into_iter().find(|&src| network.host_rate(src) < pacing.rate) {
        let complaint = Complaint::new(
            format!(
                "host \"{}\" can send at {} only, and transport \"{}\" asks for {}",
                network.hosts[slow as usize],
                format_rate(network.host_rate(slow)),
                spec.name,
                format_rate(pacing.rate)
            ),
            "bursts would leave at the rate of the host's link",
        );
        let key = if reader.has("transport") { "transport" } else { "kind" };
        let help = "raise the rate of the hosts' links (kind = \"single_switch\": uplink_rate), or lower the transport's";
        reader.warn(key, complaint.help(help));
    }
}

pub(crate) fn bursts(
    reader: &mut Reader<'_>,
    facts: &Facts<'_>,
    transports: &Transports,
    transport: Option<u32>,
) -> Option<TrafficProcess> {
    let spec = transport.and_then(|index| transports.spec(index)).cloned();
    let (mut flows, mut resolved, mut complete) = (Vec::new(), Vec::new(), true);
    for mut entry in reader.tables("bursts") {
        match burst(&mut entry, facts, spec.as_ref()) {
            Some(flow) => flows.push(flow),
            None => complete = false,
        }
        resolved.push(entry.finish());
    }
    reader.put_all("bursts", resolved);
    if !complete || flows.is_empty() {
        return None;
    }
    // The order of the file decides among bursts that start together.
    flows.sort_by_key(|flow| flow.start);
    if let Some(spec) = &spec {
        let pairs = flows.iter().map(|flow| (flow.src, flow.dst)).collect();
        check_uplinks(reader, facts, &Between::Pairs(pairs), spec);
    }
    Some(TrafficProcess::Bursts { flows })
}

fn burst(entry: &mut Reader<'_>, facts: &Facts<'_>, spec: Option<&TransportSpec>) -> Option<FlowSpec> {
    let mut end = |key: &'static str| {
        let name = entry.text(key)?;
        host(entry, facts, key, &name, entry.place(key))
    };
    let (src, dst) = (end("src"), end("dst"));
    let start = entry.time("start");
    let (duration, size) = (entry.time("duration"), entry.size("size"));
    if entry.has("duration") && entry.has("size") {
        let complaint = Complaint::new("the burst's length is given twice", "so is it here");
        let complaint = complaint.also(entry.place("duration"), "and here");
        entry.error("size", complaint.help("remove `duration` or `size`"));
        return None;
    }
    if (entry.has("duration") && duration.is_none()) || (entry.has("size") && size.is_none()) {
        return None;
    }
    let (src, dst, start, until) = (src?, dst?, start?, facts.duration?);
    if src == dst {
        let complaint = Complaint::new("this burst goes to its own sender", "expected another host");
        entry.error("dst", complaint.help("name two different hosts"));
        return None;
    }
    if start >= until {
        let complaint = Complaint::new(
            format!("the burst starts after `duration` ({})", format_time(until)),
            "it would be left out",
        );
        entry.error("start", complaint.help(format!("raise `duration` above {}", format_time(start))));
        return None;
    }
    let spec = spec?;
    let size = match size {
        Some(size) => size,
        None if spec.pacing.is_some() => {
            let on = Durations { mean: Time(1), shape: DurationShape::Fixed };
            burst_kind(spec, 1.0, on).size(duration.unwrap_or(Time(until.0 - start.0)))
        }
        None if entry.has("duration") => {
            let complaint = Complaint::new(
                format!("transport \"{}\" has no rate, so that a burst of a length has no size", spec.name),
                "how many bytes?",
            );
            let help = format!(
                "give `size`, leave both out for a flow that goes on until the scenario's `duration`, or use a transport with \
                 congestion_control = \"{UNRESPONSIVE}\""
            );
            entry.error("duration", complaint.help(help));
            return None;
        }
        None if spec.rdma.is_some() => {
            let complaint = Complaint::new(
                format!("a burst over \"{}\" needs a size: a queue pair carries a message", spec.name),
                "how many bytes?",
            );
            entry.error(
                "size",
                complaint.help("give `size`, as much as the link sends until the scenario's `duration`"),
            );
            return None;
        }
        None => FlowSpec::UNLIMITED,
    };
    Some(FlowSpec {
        start,
        src,
        dst,
        size,
        class: 0,
        query: FlowSpec::NO_QUERY,
        open: None,
        data_path: None,
        ack_path: None,
    })
}
