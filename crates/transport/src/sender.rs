//! Sender of a TCP flow: windows, loss detection by SACK, recovery, and the retransmission timer.
//!
//! The scoreboard needs no state per segment. The scoreboard consists of the first unacknowledged
//! segment `una`, the set `sacked` of SACKed segments, and two segment numbers that only increase
//! within a recovery:
//!
//! * holes below `lost_below` are lost: enough segments above these holes were SACKed (RFC 6675),
//!   or a timeout occurred;
//! * lost holes below `resent_below` have been sent again.
//!
//! So `pipe = (next − una) − |sacked| − holes(resent_below..lost_below)`. As in RFC 6675, only the
//! timer detects a retransmission that is lost again.

mod burst;
mod connection;
mod ns3;

pub use connection::Connection;

use crate::congestion::{
    AckEvent, ConfiguredControl, CongestionControl, CongestionEvent, ControlFailure, Window,
};
use crate::ranges::Ranges;
use crate::rtt::RttEstimator;
use crate::telemetry::HopReport;
use crate::{Ack, CongestionStates, LastResort, TcpConfig};
use bufferlab_units::Time;

/// A segment that the driver must send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// Number of the segment within the flow. 0 for a SYN.
    pub seq: u32,
    /// Whether the segment is a retransmission.
    pub retransmission: bool,
    /// Whether the segment is a SYN, which opens the connection and carries no data.
    pub syn: bool,
}

/// Phase of a TCP sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// The sender has not sent the SYN yet.
    Closed,
    /// The sender has sent a SYN and waits for the SYN-ACK.
    Opening,
    /// The sender sends data, and neither a recovery nor a reduction is in progress.
    Open,
    /// Fast recovery is in progress until segment `recovery_point` is acknowledged.
    Recovery,
    /// Recovery after a timeout, until segment `recovery_point` is acknowledged.
    Loss,
    /// Reduction of the window after a mark, until more than `recovery_point` is acknowledged.
    /// The phase exists only with [`CongestionStates::Ns3`].
    Reduction,
}

/// Counters of a TCP sender.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SenderCounters {
    /// Number of data segments sent, including retransmissions.
    pub sent: u32,
    /// Number of data segments that the sender sent again.
    pub retransmitted: u32,
    /// Number of times that a timer expired, including the handshake's timer.
    pub timeouts: u32,
}

/// Sender of one TCP flow.
#[derive(Clone, Debug)]
pub struct Sender {
    una: u32,
    next: u32,
    total: u32,
    lost_below: u32,
    resent_below: u32,
    /// Number of holes(resent_below..lost_below): segments that are lost and not yet sent again.
    pending_loss: u32,
    recovery_point: u32,
    /// Segment whose acknowledgement allows a mark to reduce the window again,
    /// and the window to grow.
    mark_point: u32,
    /// Number of the next new segment at the time when the window was last full. A segment lets the
    /// window grow only if the segment's number is below `full_at`.
    full_at: u32,
    phase: Phase,
    /// Whether segments that were repeated without being certainly lost count twice in flight.
    counts_spurious_retransmissions: bool,
    /// Whether the congestion control alone sets the window.
    control_owns_window: bool,
    backoff: u8,
    /// Whether an ACK of an earlier message has announced the receiver's window.
    window_is_known: bool,
    /// Number of segments of the current burst that the NIC still sends, even if the window becomes
    /// smaller.
    burst_left: u16,
    window: Window,
    /// Time before which a paced sender sends no segment.
    next_send_at: Time,
    deadline: Time,
    rtt: RttEstimator,
    congestion: CongestionControl,
    sacked: Ranges,
    reduction: Reduction,
    counters: SenderCounters,
}

/// State of a proportional rate reduction (RFC 6937), in segments.
#[derive(Clone, Copy, Debug, Default)]
struct Reduction {
    delivered: u32,
    sent: u32,
    flight_at_start: u32,
    /// Number of segments of a burst that the NIC had before the sender knew of the loss. These
    /// segments count as sent before the loss.
    committed: u16,
}

/// Information in an ACK besides the acknowledged segments.
#[derive(Clone, Copy, Debug)]
struct AckInfo<'a> {
    now: Time,
    rtt: Time,
    marked: bool,
    /// Number of segments in the network just before the ACK arrived.
    in_flight: u32,
    telemetry: &'a [HopReport],
}

impl Sender {
    /// Creates the sender of a flow of `total` segments.
    ///
    /// # Panics
    /// If `total` is zero.
    #[must_use]
    pub fn new(config: &TcpConfig, congestion: &ConfiguredControl, total: u32) -> Self {
        assert!(total > 0, "a flow carries at least one segment");
        let mut window = Window {
            size: f64::from(config.initial_window.clamp(1, total)),
            slow_start_threshold: f64::INFINITY,
            pacing_gap: Time::ZERO,
        };
        let control = congestion.start(config, &mut window);
        Self {
            una: 0,
            next: 0,
            total,
            lost_below: 0,
            resent_below: 0,
            pending_loss: 0,
            recovery_point: 0,
            mark_point: 0,
            full_at: 0,
            phase: if config.handshake { Phase::Closed } else { Phase::Open },
            counts_spurious_retransmissions: config.states == CongestionStates::Ns3,
            control_owns_window: congestion.info().owns_window_in(config.states),
            backoff: 0,
            burst_left: 0,
            window_is_known: false,
            window,
            next_send_at: Time::ZERO,
            deadline: Time::MAX,
            rtt: RttEstimator::default(),
            congestion: control,
            sacked: Ranges::default(),
            reduction: Reduction::default(),
            counters: SenderCounters::default(),
        }
    }

    /// Skips the handshake of this flow, because its connection already exists.
    pub fn skip_handshake(&mut self) {
        if self.phase == Phase::Closed {
            self.phase = Phase::Open;
        }
    }

    /// Number of segments that the sender believes to be in the network, plus segments of a burst
    /// that the NIC has not sent yet.
    #[inline]
    #[must_use]
    pub fn in_flight(&self) -> u32 {
        let pipe =
            self.next + u32::from(self.burst_left) - self.una - self.sacked.count() - self.pending_loss;
        if self.counts_spurious_retransmissions && self.resent_below > self.lost_below {
            return pipe + self.sacked.holes(self.lost_below.max(self.una), self.resent_below);
        }
        pipe
    }

    /// Whether the sender can send a segment now (see [`Self::poll_transmit`]).
    #[inline]
    #[must_use]
    pub fn wants_to_send(&self, config: &TcpConfig, now: Time) -> bool {
        (self.next_send_at <= now || self.burst_left > 0) && self.could_send(config)
    }

    /// Whether the next segment belongs to a burst that the NIC is sending. Then the segment leaves
    /// before any other packet of this host.
    #[inline]
    #[must_use]
    pub fn in_burst(&self) -> bool {
        self.burst_left > 0
    }

    /// Time at which the driver must call a paced sender again even without another event.
    /// [`Time::MAX`] if the pace does not limit the sender.
    #[inline]
    #[must_use]
    pub fn wake_at(&self, config: &TcpConfig, now: Time) -> Time {
        if self.next_send_at <= now { Time::MAX } else { self.wake_of_pace(config) }
    }

    /// Computes [`Self::wake_at`] for a sender whose pace may be the limit.
    #[inline(never)] // Most senders have no pace.
    fn wake_of_pace(&self, config: &TcpConfig) -> Time {
        if self.burst_left > 0 || !self.could_send(config) { Time::MAX } else { self.next_send_at }
    }

    /// Whether a segment is waiting to be sent and the window has space for the segment.
    #[inline]
    fn could_send(&self, config: &TcpConfig) -> bool {
        if self.sends_in_order(config) {
            return self.may_send_new(config) && self.window_allows(config);
        }
        self.could_send_otherwise(config)
    }

    /// Whether the sender can send only new segments, one by one: no loss and no burst.
    #[inline]
    fn sends_in_order(&self, config: &TcpConfig) -> bool {
        self.phase == Phase::Open && self.pending_loss == 0 && config.burst_segments <= 1
    }

    /// Complete check of the condition [`Self::could_send`]. Senders after a loss, with bursts or
    /// during a handshake need this check.
    #[inline(never)] // Rare.
    fn could_send_otherwise(&self, config: &TcpConfig) -> bool {
        match self.phase {
            Phase::Closed => true,
            Phase::Opening => false,
            _ => {
                if self.burst_left > 0 {
                    return true;
                }
                let something = self.pending_loss > 0
                    || self.may_send_new(config)
                    || self.speculative_hole(config).is_some();
                something
                    && self.window_allows(config)
                    && (config.burst_segments <= 1 || self.pending_loss > 0 || self.burst_may_begin(config))
            }
        }
    }

    /// The next segment that may be lost, when no segment is certainly lost and no segment is new
    /// (RFC 6675 section 4, NextSeg rule 3). [`LastResort`] sets the limit.
    #[inline]
    fn speculative_hole(&self, config: &TcpConfig) -> Option<u32> {
        if self.phase != Phase::Recovery {
            return None;
        }
        let limit = match config.last_resort {
            LastResort::BelowHighestSack => self.sacked.nth_from_top(1)?,
            LastResort::Everything => self.next,
        };
        let hole = self.sacked.next_hole(self.resent_below.max(self.una));
        (hole < limit).then_some(hole)
    }

    #[inline]
    fn window_allows(&self, config: &TcpConfig) -> bool {
        f64::from(self.window_used(config) + 1) <= self.window.size
    }

    /// Number of segments that count against the congestion window.
    #[inline]
    fn window_used(&self, config: &TcpConfig) -> u32 {
        // Limited transmit: before a loss is certain, SACKed segments leave the pipe and so
        // release new segments.
        if config.limited_transmit || self.phase != Phase::Open {
            self.in_flight()
        } else {
            self.next - self.una
        }
    }

    /// Whether the flow has an unsent segment and the receiver's window has space for this segment.
    /// The first ACK of any kind announces the scaled window. Before the first ACK only new
    /// segments wait, never retransmissions.
    #[inline]
    fn may_send_new(&self, config: &TcpConfig) -> bool {
        self.next < self.total
            && (self.una > 0
                || self.next < config.first_flight_limit
                || self.window_is_known
                || !self.sacked.is_empty())
    }

    /// Returns the next segment to send, if the window has space. After each ACK and timeout,
    /// callers repeat the call until the result is `None`. Then callers read [`Self::deadline`].
    #[must_use]
    #[inline]
    pub fn poll_transmit(&mut self, config: &TcpConfig, now: Time) -> Option<Segment> {
        if !self.wants_to_send(config, now) {
            return None;
        }
        if self.phase == Phase::Closed {
            self.phase = Phase::Opening;
            self.deadline = now + self.timeout(config);
            return Some(Segment { seq: 0, retransmission: self.backoff > 0, syn: true });
        }
        let mut counts = 1;
        let is_new = self.sends_in_order(config)
            || self.burst_left > 0
            || (self.pending_loss == 0 && self.may_send_new(config));
        let seq = if is_new {
            if config.burst_segments > 1 {
                counts = self.count_burst(config);
            }
            self.next += 1;
            self.next - 1
        } else if self.pending_loss > 0 {
            let seq = self.sacked.next_hole(self.resent_below);
            self.resent_below = seq + 1;
            self.pending_loss -= 1;
            seq
        } else {
            let seq = self.speculative_hole(config).expect("something was there to send");
            self.resent_below = seq + 1;
            seq
        };
        self.counters.retransmitted += u32::from(!is_new);
        self.counters.sent += 1;
        self.reduction.sent += counts;
        if self.window.pacing_gap != Time::ZERO {
            self.keep_pace(now);
        }
        if self.deadline == Time::MAX {
            self.deadline = now + self.timeout(config);
        }
        Some(Segment { seq, retransmission: !is_new, syn: false })
    }

    /// Sets the send time of the segment after the segment that leaves now.
    /// A segment that waited at the NIC for less than one gap does not delay later segments.
    #[cold]
    fn keep_pace(&mut self, now: Time) {
        let gap = self.window.pacing_gap;
        let was_due = if now.saturating_sub(self.next_send_at) < gap { self.next_send_at } else { now };
        self.next_send_at = was_due + gap;
    }

    fn timeout(&self, config: &TcpConfig) -> Time {
        let timeout = self.rtt.timeout(config.min_rto, config.initial_rto);
        Time(timeout.0.saturating_mul(1 << self.backoff.min(30)).min(config.max_rto.0))
    }

    /// Opens the connection after the SYN-ACK that echoes `echo`. A duplicate SYN-ACK has no
    /// effect.
    pub fn handle_syn_ack(&mut self, now: Time, echo: Time) {
        if self.phase == Phase::Opening {
            self.phase = Phase::Open;
            self.rtt.sample(now - echo);
            self.backoff = 0;
            self.deadline = Time::MAX;
        }
    }

    /// Handles an ACK. Afterwards, callers call [`Self::poll_transmit`] and read
    /// [`Self::wake_at`] and [`Self::deadline`].
    #[inline]
    pub fn handle_ack(&mut self, config: &TcpConfig, now: Time, ack: &Ack) {
        self.handle_ack_with_telemetry(config, now, ack, &[]);
    }

    /// Handles an ACK, with the reports of the switches on the path of the acknowledged segment,
    /// in order.
    #[inline]
    pub fn handle_ack_with_telemetry(
        &mut self,
        config: &TcpConfig,
        now: Time,
        ack: &Ack,
        telemetry: &[HopReport],
    ) {
        if config.states == CongestionStates::Ns3 {
            self.handle_ack_ns3(config, now, ack, telemetry);
            return;
        }
        let in_flight = self.in_flight();
        let step = if config.burst_segments > 1 { self.least_burst(config) } else { 1 };
        if f64::from(in_flight + step) > self.window.size {
            self.full_at = self.next;
        }
        let info =
            AckInfo { now, rtt: now.saturating_sub(ack.echo), marked: ack.marked, in_flight, telemetry };
        let before = self.una;
        let mut delivered = 0;
        if ack.cumulative > self.una {
            delivered += self.advance(config, now, ack);
        }
        if ack.sack.1 > ack.sack.0 {
            delivered += self.note_sack(ack.sack);
        }
        if delivered == 0 && ack.cumulative <= before {
            return;
        }
        if !self.sacked.is_empty() {
            self.detect_loss(config, now);
        }
        if matches!(self.phase, Phase::Recovery | Phase::Loss) && self.una >= self.recovery_point {
            self.end_recovery();
        }
        if ack.marked && self.phase == Phase::Open && self.una >= self.mark_point {
            self.observe(config, &info, delivered, false);
            let flight = self.in_flight();
            self.congestion.on_congestion(config, &mut self.window, CongestionEvent::Mark, flight, now);
            self.set_window(self.window.slow_start_threshold);
            self.mark_point = self.next;
            return;
        }
        let may_grow = match self.phase {
            Phase::Open => self.una >= self.mark_point && self.una > before && self.una <= self.full_at,
            Phase::Loss => self.una > before && self.una <= self.full_at,
            _ => false,
        };
        self.observe(config, &info, delivered, may_grow);
        if self.phase == Phase::Recovery {
            self.reduce(config, delivered);
        }
    }

    #[inline]
    fn observe(&mut self, config: &TcpConfig, info: &AckInfo<'_>, delivered: u32, may_grow: bool) {
        let AckInfo { now, rtt, marked, in_flight, telemetry } = *info;
        let (acknowledged, next) = (self.una, self.next);
        let event =
            AckEvent { now, rtt, delivered, marked, acknowledged, next, in_flight, may_grow, telemetry };
        self.congestion.on_ack(config, &mut self.window, &event);
    }

    /// Sets the window by the rules of a recovery, unless the congestion control sets the window.
    #[inline]
    fn set_window(&mut self, size: f64) {
        if !self.control_owns_window {
            self.window.size = size;
        }
    }

    /// Handles the cumulative part of an ACK. Returns the number of segments that this part reports
    /// for the first time.
    #[inline]
    fn advance(&mut self, config: &TcpConfig, now: Time, ack: &Ack) -> u32 {
        let cumulative = ack.cumulative.min(self.next);
        let mut delivered = cumulative - self.una;
        if self.lost_below > self.una || !self.sacked.is_empty() {
            let first = self.resent_below.max(self.una);
            self.pending_loss -= self.sacked.holes(first, self.lost_below.min(cumulative));
            delivered -= self.sacked.remove_below(cumulative);
        }
        self.una = cumulative;
        self.resent_below = self.resent_below.max(cumulative);
        self.lost_below = self.lost_below.max(cumulative);
        self.rtt.sample(now.saturating_sub(ack.echo));
        self.backoff = 0;
        let idle = match config.states {
            CongestionStates::Rfc => self.una == self.next && self.pending_loss == 0,
            // A reduction may leave less than one segment. Then only the timer lets
            // the flow continue.
            CongestionStates::Ns3 => self.una == self.total,
        };
        self.deadline = if idle { Time::MAX } else { now + self.timeout(config) };
        delivered
    }

    /// Handles a SACK block. Returns the number of segments that the block reports for
    /// the first time.
    #[cold]
    fn note_sack(&mut self, (first, end): (u32, u32)) -> u32 {
        let (first, end) = (first.max(self.una), end.min(self.next));
        if first >= end {
            return 0;
        }
        self.pending_loss -= self.sacked.holes(first.max(self.resent_below), end.min(self.lost_below));
        let before = self.sacked.count();
        self.sacked.insert(first, end);
        self.sacked.count() - before
    }

    /// Increases `lost_below` by the rule IsLost of RFC 6675.
    fn note_losses(&mut self, config: &TcpConfig) {
        // At least n SACKed segments are above every hole below the n-th highest SACKed segment.
        let Some(bound) = self.sacked.nth_from_top(config.duplicate_threshold) else { return };
        if bound > self.lost_below {
            self.pending_loss += self.sacked.holes(self.lost_below.max(self.resent_below), bound);
            self.lost_below = bound;
        }
    }

    /// Starts a fast recovery if the SACKs reveal a first loss.
    #[cold]
    fn detect_loss(&mut self, config: &TcpConfig, now: Time) {
        self.note_losses(config);
        if self.pending_loss > 0 && self.phase == Phase::Open {
            self.phase = Phase::Recovery;
            self.recovery_point = self.next;
            let flight = self.next + u32::from(self.burst_left) - self.una;
            self.congestion.on_congestion(config, &mut self.window, CongestionEvent::Loss, flight, now);
            self.set_window(self.window.slow_start_threshold);
            self.reduction =
                Reduction { delivered: 0, sent: 0, flight_at_start: flight, committed: self.burst_left };
        }
    }

    /// Applies proportional rate reduction with the slow-start bound (RFC 6937 section 3).
    fn reduce(&mut self, config: &TcpConfig, delivered: u32) {
        if !config.proportional_rate_reduction || self.control_owns_window {
            return;
        }
        let target = self.window.slow_start_threshold;
        let pipe = self.in_flight();
        self.reduction.delivered += delivered;
        let Reduction { delivered: total, sent, flight_at_start, .. } = self.reduction;
        let allowance = if f64::from(pipe) > target {
            let share = (f64::from(total) * target / f64::from(flight_at_start.max(1))).ceil();
            (share - f64::from(sent)).max(0.0)
        } else {
            let limit = total.saturating_sub(sent).max(delivered) + 1;
            (target - f64::from(pipe)).min(f64::from(limit)).max(0.0)
        };
        // The first segment of a recovery, the fast retransmission, leaves at once.
        let allowance = if sent == 0 { allowance.max(1.0) } else { allowance };
        self.window.size = (f64::from(pipe) + allowance).max(1.0);
    }

    fn end_recovery(&mut self) {
        if self.phase == Phase::Recovery {
            self.set_window(self.window.slow_start_threshold);
        }
        self.phase = Phase::Open;
    }

    /// Time at which the driver must call [`Self::handle_timeout`]. [`Time::MAX`] if no timer runs.
    #[inline]
    #[must_use]
    pub fn deadline(&self) -> Time {
        self.deadline
    }

    /// Handles the deadline of the sender's timer. Calls before the deadline do nothing and return
    /// false. After a timeout (true), callers call [`Self::poll_transmit`].
    pub fn handle_timeout(&mut self, config: &TcpConfig, now: Time) -> bool {
        if now < self.deadline {
            return false;
        }
        self.counters.timeouts += 1;
        self.deadline = Time::MAX;
        if self.phase == Phase::Opening {
            self.backoff = (self.backoff + 1).min(30);
            self.phase = Phase::Closed;
            return true;
        }
        if self.phase != Phase::Loss || self.backoff == 0 || config.states == CongestionStates::Ns3 {
            // RFC 5681 sets the slow-start threshold at the first timeout of a segment, not at
            // repeated timeouts of the segment.
            let flight = self.in_flight().max(1);
            self.congestion.on_congestion(config, &mut self.window, CongestionEvent::Timeout, flight, now);
        }
        self.backoff = (self.backoff + 1).min(30);
        self.phase = Phase::Loss;
        self.recovery_point = self.next;
        self.window.size = 1.0;
        self.resent_below = self.una;
        self.lost_below = self.next;
        self.pending_loss = self.sacked.holes(self.una, self.next);
        self.deadline = now + self.timeout(config);
        true
    }

    /// Ends the flow after the segments that the sender has sent, or after one segment if the
    /// sender has sent no segment. Returns the flow's number of segments.
    pub fn close(&mut self) -> u32 {
        self.total = self.next.max(1);
        self.burst_left = 0;
        self.total
    }

    /// Whether every segment of the flow has been acknowledged.
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

    /// Congestion window and pace of the flow.
    #[must_use]
    pub fn window(&self) -> Window {
        self.window
    }

    /// Smoothed round-trip time of the flow. `None` before the first sample.
    #[must_use]
    pub fn smoothed_rtt(&self) -> Option<Time> {
        self.rtt.smoothed()
    }

    /// Current phase of the TCP sender.
    #[must_use]
    pub fn phase(&self) -> Phase {
        self.phase
    }

    /// Counters of the segments and timeouts of the TCP sender.
    #[inline]
    #[must_use]
    pub fn counters(&self) -> SenderCounters {
        self.counters
    }

    /// Failure of the flow's congestion control, returned once
    /// ([`crate::Controller::take_failure`]).
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
