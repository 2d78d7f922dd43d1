//! Tables and keys of priority flow control: lossless priorities, the watchdog, hosts that storm.

use super::keys::{PRIORITIES, SPAN, SPAN_OR_ZERO, TEXT, computed, count, default, optional, required};
use super::{Kind, TableSpec, Variant};
use crate::model::{PauseFrames, WatchdogAction, WatchdogRule};
use bufferlab_params::Choice;

/// Priority flow control.
pub(crate) static PFC: TableSpec = TableSpec {
    title: "[switch.pfc]",
    doc: "Priority flow control (IEEE 802.1Qbb, `docs/concepts/lossless.md`): which priorities are lossless, and how pauses travel. The policy decides when the \
          sender behind an ingress queue stops (`sonic-dt`, `sonic-abm`, `reverie`); a frame of 64 B goes out behind the packet that the port is \
          sending, and the neighbour finishes its own packet.",
    keys: &[
        default(
            "enabled",
            Kind::Flag,
            "true",
            "`false` makes every priority lossy, as without the table: for overrides and sweeps.",
        ),
        required(
            "priorities",
            PRIORITIES,
            "[3]",
            "The lossless priorities. Their neighbours must number priorities alike.",
        ),
        optional(
            "ports",
            Kind::Counts { min: 0, max: u16::MAX as u64 },
            "[0, 1]",
            "Ports, numbered from 0 in the order of the switch's links, on which these priorities are lossless. Packets that arrive at others are lossy, and \
             pause frames that arrive there are ignored. Without it, all ports.",
        ),
        default(
            "reaction",
            SPAN_OR_ZERO,
            "\"0 ns\"",
            "Time that neighbours, hosts and switches, take from the arrival of a frame to obeying it.",
        ),
        optional(
            "quanta",
            count(1, 65_535),
            "65535",
            "How long a pause lasts, in units of 512 bits at the port's rate; it is repeated at half of that for as long as it is wanted. \
             Without it a pause lasts until it is taken back.",
        ),
        computed(
            "frames",
            Kind::Words(PauseFrames::WORDS),
            "`latest`; with `profile = \"artifact\"` `each`",
            "\"latest\"",
            "What a frame says that had to wait for its link.",
        ),
        optional(
            "watchdog",
            Kind::Table(&WATCHDOG),
            "{ rule = \"broadcom\", detection_time = \"200 ms\" }",
            "Looks for lossless queues that pauses keep from sending.",
        ),
    ],
    variants: &[],
};

/// A PFC watchdog.
pub(crate) static WATCHDOG: TableSpec = TableSpec {
    title: "[switch.pfc.watchdog]",
    doc: "SONiC's PFC watchdog: looks at every lossless egress queue at intervals, breaks storms and deadlocks, and restores the queue afterwards.",
    keys: &[
        default("enabled", Kind::Flag, "true", "`false`: as without the table."),
        default(
            "rule",
            Kind::Words(WatchdogRule::WORDS),
            "\"mellanox\"",
            "What a storm is. Vendors' chips differ in what they count.",
        ),
        default(
            "action",
            Kind::Words(WatchdogAction::WORDS),
            "\"drop\"",
            "What is done about a storm until the queue is restored.",
        ),
        computed(
            "detection_time",
            SPAN,
            "200 ms for every 32 ports that the switch has, or begins",
            "\"200 ms\"",
            "How long the rule must hold without interruption.",
        ),
        computed(
            "restoration_time",
            SPAN,
            "the detection time",
            "\"200 ms\"",
            "How long no pause must come, nor be in force, until the queue is restored.",
        ),
        computed(
            "poll_interval",
            SPAN,
            "the smaller of the two times, at most 1 s",
            "\"100 ms\"",
            "Time between two looks; at most either time, and 1 s.",
        ),
    ],
    variants: &[],
};

/// A host that misbehaves.
pub(crate) static FAULT: TableSpec = TableSpec {
    title: "[[fault]]",
    doc: "A host that misbehaves.",
    keys: &[],
    variants: &[Variant {
        kind: "pause_storm",
        doc: "Its card sends pause frames to its switch, whatever it receives (`docs/concepts/lossless.md`).",
        keys: &[
            required("host", TEXT, "\"h0\"", "The host."),
            required(
                "priorities",
                PRIORITIES,
                "[3]",
                "The priorities that every frame pauses; they must be lossless at its switch.",
            ),
            default("from", SPAN_OR_ZERO, "\"0 s\"", "When the first frame is sent."),
            optional(
                "until",
                SPAN,
                "\"20 ms\"",
                "When no more are sent; without it, they never end. The last pause ends by itself.",
            ),
            default(
                "quanta",
                count(1, 65_535),
                "65535",
                "How long a frame pauses, in units of 512 bits at the rate of the switch's port.",
            ),
            computed(
                "interval",
                SPAN,
                "half of the time that a frame pauses",
                "\"100 us\"",
                "Time between two frames. A longer one than a pause leaves gaps.",
            ),
        ],
    }],
};
