//! LossPass: statements about its Algorithm 1, bursts and hardware, checked without transports.

use crate::support::circuit;
use bufferlab_conformance::claims;
use bufferlab_conformance::claims::{Finding, assert_findings};
use bufferlab_conformance::open_loop::{OpenLoop, Source};
use bufferlab_core::{
    Admission, Buffer, Ecn, Header, Marker, Observer, Packet, ParamValue, Policy, QueueId, Scheduler, Switch,
    SwitchConfig, SwitchEvent,
};
use bufferlab_units::{BitRate, RandomStream, Time};
use std::collections::VecDeque;

const MTU: u32 = 1_500;
/// Size of the buffer of each port in the paper's testbed (bytes).
const PORT_BUFFER: u64 = 128_000;
const SMALL: u8 = 0;
const LARGE: u8 = 1;

fn given(name: &'static str, value: ParamValue) -> (&'static str, ParamValue) {
    (name, value)
}

fn static_port(bytes: u64) -> Vec<(&'static str, ParamValue)> {
    vec![
        given("port_limit", ParamValue::Choice("static".into())),
        given("port_buffer", ParamValue::Bytes(bytes)),
    ]
}

fn reserve(bytes: u64) -> (&'static str, ParamValue) {
    given("large_reserve", ParamValue::Bytes(bytes))
}

fn config(buffer: u64, ports: usize) -> SwitchConfig {
    SwitchConfig {
        max_packet: u64::from(MTU),
        scheduler: Scheduler::strict_priority(2),
        ..SwitchConfig::new(buffer, vec![BitRate::gbps(1); ports]).with_queues(2)
    }
}

fn bench(policy: &str, params: &[(&'static str, ParamValue)], buffer: u64, ports: usize) -> OpenLoop {
    OpenLoop::new(&config(buffer, ports), policy, params, &[]).expect("it fits")
}

fn packet(priority: u8, size: u32) -> Packet {
    Packet { header: Header { size, priority, ..Header::default() }, ..Packet::default() }
}

/// Lets `count` packets arrive at one time for a port that sends no packet, and returns the number
/// of stored packets.
fn pour(switch: &mut Switch<Box<dyn Policy>>, priority: u8, count: u64) -> u64 {
    let stored = (0..count).filter(|_| {
        let stored = switch.handle_arrival(Time::ZERO, &packet(priority, MTU), &mut ());
        matches!(stored, Admission::Stored { .. })
    });
    stored.count() as u64
}

fn bytes(switch: &Switch<Box<dyn Policy>>, queue: u16) -> u64 {
    switch.buffer().queue_bytes(QueueId(queue))
}

/// An arriving packet, and the queue lengths before and after its arrival.
struct ArrivalEffect {
    size: u64,
    priority: u8,
    /// Lengths of the queues of small and large flows (Q_s, Q_l) and the port's limit, before the
    /// arrival.
    small: u64,
    large: u64,
    limit: u64,
    /// Lengths of the queues of small and large flows (Q_s, Q_l) after the arrival.
    after: (u64, u64),
    stored: bool,
    evicted: u64,
    /// Whether the ledger is correct and the port is within its limit.
    within: bool,
}

#[derive(Default)]
struct Evictions(u64);

impl Observer for Evictions {
    fn on(&mut self, event: &SwitchEvent<'_>, _: &Buffer) {
        if let SwitchEvent::Evicted { .. } = *event {
            self.0 += 1;
        }
    }
}

/// Applies random arrivals and departures to a switch with four ports of two queues each.
fn drive(params: &[(&'static str, ParamValue)], packets: u32, mut check: impl FnMut(&ArrivalEffect)) -> bool {
    const LIMIT: u64 = 20_000;
    let all: Vec<_> = [static_port(LIMIT), params.to_vec()]
        .concat()
        .into_iter()
        .map(|(name, value)| (name.to_owned(), value))
        .collect();
    let mut switch = config(4 * LIMIT, 4).build("losspass", &all).expect("it fits");
    let mut stream = RandomStream::new(11, "claims/losspass", 0);
    for id in 0..packets {
        let now = Time::from_ns(u64::from(id));
        let (egress_port, priority) = (stream.below(4) as u16, u8::from(stream.below(8) > 2));
        let size = if stream.below(3) == 0 { 64 + stream.below(1_437) as u32 } else { MTU };
        let packet = Packet {
            id,
            header: Header { size, priority, ..Header::default() },
            egress_port,
            ..Packet::default()
        };
        let (small, large) = (bytes(&switch, 2 * egress_port), bytes(&switch, 2 * egress_port + 1));
        let mut evictions = Evictions::default();
        let admission = switch.handle_arrival(now, &packet, &mut evictions);
        let after = (bytes(&switch, 2 * egress_port), bytes(&switch, 2 * egress_port + 1));
        check(&ArrivalEffect {
            size: u64::from(size),
            priority,
            small,
            large,
            limit: LIMIT,
            after,
            stored: matches!(admission, Admission::Stored { .. }),
            evicted: evictions.0,
            within: after.0 + after.1 <= LIMIT && switch.buffer().occupancy() <= 4 * LIMIT,
        });
        if stream.below(5) < 2 {
            let _ = switch.poll_transmit(now, stream.below(4) as u16, &mut ());
        }
    }
    switch.verify().is_ok()
}

/// Algorithm 1 of LossPass as printed, except for the sign in line 4, with one counter each for
/// stored, evicted and dropped packets.
#[derive(Default)]
struct Printed {
    small: VecDeque<u64>,
    large: VecDeque<u64>,
    arrived: u64,
    dropped: u64,
    evicted: u64,
}

impl Printed {
    fn bytes(queue: &VecDeque<u64>) -> u64 {
        queue.iter().sum()
    }

    fn arrive(&mut self, small: bool, len: u64, limit: u64) {
        self.arrived += 1;
        let sum = Self::bytes(&self.small) + Self::bytes(&self.large);
        if len + sum <= limit {
            (if small { &mut self.small } else { &mut self.large }).push_back(len);
            return;
        }
        if let (true, Some(victim)) = (small, self.large.back().copied())
            && len <= victim
            && len + Self::bytes(&self.small) <= limit
        {
            self.large.pop_back();
            self.evicted += 1;
            self.small.push_back(len);
            // The printed algorithm does not return at this place, so it continues with line 10.
        }
        self.dropped += 1;
    }

    /// Number of accounted packets minus number of arriving packets.
    fn surplus(&self) -> i64 {
        (self.small.len() + self.large.len()) as i64 + (self.dropped + self.evicted) as i64
            - self.arrived as i64
    }
}

/// Returns the depth of a pipeline. Each step of the pipeline has a list of the steps that must
/// precede this step.
fn depth(steps: &[(&str, &[&str])]) -> usize {
    let mut depths: Vec<(&str, usize)> = Vec::new();
    for (name, needs) in steps {
        let of = |need: &&str| depths.iter().find(|(known, _)| known == need).expect("steps come in order").1;
        let deepest = needs.iter().map(of).max().unwrap_or(0);
        depths.push((name, deepest + 1));
    }
    depths.iter().map(|(_, depth)| *depth).max().unwrap_or(0)
}

/// Computation of LossPass's arbiter for a packet (section 4.1), in steps that fit into one clock
/// cycle.
const ARBITER: &[(&str, &[&str])] = &[
    ("sum of lengths + P.len <= B", &[]),
    ("V.len >= P.len", &[]),
    ("P.len + Qs.len <= B - Bl", &[]),
    ("verdict", &["sum of lengths + P.len <= B", "V.len >= P.len", "P.len + Qs.len <= B - Bl"]),
    ("tail pointers of Ql and Qs", &["verdict"]),
];
const LOOKUP: &[(&str, &[&str])] = &[
    ("class and port of the packet", &[]),
    ("lengths and victim of the port", &["class and port of the packet"]),
];

/// Returns the settled queue length of N flows with constant windows. The flows share a link that
/// sends one packet per slot and has a round trip of `rtt` slots.
fn constant_windows(flows: u64, window: u64, rtt: usize) -> u64 {
    let mut queue = 0;
    let mut way: VecDeque<u64> = (0..rtt).map(|slot| if slot == 0 { flows * window } else { 0 }).collect();
    for _ in 0..20 * rtt {
        queue += way.pop_front().unwrap_or(0);
        let sent = queue.min(1);
        queue -= sent;
        way.push_back(sent);
    }
    queue
}

/// Returns the longest queue (packets) of N synchronised DCTCP flows in congestion avoidance. Every
/// packet passes the core's switch and marker.
fn synchronised_dctcp(flows: usize, mark_above: u64, rtt: usize) -> u64 {
    const G: f64 = 1.0 / 16.0;
    struct Flow {
        window: f64,
        in_flight: u64,
        alpha: f64,
        acked: u64,
        marked: u64,
        /// Number of packets until the end of the flow's observation window.
        left: u64,
    }
    let marker = Marker::step(mark_above * u64::from(MTU));
    let config = SwitchConfig {
        max_packet: u64::from(MTU),
        marker: Some(marker),
        ..SwitchConfig::new(10_000_000, vec![BitRate::gbps(1)])
    };
    let mut switch = config.build("cs", &[]).expect("it fits");
    let start = (rtt as f64 + mark_above as f64 / 2.0) / flows as f64;
    let mut all: Vec<Flow> = (0..flows)
        .map(|_| Flow { window: start, in_flight: 0, alpha: 0.0, acked: 0, marked: 0, left: start as u64 })
        .collect();
    // ACKs in flight: the flow and the mark of the ACK in each time slot, if any.
    let mut way: VecDeque<Option<(usize, bool)>> = VecDeque::from(vec![None; rtt]);
    // Flow of each sent packet, and whether the packet is marked.
    let mut sent_packets: Vec<(usize, bool)> = Vec::new();
    let mut longest = 0;
    for slot in 0..400 * rtt as u64 {
        if let Some((number, marked)) = way.pop_front().flatten() {
            let flow = &mut all[number];
            flow.in_flight -= 1;
            flow.acked += 1;
            flow.marked += u64::from(marked);
            flow.left = flow.left.saturating_sub(1);
            if flow.left == 0 {
                let fraction = flow.marked as f64 / flow.acked as f64;
                flow.alpha = (1.0 - G) * flow.alpha + G * fraction;
                if flow.marked > 0 {
                    flow.window = (flow.window * (1.0 - flow.alpha / 2.0)).max(2.0);
                } else {
                    flow.window += 1.0;
                }
                (flow.acked, flow.marked, flow.left) = (0, 0, flow.window as u64);
            }
        }
        for (number, flow) in all.iter_mut().enumerate() {
            while flow.in_flight < flow.window as u64 {
                let packet = Packet {
                    id: sent_packets.len() as u32,
                    header: Header { size: MTU, flow: number as u32, ecn: Ecn::Capable, ..Header::default() },
                    ..Packet::default()
                };
                let admission = switch.handle_arrival(Time(slot), &packet, &mut ());
                sent_packets.push((number, matches!(admission, Admission::Stored { marked: true })));
                flow.in_flight += 1;
            }
        }
        // The estimate of the marked fraction has settled after the first half.
        if slot > 200 * rtt as u64 {
            longest = longest.max(switch.buffer().queue_packets(QueueId(0)) as u64);
        }
        let sent = switch.poll_transmit(Time(slot), 0, &mut ());
        way.push_back(sent.map(|sent| sent_packets[sent.packet as usize]));
    }
    longest
}

/// Returns the number of microburst packets that a full port stores. The fraction `tau` of the
/// port's packets belongs to large flows.
fn absorbed(tau: f64) -> (u64, u64) {
    let mut bench = bench("losspass", &static_port(PORT_BUFFER), PORT_BUFFER, 1);
    let whole = PORT_BUFFER / u64::from(MTU);
    let large = (whole as f64 * tau).round() as u64;
    assert_eq!(pour(&mut bench.switch, SMALL, whole - large) + pour(&mut bench.switch, LARGE, large), whole);
    (pour(&mut bench.switch, SMALL, 2 * whole), large)
}

/// Returns the number of microburst packets that a port without eviction can store in addition to
/// `stored` packets.
fn absorbed_by_headroom(stored: u64) -> u64 {
    let mut bench = bench("cs", &[], PORT_BUFFER, 1);
    pour(&mut bench.switch, LARGE, stored);
    pour(&mut bench.switch, SMALL, 1_000)
}

/// Overloads a port with large packets, and sends bursts of small flows every 2 ms. The port evicts
/// packets at one end of the queue. Returns the p99 delay of small packets (us), the delivered part
/// of the large stream and its longest delay (us).
fn evicting(end: &'static str) -> (f64, u64, f64) {
    let params = [static_port(PORT_BUFFER), vec![given("victim", ParamValue::Choice(end.into()))]].concat();
    let mut bench = bench("losspass", &params, PORT_BUFFER, 1);
    let source = |priority, gbps, start, end| Source {
        port: 0,
        priority,
        rate: BitRate::gbps(gbps),
        packet: MTU,
        start,
        end,
    };
    bench.add(source(LARGE, 2, Time::ZERO, Time::from_ms(40)));
    for burst in 0..15_u64 {
        let start = Time::from_us(5_000 + burst * 2_000 + 1);
        bench.add(source(SMALL, 5, start, start + Time::from_us(150)));
    }
    bench.run_until(Time::from_ms(60));
    let sorted = |queue: usize| {
        let mut delays: Vec<f64> =
            bench.queues[queue].delays.iter().map(|(_, delay)| delay.as_secs_f64() * 1e6).collect();
        delays.sort_by(f64::total_cmp);
        delays
    };
    let (small, large) = (sorted(0), sorted(1));
    assert!(bench.queues[1].evicted > 100);
    (small[small.len() * 99 / 100], large.len() as u64, large[large.len() - 1])
}

claims! {
    Refuted "LP-ALG-1" lp_alg_1_line_4_as_printed_never_evicts_but_in_a_tie ("evict if P.len + Qs.len >= B - Bl") {
        let chance = |event: &ArrivalEffect| event.priority == SMALL && event.large > 0 && event.small + event.large + event.size > event.limit;
        let count = |printed: bool| {
            let (mut chances, mut evictions, mut ties) = (0_u64, 0_u64, 0_u64);
            drive(&[given("printed_line_4", ParamValue::Flag(printed))], 500_000, |event| {
                chances += u64::from(chance(event));
                evictions += event.evicted;
                ties += u64::from(event.evicted > 0 && (event.small, event.large) == (event.limit - event.size, event.size));
            });
            (chances, evictions, ties)
        };
        let (printed, corrected) = (count(true), count(false));
        let met = printed.1 == printed.2 && corrected.1 > 10_000;
        Finding::new(met, format!(
            "as printed {} evictions in {} chances, all of them ties (Ql is one packet as long as the arrival, the port exactly full); with <= {} in {}",
            printed.1, printed.0, corrected.1, corrected.0))
    }

    Refuted "LP-ALG-2" lp_alg_2_falling_through_counts_a_packet_twice ("after Evict and Enqueue the packet falls through to Drop") {
        let mut printed = Printed::default();
        let mut stream = RandomStream::new(2, "claims/printed", 0);
        for _ in 0..10_000 {
            printed.arrive(stream.below(3) == 0, 64 + stream.below(1_437), 20_000);
            if stream.below(5) < 2 && let Some(_sent) = printed.small.pop_front().or_else(|| printed.large.pop_front()) {
                printed.arrived -= 1;
            }
        }
        let mut evictions = 0;
        let conserved = drive(&[], 500_000, |event| evictions += event.evicted);
        let met = printed.surplus() == printed.evicted as i64 && printed.evicted > 100 && conserved && evictions > 1_000;
        Finding::new(met, format!(
            "line by line, {} of 10,000 packets are stored and dropped; with a return in = out + dropped + evicted + stored after {evictions} evictions", printed.surplus()))
    }

    Holds "LP-ALG-3" lp_alg_3_one_eviction_is_always_enough ("at most 1 eviction per packet, always enough") {
        let (mut most, mut evictions, mut violations) = (0, 0_u64, 0_u64);
        let sound = drive(&[], 1_000_000, |event| {
            most = most.max(event.evicted);
            evictions += event.evicted;
            violations += u64::from(!event.within || (event.evicted > 0 && !event.stored));
        });
        Finding::new(sound && most == 1 && violations == 0 && evictions > 10_000, format!(
            "{evictions} evictions in 1,000,000 random packets of 64 to 1500 B, at most {most} each; the port buffer was exceeded {violations} times"))
    }

    Holds "LP-ALG-4" lp_alg_4_a_full_packet_would_need_24_evictions_of_the_smallest ("24 evictions") {
        let mut bench = bench("losspass", &static_port(PORT_BUFFER), PORT_BUFFER, 1);
        let tiny = packet(LARGE, 64);
        while matches!(bench.switch.handle_arrival(Time::ZERO, &tiny, &mut ()), Admission::Stored { .. }) {}
        let (before, free) = (bench.switch.buffer().queue_packets(QueueId(1)), bench.switch.buffer().shared_free());
        let refused = matches!(bench.switch.handle_arrival(Time::ZERO, &packet(SMALL, MTU), &mut ()), Admission::Refused(_));
        let kept = bench.switch.buffer().queue_packets(QueueId(1)) == before;
        let needed = u64::from(MTU).div_ceil(64);
        Finding::new(needed == 24 && refused && kept && free < 64, format!("ceil(1500/64) = {needed}; LossPass evicts none for such a packet and counts a missed chance"))
    }

    Holds "LP-ALG-5" lp_alg_5_evictions_leave_the_reserve_to_large_flows ("max Qs = B - Bl") {
        const RESERVE: u64 = 14_000;
        let (mut evictions, mut over, mut taken) = (0_u64, 0_u64, 0_u64);
        let mut beyond = 0;
        drive(&[reserve(RESERVE)], 500_000, |event| {
            if event.evicted > 0 {
                evictions += 1;
                over += u64::from(event.after.0 > event.limit - RESERVE);
                // The queue of large flows (Q_l) keeps its reserve, except for less than one MTU.
                taken += u64::from(event.after.1 + u64::from(MTU) < RESERVE.min(event.large));
            }
            beyond = beyond.max(event.after.0);
        });
        Finding::new(evictions > 1_000 && over == 0 && taken == 0 && beyond > 6_000, format!(
            "Bl = 14 of 20 KB: Qs above B - Bl after {over} of {evictions} evictions, Ql below min(its content, Bl) less a packet after {taken}; while there is room Qs grows to {beyond} B, beyond B - Bl: Bl limits evictions only"))
    }

    Holds "LP-HW-1" lp_hw_1_lookup_and_arbiter_take_five_cycles ("2 lookup + 3 arbiter = 5 cycles") {
        let (lookup, arbiter, built) = (depth(LOOKUP), depth(ARBITER), circuit("losspass"));
        let (operations, differences) = built.compared();
        let met = lookup + arbiter == 5 && built.clocks == 5 && built.is_proved() && differences == 0;
        Finding::new(met, format!(
            "{lookup} + {arbiter}: the depth of the dependent steps of section 4.1 (lookup of the class, then of the port; three comparisons at once, verdict, pointers), one cycle each; the circuit answers {} clocks after its packet (proved; {operations} operations, {differences} of them unlike the policy's), and takes the next one {} clocks later", built.clocks, built.clocks_per_operation))
    }

    Holds "LP-HW-2" lp_hw_2_five_of_800_cycles_are_0_63_percent ("0.63 %") {
        let percent = (depth(LOOKUP) + depth(ARBITER)) as f64 / 800.0 * 100.0;
        Finding::new((percent - 0.63).abs() < 0.006, format!("{percent:.3} %"))
    }

    Holds "LP-HW-3" lp_hw_3_evicting_the_head_costs_small_flows_nothing_and_a_large_one_its_wait ("tail: n cycles, head: no pointer update, FCT + sojourn time") {
        let ((tail_p99, tail_sent, tail_wait), (head_p99, head_sent, head_wait)) = (evicting("tail"), evicting("head"));
        let sojourn = PORT_BUFFER as f64 * 8.0 / 1e9 * 1e6;
        let met = (head_p99 / tail_p99 - 1.0).abs() <= 0.1 && head_wait <= tail_wait + sojourn && tail_sent.abs_diff(head_sent) <= 1;
        Finding::new(met, format!(
            "open loop, large stream of 2 Gb/s on 1 Gb/s: p99 of small packets {tail_p99:.0} us (tail), {head_p99:.0} us (head); large packets delivered {tail_sent}, {head_sent}, longest wait {tail_wait:.0}, {head_wait:.0} us (a full buffer is {sojourn:.0} us)"))
    }

    Holds "LP-E3-1" lp_e3_1_the_queue_of_n_constant_windows_is_their_sum_less_what_is_on_the_way ("q(t) = N w - C RTT") {
        let cases = [(4, 20, 42), (1, 100, 42), (10, 5, 42), (4, 8, 42)];
        let met = cases.iter().all(|(n, w, rtt)| constant_windows(*n, *w, *rtt as usize) == (n * w).saturating_sub(*rtt));
        Finding::new(met, "exact, packet by packet: (N, w) = (4, 20), (1, 100), (10, 5), (4, 8) over 42 packets of path give 38, 58, 8 and 0")
    }

    Holds "LP-E4-1" lp_e4_1_synchronised_dctcp_flows_reach_k_plus_n ("q_max = K + N") {
        let cases = [(2, 45), (4, 45), (8, 45), (4, 65)];
        let found = cases.map(|(n, k)| synchronised_dctcp(n, k, 42));
        let met = cases.iter().zip(found).all(|((n, k), q)| q.abs_diff(k + *n as u64) <= 2);
        Finding::new(met, format!("N = 2, 4, 8 at K = 45: {}, {}, {}; N = 4 at K = 65: {}; senders of this test, the core's switch and marker, 42 packets of path", found[0], found[1], found[2], found[3]))
    }

    Holds "LP-E5-1" lp_e5_1_a_marked_queue_leaves_b_minus_k_plus_n_to_a_burst ("B - (K + N)") {
        let (k, n) = (45, 4);
        let found = absorbed_by_headroom(k + n);
        let exact = PORT_BUFFER as f64 / f64::from(MTU) - (k + n) as f64;
        Finding::new((found as f64 - exact).abs() <= 1.0, format!("{found} packets of an instantaneous burst on a queue of K + N = 49; formula {exact:.2}"))
    }

    Holds "LP-E6-1" lp_e6_1_losspass_absorbs_what_large_flows_hold ("B tau") {
        let met = (0..=20).all(|step| {
            let (found, large) = absorbed(f64::from(step) / 20.0);
            found.abs_diff(large) <= 1
        });
        let (found, _) = absorbed(0.95);
        Finding::new(met, format!("tau = 0.95: {found} packets, B tau = {:.2}; within a packet for tau = 0, 0.05 … 1", PORT_BUFFER as f64 / f64::from(MTU) * 0.95))
    }

    Holds "LP-E6-2" lp_e6_2_losspass_beats_headroom_when_large_flows_hold_more_than_0_426 ("LossPass absorbs more than ECN at tau = 0.95") {
        let ecn = absorbed_by_headroom(49);
        let first = (0..=85_u64).find(|large| absorbed(*large as f64 / 85.0).0 > ecn);
        let tau = first.unwrap_or(99) as f64 / 85.0;
        let (at, _) = absorbed(0.95);
        let exact = 1.0 - 49.0 / (PORT_BUFFER as f64 / f64::from(MTU));
        Finding::new(at > ecn && (tau - exact).abs() <= 1.5 / 85.0, format!("{at} against {ecn} packets at tau = 0.95; more from tau = {tau:.3} on, formula {exact:.3}"))
    }
}

#[test]
fn the_recorded_findings_are_todays() {
    assert_findings("losspass", CLAIMS);
}
