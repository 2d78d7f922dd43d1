//! Accounting of lossless traffic: differences between chip families, measured in
//! docs/evidence/silicon.md.

use bufferlab_params::choices;

/// Accounting of lossless traffic in a chip. Policies that divide pools of ingress queues follow it
/// ([`crate::Policy::supports_accounting`]); other policies never pause.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Accounting {
    /// Parts of the memory, at least 1. Each part stores the packets from its own consecutive
    /// ingress ports. An ingress queue has its pool and its headroom in its part, an egress queue
    /// an account in each.
    pub slices: u16,
    /// Point at which a paused ingress queue resumes.
    pub resume_below: ResumeBelow,
    /// Memory that the minimums of egress queues are taken from.
    pub queue_minimums: QueueMinimums,
    /// Significant bits of a threshold, which is rounded down; 0: exact.
    pub threshold_bits: u8,
}

impl Accounting {
    /// Accounting of the papers and of SONiC's documents: one memory, a moving threshold, minimums
    /// from the lossy pool.
    pub const IDEAL: Self = Self {
        slices: 1,
        resume_below: ResumeBelow::Threshold,
        queue_minimums: QueueMinimums::LossyPool,
        threshold_bits: 0,
    };

    /// A threshold as the chip can express it: `threshold_bits` significant bits, rounded down.
    #[inline]
    #[must_use]
    pub const fn expressible(&self, threshold: u64) -> u64 {
        let bits = u64::BITS - threshold.leading_zeros();
        let kept = self.threshold_bits as u32;
        if kept == 0 || bits <= kept { threshold } else { threshold >> (bits - kept) << (bits - kept) }
    }
}

impl Default for Accounting {
    fn default() -> Self {
        Self::IDEAL
    }
}

choices! {
    /// Base of the resume offset (`xon_offset`).
    pub enum ResumeBelow {
        Threshold = "threshold": "below the current threshold, which rises as the queue drains",
        PausePoint = "pause-point": "below the threshold that the queue exceeded when it paused, as in chips",
    }
}

choices! {
    /// Source of the minimums of egress queues (`reserved` of egress profiles).
    pub enum QueueMinimums {
        LossyPool = "lossy-pool": "from the egress lossy pool only",
        EverySlice = "every-slice":
            "from the shared part of the ingress pool, in every slice, since any slice may feed a queue; \
             bytes within a minimum need no pool",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thresholds_keep_their_leading_bits() {
        let chip = Accounting { threshold_bits: 5, ..Accounting::IDEAL };
        assert_eq!(
            [0, 1, 31, 32, 33, 63, 64, 1_000_003].map(|t| chip.expressible(t)),
            [0, 1, 31, 32, 32, 62, 64, 983_040]
        );
        assert_eq!(Accounting::IDEAL.expressible(1_000_003), 1_000_003);
    }
}
