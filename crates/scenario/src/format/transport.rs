//! Table `[[transport]]`: the protocol and the congestion control that carry flows.

use super::Kind;
use super::catalogs::CONGESTION_CONTROL_CATALOG;
use super::declare::table;
use super::kinds::{
    ACK, FRAME, FRAME_OR_ZERO, PRIORITIES, PRIORITY, SIZE_OR_ZERO, SMALL_SIZE_OR_ZERO, SPAN, SPAN_OR_ZERO,
    TEXT, count,
};
use crate::model::{
    Completion, InitialWindow, MarkReport, Pacing, PersistentSpec, Protocol, RdmaSpec, TelemetryPath,
    TelemetryScope, WindowLimit,
};
use bufferlab_params::{Choice, ParamValue};
use bufferlab_transport::Spacing;
use bufferlab_transport::rdma::Recovery;
use bufferlab_units::Time;

table! {
    /// A transport: a named configuration of the protocol that carries flows.
    #[derive(Clone, Debug, PartialEq)]
    pub struct TransportSpec read as TransportKeys;
    static TRANSPORT = "[[transport]]",
        "Transports of the flows. With a single entry, every workload uses it.";
    keys {
        "name" => name: String = hand(TEXT), computed("`congestion_control`", "\"dctcp\""),
            "The name by which workloads refer to it.";
        "kind" = hand(Kind::Words(Protocol::WORDS)), computed("`tcp`", "\"rdma\""),
            "The protocol (`docs/concepts/transports.md`). RDMA takes the congestion controls that set a \
            rate: dcqcn, hpcc, powertcp, theta-powertcp, timely, swift.";
        "congestion_control" => congestion_control: String = hand(Kind::Entry(CONGESTION_CONTROL_CATALOG)),
            required("{ name = \"dctcp\", gain = \"1/16\" }"),
            "Algorithm that sets the window: a name, or a table with `name` and parameters \
            (section Congestion controls). `\"none\"` is open loop: packets leave at `rate`, \
            whatever is lost. Then nothing is acknowledged or repeated, and the keys of TCP have \
            no effect.";
        "rate" = hand(Kind::Rate),
            computed("required with congestion_control = \"none\", which alone has it", "\"8 Gb/s\""),
            "Rate of a flow on the wire, headers included.";
        "spacing" = hand(Kind::Words(Spacing::WORDS)),
            computed("`constant` with congestion_control = \"none\", which alone has it", "\"poisson\""),
            "Gaps between the packets of a flow.";
        "segment_bytes" => segment_bytes: u32 = small_size(FRAME), default("\"1400 B\""),
            "Payload of a full segment; with its headers at most 65,535 B. Default: ABM's \
            artifact.";
        "header_bytes" => header_bytes: u32 = small_size(FRAME_OR_ZERO), default("\"54 B\""),
            "Headers of a data segment on the wire. Default: Ethernet 14 + IPv4 20 + TCP 20, no \
            options.";
        "ack_bytes" => ack_bytes: u32 = small_size(ACK), default("\"54 B\""),
            "Size of a pure ACK on the wire. Default: as `header_bytes`.";
        "initial_window" => initial_window: InitialWindow = hand(Kind::CountOrWord { of: "segments", words: &["bdp", "whole"] }),
            computed("10 (RFC 6928); `\"bdp\"` for congestion controls that start at line rate: hpcc, powertcp, theta-powertcp, timely", "10"),
            "Segments that a flow sends before the first ACK. `\"whole\"`: the whole flow at once. \
            `\"bdp\"`: the bytes that the host's link sends in `base_rtt`.";
        "min_rto" => min_rto: Time = time(SPAN), default("\"10 ms\""),
            "Smallest retransmission timeout. Default: ABM section 4 and LossPass's testbed.";
        "initial_rto" => initial_rto: Time = time(SPAN), default("\"10 ms\""),
            "Timeout before the first RTT sample, of the handshake too. Default: the SYN timeout of \
            ABM's artifact.";
        "ack_every" => ack_every: u32 = small_count(count(1, u32::MAX as u64)), default("1"),
            "ACK every n-th segment; out-of-order ones are acknowledged at once. Default: \
            DelAckCount 0 of ABM's artifact.";
        "delayed_ack_timeout" => delayed_ack_timeout: Time = time(SPAN), default("\"1 ms\""),
            "Longest time that a delayed ACK waits. Without effect while `ack_every` is 1. \
            Default: our choice, far below `min_rto`.";
        "handshake" => handshake: bool = flag(Kind::Flag), default("true"),
            "Whether a flow opens with SYN and SYN-ACK, unless its connection exists already. \
            Default: ABM's artifact.";
        "full_connection" => full_connection: bool = hand(Kind::Flag),
            computed("false; true for TCP without `persistent` in profile `artifact`", "true"),
            "Whether a flow also sends the empty segments that neither end waits for. These are \
            the last ACK of the handshake, the receiver's FIN after the last byte, and the ACK of \
            that FIN. The sender's FIN is part of its last segment. Lost ones are not sent again.";
        "persistent" = hand(Kind::Flag), default("false"),
            "Whether messages from one host to another use connections that stay open. Only the \
            first message has a handshake. Window, threshold, round-trip estimate and the state of \
            the congestion control are kept from message to message. A connection carries one \
            message at a time and keeps its path. Default: every flow has a new connection, as in \
            ABM's artifact.";
        "connections_per_pair" = hand(count(1, u32::MAX as u64)),
            computed("with `persistent`, which alone has it: another one is opened whenever all are busy", "5"),
            "Most connections from one host to another. If all are busy, a message waits for the \
            first free one. Plasticine section 6: 1; LossPass section 5.1: 5. The threads of a \
            `multi_get` always have separate connections to every server.";
        "idle_restart" = hand(Kind::Flag),
            computed("true with `persistent`, which alone has it (RFC 5681 section 4.1)", "true"),
            "Whether a connection that was idle for longer than its timeout starts with \
            `initial_window` again, if its window is larger.";
        "lso" => lso_bytes: u32 = small_size(SMALL_SIZE_OR_ZERO), default("\"0 B\""),
            "Large send offload: the NIC sends new segments of a flow back to back, in bursts of \
            at most this much payload. The sender waits until its window has room for a burst \
            worth sending (`docs/concepts/transports.md`). Linux: 64 KB. Default: segment by \
            segment.";
        "ecn_capable" => ecn_capable: bool = hand(Kind::Flag),
            computed("true for a congestion control that uses ECN", "true"),
            "Whether packets may be marked.";
        "base_rtt" => base_rtt: Option<Time> = hand(SPAN),
            computed("the longest unloaded round trip of the network, of a full segment and its ACK", "\"82 us\""),
            "The round trip that bandwidth-delay products and delays are compared with: T of HPCC, \
            τ of PowerTCP, the minimum RTT of TIMELY.";
        "telemetry" => telemetry: TelemetryScope = hand(Kind::Words(TelemetryScope::WORDS)),
            computed("`port` for the congestion controls hpcc and powertcp, and others that use telemetry, which alone have it; `queue` for their TCP in profile `artifact`", "\"port\""),
            "Queue length that switches report: of the packet's port, or of its queue. The \
            reported bytes sent are always those of the port (HPCC and PowerTCP).";
        "telemetry_path" => telemetry_path: TelemetryPath = hand(Kind::Words(TelemetryPath::WORDS)),
            computed("`data` for congestion controls that use telemetry, which alone have it; `round_trip` for their TCP in profile `artifact`", "\"data\""),
            "Packets that collect the reports of at most 8 switches.";
        "recovery" = hand(Kind::Words(Recovery::WORDS)),
            computed("`go-back-n` with kind = \"rdma\", which alone has it", "\"selective-repeat\""),
            "How losses are repaired.";
        "window_limit" = hand(Kind::Words(WindowLimit::WORDS)),
            computed("`none` with kind = \"rdma\", which alone has it", "\"bdp\""),
            "Limit of the bytes in flight, for congestion controls without a window.";
        "retransmission_timeout" = hand(SPAN_OR_ZERO),
            computed("1 ms with kind = \"rdma\", which alone has it (our choice); profile `artifact`: 0 s", "\"1 ms\""),
            "Time without acknowledgement after which a message is sent again; doubles with each \
            repetition. `\"0 s\"`: never.";
        "nack_interval" = hand(SPAN_OR_ZERO),
            computed("0 s with kind = \"rdma\", which alone has it; profile `artifact`: 500 us", "\"500 us\""),
            "Go-back-N: time after which the receiver repeats a negative acknowledgement, if \
            segments beyond the gap still arrive. `\"0 s\"`: one per gap (RoCE).";
        "notification" = hand(Kind::Words(MarkReport::WORDS)),
            computed("`frames` with kind = \"rdma\", which alone has it; profile `artifact`: `acks`", "\"acks\""),
            "How a receiver reports marked segments to the sender.";
        "notification_interval" = hand(SPAN_OR_ZERO),
            computed("50 us with notification = \"frames\" (DCQCN, SIGCOMM 2015)", "\"50 us\""),
            "Least time between two notifications of a message.";
        "strict_pace" = hand(Kind::Flag),
            computed("false with kind = \"rdma\", which alone has it; profile `artifact`: true", "true"),
            "Whether a segment that waited at the NIC delays the segments after it. Otherwise the \
            pace catches up by at most one gap.";
        "completion" = hand(Kind::Words(Completion::WORDS)),
            computed("`sender` with kind = \"rdma\", which alone has it (HPCC, Reverie)", "\"receiver\""),
            "When a message is complete.";
        "ideal_header_bytes" = hand(SMALL_SIZE_OR_ZERO),
            computed("0 B with kind = \"rdma\", which alone has it", "\"48 B\""),
            "Bytes per segment, beside the payload, in the ideal completion time of slowdowns. \
            Reverie's artifact: 48 B.";
        "unscheduled_bytes" => unscheduled_bytes: u64 = size(SIZE_OR_ZERO), default("\"0 B\""),
            "Bytes at the start of a flow with the tag `unscheduled`, for policies that treat the \
            first round trip differently. ABM's artifact: one bandwidth-delay product, 100 KB. \
            Default: none are tagged.";
        "data_priority" = hand(PRIORITY),
            computed("1 where every port has two queues or more, else 0", "1"),
            "Queue of data packets. Default: ABM's artifact, which keeps queue 0 for ACKs.";
        "data_priorities" => data_priorities: Vec<u8> = hand(PRIORITIES), optional("[1, 2, 3]"),
            "Instead of `data_priority`: every flow draws one of these queues, each with the same \
            probability (ABM, figures 10 and 12).";
        "pias_thresholds" => pias_thresholds_bytes: Vec<u64> = hand(Kind::Sizes), optional("[\"1 MB\"]"),
            "A flow starts in its queue and moves to the next one after it has sent this many \
            bytes, retransmissions included. Thresholds ascend (PIAS, NSDI 2015; LossPass: one \
            threshold of 1 MB).";
        "small_bytes" => small_bytes: u64 = size(SIZE_OR_ZERO), default("\"0 B\""),
            "Bytes at the start of a flow with the tag `small`. Policies that spare small flows \
            can use it instead of an elephant trap (LossPass, FAB, Intelligent Buffer, \
            Plasticine). Default: none are tagged.";
        "control_priority" => control_priority: u8 = hand(PRIORITY), default("0"),
            "Queue of ACKs, handshakes and tiny segments. Default: ABM's artifact.";
        "control_max_payload_bytes" => control_max_payload_bytes: u32 = small_size(SMALL_SIZE_OR_ZERO),
            default("\"0 B\""),
            "Data segments with at most this much payload use the control priority, as in ABM's \
            artifact (frames below 70 B). Default: none do.";
    }
    also {
        /// Parameters of the congestion control, by the registry's names. Parameters that a rule
        /// computes are omitted.
        control_params: Vec<(String, ParamValue)>;
        /// Send times of a transport without congestion control; `None` for a transport with a
        /// control.
        pacing: Option<Pacing>;
        /// Settings of RDMA queue pairs; `None` for TCP and open loop.
        rdma: Option<RdmaSpec>;
        /// Connections that stay open between the messages of two hosts. `None` if every flow has
        /// a new connection.
        persistent: Option<PersistentSpec>;
    }
}
