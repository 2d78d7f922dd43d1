//! From a packet's header to its queue within the port.

/// Code points that a header can carry (DSCP).
pub const CODE_POINTS: usize = 64;

/// Maps the priority that a header carries to a queue of the port: one table, as in a switch's
/// DSCP-to-queue map.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Classifier {
    queue_of: [u8; CODE_POINTS],
}

impl Classifier {
    /// Priority p joins queue p; priorities beyond the last queue join the last.
    #[must_use]
    pub fn identity(queues_per_port: usize) -> Self {
        let last = queues_per_port.saturating_sub(1);
        Self { queue_of: std::array::from_fn(|p| p.min(last) as u8) }
    }

    /// Code point p joins `map[p]`.
    ///
    /// # Panics
    /// If an entry names a queue beyond `queues_per_port`.
    #[must_use]
    pub fn from_map(map: [u8; CODE_POINTS], queues_per_port: usize) -> Self {
        assert!(
            map.iter().all(|&queue| usize::from(queue) < queues_per_port),
            "a code point maps to no queue"
        );
        Self { queue_of: map }
    }

    /// The queue of a packet with `priority` (taken modulo 64).
    #[inline]
    #[must_use]
    pub fn queue(&self, priority: u8) -> u8 {
        self.queue_of[usize::from(priority) % CODE_POINTS]
    }
}
