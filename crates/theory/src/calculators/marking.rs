//! Where to mark (ECN's K), and which burst that leaves room for.

use super::{Derivation, bytes, number, seconds};
use crate::forms::dimensions::bandwidth_delay_bytes;
use crate::forms::{Domain, check, fraction, losspass, positive};

/// A port whose marking threshold is asked for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Marking {
    /// Rate of the port (bits/s).
    pub port_rate_bps: f64,
    /// Round trip of its flows without queues (seconds).
    pub rtt_seconds: f64,
    /// Size of a packet (bytes).
    pub packet_bytes: f64,
    /// Long flows that send at the same time, N.
    pub flows: u32,
    /// Buffer of the port, if the room for bursts is asked for (bytes).
    pub buffer_bytes: Option<f64>,
    /// The threshold that is set, instead of DCTCP's (bytes).
    pub threshold_bytes: Option<f64>,
    /// Burst to leave room for (bytes).
    pub burst_bytes: Option<f64>,
    /// Fraction of a full buffer that packets of large flows hold (LossPass).
    pub tau: f64,
}

/// The thresholds, derived: answers `K for DCTCP`, `K for halving`; with a buffer `burst with ECN`, `burst with LossPass`; with a burst `K at most`.
///
/// # Errors
/// A size, rate or time not positive, no flow, `tau` outside 0 to 1, a burst larger than the buffer.
pub fn marking(asked: &Marking) -> Domain<Derivation> {
    positive("port_rate", asked.port_rate_bps)?;
    positive("rtt", asked.rtt_seconds)?;
    let packet = positive("packet", asked.packet_bytes)?;
    fraction("tau", asked.tau)?;
    let packets = |size: f64| format!("{} = {} packets", bytes(size), number(size / packet));
    let mut derivation = Derivation::new("Where to mark (ECN)");
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

/// What K leaves of the buffer, compared with LossPass, and the K for a burst.
fn room(asked: &Marking, buffer: f64, dctcp: f64, derivation: &mut Derivation) -> Domain<()> {
    let packet = asked.packet_bytes;
    let (threshold, which) = match asked.threshold_bytes {
        Some(threshold) => (positive("threshold", threshold)?, "as given"),
        None => (dctcp, "the least for DCTCP"),
    };
    let (size, mark) = (buffer / packet, threshold / packet);
    derivation.step(
        "buffer B",
        "B / packet",
        format!("{} / {}", bytes(buffer), bytes(packet)),
        format!("{} packets", number(size)),
        "",
    );
    derivation.step("K", which, "", format!("{} packets", number(mark)), "");
    let longest = losspass::ecn_queue_max(mark, asked.flows)?;
    let numbers = format!("{} + {}", number(mark), asked.flows);
    derivation.step(
        "longest queue of N flows",
        "K + N",
        numbers,
        format!("{} packets", number(longest)),
        "LossPass Eq. 4",
    );
    let ecn = losspass::ecn_burst(size, mark, asked.flows)?;
    let numbers = format!("{} - {}", number(size), number(longest));
    derivation.step(
        "room for a burst, ECN",
        "B - (K + N)",
        numbers,
        format!("{} packets", number(ecn)),
        "LossPass Eq. 5",
    );
    let losspass = losspass::burst(size, asked.tau, 0.0, 0.0)?;
    let numbers = format!("{} * {}", number(size), number(asked.tau));
    derivation.step(
        "room for a burst, LossPass",
        "B tau",
        numbers,
        format!("{} packets", number(losspass)),
        "LossPass Eq. 6",
    );
    let equal = losspass::tau_of_equal_bursts(size, mark, asked.flows)?;
    derivation.step("equal at tau", "1 - (K + N) / B", "", number(equal), "LossPass Eqs. 5, 6");
    derivation.answer(
        "burst with ECN",
        ecn * packet,
        format!("{} = {} packets", bytes(ecn * packet), number(ecn)),
    );
    derivation.answer(
        "burst with LossPass",
        losspass * packet,
        format!("{} = {} packets", bytes(losspass * packet), number(losspass)),
    );
    if let Some(burst) = asked.burst_bytes {
        let room = buffer - f64::from(asked.flows) * packet;
        let valid = format_args!("at most {} (the buffer less a packet per flow)", bytes(room));
        check(burst <= room, "burst", burst, valid)?;
        let most = losspass::mark_threshold_for_burst(size, asked.flows, burst / packet)?;
        let numbers = format!("{} - {} - {}", number(size), asked.flows, number(burst / packet));
        derivation.step(
            "K for the burst",
            "B - N - burst",
            numbers,
            format!("{} packets", number(most)),
            "LossPass Eq. 5",
        );
        derivation.answer(
            "K at most",
            most * packet,
            format!("{} = {} packets", bytes(most * packet), number(most)),
        );
        if most * packet < dctcp {
            derivation
                .note("this K is below what keeps the link busy under DCTCP: the burst costs throughput");
        }
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
