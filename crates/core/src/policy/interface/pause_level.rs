//! The comparison by which a policy pauses the sender behind an ingress queue.

/// Bytes of a lossless ingress queue that a policy compares, and the threshold at which the queue
/// pauses its sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PauseLevel {
    /// Bytes that the policy compares: the length of the queue, or its filtered length.
    pub held: u64,
    /// Threshold at which the queue pauses its sender (bytes).
    pub limit: u64,
}

impl PauseLevel {
    /// Whether this queue is nearer to its pause threshold than the queue of `other`.
    #[must_use]
    pub fn exceeds(self, other: Self) -> bool {
        u128::from(self.held) * u128::from(other.limit) > u128::from(other.held) * u128::from(self.limit)
    }
}
