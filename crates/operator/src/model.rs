//! The memory of a chip with a configuration, as the simulated switch knows it: pools, headroom,
//! limits by port and priority.
//!
//! A chip with slices is a switch with slices by ingress port; its family is one of
//! `[switch.hardware]`.

use crate::OperatorError;
use bufferlab_core::{Accounting, Hardware, PortSpread, QueueMinimums, ResumeBelow};
use bufferlab_params::ChipFamily;
use bufferlab_sonic::config::{Config, Profile, Threshold};
use bufferlab_sonic::resolve::{LOSSLESS_POOL, Resolved};
use bufferlab_sonic::silicon::{Chip, Memory, Prediction, Rule, predict};
use bufferlab_sonic::{Port, silicon};
use std::collections::{BTreeMap, BTreeSet};

/// Priorities of a port.
pub const PRIORITIES: usize = 8;
/// Speed of a port where no file says it (Mb/s).
const SPEED_MBPS: u64 = 100_000;
/// Cable of a port where no file says it (metres).
const CABLE_METRES: f64 = 5.0;
/// The largest egress lossy pool that the simulated switch takes, as a multiple of the ingress
/// pool.
const LOSSY_POOL_MAX: f64 = 64.0;

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
    /// Resumes so far below what the chip counts from (bytes, whole cells).
    pub xon_offset: u64,
}

/// A lossy queue.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct QueueModel {
    /// Where it loses packets.
    pub limit: Limit,
    /// Minimum (bytes, whole cells), where the chip takes it from what ingress queues share.
    pub minimum: u64,
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
    /// Lossy queues by priority.
    pub lossy: BTreeMap<u8, QueueModel>,
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
    /// What is shared, in all slices together (bytes).
    pub shared: u64,
    /// Headroom pool, of all slices together (bytes); 0: every group has its own.
    pub headroom_pool: u64,
    /// Egress lossy pool as a multiple of what is shared.
    pub lossy_pool: f64,
    /// Parts of the memory by ingress port.
    pub slices: u64,
    /// Alpha of ports within the ingress pool, on chips with two levels.
    pub port_alpha: Option<f64>,
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
    pub fn new(config: &Config, chip: &'static Chip) -> Result<Self, OperatorError> {
        let memory = Memory::new(config, chip)?;
        let prediction = predict(config, chip, 64)?;
        let cell = chip.cell;
        let slices = chip.slices;
        let mut notes = notes(chip);
        let shared = memory.shared * cell * slices;
        let named: Vec<_> = config.named_ports().into_iter().filter(|port| config.in_use(port)).collect();
        let port_alpha = port_alpha(config, chip, &named, &mut notes);
        let of = Build { config, chip, shared: shared / slices, cell, one_port_alpha: port_alpha.is_some() };
        let mut ports: Vec<PortModel> = named.iter().map(|port| of.port(port)).collect();
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
            headroom_pool: memory.headroom_pool.unwrap_or(0) * cell * slices,
            lossy_pool: lossy_pool(config, &prediction, &memory, slices),
            slices,
            port_alpha,
            ports,
            lossless,
            notes,
        })
    }

    /// What the chip does otherwise than the ideal switch.
    #[must_use]
    pub fn hardware(&self) -> Hardware {
        let facts = self.chip.family.map(ChipFamily::facts);
        // A chip that is not known is taken to account as those do whose cells are known.
        let minimums = facts.is_none_or(|facts| facts.queue_minimums_in_every_slice);
        Hardware {
            cell_bytes: self.cell as u32,
            packet_overhead: facts.map_or(0, |facts| facts.packet_overhead),
            accounting: Accounting {
                slices: self.slices as u16,
                resume_below: ResumeBelow::PausePoint,
                queue_minimums: if minimums { QueueMinimums::EverySlice } else { QueueMinimums::LossyPool },
                threshold_bits: 0,
            },
            ..Hardware::IDEAL
        }
    }

    /// The most that `of` comes to in a slice, times their number: every slice is as large as the
    /// largest.
    fn of_all_slices(&self, of: impl Fn(&GroupModel) -> u64) -> u64 {
        let slices = PortSpread::new(self.ports.len(), self.slices as usize).ranges();
        let of_slice =
            |ports: &[PortModel]| ports.iter().flat_map(|port| port.groups.values()).map(&of).sum::<u64>();
        slices.map(|ports| of_slice(&self.ports[ports])).max().unwrap_or(0) * self.slices
    }

    /// Bytes of all reserves: of lossless groups, and of lossy queues in every slice.
    #[must_use]
    pub fn reserves(&self) -> u64 {
        let queues = self.ports.iter().flat_map(|port| self.lossy_queues(port));
        let minimums: u64 = queues.map(|(_, queue)| queue.minimum).sum();
        self.of_all_slices(|group| group.reserve) + minimums * self.slices
    }

    /// Queues of a port for packets that nobody pauses.
    pub(crate) fn lossy_queues<'a>(
        &'a self,
        port: &'a PortModel,
    ) -> impl Iterator<Item = (u8, QueueModel)> + 'a {
        let lossy = port.lossy.iter().filter(|(priority, _)| !self.lossless.contains(priority));
        lossy.map(|(priority, queue)| (*priority, *queue))
    }

    /// Headroom of all groups, or the pool that they share (bytes). Without lossless groups nobody
    /// could use it.
    #[must_use]
    pub fn headroom(&self) -> u64 {
        if self.lossless.is_empty() {
            return 0;
        }
        if self.headroom_pool > 0 {
            return self.headroom_pool;
        }
        self.of_all_slices(|group| group.headroom)
    }

    /// The memory: what is shared, headroom and reserves (bytes).
    #[must_use]
    pub fn buffer(&self) -> u64 {
        self.shared + self.headroom() + self.reserves()
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
fn notes(chip: &Chip) -> Vec<String> {
    let mut notes = Vec::new();
    if chip.slices > 1 {
        notes.push(format!(
            "Which ports are of which of the {} slices is not in the configuration: consecutive ones are taken.",
            chip.slices
        ));
    }
    notes.extend(chip.caveat());
    notes
}

/// Alpha of ports within the pool, on chips with two levels, where all ports with groups have the
/// same; else a part of their groups' alphas stands for it.
fn port_alpha(config: &Config, chip: &Chip, ports: &[Port], notes: &mut Vec<String>) -> Option<f64> {
    if !matches!(chip.rule, Rule::TwoLevels) {
        return None;
    }
    let lossless = |port: &&Port| {
        (0..PRIORITIES as u8).any(
            |index| matches!(config.group(port, index), Resolved::Profile(profile) if profile.is_lossless()),
        )
    };
    let own = |port: &Port| silicon::port_exponent(config, Some(port), LOSSLESS_POOL);
    let exponents: BTreeSet<_> = ports.iter().filter(lossless).map(own).collect();
    match exponents.into_iter().collect::<Vec<_>>().as_slice() {
        [] | [None] => None,
        [Some(exponent)] => Some(2f64.powi(i32::from(*exponent))),
        _ => {
            notes.push(
                "Limits of ports in their pool differ; they are parts of their groups' alphas: exact for a lone group."
                    .to_owned(),
            );
            None
        }
    }
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

/// The egress lossy pool as a multiple of what ingress queues share. Half a byte more than the pool
/// has: fixed-point rounding of the ratio must not cost the last byte.
fn lossy_pool(config: &Config, prediction: &Prediction, memory: &Memory, slices: u64) -> f64 {
    let predicted = prediction.queues.iter().map(|queue| queue.shared).max();
    let written = || {
        let pools = config.pools.iter().filter(|(name, _)| name.contains("egress_lossy"));
        let size = pools.filter_map(|(_, pool)| pool.size.as_ref()).map(|size| size.value).max()?;
        Some(size / memory.chip.cell / slices)
    };
    let own = predicted.or_else(written).unwrap_or(memory.shared);
    if own == memory.shared {
        return 1.0;
    }
    let bytes = (own * memory.chip.cell) as f64 + 0.5;
    (bytes / (memory.shared * memory.chip.cell) as f64).clamp(1e-3, LOSSY_POOL_MAX)
}

/// What ports are built from.
struct Build<'a> {
    config: &'a Config,
    chip: &'static Chip,
    /// Of a slice (bytes).
    shared: u64,
    cell: u64,
    /// One alpha holds for all ports.
    one_port_alpha: bool,
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

    /// A group's limit, within that of its port where the chip has two levels: with `a_p a_q / (1 +
    /// a_q)` one level gives a lone group what two give it.
    fn group_limit(&self, port: &Port, profile: &Profile) -> Limit {
        let own = self.limit(profile);
        let pool = profile.pool.as_ref().map_or(LOSSLESS_POOL, |pool| pool.value.as_str());
        match (own, self.chip.rule, silicon::port_exponent(self.config, Some(port), pool)) {
            (Limit::Alpha(alpha), Rule::TwoLevels, Some(exponent)) if !self.one_port_alpha => {
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
        let offset = self.whole(value(&profile.xon_offset));
        let xon = value(&profile.xon);
        GroupModel {
            profile: profile.name.clone(),
            reserve: self.whole(profile.minimum(self.config.shared_headroom())),
            limit,
            headroom: self.whole(headroom),
            xon: if offset > 0 { 0 } else { self.whole(xon) },
            xon_offset: offset,
        }
    }

    fn limit(&self, profile: &Profile) -> Limit {
        match profile.threshold.as_ref().map(|threshold| threshold.value) {
            // The ends of the range are "nothing" and "everything" on some chips, and large or
            // small enough on all.
            Some(Threshold::Dynamic(exponent)) => Limit::Alpha(2f64.powi(i32::from(exponent))),
            // A group is in one slice, however large its limit.
            Some(Threshold::Static(bytes)) => Limit::Bytes(bytes.clamp(self.cell, self.shared)),
            None => Limit::Bytes(self.shared),
        }
    }

    fn queue(&self, port: &mut PortModel, index: u8, profile: &Profile) {
        if !self.config.is_lossless_queue_profile(&profile.name) {
            let counts = matches!(self.chip.rule, Rule::Cells);
            let minimum = if counts { self.whole(profile.reserve()) } else { 0 };
            port.lossy.insert(index, QueueModel { limit: self.limit(profile), minimum });
        } else if let Some(Threshold::Static(bytes)) = profile.threshold.as_ref().map(|limit| limit.value)
            && bytes < self.shared
        {
            port.lossless_queues.insert(index, bytes);
        }
    }
}
