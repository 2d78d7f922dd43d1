//! Converts the schedulers of a configuration to schedulers of the simulated switch: the order of
//! queues by port, and peak rates of queues and ports. Notes name the settings that are not
//! simulated, and the effect of each.

use crate::gather::gathered;
use crate::model::{Model, PRIORITIES, PortModel};
use crate::traffic::{RDMA_FRAME, TCP_FRAME};
use bufferlab_sonic::PortName;
use bufferlab_sonic::config::{Config, Scheduler};
use std::collections::{BTreeMap, BTreeSet};

/// Burst size above a peak rate if the configuration has no burst size (bytes). With a burst of
/// some frames, a queue reaches the rate although it waits for other queues.
const BURST: u64 = 16_384;

/// Scheduler of the simulated switch.
pub(crate) struct Schedule {
    /// Queue groups of the most frequent scheduler as TOML; absent without any scheduler.
    pub(crate) groups: Option<String>,
    /// Entries of `switch.egress` as TOML: ports with another scheduler, and rate limits.
    pub(crate) egress: Vec<String>,
    /// Parts of the configuration that are not simulated, in sentences.
    pub(crate) notes: Vec<String>,
}

/// Service that the scheduler gives to one queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Service {
    Strict,
    /// The scheduler serves the queue by packets, with the given weight.
    Packets(u32),
    /// The scheduler serves the queue by bytes, with the given weight.
    Bytes(u32),
}

fn service(scheduler: Option<&Scheduler>) -> Service {
    let Some(scheduler) = scheduler else { return Service::Bytes(1) };
    let kind = scheduler.kind.as_ref().map(|kind| kind.value.to_ascii_uppercase());
    let weight = scheduler.weight.as_ref().map_or(1, |weight| weight.value.clamp(1, 100)) as u32;
    match kind.as_deref() {
        Some("STRICT") => Service::Strict,
        Some("WRR") => Service::Packets(weight),
        _ => Service::Bytes(weight),
    }
}

impl Schedule {
    /// Returns the schedulers of all ports.
    pub(crate) fn from_config(config: &Config, model: &Model) -> Self {
        let own = |port: &str, queue: u8| {
            let setting = config.queue_settings.get(&(PortName::new(port), queue))?;
            config.schedulers.get(&setting.scheduler.as_ref()?.value)
        };
        let mut kinds: BTreeMap<Vec<Service>, Vec<usize>> = BTreeMap::new();
        for (number, port) in model.ports.iter().enumerate() {
            let queues = 0..PRIORITIES as u8;
            let services: Vec<_> = queues.clone().map(|queue| service(own(&port.name, queue))).collect();
            if queues.clone().any(|queue| own(&port.name, queue).is_some()) {
                kinds.entry(services).or_default().push(number);
            }
        }
        let mut notes = Vec::new();
        let all: usize = kinds.values().map(Vec::len).sum();
        let usual = kinds.iter().max_by_key(|(_, ports)| ports.len()).map(|(services, _)| services.clone());
        let mut egress = Vec::new();
        for (services, ports) in kinds.iter().filter(|(services, _)| Some(*services) != usual.as_ref()) {
            let groups = groups(services, &mut notes);
            egress.push(format!("{{ ports = {ports:?}, scheduler = [{groups}] }}"));
        }
        if usual.is_some() && all < model.ports.len() {
            notes.push(format!(
                "{} ports have no scheduler; in the simulation they have the scheduler of most ports.",
                model.ports.len() - all
            ));
        }
        egress.extend(rates_of_queues(own, model));
        egress.extend(rates_of_ports(config, model));
        note_values(config, model, &mut notes);
        note_port_rates(config, model, &mut notes);
        let groups = usual.map(|services| groups(&services, &mut notes));
        let mut seen = BTreeSet::new();
        notes.retain(|note| seen.insert(note.clone()));
        Self { groups, egress, notes }
    }
}

/// Formats the keys of a rate limit as TOML, if the scheduler has a peak rate in bytes.
fn limit(scheduler: &Scheduler) -> Option<String> {
    let most = scheduler.most.filter(|_| !scheduler.counts_packets)?;
    let burst = scheduler.burst.unwrap_or(BURST);
    Some(format!("rate = \"{} b/s\", burst = \"{burst} B\"", most.saturating_mul(8)))
}

/// Returns the entries of `switch.egress` for peak rates of queues.
fn rates_of_queues<'c>(own: impl Fn(&str, u8) -> Option<&'c Scheduler>, model: &Model) -> Vec<String> {
    let mut entries = Vec::new();
    for (number, port) in model.ports.iter().enumerate() {
        let limits =
            (0..PRIORITIES as u8).filter_map(|queue| Some((number, queue, limit(own(&port.name, queue)?)?)));
        entries.extend(limits);
    }
    gathered(model.ports.len(), &entries, "", "queues")
}

/// Returns the entries of `switch.egress` for peak rates of whole ports.
fn rates_of_ports(config: &Config, model: &Model) -> Vec<String> {
    let mut limits: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for (number, port) in model.ports.iter().enumerate() {
        let qos = config.port_qos.get(&PortName::new(&port.name));
        let name = qos.and_then(|qos| qos.scheduler.as_ref());
        if let Some(limit) = name.and_then(|name| config.schedulers.get(&name.value)).and_then(limit) {
            limits.entry(limit).or_default().push(number);
        }
    }
    limits.into_iter().map(|(limit, ports)| format!("{{ ports = {ports:?}, {limit} }}")).collect()
}

/// Formats a list of ports: one port by its name, several ports by their number and the first name.
fn some_of(ports: &[&PortModel]) -> String {
    match ports {
        [] => "no port".to_owned(),
        [one] => one.name.clone(),
        [first, ..] => format!("{} ports ({}, ...)", ports.len(), first.name),
    }
}

/// Formats a rate of a scheduler, with its percentage of the port's speed.
fn of_port(scheduler: &Scheduler, rate: u64, port: &PortModel) -> String {
    if scheduler.counts_packets {
        return format!("{rate} packets/s");
    }
    let percent = rate as f64 * 8.0 / (port.speed_mbps as f64 * 1e6) * 100.0;
    format!("{:.6} Gb/s, {percent:.3} % of the port", rate as f64 * 8e-9)
}

/// Adds notes about weights and rates of queues that the simulator does not have.
fn note_values(config: &Config, model: &Model, notes: &mut Vec<String>) {
    let mut used: BTreeMap<&str, (BTreeSet<u8>, Vec<&PortModel>)> = BTreeMap::new();
    for port in &model.ports {
        for queue in 0..PRIORITIES as u8 {
            let setting = config.queue_settings.get(&(PortName::new(&port.name), queue));
            let Some(name) = setting.and_then(|setting| setting.scheduler.as_ref()) else { continue };
            let (queues, ports) = used.entry(&name.value).or_default();
            queues.insert(queue);
            if ports.last().is_none_or(|last| last.name != port.name) {
                ports.push(port);
            }
        }
    }
    for (name, (queues, ports)) in used {
        let Some(scheduler) = config.schedulers.get(name) else { continue };
        if let Some(weight) = scheduler.weight.as_ref().filter(|weight| !(1..=100).contains(&weight.value)) {
            notes.push(format!(
                "{name} has the weight {}, which SAI refuses; {} is simulated.",
                weight.value,
                weight.value.clamp(1, 100)
            ));
        }
        let place = format!("queues {queues:?} of {}", some_of(&ports));
        if let Some(most) = scheduler.most.filter(|_| scheduler.counts_packets) {
            notes.push(format!(
                "Not simulated: the peak rate of {name} (pir, {}) on {place}. The simulated queues may use the \
                 whole port, so they hold fewer bytes, lose fewer packets and leave less to other queues than on \
                 the switch.",
                of_port(scheduler, most, ports[0])
            ));
        }
        if let Some(least) = scheduler.least {
            notes.push(format!(
                "Not simulated: the guaranteed rate of {name} (cir, {}) on {place}. It has no effect unless queues \
                 of higher priority fill the port.",
                of_port(scheduler, least, ports[0])
            ));
        }
        if !scheduler.rates.is_empty() && scheduler.most.is_none() && scheduler.least.is_none() {
            notes.push(format!("Not simulated: the rates of {name} ({}).", scheduler.rates.join(", ")));
        }
    }
}

/// Adds notes about the rate limits of whole ports.
fn note_port_rates(config: &Config, model: &Model, notes: &mut Vec<String>) {
    let mut shaped: BTreeMap<&str, Vec<&PortModel>> = BTreeMap::new();
    for port in &model.ports {
        let qos = config.port_qos.get(&PortName::new(&port.name));
        if let Some(name) = qos.and_then(|qos| qos.scheduler.as_ref()) {
            shaped.entry(&name.value).or_default().push(port);
        }
    }
    for (name, ports) in shaped {
        if config.schedulers.get(name).and_then(limit).is_some() {
            continue;
        }
        let rate = config.schedulers.get(name).and_then(|scheduler| Some((scheduler, scheduler.most?)));
        let rate = rate.map_or("no rate".to_owned(), |(scheduler, most)| of_port(scheduler, most, ports[0]));
        notes.push(format!(
            "Not simulated: the scheduler {name} of whole ports ({rate}) on {}. The simulated ports send at \
             their speed, so all their queues hold fewer bytes than on the switch.",
            some_of(&ports)
        ));
    }
}

/// Formats the groups of the scheduler. The strict queues come first, by decreasing number of the
/// queue. The other queues follow by weight.
fn groups(services: &[Service], notes: &mut Vec<String>) -> String {
    let numbered = || services.iter().enumerate();
    let strict = numbered().filter(|(_, service)| **service == Service::Strict);
    let mut groups: Vec<String> =
        strict.rev().map(|(queue, _)| format!("{{ queues = [{queue}] }}")).collect();
    let by_packets = |(_, service): &(usize, &Service)| matches!(service, Service::Packets(_));
    let weighted: Vec<(usize, u32)> = numbered()
        .filter_map(|(queue, service)| match service {
            Service::Packets(weight) | Service::Bytes(weight) => Some((queue, *weight)),
            Service::Strict => None,
        })
        .collect();
    let Some(least) = weighted.iter().map(|(_, weight)| u64::from(*weight)).min() else {
        return groups.join(", ");
    };
    let queues: Vec<_> = weighted.iter().map(|(queue, _)| *queue).collect();
    let packets = numbered().filter(by_packets).count();
    if packets > 0 && packets < weighted.len() {
        notes.push("WRR and DWRR are mixed: all weighted queues are served by bytes (DWRR).".to_owned());
    }
    if packets == weighted.len() {
        // The weights have no common divisor, so that a round of the scheduler is as short as
        // possible.
        let common = weighted.iter().fold(0, |divisor, (_, weight)| gcd(divisor, *weight));
        let weights: Vec<_> = weighted.iter().map(|(_, weight)| weight / common.max(1)).collect();
        groups.push(format!(
            "{{ queues = {queues:?}, discipline = \"weighted_round_robin\", weights = {weights:?} }}"
        ));
        return groups.join(", ");
    }
    let frame = RDMA_FRAME.max(TCP_FRAME);
    // The smallest quantum is one frame, so that a round of the scheduler is as short as possible.
    let quanta: Vec<_> = weighted
        .iter()
        .map(|(_, weight)| format!("\"{} B\"", (frame * u64::from(*weight)).div_ceil(least)))
        .collect();
    groups.push(format!(
        "{{ queues = {queues:?}, discipline = \"deficit_round_robin\", quanta = [{}] }}",
        quanta.join(", ")
    ));
    groups.join(", ")
}

fn gcd(a: u32, b: u32) -> u32 {
    if b == 0 { a } else { gcd(b, a % b) }
}
