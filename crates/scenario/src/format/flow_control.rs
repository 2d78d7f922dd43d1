//! Tables and keys of priority flow control: lossless priorities, the watchdog, pause storms.

use super::Kind;
use super::declare::table;
use super::kinds::{PRIORITIES, SPAN, SPAN_OR_ZERO, TEXT, count};
use crate::model::{PauseFrames, StormCounter, WatchdogAction, WatchdogRule, WatchdogSpec};
use bufferlab_params::Choice;
use bufferlab_units::Time;

table! {
    /// Priority flow control of a switch (IEEE 802.1Qbb).
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct PfcSpec read as PfcKeys;
    static PFC = "[switch.pfc]",
        "Priority flow control (IEEE 802.1Qbb, `docs/concepts/lossless.md`): the lossless \
        priorities, and the timing of pauses. The policy decides when the sender behind an ingress \
        queue stops (`sonic-dt`, `sonic-abm`, `reverie`). A pause frame of 64 B waits for the \
        packet that the port is sending, and the neighbour finishes its own packet.";
    keys {
        "enabled" -> enabled: bool = flag(Kind::Flag), default("true"),
            "`false` makes every priority lossy, as without the table. Useful for overrides and \
            sweeps.";
        "priorities" => priorities: Vec<u8> = small_counts(PRIORITIES), required("[3]"),
            "The lossless priorities. Neighbours must number priorities alike.";
        "ports" => ports: Vec<u16> = hand(Kind::Counts { min: 0, max: u16::MAX as u64 }), optional("[0, 1]"),
            "Ports on which these priorities are lossless, numbered from 0 in the order of the \
            switch's links. Packets from other ports are lossy, and pause frames from there are \
            ignored. Without it, all ports.";
        "by_port" => by_port: Vec<PfcPortsSpec> = hand(Kind::Tables(&PFC_PORTS)),
            optional("[{ ports = [0], priorities = [3, 4] }]"),
            "Ports with other lossless priorities, or another reaction.";
        "reaction" => reaction: Time = time(SPAN_OR_ZERO), default("\"0 ns\""),
            "Time from the arrival of a pause frame until the neighbour, a host or a switch, obeys \
            it.";
        "quanta" => quanta: Option<u16> = small_count(count(1, 65_535)), optional("65535"),
            "Duration of a pause, in units of 512 bits at the port's rate. The switch repeats the \
            pause at half of that time while it is needed. Without it, a pause lasts until the \
            switch ends it.";
        "frames" => frames: PauseFrames = hand(Kind::Words(PauseFrames::WORDS)),
            computed("`latest`; with `profile = \"artifact\"` `each`", "\"latest\""),
            "Content of a pause frame that had to wait for its link.";
        "watchdog" => watchdog: Option<WatchdogSpec> = hand(Kind::Table(&WATCHDOG)),
            optional("{ rule = \"broadcom\", detection_time = \"200 ms\" }"),
            "Detects lossless queues that pauses keep from sending.";
    }
}

table! {
    /// Ports of a switch whose flow control differs from the switch's.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct PfcPortsSpec read as PfcPortsKeys;
    static PFC_PORTS = "[[switch.pfc.by_port]]", "Ports that differ. The last table for a port counts.";
    keys {
        "ports" => ports: Vec<u16> = small_counts(Kind::Counts { min: 0, max: u16::MAX as u64 }),
            required("[0]"),
            "Ports in the order of the switch's links.";
        "priorities" => priorities: Option<Vec<u8>> = small_counts(PRIORITIES), optional("[3, 4]"),
            "Lossless priorities of these ports; `[]` makes the ports lossy.";
        "reaction" => reaction: Option<Time> = time(SPAN_OR_ZERO), optional("\"1 us\""),
            "Reaction of the neighbours behind these ports.";
    }
}

table! {
    struct WatchdogKeys;
    static WATCHDOG = "[switch.pfc.watchdog]",
        "SONiC's PFC watchdog polls every lossless egress queue, breaks storms and deadlocks, and \
        restores the queue afterwards.";
    keys {
        "enabled" -> enabled: bool = flag(Kind::Flag), default("true"),
            "`false`: as without the table.";
        "rule" -> rule: WatchdogRule = choice(Kind::Words(WatchdogRule::WORDS)), default("\"mellanox\""),
            "Definition of a storm. Vendors' chips differ in what they count.";
        "action" -> action: WatchdogAction = choice(Kind::Words(WatchdogAction::WORDS)), default("\"drop\""),
            "Action during a storm, until the queue is restored.";
        "detection_time" -> detection_time: Time = time(SPAN),
            computed("200 ms per 32 ports of the switch, rounded up", "\"200 ms\""),
            "Time for which the rule must hold without interruption.";
        "restoration_time" -> restoration_time: Time = time(SPAN), computed("the detection time", "\"200 ms\""),
            "Time without a pause, received or in force, after which the queue is restored.";
        "poll_interval" -> poll_interval: Time = time(SPAN),
            computed("the smaller of the two times, at most 1 s", "\"100 ms\""),
            "Time between two polls; at most either time, and 1 s.";
        "counts" -> counts: StormCounter = choice(Kind::Words(StormCounter::WORDS)), optional("\"frames\""),
            "Frames that keep a storm going; without it, `pauses`. The other two are known defects of \
            switches.";
    }
}

table! {
    /// A pause storm: the NIC of a host sends pause frames to its switch, regardless of received
    /// packets.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct PauseStormSpec read as PauseStormKeys;
    static FAULT = "[[fault]]", "A host that misbehaves.";
    kind "pause_storm",
        "The NIC of a host sends pause frames to its switch, whatever it receives (`docs/concepts/lossless.md`).";
    keys {
        "host" -> host_name: String = text(TEXT), required("\"h0\""),
            "Name of the host.";
        "priorities" => priorities: Vec<u8> = small_counts(PRIORITIES), required("[3]"),
            "Priorities that every frame pauses; they must be lossless at the host's switch.";
        "from" => from: Time = time(SPAN_OR_ZERO), default("\"0 s\""),
            "Time of the first frame.";
        "until" => until: Option<Time> = time(SPAN), optional("\"20 ms\""),
            "Time from which on no frame is sent; without it, the storm never ends. The last pause \
            then expires.";
        "zero_from" => zero_from: Option<Time> = time(SPAN), optional("\"10 ms\""),
            "Time from which frames have zero quanta: they end the pause, and the host goes on \
            sending them.";
        "quanta" => quanta: u16 = small_count(count(1, 65_535)), default("65535"),
            "Duration of the pause of a frame, in units of 512 bits at the rate of the switch's \
            port.";
        "interval" => interval: Time = hand(SPAN), computed("half of the time that a frame pauses", "\"100 us\""),
            "Time between two frames. If it is longer than a pause, there are gaps.";
    }
    also {
        /// Index of the faulty host in the topology.
        host: u32;
    }
}
