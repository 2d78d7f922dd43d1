//! Tests of the baseline with which PowerTCP compares the reports of a flow's first ACK.

use crate::support::{control, probed};
use bufferlab_params::ParamValue;
use bufferlab_transport::{AckEvent, CongestionStates, HopReport, TcpConfig, Window};
use bufferlab_units::{BitRate, Time};

/// Power of PowerTCP after the first ACK, at 10 Gb/s and a base round trip of 80 us. The ACK's
/// report has a time of 40 us, 20 kB in the queue and 80 kB sent.
fn power_after_first_ack(config: &TcpConfig, given: &[(&str, ParamValue)]) -> f64 {
    let mut window = Window { size: 100.0, slow_start_threshold: f64::INFINITY, pacing_gap: Time::ZERO };
    let mut control = control("powertcp", given, config).start(config, &mut window);
    let at = Time::from_us(40);
    let report = HopReport { queue_bytes: 20_000, port: 7, sent_bytes: 80_000, at, rate: BitRate::gbps(10) };
    let ack = AckEvent {
        now: Time::from_us(50),
        rtt: Time::from_us(80),
        delivered: 1,
        marked: false,
        acknowledged: 1,
        next: 100,
        in_flight: 99,
        may_grow: true,
        telemetry: &[report],
    };
    control.on_ack(config, &mut window, &ack);
    probed(&control, "power")
}

#[test]
fn queue_pairs_of_the_artifact_compare_it_with_zeros_and_others_keep_it() {
    let tcp = TcpConfig { initial_window: 100, segment_wire_bytes: 1_000, ..TcpConfig::default() };
    let queue_pair = TcpConfig { whole_segments: false, ..tcp.clone() };
    let of_artifact = |config: &TcpConfig| TcpConfig { states: CongestionStates::Ns3, ..config.clone() };
    for config in [&tcp, &queue_pair, &of_artifact(&tcp)] {
        assert_eq!(power_after_first_ack(config, &[]), 1.0, "nothing to compare");
    }
    // The port received 100 kB (99,968 B in whole units) in 40 us, and could send only 50 kB. The
    // voltage is 100 kB + 20 kB. The interval is half of a round trip.
    let expected = 0.5 * 1.0 + 0.5 * (99_968.0 / 50_000.0 * 1.2);
    let found = power_after_first_ack(&of_artifact(&queue_pair), &[]);
    assert!((found - expected).abs() < 1e-9, "{found}, expected {expected}");
    let zeros = power_after_first_ack(&tcp, &[("first_ack", ParamValue::word("zeros"))]);
    assert!((zeros - expected).abs() < 1e-9, "{zeros}, expected {expected}");
    let kept = power_after_first_ack(&of_artifact(&queue_pair), &[("first_ack", ParamValue::word("kept"))]);
    assert_eq!(kept, 1.0);
}
