//! ECN marking on the instantaneous queue: step and RED, at enqueue or dequeue, per queue or per port.

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

/// Whose length is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Scope {
    /// The packet's queue.
    #[default]
    Queue,
    /// All queues of its port.
    Port,
}

/// When the marker looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Moment {
    /// On arrival, with the length before the packet is added.
    #[default]
    Enqueue,
    /// When transmission starts, with the length that remains.
    Dequeue,
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
}

impl MarkerConfig {
    /// DCTCP's step: mark on arrival when the packet's queue is longer than `k` bytes.
    #[must_use]
    pub fn step(k: u64) -> Self {
        let (scope, at) = (Scope::Queue, Moment::Enqueue);
        Self { kmin: k, kmax: k, pmax: 1.0, scope, at, priorities: u32::MAX, by_priority: Vec::new() }
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

    /// Whether a packet of `priority` is marked at `moment`, given the lengths then (bytes).
    #[inline]
    pub fn decide(&mut self, moment: Moment, priority: u8, queue_bytes: u64, port_bytes: u64) -> bool {
        let config = &self.config;
        if config.at != moment || config.priorities & (1 << priority) == 0 {
            return false;
        }
        let length = match config.scope {
            Scope::Queue => queue_bytes,
            Scope::Port => port_bytes,
        };
        let (kmin, kmax) = config.thresholds(priority);
        if length <= kmin {
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

    #[test]
    fn a_step_marks_above_k_and_not_at_k() {
        let mut marker = Marker::new(MarkerConfig::step(3_000), RandomStream::new(1, "red", 0));
        assert!(!marker.decide(Moment::Enqueue, 0, 3_000, 9_000));
        assert!(marker.decide(Moment::Enqueue, 0, 3_001, 3_001));
        assert!(!marker.decide(Moment::Dequeue, 0, 9_000, 9_000));
    }

    #[test]
    fn red_marks_a_linear_fraction() {
        let config = MarkerConfig { kmin: 1_000, kmax: 5_000, pmax: 0.2, ..MarkerConfig::step(0) };
        let mut marker = Marker::new(config, RandomStream::new(1, "red", 0));
        let draws = 100_000;
        let mut marks = |length| {
            (0..draws).filter(|_| marker.decide(Moment::Enqueue, 0, length, 0)).count() as f64
                / f64::from(draws)
        };
        assert_eq!(marks(1_000), 0.0);
        assert!((marks(3_000) - 0.1).abs() < 0.005);
        assert!((marks(5_000) - 0.2).abs() < 0.005);
        assert_eq!(marks(5_001), 1.0);
    }

    #[test]
    fn every_priority_may_have_its_own_threshold_and_the_last_one_repeats() {
        let mut marker = Marker::new(MarkerConfig::steps(&[128_000, 67_500]), RandomStream::new(1, "red", 0));
        let mut marks = |priority, length| marker.decide(Moment::Enqueue, priority, length, 0);
        assert!(!marks(0, 128_000) && marks(0, 128_001));
        assert!(!marks(1, 67_500) && marks(1, 67_501));
        assert!(!marks(7, 67_500) && marks(7, 67_501));
    }

    #[test]
    fn scope_and_priorities_select() {
        let config = MarkerConfig { scope: Scope::Port, priorities: 0b10, ..MarkerConfig::step(100) };
        let mut marker = Marker::new(config, RandomStream::new(1, "red", 0));
        assert!(!marker.decide(Moment::Enqueue, 0, 0, 500));
        assert!(marker.decide(Moment::Enqueue, 1, 0, 500));
    }
}
