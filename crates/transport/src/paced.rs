//! Unresponsive traffic: packets at a fixed rate, without feedback (UDP, constant bit rate, packet
//! trains).

use crate::{Segment, SenderCounters};
use bufferlab_units::{RandomStream, Time};

bufferlab_params::choices! {
    /// Rule for the gaps between the packets of a flow.
    #[derive(Default)]
    pub enum Spacing {
        #[default]
        Constant = "constant": "equal gaps: constant bit rate",
        Exponential = "poisson": "exponentially distributed gaps: a Poisson process of packets",
    }
}

/// Sender that sends a flow at a given rate, without feedback from the receiver.
#[derive(Clone, Debug)]
pub struct PacedSender {
    next: u32,
    total: u32,
    next_at: Time,
    gap: Time,
    spacing: Spacing,
    stream: RandomStream,
}

impl PacedSender {
    /// Creates a flow of `total` segments. The first segment leaves at `start`,
    /// then one segment leaves per `gap` on average. Only exponential gaps draw from `stream`.
    ///
    /// # Panics
    /// If `total` is zero.
    #[must_use]
    pub fn new(start: Time, gap: Time, spacing: Spacing, total: u32, stream: RandomStream) -> Self {
        assert!(total > 0, "a flow carries at least one segment");
        let mut this = Self { next: 0, total, next_at: start, gap, spacing, stream };
        if spacing == Spacing::Exponential {
            // A random gap precedes the first packet of a Poisson process.
            this.next_at = start + this.draw();
        }
        this
    }

    /// Mean time between two segments.
    #[must_use]
    pub fn gap(&self) -> Time {
        self.gap
    }

    fn draw(&mut self) -> Time {
        match self.spacing {
            Spacing::Constant => self.gap,
            Spacing::Exponential => Time(self.stream.exponential(self.gap.0 as f64).round() as u64),
        }
    }

    /// Whether the sender has a segment to send at `now`.
    #[inline]
    #[must_use]
    pub fn wants_to_send(&self, now: Time) -> bool {
        self.next < self.total && self.next_at <= now
    }

    /// Returns the next segment, if its sending time has come. Callers then read
    /// [`Self::deadline`].
    #[must_use]
    #[inline]
    pub fn poll_transmit(&mut self, now: Time) -> Option<Segment> {
        if !self.wants_to_send(now) {
            return None;
        }
        let seq = self.next;
        self.next += 1;
        // Each due time follows from the previous due time, not from a send time: a busy NIC delays
        // packets, but not the source of packets.
        let gap = self.draw();
        self.next_at += gap;
        Some(Segment { seq, retransmission: false, syn: false })
    }

    /// Time at which the next segment is due. [`Time::MAX`] when all segments have been sent.
    #[inline]
    #[must_use]
    pub fn deadline(&self) -> Time {
        if self.next < self.total { self.next_at } else { Time::MAX }
    }

    /// Whether the sender has sent every segment of the flow.
    #[inline]
    #[must_use]
    pub fn is_done(&self) -> bool {
        self.next == self.total
    }

    /// Counters of the segments that the paced sender has sent.
    #[must_use]
    pub fn counters(&self) -> SenderCounters {
        SenderCounters { sent: self.next, ..SenderCounters::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn times(spacing: Spacing, total: u32) -> Vec<Time> {
        let gap = Time::from_us(12);
        let start = Time::from_us(5);
        let mut sender = PacedSender::new(start, gap, spacing, total, RandomStream::new(1, "paced", 0));
        let mut times = Vec::new();
        while !sender.is_done() {
            let now = sender.deadline();
            assert!(!sender.wants_to_send(Time(now.0 - 1)));
            assert_eq!(sender.poll_transmit(now).map(|segment| segment.seq), Some(times.len() as u32));
            times.push(now);
        }
        assert_eq!(sender.deadline(), Time::MAX);
        times
    }

    #[test]
    fn a_constant_rate_has_equal_gaps() {
        assert_eq!(times(Spacing::Constant, 3), [Time::from_us(5), Time::from_us(17), Time::from_us(29)]);
    }

    #[test]
    fn poisson_gaps_have_the_mean_and_variance_of_an_exponential() {
        let times = times(Spacing::Exponential, 50_000);
        let gaps: Vec<f64> = times.windows(2).map(|pair| (pair[1] - pair[0]).as_secs_f64() * 1e6).collect();
        let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
        let variance = gaps.iter().map(|gap| (gap - mean).powi(2)).sum::<f64>() / gaps.len() as f64;
        assert!((mean - 12.0).abs() < 0.2, "{mean}");
        assert!((variance.sqrt() - 12.0).abs() < 0.4, "{variance}");
    }

    #[test]
    fn a_busy_card_delays_packets_and_not_the_source() {
        let stream = RandomStream::new(1, "paced", 0);
        let mut sender = PacedSender::new(Time::ZERO, Time::from_us(10), Spacing::Constant, 5, stream);
        let late = Time::from_us(35);
        let sent = std::iter::from_fn(|| sender.poll_transmit(late)).count();
        assert_eq!(sent, 4);
        assert_eq!(sender.deadline(), Time::from_us(40));
    }
}
