//! Every table and key of the format.

use super::catalogs::{CLASSIFIER_CATALOG, CONGESTION_CONTROL_CATALOG, MARKER_CATALOG, POLICY_CATALOG};
use super::flow_control::{FAULT, PFC};
use super::{KeySpec, Kind, TableSpec};
use crate::model::{
    Applications, Completion, MarkReport, Multipath, NicQueueing, Protocol, SliceBy, TelemetryPath,
    TelemetryScope, TieOrder, WindowLimit,
};
use bufferlab_core::schedule::{DisciplineName, MAX_QUEUES_PER_PORT, SchedulerName};
use bufferlab_core::{QueueMinimums, ResumeBelow};
pub(super) use bufferlab_document::spec::{computed, default, optional, required};
use bufferlab_params::{ChipFamily, Choice, Profile};
use bufferlab_topology::TOPOLOGIES;
use bufferlab_transport::Spacing;
use bufferlab_transport::rdma::Recovery;
use bufferlab_workload::WORKLOADS;

pub(super) const TEXT: Kind = Kind::Text;
pub(super) const SPAN: Kind = Kind::Time { zero: false };
pub(super) const SPAN_OR_ZERO: Kind = Kind::Time { zero: true };
const SIZE: Kind = Kind::Size { min: 1, max: u64::MAX };
pub(super) const SIZE_OR_ZERO: Kind = Kind::Size { min: 0, max: u64::MAX };
/// Most events that one run explains.
pub(crate) const EXPLAINED_MAX: u64 = 1_000;
/// Frames are counted by 16 bits.
pub(crate) const FRAME_MAX: u64 = u16::MAX as u64;
const FRAME: Kind = Kind::Size { min: 1, max: FRAME_MAX };
const FRAME_OR_ZERO: Kind = Kind::Size { min: 0, max: FRAME_MAX - 1 };
/// Room for options and what a notification adds.
const ACK: Kind = Kind::Size { min: 1, max: FRAME_MAX - 100 };
const SMALL_SIZE: Kind = Kind::Size { min: 1, max: u32::MAX as u64 };
const SMALL_SIZE_OR_ZERO: Kind = Kind::Size { min: 0, max: u32::MAX as u64 };
const PRIORITY: Kind = Kind::Count { min: 0, max: MAX_QUEUES_PER_PORT as u64 - 1 };
pub(super) const PRIORITIES: Kind = Kind::Counts { min: 0, max: MAX_QUEUES_PER_PORT as u64 - 1 };

pub(super) const fn count(min: u64, max: u64) -> Kind {
    Kind::Count { min, max }
}

/// The file itself.
pub(crate) static ROOT: TableSpec = TableSpec {
    title: "top level",
    doc: "What the experiment is, and how long it runs.",
    keys: &[
        optional(
            "extends",
            TEXT,
            "\"base.toml\"",
            "Another scenario file, relative to this one, that this one builds on. Tables are merged key by key, lists \
             are replaced, this file wins; a table that chooses another `kind` (a policy: another `name`) starts afresh. At most 32 files, one by the other.",
        ),
        computed("name", TEXT, "the file's name", "\"abm-reduced\"", "Short name, for folders and titles."),
        default("description", TEXT, "\"\"", "What the scenario shows, for the report."),
        default(
            "profile",
            Kind::Words(Profile::WORDS),
            "\"paper\"",
            "How under-specified details are read; selects the defaults of policy parameters.",
        ),
        default("seed", count(0, i64::MAX as u64), "1", "Every random stream of the run derives from it."),
        required("duration", SPAN, "\"250 ms\"", "New flows start during this time."),
        default(
            "drain",
            SPAN_OR_ZERO,
            "\"1 s\"",
            "Unfinished flows may go on for at most this long afterwards. Default: our choice, long enough for several \
             timeouts of 10 ms in a row.",
        ),
        default(
            "start_jitter",
            SPAN_OR_ZERO,
            "\"0 s\"",
            "Noise: every flow starts later by a draw of its own from zero to this. Without it flows of one instant are in \
             step to the picosecond, as no real hosts are. Not for closed loops (`multi_get`), whose queries follow the answers before.",
        ),
        default(
            "tie_order",
            Kind::Words(TieOrder::WORDS),
            "\"fair\"",
            "Which of several events of links at one instant goes first.",
        ),
        required(
            "topology",
            Kind::Table(&TOPOLOGY),
            "{ kind = \"single_switch\", hosts = 8, rate = \"10 Gb/s\", delay = \"10 us\" }",
            "Nodes and cables of the network.",
        ),
        required(
            "switch",
            Kind::Table(&SWITCH),
            "{ buffer = \"1 MB\", policy = \"dt\" }",
            "The configuration of every switch.",
        ),
        optional(
            "switch_override",
            Kind::Tables(&SWITCH_OVERRIDE),
            "[{ switches = \"spine*\", buffer = \"768 KB\" }]",
            "What differs at some switches; a later entry wins over an earlier one.",
        ),
        required(
            "transport",
            Kind::Tables(&TRANSPORT),
            "[{ congestion_control = \"dctcp\" }]",
            "How flows are carried; workloads refer to an entry by its name.",
        ),
        computed("host", Kind::Table(&HOST), "its defaults", "{ nic = \"fair\" }", "How hosts send."),
        required(
            "workload",
            Kind::Tables(&WORKLOAD),
            "[{ kind = \"poisson\", sizes = \"web_search\", load = 0.4 }]",
            "What is sent.",
        ),
        optional(
            "fault",
            Kind::Tables(&FAULT),
            "[{ kind = \"pause_storm\", host = \"h0\", priorities = [3], from = \"1 ms\" }]",
            "Hosts that misbehave.",
        ),
        computed(
            "output",
            Kind::Table(&OUTPUT),
            "its defaults",
            "{ sample_interval = \"30 us\" }",
            "What is recorded.",
        ),
    ],
    variants: &[],
};

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
    doc: "What a chip does otherwise than the ideal switch of the papers (`docs/hardware.md`). Every option works with every policy.",
    keys: &[
        optional(
            "family",
            Kind::Words(ChipFamily::WORDS),
            "\"tomahawk5\"",
            "A family of chips, as far as its memory is public (`docs/silicon.md`): what `cell`, `slices`, `slice_by`, `packet_overhead`, \
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
    doc: "Marking by the instantaneous length of a queue, by what the shared buffer has left, or by a rule of one's own (`docs/marking.md`).",
    keys: &[
        required("kind", Kind::Tag(MARKER_CATALOG), "\"step\"", "The marking rule."),
        computed("priorities", PRIORITIES, "every one", "[1]", "Priorities that are marked at all."),
    ],
    variants: &[],
};

/// A transport.
pub(crate) static TRANSPORT: TableSpec = TableSpec {
    title: "[[transport]]",
    doc: "How flows are carried. With a single entry, every workload uses it.",
    keys: &[
        computed(
            "name",
            TEXT,
            "`congestion_control`",
            "\"dctcp\"",
            "The name by which workloads refer to it.",
        ),
        computed(
            "kind",
            Kind::Words(Protocol::WORDS),
            "`tcp`",
            "\"rdma\"",
            "The protocol (`docs/transports.md`). RDMA takes the congestion controls that set a rate: dcqcn, hpcc, powertcp, theta-powertcp, timely, \
             swift.",
        ),
        required(
            "congestion_control",
            Kind::Entry(CONGESTION_CONTROL_CATALOG),
            "{ name = \"dctcp\", gain = \"1/16\" }",
            "How the window moves: a name, or a table with `name` and parameters (section Congestion controls). `\"none\"`: open \
             loop. Packets leave at `rate` without regard to losses; nothing is acknowledged or sent again, and the keys of TCP \
             have no effect.",
        ),
        computed(
            "rate",
            Kind::Rate,
            "required with congestion_control = \"none\", which alone has it",
            "\"8 Gb/s\"",
            "Rate at which a flow sends, on the wire, headers included.",
        ),
        computed(
            "spacing",
            Kind::Words(Spacing::WORDS),
            "`constant` with congestion_control = \"none\", which alone has it",
            "\"poisson\"",
            "Gaps between the packets of a flow.",
        ),
        default(
            "segment_bytes",
            FRAME,
            "\"1400 B\"",
            "Payload of a full segment; with its headers at most 65,535 B. Default: ABM's artifact.",
        ),
        default(
            "header_bytes",
            FRAME_OR_ZERO,
            "\"54 B\"",
            "Headers of a data segment on the wire. Default: Ethernet 14 + IPv4 20 + TCP 20, no options.",
        ),
        default("ack_bytes", ACK, "\"54 B\"", "A pure ACK on the wire. Default: as `header_bytes`."),
        computed(
            "initial_window",
            Kind::CountOrWord { of: "segments", words: &["bdp", "whole"] },
            "10 (RFC 6928); `\"bdp\"` for congestion controls that start at line rate: hpcc, powertcp, theta-powertcp, timely",
            "10",
            "Segments before the first ACK; `\"whole\"`: the whole flow at once; `\"bdp\"`: what the host's link sends in `base_rtt`.",
        ),
        default(
            "min_rto",
            SPAN,
            "\"10 ms\"",
            "Smallest retransmission timeout. Default: ABM section 4 and LossPass's testbed.",
        ),
        default(
            "initial_rto",
            SPAN,
            "\"10 ms\"",
            "Timeout before the first RTT sample, of the handshake too. Default: the SYN timeout of ABM's artifact.",
        ),
        default(
            "ack_every",
            count(1, u32::MAX as u64),
            "1",
            "ACK every n-th segment; out-of-order ones are acknowledged at once. Default: DelAckCount 0 of ABM's artifact.",
        ),
        default(
            "delayed_ack_timeout",
            SPAN,
            "\"1 ms\"",
            "A delayed ACK waits at most this long. Default: our choice, far below `min_rto`; without effect while \
             `ack_every` is 1.",
        ),
        default(
            "handshake",
            Kind::Flag,
            "true",
            "Whether a flow opens with SYN and SYN-ACK, unless its connection exists already. Default: ABM's artifact.",
        ),
        computed(
            "full_connection",
            Kind::Flag,
            "false; true for TCP without `persistent` in profile `artifact`",
            "true",
            "Whether a flow also sends the segments of its connection that carry nothing and that nobody waits for: the ACK that ends the handshake, the \
             receiver's FIN after the last byte (the sender's rides on its last segment), and the ACK of it. One that is lost is not sent again.",
        ),
        default(
            "persistent",
            Kind::Flag,
            "false",
            "Whether messages from one host to another use connections that stay open: no handshake but for the first, and window, threshold, \
             round-trip estimate and the congestion control's memory are kept from message to message. A connection carries one message at a \
             time and takes its path with it. Default: every flow has a connection of its own, as in ABM's artifact.",
        ),
        computed(
            "connections_per_pair",
            count(1, u32::MAX as u64),
            "with `persistent`, which alone has it: another one is opened whenever all are busy",
            "5",
            "Most connections from one host to another. A message that finds all of them busy waits for the first that is not. Plasticine section 6: 1; \
             LossPass section 5.1: 5. The threads of a `multi_get` have one of their own to every server in any case.",
        ),
        computed(
            "idle_restart",
            Kind::Flag,
            "true with `persistent`, which alone has it (RFC 5681 section 4.1)",
            "true",
            "Whether a connection that was idle for longer than its timeout begins with `initial_window` again, if its window is larger.",
        ),
        default(
            "lso",
            SMALL_SIZE_OR_ZERO,
            "\"0 B\"",
            "Large send offload: the card sends a flow's new segments in bursts of at most this much payload, back to back, and the sender waits for \
             its window to open for a burst worth sending (`docs/transports.md`). Linux: 64 KB. Default: segment by segment.",
        ),
        computed(
            "ecn_capable",
            Kind::Flag,
            "true for a congestion control that uses ECN",
            "true",
            "Whether packets may be marked.",
        ),
        computed(
            "base_rtt",
            SPAN,
            "the longest unloaded round trip of the network, of a full segment and its ACK",
            "\"82 us\"",
            "The round trip that bandwidth-delay products and delays are compared with: T of HPCC, τ of PowerTCP, the minimum RTT \
             of TIMELY.",
        ),
        computed(
            "telemetry",
            Kind::Words(TelemetryScope::WORDS),
            "`port` for the congestion controls hpcc and powertcp, and others that use telemetry, which alone have it; `queue` for their TCP in profile \
             `artifact`",
            "\"port\"",
            "Whose length switches report to it. The bytes sent that go with it are those of the port (HPCC and PowerTCP).",
        ),
        computed(
            "telemetry_path",
            Kind::Words(TelemetryPath::WORDS),
            "`data` for congestion controls that use telemetry, which alone have it; `round_trip` for their TCP in profile `artifact`",
            "\"data\"",
            "Which packets collect the reports, of at most 8 switches.",
        ),
        computed(
            "recovery",
            Kind::Words(Recovery::WORDS),
            "`go-back-n` with kind = \"rdma\", which alone has it",
            "\"selective-repeat\"",
            "How losses are repaired.",
        ),
        computed(
            "window_limit",
            Kind::Words(WindowLimit::WORDS),
            "`none` with kind = \"rdma\", which alone has it",
            "\"bdp\"",
            "A limit of what is in flight, for congestion controls without window.",
        ),
        computed(
            "retransmission_timeout",
            SPAN_OR_ZERO,
            "1 ms with kind = \"rdma\", which alone has it (our choice); profile `artifact`: 0 s",
            "\"1 ms\"",
            "Time without acknowledgement after which a message is sent again; doubles with each repetition. `\"0 s\"`: never.",
        ),
        computed(
            "nack_interval",
            SPAN_OR_ZERO,
            "0 s with kind = \"rdma\", which alone has it; profile `artifact`: 500 us",
            "\"500 us\"",
            "Go-back-N: after this time a negative acknowledgement is repeated if segments beyond the gap still come. `\"0 s\"`: one per gap (RoCE).",
        ),
        computed(
            "notification",
            Kind::Words(MarkReport::WORDS),
            "`frames` with kind = \"rdma\", which alone has it; profile `artifact`: `acks`",
            "\"acks\"",
            "How a receiver tells the sender of marked segments.",
        ),
        computed(
            "notification_interval",
            SPAN_OR_ZERO,
            "50 us with notification = \"frames\" (DCQCN, SIGCOMM 2015)",
            "\"50 us\"",
            "Least time between two notifications of a message.",
        ),
        computed(
            "strict_pace",
            Kind::Flag,
            "false with kind = \"rdma\", which alone has it; profile `artifact`: true",
            "true",
            "Whether a segment that waited for its turn at the card delays those after it, or the pace catches up by as much as one gap.",
        ),
        computed(
            "completion",
            Kind::Words(Completion::WORDS),
            "`sender` with kind = \"rdma\", which alone has it (HPCC, Reverie)",
            "\"receiver\"",
            "When a message is complete.",
        ),
        computed(
            "ideal_header_bytes",
            SMALL_SIZE_OR_ZERO,
            "0 B with kind = \"rdma\", which alone has it",
            "\"48 B\"",
            "Bytes per segment that count in the ideal completion time of slowdowns beside the payload. Reverie's artifact: 48 B.",
        ),
        default(
            "unscheduled_bytes",
            SIZE_OR_ZERO,
            "\"0 B\"",
            "The first so many bytes of a flow carry the tag `unscheduled`, for policies that treat the first round trip \
             apart. ABM's artifact: one bandwidth-delay product, 100 KB. Default: none are tagged.",
        ),
        computed(
            "data_priority",
            PRIORITY,
            "1 where every port has two queues or more, else 0",
            "1",
            "Queue of data packets. Default: ABM's artifact, which keeps queue 0 for ACKs.",
        ),
        optional(
            "data_priorities",
            PRIORITIES,
            "[1, 2, 3]",
            "Instead of `data_priority`: every flow draws one of these queues, each with the same probability (ABM, figures 10 and 12).",
        ),
        optional(
            "pias_thresholds",
            Kind::Sizes,
            "[\"1 MB\"]",
            "A flow begins in its queue and moves to the next one whenever it has sent so many bytes, retransmissions included; ascending \
             (PIAS, NSDI 2015; LossPass: one threshold of 1 MB).",
        ),
        default(
            "small_bytes",
            SIZE_OR_ZERO,
            "\"0 B\"",
            "The first so many bytes that a flow sends carry the tag `small`, for policies that spare small flows by tag (LossPass, \
             FAB, Intelligent Buffer, Plasticine) and not by a trap of their own. Default: none are tagged.",
        ),
        default(
            "control_priority",
            PRIORITY,
            "0",
            "Queue of ACKs, handshakes and tiny segments. Default: ABM's artifact.",
        ),
        default(
            "control_max_payload_bytes",
            SMALL_SIZE_OR_ZERO,
            "\"0 B\"",
            "Data segments with at most this much payload use the control priority, as in ABM's artifact (frames below \
             70 B). Default: none do.",
        ),
    ],
    variants: &[],
};

/// Hosts.
pub(crate) static HOST: TableSpec = TableSpec {
    title: "[host]",
    doc: "How hosts send.",
    keys: &[
        default(
            "nic",
            Kind::Words(NicQueueing::WORDS),
            "\"fair\"",
            "Order of a host's flows at its NIC. Default: our choice: no flow waits for another one's window.",
        ),
        default(
            "device_queue",
            count(0, 65_535),
            "0",
            "As `switch.hardware.device_queue`: packets whose order at the NIC is settled.",
        ),
        optional(
            "applications",
            Kind::Words(Applications::WORDS),
            "\"programs\"",
            "Who carries the workloads with real hosts (`testbed run`); a simulation is the same with each. Without it: `own`.",
        ),
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

/// What is recorded.
pub(crate) static OUTPUT: TableSpec = TableSpec {
    title: "[output]",
    doc: "What is recorded.",
    keys: &[
        default(
            "sample_interval",
            SPAN_OR_ZERO,
            "\"0 s\"",
            "Interval of the sampled series; 0: none. ABM's artifact: 30 us.",
        ),
        computed(
            "sample_switch",
            TEXT,
            "the first switch",
            "\"leaf0\"",
            "The switch whose queues and thresholds are sampled.",
        ),
        default("sample_from", SPAN_OR_ZERO, "\"0 s\"", "Sampling starts at this time."),
        computed("sample_until", SPAN, "the end of the run", "\"152 ms\"", "Sampling ends before this time."),
        computed(
            "sample_ports",
            Kind::Counts { min: 0, max: u16::MAX as u64 },
            "every port, whenever it holds a packet",
            "[0, 1, 2]",
            "The ports of that switch that are sampled, empty or not; numbered from 0 in the order of their cables.",
        ),
        default(
            "sample_flows",
            Kind::Flag,
            "false",
            "Whether every sample also notes how much each live flow has delivered (table `progress`): throughput over time.",
        ),
        computed(
            "delays",
            Kind::Flag,
            "true where a transport has congestion_control = \"none\"",
            "true",
            "Whether queueing delays are recorded, for every queue and class. Costs a little speed.",
        ),
        optional(
            "explain_losses",
            count(1, EXPLAINED_MAX),
            "5",
            "Explain the first so many lost packets in the report: which limit bound, who held the buffer, what every other policy would \
             have done. All policies then watch all switches, which makes the run several times slower.",
        ),
        optional(
            "packets",
            TEXT,
            "\"all\"",
            "Record every event of every packet (table `packets`) at the switch of this name, or at \"all\" of them. Some 26 bytes per event; the run \
             takes about five times as long.",
        ),
        default(
            "short_flow",
            SIZE,
            "\"100 KB\"",
            "Flows smaller than this count as short in summaries. Default: Plasticine, LossPass and ABM's artifact.",
        ),
        computed(
            "base_rtt",
            SPAN,
            "computed for every pair from the topology",
            "\"80 us\"",
            "Round-trip time in the ideal that slowdown compares with.",
        ),
    ],
    variants: &[],
};
