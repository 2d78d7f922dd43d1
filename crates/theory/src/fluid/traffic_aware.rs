//! States of a port under TDT: conditions for absorbing a burst and for evacuating the port.

use super::control::{Changes, Control, View};
use super::machines::{Flow, is_reached, until};
use super::model::{FluidError, Shape, checked, not_negative, positive};
use super::rates::Limit;
use super::trajectory::PortState;

/// Parameters of TDT (section V). Counters are in packets.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TrafficAwareLimits {
    /// Factor of the free space for a port in the normal state.
    pub alpha: f64,
    /// Size of a packet in the unit of the model.
    pub packet: f64,
    /// Net number of packets stored without a drop that starts absorption.
    pub nec: f64,
    /// Number of sent packets after which the net count restarts.
    pub oc1: f64,
    /// Number of sent packets that ends absorption.
    pub oc2: f64,
    /// Number of packets sent in a row that ends absorption or evacuation.
    pub dec: f64,
    /// Number of drops that starts evacuation.
    pub dc: f64,
    /// Length of the port's queues below which evacuation ends.
    pub lb: f64,
}

impl TrafficAwareLimits {
    /// Parameters that section VI-A derives from buffer, ports and packet size:
    /// NEC = B/n, OC1 = NEC/(k - 1) with k = 2, OC2 = 2 B, DC = B/2 (in packets,
    /// to the nearest packet), LB = B/(2n), DEC = 3, α = 1.
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

/// State and counters of a port under TDT.
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
    /// The state of a port that enters `state`, with all counters at 0.
    const fn entering(state: PortState) -> Self {
        Self { state, nec: 0.0, oc1: 0.0, oc2: 0.0, dec: 0.0, dc: 0.0 }
    }
}

/// The law Traffic-aware Dynamic Thresholds.
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
            let flow = Flow::from_view(index, law.packet, view);
            let underloaded = is_reached(port.dec, law.dec);
            let next = match port.state {
                PortState::Normal => {
                    if flow.refused > 0.0 {
                        (port.nec, port.oc1) = (0.0, 0.0);
                    }
                    if underloaded {
                        port.dc = 0.0;
                    }
                    // A rate of exactly k times the line reaches NEC and OC1 at one instant.
                    // At this instant, the model counts the stored packet first.
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
                        // A port below the lower bound has no excess length to evacuate.
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
            // A dropped arrival also interrupts a row of departures (erratum E-TDT-1).
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
            let flow = Flow::from_view(index, law.packet, view);
            let row = if flow.has_rows_of(law.dec, flow.arriving) {
                until(port.dec, law.dec, flow.sent)
            } else {
                f64::INFINITY
            };
            let own = match port.state {
                PortState::Normal if flow.refused > 0.0 => until(port.dc, law.dc, flow.refused),
                // Without growth, neither the net count nor its restart is an event.
                PortState::Normal if flow.stored <= flow.sent => f64::INFINITY,
                PortState::Normal => {
                    until(port.nec, law.nec, flow.stored - flow.sent).min(until(port.oc1, law.oc1, flow.sent))
                }
                PortState::Absorption => until(port.oc2, law.oc2, flow.sent),
                PortState::Evacuation => {
                    let falling = (flow.sent - flow.stored) * law.packet;
                    // The gap ends slightly below the bound, because the length must be less
                    // than the bound.
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
            let flow = Flow::from_view(index, self.law.packet, view);
            match port.state {
                PortState::Normal if flow.refused > 0.0 => port.dc += time * flow.refused,
                PortState::Normal => {
                    let net = flow.stored - flow.sent;
                    port.nec = (port.nec + time * net).max(0.0);
                    port.oc1 += time * flow.sent;
                    if net <= 0.0 && port.oc1 > self.law.oc1 {
                        // The restart of a count that does not grow causes no event.
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
