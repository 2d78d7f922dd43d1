//! When do the ports of EDT and TDT change their state?
//!
//! Both count packets; here the counters are real numbers that rise with the rates at which a port stores, sends and refuses, divided by
//! the size of a packet. Two rules need a translation:
//!
//! * *A drop resets the count of growth*: while a port refuses anything, its count is held at 0.
//! * *k packets sent in a row with no arrival between them*: between two arrivals that are p / λ apart a port that drains at μ sends μ/λ
//!   packets, rounded down or up, so that a row of k occurs when μ/λ > k - 1. While that holds, the row grows at the rate μ/p.

use super::control::{Changes, Control, View};
use super::model::{FluidError, Shape, checked, not_negative, positive};
use super::rates::Limit;
use super::trajectory::PortState;

/// EDT's parameters (reconstructed; TDT section VI-A names the values for 1 Gb/s).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EnhancedLimits {
    /// Factor of the free space for controlled ports.
    pub alpha: f64,
    /// Size of a packet.
    pub packet: f64,
    /// Packets sent in a row that end a burst (3).
    pub c1: f64,
    /// Net packets stored that start one (8).
    pub c2: f64,
    /// Window in which the growth is counted (2.1 ms).
    pub tm1: f64,
    /// Longest time without control (10 ms).
    pub tm2: f64,
}

impl EnhancedLimits {
    pub(super) fn validate(&self) -> Result<(), FluidError> {
        not_negative("alpha", self.alpha)?;
        positive("the packet size", self.packet)?;
        checked("C1", self.c1, self.c1.is_finite() && self.c1 >= 1.0, "at least 1 packet")?;
        positive("C2", self.c2)?;
        positive("TM1", self.tm1)?;
        checked("TM2", self.tm2, self.tm2 > 0.0, "above 0")?;
        Ok(())
    }
}

/// TDT's parameters (section V); counters in packets.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TrafficAwareLimits {
    /// Factor of the free space in the normal state.
    pub alpha: f64,
    /// Size of a packet.
    pub packet: f64,
    /// Net packets stored without a drop that start absorption.
    pub nec: f64,
    /// Packets sent after which the net count starts anew.
    pub oc1: f64,
    /// Packets sent that end absorption.
    pub oc2: f64,
    /// Packets sent in a row that end absorption or evacuation.
    pub dec: f64,
    /// Drops that start evacuation.
    pub dc: f64,
    /// Evacuation ends below this length.
    pub lb: f64,
}

impl TrafficAwareLimits {
    /// What section VI-A derives from buffer, ports and packet size: NEC = B/n, OC1 = NEC/(k - 1) with k = 2, OC2 = 2 B, DC = B/2 (in
    /// packets, to nearest), LB = B/(2n), DEC = 3, α = 1.
    ///
    /// # Errors
    /// If the packet size is not above 0.
    pub fn derived(shape: &Shape, packet: f64) -> Result<Self, FluidError> {
        positive("the packet size", packet)?;
        let (packets, ports) = ((shape.buffer() / packet).round().max(1.0), shape.ports() as f64);
        let nec = (packets / ports).round().max(1.0);
        Ok(Self {
            alpha: 1.0,
            packet,
            nec,
            oc1: nec,
            oc2: 2.0 * packets,
            dec: 3.0,
            dc: (packets / 2.0).floor().max(1.0),
            lb: shape.buffer() / (2.0 * ports),
        })
    }

    pub(super) fn validate(&self) -> Result<(), FluidError> {
        not_negative("alpha", self.alpha)?;
        positive("the packet size", self.packet)?;
        for (name, value) in [("NEC", self.nec), ("OC1", self.oc1), ("OC2", self.oc2), ("DC", self.dc)] {
            positive(name, value)?;
        }
        checked("DEC", self.dec, self.dec.is_finite() && self.dec >= 1.0, "at least 1 packet")?;
        not_negative("LB", self.lb)?;
        Ok(())
    }
}

/// A counter is reached up to this share of its limit: two counters that are due at one instant are.
const SMALL: f64 = 1e-9;

fn is_reached(counter: f64, limit: f64) -> bool {
    counter >= limit * (1.0 - SMALL)
}

fn until(counter: f64, limit: f64, rate: f64) -> f64 {
    if rate > 0.0 && !is_reached(counter, limit) { (limit - counter) / rate } else { f64::INFINITY }
}

/// What a port does now, in packets per time.
#[derive(Clone, Copy, Debug)]
struct Flow {
    arriving: f64,
    stored: f64,
    sent: f64,
    refused: f64,
    /// Whether refusals come from the buffer, not from the port's limit.
    overflowing: bool,
    length: f64,
}

impl Flow {
    fn of(port: usize, packet: f64, view: &View<'_>) -> Self {
        let (tank, queues) = (view.tank, view.tank.port_queues(port));
        let arriving = tank.sum(&tank.arriving, queues.clone()) / packet;
        let stored = tank.sum(&view.rates.accepted, queues.clone()) / packet;
        let refused = arriving - stored;
        // Rounding is no drop.
        let refused = if refused > 1e-9 * arriving { refused } else { 0.0 };
        Self {
            arriving,
            stored,
            sent: tank.sum(&view.rates.served, queues.clone()) / packet,
            refused,
            overflowing: refused > 0.0 && tank.full,
            length: tank.sum(&tank.lengths, queues),
        }
    }

    /// Whether rows of `k` packets are sent between two of the packets that interrupt a row.
    fn has_rows_of(&self, k: f64, interrupting: f64) -> bool {
        self.sent > 0.0 && self.sent > (k - 1.0) * interrupting * (1.0 + SMALL)
    }
}

/// A port of EDT.
#[derive(Clone, Copy, Debug, Default)]
struct EnhancedPort {
    uncontrolled_since: Option<f64>,
    growth: f64,
    window_start: f64,
    row: f64,
}

/// Enhanced Dynamic Thresholds.
#[derive(Clone, Debug)]
pub(super) struct Enhanced {
    law: EnhancedLimits,
    buffer: f64,
    ports: Vec<EnhancedPort>,
}

impl Enhanced {
    pub(super) fn new(law: EnhancedLimits, shape: &Shape) -> Self {
        Self { law, buffer: shape.buffer(), ports: vec![EnhancedPort::default(); shape.ports()] }
    }

    fn limits(&self, changes: &mut Changes) {
        let uncontrolled = self.ports.iter().filter(|port| port.uncontrolled_since.is_some()).count();
        for (group, port) in self.ports.iter().enumerate() {
            let limit = match port.uncontrolled_since {
                None => Limit::Free { pool: 0, weight: self.law.alpha },
                Some(_) => Limit::Fixed(self.buffer / uncontrolled as f64),
            };
            changes.push((group, limit));
        }
    }
}

impl Control for Enhanced {
    fn settle(&mut self, view: &View<'_>, changes: &mut Changes) -> bool {
        let (law, now) = (self.law, view.now);
        let mut changed = false;
        for (index, port) in self.ports.iter_mut().enumerate() {
            let flow = Flow::of(index, law.packet, view);
            if flow.refused > 0.0 {
                port.growth = 0.0;
            }
            if let Some(since) = port.uncontrolled_since {
                let too_long = now - since >= law.tm2 - view.small_time;
                if flow.overflowing || too_long || is_reached(port.row, law.c1) {
                    *port = EnhancedPort { uncontrolled_since: None, growth: 0.0, ..*port };
                    changed = true;
                }
            } else {
                if flow.stored > 0.0 && now - port.window_start >= law.tm1 - view.small_time {
                    (port.growth, port.window_start) = (0.0, now);
                }
                if is_reached(port.row, law.c1) {
                    port.growth = 0.0;
                }
                if is_reached(port.growth, law.c2) {
                    (port.uncontrolled_since, port.growth) = (Some(now), 0.0);
                    changed = true;
                }
            }
            if !flow.has_rows_of(law.c1, flow.stored) {
                port.row = 0.0;
            }
        }
        if changed {
            self.limits(changes);
        }
        changed
    }

    fn until_next(&self, view: &View<'_>) -> f64 {
        let law = self.law;
        let next = |(index, port): (usize, &EnhancedPort)| {
            let flow = Flow::of(index, law.packet, view);
            let row = if flow.has_rows_of(law.c1, flow.stored) {
                until(port.row, law.c1, flow.sent)
            } else {
                f64::INFINITY
            };
            match port.uncontrolled_since {
                Some(since) => row.min((since + law.tm2 - view.now).max(0.0)),
                None if flow.refused > 0.0 || flow.stored <= flow.sent => row,
                None => {
                    let growth = until(port.growth, law.c2, flow.stored - flow.sent);
                    row.min(growth).min((port.window_start + law.tm1 - view.now).max(0.0))
                }
            }
        };
        self.ports.iter().enumerate().map(next).fold(f64::INFINITY, f64::min)
    }

    fn advance(&mut self, time: f64, view: &View<'_>) {
        for (index, port) in self.ports.iter_mut().enumerate() {
            let flow = Flow::of(index, self.law.packet, view);
            let net = flow.stored - flow.sent;
            if port.uncontrolled_since.is_none() && flow.refused <= 0.0 {
                port.growth = (port.growth + time * net).max(0.0);
            }
            if flow.stored > 0.0 && (net <= 0.0 || flow.refused > 0.0) {
                // Windows go by although nobody waits for their ends.
                let windows = ((view.now + time - port.window_start) / self.law.tm1).floor();
                if windows >= 1.0 {
                    (port.growth, port.window_start) = (0.0, port.window_start + windows * self.law.tm1);
                }
            }
            if flow.has_rows_of(self.law.c1, flow.stored) {
                port.row += time * flow.sent;
            }
        }
    }

    fn state(&self, port: usize) -> PortState {
        match self.ports[port].uncontrolled_since {
            None => PortState::Normal,
            Some(_) => PortState::Absorption,
        }
    }
}

/// A port of TDT.
#[derive(Clone, Copy, Debug)]
struct TrafficPort {
    state: PortState,
    nec: f64,
    oc1: f64,
    oc2: f64,
    dec: f64,
    dc: f64,
}

impl TrafficPort {
    /// A new state starts with counters of 0.
    const fn entering(state: PortState) -> Self {
        Self { state, nec: 0.0, oc1: 0.0, oc2: 0.0, dec: 0.0, dc: 0.0 }
    }
}

/// Traffic-aware Dynamic Thresholds.
#[derive(Clone, Debug)]
pub(super) struct TrafficAware {
    law: TrafficAwareLimits,
    buffer: f64,
    ports: Vec<TrafficPort>,
}

impl TrafficAware {
    pub(super) fn new(law: TrafficAwareLimits, shape: &Shape) -> Self {
        let ports = vec![TrafficPort::entering(PortState::Normal); shape.ports()];
        Self { law, buffer: shape.buffer(), ports }
    }

    fn limits(&self, changes: &mut Changes) {
        let absorbing = self.ports.iter().filter(|port| port.state == PortState::Absorption).count();
        for (group, port) in self.ports.iter().enumerate() {
            let limit = match port.state {
                PortState::Normal => Limit::Free { pool: 0, weight: self.law.alpha },
                PortState::Absorption => Limit::Fixed(self.buffer / absorbing as f64),
                PortState::Evacuation => Limit::Fixed(self.buffer / self.ports.len() as f64),
            };
            changes.push((group, limit));
        }
    }
}

impl Control for TrafficAware {
    fn settle(&mut self, view: &View<'_>, changes: &mut Changes) -> bool {
        let law = self.law;
        let mut changed = false;
        for (index, port) in self.ports.iter_mut().enumerate() {
            let flow = Flow::of(index, law.packet, view);
            let underloaded = is_reached(port.dec, law.dec);
            let next = match port.state {
                PortState::Normal => {
                    if flow.refused > 0.0 {
                        (port.nec, port.oc1) = (0.0, 0.0);
                    }
                    if underloaded {
                        port.dc = 0.0;
                    }
                    // A rate of exactly k times the line reaches NEC and OC1 at one instant: the stored packet counts first.
                    if is_reached(port.nec, law.nec) {
                        Some(PortState::Absorption)
                    } else {
                        if is_reached(port.oc1, law.oc1) {
                            (port.nec, port.oc1) = (0.0, 0.0);
                        }
                        let lost = is_reached(port.dc, law.dc);
                        if lost {
                            port.dc = 0.0;
                        }
                        // A port that holds less than the lower bound has nothing to evacuate.
                        (lost && flow.length >= law.lb - view.small_length).then_some(PortState::Evacuation)
                    }
                }
                PortState::Absorption => {
                    let over = flow.overflowing || underloaded || is_reached(port.oc2, law.oc2);
                    over.then_some(PortState::Normal)
                }
                PortState::Evacuation => {
                    let over = underloaded || flow.length < law.lb - view.small_length;
                    over.then_some(PortState::Normal)
                }
            };
            if let Some(state) = next {
                *port = TrafficPort::entering(state);
                changed = true;
            }
            // Dropped arrivals interrupt a row as well (erratum E-TDT-1).
            if !flow.has_rows_of(law.dec, flow.arriving) {
                port.dec = 0.0;
            }
        }
        if changed {
            self.limits(changes);
        }
        changed
    }

    fn until_next(&self, view: &View<'_>) -> f64 {
        let law = self.law;
        let next = |(index, port): (usize, &TrafficPort)| {
            let flow = Flow::of(index, law.packet, view);
            let row = if flow.has_rows_of(law.dec, flow.arriving) {
                until(port.dec, law.dec, flow.sent)
            } else {
                f64::INFINITY
            };
            let own = match port.state {
                PortState::Normal if flow.refused > 0.0 => until(port.dc, law.dc, flow.refused),
                // Without growth the net count is nothing to wait for, nor is its restart.
                PortState::Normal if flow.stored <= flow.sent => f64::INFINITY,
                PortState::Normal => {
                    until(port.nec, law.nec, flow.stored - flow.sent).min(until(port.oc1, law.oc1, flow.sent))
                }
                PortState::Absorption => until(port.oc2, law.oc2, flow.sent),
                PortState::Evacuation => {
                    let falling = (flow.sent - flow.stored) * law.packet;
                    // Just below the bound: it must be less.
                    let gap = flow.length - law.lb + 2.0 * view.small_length;
                    if falling > 0.0 && gap > 0.0 { gap / falling } else { f64::INFINITY }
                }
            };
            row.min(own)
        };
        self.ports.iter().enumerate().map(next).fold(f64::INFINITY, f64::min)
    }

    fn advance(&mut self, time: f64, view: &View<'_>) {
        for (index, port) in self.ports.iter_mut().enumerate() {
            let flow = Flow::of(index, self.law.packet, view);
            match port.state {
                PortState::Normal if flow.refused > 0.0 => port.dc += time * flow.refused,
                PortState::Normal => {
                    let net = flow.stored - flow.sent;
                    port.nec = (port.nec + time * net).max(0.0);
                    port.oc1 += time * flow.sent;
                    if net <= 0.0 && port.oc1 > self.law.oc1 {
                        // Nobody waits for the restart of a count that does not grow.
                        (port.nec, port.oc1) = (0.0, port.oc1 % self.law.oc1);
                    }
                }
                PortState::Absorption => port.oc2 += time * flow.sent,
                PortState::Evacuation => {}
            }
            if flow.has_rows_of(self.law.dec, flow.arriving) {
                port.dec += time * flow.sent;
            }
        }
    }

    fn state(&self, port: usize) -> PortState {
        self.ports[port].state
    }
}
