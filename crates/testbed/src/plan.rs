//! Checks whether a scenario can run with real hosts, and plans the run.

use crate::check::{has_dctcp, kernel_controls};
use crate::dctcp;
use bufferlab_dataplane::SwitchFile;
use bufferlab_document::LoadError;
use bufferlab_scenario::{Loaded, Node, Scenario, TransportSpec, format_rate, format_time};
use bufferlab_units::{BitRate, Time};
use std::fmt::Write as _;
use std::path::Path;

/// Reason why a scenario cannot run with real hosts.
#[derive(Debug, thiserror::Error)]
pub enum PlanError {
    /// The scenario needs features that real hosts or the switch of real packets lack.
    #[error("{what}\nhint: {advice}")]
    Unsupported {
        /// Feature that the scenario needs and the testbed lacks.
        what: String,
        /// Advice on how to change the scenario so that it does not need the feature.
        advice: String,
    },
    /// The scenario's switch cannot be loaded as a switch of real packets.
    #[error("{}", .0.in_lines())]
    Switch(#[from] LoadError),
}

/// A scenario that can run with real hosts, and its plan.
#[derive(Debug)]
pub struct Plan {
    /// The scenario that the testbed runs, as loaded.
    pub loaded: Loaded,
    /// Switch of the scenario, as a file for real packets describes it.
    pub switch: SwitchFile,
    /// Switch port and sending rate of every host.
    pub(crate) hosts: Vec<Host>,
}

/// A host of the plan, with its cable to the switch.
#[derive(Clone, Debug)]
pub(crate) struct Host {
    pub(crate) name: String,
    pub(crate) port: u16,
    pub(crate) rate: BitRate,
}

/// Code point of packets of a priority: a class selector (RFC 2474).
pub(crate) const fn code_point(priority: u8) -> u8 {
    priority * 8
}

/// Name of the switch's interface to the host `index`.
pub(crate) fn interface(index: usize) -> String {
    format!("p{index}")
}

pub(crate) fn unsupported(what: impl Into<String>, advice: impl Into<String>) -> PlanError {
    PlanError::Unsupported { what: what.into(), advice: advice.into() }
}

impl Plan {
    /// Plans a run with real hosts for the scenario `loaded`.
    ///
    /// # Errors
    /// Returns [`PlanError`], with the required change of the scenario.
    pub fn new(loaded: Loaded) -> Result<Self, PlanError> {
        let scenario = &loaded.scenario;
        let hosts = hosts(scenario)?;
        for transport in &scenario.transports {
            check_transport(scenario, transport)?;
        }
        #[cfg(target_os = "linux")]
        if scenario.host.applications == bufferlab_scenario::Applications::Programs {
            crate::programs::check(scenario)?;
        }
        let delay = scenario.topology.links[0].delay;
        let text = switch_text(&loaded, delay);
        let switch = bufferlab_dataplane::load_text(Path::new("switch.toml"), &text)?;
        Ok(Self { hosts, switch, loaded })
    }

    /// Scenario that the plan runs with real hosts.
    #[must_use]
    pub const fn scenario(&self) -> &Scenario {
        &self.loaded.scenario
    }

    /// Whether a transport of the scenario needs the testbed's DCTCP.
    #[cfg(target_os = "linux")]
    pub(crate) fn needs_dctcp(&self) -> bool {
        let mut transports = self.scenario().transports.iter();
        transports.any(|transport| kernel_name(&transport.congestion_control) == dctcp::OWN_NAME)
    }

    /// Round-trip time without queues: the sum of the delays of four cables.
    pub(crate) fn base_rtt(&self) -> Time {
        Time(self.scenario().topology.links[0].delay.0 * 4)
    }
}

/// Returns the hosts of the scenario. All hosts must be on one switch, with equal delays.
fn hosts(scenario: &Scenario) -> Result<Vec<Host>, PlanError> {
    let topology = &scenario.topology;
    if topology.switches.len() != 1 {
        return Err(unsupported(
            format!(
                "the network has {} switches, but the testbed supports only one",
                topology.switches.len()
            ),
            "use kind = \"single_switch\"",
        ));
    }
    let most = 63;
    if topology.hosts.len() > most {
        return Err(unsupported(
            format!("{} hosts are too many for one machine", topology.hosts.len()),
            format!("use at most {most}"),
        ));
    }
    let first = topology.links[0].delay;
    let mut hosts: Vec<Option<Host>> = vec![None; topology.hosts.len()];
    for (port, link) in (0_u16..).zip(&topology.links) {
        if link.delay != first || !link.down.is_empty() {
            let advice = "give all cables the same `delay`, and no failures";
            return Err(unsupported("the switch has one delay line for all cables", advice));
        }
        let (host, rate) = match (link.a, link.b) {
            (Node::Host(host), Node::Switch(_)) => (host, link.rate_ab),
            (Node::Switch(_), Node::Host(host)) => (host, link.rate_ba),
            _ => {
                return Err(unsupported(
                    "a cable does not connect a host with the switch",
                    "use kind = \"single_switch\"",
                ));
            }
        };
        let name = topology.hosts[host as usize].clone();
        hosts[host as usize] = Some(Host { name, port, rate });
    }
    Ok(hosts.into_iter().flatten().collect())
}

fn check_transport(scenario: &Scenario, transport: &TransportSpec) -> Result<(), PlanError> {
    let name = &transport.name;
    if transport.rdma.is_some() || transport.pacing.is_some() {
        return Err(unsupported(
            format!("transport \"{name}\" is not TCP"),
            "use TCP: hosts of the testbed have the kernel's TCP",
        ));
    }
    let control = kernel_name(&transport.congestion_control);
    if control == dctcp::OWN_NAME {
        if let Some(advice) = dctcp::missing() {
            let what = format!("transport \"{name}\": this kernel has no DCTCP, and none can be loaded");
            return Err(unsupported(what, advice));
        }
    } else if !kernel_controls().iter().any(|known| known == control) {
        return Err(unsupported(
            format!("transport \"{name}\": this kernel has no congestion control \"{control}\""),
            format!("it has: {}; or try `modprobe tcp_{control}`", kernel_controls().join(", ")),
        ));
    }
    if transport.data_priorities.len() > 1 {
        return Err(unsupported(
            format!("transport \"{name}\" draws a priority for every flow"),
            "give the transport one `data_priority`",
        ));
    }
    if scenario.switches[0].queues_per_port > 8 {
        return Err(unsupported(
            "more than eight queues per port",
            "use at most eight: class selectors distinguish eight priorities",
        ));
    }
    Ok(())
}

/// Returns the kernel's name for a congestion control that scenarios name.
pub(crate) fn kernel_name(name: &str) -> &str {
    match name {
        // ECN* is Reno that halves its window at a congestion mark, as Linux does (RFC 3168).
        "newreno" | "ecn-star" => "reno",
        dctcp::NAME if !has_dctcp() => dctcp::OWN_NAME,
        other => other,
    }
}

/// Formats the text of the switch file: the ports, and the table `[switch]` of the resolved
/// scenario.
fn switch_text(loaded: &Loaded, delay: Time) -> String {
    let scenario = &loaded.scenario;
    let mut text = format!(
        "name = {:?}\nseed = {}\nprofile = {:?}\n",
        scenario.name,
        scenario.seed,
        scenario.profile.word()
    );
    for (port, rate) in scenario.topology.switch_port_rates(0).into_iter().enumerate() {
        let (interface, rate) = (interface(port), format_rate(rate));
        let _ = writeln!(text, "[[port]]\ninterface = {interface:?}\nrate = {rate:?}");
    }
    let queues = scenario.switches[0].queues_per_port.min(8);
    let priorities: Vec<_> =
        (0..queues).map(|p| format!("{{ code_point = {}, priority = {p} }}", code_point(p))).collect();
    // The switch's delay line delays a frame by the delays of two cables: the sender's cable and
    // the receiver's cable.
    let delay = format_time(Time(delay.0 * 2));
    let _ = writeln!(text, "[forwarding]\ndelay = {delay:?}\npriorities = [{}]", priorities.join(", "));
    let resolved: toml::Table = toml::from_str(&loaded.resolved).expect("a resolved scenario is TOML");
    let mut switch = toml::Table::new();
    switch.extend(resolved.into_iter().filter(|(key, _)| key == "switch"));
    text.push_str(&toml::to_string(&switch).expect("what was read can be written"));
    text
}
