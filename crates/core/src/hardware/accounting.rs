//! Accounting of lossless traffic. Chip families have different accounting, as
//! docs/evidence/silicon.md measures.

use bufferlab_params::choices;

/// Accounting of lossless traffic in a chip. Policies that divide pools of ingress queues follow
/// this accounting ([`crate::Policy::supports_accounting`]). Other policies never pause a sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Accounting {
    /// Number of slices of the memory, at least 1. Each slice stores the packets from its own
    /// consecutive ingress ports. An ingress queue has its pool and its headroom in one slice. An
    /// egress queue has an account in each slice.
    pub slices: u16,
    /// Occupancy at which a paused ingress queue lets its sender resume.
    pub resume_below: ResumeBelow,
    /// Pool from which the reserved minimums of egress queues are taken.
    pub queue_minimums: QueueMinimums,
    /// Number of significant bits of a threshold, which is rounded down. With 0, thresholds are
    /// exact.
    pub threshold_bits: u8,
}

impl Accounting {
    /// Accounting of the papers and of SONiC's documents. The memory has one slice, the resume
    /// threshold moves with the pause threshold, and minimums of egress queues are taken from the
    /// lossy pool.
    pub const IDEAL: Self = Self {
        slices: 1,
        resume_below: ResumeBelow::Threshold,
        queue_minimums: QueueMinimums::LossyPool,
        threshold_bits: 0,
    };

    /// The threshold that the chip uses: `threshold`, rounded down to `threshold_bits` significant
    /// bits.
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
    /// Queue length from which the resume offset (`xon_offset`) is subtracted.
    pub enum ResumeBelow {
        Threshold = "threshold": "below the current threshold, which rises as the queue drains",
        PausePoint = "pause-point": "below the threshold that the queue exceeded when it paused, as in chips",
    }
}

choices! {
    /// Pool from which the minimums of egress queues are taken (`reserved` of egress profiles).
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
