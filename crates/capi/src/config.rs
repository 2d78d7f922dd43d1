//! Creates switches from a policy's name with parameters, or from the text of a scenario.

use crate::error::Failure;
use bufferlab_core::schedule::MAX_QUEUES_PER_PORT;
use bufferlab_core::{Dispatched, ParamValue, Switch, SwitchConfig, find_policy};
use bufferlab_scenario::{Changes, Scenario, load_changed, parse_parameter};
use bufferlab_units::{BitRate, mix};
use std::path::Path;

/// The core switch that a handle of the C interface contains.
pub(crate) type Core = Switch<Dispatched>;

/// Largest size of a packet (bytes), if the caller gives no size.
const MAX_PACKET: u32 = 9_216;
/// Keys that every scenario needs, with default values. The C interface uses only one of these
/// values: the largest packet (1,500 B).
const UNUSED: [(&str, &str); 3] = [
    ("duration", "\"1 s\""),
    (
        "transport",
        "[{ congestion_control = \"newreno\", segment_bytes = \"1446 B\", header_bytes = \"54 B\" }]",
    ),
    (
        "workload",
        "[{ kind = \"bursts\", bursts = [{ src = \"h0\", dst = \"h1\", size = \"1 KB\", start = \"0 s\" }] }]",
    ),
];
/// Name of the caller's scenario text in error messages.
const SOURCE: &str = "<text>";

/// A switch configuration from C, with its pointers read.
#[derive(Debug)]
pub(crate) struct Plain<'a> {
    pub(crate) capacity: u64,
    pub(crate) rates: &'a [u64],
    pub(crate) queues_per_port: u32,
    pub(crate) max_packet: u32,
    pub(crate) lossless: u32,
    pub(crate) seed: u64,
}

/// Builds a core switch with the registered policy `name`.
pub(crate) fn from_policy(plain: &Plain<'_>, name: &str, params: &[(&str, &str)]) -> Result<Core, Failure> {
    let queues = plain.queues_per_port as usize;
    if !(1..=MAX_QUEUES_PER_PORT).contains(&queues) {
        return Err(Failure::refused(format!(
            "{queues} queues per port; expected 1 to {MAX_QUEUES_PER_PORT}"
        )));
    }
    check_ports(plain.rates, queues)?;
    if plain.capacity == 0 || plain.capacity > i64::MAX as u64 {
        return Err(Failure::refused(format!("a buffer of {} bytes", plain.capacity)));
    }
    let rates = plain.rates.iter().copied().map(BitRate).collect();
    let max_packet = if plain.max_packet == 0 { MAX_PACKET } else { plain.max_packet };
    let config = SwitchConfig {
        max_packet: max_packet.into(),
        lossless: plain.lossless,
        seed: plain.seed,
        ..SwitchConfig::new(plain.capacity, rates).with_queues(queues)
    };
    let params = parameters(name, params)?;
    config.build_dispatched(name, &params).map_err(|error| Failure::refused(error.to_string()))
}

/// Refuses ports without a rate, and more queues than the core can number.
fn check_ports(rates: &[u64], queues_per_port: usize) -> Result<(), Failure> {
    if rates.is_empty() {
        return Err(Failure::refused("a switch without ports"));
    }
    if let Some(port) = rates.iter().position(|&rate| rate == 0) {
        return Err(Failure::refused(format!("port {port} has no rate")));
    }
    let queues = rates.len().saturating_mul(queues_per_port);
    if queues > usize::from(u16::MAX) {
        return Err(Failure::refused(format!("{queues} queues; expected at most {}", u16::MAX)));
    }
    Ok(())
}

fn parameters(policy: &str, texts: &[(&str, &str)]) -> Result<Vec<(String, ParamValue)>, Failure> {
    // If the policy is unknown, the later build of the switch reports this, and lists the names of
    // all policies.
    let Some(info) = find_policy(policy) else { return Ok(Vec::new()) };
    let read = |&(name, text): &(&str, &str)| {
        let param = info.params.iter().find(|param| param.name == name).ok_or_else(|| {
            let known: Vec<_> = info.params.iter().map(|param| param.name).collect();
            Failure::refused(format!("{policy} has no parameter \"{name}\"; known: {}", known.join(", ")))
        })?;
        let value = parse_parameter(param.kind, text)
            .map_err(|error| Failure::refused(format!("{name} = \"{text}\": {error}")))?;
        Ok((name.to_owned(), value))
    };
    texts.iter().map(read).collect()
}

/// Builds the first switch of a scenario. If the text has no topology, the switch has one port for
/// each rate in `rates`.
pub(crate) fn from_toml(text: &str, rates: &[u64]) -> Result<Core, Failure> {
    let mut overrides = Vec::new();
    // If the text is not valid TOML, the scenario loader reports the place.
    if let Ok(table) = toml::de::DeTable::parse(text) {
        let has_network = table.get_ref().contains_key("topology") || table.get_ref().contains_key("extends");
        match (has_network, rates) {
            (true, []) => {}
            (true, _) => {
                return Err(Failure::refused("the text has a topology: give no rates of ports"));
            }
            (false, _) => {
                check_ports(rates, 1)?;
                overrides.push(("topology".to_owned(), network(rates)));
                let missing = UNUSED.iter().filter(|(key, _)| !table.get_ref().contains_key(*key));
                overrides.extend(missing.map(|&(key, value)| (key.to_owned(), value.to_owned())));
            }
        }
    }
    let changes = Changes { overrides: &overrides, ..Changes::default() };
    let loaded = load_changed(Path::new(SOURCE), Some(text), &changes).map_err(|error| {
        let lines: Vec<_> = error.problems().iter().map(|problem| problem.in_one_line()).collect();
        Failure::refused(lines.join("\n"))
    })?;
    first_switch(&loaded.scenario)
}

/// Formats a switch with one cable for every rate, as the value of a scenario key.
fn network(rates: &[u64]) -> String {
    let link = |(port, rate): (usize, &u64)| {
        format!("{{ a = \"h{port}\", b = \"s0\", rate = \"{rate} b/s\", delay = \"1 us\" }}")
    };
    let links: Vec<_> = rates.iter().enumerate().map(link).collect();
    let (hosts, links) = (rates.len(), links.join(", "));
    format!("{{ kind = \"graph\", hosts = {hosts}, switches = 1, links = [{links}] }}")
}

/// Builds the core switch for the first switch of a scenario, with the simulator's initial state.
fn first_switch(scenario: &Scenario) -> Result<Core, Failure> {
    let refuse = |error: bufferlab_core::BuildError| Failure::refused(error.to_string());
    let spec = &scenario.switches[0];
    if spec.hardware.slices > 1 {
        return Err(Failure::refused(
            "hardware.slices: this interface has one memory per switch; build one switch per slice",
        ));
    }
    if spec.limits_rates() {
        return Err(Failure::refused(
            "switch.egress: this interface has no timer for limited rates; leave out rate",
        ));
    }
    let queues_per_port = usize::from(spec.queues_per_port);
    let rates = scenario.topology.switch_port_rates(0);
    let largest = scenario.transports.iter().map(|t| u64::from(t.segment_bytes + t.header_bytes)).max();
    let mut config = SwitchConfig {
        queues_per_port,
        max_packet: largest.unwrap_or(1_500).saturating_sub(spec.uncharged_bytes.into()),
        scheduler: spec
            .scheduler_of(&(0..rates.len()))
            .map_err(|error| Failure::refused(format!("scheduler: {error}")))?,
        profile: scenario.profile,
        // The simulator derives the seed of its first switch with this formula, too.
        seed: mix(scenario.seed ^ mix(1)),
        hardware: spec.hardware.switch,
        lossless: spec.lossless(),
        lossless_by_port: spec.pfc.as_ref().map_or_else(Vec::new, |pfc| pfc.masks_by_port(rates.len())),
        ..SwitchConfig::new(spec.buffer_bytes, rates)
    };
    if let Some(classifier) = &spec.classifier {
        config.classifier = Some(classifier.classifier(queues_per_port).map_err(refuse)?);
    }
    if let Some(ecn) = &spec.ecn {
        config.marker = Some(ecn.marker(&config.shape()).map_err(refuse)?);
    }
    config.build_dispatched(&spec.policy, &spec.policy_params).map_err(refuse)
}
