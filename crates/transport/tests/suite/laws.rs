//! Tests that every congestion control follows its published equations, in cases calculated by
//! hand.
//!
//! Unless a test states otherwise, the rate is 10 Gb/s, segments have 1000 B on the wire,
//! and the base round trip is 80 us. So one bandwidth-delay product is 100 segments.

use crate::support::{control, probed};
use bufferlab_params::Catalog;
use bufferlab_params::ParamValue;
use bufferlab_transport::CONTROLS;
use bufferlab_transport::{
    AckEvent, CONGESTION_CONTROLS, CongestionControl, CongestionEvent, CongestionStates, HopReport,
    TcpConfig, Window, find_congestion_control,
};
use bufferlab_units::{BitRate, Time};

fn config() -> TcpConfig {
    TcpConfig { initial_window: 100, segment_wire_bytes: 1_000, ..TcpConfig::default() }
}

/// A congestion control under test, with its window and the segments acknowledged so far.
struct Flow {
    config: TcpConfig,
    control: CongestionControl,
    window: Window,
    acknowledged: u32,
    next: u32,
}

/// An ACK of the tests. Fields that most tests ignore have default values.
#[derive(Clone, Copy)]
struct TestAck<'a> {
    at: Time,
    rtt: Time,
    delivered: u32,
    marked: bool,
    may_grow: bool,
    /// Whether a new round trip begins: all segments that were in flight are now acknowledged.
    new_round: bool,
    telemetry: &'a [HopReport],
}

impl Default for TestAck<'_> {
    fn default() -> Self {
        Self {
            at: Time::ZERO,
            rtt: Time::from_us(80),
            delivered: 1,
            marked: false,
            may_grow: true,
            new_round: false,
            telemetry: &[],
        }
    }
}

impl Flow {
    fn new(name: &str, config: TcpConfig) -> Self {
        Self::with(name, &[], config)
    }

    fn with(name: &str, params: &[(&str, ParamValue)], config: TcpConfig) -> Self {
        let size = f64::from(config.initial_window);
        let mut window = Window { size, slow_start_threshold: f64::INFINITY, pacing_gap: Time::ZERO };
        let control = control(name, params, &config).start(&config, &mut window);
        Self { config, control, window, acknowledged: 0, next: 1_000 }
    }

    fn ack(&mut self, event: TestAck<'_>) {
        let TestAck { at: now, rtt, delivered, marked, may_grow, new_round, telemetry } = event;
        self.acknowledged += delivered;
        if new_round {
            self.acknowledged = self.next + 1;
            self.next += 1_000;
        }
        let (acknowledged, next, in_flight) =
            (self.acknowledged, self.next, self.next.saturating_sub(self.acknowledged));
        let ack =
            AckEvent { now, rtt, delivered, marked, acknowledged, next, in_flight, may_grow, telemetry };
        self.control.on_ack(&self.config, &mut self.window, &ack);
    }

    /// Reports a loss or a mark to the control as a sender does, and sets the window to the
    /// threshold.
    fn congestion(&mut self, event: CongestionEvent, flight: u32, at: Time) {
        self.control.on_congestion(&self.config, &mut self.window, event, flight, at);
        self.window.size = self.window.slow_start_threshold;
    }

    /// Window of a control that sets a rate (segments). The pacing gap gives this window with a
    /// finer resolution than whole segments.
    fn paced_window(&self) -> f64 {
        self.config.base_rtt.0 as f64 / self.window.pacing_gap.0 as f64
    }
}

fn near(found: f64, expected: f64, tolerance: f64) {
    assert!((found - expected).abs() <= tolerance, "{found}, expected {expected}");
}

/// A telemetry report of a port with 10 Gb/s.
fn report(at_us: u64, queue_bytes: u32, sent_bytes: u64) -> HopReport {
    HopReport { queue_bytes, port: 7, sent_bytes, at: Time::from_us(at_us), rate: BitRate::gbps(10) }
}

#[test]
fn names_are_unique_and_every_control_starts_with_a_window() {
    for (index, info) in CONGESTION_CONTROLS.iter().enumerate() {
        assert!(CONGESTION_CONTROLS[..index].iter().all(|other| other.name != info.name), "{}", info.name);
        assert!(Flow::new(info.name, config()).window.size >= 1.0, "{}", info.name);
        assert!(!info.wants_telemetry || info.owns_window, "{} lives on telemetry", info.name);
    }
}

#[test]
fn newreno_and_ecn_star_halve_and_add_one_segment_per_round_trip() {
    for name in ["newreno", "ecn-star"] {
        let mut flow = Flow::new(name, TcpConfig { initial_window: 10, ..config() });
        flow.ack(TestAck { delivered: 10, ..TestAck::default() });
        near(flow.window.size, 20.0, 0.0);
        flow.congestion(CongestionEvent::Mark, 18, Time::ZERO);
        near(flow.window.size, 10.0, 0.0);
        for _ in 0..10 {
            flow.ack(TestAck::default());
        }
        near(flow.window.size, 11.0, 0.06);
        flow.congestion(CongestionEvent::Loss, 30, Time::ZERO);
        near(flow.window.size, 15.0, 0.0);
        flow.congestion(CongestionEvent::Timeout, 3, Time::ZERO);
        near(flow.window.slow_start_threshold, 2.0, 0.0);
    }
    assert!(find_congestion_control("ecn-star").expect("registered").uses_ecn);
    assert!(!find_congestion_control("newreno").expect("registered").uses_ecn);
}

fn dctcp_alpha(flow: &Flow) -> f64 {
    probed(&flow.control, "alpha")
}

#[test]
fn dctcp_moves_alpha_by_a_sixteenth_of_its_error_per_window() {
    // RFC 8257 section 3.3 states alpha = (1 - g) alpha + g M.
    let mut flow = Flow::with("dctcp", &[("initial_alpha", ParamValue::Ratio(0.0))], config());
    flow.ack(TestAck { new_round: true, delivered: 0, ..TestAck::default() });
    let mut expected = 0.0;
    for marked_of_four in [4, 4, 1, 0, 2, 3] {
        for n in 0..4 {
            let (marked, last) = (n < marked_of_four, n == 3);
            flow.ack(TestAck { marked, new_round: last, ..TestAck::default() });
        }
        expected = 15.0 / 16.0 * expected + f64::from(marked_of_four) / 4.0 / 16.0;
        near(dctcp_alpha(&flow), expected, 1e-12);
    }
    let before = flow.window.size;
    flow.congestion(CongestionEvent::Mark, 50, Time::ZERO);
    near(flow.window.size, before * (1.0 - expected / 2.0), 1e-9);
}

/// Sends one ACK per segment, a window per round trip, until the time `until`.
fn run_until(flow: &mut Flow, mut now: Time, until: Time, rtt: Time) -> Time {
    while now < until {
        now += Time((rtt.0 as f64 / flow.window.size) as u64);
        flow.ack(TestAck { at: now, rtt, ..TestAck::default() });
    }
    now
}

#[test]
fn cubic_follows_the_curve_of_rfc_9438() {
    // A window of 1000 segments and a round trip of 100 ms are far from the Reno-friendly region.
    let rtt = Time::from_ms(100);
    let mut flow = Flow::new("cubic", TcpConfig { initial_window: 1_000, ..config() });
    flow.congestion(CongestionEvent::Loss, 1_000, Time::ZERO);
    near(flow.window.size, 700.0, 0.0);
    // By Eq. 2 of RFC 9438, K = cbrt((W_max - cwnd)/C) = cbrt(300/0.4) = 9.086 s.
    let k = (300.0_f64 / 0.4).cbrt();
    let start = Time::from_ms(50);
    flow.ack(TestAck { at: start, rtt, ..TestAck::default() });
    near(probed(&flow.control, "plateau"), 1_000.0, 1e-9);
    near(probed(&flow.control, "flat_at"), k, 1e-9);
    let mut now = start;
    for tenth in 5..=180 {
        now = run_until(&mut flow, now, start + Time::from_ms(100 * tenth), rtt);
        let t = (now - start).as_secs_f64();
        // Eq. 1 of RFC 9438 gives W(t). The window aims at W(t + RTT) and reaches this value within
        // a round trip. So the window is between W(t - RTT) and W(t + RTT).
        let curve = |t: f64| 0.4 * (t - k).powi(3) + 1_000.0;
        let (low, high) = (curve(t - 0.1), curve(t + 0.1));
        assert!(
            (low - 0.5..high + 0.5).contains(&flow.window.size),
            "{t} s: {} of {low}..{high}",
            flow.window.size
        );
    }
}

#[test]
fn cubic_is_reno_where_reno_is_faster() {
    // With a round trip of 80 us, the cubic function hardly rises in 10 ms. By section 4.3 of RFC
    // 9438, the window grows by 0.529 segments per round trip up to the former window, then by one
    // segment.
    let rtt = Time::from_us(80);
    let mut flow = Flow::new("cubic", config());
    flow.congestion(CongestionEvent::Mark, 90, Time::ZERO);
    near(flow.window.size, 70.0, 1e-9);
    let now = run_until(&mut flow, Time::ZERO, rtt * 20, rtt);
    near(flow.window.size, 70.0 + 20.0 * 0.9 / 1.7, 0.3);
    let now = run_until(&mut flow, now, rtt * 57, rtt);
    near(flow.window.size, 100.0, 0.6);
    let size = flow.window.size;
    run_until(&mut flow, now, rtt * 67, rtt);
    near(flow.window.size, size + 10.0, 0.4);
}

#[test]
fn cubic_gives_way_by_fast_convergence_and_starts_flat_after_a_timeout() {
    let plateau = |flow: &Flow| (probed(&flow.control, "plateau"), probed(&flow.control, "flat_at"));
    let mut flow = Flow::new("cubic", config());
    flow.congestion(CongestionEvent::Loss, 100, Time::ZERO);
    near(plateau(&flow).0, 100.0, 0.0);
    // By section 4.7 of RFC 9438, the second reduction is at 70, below the plateau, so W_max = 70
    // (1 + 0.7)/2.
    flow.congestion(CongestionEvent::Loss, 70, Time::ZERO);
    near(plateau(&flow).0, 59.5, 1e-9);
    near(flow.window.size, 49.0, 1e-9);
    // By section 4.8 of RFC 9438, K = 0 after a timeout, and W_max is the window at which
    // congestion avoidance begins.
    flow.congestion(CongestionEvent::Timeout, 40, Time::ZERO);
    near(flow.window.slow_start_threshold, 28.0, 1e-9);
    flow.ack(TestAck::default());
    assert_eq!(plateau(&flow), (28.0, 0.0));
}

#[test]
fn time_in_which_the_window_may_not_grow_does_not_count_for_cubic() {
    let rtt = Time::from_ms(100);
    let mut sizes = Vec::new();
    for idle in [Time::ZERO, Time::from_ms(3_000)] {
        let mut flow = Flow::new("cubic", TcpConfig { initial_window: 1_000, ..config() });
        flow.congestion(CongestionEvent::Loss, 1_000, Time::ZERO);
        let now = run_until(&mut flow, Time::ZERO, Time::from_ms(2_000), rtt);
        let before = flow.window.size;
        flow.ack(TestAck { at: now + idle, rtt, may_grow: false, ..TestAck::default() });
        near(flow.window.size, before, 0.0);
        run_until(&mut flow, now + idle, now + idle + Time::from_ms(2_000), rtt);
        sizes.push(flow.window.size);
    }
    near(sizes[0], sizes[1], 0.01);
}

/// Window after each round of slow start with the round-trip time `rtt(round)`.
/// Each segment of a round's window gets one ACK.
fn slow_start(flow: &mut Flow, rounds: u32, rtt: impl Fn(u32) -> Time) -> Vec<f64> {
    let mut now = Time::ZERO;
    let mut sizes = Vec::new();
    for round in 0..rounds {
        let count = flow.window.size as u32;
        for n in 0..count {
            flow.ack(TestAck { at: now, rtt: rtt(round), new_round: n == 0, ..TestAck::default() });
            now += Time::from_us(1);
        }
        sizes.push(flow.window.size);
    }
    sizes
}

#[test]
fn hystart_grows_by_a_quarter_after_a_rise_of_the_round_trip_and_ends_after_five_rounds() {
    // RFC 9406 needs a rise of the round trip by max(4 ms, 1/8), measured by eight ACKs of a round.
    let config = TcpConfig { initial_window: 16, ..config() };
    let mut flow = Flow::new("cubic", config.clone());
    let sizes = slow_start(&mut flow, 9, |round| Time::from_ms(if round < 2 { 20 } else { 24 }));
    near(sizes[1], 64.0, 0.0);
    // Round 2 has seven ACKs without a rise of the round trip, and the eighth ACK shows the rise.
    near(sizes[2], 64.0 + 7.0 + 57.0 / 4.0, 1e-9);
    for pair in sizes[2..7].windows(2) {
        near(pair[1] / pair[0], 1.25, 0.02);
    }
    assert!(flow.window.slow_start_threshold.is_finite(), "five conservative rounds are enough");
    // A rise of the round trip by less than 4 ms does not count, and without HyStart no rise
    // counts.
    for (kind, late) in [("rfc9406", 23), ("off", 200)] {
        let mut flow = Flow::with("cubic", &[("hystart", ParamValue::word(kind))], config.clone());
        let sizes = slow_start(&mut flow, 5, |round| Time::from_ms(if round < 2 { 20 } else { late }));
        near(sizes[4], 512.0, 0.0);
    }
}

#[test]
fn classic_hystart_ends_slow_start_when_a_train_of_acks_lasts_longer_than_the_round_trip() {
    let config = TcpConfig { initial_window: 16, ..config() };
    let mut flow = Flow::with("cubic", &[("hystart", ParamValue::word("classic"))], config);
    // With one ACK per microsecond, a train of ACKs over 80 us needs more than 80 segments.
    let sizes = slow_start(&mut flow, 4, |_| Time::from_us(80));
    near(sizes[1], 64.0, 0.0);
    near(sizes[2], 128.0, 0.0);
    assert!(flow.window.slow_start_threshold < 215.0, "{:?}", flow.window);
}

#[test]
fn timely_follows_algorithm_1() {
    let mut flow = Flow::new("timely", config());
    let rate = |flow: &Flow| probed(&flow.control, "rate").floor() / 1e6;
    let update = |flow: &mut Flow, rtt_us: u64| {
        flow.ack(TestAck { rtt: Time::from_us(rtt_us), new_round: true, ..TestAck::default() });
        // A second ACK in one round trip has no effect.
        let before = rate(flow);
        flow.ack(TestAck { rtt: Time::from_us(5 * rtt_us), ..TestAck::default() });
        near(rate(flow), before, 0.0);
        before
    };
    near(update(&mut flow, 100), 10_000.0, 0.01);
    // The difference rtt_diff is 0.875 * 20 us, the gradient 17.5/80,
    // and the new rate is rate * (1 - 0.8 * 0.21875).
    near(update(&mut flow, 120), 8_250.0, 0.01);
    // The difference rtt_diff = 0.125 * 17.5 - 0.875 * 20 is below 0, so the rate grows by 10 Mb/s.
    near(update(&mut flow, 100), 8_260.0, 0.01);
    // Above T_high the rate is multiplied by 1 - 0.8 * (1 - 500/1000).
    near(update(&mut flow, 1_000), 4_956.0, 0.01);
    // Below T_low the rate grows at every gradient.
    near(update(&mut flow, 40), 4_966.0, 0.01);
    // After four updates without a positive gradient, hyperactive increase begins.
    for n in 1..=4 {
        near(update(&mut flow, 60 - n), 4_966.0 + 10.0 * n as f64, 0.01);
    }
    near(update(&mut flow, 55), 5_056.0, 0.01);
    // The pacing gap corresponds to 1000 B at 5056 Mb/s.
    near(flow.window.pacing_gap.0 as f64, 8e6 / 5.056, 200.0);
}

#[test]
fn swift_scales_its_target_and_decreases_once_per_round_trip() {
    let config = TcpConfig { initial_window: 10, ..config() };
    let mut flow = Flow::with("swift", &[("target", ParamValue::Time(Time::from_us(100)))], config);
    let state = |flow: &Flow| (probed(&flow.control, "window"), probed(&flow.control, "target") / 1e6);
    // The parameters of the target delay are alpha = 500 us/(1/sqrt(0.1) - 1/sqrt(100)) = 163.277
    // us and target = 100 + 163.277/sqrt(10) - 16.328.
    near(state(&flow).1, 135.305, 0.001);
    flow.ack(TestAck { at: Time::from_us(1_000), ..TestAck::default() });
    near(flow.window.size, 10.1, 1e-9);
    let target = 100.0 + 163.277 / 10.1_f64.sqrt() - 16.3277;
    let late = |at_us| TestAck { at: Time::from_us(at_us), rtt: Time::from_us(200), ..TestAck::default() };
    flow.ack(late(1_001));
    let expected = 10.1 * (1.0 - 0.8 * (200.0 - target) / 200.0);
    near(flow.window.size, expected, 1e-3);
    flow.ack(late(1_200));
    near(flow.window.size, expected, 1e-3);
    flow.ack(late(1_202));
    assert!(flow.window.size < expected - 1.0);
    // A decrease multiplies the window by at least a half.
    let before = flow.window.size;
    flow.ack(TestAck { at: Time::from_ms(99), rtt: Time::from_ms(90), ..TestAck::default() });
    near(flow.window.size, before / 2.0, 1e-9);
    // A loss halves the window. With a window below one segment the flow is paced.
    for n in 0..5 {
        flow.control.on_congestion(
            &flow.config,
            &mut flow.window,
            CongestionEvent::Loss,
            1,
            Time::from_ms(200 + 100 * n),
        );
    }
    let window = state(&flow).0;
    near(window, before / 64.0, 1e-9);
    near(flow.window.size, 1.0, 0.0);
    near(flow.window.pacing_gap.as_secs_f64(), 90e-3 / window, 1e-9);
    // With a window below one segment, an ACK increases the window by a whole segment.
    flow.ack(TestAck { at: Time::from_ms(900), ..TestAck::default() });
    near(state(&flow).0, window + 1.0, 1e-9);
    assert_eq!(flow.window.pacing_gap, Time::ZERO);
}

#[test]
fn hpcc_follows_algorithm_1() {
    let mut flow = Flow::new("hpcc", config());
    let utilisation = |flow: &Flow| probed(&flow.control, "utilisation");
    near(flow.paced_window(), 100.0, 1e-3);
    flow.ack(TestAck { new_round: true, telemetry: &[report(0, 20_000, 0)], ..TestAck::default() });
    near(flow.paced_window(), 100.0, 1e-3);
    // In 8 us, a tenth of T, the port sent 10 kB, which is its full rate. So u = 20 kB/100 kB + 1,
    // and U = 0.9 + 0.1 * 1.2.
    let busy = [report(8, 20_000, 10_000)];
    flow.ack(TestAck { telemetry: &busy, ..TestAck::default() });
    near(utilisation(&flow), 1.02, 1e-9);
    // The window is W = W_c eta/U + W_AI with W_AI = 100 * 0.05/100.
    let first = 100.0 * 0.95 / 1.02 + 0.05;
    near(flow.paced_window(), first, 1e-2);
    // The reference window is constant within a round trip, so an equal U gives an equal window.
    // Of the two compared queue lengths, the shorter one counts.
    flow.ack(TestAck { telemetry: &[report(16, 0, 20_000)], ..TestAck::default() });
    near(utilisation(&flow), 0.9 * 1.02 + 0.1 * 1.0, 1e-9);
    let second = 100.0 * 0.95 / 1.018 + 0.05;
    near(flow.paced_window(), second, 1e-2);
    // After a whole round trip at half of the rate, the utilisation U is 0.5 at once. The window
    // increases additively five times, then multiplicatively.
    let (mut sent, mut window) = (20_000, 100.0);
    for round in 0..7 {
        sent += 50_000;
        let half = [report(16 + 80 * (round + 1), 0, sent)];
        flow.ack(TestAck { new_round: true, telemetry: &half, ..TestAck::default() });
        near(utilisation(&flow), 0.5, 1e-9);
        window = match round {
            // The reference window is still the window at the start of the first round, which is at
            // the limit of the line rate.
            0 => 100.0,
            _ => f64::min(window + 0.05, 100.0),
        };
        near(flow.paced_window(), window, 1e-2);
    }
}

#[test]
fn hpcc_increases_by_stages_below_its_target() {
    let mut flow = Flow::new("hpcc", TcpConfig { initial_window: 40, ..config() });
    flow.ack(TestAck { new_round: true, telemetry: &[report(0, 0, 0)], ..TestAck::default() });
    for round in 1..=5 {
        let half = [report(80 * round, 0, 50_000 * round)];
        flow.ack(TestAck { new_round: true, telemetry: &half, ..TestAck::default() });
        near(flow.paced_window(), 40.0 + 0.05 * round as f64, 1e-2);
    }
    let sixth = [report(480, 0, 300_000)];
    flow.ack(TestAck { new_round: true, telemetry: &sixth, ..TestAck::default() });
    near(flow.paced_window(), 40.25 * 0.95 / 0.5 + 0.05, 1e-2);
}

#[test]
fn powertcp_follows_algorithm_1() {
    let mut flow = Flow::new("powertcp", config());
    let power = |flow: &Flow| probed(&flow.control, "power");
    flow.ack(TestAck { new_round: true, telemetry: &[report(0, 0, 0)], ..TestAck::default() });
    // In 8 us the queue grew by 10 kB while 10 kB were sent. So the current is twice the bandwidth
    // b, the voltage 100 + 10 kB, the power 2.2, and the smoothed power 1 + 0.1 * 1.2.
    flow.ack(TestAck { telemetry: &[report(8, 10_000, 10_000)], ..TestAck::default() });
    near(power(&flow), 1.12, 1e-9);
    let first = 0.9 * (100.0 / 1.12 + 10.0) + 0.1 * 100.0;
    near(flow.paced_window(), first, 1e-2);
    // The old window does not change within the round trip, and the present window changes. The
    // gradient of the queue length is twice the bandwidth for a tenth of T.
    flow.ack(TestAck { telemetry: &[report(16, 30_000, 20_000)], ..TestAck::default() });
    let smoothed = 0.9 * 1.12 + 0.1 * (3.0 * 1.3);
    near(power(&flow), smoothed, 1e-9);
    let second = 0.9 * (100.0 / smoothed + 10.0) + 0.1 * first;
    near(flow.paced_window(), second, 1e-2);
    // At the start of the next round trip, the present window becomes the old window.
    let third_power = 0.9 * smoothed + 0.1 * 1.3;
    flow.ack(TestAck { new_round: true, telemetry: &[report(24, 30_000, 30_000)], ..TestAck::default() });
    let third = 0.9 * (100.0 / third_power + 10.0) + 0.1 * second;
    near(flow.paced_window(), third, 1e-2);
    let fourth_power = 0.9 * third_power + 0.1 * 1.3;
    flow.ack(TestAck { telemetry: &[report(32, 30_000, 40_000)], ..TestAck::default() });
    near(flow.paced_window(), 0.9 * (third / fourth_power + 10.0) + 0.1 * third, 1e-2);
}

#[test]
fn the_most_loaded_port_decides_and_an_idle_one_does_not_matter() {
    for name in ["hpcc", "powertcp"] {
        let mut windows = Vec::new();
        for with_idle_port in [false, true] {
            let mut flow = Flow::new(name, config());
            let idle = |at| HopReport { port: 3, at: Time::from_us(at), ..report(at, 0, 0) };
            for step in 0..3 {
                let busy = report(8 * step, 200_000, 10_000 * step);
                let both = [idle(8 * step), busy];
                let reports = if with_idle_port { &both[..] } else { &both[1..] };
                flow.ack(TestAck { telemetry: reports, ..TestAck::default() });
            }
            windows.push(flow.paced_window());
        }
        assert!(windows[0] < 99.0 && windows[0] == windows[1], "{name}: {windows:?}");
    }
}

#[test]
fn theta_powertcp_reacts_once_per_round_trip_to_the_gradient_of_the_round_trip() {
    let mut flow = Flow::new("theta-powertcp", config());
    let event = |at, rtt, new_round| TestAck {
        at: Time::from_us(at),
        rtt: Time::from_us(rtt),
        new_round,
        ..TestAck::default()
    };
    flow.ack(event(0, 80, true));
    // The gradient of the round trip is 4/8 and the round trip 84 us. So the power is 1.5 * 1.05 =
    // 1.575, and the smoothed power is 1.0575. The window has no update within the round.
    flow.ack(event(8, 84, false));
    near(flow.paced_window(), 100.0, 1e-3);
    // The gradient of the round trip is 9.5 and the round trip 160 us, so the power is 10.5 * 2 =
    // 21.
    flow.ack(event(16, 160, true));
    let power = 0.9 * 1.0575 + 0.1 * 21.0;
    near(flow.paced_window(), 0.9 * (100.0 / power + 10.0) + 0.1 * 100.0, 1e-2);
}

#[test]
fn the_artifacts_laws_differ_where_their_code_does() {
    let artifact = TcpConfig { states: CongestionStates::Ns3, ..config() };
    // The artifact uses a current of at least half the rate, a target of 0.95 and an average that
    // includes the old window.
    let mut flow = Flow::with("powertcp", &[("flows", ParamValue::Count(100))], artifact.clone());
    flow.ack(TestAck { new_round: true, telemetry: &[report(0, 10_000, 0)], ..TestAck::default() });
    flow.ack(TestAck { telemetry: &[report(8, 10_000, 0)], ..TestAck::default() });
    let power = (0.9 + 0.1 * 0.5 * 1.1) / 0.95;
    near(flow.paced_window(), f64::min(100.0, 0.9 * (100.0 / power + 1.0) + 0.1 * 100.0), 1e-2);
    // In the artifact, rates do not fall below 100 Mb/s.
    let mut flow = Flow::new("timely", artifact);
    for _ in 0..100 {
        flow.ack(TestAck { rtt: Time::from_ms(90), new_round: true, ..TestAck::default() });
    }
    near(probed(&flow.control, "rate"), 1e8, 1e3);
}

#[test]
fn every_built_in_entry_keeps_the_rules_of_own_ones_and_names_its_source() {
    assert_eq!(CONTROLS.verify(), Ok(()));
    assert!(CONTROLS.cards(false).iter().all(|card| !card.source.is_empty()));
}
