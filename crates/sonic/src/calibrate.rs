//! Estimates alphas, pools, cells and reserves from watermarks and counters, and names configured
//! values that the switch does not follow.
//!
//! A group or queue that reaches its limit has `s = alpha (S - Q)` bytes of shared memory. `Q` is
//! the shared memory of all groups or queues of the pool at that moment. Watermarks give `s` and
//! bound `Q`: `Q` is at least `s` and at most the watermark of the pool. So each reading gives a
//! lower and an upper bound of alpha. The calibration intersects the bounds of all groups or queues
//! with one profile.

mod read;
mod text;

pub use read::{CounterError, read};
pub use text::text;

use crate::config::{Config, Profile, Threshold};
use crate::keys::PortName;
use crate::resolve::Resolved;
use crate::silicon::{Chip, Memory, PredictError};
use serde::Serialize;
use std::collections::BTreeMap;

/// Exponents of alpha that SONiC accepts.
const EXPONENTS: std::ops::RangeInclusive<i8> = -8..=8;

/// Watermarks of a priority group or a queue at one time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reading {
    /// Name of the port that has the priority group or queue.
    pub port: String,
    /// Number of the priority group or queue at its port.
    pub index: u8,
    /// Whether the watermarks are of a priority group (true) or of a queue (false).
    pub is_group: bool,
    /// Peak of the shared memory since the watermarks were cleared (bytes).
    pub shared: u64,
    /// Peak of the headroom since the watermarks were cleared (bytes).
    pub headroom: u64,
    /// Peak of the whole memory of the group or queue (bytes), if the switch has this watermark.
    pub total: Option<u64>,
    /// Whether the group or queue reached its limit: the group paused or used headroom, the queue
    /// lost packets.
    pub reached: bool,
}

/// All watermarks of a switch at one time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sample {
    /// Watermark readings of the switch's priority groups and queues.
    pub readings: Vec<Reading>,
    /// Watermarks of the buffer pools (bytes), by name.
    pub pools: BTreeMap<String, u64>,
}

/// Lower and upper bound of an estimated value. The upper bound is absent if no reading limits the
/// value.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Interval {
    /// Lower bound of the estimated value.
    pub least: f64,
    /// Upper bound of the estimated value; absent if no watermark limits the value.
    pub most: Option<f64>,
}

impl Interval {
    const ANY: Self = Self { least: 0.0, most: None };

    fn contains(&self, value: f64) -> bool {
        value >= self.least && self.most.is_none_or(|most| value <= most)
    }

    fn and(self, other: Self) -> Self {
        let most = match (self.most, other.most) {
            (Some(one), Some(other)) => Some(one.min(other)),
            (one, other) => one.or(other),
        };
        Self { least: self.least.max(other.least), most }
    }
}

/// Estimate of a buffer profile's alpha, pool and reserve.
#[derive(Clone, Debug, Serialize)]
pub struct ProfileEstimate {
    /// Name of the estimated profile.
    pub profile: String,
    /// Name of the pool that the profile is in.
    pub pool: String,
    /// Number of watermark readings from groups or queues that reached their limit.
    pub readings: usize,
    /// Bounds of the profile's alpha, if the pool has the configured size.
    pub alpha: Interval,
    /// Exponents of alpha that are within the bounds of alpha.
    pub exponents: Vec<i8>,
    /// Likeliest exponent of alpha; absent if no group or queue reached its limit.
    pub best: Option<i8>,
    /// Configured exponent of alpha; absent for a static limit.
    pub configured: Option<i8>,
    /// Estimated shared memory of the pool in one slice (bytes), if alpha is as configured.
    pub shared: Interval,
    /// Shared memory of the pool in one slice that follows from the configuration (bytes).
    pub configured_shared: u64,
    /// Reserve in use (bytes): the total memory minus shared memory and headroom.
    pub reserve: Option<Interval>,
    /// Configured reserve of the profile (bytes).
    pub configured_reserve: u64,
}

/// Estimates that a calibration finds in watermarks.
#[derive(Clone, Debug, Serialize)]
pub struct Calibration {
    /// Largest size that divides all watermarks (bytes); 0 without watermarks. The cell of the chip
    /// divides this size.
    pub cell_divides: u64,
    /// Cell of the chip (bytes); 1 if the chip counts bytes.
    pub cell: u64,
    /// Estimates for the buffer profiles that have watermark readings.
    pub profiles: Vec<ProfileEstimate>,
    /// Peak memory of each pool (bytes): a lower bound of the pool's size.
    pub pools: BTreeMap<String, u64>,
    /// Configured values that the switch does not follow, in sentences.
    pub departures: Vec<String>,
    /// Limits of the calibration's estimates, in sentences.
    pub caveats: Vec<String>,
}

/// Bounds of a profile's alpha, and readings of the groups and queues with this profile.
struct Gathered {
    profile: Profile,
    pool: String,
    shared: u64,
    alpha: Interval,
    /// Lower bound of alpha from groups and queues that need not have reached their limit.
    floor: f64,
    size: Interval,
    /// Memory that the largest packet of the samples takes (bytes).
    packet: u64,
    reserve: Option<Interval>,
    reached: Vec<Reached>,
}

/// Watermark of a group or queue that reached its limit.
struct Reached {
    /// Peak of the shared memory of this group or queue (bytes).
    own: u64,
    /// Shared memory of each other group or queue of the pool (bytes), without empty groups and
    /// queues.
    others: Vec<u64>,
    /// Watermark of the whole buffer pool (bytes).
    pool: Option<u64>,
}

/// Largest number of other groups or queues whose order of filling the estimate tries.
const OTHERS_MAX: usize = 12;
/// Evidence (log odds) for an alpha that cannot explain a watermark reading. The true alpha
/// explains almost all readings, except of groups or queues that filled in turns.
const UNEXPLAINED: f64 = -4.0;
/// Distance from a bound of alpha (in steps of the exponent). An exponent of alpha within this
/// distance is likelier than the exponents between the bounds.
const TIGHT: f64 = 0.2;
/// Weight of the evidence from another profile that has an equal configured alpha.
const PEER: f64 = 0.5;

impl Reached {
    /// Evidence of a watermark reading for an alpha, as log odds: high if a wrong alpha would
    /// rarely fit the reading. The more orders of filling the estimate tries, the likelier one
    /// order fits by chance.
    fn evidence(&self, alpha: f64, shared: u64, packet: u64) -> f64 {
        let (own, packet) = (self.own as f64, packet as f64);
        // Before its last packet, the group or queue was below its limit. The limit was higher
        // before this packet. Chips round a limit down to whole cells.
        let (below, above) = (packet * (1.0 + alpha) + 1.0, packet);
        let fits = |used: f64| {
            let limit = alpha * (shared as f64 - used).max(0.0);
            limit < own + above && limit > own - below
        };
        let chance = (below + above) / (shared as f64).max(1.0);
        let odds = |tries: f64| -(tries * chance).min(1.0).ln();
        // The group or queue filled alone, or filled as the last one of its pool.
        if fits(own) || self.pool.is_some_and(|pool| fits(pool as f64)) {
            return odds(2.0);
        }
        let others = &self.others[..self.others.len().min(OTHERS_MAX)];
        let of = |chosen: u32| {
            let parts = others.iter().enumerate().filter(|(at, _)| chosen >> at & 1 != 0);
            own + parts.map(|(_, bytes)| *bytes as f64).sum::<f64>()
        };
        let orders = 1_u32 << others.len();
        if (0..orders).any(|chosen| fits(of(chosen))) { odds(f64::from(orders)) } else { UNEXPLAINED }
    }
}

/// Estimates alphas, pools and reserves from samples of a switch with the configuration `config`. A
/// packet has at most `packet` bytes of memory, so the limit is within one packet of a watermark.
///
/// # Errors
/// If the memory of the configuration is not known; see [`Memory::new`].
pub fn calibrate(
    config: &Config,
    chip: &'static Chip,
    packet: u64,
    samples: &[Sample],
) -> Result<Calibration, PredictError> {
    let memory = Memory::new(config, chip)?;
    let packet = packet.max(1).div_ceil(chip.cell) * chip.cell;
    let mut gathered: BTreeMap<String, Gathered> = BTreeMap::new();
    let (mut divisor, mut pools) = (0, BTreeMap::<String, u64>::new());
    for sample in samples {
        for (name, &mark) in &sample.pools {
            let most = pools.entry(name.clone()).or_default();
            *most = mark.max(*most);
        }
        for reading in &sample.readings {
            divisor = gcd(gcd(divisor, reading.shared), reading.headroom);
            let Some((profile, pool, shared)) = limited(config, &memory, reading) else { continue };
            let own = gathered.entry(profile.name.clone()).or_insert_with(|| Gathered {
                profile,
                shared,
                alpha: Interval::ANY,
                floor: 0.0,
                size: Interval::ANY,
                packet,
                reserve: None,
                reached: Vec::new(),
                pool,
            });
            // Before its last packet, every group or queue was below `alpha (S - Q)`. `Q` was at
            // least the memory of this group or queue. A queue has memory in every slice.
            let before = if reading.is_group || chip.slices == 1 { reading.shared } else { 0 };
            let before = before.saturating_sub(packet);
            if let Some(free) = own.shared.checked_sub(before).filter(|free| *free > 0) {
                own.floor = own.floor.max(before as f64 / free as f64);
            }
            // A queue also loses packets when the ingress pool is full.
            let of_pool = sample.pools.get(&memory.pool).copied().unwrap_or(0);
            let is_full = of_pool + packet >= memory.shared * chip.cell * chip.slices;
            if reading.reached && reading.shared > 0 && (reading.is_group || !is_full) {
                own.add(reading, sample, packet);
                own.reached.push(Reached {
                    own: reading.shared,
                    others: others(config, &memory, reading, sample),
                    pool: sample.pools.get(&own.pool).copied(),
                });
            }
        }
    }
    let profiles = estimates(gathered.into_values().collect());
    let mut caveats: Vec<String> = chip.caveat().into_iter().collect();
    if chip.slices > 1 {
        caveats
            .push("Watermarks of pools cover all slices, so bounds are wider than on one memory.".to_owned());
    }
    if profiles.iter().all(|one| one.readings == 0) {
        caveats.push("No group or queue reached its limit: alphas and pools are not bounded.".to_owned());
    }
    Ok(Calibration {
        cell_divides: divisor,
        cell: chip.cell,
        departures: departures(&profiles, divisor, chip),
        profiles,
        pools,
        caveats,
    })
}

/// Estimates the alpha of each profile. Profiles of a pool with equal configured alphas support
/// each other. The watermark of one queue has two explanations: the queue was the last one that
/// filled, or it filled earlier and has half of that alpha.
fn estimates(gathered: Vec<Gathered>) -> Vec<ProfileEstimate> {
    let evidence: Vec<Vec<f64>> = gathered.iter().map(Gathered::evidence).collect();
    let alike =
        |one: &Gathered, other: &Gathered| one.pool == other.pool && one.configured() == other.configured();
    let supported = |at: usize| -> Vec<f64> {
        let peers =
            (0..gathered.len()).filter(|other| *other != at && alike(&gathered[at], &gathered[*other]));
        let peers: Vec<usize> = peers.collect();
        let sum = |exponent: usize| peers.iter().map(|peer| evidence[*peer][exponent]).sum::<f64>();
        evidence[at].iter().enumerate().map(|(exponent, own)| own + PEER * sum(exponent)).collect()
    };
    let all: Vec<_> = (0..gathered.len()).map(supported).collect();
    gathered.into_iter().zip(all).map(|(one, evidence)| one.estimate(&evidence)).collect()
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// Returns the shared memory (bytes) of each other group or queue in the reading's pool, if it is
/// above 0.
fn others(config: &Config, memory: &Memory, reading: &Reading, sample: &Sample) -> Vec<u64> {
    let same_side = |other: &&Reading| other.is_group == reading.is_group && other.shared > 0;
    let is_other = |other: &&Reading| (&other.port, other.index) != (&reading.port, reading.index);
    let is_limited = |other: &&Reading| other.is_group || limited(config, memory, other).is_some();
    let found = sample.readings.iter().filter(same_side).filter(is_other).filter(is_limited);
    found.map(|other| other.shared).collect()
}

/// Returns the profile, the pool and the shared memory of one slice (bytes) that limit the group or
/// queue of a reading.
fn limited(config: &Config, memory: &Memory, reading: &Reading) -> Option<(Profile, String, u64)> {
    let port = PortName::new(&reading.port);
    let resolved = if reading.is_group {
        config.group(&port, reading.index)
    } else {
        config.queue(&port, reading.index)
    };
    let Resolved::Profile(profile) = resolved else { return None };
    let is_dynamic =
        profile.threshold.as_ref().is_some_and(|limit| matches!(limit.value, Threshold::Dynamic(_)));
    if !is_dynamic {
        return None;
    }
    let (pool, _) = config.pool_of(&profile)?;
    let pool = pool.to_owned();
    let cells = if reading.is_group {
        profile.is_lossless().then_some(memory.shared)?
    } else {
        memory.queue(config, &profile)?.shared
    };
    Some((*profile, pool, cells * memory.chip.cell))
}

impl Gathered {
    /// Adds the reading of a group or queue that reached its limit.
    fn add(&mut self, reading: &Reading, sample: &Sample, packet: u64) {
        let (s, shared) = (reading.shared, self.shared);
        // The limit of the group or queue is within one packet of its watermark.
        let (low, high) = (s.saturating_sub(packet).max(1) as f64, (s + packet) as f64);
        let pool = sample.pools.get(&self.pool).copied();
        let most_used = pool.unwrap_or(shared).max(s).min(shared);
        let free = |used: u64| shared.saturating_sub(used) as f64;
        let most_free = free(s.saturating_sub(packet).min(shared));
        let least_free = free(most_used);
        self.alpha = self.alpha.and(Interval {
            least: if most_free > 0.0 { low / most_free } else { 0.0 },
            most: (least_free > 0.0).then(|| high / least_free),
        });
        if let Some(Threshold::Dynamic(exponent)) = self.profile.threshold.as_ref().map(|one| one.value) {
            let alpha = 2f64.powi(i32::from(exponent));
            let most = pool.map(|pool| pool.max(s) as f64 + high / alpha);
            let size = Interval { least: s as f64 - packet as f64 + low / alpha, most };
            self.size = self.size.and(size);
        }
        if let Some(total) = reading.total {
            // Reserve, shared memory and headroom may peak at different times, so the sum of their
            // peaks may exceed the peak of the total.
            let used = total.saturating_sub(reading.shared + reading.headroom) as f64;
            let own = Interval { least: used, most: Some(used + packet as f64) };
            self.reserve = Some(self.reserve.map_or(own, |before| before.and(own)));
        }
    }

    fn configured(&self) -> Option<i8> {
        match self.profile.threshold.as_ref()?.value {
            Threshold::Dynamic(exponent) => Some(exponent),
            Threshold::Static(_) => None,
        }
    }

    /// Returns the evidence of all watermark readings for each exponent of alpha in [`EXPONENTS`].
    fn evidence(&self) -> Vec<f64> {
        let of = |exponent: i8| {
            let alpha = 2f64.powi(i32::from(exponent));
            self.reached.iter().map(|one| one.evidence(alpha, self.shared, self.packet)).sum()
        };
        EXPONENTS.map(of).collect()
    }

    fn estimate(mut self, evidence: &[f64]) -> ProfileEstimate {
        if !self.reached.is_empty() {
            self.alpha = self.alpha.and(Interval { least: self.floor, most: None });
        }
        let value = |exponent: i8| 2f64.powi(i32::from(exponent));
        let exponents: Vec<i8> = match self.reached.len() {
            0 => Vec::new(),
            _ => EXPONENTS.filter(|exponent| self.alpha.contains(value(*exponent))).collect(),
        };
        // A bound of alpha is tight if a group or queue with the profile filled alone, or filled
        // last. Later packets of other groups or queues loosen the bound a little, and then the
        // evidence cannot distinguish the exponents. Farther from the bounds, the exponent in the
        // middle between the bounds is the likeliest.
        let bounds = [Some(self.alpha.least.max(f64::MIN_POSITIVE)), self.alpha.most]
            .map(|bound| bound.map(f64::log2));
        let known: Vec<f64> = bounds.into_iter().flatten().collect();
        let middle = known.iter().sum::<f64>() / known.len() as f64;
        let distance = |exponent: &i8| {
            let to = |point: f64| (f64::from(*exponent) - point).abs();
            let nearest = known.iter().map(|bound| to(*bound)).fold(f64::INFINITY, f64::min);
            if nearest < TIGHT { nearest } else { TIGHT + to(middle) }
        };
        let evidence = |exponent: &i8| evidence[usize::from(exponent.abs_diff(*EXPONENTS.start()))];
        let best = exponents.iter().copied().min_by(|a, b| {
            evidence(b).total_cmp(&evidence(a)).then_with(|| distance(a).total_cmp(&distance(b)))
        });
        let configured = self.configured();
        ProfileEstimate {
            profile: self.profile.name.clone(),
            pool: self.pool,
            readings: self.reached.len(),
            alpha: self.alpha,
            best,
            exponents,
            configured,
            shared: self.size,
            configured_shared: self.shared,
            reserve: self.reserve,
            configured_reserve: self.profile.reserve(),
        }
    }
}

/// Describes the configured values that the watermark readings exclude, in sentences.
fn departures(profiles: &[ProfileEstimate], divisor: u64, chip: &Chip) -> Vec<String> {
    let mut found = Vec::new();
    if divisor > 0 && !divisor.is_multiple_of(chip.cell) {
        found.push(format!(
            "Watermarks are multiples of {divisor} B, and not of the cell of {} ({} B).",
            chip.title, chip.cell
        ));
    }
    for one in profiles.iter().filter(|one| one.readings > 0) {
        if let Some(configured) = one.configured.filter(|own| !one.exponents.contains(own)) {
            let say = match one.best {
                Some(best) => format!("the switch behaves as with {best}"),
                None => "no alpha fits: check the pool's size and the chip".to_owned(),
            };
            found.push(format!("{}: dynamic_th is {configured}, and {say}.", one.profile));
        }
        if let Some(reserve) = one.reserve.filter(|own| !own.contains(one.configured_reserve as f64)) {
            found.push(format!(
                "{}: size is {} B, and {} B are in use beyond shared memory and headroom.",
                one.profile, one.configured_reserve, reserve.least
            ));
        }
    }
    found
}
