//! The table of a buffer profile, in the parameter `profiles` of a policy.

use super::kinds::{PRIORITIES, SIZE_OR_ZERO};
use super::{Kind, TableSpec};
use bufferlab_document::spec::{default, optional};
use bufferlab_params::{Choice, Direction};

/// A buffer profile.
pub(crate) static PROFILE: TableSpec = TableSpec {
    title: "[[switch.policy.profiles]]",
    doc: "Queues with values of their own, as SONiC's `BUFFER_PROFILE` with `BUFFER_PG` or `BUFFER_QUEUE` (`docs/concepts/lossless.md`). `sonic-dt` knows all keys; \
          `sonic-abm` no thresholds; `reverie` only `headroom`, `xon` and `xon_offset`. Of two profiles for the same queue the later one counts, key by key. \
          At most one of `alpha`, `dynamic_th`, `static_threshold`.",
    keys: &[
        default("direction", Kind::Words(Direction::WORDS), "\"ingress\"", "Which side of the switch."),
        optional(
            "ports",
            Kind::Counts { min: 0, max: u16::MAX as u64 },
            "[0, 1]",
            "Numbers of the ports, from 0 in the order of the switch's links; without it, all.",
        ),
        optional("priorities", PRIORITIES, "[3, 4]", "The priorities; without it, all."),
        optional(
            "alpha",
            Kind::Ratio { min: 1e-6, max: 65_536.0, open: false },
            "0.125",
            "The threshold is this times what is left of the pool. A lossless ingress queue pauses beyond it, another queue loses packets.",
        ),
        optional(
            "dynamic_th",
            Kind::Ratio { min: -8.0, max: 8.0, open: false },
            "-3",
            "The same as SONiC writes it: alpha = 2^dynamic_th, a whole number.",
        ),
        optional(
            "static_threshold",
            SIZE_OR_ZERO,
            "\"100 KB\"",
            "The threshold in bytes (SONiC's static_th).",
        ),
        optional(
            "reserved",
            SIZE_OR_ZERO,
            "\"1248 B\"",
            "What each queue has for itself, below its threshold (SONiC's size). Not for egress queues of lossless priorities.",
        ),
        optional(
            "headroom",
            SIZE_OR_ZERO,
            "\"177632 B\"",
            "What each lossless ingress queue has for packets that come after a pause (SONiC's xoff).",
        ),
        optional(
            "xon",
            SIZE_OR_ZERO,
            "\"2288 B\"",
            "A paused ingress queue resumes when it is shorter, whatever its threshold.",
        ),
        optional(
            "xon_offset",
            SIZE_OR_ZERO,
            "\"2288 B\"",
            "A paused ingress queue resumes when it is shorter than its threshold by so much.",
        ),
    ],
    variants: &[],
};
