//! Model of a chip's memory with a configuration, in the terms of the simulated switch: pools,
//! headroom, and limits by port and priority.
//!
//! A chip with slices becomes a simulated switch with slices by ingress port, which has a family of
//! `[switch.hardware]`.

use crate::OperatorError;
use bufferlab_core::{Accounting, Hardware, PortSpread, QueueMinimums, ResumeBelow};
use bufferlab_params::ChipFamily;
use bufferlab_sonic::config::{Config, Profile, Threshold};
use bufferlab_sonic::resolve::{LOSSLESS_POOL, Resolved};
use bufferlab_sonic::silicon::{Chip, Memory, Prediction, Rule, predict};
use bufferlab_sonic::{PortName, silicon};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

/// Number of priorities of a port.
pub const PRIORITIES: usize = 8;
/// Default speed of a port (Mb/s).
const SPEED_MBPS: u64 = 100_000;
/// Default length of a port's cable (metres).
const CABLE_METRES: f64 = 5.0;
/// Largest egress lossy pool that the simulated switch accepts, as a multiple of the ingress pool.
const LOSSY_POOL_MAX: f64 = 64.0;

/// Largest alpha that the simulated switch accepts: practically no limit.
const ALPHA_MAX: f64 = 65_536.0;

/// Limit of a priority group or queue in the units of the simulated switch.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Limit {
    /// The limit is a multiple of the pool's free memory.
    Alpha(f64),
    /// The limit is a fixed number of bytes.
    Bytes(u64),
}

/// A lossless priority group at a port.
#[derive(Clone, Debug, PartialEq)]
pub struct GroupModel {
    /// Name of the priority group's buffer profile.
    pub profile: String,
    /// Reserve of the priority group (bytes, in whole cells).
    pub reserve: u64,
    /// Limit of the priority group's occupancy, at which the group pauses the sender.
    pub limit: Limit,
    /// Headroom of the priority group beyond the limit (bytes, in whole cells).
    pub headroom: u64,
    /// Occupancy at which the priority group resumes the sender at the latest (bytes).
    pub xon: u64,
    /// Distance of the group's resume point below its pause point (bytes, in whole cells).
    pub xon_offset: u64,
}

/// A lossy egress queue at a port.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct QueueModel {
    /// Limit of the queue's occupancy, beyond which the queue loses packets.
    pub limit: Limit,
    /// Guaranteed minimum of the queue (bytes, in whole cells), if the chip subtracts this minimum
    /// from the memory that ingress queues share.
    pub minimum: u64,
}

/// A port of the modelled switch.
#[derive(Clone, Debug)]
pub struct PortModel {
    /// Name of the modelled port, such as `Ethernet0`.
    pub name: String,
    /// Speed of the port (Mb/s).
    pub speed_mbps: u64,
    /// Length of the port's cable (metres).
    pub cable_metres: f64,
    /// Lossless priority groups of the port, by priority.
    pub groups: BTreeMap<u8, GroupModel>,
    /// Lossy queues of the port, by priority.
    pub lossy: BTreeMap<u8, QueueModel>,
    /// Static limits of the port's lossless queues by priority (bytes), if the limits are below the
    /// size of the pool.
    pub lossless_queues: BTreeMap<u8, u64>,
}

impl PortModel {
    /// Returns the queues of the port for packets that are never paused.
    pub(crate) fn lossy_queues(&self) -> impl Iterator<Item = (u8, QueueModel)> + '_ {
        let lossy = self.lossy.iter().filter(|(priority, _)| !self.groups.contains_key(priority));
        lossy.map(|(priority, queue)| (*priority, *queue))
    }
}

/// Model of a switch: ports and memory as the simulator has them.
#[derive(Clone, Debug)]
pub struct Model {
    /// Chip of the modelled switch.
    pub chip: &'static Chip,
    /// Size of a memory cell (bytes); 1 if the chip counts bytes.
    pub cell: u64,
    /// Shared memory of all slices together (bytes).
    pub shared: u64,
    /// Headroom pool of all slices together (bytes); 0 if every group has private headroom.
    pub headroom_pool: u64,
    /// Size of the egress lossy pool, as a multiple of the shared memory.
    pub lossy_pool: f64,
    /// Number of memory slices, which divide the ingress ports.
    pub slices: u64,
    /// Alpha of ports in the ingress pool, on chips that limit both ports and priority groups.
    pub port_alpha: Option<f64>,
    /// Ports of the switch in the order of their numbers.
    pub ports: Vec<PortModel>,
    /// Priorities that are lossless on some port.
    pub lossless: BTreeSet<u8>,
    /// Simplifications of the switch model, in sentences.
    pub notes: Vec<String>,
}

impl Model {
    /// Builds the model of a switch from a configuration on a chip.
    ///
    /// # Errors
    /// If pools have no sizes, the switch has fewer than two ports, or no packet fits.
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
        let ports: Vec<PortModel> = named.iter().map(|port| of.port(port)).collect();
        if ports.len() < 2 {
            return Err(OperatorError::new(
                "the configuration has fewer than two ports with groups or queues",
                "give the files with PORT (or port_config.ini), BUFFER_PG and BUFFER_QUEUE, too",
            ));
        }
        notes.extend(prediction.not_predicted.iter().take(3).map(|gap| format!("Not simulated: {gap}.")));
        let short =
            bufferlab_sonic::silicon::headroom::answers(config, Some(chip).filter(|chip| chip.is_known()));
        let short = short.into_iter().filter(|answer| !answer.contains("every size"));
        notes.extend(short.map(|answer| format!("{answer}.")));
        let lossless: BTreeSet<u8> = ports.iter().flat_map(|port| port.groups.keys().copied()).collect();
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

    /// Returns the differences between the chip's accounting and an ideal switch.
    #[must_use]
    pub fn hardware(&self) -> Hardware {
        let facts = self.chip.family.map(ChipFamily::facts);
        // The model assumes that an unknown chip accounts packets like the known chips with an
        // equal accounting rule.
        let minimums =
            facts.map_or(matches!(self.chip.rule, Rule::Cells), |facts| facts.queue_minimums_in_every_slice);
        Hardware {
            cell_bytes: self.cell as u32,
            packet_overhead: facts.map_or(self.chip.packet_overhead() as u32, |facts| facts.packet_overhead),
            accounting: Accounting {
                slices: self.slices as u16,
                resume_below: ResumeBelow::PausePoint,
                queue_minimums: if minimums { QueueMinimums::EverySlice } else { QueueMinimums::LossyPool },
                threshold_bits: 0,
            },
            ..Hardware::IDEAL
        }
    }

    /// Sums `of` over the priority groups of each slice, and multiplies the largest sum by the
    /// number of slices, because all slices have equal sizes.
    fn of_all_slices(&self, of: impl Fn(&GroupModel) -> u64) -> u64 {
        let slices = PortSpread::new(self.ports.len(), self.slices as usize).ranges();
        let of_slice =
            |ports: &[PortModel]| ports.iter().flat_map(|port| port.groups.values()).map(&of).sum::<u64>();
        slices.map(|ports| of_slice(&self.ports[ports])).max().unwrap_or(0) * self.slices
    }

    /// Memory of all reserves (bytes): reserves of lossless groups, and reserves of lossy queues in
    /// every slice.
    #[must_use]
    pub fn reserves(&self) -> u64 {
        let queues = self.ports.iter().flat_map(PortModel::lossy_queues);
        let minimums: u64 = queues.map(|(_, queue)| queue.minimum).sum();
        self.of_all_slices(|group| group.reserve) + minimums * self.slices
    }

    /// Sum of all groups' private headroom, or size of their common headroom pool (bytes). Without
    /// lossless groups the headroom is 0, because no packet could use it.
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

    /// Size of the chip's whole packet memory: shared memory, headroom and reserves (bytes).
    #[must_use]
    pub fn buffer(&self) -> u64 {
        self.shared + self.headroom() + self.reserves()
    }

    /// Sets of lossless priorities, each with the numbers of the ports that have this set. The most
    /// frequent set is first; the empty set is last.
    #[must_use]
    pub fn lossless_sets(&self) -> Vec<(BTreeSet<u8>, Vec<usize>)> {
        let mut sets: BTreeMap<BTreeSet<u8>, Vec<usize>> = BTreeMap::new();
        for (number, port) in self.ports.iter().enumerate() {
            sets.entry(port.groups.keys().copied().collect()).or_default().push(number);
        }
        let mut sets: Vec<_> = sets.into_iter().collect();
        sets.sort_by_key(|(set, ports)| (set.is_empty(), Reverse(ports.len())));
        sets
    }
}

/// Simplifications that every switch model has, in sentences.
fn notes(chip: &Chip) -> Vec<String> {
    let mut notes = Vec::new();
    if chip.slices > 1 {
        notes.push(format!(
            "The configuration does not assign ports to the {} slices: consecutive ports are taken.",
            chip.slices
        ));
    }
    notes.extend(chip.caveat());
    notes
}

/// Common alpha of the ports in the ingress pool, on chips that limit both ports and groups. If
/// ports with lossless groups have different alphas, the result is `None`. The alphas of the groups
/// then include the port's alpha.
fn port_alpha(config: &Config, chip: &Chip, ports: &[PortName], notes: &mut Vec<String>) -> Option<f64> {
    if !matches!(chip.rule, Rule::TwoLevels) {
        return None;
    }
    let lossless = |port: &&PortName| {
        (0..PRIORITIES as u8).any(
            |index| matches!(config.group(port, index), Resolved::Profile(profile) if profile.is_lossless()),
        )
    };
    let own = |port: &PortName| silicon::port_exponent(config, Some(port), LOSSLESS_POOL);
    let exponents: BTreeSet<_> = ports.iter().filter(lossless).map(own).collect();
    match exponents.into_iter().collect::<Vec<_>>().as_slice() {
        [] | [None] => None,
        [Some(exponent)] => Some(chip.alpha(*exponent)),
        _ => {
            notes.push(
                "Limits of ports in their pool differ, so the alphas of their groups include them: exact for a lone group."
                    .to_owned(),
            );
            None
        }
    }
}

/// Egress lossy pool as a multiple of the memory that ingress queues share. Half a byte is added,
/// so that the fixed-point rounding of the ratio does not cost the last byte.
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

/// Builds the ports of a switch model.
struct Build<'a> {
    config: &'a Config,
    chip: &'static Chip,
    /// Shared memory of one slice (bytes).
    shared: u64,
    cell: u64,
    /// Whether all ports have equal values of `port_alpha`.
    one_port_alpha: bool,
}

impl Build<'_> {
    fn round_up_to_cells(&self, bytes: u64) -> u64 {
        bytes.div_ceil(self.cell) * self.cell
    }

    fn port(&self, port: &PortName) -> PortModel {
        let config = self.config;
        let info = config.ports.get(port);
        let named = (0..PRIORITIES as u8).find_map(|index| {
            let group = config.group(port, index);
            silicon::speed_and_cable(&group.profile()?.name)
        });
        let speed = info.and_then(|info| info.speed_mbps.as_ref()).map(|speed| speed.value);
        let speed = speed.or(named.map(|(speed, _)| speed));
        let cable = config.cables.get(port).map(|cable| cable.value);
        let mut model = PortModel {
            name: port.name().to_owned(),
            speed_mbps: speed.unwrap_or(SPEED_MBPS).max(1),
            cable_metres: cable.or(named.map(|(_, cable)| cable)).unwrap_or(CABLE_METRES),
            groups: BTreeMap::new(),
            lossy: BTreeMap::new(),
            lossless_queues: BTreeMap::new(),
        };
        for index in 0..PRIORITIES as u8 {
            if let Resolved::Profile(profile) = config.group(port, index)
                && profile.is_lossless()
            {
                model.groups.insert(index, self.group(port, &profile, speed));
            }
            if let Resolved::Profile(profile) = config.queue(port, index) {
                self.queue(&mut model, index, &profile);
            }
        }
        model
    }

    /// Returns the limit of a priority group. Some chips limit both the port (alpha `a_p`) and the
    /// group (alpha `a_q`). A single limit with the alpha `a_p a_q / (1 + a_q)` gives a lone group
    /// as much memory as the two limits.
    fn group_limit(&self, port: &PortName, profile: &Profile) -> Limit {
        let own = self.limit(profile);
        let pool = profile.pool.as_ref().map_or(LOSSLESS_POOL, |pool| pool.value.as_str());
        let Some(of_port) = silicon::port_exponent(self.config, Some(port), pool) else { return own };
        let (Limit::Alpha(alpha), Rule::TwoLevels) = (own, self.chip.rule) else { return own };
        let is_unlimited = match profile.threshold.as_ref().map(|threshold| threshold.value) {
            Some(Threshold::Dynamic(exponent)) => silicon::is_unlimited_in_port(of_port, exponent),
            _ => false,
        };
        let port_alpha = self.chip.alpha(of_port);
        match (self.one_port_alpha, is_unlimited) {
            (true, true) => Limit::Alpha(ALPHA_MAX),
            (true, false) => own,
            (false, true) => Limit::Alpha(port_alpha),
            (false, false) => Limit::Alpha(port_alpha * alpha / (1.0 + alpha)),
        }
    }

    fn group(&self, port: &PortName, profile: &Profile, speed_mbps: Option<u64>) -> GroupModel {
        let value =
            |field: &Option<bufferlab_sonic::Placed<u64>>| field.as_ref().map_or(0, |field| field.value);
        let limit = self.group_limit(port, profile);
        let offset = self.round_up_to_cells(value(&profile.xon_offset));
        let xon = value(&profile.xon);
        GroupModel {
            profile: profile.name.clone(),
            reserve: self.round_up_to_cells(profile.minimum(self.config.shared_headroom())),
            limit,
            headroom: self.chip.group_headroom(self.config, profile, speed_mbps) * self.chip.cell,
            xon: if offset > 0 { 0 } else { self.round_up_to_cells(xon) },
            xon_offset: offset,
        }
    }

    fn limit(&self, profile: &Profile) -> Limit {
        match profile.threshold.as_ref().map(|threshold| threshold.value) {
            // On some chips, the smallest exponent of alpha means no memory and the largest
            // exponent means all memory. The model uses powers of two, which are small and large
            // enough on all chips.
            Some(Threshold::Dynamic(exponent)) => Limit::Alpha(self.chip.alpha(exponent)),
            // A group is in one slice, so its limit cannot exceed the memory of the slice.
            Some(Threshold::Static(bytes)) => Limit::Bytes(bytes.clamp(self.cell, self.shared)),
            None => Limit::Bytes(self.shared),
        }
    }

    fn queue(&self, port: &mut PortModel, index: u8, profile: &Profile) {
        if !self.config.is_lossless_queue_profile(&profile.name) {
            let counts = matches!(self.chip.rule, Rule::Cells);
            let minimum = if counts { self.round_up_to_cells(profile.reserve()) } else { 0 };
            port.lossy.insert(index, QueueModel { limit: self.limit(profile), minimum });
        } else if let Some(Threshold::Static(bytes)) = profile.threshold.as_ref().map(|limit| limit.value)
            && bytes < self.shared
        {
            port.lossless_queues.insert(index, bytes);
        }
    }
}
