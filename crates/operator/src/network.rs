//! The network around a configured switch: a host behind every port, or a leaf–spine network of
//! equal switches.

use crate::OperatorError;
use crate::model::{Model, PortModel};
use crate::scenario::{METRES_PER_SECOND, quoted};
use std::fmt::Write as _;

/// Network around the configured switch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Network {
    /// The network has one switch with a host behind every port.
    #[default]
    Star,
    /// The network has leaves, and half as many spines, all with the configured switch. The first
    /// half of a leaf's ports has hosts. The other ports are divided evenly among the spines. All
    /// ports of a spine are in use.
    LeafSpine {
        /// Number of leaf switches; the number must be even.
        leaves: usize,
    },
}

impl Network {
    /// Checks that the model of a switch fits the network.
    ///
    /// # Errors
    /// If the number of leaves does not divide the ports evenly, or if ports have several speeds.
    pub fn check(self, model: &Model) -> Result<(), OperatorError> {
        let Self::LeafSpine { leaves } = self else { return Ok(()) };
        let ports = model.ports.len();
        let fits = |leaves: usize| leaves >= 2 && leaves.is_multiple_of(2) && ports.is_multiple_of(leaves);
        if !fits(leaves) {
            let possible: Vec<_> =
                (2..=ports).filter(|leaves| fits(*leaves)).map(|leaves| leaves.to_string()).collect();
            let help = if possible.is_empty() {
                "leave --leaves out: half of the ports go up, and an odd number has no half".to_owned()
            } else {
                format!("choose an even number that divides the {ports} ports: {}", possible.join(", "))
            };
            return Err(OperatorError::new(format!("{leaves} leaves of a switch of {ports} ports"), help));
        }
        let first = &model.ports[0];
        if let Some(other) = model.ports.iter().find(|port| port.speed_mbps != first.speed_mbps) {
            return Err(OperatorError::new(
                format!(
                    "ports of several speeds ({} at {} Mb/s, {} at {} Mb/s): a spine of the same switch cannot face the uplinks",
                    first.name, first.speed_mbps, other.name, other.speed_mbps
                ),
                "leave --leaves out, or write the network by hand from the scenario that --only-write leaves",
            ));
        }
        Ok(())
    }

    /// Returns the ports that connect hosts, of all switches.
    pub(crate) fn host_ports(self, model: &Model) -> impl Iterator<Item = &PortModel> {
        let (times, number) = match self {
            Self::Star => (1, model.ports.len()),
            Self::LeafSpine { leaves } => (leaves, model.ports.len() / 2),
        };
        (0..times).flat_map(move |_| &model.ports[..number])
    }

    /// Largest number of links that a packet crosses, divided by the number of links that it
    /// crosses in a star.
    pub(crate) const fn ways(self) -> f64 {
        match self {
            Self::Star => 1.0,
            Self::LeafSpine { .. } => 2.0,
        }
    }

    /// Sentence about the simplification in the model of the leaf–spine network.
    pub(crate) fn note(self) -> Option<String> {
        let Self::LeafSpine { leaves } = self else { return None };
        Some(format!(
            "{leaves} leaves and {} have the same configuration; a cable between two of them is as long as the shorter of its \
             two ports' cables, because each end has headroom for its own.",
            if leaves == 2 { "a spine".to_owned() } else { format!("{} spines", leaves / 2) }
        ))
    }

    /// Appends the table `[topology]` to a scenario file.
    pub(crate) fn toml(self, text: &mut String, model: &Model) {
        match self {
            Self::Star => star(text, model),
            Self::LeafSpine { leaves } => leaf_spine(text, model, leaves),
        }
    }
}

fn graph(text: &mut String, comment: &str, hosts: &[String], switches: &[String]) {
    // Writing into a string cannot fail.
    let _ = writeln!(
        text,
        "[topology]                              # {comment}\nkind = \"graph\"\nhosts = [{}]\nswitches = [{}]\nlinks = [",
        hosts.join(", "),
        switches.join(", ")
    );
}

fn link(text: &mut String, (a, b): (&str, &str), rate_mbps: u64, cable_metres: f64) {
    let delay = (cable_metres / METRES_PER_SECOND * 1e12).floor().max(1_000.0);
    let _ =
        writeln!(text, "  {{ a = {a}, b = {b}, rate = \"{rate_mbps} Mb/s\", delay = \"{delay:.0} ps\" }},");
}

fn star(text: &mut String, model: &Model) {
    let names: Vec<_> = model.ports.iter().map(|port| quoted(&port.name)).collect();
    let switch = quoted("switch");
    graph(text, "a host behind every port, named after it", &names, std::slice::from_ref(&switch));
    for (port, name) in model.ports.iter().zip(&names) {
        link(text, (name, &switch), port.speed_mbps, port.cable_metres);
    }
    text.push_str("]\n\n");
}

/// Appends a leaf–spine topology. A switch's ports follow the order of its links. On leaves, the
/// links to hosts are first; on spines, the links are ordered by leaf. So every switch has the port
/// numbers of the configuration.
fn leaf_spine(text: &mut String, model: &Model, leaves: usize) {
    let (down, up) = model.ports.split_at(model.ports.len() / 2);
    let spines = leaves / 2;
    let each = up.len() / spines;
    let named = |kind: &str, number: usize| quoted(&format!("{kind}{number}"));
    let host = |leaf: usize, port: &PortModel| quoted(&format!("leaf{leaf}-{}", port.name));
    let hosts: Vec<_> = (0..leaves).flat_map(|leaf| down.iter().map(move |port| host(leaf, port))).collect();
    let switches: Vec<_> = (0..leaves)
        .map(|leaf| named("leaf", leaf))
        .chain((0..spines).map(|spine| named("spine", spine)))
        .collect();
    let comment = format!("{leaves} leaves, {spines} of the same above them, {each} cables between each two");
    graph(text, &comment, &hosts, &switches);
    for leaf in 0..leaves {
        for port in down {
            link(text, (&host(leaf, port), &named("leaf", leaf)), port.speed_mbps, port.cable_metres);
        }
        for (number, port) in up.iter().enumerate() {
            let (spine, far) = (number / each, &model.ports[leaf * each + number % each]);
            // A cable that is longer than configured would need more headroom than the group at the
            // port has.
            let metres = port.cable_metres.min(far.cable_metres);
            link(text, (&named("leaf", leaf), &named("spine", spine)), port.speed_mbps, metres);
        }
    }
    text.push_str("]\n\n");
}
