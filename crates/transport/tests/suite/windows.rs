//! Tests of the growth of congestion windows, and of the sending times of paced senders.

use crate::support::control;
use bufferlab_transport::{Ack, CongestionStates, Sender, TcpConfig};
use bufferlab_units::{BitRate, Time};

fn sender(name: &str, config: &TcpConfig, total: u32) -> Sender {
    Sender::new(config, &control(name, &[], config), total)
}

fn ack(cumulative: u32) -> Ack {
    Ack { cumulative, sack: (0, 0), echo: Time::ZERO, marked: false }
}

/// Lets the sender send `count` segments of its flow.
fn send(sender: &mut Sender, config: &TcpConfig, now: Time, count: u32) {
    for n in 0..count {
        assert!(sender.poll_transmit(config, now).is_some(), "segment {n} of {count}");
    }
}

#[test]
fn a_window_that_the_card_never_fills_does_not_grow() {
    let config = TcpConfig { initial_window: 20, ..TcpConfig::default() };
    for name in ["newreno", "ecn-star", "dctcp", "cubic", "swift"] {
        let mut sender = sender(name, &config, 1_000);
        let mut now = Time::ZERO;
        for round in 0..10 {
            // Other flows of the host also send in turn, so this flow sends seven segments per
            // round trip.
            send(&mut sender, &config, now, 7);
            now += Time::from_us(80);
            for n in 1..=7 {
                sender.handle_ack(&config, now, &Ack { echo: now - Time::from_us(80), ..ack(7 * round + n) });
            }
        }
        assert_eq!(sender.window().size, 20.0, "{name}");
    }
}

#[test]
fn a_window_grows_for_one_round_trip_after_it_was_full() {
    let config = TcpConfig { initial_window: 10, ..TcpConfig::default() };
    let mut sender = sender("newreno", &config, 1_000);
    send(&mut sender, &config, Time::ZERO, 10);
    assert!(sender.poll_transmit(&config, Time::ZERO).is_none(), "the window is full");
    let now = Time::from_us(80);
    // The window is full after ten segments, so the sender sends no more segments before the ACKs.
    for n in 1..=10 {
        sender.handle_ack(&config, now, &ack(n));
        assert_eq!(sender.window().size, f64::from(10 + n));
    }
    // After the first burst, the NIC takes 15 segments per round trip of the 20 that the window
    // allows.
    send(&mut sender, &config, now, 15);
    for n in 11..=25 {
        sender.handle_ack(&config, now + Time::from_us(80), &ack(n));
    }
    assert_eq!(sender.window().size, 20.0);
}

#[test]
fn in_ns3_a_window_is_spent_when_its_segments_reach_the_card_and_grows_in_any_case() {
    let config = TcpConfig { initial_window: 20, states: CongestionStates::Ns3, ..TcpConfig::default() };
    let mut sender = sender("dctcp", &config, 1_000);
    send(&mut sender, &config, Time::ZERO, 7);
    for n in 1..=7 {
        sender.handle_ack(&config, Time::from_us(80), &ack(n));
    }
    assert_eq!(sender.window().size, 27.0);
}

#[test]
fn a_paced_sender_keeps_its_gap_and_says_when_to_poll_it() {
    // A window of half a bandwidth-delay product gives a rate of 5 Gb/s on a link of 10 Gb/s.
    let config = TcpConfig {
        initial_window: 50,
        segment_wire_bytes: 1_000,
        line_rate: BitRate::gbps(10),
        base_rtt: Time::from_us(80),
        ..TcpConfig::default()
    };
    let gap = Time::from_ns(1_600);
    let mut sender = sender("hpcc", &config, 1_000);
    let mut now = Time::ZERO;
    for n in 0..10 {
        assert!(sender.wants_to_send(&config, now), "segment {n}");
        send(&mut sender, &config, now, 1);
        assert!(sender.poll_transmit(&config, now).is_none(), "not before its time");
        assert_eq!(sender.wake_at(&config, now), now + gap);
        now += gap;
    }
    // After a delay of half a gap, the next segment is on time. After a delay of
    // many gaps, no burst follows.
    send(&mut sender, &config, now + Time::from_ns(800), 1);
    assert_eq!(sender.wake_at(&config, now + Time::from_ns(800)), now + gap);
    let late = now + Time::from_us(20);
    send(&mut sender, &config, late, 1);
    assert_eq!(sender.wake_at(&config, late), late + gap);
    // While the window limits the sender, the sender's pace has no effect.
    let mut now = late;
    while sender.in_flight() < 50 {
        now = sender.wake_at(&config, now);
        send(&mut sender, &config, now, 1);
    }
    assert_eq!(sender.wake_at(&config, now), Time::MAX);
    assert_eq!(sender.wake_at(&config, now + gap), Time::MAX);
    // The next ACK leaves space in the window, so the sender may send again.
    sender.handle_ack(&config, now + gap, &ack(1));
    assert!(sender.wants_to_send(&config, now + gap));
}

#[test]
fn a_control_that_governs_its_window_keeps_it_through_losses_and_begins_anew_with_one_segment_after_a_timeout()
 {
    let config = TcpConfig { initial_window: 30, ..TcpConfig::default() };
    for name in ["hpcc", "powertcp", "theta-powertcp"] {
        let mut sender = sender(name, &config, 1_000);
        let mut now = Time::ZERO;
        while sender.in_flight() < 30 {
            send(&mut sender, &config, now, 1);
            now = sender.wake_at(&config, now).min(now + Time::from_us(5));
        }
        let rtt = Time::from_us(100);
        let before = sender.window().size;
        for end in 2..6 {
            sender.handle_ack(&config, now + rtt, &Ack { sack: (1, end), ..ack(0) });
        }
        assert_eq!(sender.window().size, before, "{name}");
        let segment = sender.poll_transmit(&config, now + rtt).expect("the lost segment goes out");
        assert_eq!((segment.seq, segment.retransmission), (0, true), "{name}");
        let timeout = sender.deadline();
        assert!(sender.handle_timeout(&config, timeout), "{name}");
        assert_eq!(sender.window().size, 1.0, "{name}");
        send(&mut sender, &config, timeout, 1);
        sender.handle_ack(&config, timeout + rtt, &ack(5));
        // The control sets the window again at once, because θ-PowerTCP reads a round trip that
        // rose within zero time as high power.
        assert!(sender.window().size >= 10.0, "{name}: {:?}", sender.window());
    }
}
