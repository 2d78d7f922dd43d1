//! Content of imported files, and options of an import.

use crate::Format;
use bufferlab_schedule::{Algorithm, Schedule};
use bufferlab_topology::Topology;
use bufferlab_units::Time;
use bufferlab_workload::FlowSpec;
use std::path::PathBuf;

/// Options of an import, for values that the files do not state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ImportOptions {
    /// Unit of `start` in connection matrices: 1 for picoseconds, 1,000,000 for microseconds.
    pub start_unit: Time,
    /// Algorithm for collectives for which a file states no algorithm.
    pub algorithm: Algorithm,
    /// Number of ranks of a server, for hierarchical collectives.
    pub ranks_per_server: u32,
    /// Number of network cards per rank, for GOAL files that number cards instead of ranks.
    pub nics_per_rank: u32,
    /// Size of the collective of an MSCCL algorithm (bytes).
    pub collective_bytes: u64,
    /// Largest number of transfers in all collectives together.
    pub transfers_max: u64,
}

impl Default for ImportOptions {
    fn default() -> Self {
        Self {
            start_unit: Time(1),
            algorithm: Algorithm::Ring,
            ranks_per_server: 8,
            nics_per_rank: 1,
            collective_bytes: 1 << 20,
            transfers_max: bufferlab_schedule::NODES_MAX as u64,
        }
    }
}

/// Notices of an import about understood, ignored and assumed content.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Notices {
    /// Parts of the imported files that the import understood.
    pub understood: Vec<String>,
    /// Content of the imported files that has no counterpart in a scenario.
    pub ignored: Vec<String>,
    /// Assumptions about values that the files do not state, and deviations of the files from their
    /// format.
    pub assumed: Vec<String>,
    /// Number of assumptions at the start of `assumed` that are not about the default network,
    /// switch and transport.
    pub(crate) own_traffic: usize,
}

impl Notices {
    /// Assumptions about the traffic alone, without network, switch and transport.
    pub fn own_traffic(&self) -> impl Iterator<Item = &str> {
        self.assumed.iter().take(self.own_traffic).map(String::as_str)
    }

    pub(crate) fn understand(&mut self, text: impl Into<String>) {
        add(&mut self.understood, text.into());
    }

    pub(crate) fn ignore(&mut self, text: impl Into<String>) {
        add(&mut self.ignored, text.into());
    }

    pub(crate) fn assume(&mut self, text: impl Into<String>) {
        add(&mut self.assumed, text.into());
    }
}

/// Adds a text to a list of notices, unless the list already ends with this text.
fn add(list: &mut Vec<String>, text: String) {
    if list.last() != Some(&text) {
        list.push(text);
    }
}

/// A key of a configuration file with its values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting {
    /// Key of the setting in the configuration file.
    pub key: String,
    /// Values that follow the key in the configuration file.
    pub values: Vec<String>,
}

/// Traffic of a file, with the file's numbers of hosts.
#[derive(Clone, Debug, PartialEq)]
pub enum Traffic {
    /// Flows that start at fixed times and do not wait for other flows.
    Flows {
        /// The flows of the file, in the order of their start.
        flows: Vec<FlowSpec>,
        /// Names of the traffic classes of the flows.
        classes: Vec<String>,
    },
    /// Transfers that wait for other transfers, as a schedule.
    Schedule(Schedule),
}

/// A network, and the numbers that the file uses for its hosts.
#[derive(Clone, Debug, PartialEq)]
pub struct Network {
    /// Nodes and cables of the network.
    pub topology: Topology,
    /// Number in the file for each host of the topology.
    pub numbers: Vec<u32>,
}

/// Content of the imported files, in the form of scenarios.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Imported {
    /// Paths and formats of the imported files.
    pub files: Vec<(PathBuf, Format)>,
    /// Imported network; `None` if no file describes a network.
    pub network: Option<Network>,
    /// Imported traffic; `None` if no file describes traffic.
    pub traffic: Option<Traffic>,
    /// Number of hosts that the traffic uses.
    pub hosts: u32,
    /// Number of consecutive ranks that share a server, if the format has servers.
    pub ranks_per_server: Option<u32>,
    /// Settings in the imported configuration files.
    pub settings: Vec<Setting>,
    /// Priority group of all flows; `None` if the groups differ, or if the files have no groups.
    pub group: Option<u8>,
    /// Alphas of Dynamic Thresholds, in the order of the priorities.
    pub alphas: Vec<f64>,
    /// Notices about content that was understood, ignored or assumed.
    pub notices: Notices,
}
