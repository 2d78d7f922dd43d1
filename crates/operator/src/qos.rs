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

/// Marking of the simulated switch: by priority, equal on all ports.
pub(crate) struct Marking {
    by_priority: BTreeMap<u8, Ramp>,
    /// Probability of marking at the upper threshold (percent), equal for all priorities.
    percent: u64,
    /// Parts of the configuration that are not simulated, in sentences.
    notes: Vec<String>,
}

impl Marking {
    /// Returns a marking that marks no packet.
    pub(crate) fn none() -> Self {
        Self { by_priority: BTreeMap::new(), percent: 100, notes: Vec::new() }
    }

    /// Returns the marking that most ports have, for each priority. The probability is that of the
    /// first lossless priority, or else of the first lossy priority.
    pub(crate) fn from_config(config: &Config, model: &Model) -> Self {
        let mut found = Self::none();
        for queue in 0..PRIORITIES as u8 {
            let mut actions: BTreeMap<Action, usize> = BTreeMap::new();
            for port in &model.ports {
                let of_port = profile(config, &port.name, queue);
                *actions.entry(of_port.map_or(Action::Nothing, |own| action(own, GREEN))).or_default() += 1;
            }
            // Of actions with equal numbers of ports, the action with the largest effect counts.
            let usual = actions.iter().max_by_key(|(action, ports)| (**ports, **action));
            let Some((usual, ports)) = usual.map(|(action, ports)| (*action, *ports)) else { continue };
            if actions.len() > 1 {
                let others = model.ports.len() - ports;
                found.notes.push(format!(
                    "Marking of queue {queue} differs on {others} of {} ports; all have that of the others ({}).",
                    model.ports.len(),
                    described(usual)
                ));
            }
            match usual {
                Action::Mark(ramp) => {
                    found.by_priority.insert(queue, ramp);
                }
                Action::Drop(_) => found.notes.push(format!(
                    "Not simulated: queue {queue} {}: losses there are too low.",
                    described(usual)
                )),
                Action::Nothing => {}
            }
        }
        found.choose_probability(model);
        found.note_colours(config, model);
        found
    }

    fn choose_probability(&mut self, model: &Model) {
        let key = |(queue, _): &(&u8, &Ramp)| (!model.lossless.contains(*queue), **queue);
        self.percent = self.by_priority.iter().min_by_key(key).map_or(100, |(_, ramp)| ramp.percent);
        let others: Vec<_> = self
            .by_priority
            .iter()
            .filter(|(_, ramp)| ramp.percent != self.percent && ramp.min < ramp.max)
            .collect();
        for (queue, ramp) in others {
            self.notes.push(format!(
                "Queue {queue} marks with up to {} %; the simulated switch has {} % for all queues.",
                ramp.percent, self.percent
            ));
        }
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
        if !self.by_priority.is_empty() {
            self.notes.push(
                "All packets in queues that mark are ECN-capable: drops of others by WRED are not simulated."
                    .to_owned(),
            );
        }
    }

    /// Parts of the configuration that are not simulated, in sentences.
    pub(crate) fn notes(&self) -> &[String] {
        &self.notes
    }

    pub(crate) fn marks(&self, priority: u8) -> bool {
        self.by_priority.contains_key(&priority)
    }

    /// Probability of marking at the upper threshold, from 0 to 1.
    fn probability(&self) -> f64 {
        self.percent as f64 / 100.0
    }

    /// Formats the thresholds of every priority. Priorities without marking also have thresholds,
    /// because the list has no gaps.
    fn thresholds(&self) -> Vec<String> {
        let Some((_, last)) = self.by_priority.last_key_value() else { return Vec::new() };
        let of = |queue: u8| {
            let Ramp { min, max, .. } = self.by_priority.get(&queue).unwrap_or(last);
            format!("{{ kmin = \"{min} B\", kmax = \"{max} B\" }}")
        };
        (0..PRIORITIES as u8).map(of).collect()
    }

    pub(crate) fn inline(&self) -> String {
        if self.by_priority.is_empty() {
            return "{ kind = \"none\" }".to_owned();
        }
        let priorities: Vec<_> = self.by_priority.keys().collect();
        format!(
            "{{ kind = \"red\", at = \"dequeue\", pmax = {}, priorities = {priorities:?}, by_priority = [{}] }}",
            self.probability(),
            self.thresholds().join(", ")
        )
    }

    pub(crate) fn toml(&self) -> String {
        if self.by_priority.is_empty() {
            return String::new();
        }
        let all: Vec<_> = self.thresholds().into_iter().map(|one| format!("  {one},")).collect();
        let priorities: Vec<_> = self.by_priority.keys().collect();
        format!(
            "[switch.ecn]\nkind = \"red\"\nat = \"dequeue\"\npmax = {}\npriorities = {priorities:?}\nby_priority = [\n{}\n]\n\n",
            self.probability(),
            all.join("\n")
        )
    }
}

fn described(action: Action) -> String {
    match action {
        Action::Nothing => "neither marks nor drops".to_owned(),
        Action::Mark(Ramp { min, max, percent }) => {
            format!("marks from {min} to {max} B with up to {percent} %")
        }
        Action::Drop(Ramp { min, max, percent }) => {
            format!("drops by WRED from {min} to {max} B with up to {percent} %")
        }
    }
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
    /// The scheduler serves the queue by packets, with this weight.
    Packets(u32),
    /// The scheduler serves the queue by bytes, with this weight.
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
        let weights: Vec<_> = weighted.iter().map(|(_, weight)| *weight).collect();
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
