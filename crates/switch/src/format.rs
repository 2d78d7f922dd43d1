//! The format of a switch's file as data: every table, key, kind, default and explanation.

use bufferlab_document::spec::{Kind, TableSpec, computed, default, optional, required};
use bufferlab_params::{Choice, Profile};

/// The file itself.
pub static ROOT: TableSpec = TableSpec {
    title: "top level",
    doc: "A switch that forwards real packets between interfaces.",
    keys: &[
        computed("name", Kind::Text, "the file's name", "\"rack\"", "Short name, for titles."),
        default("seed", Kind::Count { min: 0, max: u64::MAX }, "1", "Seed of the policy's random streams."),
        default(
            "profile",
            Kind::Words(Profile::WORDS),
            "\"paper\"",
            "The reading of under-specified details, as in a scenario.",
        ),
        required(
            "switch",
            Kind::Settings { of: "scenario" },
            "{ buffer = \"128 KB\", policy = \"dt\" }",
            "Buffer, policy, scheduler, classifier, marking: the keys of `[switch]` in a scenario (docs/reference/scenarios.md). Flow control \
             (`pfc`), slices, cut-through and device queues are the simulator's alone.",
        ),
        required(
            "port",
            Kind::Tables(&PORT),
            "[{ interface = \"eth1\", rate = \"100 Mb/s\" }]",
            "Its ports, in order; at least two.",
        ),
        optional(
            "forwarding",
            Kind::Table(&FORWARDING),
            "{ delay = \"2500 us\" }",
            "What a real switch needs beside its buffer.",
        ),
    ],
    variants: &[],
};

/// A port.
static PORT: TableSpec = TableSpec {
    title: "[[port]]",
    doc: "An interface that the switch receives from and sends to.",
    keys: &[
        required("interface", Kind::Text, "\"eth1\"", "Its name in `ip link`."),
        required(
            "rate",
            Kind::Rate,
            "\"100 Mb/s\"",
            "How fast it sends, by the port's virtual clock; not above what the interface can do.",
        ),
        optional(
            "addresses",
            Kind::Texts,
            "[\"02:00:00:00:00:01\"]",
            "Addresses of the link layer that are behind it for ever; others are learned.",
        ),
    ],
    variants: &[],
};

/// Everything beside the buffer.
static FORWARDING: TableSpec = TableSpec {
    title: "[forwarding]",
    doc: "What a real switch needs beside its buffer.",
    keys: &[
        default(
            "delay",
            Kind::Time { zero: true },
            "\"100 us\"",
            "Between a frame's arrival and the moment at which it asks for space, the same for all: a part of the base round trip. It is also what \
             the process may be late without changing the order of arrivals of different ports.",
        ),
        default(
            "overhead",
            Kind::Size { min: 0, max: 1_000 },
            "\"24 B\"",
            "Bytes that every frame occupies on the wire beside what `largest_frame` counts: preamble 8, check sequence 4, gap 12. \
             They are charged to the buffer unless `uncharged_bytes` says otherwise.",
        ),
        default(
            "largest_frame",
            Kind::Size { min: 60, max: 9_216 },
            "\"1514 B\"",
            "Longer frames are discarded; header included, check sequence not.",
        ),
        optional(
            "priorities",
            Kind::Tables(&CODE_POINT),
            "[{ code_point = 46, priority = 0 }]",
            "From code points (DSCP) to priorities; a classifier maps these to queues as in a scenario.",
        ),
        default(
            "other_priority",
            Kind::Count { min: 0, max: 63 },
            "0",
            "Priority of all other code points, and of frames that have none.",
        ),
        optional(
            "tag_priorities",
            Kind::Tables(&TAG),
            "[{ tag = 3, priority = 0 }]",
            "From priorities of VLAN tags (PCP) to priorities; they go before code points.",
        ),
        default("learn", Kind::Flag, "true", "Whether the sources of frames are learned."),
        default(
            "forget_after",
            Kind::Time { zero: false },
            "\"300 s\"",
            "A learned address that sends nothing for so long is forgotten.",
        ),
        default(
            "addresses_max",
            Kind::Count { min: 0, max: 1_000_000 },
            "4096",
            "Learned addresses at most; beyond them none is learned until one is forgotten.",
        ),
        default(
            "flood_limit",
            Kind::Count { min: 0, max: u64::MAX },
            "1000",
            "Frames per second that may go to all ports: broadcast, multicast, unknown addresses.",
        ),
    ],
    variants: &[],
};

/// A tag's priority and its priority at the switch.
static TAG: TableSpec = TableSpec {
    title: "an entry of forwarding.tag_priorities",
    doc: "The priority of frames with a VLAN tag of one priority.",
    keys: &[
        required(
            "tag",
            Kind::Count { min: 0, max: 7 },
            "3",
            "Priority code point of the outer tag (IEEE 802.1Q).",
        ),
        required("priority", Kind::Count { min: 0, max: 63 }, "0", "Its priority."),
    ],
    variants: &[],
};

/// A code point and its priority.
static CODE_POINT: TableSpec = TableSpec {
    title: "an entry of forwarding.priorities",
    doc: "The priority of a code point.",
    keys: &[
        required("code_point", Kind::Count { min: 0, max: 63 }, "46", "Code point (RFC 2474)."),
        required("priority", Kind::Count { min: 0, max: 63 }, "0", "Its priority."),
    ],
    variants: &[],
};
