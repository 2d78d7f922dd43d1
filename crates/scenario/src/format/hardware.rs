//! `[switch.hardware]`: deviations of a chip from the papers' ideal switch.

use super::Kind;
use super::declare::table;
use super::kinds::{FRAME_MAX, PRIORITIES, SIZE, SIZE_OR_ZERO, SMALL_SIZE, SPAN, count};
use crate::model::SliceBy;
use bufferlab_core::{Hardware, QueueMinimums, ResumeBelow};
use bufferlab_params::{ChipFamily, Choice};
use bufferlab_units::Time;

table! {
    /// Deviations of a chip from the ideal switch; the default has none.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct HardwareSpec read as HardwareKeys;
    static HARDWARE = "[switch.hardware]",
        "Deviations of a chip from the ideal switch of the papers (`docs/concepts/chips.md`). \
        Every option works with every policy.";
    keys {
        "family" -> family: ChipFamily = choice(Kind::Words(ChipFamily::WORDS)), optional("\"tomahawk5\""),
            "Family of chips, as far as its memory is public (`docs/evidence/silicon.md`). It sets \
            `cell`, `slices`, `slice_by`, `packet_overhead`, `resume_below` and `queue_minimums`, \
            unless they are written.";
        "cell" = hand(SMALL_SIZE), computed("\"1 B\"; that of `family`", "\"208 B\""),
            "Size of a memory cell; a packet occupies whole cells. Broadcom's Trident+ has 208 B.";
        "packet_overhead" = hand(Kind::Size { min: 0, max: FRAME_MAX }),
            computed("\"0 B\"; that of `family`", "\"48 B\""),
            "Memory overhead per packet, added before the size is rounded to cells. Broadcom's \
            Jericho 2 has 48 B.";
        "slices" = hand(count(1, 256)), computed("1; those of `family`", "4"),
            "Number of memories. Each has an equal share of the buffer, its own consecutive ports \
            and its own thresholds. Ports are spread evenly: 6 ports on 4 slices are 2, 2, 1 and \
            1. Broadcom's Tomahawk has 4.";
        "slice_by" = hand(Kind::Words(SliceBy::WORDS)),
            computed("\"egress\"; \"ingress\" with `family`", "\"ingress\""),
            "Port whose slice stores a packet. Only with `ingress` can a memory in slices pause \
            senders; then the policy is sonic-dt, sonic-abm or reverie.";
        "resume_below" = hand(Kind::Words(ResumeBelow::WORDS)),
            computed("`threshold`; `pause-point` with `family`", "\"pause-point\""),
            "Level from which `xon_offset` of the policy is subtracted.";
        "queue_minimums" = hand(Kind::Words(QueueMinimums::WORDS)),
            computed("`lossy-pool`; that of `family`", "\"every-slice\""),
            "Source of the minimums of egress queues (`reserved` of egress profiles).";
        "threshold_bits" -> threshold_bits: u8 = small_count(count(0, 63)), default("0"),
            "Significant bits of a threshold, which is rounded down to them; 0: exact. With \
            sonic-dt and sonic-abm.";
        "queue_reserve" -> queue_reserve: u64 = size(SIZE_OR_ZERO), default("\"0 B\""),
            "Reserve of each queue. Packets that fit into it are stored without asking the policy, \
            which divides the rest of the buffer.";
        "port_reserve" -> port_reserve: u64 = size(SIZE_OR_ZERO), default("\"0 B\""),
            "Reserve of each port, for its queues together when their own reserves are used up.";
        "port_limit" -> port_limit: u64 = size(SIZE), optional("\"500 KB\""),
            "Most bytes of all queues of a port together, reserves included.";
        "threshold_refresh" -> threshold_refresh: Time = time(SPAN), optional("\"1 us\""),
            "Interval at which thresholds follow the buffer's occupancy; without it, they follow \
            at once. Queue lengths are always exact.";
        "quantised_alpha" -> quantised_alpha: bool = flag(Kind::Flag), default("false"),
            "Round every alpha to the power of two that is nearest by ratio.";
        "uncharged_priorities" -> uncharged_priorities: Vec<u8> = small_counts(PRIORITIES), optional("[0]"),
            "Priorities whose packets are stored without asking the policy, as if in a separate \
            memory without limit (class 0 of Reverie's artifact). No account and no length counts \
            their bytes. Without it, none.";
        "cut_through" => cut_through_bytes: Option<u32> = small_size(SMALL_SIZE), optional("\"64 B\""),
            "Forward a packet after this much of it has arrived, on links as fast as the fastest \
            port. From then on, the buffer is charged with the whole packet. Without it, packets \
            are forwarded when they have arrived completely.";
        "device_queue" => device_queue: u32 = small_count(count(0, 65_535)), default("0"),
            "Packets that each port may pass to a queue of its device, between the buffer and the \
            wire. That queue is first come, first served, whatever the priority. No account is \
            charged, and policies, marking and telemetry do not see it. 0: none. ns-3's \
            point-to-point devices: 100. Not where packets are lossless.";
    }
    also {
        /// Number of memories by egress port, at least 1. Each memory has an equal share of the
        /// buffer, and serves consecutive ports. The field `switch` has memories by ingress port.
        slices: u16;
        /// Deviations of the chip from an ideal switch, equal for every memory.
        switch: Hardware;
    }
}
