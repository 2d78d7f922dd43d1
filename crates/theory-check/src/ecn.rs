//! Replay of the calculator `ecn`: measures the buffer space beside the longest marked queue, and
//! the space that LossPass frees.

use crate::bench::{Bench, PortQueue};
use crate::schemes::{settled, strict, switch, word};
use crate::{Asked, Check, ReplayInfo, Unit, Verification};
use bufferlab_core::{ParamValue, Tags};

/// Replay of `ecn` with bursts whose packets arrive at one instant.
pub(crate) const REPLAY: ReplayInfo = ReplayInfo {
    calculator: "ecn",
    summary: "a burst at one instant beside a queue of K + N packets, and into a port full of large flows (LossPass)",
    run,
};

/// Number of the queue of small flows on the replay's port.
const SMALL: PortQueue = PortQueue { port: 0, priority: 0 };
const LARGE: PortQueue = PortQueue { port: 0, priority: 1 };
/// Maximum number of packets in the buffer of a replay.
const PACKETS_MAX: u64 = 200_000;
const LAWS: &str = "K for DCTCP and for halving, and that K + N is the longest queue: laws of closed loops of synchronised \
                    senders; `bufferlab run scenarios/dumbbell.toml` shows the queue of real ones";

fn run(asked: &Asked<'_>) -> Verification {
    let mut found = Verification::default();
    match asked.params.given_bytes("buffer") {
        Some(buffer) => {
            if let Err(reason) = rooms(asked, buffer, &mut found) {
                found.left_out.push(reason);
            }
        }
        None => found.left_out.push("rooms for bursts: they are asked for with a buffer".to_owned()),
    }
    found.left_out.push(LAWS.to_owned());
    found
}

fn rooms(asked: &Asked<'_>, buffer: u64, found: &mut Verification) -> Result<(), String> {
    let packet = asked.params.bytes("packet");
    if packet > 1 << 30 || buffer / packet > PACKETS_MAX || buffer < packet {
        return Err(format!("a buffer of {buffer} B: expected one to {PACKETS_MAX} packets"));
    }
    let (size, flows) = (packet as f64, u64::from(asked.params.small_count("flows")));
    let threshold =
        asked.params.given_bytes("threshold").map_or(asked.stated("K for DCTCP"), |given| given as f64);
    let mut checks = Vec::new();
    let longest = threshold + flows as f64 * size;
    let marked = stored_beside(asked, buffer, longest)?;
    checks.push(Check::equal(
        "burst with ECN",
        (asked.stated("burst with ECN"), marked * size),
        2.0 * size,
        Unit::Bytes,
    ));
    let losspass = stored_by_losspass(asked, buffer)?;
    checks.push(Check::equal(
        "burst with LossPass",
        (asked.stated("burst with LossPass"), losspass * size),
        2.0 * size,
        Unit::Bytes,
    ));
    if let Some((most, burst)) = asked.answer.value("K at most").zip(asked.params.given_bytes("burst")) {
        let stored = stored_beside(asked, buffer, most + flows as f64 * size)?;
        checks.push(Check::equal(
            "burst at K at most",
            (burst as f64, stored * size),
            2.0 * size,
            Unit::Bytes,
        ));
    }
    let what = format!("packets of {packet} B at one instant, until one is lost");
    found.add(what, "the queue, the room and the buffer are whole packets: two packets", checks);
    Ok(())
}

/// Returns the number of packets of a burst that fit beside a queue of `queue` bytes.
fn stored_beside(asked: &Asked<'_>, buffer: u64, queue: f64) -> Result<f64, String> {
    let packet = asked.params.bytes("packet") as u32;
    let config = switch(buffer, vec![asked.params.rate("port_rate")], 2);
    let mut bench = Bench::new(&config, "cs", &[], packet)?;
    for _ in 0..(queue / f64::from(packet)).round() as u64 {
        bench
            .offer(LARGE, Tags::NONE)
            .map_err(|reason| format!("the longest queue does not fit ({reason:?})"))?;
    }
    Ok(burst(&mut bench))
}

/// Returns the number of packets of small flows that fit into a port full of packets of large
/// flows. LossPass may evict the fraction tau of the large flows' packets.
fn stored_by_losspass(asked: &Asked<'_>, buffer: u64) -> Result<f64, String> {
    let packet = asked.params.bytes("packet") as u32;
    let room = buffer as f64 * asked.params.ratio("tau");
    let params = [
        ("port_limit", word("static")),
        ("port_buffer", ParamValue::Bytes(buffer)),
        ("large_reserve", ParamValue::Bytes(buffer - room.round() as u64)),
    ];
    let config = strict(buffer, vec![asked.params.rate("port_rate")], 2);
    let mut bench = settled(Bench::new(&config, "losspass", &params, packet)?, &[LARGE])?;
    bench.stop(LARGE);
    Ok(burst(&mut bench))
}

/// Returns the number of packets of small flows that the switch stores before it loses a packet.
fn burst(bench: &mut Bench) -> f64 {
    let mut stored = 0.0;
    while bench.offer(SMALL, Tags::NONE).is_ok() {
        stored += 1.0;
    }
    bench.verify();
    stored
}
