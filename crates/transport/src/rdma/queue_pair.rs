//! Sender of an RDMA message: the pace, the window, and the repair by go-back-N or selective
//! repeat.
//!
//! Go-back-N needs two positions: the first unacknowledged segment `una`,
//! and the next segment to send. Selective repeat has TCP's scoreboard (see [`crate::Sender`]):
//! holes below `lost_below` are lost, and holes below `resent_below` have been sent again.

use super::{RdmaAck, Recovery};
use crate::congestion::{
    AckEvent, ConfiguredControl, CongestionControl, CongestionEvent, ControlFailure, Window,
};
use crate::ranges::Ranges;
use crate::telemetry::HopReport;
use crate::{Segment, SenderCounters, TcpConfig};
use bufferlab_units::Time;

/// Largest number of doublings of the retransmission timeout.
const MAX_BACKOFF: u8 = 6;

/// Sender of one RDMA message.
#[derive(Clone, Debug)]
pub struct QueuePair {
    una: u32,
    next: u32,
    /// Number of the first segment that the sender has never sent.
    new_from: u32,
    total: u32,
    lost_below: u32,
    resent_below: u32,
    /// Number of holes from `resent_below` to `lost_below`.
    pending_loss: u32,
    backoff: u8,
    window: Window,
    /// Time at which the last segment was due. The next segment follows one gap later.
    paced_from: Time,
    deadline: Time,
    congestion: CongestionControl,
    sacked: Ranges,
    counters: SenderCounters,
}

impl QueuePair {
    /// Creates the sender of a message of `total` segments.
    ///
    /// # Panics
    /// If `total` is zero.
    #[must_use]
    pub fn new(config: &TcpConfig, congestion: &ConfiguredControl, total: u32) -> Self {
        assert!(total > 0, "a message carries at least one segment");
        let mut window = Window {
            size: f64::from(config.initial_window.clamp(1, u32::MAX - 1)),
            slow_start_threshold: f64::INFINITY,
            pacing_gap: Time::ZERO,
        };
        let control = congestion.start(config, &mut window);
        Self {
            una: 0,
            next: 0,
            new_from: 0,
            total,
            lost_below: 0,
            resent_below: 0,
            pending_loss: 0,
            backoff: 0,
            window,
            paced_from: Time::ZERO,
            deadline: Time::MAX,
            congestion: control,
            sacked: Ranges::default(),
            counters: SenderCounters::default(),
        }
    }

    /// Number of segments that the sender believes to be in the network.
    #[inline]
    #[must_use]
    pub fn in_flight(&self) -> u32 {
        self.next - self.una - self.sacked.count() - self.pending_loss
    }

    /// Whether a segment is waiting to be sent and the window has space for the segment.
    #[inline]
    fn could_send(&self, config: &TcpConfig) -> bool {
        let in_flight = self.in_flight();
        (self.pending_loss > 0 || self.next < self.total)
            && f64::from(in_flight + 1) <= self.window.size
            && in_flight < config.rdma.window_limit
    }

    /// Time at which the pace allows the next segment.
    #[inline]
    fn next_send_at(&self) -> Time {
        if self.counters.sent == 0 { Time::ZERO } else { self.paced_from + self.window.pacing_gap }
    }

    /// Whether the sender can send a segment now (see [`Self::poll_transmit`]).
    #[inline(never)]
    #[must_use]
    pub fn wants_to_send(&self, config: &TcpConfig, now: Time) -> bool {
        self.could_send(config) && self.next_send_at() <= now
    }

    /// Time at which the driver must call the sender again even without another event.
    /// [`Time::MAX`] if the pace does not limit the sender.
    #[inline(never)]
    #[must_use]
    pub fn wake_at(&self, config: &TcpConfig, now: Time) -> Time {
        let at = self.next_send_at();
        if at <= now || !self.could_send(config) { Time::MAX } else { at }
    }

    /// The next segment to send, if pace and window allow a segment.
    /// After a call, callers read [`Self::wake_at`] and [`Self::deadline`].
    #[must_use]
    #[inline(never)]
    pub fn poll_transmit(&mut self, config: &TcpConfig, now: Time) -> Option<Segment> {
        if !self.wants_to_send(config, now) {
            return None;
        }
        let due = self.next_send_at();
        let seq = if self.pending_loss > 0 {
            let seq = self.sacked.next_hole(self.resent_below);
            self.resent_below = seq + 1;
            self.pending_loss -= 1;
            seq
        } else {
            self.next += 1;
            self.next - 1
        };
        let retransmission = seq < self.new_from;
        self.new_from = self.new_from.max(seq + 1);
        self.counters.retransmitted += u32::from(retransmission);
        self.counters.sent += 1;
        let bytes = config.segment_wire_bytes + config.uncounted_wire_bytes;
        self.congestion.on_sent(config, &mut self.window, now, bytes);
        let is_late = now - due >= self.window.pacing_gap;
        self.paced_from = if config.rdma.strict_pace || is_late { now } else { due };
        if self.deadline == Time::MAX {
            self.restart_timer(config, now);
        }
        Some(Segment { seq, retransmission, syn: false })
    }

    fn restart_timer(&mut self, config: &TcpConfig, now: Time) {
        let timeout = config.rdma.retransmission_timeout.0.saturating_mul(1 << self.backoff);
        self.deadline = Time(now.0.saturating_add(timeout));
    }

    /// Handles an acknowledgement. Afterwards, callers call [`Self::poll_transmit`] and read
    /// [`Self::wake_at`] and [`Self::deadline`].
    #[inline]
    pub fn handle_ack(&mut self, config: &TcpConfig, now: Time, ack: &RdmaAck) {
        self.handle_ack_with_telemetry(config, now, ack, &[]);
    }

    /// Handles an acknowledgement, with the reports of the switches on the path of the acknowledged
    /// segment, in order.
    #[inline(never)]
    pub fn handle_ack_with_telemetry(
        &mut self,
        config: &TcpConfig,
        now: Time,
        ack: &RdmaAck,
        telemetry: &[HopReport],
    ) {
        let in_flight = self.in_flight();
        let mut delivered = 0;
        if ack.cumulative > self.una {
            delivered += self.advance(config, now, ack.cumulative);
        }
        if ack.sack.1 > ack.sack.0 {
            delivered += self.note_sack(ack.sack);
        }
        if ack.negative && config.rdma.recovery == Recovery::GoBackN && ack.cumulative == self.una {
            self.next = self.una;
        }
        let event = AckEvent {
            now,
            rtt: now.saturating_sub(ack.echo),
            delivered,
            marked: ack.notified,
            acknowledged: self.una,
            next: self.next,
            in_flight,
            may_grow: true,
            telemetry,
        };
        self.congestion.on_ack(config, &mut self.window, &event);
    }

    /// Handles the cumulative part of an ACK. Returns the number of segments that this part reports
    /// for the first time.
    #[inline]
    fn advance(&mut self, config: &TcpConfig, now: Time, cumulative: u32) -> u32 {
        let cumulative = cumulative.min(self.new_from);
        let mut delivered = cumulative - self.una;
        if self.lost_below > self.una || !self.sacked.is_empty() {
            let first = self.resent_below.max(self.una);
            self.pending_loss -= self.sacked.holes(first, self.lost_below.min(cumulative));
            delivered -= self.sacked.remove_below(cumulative);
        }
        self.una = cumulative;
        // After a return to an earlier segment (go-back-N), an ACK for segments that were
        // sent before may still arrive.
        self.next = self.next.max(cumulative);
        self.resent_below = self.resent_below.max(cumulative);
        self.lost_below = self.lost_below.max(cumulative);
        self.backoff = 0;
        if self.una == self.total {
            self.deadline = Time::MAX;
        } else if self.deadline != Time::MAX {
            self.restart_timer(config, now);
        }
        delivered
    }

    /// Handles a block of segments that selective repeat reports: holes below the block are lost.
    /// Returns the number of segments that the block reports for the first time.
    #[cold]
    fn note_sack(&mut self, (first, end): (u32, u32)) -> u32 {
        let (first, end) = (first.max(self.una), end.min(self.next));
        if first >= end {
            return 0;
        }
        self.pending_loss -= self.sacked.holes(first.max(self.resent_below), end.min(self.lost_below));
        let before = self.sacked.count();
        self.sacked.insert(first, end);
        if first > self.lost_below {
            self.pending_loss += self.sacked.holes(self.lost_below.max(self.resent_below), first);
            self.lost_below = first;
        }
        self.sacked.count() - before
    }

    /// Handles a congestion notification that arrived in a separate frame.
    pub fn handle_notification(&mut self, config: &TcpConfig, now: Time) {
        self.congestion.on_notification(config, &mut self.window, now);
    }

    /// Time at which the driver must call [`Self::handle_timeout`]. [`Time::MAX`] if no timer runs.
    #[inline]
    #[must_use]
    pub fn deadline(&self) -> Time {
        self.deadline
    }

    /// Handles the deadline of the retransmission timer. Calls before the deadline do nothing and
    /// return false. After a timeout (true), callers call [`Self::poll_transmit`].
    pub fn handle_timeout(&mut self, config: &TcpConfig, now: Time) -> bool {
        if now < self.deadline {
            return false;
        }
        self.counters.timeouts += 1;
        let flight = self.in_flight().max(1);
        self.congestion.on_congestion(config, &mut self.window, CongestionEvent::Timeout, flight, now);
        self.backoff = (self.backoff + 1).min(MAX_BACKOFF);
        match config.rdma.recovery {
            Recovery::GoBackN => self.next = self.una,
            Recovery::SelectiveRepeat => {
                self.resent_below = self.una;
                self.lost_below = self.next;
                self.pending_loss = self.sacked.holes(self.una, self.next);
            }
        }
        self.restart_timer(config, now);
        true
    }

    /// Whether the receiver has acknowledged every segment of the message.
    #[inline]
    #[must_use]
    pub fn is_done(&self) -> bool {
        self.una == self.total
    }

    /// Number of segments that the receiver has acknowledged cumulatively.
    #[must_use]
    pub fn acknowledged(&self) -> u32 {
        self.una
    }

    /// Window and pace that the congestion control has set.
    #[must_use]
    pub fn window(&self) -> Window {
        self.window
    }

    /// Counters of the segments and timeouts of the queue pair.
    #[inline]
    #[must_use]
    pub fn counters(&self) -> SenderCounters {
        self.counters
    }

    /// Failure of the congestion control, returned once ([`crate::Sender::take_failure`]).
    #[must_use]
    pub fn take_failure(&mut self) -> Option<ControlFailure> {
        self.congestion.take_failure()
    }

    /// State of the flow's congestion control.
    #[must_use]
    pub fn congestion_control(&self) -> &CongestionControl {
        &self.congestion
    }
}
