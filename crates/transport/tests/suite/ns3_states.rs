//! Tests of the sender states of ns-3 for the `artifact` profile, where these states differ from
//! the RFCs.

use crate::support::control;
use bufferlab_transport::{Ack, ConfiguredControl, CongestionStates, Phase, Receiver, Sender, TcpConfig};
use bufferlab_units::{RandomStream, Time};

const TOTAL: u32 = 20;

fn dctcp(config: &TcpConfig) -> ConfiguredControl {
    control("dctcp", &[], config)
}

fn config(states: CongestionStates) -> TcpConfig {
    TcpConfig { initial_window: TOTAL, states, ..TcpConfig::default() }
}

/// A sender that has all segments of a flow in flight.
fn sender(config: &TcpConfig) -> Sender {
    let mut sender = Sender::new(config, &dctcp(config), TOTAL);
    while sender.poll_transmit(config, Time::ZERO).is_some() {}
    assert_eq!(sender.in_flight(), TOTAL);
    sender
}

fn ack(cumulative: u32, sack: (u32, u32), marked: bool) -> Ack {
    Ack { cumulative, sack, echo: Time::ZERO, marked }
}

/// A sender after a mark on segment 0, the loss of segment 1, and the arrival of segments 2,
/// 3 and 4.
fn mark_and_then_loss(config: &TcpConfig) -> Sender {
    let mut sender = sender(config);
    let now = Time::from_us(100);
    sender.handle_ack(config, now, &ack(1, (0, 0), true));
    for end in 3..6 {
        sender.handle_ack(config, now, &ack(1, (2, end), false));
    }
    sender
}

#[test]
fn a_loss_after_a_mark_starts_a_recovery_as_the_rfcs_say() {
    assert_eq!(mark_and_then_loss(&config(CongestionStates::Rfc)).phase(), Phase::Recovery);
}

#[test]
fn a_loss_after_a_mark_starts_no_recovery_in_ns3_but_is_sent_again() {
    let config = config(CongestionStates::Ns3);
    let mut sender = mark_and_then_loss(&config);
    assert_eq!(sender.phase(), Phase::Reduction);
    let segment = sender.poll_transmit(&config, Time::from_us(100)).expect("the lost segment fits");
    assert_eq!((segment.seq, segment.retransmission), (1, true));
}

#[test]
fn a_mark_takes_over_a_recovery_in_ns3() {
    let config = config(CongestionStates::Ns3);
    let mut sender = sender(&config);
    let now = Time::from_us(100);
    for end in 2..5 {
        sender.handle_ack(&config, now, &ack(0, (1, end), false));
    }
    assert_eq!(sender.phase(), Phase::Recovery);
    sender.handle_ack(&config, now, &ack(4, (0, 0), true));
    assert_eq!(sender.phase(), Phase::Reduction);
}

#[test]
fn a_reduction_by_mark_is_gradual_and_ends_beyond_the_recovery_point() {
    let config = config(CongestionStates::Ns3);
    let mut sender = Sender::new(&config, &dctcp(&config), 100);
    let mut now = Time::from_us(100);
    while sender.poll_transmit(&config, now).is_some() {}
    sender.handle_ack(&config, now, &ack(1, (0, 0), true));
    let (first, target) = (sender.window().size, sender.window().slow_start_threshold);
    assert!(target < first, "the window is not cut at once: {first} > {target}");
    for acknowledged in 2..=TOTAL {
        assert_eq!(sender.phase(), Phase::Reduction);
        now += Time::from_us(1);
        while sender.poll_transmit(&config, now).is_some() {}
        sender.handle_ack(&config, now, &ack(acknowledged, (0, 0), false));
    }
    assert_eq!(sender.phase(), Phase::Reduction, "acknowledging the recovery point itself is not enough");
    sender.handle_ack(&config, now, &ack(TOTAL + 1, (0, 0), false));
    assert_eq!(sender.phase(), Phase::Open);
    assert!((sender.window().size - target).abs() <= 1.0, "{} is not {target}", sender.window().size);
}

#[test]
fn only_marks_on_new_segments_are_echoed_in_ns3() {
    for (states, echoed) in [(CongestionStates::Rfc, true), (CongestionStates::Ns3, false)] {
        let config = config(states);
        let mut receiver = Receiver::new(TOTAL);
        let mut deliver = |seq| receiver.handle_data(&config, Time::ZERO, seq, Time::ZERO, true);
        assert!(deliver(0).is_some_and(|ack| ack.marked));
        assert!(deliver(5).is_some_and(|ack| ack.marked), "out of order, but newer than all marked ones");
        assert_eq!(deliver(1).map(|ack| ack.marked), Some(echoed), "{states:?}: a retransmission");
    }
}

/// Losses and marks are random. The wire delivers one packet per microsecond, with a delay of 80
/// us. The flow must always end.
#[test]
fn two_thousand_random_patterns_of_losses_and_marks_end() {
    for seed in 0..2_000 {
        let mut stream = RandomStream::new(seed, "ns3-states", 0);
        let total = 1 + stream.below(90) as u32;
        let (loss, mark) = (stream.below(40), stream.below(100));
        let config = TcpConfig {
            initial_window: 1 + stream.below(90) as u32,
            last_resort: bufferlab_transport::LastResort::Everything,
            ..config(CongestionStates::Ns3)
        };
        let mut sender = Sender::new(&config, &dctcp(&config), total);
        let mut receiver = Receiver::new(total);
        let mut wire = std::collections::VecDeque::new();
        let (mut now, mut steps) = (Time::ZERO, 0);
        while !sender.is_done() {
            steps += 1;
            assert!(steps < 1_000_000, "seed {seed} stalls");
            while let Some(segment) = sender.poll_transmit(&config, now) {
                if stream.below(100) >= loss {
                    wire.push_back((now, segment.seq, stream.below(100) < mark));
                }
            }
            if let Some((sent, seq, marked)) = wire.pop_front() {
                now = (now + Time::from_us(1)).max(sent + Time::from_us(80));
                if let Some(ack) = receiver.handle_data(&config, now, seq, sent, marked) {
                    sender.handle_ack(&config, now, &ack);
                }
            } else {
                assert!(sender.deadline() < Time::MAX, "seed {seed}: nothing in flight and no timer");
                now = now.max(sender.deadline());
            }
            sender.handle_timeout(&config, now);
        }
        assert!(receiver.is_complete(), "seed {seed}");
    }
}

/// A sender with twenty segments in flight. Segments 0 and 1 are lost, and SACKs report three later
/// segments.
fn two_losses(control_name: &str, states: CongestionStates) -> (TcpConfig, Sender) {
    let config = config(states);
    let mut sender = Sender::new(&config, &control(control_name, &[], &config), TOTAL);
    let mut now = Time::ZERO;
    while sender.in_flight() < TOTAL {
        assert!(sender.poll_transmit(&config, now).is_some(), "{control_name}");
        now = sender.wake_at(&config, now).min(now + Time::from_us(10));
    }
    for end in 3..6 {
        sender.handle_ack(&config, Time::from_us(100), &ack(0, (2, end), false));
    }
    (config, sender)
}

#[test]
fn controls_that_set_the_window_once_per_round_trip_repair_one_hole_at_a_time_in_ns3() {
    for name in ["theta-powertcp", "timely"] {
        let (config, mut sender) = two_losses(name, CongestionStates::Ns3);
        assert_eq!(sender.phase(), Phase::Recovery, "{name}");
        let first = sender.poll_transmit(&config, Time::from_us(200)).expect("the first hole");
        assert_eq!((first.seq, first.retransmission), (0, true), "{name}");
        assert_eq!(sender.poll_transmit(&config, Time::from_us(900)), None, "{name}");
        // The acknowledgement of the first lost segment lets the sender repeat the second lost
        // segment.
        sender.handle_ack(&config, Time::from_us(1_000), &ack(1, (2, 5), false));
        let second = sender.poll_transmit(&config, Time::from_us(2_000)).expect("the next hole");
        assert_eq!((second.seq, second.retransmission), (1, true), "{name}");
    }
    // If a control sets the window at every acknowledgement, the recovery does not affect the
    // window.
    for name in ["powertcp", "hpcc"] {
        let (config, mut sender) = two_losses(name, CongestionStates::Ns3);
        let mut resent = Vec::new();
        for now in [200, 900, 1_600] {
            resent.extend(sender.poll_transmit(&config, Time::from_us(now)).map(|segment| segment.seq));
        }
        assert_eq!(resent[..2], [0, 1], "{name}");
    }
}
