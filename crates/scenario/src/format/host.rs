//! `[host]` and `[output]`: how hosts send, and what is recorded.

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
            "Order of a host's flows at its NIC. Default: our choice: no flow waits for another \
            one's window.";
        "device_queue" => device_queue: u32 = small_count(count(0, 65_535)), default("0"),
            "As `switch.hardware.device_queue`: packets whose order at the NIC is settled.";
        "applications" => applications: Applications = hand(Kind::Words(Applications::WORDS)),
            optional("\"programs\""),
            "Who carries the workloads with real hosts (`testbed run`); a simulation is the same \
            with each. Without it: `own`.";
    }
}

table! {
    /// Series and tables that a run records.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct OutputSpec read as OutputKeys;
    static OUTPUT = "[output]", "What is recorded.";
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
            "The ports of that switch that are sampled, empty or not; numbered from 0 in the order \
            of their cables.";
        "sample_flows" => sample_flows: bool = flag(Kind::Flag), default("false"),
            "Whether every sample also notes how much each live flow has delivered (table \
            `progress`): throughput over time.";
        "delays" => delays: bool = hand(Kind::Flag),
            computed("true where a transport has congestion_control = \"none\"", "true"),
            "Whether queueing delays are recorded, for every queue and class. Costs a little \
            speed.";
        "explain_losses" => explain_losses: Option<u64> = count(count(1, EXPLAINED_MAX)), optional("5"),
            "Explain the first so many lost packets in the report: which limit bound, who held the \
            buffer, what every other policy would have done. All policies then watch all switches, \
            which makes the run several times slower.";
        "packets" => packets: Option<RecordedSwitches> = hand(TEXT), optional("\"all\""),
            "Record every event of every packet (table `packets`) at the switch of this name, or at \
            \"all\" of them. Some 26 bytes per event; the run takes about five times as long.";
        "short_flow" => short_flow_bytes: u64 = size(SIZE), default("\"100 KB\""),
            "Flows smaller than this count as short in summaries. Default: Plasticine, LossPass and \
            ABM's artifact.";
        "base_rtt" => base_rtt: Option<Time> = time(SPAN),
            computed("computed for every pair from the topology", "\"80 us\""),
            "Round-trip time in the ideal that slowdown compares with.";
    }
}
