//! Tables and keys of priority flow control: lossless priorities, the watchdog, hosts that storm.

use super::Kind;
use super::declare::table;
use super::kinds::{PRIORITIES, SPAN, SPAN_OR_ZERO, TEXT, count};
use crate::model::{PauseFrames, WatchdogAction, WatchdogRule, WatchdogSpec};
use bufferlab_params::Choice;
use bufferlab_units::Time;

table! {
    /// Priority flow control of a switch (IEEE 802.1Qbb).
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct PfcSpec read as PfcKeys;
    static PFC = "[switch.pfc]",
        "Priority flow control (IEEE 802.1Qbb, `docs/concepts/lossless.md`): which priorities are lossless, and how pauses travel. The policy decides when the \
          sender behind an ingress queue stops (`sonic-dt`, `sonic-abm`, `reverie`); a frame of 64 B goes out behind the packet that the port is \
          sending, and the neighbour finishes its own packet.";
    keys {
        "enabled" -> enabled: bool = flag(Kind::Flag), default("true"),
            "`false` makes every priority lossy, as without the table: for overrides and sweeps.";
        "priorities" => priorities: Vec<u8> = small_counts(PRIORITIES), required("[3]"),
            "The lossless priorities. Their neighbours must number priorities alike.";
        "ports" => ports: Vec<u16> = hand(Kind::Counts { min: 0, max: u16::MAX as u64 }), optional("[0, 1]"),
            "Ports, numbered from 0 in the order of the switch's links, on which these priorities \
            are lossless. Packets that arrive at others are lossy, and pause frames that arrive \
            there are ignored. Without it, all ports.";
        "reaction" => reaction: Time = time(SPAN_OR_ZERO), default("\"0 ns\""),
            "Time that neighbours, hosts and switches, take from the arrival of a frame to obeying it.";
        "quanta" => quanta: Option<u16> = small_count(count(1, 65_535)), optional("65535"),
            "How long a pause lasts, in units of 512 bits at the port's rate; it is repeated at \
            half of that for as long as it is wanted. Without it a pause lasts until it is taken \
            back.";
        "frames" => frames: PauseFrames = hand(Kind::Words(PauseFrames::WORDS)),
            computed("`latest`; with `profile = \"artifact\"` `each`", "\"latest\""),
            "What a frame says that had to wait for its link.";
        "watchdog" => watchdog: Option<WatchdogSpec> = hand(Kind::Table(&WATCHDOG)),
            optional("{ rule = \"broadcom\", detection_time = \"200 ms\" }"),
            "Looks for lossless queues that pauses keep from sending.";
    }
}

table! {
    struct WatchdogKeys;
    static WATCHDOG = "[switch.pfc.watchdog]",
        "SONiC's PFC watchdog: looks at every lossless egress queue at intervals, breaks storms and deadlocks, and restores the queue afterwards.";
    keys {
        "enabled" -> enabled: bool = flag(Kind::Flag), default("true"),
            "`false`: as without the table.";
        "rule" -> rule: WatchdogRule = choice(Kind::Words(WatchdogRule::WORDS)), default("\"mellanox\""),
            "What a storm is. Vendors' chips differ in what they count.";
        "action" -> action: WatchdogAction = choice(Kind::Words(WatchdogAction::WORDS)), default("\"drop\""),
            "What is done about a storm until the queue is restored.";
        "detection_time" -> detection_time: Time = time(SPAN),
            computed("200 ms for every 32 ports that the switch has, or begins", "\"200 ms\""),
            "How long the rule must hold without interruption.";
        "restoration_time" -> restoration_time: Time = time(SPAN), computed("the detection time", "\"200 ms\""),
            "How long no pause must come, nor be in force, until the queue is restored.";
        "poll_interval" -> poll_interval: Time = time(SPAN),
            computed("the smaller of the two times, at most 1 s", "\"100 ms\""),
            "Time between two looks; at most either time, and 1 s.";
    }
}

table! {
    /// A pause storm: the card of a host sends pause frames to its switch, whatever it receives.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct PauseStormSpec read as PauseStormKeys;
    static FAULT = "[[fault]]", "A host that misbehaves.";
    kind "pause_storm",
        "Its card sends pause frames to its switch, whatever it receives (`docs/concepts/lossless.md`).";
    keys {
        "host" -> host_name: String = text(TEXT), required("\"h0\""),
            "The host.";
        "priorities" => priorities: Vec<u8> = small_counts(PRIORITIES), required("[3]"),
            "The priorities that every frame pauses; they must be lossless at its switch.";
        "from" => from: Time = time(SPAN_OR_ZERO), default("\"0 s\""),
            "When the first frame is sent.";
        "until" => until: Option<Time> = time(SPAN), optional("\"20 ms\""),
            "When no more are sent; without it, they never end. The last pause ends by itself.";
        "quanta" => quanta: u16 = small_count(count(1, 65_535)), default("65535"),
            "How long a frame pauses, in units of 512 bits at the rate of the switch's port.";
        "interval" => interval: Time = hand(SPAN), computed("half of the time that a frame pauses", "\"100 us\""),
            "Time between two frames. A longer one than a pause leaves gaps.";
    }
    also {
        /// The host (index into the topology).
        host: u32;
    }
}
