//! Time of a burst's first loss in a buffer with thresholds `omega_i · (B − Q)`.
//! ABM (A.4–A.7) and Plasticine (App. B) share this transient analysis.
//! Dynamic Thresholds are the case omega = alpha.
//!
//! Before the burst every old queue is at its threshold. At time 0 new queues appear,
//! each with the arrival rate r = `arrival_rate` and the drain rate γ = `drain_rate`. Old queues
//! whose omega is unchanged (G_ne) follow their falling threshold while they drain fast enough.
//! Old queues whose omega fell (G_e) are above their threshold and drain at full rate.
//! The first loss is at `t1`, when a new queue meets its falling threshold.
//!
//! All sizes are in one unit, and all rates are in this unit per time.

use super::{Domain, above, at_least_one, check, positive};

/// A group of equal queues that were at their threshold before the burst.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OldQueues {
    /// Number of queues in the group of equal queues.
    pub count: u32,
    /// Omega (factor of the threshold) of each queue before the burst.
    pub omega_before: f64,
    /// Omega (factor of the threshold) of each queue during the burst. A burst can only reduce
    /// omega, by more congested queues or a smaller share of the port.
    pub omega: f64,
    /// Drain rate of each queue during the burst (rate).
    pub drain_rate: f64,
}

impl OldQueues {
    /// A group of queues whose omega the burst does not change (the paper's group G_ne).
    #[must_use]
    pub const fn unchanged(count: u32, omega: f64, drain_rate: f64) -> Self {
        Self { count, omega_before: omega, omega, drain_rate }
    }

    /// Whether the burst changes the queues' omega. Such queues belong to the paper's group G_e.
    #[must_use]
    pub fn is_affected(&self) -> bool {
        self.omega < self.omega_before
    }

    fn check(&self) -> Domain<()> {
        positive("omega", self.omega)?;
        positive("drain_rate", self.drain_rate)?;
        let valid = format_args!("at least {} (omega from the burst on: it cannot rise)", self.omega);
        check(self.omega_before >= self.omega, "omega_before", self.omega_before, valid).map(drop)
    }
}

/// The group of equal queues that appear at time 0.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NewQueues {
    /// Number of queues that appear with the burst.
    pub count: u32,
    /// Omega (factor of the threshold) of each new queue. [`f64::INFINITY`] if only the physical
    /// buffer limits the queues (EDT's uncontrolled ports).
    pub omega: f64,
    /// Rate at which the burst arrives at each queue (rate).
    pub arrival_rate: f64,
    /// Drain rate of each queue (rate).
    pub drain_rate: f64,
}

impl NewQueues {
    /// Rate r − γ at which each new queue grows: arrival rate less drain rate.
    #[must_use]
    pub fn growth(&self) -> f64 {
        self.arrival_rate - self.drain_rate
    }

    fn check(&self) -> Domain<()> {
        at_least_one("count", self.count)?;
        if self.omega != f64::INFINITY {
            positive("omega", self.omega)?;
        }
        positive("drain_rate", self.drain_rate)?;
        above("arrival_rate", self.arrival_rate, self.drain_rate, "the drain rate").map(drop)
    }
}

/// Refuses an invalid state of the buffer before a burst.
fn check_state(buffer: f64, old: &[OldQueues], new: &NewQueues) -> Domain<()> {
    positive("buffer", buffer)?;
    old.iter().try_for_each(OldQueues::check)?;
    new.check()
}

/// Sum of count · value over the queues that `keep` selects.
fn sum(old: &[OldQueues], keep: impl Fn(&OldQueues) -> bool, value: impl Fn(&OldQueues) -> f64) -> f64 {
    old.iter().filter(|q| keep(q)).map(|q| f64::from(q.count) * value(q)).sum()
}

/// Sums of omegas and drain rates that the printed formulas contain.
struct Sums {
    /// Value 1 + Σ omega over all old queues, before the burst.
    before: f64,
    /// Value 1 + Σ omega over the unaffected old queues.
    unaffected: f64,
    /// Sum of the drain rates of the affected old queues.
    affected_drain: f64,
    /// Sum of the drain rates of all old queues.
    drain: f64,
    /// Sum of r − γ over the new queues.
    growth: f64,
}

impl Sums {
    fn over(old: &[OldQueues], new: &NewQueues) -> Self {
        Self {
            before: 1.0 + sum(old, |_| true, |q| q.omega_before),
            unaffected: 1.0 + sum(old, |q| !q.is_affected(), |q| q.omega),
            affected_drain: sum(old, OldQueues::is_affected, |q| q.drain_rate),
            drain: sum(old, |_| true, |q| q.drain_rate),
            growth: f64::from(new.count) * new.growth(),
        }
    }
}

/// Arrival rate up to which every unaffected old queue follows its threshold (case 1;
/// ABM Eq. 28, Plasticine Eq. 33, corrected per queue, E-ABM-4):
/// `γ + [Σ_Ge γ_e + (1 + S_ne) · min_i(γ_i/ω_i)] / n_new`. [`f64::INFINITY`] if no queue has to
/// follow. The function does not use the field `arrival_rate` of `new` (rate).
///
/// # Errors
/// If `count`, an omega or a drain rate is not positive, or an omega rises.
pub fn case_1_limit(old: &[OldQueues], new: &NewQueues) -> Domain<f64> {
    let slowest = old.iter().filter(|q| !q.is_affected() && q.count > 0).map(|q| q.drain_rate / q.omega);
    limit(old, new, slowest.fold(f64::INFINITY, f64::min))
}

/// Arrival rate up to which case 1 applies, by ABM Eq. 28 and 38 (Plasticine 33 and 44) as printed.
/// The printed form has the sum over G_ne instead of the slowest queue (E-ABM-4). The condition is
/// necessary for case 1, but sufficient only if γ/ω is equal for all queues of G_ne (rate).
///
/// # Errors
/// Returns the errors of [`case_1_limit`].
pub fn case_1_limit_printed(old: &[OldQueues], new: &NewQueues) -> Domain<f64> {
    let omega = sum(old, |q| !q.is_affected(), |q| q.omega);
    let drain = sum(old, |q| !q.is_affected(), |q| q.drain_rate);
    limit(old, new, if omega > 0.0 { drain / omega } else { f64::INFINITY })
}

fn limit(old: &[OldQueues], new: &NewQueues, drain_per_omega: f64) -> Domain<f64> {
    // The limit of case 1 does not depend on the arrival rate, so any valid rate is fine for the
    // check.
    let new = NewQueues { arrival_rate: new.drain_rate + 1.0, ..*new };
    check_state(1.0, old, &new)?;
    let sums = Sums::over(old, &new);
    let room = sums.affected_drain + sums.unaffected * drain_per_omega;
    Ok(new.drain_rate + room / f64::from(new.count))
}

/// Time of the first loss if all queues of G_ne follow their thresholds (ABM Eq. 29,
/// Plasticine Eq. 39, with G_e for the printed G_n, E-ABM-7; time):
/// `ω·B·(1+S_ne) / [(1+S_old)·((r−γ)(1+S_ne) + ω·(−Σ_Ge γ + Σ_new (r−γ)))]`.
/// [`f64::INFINITY`] if the affected queues drain so much faster than the burst fills that the
/// queue never reaches its threshold (E-ABM-5).
///
/// The form is valid in case 1 ([`case_1_limit`]) until an affected queue falls to its new
/// threshold. [`first_touch`] has neither restriction.
///
/// # Errors
/// If `buffer`, an omega or a rate is not positive, an omega rises, or the arrival rate is not
/// above the drain rate.
pub fn t1_case_1(buffer: f64, old: &[OldQueues], new: &NewQueues) -> Domain<f64> {
    check_state(buffer, old, new)?;
    let sums = Sums::over(old, new);
    let slope = (sums.growth - sums.affected_drain) / sums.unaffected;
    Ok(touch(buffer / sums.before, 0.0, slope, new))
}

/// Time of the first loss if no old queue follows (ABM Eq. 39, Plasticine Eq. 46; time):
/// `ω·B / [(1+S_old)·((r−γ) + ω·(−Σ_old γ + Σ_new (r−γ)))]`.
///
/// # Errors
/// Returns the errors of [`t1_case_1`].
pub fn t1_case_2(buffer: f64, old: &[OldQueues], new: &NewQueues) -> Domain<f64> {
    check_state(buffer, old, new)?;
    let sums = Sums::over(old, new);
    Ok(touch(buffer / sums.before, 0.0, sums.growth - sums.drain, new))
}

/// Time until a new queue of length `length` meets its threshold if the free buffer falls at
/// the rate `slope`.
fn touch(free: f64, length: f64, slope: f64, new: &NewQueues) -> f64 {
    let (ahead, closing) = if new.omega == f64::INFINITY {
        (free, slope)
    } else {
        (new.omega * free - length, new.growth() + new.omega * slope)
    };
    if closing > 0.0 { ahead / closing } else { f64::INFINITY }
}

/// Thresholds and queue lengths from the burst to the first loss (ABM Eqs. 30–33, Plasticine
/// 35–38).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Trajectory {
    /// Free buffer before the burst: B/(1 + S_old) (size).
    pub free_before: f64,
    /// Rate dQ/dt at which the free buffer falls, negative if it grows (rate).
    pub occupancy_slope: f64,
}

impl Trajectory {
    /// Trajectory while all queues of G_ne follow their thresholds (case 1):
    /// dQ/dt = `(−Σ_Ge γ + Σ_new (r−γ)) / (1 + S_ne)` (ABM Eq. 30).
    ///
    /// # Errors
    /// Returns the errors of [`t1_case_1`].
    pub fn case_1(buffer: f64, old: &[OldQueues], new: &NewQueues) -> Domain<Self> {
        check_state(buffer, old, new)?;
        let sums = Sums::over(old, new);
        let occupancy_slope = (sums.growth - sums.affected_drain) / sums.unaffected;
        Ok(Self { free_before: buffer / sums.before, occupancy_slope })
    }

    /// Trajectory while no old queue follows (case 2): dQ/dt = `−Σ_old γ + Σ_new (r−γ)`.
    ///
    /// # Errors
    /// Returns the errors of [`t1_case_1`].
    pub fn case_2(buffer: f64, old: &[OldQueues], new: &NewQueues) -> Domain<Self> {
        check_state(buffer, old, new)?;
        let sums = Sums::over(old, new);
        Ok(Self { free_before: buffer / sums.before, occupancy_slope: sums.growth - sums.drain })
    }

    /// Threshold of a queue with `omega` at the time `time` (ABM Eq. 32; size).
    /// The length of a queue that follows its threshold equals the threshold (Eq. 33, first case).
    #[must_use]
    pub fn threshold(&self, omega: f64, time: f64) -> f64 {
        omega * (self.free_before - self.occupancy_slope * time)
    }

    /// Length of a queue that drains at full rate (ABM Eq. 33, second case; size).
    #[must_use]
    pub fn draining(&self, omega_before: f64, drain_rate: f64, time: f64) -> f64 {
        omega_before * self.free_before - drain_rate * time
    }

    /// Length of a new queue (ABM Eq. 33, third case; size).
    #[must_use]
    pub fn growing(&self, new: &NewQueues, time: f64) -> f64 {
        new.growth() * time
    }
}

/// Group of the old queues that follow their thresholds right after the burst began.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Regime {
    /// All unaffected queues follow their thresholds, or none exists: case 1.
    AllFollow,
    /// Some queues follow their thresholds: between the papers' two cases (E-ABM-4).
    SomeFollow,
    /// No unaffected queue follows its threshold: case 2.
    NoneFollows,
}

/// The first loss of a burst: its time, and the state of the queues.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Touch {
    /// Time t1 from the start of the burst to its first loss.
    /// The time is [`f64::INFINITY`] if no packet is lost.
    pub time: f64,
    /// Length (r − γ)·t1 of each new queue at the first loss (size).
    pub stored: f64,
    /// Arrivals r·t1 at each new queue until the first loss (ABM Eq. 42, Plasticine Eq. 49; size).
    pub arrived: f64,
    /// Group of the old queues that follow their thresholds at the start.
    pub regime: Regime,
    /// Number of old queues that cannot follow at the start, including the affected queues.
    pub lagging: u32,
    /// Growth rate dQ/dt of the buffer occupancy at the start of the burst (rate).
    pub occupancy_slope: f64,
    /// Number of old queues that fell to their new threshold before the first loss.
    pub rejoined: u32,
}

/// Relative difference below which two instants or two rates are treated as equal, because of
/// rounding errors.
const ROUNDING: f64 = 1e-12;

/// Computes the first loss exactly for any mix of old queues, in pieces of constant slope. The
/// closed forms cover only cases in which all or no old queues follow.
///
/// In each piece the occupancy grows at `X = (Σ_new (r−γ) − Σ_lagging γ) / (1 + Σ_following ω)`,
/// and a queue follows iff `ω·X ≤ γ`. A lagging queue follows again when it has drained down
/// to its threshold.
///
/// # Errors
/// Returns the errors of [`t1_case_1`].
pub fn first_touch(buffer: f64, old: &[OldQueues], new: &NewQueues) -> Domain<Touch> {
    check_state(buffer, old, new)?;
    let mut free = buffer / Sums::over(old, new).before;
    let mut lengths: Vec<f64> = old.iter().map(|q| q.omega_before * free).collect();
    let mut follows: Vec<bool> = old.iter().map(|q| !q.is_affected()).collect();
    let (mut time, mut rejoined) = (0.0, 0);
    let mut beginning = None;
    loop {
        let slope = settle(old, &mut follows, new);
        let (regime, lagging, occupancy_slope) =
            *beginning.get_or_insert_with(|| (regime(old, &follows), lagging(old, &follows), slope));
        let until_touch = touch(free, new.growth() * time, slope, new);
        // The closure returns the time until a lagging queue has fallen to its threshold. For a
        // queue that just met its threshold, the time is 0 or, by rounding, slightly negative.
        let until_join = |i: usize| {
            let closing = old[i].drain_rate - old[i].omega * slope;
            let ahead = (lengths[i] - old[i].omega * free).max(0.0);
            let rejoins = !follows[i] && old[i].count > 0 && closing > old[i].drain_rate * ROUNDING;
            rejoins.then(|| ahead / closing)
        };
        let steps: Vec<Option<f64>> = (0..old.len()).map(until_join).collect();
        let next = steps.iter().flatten().copied().min_by(f64::total_cmp).filter(|step| *step < until_touch);
        let Some(step) = next else {
            time += until_touch;
            let (stored, arrived) = (new.growth() * time, new.arrival_rate * time);
            return Ok(Touch { time, stored, arrived, regime, lagging, occupancy_slope, rejoined });
        };
        time += step;
        free -= slope * step;
        // All queues that reach their thresholds at this instant follow again, so that equal queues
        // in separate groups behave as one group.
        let instant = step + ROUNDING * (time + step);
        for (i, own_step) in steps.iter().enumerate() {
            if own_step.is_some_and(|own_step| own_step <= instant) {
                follows[i] = true;
                rejoined += old[i].count;
            }
            lengths[i] = if follows[i] { old[i].omega * free } else { lengths[i] - old[i].drain_rate * step };
        }
    }
}

/// Removes queues that cannot follow their thresholds, until all remaining queues can follow.
/// Returns dQ/dt. Each removal raises dQ/dt, so the order does not matter, and a queue that fell
/// behind stays behind.
fn settle(old: &[OldQueues], follows: &mut [bool], new: &NewQueues) -> f64 {
    loop {
        let mut growth = f64::from(new.count) * new.growth();
        let mut omegas = 1.0;
        for (queue, &follows) in old.iter().zip(&*follows) {
            if follows {
                omegas += f64::from(queue.count) * queue.omega;
            } else {
                growth -= f64::from(queue.count) * queue.drain_rate;
            }
        }
        let slope = growth / omegas;
        let mut stable = true;
        for (queue, follows) in old.iter().zip(follows.iter_mut()) {
            if *follows && queue.count > 0 && queue.omega * slope > queue.drain_rate * (1.0 + ROUNDING) {
                *follows = false;
                stable = false;
            }
        }
        if stable {
            return slope;
        }
    }
}

fn regime(old: &[OldQueues], follows: &[bool]) -> Regime {
    let unaffected = || old.iter().zip(follows).filter(|(q, _)| !q.is_affected() && q.count > 0);
    if unaffected().all(|(_, follows)| *follows) {
        Regime::AllFollow
    } else if unaffected().any(|(_, follows)| *follows) {
        Regime::SomeFollow
    } else {
        Regime::NoneFollows
    }
}

fn lagging(old: &[OldQueues], follows: &[bool]) -> u32 {
    old.iter().zip(follows).filter(|(_, follows)| !**follows).map(|(q, _)| q.count).sum()
}
