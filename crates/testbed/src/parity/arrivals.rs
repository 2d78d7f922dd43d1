//! Generates synthetic arrivals: periods of overload, bursts and pauses, with packets of all sizes.

use bufferlab_core::{Ecn, Header};
use bufferlab_dataplane::{Incoming, SwitchFile};
use bufferlab_units::{RandomStream, Time};

/// Draws `count` arrivals at the ports of `file` with `seed`. In periods of overload, several ports
/// send to one port. Between overloads, queues drain.
///
/// # Panics
/// If the switch has fewer than two ports.
#[must_use]
pub fn synthetic(file: &SwitchFile, count: usize, seed: u64) -> Vec<Incoming> {
    const FLOWS: u64 = 64;
    let ports = file.ports.len() as u64;
    assert!(ports >= 2, "a switch has two ports");
    let mut random = RandomStream::new(seed, "parity", 0);
    let queues = u64::from(file.scenario.switches[0].queues_per_port);
    let rate: u64 = file.ports.iter().map(|port| port.rate.0).sum();
    // Mean gap between arrivals: the time that all ports together need for a full frame.
    let gap_ns = 1_538.0 * 8e9 / rate as f64;
    let (mut at_ns, mut arrivals) = (1_000_000.0_f64, Vec::with_capacity(count));
    let (mut victim, mut left, mut load) = (0, 0_u64, 1.0);
    while arrivals.len() < count {
        if left == 0 {
            victim = random.below(ports);
            left = 50 + random.below(400);
            load = [0.2, 0.9, 1.6, 4.0][random.below(4) as usize];
        }
        left -= 1;
        at_ns += (gap_ns / load * -(1.0 - random.next_f64()).ln()).max(1.0);
        let egress = if random.below(4) > 0 { victim } else { random.below(ports) };
        let ingress = (egress + 1 + random.below(ports - 1)) % ports;
        let frame = [60, 1_514, 1_514, 60 + random.below(1_455)][random.below(4) as usize];
        let flow = random.below(FLOWS);
        arrivals.push(Incoming {
            // The times are whole nanoseconds, like the kernel's time stamps. The driver makes
            // equal times distinct.
            at: Time::from_ns(at_ns as u64),
            header: Header {
                size: frame as u32 + file.forwarding.overhead_bytes,
                priority: (flow % queues) as u8,
                flow: flow as u32,
                ecn: [Ecn::NotCapable, Ecn::Capable, Ecn::Capable, Ecn::Marked][random.below(4) as usize],
                ..Header::default()
            },
            ingress: ingress as u16,
            egress: egress as u16,
        });
    }
    arrivals
}
