//! `kind = "multi_get"`: closed loops of clients that ask several servers at once.

use super::on_off::{host, pareto_shape};
use super::transport::Transports;
use super::workload::Facts;
use crate::context::Complaint;
use crate::convert;
use crate::model::TrafficProcess;
use crate::quantity::format_time;
use crate::reader::Reader;
use crate::resolved::{list, quote};
use crate::tree::Value;
use bufferlab_units::Time;
use bufferlab_workload::{
    AnswersPer, DurationShape, Durations, MultiGet, MultiGetParams, QueryNumbers, SourceError,
};

pub(super) fn multi_get(
    reader: &mut Reader<'_>,
    facts: &Facts<'_>,
    transports: &Transports,
    transport: Option<u32>,
    class: &str,
) -> Option<TrafficProcess> {
    let clients = hosts(reader, facts, "clients");
    let servers = servers(reader, facts, clients.as_deref());
    let threads = reader.small_count("threads");
    let fan_in = reader.small_count("fan_in");
    let items = reader.small_count("items");
    let item_bytes = reader.size("item");
    let answers_per = match reader.word("answers_per") {
        Some("item") => AnswersPer::Item,
        _ => AnswersPer::Server,
    };
    let think = think(reader);
    let queries = reader.count("queries");
    let start = reader.time("start");
    let request_delay = reader.time("request_delay");
    let wrong = [
        ("fan_in", fan_in.is_none()),
        ("items", items.is_none()),
        ("queries", queries.is_none()),
        ("request_delay", request_delay.is_none()),
    ];
    if wrong.iter().any(|&(key, is_missing)| is_missing && reader.has(key)) {
        // It has been reported.
        return None;
    }
    let (clients, servers, threads) = (clients?, servers?, threads?);
    let (item_bytes, think, start, end) = (item_bytes?, think?, start?, facts.duration?);
    let others = |client: &u32| servers.iter().filter(|server| *server != client).count() as u32;
    let fan_in = fan_in.or_else(|| clients.iter().map(others).min())?;
    let items = items.unwrap_or(fan_in);
    reader.out.set("fan_in", fan_in.to_string());
    reader.out.set("items", items.to_string());
    if items < fan_in {
        let complaint = Complaint::new(
            format!("{items} items cannot come from {fan_in} different servers"),
            format!("expected at least {fan_in}"),
        );
        reader.error("items", complaint.help("raise `items`, or lower `fan_in`"));
        return None;
    }
    if start >= end {
        let complaint = Complaint::new(
            format!("nobody asks before `duration` ({}) is over", format_time(end)),
            "too late",
        );
        reader.error("start", complaint.help(format!("raise `duration` above {}", format_time(start))));
        return None;
    }
    let spec = transports.spec(transport?)?;
    if spec.pacing.is_some() {
        let complaint = Complaint::new(
            format!(
                "transport \"{}\" sends lost packets never again, so that a query might wait for ever",
                spec.name
            ),
            "expected a transport with a congestion control",
        );
        reader.error(
            "transport",
            complaint.help("name a [[transport]] such as one with congestion_control = \"dctcp\""),
        );
        return None;
    }
    let params = MultiGetParams {
        seed: facts.seed,
        label: class,
        clients: &clients,
        servers: &servers,
        threads,
        fan_in,
        items,
        item_bytes,
        answers_per,
        think,
        queries,
        start,
        end,
        numbers: QueryNumbers::default(),
    };
    if let Err(error) = MultiGet::new(params) {
        let network = &facts.networks?.as_built;
        let (key, complaint) = match error {
            SourceError::LoopFanIn { fan_in, client, available } => (
                "fan_in",
                Complaint::new(
                    format!(
                        "a query asks {fan_in} servers, and client \"{}\" has only {available}",
                        network.hosts[client as usize]
                    ),
                    format!("expected at most {available}"),
                )
                .help("a client does not ask itself; name more `servers`, or lower `fan_in`"),
            ),
            other => ("kind", Complaint::new(other.to_string(), "this workload")),
        };
        reader.error(key, complaint);
        return None;
    }
    Some(TrafficProcess::MultiGet {
        clients,
        servers,
        threads,
        fan_in,
        items,
        item_bytes,
        answers_per,
        think,
        queries,
        start,
        request_delay,
    })
}

/// The hosts that a key names, each once; a switch's name stands for all of its hosts.
pub(super) fn hosts(reader: &mut Reader<'_>, facts: &Facts<'_>, key: &'static str) -> Option<Vec<u32>> {
    let named = reader.read(key, |item, wanted| {
        let named = match &item.value {
            Value::Array(items) => items
                .iter()
                .map(|item| convert::text(item, wanted).map(|text| (text.to_owned(), item.origin)))
                .collect::<Result<Vec<_>, _>>()?,
            _ => vec![(convert::text(item, wanted)?.to_owned(), item.origin)],
        };
        let text = list(named.iter().map(|(name, _)| quote(name)));
        Ok((named, text))
    })?;
    if named.is_empty() {
        reader
            .error(key, Complaint::new(format!("`{key}` is empty"), "nobody").help("name at least one host"));
        return None;
    }
    let mut found = Vec::new();
    for (name, origin) in &named {
        let network = &facts.networks?.as_built;
        let rack = network
            .rack_switches()
            .into_iter()
            .position(|switch| network.switches[switch as usize] == *name)
            .map(|rack| network.racks().swap_remove(rack));
        let meant = match rack {
            Some(hosts) => hosts,
            None => vec![host(reader, facts, key, name, *origin)?],
        };
        if meant.iter().any(|host| found.contains(host)) {
            let complaint = Complaint::new(format!("\"{name}\" is named twice"), "again");
            let complaint = complaint.help("name every host once, by itself or by its switch");
            reader.context.error(&reader.path(key), *origin, complaint);
            return None;
        }
        found.extend(meant);
    }
    Some(found)
}

/// The servers: without the key every host but the clients.
fn servers(reader: &mut Reader<'_>, facts: &Facts<'_>, clients: Option<&[u32]>) -> Option<Vec<u32>> {
    if reader.has("servers") {
        return hosts(reader, facts, "servers");
    }
    reader.spec_of("servers");
    let names = &facts.networks?.as_built.hosts;
    let clients = clients?;
    let others: Vec<u32> = (0..names.len() as u32).filter(|host| !clients.contains(host)).collect();
    if others.is_empty() {
        let complaint = Complaint::new("every host is a client, and `servers` is missing", "who answers?");
        reader.error("clients", complaint.help("name `servers`; a client may be among them"));
        return None;
    }
    reader.out.set("servers", list(others.iter().map(|&host| quote(&names[host as usize]))));
    Some(others)
}

/// `Some(None)`: threads do not think.
fn think(reader: &mut Reader<'_>) -> Option<Option<Durations>> {
    let shape = pareto_shape(reader, &["think_distribution"]);
    let mean = reader.time("think_time");
    let shape = match reader.word("think_distribution")? {
        "fixed" => DurationShape::Fixed,
        "pareto" => DurationShape::Pareto(shape),
        _ => DurationShape::Exponential,
    };
    let mean = mean?;
    Some((mean > Time::ZERO).then_some(Durations { mean, shape }))
}
