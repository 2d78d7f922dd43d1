//! Tests of the bursts of a sender with large send offload, and of closed and resumed senders.

use crate::support::control;
use bufferlab_transport::{Ack, Sender, TcpConfig};
use bufferlab_units::Time;

fn config(burst_segments: u32, initial_window: u32) -> TcpConfig {
    TcpConfig { burst_segments, initial_window, ..TcpConfig::default() }
}

fn sender(config: &TcpConfig, total: u32) -> Sender {
    Sender::new(config, &control("newreno", &[], config), total)
}

/// Number of segments that the sender sends at the time `now`.
fn sends(sender: &mut Sender, config: &TcpConfig, now: Time) -> u32 {
    let mut count = 0;
    while sender.poll_transmit(config, now).is_some() {
        count += 1;
    }
    count
}

fn ack(sender: &mut Sender, config: &TcpConfig, now: Time, cumulative: u32) {
    sender.handle_ack(config, now, &Ack { cumulative, sack: (0, 0), echo: Time::ZERO, marked: false });
}

/// Numbers of segments that the sender sends after each of `acks` ACKs of one segment.
fn after_each_ack(burst_segments: u32, acks: u32) -> Vec<u32> {
    let config = config(burst_segments, 12);
    let mut sender = sender(&config, 10_000);
    let now = Time::from_us(100);
    assert_eq!(sends(&mut sender, &config, Time::ZERO), 12, "the first window goes at once");
    (1..=acks)
        .map(|n| {
            ack(&mut sender, &config, now, n);
            sends(&mut sender, &config, now)
        })
        .collect()
}

#[test]
fn without_offload_every_ack_releases_two_segments_of_slow_start() {
    assert_eq!(after_each_ack(1, 6), [2; 6]);
}

#[test]
fn a_burst_waits_for_a_third_of_the_window() {
    // With each ACK, the window grows by one and one segment leaves. The free space of the window
    // is 2, then 4 segments, a third of the window of 14. Later the free space is 2, 4, then 6
    // segments, and a third of the window of 17 is 5.
    assert_eq!(after_each_ack(44, 8), [0, 4, 0, 0, 6, 0, 0, 6]);
}

#[test]
fn a_burst_is_no_longer_than_the_card_takes() {
    assert_eq!(after_each_ack(4, 4), [0, 4, 0, 4]);
}

#[test]
fn the_rest_of_a_message_does_not_wait() {
    let config = config(44, 12);
    let mut sender = sender(&config, 14);
    assert_eq!(sends(&mut sender, &config, Time::ZERO), 12);
    ack(&mut sender, &config, Time::from_us(100), 1);
    assert_eq!(sends(&mut sender, &config, Time::from_us(100)), 2);
}

#[test]
fn a_burst_goes_on_when_a_loss_becomes_known() {
    let config = config(44, 12);
    let mut sender = sender(&config, 10_000);
    let now = Time::from_us(100);
    for _ in 0..6 {
        assert!(sender.poll_transmit(&config, Time::ZERO).is_some());
    }
    assert!(sender.in_burst());
    // The receiver has segments 1 to 4, but not segment 0.
    for end in 2..=5 {
        let block = Ack { cumulative: 0, sack: (1, end), echo: Time::ZERO, marked: false };
        sender.handle_ack(&config, now, &block);
    }
    let rest: Vec<_> = (0..6).map(|_| sender.poll_transmit(&config, now).expect("a burst")).collect();
    assert!(rest.iter().all(|segment| !segment.retransmission), "the card has them already: {rest:?}");
    assert!(!sender.in_burst());
    let again = sender.poll_transmit(&config, now).expect("the lost segment");
    assert!(again.retransmission && again.seq == 0);
}

#[test]
fn a_closed_sender_sends_nothing_new_and_is_done_with_its_last_ack() {
    let config = config(1, 10);
    let mut sender = sender(&config, u32::MAX);
    assert_eq!(sends(&mut sender, &config, Time::ZERO), 10);
    assert_eq!(sender.close(), 10);
    ack(&mut sender, &config, Time::from_us(100), 9);
    assert_eq!(sends(&mut sender, &config, Time::from_us(100)), 0);
    assert!(!sender.is_done());
    ack(&mut sender, &config, Time::from_us(100), 10);
    assert!(sender.is_done());
}

#[test]
fn a_sender_closed_before_it_sent_anything_sends_one_segment() {
    let config = config(1, 10);
    let mut sender = sender(&config, u32::MAX);
    assert_eq!(sender.close(), 1);
    assert_eq!(sends(&mut sender, &config, Time::ZERO), 1);
}
