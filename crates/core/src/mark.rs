//! ECN marking on the instantaneous queue: step and RED, at enqueue or dequeue, per queue or per port; and buffer-aware
//! marking (BCC), which adds a condition on the shared buffer.

use crate::buffer::{Buffer, QueueId};
use crate::weight::Weight;
use bufferlab_params::choices;
use bufferlab_units::RandomStream;

/// A packet's ECN state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Ecn {
    /// Its transport does not understand marks: it is never marked (nor dropped instead).
    #[default]
    NotCapable,
    /// May be marked.
    Capable,
    /// Has been marked.
    Marked,
}

choices! {
    /// Whose length a marker compares.
    #[derive(Default)]
    pub enum Scope {
        #[default]
        Queue = "queue": "the packet's queue",
        Port = "port": "all queues of its port",
    }
}

choices! {
    /// When a marker compares.
    #[derive(Default)]
    pub enum Moment {
        #[default]
        Enqueue = "enqueue": "on arrival, the length before the packet",
        Dequeue = "dequeue": "when transmission starts, the length that remains",
    }
}

/// How a switch marks.
#[derive(Clone, Debug, PartialEq)]
pub struct MarkerConfig {
    /// No mark up to this length (bytes).
    pub kmin: u64,
    /// Every packet is marked above this length (bytes); equal to `kmin` for a step (DCTCP).
    pub kmax: u64,
    /// Marking probability when the length reaches `kmax`, 0..=1; linear from 0 at `kmin`.
    pub pmax: f64,
    /// Whose length is compared.
    pub scope: Scope,
    /// When it is compared.
    pub at: Moment,
    /// Bit p set: packets of priority p may be marked.
    pub priorities: u32,
    /// `kmin` and `kmax` of priority p (bytes) where priorities differ, as in LossPass's selective marking; the last
    /// entry repeats. Empty: the fields of these names hold for all.
    pub by_priority: Vec<(u64, u64)>,
    /// A second condition, on what the shared buffer has left; a packet is marked if either holds.
    pub shared: Option<SharedBufferCondition>,
}

/// Buffer-aware marking: mark on departure when the length that remains exceeds `max(floor, factor · (B − Q))`.
///
/// With Dynamic Thresholds `T = α (B − Q)` and `factor = h·α`, h < 1, senders are notified before the queue meets its
/// threshold, however little of the buffer is left: the condition on the length alone knows only an empty buffer.
///
/// Source: BCC (Bai, Hu, Chen, Tan, Xiong, APNet 2017; ToN 2021), as its public precursor does it: h = 0.375, floor
/// 18 KB.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SharedBufferCondition {
    /// No mark by this condition up to this length (bytes): it keeps the link busy when the buffer is nearly full.
    pub floor: u64,
    /// h·α: share of the free space.
    pub factor: Weight,
}

impl SharedBufferCondition {
    #[inline]
    fn holds(&self, length: u64, free: u64) -> bool {
        length > self.floor.max(self.factor.of(free))
    }
}

/// What a marker compares (bytes).
#[derive(Clone, Copy, Debug)]
pub struct Lengths {
    /// Of the packet's queue.
    pub queue: u64,
    /// Of all queues of its port.
    pub port: u64,
    /// What the whole buffer has left, B − Q.
    pub free: u64,
}

impl Lengths {
    /// Those of `buffer` for a packet of `queue`, which belongs to `port`.
    #[inline]
    #[must_use]
    pub fn of(buffer: &Buffer, queue: QueueId, port: u16) -> Self {
        Self { queue: buffer.queue_bytes(queue), port: buffer.port_bytes(port), free: buffer.shared_free() }
    }
}

impl MarkerConfig {
    /// DCTCP's step: mark on arrival when the packet's queue is longer than `k` bytes.
    #[must_use]
    pub fn step(k: u64) -> Self {
        let (scope, at) = (Scope::Queue, Moment::Enqueue);
        Self {
            kmin: k,
            kmax: k,
            pmax: 1.0,
            scope,
            at,
            priorities: u32::MAX,
            by_priority: Vec::new(),
            shared: None,
        }
    }

    /// A step for every priority; the last one repeats.
    ///
    /// # Panics
    /// If `thresholds` is empty.
    #[must_use]
    pub fn steps(thresholds: &[u64]) -> Self {
        let first = *thresholds.first().expect("at least one priority");
        Self { by_priority: thresholds.iter().map(|&k| (k, k)).collect(), ..Self::step(first) }
    }

    /// `kmin` and `kmax` of a priority (bytes).
    #[inline]
    #[must_use]
    pub fn thresholds(&self, priority: u8) -> (u64, u64) {
        match self.by_priority.get(usize::from(priority)).or(self.by_priority.last()) {
            Some(&own) => own,
            None => (self.kmin, self.kmax),
        }
    }
}

/// The marker of one switch.
#[derive(Clone, Debug)]
pub struct Marker {
    config: MarkerConfig,
    stream: RandomStream,
}

impl Marker {
    /// A marker that draws from `stream` between `kmin` and `kmax`; a step never draws.
    #[must_use]
    pub fn new(config: MarkerConfig, stream: RandomStream) -> Self {
        Self { config, stream }
    }

    /// How it marks.
    #[must_use]
    pub fn config(&self) -> &MarkerConfig {
        &self.config
    }

    /// Whether a packet of `priority` is marked at `moment`, given the lengths then.
    #[inline]
    pub fn decide(&mut self, moment: Moment, priority: u8, lengths: Lengths) -> bool {
        let config = &self.config;
        if config.priorities & (1 << priority) == 0 {
            return false;
        }
        let length = match config.scope {
            Scope::Queue => lengths.queue,
            Scope::Port => lengths.port,
        };
        let (kmin, kmax) = config.thresholds(priority);
        if moment == Moment::Dequeue
            && config.shared.as_ref().is_some_and(|condition| condition.holds(length, lengths.free))
        {
            return true;
        }
        if config.at != moment || length <= kmin {
            return false;
        }
        if length > kmax {
            return true;
        }
        let p = config.pmax * (length - kmin) as f64 / (kmax - kmin) as f64;
        self.stream.next_f64() < p
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lengths(queue: u64, port: u64) -> Lengths {
        Lengths { queue, port, free: u64::MAX }
    }

    #[test]
    fn a_step_marks_above_k_and_not_at_k() {
        let mut marker = Marker::new(MarkerConfig::step(3_000), RandomStream::new(1, "red", 0));
        assert!(!marker.decide(Moment::Enqueue, 0, lengths(3_000, 9_000)));
        assert!(marker.decide(Moment::Enqueue, 0, lengths(3_001, 3_001)));
        assert!(!marker.decide(Moment::Dequeue, 0, lengths(9_000, 9_000)));
    }

    #[test]
    fn red_marks_a_linear_fraction() {
        let config = MarkerConfig { kmin: 1_000, kmax: 5_000, pmax: 0.2, ..MarkerConfig::step(0) };
        let mut marker = Marker::new(config, RandomStream::new(1, "red", 0));
        let draws = 100_000;
        let mut marks = |length| {
            (0..draws).filter(|_| marker.decide(Moment::Enqueue, 0, lengths(length, 0))).count() as f64
                / f64::from(draws)
        };
        assert_eq!(marks(1_000), 0.0);
        assert!((marks(3_000) - 0.1).abs() < 0.005);
        assert!((marks(5_000) - 0.2).abs() < 0.005);
        assert_eq!(marks(5_001), 1.0);
    }

    #[test]
    fn a_packet_is_marked_by_its_queue_or_by_the_shared_buffer() {
        // The precursor's numbers: K = 90 packets of 9000 B, B = 8 MB, alpha = 1, h = 0.375, 18 KB.
        let shared = SharedBufferCondition { floor: 18_000, factor: Weight::from_f64(0.375) };
        let config = MarkerConfig { shared: Some(shared), ..MarkerConfig::step(810_000) };
        let mut marker = Marker::new(config, RandomStream::new(1, "red", 0));
        let mut marks = |moment, queue, free| marker.decide(moment, 0, Lengths { queue, port: 0, free });
        // On arrival only the queue counts, on departure only the buffer.
        assert!(marks(Moment::Enqueue, 810_001, 8_000_000));
        assert!(!marks(Moment::Enqueue, 810_000, 0));
        assert!(!marks(Moment::Dequeue, 810_001, 8_000_000));
        // 0.375 x 800 KB = 300 KB.
        assert!(marks(Moment::Dequeue, 300_001, 800_000));
        assert!(!marks(Moment::Dequeue, 300_000, 800_000));
        // A full buffer: two packets may stay unmarked.
        assert!(marks(Moment::Dequeue, 18_001, 0));
        assert!(!marks(Moment::Dequeue, 18_000, 0));
    }

    #[test]
    fn the_shared_condition_looks_at_the_same_scope_and_priorities() {
        let shared = SharedBufferCondition { floor: 0, factor: Weight::ONE };
        let config = MarkerConfig {
            scope: Scope::Port,
            priorities: 0b10,
            shared: Some(shared),
            ..MarkerConfig::step(u64::MAX)
        };
        let mut marker = Marker::new(config, RandomStream::new(1, "red", 0));
        let mut marks =
            |priority, port| marker.decide(Moment::Dequeue, priority, Lengths { queue: 0, port, free: 500 });
        assert!(marks(1, 501) && !marks(1, 500) && !marks(0, 501));
    }

    #[test]
    fn every_priority_may_have_its_own_threshold_and_the_last_one_repeats() {
        let mut marker = Marker::new(MarkerConfig::steps(&[128_000, 67_500]), RandomStream::new(1, "red", 0));
        let mut marks = |priority, length| {
            let lengths = Lengths { queue: length, port: 0, free: 0 };
            marker.decide(Moment::Enqueue, priority, lengths)
        };
        assert!(!marks(0, 128_000) && marks(0, 128_001));
        assert!(!marks(1, 67_500) && marks(1, 67_501));
        assert!(!marks(7, 67_500) && marks(7, 67_501));
    }

    #[test]
    fn scope_and_priorities_select() {
        let config = MarkerConfig { scope: Scope::Port, priorities: 0b10, ..MarkerConfig::step(100) };
        let mut marker = Marker::new(config, RandomStream::new(1, "red", 0));
        assert!(!marker.decide(Moment::Enqueue, 0, lengths(0, 500)));
        assert!(marker.decide(Moment::Enqueue, 1, lengths(0, 500)));
    }
}
