//! Handling of an ACK by a sender under [`CongestionStates::Ns3`](crate::CongestionStates::Ns3).
//!
//! ```text
//!            echoed mark                      echoed mark
//!   Open ----------------> Reduction <---------------------- Recovery, Loss
//!    | ^                    | acknowledged beyond recovery_point
//!    | +--------------------+
//!    +--- lost segment ---> Recovery --- recovery_point acknowledged ---> Open
//! ```
//!
//! The order of steps within one ACK matters and equals the order in ns-3. The sender leaves a
//! reduction, enters a reduction, handles SACKs, and handles the cumulative part.

use super::{AckInfo, Phase, Reduction, Sender};
use crate::congestion::CongestionEvent;
use crate::telemetry::HopReport;
use crate::{Ack, TcpConfig};
use bufferlab_units::Time;

impl Sender {
    /// Handles an ACK under the sender states of ns-3, for [`Sender::handle_ack`].
    pub(super) fn handle_ack_ns3(
        &mut self,
        config: &TcpConfig,
        now: Time,
        ack: &Ack,
        telemetry: &[HopReport],
    ) {
        let rtt = now.saturating_sub(ack.echo);
        let info = AckInfo { now, rtt, marked: ack.marked, in_flight: self.in_flight(), telemetry };
        let before = self.una;
        let sacked = if ack.sack.1 > ack.sack.0 { self.note_sack(ack.sack) } else { 0 };
        // In a recovery, the window grows if the ACK acknowledges a retransmission below the
        // recovery point.
        let resent = self.resent_below.min(ack.cumulative);
        let good_progress = self.phase == Phase::Recovery
            && ack.cumulative < self.recovery_point
            && self.sacked.holes(before, resent) > 0;
        let mut delivered = sacked;
        if ack.cumulative > before {
            delivered += self.advance(config, now, ack);
        }
        let advanced = self.una > before;
        if delivered == 0 && !advanced {
            return;
        }
        if self.phase == Phase::Reduction && self.una > self.recovery_point {
            self.set_window(self.window.slow_start_threshold);
            self.phase = Phase::Open;
        }
        if advanced && ack.marked && self.phase != Phase::Reduction {
            self.begin(config, now, CongestionEvent::Mark, delivered);
        }
        if sacked > 0 {
            self.note_losses(config);
            match self.phase {
                Phase::Open if self.pending_loss > 0 => {
                    self.begin(config, now, CongestionEvent::Loss, delivered);
                }
                Phase::Recovery => self.reduce_ns3(delivered, good_progress),
                _ => {}
            }
        }
        let may_grow = advanced && self.note_advance(delivered, good_progress);
        self.observe(config, &info, delivered, may_grow);
    }

    /// Handles the cumulative part of an ACK. Returns whether the congestion window may grow.
    fn note_advance(&mut self, delivered: u32, good_progress: bool) -> bool {
        match self.phase {
            Phase::Recovery if self.una < self.recovery_point => {
                self.reduce_ns3(delivered, good_progress);
                if self.resent_below <= self.una {
                    // The sender sends the first remaining hole, whatever the window.
                    self.set_window(self.window.size.max(f64::from(self.in_flight() + 1)));
                }
                false
            }
            Phase::Recovery => {
                self.set_window(self.window.slow_start_threshold);
                self.phase = Phase::Open;
                true
            }
            Phase::Reduction => {
                self.reduce_ns3(delivered, false);
                false
            }
            Phase::Loss => {
                if self.una >= self.recovery_point {
                    self.phase = Phase::Open;
                }
                true
            }
            _ => true,
        }
    }

    /// Begins a reduction after a mark, or begins a recovery after a loss.
    fn begin(&mut self, config: &TcpConfig, now: Time, event: CongestionEvent, delivered: u32) {
        let flight = self.in_flight();
        self.congestion.on_congestion(config, &mut self.window, event, flight, now);
        self.phase = if event == CongestionEvent::Mark { Phase::Reduction } else { Phase::Recovery };
        self.recovery_point = self.next;
        self.reduction = Reduction {
            delivered: 0,
            sent: 0,
            flight_at_start: self.next + u32::from(self.burst_left) - self.una,
            committed: self.burst_left,
        };
        self.reduce_ns3(delivered, false);
    }

    /// Applies proportional rate reduction as ns-3.39 does.
    fn reduce_ns3(&mut self, delivered: u32, good_progress: bool) {
        let target = self.window.slow_start_threshold;
        let pipe = self.in_flight();
        self.reduction.delivered += delivered;
        let Reduction { delivered: total, sent, flight_at_start, .. } = self.reduction;
        let allowance = if f64::from(pipe) > target {
            f64::from(total) * target / f64::from(flight_at_start.max(1)) - f64::from(sent)
        } else {
            let limit = match (good_progress, total.checked_sub(sent)) {
                (false, _) => delivered,
                (true, Some(unsent)) => unsent.max(delivered) + 1,
                // Unsigned arithmetic wraps around in ns-3, so that the sender may send no segment.
                (true, None) => 0,
            };
            // If a control has no slow-start threshold, ns-3 uses the largest unsigned number and
            // reads the difference as signed.
            let room = if target == f64::INFINITY { -1.0 } else { target - f64::from(pipe) };
            f64::from(limit).min(room)
        };
        let at_least = if sent == 0 { 1.0 } else { 0.0 };
        self.set_window(f64::from(pipe) + allowance.max(at_least));
    }
}
