//! Loss recovery on a virtual wire: whatever is lost, every segment is delivered once and no flow stalls.

use bufferlab_transport::{
    Ack, Receiver, Segment, Sender, SenderCounters, TcpConfig, find_congestion_control,
};
use bufferlab_units::{RandomStream, Time};

const ONE_WAY: Time = Time::from_us(40);
const SERIALIZATION: Time = Time::from_ns(1_200);

/// What the wire does to the n-th transmission of a direction.
type Fate<'a> = dyn FnMut(u32, Segment) -> bool + 'a;

/// Outcome of a flow.
struct Outcome {
    counters: SenderCounters,
    finished_at: Time,
    /// How often each segment was delivered for the first time; exactly one each.
    delivered: u32,
}

#[derive(Clone, Copy, Debug)]
enum InFlight {
    Syn(Time),
    SynAck(Time),
    Data(u32, Time),
    Ack(Ack),
}

/// Runs one flow over a link of 10 Gb/s and 80 us; `lose(n, segment)` decides on the n-th data packet and `lose_ack(n)`
/// on the n-th ACK.
fn run(
    config: &TcpConfig,
    total: u32,
    lose: &mut Fate<'_>,
    lose_ack: &mut dyn FnMut(u32) -> bool,
) -> Outcome {
    let congestion = find_congestion_control("newreno").expect("registered");
    let mut sender = Sender::new(config, congestion, total);
    let mut receiver = Receiver::new(total);
    let mut wire: Vec<(Time, u32, InFlight)> = Vec::new();
    let (mut now, mut busy, mut order, mut sent, mut acks) = (Time::ZERO, Time::ZERO, 0, 0, 0);
    for _ in 0..2_000_000 {
        while let Some(segment) = sender.poll_transmit(config, now) {
            let start = now.max(busy);
            busy = start + SERIALIZATION;
            let lost = lose(sent, segment);
            sent += 1;
            order += 1;
            if !lost {
                let what = if segment.syn { InFlight::Syn(now) } else { InFlight::Data(segment.seq, now) };
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
        let timer = sender.deadline().min(receiver.deadline());
        assert!(arrival.min(timer) != Time::MAX, "nothing will ever happen again: the flow is stuck");
        now = arrival.min(timer).max(now);
        if arrival > timer {
            if let Some(ack) = receiver.handle_timeout(now) {
                order += 1;
                wire.push((now + ONE_WAY, order, InFlight::Ack(ack)));
            }
            sender.handle_timeout(config, now);
            continue;
        }
        let (_, _, what) = wire.swap_remove(next.expect("an arrival"));
        let mut answer = None;
        match what {
            InFlight::Syn(echo) => answer = Some(InFlight::SynAck(echo)),
            InFlight::SynAck(echo) => sender.handle_syn_ack(now, echo),
            InFlight::Data(seq, echo) => {
                answer = receiver.handle_data(config, now, seq, echo, false).map(InFlight::Ack);
            }
            InFlight::Ack(ack) => sender.handle_ack(config, now, &ack),
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
    // 20 + 40 + 80 segments in three windows, after a round trip for the handshake; the round trip is 81.2 us.
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
    // 10 + 20 + 40 + 80 ms.
    assert!(outcome.finished_at > Time::from_ms(150) && outcome.finished_at < Time::from_ms(151));
}

#[test]
fn bursts_of_losses_need_one_timeout_at_most_when_the_window_survives() {
    for burst in 1..=30 {
        let config = TcpConfig { initial_window: 64, ..config() };
        let outcome = run(&config, 200, &mut |n, _| (10..10 + burst).contains(&n), &mut keep_all);
        assert_eq!(outcome.counters.retransmitted, burst, "burst of {burst}");
        assert_eq!(outcome.counters.timeouts, 0, "burst of {burst}");
    }
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
        let outcome = run(&config, total, &mut move |_, _| stream.next_f64() < loss, &mut move |_| {
            acks.next_f64() < ack_loss
        });
        assert_eq!(outcome.delivered, total, "seed {seed}");
        assert_eq!(outcome.counters.sent, total + outcome.counters.retransmitted, "seed {seed}");
    }
}
