//! The memory of a chip with a configuration, as the simulated switch knows it: pools, headroom, limits by port and
//! priority.
//!
//! The simulated switch has one memory. A chip with slices is described in one of two ways ([`Scope`]).

use crate::OperatorError;
use bufferlab_sonic::config::{Config, Profile, Threshold};
use bufferlab_sonic::resolve::{LOSSLESS_POOL, LOSSLESS_QUEUES, Resolved};
use bufferlab_sonic::silicon::{Chip, Memory, Prediction, Rule, predict};
use bufferlab_sonic::{Port, silicon};
use std::collections::{BTreeMap, BTreeSet};

/// Priorities of a port.
pub const PRIORITIES: usize = 8;
/// Speed of a port where no file says it (Mb/s).
const SPEED_MBPS: u64 = 100_000;
/// Cable of a port where no file says it (metres).
const CABLE_METRES: f64 = 5.0;

/// How a chip with slices becomes a switch with one memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// One slice: what a lone group or the groups of one slice see, to the cell.
    Slice,
    /// All slices as one memory. The alphas of priority groups are divided by the number of slices: a group is
    /// accounted in the slice of its port only. With traffic from all slices alike, `alpha (S - u)` of one slice and
    /// `alpha / n (n S - n u)` of the whole are the same; queues are fed from all slices and keep their alpha.
    Device,
}

/// A limit in the units of the simulated switch.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Limit {
    /// Times what is free.
    Alpha(f64),
    /// At most (bytes).
    Bytes(u64),
}

/// A lossless priority group.
#[derive(Clone, Debug, PartialEq)]
pub struct GroupModel {
    /// Profile that it comes from.
    pub profile: String,
    /// Reserve (bytes, whole cells).
    pub reserve: u64,
    /// Where it pauses.
    pub limit: Limit,
    /// Headroom beyond (bytes, whole cells).
    pub headroom: u64,
    /// Resumes at this length at the latest (bytes).
    pub xon: u64,
    /// Resumes so far below the moving threshold (bytes): chosen so that a lone group resumes the configured offset
    /// below its pause point, as chips do.
    pub xon_offset: u64,
}

/// A port.
#[derive(Clone, Debug)]
pub struct PortModel {
    /// Name.
    pub name: String,
    /// Speed (Mb/s).
    pub speed_mbps: u64,
    /// Cable (metres).
    pub cable_metres: f64,
    /// Lossless groups by priority.
    pub groups: BTreeMap<u8, GroupModel>,
    /// Limits of lossy queues by priority.
    pub lossy: BTreeMap<u8, Limit>,
    /// Static limits of lossless queues by priority (bytes), where they are below the pool.
    pub lossless_queues: BTreeMap<u8, u64>,
}

/// A switch.
#[derive(Clone, Debug)]
pub struct Model {
    /// Chip.
    pub chip: &'static Chip,
    /// Bytes of a cell; 1: bytes.
    pub cell: u64,
    /// What is shared (bytes).
    pub shared: u64,
    /// Headroom pool (bytes); 0: every group has its own.
    pub headroom_pool: u64,
    /// Egress lossy pool as a part of what is shared.
    pub lossy_pool: f64,
    /// Slices that are described as one.
    pub slices: u64,
    /// Ports in the order of their numbers.
    pub ports: Vec<PortModel>,
    /// Lossless priorities.
    pub lossless: BTreeSet<u8>,
    /// What was simplified, in sentences.
    pub notes: Vec<String>,
}

impl Model {
    /// The switch that a configuration makes of a chip.
    ///
    /// # Errors
    /// What is missing: pools with sizes, ports, a place for a packet.
    pub fn new(config: &Config, chip: &'static Chip, scope: Scope) -> Result<Self, OperatorError> {
        let memory = Memory::new(config, chip)?;
        let prediction = predict(config, chip, 64)?;
        let cell = chip.cell;
        let slices = if scope == Scope::Device { chip.slices } else { 1 };
        let mut notes = notes(chip, scope);
        let shared = memory.shared * cell * slices;
        let of = Build { config, chip, slices, shared, cell };
        let mut ports: Vec<PortModel> = Vec::new();
        for port in config.named_ports().into_iter().filter(|port| config.in_use(port)) {
            ports.push(of.port(&port));
        }
        if ports.len() < 2 {
            return Err(OperatorError::new(
                "the configuration has fewer than two ports with groups or queues",
                "give the files with PORT (or port_config.ini), BUFFER_PG and BUFFER_QUEUE, too",
            ));
        }
        notes.extend(prediction.not_predicted.iter().take(3).map(|gap| format!("Not simulated: {gap}.")));
        let lossless: BTreeSet<u8> = ports.iter().flat_map(|port| port.groups.keys().copied()).collect();
        complete(&mut ports, &lossless, &mut notes);
        Ok(Self {
            chip,
            cell,
            shared,
            headroom_pool: memory.headroom_pool * cell * slices,
            lossy_pool: lossy_pool(config, &prediction, &memory, slices),
            slices,
            ports,
            lossless,
            notes,
        })
    }

    /// Bytes of all reserves of lossless groups.
    #[must_use]
    pub fn reserves(&self) -> u64 {
        self.ports.iter().flat_map(|port| port.groups.values()).map(|group| group.reserve).sum()
    }

    /// Headroom of all groups, or the pool that they share (bytes). Without lossless groups nobody could use it.
    #[must_use]
    pub fn headroom(&self) -> u64 {
        if self.lossless.is_empty() {
            return 0;
        }
        if self.headroom_pool > 0 {
            return self.headroom_pool;
        }
        self.ports.iter().flat_map(|port| port.groups.values()).map(|group| group.headroom).sum()
    }

    /// The memory: what is shared, headroom and reserves (bytes).
    #[must_use]
    pub fn buffer(&self) -> u64 {
        self.shared + self.headroom() + self.reserves()
    }

    /// What alphas of priority groups are divided by: see [`Scope::Device`].
    #[must_use]
    pub const fn divided_by(&self) -> f64 {
        self.slices as f64
    }

    /// Numbers of the ports that are lossless, where not all are.
    #[must_use]
    pub fn some_ports(&self) -> Option<Vec<usize>> {
        let lossless: Vec<usize> =
            (0..self.ports.len()).filter(|&port| !self.ports[port].groups.is_empty()).collect();
        (lossless.len() < self.ports.len()).then_some(lossless)
    }
}

/// What every model simplifies, in sentences.
fn notes(chip: &Chip, scope: Scope) -> Vec<String> {
    let mut notes = Vec::new();
    if scope == Scope::Device && chip.slices > 1 {
        notes.push(format!(
            "The {} slices of the memory are simulated as one; alphas of priority groups are divided by {}, which is \
             exact where traffic comes from all slices alike.",
            chip.slices, chip.slices
        ));
    }
    if matches!(chip.rule, Rule::TwoLevels) {
        notes.push(
            "The limit of a port in its pool is a part of its groups' alphas: exact for a lone group."
                .to_owned(),
        );
    }
    if matches!(chip.rule, Rule::Bytes(_)) {
        notes.push("A VOQ system's packets cost the memory more than their bytes: not simulated.".to_owned());
    }
    if !chip.measured {
        notes.push(format!("The rules of {} were not compared with measurements.", chip.title));
    }
    notes
}

/// A port with some lossless priorities has all of them: the simulated switch knows one set.
fn complete(ports: &mut [PortModel], lossless: &BTreeSet<u8>, notes: &mut Vec<String>) {
    let mut completed = Vec::new();
    for port in ports {
        let Some(own) = port.groups.values().next().cloned() else { continue };
        for priority in lossless {
            if !port.groups.contains_key(priority) {
                port.groups.insert(*priority, own.clone());
                completed.push(format!("{} priority {priority}", port.name));
            }
        }
    }
    if let [first, ..] = completed.as_slice() {
        notes.push(format!(
            "Lossless priorities are the same on all ports that have any: {} taken as lossless ({first}{}).",
            completed.len(),
            if completed.len() > 1 { ", ..." } else { "" }
        ));
    }
}

/// The egress lossy pool as a part of the shared limit.
fn lossy_pool(config: &Config, prediction: &Prediction, memory: &Memory, slices: u64) -> f64 {
    let predicted = prediction.queues.iter().map(|queue| queue.shared).max();
    let written = || {
        let pools = config.pools.iter().filter(|(name, _)| name.contains("egress_lossy"));
        let size = pools.filter_map(|(_, pool)| pool.size.as_ref()).map(|size| size.value).max()?;
        Some(size / memory.chip.cell / slices)
    };
    let own = predicted.or_else(written).unwrap_or(memory.shared);
    (own as f64 / memory.shared as f64).clamp(1e-3, 1.0)
}

/// What ports are built from.
struct Build<'a> {
    config: &'a Config,
    chip: &'static Chip,
    slices: u64,
    shared: u64,
    cell: u64,
}

impl Build<'_> {
    fn whole(&self, bytes: u64) -> u64 {
        bytes.div_ceil(self.cell) * self.cell
    }

    fn port(&self, port: &Port) -> PortModel {
        let config = self.config;
        let info = config.ports.get(port);
        let named = (0..PRIORITIES as u8).find_map(|index| {
            let group = config.group(port, index);
            silicon::speed_and_cable(&group.profile()?.name)
        });
        let speed = info.and_then(|info| info.speed_mbps.as_ref()).map(|speed| speed.value);
        let cable = config.cables.get(port).map(|cable| cable.value);
        let mut model = PortModel {
            name: port.name().to_owned(),
            speed_mbps: speed.or(named.map(|(speed, _)| speed)).unwrap_or(SPEED_MBPS).max(1),
            cable_metres: cable.or(named.map(|(_, cable)| cable)).unwrap_or(CABLE_METRES),
            groups: BTreeMap::new(),
            lossy: BTreeMap::new(),
            lossless_queues: BTreeMap::new(),
        };
        for index in 0..PRIORITIES as u8 {
            if let Resolved::Profile(profile) = config.group(port, index)
                && profile.is_lossless()
            {
                model.groups.insert(index, self.group(port, &profile));
            }
            if let Resolved::Profile(profile) = config.queue(port, index) {
                self.queue(&mut model, index, &profile);
            }
        }
        model
    }

    /// A group's limit, within that of its port where the chip has two levels: with `a_p a_q / (1 + a_q)` one level gives a
    /// lone group what two give it.
    fn group_limit(&self, port: &Port, profile: &Profile) -> Limit {
        let own = self.limit(profile, self.slices);
        let pool = profile.pool.as_ref().map_or(LOSSLESS_POOL, |pool| pool.value.as_str());
        match (own, self.chip.rule, silicon::port_exponent(self.config, Some(port), pool)) {
            (Limit::Alpha(alpha), Rule::TwoLevels, Some(exponent)) => {
                Limit::Alpha(2f64.powi(i32::from(exponent)) * alpha / (1.0 + alpha))
            }
            _ => own,
        }
    }

    fn group(&self, port: &Port, profile: &Profile) -> GroupModel {
        let value =
            |field: &Option<bufferlab_sonic::Placed<u64>>| field.as_ref().map_or(0, |field| field.value);
        let limit = self.group_limit(port, profile);
        let twice = matches!(self.chip.rule, Rule::OneLevel) && self.config.shared_headroom();
        let headroom = value(&profile.xoff) * if twice { 2 } else { 1 };
        // Below a threshold that moves, an offset would be used up after offset / (1 + alpha).
        let moves = match limit {
            Limit::Alpha(alpha) => 1.0 + alpha,
            Limit::Bytes(_) => 1.0,
        };
        let offset = self.whole(value(&profile.xon_offset));
        let xon = value(&profile.xon);
        GroupModel {
            profile: profile.name.clone(),
            reserve: self.whole(profile.minimum(self.config.shared_headroom())),
            limit,
            headroom: self.whole(headroom),
            xon: if offset > 0 { 0 } else { self.whole(xon) },
            xon_offset: (offset as f64 * moves).round() as u64,
        }
    }

    fn limit(&self, profile: &Profile, divided_by: u64) -> Limit {
        match profile.threshold.as_ref().map(|threshold| threshold.value) {
            // The ends of the range are "nothing" and "everything" on some chips, and large or small enough on all.
            Some(Threshold::Dynamic(exponent)) => {
                Limit::Alpha(2f64.powi(i32::from(exponent)) / divided_by as f64)
            }
            // A group is in one slice, however large its limit.
            Some(Threshold::Static(bytes)) => Limit::Bytes(bytes.clamp(self.cell, self.shared / divided_by)),
            None => Limit::Bytes(self.shared),
        }
    }

    fn queue(&self, port: &mut PortModel, index: u8, profile: &Profile) {
        let of_lossless_pool = profile.pool.as_ref().is_some_and(|pool| pool.value == LOSSLESS_QUEUES);
        if !of_lossless_pool && !self.config.is_lossless_queue_profile(&profile.name) {
            port.lossy.insert(index, self.limit(profile, 1));
        } else if let Some(Threshold::Static(bytes)) = profile.threshold.as_ref().map(|limit| limit.value)
            && bytes < self.shared
        {
            port.lossless_queues.insert(index, bytes);
        }
    }
}
