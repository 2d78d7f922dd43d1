//! Calculator for ECN's marking threshold K, and the burst for which K leaves space.

use super::input::{self, PORT_RATE, SIZE, TAU, TIME, count, packet, param};
use super::{CalculatorInfo, Derivation, Rule, bytes, number, seconds};
use crate::forms::dimensions::bandwidth_delay_bytes;
use crate::forms::{Domain, check, fraction, losspass, positive};
use bufferlab_params::{ParamValue, Params};
use bufferlab_units::Time;

/// The calculator gives the answers `K for DCTCP` and `K for halving`. With a buffer the calculator
/// adds `burst with ECN` and `burst with LossPass`. With a burst the calculator adds `K at most`.
pub(super) static INFO: CalculatorInfo = CalculatorInfo {
    name: "ecn",
    aliases: &[],
    title: "Marking threshold",
    summary: "Calculate ECN's marking threshold K, and the burst that it leaves room for.",
    source: "RFC 8257; ECN*, Wu et al. 2012; LossPass Eqs. 4-6.",
    params: &[
        PORT_RATE,
        param("rtt", TIME, ParamValue::Time(Time::from_us(80)), "Round trip without queues."),
        packet("Size of a packet."),
        param("flows", count(1), ParamValue::Count(4), "Long flows that send at the same time."),
        param("buffer", SIZE, ParamValue::Optional, "Buffer of the port, to see the room for bursts."),
        param("threshold", SIZE, ParamValue::Computed("the least for DCTCP"), "Configured K."),
        param("burst", SIZE, ParamValue::Optional, "Burst to leave room for."),
        TAU,
    ],
    rules: &[Rule::Needs("threshold", "buffer"), Rule::Needs("burst", "buffer")],
    examples: &[&[("buffer", "192 KB"), ("burst", "100 KB")]],
    run,
};

fn run(params: &Params) -> Domain<Derivation> {
    marking(&Marking {
        port_rate_bps: input::rate(params, "port_rate"),
        rtt_seconds: params.time("rtt").as_secs_f64(),
        packet_bytes: input::size(params, "packet"),
        flows: params.small_count("flows"),
        buffer_bytes: input::given_size(params, "buffer"),
        threshold_bytes: input::given_size(params, "threshold"),
        burst_bytes: input::given_size(params, "burst"),
        tau: params.ratio("tau"),
    })
}

/// A port for which the calculator computes a marking threshold.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Marking {
    /// Rate of the port (bits/s).
    port_rate_bps: f64,
    /// Round-trip time of the port's flows without queueing (seconds).
    rtt_seconds: f64,
    /// Size of the port's packets (bytes).
    packet_bytes: f64,
    /// Number N of long flows that send at one time.
    flows: u32,
    /// Buffer of the port (bytes), if the user wants to know the space for bursts.
    buffer_bytes: Option<f64>,
    /// Threshold that the user configured (bytes). The configured threshold replaces DCTCP's
    /// recommendation.
    threshold_bytes: Option<f64>,
    /// Burst for which the threshold must leave space (bytes).
    burst_bytes: Option<f64>,
    /// Fraction of a full buffer that packets of large flows occupy (LossPass).
    tau: f64,
}

fn marking(asked: &Marking) -> Domain<Derivation> {
    positive("port_rate", asked.port_rate_bps)?;
    positive("rtt", asked.rtt_seconds)?;
    let packet = positive("packet", asked.packet_bytes)?;
    fraction("tau", asked.tau)?;
    let packets = |size: f64| format!("{} = {} packets", bytes(size), number(size / packet));
    let mut derivation = Derivation::new("Marking threshold (ECN)");
    let path = bandwidth_delay_bytes(asked.port_rate_bps, asked.rtt_seconds)?;
    let numbers = format!("{} * {}", super::rate(asked.port_rate_bps), seconds(asked.rtt_seconds));
    derivation.step("bandwidth-delay product", "C RTT", numbers, packets(path), "");
    let dctcp = losspass::mark_threshold_dctcp(path)?;
    derivation.step(
        "K for DCTCP",
        "more than C RTT / 7",
        format!("{} / 7", bytes(path)),
        packets(dctcp),
        "RFC 8257",
    );
    derivation.answer("K for DCTCP", dctcp, format!("more than {}", packets(dctcp)));
    let halving = losspass::mark_threshold_halving(path)?;
    derivation.step("K for senders that halve", "C RTT", "", packets(halving), "ECN*, Wu et al. 2012");
    derivation.answer("K for halving", halving, packets(halving));
    if let Some(buffer) = asked.buffer_bytes {
        room(asked, positive("buffer", buffer)?, dctcp, &mut derivation)?;
    }
    derivation.note("in use: 20 packets at 1 Gb/s and 65 at 10 Gb/s (DCTCP), 45 packets at 1 Gb/s (LossPass), 30 KB per 10 Gb/s (HPCC's code)");
    Ok(derivation)
}

/// Adds the buffer that K leaves free, compared with LossPass, and the largest K for a burst.
fn room(asked: &Marking, buffer: f64, dctcp: f64, derivation: &mut Derivation) -> Domain<()> {
    let (packet, n) = (asked.packet_bytes, asked.flows);
    let (threshold, which) = match asked.threshold_bytes {
        Some(threshold) => (positive("threshold", threshold)?, "as given"),
        None => (dctcp, "the least for DCTCP"),
    };
    let packets = |size: f64| format!("{} packets", number(size));
    let (size, mark) = (buffer / packet, threshold / packet);
    let numbers = format!("{} / {}", bytes(buffer), bytes(packet));
    derivation.step("buffer B", "B / packet", numbers, packets(size), "");
    derivation.step("K", which, "", packets(mark), "");
    let longest = losspass::ecn_queue_max(mark, n)?;
    let numbers = format!("{} + {n}", number(mark));
    derivation.step("longest queue of N flows", "K + N", numbers, packets(longest), "LossPass Eq. 4");
    let ecn = losspass::ecn_burst(size, mark, n)?;
    let numbers = format!("{} - {}", number(size), number(longest));
    derivation.step("room for a burst, ECN", "B - (K + N)", numbers, packets(ecn), "LossPass Eq. 5");
    let losspass = losspass::burst(size, asked.tau, 0.0, 0.0)?;
    let numbers = format!("{} * {}", number(size), number(asked.tau));
    derivation.step("room for a burst, LossPass", "B tau", numbers, packets(losspass), "LossPass Eq. 6");
    let equal = losspass::tau_of_equal_bursts(size, mark, n)?;
    derivation.step("equal at tau", "1 - (K + N) / B", "", number(equal), "LossPass Eqs. 5, 6");
    for (name, room) in [("burst with ECN", ecn), ("burst with LossPass", losspass)] {
        derivation.answer(name, room * packet, format!("{} = {}", bytes(room * packet), packets(room)));
    }
    match asked.burst_bytes {
        Some(burst) => threshold_for(asked, buffer, burst, dctcp, derivation),
        None => Ok(()),
    }
}

/// The largest marking threshold K that leaves enough space for a burst.
fn threshold_for(
    asked: &Marking,
    buffer: f64,
    burst: f64,
    dctcp: f64,
    derivation: &mut Derivation,
) -> Domain<()> {
    let (packet, n) = (asked.packet_bytes, asked.flows);
    let room = buffer - f64::from(n) * packet;
    let least = format_args!("more than {} (a packet for each of {n} flows)", bytes(f64::from(n) * packet));
    check(room > 0.0, "buffer", buffer, least)?;
    let valid = format_args!("at most {} (the buffer less a packet per flow)", bytes(room));
    check(burst <= room, "burst", burst, valid)?;
    let size = buffer / packet;
    let most = losspass::mark_threshold_for_burst(size, n, burst / packet)?;
    let numbers = format!("{} - {n} - {}", number(size), number(burst / packet));
    let packets = format!("{} packets", number(most));
    derivation.step("K for the burst", "B - N - burst", numbers, &packets, "LossPass Eq. 5");
    derivation.answer("K at most", most * packet, format!("{} = {packets}", bytes(most * packet)));
    if most * packet < dctcp {
        derivation.note("this K is below what keeps the link busy under DCTCP: the burst costs throughput");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const TESTBED: Marking = Marking {
        port_rate_bps: 1e9,
        rtt_seconds: 500e-6,
        packet_bytes: 1500.0,
        flows: 4,
        buffer_bytes: Some(128e3),
        threshold_bytes: Some(45.0 * 1500.0),
        burst_bytes: Some(60e3),
        tau: 0.95,
    };

    #[test]
    fn losspass_testbed() -> Domain<()> {
        let found = marking(&TESTBED)?;
        for (name, packets) in [
            ("K for halving", 41.6667),
            ("K for DCTCP", 5.9524),
            ("burst with ECN", 36.3333),
            ("burst with LossPass", 81.0667),
            ("K at most", 41.3333),
        ] {
            let value = found.value(name).expect(name) / 1500.0;
            assert!((value - packets).abs() < 1e-3, "{name}: {value}");
        }
        Ok(())
    }

    #[test]
    fn a_burst_beyond_the_buffer_has_no_threshold() {
        let refused = |asked| marking(&asked).expect_err("out of range").input;
        assert_eq!(refused(Marking { burst_bytes: Some(128e3), ..TESTBED }), "burst");
        assert_eq!(refused(Marking { flows: 0, ..TESTBED }), "flows");
        assert_eq!(refused(Marking { tau: 2.0, ..TESTBED }), "tau");
        assert_eq!(refused(Marking { rtt_seconds: 0.0, ..TESTBED }), "rtt");
    }
}
