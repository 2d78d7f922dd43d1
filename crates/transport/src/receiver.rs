//! Receiver of a TCP flow: reassembly, acknowledgements, ECN echo.

use crate::ranges::Ranges;
use crate::{Ack, CongestionStates, TcpConfig};
use bufferlab_units::Time;

/// Receiver of one TCP flow.
///
/// The receiver sends an ACK for every `ack_every`-th in-order segment. The receiver sends an ACK
/// at once when a segment is out of order, fills a hole, or ends the flow. A change of the
/// congestion mark also causes an ACK, so that delayed ACKs do not blur the fraction of marks (RFC
/// 8257 section 3.2).
#[derive(Clone, Debug)]
pub struct Receiver {
    next: u32,
    total: u32,
    unacknowledged: u32,
    last_marked: bool,
    /// Number of the segment after the highest marked segment.
    marked_below: u32,
    last_sent: Time,
    deadline: Time,
    beyond: Ranges,
}

impl Receiver {
    /// Creates a receiver that expects `total` segments.
    #[must_use]
    pub fn new(total: u32) -> Self {
        Self {
            next: 0,
            total,
            unacknowledged: 0,
            last_marked: false,
            marked_below: 0,
            last_sent: Time::ZERO,
            deadline: Time::MAX,
            beyond: Ranges::default(),
        }
    }

    /// Limits the flow to `total` segments. The limit must include all segments that were sent.
    pub fn close(&mut self, total: u32) {
        self.total = total;
    }

    /// Handles the arrival of segment `seq`, sent at `sent`, with or without a mark (`marked`).
    /// Returns the ACK to send now, if any. After a call, callers read [`Self::deadline`].
    #[must_use]
    #[inline]
    pub fn handle_data(
        &mut self,
        config: &TcpConfig,
        now: Time,
        seq: u32,
        sent: Time,
        marked: bool,
    ) -> Option<Ack> {
        let marked = marked && self.heeds_mark(config, seq);
        let in_order = seq == self.next && self.beyond.is_empty();
        if !in_order {
            return Some(self.handle_disorder(seq, sent, marked));
        }
        self.next += 1;
        self.unacknowledged += 1;
        let mark_changed = marked != self.last_marked;
        if mark_changed && self.unacknowledged > 1 {
            // Either this segment or the segments that wait for their ACK had a
            // congestion mark. The receiver first acknowledges the waiting segments, with
            // the mark that these segments had.
            let ack = Ack {
                cumulative: self.next - 1,
                sack: (0, 0),
                echo: self.last_sent,
                marked: self.last_marked,
            };
            (self.last_marked, self.last_sent, self.unacknowledged) = (marked, sent, 1);
            self.deadline = now + config.delayed_ack_timeout;
            return Some(ack);
        }
        (self.last_marked, self.last_sent) = (marked, sent);
        if self.unacknowledged >= config.ack_every || self.next == self.total {
            return Some(self.acknowledge((0, 0)));
        }
        if self.unacknowledged == 1 {
            self.deadline = now + config.delayed_ack_timeout;
        }
        None
    }

    /// Whether the receiver echoes a mark on segment `seq`.
    #[cold]
    fn heeds_mark(&mut self, config: &TcpConfig, seq: u32) -> bool {
        let is_newest = seq >= self.marked_below;
        self.marked_below = self.marked_below.max(seq + 1);
        is_newest || config.states == CongestionStates::Rfc
    }

    #[cold]
    fn handle_disorder(&mut self, seq: u32, sent: Time, marked: bool) -> Ack {
        (self.last_marked, self.last_sent) = (marked, sent);
        if seq < self.next {
            return self.acknowledge((0, 0));
        }
        let block = self.beyond.insert(seq, seq + 1);
        if block.0 == self.next {
            self.next = block.1;
            self.beyond.remove_below(block.1);
            return self.acknowledge((0, 0));
        }
        self.acknowledge(block)
    }

    #[inline]
    fn acknowledge(&mut self, sack: (u32, u32)) -> Ack {
        self.unacknowledged = 0;
        self.deadline = Time::MAX;
        Ack { cumulative: self.next, sack, echo: self.last_sent, marked: self.last_marked }
    }

    /// Time at which the driver must call [`Self::handle_timeout`]. [`Time::MAX`] if no timer runs.
    #[inline]
    #[must_use]
    pub fn deadline(&self) -> Time {
        self.deadline
    }

    /// Handles the deadline of the ACK timer. Returns the delayed ACK if the deadline has passed.
    /// Calls before the deadline do nothing.
    #[must_use]
    pub fn handle_timeout(&mut self, now: Time) -> Option<Ack> {
        (now >= self.deadline).then(|| self.acknowledge((0, 0)))
    }

    /// Whether every segment of the flow has arrived.
    #[inline]
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.next == self.total
    }

    /// Number of segments that have arrived in order so far.
    #[must_use]
    pub fn delivered(&self) -> u32 {
        self.next
    }
}
