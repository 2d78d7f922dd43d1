//! Test vectors for qualification: the packets at which ports pause, lose packets and resume. The
//! numbers of packets follow from the rules of the chip and from a packet-level simulation.

mod expect;
mod params;
mod text;
mod yaml;

pub use expect::{Expectation, expectations, expectations_text};
pub use text::text;
pub use yaml::yaml;

use crate::OperatorError;
use crate::bench::Bench;
use crate::model::Model;
use bufferlab_sonic::PortName;
use bufferlab_sonic::config::{Config, MapKind};
use bufferlab_sonic::resolve::Resolved;
use bufferlab_sonic::silicon::{Chip, GroupPoint, Memory, Prediction, predict};
use serde::Serialize;

/// Numbers of priority groups for which the test vectors have a pause point when all groups fill at
/// the same time.
const TOGETHER: [usize; 3] = [2, 4, 8];
/// Largest difference between rules and simulation that rounding explains (packets).
const APART: u64 = 1;
/// Largest number of groups in a sequence of groups that fill one after the other.
const SEQUENCE_MAX: usize = 64;

/// A number of packets: one value from the rules of the chip, and one value from the simulation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Point {
    /// Number of packets that follows from the rules of the chip.
    pub formula: u64,
    /// Number of packets that the simulation measures; absent if the run did not reach the point.
    pub simulated: Option<u64>,
}

impl Point {
    /// Difference between the rule's number and the simulated number; infinite without a simulated
    /// number.
    #[must_use]
    pub fn apart(&self) -> u64 {
        self.simulated.map_or(u64::MAX, |simulated| simulated.abs_diff(self.formula))
    }
}

/// Pause points of priority groups that fill together: in each round, every group gets one packet.
#[derive(Clone, Debug, Serialize)]
pub struct Together {
    /// Number of priority groups that fill together.
    pub groups: usize,
    /// Number of packets at which each group pauses its sender. In the simulation, this is the
    /// round in which the last group pauses.
    pub pause: Point,
}

/// Test vectors of the lossless priority groups that have one buffer profile.
#[derive(Clone, Debug, Serialize)]
pub struct GroupVector {
    /// Name of the buffer profile that the lossless groups have.
    pub profile: String,
    /// Speed of the ports with the lossless groups (Mb/s).
    pub speed_mbps: Option<u64>,
    /// Length of the cables at the ports with the lossless groups (metres).
    pub cable_metres: Option<f64>,
    /// Names of the sending port and of the blocked port in the test.
    pub ports: [String; 2],
    /// Priority groups of the sending port, each with a DSCP that maps to the group.
    pub groups: Vec<(u8, u8)>,
    /// Guaranteed minimum of each priority group (packets).
    pub minimum: u64,
    /// Number of packets at which a lone priority group pauses its sender.
    pub pause: Point,
    /// Number of the first packet that a lone priority group loses.
    pub loss: Point,
    /// Number of packets below the pause point at which the priority group resumes its sender.
    pub resume: Point,
    /// Pause points of priority groups that fill one after the other.
    pub sequence: Vec<Point>,
    /// Pause points of groups that fill together, for several numbers of groups.
    pub together: Vec<Together>,
    /// Number of priority groups that the headroom pool of a slice can serve. Each group stores
    /// `full` packets, and the last group stores `partial` packets.
    pub pool: Option<PoolVector>,
}

/// Numbers of packets that groups store in a headroom pool.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct PoolVector {
    /// Number of priority groups that fill their headroom until the headroom pool is full.
    pub groups: u64,
    /// Number of packets that every group except the last stores after its pause.
    pub full: u64,
    /// Number of packets that the last group stores after its pause.
    pub partial: u64,
    /// Number of packets that all priority groups store together in the headroom pool.
    pub sum: Point,
}

/// Test vectors of the lossy queues that have one profile.
#[derive(Clone, Debug, Serialize)]
pub struct QueueVector {
    /// Name of the buffer profile that the lossy queues have.
    pub profile: String,
    /// Number of the lossy queue, and a DSCP whose packets use this queue.
    pub queue: (u8, u8),
    /// Number of the first packet that the lossy queue loses.
    pub loss: Point,
}

/// All test vectors for a switch's configuration.
#[derive(Clone, Debug, Serialize)]
pub struct Vectors {
    /// Name of the chip family.
    pub chip: &'static str,
    /// Description of the chip in words.
    pub title: &'static str,
    /// Size of a memory cell of the chip (bytes).
    pub cell_bytes: u64,
    /// Number of slices of the chip's memory.
    pub slices: u64,
    /// Size of the packets that the test vectors count (bytes).
    pub packet_bytes: u64,
    /// Test vectors of the lossless groups, by profile.
    pub groups: Vec<GroupVector>,
    /// Test vectors of the lossy queues, by profile.
    pub queues: Vec<QueueVector>,
    /// Parts of the configuration for which no prediction exists.
    pub not_predicted: Vec<String>,
    /// Limits of the numbers in the test vectors, in sentences.
    pub caveats: Vec<String>,
}

impl Vectors {
    /// Computes the test vectors of a configuration on a chip.
    ///
    /// # Errors
    /// See [`Model::new`] and [`Bench::new`].
    pub fn new(config: &Config, chip: &'static Chip, packet_bytes: u64) -> Result<Self, OperatorError> {
        let prediction = predict(config, chip, packet_bytes)?;
        let memory = Memory::new(config, chip)?;
        let model = Model::new(config, chip)?;
        let bench = Bench::new(&model, packet_bytes)?;
        let mut maker = Maker { config, memory, model, bench, prediction: &prediction };
        let mut not_predicted = prediction.not_predicted.clone();
        let mut groups = Vec::new();
        for point in &prediction.groups {
            match maker.group(point)? {
                Some(group) => groups.push(group),
                None => {
                    not_predicted.push(format!("groups with {}: no port of the model has one", point.profile))
                }
            }
        }
        let queues = maker.queues(&mut not_predicted)?;
        let mut found = Self {
            chip: chip.name,
            title: chip.title,
            cell_bytes: chip.cell,
            slices: chip.slices,
            packet_bytes,
            groups,
            queues,
            not_predicted,
            caveats: prediction.caveats.clone(),
        };
        found.caveats.extend(found.disagreements());
        Ok(found)
    }

    /// Lists the pause, loss and resume points at which the chip's rules and the simulation differ
    /// by more than rounding, in sentences.
    #[must_use]
    pub fn disagreements(&self) -> Vec<String> {
        let of_group = |group: &GroupVector| {
            let lone = [("pause", group.pause), ("first loss", group.loss), ("resume", group.resume)];
            let lone = lone.map(|(what, point)| (what.to_owned(), point));
            let in_turn = group.sequence.iter().enumerate().skip(1);
            let in_turn = in_turn.map(|(at, point)| (format!("pause of group {}", at + 1), *point));
            let together = group.together.iter();
            let together = together.map(|one| (format!("pause of each of {}", one.groups), one.pause));
            // If the configured groups cannot fill a headroom pool, the sum of the pool is not
            // simulated.
            let pool = group.pool.map(|pool| ("headroom pool".to_owned(), pool.sum));
            let pool = pool.filter(|(_, sum)| sum.simulated.is_some());
            let all = lone.into_iter().chain(in_turn).chain(together).chain(pool);
            all.map(|(what, point)| (group.profile.clone(), what, point)).collect::<Vec<_>>()
        };
        let of_queue = |queue: &QueueVector| (queue.profile.clone(), "first loss".to_owned(), queue.loss);
        let points = self.groups.iter().flat_map(of_group).chain(self.queues.iter().map(of_queue));
        let apart = points.filter(|(_, _, point)| point.apart() > APART);
        apart
            .map(|(profile, what, point)| {
                let Point { formula, simulated } = point;
                let simulated = simulated.map_or("no point".to_owned(), |simulated| simulated.to_string());
                format!(
                    "{what} of {profile}: {formula} by the rules and {simulated} by simulation. Trust neither before \
                     you know why."
                )
            })
            .collect()
    }

    /// Largest difference between rules and simulation for lone groups and queues (packets).
    #[must_use]
    pub fn apart(&self) -> u64 {
        let groups = self.groups.iter().flat_map(|group| [group.pause, group.loss, group.resume]);
        let queues = self.queues.iter().map(|queue| queue.loss);
        groups.chain(queues).map(|point| point.apart()).max().unwrap_or(0)
    }
}

/// Returns a DSCP whose traffic class maps to `index` in the QoS map of kind `kind`. Without QoS
/// maps, the result is `index`.
fn dscp(config: &Config, port: &str, kind: MapKind, index: u8) -> u8 {
    let port = PortName::new(port);
    let found = config.map(&port, MapKind::DscpToTc).zip(config.map(&port, kind)).and_then(
        |((_, classes), (_, map))| {
            let leads = |class: u8| map.get(class) == Some(index);
            classes.entries.iter().find(|(_, class)| leads(class.value)).map(|(dscp, _)| *dscp)
        },
    );
    found.unwrap_or(index)
}

struct Maker<'a> {
    config: &'a Config,
    memory: Memory,
    model: Model,
    bench: Bench,
    prediction: &'a Prediction,
}

impl Maker<'_> {
    /// Converts a number of cells (or bytes) to packets, rounded up.
    fn packets(&self, cells: u64) -> u64 {
        cells.div_ceil(self.memory.per_packet(self.prediction.packet_bytes))
    }

    fn number(&self, name: &str) -> Option<u16> {
        let at = self.model.ports.iter().position(|port| port.name == name)?;
        u16::try_from(at).ok()
    }

    fn group(&mut self, point: &GroupPoint) -> Result<Option<GroupVector>, OperatorError> {
        let Some((from, first)) =
            point.ports.first().and_then(|name| Some((self.number(name)?, name.clone())))
        else {
            return Ok(None);
        };
        let Some(&priority) = point.groups.first() else { return Ok(None) };
        // A packet must enter through a port different from its egress port.
        let last = self.bench.ports() as u16 - 1;
        let to = if from < last { last } else { 0 };
        let [pause, loss, resume] = point.packets;
        self.bench.reset()?;
        let paused = self.bench.fill_to_pause(from, to, priority);
        let resumes = paused.and_then(|_| self.bench.release_to_resume(to, from, priority));
        self.bench.reset()?;
        let lost = Some(self.bench.fill_to_loss(from, to, priority) + 1);
        let members = self.members(point, from, to);
        let port = first.as_str();
        let groups =
            point.groups.iter().map(|group| (*group, dscp(self.config, port, MapKind::TcToPg, *group)));
        Ok(Some(GroupVector {
            profile: point.profile.clone(),
            speed_mbps: point.speed_mbps,
            cable_metres: point.cable_metres,
            ports: [first.clone(), self.model.ports[usize::from(to)].name.clone()],
            groups: groups.collect(),
            minimum: self.packets(point.minimum),
            pause: Point { formula: pause, simulated: paused },
            loss: Point { formula: loss, simulated: lost },
            resume: Point { formula: resume, simulated: resumes },
            sequence: self.sequence(point, &members, to)?,
            together: self.together(point, &members, to)?,
            pool: self.pool(point, &members, to)?,
        }))
    }

    /// Returns ports and groups with the profile in the slice of the port `from`, without the
    /// blocked port. All groups of a port come before the groups of the next port.
    fn members(&self, point: &GroupPoint, from: u16, to: u16) -> Vec<(u16, u8)> {
        let spread = bufferlab_core::PortSpread::new(self.model.ports.len(), self.model.slices as usize);
        let slice = |port: u16| spread.slice_of(usize::from(port));
        let ports = point.ports.iter().filter_map(|name| self.number(name));
        let ports = ports.filter(|port| *port != to && slice(*port) == slice(from));
        ports.flat_map(|port| point.groups.iter().map(move |group| (port, *group))).collect()
    }

    fn sequence(
        &mut self,
        point: &GroupPoint,
        members: &[(u16, u8)],
        to: u16,
    ) -> Result<Vec<Point>, OperatorError> {
        let Some(exponent) = point.dynamic_th.filter(|_| !point.sequence.is_empty()) else {
            return Ok(Vec::new());
        };
        let pools = &self.prediction.headroom_pools;
        let of_pool =
            pools.iter().find(|pool| pool.profile == point.profile).map_or(8, |pool| pool.groups as usize);
        let count = of_pool.clamp(1, SEQUENCE_MAX).min(members.len());
        let formulas = self.memory.fill_points(point.minimum, exponent, count);
        self.bench.reset()?;
        let mut points = Vec::with_capacity(count);
        for (&(from, group), formula) in members.iter().zip(formulas) {
            let simulated = self.bench.fill_to_pause(from, to, group);
            points.push(Point { formula: self.packets(formula), simulated });
        }
        Ok(points)
    }

    /// Computes the pause point of groups that fill together and share the pool equally. The groups
    /// get one packet each in turn. Each of k groups pauses at its minimum plus α S / (1 + k α).
    fn together(
        &mut self,
        point: &GroupPoint,
        members: &[(u16, u8)],
        to: u16,
    ) -> Result<Vec<Together>, OperatorError> {
        let Some(exponent) = point.dynamic_th.filter(|_| !point.sequence.is_empty()) else {
            return Ok(Vec::new());
        };
        let alpha = 2f64.powi(i32::from(exponent));
        let mut found = Vec::new();
        for groups in TOGETHER.into_iter().filter(|groups| *groups <= members.len()) {
            let own = alpha * self.memory.shared as f64 / (1.0 + groups as f64 * alpha);
            self.bench.reset()?;
            let mut round = 0;
            let members = &members[..groups];
            let simulated = loop {
                let stored = members.iter().all(|&(from, group)| {
                    self.bench.is_paused(from, group) || self.bench.send(from, to, group)
                });
                round += 1;
                if members.iter().all(|&(from, group)| self.bench.is_paused(from, group)) {
                    break Some(round);
                }
                if !stored {
                    break None;
                }
            };
            let formula = self.packets(point.minimum + own.ceil() as u64);
            found.push(Together { groups, pause: Point { formula, simulated } });
        }
        Ok(found)
    }

    fn pool(
        &mut self,
        point: &GroupPoint,
        members: &[(u16, u8)],
        to: u16,
    ) -> Result<Option<PoolVector>, OperatorError> {
        let pools = &self.prediction.headroom_pools;
        let Some(pool) = pools.iter().find(|pool| pool.profile == point.profile).cloned() else {
            return Ok(None);
        };
        let per_packet = self.memory.per_packet(self.prediction.packet_bytes);
        // Groups store whole packets, so the rest of each group's headroom remains for the last
        // group.
        let full = pool.full / per_packet;
        let partial = (pool.cells / per_packet).saturating_sub((pool.groups - 1) * full).min(full);
        let formula = (pool.groups - 1) * full + partial;
        let groups = usize::try_from(pool.groups).unwrap_or(usize::MAX);
        let simulated = if groups <= members.len() {
            self.bench.reset()?;
            let mut sum = 0;
            // Each group fills its headroom before the next group starts. So only the last group
            // finds less than its full headroom.
            for &(from, group) in &members[..groups] {
                self.bench.fill_to_pause(from, to, group);
                self.bench.fill_to_loss(from, to, group);
                sum += self.bench.headroom_bytes(from, group);
            }
            Some(sum / (per_packet * self.memory.chip.cell))
        } else {
            None
        };
        Ok(Some(PoolVector { groups: pool.groups, full, partial, sum: Point { formula, simulated } }))
    }

    fn queues(&mut self, not_predicted: &mut Vec<String>) -> Result<Vec<QueueVector>, OperatorError> {
        let mut found: Vec<QueueVector> = Vec::new();
        for point in &self.prediction.queues {
            let place = self.model.ports.iter().enumerate().find_map(|(number, port)| {
                let uses = |queue: &u8| match self.config.queue(&PortName::new(&port.name), *queue) {
                    Resolved::Profile(profile) => {
                        profile.name == point.profile && !self.model.lossless.contains(queue)
                    }
                    _ => false,
                };
                Some((u16::try_from(number).ok()?, port.lossy.keys().copied().find(uses)?))
            });
            let Some((to, queue)) = place else {
                not_predicted.push(format!(
                    "queues with {}: no port has one that no lossless priority uses",
                    point.profile
                ));
                continue;
            };
            let from = if to == 0 { 1 } else { to - 1 };
            self.bench.reset()?;
            let stored = self.bench.fill_to_loss(from, to, queue);
            let name = &self.model.ports[usize::from(to)].name;
            found.push(QueueVector {
                profile: point.profile.clone(),
                queue: (queue, dscp(self.config, name, MapKind::TcToQueue, queue)),
                loss: Point { formula: self.packets(point.drop), simulated: Some(stored + 1) },
            });
        }
        Ok(found)
    }
}
