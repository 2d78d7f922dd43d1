//! Packets that try to fill a queue's headroom.

use super::network::{Network, pick};
use bufferlab_units::{BitRate, RandomStream, Time};
use bufferlab_workload::FlowSpec;

/// Largest number of packets that the sender sends in a run.
const PACKETS: u64 = 400;
/// Ratio of the noise's bytes in a run to the bytes in flight during a pause.
const ROUNDS: u64 = 12;

fn packet(start: Time, (src, dst): (u32, u32), wire: u32, priority: u8) -> FlowSpec {
    let (query, open, data_path, ack_path, node) = (FlowSpec::NO_QUERY, None, None, None, FlowSpec::NO_NODE);
    FlowSpec {
        start,
        src,
        dst,
        size: u64::from(wire),
        class: u16::from(priority),
        query,
        open,
        data_path,
        ack_path,
        node,
    }
}

/// Noise: packets of random sizes in random order, with gaps, in both directions. Some packets of
/// the noise have a lossy priority.
pub(super) fn noise(network: &Network, random: &mut RandomStream) -> Vec<FlowSpec> {
    let cable = network.cable();
    let (worst, priorities) = (cable.packets.worst(), network.priorities);
    let style = random.below(4);
    let draw = |random: &mut RandomStream| match style {
        0 => worst,
        1 => network.largest,
        2 => pick(random, &[worst, network.largest]),
        _ => network.smallest + random.below(u64::from(network.largest - network.smallest + 1)) as u32,
    };
    let budget = ROUNDS * cable.headroom().bytes();
    let busy_way_back = random.below(2) == 0;
    let (mut packets, mut at, mut sent) = (Vec::new(), Time::ZERO, 0);
    while packets.len() < PACKETS as usize && sent < budget {
        let (wire, priority) = (draw(random), random.below(u64::from(priorities)) as u8);
        packets.push(packet(at, (0, 1), wire, priority));
        sent += u64::from(wire);
        if random.below(24) == 0 {
            at += network.arrivals.serialization(random.below(u64::from(4 * network.largest)));
        }
        at += network.arrivals.serialization(u64::from(wire));
    }
    let end = at;
    let mut beside = |route: (u32, u32), rate: BitRate, lossless: bool| {
        let (mut at, mut count) = (Time(random.below(1_000_000)), 0);
        while at < end && count < PACKETS {
            let wire = if route.1 == 0 { network.largest } else { draw(random) };
            let priority = if lossless { random.below(u64::from(priorities)) as u8 } else { priorities };
            packets.push(packet(at, route, wire, priority));
            at += rate.serialization(u64::from(wire));
            count += 1;
        }
    };
    if busy_way_back {
        beside((2, 0), network.frames, false);
    }
    beside((2, 1), network.arrivals, false);
    beside((2, 1), network.arrivals, true);
    packets.sort_by_key(|packet| packet.start);
    packets
}

/// Attack with the worst case. The first packet leaves, and the queue fills up to its threshold.
/// The next packet triggers a pause just after the start of a largest packet in the reverse
/// direction. Before the sender obeys the pause, it starts as many packets as it can, all of the
/// size that occupies most memory per byte. The last packet of the sender is one of the largest.
pub(super) fn attack(network: &Network) -> Vec<FlowSpec> {
    let cable = network.cable();
    let time_of = |wire: u32| network.arrivals.serialization(u64::from(wire));
    let before = network.threshold + 2;
    // A switch on the path first stores each packet. Then the switch sends the packets without a
    // gap.
    let first_hop = if network.through_switch {
        BitRate::gbps(800).serialization(u64::from(network.largest)) + Time::from_ns(1)
    } else {
        Time::ZERO
    };
    let decided = first_hop + Time(before * time_of(network.largest).0) + network.delay;
    let frame = network.frames.serialization(64) + network.frames.serialization(u64::from(network.largest));
    let obeyed = frame + Time(2 * network.delay.0) + network.reaction;
    let worst = cable.packets.worst();
    let between = obeyed.0 / time_of(worst).0;
    let sizes = std::iter::repeat_n(network.largest, before as usize)
        .chain(std::iter::repeat_n(worst, between as usize))
        .chain(std::iter::repeat_n(network.largest, 4));
    let mut packets: Vec<_> = sizes.map(|wire| packet(Time::ZERO, (0, 1), wire, 0)).collect();
    let way = BitRate::gbps(800).serialization(u64::from(network.largest)) + Time::from_ns(1);
    if let Some(start) = decided.0.checked_sub(way.0 + 1) {
        packets.push(packet(Time(start), (2, 0), network.largest, network.priorities));
    }
    packets
}
