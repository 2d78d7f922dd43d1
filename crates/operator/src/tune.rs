//! ABM's control plane on a switch with Dynamic Thresholds (ABM, SIGCOMM 2022, section 4.4). The
//! alpha of every profile follows the number of its congested queues and their drain rates. Alpha
//! is a power of two within bounds.
//!
//! [`Tuner`] decides about alphas, without a clock or a database. [`Daemon`] reads counters and
//! writes `dynamic_th`.

mod counters;
mod daemon;
mod journal;
mod restore;

pub use counters::{Reading, Sample, sample};
pub use daemon::{Daemon, DaemonEvent};
pub use journal::{Entry, Journal, JournalFile, Keeper, Owner};
pub use restore::recover;

use crate::OperatorError;
use bufferlab_sonic::config::{Config, Threshold};
use bufferlab_sonic::resolve::{LOSSLESS_POOL, Resolved};
use serde::Serialize;
use std::collections::BTreeMap;

/// Smallest and largest exponent of alpha that all chips accept. On some chips, exponents beyond
/// these bounds mean no memory or all memory.
const EXPONENTS: (i8, i8) = (-7, 7);
/// Fraction of a queue's threshold above which the queue is congested (from ABM).
const CONGESTED: f64 = 0.9;
/// Smallest drain rate of a queue, as a fraction of the port's rate: an equal share
/// of eight queues.
const DRAIN_MIN: f64 = 0.125;

/// Limits of the tuner that an operator sets.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settings {
    /// Largest number of steps by which the tuner lowers the exponent of alpha below the configured
    /// exponent.
    pub down: u8,
    /// Largest number of steps by which the tuner raises the exponent of alpha above the configured
    /// exponent.
    pub up: u8,
    /// Least number of tuning intervals between two changes of a profile's alpha.
    pub hold: u32,
    /// Number of consecutive faults after which the daemon reverts all profiles.
    pub faults_max: u32,
    /// Whether the tuner also changes lossless groups, which moves their pause points.
    pub lossless: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self { down: 2, up: 2, hold: 3, faults_max: 3, lossless: false }
    }
}

/// A priority group or queue that the tuner watches.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Member {
    /// Name of the port with the priority group or queue.
    pub port: String,
    /// Number of the priority group or queue at its port.
    pub index: u8,
    /// Whether this is a priority group (true) or a queue (false).
    pub group: bool,
}

/// A buffer profile whose alpha the tuner changes.
#[derive(Clone, Debug)]
pub struct Tracked {
    /// Name of the profile that the tuner tracks.
    pub profile: String,
    /// Configured exponent of the profile's alpha.
    pub original: i8,
    /// Current exponent of the profile's alpha on the switch.
    pub applied: i8,
    /// Smallest and largest exponent of alpha that the tuner may set.
    pub bounds: (i8, i8),
    /// Name of the pool that the profile is in, and size of this pool (bytes).
    pub pool: (String, u64),
    /// Priority groups and queues that use the profile.
    pub members: Vec<Member>,
    /// Whether another program has changed the profile, so that the tuner no longer changes it.
    pub left_alone: bool,
    since: u32,
}

/// A change of a profile's alpha that is due.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Decision {
    /// Name of the changed profile.
    pub profile: String,
    /// Exponent of alpha before the change.
    pub from: i8,
    /// Exponent of alpha after the change.
    pub to: i8,
    /// Reason for the change of alpha.
    pub reason: String,
}

/// Tuner that decides about the alphas of profiles.
#[derive(Clone, Debug)]
pub struct Tuner {
    settings: Settings,
    /// Tracked profiles in the order of their names.
    pub tracked: Vec<Tracked>,
    /// Speeds of the ports by name of the port (bit/s).
    speeds: BTreeMap<String, f64>,
    before: Option<Sample>,
}

impl Tuner {
    /// Creates a tuner. It tracks the profiles of lossy queues with a dynamic limit, and, if the
    /// settings include lossless groups, the profiles of these groups.
    ///
    /// # Errors
    /// If no profile can be tuned.
    pub fn new(config: &Config, settings: Settings) -> Result<Self, OperatorError> {
        let mut members: BTreeMap<String, Vec<Member>> = BTreeMap::new();
        for port in config.named_ports() {
            for index in 0..8 {
                let member = |group| Member { port: port.name().to_owned(), index, group };
                if let Resolved::Profile(profile) = config.queue(&port, index)
                    && !config.is_lossless_queue_profile(&profile.name)
                {
                    members.entry(profile.name.clone()).or_default().push(member(false));
                }
                if settings.lossless
                    && let Resolved::Profile(profile) = config.group(&port, index)
                    && profile.is_lossless()
                {
                    members.entry(profile.name.clone()).or_default().push(member(true));
                }
            }
        }
        let tracked: Vec<_> = members
            .into_iter()
            .filter_map(|(name, members)| tracked(config, &settings, &name, members))
            .collect();
        if tracked.is_empty() {
            return Err(OperatorError::new(
                "no profile of BUFFER_PROFILE has a dynamic_th that could be tuned",
                "give a configuration with lossy queues in a dynamic pool, or add --lossless",
            ));
        }
        let speed =
            |info: &bufferlab_sonic::config::PortInfo| info.speed_mbps.as_ref().map(|speed| speed.value);
        let speeds = config
            .ports
            .iter()
            .filter_map(|(port, info)| Some((port.name().to_owned(), speed(info)? as f64 * 1e6)));
        Ok(Self { settings, tracked, speeds: speeds.collect(), before: None })
    }

    /// Settings of the tuner that the operator chose.
    #[must_use]
    pub const fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Returns the changes of alphas that are due after a sample of counters. The tuner only stores
    /// the first sample.
    ///
    /// # Errors
    /// If the sample has impossible numbers; the tuner then ignores it.
    pub fn decide(&mut self, sample: Sample) -> Result<Vec<Decision>, String> {
        self.plausible(&sample)?;
        let Some(before) = self.before.replace(sample.clone()) else { return Ok(Vec::new()) };
        let seconds = sample.seconds - before.seconds;
        if seconds <= 0.0 {
            return Err(format!("time went from {} s to {} s", before.seconds, sample.seconds));
        }
        let mut due = Vec::new();
        for tracked in self.tracked.iter_mut().filter(|tracked| !tracked.left_alone) {
            tracked.since = tracked.since.saturating_add(1);
            let seen = ProfileUse::from_samples(tracked, (&before, &sample), seconds, &self.speeds);
            let target = seen.target(tracked.bounds);
            if target == tracked.applied || tracked.since < self.settings.hold {
                continue;
            }
            let to = tracked.applied + (target - tracked.applied).signum();
            let reason = seen.reason(tracked, target);
            due.push(Decision { profile: tracked.profile.clone(), from: tracked.applied, to, reason });
        }
        Ok(due)
    }

    /// Records that the daemon made a change of a profile.
    pub fn applied(&mut self, decision: &Decision) {
        if let Some(tracked) = self.tracked.iter_mut().find(|tracked| tracked.profile == decision.profile) {
            tracked.applied = decision.to;
            tracked.since = 0;
        }
    }

    /// Refuses a sample with impossible counters: watermarks far above the size of the pool.
    fn plausible(&self, sample: &Sample) -> Result<(), String> {
        for tracked in &self.tracked {
            let (pool, size) = &tracked.pool;
            for member in &tracked.members {
                if let Some(reading) = sample.members.get(member)
                    && reading.watermark > size.saturating_mul(2)
                {
                    return Err(format!(
                        "{} {}: a watermark of {} B in {pool} of {size} B",
                        member.port, member.index, reading.watermark
                    ));
                }
            }
        }
        Ok(())
    }
}

fn tracked(config: &Config, settings: &Settings, name: &str, members: Vec<Member>) -> Option<Tracked> {
    // A profile made from a row of pg_profile_lookup.ini is in the database only after the switch
    // has made the profile.
    let profile = config.profiles.get(name)?;
    let Threshold::Dynamic(original) = profile.threshold.as_ref()?.value else { return None };
    let pool = profile.pool.as_ref().map_or(LOSSLESS_POOL, |pool| pool.value.as_str());
    let size = config.pools.get(pool)?.size.as_ref()?.value;
    let step = |steps: u8| i8::try_from(steps).unwrap_or(i8::MAX);
    let bounds = (
        original.saturating_sub(step(settings.down)).max(EXPONENTS.0).min(original),
        original.saturating_add(step(settings.up)).min(EXPONENTS.1).max(original),
    );
    Some(Tracked {
        profile: name.to_owned(),
        original,
        applied: original,
        bounds,
        pool: (pool.to_owned(), size),
        members,
        left_alone: false,
        // The first change of a profile happens without a waiting time.
        since: u32::MAX,
    })
}

/// Use of a buffer profile in one tuning interval, from the counters.
struct ProfileUse {
    congested: usize,
    /// Mean drain rate of the profile's congested queues, as a fraction of the line rate.
    drain: f64,
    threshold: f64,
}

impl ProfileUse {
    fn from_samples(
        tracked: &Tracked,
        (before, after): (&Sample, &Sample),
        seconds: f64,
        speeds: &BTreeMap<String, f64>,
    ) -> Self {
        let (pool, size) = &tracked.pool;
        let held = tracked.members.iter().filter_map(|member| after.members.get(member));
        let held = held.map(|reading| reading.watermark).fold(0, u64::saturating_add);
        let occupied = after.pools.get(pool).copied().unwrap_or(held).min(*size);
        let threshold = 2f64.powi(i32::from(tracked.applied)) * (size - occupied) as f64;
        let (mut congested, mut drain) = (0, 0.0);
        for member in &tracked.members {
            let Some((was, is)) = before.members.get(member).zip(after.members.get(member)) else { continue };
            // A counter that was cleared in the interval gives no information about this interval.
            let dropped = is.dropped.checked_sub(was.dropped).is_some_and(|packets| packets > 0);
            let long = is.watermark > 0 && is.watermark as f64 >= CONGESTED * threshold;
            if !dropped && !long {
                continue;
            }
            congested += 1;
            let rate = is.bytes.zip(was.bytes).and_then(|(is, was)| is.checked_sub(was));
            let line = speeds.get(&member.port);
            let share = rate.zip(line).map_or(1.0, |(bytes, line)| bytes as f64 * 8.0 / seconds / line);
            drain += share.clamp(DRAIN_MIN, 1.0);
        }
        let drain = if congested == 0 { 1.0 } else { drain / congested as f64 };
        Self { congested, drain, threshold }
    }

    /// Returns the exponent of alpha that ABM demands. The alpha of a lone queue at line rate is
    /// divided by the number of congested queues and multiplied by their drain rate. The result is
    /// rounded down to a power of two.
    fn target(&self, (least, largest): (i8, i8)) -> i8 {
        let factor = self.drain / self.congested.max(1) as f64;
        // The summand prevents that a rounding error turns an exact power of two into the next
        // smaller power.
        let steps = (factor.log2() + 1e-9).floor() as i8;
        largest.saturating_add(steps).clamp(least, largest)
    }

    fn reason(&self, tracked: &Tracked, target: i8) -> String {
        format!(
            "{} of {} queues congested (threshold {:.0} B), they drain at {:.0} % of the line: 2^{} * {:.2} / {} is 2^{target} \
             within {} to {}",
            self.congested,
            tracked.members.len(),
            self.threshold,
            self.drain * 100.0,
            tracked.bounds.1,
            self.drain,
            self.congested.max(1),
            tracked.bounds.0,
            tracked.bounds.1
        )
    }
}
