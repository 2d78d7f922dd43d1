//! States of a port under EDT: conditions for leaving the dynamic threshold and for returning to
//! it.

use super::control::{Changes, Control, View};
use super::machines::{Flow, is_reached, until};
use super::model::{FluidError, Shape, checked, not_negative, positive};
use super::rates::Limit;
use super::trajectory::PortState;

/// EDT's parameters (reconstructed; TDT section VI-A names the values for 1 Gb/s).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EnhancedLimits {
    /// Factor α of the free space, for controlled ports.
    pub alpha: f64,
    /// Size of a packet in the unit of the model.
    pub packet: f64,
    /// Number of packets sent in a row that ends a burst (3).
    pub c1: f64,
    /// Net number of stored packets that starts a burst (8).
    pub c2: f64,
    /// Window in which the growth of a port is counted (2.1 ms).
    pub tm1: f64,
    /// Longest time that a port is uncontrolled (10 ms).
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

/// State and counters of a port under EDT.
#[derive(Clone, Copy, Debug, Default)]
struct EnhancedPort {
    uncontrolled_since: Option<f64>,
    growth: f64,
    window_start: f64,
    row: f64,
}

/// The law Enhanced Dynamic Thresholds.
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
            let flow = Flow::from_view(index, law.packet, view);
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
            let flow = Flow::from_view(index, law.packet, view);
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
            let flow = Flow::from_view(index, self.law.packet, view);
            let net = flow.stored - flow.sent;
            if port.uncontrolled_since.is_none() && flow.refused <= 0.0 {
                port.growth = (port.growth + time * net).max(0.0);
            }
            if flow.stored > 0.0 && (net <= 0.0 || flow.refused > 0.0) {
                // No event marks the end of a window, so the following code counts the
                // windows that have passed.
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
