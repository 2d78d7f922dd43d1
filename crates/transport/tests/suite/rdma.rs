//! Tests of queue pairs on a virtual wire. With any losses, every segment is delivered once, both
//! with go-back-N and with selective repeat.

use bufferlab_transport::rdma::{Notification, QueuePair, RdmaAck, RdmaConfig, Recovery, Responder};
use bufferlab_transport::{CONGESTION_CONTROLS, HopReport, Segment, SenderCounters, TcpConfig};
use bufferlab_units::{BitRate, RandomStream, Time};

const ONE_WAY: Time = Time::from_us(4);
/// Serialization time of a segment of 1,250 B at 25 Gb/s.
const SERIALIZATION: Time = Time::from_ns(400);
const FRAME: u32 = 1_250;
const BOTH: [Recovery; 2] = [Recovery::GoBackN, Recovery::SelectiveRepeat];

fn config(recovery: Recovery) -> TcpConfig {
    TcpConfig {
        initial_window: 64,
        line_rate: BitRate::gbps(25),
        base_rtt: Time::from_us(9),
        segment_wire_bytes: FRAME,
        rdma: RdmaConfig {
            recovery,
            retransmission_timeout: Time::from_us(100),
            window_limit: 64,
            ..RdmaConfig::default()
        },
        ..TcpConfig::default()
    }
}

struct Outcome {
    counters: SenderCounters,
    finished_at: Time,
    delivered: u32,
    nacks: u32,
    notifications: u32,
}

#[derive(Clone, Copy)]
enum InFlight {
    Data(u32, Time, HopReport, bool),
    Ack(RdmaAck, HopReport),
    Notification,
}

/// Faults of the wire: the lost transmissions in either direction, and the marked segments.
struct WireFaults<'a> {
    lose: &'a mut dyn FnMut(u32, Segment) -> bool,
    lose_ack: &'a mut dyn FnMut(u32) -> bool,
    mark: &'a mut dyn FnMut(u32) -> bool,
}

fn run(control: &str, config: &TcpConfig, total: u32, wire: &mut WireFaults<'_>) -> Outcome {
    let congestion = crate::support::control(control, &[], config);
    let (mut sender, mut responder) = (QueuePair::new(config, &congestion, total), Responder::new(total));
    let mut pipe: Vec<(Time, u32, InFlight)> = Vec::new();
    let (mut now, mut busy, mut order, mut sent, mut acks) = (Time::ZERO, Time::ZERO, 0, 0, 0);
    let (mut nacks, mut notifications) = (0, 0);
    for _ in 0..200_000 {
        // The NIC takes a segment when the previous segment has left.
        if busy <= now
            && let Some(segment) = sender.poll_transmit(config, now)
        {
            busy = now + SERIALIZATION;
            let report = HopReport {
                queue_bytes: 0,
                port: 0,
                sent_bytes: u64::from(sent) * u64::from(FRAME),
                at: now,
                rate: BitRate::gbps(25),
            };
            order += 1;
            sent += 1;
            if !(wire.lose)(sent - 1, segment) {
                let data = InFlight::Data(segment.seq, now, report, (wire.mark)(sent - 1));
                pipe.push((busy + ONE_WAY, order, data));
            }
        }
        if sender.is_done() {
            assert!(responder.is_complete(), "the sender knows what has arrived");
            let (counters, delivered) = (sender.counters(), responder.delivered());
            return Outcome { counters, finished_at: now, delivered, nacks, notifications };
        }
        let next = (0..pipe.len()).min_by_key(|&at| (pipe[at].0, pipe[at].1));
        let arrival = next.map_or(Time::MAX, |at| pipe[at].0);
        let card =
            if sender.wants_to_send(config, now) { busy } else { sender.wake_at(config, now).max(busy) };
        let timer = sender.deadline().min(responder.deadline()).min(card);
        assert!(arrival.min(timer) != Time::MAX, "nothing will ever happen again: the message is stuck");
        now = arrival.min(timer).max(now);
        let mut answers = Vec::new();
        if arrival > timer {
            if let Some(ack) = responder.handle_timeout(now) {
                answers.push(InFlight::Ack(ack, HopReport::default()));
            }
            sender.handle_timeout(config, now);
        } else {
            match pipe.swap_remove(next.expect("an arrival")).2 {
                InFlight::Data(seq, echo, report, marked) => {
                    let before = responder.delivered();
                    let response = responder.handle_data(&config.rdma, now, seq, echo, marked);
                    assert!(responder.delivered() >= before, "what was delivered stays so");
                    if response.notify {
                        notifications += 1;
                        answers.push(InFlight::Notification);
                    }
                    answers.extend(response.ack.map(|ack| InFlight::Ack(ack, report)));
                    nacks += u32::from(response.ack.is_some_and(|ack| ack.negative));
                }
                InFlight::Ack(ack, report) => {
                    sender.handle_ack_with_telemetry(config, now, &ack, &[report]);
                }
                InFlight::Notification => sender.handle_notification(config, now),
            }
        }
        for answer in answers {
            acks += 1;
            order += 1;
            if !(wire.lose_ack)(acks - 1) {
                pipe.push((now + ONE_WAY, order, answer));
            }
        }
    }
    panic!("{control}: the message does not end");
}

fn transfer(config: &TcpConfig, total: u32, lose: &mut dyn FnMut(u32, Segment) -> bool) -> Outcome {
    let mut wire = WireFaults { lose, lose_ack: &mut |_| false, mark: &mut |_| false };
    run("dcqcn", config, total, &mut wire)
}

#[test]
fn without_loss_a_message_goes_at_line_rate_and_takes_one_round_trip_more() {
    for recovery in BOTH {
        let outcome = transfer(&config(recovery), 1_000, &mut |_, _| false);
        assert_eq!((outcome.counters.sent, outcome.nacks, outcome.delivered), (1_000, 0, 1_000));
        assert_eq!(outcome.finished_at, Time(1_000 * SERIALIZATION.0) + ONE_WAY + ONE_WAY);
    }
}

#[test]
fn go_back_n_sends_one_nack_per_gap_and_everything_after_it_again() {
    let config = config(Recovery::GoBackN);
    let outcome = transfer(&config, 100, &mut |n, _| n == 10);
    // The receiver detects the gap when segment 11 arrives, one propagation delay after it was
    // sent. When the negative acknowledgement arrives, the NIC has just taken one more segment.
    let in_flight = (SERIALIZATION.0 + 2 * ONE_WAY.0) / SERIALIZATION.0 + 2;
    assert_eq!((outcome.nacks, outcome.counters.timeouts), (1, 0));
    assert_eq!(u64::from(outcome.counters.retransmitted), in_flight);
    assert_eq!(outcome.delivered, 100);
}

#[test]
fn selective_repeat_sends_only_what_was_lost_again() {
    let config = config(Recovery::SelectiveRepeat);
    for lost in [vec![10], vec![3, 4, 5, 20], (10..40).collect()] {
        let outcome = transfer(&config, 100, &mut |n, _| lost.contains(&n));
        assert_eq!((outcome.counters.retransmitted, outcome.counters.timeouts), (lost.len() as u32, 0));
        assert_eq!(outcome.delivered, 100);
    }
}

#[test]
fn a_lost_nack_is_repeated_by_interval_and_else_waits_for_the_timeout() {
    let patient = config(Recovery::GoBackN);
    let again = TcpConfig {
        rdma: RdmaConfig { nack_interval: Time::from_us(10), ..patient.rdma.clone() },
        ..patient.clone()
    };
    for (config, timeouts) in [(patient, 1), (again, 0)] {
        let mut nacked = false;
        // ACKs 0 to 9 are for segments before the gap. ACK number 10 is the first negative ACK.
        let mut lose_ack = |n: u32| n == 10 && !std::mem::replace(&mut nacked, true);
        let mut wire =
            WireFaults { lose: &mut |n, _| n == 10, lose_ack: &mut lose_ack, mark: &mut |_| false };
        let outcome = run("dcqcn", &config, 60, &mut wire);
        assert_eq!((outcome.counters.timeouts, outcome.delivered), (timeouts, 60));
    }
}

#[test]
fn the_first_the_last_and_a_retransmission_may_be_lost() {
    for recovery in BOTH {
        for total in [1, 2, 20, 150] {
            for victim in [0, total / 2, total - 1] {
                for copies in 1..4 {
                    let mut lost = 0;
                    let outcome = transfer(&config(recovery), total, &mut |_, segment| {
                        let hit = segment.seq == victim && lost < copies;
                        lost += u32::from(hit);
                        hit
                    });
                    assert_eq!(outcome.delivered, total, "{recovery:?}: {copies} x {victim} of {total}");
                    let Outcome { counters, .. } = outcome;
                    assert_eq!(counters.sent, total + counters.retransmitted);
                    assert!(counters.retransmitted >= copies && counters.timeouts <= copies);
                }
            }
        }
    }
}

#[test]
fn without_a_timeout_a_lost_tail_is_lost_for_ever() {
    let mut config = config(Recovery::GoBackN);
    config.rdma.retransmission_timeout = Time::MAX;
    let sender = QueuePair::new(&config, &crate::support::control("dcqcn", &[], &config), 5);
    let mut sender = sender;
    while sender.poll_transmit(&config, Time::ZERO).is_some() {}
    assert_eq!(sender.deadline(), Time::MAX);
}

#[test]
fn coalesced_acks_come_for_every_nth_segment_and_the_last() {
    for recovery in BOTH {
        let mut config = config(recovery);
        config.rdma.ack_every = 4;
        let congestion = crate::support::control("dcqcn", &[], &config);
        let (mut sender, mut responder) = (QueuePair::new(&config, &congestion, 10), Responder::new(10));
        let mut acked = Vec::new();
        while let Some(segment) = sender.poll_transmit(&config, Time::ZERO) {
            let response =
                responder.handle_data(&config.rdma, Time::ZERO, segment.seq, Time::ZERO, segment.seq == 5);
            acked.extend(response.ack.map(|ack| (ack.cumulative, ack.notified)));
        }
        assert_eq!(acked, [(4, false), (8, false), (10, false)], "frames tell of marks, ACKs do not");
        // One of the segments that the coalesced ACK covers was marked.
        config.rdma.notification = Notification::Acks;
        let mut responder = Responder::new(10);
        let acks = (0..10).filter_map(|seq| {
            let ack = responder.handle_data(&config.rdma, Time::ZERO, seq, Time::ZERO, seq == 5).ack?;
            Some((ack.cumulative, ack.notified))
        });
        assert_eq!(acks.collect::<Vec<_>>(), [(4, false), (8, true), (10, false)]);
        // The window is smaller than `ack_every`, so the delayed-ACK timer releases the ACKs.
        config.rdma.window_limit = 2;
        assert_eq!(transfer(&config, 10, &mut |_, _| false).delivered, 10);
    }
}

#[test]
fn notifications_are_fifty_microseconds_apart_however_many_segments_are_marked() {
    let config = config(Recovery::GoBackN);
    let mut responder = Responder::new(1_000);
    let notified = (0..1_000).filter(|&seq| {
        let now = Time(u64::from(seq) * SERIALIZATION.0);
        responder.handle_data(&config.rdma, now, seq, now, true).notify
    });
    let notified: Vec<_> = notified.map(|seq| Time(u64::from(seq) * SERIALIZATION.0)).collect();
    assert_eq!(notified, (0..8).map(|k| Time::from_us(50 * k)).collect::<Vec<_>>());
    let mut wire = WireFaults { lose: &mut |_, _| false, lose_ack: &mut |_| false, mark: &mut |_| true };
    let outcome = run("dcqcn", &config, 1_000, &mut wire);
    assert!(
        outcome.notifications > 10 && outcome.finished_at > Time(1_500 * SERIALIZATION.0),
        "they slow it down"
    );
}

#[test]
fn ten_thousand_random_loss_patterns_end_with_every_segment_delivered_once() {
    let controls: Vec<_> =
        CONGESTION_CONTROLS.iter().filter(|info| info.owns_window).map(|info| info.name).collect();
    for seed in 0..10_000 {
        let mut stream = RandomStream::new(seed, "loss", 0);
        let mut acks = RandomStream::new(seed, "ack-loss", 0);
        let mut marks = RandomStream::new(seed, "marks", 0);
        let total = 1 + stream.below(120) as u32;
        let mut config = config(BOTH[stream.below(2) as usize]);
        config.rdma.window_limit = [1, 7, 64, u32::MAX][stream.below(4) as usize];
        config.rdma.ack_every = 1 + stream.below(4) as u32;
        config.rdma.nack_interval = [Time::MAX, Time::from_us(20)][stream.below(2) as usize];
        if stream.below(2) == 0 {
            config.rdma.notification = Notification::Acks;
        }
        let loss = [0.0, 0.01, 0.1, 0.4][stream.below(4) as usize];
        let ack_loss = [0.0, 0.05, 0.3][stream.below(3) as usize];
        let marking = [0.0, 0.02][stream.below(2) as usize];
        let control = controls[seed as usize % controls.len()];
        let mut wire = WireFaults {
            lose: &mut |_, _| stream.next_f64() < loss,
            lose_ack: &mut |_| acks.next_f64() < ack_loss,
            mark: &mut |_| marks.next_f64() < marking,
        };
        let outcome = run(control, &config, total, &mut wire);
        assert_eq!(outcome.delivered, total, "seed {seed}, {control}");
        assert_eq!(outcome.counters.sent, total + outcome.counters.retransmitted, "seed {seed}, {control}");
    }
}
