//! Tables `[host]` and `[output]`: how hosts send, and which data a run records.

use super::Kind;
use super::declare::table;
use super::kinds::{EXPLAINED_MAX, SIZE, SPAN, SPAN_OR_ZERO, TEXT, count};
use crate::model::{Applications, NicQueueing, RecordedSwitches};
use bufferlab_params::Choice;
use bufferlab_units::Time;

table! {
    /// Network cards and applications of the hosts.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct HostSpec read as HostKeys;
    static HOST = "[host]", "How hosts send.";
    keys {
        "nic" => nic: NicQueueing = choice(Kind::Words(NicQueueing::WORDS)), default("\"fair\""),
            "Order of a host's flows at its NIC. Default: our choice, because no flow waits for \
            the window of another.";
        "device_queue" => device_queue: u32 = small_count(count(0, 65_535)), default("0"),
            "Packets in a queue of the NIC's device, whose order is fixed. See \
            `switch.hardware.device_queue`.";
        "applications" => applications: Applications = hand(Kind::Words(Applications::WORDS)),
            optional("\"programs\""),
            "Programs that carry the workloads between real hosts (`testbed run`). Simulations \
            ignore it. Without it: `own`.";
    }
}

table! {
    /// Selection of the series and tables that a run records.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct OutputSpec read as OutputKeys;
    static OUTPUT = "[output]", "Series and tables that a run records.";
    keys {
        "sample_interval" => sample_interval: Time = time(SPAN_OR_ZERO), default("\"0 s\""),
            "Interval of the sampled series; 0: none. ABM's artifact: 30 us.";
        "sample_switch" => sample_switch: u32 = hand(TEXT), computed("the first switch", "\"leaf0\""),
            "The switch whose queues and thresholds are sampled.";
        "sample_from" => sample_from: Time = time(SPAN_OR_ZERO), default("\"0 s\""),
            "Sampling starts at this time.";
        "sample_until" => sample_until: Option<Time> = time(SPAN),
            computed("the end of the run", "\"152 ms\""),
            "Sampling ends before this time.";
        "sample_ports" => sample_ports: Option<Vec<u16>> = hand(Kind::Counts { min: 0, max: u16::MAX as u64 }),
            computed("every port, whenever it holds a packet", "[0, 1, 2]"),
            "Sampled ports of that switch, whether empty or not. Ports are numbered from 0 in the \
            order of their cables.";
        "sample_flows" => sample_flows: bool = flag(Kind::Flag), default("false"),
            "Whether every sample also records the bytes that each live flow has delivered (table \
            `progress`): throughput over time.";
        "delays" => delays: bool = hand(Kind::Flag),
            computed("true where a transport has congestion_control = \"none\"", "true"),
            "Whether queueing delays are recorded for every queue and class. This costs a little \
            speed.";
        "explain_losses" => explain_losses: Option<u64> = count(count(1, EXPLAINED_MAX)), optional("5"),
            "Explain the first lost packets in the report, at most this many. An explanation has \
            the limit that dropped the packet, the holders of the buffer, and the decision of \
            every other policy. All policies then watch all switches, which makes the run several \
            times slower.";
        "packets" => packets: Option<RecordedSwitches> = hand(TEXT), optional("\"all\""),
            "Record every packet event (table `packets`) at the switch of this name, or at \"all\" \
            switches. An event takes about 26 bytes, and the run takes about five times as long.";
        "short_flow" => short_flow_bytes: u64 = size(SIZE), default("\"100 KB\""),
            "Flows smaller than this count as short in summaries. Default: Plasticine, LossPass and \
            ABM's artifact.";
        "base_rtt" => base_rtt: Option<Time> = time(SPAN),
            computed("computed for every pair from the topology", "\"80 us\""),
            "Round-trip time of the ideal transfer that slowdown compares with.";
    }
}
