//! `[switch]` with its tables: overrides, groups of the scheduler, congestion marking.

use super::catalogs::{CLASSIFIER_CATALOG, MARKER_CATALOG, POLICY_CATALOG};
use super::declare::table;
use super::kinds::{PRIORITIES, SIZE, SIZE_OR_ZERO, SMALL_SIZE_OR_ZERO, count};
use super::{HARDWARE, Kind, PFC};
use crate::model::{ClassifierSpec, HardwareSpec, PfcSpec};
use bufferlab_core::schedule::{DisciplineName, Group, MAX_QUEUES_PER_PORT, SchedulerName};
use bufferlab_params::{Choice, ParamValue, Params};
use bufferlab_units::BitRate;

table! {
    /// Configuration of a switch: its buffer, policy, marker and scheduler.
    #[derive(Clone, Debug, PartialEq)]
    pub struct SwitchSpec read as SwitchKeys;
    static SWITCH = "[switch]", "The configuration of every switch.";
    keys {
        "buffer" -> buffer: u64 = size(SIZE), computed("one of the two is required", "\"3.84 MB\""),
            "Shared buffer of a switch. Give either this or `buffer_per_port_per_gbps`.";
        "buffer_per_port_per_gbps" -> buffer_per_port_per_gbps: u64 = size(SIZE),
            computed("one of the two is required", "\"9.6 KB\""),
            "Shared buffer per Gb/s of every port, rounded down to a byte: the papers' usual way \
            to size a switch. Broadcom's Trident 2 has 9.6 KB.";
        "queues_per_port" => queues_per_port: u8 = small_count(count(1, MAX_QUEUES_PER_PORT as u64)),
            default("1"),
            "Egress queues of every port. A packet joins the queue of its priority, unless a \
            classifier chooses another.";
        "policy" => policy: String = hand(Kind::Entry(POLICY_CATALOG)),
            required("{ name = \"dt\", alpha = 0.5 }"),
            "Buffer-sharing policy: a name, a table with `name` and parameters (section Policies), \
            or both in one string: `\"dt(alpha=0.5)\"`.";
        "scheduler" => scheduler: Vec<Group> = hand(Kind::WordOrTables {
            words: SchedulerName::WORDS, of: "groups", table: &SCHEDULER_GROUP,
        }), default("\"round_robin\""),
            "Order in which the queues of a port send: a name, or a list of groups, highest first.";
        "egress" => egress: Vec<EgressSpec> = hand(Kind::Tables(&EGRESS)),
            optional("[{ ports = [0], rate = \"1 Gb/s\" }]"),
            "Ports with another scheduler or a limited rate.";
        "classifier" => classifier: Option<ClassifierSpec> = hand(Kind::Entry(CLASSIFIER_CATALOG)),
            optional("{ name = \"elephant-trap\", short_queue = 0 }"),
            "Rule that chooses a packet's queue: a name, or a table with `name` and parameters \
            (section Classifiers). Without it, the policy's own classifier (an elephant trap, \
            say), or the queue of the packet's priority.";
        "ecn" => ecn: Option<EcnSpec> = hand(Kind::Table(&ECN)),
            optional("{ kind = \"step\", threshold = \"91 KB\" }"),
            "Congestion marking; without it, none.";
        "uncharged_bytes" => uncharged_bytes: u32 = small_size(SMALL_SIZE_OR_ZERO), default("\"0 B\""),
            "Bytes of every frame that are not charged to the buffer (link-layer overhead).";
        "hardware" => hardware: HardwareSpec = hand(Kind::Table(&HARDWARE)),
            optional("{ cell = \"208 B\", slices = 4 }"),
            "Deviations of the chip. Without it, the ideal switch of the papers: bytes, one \
            memory, instant thresholds.";
        "pfc" => pfc: Option<PfcSpec> = hand(Kind::Table(&PFC)), optional("{ priorities = [3] }"),
            "Priority flow control; without it every priority is lossy.";
    }
    also {
        /// Size of the shared buffer B (bytes).
        buffer_bytes: u64;
        /// All parameters of the policy. The scenario file sets some parameters, and the registry
        /// has the defaults of the other parameters under the profile. An empty list of profiles is
        /// omitted.
        policy_params: Vec<(String, ParamValue)>;
    }
}

table! {
    struct OverrideKeys;
    static SWITCH_OVERRIDE = "[[switch_override]]",
        "Differences of some switches: `switches`, and any keys of [switch].";
    keys {
        "switches" -> switches: Vec<String> = names(Kind::Texts), required("\"spine*\""),
            "Names of switches, in which `*` matches any characters and `?` matches one.";
    }
}

table! {
    struct GroupKeys;
    static SCHEDULER_GROUP = "a group of switch.scheduler",
        "Queues that take turns. Groups come highest first, and together name every queue exactly once.";
    keys {
        "queues" -> queues: Vec<u8> = small_counts(PRIORITIES), required("[1, 2]"),
            "Queues of a port, numbered from 0.";
        "discipline" -> discipline: DisciplineName = choice(Kind::Words(DisciplineName::WORDS)),
            default("\"fifo\""),
            "How the queues take turns.";
        "weights" -> weights: Vec<u32> = small_counts(Kind::Counts { min: 1, max: u32::MAX as u64 }),
            optional("[3, 1]"),
            "Packets per round, one for each of `queues`.";
        "quanta" -> quanta: Vec<u32> = small_sizes(Kind::Sizes), optional("[\"3 KB\", \"1500 B\"]"),
            "Bytes per round, one for each of `queues`; at least one full packet.";
    }
}

table! {
    /// Ports of a switch with a different scheduler or a limited rate.
    #[derive(Clone, Debug, PartialEq)]
    pub struct EgressSpec read as EgressKeys;
    static EGRESS = "[[switch.egress]]", "Ports with another scheduler or a limited rate.";
    keys {
        "ports" => ports: Vec<u16> = hand(Kind::Counts { min: 0, max: u16::MAX as u64 }), optional("[0, 1]"),
            "Ports in the order of the switch's links; without it, all ports.";
        "scheduler" => scheduler: Option<Vec<Group>> = hand(Kind::WordOrTables {
            words: SchedulerName::WORDS, of: "groups", table: &SCHEDULER_GROUP,
        }), optional("\"strict_priority\""),
            "Scheduler of these ports. The last table for a port counts.";
        "rate" => rate: Option<BitRate> = rate(Kind::Rate), optional("\"1 Gb/s\""),
            "Largest mean rate, counted in bytes of packets.";
        "queues" => queues: Vec<u8> = hand(PRIORITIES), optional("[3]"),
            "Queues that `rate` limits, each by itself; without it, the port as a whole.";
        "burst" => burst: Option<u64> = size(SIZE_OR_ZERO), optional("\"20 KB\""),
            "Bytes that may exceed `rate` after an idle time, beyond one packet; without it, none.";
    }
}

table! {
    /// Congestion marking of a switch.
    #[derive(Clone, Debug, PartialEq)]
    pub struct EcnSpec read as EcnKeys;
    static ECN = "[switch.ecn]",
        "Marking by the current length of a queue, by the free bytes of the shared buffer, or by a \
        custom rule (`docs/concepts/marking.md`).";
    keys {
        "kind" => kind: String = hand(Kind::Tag(MARKER_CATALOG)), required("\"step\""),
            "The marking rule.";
        "priorities" => priorities: Option<Vec<u8>> = small_counts(PRIORITIES), computed("every one", "[1]"),
            "Priorities whose packets are marked.";
    }
    also {
        /// All parameters of the marking rule, with defaults.
        params: Params;
    }
}
