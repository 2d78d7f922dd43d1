//! Start times and lengths of bursts of a sender with large send offload.
//!
//! The stack gives the NIC one large piece of data, at most [`TcpConfig::burst_segments`] segments.
//! The NIC cuts the piece into segments and sends them back to back. The NIC sends the whole burst,
//! even if the window changes. Few large pieces cost less than many small pieces. So the stack
//! waits until its window has space for a piece that is worth sending. Linux has this rule
//! (`tcp_tso_should_defer` with the default `tcp_tso_win_divisor` of 3):
//!
//! * a full burst, or all remaining data of the message, leaves at once;
//! * data of a third of the window leaves at once, too: a window too small for a full burst becomes
//!   three bursts per round trip;
//! * a burst never waits while the network has no segment of the flow, nor after a loss:
//!   retransmissions leave one by one.
//!
//! **Simplified**: Linux also limits a burst to the data that a flow's pace sends within a
//! millisecond, and stops waiting after half a round trip.

use super::{Phase, Sender};
use crate::TcpConfig;

/// Divisor of the window. The window divided by this number is the smallest burst worth sending.
const WINDOW_DIVISOR: f64 = 3.0;

impl Sender {
    /// Smallest burst worth sending, if the message has more data than this burst.
    pub(super) fn least_burst(&self, config: &TcpConfig) -> u32 {
        ((self.window.size / WINDOW_DIVISOR) as u32).clamp(1, config.burst_segments)
    }

    /// Number of new segments that the window allows now.
    fn room(&self, config: &TcpConfig) -> u32 {
        let room = (self.window.size as u32).saturating_sub(self.window_used(config));
        let unsent = self.total - self.next;
        // Before the first ACK the sender may know only a part of the receiver's window.
        let acceptable = if self.una == 0 && self.sacked.is_empty() && !self.window_is_known {
            config.first_flight_limit.saturating_sub(self.next)
        } else {
            u32::MAX
        };
        room.min(unsent).min(acceptable)
    }

    /// Whether a burst of new segments that the window allows is worth sending.
    #[inline(never)]
    pub(super) fn burst_may_begin(&self, config: &TcpConfig) -> bool {
        let is_calm = matches!(self.phase, Phase::Open | Phase::Reduction);
        if !is_calm || self.in_flight() == 0 {
            return true;
        }
        let room = self.room(config);
        room >= self.least_burst(config) || self.next + room == self.total
    }

    /// Counts a new segment that is about to leave, and begins a burst if no burst is in progress.
    /// Returns the segment's weight in a proportional rate reduction.
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
