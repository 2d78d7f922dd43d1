//! Predicts where a lone priority group pauses, drops and resumes, and how groups fill
//! one after the other.

use super::PredictError;
use super::chips::{Chip, Rule};
use super::memory::{Memory, Term};
use super::queues::QueuePoint;
use crate::config::{Config, Profile, Threshold};
use crate::keys::PortName;
use crate::resolve::Resolved;
use crate::silicon::headroom::GroupHeadroom;
use serde::Serialize;
use std::collections::BTreeMap;

/// Number of groups for which the prediction lists pause points when they fill one after the other.
const SEQUENCE: usize = 8;

/// Pause, loss and resume points of a lossless priority group that is alone on the switch. Counts
/// are in cells (bytes if the chip counts bytes).
#[derive(Clone, Debug, Serialize)]
pub struct GroupPoint {
    /// Name of the profile that the lossless group has.
    pub profile: String,
    /// Speed of the ports (Mb/s), if known.
    pub speed_mbps: Option<u64>,
    /// Length of the ports' cables (metres), if known.
    pub cable_metres: Option<f64>,
    /// Names of the ports whose lossless groups have the profile.
    pub ports: Vec<String>,
    /// Numbers of the lossless priority groups at each port.
    pub groups: Vec<u8>,
    /// Guaranteed minimum of the lossless group (cells, or bytes).
    pub minimum: u64,
    /// Exponent of the group's alpha; absent for a static limit.
    pub dynamic_th: Option<i8>,
    /// Occupancy at which the lossless group pauses the sender (cells, or bytes).
    pub pause: u64,
    /// Headroom that one priority group can use: the smaller of its profile's headroom and the
    /// headroom pool of a slice.
    pub headroom: u64,
    /// Headroom of the priority group's profile before the first loss (cells, or bytes), without
    /// the limit of the headroom pool.
    pub headroom_asked: u64,
    /// Sentence that answers whether the headroom is enough; absent if speed or cable is not known.
    pub headroom_answer: Option<String>,
    /// Number of the first cell that the lossless group loses, from 1.
    pub drop: u64,
    /// Distance of the lossless group's resume point below its pause point.
    pub resume_below: u64,
    /// Numbers of packets of the requested size until pause, first loss and resume.
    pub packets: [u64; 3],
    /// Pause points of groups of one slice that fill one after the other; empty for a static limit.
    pub sequence: Vec<u64>,
}

/// Headroom pool, with the number of groups that can fill their headroom at once.
#[derive(Clone, Debug, Serialize)]
pub struct HeadroomPool {
    /// Headroom pool of one slice (cells, or bytes).
    pub cells: u64,
    /// Headroom of one priority group with the profile (cells, or bytes).
    pub full: u64,
    /// Name of the buffer profile of the groups that share the headroom pool.
    pub profile: String,
    /// Number of priority groups until the headroom pool is used up. The last group gets `partial`.
    pub groups: u64,
    /// Headroom that the pool has left for the last group (cells, or bytes).
    pub partial: u64,
}

/// Predicted pause, loss and resume points of a configuration on a chip.
#[derive(Clone, Debug, Serialize)]
pub struct Prediction {
    /// Name of the chip family.
    pub chip: &'static str,
    /// Size of a memory cell of the chip (bytes).
    pub cell_bytes: u64,
    /// Number of slices that the chip's memory has.
    pub slices: u64,
    /// Whether the sizes of pools exclude headroom and reserves (net pools), with the reason.
    pub accounting: String,
    /// Pool size, headroom and reserves in the sum that gives the field `shared`.
    pub terms: Vec<Term>,
    /// Shared memory of one slice (cells, or bytes); formulas call it S.
    pub shared: u64,
    /// Size of the packets that the prediction counts (bytes).
    pub packet_bytes: u64,
    /// Predicted pause, loss and resume points of lossless groups, by profile.
    pub groups: Vec<GroupPoint>,
    /// Predicted loss points of lossy queues, by profile.
    pub queues: Vec<QueuePoint>,
    /// Headroom pools, by the profile of the groups.
    pub headroom_pools: Vec<HeadroomPool>,
    /// Parts of the configuration without a prediction, each with the reason.
    pub not_predicted: Vec<String>,
    /// Limits of the predicted numbers, in sentences.
    pub caveats: Vec<String>,
}

/// Predicts pause, loss and resume points of a configuration on a chip, for packets of
/// `packet_bytes`. SONiC's qualification sends packets of 64 B.
///
/// # Errors
/// See [`Memory::new`].
pub fn predict(config: &Config, chip: &'static Chip, packet_bytes: u64) -> Result<Prediction, PredictError> {
    let memory = Memory::new(config, chip)?;
    let mut not_predicted = Vec::new();
    let classes = classes(config, &mut not_predicted);
    let groups: Vec<_> =
        classes.into_values().filter_map(|class| memory.group(config, &class, packet_bytes)).collect();
    let pools = groups.iter().filter_map(|group| memory.headroom(group)).collect();
    let caveats = chip.caveat().into_iter().chain(short_pools(&groups)).collect();
    Ok(Prediction {
        chip: chip.title,
        cell_bytes: chip.cell,
        slices: chip.slices,
        accounting: memory.why.clone(),
        terms: memory.terms.clone(),
        shared: memory.shared,
        packet_bytes,
        queues: memory.queues(config, &mut not_predicted),
        headroom_pools: pools,
        groups,
        not_predicted,
        caveats,
    })
}

/// Returns sentences about priority groups that cannot use the whole headroom of their profile.
fn short_pools(groups: &[GroupPoint]) -> impl Iterator<Item = String> + '_ {
    groups.iter().filter(|group| group.headroom < group.headroom_asked).map(|group| {
        let GroupPoint { profile, headroom, headroom_asked, .. } = group;
        format!(
            "{profile} asks for a headroom of {headroom_asked}, and the headroom pool of a slice holds {headroom}: one group alone \
             loses lossless packets."
        )
    })
}

/// Lossless groups with one profile, on ports of one speed and cable.
#[derive(Clone, Debug)]
pub(crate) struct Class {
    pub(crate) profile: Profile,
    pub(crate) ports: Vec<PortName>,
    pub(crate) groups: Vec<u8>,
    pub(crate) speed_mbps: Option<u64>,
    pub(crate) cable_metres: Option<f64>,
}

type ClassKey = (String, Option<u64>, Option<u64>);

pub(crate) fn classes(config: &Config, not_predicted: &mut Vec<String>) -> BTreeMap<ClassKey, Class> {
    let mut found: BTreeMap<ClassKey, Class> = BTreeMap::new();
    for port in config.named_ports().into_iter().filter(|port| config.in_use(port)) {
        let speed =
            config.ports.get(&port).and_then(|port| port.speed_mbps.as_ref()).map(|speed| speed.value);
        let cable = config.cables.get(&port).map(|cable| cable.value);
        for index in 0..8 {
            let profile = match config.group(&port, index) {
                Resolved::Profile(profile) if profile.is_lossless() => *profile,
                other => {
                    not_predicted.extend(why_not(&port, index, &other));
                    continue;
                }
            };
            let named = speed_and_cable(&profile.name);
            let speed = speed.or(named.map(|(speed, _)| speed));
            let cable = cable.or(named.map(|(_, cable)| cable));
            let key = (profile.name.clone(), speed, cable.map(f64::to_bits));
            let class = found.entry(key).or_insert_with(|| Class {
                profile,
                ports: Vec::new(),
                groups: Vec::new(),
                speed_mbps: speed,
                cable_metres: cable,
            });
            if class.ports.last() != Some(&port) {
                class.ports.push(port.clone());
            }
            if !class.groups.contains(&index) {
                class.groups.push(index);
            }
        }
    }
    found
}

/// Parses speed (Mb/s) and cable (metres) from the name that the switch gives a profile:
/// `pg_lossless_100000_40m_profile`.
#[must_use]
pub fn speed_and_cable(name: &str) -> Option<(u64, f64)> {
    let mut parts = name.strip_prefix("pg_lossless_")?.split('_');
    Some((parts.next()?.parse().ok()?, crate::ini::metres(parts.next()?)?))
}

fn why_not(port: &PortName, index: u8, resolved: &Resolved) -> Option<String> {
    let why = match resolved {
        Resolved::Nothing | Resolved::Profile(_) => return None,
        Resolved::Computed(_) => "the switch computes the profile".to_owned(),
        Resolved::Dangling(name) => format!("{}: there is no profile {}", name.place, name.value),
        Resolved::NoRow(speed, cable) => format!("no row for {speed} Mb/s and {cable} m"),
        Resolved::Unknown => "speed or cable of the port are not known".to_owned(),
    };
    Some(format!("{port}, priority group {index}: {why}"))
}

/// Computes the share ⌊α S / (1 + α)⌋ with α = 2^exponent. On some chips, the exponents 8 and -8
/// mean infinite and zero.
pub(crate) fn share(exponent: i8, shared: u64) -> u64 {
    let (up, down) = ratio(exponent);
    let share = u128::from(shared) * up / (up + down);
    u64::try_from(share).unwrap_or(u64::MAX)
}

/// Number of shared cells that a lossy queue stores: ⌈α S / (1 + α)⌉. The switch admits a
/// packet if the queue is below α times the free memory before the packet. The rule agrees with
/// the measured drops of Trident 3 (α = 8) and Tomahawk 2 (α = 1/2). The drops of Tomahawk 5 (α
/// = 1) are ⌊S / 2⌋.
pub(crate) fn stored_share(exponent: i8, shared: u64) -> u64 {
    if exponent == 0 {
        return shared / 2;
    }
    let (up, down) = ratio(exponent);
    let share = (u128::from(shared) * up).div_ceil(up + down);
    u64::try_from(share).unwrap_or(u64::MAX)
}

/// Number of shared cells at which a group pauses: the first s that reaches α (S - s). A chip
/// computes a limit with α below 1 by a right shift, which rounds down to whole cells. With α =
/// 2^-k the number is ⌊(S + 1) / (2^k + 1)⌋. With α of 1 and more, measured chips pause at ⌊α S /
/// (1 + α)⌋.
pub(crate) fn pause_share(exponent: i8, shared: u64) -> u64 {
    share(exponent, shared.saturating_add(u64::from(exponent < 0)))
}

/// Returns α = 2^exponent as a fraction.
fn ratio(exponent: i8) -> (u128, u128) {
    if exponent >= 0 { (1 << exponent, 1) } else { (1, 1 << -exponent) }
}

/// Limit of a lone priority group on a chip that also limits the group's port:
/// `a_p a_q B / (1 + a_q + a_p a_q)`. The alphas of port and group are a_p and a_q, and B is the
/// size of the pool. A group with `dynamic_th` 7 has no separate limit in a port with a smaller
/// `dynamic_th`, so its limit is that of the port: `a_p B / (1 + a_p)`.
pub(super) fn share_in_port(chip: &Chip, port: i8, queue: i8, shared: u64) -> u64 {
    if is_unlimited_in_port(port, queue) {
        return share(chip.exponent(port), shared);
    }
    let (port, queue) = (chip.alpha(port), chip.alpha(queue));
    (shared as f64 * port * queue / (1.0 + queue + port * queue)).floor() as u64
}

/// Whether only its port limits a priority group on a chip with two levels: the group has
/// `dynamic_th` 7, and the port a smaller one.
#[must_use]
pub fn is_unlimited_in_port(port: i8, group: i8) -> bool {
    group == 7 && port < 7
}

impl Memory {
    /// Memory that a packet of `packet_bytes` takes on the chip (cells, or bytes).
    #[must_use]
    pub fn per_packet(&self, packet_bytes: u64) -> u64 {
        self.chip.packet_bytes(packet_bytes) / self.chip.cell
    }

    pub(crate) fn group(&self, config: &Config, class: &Class, packet_bytes: u64) -> Option<GroupPoint> {
        let profile = &class.profile;
        let minimum = profile.minimum(config.shared_headroom());
        let threshold = profile.threshold.as_ref()?.value;
        let limit = |shared: u64| self.limit(config, &class.ports, threshold, shared);
        let pause = match self.chip.rule {
            // The test programs for these switches add bytes first and then round the sum to cells.
            Rule::OneLevel | Rule::TwoLevels => self.cells(minimum + limit(self.shared * self.chip.cell)),
            Rule::Cells | Rule::Bytes(_) => self.cells(minimum) + limit(self.shared),
        };
        let headroom_asked = self.chip.group_headroom(config, profile, class.speed_mbps);
        let headroom = self.usable_headroom(headroom_asked);
        let chip = Some(self.chip).filter(|chip| chip.is_known());
        let headroom_answer = GroupHeadroom::of_class(config, chip, class).map(|headroom| headroom.answer());
        let drop = pause + headroom + 1;
        let resume_below = self.resume(profile, pause);
        let packet = self.per_packet(packet_bytes);
        let packets = match self.chip.rule {
            Rule::Bytes(_) => [pause / packet, (pause + headroom) / packet, resume_below / packet],
            _ => [pause.div_ceil(packet), (pause + headroom) / packet + 1, resume_below.div_ceil(packet)],
        };
        let sequence = match (threshold, self.chip.rule) {
            (Threshold::Dynamic(exponent), Rule::Cells | Rule::Bytes(_)) => {
                self.fill_points(self.cells(minimum), exponent, SEQUENCE)
            }
            _ => Vec::new(),
        };
        Some(GroupPoint {
            sequence,
            profile: profile.name.clone(),
            speed_mbps: class.speed_mbps,
            cable_metres: class.cable_metres,
            ports: class.ports.iter().map(ToString::to_string).collect(),
            groups: class.groups.clone(),
            minimum: self.cells(minimum),
            dynamic_th: match threshold {
                Threshold::Dynamic(exponent) => Some(exponent),
                Threshold::Static(_) => None,
            },
            pause,
            headroom,
            headroom_asked,
            headroom_answer,
            drop,
            resume_below,
            packets,
        })
    }

    fn limit(&self, config: &Config, ports: &[PortName], threshold: Threshold, shared: u64) -> u64 {
        match threshold {
            Threshold::Dynamic(exponent) => match self.chip.rule {
                Rule::TwoLevels => match port_exponent(config, ports.first(), &self.pool) {
                    Some(port) => share_in_port(self.chip, port, exponent, shared),
                    None => share(self.chip.exponent(exponent), shared),
                },
                // The test programs for these switches round down to whole cells.
                Rule::OneLevel => share(exponent, shared),
                Rule::Cells | Rule::Bytes(_) => pause_share(exponent, shared),
            },
            Threshold::Static(bytes) => match self.chip.rule {
                Rule::Cells => (bytes / self.chip.cell).min(shared),
                _ => bytes.min(shared),
            },
        }
    }

    /// Distance of the resume point below the pause point. The distance is `xon_offset` with any
    /// alpha. If the profile has no `xon_offset`, the group resumes at `xon`.
    fn resume(&self, profile: &Profile, pause: u64) -> u64 {
        match &profile.xon_offset {
            Some(offset) if offset.value > 0 => self.cells(offset.value).min(pause),
            _ => pause.saturating_sub(profile.xon.as_ref().map_or(0, |xon| self.cells(xon.value))),
        }
    }

    /// Returns the occupancies that `count` groups of one slice reach, one after the other. Each
    /// group takes its share of the memory that the earlier groups left.
    #[must_use]
    pub fn fill_points(&self, minimum: u64, exponent: i8, count: usize) -> Vec<u64> {
        let mut used = 0;
        (0..count)
            .map(|_| {
                let own = pause_share(exponent, self.shared.saturating_sub(used));
                used += own;
                minimum + own
            })
            .collect()
    }

    fn headroom(&self, group: &GroupPoint) -> Option<HeadroomPool> {
        let (cells, full) = (self.headroom_pool?, group.headroom);
        if cells == 0 || full == 0 {
            return None;
        }
        let groups = cells.div_ceil(full);
        let partial = cells - (groups - 1) * full;
        Some(HeadroomPool { cells, full, profile: group.profile.clone(), groups, partial })
    }
}

/// Returns the exponent of a port's alpha in a pool, if the port's profile list has a dynamic limit
/// for the pool.
#[must_use]
pub fn port_exponent(config: &Config, port: Option<&PortName>, pool: &str) -> Option<i8> {
    let list = &config.ingress_lists.get(port?)?.value;
    let profiles = list.iter().filter_map(|name| config.profiles.get(name));
    let of_pool = |profile: &&Profile| profile.pool.as_ref().is_some_and(|name| name.value == pool);
    match profiles.filter(of_pool).find_map(|profile| profile.threshold.as_ref())?.value {
        Threshold::Dynamic(exponent) => Some(exponent),
        Threshold::Static(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_alpha_over_one_plus_alpha_rounded_down() {
        assert_eq!((share(0, 101), share(1, 100), share(-3, 90), share(-8, 257)), (50, 66, 10, 1));
        assert_eq!(share(8, u64::MAX), (u128::from(u64::MAX) * 256 / 257) as u64);
    }

    #[test]
    fn a_group_pauses_with_the_first_cell_that_reaches_a_limit_in_whole_cells() {
        for (exponent, shared) in (1..8).flat_map(|k| (0..400).map(move |shared| (-k, shared))) {
            let reaches = |s: &u64| *s >= (shared - s) >> -exponent;
            let first = (0..=shared).find(reaches).expect("all of it reaches");
            assert_eq!(pause_share(exponent, shared), first, "dynamic_th {exponent}, S = {shared}");
        }
        assert_eq!(
            (pause_share(0, 119_175), pause_share(-3, 40_363), pause_share(-1, 12_332)),
            (59_587, 4_484, 4_111)
        );
    }

    #[test]
    fn a_lossy_queue_stores_while_it_is_below_its_limit() {
        let exponents = (-7..8i8).filter(|exponent| *exponent != 0);
        for (exponent, shared) in exponents.flat_map(|k| (0..400u64).map(move |shared| (k, shared))) {
            let below = |s: &u64| (*s as f64) < 2f64.powi(exponent.into()) * (shared - s) as f64;
            let stored = (0..shared).take_while(below).count() as u64;
            assert_eq!(stored_share(exponent, shared), stored, "dynamic_th {exponent}, S = {shared}");
        }
        let found = [(3, 95_542), (-1, 32_047), (0, 269_831)]
            .map(|(exponent, shared)| stored_share(exponent, shared));
        assert_eq!(found, [84_927, 10_683, 134_915]);
    }

    #[test]
    fn a_port_without_a_limit_of_its_own_leaves_the_share_of_the_queue() {
        // With a very large port alpha a_p, the limit a_q B / (1/a_p + a_q/a_p + a_q) approaches
        // the pool B. The result is the share of the port, not the share of the queue.
        let chip = super::super::chip("spectrum4").expect("a chip");
        assert_eq!(share_in_port(chip, 0, 0, 300), 100);
        // An alpha of 7 counts as 64: 64 / 66 of the pool, not 128 / 130.
        assert_eq!(share_in_port(chip, 7, 0, 13_200), 12_800);
        assert_eq!(share_in_port(chip, 7, 7, 4_161), 4_096);
        // A group at 7 in another port has the share of the port.
        assert_eq!(share_in_port(chip, 0, 7, 300), 150);
    }
}
