//! The matrix of entries that a configuration needs. The matrix has a cell for every port, every
//! priority, and each table that must have an entry for the port and the priority.
//!
//! A cell of the matrix is judged if its table is present. An entry is needed for two reasons.
//! Traffic can need the entry: a queue that a traffic class reaches needs a profile. An entry is
//! also needed if most ports of the same kind have the entry.

mod cells;

use super::context::{Context, some};
use super::{Findings, Severity};
use crate::config::{Assigned, Config, MapKind};
use crate::keys::PortName;
use crate::place::ConfigPlace;
use std::collections::{BTreeMap, BTreeSet};

/// Number of priorities, groups and queues that the matrix judges.
const NUMBERS: u8 = 8;

/// Severity and consequence of an empty cell in the matrix of entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Gap {
    severity: Severity,
    consequence: &'static str,
}

const fn error(consequence: &'static str) -> Option<Gap> {
    Some(Gap { severity: Severity::Error, consequence })
}

const fn warning(consequence: &'static str) -> Option<Gap> {
    Some(Gap { severity: Severity::Warning, consequence })
}

const fn hint(consequence: &'static str) -> Option<Gap> {
    Some(Gap { severity: Severity::Info, consequence })
}

/// Kind of the numbers in a column of the matrix: ports, groups, queues or priorities.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Numbers {
    /// The column of the matrix has one cell for each port.
    Port,
    /// The column of the matrix has a cell for each priority group of a port.
    Group,
    /// The column of the matrix has a cell for each queue of a port.
    Queue,
    /// The column of the matrix has a cell for each priority of a port.
    Priority,
}

impl Numbers {
    fn words(self, numbers: &[u8]) -> String {
        let list: Vec<_> = numbers.iter().map(ToString::to_string).collect();
        let (list, many) = (list.join(", "), if numbers.len() > 1 { "s" } else { "" });
        match self {
            Self::Port => String::new(),
            Self::Group => format!(", group{many} {list}"),
            Self::Queue => format!(", queue{many} {list}"),
            Self::Priority if numbers.len() > 1 => format!(", priorities {list}"),
            Self::Priority => format!(", priority {list}"),
        }
    }
}

/// A column of the matrix: a table, or a field of a table's entries.
struct Column {
    table: &'static str,
    /// Field of the entry that the column is about; empty for the entry itself.
    field: &'static str,
    numbers: Numbers,
    /// Function that returns whether a cell of the matrix has a value.
    has: fn(&Config, &PortName, u8) -> bool,
    /// Function that returns the gap of an empty cell of the matrix, if the cell's meaning needs a
    /// value.
    needs: fn(&Traffic<'_>, &PortName, u8) -> Option<Gap>,
}

/// Traffic of all ports: groups and queues to which the QoS maps direct packets.
struct Traffic<'c> {
    config: &'c Config,
    /// Priorities that have PFC on at least one port.
    lossless: BTreeSet<u8>,
    /// Whether at least one port has a watchdog on a priority.
    any_watchdog: bool,
    /// Whether a queue with PFC has a marking profile.
    any_marking: bool,
    ports: BTreeMap<PortName, Reach>,
}

/// Groups and queues that packets of a port can reach.
#[derive(Default)]
struct Reach {
    pfc: BTreeSet<u8>,
    groups: BTreeSet<u8>,
    queues: BTreeSet<u8>,
    /// Queues of the port that stop when a neighbour sends a pause.
    paused: BTreeSet<u8>,
}

impl Reach {
    fn new(config: &Config, port: &PortName) -> Self {
        let pfc = config.lossless_priorities(port);
        let selects = [MapKind::DscpToTc, MapKind::Dot1pToTc];
        let maps = selects.into_iter().filter_map(|kind| config.map(port, kind));
        let classes: BTreeSet<u8> =
            maps.flat_map(|(_, map)| map.entries.values().map(|to| to.value)).collect();
        let to = |kind| -> BTreeSet<u8> {
            let map = config.map(port, kind);
            map.map_or_else(BTreeSet::new, |(_, map)| {
                classes.iter().filter_map(|class| map.get(*class)).collect()
            })
        };
        let (groups, queues) = (to(MapKind::TcToPg), to(MapKind::TcToQueue));
        let pauses = config.map(port, MapKind::PfcToQueue);
        let paused = pfc
            .iter()
            .map(|priority| pauses.and_then(|(_, map)| map.get(*priority)).unwrap_or(*priority))
            .collect();
        Self { pfc, groups, queues, paused }
    }
}

impl<'c> Traffic<'c> {
    fn new(config: &'c Config) -> Self {
        let ports: BTreeMap<PortName, Reach> =
            judged_ports(config).into_iter().map(|port| (port.clone(), Reach::new(config, &port))).collect();
        let watched = |qos: &crate::config::PortQos| {
            qos.watchdog.as_ref().is_some_and(|watched| !watched.value.is_empty())
        };
        let marks = |(port, reach): (&PortName, &Reach)| {
            reach.paused.iter().any(|queue| cells::has_marking(config, port, *queue))
        };
        Self {
            config,
            lossless: ports.values().flat_map(|reach| reach.pfc.iter().copied()).collect(),
            any_watchdog: config.port_qos.values().any(watched),
            any_marking: ports.iter().any(marks),
            ports,
        }
    }

    fn reach(&self, port: &PortName) -> &Reach {
        &self.ports[port]
    }
}

/// Returns the ports whose cells are judged: ports that a table of buffers or QoS names. Ports of
/// other cards, ports that are down, and ports whose profiles admit nothing are excluded.
fn judged_ports(config: &Config) -> BTreeSet<PortName> {
    let groups = config.groups.keys().map(|(port, _)| port);
    let queues = config.queues.keys().map(|(port, _)| port);
    let settings = config.queue_settings.keys().map(|(port, _)| port);
    let named = groups.chain(queues).chain(settings).chain(config.port_qos.keys());
    let mut ports: BTreeSet<PortName> = named.filter(|port| !port.is_remote()).cloned().collect();
    ports.retain(|port| {
        let info = config.ports.get(port);
        let is_down = info.and_then(|info| info.admin_up.as_ref()).is_some_and(|up| !up.value);
        !is_down && port.name() != "CPU" && !admits_nothing(config, port)
    });
    ports
}

/// Whether the port has profiles, and none of these profiles admits packets.
fn admits_nothing(config: &Config, port: &PortName) -> bool {
    let within = (port.clone(), 0)..=(port.clone(), u8::MAX);
    let mut all = config.groups.range(within.clone()).chain(config.queues.range(within)).peekable();
    let is_zero = |assigned: &Assigned| match assigned {
        Assigned::Profile(name) => config.profiles.get(name).is_some_and(|profile| profile.is_zero()),
        Assigned::Computed => false,
    };
    all.peek().is_some() && all.all(|(_, assigned)| is_zero(&assigned.value))
}

/// Empty cells in one column of the matrix: severity and consequence, numbers of the groups or
/// queues, and the ports that lack the entry.
type Gaps = BTreeMap<(Gap, Vec<u8>), Vec<PortName>>;

pub(super) fn missing_entry(context: &Context<'_>, findings: &mut Findings) {
    let traffic = Traffic::new(context.config);
    if traffic.ports.is_empty() {
        return;
    }
    for column in cells::COLUMNS {
        if !cells::is_present(context.config, column) {
            continue;
        }
        for ((gap, numbers), ports) in gaps(&traffic, column) {
            let field =
                if column.field.is_empty() { "no entry".to_owned() } else { format!("no {}", column.field) };
            let message = format!(
                "{}{}: {field} in {}: {}",
                some(&ports),
                column.numbers.words(&numbers),
                column.table,
                gap.consequence
            );
            let key = match (column.numbers, column.table) {
                (_, "CABLE_LENGTH") => format!("CABLE_LENGTH|NAME.{}", ports[0]),
                (Numbers::Group | Numbers::Queue, _) => {
                    format!("{}|{}|{}", column.table, ports[0], numbers[0])
                }
                _ => format!("{}|{}", column.table, ports[0]),
            };
            let suggestion = if column.field.is_empty() {
                format!("add {key}, as the other entries of the table are")
            } else {
                format!("add \"{}\" to {key}", column.field)
            };
            findings.add_as(gap.severity, &place(context.config, column, &ports[0]), message, suggestion);
        }
    }
}

fn gaps(traffic: &Traffic<'_>, column: &Column) -> Gaps {
    let config = traffic.config;
    let numbers = || if column.numbers == Numbers::Port { 0..1 } else { 0..NUMBERS };
    let usual: Vec<[Usual; 2]> = numbers().map(|number| usual(traffic, column, number)).collect();
    let mut found = Gaps::new();
    for (port, reach) in &traffic.ports {
        let mut of_port: BTreeMap<Gap, Vec<u8>> = BTreeMap::new();
        for number in numbers().filter(|number| !(column.has)(config, port, *number)) {
            let kind = usize::from(reach.has_pfc(column, number));
            let by_others = || {
                usual[usize::from(number)][kind].is_usual().then_some(Gap {
                    severity: Severity::Info,
                    consequence: "most ports of this kind have one",
                })
            };
            if let Some(gap) = (column.needs)(traffic, port, number).or_else(by_others) {
                of_port.entry(gap).or_default().push(number);
            }
        }
        for (gap, numbers) in of_port {
            found.entry((gap, numbers)).or_default().push(port.clone());
        }
    }
    found
}

impl Reach {
    /// Whether the port has PFC on the priority `number`, or on any priority if the column has one
    /// cell for each port.
    fn has_pfc(&self, column: &Column, number: u8) -> bool {
        match column.numbers {
            Numbers::Port => !self.pfc.is_empty(),
            _ => self.pfc.contains(&number),
        }
    }
}

/// Number of ports with a value in a cell of the matrix, and number of ports without a value.
#[derive(Clone, Copy, Default)]
struct Usual {
    with: usize,
    without: usize,
}

impl Usual {
    fn is_usual(self) -> bool {
        self.with > self.without
    }
}

/// Counts the ports with and without a value in a cell of the matrix: first among ports without
/// PFC, then among ports with PFC.
fn usual(traffic: &Traffic<'_>, column: &Column, number: u8) -> [Usual; 2] {
    let mut found = [Usual::default(); 2];
    for (port, reach) in &traffic.ports {
        let of = &mut found[usize::from(reach.has_pfc(column, number))];
        if (column.has)(traffic.config, port, number) {
            of.with += 1;
        } else {
            of.without += 1;
        }
    }
    found
}

/// Returns the place of the port's entry in the column's table, or the place of its entry in
/// another table.
fn place(config: &Config, column: &Column, port: &PortName) -> ConfigPlace {
    let of_qos = config.port_qos.get(port).map(|qos| &qos.place);
    let within = (port.clone(), 0)..=(port.clone(), u8::MAX);
    let of_queue = config.queue_settings.range(within.clone()).next().map(|(_, setting)| &setting.place);
    let assigned = config.groups.range(within.clone()).chain(config.queues.range(within)).next();
    let of_buffer = assigned.map(|(_, assigned)| &assigned.place);
    let of_port = config.ports.get(port).map(|info| &info.place);
    let buffers = column.table.starts_with("BUFFER");
    let order = match (column.table, buffers) {
        ("QUEUE", _) => [of_queue, of_qos, of_buffer, of_port],
        ("PORT" | "CABLE_LENGTH", _) => [of_port, of_buffer, of_qos, of_queue],
        (_, true) => [of_buffer, of_qos, of_queue, of_port],
        (_, false) => [of_qos, of_queue, of_buffer, of_port],
    };
    let found = order.into_iter().flatten().next().cloned();
    found.unwrap_or_else(|| ConfigPlace::entry(&"".into(), 0, column.table, port.name()))
}
