//! Tests of loss recovery on a virtual wire. With any losses, every segment is delivered once and
//! no flow stalls.

use bufferlab_transport::{
    Ack, CONGESTION_CONTROLS, CongestionStates, HopReport, Receiver, Segment, Sender, SenderCounters,
    TcpConfig,
};
use bufferlab_units::{BitRate, RandomStream, Time};
use std::collections::HashSet;

const ONE_WAY: Time = Time::from_us(40);
const SERIALIZATION: Time = Time::from_ns(1_200);
/// Number of bytes that a link of 10 Gb/s sends in the time `SERIALIZATION`.
const FRAME: u32 = 1_500;

/// Decides whether the n-th transmission in one direction of the wire is lost.
type Fate<'a> = dyn FnMut(u32, Segment) -> bool + 'a;

/// Counters and completion time of a simulated flow.
struct Outcome {
    counters: SenderCounters,
    finished_at: Time,
    /// Number of first deliveries of segments, exactly one per segment.
    delivered: u32,
}

#[derive(Clone, Copy, Debug)]
enum InFlight {
    Syn(Time),
    SynAck(Time),
    Data(u32, Time, HopReport),
    Ack(Ack, HopReport),
}

/// Runs one flow over a link of 10 Gb/s and 80 us. `lose(n, segment)` returns whether the n-th data
/// packet is lost, and `lose_ack(n)` whether the n-th ACK is lost.
fn run(
    config: &TcpConfig,
    total: u32,
    lose: &mut Fate<'_>,
    lose_ack: &mut dyn FnMut(u32) -> bool,
) -> Outcome {
    run_control("newreno", config, total, lose, lose_ack)
}

/// Runs one flow under any congestion control. The link's port reports its queue to the control.
fn run_control(
    control: &str,
    config: &TcpConfig,
    total: u32,
    lose: &mut Fate<'_>,
    lose_ack: &mut dyn FnMut(u32) -> bool,
) -> Outcome {
    let congestion = crate::support::control(control, &[], config);
    let mut sender = Sender::new(config, &congestion, total);
    let mut receiver = Receiver::new(total);
    let mut wire: Vec<(Time, u32, InFlight)> = Vec::new();
    let (mut now, mut busy, mut order, mut sent, mut acks) = (Time::ZERO, Time::ZERO, 0, 0, 0);
    for _ in 0..2_000_000 {
        while let Some(segment) = sender.poll_transmit(config, now) {
            let start = now.max(busy);
            busy = start + SERIALIZATION;
            let report = HopReport {
                queue_bytes: ((start - now).0 / SERIALIZATION.0) as u32 * FRAME,
                port: 0,
                sent_bytes: u64::from(sent) * u64::from(FRAME),
                at: start,
                rate: BitRate::gbps(10),
            };
            let lost = lose(sent, segment);
            sent += 1;
            order += 1;
            if !lost {
                let what =
                    if segment.syn { InFlight::Syn(now) } else { InFlight::Data(segment.seq, now, report) };
                wire.push((busy + ONE_WAY, order, what));
            }
        }
        if sender.is_done() {
            assert!(receiver.is_complete());
            let counters = sender.counters();
            return Outcome { counters, finished_at: now, delivered: receiver.delivered() };
        }
        let next = (0..wire.len()).min_by_key(|&i| (wire[i].0, wire[i].1));
        let arrival = next.map_or(Time::MAX, |i| wire[i].0);
        let timer = sender.deadline().min(receiver.deadline()).min(sender.wake_at(config, now));
        assert!(arrival.min(timer) != Time::MAX, "nothing will ever happen again: the flow is stuck");
        now = arrival.min(timer).max(now);
        if arrival > timer {
            if let Some(ack) = receiver.handle_timeout(now) {
                order += 1;
                wire.push((now + ONE_WAY, order, InFlight::Ack(ack, HopReport::default())));
            }
            sender.handle_timeout(config, now);
            continue;
        }
        let (_, _, what) = wire.swap_remove(next.expect("an arrival"));
        let mut answer = None;
        match what {
            InFlight::Syn(echo) => answer = Some(InFlight::SynAck(echo)),
            InFlight::SynAck(echo) => sender.handle_syn_ack(now, echo),
            InFlight::Data(seq, echo, report) => {
                let ack = receiver.handle_data(config, now, seq, echo, false);
                answer = ack.map(|ack| InFlight::Ack(ack, report));
            }
            InFlight::Ack(ack, report) => sender.handle_ack_with_telemetry(config, now, &ack, &[report]),
        }
        if let Some(answer) = answer {
            acks += 1;
            order += 1;
            if !lose_ack(acks - 1) {
                wire.push((now + ONE_WAY, order, answer));
            }
        }
    }
    panic!("the flow did not finish");
}

fn config() -> TcpConfig {
    TcpConfig { initial_window: 20, handshake: true, ..TcpConfig::default() }
}

fn keep_all(_: u32) -> bool {
    false
}

#[test]
fn without_loss_nothing_is_sent_twice() {
    for total in [1, 2, 19, 20, 21, 500] {
        let outcome = run(&config(), total, &mut |_, _| false, &mut keep_all);
        assert_eq!(outcome.delivered, total);
        assert_eq!(outcome.counters, SenderCounters { sent: total, retransmitted: 0, timeouts: 0 });
    }
}

#[test]
fn slow_start_doubles_every_round_trip() {
    // The flow sends 20 + 40 + 80 segments in three windows, after a round trip for the handshake.
    // The round trip is 81.2 us.
    let outcome = run(&config(), 140, &mut |_, _| false, &mut keep_all);
    let rounds = outcome.finished_at.as_secs_f64() / 81.2e-6;
    assert!((4.0..5.3).contains(&rounds), "{rounds} round trips");
}

#[test]
fn one_loss_in_a_window_is_repaired_within_a_round_trip_without_a_timeout() {
    for lost in 1..17 {
        let outcome = run(&config(), 40, &mut |n, _| n == lost + 1, &mut keep_all);
        assert_eq!(outcome.counters.retransmitted, 1, "segment {lost}");
        assert_eq!(outcome.counters.timeouts, 0, "segment {lost}");
        assert!(outcome.finished_at < Time::from_us(500), "segment {lost}: {}", outcome.finished_at);
    }
}

#[test]
fn the_last_segment_is_repaired_by_the_timer() {
    let outcome = run(&config(), 20, &mut |n, _| n == 20, &mut keep_all);
    assert_eq!((outcome.counters.retransmitted, outcome.counters.timeouts), (1, 1));
    assert!(outcome.finished_at > Time::from_ms(10));
    assert!(outcome.finished_at < Time::from_us(10_500));
}

#[test]
fn a_lost_syn_costs_one_initial_timeout() {
    let outcome = run(&config(), 5, &mut |n, _| n == 0, &mut keep_all);
    assert_eq!((outcome.counters.retransmitted, outcome.counters.timeouts), (0, 1));
    assert!(outcome.finished_at > Time::from_ms(10) && outcome.finished_at < Time::from_us(10_300));
}

#[test]
fn a_lost_retransmission_is_repaired_by_the_timer() {
    let mut seen = 0;
    let mut lose = |_: u32, segment: Segment| {
        let hit = segment.seq == 5 && !segment.syn;
        seen += u32::from(hit);
        hit && seen <= 2
    };
    let outcome = run(&config(), 60, &mut lose, &mut keep_all);
    assert_eq!(outcome.counters.timeouts, 1);
    assert_eq!(outcome.delivered, 60);
}

#[test]
fn timeouts_back_off_exponentially() {
    let mut lose = |n: u32, _: Segment| (1..5).contains(&n);
    let outcome = run(&config(), 1, &mut lose, &mut keep_all);
    assert_eq!(outcome.counters.timeouts, 4);
    // The four timeouts of the sender are 10 + 20 + 40 + 80 ms.
    assert!(outcome.finished_at > Time::from_ms(150) && outcome.finished_at < Time::from_ms(151));
}

#[test]
fn lost_acks_cost_nothing_while_later_ones_arrive() {
    let outcome = run(&config(), 300, &mut |_, _| false, &mut |n| n % 3 == 1);
    assert_eq!((outcome.counters.retransmitted, outcome.counters.timeouts), (0, 0));
}

#[test]
fn delayed_acks_halve_the_acks_and_never_stall() {
    let config = TcpConfig { ack_every: 2, ..config() };
    let mut acks = 0;
    let outcome = run(&config, 301, &mut |_, _| false, &mut |_| {
        acks += 1;
        false
    });
    assert_eq!(outcome.counters.timeouts, 0);
    assert!((150..175).contains(&acks), "{acks} ACKs for 301 segments");
}

#[test]
fn limited_transmit_lets_small_windows_recover_without_a_timeout() {
    let small = TcpConfig { initial_window: 3, ..config() };
    let lose = |n: u32, segment: Segment| n == 1 && !segment.syn;
    let with = run(&small, 30, &mut { lose }, &mut keep_all);
    assert_eq!(with.counters.timeouts, 0);
    let without = TcpConfig { limited_transmit: false, ..small };
    let without = run(&without, 30, &mut { lose }, &mut keep_all);
    assert_eq!(without.counters.timeouts, 1);
}

#[test]
fn a_first_flight_that_the_receivers_window_ended_is_repaired() {
    for states in [CongestionStates::Rfc, CongestionStates::Ns3] {
        for lost in [1, 2, 4] {
            let config = TcpConfig { first_flight_limit: 4, states, ..config() };
            let mut first: HashSet<u32> = (0..lost).collect();
            let outcome =
                run(&config, 30, &mut |_, segment| !segment.syn && first.remove(&segment.seq), &mut keep_all);
            assert_eq!(outcome.delivered, 30, "{states:?}, {lost} of the first four lost");
            assert!(outcome.counters.retransmitted >= lost, "{states:?}, {lost} of the first four lost");
            assert!(outcome.finished_at < Time::from_ms(50), "{states:?}, {lost}: {:?}", outcome.finished_at);
        }
    }
}

fn names() -> impl Iterator<Item = &'static str> {
    CONGESTION_CONTROLS.iter().map(|info| info.name)
}

/// Checks a flow of `total` segments, of which `lose(n, segment)` loses some data packets. Every
/// segment must be delivered once, and the number of retransmissions must hardly exceed the number
/// of losses.
fn check_delivery(
    control: &str,
    what: &str,
    total: u32,
    lose: &mut Fate<'_>,
    lose_ack: &mut dyn FnMut(u32) -> bool,
) -> SenderCounters {
    let outcome = run_control(control, &config(), total, lose, lose_ack);
    assert_eq!(outcome.delivered, total, "{control}, {what}");
    assert_eq!(outcome.counters.sent, total + outcome.counters.retransmitted, "{control}, {what}");
    outcome.counters
}

#[test]
fn every_control_delivers_everything_when_the_first_the_last_or_a_retransmission_is_lost() {
    for control in names() {
        for total in [1, 3, 20, 150] {
            let first = check_delivery(control, "first", total, &mut |n, _| n == 1, &mut keep_all);
            assert!(
                first.retransmitted >= 1 && first.timeouts <= 1,
                "{control}, first of {total}: {first:?}"
            );
            let mut seen = false;
            let mut lose = |_: u32, segment: Segment| {
                let hit = segment.seq + 1 == total && !segment.syn && !seen;
                seen |= hit;
                hit
            };
            let last = check_delivery(control, "last", total, &mut lose, &mut keep_all);
            assert_eq!((last.retransmitted, last.timeouts), (1, 1), "{control}, last of {total}");
            let mut copies = 0;
            let mut lose = |_: u32, segment: Segment| {
                let hit = segment.seq == total / 2 && !segment.syn;
                copies += u32::from(hit);
                hit && copies <= 2
            };
            let again = check_delivery(control, "retransmission", total, &mut lose, &mut keep_all);
            assert!(again.retransmitted >= 2 && again.timeouts >= 1, "{control}, {total}: {again:?}");
        }
    }
}

#[test]
fn every_control_repairs_bursts_without_a_timeout_when_the_window_survives() {
    for control in names() {
        for burst in 1..=30 {
            let config = TcpConfig { initial_window: 64, ..config() };
            let mut lose = |n: u32, _: Segment| (10..10 + burst).contains(&n);
            let outcome = run_control(control, &config, 200, &mut lose, &mut keep_all);
            assert_eq!(outcome.delivered, 200, "{control}, burst of {burst}");
            assert_eq!(outcome.counters.timeouts, 0, "{control}, burst of {burst}");
            assert_eq!(outcome.counters.retransmitted, burst, "{control}, burst of {burst}");
        }
    }
}

#[test]
fn no_control_needs_every_ack() {
    for control in names() {
        let third = check_delivery(control, "ACKs", 300, &mut |_, _| false, &mut |n| n % 3 == 1);
        assert_eq!((third.retransmitted, third.timeouts), (0, 0), "{control}");
        let mut acks = 0;
        check_delivery(control, "ACK bursts", 300, &mut |_, _| false, &mut |_| {
            acks += 1;
            (40..70).contains(&acks)
        });
    }
}

#[test]
fn ten_thousand_random_loss_patterns_end_with_every_segment_delivered_once() {
    for seed in 0..10_000 {
        let mut stream = RandomStream::new(seed, "loss", 0);
        let mut acks = RandomStream::new(seed, "ack-loss", 0);
        let total = 1 + stream.below(120) as u32;
        let config = TcpConfig {
            initial_window: 1 + stream.below(40) as u32,
            handshake: stream.below(2) == 0,
            ack_every: 1 + stream.below(2) as u32,
            proportional_rate_reduction: stream.below(2) == 0,
            limited_transmit: stream.below(2) == 0,
            ..TcpConfig::default()
        };
        let loss = [0.0, 0.01, 0.1, 0.4][stream.below(4) as usize];
        let ack_loss = [0.0, 0.05, 0.3][stream.below(3) as usize];
        let control = CONGESTION_CONTROLS[seed as usize % CONGESTION_CONTROLS.len()].name;
        let mut lose = move |_: u32, _: Segment| stream.next_f64() < loss;
        let mut lose_ack = move |_: u32| acks.next_f64() < ack_loss;
        let outcome = run_control(control, &config, total, &mut lose, &mut lose_ack);
        assert_eq!(outcome.delivered, total, "seed {seed}, {control}");
        assert_eq!(outcome.counters.sent, total + outcome.counters.retransmitted, "seed {seed}, {control}");
    }
}
