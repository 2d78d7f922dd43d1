//! Marking and schedulers of a configuration, as the simulated switch has them, and the parts that
//! the simulated switch cannot have.
//!
//! Semantics follow SAI. Thresholds of a colour are valid only if the colour is enabled. `ecn`
//! selects the colours that are marked instead of dropped, and min = max is a step. Simulated
//! packets are green and ECN-capable.

use crate::model::{Model, PRIORITIES};
use crate::traffic::{RDMA_FRAME, TCP_FRAME};
use bufferlab_sonic::PortName;
use bufferlab_sonic::config::{Config, Scheduler, WredProfile};
use std::collections::{BTreeMap, BTreeSet};

/// Names of colours, in the order of `WredProfile::colours`.
const COLOURS: [&str; 3] = ["green", "yellow", "red"];
/// Colour of all simulated packets.
const GREEN: usize = 0;

/// Marking ramp for green packets in one queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Ramp {
    /// Queue length up to which no packet is marked (bytes).
    min: u64,
    /// Queue length above which every packet is marked (bytes).
    max: u64,
    /// Probability of marking at the length `max` (percent).
    percent: u64,
}

/// Effect of WRED on green packets of a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Action {
    Nothing,
    Mark(Ramp),
    /// WRED drops packets at random, because ECN does not cover the colour.
    Drop(Ramp),
}

fn marks(profile: &WredProfile, colour: &str) -> bool {
    let ecn = profile.ecn.as_ref().map_or("ecn_none", |ecn| ecn.value.as_str());
    ecn == "ecn_all" || ecn.contains(colour)
}

fn action(profile: &WredProfile, colour: usize) -> Action {
    let thresholds = &profile.colours[colour];
    // By SAI's defaults, a colour is not enabled, its thresholds are 0, and the probability is 100.
    if !thresholds.enabled.as_ref().is_some_and(|enabled| enabled.value) {
        return Action::Nothing;
    }
    let value = |field: &Option<bufferlab_sonic::Placed<u64>>| field.as_ref().map(|field| field.value);
    let (min, max) = match (value(&thresholds.min), value(&thresholds.max)) {
        (None, None) => return Action::Nothing,
        (min, max) => (min.or(max).unwrap_or(0), max.or(min).unwrap_or(0)),
    };
    let percent = value(&thresholds.probability).unwrap_or(100).min(100);
    let ramp = Ramp { min: min.min(max), max, percent };
    if marks(profile, COLOURS[colour]) { Action::Mark(ramp) } else { Action::Drop(ramp) }
}

/// Returns the WRED profile of a port's queue.
fn profile<'c>(config: &'c Config, port: &str, queue: u8) -> Option<&'c WredProfile> {
    let setting = config.queue_settings.get(&(PortName::new(port), queue))?;
    config.wred.get(&setting.wred.as_ref()?.value)
}

/// Marking and drops of the simulated switch.
pub(crate) struct Marking {
    /// Effect on every queue of every port.
    by_port: Vec<[Action; PRIORITIES]>,
    /// Parts of the configuration that are not simulated, in sentences.
    notes: Vec<String>,
}

impl Marking {
    /// Returns a marking that marks no packet.
    pub(crate) fn none() -> Self {
        Self { by_port: Vec::new(), notes: Vec::new() }
    }

    /// WRED of every queue of every port.
    pub(crate) fn from_config(config: &Config, model: &Model) -> Self {
        let of_port = |name: &str| {
            let of_queue = |queue: usize| profile(config, name, queue as u8);
            std::array::from_fn(|queue| of_queue(queue).map_or(Action::Nothing, |own| action(own, GREEN)))
        };
        let by_port = model.ports.iter().map(|port| of_port(&port.name)).collect();
        let mut found = Self { by_port, notes: Vec::new() };
        found.note_colours(config, model);
        found
    }

    /// Profiles of the queues, as inline tables.
    fn profiles(&self) -> Vec<String> {
        let mut entries = Vec::new();
        for (port, queues) in self.by_port.iter().enumerate() {
            for (queue, action) in queues.iter().enumerate() {
                let (Ramp { min, max, percent }, effect) = match *action {
                    Action::Nothing => continue,
                    Action::Mark(ramp) => (ramp, ""),
                    Action::Drop(ramp) => (ramp, ", effect = \"drop\""),
                };
                let pmax = percent as f64 / 100.0;
                let content = format!("kmin = \"{min} B\", kmax = \"{max} B\", pmax = {pmax}{effect}");
                entries.push((port, queue as u8, content));
            }
        }
        gathered(self.by_port.len(), &entries, "")
    }

    /// Adds notes about yellow and red packets, and about packets that cannot be marked.
    fn note_colours(&mut self, config: &Config, model: &Model) {
        let mut used: BTreeMap<&str, &WredProfile> = BTreeMap::new();
        for (port, queue) in model.ports.iter().flat_map(|port| (0..PRIORITIES as u8).map(move |q| (port, q)))
        {
            let setting = config.queue_settings.get(&(PortName::new(&port.name), queue));
            let name = setting.and_then(|setting| setting.wred.as_ref());
            if let Some((name, profile)) = name.and_then(|name| config.wred.get_key_value(&name.value)) {
                used.insert(name, profile);
            }
        }
        let own = |profile: &WredProfile, colour: usize| {
            let other = action(profile, colour);
            other != Action::Nothing && other != action(profile, GREEN)
        };
        let names = |colour: usize| {
            let with = used.iter().filter(|(_, profile)| own(profile, colour));
            with.map(|(name, _)| *name).collect::<BTreeSet<_>>()
        };
        for (colour, name) in COLOURS.iter().enumerate().skip(1) {
            let names = names(colour);
            if !names.is_empty() {
                let list: Vec<_> = names.into_iter().collect();
                self.notes.push(format!(
                    "All packets are green: thresholds of {name} packets ({}) are not used.",
                    list.join(", ")
                ));
            }
        }
    }

    /// Parts of the configuration that are not simulated, in sentences.
    pub(crate) fn notes(&self) -> &[String] {
        &self.notes
    }

    /// Whether most ports mark packets of `priority`.
    pub(crate) fn marks(&self, priority: u8) -> bool {
        let of_port = |queues: &&[Action; PRIORITIES]| {
            matches!(queues.get(usize::from(priority)), Some(Action::Mark(_)))
        };
        2 * self.by_port.iter().filter(of_port).count() > self.by_port.len()
    }

    pub(crate) fn inline(&self) -> String {
        match self.profiles() {
            none if none.is_empty() => "{ kind = \"none\" }".to_owned(),
            all => {
                format!("{{ kind = \"wred\", at = \"dequeue\", profiles = [{}] }}", all.join(", "))
            }
        }
    }

    pub(crate) fn toml(&self) -> String {
        let profiles = self.profiles();
        if profiles.is_empty() {
            return String::new();
        }
        let lines: String = profiles.into_iter().map(|one| format!("  {one},\n")).collect();
        format!("[switch.ecn]\nkind = \"wred\"\nat = \"dequeue\"\nprofiles = [\n{lines}]\n\n")
    }
}

/// Joins entries with the same content into one with priorities and a list of ports; without a
/// list, the entry is for all ports.
pub(crate) fn gathered(all_ports: usize, entries: &[(usize, u8, String)], direction: &str) -> Vec<String> {
    let mut contents: Vec<&String> = Vec::new();
    for (_, _, content) in entries {
        if !contents.contains(&content) {
            contents.push(content);
        }
    }
    contents
        .into_iter()
        .flat_map(|content| {
            // Ports with the same priorities share an entry.
            let mut by_port: BTreeMap<usize, BTreeSet<u8>> = BTreeMap::new();
            for (port, priority, _) in entries.iter().filter(|entry| &entry.2 == content) {
                by_port.entry(*port).or_default().insert(*priority);
            }
            let mut by_set: BTreeMap<BTreeSet<u8>, Vec<usize>> = BTreeMap::new();
            for (port, set) in by_port {
                by_set.entry(set).or_default().push(port);
            }
            by_set.into_iter().map(move |(set, ports)| {
                let set: Vec<_> = set.into_iter().collect();
                let ports =
                    if ports.len() == all_ports { String::new() } else { format!("ports = {ports:?}, ") };
                format!("{{ {direction}{ports}priorities = {set:?}, {content} }}")
            })
        })
        .collect()
}

/// Scheduler of the simulated switch, equal on all ports.
pub(crate) struct Schedule {
    /// Groups of the scheduler as TOML; absent without any scheduler.
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
    /// Returns the scheduler that most ports have.
    pub(crate) fn from_config(config: &Config, model: &Model) -> Self {
        let own = |port: &str, queue: u8| {
            let setting = config.queue_settings.get(&(PortName::new(port), queue))?;
            config.schedulers.get(&setting.scheduler.as_ref()?.value)
        };
        let mut kinds: BTreeMap<Vec<Service>, usize> = BTreeMap::new();
        let mut used: BTreeSet<String> = BTreeSet::new();
        for port in &model.ports {
            let queues = 0..PRIORITIES as u8;
            let services: Vec<_> = queues.clone().map(|queue| service(own(&port.name, queue))).collect();
            if queues.clone().any(|queue| own(&port.name, queue).is_some()) {
                *kinds.entry(services).or_default() += 1;
            }
            let settings =
                queues.filter_map(|queue| config.queue_settings.get(&(PortName::new(&port.name), queue)));
            used.extend(settings.filter_map(|setting| Some(setting.scheduler.as_ref()?.value.clone())));
        }
        let mut notes = Vec::new();
        let all: usize = kinds.values().sum();
        let usual = kinds.iter().max_by_key(|(_, ports)| **ports);
        let Some((usual, ports)) = usual.map(|(services, ports)| (services.clone(), *ports)) else {
            return Self { groups: None, notes };
        };
        if kinds.len() > 1 {
            notes.push(format!(
                "Schedulers differ on {} of {all} ports; all have that of the others.",
                all - ports
            ));
        }
        if all < model.ports.len() {
            notes.push(format!(
                "{} ports have no scheduler; they have that of the others.",
                model.ports.len() - all
            ));
        }
        note_values(config, &used, &mut notes);
        let groups = groups(&usual, &mut notes);
        Self { groups: Some(groups), notes }
    }
}

/// Adds notes about weights and rates that are not simulated.
fn note_values(config: &Config, used: &BTreeSet<String>, notes: &mut Vec<String>) {
    for (name, scheduler) in config.schedulers.iter().filter(|(name, _)| used.contains(*name)) {
        if let Some(weight) = scheduler.weight.as_ref().filter(|weight| !(1..=100).contains(&weight.value)) {
            notes.push(format!(
                "{name} has the weight {}, which SAI refuses; {} is simulated.",
                weight.value,
                weight.value.clamp(1, 100)
            ));
        }
        if !scheduler.rates.is_empty() {
            notes.push(format!("Not simulated: the rates of {name} ({}).", scheduler.rates.join(", ")));
        }
    }
    let shaped = config.port_qos.values().filter(|qos| qos.scheduler.is_some()).count();
    if shaped > 0 {
        notes.push(format!("Not simulated: schedulers of whole ports (rates) on {shaped} ports."));
    }
}

/// Formats the groups of the scheduler. The strict queues come first, by decreasing number, then
/// the other queues by weight.
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
        // Weights without a common divisor, so that a round is as short as possible.
        let common = weighted.iter().fold(0, |divisor, (_, weight)| gcd(divisor, *weight));
        let weights: Vec<_> = weighted.iter().map(|(_, weight)| weight / common.max(1)).collect();
        groups.push(format!(
            "{{ queues = {queues:?}, discipline = \"weighted_round_robin\", weights = {weights:?} }}"
        ));
        return groups.join(", ");
    }
    let frame = RDMA_FRAME.max(TCP_FRAME);
    // The smallest quantum is one frame, so that a round is as short as possible.
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

/// Parts of a configuration that the simulated switch does not have, in sentences.
pub(crate) fn not_simulated(config: &Config, model: &Model) -> Vec<String> {
    let mut notes = Marking::from_config(config, model).notes().to_vec();
    notes.extend(Schedule::from_config(config, model).notes);
    let speeds: BTreeSet<u64> =
        model.ports.iter().filter(|port| !port.groups.is_empty()).map(|port| port.speed_mbps).collect();
    if speeds.len() > 1 {
        notes.push(
            "Ports have several speeds; all neighbours obey a pause after the time of the most frequent speed.".to_owned(),
        );
    }
    if config.watchdogs.values().any(|watchdog| watchdog.detection_ms.is_some()) {
        notes.push("Not simulated: watchdogs (hundreds of milliseconds).".to_owned());
    }
    notes
}
