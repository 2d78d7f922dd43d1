//! Table of a buffer profile, in the parameter `profiles` of a policy.

use super::kinds::{PRIORITIES, SIZE_OR_ZERO};
use super::{Kind, TableSpec};
use bufferlab_document::spec::{default, optional};
use bufferlab_params::{Choice, Direction};

/// Keys of a buffer profile in a scenario.
pub(crate) static PROFILE: TableSpec = TableSpec {
    title: "[[switch.policy.profiles]]",
    doc: "Values of some queues, like SONiC's `BUFFER_PROFILE` with `BUFFER_PG` or `BUFFER_QUEUE` (`docs/concepts/lossless.md`). `sonic-dt` accepts all keys; \
          `sonic-abm` no thresholds; `reverie` only `headroom`, `xon` and `xon_offset`. If two profiles cover the same queue, the later one counts, key by key. \
          Give at most one of `alpha`, `dynamic_th`, `static_threshold`.",
    keys: &[
        default("direction", Kind::Words(Direction::WORDS), "\"ingress\"", "Side of the switch."),
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
            "The threshold is alpha times the free bytes of the pool. Beyond it, a lossless ingress queue pauses, and any other queue drops packets.",
        ),
        optional(
            "dynamic_th",
            Kind::Ratio { min: -8.0, max: 8.0, open: false },
            "-3",
            "The alpha as SONiC writes it: alpha = 2^dynamic_th, a whole number.",
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
            "Reserve of each queue, below its threshold (SONiC's size). Not for egress queues of lossless priorities.",
        ),
        optional(
            "headroom",
            SIZE_OR_ZERO,
            "\"177632 B\"",
            "Headroom of each lossless ingress queue, for packets that arrive after a pause (SONiC's xoff).",
        ),
        optional(
            "xon",
            SIZE_OR_ZERO,
            "\"2288 B\"",
            "Length below which a paused ingress queue resumes, whatever its threshold.",
        ),
        optional(
            "xon_offset",
            SIZE_OR_ZERO,
            "\"2288 B\"",
            "Distance below its threshold at which a paused ingress queue resumes.",
        ),
    ],
    variants: &[],
};
