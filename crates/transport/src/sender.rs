//! The sending end: windows, loss detection by SACK, recovery, the retransmission timer.
//!
//! The scoreboard needs no state per segment. With `una` the first unacknowledged segment, `sacked`
//! the set of SACKed ones, and two marks that only move up within a recovery:
//!
//! * holes below `lost_below` are lost (RFC 6675: enough segments above them were SACKed; after a
//!   timeout: all);
//! * of these, holes below `resent_below` have been sent again.
//!
//! So `pipe = (next − una) − |sacked| − holes(resent_below..lost_below)`. A retransmission that is
//! lost again is found by the timer only, as in RFC 6675.

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

/// A segment to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// Its number; 0 for a SYN.
    pub seq: u32,
    /// It has been sent before.
    pub retransmission: bool,
    /// It opens the connection and carries no data.
    pub syn: bool,
}

/// Where a sender is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// The SYN must be sent.
    Closed,
    /// Waiting for the SYN-ACK.
    Opening,
    /// Normal.
    Open,
    /// Fast recovery until `recovery_point` is acknowledged.
    Recovery,
    /// After a timeout, until `recovery_point` is acknowledged.
    Loss,
    /// Reducing the window after a mark, until more than `recovery_point` is acknowledged;
    /// [`CongestionStates::Ns3`] only.
    Reduction,
}

/// What a sender counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SenderCounters {
    /// Data segments sent, retransmissions included.
    pub sent: u32,
    /// Data segments sent again.
    pub retransmitted: u32,
    /// Timer expirations, of the handshake too.
    pub timeouts: u32,
}

/// Sends one flow.
#[derive(Clone, Debug)]
pub struct Sender {
    una: u32,
    next: u32,
    total: u32,
    lost_below: u32,
    resent_below: u32,
    /// holes(resent_below..lost_below): lost and not yet sent again.
    pending_loss: u32,
    recovery_point: u32,
    /// No second reduction by a mark, and no growth, until this segment is acknowledged.
    mark_point: u32,
    /// The window was full when this was the next new segment: what was sent before then may let it
    /// grow.
    full_at: u32,
    phase: Phase,
    /// Segments that were sent again without being lost for certain count twice in flight.
    copies_count: bool,
    /// The congestion control alone sets the window.
    is_governed: bool,
    backoff: u8,
    /// An ACK of an earlier message has told the receiver's window.
    window_is_known: bool,
    /// Segments of the burst under way that the card has yet to send: they leave whatever the
    /// window says.
    burst_left: u16,
    window: Window,
    /// A paced sender sends nothing before.
    next_send_at: Time,
    deadline: Time,
    rtt: RttEstimator,
    congestion: CongestionControl,
    sacked: Ranges,
    reduction: Reduction,
    counters: SenderCounters,
}

/// Proportional rate reduction (RFC 6937), in segments.
#[derive(Clone, Copy, Debug, Default)]
struct Reduction {
    delivered: u32,
    sent: u32,
    flight_at_start: u32,
    /// Segments of a burst that the card had before the loss was known: they count as sent before.
    committed: u16,
}

/// What an ACK brings besides what it acknowledges.
#[derive(Clone, Copy, Debug)]
struct News<'a> {
    now: Time,
    rtt: Time,
    marked: bool,
    /// Segments in the network before it.
    in_flight: u32,
    telemetry: &'a [HopReport],
}

impl Sender {
    /// A flow of `total` segments.
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
            copies_count: config.states == CongestionStates::Ns3,
            is_governed: congestion.info().governs_window_in(config.states),
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

    /// The connection exists already: no handshake.
    pub fn skip_handshake(&mut self) {
        if self.phase == Phase::Closed {
            self.phase = Phase::Open;
        }
    }

    /// Segments in the network, as far as the sender can tell, and those of a burst that the card
    /// has yet to send.
    #[inline]
    #[must_use]
    pub fn in_flight(&self) -> u32 {
        let pipe =
            self.next + u32::from(self.burst_left) - self.una - self.sacked.count() - self.pending_loss;
        if self.copies_count && self.resent_below > self.lost_below {
            return pipe + self.sacked.holes(self.lost_below.max(self.una), self.resent_below);
        }
        pipe
    }

    /// Whether [`Self::poll_transmit`] would return a segment.
    #[inline]
    #[must_use]
    pub fn wants_to_send(&self, config: &TcpConfig, now: Time) -> bool {
        (self.next_send_at <= now || self.burst_left > 0) && self.could_send(config)
    }

    /// The next segment belongs to a burst that the card is sending: it leaves before anything else
    /// of this host.
    #[inline]
    #[must_use]
    pub fn in_burst(&self) -> bool {
        self.burst_left > 0
    }

    /// When a paced sender must be polled again though nothing else happens; [`Time::MAX`] if the
    /// pace is not what holds it back.
    #[inline]
    #[must_use]
    pub fn wake_at(&self, config: &TcpConfig, now: Time) -> Time {
        if self.next_send_at <= now || self.burst_left > 0 || !self.could_send(config) {
            Time::MAX
        } else {
            self.next_send_at
        }
    }

    /// Whether there is something to send and the window allows it.
    #[inline]
    fn could_send(&self, config: &TcpConfig) -> bool {
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

    /// With nothing certainly lost and nothing new to send, a recovery goes on with segments that
    /// may be lost (RFC 6675 section 4, NextSeg rule 3), as far as [`LastResort`] says.
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

    /// Segments that count against the window.
    #[inline]
    fn window_used(&self, config: &TcpConfig) -> u32 {
        // Before a loss is certain, SACKed segments leave the pipe and let new ones in: limited
        // transmit.
        if config.limited_transmit || self.phase != Phase::Open {
            self.in_flight()
        } else {
            self.next - self.una
        }
    }

    /// Whether there is a segment left that was never sent, and the receiver's window has room for
    /// it. The first ACK of any kind tells the scaled window; until then only new segments are held
    /// back, never those that are sent again.
    #[inline]
    fn may_send_new(&self, config: &TcpConfig) -> bool {
        self.next < self.total
            && (self.una > 0
                || self.next < config.first_flight_limit
                || self.window_is_known
                || !self.sacked.is_empty())
    }

    /// The next segment to send, if the window allows one. Poll again after each segment, ACK and
    /// timeout, until it returns `None`; poll [`Self::deadline`] afterwards.
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
        let is_new = self.burst_left > 0 || (self.pending_loss == 0 && self.may_send_new(config));
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

    /// A segment leaves: when may the next one? A segment that waited for its turn at the card does
    /// not delay those after it, by up to one gap.
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

    /// The connection is open: the SYN-ACK that echoes `echo` has arrived. A duplicate does
    /// nothing.
    pub fn handle_syn_ack(&mut self, now: Time, echo: Time) {
        if self.phase == Phase::Opening {
            self.phase = Phase::Open;
            self.rtt.sample(now - echo);
            self.backoff = 0;
            self.deadline = Time::MAX;
        }
    }

    /// An ACK has arrived. Poll [`Self::poll_transmit`], [`Self::wake_at`] and [`Self::deadline`]
    /// afterwards.
    #[inline]
    pub fn handle_ack(&mut self, config: &TcpConfig, now: Time, ack: &Ack) {
        self.handle_ack_with_telemetry(config, now, ack, &[]);
    }

    /// The same, with what the switches reported that the acknowledged segment passed, in their
    /// order.
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
        let news = News { now, rtt: now.saturating_sub(ack.echo), marked: ack.marked, in_flight, telemetry };
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
            self.observe(config, &news, delivered, false);
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
        self.observe(config, &news, delivered, may_grow);
        if self.phase == Phase::Recovery {
            self.reduce(config, delivered);
        }
    }

    #[inline]
    fn observe(&mut self, config: &TcpConfig, news: &News<'_>, delivered: u32, may_grow: bool) {
        let News { now, rtt, marked, in_flight, telemetry } = *news;
        let (acknowledged, next) = (self.una, self.next);
        let event =
            AckEvent { now, rtt, delivered, marked, acknowledged, next, in_flight, may_grow, telemetry };
        self.congestion.on_ack(config, &mut self.window, &event);
    }

    /// Sets the window as a recovery demands, unless that is the congestion control's business.
    #[inline]
    fn set_window(&mut self, size: f64) {
        if !self.is_governed {
            self.window.size = size;
        }
    }

    /// Takes the cumulative part; returns how many segments it reports for the first time.
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
            // A reduction may leave less than one segment: only the timer gets the flow out of
            // that.
            CongestionStates::Ns3 => self.una == self.total,
        };
        self.deadline = if idle { Time::MAX } else { now + self.timeout(config) };
        delivered
    }

    /// Takes a SACK block; returns how many segments it reports for the first time.
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

    /// Moves `lost_below` up (RFC 6675 IsLost).
    fn note_losses(&mut self, config: &TcpConfig) {
        // Holes below the n-th highest SACKed segment have at least n SACKed ones above them.
        let Some(bound) = self.sacked.nth_from_top(config.duplicate_threshold) else { return };
        if bound > self.lost_below {
            self.pending_loss += self.sacked.holes(self.lost_below.max(self.resent_below), bound);
            self.lost_below = bound;
        }
    }

    /// Enters recovery on the first loss.
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

    /// Proportional rate reduction with the slow-start bound (RFC 6937 section 3).
    fn reduce(&mut self, config: &TcpConfig, delivered: u32) {
        if !config.proportional_rate_reduction || self.is_governed {
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
        // The first segment of a recovery goes out at once: the fast retransmission.
        let allowance = if sent == 0 { allowance.max(1.0) } else { allowance };
        self.window.size = (f64::from(pipe) + allowance).max(1.0);
    }

    fn end_recovery(&mut self) {
        if self.phase == Phase::Recovery {
            self.set_window(self.window.slow_start_threshold);
        }
        self.phase = Phase::Open;
    }

    /// When [`Self::handle_timeout`] must be called; [`Time::MAX`] if never.
    #[inline]
    #[must_use]
    pub fn deadline(&self) -> Time {
        self.deadline
    }

    /// Time may have reached the deadline; early calls do nothing and return false. After a timeout
    /// (true), poll [`Self::poll_transmit`].
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
            // RFC 5681: the threshold is set at the first timeout for a segment, not at its
            // repetitions.
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

    /// The application has no more data than was handed to the network (one segment if nothing
    /// was): the flow ends with it. Returns how many segments it has now.
    pub fn close(&mut self) -> u32 {
        self.total = self.next.max(1);
        self.burst_left = 0;
        self.total
    }

    /// Every segment has been acknowledged.
    #[inline]
    #[must_use]
    pub fn is_done(&self) -> bool {
        self.una == self.total
    }

    /// Segments acknowledged cumulatively.
    #[must_use]
    pub fn acknowledged(&self) -> u32 {
        self.una
    }

    /// The congestion window (segments).
    #[must_use]
    pub fn window(&self) -> Window {
        self.window
    }

    /// Where the sender is.
    #[must_use]
    pub fn phase(&self) -> Phase {
        self.phase
    }

    /// What it counted.
    #[inline]
    #[must_use]
    pub fn counters(&self) -> SenderCounters {
        self.counters
    }

    /// What made the congestion control's answers meaningless, once
    /// ([`crate::Controller::take_failure`]).
    #[must_use]
    pub fn take_failure(&mut self) -> Option<ControlFailure> {
        self.congestion.take_failure()
    }

    /// The congestion control's state.
    #[must_use]
    pub fn congestion_control(&self) -> &CongestionControl {
        &self.congestion
    }
}
