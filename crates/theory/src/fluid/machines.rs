//! Inputs of the state machines of EDT and TDT in a fluid model.
//!
//! EDT and TDT count packets. In the fluid model the counters are real numbers. The counters rise
//! with the rates at which a port stores, sends and refuses, divided by the size of a packet. Two
//! rules need a translation:
//!
//! * *A drop resets the counter of arrivals*: while a port drops, the port's counter stays at 0.
//! * *k packets sent in a row with no arrival between them*: between two arrivals that are p / λ
//!   apart a port that drains at μ sends μ/λ packets, rounded down or up. So a row of k occurs when
//!   μ/λ > k - 1. While μ/λ > k - 1, the row grows at the rate μ/p.

use super::control::View;

/// Relative tolerance of counters. If two counters are due at one instant, each of them has reached
/// its limit.
pub(super) const SMALL: f64 = 1e-9;

/// Whether a counter of the state machine has reached its limit.
pub(super) fn is_reached(counter: f64, limit: f64) -> bool {
    counter >= limit * (1.0 - SMALL)
}

/// Time until a counter reaches its limit at `rate`. Infinite if the counter never reaches its
/// limit or has reached it already.
pub(super) fn until(counter: f64, limit: f64, rate: f64) -> f64 {
    if rate > 0.0 && !is_reached(counter, limit) { (limit - counter) / rate } else { f64::INFINITY }
}

/// Flow through a port at this instant (packets per time).
#[derive(Clone, Copy, Debug)]
pub(super) struct Flow {
    pub(super) arriving: f64,
    pub(super) stored: f64,
    pub(super) sent: f64,
    pub(super) refused: f64,
    /// Whether the full buffer, not the port's limit, causes the refusals.
    pub(super) overflowing: bool,
    pub(super) length: f64,
}

impl Flow {
    pub(super) fn from_view(port: usize, packet: f64, view: &View<'_>) -> Self {
        let (tank, queues) = (view.tank, view.tank.port_queues(port));
        let arriving = tank.sum(&tank.arriving, queues.clone()) / packet;
        let stored = tank.sum(&view.rates.accepted, queues.clone()) / packet;
        let refused = arriving - stored;
        // A refusal smaller than the rounding error is not a drop.
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

    /// Whether the port sends `k` packets in a row between two packets that interrupt a row.
    pub(super) fn has_rows_of(&self, k: f64, interrupting: f64) -> bool {
        self.sent > 0.0 && self.sent > (k - 1.0) * interrupting * (1.0 + SMALL)
    }
}
