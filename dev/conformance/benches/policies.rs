//! Cost of a policy's decisions about one packet: admission and departure. The benchmark runs every
//! registered policy on switches of 16 and of 128 ports with 8 queues each.
//!
//! `cargo bench -p bufferlab-conformance --bench policies` prints nanoseconds and the ratio to
//! complete sharing in this run, because machines differ in speed and load. A quarter of the ports
//! is busy and the buffer is near its limit, so that the policies take every branch. Timers expire
//! at their times. The last line is Dynamic Thresholds without dynamic dispatch.

use bufferlab_core::policy::DynamicThreshold;
use bufferlab_core::{Header, POLICIES, Packet, Policy, Switch, SwitchConfig, Tags};
use bufferlab_units::{BitRate, RandomStream, Time};
use std::time::Instant;

const PACKETS: usize = 400_000;
/// Number of repetitions of the benchmark. The result is the smallest time, because other processes
/// only add to the time.
const REPETITIONS: usize = 5;

/// An arriving packet, and the port that sends a packet afterwards.
struct Step {
    packet: Packet,
    port: u16,
}

fn steps(ports: u16, queues: u8) -> Vec<Step> {
    let mut stream = RandomStream::new(1, "bench/policies", 0);
    let mut below = |bound: u64| stream.below(bound);
    let mut step = |id: usize| {
        // Every fourth port is busy. These ports send nine packets for every ten arrivals.
        let egress_port = 4 * below(u64::from(ports / 4)) as u16;
        let tags = if id.is_multiple_of(8) { Tags::UNSCHEDULED } else { Tags::NONE };
        let (size, flow) = (64 + below(1_437) as u32, below(1_000) as u32);
        let ingress_port = below(u64::from(ports)) as u16;
        let priority = below(u64::from(queues)) as u8;
        let header = Header { size, flow, tags, priority, ..Header::default() };
        let packet = Packet { id: id as u32, header, ingress_port, egress_port };
        Step { packet, port: if below(10) == 0 { 1 } else { egress_port } }
    };
    (0..PACKETS).map(&mut step).collect()
}

/// Measures the time per packet (ns) of one admission and one departure.
fn measure<P: Policy>(mut new: impl FnMut() -> Switch<P>, steps: &[Step]) -> f64 {
    let mut least = f64::INFINITY;
    for _ in 0..REPETITIONS {
        let mut switch = new();
        let begin = Instant::now();
        let mut now = Time::ZERO;
        for step in steps {
            now += Time::from_ns(30);
            while let Some(due) = switch.poll_timeout().filter(|due| *due <= now) {
                switch.handle_timeout(due, &mut ());
            }
            std::hint::black_box(switch.handle_arrival(now, &step.packet, &mut ()));
            std::hint::black_box(switch.poll_transmit(now, step.port, &mut ()));
        }
        least = least.min(begin.elapsed().as_nanos() as f64 / steps.len() as f64);
    }
    least
}

fn main() {
    let sizes = [(16_u16, 8_u8), (128, 8)];
    let configs = sizes.map(|(ports, queues)| {
        let buffer = u64::from(ports) * u64::from(queues) * 4_500;
        let rates = vec![BitRate::gbps(100); usize::from(ports)];
        SwitchConfig {
            max_packet: 1_500,
            ..SwitchConfig::new(buffer, rates).with_queues(usize::from(queues))
        }
    });
    let traffic = sizes.map(|(ports, queues)| steps(ports, queues));
    println!("| policy | 16 × 8 (ns) | 128 × 8 (ns) | 128 × 8, ratio to `cs` | stated work |");
    println!("|---|--:|--:|--:|---|");
    let mut base = f64::NAN;
    for info in POLICIES {
        let [small, large] = [0, 1]
            .map(|at| measure(|| configs[at].build(info.name, &[]).expect("the defaults fit"), &traffic[at]));
        base = if base.is_nan() { large } else { base };
        println!("| `{}` | {small:.0} | {large:.0} | {:.2} | {} |", info.name, large / base, info.cost);
    }
    let [small, large] = [0, 1]
        .map(|at| measure(|| Switch::new(&configs[at], DynamicThreshold::new(&[0.5; 8])), &traffic[at]));
    println!("| `dt`, statically dispatched | {small:.0} | {large:.0} | {:.2} | |", large / base);
}
