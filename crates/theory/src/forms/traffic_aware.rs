//! Burst durations that Dynamic Thresholds, EDT and traffic-aware thresholds (TDT) absorb, and
//! TDT's parameters (TDT Eqs. 1–15, §V-C).
//!
//! N ports are at their thresholds. At one instant M idle ports get a burst each.
//! The arrival rate R at every busy port is more than the port rate C. Each port has one queue. All
//! sizes are in one unit, rates in that unit per time (bits with bits/s, or bytes with bytes/s).

use super::{Domain, above, at_least_one, check, positive};

/// The burst scenario of section III of the TDT paper.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bursts {
    /// Size B of the shared buffer.
    pub buffer: f64,
    /// Number n of ports of the switch.
    pub ports: u32,
    /// Number N of ports whose queue has reached its threshold.
    pub congested: u32,
    /// Number M of ports that receive a burst.
    pub bursting: u32,
    /// Factor α of Dynamic Thresholds.
    pub alpha: f64,
    /// Arrival rate R at each busy port (rate).
    pub arrival_rate: f64,
    /// Sending rate C of a port (rate).
    pub port_rate: f64,
}

/// The numbers N, M and R − C of the scenario, after their check.
struct Checked {
    n: f64,
    m: f64,
    growth: f64,
}

impl Bursts {
    fn check(&self) -> Domain<Checked> {
        positive("buffer", self.buffer)?;
        positive("alpha", self.alpha)?;
        positive("port_rate", self.port_rate)?;
        let m = at_least_one("bursting", self.bursting)?;
        above("arrival_rate", self.arrival_rate, self.port_rate, "the port rate")?;
        let n = f64::from(self.congested);
        let idle = f64::from(self.ports) - m;
        check(n <= idle, "congested", n, format_args!("at most {idle} (the ports without a burst)"))?;
        Ok(Checked { n, m, growth: self.arrival_rate - self.port_rate })
    }

    /// Arrival rate up to which queues follow their falling thresholds (case 1):
    /// `C·(1 + (1 + αN)/(αM))` (section III; rate). [`f64::INFINITY`] without congested ports,
    /// because no queue has a threshold to follow. (The printed form gives a finite number, which
    /// has no effect.)
    ///
    /// # Errors
    /// If a size, rate or factor is not positive, R ≤ C, M = 0, or more ports are busy than the
    /// switch has.
    pub fn case_1_limit(&self) -> Domain<f64> {
        let Checked { n, m, .. } = self.check()?;
        if self.congested == 0 {
            return Ok(f64::INFINITY);
        }
        Ok(self.port_rate * (1.0 + (1.0 + self.alpha * n) / (self.alpha * m)))
    }

    /// Longest burst that Dynamic Thresholds absorb (Eqs. 3, 7; time).
    ///
    /// # Errors
    /// Returns the errors of [`Self::case_1_limit`].
    pub fn dynamic_threshold(&self) -> Domain<f64> {
        let Checked { n, m, growth } = self.check()?;
        let a = self.alpha;
        if self.arrival_rate <= self.case_1_limit()? {
            return Ok(a * self.buffer / ((1.0 + a * (m + n)) * growth));
        }
        let closing = (1.0 + a * m) * growth - a * n * self.port_rate;
        Ok(a * self.buffer / ((1.0 + a * n) * closing))
    }

    /// Longest burst that EDT absorbs (Eqs. 5, 13; time). This burst always satisfies Eq. 14
    /// (E-TDT-5).
    ///
    /// # Errors
    /// Returns the errors of [`Self::case_1_limit`].
    pub fn enhanced_dynamic_threshold(&self) -> Domain<f64> {
        let Checked { n, m, .. } = self.check()?;
        if self.arrival_rate <= self.case_1_limit()? {
            return self.ideal();
        }
        let net = m * self.arrival_rate - (m + n) * self.port_rate;
        Ok(self.buffer / ((1.0 + self.alpha * n) * net))
    }

    /// The second condition printed for EDT in case 2: `αB / ((1 + αN)·C)`, the time in which the
    /// old queues empty (Eq. 14; time). The second condition never applies (E-TDT-5).
    ///
    /// # Errors
    /// Returns the errors of [`Self::case_1_limit`].
    pub fn old_queues_empty_printed(&self) -> Domain<f64> {
        let Checked { n, .. } = self.check()?;
        Ok(self.alpha * self.buffer / ((1.0 + self.alpha * n) * self.port_rate))
    }

    /// Longest burst that a whole empty buffer absorbs: `B / (M(R−C))` (time).
    /// No policy absorbs a longer burst.
    ///
    /// # Errors
    /// Returns the errors of [`Self::case_1_limit`].
    pub fn ideal(&self) -> Domain<f64> {
        let Checked { m, growth, .. } = self.check()?;
        Ok(self.buffer / (m * growth))
    }

    /// Longest burst that TDT absorbs once the N congested ports are evacuated:
    /// `(B − N·B/n) / (M(R−C))`, because each evacuated port keeps B/n (E-TDT-2; time).
    ///
    /// # Errors
    /// Returns the errors of [`Self::case_1_limit`].
    pub fn traffic_aware(&self) -> Domain<f64> {
        let Checked { n, .. } = self.check()?;
        Ok(self.ideal()? * (1.0 - n / f64::from(self.ports)))
    }

    /// Longest burst that TDT absorbs according to the printed text, with the whole buffer: `B /
    /// (M(R−C))` (§VI-A, E-TDT-2; time).
    ///
    /// # Errors
    /// Returns the errors of [`Self::case_1_limit`].
    pub fn traffic_aware_printed(&self) -> Domain<f64> {
        self.ideal()
    }

    /// Length (R − C)·d of a bursting port's queue after `duration` (size).
    ///
    /// # Errors
    /// Returns the errors of [`Self::case_1_limit`]. Also refuses a negative duration.
    pub fn stored(&self, duration: f64) -> Domain<f64> {
        Ok(self.check()?.growth * super::not_negative("duration", duration)?)
    }
}

/// State of a port under TDT or EDT.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PortState {
    /// The port is controlled: its limit is `alpha·(B − Q)`.
    Normal,
    /// The port absorbs a burst and is uncontrolled. The limit of the port is B divided by the
    /// number of absorbing ports.
    Absorption,
    /// The port is being evacuated (TDT only): its limit is B divided by the number of ports.
    Evacuation,
}

/// Threshold of a port under EDT or TDT (Eqs. 1–2 and §IV; size). `ports_in_state` is the number of
/// absorbing ports, or of all ports for evacuation. The normal state does not use `ports_in_state`.
///
/// # Errors
/// If `alpha` or `buffer` is not positive, `occupancy` is outside 0 to `buffer`, or
/// `ports_in_state` is 0.
pub fn threshold(
    state: PortState,
    alpha: f64,
    buffer: f64,
    occupancy: f64,
    ports_in_state: u32,
) -> Domain<f64> {
    match state {
        PortState::Normal => super::dynamic_threshold::threshold(alpha, buffer, occupancy),
        PortState::Absorption | PortState::Evacuation => {
            super::dynamic_threshold::threshold(alpha, buffer, occupancy)?;
            Ok(buffer / at_least_one("ports_in_state", ports_in_state)?)
        }
    }
}

/// TDT's counters and bounds (section V-C), in packets as the buffer size.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Parameters {
    /// Net number of arrivals that indicates a burst: B/n.
    pub net_enqueues: f64,
    /// Number of dequeues within which the net enqueues must occur:
    /// NEC/(k − 1), for bursts of at least k port rates.
    pub output_1: f64,
    /// Number of drops that indicates long-lived overload: B/2 (for alpha = 1).
    pub drops: f64,
    /// Number of dequeues after which an absorption ends: 2B.
    pub output_2: f64,
    /// Number of consecutive dequeues that ends a burst: 3 to 5.
    pub dequeues: f64,
    /// Queue length below which an evacuation ends: B/(2n).
    pub lower_bound: f64,
}

/// The parameters that section V-C suggests for a buffer of `buffer` packets, `ports` ports and
/// bursts of at least `burst_ratio` port rates.
///
/// The paper's own experiments use OC2 = 1344 = 32·42 for B = 667, not 2B = 1334 (E-TDT-4).
///
/// # Errors
/// If `buffer` is not positive, `ports` is 0, or `burst_ratio` is not above 1.
pub fn parameters(buffer: f64, ports: u32, burst_ratio: f64) -> Domain<Parameters> {
    let net_enqueues = positive("buffer", buffer)? / at_least_one("ports", ports)?;
    above("burst_ratio", burst_ratio, 1.0, "the port rate, in port rates")?;
    Ok(Parameters {
        net_enqueues,
        output_1: net_enqueues / (burst_ratio - 1.0),
        drops: buffer / 2.0,
        output_2: 2.0 * buffer,
        dequeues: 3.0,
        lower_bound: net_enqueues / 2.0,
    })
}

/// The parameter OC2 as in the paper's experiments: 2·n·NEC with NEC rounded (E-TDT-4; packets).
///
/// # Errors
/// Returns the errors of [`parameters`].
pub fn output_2_printed(buffer: f64, ports: u32) -> Domain<f64> {
    Ok(2.0 * f64::from(ports) * parameters(buffer, ports, 2.0)?.net_enqueues.round())
}

/// Jain's fairness index `(Σx)² / (n·Σx²)` (Eq. 15). The index is 1 if all values are equal, and
/// 1/n if only one value is not 0.
///
/// # Errors
/// If `values` is empty, has a negative value, or has only zeros.
pub fn fairness(values: &[f64]) -> Domain<f64> {
    check(!values.is_empty(), "values", 0.0, "one value or more")?;
    values.iter().try_for_each(|&value| super::not_negative("values", value).map(drop))?;
    let (sum, squares) = values.iter().fold((0.0, 0.0), |(sum, squares), x| (sum + x, squares + x * x));
    check(squares > 0.0, "values", 0.0, "a value above 0 among them")?;
    Ok(sum * sum / (values.len() as f64 * squares))
}
