//! Replay of the calculator `headroom`: a sender transmits the worst packets until it obeys a
//! pause, which begins at the worst time. The replay measures the least headroom without loss.

use crate::{Asked, Check, ReplayInfo, Unit, Verification};
use bufferlab_core::{
    Admission, Buffer, Hardware, Header, Observer, Packet, ParamValue, SwitchConfig, SwitchEvent,
};
use bufferlab_theory::calculators::{bytes, number};
use bufferlab_theory::forms::headroom::{CABLE_SECONDS_PER_METRE, PAUSE_FRAME_BITS, tabulated_delays};
use bufferlab_units::headroom::{PAUSE_FRAME_BYTES, PacketMemory};
use bufferlab_units::{BitRate, Time};

/// Replay of `headroom` with a lossless queue whose packets do not leave.
pub(crate) const REPLAY: ReplayInfo = ReplayInfo {
    calculator: "headroom",
    summary: "packets are sent over the cable until the sender obeys a pause; measures the least headroom without loss",
    run,
};

/// Number of packets of the largest size that the pool stores before the next packet. The next
/// packet uses headroom and pauses the sender.
const BEFORE: u64 = 3;
/// Number of packets on the cable above which a replay would take too long.
const PACKETS_MAX: u64 = 30_000;
/// Size of the smallest Ethernet frame (bytes), as in the calculator.
const SMALLEST_FRAME: u32 = 64;
/// Formulas with delays that no simulated link has, or with fewer terms than the switch needs.
const OTHERS: &str = "shorthand, ABM/Reverie code, HPCC code and SONiC: they count delays of chips and averages of \
                      packets that no link here has; compare them with \"bufferlab's switch\"";

/// A cable, and the sizes of the packets that the sender sends over the cable.
#[derive(Clone, Copy, Debug)]
struct Cable {
    rate: BitRate,
    delay: Time,
    reaction: Time,
    packets: PacketMemory,
}

fn run(asked: &Asked<'_>) -> Verification {
    let params = &asked.params;
    let largest = params.bytes("mtu") as u32;
    let rate = params.rate("rate");
    let cable = Cable {
        rate,
        delay: Time((params.ratio("cable") * CABLE_SECONDS_PER_METRE * 1e12).round() as u64),
        reaction: params.time("reaction"),
        packets: PacketMemory {
            smallest: SMALLEST_FRAME.min(largest),
            largest,
            uncharged: 0,
            overhead: 0,
            cell: 1,
        },
    };
    let mut found = Verification::default();
    let in_cells =
        Cable { packets: PacketMemory { cell: params.bytes("cell") as u32, ..cable.packets }, ..cable };
    let table = asked.answer.table.as_ref().and_then(|table| table.rows.first());
    let stated_cells = table.and_then(|row| row.last()?.strip_suffix(" B")?.parse().ok());
    let of_switch = Some(asked.stated("bufferlab's switch"));
    for (name, cable, stated, more) in [
        ("bufferlab's switch", cable, of_switch, 0.0),
        ("bufferlab's switch, in whole cells, by packet", in_cells, stated_cells, 0.0),
        with_trigger(asked, cable),
    ] {
        let Some(stated) = stated else { continue };
        match least(&cable, stated as u64) {
            Ok(measured) => {
                let worst = cable.packets.worst();
                let packet = cable.packets.occupied(worst) as f64;
                let what = format!(
                    "sonic-dt, {} B before the pause, then {worst} B each, the last one {} B; cable of {} B",
                    cable.packets.largest,
                    cable.packets.largest,
                    number(rate.bytes_in(Time(2 * cable.delay.0)) as f64),
                );
                let mut words = format!(
                    "a packet of {} that has no time to start, and the one that ends as the pause is obeyed",
                    bytes(packet)
                );
                if more > 0.0 {
                    words +=
                        &format!("; the standard's pause frame is {} larger than the switch's", bytes(more));
                }
                let check = Check::equal(name, (stated, measured as f64), 2.0 * packet + more, Unit::Bytes);
                found.add(what, words, vec![check]);
            }
            Err(reason) => found.left_out.push(format!("{name}: {reason}")),
        }
    }
    found.left_out.push(OTHERS.to_owned());
    found
}

/// Replays the standard's headroom, including the packet that triggers the pause. In the replay,
/// the standard's delays of interfaces and of the peer are reaction time of the sender.
fn with_trigger(asked: &Asked<'_>, cable: Cable) -> (&'static str, Cable, Option<f64>, f64) {
    let name = "IEEE, with the trigger";
    let params = &asked.params;
    let given = params.given_ratio("interface_bits").zip(params.given_ratio("response_bits"));
    let tabulated =
        tabulated_delays(cable.rate.0 as f64).map(|found| (found.interface_bits, found.response_bits));
    let Some((interface, response)) = given.or(tabulated) else { return (name, cable, None, 0.0) };
    let seconds = (2.0 * interface + response) / cable.rate.0 as f64;
    let reaction = Time((seconds * 1e12).round() as u64);
    let more = PAUSE_FRAME_BITS / 8.0 - f64::from(PAUSE_FRAME_BYTES);
    (name, Cable { reaction, ..cable }, asked.answer.value(name), more)
}

/// Returns the least headroom without loss (bytes). The search ends at twice the stated headroom.
fn least(cable: &Cable, stated: u64) -> Result<u64, String> {
    let worst = cable.packets.worst();
    if stated / u64::from(worst) > PACKETS_MAX {
        return Err(format!("more than {PACKETS_MAX} packets on the way"));
    }
    // The policy accepts a headroom of at least one packet, which is too small in every case.
    let (mut losing, mut enough) =
        (cable.packets.occupied(cable.packets.largest), 2 * stated + u64::from(cable.packets.largest));
    if loses(cable, enough)? {
        return Err("more than twice the stated headroom is needed".to_owned());
    }
    while enough - losing > 1 {
        let middle = u64::midpoint(losing, enough);
        if loses(cable, middle)? { losing = middle } else { enough = middle }
    }
    Ok(enough)
}

/// Records the time of the switch's first pause frame.
#[derive(Debug, Default)]
struct FirstPause {
    pause: Option<Time>,
}

impl Observer for FirstPause {
    fn on(&mut self, event: &SwitchEvent<'_>, _: &Buffer) {
        if let SwitchEvent::PauseChanged { now, paused: true, .. } = *event {
            self.pause.get_or_insert(now);
        }
    }
}

/// Whether the switch loses a packet with a headroom of `headroom` bytes.
fn loses(cable: &Cable, headroom: u64) -> Result<bool, String> {
    let PacketMemory { largest, cell, .. } = cable.packets;
    // In the worst case, the packets before the pause end one byte below the threshold. So the
    // packet that triggers the pause does not fit below the threshold and uses headroom.
    let threshold = BEFORE * cable.packets.occupied(largest) + 1;
    let config = SwitchConfig {
        hardware: Hardware { cell_bytes: cell.max(1), ..Hardware::IDEAL },
        lossless: 1,
        lossless_by_port: vec![1, 0],
        max_packet: u64::from(largest),
        ..SwitchConfig::new(4 * threshold + 4 * u64::from(largest) + headroom, vec![cable.rate; 2])
            .with_queues(2)
    };
    let params = [
        ("headroom", ParamValue::BytesPerPort(vec![headroom, 0].into())),
        ("lossless_static_threshold", ParamValue::Bytes(threshold)),
    ];
    let params = params.map(|(name, value)| (name.to_owned(), value));
    let mut switch = config.build("sonic-dt", &params).map_err(|error| error.to_string())?;
    let mut first = FirstPause::default();
    // Packets on the cable: arrival time of the packet's last bit, and size.
    let mut on_the_way: std::collections::VecDeque<(Time, u32)> = std::collections::VecDeque::new();
    let (mut start, mut sent, mut lost) = (Time::ZERO, 0, false);
    loop {
        // The pause frame first waits until one of the largest packets is sent. Then the sender
        // receives the pause frame.
        let frame = u64::from(largest) + u64::from(PAUSE_FRAME_BYTES);
        let way = cable.rate.serialization(frame) + cable.delay + cable.reaction;
        let obeys = first.pause.map(|at| at + way);
        if obeys.is_none_or(|obeys| start < obeys) {
            let worst = cable.packets.worst();
            let after = start + cable.rate.serialization(u64::from(worst));
            // The last packet that the sender starts to send is one of the largest packets.
            let is_last = obeys.is_some_and(|obeys| after >= obeys);
            let wire = if sent <= BEFORE || is_last { largest } else { worst };
            start += cable.rate.serialization(u64::from(wire));
            on_the_way.push_back((start + cable.delay, wire));
            sent += 1;
        } else if on_the_way.is_empty() {
            return Ok(lost);
        }
        let idle = first.pause.is_some_and(|at| start >= at + way);
        while let Some(&(arrival, wire)) = on_the_way.front().filter(|(arrival, _)| idle || *arrival <= start)
        {
            on_the_way.pop_front();
            let packet = Packet { header: Header::new(wire), egress_port: 1, ..Packet::default() };
            let outcome = switch.handle_arrival(arrival, &packet, &mut first);
            lost |= matches!(outcome, Admission::Refused(_));
        }
        if sent > 4 * PACKETS_MAX {
            return Err("no pause was asked for".to_owned());
        }
    }
}
