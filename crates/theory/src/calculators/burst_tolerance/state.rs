//! State of a switch when a burst arrives: congested queues, drain rates and counts.

use crate::calculators::rate;
use crate::forms::{Domain, at_least_one, at_most, check, fraction, positive, share};

/// Largest number of ports in a calculation. The number is above any real switch, and its product
/// with the largest number of queues of a port fits a `u32`.
pub(in crate::calculators) const PORTS_MAX: u32 = 65_536;
pub(super) const QUEUES_MAX: u32 = 256;

/// A group of congested queues with equal alphas and drain rates.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::calculators) struct CongestedGroup {
    /// Number of congested queues in the group.
    pub(super) count: u32,
    /// Priority of the queues. In ABM, all queues of a priority share one alpha.
    pub(super) priority: u32,
    /// Alpha of each queue of the group.
    pub(super) alpha: f64,
    /// Drain rate of each queue before the burst, divided by the port rate.
    pub(super) gamma_before: f64,
    /// Drain rate of each queue during the burst, divided by the port rate.
    /// The rate is lower if the burst uses the queue's port.
    pub(super) gamma: f64,
}

/// Queues that receive the burst, each queue on a separate port.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::calculators) struct BurstGroup {
    /// Number of queues that receive the burst.
    pub(super) count: u32,
    /// Priority of the burst. `None` is a priority without congested queues.
    pub(super) priority: Option<u32>,
    /// Alpha of the burst: the alpha of the high priority, or of unscheduled packets.
    pub(super) alpha: f64,
    /// Drain rate of each queue of the burst, divided by the port rate.
    pub(super) gamma: f64,
    /// Rate at which the burst arrives at each of its queues (bits/s).
    pub(super) rate_bps: f64,
}

/// The switch, its congested queues and the burst that arrives.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::calculators) struct BurstState {
    /// Size of the shared buffer (bytes).
    pub(super) buffer_bytes: f64,
    /// Rate of every port (bits/s).
    pub(super) port_rate_bps: f64,
    /// Number of ports of the switch.
    pub(super) ports: u32,
    /// Ports with congested queues before the burst, excluding ports of the burst.
    pub(super) congested_ports: u32,
    /// Number of congested queues on each port that receives the burst.
    pub(super) queues_beside_burst: u32,
    /// Congested queues of the switch, in groups of equal queues.
    pub(super) groups: Vec<CongestedGroup>,
    /// Queues of the switch that receive the burst.
    pub(super) burst: BurstGroup,
    /// Fraction of a full port buffer that packets of large flows occupy (LossPass).
    pub(super) tau: f64,
}

/// A switch with identical ports, as the parameters of the calculator describe the switch.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::calculators) struct EvenSwitch {
    /// Size of the shared buffer (bytes).
    pub(in crate::calculators) buffer_bytes: f64,
    /// Rate of every port (bits/s).
    pub(in crate::calculators) port_rate_bps: f64,
    /// Number of ports of the switch.
    pub(in crate::calculators) ports: u32,
    /// Number of queues of each port.
    pub(in crate::calculators) queues: u32,
    /// Number of ports with congested queues.
    pub(in crate::calculators) congested: u32,
    /// Number of congested queues on each congested port. The queues share the port evenly.
    pub(in crate::calculators) congested_queues: u32,
    /// Number of priorities, assigned in turn to the congested queues of a port.
    pub(in crate::calculators) priorities: u32,
    /// Alpha of the congested queues.
    pub(in crate::calculators) alpha: f64,
    /// Number of ports that receive a burst, each in one queue.
    pub(in crate::calculators) burst_ports: u32,
    /// Number of congested queues on each port that receives the burst.
    pub(in crate::calculators) queues_beside_burst: u32,
    /// Alpha of the queues that receive the burst.
    pub(in crate::calculators) burst_alpha: f64,
    /// Whether the burst has priority 0 like the congested queues.
    /// False if the burst's priority has no other congested queue.
    pub(in crate::calculators) same_priority: bool,
    /// Rate at which the burst arrives at each of its ports (bits/s).
    pub(in crate::calculators) rate_bps: f64,
    /// Fraction of a full port buffer that packets of large flows occupy (LossPass).
    pub(in crate::calculators) tau: f64,
}

impl EvenSwitch {
    /// State of the switch and its congested queues when the burst arrives.
    ///
    /// # Errors
    /// Returns the errors of [`Self::check`]. Also refuses a burst that is not faster than the
    /// port's drain rate.
    pub(in crate::calculators) fn state(&self) -> Domain<BurstState> {
        self.check()?;
        let beside = f64::from(self.queues_beside_burst);
        let gamma = 1.0 / (1.0 + beside);
        let drain = gamma * self.port_rate_bps;
        let valid = format_args!("more than {} (the rate at which the port drains it)", rate(drain));
        check(self.rate_bps > drain, "rate", self.rate_bps, valid)?;
        let even = 1.0 / f64::from(self.congested_queues);
        let mut groups: Vec<_> = self.groups(self.congested, self.congested_queues, even, even).collect();
        if self.queues_beside_burst > 0 {
            groups.extend(self.groups(self.burst_ports, self.queues_beside_burst, 1.0 / beside, gamma));
        }
        Ok(BurstState {
            buffer_bytes: self.buffer_bytes,
            port_rate_bps: self.port_rate_bps,
            ports: self.ports,
            congested_ports: self.congested,
            queues_beside_burst: self.queues_beside_burst,
            groups,
            burst: BurstGroup {
                count: self.burst_ports,
                priority: self.same_priority.then_some(0),
                alpha: self.burst_alpha,
                gamma,
                rate_bps: self.rate_bps,
            },
            tau: self.tau,
        })
    }

    /// Refuses a size, rate or alpha that is not positive, and `tau` outside 0 to 1. Also refuses
    /// more congested ports or queues than exist, and more priorities than congested queues on a
    /// port.
    fn check(&self) -> Domain<()> {
        positive("buffer", self.buffer_bytes)?;
        positive("port_rate", self.port_rate_bps)?;
        positive("alpha", self.alpha)?;
        positive("burst_alpha", self.burst_alpha)?;
        fraction("tau", self.tau)?;
        check((1..=PORTS_MAX).contains(&self.ports), "ports", f64::from(self.ports), "1 to 65536")?;
        check((1..=QUEUES_MAX).contains(&self.queues), "queues", f64::from(self.queues), "1 to 256")?;
        let (ports, queues) = (f64::from(self.ports), f64::from(self.queues));
        let bursting = at_least_one("burst_ports", self.burst_ports)?;
        at_most("burst_ports", bursting, ports, "the ports")?;
        at_most("congested", f64::from(self.congested), ports - bursting, "the ports without a burst")?;
        let per_port = at_least_one("congested_queues", self.congested_queues)?;
        at_most("congested_queues", per_port, queues, "the queues of a port")?;
        let beside = f64::from(self.queues_beside_burst);
        at_most("queues_beside_burst", beside, queues - 1.0, "the queues of a port but that of the burst")?;
        let most = f64::from(self.congested_queues.max(self.queues_beside_burst));
        let priorities = at_least_one("priorities", self.priorities)?;
        at_most("priorities", priorities, most, "the congested queues of a port").map(drop)
    }

    /// Groups of the congested queues of `ports` ports with `per_port` queues each.
    /// Queue k of a port has priority k modulo the number of priorities.
    fn groups(
        &self,
        ports: u32,
        per_port: u32,
        gamma_before: f64,
        gamma: f64,
    ) -> impl Iterator<Item = CongestedGroup> {
        let (alpha, priorities) = (self.alpha, self.priorities);
        let group = move |priority| {
            let per_priority = (per_port + priorities - 1 - priority) / priorities;
            CongestedGroup { count: ports * per_priority, priority, alpha, gamma_before, gamma }
        };
        (0..priorities).map(group).filter(|group| group.count > 0)
    }
}

impl BurstState {
    /// Refuses an invalid state. Every state from [`EvenSwitch::state`] is valid.
    ///
    /// # Errors
    /// Returns the first input that is out of range.
    pub(super) fn check(&self) -> Domain<()> {
        positive("buffer", self.buffer_bytes)?;
        positive("port_rate", self.port_rate_bps)?;
        fraction("tau", self.tau)?;
        let queues: f64 = self.groups.iter().map(|group| f64::from(group.count)).sum();
        let most = f64::from(PORTS_MAX * QUEUES_MAX);
        at_most("count", queues, most, "congested queues that can be counted")?;
        at_most(
            "burst_ports",
            f64::from(self.burst.count),
            f64::from(PORTS_MAX),
            "ports that a switch may have",
        )?;
        for group in &self.groups {
            positive("alpha", group.alpha)?;
            share("gamma_before", group.gamma_before)?;
            share("gamma", group.gamma)?;
            at_most("gamma", group.gamma, group.gamma_before, "the drain rate before the burst")?;
        }
        positive("burst_alpha", self.burst.alpha)?;
        share("gamma", self.burst.gamma)?;
        let drain = self.burst.gamma * self.port_rate_bps;
        let valid = format_args!("more than {} (the rate at which the port drains it)", rate(drain));
        check(self.burst.rate_bps > drain, "rate", self.burst.rate_bps, valid)?;
        let idle = f64::from(self.ports) - at_least_one("burst_ports", self.burst.count)?;
        check(idle >= 0.0, "burst_ports", f64::from(self.burst.count), "at most the ports")?;
        at_most("congested", f64::from(self.congested_ports), idle, "the ports without a burst").map(drop)
    }

    /// Time in which a port sends the whole buffer (seconds).
    pub(super) fn buffer_seconds(&self) -> f64 {
        self.buffer_bytes * 8.0 / self.port_rate_bps
    }

    /// The burst's arrival rate at a queue, as a multiple of the port rate.
    pub(super) fn rate_ratio(&self) -> f64 {
        self.burst.rate_bps / self.port_rate_bps
    }

    /// Number of all queues that were congested before the burst.
    pub(super) fn congested_queues(&self) -> u32 {
        self.groups.iter().map(|group| group.count).sum()
    }

    /// Number of queues of `priority` that were congested before the burst.
    pub(super) fn congested_of(&self, priority: u32) -> u32 {
        self.groups.iter().filter(|group| group.priority == priority).map(|group| group.count).sum()
    }

    /// State of the switch for a policy that limits ports instead of queues. A congested port
    /// counts as one queue that drains at the port rate.
    pub(super) fn by_port(&self) -> Self {
        let group = self.groups.first().filter(|_| self.congested_ports > 0);
        let port = |group: &CongestedGroup| CongestedGroup {
            count: self.congested_ports,
            gamma_before: 1.0,
            gamma: 1.0,
            ..*group
        };
        Self { groups: group.map(port).into_iter().collect(), ..self.clone() }
    }

    /// Bytes that a port sends in `seconds` seconds.
    pub(super) fn port_bytes(&self, seconds: f64) -> f64 {
        seconds * self.port_rate_bps / 8.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SWITCH: EvenSwitch = EvenSwitch {
        buffer_bytes: 4e6,
        port_rate_bps: 10e9,
        ports: 32,
        queues: 8,
        congested: 4,
        congested_queues: 3,
        priorities: 2,
        alpha: 0.5,
        burst_ports: 2,
        queues_beside_burst: 1,
        burst_alpha: 20.0,
        same_priority: false,
        rate_bps: 80e9,
        tau: 0.95,
    };

    #[test]
    fn queues_of_a_port_are_spread_over_the_priorities_and_share_its_rate() -> Domain<()> {
        let state = SWITCH.state()?;
        state.check()?;
        let found: Vec<_> =
            state.groups.iter().map(|g| (g.count, g.priority, g.gamma_before, g.gamma)).collect();
        let third = 1.0 / 3.0;
        assert_eq!(found, [(8, 0, third, third), (4, 1, third, third), (2, 0, 1.0, 0.5)]);
        assert_eq!((state.congested_queues(), state.congested_of(0), state.congested_of(1)), (14, 10, 4));
        assert_eq!((state.burst.gamma, state.burst.priority, state.rate_ratio()), (0.5, None, 8.0));
        assert!((state.buffer_seconds() - 3.2e-3).abs() < 1e-15);
        Ok(())
    }

    #[test]
    fn a_switch_has_no_more_than_its_ports_and_queues() {
        let refused = |input, switch: EvenSwitch| {
            assert_eq!(switch.state().expect_err(input).input, input);
        };
        refused("congested", EvenSwitch { congested: 31, ..SWITCH });
        refused("congested_queues", EvenSwitch { congested_queues: 9, ..SWITCH });
        refused("queues_beside_burst", EvenSwitch { queues_beside_burst: 8, ..SWITCH });
        refused("priorities", EvenSwitch { priorities: 4, ..SWITCH });
        refused("ports", EvenSwitch { ports: u32::MAX, congested: u32::MAX - 2, ..SWITCH });
        refused("queues", EvenSwitch { queues: u32::MAX, congested_queues: u32::MAX, ..SWITCH });
        refused("burst_ports", EvenSwitch { burst_ports: 33, ..SWITCH });
        refused("rate", EvenSwitch { rate_bps: 5e9, ..SWITCH });
        refused("tau", EvenSwitch { tau: 1.5, ..SWITCH });
        refused("buffer", EvenSwitch { buffer_bytes: 0.0, ..SWITCH });
    }
}
