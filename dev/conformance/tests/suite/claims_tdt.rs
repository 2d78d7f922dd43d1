//! TDT (ToN 2022): statements about thresholds, states and single bursts, packet by packet. The
//! switch has 16 ports of 1 Gb/s and a buffer of 1 MB; packets have 1500 B.
//!
//! The file `crates/sim/tests/suite/claims_tdt.rs` has statements that need random traffic.

use crate::support::circuit;
use bufferlab_conformance::claims;
use bufferlab_conformance::claims::{Finding, assert_findings};
use bufferlab_conformance::open_loop::{First, Loss, OpenLoop, Source};
use bufferlab_core::{Admission, DropReason, Header, Packet, ParamValue, QueueId, SwitchConfig, Tags};
use bufferlab_units::{BitRate, RandomStream, Time};

const MTU: u32 = 1_500;
const BUFFER: u64 = 1_000_000;
const PORTS: usize = 16;
/// Start time of the bursts; overloads start at 0.
const BURST: Time = Time::from_ms(150);
const TDT: &[(&str, ParamValue)] = &[];

fn overload(port: u16, mbps: u64) -> Source {
    source(port, mbps, Time::ZERO, Time::from_ms(200))
}

fn source(port: u16, mbps: u64, start: Time, end: Time) -> Source {
    Source { port, priority: 0, rate: BitRate::mbps(mbps), packet: MTU, start, end }
}

fn bench(policy: &str, params: &[(&str, ParamValue)], sources: &[Source]) -> OpenLoop {
    let config = SwitchConfig {
        max_packet: u64::from(MTU),
        ..SwitchConfig::new(BUFFER, vec![BitRate::gbps(1); PORTS])
    };
    let alpha = [("alpha", ParamValue::RatioPerPriority(vec![1.0].into()))];
    let params = if policy == "dt" && params.is_empty() { &alpha } else { params };
    OpenLoop::new(&config, policy, params, sources).expect("it fits")
}

/// Overloads the first `n` ports with 2 Gb/s from time 0, and sends a burst to each of
/// the next `m` ports.
fn overloads_and_bursts(n: u16, m: u16, mbps: u64, duration: Time) -> Vec<Source> {
    let mut sources: Vec<_> = (0..n).map(|port| overload(port, 2_000)).collect();
    sources.extend((n..n + m).map(|port| source(port, mbps, BURST, BURST + duration)));
    sources
}

/// Returns the first loss of any burst, and the time from the start of the bursts to this loss.
fn first_loss(policy: &str, n: u16, m: u16, mbps: u64) -> (f64, Loss) {
    let mut bench = bench(policy, &[], &overloads_and_bursts(n, m, mbps, Time::from_ms(20)));
    bench.run_until(BURST + Time::from_ms(20));
    bench.switch.verify().expect("the ledger holds");
    let losses = (n..n + m).filter_map(|port| bench.queues[usize::from(port)].losses.first());
    let loss = *losses.min_by_key(|loss| loss.at).expect("20 ms of any burst are too much");
    ((loss.at - BURST).as_secs_f64(), loss)
}

/// A switch and a load: N overloaded ports, M bursts of rate R (bit/s), port rate C, buffer B
/// (bits), alpha, n ports.
#[derive(Clone, Copy, Debug)]
struct Load {
    n: f64,
    m: f64,
    r: f64,
    c: f64,
    b: f64,
    a: f64,
}

impl Load {
    fn new(n: u16, m: u16, mbps: u64) -> Self {
        let (n, m, r) = (f64::from(n), f64::from(m), mbps as f64 * 1e6);
        Self { n, m, r, c: 1e9, b: BUFFER as f64 * 8.0, a: 1.0 }
    }

    /// Rate above which the overloaded queues cannot follow their threshold (section III).
    fn boundary(&self) -> f64 {
        self.c * (1.0 + (1.0 + self.a * self.n) / (self.a * self.m))
    }

    /// Time of the first loss under DT with a slow burst (Eq. 4).
    fn dt_slow(&self) -> f64 {
        self.a * self.b / ((1.0 + self.a * (self.m + self.n)) * (self.r - self.c))
    }

    /// Time of the first loss under DT with a fast burst (Eq. 7 and 8).
    fn dt_fast(&self) -> f64 {
        let drain = (1.0 + self.a * self.m) * (self.r - self.c) - self.a * self.n * self.c;
        self.a * self.b / ((1.0 + self.a * self.n) * drain)
    }

    /// Time of the first loss under EDT with a slow burst (Eq. 5 and 6), which is
    /// also the ideal value.
    fn edt_slow(&self) -> f64 {
        self.b / (self.m * (self.r - self.c))
    }

    /// Time of the first loss under EDT with a fast burst (Eq. 13).
    fn edt_fast(&self) -> f64 {
        self.b / ((1.0 + self.a * self.n) * (self.m * self.r - (self.m + self.n) * self.c))
    }

    /// Time at which the queues of the overloaded ports are empty under EDT (Eq. 14).
    fn edt_empty(&self) -> f64 {
        self.a * self.b / ((1.0 + self.a * self.n) * self.c)
    }

    fn random(stream: &mut RandomStream) -> Self {
        let a = [0.25, 0.5, 1.0, 2.0, 4.0, 8.0][stream.below(6) as usize];
        let (n, m) = (stream.below(30) as f64, 1.0 + stream.below(10) as f64);
        Self { n, m, r: 1e9 * (1.001 + stream.below(100_000) as f64 * 1e-3), c: 1e9, b: 8e6, a }
    }
}

/// Returns the largest deviation of first losses from a formula over several loads (percent).
fn worst(policy: &str, loads: &[(u16, u16, u64)], formula: impl Fn(&Load) -> f64) -> f64 {
    let deviation = |&(n, m, mbps): &(u16, u16, u64)| {
        let expected = formula(&Load::new(n, m, mbps));
        (first_loss(policy, n, m, mbps).0 / expected - 1.0).abs() * 100.0
    };
    loads.iter().map(deviation).fold(0.0, f64::max)
}

const SLOW: &[(u16, u16, u64)] = &[(2, 1, 2_000), (2, 1, 3_000), (1, 1, 2_500), (2, 2, 2_000), (4, 1, 5_000)];
const FAST: &[(u16, u16, u64)] =
    &[(2, 1, 8_000), (1, 1, 8_000), (2, 1, 5_000), (0, 1, 8_000), (2, 2, 6_000), (4, 1, 9_000)];

fn near(found: f64, expected: f64, share: f64) -> bool {
    (found / expected - 1.0).abs() <= share
}

fn us(seconds: f64) -> String {
    format!("{:.1} us", seconds * 1e6)
}

/// Lets packets arrive for `port` at one instant, and returns the number of stored packets.
fn pour(bench: &mut OpenLoop, port: u16, packets: u64) -> u64 {
    let packet = Packet { header: Header::new(MTU), egress_port: port, ..Packet::default() };
    let stored = (0..packets).filter(|_| {
        let stored = bench.switch.handle_arrival(Time::ZERO, &packet, &mut ());
        matches!(stored, Admission::Stored { .. })
    });
    stored.count() as u64
}

fn send(bench: &mut OpenLoop, port: u16, packets: u64) {
    for _ in 0..packets {
        let _ = bench.switch.poll_transmit(Time::ZERO, port, &mut ());
    }
}

/// Returns the time at which a port under constant load first enters `state`; `None` if this
/// takes more than 20 ms.
fn first_in(state: f64, params: &[(&str, ParamValue)], mbps: u64) -> Option<Time> {
    let mut bench = bench("tdt", params, &[overload(0, mbps)]);
    while bench.step(Time::from_ms(20)) {
        if bench.probe(0, "state") == state {
            return Some(bench.now);
        }
    }
    None
}

/// Sends 2 Gb/s for 0.2 s, then 0.8 Gb/s for 10 ms to one port (Fig. 8). Returns the delay of the
/// second flow's first packet, and the second flow's mean delay (ms).
fn second_flow(policy: &str) -> (f64, f64) {
    let second = source(0, 800, Time::from_ms(200), Time::from_ms(210));
    let mut bench = bench(policy, &[], &[overload(0, 2_000), second]);
    bench.run_until(Time::from_ms(230));
    let delays = bench.queues[0].delays.iter().filter(|(arrived, _)| *arrived >= second.start);
    let ms: Vec<f64> = delays.map(|(_, delay)| delay.as_secs_f64() * 1e3).collect();
    (ms[0], ms.iter().sum::<f64>() / ms.len() as f64)
}

/// Returns the sequence of states that port 0 enters.
fn states(bench: &mut OpenLoop, end: Time) -> Vec<u8> {
    let mut states = vec![0];
    while bench.step(end) {
        let state = bench.probe(0, "state") as u8;
        if states.last() != Some(&state) {
            states.push(state);
        }
    }
    states
}

claims! {
    Holds "TDT-E1-1" tdt_e1_1_dynamic_thresholds_give_every_port_alpha_times_the_free_space ("T = alpha (B - sum of Q)") {
        let mut bench = bench("dt", &[], &[]);
        let mut stream = RandomStream::new(1, "claims/e1", 0);
        let mut exact = true;
        for _ in 0..10_000 {
            let port = stream.below(PORTS as u64) as u16;
            if stream.below(3) > 0 { pour(&mut bench, port, 1); } else { send(&mut bench, port, 1); }
            let stored: u64 = (0..16).map(|queue| bench.bytes(queue)).sum();
            exact &= (0..16).all(|queue| bench.threshold(queue) == Some(BUFFER - stored));
        }
        Finding::new(exact, "exact in 10,000 random states, alpha 1")
    }

    Holds "TDT-E2-1" tdt_e2_1_an_uncontrolled_port_of_edt_may_hold_its_share_of_the_whole_buffer ("alpha (B - sum of Q) controlled; B/n' uncontrolled") {
        let mut bench = bench("edt", &[], &overloads_and_bursts(2, 3, 4_000, Time::from_ms(1)));
        let (mut exact, mut most) = (true, 0);
        while bench.step(BURST + Time::from_ms(5)) {
            let free: Vec<bool> = (0..16).map(|port| bench.probe(port, "state") == 1.0).collect();
            let uncontrolled = free.iter().filter(|free| **free).count() as u64;
            most = most.max(uncontrolled);
            for (port, free) in (0..16).zip(&free) {
                let limit = if *free { BUFFER / uncontrolled } else { bench.switch.buffer().shared_free() };
                exact &= bench.probe(port, "port_limit_bytes") == limit as f64;
            }
        }
        Finding::new(exact && most == 3, format!("exact at every event of a run with up to {most} uncontrolled ports"))
    }

    Holds "TDT-C1-1" tdt_c1_1_the_boundary_between_slow_and_fast_bursts_is_where_the_papers_three_schemes_put_it ("R <= C (1 + (1 + aN)/(aM)) is case 1") {
        // ABM Eq. 28 and Plasticine Eq. 33 describe N old queues and M new queues, all of weight a,
        // by gamma + (1 + S) gamma / (omega n).
        let mut stream = RandomStream::new(1, "claims/c1", 0);
        let mut same = true;
        for _ in 0..100_000 {
            let load = Load::random(&mut stream);
            let other = load.c * (1.0 + (1.0 + load.a * load.n) * (1.0 / load.a) / load.m);
            same &= near(load.boundary(), other, 1e-12);
            // The formulas for slow and fast bursts give equal values at the boundary.
            let at = Load { r: load.boundary(), ..load };
            same &= near(at.dt_slow(), at.dt_fast(), 1e-9);
        }
        let (below, above) = (first_loss("dt", 2, 1, 3_000).0, first_loss("dt", 2, 1, 6_000).0);
        let (slow, fast) = (Load::new(2, 1, 3_000), Load::new(2, 1, 6_000));
        let by_packets = near(below, slow.dt_slow(), 0.03) && !near(below, slow.dt_fast(), 0.03)
            && near(above, fast.dt_fast(), 0.03) && !near(above, fast.dt_slow(), 0.03);
        Finding::new(same && by_packets, format!(
            "equals ABM Eq. 28 and Plasticine Eq. 33 in 100,000 random cases; N = 2, M = 1: 4 Gb/s, first loss at 3 Gb/s {} (Eq. 4: {}), at 6 Gb/s {} (Eq. 8: {})",
            us(below), us(slow.dt_slow()), us(above), us(fast.dt_fast())))
    }

    Holds "TDT-E3-1" tdt_e3_1_a_slow_burst_is_absorbed_by_dt_up_to_a_fair_share ("(R - C) d = aB / (1 + a(M + N))") {
        let worst = worst("dt", SLOW, Load::dt_slow);
        Finding::new(worst <= 3.0, format!("first loss within {worst:.1} % for {} loads", SLOW.len()))
    }

    Holds "TDT-E5-1" tdt_e5_1_edt_absorbs_a_slow_burst_up_to_the_whole_buffer_and_never_less_than_dt ("B/M; always >= DT") {
        let mut stream = RandomStream::new(1, "claims/e5", 0);
        let less = (0..100_000).filter(|_| {
            let load = Load::random(&mut stream);
            load.edt_slow() < load.dt_slow()
        });
        let (less, worst) = (less.count(), worst("edt", SLOW, Load::edt_slow));
        Finding::new(less == 0 && worst <= 3.0, format!("first loss within {worst:.1} % for {} loads; less than DT in {less} of 100,000 random cases", SLOW.len()))
    }

    Holds "TDT-E7-1" tdt_e7_1_a_fast_burst_is_cut_by_dt_before_the_old_queues_have_drained ("d = aB / ((1 + aN) ((1 + aM)(R - C) - aNC))") {
        let worst = worst("dt", FAST, Load::dt_fast);
        Finding::new(worst <= 3.0, format!("first loss within {worst:.1} % for {} loads", FAST.len()))
    }

    Holds "TDT-E13-1" tdt_e13_1_a_fast_burst_is_cut_by_edt_when_the_buffer_is_full_and_equation_14_never_binds ("d <= B / ((1 + aN) (MR - (M + N) C))") {
        let mut stream = RandomStream::new(1, "claims/e13", 0);
        let (mut fast, mut binds) = (0, 0);
        while fast < 100_000 {
            let load = Load::random(&mut stream);
            if load.r > load.boundary() {
                fast += 1;
                binds += u32::from(load.edt_empty() < load.edt_fast() * (1.0 - 1e-12));
            }
        }
        let worst = worst("edt", FAST, Load::edt_fast);
        Finding::new(binds == 0 && worst <= 3.0, format!("first loss within {worst:.1} % for {} loads; Eq. 14 binds in {binds} of 100,000 random cases", FAST.len()))
    }

    Holds "TDT-V6A-1" tdt_v6a_1_dt_absorbs_222_us ("222 us") {
        let found = first_loss("dt", 2, 1, 8_000).0;
        Finding::new(near(found, 222.2e-6, 0.03), us(found))
    }

    Holds "TDT-V6A-2" tdt_v6a_2_edt_absorbs_533_us ("533 us") {
        let found = first_loss("edt", 2, 1, 8_000).0;
        Finding::new(near(found, 533.3e-6, 0.03), us(found))
    }

    Refuted "TDT-V6A-3" tdt_v6a_3_tdt_absorbs_1000_us_for_evacuated_ports_keep_their_share ("1.14 ms = B / (M(R - C))") {
        // By erratum E-TDT-2 the time is (B - N B/n) / (M (R - C)), because N evacuated ports keep
        // B/n each.
        let (alone, beside) = (first_loss("tdt", 0, 1, 8_000).0, first_loss("tdt", 2, 1, 8_000).0);
        let met = near(alone, 1_142.9e-6, 0.03) && near(beside, 1_000e-6, 0.03) && !near(beside, 1_142.9e-6, 0.03);
        Finding::new(met, format!("{} beside two evacuated ports, which keep B/n each: (B - 2B/16)/(R - C) = 1000 us; {} alone", us(beside), us(alone)))
    }

    Holds "TDT-V6A-4" tdt_v6a_4_the_burst_has_stored_0_19_and_0_47_mb_at_its_first_loss ("0.19 MB (DT); 0.47 MB (EDT)") {
        let [dt, edt] = ["dt", "edt"].map(|policy| first_loss(policy, 2, 1, 8_000).1.queue_bytes as f64);
        Finding::new(near(dt, 194.4e3, 0.03) && near(edt, 466.7e3, 0.03), format!("{:.1} KB; {:.1} KB", dt * 1e-3, edt * 1e-3))
    }

    Refuted "TDT-V6A-5" tdt_v6a_5_the_counters_are_those_of_the_paper_but_oc2_which_is_twice_the_buffer ("NEC 42, DEC 3, DC 333, OC1 42, OC2 1344") {
        let state = |bench: &OpenLoop| bench.probe(0, "state");
        // The test measures NEC: the net arrivals until absorption begins.
        let mut bench_nec = bench("tdt", TDT, &[]);
        let nec = (1..100).find(|_| { pour(&mut bench_nec, 0, 1); state(&bench_nec) == 1.0 }).unwrap_or(0);
        // The test measures DEC: the departures in a row that end absorption.
        let dec = (1..100).find(|_| { send(&mut bench_nec, 0, 1); state(&bench_nec) == 0.0 }).unwrap_or(0);
        // The test measures OC1: the departures after which 40 net arrivals are forgotten.
        let forgotten = |sent: u64| {
            let mut bench = bench("tdt", TDT, &[]);
            pour(&mut bench, 0, 40);
            for _ in 0..sent { pour(&mut bench, 0, 1); send(&mut bench, 0, 1); }
            pour(&mut bench, 0, 2);
            state(&bench) == 0.0
        };
        let oc1 = (1..100).find(|sent| forgotten(*sent)).unwrap_or(0);
        // The test measures OC2: the departures that end absorption although arrivals continue.
        let mut bench_oc2 = bench("tdt", TDT, &[]);
        pour(&mut bench_oc2, 0, 42);
        let oc2 = (1..3_000).find(|_| { pour(&mut bench_oc2, 0, 1); send(&mut bench_oc2, 0, 1); state(&bench_oc2) == 0.0 }).unwrap_or(0);
        // The test measures DC: the losses until evacuation, counted from the overflow
        // that ends absorption.
        let mut bench_dc = bench("tdt", TDT, &[]);
        pour(&mut bench_dc, 0, 666);
        let dc = (1..1_000).find(|_| { pour(&mut bench_dc, 0, 1); state(&bench_dc) == 2.0 }).unwrap_or(0);
        let found = [nec, dec, dc, oc1, oc2];
        Finding::new(found == [42, 3, 333, 42, 1_334], format!(
            "{nec}, {dec}, {dc}, {oc1}, {oc2}, counted by packets: OC2 = 2B is 1334 packets; 1344 is 2 x 16 x 42"))
    }

    Holds "TDT-V6A-6" tdt_v6a_6_the_buffer_is_667_packets ("667 packets") {
        let mut bench = bench("cs", &[], &[]);
        let stored = pour(&mut bench, 0, 1_000);
        let exact = BUFFER as f64 / f64::from(MTU);
        Finding::new(exact.round() == 667.0 && stored == 666, format!("{exact:.1}, of which {stored} whole ones fit"))
    }

    Holds "TDT-F7a-1" tdt_f7a_1_dt_drops_the_burst_before_the_queues_have_become_equal ("burst drop before the queue lengths converge") {
        let mut bench = bench("dt", &[], &overloads_and_bursts(2, 1, 8_000, Time::from_ms(1)));
        while bench.queues[2].losses.is_empty() && bench.step(Time::from_ms(200)) {}
        let (burst, old) = (bench.packets(2), bench.packets(0));
        Finding::new(burst < old && bench.switch.buffer().fits(MTU), format!("first drop at {burst} packets, the overloaded queues hold {old}, and {} KB are free", bench.switch.buffer().shared_free() / 1_000))
    }

    Holds "TDT-F7b-1" tdt_f7b_1_edt_loses_the_burst_when_the_buffer_overflows ("buffer overflow after a while") {
        let (at, loss) = first_loss("edt", 2, 1, 8_000);
        Finding::new(loss.reason == DropReason::BufferFull && BUFFER - loss.occupancy < u64::from(MTU), format!("first drop after {}, {} KB stored", us(at), loss.occupancy / 1_000))
    }

    Holds "TDT-F7c-1" tdt_f7c_1_tdt_stores_the_whole_burst ("burst fully absorbed") {
        let mut bench = bench("tdt", TDT, &overloads_and_bursts(2, 1, 8_000, Time::from_ms(1)));
        bench.run_until(BURST);
        let evacuated = (0..2).all(|port| bench.probe(port, "state") == 2.0 && bench.packets(port) <= 42);
        let old = bench.packets(0);
        bench.run_until(Time::from_ms(200));
        let lost = bench.queues[2].losses.len();
        Finding::new(evacuated && lost == 0, format!("{lost} of {} packets lost; overloaded ports in evacuation with {old} packets", bench.sent[2]))
    }

    Holds "TDT-F7d-1" tdt_f7d_1_only_tdt_delivers_the_whole_burst ("throughput nearly optimal in all three ports") {
        let delivered = |policy| {
            let mut bench = bench(policy, &[], &overloads_and_bursts(2, 1, 8_000, Time::from_ms(1)));
            bench.run_until(Time::from_ms(200));
            let line = Time::from_ms(200).0 / BitRate::gbps(1).serialization(u64::from(MTU)).0;
            let full = (0..2).all(|port| bench.queues[port].delays.len() as u64 >= line);
            (bench.queues[2].delays.len() as f64 / bench.sent[2] as f64, full)
        };
        let [(dt, _), (edt, _), (tdt, full)] = ["dt", "edt", "tdt"].map(delivered);
        let met = full && tdt >= 0.99 && (edt - 0.53).abs() <= 0.05 && (dt - 0.37).abs() <= 0.05;
        Finding::new(met, format!("of the burst TDT delivers {tdt:.3}, EDT {edt:.3}, DT {dt:.3}; the other two ports send all the time"))
    }

    Holds "TDT-F8a-1" tdt_f8a_1_after_an_overload_tdt_delays_as_little_as_an_even_split ("TDT and ES identical") {
        let (tdt, es) = (second_flow("tdt"), second_flow("es"));
        Finding::new((tdt.1 - es.1).abs() <= 0.05, format!("first packet {:.3} and {:.3} ms, mean {:.3} and {:.3} ms", tdt.0, es.0, tdt.1, es.1))
    }

    Holds "TDT-F8a-2" tdt_f8a_2_after_an_overload_tdt_delays_an_eighth_of_what_dt_and_edt_do ("TDT below DT and EDT by a large margin") {
        let [tdt, dt, edt] = ["tdt", "dt", "edt"].map(second_flow);
        Finding::new(tdt.0 <= 0.25 * dt.0 && tdt.0 <= 0.25 * edt.0, format!("first packet: TDT {:.2}, DT {:.2}, EDT {:.2} ms; mean {:.2}, {:.2}, {:.2} ms", tdt.0, dt.0, edt.0, tdt.1, dt.1, edt.1))
    }

    Holds "TDT-F8a-3" tdt_f8a_3_after_an_overload_complete_sharing_delays_most ("CS is the upper bound") {
        let cs = second_flow("cs");
        let least = ["dt", "edt", "tdt", "es"].map(second_flow).iter().all(|(first, mean)| *first < cs.0 && *mean < cs.1);
        Finding::new(least && near(cs.0, 8e0, 0.03), format!("first packet {:.2} ms, mean {:.2} ms", cs.0, cs.1))
    }

    Holds "TDT-F8b-1" tdt_f8b_1_an_evacuated_queue_is_short_and_its_port_never_idle ("queue short, throughput unaffected") {
        let mut bench = bench("tdt", TDT, &[overload(0, 2_000)]);
        bench.run_until(Time::from_ms(100));
        let (before, mut longest) = (bench.queues[0].delays.len(), 0);
        while bench.step(Time::from_ms(200)) {
            longest = longest.max(bench.packets(0));
        }
        let gbps = (bench.queues[0].delays.len() - before) as f64 * f64::from(MTU) * 8.0 / 0.1 * 1e-9;
        Finding::new(longest <= 43 && gbps > 0.999, format!("at most {longest} packets, {gbps:.3} Gb/s"))
    }

    Holds "TDT-CIR-1" tdt_cir_1_decisions_depend_on_the_order_of_events_and_not_on_time ("no timers: counters, triggers, comparators only") {
        // The closure runs one sequence of events with all times multiplied by a factor.
        let run = |stretch: u64| {
            let mut bench = bench("tdt", TDT, &[]);
            let mut stream = RandomStream::new(3, "claims/cir", 0);
            let mut now = Time::ZERO;
            let verdicts: Vec<bool> = (0..200_000).map(|_| {
                now += Time::from_ns(1 + stream.below(1_000) * stretch);
                let port = stream.below(4) as u16;
                let packet = Packet { header: Header::new(MTU), egress_port: port, ..Packet::default() };
                if stream.below(10) < 4 {
                    return bench.switch.poll_transmit(now, port, &mut ()).is_some();
                }
                matches!(bench.switch.handle_arrival(now, &packet, &mut ()), Admission::Stored { .. })
            }).collect();
            (verdicts, bench.switch.poll_timeout())
        };
        let (one, timer) = run(1);
        let (whole, part) = (circuit("tdt"), circuit("tdt-state"));
        let ((operations, differences), cost) = (whole.compared(), &part.costs[0]);
        let met = one == run(0).0 && one == run(1_000).0 && timer.is_none() && one.contains(&false) && differences == 0;
        Finding::new(met, format!(
            "200,000 random events: the same verdicts at once, in 0.1 s and in 100 s; no timer is asked for; as a circuit ({operations} operations, {differences} unlike the policy's) {} flip-flops and {} LUT4 per port; its thresholds need a table of quotients as well", cost.flip_flops, cost.lut4))
    }

    Holds "TDT-CIR-2" tdt_cir_2_the_three_states_choose_the_three_thresholds ("(0,0) normal, (1,0) absorption, (0,1) evacuation") {
        let mut bench = bench("tdt", TDT, &overloads_and_bursts(2, 2, 8_000, Time::from_ms(1)));
        let (mut exact, mut seen) = (true, [false; 3]);
        while bench.step(BURST + Time::from_ms(8)) {
            let absorbing = (0..16).filter(|port| bench.probe(*port, "state") == 1.0).count() as u64;
            for port in 0..16 {
                let state = bench.probe(port, "state") as usize;
                seen[state] = true;
                let limit = [bench.switch.buffer().shared_free(), BUFFER / absorbing.max(1), BUFFER / 16][state];
                exact &= bench.probe(port, "port_limit_bytes") == limit as f64;
            }
        }
        Finding::new(exact && seen == [true; 3], "limit a(B - Q), B/n_A or B/n according to the state at every event; the two bits are one number here (0, 1, 2)")
    }

    Holds "TDT-PAR-1" tdt_par_1_oc1_is_nec_over_k_minus_1_so_that_k_times_the_rate_is_a_burst ("OC1 = NEC/(k - 1)") {
        let absorbs = |k: f64, mbps| first_in(1.0, &[("burst_rate", ParamValue::Ratio(k))], mbps).is_some();
        let met = !absorbs(2.0, 1_900) && absorbs(2.0, 2_200) && !absorbs(3.0, 2_900) && absorbs(3.0, 3_200)
            && !absorbs(5.0, 4_600) && absorbs(5.0, 5_100);
        Finding::new(met, "k = 2: 1.9 Gb/s on 1 Gb/s is no burst, 2.2 is; k = 3: 2.9 and 3.2; k = 5: 4.6 and 5.1 (OC1 = 10.5 packets rounds to 11)")
    }

    Holds "TDT-PAR-2" tdt_par_2_a_burst_of_twice_the_rate_that_fills_the_buffer_leaves_as_twice_the_buffer ("OC2 = 2B: a burst at 2C needs 2B departures") {
        let mut bench = bench("cs", &[], &[overload(0, 2_000)]);
        while bench.queues[0].losses.is_empty() && bench.step(Time::from_ms(200)) {}
        bench.sources.clear();
        bench.run_until(Time::from_ms(300));
        let sent = bench.queues[0].delays.len();
        Finding::new(sent.abs_diff(1_333) <= 2, format!("{sent} packets, 2B = 1333.3"))
    }

    Holds "TDT-PAR-3" tdt_par_3_an_evacuated_port_delays_by_half_a_millisecond ("B/n = 62.5 KB, 500 us") {
        let mut bench = bench("tdt", TDT, &[overload(0, 2_000)]);
        bench.run_until(Time::from_ms(200));
        let last = bench.queues[0].delays.last().map_or(0.0, |(_, delay)| delay.as_secs_f64());
        let exact = BUFFER as f64 / 16.0 * 8.0 / 1e9;
        Finding::new(near(exact, 500e-6, 1e-9) && last <= exact && near(last, exact, 0.03), format!("{}; by packets {}", us(exact), us(last)))
    }

    Holds "TDT-F6-1" tdt_f6_1_a_burst_and_an_overload_pass_through_all_states_once ("normal, absorption, normal, evacuation, normal") {
        // The paper does not state the rates. The test uses 2.2 Gb/s from 0 to 5 ms, and 1.5 Gb/s
        // from 10 to 30 ms. A slower overload has too few losses in 20 ms.
        let sources = [source(0, 2_200, Time::ZERO, Time::from_ms(5)), source(0, 1_500, Time::from_ms(10), Time::from_ms(30))];
        let mut bench = bench("tdt", TDT, &sources);
        let states = states(&mut bench, Time::from_ms(60));
        Finding::new(states == [0, 1, 0, 2, 0], format!("states {states:?} with 2.2 Gb/s for 5 ms, then 1.5 Gb/s for 20 ms"))
    }
}

/// With DEC as printed, TDT is no better than EDT. The policy `tdt` without parameters uses DEC of
/// erratum E-TDT-1.
#[test]
fn with_dec_as_printed_tdt_is_no_better_than_edt() {
    let literal = [("literal_dec", ParamValue::Flag(true))];
    let mut bench = bench("tdt", &literal, &overloads_and_bursts(2, 1, 8_000, Time::from_ms(1)));
    bench.run_until(BURST);
    assert_eq!([bench.probe(0, "state"), bench.probe(1, "state")], [0.0, 0.0]);
    bench.run_until(Time::from_ms(200));
    let first = bench.queues[2].losses[0].at - BURST;
    assert!(near(first.as_secs_f64(), first_loss("edt", 2, 1, 8_000).0, 1e-9), "{first}");
}

/// At a rate of exactly k times the line rate, the order of simultaneous packets decides when a
/// burst is detected.
#[test]
fn at_exactly_twice_the_line_the_order_of_simultaneous_packets_decides() {
    let at = |first| {
        let mut bench = bench("tdt", TDT, &[overload(0, 2_000)]);
        bench.first = first;
        while bench.probe(0, "state") != 1.0 && bench.step(Time::from_ms(20)) {}
        bench.now
    };
    assert_ne!(at(First::Arrival), at(First::Departure));
}

#[test]
fn thresholds_count_bytes_of_whole_queues() {
    let bench = bench("tdt", TDT, &[]);
    assert_eq!(bench.switch.threshold(QueueId(3), Tags::NONE), Some(BUFFER));
}

#[test]
fn the_recorded_findings_are_todays() {
    assert_findings("tdt-switch", CLAIMS);
}
