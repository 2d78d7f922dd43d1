//! A random small network with one cable whose receiver pauses its sender.

use super::Failure;
use bufferlab_scenario::{ParamValue, Scenario, Workload, WorkloadSpec, load_text};
use bufferlab_units::headroom::{PacketMemory, PausedCable};
use bufferlab_units::{BitRate, RandomStream, Time};
use bufferlab_workload::{FlowSpec, SourceError, TrafficBuilder};
use std::path::Path;

/// A network in which h0 sends to h1 through switch s0, or through s1 and s0,
/// and h2 at s0 sends to h0 and h1. The tested cable ends at s0's port 0.
#[derive(Clone, Debug)]
pub(super) struct Network {
    /// Number of lossless priorities, from 0 on. The next priority is lossy.
    pub(super) priorities: u8,
    /// Rate at which packets arrive at the switch s0.
    pub(super) arrivals: BitRate,
    /// Rate at which pause frames leave the switch s0.
    pub(super) frames: BitRate,
    /// Propagation delay of the tested cable.
    pub(super) delay: Time,
    /// Reaction time of the sender on the tested cable.
    pub(super) reaction: Time,
    /// Size of the smallest packet on the wire (bytes).
    pub(super) smallest: u32,
    /// Size of the largest packet on the wire (bytes).
    pub(super) largest: u32,
    /// Size of a memory cell (bytes). The size 1 means a memory without cells.
    pub(super) cell: u32,
    /// Bytes of a frame that the buffer does not charge.
    pub(super) uncharged: u32,
    /// Whether pauses expire after the smallest sufficient number of quanta.
    pub(super) quanta: bool,
    /// Interval at which the switch updates its thresholds. `None` if the thresholds are always
    /// current.
    pub(super) refresh: Option<Time>,
    /// Name of the buffer policy.
    pub(super) policy: &'static str,
    /// Whether the switch reserves headroom per port instead of per queue.
    pub(super) by_port: bool,
    /// Whether the paused sender is a switch (true) or a host (false).
    pub(super) through_switch: bool,
    /// Number of packets of maximum size that the queue stores before it pauses its sender.
    pub(super) threshold: u64,
    /// Distance from the pause threshold down to the resume threshold (packets of maximum size).
    pub(super) hysteresis: u64,
    /// Rate of the cable to h1. `None` if h1 receives almost no packets.
    pub(super) drain: Option<BitRate>,
}

/// Draws a random element of `list`.
pub(super) fn pick<T: Copy>(random: &mut RandomStream, list: &[T]) -> T {
    list[random.below(list.len() as u64) as usize]
}

/// Draws a random number below a random element of `list`.
fn up_to(random: &mut RandomStream, list: &[u64]) -> u64 {
    let bound = pick(random, list);
    random.below(bound)
}

/// Size of the pool of s1 (bytes), so large that s1 pauses no sender.
const PLENTY: u64 = 1_000_000_000;

impl Network {
    /// Draws a random network.
    pub(super) fn draw(random: &mut RandomStream) -> Self {
        let rates =
            [1_000_000_000, 10_000_000_000, 25_000_000_000, 100_000_000_000, 13_337_000_001].map(BitRate);
        let arrivals = pick(random, &rates);
        let frames = if random.below(2) == 0 { arrivals } else { pick(random, &rates) };
        let smallest = 55 + pick(random, &[0, 9, 73, 90, 200, 1_000]) as u32;
        let largest = (smallest + pick(random, &[0, 0, 1, 100, 1_000, 8_000]) as u32).min(9_216);
        let policy = pick(random, &["sonic-dt", "sonic-abm", "reverie"]);
        let priorities = pick(random, &[1, 1, 2, 3]);
        Self {
            priorities,
            arrivals,
            frames,
            delay: Time(1 + up_to(random, &[2, 100_000, 3_000_000])),
            reaction: Time(up_to(random, &[1, 200_000, 4_000_000])),
            smallest,
            largest,
            cell: pick(random, &[1, 1, 80, 144, 208, 256]),
            uncharged: pick(random, &[0, 0, 14]),
            quanta: random.below(3) == 0,
            refresh: (random.below(3) == 0).then(|| Time(1 + random.below(10_000_000))),
            policy,
            by_port: policy != "reverie" && random.below(4) == 0,
            through_switch: random.below(3) == 0,
            threshold: 1 + random.below(12),
            hysteresis: random.below(4),
            drain: Some(BitRate(arrivals.0 / (1 + random.below(20)))),
        }
    }

    /// Parameters of the tested cable for the headroom model.
    pub(super) fn cable(&self) -> PausedCable {
        PausedCable {
            arrivals: self.arrivals,
            frames: self.frames,
            delay: self.delay,
            reaction: self.reaction,
            packets: PacketMemory {
                smallest: self.smallest,
                largest: self.largest,
                uncharged: self.uncharged,
                overhead: 0,
                cell: self.cell,
            },
            largest_back: self.largest,
        }
    }

    /// Offset of the resume threshold for all queues (bytes).
    fn xon_offset(&self) -> u64 {
        self.hysteresis.min(self.threshold) * u64::from(self.largest)
    }

    /// Cables and switches of the network as a scenario without traffic. The headroom and the
    /// buffers of this scenario are provisional.
    fn base(&self) -> Result<Scenario, Failure> {
        let lossless: Vec<_> = (0..self.priorities).map(|priority| priority.to_string()).collect();
        let (switches, chain) = match self.through_switch {
            false => (1, "{ a = \"h0\", b = \"s0\", rate = \"1 Gb/s\", delay = \"1 ps\" },"),
            true => (
                2,
                "{ a = \"s1\", b = \"s0\", rate = \"1 Gb/s\", delay = \"1 ps\" },
                 { a = \"h0\", b = \"s1\", rate = \"800 Gb/s\", delay = \"1 ns\" },",
            ),
        };
        let mode = if self.by_port { ", headroom_mode = \"dsh-like\"" } else { "" };
        let mut hardware = format!("cell = \"{} B\"", self.cell);
        if let Some(refresh) = self.refresh {
            hardware += &format!(", threshold_refresh = \"{} ps\"", refresh.0);
        }
        let text = format!(
            "name = \"headroom\"\nduration = \"10 us\"\ndrain = \"1 ms\"\n\
             [topology]\nkind = \"graph\"\nhosts = 3\nswitches = {switches}\nlinks = [{chain}\n\
             {{ a = \"s0\", b = \"h1\", rate = \"1 Gb/s\", delay = \"1 ns\" }},\n\
             {{ a = \"h2\", b = \"s0\", rate = \"800 Gb/s\", delay = \"1 ns\" }},\n]\n\
             [switch]\nbuffer = \"1 GB\"\nqueues_per_port = {}\nuncharged_bytes = \"{} B\"\nhardware = {{ {hardware} }}\n\
             policy = {{ name = \"{}\", headroom = \"10 MB\"{mode} }}\n\
             [switch.pfc]\npriorities = [{}]\nreaction = \"{} ps\"\n\
             [[transport]]\ncongestion_control = \"none\"\nrate = \"1 Gb/s\"\nheader_bytes = \"{} B\"\nsegment_bytes = \"{} B\"\ndata_priority = 0\n\
             [[workload]]\nkind = \"bursts\"\nbursts = [{{ src = \"h0\", dst = \"h1\", start = \"0 s\", duration = \"1 us\" }}]\n",
            self.priorities + 1,
            self.uncharged,
            self.policy,
            lossless.join(", "),
            self.reaction.0,
            self.smallest - 1,
            self.largest - (self.smallest - 1),
        );
        let loaded = load_text(Path::new("headroom.toml"), &text, &[]);
        let mut scenario = loaded.map_err(|error| format!("{error:?}\n{text}"))?.scenario;
        let cable = &mut scenario.topology.links[0];
        (cable.rate_ab, cable.rate_ba, cable.delay) = (self.arrivals, self.frames, self.delay);
        let exit = scenario.topology.links.iter_mut().rev().nth(1).expect("the cable to h1");
        let drain = self.drain.unwrap_or(BitRate::mbps(1));
        (exit.rate_ab, exit.rate_ba) = (drain, drain);
        Ok(scenario)
    }

    /// Scenario with the given packets, and with the model's headroom less `less` bytes at
    /// the tested port.
    pub(super) fn scenario(&self, less: u64, packets: &[FlowSpec]) -> Result<Scenario, Failure> {
        let mut scenario = self.base()?;
        for spec in &mut scenario.switches {
            // The scenario may have any number of bytes of headroom, because the model first checks
            // only whether headroom is set.
            if let Some(pfc) = spec.pfc.as_mut().filter(|_| self.quanta) {
                pfc.quanta = Some(u16::MAX);
            }
        }
        let cable = self.cable();
        assert_eq!(scenario.paused_cable(0, 0, 0), Some(cable), "the scenario knows its own cable");
        let packet = cable.packets.occupied(self.largest);
        let pool = (self.threshold + 2) * packet;
        for index in 0..scenario.switches.len() as u32 {
            let ports = scenario.topology.ports_of(index).len() as u16;
            let needed = |port| Some(scenario.paused_cable(index, port, 0)?.headroom());
            let mut list: Vec<u64> = (0..ports).filter_map(|port| Some(needed(port)?.bytes())).collect();
            let quanta = (0..ports).filter_map(|port| Some(needed(port)?.least_quanta)).max().unwrap_or(1);
            let queues = if self.by_port { 1 } else { u64::from(self.priorities) };
            let headroom: u64 = list.iter().sum::<u64>() * queues;
            if index == 0 {
                list[0] -= less;
            }
            let spec = &mut scenario.switches[index as usize];
            spec.buffer_bytes = headroom + if index == 0 { 2 * pool } else { PLENTY };
            let set = |params: &mut Vec<(String, ParamValue)>, name: &str, value: ParamValue| {
                params.retain(|(known, _)| known != name);
                params.push((name.to_owned(), value));
            };
            set(&mut spec.policy_params, "headroom", ParamValue::BytesPerPort(list.into()));
            set(&mut spec.policy_params, "xon_offset", ParamValue::Bytes(self.xon_offset()));
            if self.policy == "sonic-dt" {
                // The packet that triggers the pause crosses the threshold and uses headroom.
                let threshold = if index == 0 { self.threshold * packet + 1 } else { PLENTY / 2 };
                set(&mut spec.policy_params, "lossless_static_threshold", ParamValue::Bytes(threshold));
            }
            if let Some(pfc) = spec.pfc.as_mut().filter(|_| self.quanta) {
                pfc.quanta = u16::try_from(quanta).ok();
            }
        }
        scenario.duration = packets.iter().map(|packet| packet.start).max().unwrap_or(Time::ZERO) + Time(1);
        scenario.workloads = vec![WorkloadSpec::new("packets", 0, Replayed { packets: packets.to_vec() })];
        Ok(scenario)
    }
}

/// Packets with their send times. The class of a packet is its priority.
#[derive(Debug)]
struct Replayed {
    packets: Vec<FlowSpec>,
}

impl Workload for Replayed {
    fn start(&self, traffic: &mut TrafficBuilder<'_>) -> Result<(), SourceError> {
        let most = self.packets.iter().map(|packet| packet.class).max().unwrap_or(0);
        let classes: Vec<u16> =
            (0..=most).map(|priority| traffic.replay_class(Some(priority as u8))).collect();
        let packet =
            |packet: &FlowSpec| FlowSpec { class: classes[usize::from(packet.class)], ..packet.clone() };
        traffic.add_list(self.packets.iter().map(packet).collect());
        Ok(())
    }

    fn in_words(&self) -> String {
        format!("{} packets", self.packets.len())
    }
}
