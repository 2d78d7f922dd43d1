//! Translates the schedulers of a configuration to the simulated switch. Rates, and differences of
//! schedulers between ports, are not simulated; notes name these settings and their effects.

use crate::model::{Model, PRIORITIES, PortModel};
use crate::traffic::{RDMA_FRAME, TCP_FRAME};
use bufferlab_sonic::PortName;
use bufferlab_sonic::config::{Config, Scheduler};
use std::collections::{BTreeMap, BTreeSet};

/// Scheduler of the simulated switch, equal on all ports.
pub(crate) struct Schedule {
    /// Groups of the scheduler as TOML; absent if no queue has a scheduler.
    pub(crate) groups: Option<String>,
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
    /// Returns the schedulers of the queues that most ports have.
    pub(crate) fn from_config(config: &Config, model: &Model) -> Self {
        let own = |port: &str, queue: u8| {
            let setting = config.queue_settings.get(&(PortName::new(port), queue))?;
            config.schedulers.get(&setting.scheduler.as_ref()?.value)
        };
        let mut kinds: BTreeMap<Vec<Service>, Vec<&PortModel>> = BTreeMap::new();
        for port in &model.ports {
            let queues = 0..PRIORITIES as u8;
            let services: Vec<_> = queues.clone().map(|queue| service(own(&port.name, queue))).collect();
            if queues.clone().any(|queue| own(&port.name, queue).is_some()) {
                kinds.entry(services).or_default().push(port);
            }
        }
        let mut notes = Vec::new();
        let all: usize = kinds.values().map(Vec::len).sum();
        let usual = kinds.iter().max_by_key(|(_, ports)| ports.len());
        let Some(usual) = usual.map(|(services, _)| services.clone()) else {
            note_port_rates(config, model, &mut notes);
            return Self { groups: None, notes };
        };
        for (services, ports) in kinds.iter().filter(|(services, _)| **services != usual) {
            notes.push(format!(
                "Not simulated: the scheduler of {}; the scheduler of most ports replaces it. {}.",
                some_of(ports),
                differences(&usual, services)
            ));
        }
        if all < model.ports.len() {
            notes.push(format!(
                "{} ports have no scheduler; in the simulation they have the scheduler of most ports.",
                model.ports.len() - all
            ));
        }
        note_values(config, model, &mut notes);
        note_port_rates(config, model, &mut notes);
        let groups = groups(&usual, &mut notes);
        Self { groups: Some(groups), notes }
    }
}

/// Names a single port, or the first port and the number of ports.
fn some_of(ports: &[&PortModel]) -> String {
    match ports {
        [] => "no port".to_owned(),
        [one] => one.name.clone(),
        [first, ..] => format!("{} ports ({}, ...)", ports.len(), first.name),
    }
}

/// Share of a busy port that a queue gets if all queues have packets and no strict queue sends
/// (percent).
fn share(services: &[Service], queue: usize) -> String {
    let weight = |service: &Service| match service {
        Service::Strict => 0,
        Service::Packets(weight) | Service::Bytes(weight) => *weight,
    };
    match services[queue] {
        Service::Strict => "strict priority".to_owned(),
        own => {
            let all: u32 = services.iter().map(weight).sum();
            format!("{:.0} %", f64::from(weight(&own)) * 100.0 / f64::from(all.max(1)))
        }
    }
}

/// Describes the effect of the simulated schedule where the configured schedule differs.
fn differences(simulated: &[Service], configured: &[Service]) -> String {
    let parts = (0..configured.len()).filter_map(|queue| {
        let (has, gets) = (share(configured, queue), share(simulated, queue));
        (has != gets).then(|| format!("queue {queue} {gets} instead of {has}"))
    });
    let parts: Vec<_> = parts.collect();
    match parts.is_empty() {
        true => "Shares of busy queues are equal; rounds count packets instead of bytes, or bytes instead of packets".to_owned(),
        false => format!("Share of a port with all queues busy, simulated: {}", parts.join(", ")),
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
        if let Some(most) = scheduler.most {
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
