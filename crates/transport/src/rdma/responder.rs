//! Receiver of an RDMA message: order of segments, acknowledgements, congestion notifications.

use super::{Notification, RdmaAck, RdmaConfig, Recovery, Response};
use crate::ranges::Ranges;
use bufferlab_units::Time;

/// Receiver of one RDMA message.
#[derive(Clone, Debug)]
pub struct Responder {
    next: u32,
    total: u32,
    unacknowledged: u32,
    last_sent: Time,
    deadline: Time,
    /// Time until which go-back-N sends no negative acknowledgement for the segment `next`.
    nack_from: Time,
    /// Whether a congestion mark has arrived that no ACK has reported yet.
    is_marked: bool,
    /// Time until which the responder sends no congestion notification.
    quiet_until: Time,
    beyond: Ranges,
}

impl Responder {
    /// Creates a receiver that expects `total` segments.
    #[must_use]
    pub fn new(total: u32) -> Self {
        Self {
            next: 0,
            total,
            unacknowledged: 0,
            last_sent: Time::ZERO,
            deadline: Time::MAX,
            nack_from: Time::ZERO,
            is_marked: false,
            quiet_until: Time::ZERO,
            beyond: Ranges::default(),
        }
    }

    /// Handles the arrival of segment `seq`, sent at `sent`, with or without a mark (`marked`).
    /// After a call, callers read [`Self::deadline`].
    #[must_use]
    #[inline]
    pub fn handle_data(
        &mut self,
        config: &RdmaConfig,
        now: Time,
        seq: u32,
        sent: Time,
        marked: bool,
    ) -> Response {
        let notify = marked && self.note_mark(config, now);
        self.last_sent = sent;
        if seq != self.next || !self.beyond.is_empty() {
            return Response { ack: self.handle_disorder(config, now, seq), notify };
        }
        self.next += 1;
        self.nack_from = Time::ZERO;
        self.unacknowledged += 1;
        if self.unacknowledged >= config.ack_every || self.next == self.total {
            return Response { ack: Some(self.acknowledge((0, 0), false)), notify };
        }
        if self.unacknowledged == 1 {
            self.deadline = now + config.delayed_ack_timeout;
        }
        Response { ack: None, notify }
    }

    /// Records a congestion mark. Returns whether the responder must send a notification at once.
    fn note_mark(&mut self, config: &RdmaConfig, now: Time) -> bool {
        match config.notification {
            Notification::Acks => {
                self.is_marked = true;
                false
            }
            Notification::Frames { interval } => {
                let is_due = now >= self.quiet_until;
                if is_due {
                    self.quiet_until = now + interval;
                }
                is_due
            }
        }
    }

    #[cold]
    fn handle_disorder(&mut self, config: &RdmaConfig, now: Time, seq: u32) -> Option<RdmaAck> {
        if seq < self.next {
            // An earlier ACK may be lost, so the sender must learn the current position.
            return Some(self.acknowledge((0, 0), false));
        }
        match config.recovery {
            Recovery::GoBackN => {
                if now < self.nack_from {
                    return None;
                }
                self.nack_from = Time(now.0.saturating_add(config.nack_interval.0));
                Some(self.acknowledge((0, 0), true))
            }
            Recovery::SelectiveRepeat => {
                let block = self.beyond.insert(seq, seq + 1);
                if block.0 == self.next {
                    self.next = block.1;
                    self.beyond.remove_below(block.1);
                    return Some(self.acknowledge((0, 0), false));
                }
                Some(self.acknowledge(block, true))
            }
        }
    }

    #[inline]
    fn acknowledge(&mut self, sack: (u32, u32), negative: bool) -> RdmaAck {
        self.unacknowledged = 0;
        self.deadline = Time::MAX;
        let notified = std::mem::take(&mut self.is_marked);
        RdmaAck { cumulative: self.next, sack, negative, echo: self.last_sent, notified }
    }

    /// Time at which the driver must call [`Self::handle_timeout`]. [`Time::MAX`] if no timer runs.
    #[inline]
    #[must_use]
    pub fn deadline(&self) -> Time {
        self.deadline
    }

    /// Handles the deadline of the ACK timer. Returns the coalesced ACK if the deadline has passed.
    /// Calls before the deadline do nothing.
    #[must_use]
    pub fn handle_timeout(&mut self, now: Time) -> Option<RdmaAck> {
        (now >= self.deadline).then(|| self.acknowledge((0, 0), false))
    }

    /// Whether every segment of the message has arrived.
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
