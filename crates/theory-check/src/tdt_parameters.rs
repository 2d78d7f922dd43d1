//! Replay of the calculator `tdt-parameters`: counts packets to measure the counter limits of the
//! core's policy TDT. The replay also searches the slowest burst that TDT recognises.

use crate::bench::{Bench, PortQueue};
use crate::schemes::switch;
use crate::{Asked, Check, ReplayInfo, Unit, Verification};
use bufferlab_core::{ParamValue, Tags};
use bufferlab_units::BitRate;

/// Replay of `tdt-parameters` with one port whose state is checked after every packet.
pub(crate) const REPLAY: ReplayInfo = ReplayInfo {
    calculator: "tdt-parameters",
    summary: "packets are counted until a port changes its state; bursts of rising rate until one is recognised",
    run,
};

/// Port whose state under TDT the replay observes.
const PORT: PortQueue = PortQueue { port: 0, priority: 0 };
const NORMAL: f64 = 0.0;
const ABSORPTION: f64 = 1.0;
const EVACUATION: f64 = 2.0;
/// Value of alpha so large that no arrival exceeds the threshold before the buffer is full.
const LARGE: f64 = 65_536.0;
/// Maximum number of packets in the buffer of a replay.
const PACKETS_MAX: u64 = 200_000;

fn run(asked: &Asked<'_>) -> Verification {
    replay(asked).unwrap_or_else(Verification::nothing)
}

/// Creates a switch with the calculator's parameters, from which TDT derives its counters, and with
/// the parameters in `more`.
fn bench(asked: &Asked<'_>, alpha: f64, more: &[(&'static str, ParamValue)]) -> Result<Bench, String> {
    let packet = asked.params.bytes("packet");
    let ports = asked.params.small_count("ports") as usize;
    let mut params = vec![
        ("alpha", ParamValue::Ratio(alpha)),
        ("packet_bytes", ParamValue::Bytes(packet)),
        ("burst_rate", ParamValue::Ratio(asked.params.ratio("burst_ratio"))),
    ];
    params.extend_from_slice(more);
    let config = switch(asked.params.bytes("buffer"), vec![BitRate::gbps(10); ports], 1);
    Bench::new(&config, "tdt", &params, packet as u32)
}

fn state(bench: &Bench) -> f64 {
    bench.probe(PORT, "state").expect("tdt has states")
}

fn replay(asked: &Asked<'_>) -> Result<Verification, String> {
    let (buffer, packet) = (asked.params.bytes("buffer"), asked.params.bytes("packet"));
    let ports = asked.params.small_count("ports");
    if buffer / packet > PACKETS_MAX || packet > 1 << 30 {
        return Err(format!("{} packets of {packet} B: at most {PACKETS_MAX} are replayed", buffer / packet));
    }
    if !(2..=4_096).contains(&ports) {
        return Err(format!("{ports} ports: 2 to 4096 are replayed"));
    }
    if buffer / packet < 4 * u64::from(ports) {
        return Err("fewer than four packets of buffer for each port".to_owned());
    }
    let exact = |name: &str, measured: u64| {
        Check::equal(name, (asked.stated(name), measured as f64), 0.0, Unit::Packets)
    };
    let mut found = Verification::default();
    let counted = vec![
        exact("NEC", stored_until_absorption(asked)?),
        exact("OC1", sent_until_restart(asked)?),
        exact("DC", drops_until_evacuation(asked)?),
        exact("DEC", sent_in_a_row_until_normal(asked)?),
        exact("OC2", sent_until_absorption_ends(asked)?),
    ];
    let words = "none: whole packets are counted, and the counters are rounded as the calculator states";
    found.add(
        format!("tdt, packets of {packet} B, counted until the port changes its state"),
        words,
        counted,
    );
    let below = Check::equal(
        "lower bound",
        (asked.stated("lower bound") * packet as f64, evacuated_down_to(asked)? as f64),
        packet as f64,
        Unit::Bytes,
    );
    found.add(
        "a port that evacuates and is sent a packet for each two that leave",
        "the packet with which the port falls below it",
        vec![below],
    );
    slowest_burst(asked, &mut found)?;
    Ok(found)
}

/// Returns the number of packets that are stored until a port enters the absorption state.
fn stored_until_absorption(asked: &Asked<'_>) -> Result<u64, String> {
    let mut bench = bench(asked, LARGE, &[])?;
    let mut count = 0;
    while state(&bench) == NORMAL {
        bench
            .offer(PORT, Tags::NONE)
            .map_err(|reason| format!("NEC: a packet is lost before ({:?})", reason))?;
        count += 1;
    }
    Ok(count)
}

/// Returns the number of packets that are sent until the count of net arrivals restarts.
fn sent_until_restart(asked: &Asked<'_>) -> Result<u64, String> {
    let mut bench = bench(asked, LARGE, &[])?;
    let mut count = 0;
    // An arrival replaces each sent packet, so the queue's length and the net count of 1 do not
    // change.
    loop {
        bench.offer(PORT, Tags::NONE).map_err(|reason| format!("OC1: a packet is lost ({:?})", reason))?;
        bench.send(PORT.port);
        count += 1;
        if bench.probe(PORT, "oc1") == Some(0.0) {
            return Ok(count);
        }
        if state(&bench) != NORMAL {
            return Err("OC1: with NEC = 1 every packet is a burst".to_owned());
        }
    }
}

/// Returns the number of losses after which a port in the normal state enters the evacuation state.
fn drops_until_evacuation(asked: &Asked<'_>) -> Result<u64, String> {
    // TDT recognises no burst: the port stays in the normal state while its queue grows.
    let most = asked.params.bytes("buffer") / asked.params.bytes("packet");
    let mut bench = bench(asked, 1.0, &[("nec", ParamValue::Count(most))])?;
    while bench.offer(PORT, Tags::NONE).is_ok() {}
    let mut count = 1;
    while state(&bench) == NORMAL {
        let _ = bench.offer(PORT, Tags::NONE);
        count += 1;
    }
    if state(&bench) == EVACUATION { Ok(count) } else { Err("DC: the port absorbs".to_owned()) }
}

/// Returns the number of packets that a port in the absorption state sends without an arrival until
/// it returns to the normal state.
fn sent_in_a_row_until_normal(asked: &Asked<'_>) -> Result<u64, String> {
    let mut bench = absorbing(asked)?;
    let mut count = 0;
    while state(&bench) == ABSORPTION {
        if !bench.send(PORT.port) {
            return Err("DEC: the port is empty before".to_owned());
        }
        count += 1;
    }
    Ok(count)
}

/// Returns the number of packets that a port in the absorption state sends until it returns to the
/// normal state. A packet arrives after each sent packet.
fn sent_until_absorption_ends(asked: &Asked<'_>) -> Result<u64, String> {
    let mut bench = absorbing(asked)?;
    let mut count = 0;
    while state(&bench) == ABSORPTION {
        bench.send(PORT.port);
        count += 1;
        let _ = bench.offer(PORT, Tags::NONE);
    }
    Ok(count)
}

fn absorbing(asked: &Asked<'_>) -> Result<Bench, String> {
    let mut bench = bench(asked, LARGE, &[])?;
    while state(&bench) == NORMAL {
        bench.offer(PORT, Tags::NONE).map_err(|reason| format!("no absorption ({:?})", reason))?;
    }
    Ok(bench)
}

/// Returns the length of the queue (bytes) when a port returns from the evacuation to the normal
/// state. Two packets leave for each arrival, so there are never DEC departures without an arrival.
fn evacuated_down_to(asked: &Asked<'_>) -> Result<u64, String> {
    let most = asked.params.bytes("buffer") / asked.params.bytes("packet");
    let mut bench = bench(asked, 1.0, &[("nec", ParamValue::Count(most)), ("dc", ParamValue::Count(1))])?;
    while bench.offer(PORT, Tags::NONE).is_ok() {}
    if state(&bench) != EVACUATION {
        return Err("lower bound: the port does not evacuate".to_owned());
    }
    for turn in 0_u64.. {
        if !bench.send(PORT.port) {
            return Err("lower bound: the port is empty before".to_owned());
        }
        if state(&bench) != EVACUATION {
            break;
        }
        if turn % 2 == 1 {
            let _ = bench.offer(PORT, Tags::NONE);
        }
    }
    Ok(bench.held(PORT))
}

/// Checks the slowest burst that TDT recognises; the replay bisects the rate of the burst.
fn slowest_burst(asked: &Asked<'_>, found: &mut Verification) -> Result<(), String> {
    let (k, nec, oc1) = (asked.params.ratio("burst_ratio"), asked.stated("NEC"), asked.stated("OC1"));
    if nec < 10.0 || oc1 < 10.0 {
        found.left_out.push("the slowest burst: counters below 10 packets are too coarse".to_owned());
        return Ok(());
    }
    let (mut slow, mut fast) = (1.0, 4.0 * k);
    while fast - slow > 1e-4 * k {
        let middle = f64::midpoint(slow, fast);
        if recognises(asked, middle, (nec, oc1))? { fast = middle } else { slow = middle }
    }
    // The net count may differ by a packet at the start and at the end, and NEC / (k - 1) is
    // rounded.
    let bound = (k - 1.0) * (2.0 / nec + 1.5 / oc1) + 1e-4 * k;
    let words = "NEC is met a packet or two early or late and OC1 is rounded: (k - 1) (2 / NEC + 1.5 / OC1)";
    let check = Check::equal("slowest burst (port rates)", (k, fast), bound, Unit::Number);
    found.add("bursts of constant rate into an empty port, their rate by bisection", words, vec![check]);
    Ok(())
}

/// Whether a burst of `ratio` port rates puts its port into the absorption state before the net
/// count restarts.
fn recognises(asked: &Asked<'_>, ratio: f64, (nec, oc1): (f64, f64)) -> Result<bool, String> {
    let mut bench = bench(asked, LARGE, &[])?;
    let mut sent = 0_u64;
    let most = (4.0 * (nec + oc1) * ratio) as u64;
    for arrival in 1..=most {
        // The loop sends all packets whose transmission is due before the next arrival.
        while (sent as f64) < arrival as f64 / ratio - 1.0 {
            sent += 1;
            bench.send(PORT.port);
            if bench.probe(PORT, "oc1") == Some(0.0) {
                return Ok(false);
            }
        }
        bench
            .offer(PORT, Tags::NONE)
            .map_err(|reason| format!("the slowest burst: a loss ({:?})", reason))?;
        if state(&bench) == ABSORPTION {
            return Ok(true);
        }
    }
    Ok(false)
}
