//! Describes the format of a switch file as data: every table, key, kind, default and explanation.

use bufferlab_document::spec::{Kind, TableSpec, computed, default, optional, required};
use bufferlab_params::{Choice, Profile};

/// Keys at the top level of a switch file.
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
            "The interpretation of under-specified details, as in a scenario.",
        ),
        required(
            "switch",
            Kind::Settings { of: "scenario" },
            "{ buffer = \"128 KB\", policy = \"dt\" }",
            "Buffer, policy, scheduler, classifier, marking: the keys of `[switch]` in a scenario (docs/reference/scenarios.md). Only \
             the simulator has flow control (`pfc`), slices, cut-through and device queues.",
        ),
        required(
            "port",
            Kind::Tables(&PORT),
            "[{ interface = \"eth1\", rate = \"100 Mb/s\" }]",
            "Ports of the switch, in order; at least two.",
        ),
        optional(
            "forwarding",
            Kind::Table(&FORWARDING),
            "{ delay = \"2500 us\" }",
            "Settings of a real switch besides its buffer.",
        ),
    ],
    variants: &[],
};

/// Keys of a port in the file of a switch.
static PORT: TableSpec = TableSpec {
    title: "[[port]]",
    doc: "An interface that the switch receives from and sends to.",
    keys: &[
        required("interface", Kind::Text, "\"eth1\"", "Name of the interface in `ip link`."),
        required(
            "rate",
            Kind::Rate,
            "\"100 Mb/s\"",
            "Rate of the port's virtual clock, at most the rate of the interface.",
        ),
        optional(
            "addresses",
            Kind::Texts,
            "[\"02:00:00:00:00:01\"]",
            "Permanent link-layer addresses behind the port; others are learned.",
        ),
    ],
    variants: &[],
};

/// Table of the settings of a switch besides the buffer.
static FORWARDING: TableSpec = TableSpec {
    title: "[forwarding]",
    doc: "Settings of a real switch besides its buffer.",
    keys: &[
        default(
            "delay",
            Kind::Time { zero: true },
            "\"100 us\"",
            "Time from a frame's arrival to its admission, a part of the base round trip. The process may be late by this time \
             without changing the order of arrivals of different ports.",
        ),
        default(
            "overhead",
            Kind::Size { min: 0, max: 1_000 },
            "\"24 B\"",
            "Bytes of every frame on the wire that `largest_frame` does not count: preamble 8, check sequence 4, gap 12. \
             They are charged to the buffer unless `uncharged_bytes` excludes them.",
        ),
        default(
            "largest_frame",
            Kind::Size { min: 60, max: 9_216 },
            "\"1514 B\"",
            "Longest frame, with its header, without its check sequence; longer frames are discarded.",
        ),
        optional(
            "priorities",
            Kind::Tables(&CODE_POINT),
            "[{ code_point = 46, priority = 0 }]",
            "Map from code points (DSCP) to priorities; a classifier maps these to queues as in a scenario.",
        ),
        default(
            "other_priority",
            Kind::Count { min: 0, max: 63 },
            "0",
            "Priority of all other code points, and of frames without one.",
        ),
        optional(
            "tag_priorities",
            Kind::Tables(&TAG),
            "[{ tag = 3, priority = 0 }]",
            "Map from priorities of VLAN tags (PCP) to priorities; takes precedence over code points.",
        ),
        default("learn", Kind::Flag, "true", "Whether the switch learns source addresses."),
        default(
            "forget_after",
            Kind::Time { zero: false },
            "\"300 s\"",
            "Time after which a silent learned address expires.",
        ),
        default(
            "addresses_max",
            Kind::Count { min: 0, max: 1_000_000 },
            "4096",
            "Maximum number of learned addresses; a full table learns nothing until an entry expires.",
        ),
        default(
            "flood_limit",
            Kind::Count { min: 0, max: u64::MAX },
            "1000",
            "Maximum number of frames per second to all ports: broadcast, multicast, unknown addresses.",
        ),
    ],
    variants: &[],
};

/// Keys that map the priority in a VLAN tag to a priority of the switch.
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

/// Keys that map a code point (DSCP) to a priority of the switch.
static CODE_POINT: TableSpec = TableSpec {
    title: "an entry of forwarding.priorities",
    doc: "The priority of a code point.",
    keys: &[
        required("code_point", Kind::Count { min: 0, max: 63 }, "46", "Code point (RFC 2474)."),
        required("priority", Kind::Count { min: 0, max: 63 }, "0", "Its priority."),
    ],
    variants: &[],
};
