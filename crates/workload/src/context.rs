//! Context of a workload when a scenario is read: network, buffers, transports and times, against
//! which the workload is checked.

use crate::foreign::Foreign;
use crate::{FlowSpec, Pattern, SizeDistribution, SizeError, SizePlace};
use bufferlab_params::{
    Fault, Faults, FileContent, ParamPlace, ParamValue, Params, first_names, quoted_list, suggestion,
};
use bufferlab_schedule::Schedule;
use bufferlab_topology::Topology;
use bufferlab_units::{BitRate, Time};
use std::cell::RefCell;
use std::fmt;
use std::path::Path;

/// Properties of a transport that workloads need to compute their traffic.
#[derive(Clone, Debug, PartialEq)]
pub struct Carrier {
    /// Name of the transport in the scenario.
    pub name: String,
    /// Index of the transport among the scenario's transports.
    pub index: u32,
    /// Sending rate of a transport without congestion control; `None` if a window
    /// controls the transport.
    pub rate: Option<BitRate>,
    /// Payload of a full packet of the transport (bytes).
    pub segment_bytes: u32,
    /// Headers of a packet on the wire (bytes).
    pub header_bytes: u32,
    /// Whether the transport's flows are messages of RDMA queue pairs.
    pub is_rdma: bool,
}

/// Transports of the scenario that a workload may name.
#[derive(Clone, Debug, Default)]
pub struct Carriers {
    /// Names of transports, with the transports. `None` for an invalid transport, whose error has
    /// been reported.
    pub entries: Vec<(String, Option<Carrier>)>,
    /// Whether several transports share a name. This error has already been reported.
    pub ambiguous: bool,
}

/// Properties of a switch that workloads need to compute their traffic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SwitchFacts {
    /// Size of the switch's buffer (bytes).
    pub buffer_bytes: u64,
    /// Number of queues of each port of the switch.
    pub queues_per_port: u8,
}

/// Traffic of a file of another simulator, with the file's numbers of hosts.
#[derive(Clone, Debug)]
pub enum ForeignTraffic {
    /// Independent flows, and the names of the flow classes.
    Flows(Vec<FlowSpec>, Vec<String>),
    /// A schedule: transfers that wait for each other.
    Schedule(Schedule),
}

/// Traffic that a reader found in a file of another simulator, with the reader's assumptions.
#[derive(Clone, Debug)]
pub struct ForeignFile {
    /// Name of the foreign file's format.
    pub format: String,
    /// Traffic that the foreign file describes.
    pub traffic: ForeignTraffic,
    /// Content of the file that the reader ignored, and assumptions of the reader.
    pub notices: Vec<String>,
}

/// Reader for traffic files of other simulators.
pub trait ForeignReader: fmt::Debug {
    /// Reads a file that the readers of this crate refused. `None` if the file describes no
    /// traffic.
    ///
    /// # Errors
    /// If the file is wrong. The fault has the parameter `file`.
    fn read(&self, path: &Path, content: &[u8]) -> Result<Option<ForeignFile>, Faults>;
}

/// Context against which a workload is checked. A part of the context is missing if the part was
/// invalid and its error has been reported. A workload that needs a missing part fails with
/// [`Faults::reported`].
#[derive(Debug)]
pub struct WorkloadContext<'a> {
    class: &'a str,
    seed: u64,
    duration: Option<Time>,
    network: Option<&'a Topology>,
    switches: Option<&'a [SwitchFacts]>,
    carriers: &'a Carriers,
    transport: Option<u32>,
    is_transport_written: bool,
    foreign: Option<&'a dyn ForeignReader>,
    used: RefCell<Vec<u32>>,
    warnings: RefCell<Vec<Fault>>,
}

impl<'a> WorkloadContext<'a> {
    /// Creates the context of a workload of `class` over the transport with index `transport`.
    /// `is_written` means that the workload names the transport. Otherwise the workload uses the
    /// scenario's only transport.
    #[must_use]
    pub const fn new(
        class: &'a str,
        carriers: &'a Carriers,
        transport: Option<u32>,
        is_written: bool,
    ) -> Self {
        Self {
            is_transport_written: is_written,
            class,
            seed: 0,
            duration: None,
            network: None,
            switches: None,
            carriers,
            transport,
            foreign: None,
            used: RefCell::new(Vec::new()),
            warnings: RefCell::new(Vec::new()),
        }
    }

    /// Adds the run's seed and duration to the context.
    #[must_use]
    pub fn in_time(self, seed: u64, duration: Option<Time>) -> Self {
        Self { seed, duration, ..self }
    }

    /// Adds a reader for files of other simulators to the context.
    #[must_use]
    pub fn with_foreign_files(self, reader: &'a dyn ForeignReader) -> Self {
        Self { foreign: Some(reader), ..self }
    }

    /// Reads a file of another simulator, and warns about ignored parts and assumptions. `None`
    /// without a reader, and for a file of this program or of an unknown format.
    pub(crate) fn foreign(&self, file: &FileContent) -> Option<Result<ForeignFile, Faults>> {
        let reader = self.foreign?;
        let known = Foreign::detect(&file.content)?;
        if known.is_own() {
            return None;
        }
        let refused =
            || Fault::new("file", known.message("it describes no traffic"), "this file").help(known.advice);
        let read = reader.read(&file.path, &file.content);
        let read = read.and_then(|read| read.ok_or_else(|| refused().into()));
        if let Ok(foreign) = &read {
            let message = format!("{} is read as {}", file.name, foreign.format);
            self.warn(Fault::new("file", message, "this file").help(foreign.notices.join("\n")));
        }
        Some(read)
    }

    /// Adds the network without failures, and its switches, to the context.
    #[must_use]
    pub fn in_network(self, network: Option<&'a Topology>, switches: Option<&'a [SwitchFacts]>) -> Self {
        Self { network, switches, ..self }
    }

    /// Traffic class of the workload.
    #[must_use]
    pub const fn class(&self) -> &'a str {
        self.class
    }

    /// Seed of the scenario, for trials. A run has a separate seed:
    /// [`crate::TrafficBuilder::seed`].
    #[must_use]
    pub const fn seed(&self) -> u64 {
        self.seed
    }

    /// Duration of the run; flows start in `0..duration`.
    ///
    /// # Errors
    /// If the duration in the scenario is invalid.
    pub fn duration(&self) -> Result<Time, Faults> {
        self.duration.ok_or_else(Faults::reported)
    }

    /// Network of the scenario as built, before any cable changes.
    ///
    /// # Errors
    /// If the network in the scenario is invalid.
    pub fn network(&self) -> Result<&'a Topology, Faults> {
        self.network.ok_or_else(Faults::reported)
    }

    /// Switches of the network, in the network's order.
    ///
    /// # Errors
    /// If a switch in the scenario is invalid.
    pub fn switches(&self) -> Result<&'a [SwitchFacts], Faults> {
        self.switches.ok_or_else(Faults::reported)
    }

    /// Transport that carries the workload.
    ///
    /// # Errors
    /// If the transport in the scenario is invalid.
    pub fn transport(&self) -> Result<&'a Carrier, Faults> {
        let entry = self.transport.and_then(|index| self.carriers.entries.get(index as usize));
        entry.and_then(|entry| entry.1.as_ref()).ok_or_else(Faults::reported)
    }

    /// Place of the key that selects the workload's transport.
    #[must_use]
    pub fn transport_place(&self) -> ParamPlace {
        ParamPlace::new(if self.is_transport_written { "transport" } else { "kind" })
    }

    /// Returns the transport that the parameter `transport` of a table at `place` names. Without
    /// the parameter, the function returns the only transport and sets the parameter to its name.
    ///
    /// # Errors
    /// If no transport has the name, or if several transports exist and the table names none.
    pub fn transport_of(&self, table: &mut Params, place: ParamPlace) -> Result<&'a Carrier, Faults> {
        let names = || self.carriers.entries.iter().map(|entry| entry.0.as_str());
        let place = place.key("transport");
        let index = if table.has("transport") {
            let name = table.text("transport");
            match names().position(|known| known == name) {
                Some(index) => index,
                None if self.carriers.entries.is_empty() => return Err(Faults::reported()),
                None => {
                    let known = format!("known: {}", quoted_list(names()));
                    let help = match suggestion(name, names()) {
                        Some(near) => format!("did you mean \"{near}\"? {known}"),
                        None => known,
                    };
                    let message = format!("there is no transport \"{name}\"");
                    return Err(Fault::new(place, message, "no such [[transport]]").help(help).into());
                }
            }
        } else {
            match self.carriers.entries.len() {
                1 => 0,
                _ if self.carriers.entries.is_empty() || self.carriers.ambiguous => {
                    return Err(Faults::reported());
                }
                _ => {
                    let fault = Fault::new(place, "`transport` is missing", "which of them carries it?");
                    let help = format!("there are several transports: {}", quoted_list(names()));
                    return Err(fault.help(help).into());
                }
            }
        };
        let (name, carrier) = &self.carriers.entries[index];
        self.used.borrow_mut().push(index as u32);
        table.set("transport", ParamValue::Text(name.clone().into()));
        carrier.as_ref().ok_or_else(Faults::reported)
    }

    /// Records a warning, which is shown to the user but does not stop the run.
    pub fn warn(&self, warning: Fault) {
        self.warnings.borrow_mut().push(warning);
    }

    /// Returns the additional transports that the workload names, and the recorded warnings.
    #[must_use]
    pub fn into_parts(self) -> (Vec<u32>, Vec<Fault>) {
        (self.used.into_inner(), self.warnings.into_inner())
    }

    /// Returns the host called `name`; `place` is the place of this name in the file.
    ///
    /// # Errors
    /// If no host has that name.
    pub fn host(&self, place: ParamPlace, name: &str) -> Result<u32, Faults> {
        let hosts = &self.network()?.hosts;
        if let Some(index) = hosts.iter().position(|known| known == name) {
            return Ok(index as u32);
        }
        let names = || hosts.iter().map(String::as_str);
        let help = match suggestion(name, names()) {
            Some(near) => format!("did you mean \"{near}\"? hosts here: {}", first_names(names())),
            None => format!("hosts here: {}", first_names(names())),
        };
        Err(Fault::new(place, format!("there is no host \"{name}\""), "no such host").help(help).into())
    }

    /// Returns the hosts that a parameter lists by name, each once. The name of a switch means all
    /// hosts at the switch.
    ///
    /// # Errors
    /// If the list is empty, a name is unknown, or a host is named twice.
    pub fn hosts(&self, params: &Params, param: &'static str) -> Result<Vec<u32>, Faults> {
        let names = params.texts(param);
        if names.is_empty() {
            let fault = Fault::new(param, format!("`{param}` is empty"), "nobody");
            return Err(fault.help("name at least one host").into());
        }
        let network = self.network()?;
        let mut found = Vec::new();
        for (index, name) in names.iter().enumerate() {
            let place = ParamPlace::new(param).element(index);
            let rack = network.rack_switches().into_iter();
            let rack =
                rack.zip(network.racks()).find(|(switch, _)| network.switches[*switch as usize] == *name);
            let meant = match rack {
                Some((_, hosts)) => hosts,
                None => vec![self.host(place, name)?],
            };
            if meant.iter().any(|host| found.contains(host)) {
                let fault = Fault::new(place, format!("\"{name}\" is named twice"), "again");
                return Err(fault.help("name every host once, by itself or by its switch").into());
            }
            found.extend(meant);
        }
        Ok(found)
    }

    /// Reads the parameter `pattern`, which selects receivers. By default, receivers are in a
    /// different rack if the network has several racks.
    ///
    /// # Errors
    /// If the pattern needs several racks and the network has one.
    pub fn pattern(&self, params: &mut Params) -> Result<Pattern, Faults> {
        let one_rack = self.network()?.racks().len() == 1;
        let pattern =
            params.choice_or("pattern", if one_rack { Pattern::AllToAll } else { Pattern::OtherRack });
        if one_rack && pattern != Pattern::AllToAll {
            let message = format!("\"{pattern}\" needs several racks, and all hosts are on one switch");
            let fault = Fault::new("pattern", message, "there is no other rack");
            return Err(fault.help("set pattern = \"all_to_all\"").into());
        }
        Ok(pattern)
    }

    /// Returns the distribution of a parameter of the kind [`crate::FLOW_SIZES`].
    ///
    /// # Errors
    /// If the parameter names a file that contains no distribution.
    pub fn sizes(&self, params: &Params, param: &'static str) -> Result<SizeDistribution, Faults> {
        match params.value(param) {
            ParamValue::Choice(name) => {
                Ok(SizeDistribution::builtin(name).expect("the words are the names of what is built in"))
            }
            ParamValue::Bytes(bytes) => Ok(SizeDistribution::fixed(*bytes)),
            _ => {
                let file = params.file(param);
                let text = String::from_utf8_lossy(&file.content);
                SizeDistribution::from_csv(&file.name, &text).map_err(|error| {
                    if let Some(foreign) = Foreign::detect(&file.content) {
                        let message = foreign.message(&error.to_string());
                        return Fault::new(param, message, "this file").help(foreign.advice).into();
                    }
                    let fault = Fault::new(param, error.to_string(), "here").help(
                        "each line is `bytes,cumulative`: so many bytes or fewer with that probability; the last one \
                         is 1",
                    );
                    fault.at_line(line_of(&error).unwrap_or(1)).into()
                })
            }
        }
    }
}

fn line_of(error: &SizeError) -> Option<usize> {
    let place = match error {
        SizeError::NotAPair { place, .. }
        | SizeError::NotASize { place, .. }
        | SizeError::SizeFalls { place, .. }
        | SizeError::NotAProbability { place, .. }
        | SizeError::ProbabilityFalls { place, .. }
        | SizeError::EndsBelowOne { place, .. } => place,
        _ => return None,
    };
    match place {
        SizePlace::Line(line) => Some(*line),
        SizePlace::Point(_) => None,
    }
}
