//! When does a sender with large send offload release a burst, and how long is it?
//!
//! The stack hands the card one large piece of data, at most [`TcpConfig::burst_segments`]
//! segments, which the card cuts into segments and sends back to back. Once handed over, a burst is
//! sent whatever happens to the window; and because few large pieces cost less than many small
//! ones, the stack waits for its window to open for a piece that is worth it. The rule is that of
//! Linux (`tcp_tso_should_defer` with the default `tcp_tso_win_divisor` of 3):
//!
//! * a full burst, or all that is left of the message, goes at once;
//! * so does a third of the window: a window too small for a full burst becomes three bursts per
//!   round trip;
//! * nothing waits when nothing is in the network, nor after a loss: retransmissions go one by one.
//!
//! **Simplified**: Linux also bounds a burst by what a flow's pace sends within a millisecond, and
//! stops waiting after half a round trip.

use super::{Phase, Sender};
use crate::TcpConfig;

/// A burst is worth sending from this part of the window on.
const WINDOW_DIVISOR: f64 = 3.0;

impl Sender {
    /// The shortest burst that is worth sending, where more data than that is left.
    pub(super) fn least_burst(&self, config: &TcpConfig) -> u32 {
        ((self.window.size / WINDOW_DIVISOR) as u32).clamp(1, config.burst_segments)
    }

    /// New segments that the window allows.
    fn room(&self, config: &TcpConfig) -> u32 {
        let room = (self.window.size as u32).saturating_sub(self.window_used(config));
        let unsent = self.total - self.next;
        // Before the first ACK the receiver's window may be known in part only.
        let acceptable = if self.una == 0 && self.sacked.is_empty() && !self.window_is_known {
            config.first_flight_limit.saturating_sub(self.next)
        } else {
            u32::MAX
        };
        room.min(unsent).min(acceptable)
    }

    /// Whether a burst of new segments, which the window allows, is worth sending.
    #[inline(never)]
    pub(super) fn burst_may_begin(&self, config: &TcpConfig) -> bool {
        let is_calm = matches!(self.phase, Phase::Open | Phase::Reduction);
        if !is_calm || self.in_flight() == 0 {
            return true;
        }
        let room = self.room(config);
        room >= self.least_burst(config) || self.next + room == self.total
    }

    /// A new segment is about to leave: the first of a burst begins it. Returns what it counts in a
    /// proportional rate reduction.
    #[inline(never)]
    pub(super) fn count_burst(&mut self, config: &TcpConfig) -> u32 {
        if self.burst_left == 0 {
            self.burst_left = self.room(config).clamp(1, config.burst_segments) as u16;
        }
        self.burst_left -= 1;
        if self.reduction.committed > 0 {
            self.reduction.committed -= 1;
            return 0;
        }
        1
    }
}
