//! Translates the ECN marking of a SONiC configuration to the simulated switch, and lists the parts
//! of the configuration that are not simulated.
//!
//! The translation follows SAI. Thresholds of a colour are valid only if the colour is enabled.
//! `ecn` selects the colours that are marked instead of dropped. If min = max, the marking
//! probability is a step. Simulated packets are green and ECN-capable.

use crate::gather::gathered;
use crate::model::{Model, PRIORITIES};
use crate::schedule::Schedule;
use bufferlab_sonic::PortName;
use bufferlab_sonic::config::{Config, WredProfile};
use std::collections::{BTreeMap, BTreeSet};

/// Names of packet colours, in the order of `WredProfile::colours`.
const COLOURS: [&str; 3] = ["green", "yellow", "red"];
/// Index of the colour that all simulated packets have.
const GREEN: usize = 0;

/// Marking ramp for green packets in one queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Ramp {
    /// Queue length up to which no packet is marked (bytes).
    min: u64,
    /// Queue length above which every packet is marked (bytes).
    max: u64,
    /// Probability of marking at the queue length `max` (percent).
    percent: u64,
}

/// Effect of WRED on green packets of a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Action {
    Nothing,
    Mark(Ramp),
    /// WRED drops packets at random, because ECN does not cover the packets' colour.
    Drop(Ramp),
}

fn marks(profile: &WredProfile, colour: &str) -> bool {
    let ecn = profile.ecn.as_ref().map_or("ecn_none", |ecn| ecn.value.as_str());
    ecn == "ecn_all" || ecn.contains(colour)
}

fn action(profile: &WredProfile, colour: usize) -> Action {
    let thresholds = &profile.colours[colour];
    // By SAI's defaults, a colour is not enabled, its thresholds are 0, and its probability is 100.
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

/// Returns the WRED profile that a queue of a port has.
fn profile<'c>(config: &'c Config, port: &str, queue: u8) -> Option<&'c WredProfile> {
    let setting = config.queue_settings.get(&(PortName::new(port), queue))?;
    config.wred.get(&setting.wred.as_ref()?.value)
}

/// Marking and drops by WRED in the simulated switch.
pub(crate) struct Marking {
    /// Effect of WRED on every queue of every port of the switch.
    by_port: Vec<[Action; PRIORITIES]>,
    /// Parts of the configuration that are not simulated, in sentences.
    notes: Vec<String>,
}

impl Marking {
    /// Returns a marking configuration that marks no packet.
    pub(crate) fn none() -> Self {
        Self { by_port: Vec::new(), notes: Vec::new() }
    }

    /// Reads the WRED profile of every queue of every port.
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

    /// Formats the marking profiles of the queues as inline tables of TOML.
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
        gathered(self.by_port.len(), &entries, "", "priorities")
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

/// Parts of a configuration that the simulated switch does not have, in sentences.
pub(crate) fn not_simulated(config: &Config, model: &Model) -> Vec<String> {
    let mut notes = Marking::from_config(config, model).notes().to_vec();
    notes.extend(Schedule::from_config(config, model).notes);
    if config.watchdogs.values().any(|watchdog| watchdog.detection_ms.is_some()) {
        notes.push("Not simulated: watchdogs (hundreds of milliseconds).".to_owned());
    }
    notes
}
