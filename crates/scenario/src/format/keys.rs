//! Tables of the format whose values the sections of `read/` put together, and the kinds of values
//! that tables share.

use super::catalogs::{CLASSIFIER_CATALOG, MARKER_CATALOG, POLICY_CATALOG};
use super::flow_control::PFC;
use super::{KeySpec, Kind, TableSpec};
use crate::model::{Multipath, SliceBy};
use bufferlab_core::schedule::{DisciplineName, MAX_QUEUES_PER_PORT, SchedulerName};
use bufferlab_core::{QueueMinimums, ResumeBelow};
pub(super) use bufferlab_document::spec::{computed, default, optional, required};
use bufferlab_params::{ChipFamily, Choice};
use bufferlab_topology::TOPOLOGIES;
use bufferlab_workload::WORKLOADS;

pub(super) const TEXT: Kind = Kind::Text;
pub(super) const SPAN: Kind = Kind::Time { zero: false };
pub(super) const SPAN_OR_ZERO: Kind = Kind::Time { zero: true };
pub(super) const SIZE: Kind = Kind::Size { min: 1, max: u64::MAX };
pub(super) const SIZE_OR_ZERO: Kind = Kind::Size { min: 0, max: u64::MAX };
/// Most events that one run explains.
pub(crate) const EXPLAINED_MAX: u64 = 1_000;
/// Frames are counted by 16 bits.
pub(crate) const FRAME_MAX: u64 = u16::MAX as u64;
pub(super) const FRAME: Kind = Kind::Size { min: 1, max: FRAME_MAX };
pub(super) const FRAME_OR_ZERO: Kind = Kind::Size { min: 0, max: FRAME_MAX - 1 };
/// Room for options and what a notification adds.
pub(super) const ACK: Kind = Kind::Size { min: 1, max: FRAME_MAX - 100 };
const SMALL_SIZE: Kind = Kind::Size { min: 1, max: u32::MAX as u64 };
pub(super) const SMALL_SIZE_OR_ZERO: Kind = Kind::Size { min: 0, max: u32::MAX as u64 };
pub(super) const PRIORITY: Kind = Kind::Count { min: 0, max: MAX_QUEUES_PER_PORT as u64 - 1 };
pub(super) const PRIORITIES: Kind = Kind::Counts { min: 0, max: MAX_QUEUES_PER_PORT as u64 - 1 };

pub(super) const fn count(min: u64, max: u64) -> Kind {
    Kind::Count { min, max }
}

const DELAY: &str = "\"10 us\"";

/// Nodes and links.
pub(crate) static TOPOLOGY: TableSpec = TableSpec {
    title: "[topology]",
    doc: "Nodes and cables. Hosts are named h0, h1 … in the order of their addresses (a graph may name them).",
    keys: &[
        required("kind", Kind::Tag(&TOPOLOGIES), "\"single_switch\"", "What builds the network."),
        default(
            "multipath",
            Kind::Words(Multipath::WORDS),
            "\"ecmp\"",
            "How a packet chooses among equal shortest paths.",
        ),
        optional(
            "change",
            Kind::Tables(&CHANGE),
            "[{ link = \"leaf0-spine1\", failed = true }]",
            "Cables that differ from what the generator built, or fail. They change neither the buffers nor the \
             offered load: those follow from the network as built.",
        ),
        optional(
            "route",
            Kind::Tables(&ROUTE),
            "[{ at = \"s0\", to = \"h2\", via = \"s1\" }]",
            "Next hops in place of shortest paths.",
        ),
    ],
    variants: &[],
};

/// A cable that differs.
pub(crate) static CHANGE: TableSpec = TableSpec {
    title: "[[topology.change]]",
    doc: "A cable that differs from what the generator built.",
    keys: &[
        required(
            "link",
            TEXT,
            "\"leaf0-spine1\"",
            "The two ends; with several cables between them, all of them, or one: \"leaf0-spine1/2\" (numbered from 0). A pattern means all \
             cables that match it: \"leaf2-h*\" (`*`: any characters; `?`: one).",
        ),
        optional("rate", Kind::Rate, "\"1 Gb/s\"", "Another rate, both directions."),
        optional("rate_ab", Kind::Rate, "\"1 Gb/s\"", "Another rate from the end that `link` names first."),
        optional(
            "rate_ba",
            Kind::Rate,
            "\"1 Gb/s\"",
            "Another rate towards the end that `link` names first.",
        ),
        optional("delay", SPAN_OR_ZERO, DELAY, "Another propagation delay."),
        default("failed", Kind::Flag, "false", "Down for the whole run."),
        optional(
            "down",
            Kind::Intervals,
            "[\"10 ms\", \"20 ms\"]",
            "Down from the first time until before the second, and so on in pairs.",
        ),
    ],
    variants: &[],
};

/// Next hops.
pub(crate) static ROUTE: TableSpec = TableSpec {
    title: "[[topology.route]]",
    doc: "Next hops in place of the shortest path, for example to lead traffic round a ring. Base round-trip times remain those of shortest paths.",
    keys: &[
        required(
            "at",
            Kind::Texts,
            "\"s0\"",
            "The switches, in whose names * stands for any characters and ? for one.",
        ),
        required("to", Kind::Texts, "[\"h1\", \"h2\"]", "The hosts that packets are for, likewise."),
        required(
            "via",
            TEXT,
            "\"s1\"",
            "The neighbouring switch that takes them. Over several cables they are spread as over equal paths; when none is up, the shortest path \
             holds. Of two entries for one switch and host the later one holds.",
        ),
    ],
    variants: &[],
};

/// A switch.
pub(crate) static SWITCH: TableSpec = TableSpec {
    title: "[switch]",
    doc: "The configuration of every switch.",
    keys: SWITCH_KEYS,
    variants: &[],
};

/// A switch that differs. Its keys are those of a switch, and `switches`.
pub(crate) static SWITCH_OVERRIDE: TableSpec = TableSpec {
    title: "[[switch_override]]",
    doc: "What differs at some switches: `switches`, and any keys of [switch].",
    keys: &[required(
        "switches",
        Kind::Texts,
        "\"spine*\"",
        "Names, in which * stands for any characters and ? for one.",
    )],
    variants: &[],
};

static SWITCH_KEYS: &[KeySpec] = &[
    computed(
        "buffer",
        SIZE,
        "one of the two is required",
        "\"3.84 MB\"",
        "The shared buffer of one switch. Either this or `buffer_per_port_per_gbps`.",
    ),
    computed(
        "buffer_per_port_per_gbps",
        SIZE,
        "one of the two is required",
        "\"9.6 KB\"",
        "The shared buffer as this much for every Gb/s of every port, rounded down to a byte. Broadcom's Trident 2 has 9.6 KB \
         (the papers' usual way to size a switch).",
    ),
    default(
        "queues_per_port",
        count(1, MAX_QUEUES_PER_PORT as u64),
        "1",
        "Egress queues of every port; a packet's priority is its queue unless a classifier says otherwise.",
    ),
    required(
        "policy",
        Kind::Entry(POLICY_CATALOG),
        "{ name = \"dt\", alpha = 0.5 }",
        "Who may occupy the buffer: a name, a table with `name` and parameters (section Policies), or the same in a line: `\"dt(alpha=0.5)\"`.",
    ),
    default(
        "scheduler",
        Kind::WordOrTables { words: SchedulerName::WORDS, of: "groups", table: &SCHEDULER_GROUP },
        "\"round_robin\"",
        "Which queue of a port sends next: a name, or a list of groups, highest first.",
    ),
    optional(
        "classifier",
        Kind::Entry(CLASSIFIER_CATALOG),
        "{ name = \"elephant-trap\", short_queue = 0 }",
        "Which queue of its port a packet joins: a name, or a table with `name` and parameters (section Classifiers). Without it, what the policy \
         brings along (an elephant trap, say), or the queue of the packet's priority.",
    ),
    optional(
        "ecn",
        Kind::Table(&ECN),
        "{ kind = \"step\", threshold = \"91 KB\" }",
        "Congestion marking; without it, none.",
    ),
    default(
        "uncharged_bytes",
        SMALL_SIZE_OR_ZERO,
        "\"0 B\"",
        "Bytes of every frame that are not charged to the buffer (link-layer overhead).",
    ),
    optional(
        "hardware",
        Kind::Table(&HARDWARE),
        "{ cell = \"208 B\", slices = 4 }",
        "What a chip does otherwise; without it, the ideal of the papers: bytes, one memory, instant thresholds.",
    ),
    optional(
        "pfc",
        Kind::Table(&PFC),
        "{ priorities = [3] }",
        "Priority flow control; without it every priority is lossy.",
    ),
];

/// A chip's deviations.
pub(crate) static HARDWARE: TableSpec = TableSpec {
    title: "[switch.hardware]",
    doc: "What a chip does otherwise than the ideal switch of the papers (`docs/concepts/chips.md`). Every option works with every policy.",
    keys: &[
        optional(
            "family",
            Kind::Words(ChipFamily::WORDS),
            "\"tomahawk5\"",
            "A family of chips, as far as its memory is public (`docs/evidence/silicon.md`): what `cell`, `slices`, `slice_by`, `packet_overhead`, \
             `resume_below` and `queue_minimums` are, where they are not written.",
        ),
        computed(
            "cell",
            SMALL_SIZE,
            "\"1 B\"; that of `family`",
            "\"208 B\"",
            "Memory is given out in cells of this size; a packet occupies whole cells. Broadcom's Trident+ has 208 B.",
        ),
        computed(
            "packet_overhead",
            Kind::Size { min: 0, max: FRAME_MAX },
            "\"0 B\"; that of `family`",
            "\"48 B\"",
            "What a packet costs the memory beside its bytes, before it is rounded to cells. Broadcom's Jericho 2 takes 48 B.",
        ),
        computed(
            "slices",
            count(1, 256),
            "1; those of `family`",
            "4",
            "Memories. Each has an equal share of the buffer, its own consecutive ports and its own thresholds. Ports are spread evenly: 6 ports on 4 slices are 2, 2, 1 and 1. Broadcom's Tomahawk has 4.",
        ),
        computed(
            "slice_by",
            Kind::Words(SliceBy::WORDS),
            "\"egress\"; \"ingress\" with `family`",
            "\"ingress\"",
            "Whose slice stores a packet. Only with `ingress` can a memory in slices pause senders; then the policy is sonic-dt, sonic-abm or \
             reverie.",
        ),
        computed(
            "resume_below",
            Kind::Words(ResumeBelow::WORDS),
            "`threshold`; `pause-point` with `family`",
            "\"pause-point\"",
            "What `xon_offset` of the policy is counted from.",
        ),
        computed(
            "queue_minimums",
            Kind::Words(QueueMinimums::WORDS),
            "`lossy-pool`; that of `family`",
            "\"every-slice\"",
            "Where the minimums of egress queues (`reserved` of egress profiles) come from.",
        ),
        default(
            "threshold_bits",
            count(0, 63),
            "0",
            "Significant bits of a threshold, which is rounded down to them; 0: exact. With sonic-dt and sonic-abm.",
        ),
        default(
            "queue_reserve",
            SIZE_OR_ZERO,
            "\"0 B\"",
            "Set aside for each queue: what fits into it is stored without asking the policy, which divides the rest of the buffer.",
        ),
        default(
            "port_reserve",
            SIZE_OR_ZERO,
            "\"0 B\"",
            "Set aside for each port, for its queues together when their own reserves are used up.",
        ),
        optional(
            "port_limit",
            SIZE,
            "\"500 KB\"",
            "Most that a port's queues may hold together, reserves included.",
        ),
        optional(
            "threshold_refresh",
            SPAN,
            "\"1 us\"",
            "Thresholds follow the buffer's occupancy in steps of this length; without it at once. Queue lengths are always exact.",
        ),
        default(
            "quantised_alpha",
            Kind::Flag,
            "false",
            "Every alpha is rounded to the power of two that is nearest by ratio.",
        ),
        optional(
            "uncharged_priorities",
            PRIORITIES,
            "[0]",
            "Queues of a port whose packets are stored without asking the policy and charged to nobody, as if they had a memory of their own without \
             limit (class 0 of Reverie's artifact). Their bytes are in no account and no length; without it, none.",
        ),
        optional(
            "cut_through",
            SMALL_SIZE,
            "\"64 B\"",
            "Forward a packet once so much of it has arrived, on links that are as fast as the fastest port; without it, when it has arrived \
             as a whole. The buffer is charged with the whole packet from then on.",
        ),
        default(
            "device_queue",
            count(0, 65_535),
            "0",
            "Packets that each port may hand over to a queue of its device, behind the buffer and in front of the one that it sends: first come, first \
             served, whatever their priority; charged to nobody, and unseen by policies, marking and telemetry. 0: none. ns-3's point-to-point \
             devices: 100. Not where packets are lossless.",
        ),
    ],
    variants: &[],
};

/// Strict-priority groups.
pub(crate) static SCHEDULER_GROUP: TableSpec = TableSpec {
    title: "a group of switch.scheduler",
    doc: "Queues that take turns. Groups come highest first, and together name every queue exactly once.",
    keys: &[
        required("queues", PRIORITIES, "[1, 2]", "Queues of a port, numbered from 0."),
        default("discipline", Kind::Words(DisciplineName::WORDS), "\"fifo\"", "How they take turns."),
        optional(
            "weights",
            Kind::Counts { min: 1, max: u32::MAX as u64 },
            "[3, 1]",
            "Packets per round, one for each of `queues`.",
        ),
        optional(
            "quanta",
            Kind::Sizes,
            "[\"3 KB\", \"1500 B\"]",
            "Bytes per round, one for each of `queues`; at least one full packet.",
        ),
    ],
    variants: &[],
};

/// Congestion marking.
pub(crate) static ECN: TableSpec = TableSpec {
    title: "[switch.ecn]",
    doc: "Marking by the instantaneous length of a queue, by what the shared buffer has left, or by a rule of one's own (`docs/concepts/marking.md`).",
    keys: &[
        required("kind", Kind::Tag(MARKER_CATALOG), "\"step\"", "The marking rule."),
        computed("priorities", PRIORITIES, "every one", "[1]", "Priorities that are marked at all."),
    ],
    variants: &[],
};

/// Traffic.
pub(crate) static WORKLOAD: TableSpec = TableSpec {
    title: "[[workload]]",
    doc: "What is sent. All entries run at once.",
    keys: &[
        required("kind", Kind::Tag(&WORKLOADS), "\"poisson\"", "What is sent."),
        computed("class", TEXT, "the `kind`", "\"web_search\"", "Name of its flows in tables and reports."),
        computed(
            "transport",
            TEXT,
            "the only entry",
            "\"dctcp\"",
            "Name of the [[transport]] that carries it.",
        ),
    ],
    variants: &[],
};
